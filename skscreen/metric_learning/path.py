"""The regularisation path of metric learning from triplets."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Hashable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator

from skscreen.core.checks import TableLike
from skscreen.core.memory import check_memory
from skscreen.core.sklearn_private import Interval, validate_params
from skscreen.fitting.grid import positive_values
from skscreen.fitting.path import (
    PathResult,
    place_of,
    solve_path,
    warn_unless_converged,
)
from skscreen.metric_learning.estimator import ScreenedRTLM
from skscreen.metric_learning.learning import (
    ADVICE,
    checked_samples,
    chosen_lam,
    fitted,
    steps_of,
    unit_of_lam,
    warn_if_absolute,
)
from skscreen.metric_learning.parameters import Parameters, Supervision
from skscreen.metric_learning.path_solver import PathSolver, solver_settings
from skscreen.metric_learning.problem.build import build
from skscreen.metric_learning.problem.objective import Problem
from skscreen.metric_learning.screened.decisions import screened_at
from skscreen.metric_learning.screened.result import TripletScreening
from skscreen.metric_learning.screening.active import screen
from skscreen.metric_learning.screening.paper.ranges import count_in_range
from skscreen.metric_learning.solvers.progress import Settings
from skscreen.metric_learning.solvers.solution import Solution


@dataclass(frozen=True, repr=False)
class RTLMPath(PathResult[ScreenedRTLM, Solution]):
    """Solutions along a regularisation path, in descending order of lambda.

    Iterate over it or index it to get the fitted estimators; arrays have one entry for each lambda.
    The path keeps the pairs of the triplets, from which the rates are computed. If there are at
    most as many samples as features, the `point` of a solution is in coordinates of the span of the
    samples (`problem.basis`), whereas `matrices` and the estimators refer to the features.

    Attributes
    ----------
    model : ScreenedRTLM
        The parameters of the path. It is not fitted.
    solutions : tuple of Solution
    problem : Problem
        Everything but lambda; for the properties that are computed on demand.
    lam_max : float
        `lams / lam_max` are values of the parameter `lam` of `ScreenedRTLM` with `relative_lam`.
    """

    problem: Problem

    @property
    def lam_max(self) -> float:
        """Absolute lambda_max."""
        return self.problem.in_data(self.problem.lam_max)

    @property
    def n_triplets(self) -> int:
        """Number of triplets, or of comparisons, of the problem."""
        return self.problem.geometry.n_items

    @property
    def lams(self) -> np.ndarray:
        """Absolute values of lambda, descending."""
        return np.array([self.problem.in_data(solution.lam) for solution in self.solutions])

    @property
    def screening_parameter(self) -> str:
        """The parameter that differs along the path."""
        return "lam"

    @property
    def screening_history(self) -> np.ndarray:
        """All screening steps, as in `screening_history_`."""
        return steps_of(self.solutions, self.problem)

    def screened(self, lam: float) -> TripletScreening:
        """Return the decisions that the metric for one of the `lams` proves; see `screen_triplets`.

        Not for paths of quadruplets or pairs.
        """
        solution = self.solutions[self.index(self.lams, lam, "lam")]
        return screened_at(self.problem, solution.lam, solution.point, solution.lam)

    def __getitem__(self, index: int) -> ScreenedRTLM:
        """Return the fitted estimator of the value of lambda at a place in `lams`."""
        return fitted(self.model, self.solutions[place_of(index, len(self))], self.problem)

    @property
    def matrices(self) -> np.ndarray:
        """Metrics, (n_lams, d, d); for a diagonal metric the weights, (n_lams, d)."""
        return np.stack([self.problem.matrix(solution.point) for solution in self.solutions])

    @property
    def rates(self) -> np.ndarray:
        """Share of all triplets that had been dropped when the solve ended.

        Where the solver did not screen: the share that it could have dropped, as in `path_rates`.
        """
        ends = self._share([solution.n_screened() for solution in self.solutions])
        return np.where(self._path_screened, ends, np.maximum(ends, self.path_rates))

    @cached_property
    def path_rates(self) -> np.ndarray:
        """The same before the first iteration, by the solution at the previous lambda."""
        # Where the solver did not screen it takes three evaluations for each lambda.
        counts = [solution.n_screened("path") for solution in self.solutions]
        if self.model.screening:
            for t in (np.flatnonzero(~self._path_screened[1:]) + 1).tolist():
                counts[t] = self._n_path_screened(t)
        return self._share(counts)

    @property
    def _path_screened(self) -> np.ndarray:
        return np.array([any(event.where == "path" for event in s.history) for s in self.solutions])

    def _n_path_screened(self, t: int) -> int:
        before, solution = self.solutions[t - 1 : t + 1]
        reference = self.problem.at(before.lam).evaluate(before.point).in_order()
        objective = replace(reference.objective, lam=solution.lam)
        hook = solver_settings(Parameters.of(self.model)).hook
        found = screen(objective, reference, before.lam, hook)
        return found.n_zero + found.n_linear

    def _share(self, counts: Sequence[int]) -> np.ndarray:
        return np.array(counts) / self.n_triplets

    @cached_property
    def n_decidable(self) -> np.ndarray:
        """Number of triplets that screening could decide: those off the quadratic piece."""
        geometry, loss = self.problem.geometry, self.problem.loss
        margins = (geometry.margins(solution.point) for solution in self.solutions)
        return np.array([geometry.count_decidable(x, loss) for x in margins])

    @cached_property
    def range_rates(self) -> np.ndarray:
        """Share of all triplets that the ranges of one solution decide at later values.

        Entry (i, j) of (n_lams, n_lams) is from solution i at the lambda of j, NaN for j < i.
        Computed on demand, in about 50 ns for each triplet and solution.
        """
        rates = np.full((len(self), len(self)), np.nan)
        for i, solution in enumerate(self.solutions):
            gap, lams = solution.certificate.gap, np.array([s.lam for s in self.solutions[i:]])
            counts = count_in_range(
                self.problem.at(solution.lam), solution.point, solution.lam, gap, lams[::-1]
            )
            rates[i, i:] = counts[::-1] / self.n_triplets
        return rates


@validate_params(
    {
        "ratio": [Interval(Real, 0, 1, closed="neither")],
        "stop": [Interval(Real, 0, None, closed="left")],
        "n_lams": [Interval(Integral, 1, None, closed="left"), None],
        "ranges": ["boolean"],
    },
    prefer_skip_nested_validation=False,
)
def rtlm_path(
    X: TableLike, y: ArrayLike | None = None, lams: ArrayLike | None = None, *, ratio: float = 0.9,
    stop: float = 0.01, n_lams: int | None = None, ranges: bool = False,
    triplets: ArrayLike | None = None, quadruplets: ArrayLike | None = None,
    pairs: tuple[ArrayLike, ...] | None = None, sample_weight: ArrayLike | None = None,
    comparison_weight: ArrayLike | None = None, callbacks: Sequence[object] = (),
    relative_lam: bool = True, n_neighbors: int = 5, loss: str = "smoothed_hinge",
    width: float = 0.05, pull: float = 0.0, linear_term: ArrayLike | None = None,
    diagonal: bool = False, bound: str | Sequence[str] = ("gap",), rule: str | None = None,
    screening: bool = True, screen_every: int = 10, active_set: bool = True, tol: float = 1e-6,
    max_iter: int | None = None, n_components: int | None = None,
    neighbors: sparse.csr_array | BaseEstimator | None = None, unlabelled: Hashable = None,
    n_jobs: int | None = None, verbose: int = 0,
) -> RTLMPath:  # fmt: skip
    """Learn metrics along the regularisation path, each with a certificate.

    Each fit starts from the previous solutions. Without `lams` the path starts at lambda_max,
    multiplies lambda by `ratio` each time, and ends after `n_lams` values, when the loss hardly
    decreases any more: (loss_(t-1) - loss_t) / loss_(t-1) * lam_(t-1) / (lam_(t-1) - lam_t) <
    `stop` (Yoshida et al. 2019, section 7), or when it is at most `stop` times the objective, as
    where some metric separates all triplets.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
        Class labels; not used with comparisons.
    lams : array-like of shape (n_lams,), optional
        Values of lambda, in any order: fractions of lambda_max unless `relative_lam` is False. Then
        `ratio` and `stop` are ignored.
    ratio : float, default=0.9
        Ratio of consecutive values, in (0, 1).
    stop : float, default=0.01
        Threshold of the stopping rules, >= 0.
    n_lams : int, optional
        Largest number of values, also if `lams` is given.
    ranges : bool, default=False
        Whether triplets that a solution decides for a whole range of lambda are skipped in that
        range (Algorithm 2 of the paper).
    triplets, quadruplets, pairs, sample_weight, comparison_weight : optional
        Comparisons instead of labels, and weights, as in `ScreenedRTLM.fit`.
    callbacks : sequence of callbacks, optional
        Callbacks of scikit-learn >= 1.9. Each lambda is a task; a callback that asks to stop ends
        the path.
    relative_lam, n_neighbors, loss, width, pull, linear_term, diagonal, bound, rule, screening
        As in `ScreenedRTLM`.
    screen_every, active_set, tol, max_iter, n_components, neighbors, unlabelled, n_jobs, verbose
        As in `ScreenedRTLM`.

    Returns
    -------
    RTLMPath
        After Ctrl-C it holds the solutions found so far.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments or data; the message names the argument.
    MemoryError
        If the pairs, or the metrics for all values of lambda, would not fit into the free memory.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol` at some value (see `RTLMPath.converged`).
    UserWarning
        If the path was interrupted, or if the zero matrix is optimal for every lambda.

    References
    ----------
    T. Yoshida, I. Takeuchi, M. Karasuyama (2019). Safe triplet screening for distance metric
    learning. Neural Computation 31, 2432-2491. Algorithms 1 and 2, section 7.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skscreen import rtlm_path
    >>> path = rtlm_path(*load_iris(return_X_y=True), ratio=0.5)
    >>> bool(path.dual_gaps.max() <= 1e-6)
    True
    """
    model = ScreenedRTLM(
        relative_lam=relative_lam, n_neighbors=n_neighbors, loss=loss, width=width, pull=pull,
        linear_term=linear_term, diagonal=diagonal, bound=bound, rule=rule, screening=screening,
        screen_every=screen_every, active_set=active_set, tol=tol, max_iter=max_iter,
        n_components=n_components, neighbors=neighbors, unlabelled=unlabelled, n_jobs=n_jobs,
        verbose=verbose,
    )  # fmt: skip
    model._validate_params()
    given = None if lams is None else positive_values("lams", lams)[::-1][:n_lams]
    parameters = Parameters.of(model)
    settings = solver_settings(parameters)
    supervision = Supervision(y, sample_weight, triplets, quadruplets, pairs, comparison_weight)
    problem = build(checked_samples(model, X), parameters, supervision)
    n_values = n_lams or 0 if given is None else len(given)
    what = f"Metrics for {n_values:,} values of lambda"
    size = math.prod(problem.geometry.shape)
    # A solution has the metric and its factor.
    check_memory(16.0 * size * n_values, what, "Use fewer values.")
    grid: Iterable[float]
    if given is not None:
        warn_if_absolute(given[0], relative_lam)
        grid, stop = [chosen_lam(lam, relative_lam, problem) for lam in given], -math.inf
    elif problem.lam_max > 0.0:
        # Below the last one only rounding errors are left.
        last = math.ceil(math.log(sys.float_info.epsilon, ratio))
        grid = (problem.lam_max * ratio**t for t in range(last))
    else:
        grid = [unit_of_lam(problem)]
    solver = PathSolver(problem, ranges and model.screening)
    if callbacks:
        model.set_callbacks(*callbacks)
    total = len(grid) if isinstance(grid, Sized) else n_lams
    steps = _steps(solver, settings, itertools.islice(grid, n_lams), stop, total)
    solutions = solve_path(model, steps, total, "lambda")
    warn_unless_converged(solutions, model.tol, settings.max_iter, ADVICE)
    return RTLMPath(model, tuple(solutions), problem)


def _steps(
    solver: PathSolver, settings: Settings, grid: Iterable[float], stop: float, total: int | None
) -> Iterator[tuple[Solution, float]]:
    """Solve along a grid until it or the stopping rule ends; also yields how far that is."""
    first = before = None
    for t, lam in enumerate(grid):
        solution = solver.solve(lam, settings)
        first = first or solution
        ends = before is not None and _ends(before, solution, stop)
        if ends:
            done = 1.0
        elif total is not None:
            done = (t + 1) / total
        else:
            # Lambda falls by about seven decades until the stopping rule holds, by default.
            done = min(math.log10(first.lam / lam) / 7.5, 0.99)
        yield solution, done
        if ends:
            return
        before = solution


def _ends(before: Solution, after: Solution, stop: float) -> bool:
    """Whether the loss hardly falls any more, relative to lambda, or hardly matters."""
    decrease = (before.loss - after.loss) * before.lam
    return (
        decrease < stop * abs(before.loss) * (before.lam - after.lam)
        # With a linear term it may be negative.
        or 0.0 <= after.loss <= stop * after.certificate.primal
    )
