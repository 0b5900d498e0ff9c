"""How well fits with several penalties predict trials that they did not learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold, ShuffleSplit, check_cv

from skscreen.concepts.fit import large
from skscreen.concepts.problem.objective import Objective
from skscreen.concepts.reading import Reading
from skscreen.concepts.solver import level_start, solve_concepts
from skscreen.concepts.threads import map_in_threads
from skscreen.concepts.tools.choices import is_right, log_kept, similarities
from skscreen.core.checks import Folds

# Share of the trials that is held out where there are no folds.
HELD_OUT = 0.1

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
        cv = kind(1, test_size=HELD_OUT, random_state=seed)
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

    def run(check: Callable[[], None], fold: int, l1: float, l2: float) -> HeldOut:
        # Each from the level start: from another solution too many dimensions stay.
        train, test = masks[fold]
        own = objective.drawn(train, l1, l2)
        # The penalty belongs to the number of trials.
        factor = np.sqrt(objective.total / own.total)
        own.l1, own.l2 = l1 * factor, l2 * factor
        X = level_start(trials.n_objects, int(model.n_components), own.l1, seed)
        found = solve_concepts(own, X, int(model.max_iter), float(model.tol), lambda *_: check())
        s = similarities(found.X, trials.rows[test], kind)
        return HeldOut(
            log_kept(s, kind), is_right(s, kind), int(large(found.X).sum()), found.converged
        )

    tasks = [(fold, l1, l2) for fold in range(len(masks)) for l1, l2 in penalties]
    yield from map_in_threads(run, tasks, model.n_jobs)


def as_good(log_p: np.ndarray, weights: np.ndarray, codes: np.ndarray, best: int) -> np.ndarray:
    """Whether each penalty predicts as well as the best one, up to the error of the difference.

    `log_p` is (n_penalties, n_rows); the error is that of a mean over groups of rows, `codes`.
    """
    difference = log_p[best] - log_p
    total = weights.sum()
    means = difference @ weights / total
    off = (difference - means[:, None]) * weights
    sums = np.array([np.bincount(codes, row) for row in off])
    return means <= np.sqrt((sums**2).sum(axis=1)) / total
