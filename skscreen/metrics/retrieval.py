"""Measures of retrieval: how near to each query its relevant items are."""

from collections.abc import Iterable, Iterator, Set
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_array, check_consistent_length, check_scalar, column_or_1d

from skscreen.core.floats import EPS
from skscreen.core.inputs import are_distances, is_missing, label_array, refuse_masked
from skscreen.fitting.warning import warn_user

# For some queries the number of relevant items, and a row of ranks each, the nearest item first:
# whether the item is relevant.
Ranked = tuple[np.ndarray, np.ndarray]


def precision_at_k(
    queries: Any, targets: Any, k: int | Literal["r"], *, gallery: Any = None, junk: Any = None
) -> float:
    """Return the share of relevant items among the k nearest, averaged over queries.

    Parameters
    ----------
    queries : array-like of shape (n_queries, n_components), or (n_queries, n_items), bool
        Embedded samples, or which items are relevant to each query.
    targets : array-like of shape (n_queries,), or (n_queries, n_items)
        Labels of the embedded samples; or the distances from each query to each item. An item at
        distance inf is not ranked: neither found nor missed. Items at equal distance keep their
        order.
    k : int or "r"
        From 1 to the number of items; "r" is R, the number of items relevant to the query: then
        this is the R-precision.
    gallery : tuple (Z, labels) or None, default=None
        Embedded samples, of shape (n_items, n_components), and their labels: the items. None: each
        query is compared with all others. Ignored with a matrix of distances.
    junk : label, list of labels or None, default=None
        Embedded samples with these labels are no queries and are not ranked, as the images without
        an identity in the data sets of re-identification. Ignored with a matrix of distances.

    Returns
    -------
    float
        Queries without a relevant item do not count; a warning says how many, where there is a
        gallery or a matrix.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument. Also if no query counts.

    Notes
    -----
    Distances of embedded samples are Euclidean, and computed in blocks: O(n_queries n_items
    n_components) operations, not memory.

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
    by_r = isinstance(k, str) and k == "r"
    if not by_r:
        if isinstance(k, str):
            raise ValueError(f"k must be an int, or 'r' for the R-precision, got {k!r}.")
        check_scalar(k, "k", Integral)
    ranked = _rankings(queries, targets, k, gallery, junk)
    return _mean(hits.sum(axis=1) / (n if by_r else k) for n, hits in ranked)


def recall_at_k(
    queries: Any, targets: Any, k: int, *, gallery: Any = None, junk: Any = None
) -> float:
    """Return the share of the relevant items that is among the k nearest, averaged over queries.

    See `cmc_at_k` for the share of queries with at least one hit, which is called Recall@k in deep
    metric learning.

    Parameters
    ----------
    queries, targets, gallery, junk
        As in `precision_at_k`.
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
    check_scalar(k, "k", Integral)
    ranked = _rankings(queries, targets, k, gallery, junk)
    return _mean(hits.sum(axis=1) / n for n, hits in ranked)


def cmc_at_k(queries: Any, targets: Any, k: int, *, gallery: Any = None, junk: Any = None) -> float:
    """Return the share of queries with a relevant item among their k nearest.

    This is the cumulative match characteristic of re-identification and face recognition at rank k,
    and the Recall@k of deep metric learning, where a single hit is enough. See `recall_at_k` for
    the share of relevant items that are found.

    Parameters
    ----------
    queries, targets, gallery, junk
        As in `precision_at_k`.
    k : int
        From 1 to the number of items.

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
    check_scalar(k, "k", Integral)
    ranked = _rankings(queries, targets, k, gallery, junk)
    return _mean(np.asarray(hits.any(axis=1)) for _, hits in ranked)


def mean_average_precision(
    queries: Any, targets: Any, *, k: int | Literal["r"] | None = None, gallery: Any = None,
    junk: Any = None,
) -> float:  # fmt: skip
    """Return the mean over queries of the average precision of their rankings.

    The average precision of a query is the mean, over its relevant items, of the share of relevant
    items up to that rank.

    Parameters
    ----------
    queries, targets, gallery, junk
        As in `precision_at_k`.
    k : int, "r" or None, default=None
        Ranks that count; the sum over the relevant items there is divided by min(k, R), with R the
        number of relevant items. None: all. "r" is R, and the result MAP@R: like the R-precision,
        but with more weight on early hits.

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
    whole = k is None or (isinstance(k, str) and k == "r")
    most = np.inf if whole else check_scalar(k, "k", Integral)
    averages = []
    for n, hits in _rankings(queries, targets, k, gallery, junk):
        # The share of hits up to each rank that is a hit, 0 at others.
        precisions = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1) * hits
        averages.append(precisions.sum(axis=1) / np.minimum(n, most))
    return _mean(averages)


