"""Answers from ratings, rankings, piles, matrices, levels and tensors of counts.

Ratings are compared with each other: "cat and dog are more alike than cat and car". Comparisons
that share ratings are not independent, so those of a participant and a first object are one trial,
which no cross-validation tears apart. What people chose in trials, votes included, is read by
`skscreen.read_answers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from skscreen.answers.answers import Answers, array_of
from skscreen.answers.cells import (
    check_shown,
    declared_columns,
    given_names,
    left_out_rows,
    missing_values,
    placed,
    row_groups,
    row_weights,
)
from skscreen.answers.compare import says_nothing
from skscreen.answers.ratings import (
    Ratings,
    answers_of,
    check_kind,
    compared,
    read_ratings,
)
from skscreen.answers.read import read_answers
from skscreen.answers.table import Table, frame_of
from skscreen.core.checks import ColumnLike, TableLike, check_samples
from skscreen.core.memory import check_memory

__all__ = [
    "paired_from_levels",
    "triplets_from_matrix",
    "triplets_from_oddoneout",
    "triplets_from_piles",
    "triplets_from_ranking",
    "triplets_from_ratings",
    "triplets_from_tensor",
]


def triplets_from_ratings(
    table: TableLike, columns: Sequence | None = None, ratings: ColumnLike = 2, *,
    kind: str = "triplets", dissimilarity: bool = False, objects: ArrayLike | None = None,
    groups: ColumnLike = None, weights: ColumnLike = None, missing: Iterable = (),
) -> Answers:  # fmt: skip
    """Compare ratings of how alike two objects are.

    Two ratings by the same participant say which of the two pairs is more alike. Equal ratings say
    nothing.

    Parameters
    ----------
    table : array-like of shape (n_ratings, n_columns), or frame
        A row for each rating.
    columns : list of two, optional
        Columns of the two objects, by label or, of an array, by place. None is ``[0, 1]`` of an
        array.
    ratings : label or array-like of shape (n_ratings,), default=2
        Column of the ratings: numbers, the larger the more alike.
    kind : {"triplets", "quadruplets"}, default="triplets"
        "triplets" compares pairs that have an object in common, "quadruplets" any two pairs, which
        are many more, and all that the ratings say.
    dissimilarity : bool, default=False
        Whether larger ratings are of pairs that are less alike.
    objects, groups, weights, missing
        As in `skscreen.read_answers`: names of all objects; columns of participants, whose ratings
        are not compared with each other, and of weights of ratings, which are multiplied; values of
        `ratings` that are none.

    Returns
    -------
    Answers
        A trial holds the comparisons of a participant that share their first object, and with
        quadruplets all comparisons of a participant.

    Raises
    ------
    ValueError, TypeError
        For a declaration that does not fit the table, or if no two ratings can be compared.
    MemoryError
        If the comparisons would not fit into the free memory.

    Warns
    -----
    UserWarning
        If not all comparisons are used: says how many of how many are.

    Examples
    --------
    >>> from skscreen.preprocessing import triplets_from_ratings
    >>> table = [["cat", "dog", 6], ["cat", "car", 1], ["dog", "car", 2]]
    >>> triplets_from_ratings(table)
    3 trials of 3 objects, triplets
    first: 'dog' is closer to 'cat' than 'car' is
    objects occur 3 ('car') to 3 ('car') times
    """
    check_kind(kind, dissimilarity)
    columns = [0, 1] if columns is None and frame_of(table) is None else columns
    read = read_ratings(table, columns, 2, ratings, "ratings", objects, groups, weights, missing)
    if dissimilarity:
        read = read._replace(values=-read.values)
    return compared(read, kind)


def triplets_from_piles(
    table: TableLike, columns: Sequence | None = None, piles: ColumnLike = 1, *,
    kind: str = "triplets", objects: ArrayLike | None = None, groups: ColumnLike = None,
    missing: Iterable = (),
) -> Answers:  # fmt: skip
    """Compare pairs of objects in one pile with pairs in different ones (free sorting).

    Parameters
    ----------
    table : array-like of shape (n_rows, n_columns), or frame
        A row for each object that a participant has put on a pile.
    columns : list of one, optional
        Column of the object. None is ``[0]`` of an array.
    piles : label or array-like of shape (n_rows,), default=1
        Column of the pile, any names.
    kind : {"triplets", "quadruplets"}, default="triplets"
        "triplets" compares pairs that have an object in common: an object is closer to those of its
        pile than to any other. "quadruplets" compares any two pairs.
    objects, groups, missing
        As in `skscreen.read_answers`; piles of different participants are not compared.

    Returns
    -------
    Answers
        As `triplets_from_ratings` of pairs, which are in one pile or not.

    Raises
    ------
    ValueError, TypeError
        For a declaration that does not fit the table, or an object that a participant has twice.
    MemoryError
        If the comparisons would not fit into the free memory.

    Warns
    -----
    UserWarning
        If not all comparisons are used: says how many of how many are.

    Examples
    --------
    >>> from skscreen.preprocessing import triplets_from_piles
    >>> triplets_from_piles([["tea", "drinks"], ["milk", "drinks"], ["soap", "other"]])
    2 trials of 3 objects, triplets
    first: 'milk' is closer to 'tea' than 'soap' is
    objects occur 2 ('milk') to 2 ('milk') times
    """
    check_kind(kind, False)
    columns = [0] if columns is None and frame_of(table) is None else columns
    read = read_ratings(
        table, columns, 1, piles, "piles", objects, groups, None, missing, numbers=False
    )
    pairs, alike, codes = [], [], []
    for code in np.unique(read.groups):
        own = np.flatnonzero(read.groups == code)
        shown, pile = read.objects[own, 0], read.values[own]
        names, counts = np.unique(shown, return_counts=True)
        if counts.max() > 1:
            name = read.names[names[counts.argmax()]]
            raise ValueError(f"table has the object {name!r} in two piles of one participant.")
        i, j = np.triu_indices(len(own), 1)
        pairs.append(np.stack([shown[i], shown[j]], axis=1))
        alike.append((pile[i] == pile[j]).astype(np.float64))
        codes.append(np.full(len(i), code))
    return compared(
        read._replace(
            objects=np.concatenate(pairs), values=np.concatenate(alike),
            groups=np.concatenate(codes), rows=None,
        ),
        kind,
    )  # fmt: skip


def triplets_from_matrix(
    matrix: TableLike, *, dissimilarity: bool = False, objects: ArrayLike | None = None
) -> Answers:
    """Compare the entries in each row of a matrix of similarities, such as confusions.

    Object i is closer to j than to k where the entry (i, j) is larger than (i, k). The matrix need
    not be symmetric; its diagonal is not used, and NaN says nothing.

    Parameters
    ----------
    matrix : array-like of shape (n_objects, n_objects), or frame
        The first object in rows.
    dissimilarity : bool, default=False
        Whether larger entries are of objects that are less alike.
    objects : array-like of shape (n_objects,), optional
        Names of the objects; None takes the labels of the columns, numbers of an array.

    Returns
    -------
    Answers
        Triplets; a trial for each row.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments.
    MemoryError
        If the comparisons would not fit into the free memory.

    Examples
    --------
    >>> from skscreen.preprocessing import triplets_from_matrix
    >>> triplets_from_matrix([[9, 5, 1], [4, 9, 2], [1, 3, 9]], objects=["a", "b", "c"])
    3 trials of 3 objects, triplets
    first: 'b' is closer to 'a' than 'c' is
    objects occur 3 ('a') to 3 ('a') times
    """
    check_kind("triplets", dissimilarity)
    frame = frame_of(matrix)
    labels = None if frame is None else list(frame.columns)
    values = check_samples(
        matrix if frame is None else frame.to_numpy(), "matrix", dtype=np.float64,
        ensure_all_finite="allow-nan", ensure_min_samples=3,
    )  # fmt: skip
    n = len(values)
    if values.shape != (n, n):
        raise ValueError(f"matrix must be square, got shape {values.shape}.")
    names = given_names(range(n) if objects is None and labels is None else
                        labels if objects is None else objects)  # fmt: skip
    if len(names) != n:
        raise ValueError(f"objects must be {n} names, one for each row, got {len(names)}.")
    i, j = np.nonzero(~(np.eye(n, dtype=bool) | np.isnan(values)))
    entries = -values[i, j] if dissimilarity else values[i, j]
    codes = np.zeros(len(i), dtype=np.int64)
    read = Ratings(np.stack([i, j], axis=1), entries, names, codes, None, None, None, True, None)
    return compared(read, "triplets", both_ends=False)


def triplets_from_ranking(
    table: TableLike, columns: Sequence | None = None, ranks: Sequence | None = None, *,
    objects: ArrayLike | None = None, groups: ColumnLike = None, weights: ColumnLike = None,
    missing: Iterable = (),
) -> Answers:  # fmt: skip
    """Compare objects that were ranked by their likeness to a first one.

    Parameters
    ----------
    table : array-like of shape (n_trials, n_columns), or frame
        A row for each trial.
    columns : list, optional
        Columns of the object compared with, and of two or more others, empty where none is shown.
        None takes all columns of an array.
    ranks : list of labels or of array-likes, optional
        A column for each of the others: numbers, the smaller the closer. Equal ones say nothing
        about each other, and those in `missing` nothing at all. None: the others are in order, the
        first one the closest.
    objects, groups, weights, missing
        As in `skscreen.read_answers`; `missing` are values of `ranks`.

    Returns
    -------
    Answers
        Triplets, without ties n (n - 1) / 2 of n objects that were ranked.

    Raises
    ------
    ValueError, TypeError
        For a declaration that does not fit the table.
    MemoryError
        If the comparisons would not fit into the free memory.

    Examples
    --------
    >>> from skscreen.preprocessing import triplets_from_ranking
    >>> table = [["tea", "coffee", "water", "soup", 1, 2, 2]]
    >>> answers = triplets_from_ranking(table, [0, 1, 2, 3], [4, 5, 6])
    >>> answers.objects[answers.rows].tolist()
    [['tea', 'coffee', 'water'], ['tea', 'coffee', 'soup']]
    """
    source = Table(table)
    labels = declared_columns(source, columns, None, "a ranking")
    shown, names = source.objects(labels)
    skip = missing_values(missing)
    out = says_nothing("choices", shown)
    check_shown(shown[:, :1], labels, out)
    values = np.tile(np.arange(len(labels) - 1.0), (source.n_rows, 1))
    if ranks is None and skip - {None}:
        raise ValueError(f"missing must be values of ranks, which are None, got {missing!r}.")
    factors = None
    if weights is not None:
        factors = row_weights(source.given(weights, "weights"), out)
        out |= factors == 0.0
    if ranks is not None:
        listed = not isinstance(ranks, str) and hasattr(ranks, "__len__")
        if not listed or len(ranks) != len(labels) - 1:
            raise ValueError(f"ranks must be {len(labels) - 1} columns, got {ranks!r}.")
        for k, column in enumerate(ranks):
            given = source.given(column, "ranks")
            none = left_out_rows(given, skip, out | (shown[:, k + 1] < 0), "ranks")
            values[:, k] = np.where(none, np.nan, given.numbers("ranks", none))
    values[shown[:, 1:] < 0] = np.nan
    values[out] = np.nan
    if objects is not None:
        known = given_names(objects)
        shown, names = placed(shown, names, known, out), known
    needed = 8.0 * values.shape[1] ** 2 * len(values)
    check_memory(needed, "Comparisons of all ranks", "Use fewer trials.")
    trial, near, far = np.nonzero(values[:, :, None] < values[:, None, :])
    rows = np.stack([shown[trial, 0], shown[trial, near + 1], shown[trial, far + 1]], axis=1)
    factors = None if factors is None else factors[trial]
    group = None if groups is None else source.given(groups, "groups")
    return answers_of("triplets", rows, factors, trial, names, objects is None,
                    None if group is None else row_groups(group, np.unique(trial)),
                    np.setdiff1d(np.arange(source.n_rows), trial))  # fmt: skip


def paired_from_levels(
    table: TableLike, columns: Sequence | None = None, levels: ColumnLike = 1, *,
    objects: ArrayLike | None = None, groups: ColumnLike = None, weights: ColumnLike = None,
    missing: Iterable = (),
) -> Answers:  # fmt: skip
    """Compare levels that were given to single objects: which has more of it.

    Parameters
    ----------
    table : array-like of shape (n_rows, n_columns), or frame
        A row for each level that a participant has given to an object.
    columns : list of one, optional
        Column of the object; a tuple of columns is one object that several describe. None is
        ``[0]`` of an array.
    levels : label or array-like of shape (n_rows,), default=1
        Column of numbers. Equal ones say nothing.
    objects, groups, weights, missing
        As in `triplets_from_ratings`.

    Returns
    -------
    Answers
        Of kind "paired"; a trial holds all comparisons of a participant.

    Raises
    ------
    ValueError, TypeError
        For a declaration that does not fit the table, or if no two levels can be compared.
    MemoryError
        If the comparisons would not fit into the free memory.

    Examples
    --------
    >>> from skscreen.preprocessing import paired_from_levels
    >>> paired_from_levels([["matt", 2], ["silk", 3], ["gloss", 5]])
    1 trials of 3 objects, paired, 3 rows
    first: 'silk' has more of it than 'matt'
    objects occur 2 ('gloss') to 2 ('gloss') times
    """
    columns = [0] if columns is None and frame_of(table) is None else columns
    read = read_ratings(table, columns, 1, levels, "levels", objects, groups, weights, missing)
    return compared(read, "paired")


def triplets_from_oddoneout(answers: Answers) -> Answers:
    """Return the two triplets that each choice of the odd one out implies.

    Either of the two others is closer to the other one than the odd one is. For the likelihood of
    the choices themselves fit ``OrdinalEmbedding(loss="oddoneout")``.

    Parameters
    ----------
    answers : Answers
        Of kind "oddoneout".

    Returns
    -------
    Answers

    Raises
    ------
    TypeError, ValueError
        If `answers` are others.

    Examples
    --------
    >>> from skscreen import read_answers
    >>> from skscreen.preprocessing import triplets_from_oddoneout
    >>> odd = read_answers([["cat", "dog", "car"]], kind="oddoneout", chosen=2)
    >>> triplets_from_oddoneout(odd).rows.tolist()
    [[1, 2, 0], [2, 1, 0]]
    """
    if not isinstance(answers, Answers):
        raise TypeError(f"answers must be Answers, got {type(answers).__name__}.")
    if answers.kind != "oddoneout":
        raise ValueError(f"answers must be of kind 'oddoneout', got {answers.kind!r}.")
    return replace(
        answers,
        kind="triplets",
        rows=answers.rows[:, [[0, 1, 2], [1, 0, 2]]].reshape(-1, 3),
        weights=None if answers.weights is None else np.repeat(answers.weights, 2),
        trials=np.repeat(answers.trials, 2),
    )


def triplets_from_tensor(tensor: Any, *, objects: ArrayLike | None = None) -> Answers:
    """Return the answers in a sparse tensor of counts, as cblearn has them.

    Parameters
    ----------
    tensor : sparse array of shape (n, n, n), or SciPy's of shape (n, n^2) or (n^2, n)
        The entry (i, j, k) says how often j was closer to i than k, or, negative, how often it was
        not.
    objects : array-like of shape (n,), optional
        Names of the objects; None are their numbers.

    Returns
    -------
    Answers
        Weighted by the counts.

    Raises
    ------
    ValueError, TypeError
        For other arguments, or if there is no answer.

    Examples
    --------
    >>> from skscreen.datasets import make_triplets
    >>> from skscreen.preprocessing import triplets_from_tensor
    >>> tensor = make_triplets([[0.0], [1.0], [3.0]], result_format="tensor-count")
    >>> triplets_from_tensor(tensor).rows.tolist()
    [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    """
    if not (sparse.issparse(tensor) or hasattr(tensor, "coords")):
        raise TypeError(f"tensor must be a sparse array, got {type(tensor).__name__}.")
    shape = tuple(tensor.shape)
    n = shape[0] if len(shape) == 3 else min(shape)
    if shape not in ((n, n, n), (n, n * n), (n * n, n)):
        raise ValueError(f"tensor must have shape (n, n, n), (n, n^2) or (n^2, n), got {shape}.")
    cells = tensor if len(shape) == 3 else sparse.coo_array(tensor)
    axes = [np.asarray(axis, dtype=np.int64) for axis in cells.coords]
    # Duplicate entries are summed, as everywhere in SciPy.
    flat, place = np.unique(np.ravel_multi_index(axes, shape), return_inverse=True)
    counts = np.bincount(place, np.asarray(cells.data, dtype=np.float64), len(flat))
    if not np.isfinite(counts).all():
        raise ValueError("tensor must hold finite counts.")
    rows = np.stack(np.unravel_index(flat[counts != 0.0], (n, n, n)), axis=1)
    counts = counts[counts != 0.0]
    if not len(rows):
        raise ValueError("tensor must hold at least one answer.")
    names = list(range(n)) if objects is None else given_names(objects)
    if len(names) != n:
        raise ValueError(f"objects must be {n} names, got {len(names)}.")
    answers = read_answers(rows, chosen=np.sign(counts), response="sign", weights=np.abs(counts),
                           objects=range(n))  # fmt: skip
    return replace(answers, objects=array_of(names))
