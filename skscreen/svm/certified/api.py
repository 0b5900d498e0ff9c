"""A value of C whose validation error is provably near the best of a whole range."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning

from skscreen.core.checks import Matrix, MatrixLike, check_labels, check_weights
from skscreen.core.floats import near_one
from skscreen.core.sklearn_private import Interval, validate_params
from skscreen.core.threads import at_most
from skscreen.fitting.grid import MOST_VALUES
from skscreen.fitting.progress import ProgressBar, say
from skscreen.fitting.warning import warn_user
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.multiclass import OneVsOne
from skscreen.samples.targets import check_targets
from skscreen.svm.certified.errors import (
    AbsoluteErrors,
    Mistakes,
    not_ahead,
    on_the_wrong_side,
    surely_ahead,
    surely_on_a_side,
)
from skscreen.svm.certified.search import CertifiedSearch, ErrorBounds, Fold, ScoredPath
from skscreen.svm.certified.views import View, check_diagonal, diagonal_of, scored_view
from skscreen.svm.estimator import BaseSVM, fitted
from skscreen.svm.problem import asked_values, build, has_free_intercept
from skscreen.svm.roads import Road
from skscreen.svm.svc import ScreenedSVC
from skscreen.svm.svr import ScreenedSVR

# Allowance for rounding errors of sums of weights.
_ROUNDING = 1e-10

_RULES = {
    "n_grid": [Interval(Integral, 2, MOST_VALUES, closed="both")],
    "max_solves": [Interval(Integral, 2, None, closed="left")],
}


@dataclass(frozen=True)
class CertifiedC:
    """A value of C, and the proof that no other in the range has a much smaller validation error.

    Attributes
    ----------
    C : float
        The solved value with the smallest proven validation error.
    validation_error : float
        Share of the validation samples that `estimator` classifies wrongly; for regression, its
        mean absolute error.
    upper_bound : float
        At least the validation error of the exact optimum for `C`, and of `estimator`.
    lower_bound : float
        No C in the range has a smaller validation error.
    eps : float
        upper_bound - lower_bound, the proven precision; at most the requested `eps` if `converged`.
    converged : bool
        Whether the search reached the precision asked for.
    estimator : ScreenedSVC or ScreenedSVR
        Fitted on the training samples for `C`.
    bounds : ErrorBounds
        Lower and upper bounds for every C in the range, and the solved values.
    n_solved : int
        Values of C that were solved.
    seconds : float
    """

    C: float
    validation_error: float
    upper_bound: float
    lower_bound: float
    eps: float
    converged: bool
    estimator: ScreenedSVC | ScreenedSVR = field(repr=False)
    bounds: ErrorBounds = field(repr=False)
    n_solved: int
    seconds: float


@validate_params(
    {"eps": [Interval(Real, 0, 1, closed="neither")], **_RULES},
    prefer_skip_nested_validation=False,
)
def svc_certified_C(
    X: MatrixLike, y: ArrayLike, X_val: MatrixLike, y_val: ArrayLike, C_range: tuple[float, float],
    eps: float = 0.01, *, sample_weight: ArrayLike | None = None,
    sample_weight_val: ArrayLike | None = None, diagonal_val: ArrayLike | None = None,
    n_grid: int = 20, max_solves: int = 1000, loss: str = "hinge", kernel: str | Callable = "rbf",
    gamma: str | float = "scale", degree: int = 3, coef0: float = 0.0, fit_intercept: bool = True,
    intercept: str = "penalised", intercept_scaling: float = 1.0, screening: bool | str = True,
    solver: str = "auto", tol: float = 1e-6, max_iter: int | None = None, multi_class: str = "ovr",
    decision_function_shape: str = "ovr", break_ties: bool = False,
    class_weight: dict | str | None = None, cache_size: float = 1000, n_jobs: int | None = None,
    verbose: int = 0, random_state: int | np.random.RandomState | None = None,
) -> CertifiedC:  # fmt: skip
    """Find a C whose validation error is within `eps` of the best in a whole range, with proof.

    Let E(C) be the share of the validation samples that `ScreenedSVC` with this C, fitted to X and
    y, classifies wrongly. A grid search knows E only on the grid. Here the scores between two
    solved values of C are bounded without further solves, which proves E(C) >= E(C*) - `eps` for
    *every* C in the range. More values are solved only where the bounds require it.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Training samples, best standardised; the kernel matrix for ``kernel="precomputed"``.
    y : array-like of shape (n_samples,)
        Labels. More than two classes are handled one-vs-rest.
    X_val : array-like or sparse matrix of shape (n_validation, n_features)
        Validation samples; kernel values with the training samples for ``kernel="precomputed"``.
    y_val : array-like of shape (n_validation,)
        Their labels, among those of `y`.
    C_range : tuple of float
        Smallest and largest C, positive.
    eps : float, default=0.01
        Precision in (0, 1), as a share of the validation samples.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the training samples, which multiply C; samples of weights <= 0 are left out.
    sample_weight_val : array-like of shape (n_validation,), optional
        Weights >= 0 of the validation samples in E.
    diagonal_val : array-like of shape (n_validation,), optional
        Kernel values K(x, x) of the validation samples, for ``kernel="precomputed"`` only, and for
        a callable whose values depend on more than two samples.
    n_grid : int, default=20
        Number of values of C, in geometric progression, to start with.
    max_solves : int, default=1000
        Largest number of values of C to solve.
    loss, kernel, gamma, degree, coef0, fit_intercept, intercept, intercept_scaling, screening
        As in `ScreenedSVC`, samples being rows of numbers. Here `intercept` is "penalised" by
        default, because there is no proof for a free one; `fit_intercept=False` is possible, too.
    solver, tol, max_iter, multi_class, decision_function_shape, break_ties, class_weight
        As in `ScreenedSVC`. Here `multi_class` is "ovr", because there is no proof for one-vs-one.
        Solutions have a relative gap of 1e-9 at most, whatever `tol` is.
    cache_size, n_jobs, verbose, random_state
        As in `ScreenedSVC`.

    Returns
    -------
    CertifiedC

    Raises
    ------
    ValueError, TypeError
        For invalid arguments or data; the message names the argument.
    MemoryError
        As in `ScreenedSVC`, or if the kernel matrix between validation and training samples would
        not fit into memory.

    Warns
    -----
    ConvergenceWarning
        If `eps` was not proven because of `max_solves`, `max_iter` or rounding errors; names the
        precision that was proven.

    Notes
    -----
    The bounds hold for the exact optima, rounding errors included. A score of exactly 0, or equal
    scores of two classes, count as wrong in the upper bound and as right in the lower bound; for
    one-vs-rest, classes that cannot be told from the rest have equal scores. E may jump anywhere,
    so an `eps` below one validation sample can need many solves near a jump.

    References
    ----------
    A. Shibagaki, Y. Suzuki, M. Karasuyama, I. Takeuchi (2015). Regularization path of
    cross-validation error lower bounds. Advances in Neural Information Processing Systems 28.

    K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
    machines. arXiv:1401.6740. Equations 9 and 16.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import svc_certified_C
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> best = svc_certified_C(X[::2], y[::2], X[1::2], y[1::2], (0.01, 100.0), eps=0.01)
    >>> best.validation_error - best.lower_bound <= 0.01
    True
    """
    model = ScreenedSVC(
        indefinite="error", loss=loss, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0,
        fit_intercept=fit_intercept, intercept=intercept, intercept_scaling=intercept_scaling,
        screening=screening, solver=solver, tol=tol, max_iter=max_iter, multi_class=multi_class,
        decision_function_shape=decision_function_shape, break_ties=break_ties,
        class_weight=class_weight, cache_size=cache_size, n_jobs=n_jobs, verbose=verbose,
        random_state=random_state,
    )  # fmt: skip
    validation = X_val, y_val, sample_weight_val, diagonal_val
    training = X, y, sample_weight
    return _chosen(model, training, validation, C_range, eps, n_grid, max_solves)


@validate_params(
    {"eps": [Interval(Real, 0, None, closed="neither")], **_RULES},
    prefer_skip_nested_validation=False,
)
def svr_certified_C(
    X: MatrixLike, y: ArrayLike, X_val: MatrixLike, y_val: ArrayLike, C_range: tuple[float, float],
    eps: float = 0.01, *, sample_weight: ArrayLike | None = None,
    sample_weight_val: ArrayLike | None = None, diagonal_val: ArrayLike | None = None,
    n_grid: int = 20, max_solves: int = 1000, epsilon: float = 0.1,
    loss: str = "epsilon_insensitive", kernel: str | Callable = "rbf", gamma: str | float = "scale",
    degree: int = 3, coef0: float = 0.0, fit_intercept: bool = True, intercept: str = "penalised",
    intercept_scaling: float = 1.0, screening: bool | str = True, solver: str = "auto",
    tol: float = 1e-6, max_iter: int | None = None, cache_size: float = 1000, verbose: int = 0,
    random_state: int | np.random.RandomState | None = None,
) -> CertifiedC:  # fmt: skip
    """Find a C whose mean absolute error is within `eps` of the best in a whole range, with proof.

    Let E(C) be the mean of :math:`|y - f_C(x)|` over the validation samples, where f_C is
    `ScreenedSVR` with this C, fitted to X and y. The predictions between two solved values of C are
    bounded without further solves, which proves E(C) >= E(C*) - `eps` for *every* C in the range.
    More values are solved only where the bounds require it.

    Parameters
    ----------
    X, X_val, C_range, sample_weight, sample_weight_val, diagonal_val, n_grid, max_solves
        As in `svc_certified_C`.
    y, y_val : array-like of shape (n_samples,) and (n_validation,)
        Targets, best standardised: the intercept is penalised.
    eps : float, default=0.01
        Precision, > 0, in units of the targets. (The width of the tube is `epsilon`.)
    epsilon, loss, kernel, gamma, degree, coef0, fit_intercept, intercept, intercept_scaling
        As in `ScreenedSVR`. Here `intercept` is "penalised" by default, because there is no proof
        for a free one; `fit_intercept=False` is possible, too.
    screening, solver, tol, max_iter, cache_size, verbose, random_state
        As in `ScreenedSVR`.

    Returns
    -------
    CertifiedC

    Raises
    ------
    ValueError, TypeError
        For invalid arguments or data; the message names the argument.
    MemoryError
        As in `ScreenedSVR`, or if the kernel matrix between validation and training samples would
        not fit into memory.

    Warns
    -----
    ConvergenceWarning
        If `eps` was not proven because of `max_solves`, `max_iter` or rounding errors; names the
        precision that was proven.

    See Also
    --------
    svc_certified_C : Classification.

    Notes
    -----
    The bounds hold for the exact optima, rounding errors included.

    References
    ----------
    A. Shibagaki, Y. Suzuki, M. Karasuyama, I. Takeuchi (2015). Regularization path of
    cross-validation error lower bounds. Advances in Neural Information Processing Systems 28.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import svr_certified_C
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, y = scale(X), scale(y)
    >>> best = svr_certified_C(X[::2], y[::2], X[1::2], y[1::2], (0.01, 10.0), eps=0.02)
    >>> best.validation_error - best.lower_bound <= 0.02
    True
    """
    model = ScreenedSVR(
        indefinite="error", epsilon=epsilon, loss=loss, kernel=kernel, gamma=gamma, degree=degree,
        coef0=coef0, fit_intercept=fit_intercept, intercept=intercept,
        intercept_scaling=intercept_scaling, screening=screening, solver=solver, tol=tol,
        max_iter=max_iter, cache_size=cache_size, verbose=verbose, random_state=random_state,
    )  # fmt: skip
    validation = X_val, y_val, sample_weight_val, diagonal_val
    training = X, y, sample_weight
    return _chosen(model, training, validation, C_range, eps, n_grid, max_solves)


def _chosen(
    model: BaseSVM, training: tuple, validation: tuple, C_range: tuple[float, float], eps, n_grid,
    max_solves,
) -> CertifiedC:  # fmt: skip
    """Search in a range with an estimator and return the choice."""
    began, (first, last) = time.perf_counter(), check_C_range(C_range)
    model._validate_params()
    bounded = Training(model, *training)
    say(model.verbose, bounded.road)
    fold = bounded.fold(*validation)
    grid = np.geomspace(first, last, min(n_grid, max_solves))
    grid[0], grid[-1] = first, last
    with ProgressBar(model.verbose > 0) as bar:
        search = CertifiedSearch(
            [fold], eps, tol=model.tol, max_solves=max_solves, report=bar.update
        )
        with at_most(model.n_jobs):
            bounds = search.run(grid)
    best, proved = bounds.best, bounds.eps
    warn_if_less(proved, eps, len(bounds.Cs) >= max_solves)
    C = float(bounds.Cs[best])
    return CertifiedC(
        C=C,
        validation_error=float(bounds.errors[best]),
        upper_bound=float(bounds.errors_upper[best]),
        lower_bound=float(bounds.lower.min()),
        eps=proved,
        converged=proved <= eps + _ROUNDING,
        estimator=bounded.estimator(fold, C),
        bounds=bounds,
        n_solved=len(bounds.Cs),
        seconds=time.perf_counter() - began,
    )


def warn_if_less(proved: float, eps: float, stopped: bool) -> None:
    """Warn if a search proved less than was asked for."""
    if proved <= eps + _ROUNDING:
        return
    reason = "max_solves was reached" if stopped else "rounding errors or max_iter allow no more"
    advice = f"Raise {'max_solves' if stopped else 'max_iter'} or eps."
    warn_user(
        f"The error was proved to be within {proved:.4g} of the smallest, not within eps={eps:g}: "
        f"{reason}. {advice}",
        ConvergenceWarning,
    )


def check_C_range(C_range: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of a range of C."""
    try:
        first, last = map(float, C_range)
    except (TypeError, ValueError):
        first, last = 0.0, 0.0
    if not (0.0 < first < last < np.inf):
        raise ValueError(
            "C_range must be a pair of positive finite numbers, the smaller one first, got "
            f"{C_range!r}."
        )
    return first, last


