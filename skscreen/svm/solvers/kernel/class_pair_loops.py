"""A problem between two classes with known kernel values, in compiled loops.

Variables are signed as in `box`: beta_i = y_i alpha_i, slopes g_i = target_i - f_i, without
intercept. Kernel values of the pair are three blocks in single precision, so that the blocks inside
a class serve all of its problems without a copy. SMO runs on working sets; after each set all
slopes are updated. The first set has a few samples of both classes, evenly chosen, with bounds
that are larger in proportion: its scores tell which samples are near the margin or on its wrong
side. These form the next working set, which others can join later.

One call solves a whole problem, because calls from Python would take most of the time of hundreds
of problems of some hundred samples.
"""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.floats import EPS, REORDER_FINITE
from skscreen.core.selection import select
from skscreen.svm.solvers.kernel.block_smo_loops import (
    LANES,
    pairs_with_offset,
    pairs_without_offset,
)

# Number of samples of each class in the first set.
_FIRST = 64
# Largest working set, and free places of a new one.
LARGEST, _GROWTH = 3000, 32

# Largest number of rounds; they end if one leaves more than a share `_STALLED` of the gap.
_ROUNDS, _STALLED = 60, 0.98

# Accuracy of slopes on the first two sets.
_ROUGH = 2e-2

# A round stops at this share of the allowed gap, or of the largest violation.
_SHARE, _LEFT = 0.5, 0.03

# Least curvature along one sample, relative to the largest, because of single precision.
_LEAST_DIAGONAL = np.float32(1e-7)

# Largest uncertainty of the primal value, as a share of it.
_UNSURE = 0.1

# Number of entries that are transposed together: a cache line.
_LINE = 16

# Absolute error of kernel values, because smaller powers of two are cut off.
_TINIEST = 2.0**-125

# Size of a new working set: a multiple of the violators and free samples, plus a constant.
_ROOM, _MORE = 1.2, 32


@njit(cache=True, nogil=True)
def improve(
    A, B, AB, square_bias, target, low, high, beta, f, errors, parts, relative, free, tol, steps,
    memory,
):  # fmt: skip
    """Improve a point by `solve_pair`; return its certificate by the stored kernel values.

    Parameters
    ----------
    A, B, AB, square_bias, target, low, high, beta, free, tol, steps, memory
        See `solve_pair`.
    f : ndarray of shape (m + n,)
        Scores of the point, replaced by those of the new one.
    errors, parts : ndarray of shape (m + n,)
        Outputs: bounds on the errors of scores, and the largest contribution of each sample to the
        gap.
    relative : ndarray of shape (m + n,)
        See `scores`.

    Returns
    -------
    taken : int
    b, gap, primal : float
        See `certificate`.
    """
    g = np.empty(beta.size)
    for k in range(beta.size):
        g[k] = target[k] - f[k]
    taken = solve_pair(A, B, AB, square_bias, target, low, high, beta, g, free, tol, steps, memory)
    scores(A, B, AB, square_bias, beta, relative, f, errors)
    b, gap, primal = certificate(target, low, high, beta, f, errors, free, parts)
    return taken, b, gap, primal


