"""The path driver: solves for a sequence of lambda, with warm starts and screening."""

import math
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from skscreen.core.threads import blas_threads_for
from skscreen.metric_learning.parameters import Parameters
from skscreen.metric_learning.problem.losses import is_narrow
from skscreen.metric_learning.problem.objective import Evaluation, Objective, Problem, Proximal
from skscreen.metric_learning.screening.paper.ranges import PathRanges
from skscreen.metric_learning.screening.paper.rules import PaperScreening
from skscreen.metric_learning.solvers.anderson import AndersonMemory
from skscreen.metric_learning.solvers.progress import Settings
from skscreen.metric_learning.solvers.projected_gradient import minimise
from skscreen.metric_learning.solvers.solution import Solution, Warm


class PathSolver:
    """Solves one lambda after the other, best in decreasing order and closely spaced."""

    def __init__(self, problem: Problem, ranges: bool = False):
        self.problem = problem
        self.warm: Warm | None = None
        # Items with a range that contains lambda are not looked at, neither here nor by solvers.
        self._ranges = PathRanges() if ranges else None
        self._memory = AndersonMemory(problem.geometry.shape)

    @property
    def proximal(self) -> Proximal | None:
        """How the next solve is smoothed, with a dual variable for each item; None if not."""
        if self.warm is not None:
            return self.warm.proximal
        problem, geometry = self.problem, self.problem.geometry
        narrow = is_narrow(problem.loss, _scale(problem), geometry.has_long_ranges)
        return _proximal(problem) if narrow and geometry.lists_items else None

    def recall(self, lam: float, value: np.ndarray, step: float, n_iter: int) -> None:
        """Use a known solution at another lambda; the one nearest to the next comes last."""
        # It need not be accurate, and costs one evaluation.
        if value.shape != self.problem.geometry.shape:
            # It has other coordinates: with few samples they depend on the samples.
            return
        objective = self._objective(lam)
        with blas_threads_for(objective.geometry.n_features):
            evaluation = objective.evaluate(objective.domain.project(value))
        self.warm = self._left(lam, evaluation, step, n_iter, objective.proximal)

    def solve(self, lam: float, settings: Settings) -> Solution:
        """Solve for one lambda to the certified tolerance."""
        warm, objective = self.warm, self._objective(lam)
        reduced = None
        if self._ranges is not None and warm is not None:
            reduced = self._ranges.leave_out(objective, warm)
        with blas_threads_for(objective.geometry.n_features):
            start = self.problem.ray.scaled(1.0 / lam) if warm is None else warm.start(lam)
            solution, evaluation = minimise(
                objective, start, settings, warm=warm, reduced=reduced, memory=self._memory
            )
        certificate = solution.certificate
        if not np.isfinite([certificate.primal, certificate.dual]).all():
            raise ValueError(
                f"lam={self.problem.in_data(lam):g} is so small that the objective overflows: "
                "raise it, or rescale X."
            )
        proximal = evaluation.objective.proximal
        if proximal is not None:
            proximal = replace(proximal, last_gap=math.inf)
        elif solution.n_iter > 200 and _may_smooth(self.problem):
            # After a solve of many steps the next ones are smoothed.
            proximal = _proximal(self.problem)
            if self._ranges is not None:
                # The problem reduced by ranges was made without smoothing.
                self._ranges.forget()
        self.warm = self._left(lam, evaluation, solution.step, solution.n_iter, proximal)
        return solution

    def _objective(self, lam: float) -> Objective:
        """Return the problem at one lambda, with places in the order of what is known."""
        # Everything that is used with a reference is in its order of places.
        objective = self.problem.at(lam, self.proximal)
        if self.warm is None:
            return objective
        return replace(objective, geometry=self.warm.evaluation.objective.geometry)

    def _left(
        self, lam: float, evaluation: Evaluation, step: float, n_iter: int,
        proximal: Proximal | None,
    ) -> Warm:  # fmt: skip
        """Return what the next solve begins with."""
        before = None if self.warm is None else (self.warm.lam, self.warm.evaluation.point)
        warm = Warm(lam, evaluation, step, n_iter, before, proximal)
        # The next solve gains by far places in order if they are many, or if it will screen.
        screens = self._ranges is not None or proximal is not None or not warm.is_short
        if screens or self.problem.geometry.has_long_ranges:
            warm = replace(warm, evaluation=evaluation.in_order())
        return warm

    def approach(self, lam: float, settings: Settings) -> Iterator[tuple[float, Solution]]:
        """Solve along a coarse path to one lambda; yield the share of the way, and solutions."""
        # Roughly, at half the lambda each.
        loose = replace(settings, tol=max(settings.tol, 1e-2))
        lam_max = self.problem.lam_max
        first = lam_max if self.warm is None else min(lam_max, self.warm.lam)
        # Below this only rounding errors are left, and the last step may have any size.
        ratio = max(lam / first, sys.float_info.epsilon) if 0.0 < lam < first else 1.0
        n_steps, wasted = max(math.ceil(math.log(ratio, 0.5)), 1), 0
        for step in range(1, n_steps):
            solution = self.solve(first * ratio ** (step / n_steps), loose)
            yield step / n_steps, solution
            if not solution.converged:
                wasted += solution.n_iter
                # So many in vain: rounding errors prevent progress, and the coarse path is useless.
                if solution.n_iter < loose.max_iter or wasted >= min(10_000, 4 * loose.max_iter):
                    break
        yield 1.0, self.solve(lam, settings)


def _may_smooth(problem: Problem) -> bool:
    geometry = problem.geometry
    # Two numbers are stored for each item.
    few = geometry.n_items <= 10**7 and problem.loss.most == 1.0
    return few and geometry.lists_items and not geometry.has_long_ranges


def _scale(problem: Problem) -> float:
    """Return the size of margins: of positive thresholds if any, as a margin of 0 meets others."""
    return abs(float(problem.geometry.thresholds(problem.loss).max()))


def _proximal(problem: Problem) -> Proximal:
    # From lambda_max on, where paths start, the dual variables are those of the zero metric.
    dual, width = problem.geometry.duals_at_zero(problem.loss), 0.05 * _scale(problem)
    return Proximal(width, dual, min(1e-7, 2e-6 * width))


def solver_settings(parameters: Parameters) -> Settings:
    """Return the settings of the solvers that parameters mean."""
    given = parameters.bound
    bounds = (given,) if isinstance(given, str) else tuple(given)
    main = bounds == ("gap",) and parameters.rule is None
    return Settings(
        hook=None if main else PaperScreening(bounds, parameters.rule or "sphere"),
        screening=parameters.screening,
        screen_every=parameters.screen_every,
        active_set=parameters.active_set,
        tol=float(parameters.tol),
        max_iter=parameters.max_iter or Settings.max_iter,
    )
