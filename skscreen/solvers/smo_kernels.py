"""Compiled loops of sequential minimal optimisation: with and without a free intercept.

Both return when a row of K is wanted that is not at hand: (status, i, j, steps), status 1, and the
caller fetches rows i and j; status 0 where no pair gains anything, 2 where the steps are used up.
`short` holds 1 - m_i on the samples S, kept up to date; signs y and B^2 turn K into Q.
"""

import numpy as np
from numba import njit

# Curvature where samples do not differ at all.
_LEAST = 1e-200


@njit(cache=True, nogil=True)
def smo_without_offset(K, slot_of, y, square_bias, diagonal, S, C, alpha, short, steps):
    """Pairs without an equality (Steinwart, Hush, Scovel 2011).

    The first index gains most on its own, the second most together with it: the quadratic in both
    is maximised in j after the first has moved freely, clipped, and then in i.
    """
    for step in range(steps):
        i, best = -1, 0.0
        for k in range(S.size):
            gain, _ = _single_gain(short[k], diagonal[S[k]], alpha[S[k]], C[S[k]])
            if gain > best:
                best, i = gain, k
        if i < 0:
            return 0, -1, -1, step
        a = S[i]
        if slot_of[a] < 0:
            return 1, a, a, step
        A = K[slot_of[a]]
        j, change_i, change_j = _second_index(A, y, square_bias, diagonal, S, C, alpha, short, i)
        b = S[j]
        if slot_of[b] < 0:
            return 1, a, b, step
        _move(A, K[slot_of[b]], y, square_bias, S, short, a, change_i, b, change_j)
        alpha[a] = min(max(alpha[a] + change_i, 0.0), C[a])
        if j != i:
            alpha[b] = min(max(alpha[b] + change_j, 0.0), C[b])
    return 2, -1, -1, steps


@njit(cache=True, nogil=True)
def smo_with_offset(K, slot_of, y, square_bias, diagonal, S, C, alpha, short, steps):
    """Pairs that keep y'alpha: most violating, then of second order (Fan, Chen, Lin 2005)."""
    for step in range(steps):
        i, top = -1, -np.inf
        for k in range(S.size):
            s = S[k]
            if (alpha[s] < C[s] if y[s] > 0.0 else alpha[s] > 0.0) and y[s] * short[k] > top:
                top, i = y[s] * short[k], k
        if i < 0:
            return 0, -1, -1, step
        a = S[i]
        if slot_of[a] < 0:
            return 1, a, a, step
        A, j, best, move = K[slot_of[a]], -1, 0.0, 0.0
        for k in range(S.size):
            s = S[k]
            down = alpha[s] > 0.0 if y[s] > 0.0 else alpha[s] < C[s]
            slope = top - y[s] * short[k]
            if not down or slope <= 0.0:
                continue
            # B^2 cancels in |phi_i - phi_j|^2.
            curvature = diagonal[a] + diagonal[s] - 2.0 * (A[s] + square_bias)
            curvature = max(curvature, 1e-12 * diagonal[a], _LEAST)
            if slope * slope > best * curvature:
                best, j, move = slope * slope / curvature, k, slope / curvature
        if j < 0:
            return 0, -1, -1, step
        b = S[j]
        if slot_of[b] < 0:
            return 1, a, b, step
        room_a = C[a] - alpha[a] if y[a] > 0.0 else alpha[a]
        room_b = alpha[b] if y[b] > 0.0 else C[b] - alpha[b]
        move = min(move, room_a, room_b)
        _move(A, K[slot_of[b]], y, square_bias, S, short, a, y[a] * move, b, -y[b] * move)
        alpha[a] = _at(alpha[a], y[a] * move, C[a], move == room_a)
        alpha[b] = _at(alpha[b], -y[b] * move, C[b], move == room_b)
    return 2, -1, -1, steps


@njit(nogil=True)
def _at(alpha, change, C, to_bound):
    """Return alpha + change, exactly at the bound where it goes there."""
    if to_bound:
        return C if change > 0.0 else 0.0
    return alpha + change


@njit(nogil=True)
def _single_gain(short, curvature, alpha, C):
    """Return what the dual gains by moving one variable, and the move."""
    if curvature > 0.0:
        move = min(max(alpha + short / curvature, 0.0), C) - alpha
    else:
        move = C - alpha if short > 0.0 else -alpha
    return move * (short - 0.5 * curvature * move), move


@njit(nogil=True)
def _second_index(A, y, square_bias, diagonal, S, C, alpha, short, i):
    """Return the second index and both moves; i itself where no other adds to the gain."""
    a = S[i]
    best, change_i = _single_gain(short[i], diagonal[a], alpha[a], C[a])
    j, change_j = i, 0.0
    if diagonal[a] <= 0.0:
        return j, change_i, change_j
    for k in range(S.size):
        b = S[k]
        q = y[a] * y[b] * (A[b] + square_bias)
        if k == i or q == 0.0:
            continue
        # As if i moved to its own maximum, whatever j does: then by its box.
        schur = diagonal[b] - q * q / diagonal[a]
        slope = short[k] - q * short[i] / diagonal[a]
        if schur <= 1e-12 * diagonal[b]:
            continue
        move = min(max(alpha[b] + slope / schur, 0.0), C[b]) - alpha[b]
        _, other = _single_gain(short[i] - q * move, diagonal[a], alpha[a], C[a])
        gain = move * short[k] + other * short[i] - q * move * other
        gain -= 0.5 * (diagonal[b] * move * move + diagonal[a] * other * other)
        if gain > best:
            best, j, change_i, change_j = gain, k, other, move
    return j, change_i, change_j


@njit(nogil=True)
def _move(A, B, y, square_bias, S, short, a, change_a, b, change_b):
    """Take the effect of two changes of alpha off 1 - m."""
    u, v = y[a] * change_a, y[b] * change_b
    constant = (u + v) * square_bias
    for k in range(S.size):
        s = S[k]
        short[k] -= y[s] * (u * A[s] + v * B[s] + constant)
