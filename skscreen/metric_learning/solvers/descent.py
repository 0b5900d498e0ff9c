"""Steps of accelerated projected gradient on one objective.

A step costs one evaluation and one projection: the projection that makes the step also gives a dual
variable Gamma, hence a duality gap, for free. Where an extrapolated step would raise the objective,
a projected-gradient step is made instead, with the mean of the two Barzilai-Borwein lengths.
"""

from dataclasses import replace

import numpy as np

from skscreen.core.floats import EPS
from skscreen.metric_learning.problem.objective import Evaluation, Proximal, inner, norm
from skscreen.metric_learning.solvers.anderson import AndersonMemory
from skscreen.metric_learning.solvers.progress import Progress

# Relative increase of an objective that rounding errors explain.
_NOISE = 1e-14


class Descent:
    """Steps from one projection to the next, extrapolated by Anderson acceleration."""

    def __init__(self, memory: AndersonMemory, length: float, progress: Progress):
        self.memory, self.progress = memory, progress
        # The last length that was not shortened by rounding errors is the good one.
        self.length = self.good_length = length
        self._recentred_at = 0
        self.restart()

    def restart(self) -> None:
        """Forget how the point was reached: it is no projection of a step."""
        self.memory.cut()
        self._unprojected: np.ndarray | None = None

    def run(self, evaluation: Evaluation) -> Evaluation:
        """Make up to `screen_every` steps; return the last evaluation."""
        before = self.progress.n_iter
        for _ in range(self.progress.settings.screen_every):
            found = None if self.progress.is_spent else self.step(evaluation)
            if found is None:
                break
            evaluation = found
        # If no step was possible, the missing gap is below the rounding allowance.
        self.progress.stalled |= self.progress.n_iter == before
        return evaluation

    # A step that overflows to no number is not taken.
    @np.errstate(over="ignore", invalid="ignore")
    def step(self, evaluation: Evaluation) -> Evaluation | None:
        """Step, or move the proximal centre; None where the gap is closed or no step is left."""
        lam, proximal = self.progress.lam, evaluation.objective.proximal
        Z = evaluation.point.value if self._unprojected is None else self._unprojected
        gap = _projection_gap(evaluation, Z, lam)
        if gap + evaluation.fenchel_young <= self.progress.target(evaluation):
            return None
        if proximal is not None and gap <= 0.3 * evaluation.fenchel_young:
            return self._recentre(evaluation, proximal)
        theta, gradient = evaluation.point.value, evaluation.gradient(lam)
        G = theta - self.length * gradient
        self.memory.add(Z, theta, evaluation.adjoint)
        # The first point is not a projection, so there is nothing to extrapolate from.
        if self._unprojected is not None and not self.memory.is_empty:
            trial = self._try(evaluation, self.memory.extrapolate(G, G - Z, self.length, lam))
            if trial is not None:
                return trial
            # After the proximal centre has moved, old steps are of little use.
            self.memory.forget(0.5 if proximal is None else 1.0)
            if self.progress.is_spent:
                return None
        trial = self._try(evaluation, G)
        if trial is not None:
            change = trial.gradient(lam) - gradient
            self.length = _mean_bb_step(trial.point.value - theta, change, self.length)
            self.good_length = self.length
            return trial
        if self.length * norm(gradient) <= _NOISE * norm(theta):
            self.progress.stalled = True
            return None
        # The point stays, only the length becomes shorter.
        self.length *= 0.1
        return evaluation

    def _try(self, evaluation: Evaluation, Z: np.ndarray) -> Evaluation | None:
        """Step to the projection of Z, if it is finite and the objective is no higher there."""
        objective, lam = evaluation.objective, self.progress.lam
        self.progress.n_iter += 1
        if not np.isfinite(Z).all():
            return None
        trial = objective.evaluate(objective.domain.project(Z))
        self.progress.work += objective.geometry.evaluation_work
        value = evaluation.smoothed_primal(lam)
        # <B, theta> may be a small difference of large numbers.
        cancelled = norm(objective.linear_term) * norm(evaluation.point.value)
        if trial.smoothed_primal(lam) > value + _NOISE * abs(value) + EPS * cancelled:
            return None
        self._unprojected = Z
        return trial

    def _recentre(self, evaluation: Evaluation, proximal: Proximal) -> Evaluation:
        """Move the proximal centre of the dual variables to those of a point."""
        moved = proximal.recentred(evaluation, self.progress.n_iter - self._recentred_at)
        self.progress.n_iter += 1
        self._recentred_at = self.progress.n_iter
        self.memory.cut()
        return replace(evaluation.objective, proximal=moved).evaluate(evaluation.point)


def _projection_gap(evaluation: Evaluation, Z: np.ndarray, lam: float) -> float:
    """Duality gap less its Fenchel-Young terms, from the projection of Z to the point."""
    # For X = [Z]_K the matrix Gamma = s (X - Z) is in K and <X, Gamma> = 0, for any s >= 0: dual
    # feasible, with a gap of |lambda X - S - Gamma|^2 / (2 lambda). No eigendecomposition.
    gradient, rest = evaluation.gradient(lam), evaluation.point.value - Z
    square = inner(rest, rest)
    # The projection of an interior point leaves rounding errors, which are in no cone.
    small = _NOISE * inner(evaluation.point.value, evaluation.point.value)
    scale = max(inner(gradient, rest), 0.0) / square if square > small else 0.0
    missing = gradient - scale * rest
    return inner(missing, missing) / (2.0 * lam)


def _mean_bb_step(move: np.ndarray, change: np.ndarray, step: float) -> float:
    """Mean of the two Barzilai-Borwein steps; the old one where the curvature vanishes."""
    curvature, square = inner(move, change), inner(change, change)
    if curvature <= 0.0 or square == 0.0:
        return step
    return 0.5 * (curvature / square + inner(move, move) / curvature)
