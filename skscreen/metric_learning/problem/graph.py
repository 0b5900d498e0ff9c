"""Triplets from a graph of neighbours that was made elsewhere."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from skscreen.core.checks import check_samples
from skscreen.metric_learning.problem.items import Items
from skscreen.metric_learning.problem.triplets import anchored, check_pairs


def read_graph(neighbors: sparse.csr_array | BaseEstimator, X: np.ndarray) -> sparse.csr_array:
    """Return a graph (n, n) whose row i holds distances to neighbours of i, given or made."""
    graph = neighbors if sparse.issparse(neighbors) else clone(neighbors).fit_transform(X)
    if not sparse.issparse(graph) or graph.shape != (len(X), len(X)):
        got = f"shape {graph.shape}" if sparse.issparse(graph) else type(graph).__name__
        raise ValueError(
            "neighbors must be, or make, a sparse matrix of the distances to the neighbours of "
            f"each sample, of shape ({len(X)}, {len(X)}), got {got}."
        )
    # A conversion may add up what is stored for the same place.
    stored = graph.nnz
    graph = sparse.csr_array(check_samples(graph, "neighbors", accept_sparse="csr"))
    if graph.data.min(initial=0) < 0:
        raise ValueError("neighbors must hold distances, none below 0.")
    once = graph.copy()
    once.sum_duplicates()
    if once.nnz < stored:
        raise ValueError("neighbors must have one entry for a neighbour, got the same place twice.")
    return graph


def triplets_from_graph(
    graph: sparse.csr_array, y: np.ndarray, order: np.ndarray, n_neighbors: int | None,
    bytes_per_triplet: int = 0,
) -> Items:  # fmt: skip
    """Build triplets of neighbours in a graph, of the samples `order` (m,) of classes y (n,)."""
    values = graph.data
    if n_neighbors is not None and values.size and np.all(values == values[0]):
        # A search leaves the nearest first, conversions order neighbours by their numbers.
        if graph.has_sorted_indices and np.diff(graph.indptr).max() > n_neighbors:
            raise ValueError(
                f"neighbors must hold distances, but all are {values[0]}, and {n_neighbors} "
                "nearest ones cannot be told: make the graph with mode='distance', or use "
                "n_neighbors=None."
            )
    # Triplets name samples by their places in `order`.
    rows, columns = _edges(graph, order)
    codes = y[order]
    alike = codes[rows] == codes[columns]
    near, n_near = _first(rows, np.flatnonzero(alike), n_neighbors, order.size)
    far, n_far = _first(rows, np.flatnonzero(~alike), n_neighbors, order.size)
    anchors = (n_near > 0) & (n_far > 0)
    if not anchors.any():
        raise ValueError(
            "neighbors must contain, for some sample, neighbours of its own class and of others; "
            "use more neighbours for each sample."
        )
    n_near, n_far = n_near[anchors], n_far[anchors]
    check_pairs(int((n_near + n_far).sum()), int(n_near @ n_far), bytes_per_triplet)
    near, far = (
        np.stack((rows[kept], columns[kept]), axis=1)
        for kept in (chosen[anchors[rows[chosen]]] for chosen in (near, far))
    )
    return anchored(near, far, n_near, n_far)


def _edges(graph: sparse.csr_array, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return anchor and neighbour of edges between some samples, by anchor, nearest first."""
    places = np.full(graph.shape[0], -1, dtype=np.int32)
    places[order] = np.arange(order.size)
    rows = np.repeat(places, np.diff(graph.indptr))
    columns = places[graph.indices]
    used = np.flatnonzero((rows != columns) & (rows >= 0) & (columns >= 0))
    used = used[np.lexsort((graph.data[used], rows[used]))]
    return rows[used], columns[used]


def _first(
    rows: np.ndarray, chosen: np.ndarray, most: int | None, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first few of the chosen edges of each row, and how many they are."""
    counts = np.bincount(rows[chosen], minlength=n)
    if most is not None:
        before = np.repeat(np.cumsum(counts) - counts, counts)
        chosen = chosen[np.arange(chosen.size) - before < most]
        counts = np.minimum(counts, most)
    return chosen, counts
