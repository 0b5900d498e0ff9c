"""Measures of retrieval by a matrix of distances; see `retrieval` for embedded samples."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from skscreen.core.checks import check_samples
from skscreen.metrics.ranks import (
    Ranked,
    Ranks,
    any_hit,
    average_precision,
    check_k,
    check_most,
    check_queries,
    first_ranks,
    precision,
    recall,
)


def precision_at_k_of(relevant: ArrayLike, distances: ArrayLike, k: int | Literal["r"]) -> float:
    """Return the share of relevant items among the k nearest by given distances, over queries.

    See `precision_at_k` for embedded samples with labels.

    Parameters
    ----------
    relevant : array-like of shape (n_queries, n_items), bool or 0 and 1
        Which items are relevant to each query.
    distances : array-like of shape (n_queries, n_items)
        From each query to each item: the smallest is ranked first, items at equal distance keep
        their order. An item at distance inf is not ranked: neither found nor missed, as a query
        among its own items should be.
    k : int or "r"
        From 1 to the number of items; "r" is R, the number of items relevant to the query: then
        this is the R-precision.

    Returns
    -------
    float
        Queries without a relevant item do not count; a warning says how many.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument. Also if no query counts.

    Examples
    --------
    >>> from skscreen.metrics import precision_at_k_of
    >>> precision_at_k_of([[True, False, True]], [[0.1, 0.3, 0.2]], k=2)
    1.0
    """
    check_k(k, "r")
    return precision([_ranked(relevant, distances, k)], k)


def recall_at_k_of(relevant: ArrayLike, distances: ArrayLike, k: int) -> float:
    """Return the share of the relevant items among the k nearest by given distances, over queries.

    See `recall_at_k` for embedded samples with labels.

    Parameters
    ----------
    relevant, distances
        As in `precision_at_k_of`.
    k : int
        From 1 to the number of items.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    check_k(k)
    return recall([_ranked(relevant, distances, k)])


def cmc_at_k_of(relevant: ArrayLike, distances: ArrayLike, k: int) -> float:
    """Return the share of queries with a relevant item among the k nearest by given distances.

    See `cmc_at_k` for embedded samples with labels.

    Parameters
    ----------
    relevant, distances
        As in `precision_at_k_of`.
    k : int
        From 1 to the number of items.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    check_k(k)
    return any_hit([_ranked(relevant, distances, k)])


def mean_average_precision_of(
    relevant: ArrayLike, distances: ArrayLike, *, k: Ranks = None
) -> float:
    """Return the mean over queries of the average precision of rankings by given distances.

    See `mean_average_precision`, also for `k`.

    Parameters
    ----------
    relevant, distances
        As in `precision_at_k_of`.
    k : int, "r" or None, default=None
        Ranks that count; None: all.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    check_k(k, "r", None)
    return average_precision([_ranked(relevant, distances, k)], k)


def _ranked(relevant: ArrayLike, distances: ArrayLike, k: Ranks) -> Ranked:
    """Return the first k ranks of queries that have a relevant item."""
    relevant = check_samples(relevant, "relevant", dtype=None)
    if relevant.dtype.kind not in "biufO" or not np.isin(relevant, (0, 1)).all():
        raise ValueError("relevant must hold booleans, or 0 and 1.")
    distances = check_samples(distances, "distances", dtype=np.float64, ensure_all_finite=False)
    if np.isnan(distances).any() or (distances == -np.inf).any():
        raise ValueError("distances must not hold NaN or -inf.")
    check_consistent_length(relevant, distances)
    if relevant.shape != distances.shape:
        raise ValueError(
            f"relevant and distances must have one shape, got {relevant.shape} and "
            f"{distances.shape}."
        )
    relevant = relevant.astype(bool) & (distances < np.inf)
    order = np.argsort(distances, axis=1, kind="stable")
    hits, n_relevant = np.take_along_axis(relevant, order, axis=1), relevant.sum(axis=1)
    used = n_relevant > 0
    check_queries(used, "relevant", warns=True)
    check_most(k, hits.shape[1])
    return first_ranks(n_relevant[used], hits[used], k)