def check_searchable(model: BaseEstimator) -> None:
    """Refuse intercepts and kernels for which there are no bounds."""
    if has_free_intercept(model):
        raise ValueError(
            "intercept must be 'penalised', or fit_intercept=False, for a certified choice of "
            "C: the bounds know no free intercept. Pass intercept='penalised'."
        )
    known = Kernel(model.kernel, coef0=model.coef0)
    if model.indefinite == "shift" and not known.is_definite:
        raise ValueError("indefinite must be 'error' for a certified choice of C, got 'shift'.")
    # There is nothing to prove without certificates.
    model.indefinite = "error"


class Training:
    """A training set, of an estimator, whose error on validation samples is to be bounded."""

    def __init__(self, model: BaseSVM, X, y, sample_weight):
        check_searchable(model)
        self.model, self._problem = model, build(model, X, y, sample_weight, plan="bounds")
        if isinstance(self._problem.division, OneVsOne):
            raise ValueError(
                f"multi_class must be 'ovr' for a certified choice of C for the "
                f"{self._problem.labels.classes.size} classes of y, got 'ovo': the bounds know one "
                "class against the rest. Pass multi_class='ovr', or choose C by its scores on "
                "folds."
            )

    @property
    def road(self) -> Road:
        """How its problems are solved."""
        return self._problem.road

    def fold(
        self, X_val: Matrix, y_val: np.ndarray, weights: np.ndarray | None = None,
        diagonal: np.ndarray | None = None,
    ) -> Fold:  # fmt: skip
        """Return the search's view of the training set with some validation samples."""
        data = self._problem.data
        diagonal = diagonal_of(data.kernel, X_val, diagonal)
        try:
            X_val = asked_values(self.model, data.kernel, X_val)
        except ValueError as error:
            raise ValueError(f"X_val is no set of samples like X: {error}") from error
        if y_val is None:
            what = "labels" if is_classifier(self.model) else "targets"
            raise ValueError(f"y_val must hold the {what} of the validation samples, got None.")
        checked = check_labels if is_classifier(self.model) else check_targets
        y_val = checked(y_val, "y_val")
        if diagonal is not None:
            diagonal = check_diagonal(diagonal, X_val.shape[0])
        if len(y_val) != X_val.shape[0]:
            raise ValueError(
                f"y_val must have {X_val.shape[0]} entries, as X_val has samples, got {len(y_val)}."
            )
        weights = near_one(check_weights(weights, X_val.shape[0], "sample_weight_val"))
        counts = np.flatnonzero(weights)
        if counts.size < weights.size:
            X_val, y_val, weights = X_val[counts], y_val[counts], weights[counts]
            diagonal = None if diagonal is None else diagonal[counts]
        view = scored_view(self.model, data, X_val, diagonal)
        if is_classifier(self.model):
            return self._of_classes(view, y_val, weights)
        return Fold([self._path(0, view, np.ones(y_val.size))], AbsoluteErrors(y_val, weights))

    def _path(self, problem: int, view: View, signs_val: np.ndarray) -> ScoredPath:
        solver = partial(self._problem.path_solver, problem)
        known = solver()
        return ScoredPath(solver, *view(known.samples, known.dual, signs_val))

    def _of_classes(self, view: View, y_val: ArrayLike, weights) -> Fold:
        division = self._problem.division
        codes = _codes_of(y_val, division.labels.classes)
        # For two classes scores are compared with zero, for more with those of other classes.
        several = division.n_problems > 1
        signs_val = np.ones(codes.size) if several else np.where(codes == 1, 1.0, -1.0)
        paths = [self._path(k, view, signs_val) for k in range(division.n_problems)]
        if several:
            ahead = Mistakes(partial(surely_ahead, codes), partial(not_ahead, codes), weights)
            return Fold(paths, ahead)
        wrong = partial(on_the_wrong_side, signs_val)
        return Fold(paths, Mistakes(surely_on_a_side, wrong, weights))

    def estimator(self, fold: Fold, C: float) -> BaseSVM:
        """Return the fitted estimator of a solved C."""
        problem = self._problem
        solutions = [problem.finish(k, path.solved[C]) for k, path in enumerate(fold.paths)]
        return fitted(self.model, problem.data, solutions)


def _codes_of(y_val: ArrayLike, classes: np.ndarray) -> np.ndarray:
    unknown = np.setdiff1d(y_val, classes)
    if unknown.size:
        raise ValueError(
            f"y_val holds the labels {unknown.tolist()}, which are not among those of y, "
            f"{classes.tolist()}."
        )
    return np.searchsorted(classes, y_val)
