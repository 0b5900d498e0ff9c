"""Block-coordinate Frank-Wolfe for max-margin chains, with a cache of labellings.

    P(w) = lam/2 |w|^2 + sum_c s_c max_y [loss_c(y) - w . (f(x_c, y_c) - f(x_c, y))],
    D(alpha) = sum_c s_c sum_y alpha_c(y) loss_c(y) - lam/2 |w(alpha)|^2,
    w(alpha) = 1/lam sum_c s_c sum_y alpha_c(y) (f(x_c, y_c) - f(x_c, y)),

alpha_c on the simplex of all labellings of chain c; w is kept equal to w(alpha). A sweep visits all
chains; after one that searches for new labellings come some among the cached ones, which cost less.
A visit moves the shares of a chain until they nearly maximise the dual among its cached labellings:
a quadratic programme over a simplex, whose matrix has the products of f(x, y_c) - f(x, y).

References
----------
S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher (2013). Block-coordinate Frank-Wolfe
optimization for structural SVMs. ICML.
A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien (2016). Minding the gaps for
block Frank-Wolfe optimization of structured SVMs. ICML. Caches and the correction of all shares.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from skscreen._compiled import sequence
from skscreen.core.checks import is_sparse
from skscreen.core.memory import check_memory
from skscreen.pragam.iterates import Iterate
from skscreen.sequence.chains import Chains
from skscreen.sequence.data import starts_of


class ChainArrays(NamedTuple):
    """The chains as compiled loops read them: see `Chains`."""

    rows: Any
    starts: np.ndarray
    codes: np.ndarray
    shares: np.ndarray
    losses: np.ndarray
    scales: np.ndarray
    lam: float


class Cache(NamedTuple):
    """Labellings of chain c: slots slot[c] to slot[c] + count[c] - 1 of room[c].

    `labels` holds them one after the other from label[c] on, `gram` a square of side room[c] from
    square[c] on. `full` tells where one more was wanted.
    """

    room: np.ndarray
    count: np.ndarray  # type: ignore[assignment]
    slot: np.ndarray
    label: np.ndarray
    square: np.ndarray
    labels: np.ndarray
    alpha: np.ndarray
    loss: np.ndarray
    gram: np.ndarray
    full: np.ndarray


sweep = sequence.sweep
"""(task, cache, W, E, order, gaps, search) -> None; sets the gaps (n_chains,) found on the way.

Visits the chains in an order (int64), and changes the cache, E (m, m) and W, which is (m, d) for
dense rows and (d, m) for sparse ones. With `search` each visit looks for the labelling of largest
loss + score; without, the gaps are those among cached labellings. They are times the chains'
shares.
"""

mixture = sequence.mixture
"""(task, cache, nodes, edges) -> expected loss; adds what true minus expected labels, steps weigh.

Shares are brought to sum one, which rounding errors may have moved.
"""

copy_cache = sequence.copy_cache
"""(old, new, lengths) -> None; fills a cache that has more room, for chains of these lengths."""


def frank_wolfe(chains: Chains, tol: float, seed: int, most: float = np.inf) -> Iterator[Iterate]:
    """Yield iterates with the gap of the full problem; iteration numbers count searches."""
    # Far from the relative gap `tol` the gap is computed now and then only, and after `most`
    # iterations.
    rng = np.random.default_rng(seed)
    rows = sequence.rows(*chains.sequences.rows, chains.X.shape[1])
    task = ChainArrays(
        rows, chains.starts, chains.codes, chains.shares, chains.losses, chains.scales, chains.lam
    )
    n, lengths = chains.shares.size, np.diff(chains.starts)
    # Places for labellings of a chain, twice as many if all labellings have shares.
    cache = _new_cache(np.full(n, 8), lengths)
    cache.labels[_firsts(cache, lengths)] = chains.codes
    cache.count[:], cache.alpha[cache.slot[:-1]] = 1, 1.0
    iterate = _certify(chains, task, cache, 0)
    yield iterate
    W, E = _tables(chains, iterate.w)
    k, below, gaps = 0, iterate.dual, np.zeros(n)
    while True:
        k += 1
        sweep(task, cache, W, E, rng.permutation(n), gaps, True)
        found = gaps.sum()
        # The exact gap, if the one met on the way is near the tolerance; else every few sweeps.
        if found <= 2.0 * tol * (below + found) or k % 8 == 0 or k < 8 or k == most:
            iterate = _certify(chains, task, cache, k)
            below = iterate.dual
            yield iterate
            W, E = _tables(chains, iterate.w)
        if cache.full.any():
            cache = _grown(cache, lengths)
        # Among cached labellings, without the chains of small gaps, until the gap is well below
        # that of the search, or for ten visits of each chain.
        visits = 0
        while gaps.sum() > 0.3 * found and visits < 10 * n:
            order = rng.permutation(np.flatnonzero(gaps >= 0.3 * gaps.mean()))
            sweep(task, cache, W, E, order, gaps, False)
            visits += order.size


def _tables(chains: Chains, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return copies of W, as compiled loops read it, and of E."""
    W, E = chains.tables(w)
    return (W if is_sparse(chains.X) else W.T).copy(), E.copy()


def _certify(chains: Chains, task: ChainArrays, cache: Cache, k: int) -> Iterate:
    """Recompute w from the shares, against rounding errors; return both bounds."""
    nodes, edges = np.zeros((chains.codes.size, chains.n_labels)), np.zeros((chains.n_labels,) * 2)
    expected = mixture(task, cache, nodes, edges)
    w = chains.combine(nodes, edges) / chains.lam
    penalty = 0.5 * chains.lam * float(w @ w)
    return Iterate(k, w, 0.0, penalty + chains.risk(w), expected - penalty)


def _new_cache(room: np.ndarray, lengths: np.ndarray) -> Cache:
    slot, label, square = starts_of(room), starts_of(room * lengths), starts_of(room * room)
    check_memory(
        8.0 * square[-1] + 4.0 * label[-1],
        f"{int(slot[-1]):,} cached labellings of {lengths.size:,} sequences",
        "Use a larger tol, or solver='pragam', which keeps none.",
    )
    return Cache(
        room.astype(np.int64), np.zeros(room.size, np.int64), slot, label, square,
        np.zeros(label[-1], np.int32), np.zeros(slot[-1]), np.zeros(slot[-1]),
        np.zeros(square[-1]), np.zeros(room.size, np.bool_),
    )  # fmt: skip


def _firsts(cache: Cache, lengths: np.ndarray) -> np.ndarray:
    """Return where the first labellings of all chains are in `cache.labels`."""
    return np.repeat(cache.label[:-1] - starts_of(lengths)[:-1], lengths) + np.arange(lengths.sum())


def _grown(cache: Cache, lengths: np.ndarray) -> Cache:
    new = _new_cache(np.where(cache.full, 2 * cache.room, cache.room), lengths)
    copy_cache(cache, new, lengths)
    return new
