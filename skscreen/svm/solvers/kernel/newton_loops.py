"""Compiled passes of Newton's method over a working set."""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.floats import REORDER_FINITE


@njit(cache=True, nogil=True)
def newton_system(Q, index, delta, out):
    """Write the lower triangle of Q[index, index] + diag(delta[index]) to out, row by row."""
    for k in range(index.size):
        row = Q[index[k]]
        for j in range(k):
            out[k, j] = row[index[j]]
        out[k, k] = row[index[k]] + delta[index[k]]


@njit(cache=True, nogil=True, fastmath=REORDER_FINITE)
def products_of_rows(Q, index, x):
    """Return Q[index, : x.size] x, added up in double precision."""
    out = np.empty(index.size)
    for k in range(index.size):
        row, total = Q[index[k]], 0.0
        for j in range(x.size):
            total += row[j] * x[j]
        out[k] = total
    return out
