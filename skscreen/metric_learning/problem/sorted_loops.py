"""Passes over comparisons that look at few items where the slots are nearly in order of distance.

Rows that share slots have one threshold and weight one (see `comparisons.Items`).

For a row with level c = threshold + distance, slots at distances u < c - gamma have alpha = 1 and
those at u > c have alpha = 0. Slots are stored in the order of their distances at the last
reference. Here running extremes over them tell, by bisection, up to where all slots of a row are
of the first kind and from where on all are of the second: the former need only their number and
the sum of their distances (a difference of prefix sums), the latter nothing, and what is left in
between is looked at item by item. The less the order has changed since, the less that is; with
the right order it is the quadratic piece. So m rows and k slots cost O(k + m log k) and the items
in between instead of m k, whatever the ranges of the rows.

Dual variables are those of `loss_pass` item by item: no rounding error of the prefix sums enters
them or their sums, only the value has one, and its bound is returned.
"""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.floats import EPS, REORDER_FINITE
from skscreen.metric_learning.problem.losses import dual_variable, smoothed_value
from skscreen.metric_learning.problem.pair_loops import loss_pass

# Least number of slots in a row for bisection, and of items per slot for keeping extremes.
SORT_FROM = (96, 32)

# Number of rows whose sums are added up separately, which keeps rounding errors small.
_ROWS_PER_SUM = 1024


@njit(cache=True, nogil=True)
def sorted_loss_pass(
    start, stop, near_d, far_d, thresholds, gamma, scales, row_weights, slot_weights, sort_from
):
    """Like `loss_pass`; returns the value and a bound on its rounding error.

    That is 16 eps of the value, an allowance for sums that are kept short, and what the prefix
    sums can add to it.
    """
    # Not a literal, because functions called with it would be compiled again.
    total, lost, size, direct = 0.0, 0.0, 0.0, np.int64(0)
    buffers = _buffers(near_d.size, far_d.size)
    while direct < near_d.size:
        first, last, begin, end = _next_run(start, stop, direct, sort_from)
        value = loss_pass(
            start[direct:first], stop[direct:first], near_d[direct:first], far_d,
            thresholds[direct:first], gamma, scales[direct:first], row_weights[direct:first],
            slot_weights,
        )  # fmt: skip
        total, lost = _add(total, lost, value)
        if last > first:
            value, largest = _run_loss(
                start[first:last] - begin, stop[first:last] - begin, near_d[first:last],
                far_d[begin:end], thresholds[first], gamma, row_weights[first:last],
                slot_weights[begin:end], sort_from[0], buffers,
            )  # fmt: skip
            total, lost = _add(total, lost, value)
            size += largest
        direct = last
    return total + lost, 16.0 * EPS * (total + size)


@njit(cache=True, nogil=True)
def short_loss_pass(
    start, stop, near_d, far_d, thresholds, gamma, scales, row_weights, slot_weights
):
    """Like `sorted_loss_pass` where no row is long: seconds less to compile."""
    total, lost = 0.0, 0.0
    for first in range(0, near_d.size, _ROWS_PER_SUM):
        last = min(first + _ROWS_PER_SUM, near_d.size)
        value = loss_pass(
            start[first:last], stop[first:last], near_d[first:last], far_d,
            thresholds[first:last], gamma, scales[first:last], row_weights[first:last],
            slot_weights,
        )  # fmt: skip
        total, lost = _add(total, lost, value)
    return total + lost, 16.0 * EPS * total


@njit(cache=True, nogil=True)
def _buffers(n_rows, n_slots):
    """Work arrays for the rows and the slots of a run; few pages of them are ever used."""
    firsts, lasts = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    highest, lowest = np.empty(n_slots), np.empty(n_slots)
    return firsts, lasts, highest, lowest, np.empty(n_slots + 1), np.empty(n_slots + 1)


@njit(cache=True, nogil=True)
def _next_run(start, stop, row, sort_from):
    """Find rows from `row` on whose ranges overlap, where running extremes pay.

    Returns the first of them, their end and the hull of their slots; no rows if there are none
    among the next `_ROWS_PER_SUM`.
    """
    first = row
    while first < start.size and first - row < _ROWS_PER_SUM:
        if stop[first] - start[first] < sort_from[0]:
            first += 1
            continue
        begin, end, items, last = start[first], stop[first], 0, first
        while last < start.size and start[last] < end and stop[last] > begin:
            begin, end = min(begin, start[last]), max(end, stop[last])
            length = stop[last] - start[last]
            items += length if length >= sort_from[0] else 0
            last += 1
        last = max(last, first + 1)
        if items > sort_from[1] * (end - begin):
            return first, last, begin, end
        first = last
    return first, first, 0, 0


