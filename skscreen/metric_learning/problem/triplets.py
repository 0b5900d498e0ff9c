"""Which pairs are compared: from class labels, or from explicit comparisons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.neighbors import KDTree, NearestNeighbors

from skscreen.core.memory import check_memory
from skscreen.metric_learning.problem.items import Items

# Bytes per pair during a path (indices, distances, intervals); measured with all triplets.
_BYTES_PER_PAIR = 280


def locality_order(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Order samples by class, and in it along the direction of the largest variance, O(n d)."""
    # Then neighbours are close in memory, which makes passes over pairs faster.
    direction = X[np.einsum("ij,ij->i", X, X).argmax()]
    # Two steps of the power method.
    for _ in range(2):
        direction = (X @ direction) @ X
        direction /= np.abs(direction).max(initial=0.0) or 1.0
    return np.lexsort((X @ direction, y))


def triplets_from_labels(
    X: np.ndarray, y: np.ndarray, n_neighbors: int | None, n_jobs: int | None = None,
    bytes_per_triplet: int = 0, keep: Callable[[Callable], np.ndarray] | None = None,
    anchors: np.ndarray | None = None,
) -> Items:  # fmt: skip
    """Build the triplets (i, j, k) with j among the nearest of the class of i, k of others."""
    # `y` (n,) are codes 0, 1, ...; a class with one member has no anchor. `keep` gets the search,
    # and returns its result or one kept from before; with `anchors` (m,) no others have triplets.
    n = len(X)
    sizes = np.unique(y, return_counts=True)[1]
    most = n if n_neighbors is None else n_neighbors
    n_near, n_far = np.minimum(most, sizes - 1), np.minimum(most, n - sizes)
    # Anchors of each class.
    counts = sizes if anchors is None else np.bincount(y[anchors], minlength=sizes.size)
    counts = np.where(sizes > 1, counts, 0)
    n_pairs, n_triplets = np.sum(counts * (n_near + n_far)), np.sum(counts * n_near * n_far)
    check_pairs(int(n_pairs), int(n_triplets), bytes_per_triplet)

    def search() -> np.ndarray:
        near, far = [], []
        members = np.split(np.argsort(y, kind="stable"), np.cumsum(sizes)[:-1])
        found = _nearest_others(X, y, members, n_far, n_jobs) if anchors is None else {}
        for code in np.flatnonzero(counts).tolist():
            own, k = members[code], int(n_far[code])
            of = own if anchors is None else anchors[y[anchors] == code]
            near.append(_nearest_of_own(X, own, of, int(n_near[code]), n_jobs))
            if code not in found:
                others = np.flatnonzero(y != code)
                found[code] = _pairs(of, others[_search(X[others], X[of], k, n_jobs)])
            far.append(found[code])
        return np.concatenate([np.empty((0, 2), dtype=np.int32), *near, *far])

    pairs = search() if keep is None else keep(search)
    if pairs.shape != (n_pairs, 2):
        pairs = search()
    n_rows = np.sum(counts * n_near)
    # Anchors in the order of their classes.
    return anchored(
        pairs[:n_rows], pairs[n_rows:], np.repeat(n_near, counts), np.repeat(n_far, counts)
    )


def check_pairs(n_pairs: int, n_triplets: int, bytes_per_triplet: int) -> None:
    """Refuse pairs that would not fit into the memory that is free; see `triplets_from_labels`."""
    what = f"{n_triplets:,} triplets on {n_pairs:,} pairs"
    needed = _BYTES_PER_PAIR * n_pairs + bytes_per_triplet * n_triplets
    check_memory(needed, what, "Use a smaller n_neighbors.")


def anchored(near: np.ndarray, far: np.ndarray, n_near: np.ndarray, n_far: np.ndarray) -> Items:
    """Compare near (R, 2) with far pairs (S, 2) of their anchors, which have so many each."""
    blocks = np.concatenate(([0], np.cumsum(n_far)))
    anchor_of_row = np.repeat(np.arange(n_near.size), n_near)
    start, stop = blocks[anchor_of_row], blocks[anchor_of_row + 1]
    base = np.cumsum(stop - start) - (stop - start)
    return Items(near, far, None, blocks, start, stop, base, _positions(n_far))


