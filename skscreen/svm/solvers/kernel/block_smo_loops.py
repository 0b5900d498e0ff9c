"""Sequential minimal optimisation on a known kernel matrix of some samples.

In terms of beta_i = y_i alpha_i the labels vanish: with g_i = y_i t_i - f_i (t_i the threshold of
the loss, f_i the score without intercept) the dual is

    max  sum_i y_i t_i beta_i - 1/2 beta' (K + diag(s)) beta,   low_i <= beta_i <= high_i,

and g, less s_i beta_i, its gradient. K is in single precision, sums are in double. A step is a
few passes over one or two rows of K, written so that they vectorise: no branches, and choices as
places of the largest entries of arrays, whose length is a multiple of `LANES`.

References
----------
R.-E. Fan, P.-H. Chen, C.-J. Lin. Working set selection using second order information for
training support vector machines. JMLR 6, 2005.
I. Steinwart, D. Hush, C. Scovel. Training SVMs without offset. JMLR 12, 2011.
"""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.floats import REORDER_FINITE

# Number of lanes in which maxima are taken; arrays are padded with samples that cannot move.
LANES = 128

# Number of steps between two checks of the largest violation.
_LOOK = 16

# Least curvature of a pair, relative to the diagonal, because of rounding in single precision.
_LEAST = np.float32(1e-7)
_NONE, _ZERO = np.float32(-np.inf), np.float32(0.0)


@njit(cache=True, nogil=True)
def pairs_with_offset(K, diagonal, low, high, beta, g, eps, steps):
    """Move pairs that keep the sum of beta until no two slopes differ by more than eps.

    Parameters
    ----------
    K : float32 ndarray of shape (m, n)
        m <= n: columns from m on are padding.
    diagonal : float32 ndarray of shape (n,)
        K_ii + s_i.
    low, high, beta, g : ndarray of shape (n,)
        beta and the gradient g are changed.
    eps : float
    steps : int
        Most steps.

    Returns
    -------
    int
        Steps taken.
    """
    n = beta.size
    up, down = np.empty(n, np.float32), np.empty(n, np.float32)
    values, lanes = np.empty(n, np.float32), np.empty(LANES, np.float32)
    for k in range(n):
        _mark(k, beta, low, high, up, down)
    _rising(g, up, values)
    for step in range(steps):
        i = _largest(values, lanes)
        if up[i] < _ZERO:
            return step
        if step % _LOOK == 0:
            _falling(g, down, values)
            if g[i] - g[_largest(values, lanes)] <= eps:
                return step
        _pair_gains(K[i], g, down, diagonal, np.float32(g[i]), diagonal[i], values)
        j = _largest(values, lanes)
        if down[j] < _ZERO or g[i] <= g[j]:
            return step
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * K[i, j], _LEAST * diagonal[i])
        room_i, room_j = high[i] - beta[i], beta[j] - low[j]
        move = min((g[i] - g[j]) / curvature, room_i, room_j)
        beta[i] = high[i] if move == room_i else beta[i] + move
        beta[j] = low[j] if move == room_j else beta[j] - move
        _mark(i, beta, low, high, up, down)
        _mark(j, beta, low, high, up, down)
        # The part of the diagonal that is not from the kernel.
        g[i] -= move * (diagonal[i] - K[i, i])
        g[j] += move * (diagonal[j] - K[j, j])
        _move(g, K[i], K[j], move, -move)
        _rising(g, up, values)
    return steps


@njit(cache=True, nogil=True)
def pairs_without_offset(K, diagonal, low, high, beta, g, eps, steps):
    """Move single samples or pairs, free of an equality, until none gains with a slope above eps.

    The first of a pair has the largest gain on its own, the second one the largest gain together
    with it. See `pairs_with_offset`.
    """
    n = beta.size
    values, lanes = np.empty(n, np.float32), np.empty(LANES, np.float32)
    for step in range(steps):
        _single_gains(g, diagonal, low, high, beta, values)
        i = _largest(values, lanes)
        change = _clipped(beta[i] + g[i] / diagonal[i], low[i], high[i]) - beta[i]
        if change == 0.0:
            return step
        if step % _LOOK == 0:
            _slopes(g, low, high, beta, values)
            if values[_largest(values, lanes)] <= eps:
                return step
        _second_gains(K[i], g, diagonal, low, high, beta, change, values)
        j = _largest(values, lanes)
        other = 0.0
        if j != i and values[j] > _ZERO:
            # Move both: j first, as if i could follow freely, then i within its box.
            q = np.float64(K[i, j])
            schur = max(diagonal[j] - q * q / diagonal[i], _LEAST * diagonal[j])
            slope = g[j] - q * g[i] / diagonal[i]
            other = _clipped(beta[j] + slope / schur, low[j], high[j]) - beta[j]
            change = _clipped(beta[i] + (g[i] - q * other) / diagonal[i], low[i], high[i]) - beta[i]
        beta[i] = _clipped(beta[i] + change, low[i], high[i])
        beta[j] = _clipped(beta[j] + other, low[j], high[j])
        g[i] -= change * (diagonal[i] - K[i, i])
        g[j] -= other * (diagonal[j] - K[j, j])
        _move(g, K[i], K[j], change, other)
    return steps


