"""Passes over comparisons that do not look at every item, where many rows share their slots.

Rows with the same range of slots (all near pairs of an anchor, when nothing is screened) form a
*group*. For a row with level c = threshold + distance, the items with slot distances u <= c - gamma
have alpha = 1 and those with u >= c have alpha = 0. So the slots of a group are put in order of
distance once, and a row needs only the number and the sum of the distances below c - gamma, plus
a look at the items in between. Slots are ordered by buckets of equal width: one counting sort,
and the bucket of a level is found without a search. Which side of a bucket's items an item is on
is decided by looking, so that the width of the buckets changes no result.

For m rows and k slots this costs O(m + k) and the items on the quadratic piece, instead of m k.
Dual variables are those of `loss_pass` item by item: numbers of items are exact in floating point,
and only the value uses a prefix sum, whose rounding error is returned.
"""

import numpy as np
from numba import njit

from skscreen.problems.losses import dual_variable, smoothed_value
from skscreen.problems.pair_kernels import EPS, REORDER, loss_pass
from skscreen.problems.pair_kernels import count_decidable as count_item_by_item

# Groups of m rows and k slots are sorted from m k >= SORTED_FROM (m + k) on: a slot costs about as
# much as 30 items there and a row as 60, and the items that are looked at anyway come on top.
SORTED_FROM = 64

# Rows summed before their sum is added to the others: keeps rounding errors small.
_ROWS_PER_SUM = 1024

# Buckets for each slot: more cost more than the items they keep from being looked at.
_BUCKETS_PER_SLOT = 0.5


@njit(cache=True, nogil=True)
def sorted_loss_pass(
    start, stop, near_d, far_d, threshold, gamma, row_weights, slot_weights, sorted_from
):
    """Like `loss_pass`; returns the value and a bound on its rounding error.

    That is 16 eps of the value, an allowance for sums that are kept short, and what the prefix
    sums can add to it.
    """
    total, lost, size, direct, first = 0.0, 0.0, 0.0, 0, 0
    buffers = _buffers(start, stop)
    while first < near_d.size:
        last = _end_of_group(start, stop, first)
        in_order = _worth_sorting(last - first, stop[first] - start[first], sorted_from)
        if in_order or first - direct >= _ROWS_PER_SUM:
            value = loss_pass(
                start[direct:first], stop[direct:first], near_d[direct:first], far_d,
                threshold, gamma, row_weights[direct:first], slot_weights,
            )  # fmt: skip
            total, lost = _add(total, lost, value)
            direct = first
        if in_order:
            slots = slice(start[first], stop[first])
            value, largest = _group_loss(
                near_d[first:last], far_d[slots], threshold, gamma,
                row_weights[first:last], slot_weights[slots], buffers,
            )  # fmt: skip
            total, lost = _add(total, lost, value)
            size += largest
            direct = last
        first = last
    value = loss_pass(
        start[direct:], stop[direct:], near_d[direct:], far_d,
        threshold, gamma, row_weights[direct:], slot_weights,
    )  # fmt: skip
    total, lost = _add(total, lost, value)
    return total + lost, 16.0 * EPS * (total + size)


@njit(cache=True, nogil=True)
def sorted_count_decidable(start, stop, near_d, far_d, threshold, linear_below, sorted_from):
    """Like `pair_kernels.count_decidable`."""
    count, direct, first = 0, 0, 0
    buffers = _buffers(start, stop)
    while first < near_d.size:
        last = _end_of_group(start, stop, first)
        if _worth_sorting(last - first, stop[first] - start[first], sorted_from):
            count += count_item_by_item(
                start[direct:first], stop[direct:first], near_d[direct:first], far_d,
                threshold, linear_below,
            )  # fmt: skip
            slots = slice(start[first], stop[first])
            near, far = near_d[first:last], far_d[slots]
            count += _group_decidable(near, far, threshold, linear_below, buffers)
            direct = last
        first = last
    return count + count_item_by_item(
        start[direct:], stop[direct:], near_d[direct:], far_d, threshold, linear_below
    )


@njit(cache=True, nogil=True)
def _buffers(start, stop):
    """Work arrays for the longest range: keys, places, sorted distances, weights, by bucket 3."""
    longest = 0
    for p in range(start.size):
        longest = max(longest, stop[p] - start[p])
    n = _n_buckets(longest) + 1
    return (
        np.empty(longest, np.int32), np.empty(longest, np.int32), np.empty(longest),
        np.empty(longest), np.empty(n, np.int32), np.empty(n), np.empty(n),
    )  # fmt: skip


@njit(inline="always")
def _add(total, lost, value):
    """Compensated sum of numbers >= 0: the new total and all that rounding has lost."""
    new = total + value
    return new, lost + ((total - new) + value if total >= value else (value - new) + total)


@njit(inline="always")
def _n_buckets(n_slots):
    """Buckets of a group: three at the ends hold what is outside the range of the levels."""
    return int(_BUCKETS_PER_SLOT * n_slots) + 4


