"""Cross-validation of a grid of values, one task for each fold."""

from collections.abc import Iterable

import numpy as np
from joblib import Parallel

from skscreen.path.callbacks import Tasks


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
        The value of the highest mean score, the first of those that are as good.
    failed, starts : list
    """
    scores, failed, starts = [], [], []
    for fold, missed, kept in Parallel(n_jobs, return_as="generator")(folds):
        scores.append(fold)
        failed += missed
        starts += kept
        progress.end_task(len(scores) / n_folds, f"{len(scores)} of {n_folds} folds")
    scores = np.array(scores)
    return scores, int(np.argmax(scores.mean(axis=0))), failed, starts
