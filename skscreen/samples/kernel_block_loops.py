"""Compiled passes over tiles of exponents: powers of two, and weighted sums of them.

2^t, for t <= 1/2, is 2^k times a polynomial in t - k, where k is the integer nearest to t: no
branch and no table, so that loops of it vectorise. Smaller powers than 2^-125 (float32) or 2^-1021
(float64) become these.
"""

from skscreen._compiled import samples

powers = samples.powers
"""(T, out, first_row, first_column) -> None; writes 2^t for a tile to a part of `out`, float32."""

powers_double = samples.powers_double
"""(T,) -> None; replaces the entries t of a tile by 2^t, float64."""

add_powers = samples.add_powers
"""(T, weights, negative, own, other, bound, values, errors) -> None: sums of kernel values.

Adds sum_i c_i 2^T_ij to the `values` (n,) of all j, and bounds to their `errors` (n,). T has shape
(m, n), `weights` (m,) its type, |c_i|; `negative` tells whether c_i <= 0, for all i. `own` (m, 2)
has |a|^2 of the rows, and errors of their exponents in units over |a|^2 + |b|^2, times ln 2;
`other` (n,) has |b|^2 of the columns. `bound` is a tuple: unit, times a factor for products of
errors; relative errors in units without those of exponents; unit of double precision.
"""

differences = samples.differences
"""(A, B, factor, T) -> None; T becomes factor |a_i - b_j|^2, by differences, float64."""
