"""Accelerated projected gradient with dynamic screening and an active set.

Algorithm 1 of Yoshida et al. (2019), rebuilt: rounds of `screen_every` iterations on the
undecided items; between rounds the balls of the current point screen. It stops on the duality
gap of the *full* problem. An iteration costs one evaluation and one projection: the projection
that makes the step also gives a dual variable Gamma, hence a duality gap, for free.

Steps are extrapolated by Anderson acceleration, whose memory carries over to the next lambda. Where
an extrapolated step would raise the objective, a projected-gradient step is made instead, with the
mean of the two Barzilai-Borwein lengths.
"""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from skscreen.core.certificate import ScreeningEvent
from skscreen.core.floats import EPS
from skscreen.metric_learning.problem.domains import Point
from skscreen.metric_learning.problem.objective import Evaluation, Objective, extend, inner, norm
from skscreen.metric_learning.screening.active import active_part, leave_out, screen
from skscreen.metric_learning.solvers.anderson import AndersonMemory
from skscreen.metric_learning.solvers.interior_point import interior_point, interior_point_work
from skscreen.metric_learning.solvers.solution import Solution

# Share of the work of an evaluation up to which guessing the active items pays.
_WORTH_GUESSING = 0.25

# Relative increase of an objective that rounding errors explain.
_NOISE = 1e-14

# Share of the gap that the interior-point method must leave, else rounding errors end the solve.
_NEAR = 1e-2


@dataclass(frozen=True)
class Options:
    """Settings of the solver; see `ScreenedRTLM` for their meaning."""

    bounds: tuple[str, ...] = ("gap",)
    rule: str = "sphere"
    screening: bool = True
    screen_every: int = 10
    active_set: bool = True
    tol: float = 1e-6
    max_iter: int = 10_000


def solve(
    full: Objective,
    start: Point,
    options: Options,
    *,
    reference: Solution | None = None,
    reduced: Objective | None = None,
    step: float | None = None,
    memory: AndersonMemory | None = None,
) -> Solution:
    """Minimise an objective to a certified relative duality gap.

    Parameters
    ----------
    full : Objective
        With nothing fixed.
    start : Point
    options : Options
    reference : Solution, optional
        Of the same problem at another lambda: screens before the first iteration.
    reduced : Objective, optional
        What decisions that hold at this lambda have left of `full`: nothing else is looked at,
        but for the final certificate.
    step : float, optional
        First step length; 1 / lambda when not given.
    memory : AndersonMemory, optional
        Of the steps at other values of lambda; takes in those at this one.
    """
    memory = AndersonMemory(full.geometry.shape) if memory is None else memory
    return _Run(full, options, reference, reduced, memory).solve(
        start, 1.0 / full.lam if step is None else step
    )


