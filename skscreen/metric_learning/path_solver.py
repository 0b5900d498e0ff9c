"""The path driver: solves for a sequence of lambda, with warm starts and screening."""

import math
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from skscreen.core.threads import blas_threads_for
from skscreen.metric_learning.problem.comparisons import Comparisons
from skscreen.metric_learning.problem.domains import Point
from skscreen.metric_learning.problem.losses import is_narrow
from skscreen.metric_learning.problem.objective import Objective, Problem, Proximal
from skscreen.metric_learning.screening.active import decide, leave_out
from skscreen.metric_learning.screening.bounds import BOUNDS, rrpb_ball
from skscreen.metric_learning.solvers.anderson import AndersonMemory
from skscreen.metric_learning.solvers.projected_gradient import Options, solve
from skscreen.metric_learning.solvers.solution import Solution

# Width of the proximal smoothing of a narrow loss, as a share of the largest threshold.
_PROXIMAL_WIDTH = 0.05

# Exponent p: along paths lam^p theta is nearly a line over log(lam) for p between 0 and 1/2.
_POWER = 0.25

# Number of steps; after a solve with more, the next solves are smoothed as well.
_HARD = 200

# Largest number of items for smoothing, which stores two numbers for each.
_MOST_SMOOTHED = 10**7

# Number of steps of the path, beyond the next, for which ranges are kept.
_RANGE_STEPS = 3

# Ratio of consecutive lambda, and relative gap, on the coarse path that leads to a single lambda.
_APPROACH_RATIO, _APPROACH_TOL = 0.5, 1e-2

# Number of steps in solves that missed their tolerance after which the coarse path ends, because
# rounding errors prevent progress.
_WASTED = 10_000