def _mean(each: Iterable[np.ndarray]) -> float:
    return float(np.mean(np.concatenate(list(each))))


def _rankings(queries, targets, k, gallery, junk) -> Iterator[Ranked]:
    """Yield the first k ranks of the queries in blocks; all if k is None, each its R if "r"."""
    shape, of_queries = np.shape(targets), np.shape(queries)
    # A column of labels is no matrix of distances, unless there is one item.
    if len(shape) != 2 or (shape[1] == 1 and of_queries != shape):
        yield from _of_samples(queries, targets, k, gallery, junk)
        return
    n_relevant, hits = _of_matrices(queries, targets)
    used = n_relevant > 0
    _check_queries(used, "queries, the matrix of relevant items,", warns=True)
    yield _cut(n_relevant[used], hits[used], _check_k(k, hits.shape[1]))


def _cut(n_relevant: np.ndarray, hits: np.ndarray, k) -> Ranked:
    """Return the first k ranks; with "r" those beyond R are no hits."""
    if k == "r":
        hits = hits[:, : n_relevant.max()]
        return n_relevant, hits & (np.arange(hits.shape[1]) < n_relevant[:, None])
    return n_relevant, hits[:, :k]


def _check_k(k: Any, n_items: int) -> Any:
    if isinstance(k, Integral) and not 1 <= int(k) <= n_items:
        raise ValueError(f"k must be from 1 to {n_items}, the number of items, got {k}.")
    return k


def _check_queries(used: np.ndarray, name: str, warns: bool) -> None:
    """Refuse queries of which none has a relevant item; tell how many have none."""
    if not used.any():
        raise ValueError(f"{name} must have a relevant item for a query, got none for any.")
    if warns and not used.all():
        warn_user(
            f"{np.count_nonzero(~used)} of {used.size} queries, the first of them {used.argmin()}, "
            "have no relevant item and do not count."
        )


