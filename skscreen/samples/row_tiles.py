"""Weighted sums of RBF kernel values from rows of few entries, four rows at a time.

Rows of one side meet a few hundred columns of the other, which stand transposed in cache: each
entry of a row adds a multiple of one of their rows to -|a - b|^2, a loop that vectorises. Powers of
two of these exponents go into the sums at once, so that no kernel value leaves the first-level
cache. Rows that are mostly zero are multiplied without their zeros; of rows of a few features,
which products of matrices are slow for, four share what they read.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TileRows:
    """Rows a in one precision, each filled up with zeros to a multiple of four entries."""

    # indptr, columns, values as in CSR, without columns where all rows have all features; -|a|^2
    # (n,), and what of it does not fit into that.
    arrays: tuple[np.ndarray, ...]
    d: int  # a multiple of four
    width: int  # columns at a time
    groups: np.ndarray  # (n,), groups of four entries, which are added up one after the other
    is_sparse: bool  # whether zeros are left out


def tile_rows(
    counts: np.ndarray, *parts: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> list[TileRows] | None:
    """Return rows in several precisions, None where products of matrices are faster.

    `counts` (n,) are the entries of each row that are not zero; a part are rows (n, d) in one
    precision, of the most precise one last, and -|a|^2 in two numbers.
    """
    rows, (n, d) = parts[-1][0], parts[-1][0].shape
    is_sparse = bool(counts.sum() <= 0.25 * rows.size)
    if not is_sparse and d > 20:
        return None
    padded = d + -d % 4
    groups = np.maximum(-(-counts // 4), 1) if is_sparse else np.full(n, padded // 4)
    indptr, columns = np.concatenate([[0], np.cumsum(4 * groups)]), np.empty(0, np.int64)
    if is_sparse:
        entries = np.nonzero(rows)
        before = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(indptr[:-1] - before, counts)
        columns = np.zeros(indptr[-1], np.int64)
        columns[places] = entries[1]
    # Transposed these columns take a megabyte in single precision.
    width, out = min(512, max(64, 2**18 // padded)), []
    for rows, high, low in parts:
        if is_sparse:
            values = np.zeros(indptr[-1], rows.dtype)
            values[places] = rows[entries]
        else:
            values = np.zeros((n, padded), rows.dtype)
            values[:, :d] = rows
        arrays = indptr, columns, values.ravel(), high, low
        out.append(TileRows(arrays, padded, width, groups, is_sparse))
    return out
