"""Compiled passes over the rows of a data matrix, dense or sparse, without copies of it.

A matrix is known here by three flat arrays, `rows` = (data, columns, starts): those of CSR, or for
a dense matrix its entries in C order with empty `columns` and `starts`. Which of the two it is
costs one comparison a row, so that every algorithm is written once. Columns are viewed as unsigned
integers, which spares compiled code the test for negative ones. Sums are in double precision,
also of single-precision data.
"""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.floats import REORDER


@njit(cache=True, nogil=True, inline="always")
def row_count(data, starts, d):
    """Return the number of rows."""
    return starts.size - 1 if starts.size > 0 else data.size // d


@njit(cache=True, nogil=True, inline="always")
def row_of(i, n):
    """Return the row of sample i, of n rows that may stand twice (see `twice`)."""
    return i if i < n else i - n


@njit(cache=True, nogil=True, fastmath=REORDER, inline="always")
def row_dot(data, columns, starts, d, i, w):
    """Inner product of row i with w."""
    total = 0.0
    if starts.size == 0:
        row = data[i * d : (i + 1) * d]
        for j in range(d):
            total += row[j] * w[j]
    else:
        row, places = data[starts[i] : starts[i + 1]], columns[starts[i] : starts[i + 1]]
        for j in range(row.size):
            total += row[j] * w[places[j]]
    return total


@njit(cache=True, nogil=True, fastmath=REORDER, inline="always")
def add_row(data, columns, starts, d, i, scale, w):
    """Add scale times row i to w."""
    if starts.size == 0:
        row = data[i * d : (i + 1) * d]
        for j in range(d):
            w[j] += scale * row[j]
    else:
        row, places = data[starts[i] : starts[i + 1]], columns[starts[i] : starts[i + 1]]
        for j in range(row.size):
            w[places[j]] += scale * row[j]


@njit(cache=True, nogil=True, fastmath=REORDER)
def squared_norms(data, columns, starts, d, n):
    """Squared Euclidean norm of every row; `columns` must not repeat within a row."""
    out = np.empty(n)
    for i in range(n):
        total = 0.0
        first, last = (i * d, (i + 1) * d) if starts.size == 0 else (starts[i], starts[i + 1])
        for entry in data[first:last]:
            total += np.float64(entry) * np.float64(entry)
        out[i] = total
    return out


@njit(cache=True, nogil=True)
def multiply(data, columns, starts, d, w, out):
    """Inner products of all rows with w."""
    for i in range(out.size):
        out[i] = row_dot(data, columns, starts, d, i, w)


@njit(cache=True, nogil=True)
def multiply_transposed(data, columns, starts, d, scales, out):
    """Add the sum of scales_i times row i to `out`; rows with scale 0 are not read."""
    for i in range(scales.size):
        if scales[i] != 0.0:
            add_row(data, columns, starts, d, i, scales[i], out)


@njit(cache=True, nogil=True)
def sparse_products(data, columns, starts, out):
    """Add the sum of the outer products of all CSR rows to `out`, lower triangle."""
    for i in range(starts.size - 1):
        for p in range(starts[i], starts[i + 1]):
            row, value = columns[p], data[p]
            for q in range(starts[i], starts[i + 1]):
                if columns[q] <= row:
                    out[row, columns[q]] += value * data[q]


@njit(cache=True, nogil=True)
def add_products(data, columns, starts, d, bias, index, scales, out):
    """Add scales_k times outer products of (x_i, B), x_i rows of CSR, to `out`: lower triangle.

    i is index_k, or see `row_of`. Entries of a row are not repeated; their order is free.
    """
    n_rows = row_count(data, starts, d)
    for k in range(index.size):
        i = row_of(index[k], n_rows)
        first, last = starts[i], starts[i + 1]
        for p in range(first, last):
            value, row = scales[k] * data[p], np.int64(columns[p])
            for q in range(first, p + 1):
                column = np.int64(columns[q])
                out[max(row, column), min(row, column)] += value * data[q]
            if bias != 0.0:
                out[d, row] += value * bias
        if bias != 0.0:
            out[d, d] += scales[k] * bias * bias


@njit(cache=True, nogil=True)
def count_entries(X):
    """Return the number of entries of each row of a dense matrix that are not zero."""
    counts = np.zeros(X.shape[0], np.int64)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            counts[i] += X[i, j] != 0.0
    return counts


@njit(cache=True, nogil=True)
def take_entries(X, starts, columns, data):
    """Write the entries of a dense matrix that are not zero, and their columns, row by row."""
    for i in range(X.shape[0]):
        place = starts[i]
        for j in range(X.shape[1]):
            if X[i, j] != 0.0:
                columns[place], data[place] = j, X[i, j]
                place += 1


@njit(cache=True, nogil=True, fastmath=REORDER)
def squared_distances_from(X, origin):
    """Squared distances of the rows of a dense matrix from a point."""
    out = np.empty(X.shape[0])
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            difference = np.float64(X[i, j]) - origin[j]
            total += difference * difference
        out[i] = total
    return out
