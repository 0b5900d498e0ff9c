"""Compiled sweeps of dual coordinate descent over rows, with extrapolation.

References
----------
C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan (2008), A dual coordinate
descent method for large-scale linear SVM, ICML. Section 3.2: shrinking.
Q. Bertrand, M. Massias (2021), Anderson acceleration of coordinate descent, AISTATS.
"""

import numpy as np
from numba import njit

from skscreen.problems.sample_kernels import add_row, row_dot

# Sweeps in one order; then their dual variables are extrapolated.
SWEEPS = 5

# Makes the Gram matrix of the steps definite, relative to its trace.
_RIDGE = 1e-12


@njit(cache=True, nogil=True)
def active_samples(margins, caps, alpha, codes, bounds):
    """Return the undecided samples that shrinking would keep."""
    out, count = np.empty(margins.size, np.int64), 0
    for i in range(margins.size):
        if codes[i] == 0 and not _rests(margins[i] - 1.0, alpha[i], caps[i], bounds):
            out[count] = i
            count += 1
    return out[:count].copy()


@njit(cache=True, nogil=True)
def epochs(
    data, columns, starts, d, y, bias, inverse, costs, caps, alpha, u, active, bounds, shrinking,
    random, memory, budget, most,
):  # fmt: skip
    """Sweep over active samples until the budget is spent or nothing moves.

    Updates `alpha`, `u`, `bounds` and `active`; returns epochs and entries read. `memory` has
    room for SWEEPS + 1 values a sample.
    """
    size, n_epochs, work = active.size, 0, 0.0
    while work < budget and n_epochs < most:
        _shuffle(active[:size], random)
        order = active[:size].copy()
        for sweep in range(SWEEPS):
            for k in range(order.size):
                memory[sweep, k] = alpha[order[k]]
            size, moved, read = _sweep(
                data, columns, starts, d, y, bias, inverse, costs, caps, alpha, u, active[:size],
                bounds, shrinking,
            )  # fmt: skip
            n_epochs += 1
            work += read
            if not moved or n_epochs == most:
                return n_epochs, work
        for k in range(order.size):
            memory[SWEEPS, k] = alpha[order[k]]
        work += _extrapolate(
            data, columns, starts, d, y, bias, inverse, costs, caps, alpha, u, order, memory
        )
    return n_epochs, work


@njit(cache=True, nogil=True)
def _sweep(
    data, columns, starts, d, y, bias, inverse, costs, caps, alpha, u, active, bounds, shrinking
):
    """Move each active variable to its best value in turn; those that rest are left out."""
    highest, lowest, moved, kept, read = -np.inf, np.inf, False, 0, 0.0
    for k in range(active.size):
        i = active[k]
        margin = row_dot(data, columns, starts, d, i, u)
        if bias != 0.0:
            margin += bias * u[d]
        slope, old = y[i] * margin - 1.0, alpha[i]
        read += costs[i]
        if _rests(slope, old, caps[i], bounds):
            continue
        active[kept] = i
        kept += 1
        # Gradient of what is minimised, less what points out of the box.
        if old <= 0.0:
            slope = min(slope, 0.0)
        elif old >= caps[i]:
            slope = max(slope, 0.0)
        highest, lowest = max(highest, slope), min(lowest, slope)
        new = min(max(old - slope * inverse[i], 0.0), caps[i])
        if new != old:
            alpha[i], moved = new, True
            _add(data, columns, starts, d, y, bias, i, new - old, u)
            read += costs[i]
    bounds[0] = highest if shrinking and highest > 0.0 else np.inf
    bounds[1] = lowest if shrinking and lowest < 0.0 else -np.inf
    return kept, moved, read


@njit(cache=True, nogil=True)
def _extrapolate(data, columns, starts, d, y, bias, inverse, costs, caps, alpha, u, order, memory):
    """Move to the extrapolation of the last sweeps if the dual is higher there; return the work.

    Coordinate descent in one order is a fixed linear map once it is known which variables are at
    their bounds; the combination of its iterates with the smallest combined step is far ahead.
    """
    weights = _combination(memory, order.size)
    gain, read = 0.0, 0.0
    for k in range(order.size):
        i, target = order[k], 0.0
        for sweep in range(SWEEPS):
            target += weights[sweep] * memory[sweep + 1, k]
        target = min(max(target, 0.0), caps[i])
        change = target - alpha[i]
        if change == 0.0:
            continue
        margin = row_dot(data, columns, starts, d, i, u)
        if bias != 0.0:
            margin += bias * u[d]
        gain += change * (1.0 - y[i] * margin) - 0.5 * change * change / inverse[i]
        alpha[i] = target
        _add(data, columns, starts, d, y, bias, i, change, u)
        read += 2.0 * costs[i]
    if not gain > 0.0:
        for k in range(order.size):
            i, target = order[k], memory[SWEEPS, k]
            if alpha[i] != target:
                _add(data, columns, starts, d, y, bias, i, target - alpha[i], u)
                alpha[i] = target
                read += costs[i]
    return read


@njit(cache=True, nogil=True)
def _combination(memory, size):
    """Weights of sum 1 for which the combination of the steps between sweeps is smallest."""
    gram, step = np.zeros((SWEEPS, SWEEPS)), np.empty(SWEEPS)
    for k in range(size):
        for a in range(SWEEPS):
            step[a] = memory[a + 1, k] - memory[a, k]
            for b in range(a + 1):
                gram[a, b] += step[a] * step[b]
    ridge = 0.0
    for a in range(SWEEPS):
        ridge += _RIDGE * gram[a, a]
    # Cholesky factor in place, and both triangular systems for the right side of ones.
    out = np.ones(SWEEPS)
    for a in range(SWEEPS):
        for b in range(a + 1):
            total = gram[a, b] + (ridge if a == b else 0.0)
            for c in range(b):
                total -= gram[a, c] * gram[b, c]
            gram[a, b] = np.sqrt(max(total, ridge)) if a == b else total / gram[b, b]
        for b in range(a):
            out[a] -= gram[a, b] * out[b]
        out[a] /= gram[a, a]
    for a in range(SWEEPS - 1, -1, -1):
        for b in range(a + 1, SWEEPS):
            out[a] -= gram[b, a] * out[b]
        out[a] /= gram[a, a]
    return out / out.sum()


@njit(inline="always")
def _rests(slope, alpha, cap, bounds):
    """Whether a variable is at its bound and its gradient points out further than any did."""
    return (alpha <= 0.0 and slope > bounds[0]) or (alpha >= cap and slope < bounds[1])


@njit(inline="always")
def _add(data, columns, starts, d, y, bias, i, change, u):
    """Add the change of alpha_i times z_i to u."""
    step = change * y[i]
    add_row(data, columns, starts, d, i, step, u)
    if bias != 0.0:
        u[d] += step * bias


@njit(cache=True, nogil=True)
def _shuffle(order, random):
    """Permute at random (Fisher-Yates) with a 64-bit xorshift generator (Marsaglia 2003)."""
    x = random[0]
    for k in range(order.size - 1, 0, -1):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        other = np.int64(((x >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32))
        order[k], order[other] = order[other], order[k]
    random[0] = x
