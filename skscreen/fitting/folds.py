"""Cross-validation over a grid of values, one path for each fold."""

from collections.abc import Callable, Iterator
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import column_or_1d, indexable
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import _safe_split

from skscreen.fitting.callbacks import Tasks
from skscreen.fitting.grid import MOST_VALUES, positive_values
from skscreen.fitting.warning import warn_user

# First and last C of a grid that is given by its number of values; for standardised data.
_SMALLEST_C, _LARGEST_C = 1e-2, 1e2

# Computes the path of one fold from training samples (X, y), their weights or None, and validation
# samples X. Yields, for each value, the estimator to score, the samples to score it on, the
# solutions that missed their tolerance, and a start for the refit.
FoldPath = Callable[[tuple, Any, Any], Iterator[tuple[Any, Any, list, Any]]]


def search_constraints(kind: type, grid: str, *dropped: str) -> dict:
    """Return constraints for the parameters of a search: those of a kind but some, and its own."""
    known = kind._parameter_constraints
    return {name: known[name] for name in known if name not in dropped} | {
        grid: [Interval(Integral, 1, MOST_VALUES, closed="both"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "refit": ["boolean"],
    }


def C_grid(Cs) -> np.ndarray:
    """Return the values of C, ascending, that a parameter `Cs` means."""
    if isinstance(Cs, Integral):
        return np.geomspace(_SMALLEST_C, _LARGEST_C, int(Cs))
    return positive_values("Cs", Cs, "a number of values, or a list")


def split(cv, X, y, codes, groups, classifier: bool = True) -> tuple:
    """Return X and y in a form that can be cut, and the training and validation rows of folds."""
    X, y, groups = indexable(X, column_or_1d(y), groups)
    places = np.arange(len(y))
    # Turn masks into indices, which can also be written to.
    folds = [
        tuple(_rows(part, places) for part in parts)
        for parts in check_cv(cv, codes, classifier=classifier).split(X, y, groups)
    ]
    if not folds:
        raise ValueError("cv must give folds, got none: an iterator can be used once only.")
    return X, y, folds


def _rows(part, places: np.ndarray) -> np.ndarray:
    try:
        return places[np.asarray(part)]
    except IndexError as error:
        raise ValueError(
            f"cv must give rows of X, 0 to {places.size - 1}, or masks of all rows: {error}."
        ) from error


def check_weights_of_folds(sample_weight: np.ndarray, splits: list) -> None:
    """Refuse folds whose validation samples do not count."""
    for k, (_, test) in enumerate(splits):
        if not sample_weight[test].any():
            raise ValueError(
                f"sample_weight is zero for all validation samples of fold {k} of cv, so it has no "
                "score: shuffle the folds, or leave such samples out."
            )


def cut(model, X, y, train, test, sample_weight) -> tuple:
    """Return training samples, validation samples, and the weights of both."""
    weights = (None, None)
    if sample_weight is not None:
        weights = sample_weight[train], sample_weight[test]
    return _safe_split(model, X, y, train), _safe_split(model, X, y, test, train), weights


def model_of_folds(search, kind: type, **fixed):
    """Return an estimator of a kind with the parameters that a search over folds shares with it."""
    names = set(kind().get_params()) & set(search.get_params(deep=False))
    names -= {"store", "n_jobs", "verbose", *fixed}
    return kind(**{name: getattr(search, name) for name in names}, **fixed)


def score_folds(
    search,
    model,
    path: FoldPath,
    scorer: Callable,
    X,
    y,
    splits: list,
    sample_weight,
    tasks: Tasks,
    shape: tuple[int, ...] = (-1,),
) -> tuple[int, list, Any]:
    """Score all values on all folds, and set `scores_` and `best_score_`.

    Parameters
    ----------
    search : estimator
        With `n_jobs`, folds at a time.
    model : estimator
        Estimator whose tags say how samples are split.
    path : FoldPath
    scorer : callable
        A scikit-learn scorer.
    X, y, splits
        See `split`.
    sample_weight : ndarray of shape (n_samples,), or None
    tasks : Tasks
    shape : tuple of int, default=(-1,)
        Shape of the grid, if there are several parameters; the last one varies fastest.

    Returns
    -------
    best : int
        Index of the value with the highest mean score, where NaN does not count. Ties are resolved
        in favour of the first value of the last parameter, then of the parameter before.
    failed : list
        The solutions that missed their tolerance.
    start : object
        Start for a refit, from the first fold.

    Raises
    ------
    ValueError
        All means are NaN.
    """
    if sample_weight is not None and _takes_weights(scorer):
        check_weights_of_folds(sample_weight, splits)
    scores, failed, starts = [], [], []
    folds = (
        delayed(_score_fold)(path, scorer, model, X, y, *rows, sample_weight, keep=k == 0)
        for k, rows in enumerate(splits)
    )
    for fold, missed, kept in Parallel(search.n_jobs, return_as="generator")(folds):
        scores.append(fold)
        failed += missed
        starts += kept
        tasks.end_task(len(scores) / len(splits), f"{len(scores)} of {len(splits)} folds")
    tasks.bar.end()
    search.scores_ = np.array(scores).reshape(len(scores), *shape)
    means = search.scores_.mean(axis=0)
    unknown = np.isnan(means)
    if unknown.all():
        raise ValueError("scoring must give a number: on some fold each value has the score NaN.")
    if unknown.any():
        warn_user(
            f"{np.count_nonzero(unknown)} of {means.size} values have the score NaN on some fold "
            "and are not chosen."
        )
    best = np.unravel_index(np.nanargmax(means.T), means.T.shape)[::-1]
    search.best_score_ = float(means[best])
    place = int(np.ravel_multi_index(best, means.shape))
    return place, failed, starts[place]


def _score_fold(
    path: FoldPath, scorer: Callable, model, X, y, train, test, sample_weight, keep: bool
) -> tuple[list[float], list, list]:
    """Follow the path of one fold; return scores, failed solutions and, to be kept, starts."""
    training, (X_val, y_val), weights = cut(model, X, y, train, test, sample_weight)
    weighted = {}
    if weights[1] is not None and _takes_weights(scorer):
        weighted["sample_weight"] = weights[1]
    scores, failed, starts = [], [], []
    for predictor, shown, missed, start in path(training, weights[0], X_val):
        scores.append(float(scorer(predictor, shown, y_val, **weighted)))
        failed += missed
        if keep:
            starts.append(start)
    return scores, failed, starts


def _takes_weights(scorer) -> bool:
    """Whether a scorer has a use for sample weights."""
    if hasattr(scorer, "_accept_sample_weight"):
        return scorer._accept_sample_weight()
    parameters = signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)
