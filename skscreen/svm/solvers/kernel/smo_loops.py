"""Compiled loops of sequential minimal optimisation: with and without a free intercept.

Arrays that are not described below have one entry for each sample; `S` holds their places among all
rows, to which `K` and `slot_of` refer. `short` holds the gradient of the dual, t_i - m_i - s_i
alpha_i, kept up to date; signs y and B^2 turn K into Q, whose `diagonal` has the shifts s_i. Both
loops return (status, i, j, steps). Status 1: the rows i and j of K are needed and the caller has to
compute them; 0: no pair can gain; 2: all steps are used up.

A step is some passes over S, written so that they vectorise: no branches, and choices as places of
the largest entries of arrays.
"""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.copying import copy_into
from skscreen.core.floats import REORDER_FINITE

# Number of parallel lanes in which maxima are taken.
_LANES = 128

# Used for a curvature of zero, where steps end at the bounds anyway.
_TINY = 1e-200


@njit(cache=True, nogil=True)
def smo_without_offset(K, slot_of, y, square_bias, diagonal, S, C, alpha, short, steps):
    """Pairs without an equality (Steinwart, Hush, Scovel 2011).

    The first index has the largest gain on its own, the second one the largest gain together with
    it. The quadratic in both is maximised in j, as if i could follow freely, then clipped, and then
    in i.
    """
    inverse, all_rows = 1.0 / np.maximum(diagonal, _TINY), _in_order(S, K.shape[1])
    gains, first, second = np.empty(S.size), np.empty(S.size), np.empty(S.size)
    for step in range(steps):
        i = _single_index(diagonal, inverse, C, alpha, short, gains)
        if i < 0:
            return 0, -1, -1, step
        a = S[i]
        if slot_of[a] < 0:
            return 1, a, a, step
        _gather(K[slot_of[a]], S, all_rows, first)
        _sign(first, y, y[i], square_bias)
        # As the diagonal has it, so that i itself is no second index.
        first[i] = diagonal[i]
        j = _second_index(first, diagonal, inverse, C, alpha, short, i, gains)
        if j < 0:
            move = min(max(alpha[i] + short[i] * inverse[i], 0.0), C[i]) - alpha[i]
            alpha[i] = min(max(alpha[i] + move, 0.0), C[i])
            _subtract(short, move, first, 0.0, first)
            continue
        b = S[j]
        if slot_of[b] < 0:
            return 1, a, b, step
        _gather(K[slot_of[b]], S, all_rows, second)
        _sign(second, y, y[j], square_bias)
        second[j] = diagonal[j]
        change_i, change_j, _ = _pair(
            first[j], diagonal[i], inverse[i], C[i], alpha[i], short[i],
            diagonal[j], C[j], alpha[j], short[j],
        )  # fmt: skip
        _subtract(short, change_i, first, change_j, second)
        alpha[i] = min(max(alpha[i] + change_i, 0.0), C[i])
        alpha[j] = min(max(alpha[j] + change_j, 0.0), C[j])
    return 2, -1, -1, steps


@njit(cache=True, nogil=True)
def smo_with_offset(K, slot_of, y, square_bias, diagonal, S, C, alpha, short, steps):
    """Pairs that keep y'alpha: most violating, then of second order (Fan, Chen, Lin 2005)."""
    # In terms of y_i (t_i - m_i), the signs and B^2 cancel.
    signed, all_rows = np.empty(S.size), _in_order(S, K.shape[1])
    up, down = np.empty(S.size), np.empty(S.size)
    for k in range(S.size):
        signed[k] = y[k] * short[k]
        _mark(k, y, C, alpha, up, down)
    gains, first, second = np.empty(S.size), np.empty(S.size), np.empty(S.size)
    status, a, b, step = 2, -1, -1, 0
    while step < steps:
        i = _most_violating(signed, up, gains)
        if i < 0:
            status, a, b = 0, -1, -1
            break
        a = b = S[i]
        if slot_of[a] < 0:
            status = 1
            break
        _gather(K[slot_of[a]], S, all_rows, first)
        first[i] = diagonal[i] - square_bias
        j = _second_of_pair(first, signed, down, diagonal, i, square_bias, gains)
        if j < 0:
            status, a, b = 0, -1, -1
            break
        b = S[j]
        if slot_of[b] < 0:
            status = 1
            break
        _gather(K[slot_of[b]], S, all_rows, second)
        second[j] = diagonal[j] - square_bias
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * (first[j] + square_bias), _TINY)
        curvature = max(curvature, 1e-12 * diagonal[i])
        room_i = C[i] - alpha[i] if y[i] > 0.0 else alpha[i]
        room_j = alpha[j] if y[j] > 0.0 else C[j] - alpha[j]
        move = min((signed[i] - signed[j]) / curvature, room_i, room_j)
        _subtract(signed, move, first, -move, second)
        alpha[i] = _at(alpha[i], y[i] * move, C[i], move == room_i)
        alpha[j] = _at(alpha[j], -y[j] * move, C[j], move == room_j)
        _mark(i, y, C, alpha, up, down)
        _mark(j, y, C, alpha, up, down)
        step += 1
    for k in range(S.size):
        short[k] = y[k] * signed[k]
    return status, a, b, step


