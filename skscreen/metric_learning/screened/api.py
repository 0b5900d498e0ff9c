"""Safe triplet screening as a step of its own, for any solver."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from skscreen.core.checks import TableLike
from skscreen.core.sklearn_private import Interval, StrOptions, validate_params
from skscreen.metric_learning.estimator import ScreenedRTLM
from skscreen.metric_learning.learning import (
    checked_samples,
    chosen_lam,
    feature_names,
    warn_if_absolute,
)
from skscreen.metric_learning.parameters import Parameters, Supervision
from skscreen.metric_learning.path_solver import solver_settings
from skscreen.metric_learning.problem.build import build
from skscreen.metric_learning.screened.decisions import metric_of, point_of, screened_at
from skscreen.metric_learning.screened.result import TripletScreening
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import RULES

# What stands for a parameter of the reference, or the default for a matrix.
_SAME = "reference"


@validate_params(
    {
        "lam": [Interval(Real, 0, None, closed="neither")],
        "rule": [StrOptions(set(RULES))],
        "bound": [StrOptions(set(BOUNDS)), list, tuple],
        "relative_lam": ["boolean", None],
    },
    prefer_skip_nested_validation=False,
)
def screen_triplets(
    X: TableLike, y: ArrayLike | None = None, *, triplets: ArrayLike | None = None, lam: float,
    reference: ScreenedRTLM | ArrayLike | tuple, bound: str | Sequence[str] = "rrpb",
    rule: str = "sphere", relative_lam: bool | None = None, n_neighbors: int | str = "reference",
    loss: str = "reference", width: float | str = "reference", pull: float | str = "reference",
    linear_term: ArrayLike = "reference", diagonal: bool | str = "reference",
    unlabelled: Hashable = "reference", n_jobs: int | None = None,
) -> TripletScreening:  # fmt: skip
    """Decide triplets of a metric before it is learned, from a metric for another lambda.

    The margin of a triplet is the squared distance to its far sample minus the squared distance to
    its near sample. At the optimum, triplets with a margin above 1 have no loss (set R* of the
    paper), and triplets with a margin on the linear piece of the loss have the slope -1 (set L*). A
    reference, exact or not, proves for many triplets in which set they are. A solver finds the same
    metric without the triplets of R*, and with one linear term in place of the losses of L*.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
        Class labels, of which the triplets are made as by `ScreenedRTLM`.
    triplets : array-like of shape (n_triplets, 3), optional
        Rows (i, j, k) in place of labels: sample i should be nearer to j than to k.
    lam : float
        Of the problem that is to be solved, > 0; see `relative_lam`.
    reference : fitted ScreenedRTLM, or array-like of shape (n_features, n_features)
        A metric learned for another lambda, or any positive semidefinite matrix (a diagonal metric:
        weights of the features), which is then judged at `lam` itself.
    bound : str or sequence of str, default="rrpb"
        Balls that hold the optimal metric: "gap", "gb", "pgb", "dgb", "cdgb", "rrpb". A triplet is
        decided as soon as one of several decides it.
    rule : {"sphere", "linear", "semidefinite"}, default="sphere"
        What decides from a ball, from the cheapest to the strongest: the whole ball, the ball cut
        by a half-space, or by the cone of positive semidefinite matrices.
    relative_lam : bool, optional
        Whether `lam` is a fraction of the smallest lambda from which on all triplets are linear. By
        default that of the reference, True for a matrix.
    n_neighbors, loss, width, pull, linear_term, diagonal, unlabelled : default="reference"
        As in `ScreenedRTLM`; "reference" is what the reference has, the default for a matrix.
    n_jobs : int or None, default=None
        As in `ScreenedRTLM`.

    Returns
    -------
    TripletScreening

    Raises
    ------
    ValueError, TypeError
        For invalid arguments, or a reference that does not belong to the problem; the message names
        the argument.
    MemoryError
        If the list of all triplets does not fit into memory.

    References
    ----------
    T. Yoshida, I. Takeuchi, M. Karasuyama (2019). Safe triplet screening for distance metric
    learning. Neural Computation 31, 2432-2491. Theorems 3.1 to 3.7, section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import ScreenedRTLM, screen_triplets
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> reference = ScreenedRTLM(lam=0.01).fit(X, y)
    >>> found = screen_triplets(X, y, lam=0.009, reference=reference)
    >>> found.rate_ > 0.5
    True
    """
    model = _model(
        reference, relative_lam=relative_lam, bound=bound, rule=rule, n_neighbors=n_neighbors,
        loss=loss, width=width, pull=pull, linear_term=linear_term, diagonal=diagonal,
        unlabelled=unlabelled, n_jobs=n_jobs,
    )  # fmt: skip
    samples = checked_samples(model, X)
    parameters = Parameters.of(model)
    names = feature_names(model)
    problem = build(samples, parameters, Supervision(y, triplets=triplets))
    warn_if_absolute(lam, model.relative_lam)
    value = chosen_lam(lam, model.relative_lam, problem)
    known_lam = value
    if isinstance(reference, ScreenedRTLM):
        known_lam = problem.in_coordinates(float(reference.lam_))
        metric = _learned(reference, samples.shape[1], names, model.diagonal)
    else:
        metric = _given(reference, samples.shape[1], model.diagonal)
    return screened_at(problem, value, point_of(problem, metric), known_lam, bound, rule)


def _model(
    reference: ScreenedRTLM | ArrayLike | tuple, *, relative_lam: bool | None, **parameters: object
) -> ScreenedRTLM:
    """Return an estimator with the parameters of the problem."""
    if isinstance(reference, BaseEstimator):
        if not isinstance(reference, ScreenedRTLM):
            raise TypeError(
                "reference must be a fitted ScreenedRTLM or a matrix, got "
                f"{type(reference).__name__}. Of a pipeline give that step, with X as it gets it."
            )
        check_is_fitted(reference)
        model = clone(reference)
    else:
        model = ScreenedRTLM()
    for name, value in parameters.items():
        if not (isinstance(value, str) and value == _SAME):
            setattr(model, name, value)
    if relative_lam is not None:
        model.relative_lam = relative_lam
    model.neighbors = model.n_components = None
    model._validate_params()
    solver_settings(Parameters.of(model))
    return model


def _learned(
    reference: ScreenedRTLM, n_features: int, names: np.ndarray | None, diagonal: bool
) -> np.ndarray:
    """Return the metric of a fitted reference, of the same features."""
    rows = reference.components_
    if rows.shape[1] != n_features:
        raise ValueError(f"reference was fitted on {rows.shape[1]} features, X has {n_features}.")
    known = feature_names(reference)
    if known is not None and names is not None and not np.array_equal(known, names):
        raise ValueError("reference was fitted on other columns than X has, or in another order.")
    with np.errstate(over="ignore", invalid="ignore"):
        M = metric_of(rows, diagonal)
    if not np.isfinite(M).all():
        raise ValueError("reference has a metric beyond the largest number: rescale X.")
    return M


def _given(reference: ArrayLike | tuple, n_features: int, diagonal: bool) -> np.ndarray:
    """Return a reference that is a matrix, or weights of a diagonal metric."""
    try:
        value = np.asarray(reference, dtype=np.float64)
    except (TypeError, ValueError):
        value = np.empty(0)
    expected = (n_features,) if diagonal else (n_features, n_features)
    if value.shape != expected or not np.all(np.isfinite(value)):
        raise ValueError(
            f"reference must be a fitted ScreenedRTLM, or finite numbers of shape {expected}: "
            "a positive semidefinite matrix, weights for diagonal=True."
        )
    return _checked_matrix(value)


def _checked_matrix(M: np.ndarray) -> np.ndarray:
    """Return a matrix, or weights, that is positive semidefinite up to rounding errors."""
    # Relative errors of a matrix in single precision.
    rounding = 1e-5
    if M.ndim == 1:
        values = M
    elif np.abs(M - M.T).max(initial=0.0) > rounding * np.abs(M).max(initial=0.0):
        raise ValueError("reference must be symmetric; of a map L, components_, give L.T @ L.")
    else:
        M = 0.5 * M + 0.5 * M.T
        values = np.linalg.eigvalsh(M)
    smallest = values.min(initial=0.0)
    if smallest < -rounding * values.max(initial=0.0):
        what = "weights" if M.ndim == 1 else "eigenvalues, as a positive semidefinite matrix,"
        raise ValueError(f"reference must have {what} >= 0, got {smallest:.3g}.")
    return M
