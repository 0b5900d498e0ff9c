"""A two-class problem with a small kernel matrix, in compiled loops.

All computations are in double precision, so the scores that the solver uses also certify the
result. SMO runs on all samples. If it does not finish soon, as for large C, Newton's method solves
for the free samples, that is, those between their bounds; SMO then changes which samples are free.

Signed variables as in `box`: beta_i = y_i alpha_i, slopes g_i = target_i - f_i - b.
"""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.floats import EPS, REORDER_FINITE
from skscreen.svm.solvers.kernel.small_pairs import (
    balance,
    certificate,
    pairs_with_offset,
    pairs_without_offset,
)

# Limit of rounds of SMO.
_ROUNDS = 20

# Share of the allowed gap that a round may leave.
_SHARE = 0.5

# Limits of systems in a Newton step, and of their size.
_SYSTEMS, _LARGEST = 50, 500

# Free samples up to which a Newton step removes one sample at a time from its system.
_ONE_BY_ONE = 64

# First ridge of a system, over its mean diagonal; the least one, as duplicates have no curvature;
# and its growth until there is a Cholesky factor.
_RIDGE, _LEAST_RIDGE, _MORE = 1e-15, 1e-100, 100.0

# Steps of iterative refinement.
_CORRECTIONS = 3

# Replaces zero curvature and zero weights in denominators.
_TINY = 1e-300


@njit(cache=True, nogil=True)
def improve(K, target, low, high, bias, sizes, relative, enough, steps, beta):
    """Improve a point by SMO; return the steps, and intercept, gap and primal value.

    Parameters
    ----------
    K : ndarray of shape (n, m)
        Kernel values, and columns of padding up to a multiple of `LANES`.
    target, low, high : ndarray of shape (m,)
        Signs and bounds; 0 for padding.
    bias : float or None
        Of a penalised intercept, which is part of K, 0 for none. None for one without penalty; None
        has a type of its own, so what is for others is not compiled for it.
    sizes : ndarray of shape (n,)
        No K_ij is larger than sizes_i sizes_j.
    relative : float
        Errors of K_ij over these products.
    enough : float
        Relative gap.
    steps : int
        Most steps.
    beta : ndarray of shape (m,)
        The point, changed.

    Returns
    -------
    taken : int
    b, gap, primal : float
        The gap is the largest that rounding errors allow.
    """
    n, m = K.shape
    diagonal, g, f, errors, parts = np.empty(m), np.empty(m), np.empty(n), np.empty(n), np.empty(n)
    for k in range(m):
        diagonal[k], g[k] = max(K[k, k], _TINY) if k < n else 1.0, 0.0
    free, taken, done, b, gap, primal = bias is None, 0, -1, 0.0, np.inf, 0.0
    for turn in range(_ROUNDS + 1):
        if free:
            balance(low, high, beta)
        _scores(K, beta, sizes, relative, f, errors)
        b, gap, primal = certificate(
            target[:n], low[:n], high[:n], beta[:n], f, errors, free, parts
        )
        if gap <= enough * primal or taken >= steps or done == 0 or turn == _ROUNDS:
            break
        weight, worst = _TINY, 0.0
        for k in range(n):
            g[k] = target[k] - f[k] - b
            if beta[k] < high[k]:
                worst = max(worst, g[k])
            if beta[k] > low[k]:
                worst = max(worst, -g[k])
            if low[k] < beta[k] < high[k]:
                weight += high[k] - low[k]
        eps = min(_SHARE * enough * primal / weight, 0.5 * worst)
        if bias is None:
            done = pairs_with_offset(K, diagonal, low, high, beta, g, eps, steps - taken)
        else:
            done = pairs_without_offset(K, diagonal, low, high, beta, g, eps, steps - taken)
        taken += done
    return taken, b, gap, primal


@njit(cache=True, nogil=True)
def scale_to_margin(K, target, low, high, free, sizes, relative, tol, beta):
    """Scale a point to the solution of a hard margin, if it is that but for its length.

    Parameters are those of `improve` but `free`, a bool, and `tol`, the relative gap.

    Returns
    -------
    b, gap, primal : float
        See `hard_margin_scale`; gap inf if the point is left as it is.
    """
    n = len(K)
    f, errors = np.empty(n), np.empty(n)
    _scores(K, beta, sizes, relative, f, errors)
    factor, b, gap, primal = hard_margin_scale(target[:n], beta[:n], f, errors, free)
    if not gap <= tol * primal or not _fits(factor, beta, low, high):
        return 0.0, np.inf, 0.0
    for k in range(n):
        beta[k] *= factor
    return b, gap, primal


@njit(cache=True, nogil=True)
def hard_margin_scale(target, beta, f, errors, free):
    """Return the factor by which a point has to be scaled for all margins to be at least 1.

    Parameters
    ----------
    target, beta, f, errors : ndarray of shape (n,)
        Signs, point, and scores with bounds on their errors.
    free : bool
        Whether there is an unpenalised intercept.

    Returns
    -------
    factor, b, gap, primal : float
        The factor, and the intercept and the certificate of the scaled point, if it is within its
        bounds; factor 0 and gap inf if there is no such factor below 2.
    """
    b, lowest, highest = 0.0, np.inf, -np.inf
    for k in range(beta.size):
        if target[k] > 0.0:
            lowest = min(lowest, f[k] - errors[k])
        else:
            highest = max(highest, f[k] + errors[k])
    if free:
        b = -0.5 * (lowest + highest)
    shortest = min(lowest + b, -highest - b)
    if not shortest > 0.5:
        return 0.0, 0.0, np.inf, 0.0
    factor = (1.0 + 4.0 * EPS) / shortest
    square, total, error = 0.0, 0.0, 0.0
    for k in range(beta.size):
        square += beta[k] * f[k]
        total += abs(beta[k])
        error += abs(beta[k]) * errors[k]
    error += EPS * beta.size * (abs(square) + total)
    gap = factor * (factor * (square + error) - total)
    return factor, factor * b, gap, 0.5 * factor**2 * (square - error)


