"""The path driver: solves for a sequence of lambda, with warm starts and screening."""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from skscreen.core.threads import blas_threads_for
from skscreen.metric_learning.problem.domains import Domain, Point
from skscreen.metric_learning.problem.losses import is_narrow
from skscreen.metric_learning.problem.objective import Objective, Problem, Proximal
from skscreen.metric_learning.screening.paper.hook import PaperScreening
from skscreen.metric_learning.screening.paper.ranges import PathRanges
from skscreen.metric_learning.solvers.anderson import AndersonMemory
from skscreen.metric_learning.solvers.progress import Options
from skscreen.metric_learning.solvers.projected_gradient import solve
from skscreen.metric_learning.solvers.solution import Solution

# Width of the proximal smoothing of a narrow loss, as a share of the largest threshold.
_PROXIMAL_WIDTH = 0.05

# Exponent p: along paths lam^p theta is nearly a line over log(lam) for p between 0 and 1/2.
_POWER = 0.25

# Number of steps; after a solve with more, the next solves are smoothed as well.
_HARD = 200

# Largest number of items for smoothing, which stores two numbers for each.
_MOST_SMOOTHED = 10**7

# Ratio of consecutive lambda, and relative gap, on the coarse path that leads to a single lambda.
_APPROACH_RATIO, _APPROACH_TOL = 0.5, 1e-2

# Number of steps in solves that missed their tolerance after which the coarse path ends, because
# rounding errors prevent progress.
_WASTED = 10_000


@dataclass(frozen=True)
class Warm:
    """What the solve at one lambda leaves for the next.

    `solution` comes with its evaluation, places in order: the screening reference; its point and
    step length are where the next solve begins. `before` are lambda and solution one step earlier.
    """

    solution: Solution
    before: tuple[float, Point] | None = None

    def start(self, lam: float, domain: Domain) -> Point:
        """Extrapolate to a lambda through the last two solutions.

        lambda^(1/4) theta is nearly linear in log(lambda).
        """
        last, before = self.solution, self.before
        step = 0.0 if before is None else math.log(before[0] / last.lam)
        if step == 0.0:
            return last.point
        # More than one step ahead the line is no longer a good model of the path.
        reach = min(max(math.log(last.lam / lam) / step, -1.0), 1.0)
        value = last.point.value
        move = reach * (value - math.exp(_POWER * step) * before[1].value)
        return domain.project(math.exp(_POWER * step * reach) * (value + move))

    def followed_by(self, solution: Solution) -> "Warm":
        """Return what the next solution leaves."""
        return Warm(solution, (self.solution.lam, self.solution.point))


