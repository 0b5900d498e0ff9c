"""Triplets from other kinds of answers: odd one out, most central, selections, rankings, ratings.

Objects may be numbers, strings, or anything else that is hashable, in arrays, lists or data frames.
The triplets of a trial are in consecutive rows. For a cross-validation that keeps each trial in one
fold, use the groups ``numpy.repeat(range(n_trials), len(triplets) // n_trials)``. Rankings with
ties or NaN give different numbers of triplets: convert these trial by trial, and count.
"""

from collections.abc import Set
from itertools import combinations, pairwise, permutations
from numbers import Integral
from typing import Any

import numpy as np

from skscreen.core.memory import check_memory
from skscreen.embedding.problem.answers import Layout, read_columns, read_trials
from skscreen.embedding.problem.reading.objects import refuse_codes
from skscreen.embedding.problem.reading.responses import (
    check_response,
    read_choices,
    refuse_other_order,
)
from skscreen.embedding.problem.reading.table import (
    Table,
    column_place,
    read_column,
    read_numbers,
    read_table,
    refuse_coded,
    refuse_other_rows,
)

__all__ = [
    "triplets_from_mostcentral",
    "triplets_from_multiselect",
    "triplets_from_oddoneout",
    "triplets_from_ranking",
    "triplets_from_ratings",
    "triplets_from_votes",
]


def triplets_from_oddoneout(
    X: Any, y: Any = None, *, response: Any = "auto", odd: Any = None, columns: Any = None
) -> np.ndarray:
    """Convert choices of the odd one out to triplets.

    Any two other objects of a trial are nearer to each other than either is to the odd one.

    Parameters
    ----------
    X : array-like of shape (n_trials, n_choices)
        Objects of each trial, three or more.
    y : array-like of shape (n_trials,), optional
        The odd one, as `response` says. By default it is in the column `odd`.
    response : {"auto", "position", "chosen", "count"}, default="auto"
        What y holds: "position", a column of X, counted from 0 or by label; "chosen", the object
        itself; "count", a column of votes for each object, for which `triplets_from_votes` also
        returns the weights. "auto" takes the only reading that is possible.
    odd : label or int, optional
        Column of the odd one without y; by default the first.
    columns : list, optional
        Columns of X that hold the objects, by label or by number; by default all.

    Returns
    -------
    ndarray of shape (n_trials * (n_choices - 1) * (n_choices - 2), 3)
        Rows (i, j, k): i is nearer to j than to k.

    Raises
    ------
    ValueError
        For invalid arguments; the message names the argument.

    Examples
    --------
    >>> from skscreen.preprocessing import triplets_from_oddoneout
    >>> triplets_from_oddoneout([["cat", "dog", "car"]], ["car"]).tolist()
    [['cat', 'dog', 'car'], ['dog', 'cat', 'car']]
    """
    return _odd_last(_chosen_first(X, y, response, odd, columns))


def triplets_from_mostcentral(
    X: Any, y: Any = None, *, response: Any = "auto", columns: Any = None
) -> np.ndarray:
    """Convert choices of the most central object to triplets.

    Every other object of a trial is nearer to the central one than to any other object.

    Parameters
    ----------
    X : array-like of shape (n_trials, n_choices)
        Objects of each trial, three or more.
    y : array-like of shape (n_trials,), optional
        The central one, as `response` says. By default it is in the first column.
    response, columns
        As in `triplets_from_oddoneout`.

    Returns
    -------
    ndarray of shape (n_trials * (n_choices - 1) * (n_choices - 2), 3)
        Rows (i, j, k): i is nearer to j than to k.

    Raises
    ------
    ValueError
        For invalid arguments; the message names the argument.

    Examples
    --------
    >>> from skscreen.preprocessing import triplets_from_mostcentral
    >>> triplets_from_mostcentral([[7, 1, 4]], [2]).tolist()
    [[7, 4, 1], [1, 4, 7]]
    """
    table = _chosen_first(X, y, response, None, columns)
    return _rows(table, [(i, 0, k) for i, k in permutations(range(1, table.shape[1]), 2)])


