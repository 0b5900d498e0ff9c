"""Sweeps of dual coordinate descent for many one-vs-rest problems at once.

All problems have the same rows and only differ in their signs. A visit of a row reads it once and
moves its dual variable in each of `LANES` problems: their weights of a feature are contiguous, in
single precision, and are read, multiplied and written as one vector. For rows with few entries in
many columns, such as texts, most of the time goes into finding weights in memory; here it is
shared.

The result is only close to the solution, and a start for solvers in double precision.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from skscreen.core.floats import REORDER

# Number of problems whose weights are contiguous: two cache lines.
LANES = 32

_ONE, _HALF, _NOTHING = np.float32(1.0), np.float32(0.5), np.float32(0.0)


def _vector(context, builder, kind, argument, place):
    """Return the address of the lanes at a place of a flat array, and their values."""
    flat = context.make_array(kind)(context, builder, argument)
    lanes = ir.VectorType(ir.FloatType(), LANES).as_pointer()
    address = builder.bitcast(builder.gep(flat.data, [place]), lanes)
    return address, builder.load(address, align=4)


def _added(builder, value, vector, total):
    """Return total + value * vector."""
    kind, place = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(ir.IntType(32), LANES)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.IntType(32)(0))
    values = builder.shuffle_vector(first, first, ir.Constant(place, [0] * LANES))
    product = builder.fmul(values, vector, flags=("contract",))
    return builder.fadd(product, total, flags=("contract",))


@intrinsic
def _add(context, value, source, i, target, j):
    """Add value times the lanes at source[i] to those at target[j]."""

    def generate(context, builder, signature, arguments):
        value, source, i, target, j = arguments
        _, vector = _vector(context, builder, signature.args[1], source, i)
        address, total = _vector(context, builder, signature.args[3], target, j)
        builder.store(_added(builder, value, vector, total), address, align=4)
        return context.get_dummy_value()

    return types.void(types.float32, source, types.int64, target, types.int64), generate


@intrinsic
def _add_two(context, value, i, other, k, source, target):
    """Add value times the lanes at source[i], and `other` times those at source[k], to target."""

    def generate(context, builder, signature, arguments):
        value, i, other, k, source, target = arguments
        kind = signature.args[4]
        address, total = _vector(context, builder, signature.args[5], target, ir.IntType(64)(0))
        for factor, place in ((value, i), (other, k)):
            vector = _vector(context, builder, kind, source, place)[1]
            total = _added(builder, factor, vector, total)
        builder.store(total, address, align=4)
        return context.get_dummy_value()

    single, whole = types.float32, types.int64
    return types.void(single, whole, single, whole, source, target), generate


@njit(cache=True, nogil=True, fastmath=REORDER, error_model="numpy")
def sweep(
    data, columns, starts, bias, own, size, shifts, steps, alpha, weights, order, rest, gaps, sums
):  # fmt: skip
    """Move the dual variables of the rows `order`, in that order, to their best values.

    Parameters
    ----------
    data, columns, starts
        Of CSR rows; `data` in single precision.
    bias : float32
        Value of the feature that carries the intercept; its weights come last.
    own : ndarray of shape (n,)
        The problem among those at hand in which a row has the sign +1; another number for none.
    size : int
        Problems at hand, no more than `LANES`.
    shifts, steps : ndarray of shape (n,), float32
        Of the losses, and 1 / (|z_i|^2 + shift_i).
    alpha : ndarray of shape (n, LANES), float32
        Updated, as are the weights and the order.
    weights : ndarray of shape ((d + 1) * LANES,), float32
        Those of sum_i alpha_i z_i.
    order : ndarray
        Rows; the first of them become those that do not rest.
    rest : float
        A row rests if all its variables are 0 and all its gradients below minus this.
    gaps, sums : ndarray of shape (LANES,)
        Receive the sums of slacknesses, of the margins met on the way: an estimate; and those of
        the dual variables.

    Returns
    -------
    kept : int
        Rows that do not rest.
    largest : float
        Gradient of a variable that moved.
    """
    kept, largest, last = 0, _NOTHING, weights.size - LANES
    scores = np.empty(LANES, np.float32)
    for k in range(LANES):
        gaps[k] = sums[k] = 0.0
    for t in range(order.size):
        i = order[t]
        first, end = starts[i], starts[i + 1]
        for k in range(LANES):
            scores[k] = _NOTHING
        for p in range(first, end - 1, 2):
            place, other = np.int64(columns[p]) * LANES, np.int64(columns[p + 1]) * LANES
            _add_two(data[p], place, data[p + 1], other, weights, scores)
        if (end - first) % 2 == 1:
            _add(data[end - 1], weights, np.int64(columns[end - 1]) * LANES, scores, 0)
        _add(bias, weights, last, scores, 0)
        moved, resting, steepest = _moves(
            scores, own[i], size, shifts[i], steps[i], alpha[i], rest, gaps, sums
        )
        largest = max(largest, steepest)
        if not resting:
            order[kept] = i
            kept += 1
        if moved:
            for p in range(first, end):
                _add(data[p], scores, 0, weights, np.int64(columns[p]) * LANES)
            _add(bias, scores, 0, weights, last)
    return kept, largest


@njit(inline="always")
def _moves(scores, own, size, shift, step, alpha, rest, gaps, sums):
    """Move the variables of a row; its scores become what these moves add to the weights."""
    moved, resting, steepest = False, True, _NOTHING
    if 0 <= own < size:
        scores[own] = -scores[own]
    for k in range(size):
        old, short = alpha[k], _ONE + scores[k]
        slope, lost = short - shift * old, max(short, _NOTHING)
        new = max(old + slope * step, _NOTHING)
        gaps[k] += _HALF / shift * (shift * old - lost) ** 2 + old * max(-short, _NOTHING)
        sums[k] += new
        alpha[k], scores[k] = new, old - new
        moved = moved or new != old
        resting = resting and new == _NOTHING and slope < -rest
        steepest = max(steepest, abs(new - old) / step)
    for k in range(size, LANES):
        scores[k] = _NOTHING
    if 0 <= own < size:
        scores[own] = -scores[own]
    return moved, resting, steepest
