"""Trials as choices of a pair of objects, in an order in which passes over them are fast."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

# Objects of a tile: trials of the same tiles follow each other, so that the entries of the tables
# that they touch stay in the cache of a core.
TILE = 128
# A table of all pairs has at most so many objects; for more, and where trials show a smaller share
# of all pairs than this, those that occur are listed.
LARGEST_TABLE, SHARE_OF_TABLE = 8_000, 0.2


@dataclass(frozen=True)
class Trials:
    """Answers that a fit learns from, by places among the objects that are in one."""

    # (m, 3): two that were kept and the odd one, or head, near and far; (m, 4): near pair, far pair
    rows: np.ndarray
    weights: np.ndarray | None  # (m,), > 0
    is_odd: bool  # whether rows end in the odd one
    n_objects: int

    @property
    def total(self) -> float:
        """Number of trials, each counted as often as its weight says."""
        return float(len(self.rows) if self.weights is None else self.weights.sum())

    def taken(self, which: np.ndarray) -> Self:
        """Return some of the trials."""
        weights = None if self.weights is None else self.weights[which]
        return replace(self, rows=self.rows[which], weights=weights)


@dataclass(frozen=True)
class Pairs:
    """Pairs of objects that trials choose among: a place in a table or in a list for each."""

    # (m, 3), int32: places of the pairs of a trial, the kept one first; place 0 is no pair. In a
    # table of n objects the pair i < j has the place n i + j.
    places: np.ndarray
    weights: np.ndarray  # (m,), or (0,) where all are 1
    listed: np.ndarray | None  # (n_places, 2), int32: the objects of each place of a list
    order: np.ndarray  # (m,): which rows of the trials these are

    @classmethod
    def of(cls, trials: Trials) -> Self:
        """Sort trials by the tiles of their objects, and give their pairs places."""
        n, order = trials.n_objects, _by_tiles(trials.rows)
        sides = [_numbers(trials.rows[order], pair, n) for pair in _pairs(trials)]
        if len(sides) == 2:
            sides.append(np.zeros_like(sides[0]))
        numbers = np.stack(sides, axis=1)
        listed = None
        if is_listed(n, len(order)):
            # Number 0 is the first, with or without trials of two options.
            found, inverse = np.unique(np.append(numbers.ravel(), 0), return_inverse=True)
            numbers = inverse[:-1].reshape(numbers.shape)
            listed = np.stack([found // n, found % n], axis=1).astype(np.int32)
        weights = np.empty(0) if trials.weights is None else trials.weights[order].astype(float)
        return cls(numbers.astype(np.int32), weights, listed, order)

    def drawn(self, times: np.ndarray) -> Self:
        """Return the trials, in the order of their rows drawn so many times, that were drawn."""
        times = times[self.order]
        on = times > 0
        if self.weights.size or times.max(initial=1) > 1:
            weights = times[on] * (self.weights[on] if self.weights.size else 1.0)
        else:
            weights = self.weights
        return replace(self, places=self.places[on], weights=weights, order=self.order[on])


def is_listed(n_objects: int, n_trials: int) -> bool:
    """Whether pairs are listed, not looked up in a table of all pairs."""
    return n_objects > LARGEST_TABLE or 3 * n_trials < SHARE_OF_TABLE * n_objects**2


def _pairs(trials: Trials) -> list[tuple[int, int]]:
    """Return the columns of each pair of a trial, the kept one first."""
    if trials.is_odd:
        return [(0, 1), (0, 2), (1, 2)]
    return [(0, 1), (0, 2)] if trials.rows.shape[1] == 3 else [(0, 1), (2, 3)]


def _numbers(rows: np.ndarray, pair: tuple[int, int], n: int) -> np.ndarray:
    """Return the number of the pair in two columns, n i + j with i < j."""
    i, j = rows[:, pair[0]].astype(np.int64), rows[:, pair[1]].astype(np.int64)
    return np.minimum(i, j) * n + np.maximum(i, j)


def _by_tiles(rows: np.ndarray) -> np.ndarray:
    """Return the order of rows by the tiles of their objects, then by the objects."""
    objects = np.sort(rows, axis=1).astype(np.int64)
    tiles, within = np.divmod(objects, TILE)
    key = np.zeros(len(rows), dtype=np.int64)
    for column in tiles.T:
        key = key * (tiles.max(initial=0) + 1) + column
    for column in within.T:
        key = key * TILE + column
    return np.argsort(key, kind="stable")