class _Run:
    """State of one solve: what is fixed, what was spent, what happened."""

    def __init__(
        self,
        full: Objective,
        options: Options,
        reference: Solution | None,
        reduced: Objective | None,
        memory: AndersonMemory,
    ):
        self.started = perf_counter()
        self.full = full
        self.options = options
        self.lam = full.lam
        self.n_iter = 0
        self.stalled = False
        self.recentred_at = 0
        self.work = 0.0
        self.screened_gap = np.inf
        # The solve at the lambda before tells how long this one will be.
        self.short = reference is not None and reference.is_short
        if full.proximal is not None:
            full.proximal.last_gap = np.inf
        self.history: list[ScreeningEvent] = []
        self.memory = memory
        self.memory.cut()
        self.unprojected: np.ndarray | None = None
        self.objective = full if reduced is None else reduced
        if reduced is not None:
            self._record("range", self.started, reduced.n_zero, reduced.n_linear)
        self.use_active_set = options.active_set
        # With proximal smoothing there are nearly always many steps.
        screens = options.screening and (not self.short or full.proximal is not None)
        if screens and reference is not None:
            self._screen("path", self._here(reference.evaluation), reference.lam)

    def solve(self, start: Point, step: float) -> Solution:
        evaluation, previous = self.objective.evaluate(start), np.inf
        self.good_step = step
        while True:
            if self._is_done(evaluation) or self._spent():
                confirmed = self._full_evaluation(evaluation)
                if self._is_done(confirmed) or self._spent():
                    return self._solution(confirmed)
                self._repair()
                evaluation, previous = self.objective.evaluate(confirmed.point), np.inf
            if self._screening_is_due(evaluation) and self._screen("dynamic", evaluation, self.lam):
                evaluation, previous = self.objective.evaluate(evaluation.point), np.inf
            value = evaluation.smoothed_primal(self.lam)
            # The active set is a heuristic; where it fails to descend it is given up.
            self.use_active_set &= value <= previous or evaluation.fenchel_young > 0.0
            previous = value
            if self.work >= interior_point_work(self.objective):
                evaluation = self._interior_point(evaluation)
                continue
            working, n_iter = self._working_objective(evaluation), self.n_iter
            last, step = self._descend(working, evaluation, step)
            # If no step was possible, the missing gap is below the rounding allowance.
            self.stalled |= self.n_iter == n_iter
            if working is self.objective:
                evaluation = last
            else:
                evaluation = self.objective.evaluate(last.point)

    def _working_objective(self, evaluation: Evaluation) -> Objective:
        """Leave out items without loss for a round, where that makes evaluations much cheaper.

        Each new guess is a new objective, on which the memory of past steps is worth less.
        """
        too_short = self.n_iter == 0 and self.short
        if self.use_active_set and not too_short:
            working = active_part(self.objective, evaluation)
            most = _WORTH_GUESSING * self.objective.geometry.evaluation_work
            if working is self.objective or working.geometry.evaluation_work <= most:
                return working
            self.use_active_set = False
        return self.objective

    def _interior_point(self, evaluation: Evaluation) -> Evaluation:
        """Solve the reduced problem by second-order steps; keep what they gained, if anything."""
        # Only once in a solve: if it does not converge, rounding errors are the reason.
        self.work = -np.inf
        objective, target = self.objective, self._target(evaluation)
        # A start that is far too small makes no progress; one ten times too large costs three
        # steps.
        size = max(norm(evaluation.point.value), norm(evaluation.adjoint_split[0].value) / self.lam)
        scale = size / np.sqrt(objective.geometry.n_features)
        n_before = self.n_iter
        if objective.proximal is not None:
            numbers = objective.geometry.item_numbers(*objective.geometry.list_items())
        left = self.options.max_iter - n_before
        for point, alpha, n_iter in interior_point(objective, scale, 0.1 * target, left):
            if objective.proximal is not None:
                objective.proximal.centre[numbers] = alpha
            result, self.n_iter = objective.evaluate(point), n_before + n_iter
            if result.gap(self.lam) <= target:
                break
        self.unprojected = None
        self.memory.cut()
        before, after = evaluation.gap(self.lam), result.gap(self.lam)
        if after < before:
            # Close to the target only rounding errors are left, and gradient steps would not do
            # better.
            self.stalled |= target < after < _NEAR * before
            return result
        # Evaluate again if the proximal centre has moved.
        return objective.evaluate(evaluation.point)

    def _descend(self, objective: Objective, evaluation: Evaluation, step: float):
        """Run up to `screen_every` steps; return the last evaluation and step length."""
        lam = self.lam
        for _ in range(self.options.screen_every):
            if self._spent():
                break
            gap = _projection_gap(evaluation, self._unprojected(evaluation), lam)
            if gap + evaluation.fenchel_young <= self._target(evaluation):
                break
            if objective.proximal is not None and gap <= 0.3 * evaluation.fenchel_young:
                evaluation = self._recentre(objective, evaluation)
                continue
            theta, gradient = evaluation.point.value, evaluation.gradient(lam)
            Z, G = self._unprojected(evaluation), theta - step * gradient
            self.memory.add(Z, theta, evaluation.adjoint)
            # The first point is not a projection, so there is nothing to extrapolate from.
            if self.unprojected is not None and not self.memory.is_empty:
                accelerated = self.memory.extrapolate(G, G - Z, step, lam)
                trial = self._try(objective, evaluation, accelerated)
                if trial is not None:
                    evaluation = trial
                    continue
                # After the proximal centre has moved, old steps are of little use.
                self.memory.forget(0.5 if objective.proximal is None else 1.0)
                if self._spent():
                    break
            trial = self._try(objective, evaluation, G)
            if trial is not None:
                evaluation = trial
                change = evaluation.gradient(lam) - gradient
                step = _mean_bb_step(evaluation.point.value - theta, change, step)
                self.good_step = step
            elif step * norm(gradient) <= _NOISE * norm(theta):
                self.stalled = True
                break
            else:
                step *= 0.1
        return evaluation, step

    def _unprojected(self, evaluation: Evaluation) -> np.ndarray:
        """Return what the last step projected to get the point."""
        return evaluation.point.value if self.unprojected is None else self.unprojected

    def _try(self, objective: Objective, evaluation: Evaluation, Z: np.ndarray):
        """Step to the projection of Z, if the objective is no higher there."""
        trial = objective.evaluate(objective.domain.project(Z))
        self.n_iter += 1
        self.work += objective.geometry.evaluation_work
        value = evaluation.smoothed_primal(self.lam)
        # <B, theta> may be a small difference of large numbers.
        cancelled = norm(objective.linear_term) * norm(evaluation.point.value)
        if trial.smoothed_primal(self.lam) > value + _NOISE * abs(value) + EPS * cancelled:
            return None
        self.unprojected = Z
        return trial

    def _recentre(self, objective: Objective, evaluation: Evaluation) -> Evaluation:
        """Move the proximal centre of the dual variables to those of a point."""
        # The dual variables at hand may be those of a rejected step.
        objective.evaluate(evaluation.point)
        n_steps = self.n_iter - self.recentred_at
        objective.proximal.recentre(evaluation.fenchel_young, n_steps)
        self.n_iter += 1
        self.recentred_at = self.n_iter
        self.memory.cut()
        return objective.evaluate(evaluation.point)

    def _target(self, evaluation: Evaluation) -> float:
        # Python floats, because they overflow to infinity without a warning.
        return self.options.tol * float(abs(evaluation.primal(self.lam)))

    def _is_done(self, evaluation: Evaluation) -> bool:
        gap, target = evaluation.gap(self.lam), self._target(evaluation)
        allowance = evaluation.rounding(self.lam)
        # If the tolerance is out of reach, accept twice the rounding allowance.
        return gap <= target or (target < allowance and gap <= 2.0 * allowance)

    def _screening_is_due(self, evaluation: Evaluation) -> bool:
        """Whether the radius, the root of the gap, has at least halved since the last time."""
        gap = evaluation.gap(self.lam)
        too_short = self.n_iter == 0 and self.short
        if not self.options.screening or too_short or gap > 0.25 * self.screened_gap:
            return False
        self.screened_gap = gap
        return True

    def _spent(self) -> bool:
        """Whether nothing more can be done: steps used up, or lost in rounding errors."""
        return self.stalled or self.n_iter >= self.options.max_iter

    def _screen(self, where: str, evaluation: Evaluation, reference_lam: float) -> bool:
        """Screen by every bound asked for; return whether anything was decided."""
        started = perf_counter()
        decision = screen(
            self.objective, evaluation, reference_lam, self.options.bounds, self.options.rule
        )
        before = self.objective
        self.objective = leave_out(before, decision)
        n_zero, n_linear = before.n_zero + decision.n_zero, before.n_linear + decision.n_linear
        self._record(where, started, n_zero, n_linear)
        return self.objective is not before

    def _here(self, evaluation: Evaluation) -> Evaluation:
        """Return an evaluation of the full problem with the margins of the undecided items."""
        if self.objective is self.full:
            return evaluation
        margins = self.objective.geometry.margins(evaluation.point)
        return replace(evaluation, margins=margins, objective=self.objective)

    def _full_evaluation(self, evaluation: Evaluation) -> Evaluation:
        if self.objective is self.full:
            return evaluation
        return extend(evaluation, self.full)

    def _repair(self) -> None:
        """Take all decisions back: the full certificate disagrees with the reduced one."""
        if self.objective is self.full:
            return
        started = perf_counter()
        self.objective = self.full
        self.screened_gap = np.inf
        self.memory.cut()
        self._record("repair", started)

    def _record(self, where: str, started: float, n_zero: int = 0, n_linear: int = 0) -> None:
        undecided = self.full.geometry.n_items - n_zero - n_linear
        seconds = perf_counter() - started
        self.history.append(
            ScreeningEvent(where, self.lam, self.n_iter, n_zero, n_linear, undecided, seconds)
        )

    def _solution(self, evaluation: Evaluation) -> Solution:
        certificate = evaluation.certificate(self.lam)
        return Solution(
            lam=self.lam,
            point=evaluation.point,
            certificate=certificate,
            loss=evaluation.loss,
            evaluation=evaluation,
            n_iter=self.n_iter,
            converged=bool(certificate.relative_gap <= self.options.tol),
            history=tuple(self.history),
            # Not a step shortened by rounding errors, with which the next solve would stall, too.
            step=self.good_step,
            seconds=perf_counter() - self.started,
        )


def _projection_gap(evaluation: Evaluation, Z: np.ndarray, lam: float) -> float:
    """Duality gap less its Fenchel-Young terms, from the projection that led to the point.

    For X = [Z]_K the matrix Gamma = s (X - Z) is in K and <X, Gamma> = 0, for any s >= 0: dual
    feasible, with a gap of |lambda X - S - Gamma|^2 / (2 lambda). No eigendecomposition.
    """
    gradient, rest = evaluation.gradient(lam), evaluation.point.value - Z
    square = inner(rest, rest)
    # The projection of an interior point leaves rounding errors, which are in no cone.
    small = _NOISE * inner(evaluation.point.value, evaluation.point.value)
    scale = max(inner(gradient, rest), 0.0) / square if square > small else 0.0
    return norm(gradient - scale * rest) ** 2 / (2.0 * lam)


def _mean_bb_step(move: np.ndarray, change: np.ndarray, step: float) -> float:
    """Mean of the two Barzilai-Borwein steps; the old one where the curvature vanishes."""
    curvature, square = inner(move, change), inner(change, change)
    if curvature <= 0.0 or square == 0.0:
        return step
    return 0.5 * (curvature / square + inner(move, move) / curvature)
