"""Paths over nu: the solutions for many values, each from the line through the two before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skscreen.core.certificate import Certificate
from skscreen.core.checks import MatrixLike
from skscreen.core.memory import check_memory
from skscreen.core.threads import at_most
from skscreen.fitting.grid import positive_values
from skscreen.fitting.path import PathResult, place_of, solve_path
from skscreen.fitting.progress import say
from skscreen.fitting.warning import warn_user
from skscreen.svm.nu import one_class, svc, svr
from skscreen.svm.nu.estimator import warn_of
from skscreen.svm.nu.labelled import NuProblems
from skscreen.svm.nu.one_class import ScreenedOneClassSVM
from skscreen.svm.nu.one_class_problem import OneClassProblem
from skscreen.svm.nu.svc import ScreenedNuSVC
from skscreen.svm.nu.svr import ScreenedNuSVR

# Values of nu, where none are given.
_N_VALUES = 20


@dataclass(frozen=True)
class AtNu:
    """What is known at one nu: what the estimator is made of, and the solutions of all problems."""

    nu: float
    made_of: Any
    problems: tuple
    objective: float

    @property
    def certificate(self) -> Certificate:
        """That of the problem with the largest gap."""
        found = [each.certificate for each in self.problems]
        return max(found, key=lambda each: each.relative_gap)

    @property
    def n_iter(self) -> int:
        """Steps of all problems."""
        return sum(each.n_iter for each in self.problems)

    @property
    def seconds(self) -> float:
        """Time of all problems."""
        return sum(each.seconds for each in self.problems)

    @property
    def converged(self) -> bool:
        """Whether all met the tolerance."""
        return all(each.converged for each in self.problems)

    @property
    def place(self) -> str:
        """Position on a path, in words."""
        return f"nu={self.nu:.3g}"

    def __str__(self) -> str:
        """Text for a progress bar."""
        return f"{self.place} gap={self.certificate.relative_gap:.1e} iterations={self.n_iter}"


@dataclass(frozen=True, repr=False)
class NuPath(PathResult):
    """Solutions along a path over nu, ascending.

    Iterate over it or index it to get the fitted estimators. The arrays have one entry for each nu.

    Attributes
    ----------
    model : ScreenedOneClassSVM, ScreenedNuSVC or ScreenedNuSVR
        The parameters of the path. It is not fitted.
    nus : ndarray
        Values of nu, ascending.
    objectives : ndarray
        `objective_` of the estimators; for more than two classes the sum.
    dual_gaps : ndarray
        Relative duality gaps, for more than two classes the largest.
    n_iters, seconds, converged : ndarray
        Steps and time of each solve, and whether its gap met the tolerance.
    """

    fitted: Callable[[Any], Any]

    @property
    def nus(self) -> np.ndarray:
        """Values of nu, ascending."""
        return np.array([solution.nu for solution in self.solutions])

    @property
    def objectives(self) -> np.ndarray:
        """Primal objectives."""
        return np.array([solution.objective for solution in self.solutions])

    def __getitem__(self, index: int) -> Any:
        """Return the fitted estimator of the nu at a place in `nus`."""
        return self.fitted(self.solutions[place_of(index, len(self))].made_of)


def _grid(nus: int | ArrayLike | None, smallest: float, largest: float) -> np.ndarray:
    """Return values of nu, ascending; by default between two."""
    if nus is None:
        return np.linspace(smallest, largest, _N_VALUES)
    grid = positive_values("nus", nus)
    if grid[-1] > 1.0:
        raise ValueError(f"nus must be in (0, 1], got {grid[-1]:g}.")
    return grid


def _along(
    model: BaseEstimator, grid: np.ndarray, n: int, solve: Callable[[float], AtNu],
    callbacks: Sequence[object],
) -> tuple[AtNu, ...]:  # fmt: skip
    """Return the solutions for values of nu, solved in the order of `grid`; warn of flaws."""
    what = f"{n:,} dual variables and scores for {grid.size:,} values of nu"
    check_memory(16.0 * n * grid.size, what, "Use fewer values.")
    if callbacks:
        model.set_callbacks(*callbacks)
    ends: list[ValueError] = []

    def steps() -> Iterator[tuple[AtNu, float]]:
        is_first = True
        for t, nu in enumerate(grid.tolist()):
            try:
                found = solve(nu)
            except ValueError as error:
                # A smaller nu has no solution but w = 0 either.
                if nu == grid.max() or "too small" not in str(error):
                    raise
                ends.append(error)
                if is_first:
                    continue
                return
            is_first = False
            yield found, (t + 1) / grid.size

    with at_most(model.n_jobs):
        solutions = solve_path(model, steps(), grid.size, "nu")
    if ends:
        least = min(found.nu for found in solutions)
        warn_user(f"The path ends at nu={least:g}: {ends[-1]}")
    warn_of(model, [each for found in solutions for each in found.problems])
    return tuple(sorted(solutions, key=lambda found: found.nu))


def one_class_path(
    X: MatrixLike,
    nus: int | ArrayLike | None = None,
    *,
    kernel: str | Callable = "rbf",
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    shape: str = "plane",
    tol: float = 1e-6,
    max_iter: int | None = None,
    cache_size: float = 1000,
    verbose: int = 0,
    sample_weight: ArrayLike | None = None,
    callbacks: Sequence[object] = (),
) -> NuPath:
    """Solve one-class SVMs for many values of nu, each from the solutions before.

    Dual variables are piecewise linear in nu, so each solve starts on the line through the last two
    solutions. The values are solved from the smallest one up, each with its own certificate. 20
    values take 2 to 5 times as long as the longest fit for 4,000 samples or more, 6 to 10 times for
    fewer samples, whose kernel values are computed once, and nearly as long as 20 fits with the
    linear kernel.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    nus : array-like, optional
        Values in (0, 1]; by default 20 from 0.01 to 0.5.
    kernel, gamma, degree, coef0, shape, tol, max_iter, cache_size, verbose
        As in `ScreenedOneClassSVM`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights; samples of weights <= 0 are left out.
    callbacks : sequence, default=()
        Callbacks of scikit-learn >= 1.9, which may end the path.

    Returns
    -------
    NuPath
        After Ctrl-C it holds the solutions found so far. Values so small that w = 0 is the solution
        are left out, with a warning.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As of `ScreenedOneClassSVM`.

    Warns
    -----
    ConvergenceWarning, UserWarning
        As of `ScreenedOneClassSVM`, once.

    Examples
    --------
    >>> import numpy as np
    >>> from skscreen import one_class_path
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> path = one_class_path(X, [0.05, 0.1, 0.2])
    >>> [bool((model.predict(X) == -1).mean() <= model.nu) for model in path]
    [True, True, True]
    """
    model = ScreenedOneClassSVM(
        kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, shape=shape, tol=tol,
        max_iter=max_iter, cache_size=cache_size, verbose=verbose,
    )  # fmt: skip
    model._validate_params()
    grid = _grid(nus, 0.01, 0.5)
    problem = OneClassProblem(model, X, sample_weight, several=True)
    say(verbose, problem.road)

    def solve(nu: float) -> AtNu:
        held = problem.solve(nu, float(model.tol))
        return AtNu(nu, held, (held.solution,), held.objective)

    # Upwards samples that come inside are added to the scores of few; downwards all are taken out.
    solutions = _along(model, grid, problem.weights.size, solve, callbacks)
    problem.release(X)
    return NuPath(model, solutions, partial(one_class.fitted_at, model, problem))


def nu_svc_path(
    X: MatrixLike,
    y: ArrayLike,
    nus: int | ArrayLike | None = None,
    *,
    kernel: str | Callable = "rbf",
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    tol: float = 1e-6,
    max_iter: int | None = None,
    multi_class: str = "ovo",
    decision_function_shape: str = "ovr",
    break_ties: bool = False,
    class_weight: Mapping | str | None = None,
    cache_size: float = 1000,
    n_jobs: int | None = None,
    verbose: int = 0,
    sample_weight: ArrayLike | None = None,
    callbacks: Sequence[object] = (),
) -> NuPath:
    """Solve classifiers at many values of nu, each from the solutions before.

    See `one_class_path`, but values are solved from the largest one down. C, the attribute `C_` of
    the estimators, rises along the path as nu falls.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Class labels.
    nus : array-like, optional
        Values in (0, 1]; by default 20 from 25 % of the largest feasible one up to it.
    kernel, gamma, degree, coef0, tol, max_iter, multi_class, decision_function_shape, break_ties
        As in `ScreenedNuSVC`.
    class_weight, cache_size, n_jobs, verbose
        As in `ScreenedNuSVC`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights; samples of weights <= 0 are left out.
    callbacks : sequence, default=()
        Callbacks of scikit-learn >= 1.9, which may end the path.

    Returns
    -------
    NuPath
        See `one_class_path`.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As of `ScreenedNuSVC`.

    Warns
    -----
    ConvergenceWarning, UserWarning
        As of `ScreenedNuSVC`, once.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import nu_svc_path
    >>> X, y = load_wine(return_X_y=True)
    >>> path = nu_svc_path(scale(X), y, [0.1, 0.3, 0.5])
    >>> bool(path.dual_gaps.max() <= 1e-6)
    True
    """
    model = ScreenedNuSVC(
        nu=1e-9, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, tol=tol,
        max_iter=max_iter, multi_class=multi_class,
        decision_function_shape=decision_function_shape, break_ties=break_ties,
        class_weight=class_weight, cache_size=cache_size, n_jobs=n_jobs, verbose=verbose,
    )  # fmt: skip
    model._validate_params()
    grid = None if nus is None else _grid(nus, 0.0, 1.0)
    largest = None if grid is None else grid[-1]
    problems = NuProblems(model, X, y, sample_weight, nu=largest, several=True)
    if grid is None:
        grid = _grid(None, 0.25 * problems.largest_nu, problems.largest_nu)
    return _of_problems(svc.fitted_at, model, problems, grid, X, callbacks)


def nu_svr_path(
    X: MatrixLike,
    y: ArrayLike,
    nus: int | ArrayLike | None = None,
    *,
    C: float = 1.0,
    kernel: str | Callable = "rbf",
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    tol: float = 1e-6,
    max_iter: int | None = None,
    cache_size: float = 1000,
    verbose: int = 0,
    sample_weight: ArrayLike | None = None,
    callbacks: Sequence[object] = (),
) -> NuPath:
    """Solve regressions at many values of nu, each from the solutions before.

    See `one_class_path`, but values are solved from the largest one down. The width of the tube,
    the attribute `epsilon_` of the estimators, rises along the path as nu falls.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Targets.
    nus : array-like, optional
        Values in (0, 1]; by default 20 from 0.05 to 1.
    C : float, default=1.0
        Weight of the losses, > 0 and finite.
    kernel, gamma, degree, coef0, tol, max_iter, cache_size, verbose
        As in `ScreenedNuSVR`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights; samples of weights <= 0 are left out.
    callbacks : sequence, default=()
        Callbacks of scikit-learn >= 1.9, which may end the path.

    Returns
    -------
    NuPath
        See `one_class_path`.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As of `ScreenedNuSVR`.

    Warns
    -----
    ConvergenceWarning, UserWarning
        As of `ScreenedNuSVR`, once.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import nu_svr_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = nu_svr_path(scale(X), scale(y), [0.2, 0.5, 0.8])
    >>> [round(model.epsilon_, 1) for model in path]
    [0.9, 0.4, 0.1]
    """
    model = ScreenedNuSVR(
        C=C, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, tol=tol, max_iter=max_iter,
        cache_size=cache_size, verbose=verbose,
    )  # fmt: skip
    model._validate_params()
    grid = _grid(nus, 0.05, 1.0)
    problems = NuProblems(model, X, y, sample_weight, several=True)
    return _of_problems(svr.fitted_at, model, problems, grid, X, callbacks)


def _of_problems(
    fitted_at: Callable,
    model: BaseEstimator,
    problems: NuProblems,
    grid: np.ndarray,
    X: MatrixLike,
    callbacks: Sequence[object],
) -> NuPath:
    """Return the path of all problems that labels or targets make."""
    say(model.verbose, problems.road)

    def solve(nu: float) -> AtNu:
        found = [
            problems.solve(k, nu, float(model.tol)) for k in range(problems.division.n_problems)
        ]
        shown = tuple(each.shown for each in found)
        objective = float(sum(each.certificate.primal for each in shown))
        return AtNu(nu, found, shown, objective)

    solutions = _along(model, grid[::-1], problems.division.n_variables, solve, callbacks)
    problems.release(X)
    return NuPath(model, solutions, partial(fitted_at, model, problems))