def triplets_from_multiselect(
    X: Any, select: Any, is_ranked: bool = False, *, response: Any = "auto", pivot: Any = None,
    columns: Any = None,
) -> np.ndarray:  # fmt: skip
    """Convert choices of the k objects most similar to a first one to triplets.

    Parameters
    ----------
    X : array-like of shape (n_trials, 1 + n_choices)
        Objects of each trial. The others are compared with the first one.
    select : int, or array-like of shape (n_trials, k) or (n_trials,)
        The chosen objects, as `response` says; or their number k, if they are in columns 1 to k.
    is_ranked : bool, default=False
        Whether the chosen objects are in order from the nearest to the farthest.
    response : {"auto", "position", "chosen"}, default="auto"
        What `select` holds, see `triplets_from_oddoneout`.
    pivot : label or int, optional
        Column of the object compared with; by default the first.
    columns : list, optional
        See `triplets_from_oddoneout`.

    Returns
    -------
    ndarray of shape (n_triplets, 3)
        Rows (i, j, k): i is nearer to j than to k.

    Raises
    ------
    ValueError
        For invalid arguments; the message names the argument.

    Examples
    --------
    >>> from skscreen.preprocessing import triplets_from_multiselect
    >>> triplets_from_multiselect([[0, 1, 2, 3]], [[3]]).tolist()
    [[0, 3, 1], [0, 3, 2]]
    """
    table, lead = _pivot_table(X, pivot, columns)
    n_trials, width = table.codes.shape
    if not isinstance(is_ranked, bool | np.bool_):
        raise ValueError(f"is_ranked must be True or False, got {is_ranked!r}.")
    if isinstance(select, Integral) and not isinstance(select, bool):
        if not 1 <= int(select) < width:
            raise ValueError(f"select must be from 1 to {width - 1}, got {select}.")
        k, chosen = int(select), np.empty((n_trials, 0), dtype=np.int64)
    else:
        refuse_other_rows(X, select, "select")
        chosen = _selected(select, table, lead, response, ranked=bool(is_ranked))
        k = chosen.shape[1]
    names = _in_front(table, np.column_stack([np.full(n_trials, lead), chosen]))
    return _rows(names, [(0, j, l) for j in range(1, k + 1)
                         for l in range(j + 1 if is_ranked else k + 1, width)])  # fmt: skip


def triplets_from_ranking(
    X: Any, ranks: Any = None, *, pivot: Any = None, columns: Any = None
) -> np.ndarray:
    """Return the triplets that follow from ranking objects by their likeness to a first one.

    Parameters
    ----------
    X : array-like of shape (n_trials, 1 + n_ranked)
        Objects of each trial. The others are compared with the first one.
    ranks : array-like of shape (n_trials, n_ranked), optional
        Numbers, the smaller the nearer to the first: ranks, or ratings. Equal ones say nothing
        about each other, NaN says nothing at all. By default the others are given from the nearest
        to the farthest.
    pivot, columns
        As in `triplets_from_multiselect`.

    Returns
    -------
    ndarray of shape (n_triplets, 3)
        Rows (i, j, k): i is nearer to j than to k. Without ties n_ranked (n_ranked - 1) / 2 from
        each trial.

    Raises
    ------
    ValueError
        For invalid arguments; the message names the argument.

    Examples
    --------
    >>> from skscreen.preprocessing import triplets_from_ranking
    >>> triplets_from_ranking([["tea", "coffee", "water", "soup"]], [[1, 2, 2]]).tolist()
    [['tea', 'coffee', 'water'], ['tea', 'coffee', 'soup']]
    """
    table, lead = _pivot_table(X, pivot, columns)
    n_trials, width = table.codes.shape
    names = _in_front(table, np.full((n_trials, 1), lead))
    if ranks is None:
        return _rows(names, [(0, j, k) for j in range(1, width) for k in range(j + 1, width)])
    labels = [label for place, label in enumerate(table.labels) if place != lead]
    refuse_other_rows(X, ranks, "ranks")
    refuse_other_order(ranks, labels, "ranks")
    values = read_numbers(ranks, labels)
    if values is None or _are_booleans(ranks):
        raise ValueError(
            "ranks must hold numbers, NaN where there is none; convert strings, as ranks.astype("
            "float) does. Objects in the order of their likeness go into X, without ranks; choices "
            "of the nearest ones to triplets_from_multiselect."
        )
    if values.shape != (n_trials, width - 1):
        raise ValueError(
            f"ranks must have shape ({n_trials}, {width - 1}), one for each object of X but the "
            f"pivot, got {values.shape}."
        )
    refuse_coded(values, "ranks")
    if width > 3 and set(np.unique(values[~np.isnan(values)]).tolist()) == {0.0, 1.0}:
        raise ValueError(
            "ranks must be the order of the objects, got 0 and 1 only, which may say what was "
            "chosen: pass ranks + 1 if 0 is the nearest; choices of the nearest ones go to "
            "triplets_from_multiselect."
        )
    # All pairs of objects of a trial; comparisons with NaN are False.
    trial, near, far = np.nonzero(values[:, :, None] < values[:, None, :])
    return np.stack([names[trial, 0], names[trial, near + 1], names[trial, far + 1]], axis=1)


