"""The path driver: solves for a sequence of lambda, with warm starts and screening."""

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from skscreen.core.threads import blas_threads_for
from skscreen.metric_learning.problem.losses import is_narrow
from skscreen.metric_learning.problem.objective import Evaluation, Objective, Problem, Proximal
from skscreen.metric_learning.screening.paper.ranges import PathRanges
from skscreen.metric_learning.screening.paper.rules import PaperScreening
from skscreen.metric_learning.solvers.anderson import AndersonMemory
from skscreen.metric_learning.solvers.progress import Options
from skscreen.metric_learning.solvers.projected_gradient import solve
from skscreen.metric_learning.solvers.solution import Solution, Warm


class PathSolver:
    """Solves one lambda after the other, best in decreasing order and closely spaced."""

    def __init__(self, problem: Problem, ranges: bool = False):
        self._problem, self._first, self._lam_max = problem, problem.first, problem.lam_max
        # Items with a range that contains lambda are not looked at, neither here nor by solvers.
        self._ranges = PathRanges() if ranges else None
        geometry = problem.geometry
        narrow = is_narrow(problem.loss, _scale(problem), geometry.has_long_ranges)
        self._proximal = _proximal(problem) if narrow and geometry.lists_items else None
        self._memory = AndersonMemory(geometry.shape)
        self.warm: Warm | None = None

    @property
    def is_smoothed(self) -> bool:
        """Whether the next solve is smoothed, with a dual variable for each item."""
        return self._proximal is not None

    def recall(self, lam: float, value: np.ndarray, step: float, n_iter: int) -> None:
        """Use a known solution at another lambda; the one nearest to the next comes last."""
        # It need not be accurate, and costs one evaluation.
        if value.shape != self._problem.geometry.shape:
            # It has other coordinates: with few samples they depend on the samples.
            return
        objective = self._problem.at(lam, self._proximal)
        with blas_threads_for(objective.geometry.n_features):
            evaluation = objective.evaluate(objective.domain.project(value))
        self._leave(lam, evaluation, step, n_iter)

    def solve(self, lam: float, options: Options) -> Solution:
        """Solve for one lambda to the certified tolerance."""
        warm, objective = self.warm, self._problem.at(lam, self._proximal)
        with blas_threads_for(objective.geometry.n_features):
            start = self._first.scaled(1.0 / lam) if warm is None else warm.start(lam)
            solution, evaluation = solve(
                objective, start, options, warm=warm, reduced=self._out_of_range(objective),
                memory=self._memory,
            )  # fmt: skip
        proximal = evaluation.objective.proximal
        if proximal is not None:
            self._proximal = replace(proximal, last_gap=math.inf)
        self._leave(lam, evaluation, solution.step, solution.n_iter)
        # After a solve of many steps the next ones are smoothed.
        if proximal is None and solution.n_iter > 200 and _may_smooth(self._problem):
            self._proximal = _proximal(self._problem)
            if self._ranges is not None:
                # The problem reduced by ranges was made without smoothing.
                self._ranges.forget()
        return solution

    def _leave(self, lam: float, evaluation: Evaluation, step: float, n_iter: int) -> None:
        """Keep what the next solve begins with."""
        last, geometry = self.warm, self._problem.geometry
        before = None if last is None else (last.lam, last.evaluation.point)
        warm = Warm(lam, evaluation, step, n_iter, before)
        # The next solve gains by far places in order if they are many, or if it will screen.
        screens = self._ranges is not None or self.is_smoothed or not warm.is_short
        if screens or geometry.has_long_ranges:
            warm = replace(warm, evaluation=evaluation.in_order())
        # Everything that is used with the reference is rearranged in its order of places.
        geometry = warm.evaluation.objective.geometry
        self.warm, self._problem = warm, replace(self._problem, geometry=geometry)

    def _out_of_range(self, objective: Objective) -> Objective | None:
        """Return the problem without the items whose range contains its lambda."""
        if self._ranges is None or self.warm is None:
            return None
        reduced = self._ranges.leave_out(objective, self.warm)
        if reduced is not None:
            self._proximal = reduced.proximal
        return reduced

    def approach(self, lam: float, options: Options) -> Iterator[tuple[float, Solution]]:
        """Solve along a coarse path to one lambda; yield the share of the way, and solutions."""
        # Roughly, at half the lambda each.
        loose = replace(options, tol=max(options.tol, 1e-2))
        first = self._lam_max if self.warm is None else min(self._lam_max, self.warm.lam)
        # Below this only rounding errors are left, and the last step may have any size.
        ratio = max(lam / first, sys.float_info.epsilon) if 0.0 < lam < first else 1.0
        n_steps, wasted = max(math.ceil(math.log(ratio, 0.5)), 1), 0
        for step in range(1, n_steps):
            solution = self.solve(first * ratio ** (step / n_steps), loose)
            yield step / n_steps, solution
            if not solution.converged:
                wasted += solution.n_iter
                # So many in vain: rounding errors prevent progress, and the coarse path is useless.
                if solution.n_iter < loose.max_iter or wasted >= 10_000:
                    break
        yield 1.0, self.solve(lam, options)


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


def solver_options(model: Any) -> Options:
    """Return the options of the solvers that the parameters of an estimator mean."""
    bounds = (model.bound,) if isinstance(model.bound, str) else tuple(model.bound)
    main = bounds == ("gap",) and model.rule is None
    return Options(
        hook=None if main else PaperScreening(bounds, model.rule or "sphere"),
        screening=model.screening,
        screen_every=model.screen_every,
        active_set=model.active_set,
        tol=model.tol,
        max_iter=model.max_iter or Options.max_iter,
    )