@njit(inline="always")
def _add(total, lost, value):
    """Compensated sum of numbers >= 0: the new total and all that rounding has lost."""
    new = total + value
    return new, lost + ((total - new) + value if total >= value else (value - new) + total)


@njit(cache=True, nogil=True)
def _bisect_rows(highest, lowest, near, low, high, firsts, lasts):
    """For each row find the first index of highest >= near + low and that of lowest > near + high.

    Both arrays ascend. All rows at once: bisection of one row alone waits for memory or for
    mispredicted branches.
    """
    firsts[: near.size] = 0
    lasts[: near.size] = 0
    length = highest.size
    while length > 1:
        half = length >> 1
        for p in range(near.size):
            firsts[p] += half * (highest[firsts[p] + half - 1] < near[p] + low)
            lasts[p] += half * (lowest[lasts[p] + half - 1] <= near[p] + high)
        length -= half
    for p in range(near.size):
        firsts[p] += highest[firsts[p]] < near[p] + low
        lasts[p] += lowest[lasts[p]] <= near[p] + high


@njit(cache=True, nogil=True)
def _running_extremes(D, highest, lowest):
    """Fill in the largest distance up to each slot and the smallest from each slot on."""
    extreme = -np.inf
    for s in range(D.size):
        extreme = max(extreme, D[s])
        highest[s] = extreme
    extreme = np.inf
    for s in range(D.size - 1, -1, -1):
        extreme = min(extreme, D[s])
        lowest[s] = extreme
    return extreme


@njit(cache=True, nogil=True)
def _prefix_sums(D, shift, sums):
    """Fill in sums of D - shift >= 0 over all slots before each; not to be reordered."""
    total, lost, s = 0.0, 0.0, 0
    while s < D.size:
        # Short sums have small rounding errors; the sum over them is compensated.
        last, part = min(s + 8, D.size), 0.0
        while s < last:
            sums[s] = total + (lost + part)
            part += D[s] - shift
            s += 1
        total, lost = _add(total, lost, part)
    sums[s] = total + lost


@njit(cache=True, nogil=True)
def _linear_sum(n, level, shift, gamma, before, after):
    """Losses of n linear items from two prefix sums, and the size of the numbers in it.

    Not to be reordered: level and shift may be large and close.
    """
    largest = n * (level - shift)
    return largest - (after - before) - 0.5 * gamma * n, largest + after


@njit(cache=True, nogil=True, fastmath=REORDER_FINITE)
def _run_loss(start, stop, near, D, threshold, gamma, row_weights, slot_weights, long_row, buffers):
    """Losses of a run of rows; fills row weights, adds to slot weights.

    Returns their sum, and that of the largest numbers in the differences of prefix sums.
    """
    firsts, lasts, highest, lowest, sums, steps = buffers
    shift = _running_extremes(D, highest, lowest)
    highest, lowest = highest[: D.size], lowest[: D.size]
    _bisect_rows(highest, lowest, near, threshold - gamma, threshold, firsts, lasts)
    _prefix_sums(D, shift, sums)
    steps[: D.size + 1] = 0.0
    total, size, width_inverse = 0.0, 0.0, 1.0 / gamma
    for p in range(near.size):
        level, begin, end = threshold + near[p], start[p], stop[p]
        value, weight = 0.0, 0.0
        if end - begin >= long_row:
            first = min(max(firsts[p], begin), end)
            end = max(min(lasts[p], end), first)
            # Then all slots before `first` are below the level, and so are the prefix sums' terms.
            if first > begin:
                steps[begin] += 1.0
                steps[first] -= 1.0
                weight = float(first - begin)
                value, largest = _linear_sum(weight, level, shift, gamma, sums[begin], sums[first])
                size += largest
                begin = first
        u, w = D[begin:end], slot_weights[begin:end]
        for s in range(end - begin):
            z = level - u[s]
            alpha = dual_variable(z, width_inverse)
            value += smoothed_value(z, alpha, gamma)
            weight += alpha
            w[s] += alpha
        row_weights[p] = weight
        total += value
    count = 0.0
    for s in range(D.size):
        count += steps[s]
        slot_weights[s] += count
    return total, size