def triplets_from_votes(
    X: Any, votes: Any, *, columns: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Convert numbers of votes for the odd one out to triplets and their weights.

    Each vote counts as one answer of `triplets_from_oddoneout`. For the likelihood of the choices
    themselves pass the votes as y: ``OrdinalEmbedding(loss="oddoneout").fit(X, votes)``.

    Parameters
    ----------
    X : array-like of shape (n_trials, n_choices)
        Objects of each trial, three or more.
    votes : array-like of shape (n_trials, n_choices)
        How often each of them was said to be the odd one, numbers >= 0.
    columns : list, optional
        See `triplets_from_oddoneout`.

    Returns
    -------
    triplets : ndarray of shape (n_triplets, 3)
        Rows (i, j, k): i is nearer to j than to k; (n_choices - 1) (n_choices - 2) for each object
        with votes.
    weights : ndarray of shape (n_triplets,)
        The `sample_weight` of the triplets.

    Raises
    ------
    ValueError
        For invalid arguments; the message names the argument.

    Examples
    --------
    >>> from skscreen.preprocessing import triplets_from_votes
    >>> triplets, weights = triplets_from_votes([["cat", "dog", "car"]], [[0, 1, 5]])
    >>> triplets.tolist(), weights.tolist()
    ([['cat', 'car', 'dog'], ['car', 'cat', 'dog'], ['cat', 'dog', 'car'], ['dog', 'cat', 'car']], \
[1.0, 1.0, 5.0, 5.0])
    """
    values = read_numbers(votes, [])
    if values is None or values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError(
            "votes must hold numbers, 0 where there is none, and a column for each column of "
            "objects; convert strings, as votes.astype(float) does."
        )
    layout = Layout(columns, None, "count", choice=True)
    trials = read_trials(X, votes, layout, declared=False)
    triplets, weights = _odd_last(trials.named()), np.asarray(trials.weights)
    return triplets, np.repeat(weights, len(triplets) // len(weights))


def triplets_from_ratings(
    X: Any, ratings: Any, *, groups: Any = None, dissimilarity: bool = False
) -> np.ndarray:
    """Convert ratings of how alike two objects are to triplets.

    Two ratings by the same participant that have an object in common say which of the two others
    is nearer to it. Equal ratings say nothing. A rating is used in many triplets, which are not
    independent.

    Parameters
    ----------
    X : array-like of shape (n_ratings, 2)
        The two objects of each pair.
    ratings : array-like of shape (n_ratings,)
        Numbers: the larger the more alike.
    groups : array-like of shape (n_ratings,), optional
        Participants, whose ratings are not compared with each other; by default there is one.
    dissimilarity : bool, default=False
        Whether larger ratings are of pairs that are less alike.

    Returns
    -------
    ndarray of shape (n_triplets, 3)
        Rows (i, j, k): i is nearer to j than to k. Sorted by participant and i.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    MemoryError
        If the triplets would not fit into the free memory.

    Examples
    --------
    >>> from skscreen.preprocessing import triplets_from_ratings
    >>> pairs = [["cat", "dog"], ["cat", "car"], ["dog", "car"]]
    >>> triplets_from_ratings(pairs, [6, 1, 2]).tolist()
    [['car', 'dog', 'cat'], ['cat', 'dog', 'car'], ['dog', 'cat', 'car']]
    """
    table = read_table(X)
    refuse_codes(table)
    if table.codes.shape[1] != 2:
        raise ValueError(
            f"X must have two columns, the objects of each pair, got shape {table.codes.shape}; "
            "the ratings are an argument of their own."
        )
    if not isinstance(dissimilarity, bool | np.bool_):
        raise TypeError(f"dissimilarity must be True or False, got {dissimilarity!r}.")
    for name, given in (("ratings", ratings), ("groups", groups)):
        refuse_other_rows(X, given, name)
    n = len(table.codes)
    values = read_column(ratings, n, "ratings", "value")
    if values.names.dtype.kind not in "iuf":
        wrong = next(name for name in values.names.tolist() if type(name) not in (int, float))
        raise ValueError(
            f"ratings must be numbers, got {wrong!r}: leave other answers out, and convert strings "
            "and decimals, as ratings.astype(float) does."
        )
    rating = values.names[values.codes[:, 0]].astype(np.float64)
    refuse_coded(rating, "ratings")
    rating *= -1.0 if dissimilarity else 1.0
    group = 0 if groups is None else read_column(groups, n, "groups", "participant").codes[:, 0]
    # Each rating from either of its two objects; those of one participant and object together.
    key = np.concatenate([group * len(table.names) + column for column in table.codes.T])
    order = np.argsort(key, kind="stable")
    rating, other = np.tile(rating, 2)[order], table.codes[:, ::-1].T.ravel()[order]
    this = table.codes.T.ravel()[order]
    bounds = np.flatnonzero(np.diff(key[order], prepend=-1, append=-1))
    sizes = np.diff(bounds).astype(np.float64)
    # Bytes of a triplet while it is made.
    check_memory(72.0 * float(sizes @ sizes), "Triplets of all ratings", "Use fewer ratings.")
    rows = []
    for start, stop in pairwise(bounds):
        near, far = start + np.argwhere(rating[start:stop, None] > rating[None, start:stop]).T
        rows.append(np.stack([this[near], other[near], other[far]], axis=1))
    codes = np.concatenate(rows)
    if not len(codes):
        raise ValueError(
            "ratings must differ between two pairs with an object in common, rated by the same "
            "participant; no two do, so they say nothing about which objects are nearer."
        )
    different = (codes[:, 0] != codes[:, 1]) & (codes[:, 0] != codes[:, 2])
    return table.names[codes[different & (codes[:, 1] != codes[:, 2])]]


def _are_booleans(values) -> bool:
    """Whether cells are True and False alone."""
    return all(isinstance(cell, bool | np.bool_) for cell in np.asarray(values).ravel().tolist())


def _chosen_first(X, y, response, odd, columns) -> np.ndarray:
    """Names of each trial, the chosen one first."""
    layout = Layout(columns, odd, check_response(response), choice=True)
    return read_trials(X, y, layout, declared=False).named()


def _odd_last(names: np.ndarray) -> np.ndarray:
    """Triplets of trials with the odd one in the first column."""
    return _rows(names, [(i, j, 0) for i, j in permutations(range(1, names.shape[1]), 2)])


def _pivot_table(X, pivot, columns) -> tuple[Table, int]:
    """Read trials of objects compared with a first one, and the column of this one."""
    table, *_ = read_columns(X, None, Layout(columns, choice=True), declared=False)
    refuse_codes(table)
    if table.codes.shape[1] < 3:
        raise ValueError(
            "X must have a row for each trial, of the object compared with and at least 2 others, "
            f"got shape {table.codes.shape}."
        )
    return table, 0 if pivot is None else column_place(pivot, table.labels, "pivot")


def _selected(select, table: Table, lead: int, response, *, ranked: bool) -> np.ndarray:
    """Columns of the chosen objects, of shape (n_trials, k)."""
    check_response(response)
    options = [place for place in range(table.codes.shape[1]) if place != lead]
    # Without np.shape, which refuses rows of different lengths.
    if (
        isinstance(select, str | dict)
        or not hasattr(select, "__len__")
        or (isinstance(select, np.ndarray) and not select.ndim)
    ):
        select = []
    cells = _cells_of(select, ranked)
    if len(cells) != len(table.codes) or len({len(row) for row in cells}) != 1 or not cells[0]:
        raise ValueError(
            f"select must be a number, or hold as many chosen objects, or columns from {options}, "
            f"in each of {len(table.codes)} rows."
        )
    readings = ("position", "chosen")
    if response not in ("auto", *readings):
        raise ValueError(f"response must be 'auto', 'position' or 'chosen', got {response!r}.")
    found = []
    for column in zip(*cells, strict=True):
        try:
            choices, _ = read_choices(list(column), table, options, response, readings)
        except ValueError as error:
            labels = [table.labels[option] for option in options]
            hint = _hint_of_joined(column) or _hint_of_indicators(select, cells, options, labels)
            raise ValueError(
                f"select must hold what was chosen from the others{hint}: {error}"
            ) from None
        found.append(choices.options)
    if any(np.any(one == other) for one, other in combinations(found, 2)):
        raise ValueError("select must not name a column twice in a row.")
    return np.stack(found, axis=1)


def _cells_of(select, ranked: bool) -> list[list]:
    """Rows of a table, or of lists in a list, an array or a series; sets have no ranks."""
    if hasattr(select, "columns"):
        rows = np.asarray(select).tolist()
    else:
        # Cells of Arrow's arrays and of polars' series of lists are of kinds of their own.
        listed = getattr(select, "to_pylist", None) or getattr(select, "to_list", None)
        rows = listed() if listed else list(select)
    if any(isinstance(row, Set) for row in rows):
        if ranked:
            raise ValueError("select must hold lists in order if is_ranked=True, got sets.")
        rows = [sorted(row, key=str) if isinstance(row, Set) else row for row in rows]
    return [list(row) if isinstance(row, list | tuple | np.ndarray) else [row] for row in rows]


def _hint_of_joined(cells) -> str:
    """Say what to pass where a cell holds all chosen objects, as strings of JSON or with marks."""
    if not all(isinstance(cell, str) for cell in cells):
        return ""
    if all(cell.startswith("[") for cell in cells):
        return " in cells of their own, [json.loads(cell) for cell in select]"
    marks = [mark for mark in ",;|" if any(mark in cell for cell in cells)]
    return f" in cells of their own, [cell.split({marks[0]!r}) for cell in select]" if marks else ""


def _hint_of_indicators(select, cells: list[list], options: list[int], labels: list) -> str:
    """Say what to pass where cells say of each option whether it was chosen."""
    if len(cells[0]) != len(options) or any(set(row) - {0, 1} for row in cells):
        return ""
    told = f"select[{labels}]" if set(getattr(select, "columns", ())) == set(labels) else "select"
    return f" by columns, numpy.array({options})[numpy.nonzero({told})[1]].reshape(len(X), -1)"


def _in_front(table: Table, columns: np.ndarray) -> np.ndarray:
    """Names with some columns of each row, of shape (n_trials, k), in front."""
    k = columns.shape[1]
    order = np.full(table.codes.shape, k)
    np.put_along_axis(order, columns, np.arange(k)[None], axis=1)
    order = np.argsort(order, axis=1, kind="stable")
    return table.names[np.take_along_axis(table.codes, order, axis=1)]


def _rows(names: np.ndarray, columns: list[tuple[int, int, int]]) -> np.ndarray:
    """Take the same columns of each trial as triplets, trial by trial."""
    return names[:, np.array(columns, dtype=np.int64).reshape(-1, 3)].reshape(-1, 3)
