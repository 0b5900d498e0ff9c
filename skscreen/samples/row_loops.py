"""Compiled passes over the rows of a data matrix, dense or sparse, without copies of it.

A matrix is known here by three flat arrays, `rows` = (data, columns, starts): those of CSR, or for
a dense matrix its entries in C order with empty `columns` and `starts`. Which of the two it is
costs one comparison a row, so that every algorithm is written once. Columns are viewed as unsigned
integers, which spares compiled code the test for negative ones. Sums are in double precision,
also of single-precision data.

Data is float32 or float64; columns and starts are uint32 and int32, or uint64 and int64; d is the
number of columns. All arrays are contiguous.
"""

import numpy as np

from skscreen._compiled import samples


def squared_norms(data, columns, starts, d, n) -> np.ndarray:
    """Return the squared Euclidean norms of n rows; `columns` must not repeat within a row."""
    out = np.empty(n)
    samples.squared_norms(data, columns, starts, d, out)
    return out


multiply = samples.multiply
"""(data, columns, starts, d, w, out) -> None; `out` (n,) becomes the inner products with w."""

multiply_transposed = samples.multiply_transposed
"""(data, columns, starts, d, scales, out) -> None; adds the sum of scales_i times row i to `out`.

`scales` has shape (n,); rows with scale 0 are not read.
"""

sparse_products = samples.sparse_products
"""(data, columns, starts, d, out) -> None; adds the outer products of all CSR rows to `out` (d, d).

The lower triangle only.
"""

add_products = samples.add_products
"""(data, columns, starts, d, bias, index, scales, out) -> None, for rows of CSR.

Adds scales_k times the outer products of (x_i, B), the lower triangle of `out` (d + (B != 0),) * 2.
i is index_k, or index_k - n of n rows that stand twice (see `rows`). Entries of a row are not
repeated; their order is free.
"""


def count_entries(X: np.ndarray) -> np.ndarray:
    """Return the number of entries of each row of a dense matrix that are not zero."""
    counts = np.empty(X.shape[0], np.int64)
    samples.count_entries(X, counts)
    return counts


take_entries = samples.take_entries
"""(X, starts, columns, data) -> None; writes entries of X that are not zero, and their columns.

Row by row; `starts` (n + 1,) and `columns` are both int32 or int64.
"""


def squared_distances_from(X: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Return the squared distances of the rows of a dense matrix from a point."""
    out = np.empty(X.shape[0])
    samples.squared_distances_from(X, origin, out)
    return out