@njit(nogil=True)
def _fits(factor, beta, low, high):
    """Whether a point so many times as long is within its bounds."""
    for k in range(beta.size):
        if not low[k] <= factor * beta[k] <= high[k]:
            return False
    return True


@njit(nogil=True, fastmath=REORDER_FINITE)
def _scores(K, beta, sizes, relative, f, errors):
    """Write the scores of a point and bounds on their errors."""
    n, total, terms = f.size, 0.0, 2.0
    for j in range(n):
        f[j] = 0.0
    for i in range(n):
        if beta[i] != 0.0:
            c, row = beta[i], K[i]
            total += abs(c) * sizes[i]
            terms += 1.0
            for j in range(n):
                f[j] += c * row[j]
    for j in range(n):
        errors[j] = (relative + 0.5 * EPS * terms) * total * sizes[j] + 2.0 * EPS * (
            1.0 + abs(f[j])
        )


@njit(cache=True, nogil=True)
def newton(K, target, low, high, free, most, beta):
    """Move the free samples to the solution of their system, as far as the box allows.

    The first to meet its bound ends a move, so that the dual value never falls; the next system is
    of the others, without those that would leave the box next if there are many.

    Parameters are those of `improve` but `free`, a bool, and `most`, the limit of systems. Returns
    the number of systems.
    """
    n, count = len(K), 0
    chosen, stays, g = np.empty(n, np.int64), np.ones(n, np.bool_), np.empty(n)
    for k in range(n):
        g[k] = target[k] - _inner(K[k], beta)
        if low[k] < beta[k] < high[k]:
            chosen[count] = k
            count += 1
    if count > _LARGEST:
        return 0
    for turn in range(min(most, _SYSTEMS)):
        if count < 1 + free:
            return turn
        F = chosen[:count]
        x = _solution(K, g, F, free)
        step, stop = 1.0, -1
        for k in range(count):
            i = F[k]
            room = high[i] - beta[i] if x[k] > 0.0 else low[i] - beta[i]
            stays[i] = abs(room) > abs(x[k]) or count <= _ONE_BY_ONE
            if abs(room) < step * abs(x[k]):
                step, stop = room / x[k], k
        count = 0
        for k in range(F.size):
            i, move = F[k], step * x[k]
            beta[i] = min(max(beta[i] + move, low[i]), high[i])
            if k == stop:
                beta[i] = high[i] if x[k] > 0.0 else low[i]
            row = K[i]
            for j in range(n):
                g[j] -= move * row[j]
            if stays[i] and low[i] < beta[i] < high[i]:
                chosen[count] = i
                count += 1
        if stop < 0:
            return turn + 1
    return min(most, _SYSTEMS)


@njit(nogil=True)
def _solution(K, g, F, free):
    """Return the change of the free samples that makes their slopes zero, or all equal.

    Equal: as seen from the first of them, whose change keeps the sum.
    """
    count, r = F.size - free, F[0]
    M, rest = np.empty((count, count)), np.empty(count)
    for k in range(count):
        i = F[k + free]
        for j in range(k + 1):
            o = F[j + free]
            M[k, j] = K[i, o]
            if free:
                M[k, j] = (K[i, o] - K[i, r]) - (K[r, o] - K[r, r])
            M[j, k] = M[k, j]
        rest[k] = g[i] - g[r] if free else g[i]
    ridge = max(_RIDGE * np.trace(M) / count, _LEAST_RIDGE)
    L = np.empty((count, count))
    while not _factor(M, ridge, L):
        ridge *= _MORE
        if not ridge < np.inf:
            return np.zeros(F.size)
    x, left = np.zeros(F.size), rest.copy()
    part = x[free:] if free else x
    for _ in range(_CORRECTIONS):
        _substitute(L, left)
        for k in range(count):
            part[k] += left[k]
        for k in range(count):
            left[k] = rest[k] - _inner(M[k], part)
    if free:
        x[0] = -part.sum()
    return x


@njit(nogil=True)
def _factor(M, ridge, L):
    """Write the Cholesky factor of M plus a ridge; return whether there is one."""
    for i in range(len(M)):
        for j in range(i):
            L[i, j] = (M[i, j] - _inner(L[i, :j], L[j, :j])) / L[j, j]
        square = M[i, i] + ridge - _inner(L[i, :i], L[i, :i])
        if not square > 0.0:
            return False
        L[i, i] = np.sqrt(square)
    return True


@njit(nogil=True)
def _substitute(L, x):
    """Solve L L' x = x in place."""
    for i in range(x.size):
        x[i] = (x[i] - _inner(L[i, :i], x[:i])) / L[i, i]
    for i in range(x.size - 1, -1, -1):
        x[i] /= L[i, i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]


@njit(nogil=True, fastmath=REORDER_FINITE)
def _inner(a, b):
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total
