"""Starts for many one-vs-rest problems, from sweeps over all of them at once."""

import numpy as np
from scipy import sparse

from skscreen._compiled import svm as loops
from skscreen.core.memory import check_memory

# Problems that are solved at once.
LANES = loops.CLASS_LANES

# Smallest relative gap that single precision can reach, and the share of the tolerance to reach.
_LEAST, _SHARE = 2e-7, 0.5

# The number of sweeps is estimated after `_FIRST` sweeps, from the rate of the `_LAST` ones. If it
# is above `_MOST`, solving the problems one by one is faster.
_FIRST, _LAST, _MOST = 8, 4, 40

# Number of sweeps for a rough start.
_FEW = 5

# Numbers in a cache line.
_LINE = 16

# Tiny objective that avoids division by zero.
_TINY = 1e-300

# Largest entries whose sums and squares single precision can hold.
_LARGEST = 1e6


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
    if not sizes.max() < _LARGEST:
        return None
    check_memory(16.0 * k * n, f"Dual variables of {k:,} problems on {n:,} samples", "Use fewer.")
    out, n_sweeps = np.empty((k, n)), np.empty(k, np.int64)
    terms = shifts.astype(np.float32), (1.0 / (norms**2 + shifts)).astype(np.float32)
    rows = X.data.astype(np.float32), _by_frequency(X), X.indptr
    parts, most = -(-k // LANES), _FEW if few else _MOST
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
    n, target, bias = own.size, _SHARE * max(tol, _LEAST), np.float32(bias)
    alpha, weights = _aligned(n * LANES).reshape(n, LANES), _aligned((d + 1) * LANES)
    gaps, sums = np.empty(LANES), np.empty(LANES)
    active, rest, history = np.arange(n), np.float32(np.inf), []
    for n_sweeps in range(1, most + 1):
        everyone, order = active.size == n, random.permutation(active)
        kept, largest = loops.class_sweep(
            *rows, bias, own, size, *terms, alpha, weights, order, rest, gaps, sums
        )  # fmt: skip
        # At the solution the objective is half the sum of the dual variables.
        history.append(float(np.max(gaps[:size] / np.maximum(0.5 * sums[:size], _TINY))))
        if history[-1] <= target:
            if everyone:
                break
            # Resting variables have to be checked once more.
            active, rest = np.arange(n), np.float32(np.inf)
            continue
        if n_sweeps >= _FIRST and n_sweeps + _left(history, target) > most:
            break
        active, rest = order[:kept], np.float32(largest)
    return alpha, n_sweeps


def _aligned(size: int) -> np.ndarray:
    """Return zeros whose first is at the start of a cache line."""
    flat = np.zeros(size + _LINE, np.float32)
    first = -flat.ctypes.data % (4 * _LINE) // 4
    return flat[first : first + size]


def _left(history: list[float], target: float) -> float:
    """Return how many sweeps are left at the rate of the last ones."""
    rate = np.log(history[-1 - _LAST] / history[-1]) / _LAST
    return np.log(history[-1] / target) / rate if rate > 0.0 else np.inf
