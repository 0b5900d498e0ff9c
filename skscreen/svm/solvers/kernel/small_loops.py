"""Two-class problems with small kernel matrices, solved and certified in one compiled call.

All computations are in double precision, so the scores that the solver uses also certify the
result. Each round runs SMO on all samples. If SMO does not finish soon, as for large C, Newton's
method solves for the free samples, that is, those between their bounds; SMO of the next round then
changes which samples are free.

Signed variables as in `box`: beta_i = y_i alpha_i, slopes g_i = target_i - f_i - b.
"""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.floats import EPS, REORDER_FINITE
from skscreen.svm.solvers.kernel.block_smo_loops import (
    LANES,
    pairs_with_offset,
    pairs_without_offset,
)
from skscreen.svm.solvers.kernel.class_pair_loops import balance, certificate

# Limit of rounds, and of SMO steps for each sample in a round.
_ROUNDS, _STEPS = 100, 2

# Share of the allowed gap that a round of SMO may leave.
_SHARE = 0.5

# Limits of systems in a Newton step, and of their size.
_SYSTEMS, _LARGEST = 50, 500

# Free samples up to which a Newton step removes one sample at a time from its system.
_ONE_BY_ONE = 64

# First ridge of a system, over its mean diagonal; its growth until there is a Cholesky factor.
_RIDGE, _MORE = 1e-15, 100.0

# Steps of iterative refinement.
_CORRECTIONS = 3

# Allowed rounds in a row that raise the dual value by less than this share of the gap.
_PATIENCE, _RISEN = 6, 0.01

# Replaces zero curvature and zero weights in denominators.
_TINY = 1e-300


@njit(cache=True, nogil=True)
def solve_pairs(
    K, ranges, stops, low, high, free, square_bias, sizes, relative, tol, enough, steps, beta, found
):
    """Solve problems between classes whose samples follow each other.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel values.
    ranges : int array of shape (n_problems, 4)
        First sample and end of the class of positive sign, and of the other.
    stops : int array of shape (n_problems,)
        Where the variables of each problem end, those of its first class before the others.
    low, high : ndarray of shape (n_variables,)
        Bounds.
    free : bool
        Whether there is an unpenalised intercept.
    square_bias : float
        B^2 of a penalised intercept, added to all kernel values; 0 for none.
    sizes : ndarray of shape (n,)
        No K_ij + B^2 is larger than sizes_i sizes_j.
    relative : float
        Errors of K_ij over these products.
    tol, enough : float
        Relative gap, and one no larger that is tried to be reached.
    steps : int
        Most steps of each problem, of SMO and systems of Newton's method.
    beta : ndarray of shape (n_variables,)
        Points to start from, changed to solutions.
    found : ndarray of shape (n_problems, 4)
        Steps, intercept, gap and primal value, written. The gap is the largest that rounding
        errors allow.
    """
    largest, first = 0, 0
    for k in range(len(ranges)):
        largest = max(largest, stops[k] - first)
        first = stops[k]
    memory, own, first = np.empty(largest * _padded(largest)), np.empty(largest), 0
    for k in range(len(ranges)):
        n, part = stops[k] - first, slice(first, stops[k])
        matrix = memory[: n * _padded(n)].reshape(n, _padded(n))
        m = ranges[k, 1] - ranges[k, 0]
        _copy(K, ranges[k], square_bias, matrix)
        # Loops in place of slices: less to compile.
        for j in range(n):
            own[j] = sizes[ranges[k, 0] + j if j < m else ranges[k, 2] + j - m]
        found[k, 0], found[k, 1], found[k, 2], found[k, 3] = _solve(
            matrix,
            m,
            low[part],
            high[part],
            free,
            own[:n],
            relative,
            tol,
            enough,
            steps,
            beta[part],
        )
        first = stops[k]


