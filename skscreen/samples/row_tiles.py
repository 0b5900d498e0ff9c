"""Weighted sums of RBF kernel values from rows of few entries, four rows at a time.

Rows of one side meet a few hundred columns of the other, which stand transposed in cache: each
entry of a row adds a multiple of one of their rows to -|a - b|^2, a loop that vectorises. Powers of
two of these exponents go into the sums at once, so that no kernel value leaves the first-level
cache. Rows that are mostly zero are multiplied without their zeros; of rows of a few features,
which products of matrices are slow for, four share what they read.
"""

from dataclasses import dataclass

import numpy as np

# Columns at a time: least and most, and entries of them transposed, a megabyte in single precision.
_FEWEST, _WIDTH, _TRANSPOSED = 64, 512, 2**18

# Of all entries, how many may be other than zero for products without zeros to be faster; features
# up to which products of matrices are slower.
_SPARSE, _FEATURES = 0.25, 20


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


class Pattern:
    """Which entries of rows (n, d) `TileRows` has: all of few features, or those that are not 0."""

    def __init__(self, rows: np.ndarray):
        (n, self.d), self.columns = rows.shape, np.empty(0, np.int64)
        counts = np.count_nonzero(rows, axis=1)
        self.is_sparse = bool(counts.sum() <= _SPARSE * rows.size)
        self.exists = self.is_sparse or self.d <= _FEATURES
        groups = np.maximum(-(-counts // 4), 1) if self.is_sparse else np.full(n, -(-self.d // 4))
        self.indptr = np.concatenate([[0], np.cumsum(4 * groups)])
        if self.is_sparse:
            self._entries = np.nonzero(rows)
            before = np.cumsum(counts) - counts
            self._places = np.arange(counts.sum()) + np.repeat(self.indptr[:-1] - before, counts)
            self.columns = self._filled(self._entries[1])

    def fill(self, rows: np.ndarray, high: np.ndarray, low: np.ndarray) -> TileRows:
        """Return these entries of rows, and -|a|^2 in two parts."""
        if self.is_sparse:
            values = self._filled(rows[self._entries])
        else:
            values = np.zeros((len(rows), -(-self.d // 4) * 4), rows.dtype)
            values[:, : self.d] = rows
        d = -(-self.d // 4) * 4
        arrays = self.indptr, self.columns, values.ravel(), high, low
        width, groups = min(_WIDTH, max(_FEWEST, _TRANSPOSED // d)), np.diff(self.indptr) // 4
        return TileRows(arrays, d, width, groups, self.is_sparse)

    def _filled(self, entries: np.ndarray) -> np.ndarray:
        out = np.zeros(self.indptr[-1], entries.dtype)
        out[self._places] = entries
        return out
