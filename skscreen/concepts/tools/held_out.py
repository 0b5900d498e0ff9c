"""How well fits with several penalties predict trials that they did not learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr
from scipy.stats import t
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold, ShuffleSplit, check_cv

from skscreen.concepts.fit import large, solve_start
from skscreen.concepts.fitted import settings_of
from skscreen.concepts.problem.law import law
from skscreen.concepts.problem.objective import Objective
from skscreen.concepts.reading import Reading
from skscreen.concepts.threads import map_in_threads
from skscreen.concepts.tools.choices import is_right, log_kept, similarities
from skscreen.core.checks import Folds

# Share of the trials that is held out where there are no folds, and how often.
HELD_OUT, TIMES = 0.1, 3

Split = tuple[np.ndarray, np.ndarray]  # trials to learn from, and to predict


@dataclass(frozen=True)
class HeldOut:
    """Predictions of one fit."""

    log_p: np.ndarray  # of what was chosen, of each held-out row
    right: np.ndarray  # whether that was the most likely choice, of each held-out row
    n_dimensions: int
    converged: bool


def splits_of(cv: Folds, n_trials: int, groups: ArrayLike | None, seed: int) -> list[Split]:
    """Return which trials are learned from and predicted, in each fold."""
    if cv is None:
        kind = ShuffleSplit if groups is None else GroupShuffleSplit
        cv = kind(TIMES, test_size=HELD_OUT, random_state=seed)
    elif isinstance(cv, Integral):
        kind = KFold if groups is None else GroupKFold
        cv = kind(int(cv), shuffle=True, random_state=seed)
    splits = list(check_cv(cv).split(np.zeros(n_trials), groups=groups))
    if not splits:
        raise ValueError("cv must give folds, got none: an iterator can be used once only.")
    return splits


def predict_held_out(
    reading: Reading, objective: Objective, splits: list[Split], penalties: list[tuple],
    model: BaseEstimator, seed: int,
) -> Iterator[HeldOut]:  # fmt: skip
    """Yield predictions for each fold and each pair (l1, l2), which varies fastest."""
    trials, kind = reading.trials, reading.answers.kind
    of_rows = reading.answers.trials[reading.rows]

    masks = [tuple(np.isin(of_rows, part) for part in split) for split in splits]
    if not all(train.any() for train, _ in masks):
        raise ValueError(
            "cv must leave trials of positive sample_weight to learn from in each fold."
        )

    def run(check: Callable[[], None], fold: int, l1: float, l2: float) -> HeldOut:
        # Each from the level start: from another solution too many dimensions stay. What folds tell
        # of errors is to have the noise of starts in it.
        train, test = masks[fold]
        own, n = objective.drawn(train, l1, l2), trials.n_objects
        # The penalty belongs to the number of trials.
        factor = law(n, own.total) / law(n, objective.total)
        own.l1, own.l2 = l1 * factor, l2 * factor
        found = solve_start(own, int(model.n_components), seed + fold, settings, lambda *_: check())
        s = similarities(found.X, trials.rows[test], kind)
        return HeldOut(
            log_kept(s, kind), is_right(s, kind), int(large(found.X).sum()), found.converged
        )

    settings = settings_of(model)
    tasks = [(fold, l1, l2) for fold in range(len(masks)) for l1, l2 in penalties]
    yield from map_in_threads(run, tasks, model.n_jobs)


def error_over_trials(
    log_p: np.ndarray, weights: np.ndarray, codes: np.ndarray, best: int
) -> np.ndarray:
    """Return the standard errors of mean differences to the best penalty, over held-out trials.

    `log_p` is (n_penalties, n_rows); trials count in the groups of rows that `codes` says.
    """
    difference, total = log_p[best] - log_p, weights.sum()
    off = (difference - (difference @ weights / total)[:, None]) * weights
    sums = np.array([np.bincount(codes, row) for row in off])
    return np.sqrt((sums**2).sum(axis=1)) / total


def error_over_folds(means: np.ndarray, test_over_train: float, best: int) -> np.ndarray:
    """Return the standard errors of mean differences to the best penalty, over folds; 0 of one.

    `means` is (n_penalties, n_folds). Folds learn from the same trials for the most part, which
    Nadeau and Bengio's second term makes up for. Times a quantile of t, as few folds estimate an
    error badly, such that it counts as a standard error of a normal variable.
    """
    n_folds = means.shape[1]
    if n_folds == 1:
        return np.zeros(len(means))
    spread = (means[best] - means).std(axis=1, ddof=1)
    return spread * np.sqrt(1.0 / n_folds + test_over_train) * t.ppf(ndtr(1.0), n_folds - 1)