def _of_matrices(relevant, distances) -> Ranked:
    """Return numbers of relevant items (n,) and ranked relevance (n, n_items)."""
    _refuse_missing(relevant, "queries, which items are relevant,")
    _refuse_missing(distances, "targets, the distances,")
    _check_labels_of_frames(relevant, distances)
    relevant = check_array(relevant, dtype=None, input_name="queries")
    if relevant.dtype.kind not in "biuf":
        raise ValueError(
            "queries must hold booleans or numbers, which items are relevant, as targets is a "
            f"matrix of distances; got dtype {relevant.dtype}."
        )
    if np.any(relevant != np.rint(relevant)):
        raise ValueError(
            "queries must say which items are relevant, as targets is a matrix; got fractions. If "
            "they are the distances, pass them as targets, and as queries what is relevant."
        )
    if np.any(relevant < 0):
        raise ValueError(
            "queries must say which items are relevant, as targets is a matrix; got numbers below "
            "0. If -1 is an item that is not relevant, pass queries > 0."
        )
    if np.asarray(distances).dtype == bool:
        raise ValueError(
            "targets must hold distances, as queries is a matrix; got booleans. If they say which "
            "items are relevant, pass them as queries, and the distances as targets."
        )
    distances = check_array(
        distances, dtype=np.float64, ensure_all_finite=False, input_name="targets"
    )
    if np.isnan(distances).any() or (distances == -np.inf).any():
        raise ValueError(
            "targets, the distances, must not hold NaN or -inf; an item that is not to be ranked "
            "has distance inf."
        )
    check_consistent_length(relevant, distances)
    if relevant.shape != distances.shape:
        raise ValueError(
            "queries and targets must have the same shape, as which items are relevant and "
            f"distances, got {relevant.shape} and {distances.shape}."
        )
    n, m = distances.shape
    # Of fewer items each may by chance be the farthest from itself.
    if 8 <= n == m and relevant.diagonal().all() and np.isfinite(distances).all():
        others = np.where(np.eye(n, dtype=bool), -np.inf, distances).max(axis=1)
        if np.all(distances.diagonal() > others):
            raise ValueError(
                "targets must hold distances, but each query is farthest from itself: of "
                "similarities pass the negative."
            )
    if are_distances(distances) and relevant.diagonal().all():
        warn_user(
            "targets, the distances of samples to each other, has each query among its own items, "
            "and counts it as found: pass inf on the diagonal, np.fill_diagonal(targets, np.inf)."
        )
    relevant = relevant.astype(bool) & (distances < np.inf)
    order = np.argsort(distances, axis=1, kind="stable")
    return relevant.sum(axis=1), np.take_along_axis(relevant, order, axis=1)


def _check_labels_of_frames(relevant, distances) -> None:
    """Refuse frames of the same queries or items in another order."""
    for axis in ("index", "columns"):
        if not all(hasattr(frame, "loc") for frame in (relevant, distances)):
            return
        first, second = (list(getattr(frame, axis)) for frame in (relevant, distances))
        if first != second and len(first) == len(second) and set(first) == set(second):
            raise ValueError(
                f"queries and targets are frames of the same {axis} in another order: pass "
                "targets.loc[queries.index, queries.columns]."
            )


def _of_samples(queries, labels, k, gallery, junk) -> Iterator[Ranked]:
    """Yield ranks of the samples of a gallery, or of all other samples, in blocks of queries."""
    Z, labels = _embedded(queries, labels, "queries", "targets")
    items, others = Z, labels
    if gallery is not None:
        if not isinstance(gallery, tuple | list) or len(gallery) != 2:
            raise ValueError("gallery must be a tuple (Z, labels) of embedded samples.")
        items, others = _embedded(gallery[0], gallery[1], "gallery", "labels of the gallery")
        if items.shape[1] != Z.shape[1]:
            raise ValueError(
                f"gallery must have {Z.shape[1]} components, as queries, got {items.shape[1]}."
            )
        columns, given = (list(map(str, getattr(F, "columns", ()))) for F in (queries, gallery[0]))
        if columns != given and sorted(columns) == sorted(given):
            raise ValueError(
                "gallery must have its columns in the order of those of queries, "
                f"{columns}: pass gallery[queries.columns]."
            )
        if np.array_equal(Z, items):
            raise ValueError(
                "gallery holds the queries themselves, and each is nearest to itself: leave "
                "gallery out to compare each sample with all others."
            )
    both = np.concatenate((labels, others))
    try:
        if any(isinstance(label, Set) for label in both.tolist()):
            raise TypeError("Sets have no order.")
        names, codes = np.unique(both, return_inverse=True)
    except TypeError as error:
        raise TypeError("targets, the labels, must be uniformly strings or numbers.") from error
    junk_labels = _junk_labels(junk)
    kinds = [labels.dtype.kind for labels in (junk_labels, names)]
    if junk_labels.size and "O" not in kinds and len({kind in "UT" for kind in kinds}) > 1:
        raise TypeError(f"junk must be labels of the kind of those in targets, got {junk!r}.")
    dropped = np.isin(names, junk_labels)[codes]
    own, ranked = ~dropped[: len(Z)], np.flatnonzero(~dropped[len(Z) :])
    codes, items_codes = codes[: len(Z)], codes[len(Z) :][ranked]
    sizes = np.bincount(items_codes, minlength=names.size)
    n_relevant = sizes[codes] - (gallery is None)
    used = own & (n_relevant > 0)
    _check_queries(used[own], "targets, the labels,", warns=gallery is not None)
    k = _check_k(k, ranked.size - (gallery is None))
    Z, items = _in_range(Z, items[ranked])
    # Sorted by R, so that the rows of a block have about the same length.
    rows = np.flatnonzero(used)
    rows = rows[np.argsort(n_relevant[rows], kind="stable")]
    are_items = gallery is not None
    # The place of each query among the items, at which it is not its own neighbour.
    places = np.searchsorted(ranked, rows) if gallery is None else None
    step = queries_at_once(len(items))
    for first in range(0, rows.size, step):
        some = rows[first : first + step]
        themselves = None if places is None else places[first : first + step]
        n = n_relevant[some]
        last = n.max() if k == "r" else k or len(items) - (gallery is None)
        near = _nearest(Z[some], items, themselves, int(last))
        hits = items_codes[near] == codes[some][:, None]
        are_items = are_items and hits[:, 0].all() and np.array_equal(items[near[:, 0]], Z[some])
        yield _cut(n, hits, k)
    if are_items:
        warn_user(
            "gallery has an item equal to each of the queries, which counts as found: leave the "
            "queries out of gallery."
        )


