"""Compiled passes over tiles of exponents: powers of two, and weighted sums of them.

2^t is 2^k times a polynomial in t - k, where k is the integer nearest to t. Adding a large number
rounds t to k, leaving k in the lowest bits of the sum; shifted, they are what the exponent of the
polynomial's value has to grow by. No branch and no table: loops of it vectorise.
"""

from math import log

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload
from numpy.polynomial import chebyshev
from scipy.special import iv

from skscreen.core.compiling import njit

# Sums may not be reordered: t + large - large would be t.
FAST = {"contract", "nsz", "nnan"}


def _polynomial(degree: int, dtype) -> tuple:
    """Return the coefficients of 2^f on [-1/2, 1/2]: its Chebyshev series, cut off."""
    orders = np.arange(degree + 1)
    series = np.where(orders == 0, 1.0, 2.0) * iv(orders, 0.5 * log(2.0))
    powers = chebyshev.cheb2poly(series) * 2.0**orders
    return tuple(dtype(value) for value in powers)


# Relative errors of 2e-9 and 1e-17, below the rounding errors.
_A0, _A1, _A2, _A3, _A4, _A5, _A6 = _polynomial(6, np.float32)
_B = _polynomial(11, np.float64)
_B0, _B1, _B2, _B3, _B4, _B5, _B6, _B7, _B8, _B9, _B10, _B11 = _B

# 1.5 times 2 to the number of bits after the point: the sum has no other digits than integers.
_ROUND_SINGLE, _ROUND_DOUBLE = np.float32(1.5 * 2**23), 1.5 * 2.0**52
# Smaller powers are no normal numbers; 2^-126 is nothing next to what is added up here.
_LEAST_SINGLE, _LEAST_DOUBLE = np.float32(-125.0), -1021.0
_MOST_SINGLE, _NOTHING = np.float32(1.0), np.float32(0.0)

# Rows whose weighted sum is in single precision.
_SUMMED = 32


@intrinsic
def _times_power(context, value, rounded):
    """Return value 2^k, k the lowest bits of `rounded`."""
    bits, point = (32, 23) if value == types.float32 else (64, 52)

    def generate(context, builder, signature, arguments):
        whole = ir.IntType(bits)
        mantissa, power = (builder.bitcast(argument, whole) for argument in arguments)
        power = builder.shl(power, ir.Constant(whole, point))
        kind = context.get_value_type(signature.return_type)
        return builder.bitcast(builder.add(mantissa, power), kind)

    return value(value, value), generate


@njit(inline="always")
def _exp2_single(t):
    """Return 2^t for t <= 1/2, in single precision."""
    t = max(min(t, _MOST_SINGLE), _LEAST_SINGLE)
    rounded = t + _ROUND_SINGLE
    f = t - (rounded - _ROUND_SINGLE)
    p = _A0 + f * (_A1 + f * (_A2 + f * (_A3 + f * (_A4 + f * (_A5 + f * _A6)))))
    return _times_power(p, rounded)


@njit(inline="always")
def _exp2_double(t):
    """Return 2^t for t <= 1/2, in double precision."""
    t = max(min(t, 1.0), _LEAST_DOUBLE)
    rounded = t + _ROUND_DOUBLE
    f = t - (rounded - _ROUND_DOUBLE)
    p = _B6 + f * (_B7 + f * (_B8 + f * (_B9 + f * (_B10 + f * _B11))))
    p = _B0 + f * (_B1 + f * (_B2 + f * (_B3 + f * (_B4 + f * (_B5 + f * p)))))
    return _times_power(p, rounded)


def exp2(t):
    """Return 2^t for t <= 1/2, in the precision of t; for compiled loops."""
    raise NotImplementedError


@overload(exp2, jit_options={"fastmath": FAST})
def _exp2(t):
    if t == types.float32:
        return lambda t: _exp2_single(t)
    return lambda t: _exp2_double(t)


@njit(cache=True, nogil=True, fastmath=FAST)
def powers(T, out, first_row, first_column):
    """Write 2^t for the entries t of a tile to a part of `out`."""
    for i in range(T.shape[0]):
        row, into = T[i], out[first_row + i, first_column : first_column + T.shape[1]]
        for j in range(row.size):
            into[j] = _exp2_single(row[j])


@njit(cache=True, nogil=True, fastmath=FAST)
def powers_double(T):
    """Replace the entries t of a tile by 2^t, in double precision."""
    for i in range(T.shape[0]):
        row = T[i]
        for j in range(row.size):
            row[j] = _exp2_double(row[j])


@njit(cache=True, nogil=True, fastmath=FAST)
def add_powers(T, weights, negative, own, other, bound, values, errors):
    """Add sum_i c_i 2^T_ij to the values of all j, and bounds to their errors.

    Parameters
    ----------
    T : ndarray of shape (m, n)
    weights : ndarray of shape (m,)
        |c_i|, of the type of T.
    negative : bool
        Whether c_i <= 0, for all i.
    own, other, bound
        See `add_sums`.
    values, errors : ndarray of shape (n,)
        Changed.
    """
    m, n = T.shape
    sums = np.empty(n, T.dtype)
    for first in range(0, m, _SUMMED):
        last = min(first + _SUMMED, m)
        sums[:] = 0
        whole = last - (last - first) % 4
        # Four rows a pass, to read and write sums less.
        for i in range(first, whole, 4):
            a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
            A, B, C, D = T[i], T[i + 1], T[i + 2], T[i + 3]
            for j in range(n):
                one = a * exp2(A[j]) + b * exp2(B[j])
                sums[j] += one + (c * exp2(C[j]) + d * exp2(D[j]))
        for i in range(whole, last):
            a, A = weights[i], T[i]
            for j in range(n):
                sums[j] += a * exp2(A[j])
        add_sums(sums, negative, own[first:last], other, bound, values, errors)


@njit(nogil=True, fastmath=FAST)
def add_sums(sums, negative, own, other, bound, values, errors):
    """Add the sums of |c_i| K_ij over a few rows with their sign to values, and bounds to errors.

    Parameters
    ----------
    sums : ndarray of shape (n,)
    negative : bool
    own : ndarray of shape (m, 2)
        Of the rows |a|^2, and errors of exponents in units over |a|^2 + |b|^2, times ln 2.
    other : ndarray of shape (n,)
        |b|^2 of the columns.
    bound : tuple of float
        Unit, times a factor for products of errors; relative errors in units without those of
        exponents; unit of double precision.
    values, errors : ndarray of shape (n,)
        Changed.
    """
    unit, constant, double = bound
    square = exponents = 0.0
    for i in range(len(own)):
        square, exponents = max(square, own[i, 0]), max(exponents, own[i, 1])
    sign = -1.0 if negative else 1.0
    for j in range(sums.size):
        total = np.float64(sums[j])
        values[j] += sign * total
        relative = unit * (constant + exponents * (square + other[j]))
        errors[j] += relative * total + double * abs(values[j])


@njit(cache=True, nogil=True, fastmath=FAST)
def differences(A, B, factor, T):
    """Write factor |a_i - b_j|^2 to T, by differences."""
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            total = 0.0
            for k in range(A.shape[1]):
                difference = A[i, k] - B[j, k]
                total += difference * difference
            T[i, j] = factor * total
