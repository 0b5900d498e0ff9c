"""A value of C whose mean absolute error is provably near the best of a whole range."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, validate_params
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    column_or_1d,
)

from skscreen.core.floats import EPS, WIDER
from skscreen.fitting.grid import MOST_VALUES
from skscreen.fitting.path import with_options
from skscreen.svm.certified_C import (
    CertifiedC,
    certified,
    check_C_range,
    check_searchable,
    check_validation_weights,
)
from skscreen.svm.certified_search import Fold, ScoredPath
from skscreen.svm.problem import asked
from skscreen.svm.regression_problem import build_regression
from skscreen.svm.regressor import fitted
from skscreen.svm.scored_views import diagonal_of, of_both_signs, scored_view
from skscreen.svm.screening.score_bounds import Between
from skscreen.svm.svr import ScreenedSVR


@with_options(ScreenedSVR, "C", "store", "shrinking", "indefinite", intercept="penalised")
@validate_params(
    {
        "eps": [Interval(Real, 0, None, closed="neither")],
        "n_grid": [Interval(Integral, 2, MOST_VALUES, closed="both")],
        "max_solves": [Interval(Integral, 2, None, closed="left")],
    },
    prefer_skip_nested_validation=False,
)
def svr_certified_C(
    X,
    y,
    X_val,
    y_val,
    C_range,
    eps=0.01,
    *,
    sample_weight=None,
    sample_weight_val=None,
    diagonal_val=None,
    n_grid=20,
    max_solves=1000,
    **options,
) -> CertifiedC:
    """Find a C whose mean absolute error is within `eps` of the best in a whole range, with proof.

    Let E(C) be the mean of :math:`|y - f_C(x)|` over the validation samples, where f_C is
    `ScreenedSVR` with this C, fitted to X and y. The predictions between two solved values of C are
    bounded without further solves, which proves E(C) >= E(C*) - `eps` for *every* C in the range.
    More values are solved only where the bounds require it.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Training samples, best standardised; the kernel matrix for ``kernel="precomputed"``.
    y : array-like of shape (n_samples,)
        Targets, best standardised: the intercept is penalised.
    X_val : array-like or sparse matrix of shape (n_validation, n_features)
        Validation samples; kernel values with the training samples for ``kernel="precomputed"``.
    y_val : array-like of shape (n_validation,)
        Their targets.
    C_range : tuple of float
        Smallest and largest C, positive.
    eps : float, default=0.01
        Precision, > 0, in units of the targets. (The width of the tube is `epsilon`.)
    sample_weight : array-like of shape (n_samples,), optional
        Weights >= 0 of the training samples, which multiply C.
    sample_weight_val : array-like of shape (n_validation,), optional
        Weights >= 0 of the validation samples in E.
    diagonal_val : array-like of shape (n_validation,), optional
        Kernel values K(x, x) of the validation samples, for ``kernel="precomputed"`` only, and for
        a callable whose values depend on more than two samples.
    n_grid : int, default=20
        Number of values of C, in geometric progression, to start with.
    max_solves : int, default=1000
        Largest number of values of C to solve.
    **options
        Parameters of `ScreenedSVR`, except `C`, `store` and some. Here `intercept` is "penalised"
        by default, because there is no proof for a free intercept; `fit_intercept=False` is
        possible, too.

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
    began = time.perf_counter()
    first, last = check_C_range(C_range)
    model = ScreenedSVR(indefinite="error", **options)
    model._validate_params()
    training = _Training(model, X, y, sample_weight)
    fold = training.fold(X_val, y_val, sample_weight_val, diagonal_val)
    grid = np.geomspace(first, last, min(n_grid, max_solves))
    grid[0], grid[-1] = first, last
    return certified(training, fold, grid, eps, max_solves, began)


