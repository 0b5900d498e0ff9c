"""Compiled sweeps of block-coordinate Frank-Wolfe with a cache of labellings for each chain.

The dual variables of a chain are shares alpha of a few labellings, those it has met. A visit to the
chain finds the labelling of largest loss + score, adds it to the cache, and moves the shares until
they nearly maximise the dual among the cached labellings: a quadratic programme over a simplex,
whose matrix has the products of f(x, y_c) - f(x, y) between cached labellings.
"""

from typing import NamedTuple

import numpy as np

from skscreen._compiled import sequence


class Task(NamedTuple):
    """The chains: see `Chains`."""

    rows: tuple
    first: np.ndarray
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
