"""Measures of retrieval by embedded samples with labels; see `relevance` for matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from skscreen.core.checks import as_labels, check_labels, check_samples
from skscreen.core.floats import EPS
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


def precision_at_k(
    Z: ArrayLike, labels: ArrayLike, k: int | Literal["r"], *,
    gallery: tuple[ArrayLike, ArrayLike] | None = None, junk: ArrayLike | None = None,
) -> float:  # fmt: skip
    """Return the share of relevant samples among the k nearest, averaged over queries.

    Each sample is a query, and the others are ranked by their Euclidean distances to it; those with
    its label are relevant. With a `gallery` its samples are ranked instead. See `precision_at_k_of`
    for a matrix of distances.

    Parameters
    ----------
    Z : array-like of shape (n_samples, n_components)
        Embedded samples.
    labels : array-like of shape (n_samples,)
        Their labels.
    k : int or "r"
        From 1 to the number of ranked samples; "r" is R, the number of those relevant to the query:
        then this is the R-precision.
    gallery : tuple (Z, labels) or None, default=None
        Samples to rank, of shape (n_items, n_components), and their labels. None: each query is
        compared with all other samples.
    junk : label, list of labels or None, default=None
        Samples with these labels are no queries and are not ranked, as the images without an
        identity in the data sets of re-identification.

    Returns
    -------
    float
        Queries without a relevant sample do not count; a warning says how many, where there is a
        gallery.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument. Also if no query counts.

    Notes
    -----
    Samples at equal distance keep their order. Distances are computed in blocks: O(n_samples
    n_items n_components) operations, not memory.

    References
    ----------
    K. Musgrave, S. Belongie, S.-N. Lim (2020). A metric learning reality check. ECCV 2020,
    section 3.2: R-precision.

    Examples
    --------
    >>> from skscreen.metrics import precision_at_k
    >>> precision_at_k([[0.0], [1.0], [1.4], [5.0]], ["a", "a", "b", "b"], k=1)
    0.5
    """
    check_k(k, "r")
    return precision(_rankings(Z, labels, k, gallery, junk), k)


def recall_at_k(
    Z: ArrayLike, labels: ArrayLike, k: int, *, gallery: tuple[ArrayLike, ArrayLike] | None = None,
    junk: ArrayLike | None = None,
) -> float:  # fmt: skip
    """Return the share of the relevant samples that is among the k nearest, averaged over queries.

    See `cmc_at_k` for the share of queries with at least one hit, which is called Recall@k in deep
    metric learning, and `recall_at_k_of` for a matrix of distances.

    Parameters
    ----------
    Z, labels, gallery, junk
        As in `precision_at_k`.
    k : int
        From 1 to the number of ranked samples.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    check_k(k)
    return recall(_rankings(Z, labels, k, gallery, junk))


def cmc_at_k(
    Z: ArrayLike, labels: ArrayLike, k: int, *, gallery: tuple[ArrayLike, ArrayLike] | None = None,
    junk: ArrayLike | None = None,
) -> float:  # fmt: skip
    """Return the share of queries with a relevant sample among their k nearest.

    This is the cumulative match characteristic of re-identification and face recognition at rank k,
    and the Recall@k of deep metric learning, where a single hit is enough. See `recall_at_k` for
    the share of relevant samples that are found, and `cmc_at_k_of` for a matrix of distances.

    Parameters
    ----------
    Z, labels, gallery, junk
        As in `precision_at_k`.
    k : int
        From 1 to the number of ranked samples.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.

    References
    ----------
    K. Musgrave, S. Belongie, S.-N. Lim (2020). A metric learning reality check. ECCV 2020,
    section 2.

    Examples
    --------
    >>> from skscreen.metrics import cmc_at_k
    >>> gallery = [[1.0], [1.4], [5.0]], ["a", "b", "b"]
    >>> cmc_at_k([[0.0], [4.0]], ["b", "b"], 1, gallery=gallery)
    0.5
    """
    check_k(k)
    return any_hit(_rankings(Z, labels, k, gallery, junk))


def mean_average_precision(
    Z: ArrayLike, labels: ArrayLike, *, k: Ranks = None,
    gallery: tuple[ArrayLike, ArrayLike] | None = None, junk: ArrayLike | None = None,
) -> float:  # fmt: skip
    """Return the mean over queries of the average precision of their rankings.

    The average precision of a query is the mean, over its relevant samples, of the share of
    relevant samples up to that rank. See `mean_average_precision_of` for a matrix of distances.

    Parameters
    ----------
    Z, labels, gallery, junk
        As in `precision_at_k`.
    k : int, "r" or None, default=None
        Ranks that count; the sum over the relevant samples there is divided by min(k, R), with R
        the number of relevant samples. None: all. "r" is R, and the result MAP@R: like the
        R-precision, but with more weight on early hits.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.

    References
    ----------
    K. Musgrave, S. Belongie, S.-N. Lim (2020). A metric learning reality check. ECCV 2020,
    equations 7 and 8: MAP@R.
    """
    check_k(k, "r", None)
    return average_precision(_rankings(Z, labels, k, gallery, junk), k)


