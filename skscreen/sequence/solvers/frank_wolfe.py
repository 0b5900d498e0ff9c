"""Block-coordinate Frank-Wolfe for max-margin chains, with a cache of labellings.

    P(w) = lam/2 |w|^2 + sum_c s_c max_y [loss_c(y) - w . (f(x_c, y_c) - f(x_c, y))],
    D(alpha) = sum_c s_c sum_y alpha_c(y) loss_c(y) - lam/2 |w(alpha)|^2,
    w(alpha) = 1/lam sum_c s_c sum_y alpha_c(y) (f(x_c, y_c) - f(x_c, y)),

alpha_c on the simplex of all labellings of chain c; w is kept equal to w(alpha). A sweep visits all
chains; after one that searches for new labellings come some among the cached ones, which cost less.

References
----------
S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher (2013). Block-coordinate Frank-Wolfe
optimization for structural SVMs. ICML.
A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien (2016). Minding the gaps for
block Frank-Wolfe optimization of structured SVMs. ICML. Caches and the correction of all shares.
"""

from collections.abc import Iterator

import numpy as np

from skscreen.core.memory import check_memory
from skscreen.pragam.follow import Iterate
from skscreen.sequence.chains import Chains
from skscreen.sequence.data import starts_of
from skscreen.sequence.solvers.frank_wolfe_loops import Cache, Task, copy_cache, mixture, sweep

# First number of places for labellings of a chain; it doubles if all labellings have shares.
_ROOM = 8
# Cached sweeps follow until their gap is below this share of that of the search; largest number of
# sweeps.
_LOCAL, _MOST_LOCAL = 0.3, 10
# The exact gap is computed if the gap met on the way is within this factor of the tolerance, and
# otherwise after this number of sweeps.
_NEAR, _EVERY = 2.0, 8


def frank_wolfe(chains: Chains, tol: float, seed, most: float = np.inf) -> Iterator[Iterate]:
    """Yield iterates with the gap of the full problem; iteration numbers count searches.

    Far from the relative gap `tol` the gap is computed now and then only, and after `most`
    iterations. `seed` gives the order of visits.
    """
    rng = np.random.default_rng(seed)
    task = Task(chains.sequences.rows, chains.first, chains.codes, chains.shares, chains.losses,
                chains.scales, chains.lam)  # fmt: skip
    n, lengths = chains.shares.size, np.diff(chains.first)
    cache = _new_cache(np.full(n, _ROOM), lengths)
    cache.labels[_firsts(cache, lengths)] = chains.codes
    cache.count[:], cache.alpha[cache.slot[:-1]] = 1, 1.0
    w = np.zeros(chains.n_weights)
    iterate = _certify(chains, task, cache, w, 0)
    yield iterate
    k, below = 0, iterate.dual
    while True:
        k += 1
        W, E = chains.tables(w)
        found = sweep(task, cache, W, E, rng.permutation(n), True)
        if found <= _NEAR * tol * (below + found) or k % _EVERY == 0 or k < _EVERY or k == most:
            iterate = _certify(chains, task, cache, w, k)
            below = iterate.dual
            yield iterate
        if cache.full.any():
            cache = _grown(cache, lengths)
        for _ in range(_MOST_LOCAL):
            if sweep(task, cache, W, E, rng.permutation(n), False) <= _LOCAL * found:
                break


def _certify(chains: Chains, task: Task, cache: Cache, w: np.ndarray, k: int) -> Iterate:
    """Recompute w from the shares, against rounding errors; return both bounds."""
    nodes, edges = np.zeros((chains.codes.size, chains.n_labels)), np.zeros((chains.n_labels,) * 2)
    expected = mixture(task, cache, nodes, edges)
    np.divide(chains.combine(nodes, edges), chains.lam, out=w)
    penalty = 0.5 * chains.lam * float(w @ w)
    return Iterate(k, w.copy(), 0.0, penalty + chains.risk(w), expected - penalty)


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
