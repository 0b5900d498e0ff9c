"""Cells of declared columns: objects, missing answers, weights and groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import narwhals as nw
import numpy as np

from skscreen.answers.answers import array_of
from skscreen.answers.table import Column, Table, is_empty


def declared_columns(source: Table, columns: Sequence | None, width: int | None, what: str) -> list:
    """Return the columns of objects: `width` of them, or a query and two or more options."""
    if columns is None and source.frame is not None:
        raise TypeError(
            "table is a frame, of which columns must say which columns show objects, in order: "
            f"{source.labels}."
        )
    # A set has no order, and a dict says something else.
    unordered = isinstance(columns, str | set | frozenset | dict)
    if columns is not None and (unordered or not hasattr(columns, "__iter__")):
        raise TypeError(f"columns must be a list of columns of table, got {columns!r}.")
    labels = source.labels if columns is None else list(columns)
    if len(labels) != width if width else len(labels) < 3:
        needed = width or "3 or more, the query and its options"
        raise ValueError(f"columns of {what} must be {needed}, got {len(labels)}: {labels}.")
    for k, label in enumerate(labels):
        if not isinstance(label, Hashable):
            raise TypeError(f"columns must hold labels, or tuples of labels, got {label!r}.")
        if label in labels[:k]:
            raise ValueError(f"columns must name each column once, got {labels}.")
    return labels


def missing_values(missing: Iterable) -> set:
    """Return the values that stand for no answer, with None for all empty cells."""
    if isinstance(missing, str) or not hasattr(missing, "__iter__"):
        raise TypeError(f"missing must be a list of values, got {missing!r}.")
    values = [None if is_empty(value) else value for value in missing]
    for value in values:
        if not isinstance(value, Hashable):
            raise TypeError(f"missing must hold strings, numbers or tuples, got {value!r}.")
    return set(values)


def left_out_rows(column: Column, skip: set, out: np.ndarray, name: str) -> np.ndarray:
    """Return which rows hold no answer; empty cells must be declared to be none."""
    empty = (column.codes < 0) & ~out
    if None not in skip and empty.any():
        raise ValueError(
            f"{name} is empty in row {int(empty.argmax())}, and in {np.count_nonzero(empty)} rows "
            "in all, which missing must then name: missing=[None]."
        )
    return (column.codes < 0) | (column.mapped([name in skip for name in column.names]) > 0)


def rows_without(shown: np.ndarray, names: list, skip: set, out: np.ndarray) -> np.ndarray:
    """Return which rows of objects have an empty cell, or a name that stands for no answer."""
    # By columns: ten times as fast as `any` over rows of a few entries.
    without = np.logical_or.reduce([column < 0 for column in shown.T])
    if skip:
        table = np.array([*(name in skip for name in names), False])
        without |= table[shown].any(axis=1)
    return without & ~out


def check_shown(shown: np.ndarray, labels: list, out: np.ndarray) -> None:
    """Raise where a row that is not left out has an empty cell."""
    if shown.min() >= 0:
        return
    empty = (shown < 0) & ~out[:, None]
    if empty.any():
        row, k = np.argwhere(empty)[0]
        raise ValueError(
            f"columns must show an object in each row, but column {labels[k]!r} is empty in row "
            f"{row}, whose answer is not missing."
        )


def given_names(objects: object) -> list:
    """Return the names that `objects` lists."""
    if isinstance(objects, str | set | frozenset) or not isinstance(objects, Iterable):
        raise TypeError(f"objects must be a list of names, got {objects!r}.")
    series = nw.from_native(objects, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        known = series.to_list()
    else:
        known = objects.tolist() if hasattr(objects, "tolist") else list(objects)
    known = [tuple(name) if isinstance(name, list) else name for name in known]
    known = [name.item() if isinstance(name, np.generic) else name for name in known]
    for k, name in enumerate(known):
        if is_empty(name) or not isinstance(name, Hashable):
            raise TypeError(
                f"objects must hold names: strings, numbers or tuples, got {name!r} in place {k}."
            )
    if len(set(known)) < max(2, len(known)):
        twice = [name for k, name in enumerate(known) if name in known[:k]]
        got = f"{twice[0]!r} twice" if twice else f"{known}"
        raise ValueError(f"objects must be two or more different names, got {got}.")
    return known


def placed(shown: np.ndarray, names: list, known: list, out: np.ndarray) -> np.ndarray:
    """Return the objects by their places in `known`; names that it has not are an error."""
    place = {name: k for k, name in enumerate(known)}
    table = np.array([*(place.get(name, -2) for name in names), -1], dtype=np.int32)
    placed = table[shown]
    strange = (placed == -2) & ~out[:, None]
    if strange.any():
        row, k = np.argwhere(strange)[0]
        raise ValueError(f"objects has no {names[shown[row, k]]!r}, which row {row} shows.")
    return placed


def row_weights(column: Column, out: np.ndarray) -> np.ndarray:
    """Return the weight of each row."""
    values = column.numbers("weights", out)
    wrong = (values < 0.0) & ~out
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"weights must be numbers >= 0, got {values[row]:g} in row {row}.")
    return values


def sorted_names(rows: np.ndarray, names: list) -> tuple[np.ndarray, list]:
    """Return rows by places among the sorted names of those that occur."""
    occur = np.bincount(rows.ravel(), minlength=len(names)) > 0
    found = np.flatnonzero(occur).tolist()
    try:
        found.sort(key=names.__getitem__)
    except TypeError:
        kinds = sorted({type(names[k]).__name__ for k in found})
        raise ValueError(
            f"columns hold names of the kinds {kinds}, which have no order; objects must list them."
        ) from None
    if found == list(range(len(names))):
        return rows, names
    place = np.empty(len(names), dtype=np.int32)
    place[found] = np.arange(len(found), dtype=np.int32)
    return place[rows], [names[k] for k in found]


def row_groups(column: Column, counted: np.ndarray) -> np.ndarray:
    """Return the group of each of these rows."""
    codes = column.codes[counted]
    if (codes < 0).any():
        row = int(counted[(codes < 0).argmax()])
        raise ValueError(f"groups must name the group of each answer, but is empty in row {row}.")
    return array_of(column.names)[codes]


def numbered(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different groups, sorted where they have an order, and which each one is."""
    try:
        return np.unique(groups, return_inverse=True)
    except TypeError:
        # Numbers beside strings.
        place: dict = {}
        codes = np.array([place.setdefault(name, len(place)) for name in groups.tolist()])
        return array_of(list(place)), codes
