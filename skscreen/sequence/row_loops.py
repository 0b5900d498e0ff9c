"""Compiled products of the rows of one chain, dense or sparse, with tables of weights.

`rows` = (data, columns, starts) are those of `Sequences`: CSR, or for a dense matrix its entries
in C order with empty `columns` and `starts`. A table has a row for each feature and a column for
each label, so that a sparse row touches whole lines of memory.
"""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.floats import REORDER


@njit(cache=True, nogil=True, fastmath=REORDER)
def row_scores(rows, begin, end, W, out):
    """Fill `out` with the products of the rows begin to end - 1 with W."""
    data, columns, starts = rows
    if starts.size == 0:
        d = W.shape[0]
        np.dot(data[begin * d : end * d].reshape(end - begin, d), W, out)
        return
    for t in range(begin, end):
        scores = out[t - begin]
        scores[:] = 0.0
        for p in range(starts[t], starts[t + 1]):
            value, line = data[p], W[columns[p]]
            for j in range(line.size):
                scores[j] += value * line[j]


@njit(cache=True, nogil=True, fastmath=REORDER)
def add_rows(rows, begin, end, weights, scale, W):
    """Add scale times the transposed rows begin to end - 1 times `weights` to W."""
    data, columns, starts = rows
    m = W.shape[1]
    if starts.size == 0:
        d = W.shape[0]
        change = np.dot(data[begin * d : end * d].reshape(end - begin, d).T, weights)
        for i in range(d):
            for j in range(m):
                W[i, j] += scale * change[i, j]
        return
    for t in range(begin, end):
        for j in range(m):
            value = scale * weights[t - begin, j]
            if value != 0.0:
                for p in range(starts[t], starts[t + 1]):
                    W[columns[p], j] += value * data[p]


@njit(cache=True, nogil=True)
def clear_rows(rows, begin, end, weights, W):
    """Set what `add_rows` has changed in a table of zeros to zero again."""
    columns, starts = rows[1], rows[2]
    if starts.size == 0:
        W[:] = 0.0
        return
    for t in range(begin, end):
        for j in range(W.shape[1]):
            if weights[t - begin, j] != 0.0:
                for p in range(starts[t], starts[t + 1]):
                    W[columns[p], j] = 0.0
