"""Starts for many one-vs-rest problems, from sweeps over all of them at once."""

import numpy as np
from scipy import sparse

from skscreen.core.memory import check_memory
from skscreen.svm.solvers.linear.class_sweeps import LANES, sweep

# Smallest relative gap that single precision can reach, and the share of the tolerance to reach.
_LEAST, _SHARE = 2e-7, 0.5

# The number of sweeps is estimated after `_FIRST` sweeps, from the rate of the `_LAST` ones. If it
# is above `_MOST`, solving the problems one by one is faster.
_FIRST, _LAST, _MOST = 8, 4, 40

# Largest entries whose sums and squares single precision can hold.
_LARGEST = 1e6


def start_together(
    X: sparse.csr_array,
    bias: float,
    norms: np.ndarray,
    classes: np.ndarray,
    shifts: np.ndarray,
    tol: float,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return dual variables near the solutions of one-vs-rest problems with squared hinges.

    Parameters
    ----------
    X : CSR array or matrix of shape (n, d)
    bias : float
        Value of the feature that carries the penalised intercept, 0 for none.
    norms : ndarray of shape (n,)
        Of the rows with this feature.
    classes : ndarray of shape (n,)
        0 to k - 1.
    shifts : ndarray of shape (n,)
        Of the losses, 1 / (2 C_i).
    tol : float
        Relative duality gap that is asked for, by estimates in single precision.
    seed : int, default=0
        Of the order of visits.

    Returns
    -------
    alphas : ndarray of shape (k, n)
    n_sweeps : ndarray of shape (k,)
        None for both where single precision cannot hold the numbers.

    Raises
    ------
    MemoryError
        If they do not fit into memory.
    """
    k, n = int(classes.max()) + 1, classes.size
    sizes = np.array([norms.max(), shifts.max(), 1.0 / shifts.min(), abs(bias)])
    if not sizes.max() < _LARGEST:
        return None
    check_memory(16.0 * k * n, f"Dual variables of {k:,} problems on {n:,} samples", "Use fewer.")
    out, n_sweeps = np.empty((k, n)), np.empty(k, np.int64)
    terms = shifts.astype(np.float32), (1.0 / (norms**2 + shifts)).astype(np.float32)
    rows = X.data.astype(np.float32), X.indices.view(_unsigned(X.indices)), X.indptr
    parts = -(-k // LANES)
    for part in np.array_split(np.arange(k), parts):
        random = np.random.default_rng(seed)
        alpha, n_sweeps[part] = _sweeps(
            rows, X.shape[1], bias, classes - part[0], part.size, terms, tol, random
        )
        out[part] = alpha[:, : part.size].T
    return out, n_sweeps


def _unsigned(indices: np.ndarray):
    return np.uint32 if indices.dtype.itemsize == 4 else np.uint64


def _sweeps(rows, d, bias, own, size, terms, tol, random) -> tuple[np.ndarray, int]:
    """Return the dual variables of some of the problems, (n, LANES), and the number of sweeps."""
    n, target, bias = own.size, _SHARE * max(tol, _LEAST), np.float32(bias)
    alpha, gaps = np.zeros((n, LANES), np.float32), np.empty(LANES)
    weights = np.zeros((d + 1) * LANES, np.float32)
    active, rest, history = np.arange(n), np.float32(np.inf), []
    for n_sweeps in range(1, _MOST + 1):
        everyone, order = active.size == n, random.permutation(active)
        kept, largest = sweep(
            *rows, bias, own, size, *terms, alpha, weights, order, rest, gaps
        )  # fmt: skip
        history.append(float(np.max(gaps[:size] / _primal(alpha, weights, terms[0], size))))
        if history[-1] <= target:
            if everyone:
                break
            # Resting variables have to be checked once more.
            active, rest = np.arange(n), np.float32(np.inf)
            continue
        if n_sweeps >= _FIRST and n_sweeps + _left(history, target) > _MOST:
            break
        active, rest = order[:kept], np.float32(largest)
    return alpha, n_sweeps


def _primal(alpha, weights, shifts, size) -> np.ndarray:
    """Return estimates of the primal values; near the solutions losses are alpha^2 shift / 2."""
    weights = weights.reshape(-1, LANES)[:, :size]
    squares = np.einsum("ij,ij->j", weights, weights, dtype=np.float64)
    losses = np.einsum("ij,ij,i->j", alpha[:, :size], alpha[:, :size], shifts, dtype=np.float64)
    return np.maximum(0.5 * (squares + losses), 1e-300)


def _left(history: list[float], target: float) -> float:
    """Return how many sweeps are left at the rate of the last ones."""
    rate = np.log(history[-1 - _LAST] / history[-1]) / _LAST
    return np.log(history[-1] / target) / rate if rate > 0.0 else np.inf
