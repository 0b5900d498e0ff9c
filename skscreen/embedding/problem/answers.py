"""The answers of a fit: those that count, and the objects that they compare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from skscreen.answers.answers import Answers
from skscreen.answers.given import Given


def counted(given: Given, sample_weight: ArrayLike | None) -> Answers:
    """Return the answers of positive weight, with their weights."""
    answers, weights = given.answers, given.weights(sample_weight)
    if weights is None or weights is answers.weights:
        return answers
    if weights.all():
        return replace(answers, weights=weights)
    kept = weights > 0.0
    return replace(
        answers, rows=answers.rows[kept], weights=weights[kept], trials=answers.trials[kept]
    )


def compacted(rows: np.ndarray, n_objects: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows by places among the compared objects, and these objects."""
    compared = np.flatnonzero(np.bincount(rows.ravel(), minlength=n_objects))
    if len(compared) == n_objects:
        return rows, compared
    places = np.empty(n_objects, dtype=np.int32)
    places[compared] = np.arange(len(compared))
    return places[rows], compared


def quadruplets(rows: np.ndarray) -> np.ndarray:
    """Return answers as (i, j, k, l): i is nearer to j than k is to l; a triplet has k = i."""
    return rows if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]]


def pieces(rows: np.ndarray, n_objects: int) -> np.ndarray:
    """Return for each object which piece it belongs to: chains of answers connect no two pieces."""
    # Of many answers some mostly do.
    if all_connected(rows[:: max(len(rows) // (5 * n_objects), 1)], n_objects):
        return np.zeros(n_objects, dtype=np.int32)
    ends = np.repeat(rows[:, 0], rows.shape[1] - 1), rows[:, 1:].ravel()
    graph = sparse.coo_array((np.ones(len(ends[0])), ends), shape=(n_objects, n_objects))
    return sparse.csgraph.connected_components(graph, directed=False)[1]


def all_connected(rows: np.ndarray, n_objects: int) -> bool:
    """Whether a few steps from the first answer lead to all objects; False where more may."""
    reached = np.zeros(n_objects, dtype=bool)
    reached[rows[0]] = True
    for _ in range(10):
        before = np.count_nonzero(reached)
        # By columns: ten times as fast as `any` over rows of a few entries.
        near = np.logical_or.reduce([reached[column] for column in rows.T])
        reached[rows[near]] = True
        if reached.all():
            return True
        if np.count_nonzero(reached) == before:
            break
    return False


def draw_counts(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw as many groups as there are, with replacement; how often each row is drawn."""
    n_groups = int(codes.max()) + 1
    drawn = rng.integers(n_groups, size=n_groups)
    return np.bincount(drawn, minlength=n_groups)[codes]
