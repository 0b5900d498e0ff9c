"""What dimensions say about trials, and how alike they make objects."""

import numpy as np

from skscreen._compiled import concepts as _loops
from skscreen.concepts.problem.objective import LARGEST_SIMILARITY
from skscreen.core.memory import check_memory
from skscreen.core.threads import one_blas_thread

# The pairs that are chosen among, by columns of a trial. Of trials of the odd one out the pair k is
# that without column k.
OPTIONS = {
    "oddoneout": ((1, 2), (0, 2), (0, 1)),
    "triplets": ((0, 1), (0, 2)),
    "quadruplets": ((0, 1), (2, 3)),
}
# Which of them was kept, in rows of answers.
KEPT = {"oddoneout": 2, "triplets": 0, "quadruplets": 0}


def similarities(X: np.ndarray, rows: np.ndarray, kind: str) -> np.ndarray:
    """Return x_i . x_j of the pairs that each trial chooses among."""
    found = np.empty((len(OPTIONS[kind]), len(rows)))
    for pair, out in zip(OPTIONS[kind], found, strict=True):
        _loops.pair_similarities(X, np.ascontiguousarray(rows[:, pair], dtype=np.int32), out)
    return found.T


def probabilities(s: np.ndarray) -> np.ndarray:
    """Return the softmax of each row."""
    powers = np.exp(s - s.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def is_right(s: np.ndarray, kind: str) -> np.ndarray:
    """Whether the kept pair is the most similar one of each trial; ties are wrong."""
    others = np.delete(s, KEPT[kind], axis=1)
    return s[:, KEPT[kind]] > others.max(axis=1)


def log_kept(s: np.ndarray, kind: str) -> np.ndarray:
    """Return log p of the kept pair of each trial."""
    high = s.max(axis=1)
    return s[:, KEPT[kind]] - high - np.log(np.exp(s - high[:, None]).sum(axis=1))


def kept_over_thirds(X: np.ndarray) -> np.ndarray:
    """Return for each pair of objects how often it is kept, in the mean over all third objects."""
    n = len(X)
    check_memory(24.0 * n**2, f"Similarities of {n:,} objects", "Use fewer objects.")
    with one_blas_thread():
        powers = X @ X.T
    np.exp(np.minimum(powers, LARGEST_SIMILARITY, out=powers), out=powers)
    found = np.zeros_like(powers)
    for first in range(n):
        # Row by row, so that an interrupt need not wait for all.
        _loops.sum_over_thirds(powers, first, found)
    found /= max(n - 2, 1)
    found += found.T
    np.fill_diagonal(found, 1.0)
    return found
