"""Measures of rankings: how near to each query its relevant items are."""

from collections.abc import Iterable
from numbers import Integral
from typing import Literal, TypeAlias

import numpy as np
from sklearn.utils import check_scalar

from skscreen.fitting.warning import warn_user

# For some queries the number of relevant items (n,), and whether each item of a ranking, the
# nearest first, is relevant, (n, n_ranks).
Ranked = tuple[np.ndarray, np.ndarray]

# A number of ranks; "r", as many as are relevant; or None, all.
Ranks: TypeAlias = int | Literal["r"] | None


def precision(ranked: Iterable[Ranked], k: int | Literal["r"]) -> float:
    """Return the mean share of the first k ranks that is relevant; of R ranks if k is "r"."""
    return _mean(hits.sum(axis=1) / (n if k == "r" else k) for n, hits in ranked)


def recall(ranked: Iterable[Ranked]) -> float:
    """Return the mean share of the relevant items that is ranked."""
    return _mean(hits.sum(axis=1) / n for n, hits in ranked)


def any_hit(ranked: Iterable[Ranked]) -> float:
    """Return the share of queries with a relevant item."""
    return _mean(np.asarray(hits.any(axis=1)) for _, hits in ranked)


def average_precision(ranked: Iterable[Ranked], k: Ranks) -> float:
    """Return the mean over queries of the average precision of their first k ranks."""
    most = np.inf if k is None or k == "r" else k
    averages = []
    for n, hits in ranked:
        # The share of hits up to each rank that is a hit, 0 at others.
        precisions = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1) * hits
        averages.append(precisions.sum(axis=1) / np.minimum(n, most))
    return _mean(averages)


def _mean(each: Iterable[np.ndarray]) -> float:
    return float(np.mean(np.concatenate(list(each))))


def check_k(k: Ranks, *others: str | None) -> None:
    """Refuse what is no number of ranks, nor one of some `others`."""
    if isinstance(k, str) and k not in others:
        raise ValueError(f"k must be a number of ranks, or one of {others}, got {k!r}.")
    if not isinstance(k, str) and not (k is None and None in others):
        check_scalar(k, "k", Integral)


def check_most(k: Ranks, n_items: int) -> None:
    """Refuse a number of ranks that is not from 1 to that of items."""
    if isinstance(k, Integral) and not 1 <= int(k) <= n_items:
        raise ValueError(f"k must be from 1 to {n_items}, the number of items, got {k}.")


def first_ranks(n_relevant: np.ndarray, hits: np.ndarray, k: Ranks) -> Ranked:
    """Return the first k ranks; with "r" those beyond R are no hits."""
    if k == "r":
        hits = hits[:, : n_relevant.max()]
        return n_relevant, hits & (np.arange(hits.shape[1]) < n_relevant[:, None])
    return n_relevant, hits[:, :k]


def check_queries(used: np.ndarray, name: str, warns: bool) -> None:
    """Refuse queries of which none has a relevant item; tell how many have none."""
    if not used.any():
        raise ValueError(f"{name} must have a relevant item for a query, got none for any.")
    if warns and not used.all():
        warn_user(
            f"{np.count_nonzero(~used)} of {used.size} queries, the first of them {used.argmin()}, "
            "have no relevant item and do not count."
        )
