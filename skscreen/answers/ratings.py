"""Values that a table gives to objects, or to pairs of them, compared with each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skscreen.answers.answers import Answers, array_of
from skscreen.answers.cells import (
    check_shown,
    declared_columns,
    given_names,
    left_out_rows,
    missing_values,
    numbered,
    placed,
    row_groups,
    row_weights,
    sorted_names,
)
from skscreen.answers.compare import says_nothing
from skscreen.answers.table import Table
from skscreen.core.checks import ColumnLike, TableLike
from skscreen.core.memory import check_memory
from skscreen.fitting.warning import warn_user


class Ratings(NamedTuple):
    """Values of objects, or of pairs of them."""

    objects: np.ndarray  # (m, 1 or 2), int: places in `names`
    values: np.ndarray  # (m,)
    names: list
    groups: np.ndarray  # (m,), int: participants, whose ratings are not compared with each other
    group_names: np.ndarray | None
    weights: np.ndarray | None  # (m,)
    rows: np.ndarray | None  # (m,), int: of the table; None where values are not from single rows
    listed: bool  # whether `names` were given, else those that occur are sorted
    n_rows: int | None


def check_kind(kind: str, dissimilarity: bool) -> None:
    """Check the arguments that the table has no part in."""
    if not isinstance(kind, str) or kind not in ("triplets", "quadruplets"):
        raise ValueError(f"kind must be 'triplets' or 'quadruplets', got {kind!r}.")
    if not isinstance(dissimilarity, bool | np.bool_):
        raise TypeError(f"dissimilarity must be True or False, got {dissimilarity!r}.")


def read_ratings(
    table: TableLike, columns: Sequence | None, width: int, values: ColumnLike, argument: str,
    objects: ArrayLike | None, groups: ColumnLike, weights: ColumnLike, missing: Iterable, *,
    numbers: bool = True,
) -> Ratings:  # fmt: skip
    """Read the values that a table gives to objects, or to pairs; any names without `numbers`."""
    source = Table(table)
    labels = declared_columns(source, columns, width, argument)
    given = source.given(values, argument)
    shown, names = source.objects(labels)
    out = shown[:, 0] == shown[:, 1] if width == 2 else np.zeros(source.n_rows, dtype=bool)
    out |= left_out_rows(given, missing_values(missing), out, argument)
    check_shown(shown, labels, out)
    if objects is not None:
        known = given_names(objects)
        shown, names = placed(shown, names, known, out), known
    factors = None if weights is None else row_weights(source.given(weights, "weights"), out)
    if factors is not None:
        out |= factors == 0.0
    kept = np.flatnonzero(~out)
    if not len(kept):
        raise ValueError(f"{argument} must hold a value in at least one row.")
    codes, group_names = np.zeros(len(kept), dtype=np.int64), None
    if groups is not None:
        group_names, codes = numbered(row_groups(source.given(groups, "groups"), kept))
    found = given.numbers(argument, out) if numbers else given.codes
    return Ratings(
        shown[kept], found[kept], names, codes, group_names,
        None if factors is None else factors[kept], kept, objects is not None, source.n_rows,
    )  # fmt: skip


def compared(read: Ratings, kind: str, both_ends: bool = True) -> Answers:
    """Compare the values of each participant, with triplets those that share an object."""
    places = np.arange(len(read.values))
    if kind == "triplets":
        # Each rating from either of its two objects; those of a participant and object together.
        ends = read.objects.T if both_ends else read.objects.T[:1]
        key = np.concatenate([read.groups * len(read.names) + end for end in ends])
        other = read.objects[:, ::-1].T.ravel()[: len(key)]
        places = np.tile(places, len(ends))
    else:
        key, other = read.groups, None
    order = np.argsort(key, kind="stable")
    bounds = np.flatnonzero(np.diff(key[order], prepend=-1, append=-1))
    sizes = np.diff(bounds).astype(np.float64)
    # Bytes of a comparison while it is made.
    check_memory(72.0 * float(sizes @ sizes), "Comparisons of all values", "Use fewer of them.")
    near, far = [], []
    for start, stop in pairwise(bounds):
        own = order[start:stop]
        value = read.values[places[own]]
        i, j = np.nonzero(value[:, None] > value[None, :])
        near.append(own[i])
        far.append(own[j])
    i, j = np.concatenate(near), np.concatenate(far)
    one, two = places[i], places[j]
    if other is not None:
        anchor = key[i] % len(read.names)
        rows, wrong = np.stack([anchor, other[i], other[j]], axis=1), other[i] == other[j]
    else:
        rows = np.concatenate([read.objects[one], read.objects[two]], axis=1)
        wrong = says_nothing(kind, rows)
    if wrong.all():
        raise ValueError("table has no two values that differ and can be compared.")
    rows, one, two, i = (part[~wrong] for part in (rows, one, two, i))
    if kind == "triplets" and both_ends:
        total = _n_comparisons(read)
        if len(rows) < total:
            warn_user(
                f"{len(rows):,} of {total:,} comparisons are used, those of pairs with an object "
                "in common; kind='quadruplets' uses all."
            )
    weights = None if read.weights is None else read.weights[one] * read.weights[two]
    trial = np.unique(key[i], return_inverse=True)[1]
    first = np.flatnonzero(np.diff(trial, prepend=-1))
    groups = None if read.group_names is None else read.group_names[read.groups[one[first]]]
    left_out = np.empty(0, dtype=np.int64)
    if read.rows is not None and read.n_rows is not None:
        left_out = np.setdiff1d(np.arange(read.n_rows), read.rows[np.union1d(one, two)])
    return answers_of(kind, rows, weights, trial, read.names, not read.listed, groups, left_out)


def _n_comparisons(read: Ratings) -> int:
    """Return how many pairs of values of a participant differ, and are of two different pairs."""
    pairs = np.sort(read.objects, axis=1) @ [len(read.names), 1]

    def count(*keys: np.ndarray) -> int:
        sizes = np.unique(np.stack(keys, axis=1), axis=0, return_counts=True)[1]
        return int((sizes * (sizes - 1) // 2).sum())

    groups, values = read.groups, np.unique(read.values, return_inverse=True)[1]
    same = count(groups, pairs) - count(groups, pairs, values)
    return count(groups) - count(groups, values) - same


def answers_of(
    kind: str, rows: np.ndarray, weights: np.ndarray | None, trial: np.ndarray, names: list,
    is_sorted: bool, groups: np.ndarray | None, left_out: np.ndarray,
) -> Answers:  # fmt: skip
    """Return answers of rows, whose names are sorted if they were not given."""
    if not len(rows):
        raise ValueError("table has no two values that differ and can be compared.")
    if is_sorted:
        rows, names = sorted_names(rows, names)
    trials = np.unique(trial, return_inverse=True)[1]
    rows = np.ascontiguousarray(rows, dtype=np.int32)
    return Answers(kind, rows, weights, trials, array_of(names), groups, left_out)