@njit(cache=True, nogil=True)
def solve_pair(A, B, AB, square_bias, target, low, high, beta, g, free, tol, steps, memory):
    """Improve a point to a relative gap, computed in single precision.

    Parameters
    ----------
    A, B : float32 ndarray of shape (m, m) and (n, n)
        Kernel values inside the first class, whose samples come first, and inside the second.
    AB : float32 ndarray of shape (m, n)
        Between them.
    square_bias : float
        B^2 of a penalised intercept, added to all kernel values; 0 for none.
    target, low, high : ndarray of shape (m + n,)
    beta, g : ndarray of shape (m + n,)
        The point and its slopes without intercept, changed.
    free : bool
        Whether there is an unpenalised intercept.
    tol : float
        Relative gap.
    steps : int
        Most steps of SMO.
    memory : float32 ndarray
        Room for the kernel matrix of a working set, see `room`.

    Returns
    -------
    int
        Steps taken.
    """
    n, taken, before, eps = beta.size, 0, np.inf, _ROUGH
    rank, inside = np.zeros(n), np.zeros(n, np.bool_)
    W, size, padded = np.empty(n, np.int64), 0, 0
    if not beta.any():
        if n > 4 * _FIRST:
            taken = _look(A, B, AB, square_bias, target, low, high, g, free, steps, rank, memory)
        size, padded = _begin(A, B, AB, square_bias, rank, W, inside, memory)
        b = view(target, low, high, beta, g, free)[0]
        taken += _solve_set(
            A, B, AB, square_bias, low, high, beta, g, b, W[:size], padded, eps, steps - taken,
            free, memory,
        )  # fmt: skip
    for _ in range(_ROUNDS):
        b, gap, primal = view(target, low, high, beta, g, free)
        if gap <= tol * primal or gap > _STALLED * before or taken >= steps:
            break
        before = gap
        worst, weight = _rank(low, high, beta, g, b, rank)
        weight = max(weight, 0.1 * (high - low).sum() * max(size, LANES) / n)
        eps = min(max(_SHARE * tol * primal / weight, _LEFT * worst), 0.5 * worst)
        grown = _grow(A, B, AB, square_bias, rank, eps, W, size, padded, inside, memory)
        if grown < 0:
            inside[:] = False
            size, padded = _begin(A, B, AB, square_bias, rank, W, inside, memory)
        else:
            size = grown
        taken += _solve_set(
            A, B, AB, square_bias, low, high, beta, g, b, W[:size], padded, eps, steps - taken,
            free, memory,
        )  # fmt: skip
    if free:
        balance(low, high, beta)
    return taken


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
def scores(A, B, AB, square_bias, beta, relative, f, errors):
    """Write scores by the stored kernel values to `f`, and bounds on their errors to `errors`.

    Parameters
    ----------
    A, B, AB, square_bias, beta
        See `solve_pair`.
    relative : ndarray of shape (m + n,)
        Kernel values of samples s and t have relative errors of at most relative_s + relative_t.
    """
    # Sums over one class have terms of one sign.
    m, positive, negative = len(A), np.zeros(beta.size), np.zeros(beta.size)
    samples, sizes = np.arange(beta.size), np.empty(beta.size)
    for k in range(beta.size):
        sizes[k] = -abs(beta[k])
    _add(A, AB, *_changed(samples, sizes, 0, m), m, positive)
    _add_across(AB, B, *_changed(samples, sizes, m, beta.size), m, negative)
    bounded(positive, negative, square_bias, beta, relative, relative, f, errors)


