"""What `small_loops` calls, in its language; see `block_smo_loops` and `class_pair_loops`."""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.floats import EPS, REORDER_FINITE
from skscreen.svm.solvers.kernel.block_smo_loops import LANES

# Largest uncertainty of the primal value, as a share of it.
_UNSURE = 0.1

# Number of steps between two checks of the largest violation.
_LOOK = 16

# Least curvature of a pair, relative to the diagonal, because of rounding in single precision.
_LEAST = np.float32(1e-7)
_NONE, _ZERO, _TINIEST = np.float32(-np.inf), np.float32(0.0), np.finfo(np.float32).tiny


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
    """Move pairs, free of an equality, until no sample can move along a slope above eps.

    The first of a pair has the largest slope, the second one the largest gain together with it.
    Both move to the optimum of their problem. See `pairs_with_offset`.
    """
    n = beta.size
    up, down = np.empty(n, np.float32), np.empty(n, np.float32)
    values, lanes = np.empty(n, np.float32), np.empty(LANES, np.float32)
    for k in range(n):
        _measure(k, beta, low, high, up, down)
    for step in range(steps):
        _slopes(g, up, down, values)
        i = _largest(values, lanes)
        if values[i] <= eps:
            return step
        _joint_gains(K[i], g, diagonal, up, down, i, values)
        values[i] = _NONE
        j = _largest(values, lanes)
        change, other = _pair_optimum(
            np.float64(K[i, j]), diagonal[i], g[i], low[i] - beta[i], high[i] - beta[i],
            diagonal[j], g[j], low[j] - beta[j], high[j] - beta[j], _LEAST * diagonal[j],
        )  # fmt: skip
        for k, move in ((i, change), (j, other)):
            # Padding, the second of a pair where no other gains, never moves and has no row.
            if move != 0.0:
                beta[k] = _clipped(beta[k] + move, low[k], high[k])
                _measure(k, beta, low, high, up, down)
                g[k] -= move * (diagonal[k] - K[k, k])
        _move(g, K[i], K[min(j, len(K) - 1)], change, other)
    return steps


@njit(nogil=True, inline="always")
def _mark(k, beta, low, high, up, down):
    """Mark whether beta_k can rise and fall: 0 if it can, -inf if not."""
    up[k] = _ZERO if beta[k] < high[k] else _NONE
    down[k] = _ZERO if beta[k] > low[k] else _NONE


@njit(nogil=True, inline="always")
def _measure(k, beta, low, high, up, down):
    """Measure how far beta_k can rise and fall: not 0 if it can."""
    up[k] = max(np.float32(high[k] - beta[k]), _TINIEST) if beta[k] < high[k] else _ZERO
    down[k] = min(np.float32(low[k] - beta[k]), -_TINIEST) if beta[k] > low[k] else _ZERO


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


@njit(nogil=True, inline="always", error_model="numpy")
def _pair_optimum(q, d_i, g_i, low_i, high_i, d_j, g_j, low_j, high_j, least):
    """Return the moves of two samples that gain most, within bounds of the moves.

    j moves as if i could follow freely, then i within its bounds. Where i stops at a bound it does
    so at the optimum, as the objective is concave, and j moves as is best next to that.
    """
    q_i = q / d_i
    slope, schur = g_j - q_i * g_i, max(d_j - q_i * q, least)
    other = _clipped(slope / schur, low_j, high_j)
    change = _clipped((g_i - q * other) / d_i, low_i, high_i)
    slope = g_j - q * change
    other = _clipped(slope / d_j, low_j, high_j)
    return change, other


@njit(nogil=True, fastmath=REORDER_FINITE, error_model="numpy")
def _joint_gains(row, g, diagonal, up, down, i, values):
    """Write the gain of each sample together with i, see `_pair_optimum`."""
    g_i, d_i, low_i, high_i = np.float32(g[i]), np.float32(diagonal[i]), down[i], up[i]
    half, inverse = np.float32(0.5), np.float32(1.0) / d_i
    for k in range(values.size):
        q, d_k, g_k = np.float32(row[k]), np.float32(diagonal[k]), np.float32(g[k])
        q_i = q * inverse
        schur = max(d_k - q_i * q, _LEAST * d_k)
        other = min(max((g_k - q_i * g_i) / schur, down[k]), up[k])
        change = min(max((g_i - q * other) * inverse, low_i), high_i)
        slope = g_k - q * change
        other = min(max(slope / d_k, down[k]), up[k])
        values[k] = change * (g_i - half * d_i * change) + other * (slope - half * d_k * other)


