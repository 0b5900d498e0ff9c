"""Starts for many one-vs-rest problems, from sweeps over all of them at once."""

import numpy as np
from scipy import sparse

from skscreen._compiled import svm as loops
from skscreen.core.memory import check_memory

# Problems that are solved at once.
LANES = loops.CLASS_LANES

# Sweeps over which the rate is measured, and the largest number of sweeps: with more, solving the
# problems one by one is faster.
_LAST, _MOST = 4, 40


def start_together(
    X: sparse.csr_array,
    bias: float,
    norms: np.ndarray,
    classes: np.ndarray,
    shifts: np.ndarray,
    tol: float,
    few: bool = False,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return dual variables (k, n) near the one-vs-rest optima, and sweeps (k,), or None.

    Rows (n, d) are `norms` (n,) long with the intercept's feature `bias`, `classes` (n,) 0 to
    k - 1, `shifts` (n,) = 1 / (2 C_i); None where single precision cannot hold the numbers.
    """
    k, n = int(classes.max()) + 1, classes.size
    sizes = np.array([norms.max(), shifts.max(), 1.0 / shifts.min(), abs(bias)])
    # Sums and squares of larger entries leave single precision.
    if not sizes.max() < 1e6:
        return None
    check_memory(16.0 * k * n, f"Dual variables of {k:,} problems on {n:,} samples", "Use fewer.")
    out, n_sweeps = np.empty((k, n)), np.empty(k, np.int64)
    terms = shifts.astype(np.float32), (1.0 / (norms**2 + shifts)).astype(np.float32)
    rows = X.data.astype(np.float32), _by_frequency(X), X.indptr
    # Where Newton's method solves the problems a rough start is enough.
    parts, most = -(-k // LANES), 5 if few else _MOST
    for part in np.array_split(np.arange(k), parts):
        random = np.random.default_rng(seed)
        alpha, n_sweeps[part] = _sweeps(
            rows, X.shape[1], bias, classes - part[0], part.size, terms, tol, most, random
        )
        out[part] = alpha[:, : part.size].T
    return out, n_sweeps


def _by_frequency(X: sparse.csr_array) -> np.ndarray:
    """Return the columns of entries, renumbered: weights of frequent ones are neighbours."""
    places = np.empty(X.shape[1], np.uint32 if X.indices.dtype.itemsize == 4 else np.uint64)
    counts = np.bincount(X.indices, minlength=X.shape[1])
    places[np.argsort(-counts, kind="stable")] = np.arange(X.shape[1])
    return places[X.indices]


def _sweeps(rows, d, bias, own, size, terms, tol, most, random) -> tuple[np.ndarray, int]:
    """Return the dual variables of some of the problems, (n, LANES), and the number of sweeps."""
    # Single precision reaches no smaller gap than 2e-7.
    n, target, bias = own.size, 0.5 * max(tol, 2e-7), np.float32(bias)
    alpha, weights = _aligned(n * LANES).reshape(n, LANES), _aligned((d + 1) * LANES)
    gaps, sums = np.empty(LANES), np.empty(LANES)
    active, rest, history = np.arange(n), np.float32(np.inf), []
    for n_sweeps in range(1, most + 1):
        everyone, order = active.size == n, random.permutation(active)
        kept, largest = loops.class_sweep(
            (*rows, bias), (own, size, *terms), (alpha, weights, gaps, sums), order, rest
        )  # fmt: skip
        # At the solution the objective is half the sum of the dual variables.
        history.append(float(np.max(gaps[:size] / np.maximum(0.5 * sums[:size], 1e-300))))
        if history[-1] <= target:
            if everyone:
                break
            # Resting variables have to be checked once more.
            active, rest = np.arange(n), np.float32(np.inf)
            continue
        if n_sweeps >= 2 * _LAST and n_sweeps + _left(history, target) > most:
            break
        active, rest = order[:kept], np.float32(largest)
    return alpha, n_sweeps


def _aligned(size: int) -> np.ndarray:
    """Return zeros whose first is at the start of a cache line, of 16 numbers."""
    flat = np.zeros(size + 16, np.float32)
    first = -flat.ctypes.data % 64 // 4
    return flat[first : first + size]


def _left(history: list[float], target: float) -> float:
    """Return how many sweeps are left at the rate of the last ones."""
    rate = np.log(history[-1 - _LAST] / history[-1]) / _LAST
    return np.log(history[-1] / target) / rate if rate > 0.0 else np.inf