def queries_at_once(n_items: int) -> int:
    """Return how many queries are ranked together, with a few arrays of 4 million distances."""
    return max(1, 2**22 // n_items)


def _embedded(Z, labels, name: str, labels_name: str) -> tuple[np.ndarray, np.ndarray]:
    """Check embedded samples (n, d) and labels (n,)."""
    _refuse_missing(Z, name)
    Z = check_array(Z, dtype=np.float64, input_name=name)
    if are_distances(Z):
        raise ValueError(
            f"{name} must be embedded samples, but looks like a matrix of distances. Pass these as "
            "targets, with inf on the diagonal, and as queries the matrix labels[:, None] == "
            "labels. If they are features, add 1 to all samples."
        )
    refuse_masked(labels, labels_name)
    labels = column_or_1d(label_array(labels), warn=True)
    check_consistent_length(Z, labels)
    _refuse_missing(labels, labels_name)
    return Z, labels


def _junk_labels(junk) -> np.ndarray:
    """Return the labels of samples that are no queries and are not ranked."""
    try:
        # Sets and other iterables would be a single label.
        junk = list(junk) if isinstance(junk, Iterable) and not isinstance(junk, str) else junk
        labels = np.atleast_1d(label_array([] if junk is None else junk))
    except ValueError:
        labels = np.empty((0, 0))
    if labels.ndim != 1:
        raise ValueError(f"junk must be a label or a list of labels, got {junk!r}.")
    _refuse_missing(labels, "junk")
    return labels


def _refuse_missing(values, name: str) -> None:
    """Refuse NaN, NaT, None, pandas.NA and masks in labels, and in objects for numbers."""
    refuse_masked(values, name)
    try:
        values = np.asarray(values)
    except ValueError:
        return  # Lists of unequal lengths: `check_array` says so.
    if values.dtype.kind == "O":
        missing = any(map(is_missing, values.ravel()))
    else:
        missing = values.ndim == 1 and values.dtype.kind in "fmM" and bool(np.isnan(values).any())
    if missing:
        raise ValueError(f"{name} must not hold NaN or other missing values.")


def _in_range(Z: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bring samples to where squares do not overflow; equal differences of integers stay equal."""
    power = -np.frexp(max(np.abs(Z).max(), np.abs(items).max()))[1]
    Z, items = np.ldexp(Z, power), np.ldexp(items, power)
    centre = np.median(items, axis=0)
    return Z - centre, items - centre


def _nearest(Z, items, own, k: int) -> np.ndarray:
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