@njit(nogil=True, fastmath=REORDER_FINITE)
def _slopes(g, up, down, values):
    """Write the slopes along which each sample may move."""
    for k in range(values.size):
        slope = np.float32(g[k])
        rise = slope if up[k] > _ZERO else _ZERO
        fall = -slope if down[k] < _ZERO else _ZERO
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


@njit(nogil=True)
def balance(low, high, beta):
    """Take off what rounding errors have added to the sum, where there is most room."""
    for _ in range(beta.size):
        excess = 0.0
        for k in range(beta.size):
            excess += beta[k]
        if excess == 0.0:
            break
        most, best = 0.0, 0
        for k in range(beta.size):
            space = beta[k] - low[k] if excess > 0.0 else high[k] - beta[k]
            if beta[k] < high[k] and beta[k] > low[k] and space > most:
                most, best = space, k
        if most == 0.0:
            break
        beta[best] = min(max(beta[best] - excess, low[best]), high[best])
        if abs(excess) < most:
            break


@njit(cache=True, nogil=True)
def certificate(target, low, high, beta, f, errors, free, parts):
    """Return the best intercept, the gap and the primal value for scores with errors.

    The largest contribution of each sample to the gap is written to `parts`.

    Returns
    -------
    b, gap, primal : float
        The uncertainty of the primal value is added to the gap, which is infinite if this is too
        large.
    """
    for k in range(beta.size):
        parts[k] = target[k] - f[k]
    b, computed, primal = view(target, low, high, beta, parts, free)
    gap, unsure = 0.0, 0.0
    for k in range(beta.size):
        slope = target[k] - f[k] - b
        more, less = slope + errors[k], slope - errors[k]
        # Convex in the slope, so largest at an end.
        parts[k] = max((high[k] - beta[k]) * more, (low[k] - beta[k]) * less)
        gap += parts[k]
        unsure += max(high[k] * more, low[k] * less) - max(high[k] * slope, low[k] * slope)
    unsure = 0.5 * (unsure + gap - computed)
    if not unsure <= _UNSURE * primal:
        return b, np.inf, primal
    return b, gap / (1.0 - unsure / primal) if unsure > 0.0 else gap, primal


@njit(cache=True, nogil=True)
def view(target, low, high, beta, g, free):
    """Return the best intercept, the gap and the primal value of a point."""
    b = 0.0
    if free:
        level, size, widths = 0.0, 0.0, np.empty(beta.size)
        for k in range(beta.size):
            level += high[k]
            widths[k] = high[k] - low[k]
            size += widths[k]
        slack = 4.0 * EPS * beta.size * (size + abs(level))
        b = 0.5 * _weighted_quantile(g, widths, level - slack)
        b += 0.5 * _weighted_quantile(g, widths, level + slack)
    gap, loss, gain = 0.0, 0.0, 0.0
    for k in range(beta.size):
        slope = g[k] - b
        gap += max((high[k] - beta[k]) * slope, (low[k] - beta[k]) * slope)
        loss += max(high[k] * slope, low[k] * slope)
        gain += target[k] * beta[k]
    return b, gap, 0.5 * (gain + loss + gap)


@njit(cache=True, nogil=True)
def _weighted_quantile(values, weights, level):
    """Return the smallest value at which the cumulative weight reaches a level, by selection."""
    v, u = values.copy(), weights.copy()
    first, last, below = 0, v.size, 0.0
    while last - first > 1:
        a, b, c = v[first], v[(first + last) // 2], v[last - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        # Three parts: smaller [first, left), equal [left, right), larger [right, last).
        left, k, right, smaller, equal = first, first, last, 0.0, 0.0
        while k < right:
            if v[k] < pivot:
                smaller += u[k]
                v[k], v[left] = v[left], v[k]
                u[k], u[left] = u[left], u[k]
                left += 1
                k += 1
            elif v[k] > pivot:
                right -= 1
                v[k], v[right] = v[right], v[k]
                u[k], u[right] = u[right], u[k]
            else:
                equal += u[k]
                k += 1
        if left > first and below + smaller >= level:
            last = left
        elif right == last or below + smaller + equal >= level:
            return pivot
        else:
            below += smaller + equal
            first = right
    return v[first]
