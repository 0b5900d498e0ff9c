"""Compiled passes of the semismooth Newton method over a working set."""

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


@njit(cache=True, nogil=True)
def clipped_dual(short, centre, caps, delta, out, inside):
    """Proximal dual variables clip(a + short / delta_i, 0, cap); mark those in the interior.

    Returns the number of changed marks.
    """
    changes = 0
    for i in range(out.size):
        t = centre[i] + short[i] / delta[i]
        free = 0.0 < t < caps[i]
        changes += free != inside[i]
        inside[i] = free
        out[i] = min(max(t, 0.0), caps[i])
    return changes


@njit(cache=True, nogil=True)
def slope_of_loss(short, change, step, centre, caps, delta):
    """Return sum_i t_i(m + step dm) dm_i, minus the slope of the smoothed losses."""
    total = 0.0
    for i in range(short.size):
        t = centre[i] + (short[i] - step * change[i]) / delta[i]
        total += min(max(t, 0.0), caps[i]) * change[i]
    return total


@njit(cache=True, nogil=True)
def square_block(Q, index, out):
    """Write Q[index, index] to out."""
    for k in range(index.size):
        row = Q[index[k]]
        for j in range(index.size):
            out[k, j] = row[index[j]]


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
