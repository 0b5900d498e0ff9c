"""A metric for a million simulated embeddings of 20,000 identities, from a neighbour graph.

    python -m benchmarks.metric_learning.identities [--samples 1000000] [--features 128]
                                                    [--identities 20000] [--neighbors 10]

Made embeddings in single precision: an identity has a place in the first half of the directions,
its samples differ from it everywhere, most in the other half. The graph has the
nearest of each sample among those in its leaf of some random trees; it is not in the seconds of the
fit, as a user brings it. Recall@1 is that of identities that were not learned
from, whose samples are searched exactly. Seconds of the clock on the wall, all cores.
"""

import argparse
import resource
import time

import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import euclidean_distances

from benchmarks.support.environment import environment
from skscreen import ScreenedRTLM
from skscreen.metrics import cmc_at_k

# Trees, samples in a leaf, and neighbours in the graph for each one that the metric takes.
_TREES, _LEAF, _MORE = 3, 1000, 4


def main() -> None:
    """Make the embeddings and their graph, fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--identities", type=int, default=20_000)
    parser.add_argument("--neighbors", type=int, default=10)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    X, y = embeddings(args.samples, args.features, args.identities, rng)
    unseen, answers = embeddings(20_000, args.features, 400, rng)
    started = time.perf_counter()
    graph = neighbors_of(X, _MORE * args.neighbors, rng)
    found = time.perf_counter() - started
    model = ScreenedRTLM(n_neighbors=args.neighbors, neighbors=graph)
    started, work = time.perf_counter(), time.process_time()
    model.fit(X, y)
    seconds, work = time.perf_counter() - started, time.process_time() - work
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(environment())
    print(f"{X.shape[0]:,} x {X.shape[1]}, {args.identities:,} identities, {X.dtype}")
    print(f"graph of {_MORE * args.neighbors} neighbours (not counted below): {found:.0f} s")
    print(f"{model.n_triplets_:,} triplets of {args.neighbors} near and far neighbours")
    print(f"fit: {seconds:.0f} s ({work:.0f} CPU s), most memory in use {memory:.1f} GiB")
    print(f"relative duality gap {model.dual_gap_:.1e}, rank {len(model.components_)}")
    for name, Z in (("Euclidean", unseen), ("learned", model.transform(unseen))):
        recall = cmc_at_k(Z, answers, 1)
        print(f"Recall@1 of 400 identities not learned from, {name}: {recall:.3f}")


def embeddings(n: int, d: int, n_identities: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of length about one and whose they are."""
    places = np.zeros((n_identities, d), dtype=np.float32)
    places[:, : d // 2] = rng.standard_normal((n_identities, d // 2), dtype=np.float32)
    y = rng.permutation(np.arange(n) % n_identities)
    spread = np.linspace(0.8, 1.8, d, dtype=np.float32)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X *= spread
    X += places[y]
    X /= np.sqrt(np.float32(d))
    return X, y


def neighbors_of(X: np.ndarray, k: int, rng) -> csr_array:
    """Return a graph of the distances to the k nearest that share a leaf in one of the trees."""
    n = len(X)
    columns, distances = np.zeros((n, 0), dtype=np.int32), np.zeros((n, 0), dtype=np.float32)
    for _ in range(_TREES):
        found, theirs = np.empty((n, k), dtype=np.int32), np.empty((n, k), dtype=np.float32)
        for leaf in _leaves(X, np.arange(n, dtype=np.int32), rng):
            squares = euclidean_distances(X[leaf], squared=True)
            np.fill_diagonal(squares, np.inf)
            nearest = np.argpartition(squares, k - 1, axis=1)[:, :k]
            found[leaf] = leaf[nearest]
            theirs[leaf] = np.take_along_axis(squares, nearest, axis=1)
        columns, distances = _nearest(columns, distances, found, theirs, k)
    graph = csr_array((np.sqrt(distances).ravel(), columns.ravel(), np.arange(0, n * k + 1, k)))
    graph.resize((n, n))
    return graph


def _leaves(X: np.ndarray, rows: np.ndarray, rng) -> list[np.ndarray]:
    """Split samples at the median along the line through two of them, until leaves are small."""
    if len(rows) <= _LEAF:
        return [rows]
    one, other = X[rng.choice(rows, 2, replace=False)]
    order = np.argpartition(X[rows] @ (one - other), len(rows) // 2)
    halves = np.split(rows[order], [len(rows) // 2])
    return [leaf for half in halves for leaf in _leaves(X, half, rng)]


def _nearest(columns, distances, more, theirs, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest of two lists of each sample, none of them twice."""
    for start in range(0, len(more), 10_000):
        part = slice(start, start + 10_000)
        both = np.hstack((columns[part], more[part]))
        values = np.hstack((distances[part], theirs[part]))
        order = np.argsort(both, axis=1, kind="stable")
        both, values = (np.take_along_axis(A, order, axis=1) for A in (both, values))
        values[:, 1:][both[:, 1:] == both[:, :-1]] = np.inf
        order = np.argpartition(values, k - 1, axis=1)[:, :k]
        more[part], theirs[part] = (np.take_along_axis(A, order, axis=1) for A in (both, values))
    return more, theirs


if __name__ == "__main__":
    main()
