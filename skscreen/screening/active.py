"""Active set: apply a ball to all items in one pass and keep what stays undecided."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numba import njit

from skscreen.problems.objective import Evaluation, Objective
from skscreen.screening.bounds import Ball
from skscreen.screening.rules import LINEAR, UNDECIDED, ZERO, decide, sphere_lower, sphere_upper

# Above this share of items left, the reduced evaluations do not earn back the compaction.
_WORTH_RESTRICTING = 0.6


def screen(
    objective: Objective, balls: Sequence[Ball], decisions: np.ndarray | None = None
) -> Objective:
    """Leave out items that one of the balls decides; the optimum stays the same.

    Parameters
    ----------
    objective : Objective
    balls : sequence of Ball
        Each holds the optimum; each decides on its own and the union of decisions holds.
    decisions : ndarray of shape (T,), int8, optional
        Codes of all items of the full problem, updated in place for those left out: 0 undecided,
        1 zero part, 2 linear part.

    Returns
    -------
    Objective
        The reduced problem, or `objective` itself when nothing could be left out.
    """
    geometry, items = objective.geometry, objective.geometry.items
    if decisions is None and objective.proximal is not None:
        decisions = np.zeros(objective.proximal.centre.size, dtype=np.int8)
    start, stop = _ranges(objective)
    row_linear, slot_linear = geometry.weights()
    scratch = geometry.weights()[1], geometry.weights()[1]
    n_zero, n_linear = 0, 0
    for ball in balls:
        zero, linear = _screen_pass(
            start, stop, items.blocks, items.base, items.rank,
            geometry.near_sizes, geometry.far_sizes, *geometry.intervals(ball.terms), ball.radius,
            objective.loss.threshold, objective.loss.linear_below,
            decisions, row_linear, slot_linear, *scratch,
        )  # fmt: skip
        n_zero, n_linear = n_zero + zero, n_linear + linear
    if n_zero + n_linear == 0:
        return objective
    linear_term = objective.linear_term
    if n_linear:
        # The pass stores the steps of a staircase: constant time for a whole prefix of slots.
        np.cumsum(slot_linear, out=slot_linear)
        linear_term = linear_term + geometry.weighted_sum(row_linear, slot_linear)[0]
    if objective.proximal is not None:
        objective.proximal.fix(decisions == ZERO, decisions == LINEAR)
    return replace(
        objective,
        geometry=geometry.restrict(start, stop),
        linear_term=linear_term,
        n_zero=objective.n_zero + n_zero,
        n_linear=objective.n_linear + n_linear,
    )


def active_part(objective: Objective, evaluation: Evaluation) -> Objective:
    """Leave out items whose dual variable is 0 at a point: a guess, not a decision.

    The evaluation stays valid for the part, whose value and gradient at the point are the same.
    """
    margins = evaluation.margins
    start, stop = _ranges(objective)
    width = objective.proximal.width if objective.proximal else 0.0
    kept = _active_pass(start, stop, margins.near, margins.far, objective.loss.threshold + width)
    if kept > _WORTH_RESTRICTING * objective.geometry.n_items:
        return objective
    return replace(objective, geometry=objective.geometry.restrict(start, stop))


def _ranges(objective: Objective) -> tuple[np.ndarray, np.ndarray]:
    """Return copies of the slot ranges of all rows."""
    items, pool = objective.geometry.items, objective.geometry.pool
    start, stop = (pool.empty(items.start.size, np.int64) for _ in range(2))
    start[:], stop[:] = items.start, items.stop
    return start, stop


@njit(cache=True, nogil=True)
def _screen_pass(
    start, stop, blocks, base, rank, near_sizes, far_sizes,
    near_low, near_high, far_low, far_high, radius, threshold, linear_below,
    decisions, row_linear, slot_steps, prefix_high, suffix_low,
):  # fmt: skip
    """Shrink every row to its undecided interval; returns how many items leave each way.

    Two steps a row, for H = v v' - u u'. With |H| <= |u|^2 + |v|^2 the rule separates into a row
    and a slot part, and running extremes of the slot parts over a block are monotone: bisection
    finds a prefix in the linear and a suffix in the zero part without looking at the items. Then
    single items are taken off both ends with |H| <= sqrt(|u|^4 + |v|^4).
    """
    for b in range(blocks.size - 1):
        extreme = -np.inf
        for s in range(blocks[b], blocks[b + 1]):
            extreme = max(extreme, sphere_upper(far_high[s], far_sizes[s], radius))
            prefix_high[s] = extreme
        extreme = np.inf
        for s in range(blocks[b + 1] - 1, blocks[b] - 1, -1):
            extreme = min(extreme, sphere_lower(far_low[s], far_sizes[s], radius))
            suffix_low[s] = extreme
    n_zero, n_linear = 0, 0
    for p in range(start.size):
        first, last = start[p], stop[p]
        zero_level = threshold + sphere_upper(near_high[p], near_sizes[p], radius)
        linear_level = linear_below + sphere_lower(near_low[p], near_sizes[p], radius)
        # Most rows are decided as a whole, or not at all.
        if suffix_low[first] > zero_level:
            end = first
        elif suffix_low[last - 1] > zero_level:
            end = _first_above(suffix_low, first, last, zero_level)
        else:
            end = last
        if end == first or prefix_high[first] >= linear_level:
            begin = first
        elif prefix_high[end - 1] < linear_level:
            begin = end
        else:
            begin = _first_not_below(prefix_high, first, end, linear_level)
        if begin > first:
            slot_steps[first] += 1.0
            if begin < slot_steps.size:
                slot_steps[begin] -= 1.0
        if decisions is not None:
            for s in range(first, begin):
                decisions[base[p] + rank[s]] = LINEAR
            for s in range(end, last):
                decisions[base[p] + rank[s]] = ZERO
        linear = begin - first
        near_square = near_sizes[p] * near_sizes[p]
        for from_left in (True, False):
            while begin < end:
                s = begin if from_left else end - 1
                norm = np.sqrt(near_square + far_sizes[s] * far_sizes[s])
                code = decide(
                    sphere_lower(far_low[s] - near_high[p], norm, radius),
                    sphere_upper(far_high[s] - near_low[p], norm, radius),
                    threshold,
                    linear_below,
                )
                if code == UNDECIDED:
                    break
                if code == LINEAR:
                    slot_steps[s] += 1.0
                    if s + 1 < slot_steps.size:
                        slot_steps[s + 1] -= 1.0
                    linear += 1
                if decisions is not None:
                    decisions[base[p] + rank[s]] = code
                if from_left:
                    begin += 1
                else:
                    end -= 1
        row_linear[p] += linear
        n_linear += linear
        n_zero += (last - first) - (end - begin) - linear
        start[p], stop[p] = begin, end
    return n_zero, n_linear


@njit(inline="always")
def _first_above(values, first, last, level):
    """Return the first index in first:last of an ascending array with a value > level."""
    while first < last:
        middle = (first + last) >> 1
        if values[middle] > level:
            last = middle
        else:
            first = middle + 1
    return first


@njit(inline="always")
def _first_not_below(values, first, last, level):
    """Return the first index in first:last of an ascending array with a value >= level."""
    while first < last:
        middle = (first + last) >> 1
        if values[middle] >= level:
            last = middle
        else:
            first = middle + 1
    return first


@njit(cache=True, nogil=True)
def _active_pass(start, stop, near_d, far_d, threshold):
    """Shrink each row to the slots with a margin below the threshold; return how many are left."""
    kept = 0
    for p in range(start.size):
        level = threshold + near_d[p]
        first, last = start[p], stop[p]
        while first < last and far_d[first] > level:
            first += 1
        while first < last and far_d[last - 1] > level:
            last -= 1
        start[p], stop[p] = first, last
        kept += last - first
    return kept
