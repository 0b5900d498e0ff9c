"""Compiled sweeps of dual coordinate descent over rows, with shrinking.

References
----------
C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan (2008), A dual coordinate
descent method for large-scale linear SVM, ICML. Section 3.2: shrinking.
"""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.decisions import hinge_slackness
from skscreen.samples.prefetch import prefetch, prefetch_row
from skscreen.samples.row_loops import add_row, row_count, row_dot, row_of

# Data of a sample are prefetched this many visits ahead.
_AHEAD = 2

# Mean number of entries in a row from which on prefetching pays off.
_LONG = 48


@njit(cache=True, nogil=True)
def active_samples(slopes, caps, alpha, codes, rest):
    """Return the undecided samples that shrinking would keep."""
    out, count = np.empty(slopes.size, np.int64), 0
    for i in range(slopes.size):
        if codes[i] == 0 and not _rests(slopes[i], alpha[i], caps[i], rest):
            out[count] = i
            count += 1
    return out[:count].copy()


@njit(cache=True, nogil=True)
def epochs(
    data, columns, starts, d, bias, value, terms, alpha, u, active, rest, factor, random, budget,
    most, enough, settled,
):  # fmt: skip
    """Sweep over active samples until the budget is spent, or earlier.

    The sweeps end earlier if nothing moves, if the gap, estimated by the margins met on the way, is
    at most `enough`, or if at most `settled` times the samples inside the box are active. A sample
    rests if its gradient points out by more than `factor` times the largest of the epoch before: it
    is above rest[0] at 0, or below rest[1] at its cap.

    Updates `alpha`, `rest` and `active`; returns epochs, entries read, and whether one of the
    first two reasons ended it. Each row of `terms` holds what a visit needs of a sample: y_i,
    threshold, cap, shift, 1 / (|z_i|^2 + shift), and the cost of a visit. The intercept is b = bias
    u_d. During the sweeps, and in `terms`, it is carried by a feature of another `value`, no larger
    than `bias`: both penalties of b together (see `coordinate_descent`).
    """
    size, n_epochs, work, ended = active.size, 0, 0.0, False
    b = pull = 0.0
    if value != 0.0:
        b = bias * u[d]
        # Squares of the smallest numbers are zero.
        pull = 1.0 / (value * value) - 1.0 / (bias * bias) if value != bias else 0.0
        u[d] = value * (u[d] / bias + b * pull)
    while work < budget and n_epochs < most:
        _shuffle(active[:size], random)
        size, inside, moved, gap, read = _sweep(
            data, columns, starts, d, value, terms, alpha, u, active[:size], rest, factor
        )  # fmt: skip
        n_epochs += 1
        work += read
        if value != 0.0:
            total = u[d] / value - b * pull
            b = value * u[d]
            u[d] = value * (total + b * pull)
        ended = not moved or gap <= enough
        if ended or (size <= settled * inside and inside <= u.size):
            break
    if value != 0.0:
        total = u[d] / value - b * pull
        missing = b / bias / bias - total
        spread(alpha, terms[:, 2], terms[:, 0], active[:size], missing)
    return n_epochs, work, ended


@njit(cache=True, nogil=True)
def spread(alpha, caps, y, active, missing):
    """Add `missing` to the sum of y_i alpha_i, shared by the active samples inside the box.

    The intercept is B^2 times this sum, so an error of the sum changes every margin; it hardly
    changes the weights of features.
    """
    count = 0
    for i in active:
        count += 0.0 < alpha[i] < caps[i]
    for i in active:
        if 0.0 < alpha[i] < caps[i]:
            alpha[i] = min(max(alpha[i] + y[i] * missing / count, 0.0), caps[i])


@njit(cache=True, nogil=True)
def _sweep(data, columns, starts, d, bias, terms, alpha, u, active, rest, factor):
    """Move each active variable to its best value in turn; those that rest are left out."""
    highest, lowest, moved, gap, read = -np.inf, np.inf, False, 0.0, 0.0
    kept = inside = 0
    n_rows = row_count(data, starts, d)
    ahead = _AHEAD if data.size > _LONG * n_rows else active.size
    for k in range(active.size):
        i = active[k]
        if k + 2 * ahead < active.size:
            prefetch(starts, row_of(active[k + 2 * ahead], n_rows))
        if k + ahead < active.size:
            coming = active[k + ahead]
            prefetch_row(data, columns, starts, d, row_of(coming, n_rows))
            prefetch(terms, 6 * coming)
            prefetch(alpha, coming)
        row = row_of(i, n_rows)
        margin = row_dot(data, columns, starts, d, row, u)
        if bias != 0.0:
            margin += bias * u[d]
        sign, cap, shift, cost, old = terms[i, 0], terms[i, 2], terms[i, 3], terms[i, 5], alpha[i]
        short = terms[i, 1] - sign * margin
        slope = shift * old - short
        read += cost
        if _rests(slope, old, cap, rest):
            continue
        active[kept] = i
        kept += 1
        if shift == 0.0:
            # The same for a hinge, without two branches that are hard to predict.
            gap += short * ((cap if short > 0.0 else 0.0) - old)
        else:
            gap += hinge_slackness(short, old, cap, shift)
        # Gradient of the objective, without the part that points out of the box.
        if old <= 0.0:
            slope = min(slope, 0.0)
        elif old >= cap:
            slope = max(slope, 0.0)
        highest, lowest = max(highest, slope), min(lowest, slope)
        new = min(max(old - slope * terms[i, 4], 0.0), cap)
        inside += 0.0 < new < cap
        if new != old:
            alpha[i], moved = new, True
            step = (new - old) * sign
            add_row(data, columns, starts, d, row, step, u)
            if bias != 0.0:
                u[d] += step * bias
            read += cost
    rest[0] = factor * highest if highest > 0.0 else np.inf
    rest[1] = factor * lowest if lowest < 0.0 else -np.inf
    return kept, inside, moved, gap, read


@njit(inline="always")
def _rests(slope, alpha, cap, rest):
    """Whether a variable is at its bound and its gradient points out further than `rest`."""
    return (alpha <= 0.0 and slope > rest[0]) or (alpha >= cap and slope < rest[1])


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
