"""Compiled passes over the rows of a data matrix, dense or sparse, without copies of it.

A matrix is known here by `rows` = (data, columns, starts, d): three flat contiguous arrays and the
number of columns. The arrays are those of CSR, or for a dense matrix its entries in C order with
empty `columns` and `starts`; which of the two it is costs one comparison a row, so that every
algorithm is written once. Data is float32 or float64, sums are in double precision. Columns and
starts are uint32 and int32, or uint64 and int64: unsigned, which spares the test for negative ones.
"""

import numpy as np

from skscreen._compiled import samples


def squared_norms(rows: tuple, n: int) -> np.ndarray:
    """Return the squared Euclidean norms of n rows; columns must not repeat within a row."""
    out = np.empty(n)
    samples.squared_norms(*rows, out)
    return out


multiply = samples.multiply
"""(*rows, w, out) -> None; `out` (n,) becomes the inner products with w."""

multiply_transposed = samples.multiply_transposed
"""(*rows, scales, out) -> None; adds scales_i (n,) times row i to `out`; 0 is not read."""

sparse_products = samples.sparse_products
"""(*rows, out) -> None; adds outer products of CSR rows to the lower triangle of `out` (d, d)."""

add_products = samples.add_products
"""(*rows, bias, index, scales, out) -> None, for CSR rows without repeated entries.

Adds scales_k times outer products of (x_i, B) to the lower triangle of `out` (d + (B != 0),) * 2;
i is index_k, or index_k - n of n rows that stand twice (see `rows`).
"""


def count_entries(X: np.ndarray) -> np.ndarray:
    """Return the number of entries of each row of a dense matrix that are not zero."""
    counts = np.empty(X.shape[0], np.int64)
    samples.count_entries(X, counts)
    return counts


take_entries = samples.take_entries
"""(X, starts, columns, data) -> None; writes entries of X (n, d) that are not zero as CSR."""


def squared_distances_from(X: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Return the squared distances of the rows of a dense matrix from a point."""
    out = np.empty(X.shape[0])
    samples.squared_distances_from(X, origin, out)
    return out