@njit(nogil=True)
def _padded(n):
    return -(-n // LANES) * LANES


@njit(nogil=True)
def _copy(K, ends, shift, out):
    """Write the kernel matrix of two ranges of samples, plus a shift."""
    first, last, other, end = ends
    m = last - first
    for k in range(len(out)):
        row, into = K[first + k if k < m else other + k - m], out[k]
        for j in range(m):
            into[j] = row[first + j] + shift
        into = into[m:]
        for j in range(end - other):
            into[j] = row[other + j] + shift
        for j in range(end - other, into.size):
            into[j] = 0.0


@njit(nogil=True)
def _solve(K, m, low, high, free, sizes, relative, tol, enough, steps, beta):
    """Improve a point of one problem; return steps, intercept, gap and primal value."""
    n, size = K.shape
    target, diagonal = np.ones(n), np.ones(size)
    for k in range(n):
        diagonal[k] = max(K[k, k], _TINY)
    target[m:] = -1.0
    bottom, top, point, g = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    for k in range(n):
        bottom[k], top[k], point[k] = low[k], high[k], beta[k]
    f, errors = np.empty(n), np.empty(n)
    taken, dual, patience, best = 0, -np.inf, _PATIENCE, (0.0, np.inf, 0.0)
    settled = False
    for turn in range(_ROUNDS):
        if free:
            balance(low, high, point[:n])
        _scores(K, point, sizes, relative, f, errors)
        b, gap, primal = _certified(target, low, high, point[:n], f, errors, free, tol)
        if gap < best[1] or turn == 0:
            best = b, gap, primal
            for k in range(n):
                beta[k] = point[k]
        risen = primal - gap - dual
        patience = _PATIENCE if risen > _RISEN * gap or gap == np.inf else patience - 1
        # Once the gap is small enough, one round more is tried for further digits.
        if gap <= enough * primal or taken >= steps or patience == 0 or settled:
            break
        settled = gap <= tol * primal
        dual, weight = max(dual, primal - gap), 0.0
        for k in range(n):
            g[k] = target[k] - f[k] - b
            if low[k] < point[k] < high[k]:
                weight += high[k] - low[k]
        allowed = _SHARE * enough * primal / max(weight, _TINY)
        eps, more = (
            min(allowed, 0.5 * _worst(point, bottom, top, g)),
            min(steps - taken, _STEPS * n),
        )
        if free:
            done = pairs_with_offset(K, diagonal, bottom, top, point, g, eps, more)
        else:
            done = pairs_without_offset(K, diagonal, bottom, top, point, g, eps, more)
        taken += done
        if done == more or turn > 2 or settled:
            taken += _newton(K, low, high, point, g, free, steps - taken)
    return taken, best[0], best[1], best[2]


@njit(nogil=True)
def _certified(target, low, high, beta, f, errors, free, tol):
    """Return intercept, gap and primal value of a point, scaled if it is that of a hard margin."""
    b, gap, primal = certificate(target, low, high, beta, f, errors, free, np.empty(beta.size))
    if gap > tol * primal:
        found = hard_margin_scale(target, beta, f, errors, free)
        if found[2] <= tol * found[3] and _fits(found[0], beta, low, high):
            beta *= found[0]
            b, gap, primal = found[1], found[2], found[3]
    return b, gap, primal


@njit(nogil=True)
def _worst(beta, low, high, g):
    """Return the largest slope on the wrong side of samples that could move along."""
    worst = 0.0
    for k in range(beta.size):
        if beta[k] < high[k]:
            worst = max(worst, g[k])
        if beta[k] > low[k]:
            worst = max(worst, -g[k])
    return worst


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
    f[:] = 0.0
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


@njit(nogil=True)
def _newton(K, low, high, beta, g, free, most):
    """Move the free samples to the solution of their system, as far as the box allows.

    The first to meet its bound ends a move, so that the dual value never falls; the next system is
    of the others, without those that would leave the box next if there are many. Returns the number
    of systems.
    """
    n = low.size
    chosen, stays, count = np.empty(n, np.int64), np.ones(n, np.bool_), 0
    for k in range(n):
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
    ridge = _RIDGE * np.trace(M) / count
    L = np.empty((count, count))
    while not _factor(M, ridge, L):
        ridge *= _MORE
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