def comparisons_from_arrays(
    near: np.ndarray, far: np.ndarray, thresholds: np.ndarray | None = None,
    weights: np.ndarray | None = None, against_all: bool = False, bytes_per_comparison: int = 0,
) -> Items:  # fmt: skip
    """Build items of near with far pairs, (m, 2) each, or of each near pair with all far ones."""
    # Columns of a frame, and those that are cut out of wider arrays, are not in C order.
    near, far = np.ascontiguousarray(near), np.ascontiguousarray(far)
    if against_all:
        k, m = len(near), len(far)
        what = f"{k * m:,} comparisons of {k + m:,} pairs"
        needed = _BYTES_PER_PAIR * (k + m) + bytes_per_comparison * k * m
        check_memory(needed, what, "Use fewer of them.")
        return anchored(near.astype(np.int32), far.astype(np.int32), np.array([k]), np.array([m]))
    # Those of the same near pair, threshold and weight make one, with far places of its own. Item
    # numbers follow the order given.
    what = f"{len(near):,} comparisons"
    # Measured bytes while they are sorted and during a path.
    check_memory(250 * len(near), what, "Use fewer of them.")
    extra = [values for values in (thresholds, weights) if values is not None]
    keys = [near[:, 0], near[:, 1], *extra]
    order = np.lexsort((far[:, 1], far[:, 0], *keys[::-1]))
    changes = np.zeros(order.size - 1, dtype=bool)
    for key in keys:
        changes |= np.diff(key[order]) != 0
    first = np.flatnonzero(np.concatenate(([True], changes)))
    blocks = np.concatenate((first, [order.size]))
    pairs, places = np.unique(far[order], axis=0, return_inverse=True)
    first_ones = order[first]
    return Items(
        near[first_ones].astype(np.int32), pairs.astype(np.int32), places.ravel().astype(np.int32),
        blocks, blocks[:-1].copy(), blocks[1:].copy(), np.zeros(first.size, dtype=np.int64), order,
        None if thresholds is None else thresholds[first_ones],
        None if weights is None else weights[first_ones],
    )  # fmt: skip


def differences(X: np.ndarray, items: Items) -> tuple[np.ndarray, Items]:
    """Return the origin and the differences of all pairs, and items as pairs of these points."""
    # A metric sees no more of a pair. With fewer pairs than samples these are fewer points.
    n_near, n_pairs = len(items.near), len(items.near) + len(items.far)
    points = np.zeros((n_pairs + 1, X.shape[1]))
    np.subtract(X[items.near[:, 0]], X[items.near[:, 1]], out=points[1 : n_near + 1])
    np.subtract(X[items.far[:, 0]], X[items.far[:, 1]], out=points[n_near + 1 :])
    pairs = np.zeros((n_pairs, 2), dtype=np.int32)
    pairs[:, 1] = np.arange(1, n_pairs + 1)
    return points, replace(items, near=pairs[:n_near], far=pairs[n_near:])


def _nearest_others(
    X: np.ndarray, y: np.ndarray, members: list[np.ndarray], n_far: np.ndarray, n_jobs: int | None
) -> dict[int, np.ndarray]:
    """Pairs with the nearest samples of other classes, for the small ones of many classes."""
    # The k + m nearest samples of an anchor hold k of other classes if m are of its own.
    sizes = np.array([len(own) for own in members])
    small = np.flatnonzero((sizes > 1) & (sizes < 50))
    # Of few classes each gets an index of all others.
    if sizes.size < 100 or not small.size:
        return {}
    found: dict[int, np.ndarray] = {}
    search = NearestNeighbors(n_jobs=n_jobs).fit(X)
    # Classes of similar size together: from 2 to 3, from 4 to 7, and so on.
    levels = np.frexp(sizes[small])[1]
    for level in np.unique(levels):
        codes = small[levels == level]
        of, k = np.concatenate([members[code] for code in codes]), n_far[codes]
        n_asked = min(int(k.max() + sizes[codes].max()), len(X))
        near = search.kneighbors(X[of], n_asked, return_distance=False)
        other, wanted = y[near] != y[of][:, None], np.repeat(k, sizes[codes])
        other &= np.cumsum(other, axis=1) <= wanted[:, None]
        pairs = np.stack((np.repeat(of, wanted), near[other]), axis=1).astype(np.int32)
        ends = np.cumsum(k * sizes[codes])[:-1]
        found |= dict(zip(codes.tolist(), np.split(pairs, ends), strict=True))
    return found


def _nearest_of_own(
    X: np.ndarray, own: np.ndarray, anchors: np.ndarray, k: int, n_jobs: int | None
) -> np.ndarray:
    """Pairs with the k nearest of a class, to which the anchors belong, but not themselves."""
    found = own[_search(X[own], X[anchors], k + 1, n_jobs)]
    # Without the sample itself, or without the first one among identical samples, as in
    # scikit-learn.
    others = found != anchors[:, None]
    others[others.all(axis=1), 0] = False
    return _pairs(anchors, found[others].reshape(-1, k))


def _pairs(anchors: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    """Pairs (anchor, neighbour), int32, of neighbours (m, k)."""
    repeated = np.repeat(anchors, neighbours.shape[1])
    return np.stack((repeated, neighbours.ravel()), axis=1).astype(np.int32)


def _search(X: np.ndarray, points: np.ndarray, k: int, n_jobs: int | None) -> np.ndarray:
    """Return the k nearest rows of X to each point, (m, k), nearest first."""
    # The tree that scikit-learn's estimator would take, whose checks take longer than it.
    if len(X) <= 500 and X.shape[1] <= 15 and k <= len(X) // 2:
        return KDTree(X, leaf_size=30).query(points, k, return_distance=False)
    search = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(X)
    return search.kneighbors(points, return_distance=False)


def _positions(sizes: np.ndarray) -> np.ndarray:
    """0, 1, ... within each of consecutive blocks."""
    ends = np.cumsum(sizes)
    return (np.arange(sizes.sum()) - np.repeat(ends - sizes, sizes)).astype(np.int32)