@njit(inline="always")
def _end_of_group(start, stop, first):
    """Return the end of the run of rows with the range of the given one."""
    last = first + 1
    while last < start.size and start[last] == start[first] and stop[last] == stop[first]:
        last += 1
    return last


@njit(inline="always")
def _worth_sorting(n_rows, n_slots, sorted_from):
    return n_rows * n_slots >= sorted_from * (n_rows + n_slots) and n_slots > 0


@njit(inline="always")
def _bucket(value, low, scale, last):
    """Bucket of a distance: monotone in floating point, 0 only for values below `low`."""
    return np.int32(min(max((value - low) * scale + 1.0, 0.0), last))


@njit(cache=True, nogil=True, fastmath=REORDER)
def _fill_buckets(D, low, high, keys, places, values, ends):
    """Order the slots by bucket: the place of each, the distances there, the ends of the buckets.

    Returns the scale of the buckets between the smallest and the largest level asked for. Any
    positive scale is right; levels so large that gamma is lost in rounding all get one bucket.
    """
    n = _n_buckets(D.size)
    width = max(high - low, EPS * max(abs(low), abs(high)), 1e-300)
    scale, last = (n - 4) / width, n - 1.0
    for s in range(D.size):
        keys[s] = _bucket(D[s], low, scale, last)
    ends[:n] = 0
    for s in range(D.size):
        ends[keys[s]] += 1
    total = 0
    for b in range(n):
        ends[b], total = total, total + ends[b]
    for s in range(D.size):
        place = ends[keys[s]]
        places[s], values[place] = place, D[s]
        ends[keys[s]] = place + 1
    return scale


@njit(cache=True, nogil=True)
def _prefix_sums(values, ends, shift, sums):
    """Fill in sums of values - shift >= 0 over all buckets before each; not to be reordered."""
    total, lost, place = 0.0, 0.0, 0
    for b in range(ends.size):
        sums[b] = total + lost
        while place < ends[b]:
            # Short sums have small rounding errors; what is lost between them is kept.
            last, part = min(place + 8, ends[b]), 0.0
            for s in range(place, last):
                part += values[s] - shift
            total, lost = _add(total, lost, part)
            place = last


@njit(cache=True, nogil=True, fastmath=REORDER)
def _group_loss(near, D, threshold, gamma, row_weights, slot_weights, buffers):
    """Losses of rows with the same slots; fills row weights, adds to slot weights.

    Returns their sum and the sum of the largest losses on the rows' linear parts times their
    number of items, which bounds all that the prefix sums have added up.
    """
    keys, places, values, weights, ends, sums, counts = buffers
    n, n_slots, shift = _n_buckets(D.size), D.size, D.min()
    low, high = (threshold - gamma) + near.min(), threshold + near.max()
    scale, last = _fill_buckets(D, low, high, keys, places, values, ends), n - 1.0
    _prefix_sums(values, ends[:n], shift, sums)
    weights[:n_slots] = 0.0
    counts[:n] = 0.0
    total, size, width_inverse = 0.0, 0.0, 1.0 / gamma
    for p in range(near.size):
        level = threshold + near[p]
        below = _bucket((threshold - gamma) + near[p], low, scale, last)
        begin, end = ends[below - 1] if below > 0 else 0, ends[_bucket(level, low, scale, last)]
        # Everything in the buckets before `below` is linear.
        counts[below] += 1.0
        largest = begin * (level - shift)
        size += max(largest, 0.0)
        value, weight = largest - sums[below] - 0.5 * gamma * begin, 0.0
        u, w = values[begin:end], weights[begin:end]
        for s in range(u.size):
            z = level - u[s]
            alpha = dual_variable(z, width_inverse)
            value += smoothed_value(z, alpha, gamma)
            weight += alpha
            w[s] += alpha
        row_weights[p] = weight + begin
        total += value
    count = 0.0
    for b in range(n - 1, -1, -1):
        counts[b], count = count, count + counts[b]
    for s in range(n_slots):
        slot_weights[s] += weights[places[s]] + counts[keys[s]]
    return total, size


@njit(cache=True, nogil=True, fastmath=REORDER)
def _group_decidable(near, D, threshold, linear_below, buffers):
    """Count the items of a group above the threshold or below the linear piece."""
    keys, places, values, _, ends, _, _ = buffers
    n = _n_buckets(D.size)
    last = n - 1.0
    low, high = linear_below + near.min(), threshold + near.max()
    scale = _fill_buckets(D, low, high, keys, places, values, ends)
    count = 0.0
    for p in range(near.size):
        upper, lower = threshold + near[p], linear_below + near[p]
        below = _bucket(lower, low, scale, last)
        begin, end = ends[below - 1] if below > 0 else 0, ends[_bucket(upper, low, scale, last)]
        u, row = values[begin:end], 0.0
        for s in range(u.size):
            row += 1.0 if (u[s] > upper) | (u[s] < lower) else 0.0
        count += row + begin + (D.size - end)
    return np.int64(count)