class _Training:
    """A training set whose error on validation samples is to be bounded."""

    def __init__(self, model: ScreenedSVR, X, y, sample_weight):
        check_searchable(model)
        self.model, self._problem = model, build_regression(model, X, y, sample_weight)

    def fold(self, X_val, y_val, weights, diagonal) -> Fold:
        """Return the search's view of the training set with some validation samples."""
        model, problem = self.model, self._problem
        diagonal = diagonal_of(problem.kernel, X_val, diagonal)
        X_val = asked(model, problem.kernel, X_val)
        if y_val is None:
            raise ValueError("y_val must hold the targets of the validation samples, got None.")
        y_val = check_array(
            column_or_1d(y_val, warn=True), ensure_2d=False, dtype=np.float64, input_name="y_val"
        )
        check_consistent_length(X_val, y_val)
        targets = problem.targets
        taken = targets.take(problem.X, problem.kernel.name == "precomputed")
        view = scored_view(model, problem.kernel, taken, X_val, targets.rows, diagonal)
        path = ScoredPath(problem.path_solver, *of_both_signs(view, problem.losses, y_val.size))
        return Fold([path], AbsoluteErrors(y_val, check_validation_weights(weights, X_val)))

    def estimator(self, fold: Fold, C: float) -> ScreenedSVR:
        """Return the fitted estimator of a solved C."""
        problem = self._problem
        (solution,) = fold.solutions(C)
        return fitted(
            self.model, problem.X, problem.targets, problem.kernel, problem.finish(solution)
        )


@dataclass(frozen=True)
class AbsoluteErrors:
    """The mean absolute error on validation samples.

    Between two solved values of C the residuals of u(t) are linear in t, so the mean of their
    absolute values is convex. Its maximum is at an end, and its minimum is found by a weighted
    median. The bounds of `score_bounds` limit the difference between optimal scores and those of
    u(t).

    Parameters
    ----------
    targets, weights : ndarray of shape (n_val,)
        Weights are not all zero.
    """

    targets: np.ndarray
    weights: np.ndarray
    name = "mean absolute error"

    def error(self, scores: Sequence[np.ndarray]) -> float:
        """Return the error that scores make."""
        return self._mean(np.abs(self.targets - scores[0]))

    def bound(self, betweens: Sequence[Between], start: float, stop: float, side: int) -> float:
        """Return a lower bound (side -1) or an upper one (1) for all t in [start, stop]."""
        (between,) = betweens
        first, last = self.targets - between.scores(start, stop)
        sizes = np.maximum(np.abs(first), np.abs(last)) + np.abs(self.targets)
        error = self._mean(_distance(between, start, stop) + 4.0 * EPS * sizes) * WIDER
        if side > 0:
            return (max(self._mean(np.abs(first)), self._mean(np.abs(last))) + error) * WIDER
        smallest = smallest_sum(first, last - first, self.weights / self.weights.sum())
        return max(smallest - error - 4.0 * (first.size + 4.0) * EPS * self._mean(sizes), 0.0)

    def _mean(self, values: np.ndarray) -> float:
        return float((self.weights @ values) / self.weights.sum())


def _distance(between: Between, start: float, stop: float) -> np.ndarray:
    """Return bounds on the difference between optimal scores and those of u(t)."""
    reach, scores = between.reach(start, stop), between.scores(start, stop)
    everyone = np.arange(reach.size)
    sides = [
        (between.regressed(everyone, sign, start, stop) - sign * scores).max(axis=0)
        for sign in (-1, 1)
    ]
    return np.minimum(reach, np.maximum(*sides))


def smallest_sum(first: np.ndarray, change: np.ndarray, weights: np.ndarray) -> float:
    """Return a lower bound on sum_j weights_j |first_j + t change_j| over t in [0, 1].

    With signs s_j in [-1, 1] the sum is at least sum_j weights_j s_j (first_j + t change_j). The
    signs at the minimum have a slope of 0, or the minimum is at an end.
    """
    slopes = weights * np.abs(change)
    with np.errstate(over="ignore"):
        kinks = np.divide(-first, change, out=np.full(first.size, np.inf), where=change != 0.0)
    order = np.argsort(kinks)
    rising = np.cumsum(slopes[order])
    place = min(np.searchsorted(rising, 0.5 * rising[-1]), order.size - 1)
    middle = order[place]
    inside = bool(0.0 < kinks[middle] < 1.0)
    if inside:
        passed = np.zeros(first.size, np.bool_)
        passed[order[:place]] = True
    else:
        passed = kinks <= 0.0 if kinks[middle] <= 0.0 else kinks < 1.0
    signs = np.where(change == 0.0, np.sign(first), np.where(passed, 1.0, -1.0) * np.sign(change))
    if inside and slopes[middle] > 0.0:
        signs[middle] = 0.0
        rest = float((weights * signs) @ change) / (weights[middle] * change[middle])
        signs[middle] = min(max(-rest, -1.0), 1.0)
    start, slope = float((weights * signs) @ first), float((weights * signs) @ change)
    return min(start, start + slope)
