"""Cross-validation of a grid of values, one task for each fold."""

from collections.abc import Iterable
from inspect import signature
from numbers import Integral

import numpy as np
from joblib import Parallel
from sklearn.utils.metaestimators import _safe_split

from skscreen.fitting.callbacks import Tasks
from skscreen.fitting.grid import positive_values
from skscreen.fitting.warning import warn_user


def score_folds(
    folds: Iterable, n_folds: int, n_jobs: int | None, progress: Tasks
) -> tuple[np.ndarray, int, list, list]:
    """Score all values on all folds.

    Parameters
    ----------
    folds : iterable of joblib tasks
        Each returns a score for every value, a list of solutions that missed their tolerance, and
        what a refit may start from, for every value: a list that is empty but for the first fold.
    n_folds : int
    n_jobs : int or None
    progress : Tasks

    Returns
    -------
    scores : ndarray of shape (n_folds, n_values)
    best : int
        The value of the highest mean score, the first of those that are as good; a mean that is
        NaN is not.
    failed, starts : list

    Raises
    ------
    ValueError
        All means are NaN.
    """
    scores, failed, starts = [], [], []
    for fold, missed, kept in Parallel(n_jobs, return_as="generator")(folds):
        scores.append(fold)
        failed += missed
        starts += kept
        progress.end_task(len(scores) / n_folds, f"{len(scores)} of {n_folds} folds")
    scores = np.array(scores)
    means = scores.mean(axis=0)
    unknown = np.isnan(means)
    if unknown.all():
        raise ValueError("scoring must give a number: on some fold each value has the score NaN.")
    if unknown.any():
        warn_user(
            f"{np.count_nonzero(unknown)} of {means.size} values have the score NaN on some fold "
            "and are not chosen.",
        )
    return scores, int(np.nanargmax(means)), failed, starts


# Where the grid begins and ends if only the number of its values is given.
_SMALLEST_C, _LARGEST_C = 1e-2, 1e2


def C_grid(Cs) -> np.ndarray:
    """Return the values of C, ascending, that a parameter `Cs` means."""
    if isinstance(Cs, Integral):
        return np.geomspace(_SMALLEST_C, _LARGEST_C, int(Cs))
    return positive_values("Cs", Cs, "a number of values, or a list")


def cut(model, X, y, train, test, sample_weight) -> tuple:
    """Return training samples, validation samples, and the weights of both."""
    weights = (None, None)
    if sample_weight is not None:
        weights = sample_weight[train], sample_weight[test]
    return _safe_split(model, X, y, train), _safe_split(model, X, y, test, train), weights


def takes_weights(scorer) -> bool:
    """Whether a scorer has a use for sample weights."""
    if hasattr(scorer, "_accept_sample_weight"):
        return scorer._accept_sample_weight()
    parameters = signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)