class PathSolver:
    """Solves one lambda after the other, best in decreasing order and closely spaced.

    What carries over from one lambda to the next is `Warm`, and the memory of the last steps. The
    first start is `first` / lambda, S_K of `Problem.lam_max`. With `ranges`, items with a stored
    range that contains lambda are not looked at, neither by path screening nor by the solver.
    """

    def __init__(self, problem: Problem, first: Point, ranges: bool = False):
        self._problem, self._first = problem, first
        self._ranges = PathRanges() if ranges else None
        self._proximal = _proximal(problem) if _is_narrow(problem) else None
        self._memory = AndersonMemory(problem.geometry.shape)
        self._warm: Warm | None = None

    @property
    def is_smoothed(self) -> bool:
        """Whether the next solve is smoothed, with a dual variable for each item."""
        return self._proximal is not None

    def recall(self, lam: float, value: np.ndarray, step: float, n_iter: int) -> None:
        """Use a known solution at another lambda; the one nearest to the next lambda comes last.

        It costs one evaluation. Given are the parameter, which need not be accurate, the last step
        length and the number of steps it took.
        """
        if value.shape != self._problem.geometry.shape:
            # It has other coordinates: with few samples they depend on the samples.
            return
        point = self._problem.domain.project(value)
        objective = self._problem.at(lam, self._proximal)
        with blas_threads_for(objective.geometry.n_features):
            evaluation = objective.evaluate(point)
        known = Solution(
            lam, point, evaluation.certificate(lam), evaluation.loss, evaluation, n_iter,
            True, (), step, 0.0,
        )  # fmt: skip
        self._leave(known)

    def solve(self, lam: float, options: Options) -> Solution:
        """Solve for one lambda to the certified tolerance."""
        warm, objective = self._warm, self._problem.at(lam, self._proximal)
        last = None if warm is None else warm.solution
        with blas_threads_for(objective.geometry.n_features):
            solution = solve(
                objective,
                self._first.scaled(1.0 / lam)
                if warm is None
                else warm.start(lam, objective.domain),
                options,
                reference=last,
                reduced=self._out_of_range(objective),
                step=None if last is None else last.step,
                memory=self._memory,
            )
        evaluation = solution.evaluation
        proximal = evaluation.objective.proximal
        if proximal is not None:
            self._proximal = replace(proximal, last_gap=math.inf)
        if self._needs_order(solution):
            evaluation = evaluation.in_order()
        # Everything that is used with the reference is rearranged in its order of places.
        self._problem = replace(self._problem, geometry=evaluation.objective.geometry)
        self._leave(replace(solution, evaluation=evaluation))
        if proximal is None and solution.n_iter > _HARD and _may_smooth(self._problem):
            self._proximal = _proximal(self._problem)
            if self._ranges is not None:
                # The problem reduced by ranges was made without smoothing.
                self._ranges.forget()
        return solution

    def _leave(self, solution: Solution) -> None:
        warm = self._warm
        self._warm = Warm(solution) if warm is None else warm.followed_by(solution)

    def _needs_order(self, solution: Solution) -> bool:
        """Whether the next solve gains by far places in order: they are many, or it will screen."""
        screens = self._ranges is not None or self._proximal is not None or not solution.is_short
        return screens or self._problem.geometry.has_long_rows

    def _out_of_range(self, objective: Objective) -> Objective | None:
        """Return the problem without the items whose range contains its lambda."""
        if self._ranges is None or self._warm is None:
            return None
        reduced = self._ranges.leave_out(objective, self._warm.solution)
        if reduced is not None:
            self._proximal = reduced.proximal
        return reduced

    def approach(
        self, lam: float, lam_max: float, options: Options
    ) -> Iterator[tuple[float, Solution]]:
        """Solve for one lambda over a coarse path from `lam_max`, or from what is known.

        Yields the fraction of the way that is done, and a solution; the last is the one wanted.
        """
        loose = replace(options, tol=max(options.tol, _APPROACH_TOL))
        first = lam_max if self._warm is None else min(lam_max, self._warm.solution.lam)
        # Below this only rounding errors are left, and the last step may have any size.
        ratio = max(lam / first, sys.float_info.epsilon) if 0.0 < lam < first else 1.0
        n_steps, wasted = max(math.ceil(math.log(ratio, _APPROACH_RATIO)), 1), 0
        for step in range(1, n_steps):
            solution = self.solve(first * ratio ** (step / n_steps), loose)
            yield step / n_steps, solution
            if not solution.converged:
                wasted += solution.n_iter
                # Rounding errors prevent progress, so further steps on the coarse path are useless.
                if solution.n_iter < loose.max_iter or wasted >= _WASTED:
                    break
        yield 1.0, self.solve(lam, options)


def _is_narrow(problem: Problem) -> bool:
    geometry = problem.geometry
    narrow = is_narrow(problem.loss.width, _scale(problem), geometry.has_long_rows)
    return narrow and geometry.lists_items


def _may_smooth(problem: Problem) -> bool:
    geometry = problem.geometry
    few = geometry.n_items <= _MOST_SMOOTHED and problem.loss.most == 1.0
    return few and geometry.lists_items and not geometry.has_long_rows


def _scale(problem: Problem) -> float:
    # Negative thresholds are met at zero, so the positive ones, if any, give the size of the
    # margins.
    return abs(float(problem.geometry.thresholds(problem.loss).max()))


def _proximal(problem: Problem) -> Proximal:
    geometry, loss, scale = problem.geometry, problem.loss, _scale(problem)
    # From lambda_max on, where paths start, the dual variables are those of the zero metric.
    dual = geometry.duals_at_zero(loss)
    width = _PROXIMAL_WIDTH * scale
    return Proximal(width, dual, min(1e-7, 2e-6 * width))


def solver_options(model) -> Options:
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
