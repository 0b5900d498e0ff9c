"""Triplets from other kinds of answers: odd one out, most central, selections and rankings.

Objects may be numbers, strings, or anything else that is hashable, in arrays, lists or data frames.
The triplets of a trial are in consecutive rows. For a cross-validation that keeps each trial in one
fold, use the groups ``numpy.repeat(range(n_trials), len(triplets) // n_trials)``. Rankings with
ties or NaN give different numbers of triplets: convert these trial by trial, and count.
"""

from itertools import permutations
from numbers import Integral

import numpy as np

from skscreen.embedding.problem.names import chosen_first, read_table

__all__ = [
    "triplets_from_mostcentral",
    "triplets_from_multiselect",
    "triplets_from_oddoneout",
    "triplets_from_ranking",
]


def triplets_from_oddoneout(X, y=None) -> np.ndarray:
    """Convert choices of the odd one out to triplets.

    Any two other objects of a trial are nearer to each other than either is to the odd one.

    Parameters
    ----------
    X : array-like of shape (n_trials, n_choices)
        Objects of each trial, three or more.
    y : array-like of shape (n_trials,), optional
        Column of the odd one or, if objects are not numbers, the odd one itself. By default it is
        in the first column.

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
    table = chosen_first(X, y)
    return _rows(table, [(i, j, 0) for i, j in permutations(range(1, table.shape[1]), 2)])


def triplets_from_mostcentral(X, y=None) -> np.ndarray:
    """Convert choices of the most central object to triplets.

    Every other object of a trial is nearer to the central one than to any other object.

    Parameters
    ----------
    X : array-like of shape (n_trials, n_choices)
        Objects of each trial, three or more.
    y : array-like of shape (n_trials,), optional
        Column of the central one or, if objects are not numbers, the central one itself. By default
        it is in the first column.

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
    table = chosen_first(X, y)
    return _rows(table, [(i, 0, k) for i, k in permutations(range(1, table.shape[1]), 2)])


def triplets_from_multiselect(X, select, is_ranked: bool = False) -> np.ndarray:
    """Convert choices of the k objects most similar to a first one to triplets.

    Parameters
    ----------
    X : array-like of shape (n_trials, 1 + n_choices)
        Objects of each trial. The others are compared with the first one.
    select : int, or array-like of int of shape (n_trials, k)
        Columns of the chosen objects, from 1 on; or their number k, if they are in columns 1 to k.
    is_ranked : bool, default=False
        Whether the chosen objects are in order from the nearest to the farthest.

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
    table = _pivot_table(X)
    width = table.shape[1]
    if not isinstance(is_ranked, bool | np.bool_):
        raise ValueError(f"is_ranked must be True or False, got {is_ranked!r}.")
    if isinstance(select, Integral) and not isinstance(select, bool):
        if not 1 <= select < width:
            raise ValueError(f"select must be from 1 to {width - 1}, got {select}.")
        k = int(select)
    else:
        try:
            columns = np.asarray(select)
        except ValueError:
            # Rows of different lengths, which the message below names.
            columns = np.empty(0)
        whole = columns.dtype.kind in "iu" and columns.ndim == 2 and len(columns) == len(table)
        if not (whole and columns.size and columns.min() > 0 and columns.max() < width):
            raise ValueError(
                f"select must be a number, or hold the columns, from 1 to {width - 1}, that were "
                f"chosen in each of {len(table)} rows."
            )
        k = columns.shape[1]
        # The chosen objects in order, then the others.
        order = np.full(table.shape, k + 1)
        np.put_along_axis(order, columns.astype(np.int64), np.arange(1, k + 1)[None], axis=1)
        order[:, 0] = 0
        if np.any(np.sum((order > 0) & (order <= k), axis=1) < k):
            raise ValueError("select must not name a column twice in a row.")
        table = np.take_along_axis(table, np.argsort(order, axis=1, kind="stable"), axis=1)
    return _rows(table, [(0, j, l) for j in range(1, k + 1)
                         for l in range(j + 1 if is_ranked else k + 1, width)])  # fmt: skip


def triplets_from_ranking(X, ranks=None) -> np.ndarray:
    """Return the triplets that follow from ranking objects by their likeness to a first one.

    Parameters
    ----------
    X : array-like of shape (n_trials, 1 + n_ranked)
        Objects of each trial. The others are compared with the first one.
    ranks : array-like of shape (n_trials, n_ranked), optional
        Numbers, the smaller the nearer to the first: ranks, or ratings. Equal ones say nothing
        about each other, NaN says nothing at all. By default the others are given from the nearest
        to the farthest.

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
    table = _pivot_table(X)
    n_trials, width = table.shape
    if ranks is None:
        return triplets_from_multiselect(table, width - 1, is_ranked=True)
    try:
        ranks = np.asarray(ranks, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("ranks must hold numbers.") from None
    if ranks.shape != (n_trials, width - 1):
        raise ValueError(
            f"ranks must have shape ({n_trials}, {width - 1}), one for each object of X but the "
            f"first, got {ranks.shape}."
        )
    # All pairs of objects of a trial; comparisons with NaN are False.
    trial, near, far = np.nonzero(ranks[:, :, None] < ranks[:, None, :])
    return np.stack([table[trial, 0], table[trial, near + 1], table[trial, far + 1]], axis=1)


def _pivot_table(X) -> np.ndarray:
    table = read_table(X)
    if table.ndim != 2 or table.shape[1] < 3 or not len(table):
        raise ValueError(
            "X must have a row for each trial, of the object compared with and at least 2 others, "
            f"got shape {table.shape}."
        )
    return table


def _rows(table: np.ndarray, columns: list[tuple[int, int, int]]) -> np.ndarray:
    """Take the same columns of each trial as triplets, trial by trial."""
    return table[:, np.array(columns, dtype=np.int64).reshape(-1, 3)].reshape(-1, 3)