@njit(nogil=True)
def _at(alpha, change, C, to_bound):
    """Return alpha + change, exactly at the bound where it goes there."""
    if to_bound:
        return C if change > 0.0 else 0.0
    return alpha + change


@njit(nogil=True)
def _mark(k, y, C, alpha, up, down):
    """Mark whether y alpha can rise and fall: 0 if it can, -inf if not."""
    rises, falls = alpha[k] < C[k], alpha[k] > 0.0
    if y[k] < 0.0:
        rises, falls = falls, rises
    up[k] = 0.0 if rises else -np.inf
    down[k] = 0.0 if falls else -np.inf


@njit(nogil=True)
def _in_order(S, n):
    """Whether S is 0, 1, ..., n - 1."""
    if S.size != n:
        return False
    for k in range(n):
        if S[k] != k:
            return False
    return True


@njit(nogil=True)
def _gather(row, S, all_rows, out):
    """Copy the entries S of a row."""
    if all_rows:
        copy_into(out, row)
    else:
        for k in range(S.size):
            out[k] = row[S[k]]


@njit(nogil=True, fastmath=REORDER_FINITE)
def _sign(row, y, sign, square_bias):
    """Turn a row of K into one of Q."""
    for k in range(row.size):
        row[k] = sign * y[k] * (row[k] + square_bias)


@njit(nogil=True, fastmath=REORDER_FINITE)
def _subtract(values, u, A, v, B):
    """Subtract u A + v B."""
    for k in range(values.size):
        values[k] -= u * A[k] + v * B[k]


# Division by zero is not checked ("numpy"), as the branch would prevent vectorisation.


@njit(nogil=True, fastmath=REORDER_FINITE)
def _most_violating(signed, up, values):
    """Return the index with the largest slope along which y alpha can rise, or -1."""
    for k in range(values.size):
        values[k] = signed[k] + up[k]
    i = _argmax(values)
    return i if values[i] > -np.inf else -1


@njit(nogil=True, fastmath=REORDER_FINITE, error_model="numpy")
def _second_of_pair(row, signed, down, diagonal, i, square_bias, gains):
    """Return the index with the largest gain together with i, if its y alpha falls, or -1."""
    top, own = signed[i], diagonal[i] - 2.0 * square_bias
    least = max(1e-12 * diagonal[i], _TINY)
    for k in range(gains.size):
        slope = max(top - signed[k] + down[k], 0.0)
        gains[k] = slope * slope / max(own + diagonal[k] - 2.0 * row[k], least)
    j = _argmax(gains)
    return j if gains[j] > 0.0 else -1


@njit(nogil=True, fastmath=REORDER_FINITE)
def _single_index(diagonal, inverse, C, alpha, short, gains):
    """Return the index with the largest gain on its own, or -1."""
    for k in range(gains.size):
        move = min(max(alpha[k] + short[k] * inverse[k], 0.0), C[k]) - alpha[k]
        gains[k] = move * (short[k] - 0.5 * diagonal[k] * move)
    i = _argmax(gains)
    return i if gains[i] > 0.0 else -1


@njit(nogil=True, fastmath=REORDER_FINITE, error_model="numpy")
def _second_index(row, diagonal, inverse, C, alpha, short, i, gains):
    """Return the index with the largest gain together with i, or -1 if i alone gains as much."""
    D_i, inverse_i, C_i, alpha_i, short_i = diagonal[i], inverse[i], C[i], alpha[i], short[i]
    own = gains[i]
    for k in range(gains.size):
        _, _, gains[k] = _pair(
            row[k], D_i, inverse_i, C_i, alpha_i, short_i, diagonal[k], C[k], alpha[k], short[k]
        )
    j = _argmax(gains)
    return j if gains[j] > own else -1


@njit(nogil=True, inline="always")
def _pair(q, D_i, inverse, C_i, alpha_i, short_i, D_j, C_j, alpha_j, short_j):
    """Return the moves of a pair and their gain; 0 for nearly identical samples.

    As if i moved to its own maximum, whatever j does: then by its box.
    """
    share = q * inverse
    schur = D_j - q * share
    least = 1e-12 * D_j
    slope = short_j - share * short_i
    move = min(max(alpha_j + slope / max(schur, least + _TINY), 0.0), C_j) - alpha_j
    other = min(max(alpha_i + (short_i - q * move) * inverse, 0.0), C_i) - alpha_i
    gain = move * short_j + other * short_i - q * move * other
    gain -= 0.5 * (D_j * move * move + D_i * other * other)
    return other, move, gain if schur > least else 0.0


@njit(nogil=True, fastmath=REORDER_FINITE)
def _argmax(values):
    """Return the index of the largest value.

    Maxima over parallel lanes vectorise, a maximum along an array does not.
    """
    lanes = np.empty(_LANES)
    lanes[:] = -np.inf
    whole = values.size // _LANES * _LANES
    for start in range(0, whole, _LANES):
        part = values[start : start + _LANES]
        for k in range(_LANES):
            lanes[k] = max(lanes[k], part[k])
    lane, place = 0, 0
    for k in range(_LANES):
        if lanes[k] > lanes[lane]:
            lane = k
    for k in range(lane, whole, _LANES):
        if values[k] == lanes[lane]:
            place = k
            break
    for k in range(whole, values.size):
        if values[k] > values[place]:
            place = k
    return place
