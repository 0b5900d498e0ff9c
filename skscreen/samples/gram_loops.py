"""Compiled passes over rows of a Gram matrix.

A Gram matrix is symmetric, so its columns are read as rows: contiguous in memory. K is float32 or
float64; sums are accumulated in float64 whatever the matrix is stored in. `rows` and `columns` are
int64.
"""

from skscreen._compiled import samples

add_rows = samples.add_gram_rows
"""(K, rows, weights, out) -> None; adds sum_k weights_k K[rows_k] to `out`."""

add_rows_at = samples.add_gram_rows_at
"""(K, rows, weights, columns, out) -> None; adds sum_k weights_k K[rows_k, columns] to `out`."""

signed_block = samples.signed_block
"""(K, rows, columns, y_rows, y_columns, B^2, out) -> None: y_i y_j (K[i, j] + B^2) in `out`."""

copy_block = samples.copy_block
"""(K, rows, columns, own, factor, out) -> None: factor (K[i, j] - own_i - own_j).

Written to the first columns of `out`, float32 of shape (rows.size, columns.size or more).
"""
