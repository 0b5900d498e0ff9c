"""Cross-validation of a grid of values, one task for each fold."""

import warnings
from collections.abc import Iterable

import numpy as np
from joblib import Parallel

from skscreen.path.callbacks import Tasks


def score_folds(
    folds: Iterable, n_folds: int, n_jobs: int | None, progress: Tasks, stacklevel: int
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
    stacklevel : int
        Of the user's line, for a warning.

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
        warnings.warn(
            f"{np.count_nonzero(unknown)} of {means.size} values have the score NaN on some fold "
            "and are not chosen.",
            stacklevel=stacklevel,
        )
    return scores, int(np.nanargmax(means)), failed, starts