def _rankings(
    Z: ArrayLike, labels: ArrayLike, k: Ranks, gallery: tuple[ArrayLike, ArrayLike] | None,
    junk: ArrayLike | None,
) -> Iterator[Ranked]:  # fmt: skip
    """Yield the first k ranks of queries in blocks; all if k is None, each its R if "r"."""
    Z, labels = _embedded(Z, labels, "Z", "labels")
    items, others = Z, labels
    if gallery is not None:
        if not isinstance(gallery, tuple | list) or len(gallery) != 2:
            raise ValueError("gallery must be a tuple (Z, labels) of embedded samples.")
        points, names = gallery
        items, others = _embedded(points, names, "gallery", "labels of the gallery")
        if items.shape[1] != Z.shape[1]:
            raise ValueError(
                f"gallery must have {Z.shape[1]} components, as Z has, got {items.shape[1]}."
            )
    dropped = _junk_labels(junk)
    _check_kinds(labels, others, "labels of the gallery")
    _check_kinds(labels, dropped, "junk")
    names, codes = np.unique(np.concatenate((labels, others)), return_inverse=True)
    left_out = np.isin(names, dropped)[codes]
    own, ranked = ~left_out[: len(Z)], np.flatnonzero(~left_out[len(Z) :])
    codes, items_codes = codes[: len(Z)], codes[len(Z) :][ranked]
    sizes = np.bincount(items_codes, minlength=names.size)
    n_relevant = sizes[codes] - (gallery is None)
    used = own & (n_relevant > 0)
    check_queries(used[own], "labels", warns=gallery is not None)
    check_most(k, ranked.size - (gallery is None))
    Z, items = _in_range(Z, items[ranked])
    # Sorted by R, so that the rows of a block have about the same length.
    rows = np.flatnonzero(used)
    rows = rows[np.argsort(n_relevant[rows], kind="stable")]
    # The place of each query among the items, at which it is not its own neighbour.
    places = np.searchsorted(ranked, rows) if gallery is None else None
    step = queries_at_once(len(items))
    for first in range(0, rows.size, step):
        some = rows[first : first + step]
        themselves = None if places is None else places[first : first + step]
        n = n_relevant[some]
        last = n.max() if k == "r" else k or len(items) - (gallery is None)
        near = _nearest(Z[some], items, themselves, int(last))
        yield first_ranks(n, items_codes[near] == codes[some][:, None], k)


def queries_at_once(n_items: int) -> int:
    """Return how many queries are ranked together, with a few arrays of 4 million distances."""
    return max(1, 2**22 // n_items)


def _embedded(
    Z: ArrayLike, labels: ArrayLike, name: str, labels_name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Check embedded samples (n, d) and labels (n,)."""
    Z, labels = check_samples(Z, name, dtype=np.float64), check_labels(labels, labels_name)
    check_consistent_length(Z, labels)
    return Z, labels


def _junk_labels(junk: Any) -> np.ndarray:
    """Return the labels of samples that are no queries and are not ranked."""
    several = isinstance(junk, Iterable) and not isinstance(junk, str)
    return as_labels([] if junk is None else list(junk) if several else [junk], "junk")


def _check_kinds(labels: np.ndarray, others: np.ndarray, name: str) -> None:
    """Refuse strings beside numbers, of which NumPy makes strings."""
    strings = [part.dtype.kind in "UOT" for part in (labels, others)]
    if others.size and strings[0] != strings[1]:
        raise TypeError(f"{name} must be of the kind of labels, strings or numbers.")


def _in_range(Z: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bring samples to where squares do not overflow; equal differences of integers stay equal."""
    power = -np.frexp(max(np.abs(Z).max(), np.abs(items).max()))[1]
    Z, items = np.ldexp(Z, power), np.ldexp(items, power)
    centre = np.median(items, axis=0)
    return Z - centre, items - centre


def _nearest(Z: np.ndarray, items: np.ndarray, own: np.ndarray | None, k: int) -> np.ndarray:
    """Places of the k items nearest to each query (n, k), in order; `own`: those of the queries."""
    # Distances by products decide which items may be among them, within twice their rounding
    # errors; the order is that of distances from differences, which keep their digits where groups
    # lie far apart and are equal for equal samples.
    lengths, squares = (np.einsum("ij,ij->i", X, X) for X in (Z, items))
    errors = (Z.shape[1] + 4) * EPS * (np.sqrt(lengths) + np.sqrt(squares.max())) ** 2
    # Squared distances minus the squared norm of the query.
    distances = squares - 2.0 * (Z @ items.T)
    if own is not None:
        distances[np.arange(len(Z)), own] = np.inf
    near = np.empty((len(Z), k), np.intp)
    bounds = np.partition(distances, k - 1, axis=1)[:, k - 1] + 2.0 * errors
    for i, row in enumerate(Z):
        candidates = np.flatnonzero(distances[i] <= bounds[i])
        exact = ((items[candidates] - row) ** 2).sum(axis=1)
        near[i] = candidates[np.argsort(exact, kind="stable")[:k]]
    return near