@njit(nogil=True, inline="always")
def _mark(k, beta, low, high, up, down):
    """Mark whether beta_k can rise and fall: 0 if it can, -inf if not."""
    up[k] = _ZERO if beta[k] < high[k] else _NONE
    down[k] = _ZERO if beta[k] > low[k] else _NONE


@njit(nogil=True, inline="always")
def _clipped(value, low, high):
    return min(max(value, low), high)


# Division by zero is not checked ("numpy"), as the branch would prevent vectorisation.


@njit(nogil=True, fastmath=REORDER_FINITE)
def _rising(g, up, values):
    """Write the slopes along which beta may rise."""
    for k in range(values.size):
        values[k] = np.float32(g[k]) + up[k]


@njit(nogil=True, fastmath=REORDER_FINITE)
def _falling(g, down, values):
    """Write the slopes along which beta may fall."""
    for k in range(values.size):
        values[k] = down[k] - np.float32(g[k])


@njit(nogil=True, fastmath=REORDER_FINITE, error_model="numpy")
def _pair_gains(row, g, down, diagonal, top, own, values):
    """Write twice the gain of each sample together with i, if its beta falls."""
    least = _LEAST * own
    for k in range(values.size):
        slope = max(top - np.float32(g[k]) + down[k], _ZERO)
        curvature = max(own + diagonal[k] - (row[k] + row[k]), least)
        values[k] = slope * slope / curvature


@njit(nogil=True, fastmath=REORDER_FINITE, error_model="numpy")
def _single_gains(g, diagonal, low, high, beta, values):
    """Write the gain of each sample on its own."""
    for k in range(values.size):
        move = min(max(beta[k] + g[k] / diagonal[k], low[k]), high[k]) - beta[k]
        values[k] = move * (g[k] - 0.5 * diagonal[k] * move)


@njit(nogil=True, fastmath=REORDER_FINITE, error_model="numpy")
def _second_gains(row, g, diagonal, low, high, beta, change, values):
    """Write the gain of each sample after i has moved."""
    for k in range(values.size):
        slope = g[k] - row[k] * change
        move = min(max(beta[k] + slope / diagonal[k], low[k]), high[k]) - beta[k]
        values[k] = move * (slope - 0.5 * diagonal[k] * move)


@njit(nogil=True, fastmath=REORDER_FINITE)
def _slopes(g, low, high, beta, values):
    """Write the slopes along which each sample may move."""
    for k in range(values.size):
        rise = g[k] if beta[k] < high[k] else 0.0
        fall = -g[k] if beta[k] > low[k] else 0.0
        values[k] = max(rise, fall)


@njit(nogil=True, fastmath=REORDER_FINITE)
def _move(g, A, B, u, v):
    """Subtract u A + v B from the gradient."""
    for k in range(g.size):
        g[k] -= u * A[k] + v * B[k]


@njit(nogil=True, fastmath=REORDER_FINITE)
def _largest(values, lanes):
    """Return the index of the largest value.

    Maxima over parallel lanes vectorise, a maximum along an array does not.
    """
    for k in range(LANES):
        lanes[k] = values[k]
    for start in range(LANES, values.size, LANES):
        part = values[start : start + LANES]
        for k in range(LANES):
            lanes[k] = max(lanes[k], part[k])
    lane = 0
    for k in range(LANES):
        if lanes[k] > lanes[lane]:
            lane = k
    for k in range(lane, values.size, LANES):
        if values[k] == lanes[lane]:
            return k
    return lane