@njit(cache=True, nogil=True)
def bounded(positive, negative, square_bias, beta, relative, own, f, errors):
    """Write differences of sums with known relative errors to `f`, and error bounds to `errors`.

    Parameters
    ----------
    positive, negative : ndarray of shape (k,)
        Sums of |beta_i| K_ij over the samples of the first class, and of the second.
    square_bias, beta, relative
        See `scores`.
    own : ndarray of shape (k,)
        `relative` of the samples of the sums.
    f, errors : ndarray of shape (k,)
    """
    most, total, size = 0.0, 0.0, 0.0
    for k in range(beta.size):
        most = max(most, relative[k])
        total += square_bias * beta[k]
        size += abs(beta[k])
    most += EPS * beta.size
    # Rounding error of the sum of beta, in any order.
    lost = square_bias * EPS * beta.size * size
    for k in range(f.size):
        f[k] = positive[k] - negative[k] + total
        errors[k] = (most + own[k]) * (positive[k] + negative[k])
        errors[k] += EPS * (abs(f[k]) + abs(total)) + lost + _TINIEST * size


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
def _look(A, B, AB, square_bias, target, low, high, g, free, steps, rank, memory):
    """Solve for a few samples, rank all samples by their margins and return the steps taken."""
    m, n = len(A), len(A) + len(B)
    few_A = min(max(_FIRST, 2 * _FIRST - n + m), m)
    few_B = min(2 * _FIRST - few_A, n - m)
    W = np.empty(few_A + few_B, np.int64)
    for k in range(few_A):
        W[k] = k * m // few_A
    for k in range(few_B):
        W[few_A + k] = m + k * (n - m) // few_B
    larger_low, larger_high = low.copy(), high.copy()
    for k in range(n):
        share = m / few_A if k < m else (n - m) / few_B
        larger_low[k] *= share
        larger_high[k] *= share
    beta, slopes = np.zeros(n), g.copy()
    padded = -(-W.size // LANES) * LANES
    _gather(A, B, AB, W, few_A, m, np.float32(square_bias), _matrix(memory, W.size, padded))
    taken = _solve_set(
        A, B, AB, square_bias, larger_low, larger_high, beta, slopes, 0.0, W, padded, _ROUGH, steps,
        free, memory,
    )  # fmt: skip
    b = view(target, low, high, beta, slopes, free)[0]
    for k in range(n):
        # y (f + b) - 1; samples with small values come first.
        slope = slopes[k] - b
        rank[k] = -slope if high[k] > 0.0 else slope
    return taken


@njit(cache=True, nogil=True)
def _rank(low, high, beta, g, b, rank):
    """Rank free samples first, then violators, then by slopes.

    Returns
    -------
    worst : float
        The largest violation.
    weight : float
        The sum of the widths of the intervals of free samples.
    """
    worst, weight = 0.0, 0.0
    for k in range(beta.size):
        slope = g[k] - b
        violation = max(slope if beta[k] < high[k] else 0.0, -slope if beta[k] > low[k] else 0.0)
        worst = max(worst, violation)
        rank[k] = -violation if violation > 0.0 else abs(slope)
        if low[k] < beta[k] < high[k]:
            rank[k] = -np.inf
            weight += high[k] - low[k]
    return worst, weight


@njit(nogil=True)
def _matrix(memory, size, padded):
    return memory[: size * padded].reshape(size, padded)


@njit(cache=True, nogil=True)
def _begin(A, B, AB, square_bias, rank, W, inside, memory):
    """Write the samples of lowest rank to a new working set, with room for more.

    Returns
    -------
    size, padded : int
    """
    n, size = rank.size, 0
    for k in range(n):
        if rank[k] <= 0.0:
            size += 1
    size = min(int(_ROOM * size) + _MORE, LARGEST - LANES)
    padded = -(-(size + _GROWTH) // LANES) * LANES
    size = padded - _GROWTH
    if size >= n:
        size, padded = n, -(-n // LANES) * LANES
    limit = np.inf if size == n else select(rank.copy(), size - 1)
    room, found, few = size, 0, 0
    for k in range(n):
        room -= rank[k] < limit
    for k in range(n):
        if rank[k] < limit or (rank[k] == limit and room > 0):
            room -= rank[k] == limit
            W[found], inside[k] = k, True
            found += 1
            few += k < len(A)
    K = _matrix(memory, size, padded)
    _gather(A, B, AB, W[:size], few, len(A), np.float32(square_bias), K)
    return size, padded


@njit(cache=True, nogil=True)
def _grow(A, B, AB, square_bias, rank, eps, W, size, padded, inside, memory):
    """Take free samples and violators into the working set; return its size, -1 without room."""
    first, shift, m = size, np.float32(square_bias), len(A)
    for k in range(rank.size):
        if rank[k] < -0.5 * eps and not inside[k]:
            if size == padded:
                return -1
            W[size], inside[k] = k, True
            size += 1
    if padded == 0:
        return -1
    K = _matrix(memory, size, padded)
    for k in range(first, size):
        i = W[k]
        K[k, size:] = np.float32(0.0)
        for j in range(k + 1):
            other = W[j]
            if i < m:
                value = A[i, other] if other < m else AB[i, other - m]
            else:
                value = AB[other, i - m] if other < m else B[i - m, other - m]
            K[k, j] = K[j, k] = value + shift
    return size


@njit(cache=True, nogil=True)
def _solve_set(A, B, AB, square_bias, low, high, beta, g, b, W, padded, eps, steps, free, memory):
    """Solve the problem on a working set, and update all slopes."""
    size, m = W.size, len(A)
    K = _matrix(memory, size, padded)
    diagonal, least = np.ones(padded, np.float32), np.float32(0.0)
    for k in range(size):
        least = max(least, _LEAST_DIAGONAL * K[k, k])
    least = max(least, _LEAST_DIAGONAL)
    part_low, part_high = np.zeros(padded), np.zeros(padded)
    part, slopes = np.zeros(padded), np.zeros(padded)
    for k in range(size):
        i = W[k]
        diagonal[k] = max(K[k, k], least)
        part_low[k], part_high[k], part[k], slopes[k] = low[i], high[i], beta[i], g[i] - b
    if free:
        taken = pairs_with_offset(K, diagonal, part_low, part_high, part, slopes, eps, steps)
    else:
        taken = pairs_without_offset(K, diagonal, part_low, part_high, part, slopes, eps, steps)
    changes, total = np.empty(size), 0.0
    for k in range(size):
        changes[k] = part[k] - beta[W[k]]
        beta[W[k]] = part[k]
        total += changes[k]
    _add(A, AB, *_changed(W, changes, 0, m), m, g)
    _add_across(AB, B, *_changed(W, changes, m, beta.size), m, g)
    if square_bias > 0.0:
        for k in range(beta.size):
            g[k] -= square_bias * total
    return taken


@njit(nogil=True)
def _changed(W, changes, first, last):
    """Return the places in their class, and the changes, of the changed samples of one class.

    This is a loop because numba takes seconds to compile masks and array indices.
    """
    index, values, count = np.empty(W.size, np.int64), np.empty(W.size), 0
    for k in range(W.size):
        if changes[k] != 0.0 and first <= W[k] < last:
            index[count], values[count] = W[k] - first, changes[k]
            count += 1
    return index[:count], values[:count]


@njit(nogil=True)
def _gather(A, B, AB, W, few, m, shift, K):
    """Write the kernel matrix of a working set; its first `few` samples are of the first class."""
    size = W.size
    # Unsigned indices need no check for negative values.
    first, second = np.empty(few, np.uint32), np.empty(size - few, np.uint32)
    for k in range(few):
        first[k] = W[k]
    for k in range(few, size):
        second[k - few] = W[k] - m
    for k in range(few):
        row, across, into = A[first[k]], AB[first[k]], K[k]
        for j in range(few):
            into[j] = row[first[j]] + shift
        into = into[few:]
        for j in range(second.size):
            into[j] = across[second[j]] + shift
    for start in range(0, few, _LINE):
        for j in range(few, size):
            into = K[j]
            for k in range(start, min(start + _LINE, few)):
                into[k] = K[k, j]
    for k in range(second.size):
        row, into = B[second[k]], K[few + k, few:]
        for j in range(second.size):
            into[j] = row[second[j]] + shift
    K[:, size:] = np.float32(0.0)


@njit(nogil=True, fastmath=REORDER_FINITE)
def _add(A, AB, index, change, m, g):
    """Subtract from the slopes what changes of samples of the first class add to the scores."""
    for k in range(index.size):
        i, c = index[k], change[k]
        row, across = A[i], AB[i]
        for j in range(m):
            g[j] -= c * row[j]
        for j in range(across.size):
            g[m + j] -= c * across[j]


@njit(nogil=True, fastmath=REORDER_FINITE)
def _add_across(AB, B, index, change, m, g):
    """Do the same for samples of the second class, given by their places in this class."""
    for i in range(m):
        row, total = AB[i], 0.0
        for k in range(index.size):
            total += change[k] * row[index[k]]
        g[i] -= total
    for k in range(index.size):
        row, c = B[index[k]], change[k]
        for j in range(row.size):
            g[m + j] -= c * row[j]


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
