"""Compiled passes over rows of a Gram matrix.

A Gram matrix is symmetric, so its columns are read as rows: contiguous in memory. Sums are
accumulated in float64 whatever the matrix is stored in.
"""

from skscreen.core.compiling import njit


@njit(cache=True, nogil=True)
def add_rows(K, rows, weights, out):
    """Add sum_k weights_k K[rows_k] to out; four rows a pass, to read and write out less."""
    m = rows.size
    whole = m - m % 4
    for k in range(0, whole, 4):
        a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        A, B, C, D = K[rows[k]], K[rows[k + 1]], K[rows[k + 2]], K[rows[k + 3]]
        for j in range(out.size):
            out[j] += (a * A[j] + b * B[j]) + (c * C[j] + d * D[j])
    for k in range(whole, m):
        a, A = weights[k], K[rows[k]]
        for j in range(out.size):
            out[j] += a * A[j]


@njit(cache=True, nogil=True)
def add_rows_at(K, rows, weights, columns, out):
    """Add sum_k weights_k K[rows_k, columns] to out."""
    m = rows.size
    whole = m - m % 4
    for k in range(0, whole, 4):
        a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        A, B, C, D = K[rows[k]], K[rows[k + 1]], K[rows[k + 2]], K[rows[k + 3]]
        for j in range(columns.size):
            i = columns[j]
            out[j] += (a * A[i] + b * B[i]) + (c * C[i] + d * D[i])
    for k in range(whole, m):
        a, A = weights[k], K[rows[k]]
        for j in range(columns.size):
            out[j] += a * A[columns[j]]


@njit(cache=True, nogil=True)
def signed_block(K, rows, columns, y_rows, y_columns, square_bias, out):
    """Write y_i y_j (K[i, j] + B^2), i in rows and j in columns, to out."""
    for k in range(rows.size):
        A, y = K[rows[k]], y_rows[k]
        for j in range(columns.size):
            out[k, j] = y * y_columns[j] * (A[columns[j]] + square_bias)


@njit(cache=True, nogil=True)
def copy_block(K, rows, columns, own, factor, out):
    """Write factor (K[i, j] - own_i - own_j), i in rows and j in columns, to columns of out."""
    others = own[columns]
    for k in range(rows.size):
        A, mine = K[rows[k]], own[rows[k]]
        for j in range(columns.size):
            out[k, j] = factor * (A[columns[j]] - mine - others[j])