class PathSolver:
    """Solves one lambda after the other, best in decreasing order and closely spaced.

    Four things carry over from one lambda to the next: a screening reference, the step length, the
    memory of the last steps, and a start extrapolated through the last two solutions, as
    lambda^(1/4) theta is nearly linear in log(lambda).

    Parameters
    ----------
    problem : Problem
    first : Point
        S_K of `Problem.lam_max`: the first start is S_K / lambda.
    ranges : bool
        Whether items with a stored range that contains lambda are not looked at, neither by path
        screening nor by the solver (Algorithm 2 of Yoshida et al. 2019).
    """

    def __init__(self, problem: Problem, first: Point, ranges: bool = False):
        self._problem = problem
        self._first = first
        self._ranges = ranges
        self._in_range: tuple[float, float, Objective] | None = None
        self._proximal = _proximal(problem) if _is_narrow(problem) else None
        self._memory = AndersonMemory(problem.geometry.shape)
        self._reference: Solution | None = None
        self._before: tuple[float, Point] | None = None

    def recall(self, lam: float, value: np.ndarray, step: float, n_iter: int) -> None:
        """Use a known solution at another lambda; the one nearest to the next lambda comes last.

        It costs one evaluation; the solution need not be accurate.

        Parameters
        ----------
        lam : float
        value : ndarray
            The parameter.
        step : float
            Last step length.
        n_iter : int
            Steps it took.
        """
        if value.shape != self._problem.geometry.shape:
            # It has other coordinates: with few samples they depend on the samples.
            return
        if self._reference is not None:
            self._before = self._reference.lam, self._reference.point
        point = self._problem.domain.project(value)
        objective = self._problem.at(lam, self._proximal)
        with blas_threads_for(objective.geometry.n_features):
            evaluation = objective.evaluate(point)
        self._reference = Solution(
            lam, point, evaluation.certificate(lam), evaluation.loss, evaluation, n_iter,
            True, (), step, 0.0,
        )  # fmt: skip

    def solve(self, lam: float, options: Options) -> Solution:
        """Solve for one lambda to the certified tolerance."""
        reference = self._reference
        objective = self._problem.at(lam, self._proximal)
        step = None if reference is None else reference.step
        with blas_threads_for(objective.geometry.n_features):
            solution = solve(
                objective,
                self._predict(lam),
                options,
                reference=reference,
                reduced=self._out_of_range(objective),
                step=step,
                memory=self._memory,
            )
        evaluation = solution.evaluation
        if self._needs_order(solution):
            evaluation = evaluation.in_order()
        # Everything that is used with the reference is rearranged in its order of slots.
        self._problem = replace(self._problem, geometry=evaluation.objective.geometry)
        if reference is not None:
            self._before = (reference.lam, reference.point)
        self._reference = replace(solution, evaluation=evaluation)
        if (
            self._proximal is None
            and solution.n_iter > _HARD
            and _may_smooth(self._problem.geometry)
        ):
            # The problem reduced by ranges was made without smoothing.
            self._proximal, self._in_range = _proximal(self._problem), None
        return solution

    def _needs_order(self, solution: Solution) -> bool:
        """Whether the next solve gains by slots in order: rows are long, or it will screen."""
        screens = self._ranges or self._proximal is not None or not solution.is_short
        return screens or self._problem.geometry.has_long_rows

    def _out_of_range(self, objective: Objective) -> Objective | None:
        """Return the problem without the items whose range contains its lambda.

        Ranges come from the last reference whose ranges reached down far enough; all that reach as
        far as `_RANGE_STEPS` steps further down are kept in one reduced problem.
        """
        reference, lam = self._reference, objective.lam
        if not self._ranges or reference is None or not lam < reference.lam:
            return None
        if self._in_range is None or not self._in_range[0] <= lam <= self._in_range[1]:
            low = lam * (lam / reference.lam) ** _RANGE_STEPS
            at_low, margins = replace(objective, lam=low), objective.geometry.margins
            ball = rrpb_ball(reference.evaluation, low, reference.lam, margins)
            reduced = leave_out(at_low, decide(at_low, [ball]))
            self._in_range = low, reference.lam, reduced
        return replace(self._in_range[2], lam=lam)

    def approach(
        self, lam: float, lam_max: float, options: Options
    ) -> Iterator[tuple[float, Solution]]:
        """Solve for one lambda over a coarse path from `lam_max`, or from what is known.

        Yields the fraction of the way that is done, and a solution; the last is the one wanted.
        """
        loose = replace(options, tol=max(options.tol, _APPROACH_TOL))
        first = lam_max if self._reference is None else min(lam_max, self._reference.lam)
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

    def _predict(self, lam: float) -> Point:
        reference, before = self._reference, self._before
        if reference is None:
            return self._first.scaled(1.0 / lam)
        if before is None:
            return reference.point
        value, step = reference.point.value, math.log(before[0] / reference.lam)
        if step == 0.0:
            return reference.point
        # More than one step ahead the line is no longer a good model of the path.
        reach = min(max(math.log(reference.lam / lam) / step, -1.0), 1.0)
        move = reach * (value - math.exp(_POWER * step) * before[1].value)
        return self._problem.domain.project(math.exp(_POWER * step * reach) * (value + move))


def _is_narrow(problem: Problem) -> bool:
    geometry = problem.geometry
    narrow = is_narrow(problem.loss.gamma, _scale(problem), geometry.has_long_rows)
    return narrow and geometry.lists_items


def _may_smooth(geometry: Comparisons) -> bool:
    few = geometry.n_items <= _MOST_SMOOTHED
    return few and geometry.lists_items and not geometry.has_long_rows


def _scale(problem: Problem) -> float:
    # Negative thresholds are met at zero, so the positive ones, if any, give the size of the
    # margins.
    return abs(float(problem.geometry.thresholds(problem.loss).max()))


def _proximal(problem: Problem) -> Proximal:
    geometry, loss, scale = problem.geometry, problem.loss, _scale(problem)
    # From lambda_max on, where paths start, the dual variables are those of the zero metric.
    dual = geometry.duals_at_zero(loss)
    return Proximal(_PROXIMAL_WIDTH * scale, dual, dual.copy())


def solver_options(model) -> Options:
    """Return the options of the solvers that the parameters of an estimator mean."""
    bounds = (model.bound,) if isinstance(model.bound, str) else tuple(model.bound)
    unknown = [name for name in bounds if name not in tuple(BOUNDS)]
    if unknown or not bounds:
        raise ValueError(
            f"bound must name at least one of {', '.join(map(repr, BOUNDS))}, got {model.bound!r}."
        )
    return Options(
        bounds=bounds,
        rule=model.rule,
        screening=model.screening,
        screen_every=model.screen_every,
        active_set=model.active_set,
        tol=model.tol,
        max_iter=model.max_iter,
    )
