"""Weighted sums of RBF kernel values from rows of few entries, four rows at a time.

Rows of one side meet a few hundred columns of the other, which stand transposed in cache: each
entry of a row adds a multiple of one of their rows to -|a - b|^2, a loop that vectorises. Powers of
two of these exponents go into the sums at once, so that no kernel value leaves the first-level
cache. Rows that are mostly zero are multiplied without their zeros; of rows of a few features,
which products of matrices are slow for, four share what they read.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skscreen.core.compiling import njit
from skscreen.samples.kernel_block_loops import FAST, add_sums, exp2

# Columns at a time: least and most, and entries of them transposed, a megabyte in single precision.
_FEWEST, _WIDTH, _TRANSPOSED = 64, 512, 2**18

# Of all entries, how many may be other than zero for products without zeros to be faster; features
# up to which products of matrices are slower.
_SPARSE, _FEATURES = 0.25, 20

# Exponents may be fused with their products, but not reordered.
_IN_ORDER = {"contract", "nsz"}


@dataclass(frozen=True)
class TileRows:
    """Rows a in one precision, each filled up with zeros to a multiple of four entries.

    Parameters
    ----------
    indptr, columns, values : ndarray
        As in CSR; `columns` is empty where all rows have all features.
    high, low : ndarray of shape (n,)
        -|a|^2, and what of it does not fit into the first.
    d : int
        Features, a multiple of four.
    """

    indptr: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    high: np.ndarray
    low: np.ndarray
    d: int

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What compiled loops take."""
        return self.indptr, self.columns, self.values, self.high, self.low

    @property
    def width(self) -> int:
        """Columns at a time."""
        return min(_WIDTH, max(_FEWEST, _TRANSPOSED // self.d))

    @cached_property
    def groups(self) -> np.ndarray:
        """Groups of four entries in each row: what is added up one after the other."""
        return np.diff(self.indptr) // 4


class Pattern:
    """Which entries of rows `TileRows` has: all of a few features, or those that are not zero.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    """

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
        filled = -(-self.d // 4) * 4
        return TileRows(self.indptr, self.columns, values.ravel(), high, low, filled)

    def _filled(self, entries: np.ndarray) -> np.ndarray:
        out = np.zeros(self.indptr[-1], entries.dtype)
        out[self._places] = entries
        return out


@njit(cache=True, nogil=True, fastmath=FAST)
def add_tiles(left, right, width, d, I, J, weights, n_negative, own, other, bound, values, errors):
    """Add sum_{i in I} c_i 2^-|a_i - b_j|^2 to the values of j in J, and bounds to their errors.

    Parameters
    ----------
    left, right : tuple of ndarray
        See `TileRows.arrays`.
    width, d : int
        Columns at a time, and features.
    I, J : ndarray
    weights : ndarray
        |c_i|, those of negative c_i first.
    n_negative : int
        How many these are.
    own, other, bound
        See `add_sums`.
    values, errors : ndarray of shape (J.size,)
        Changed.
    """
    kind = left[2].dtype
    memory = np.empty((d + 7) * width, kind)
    for start in range(0, J.size, width):
        part = slice(start, min(start + width, J.size))
        R, S, high, low, sums = _transposed(memory, d, right, J[part])
        for first, last in ((0, n_negative), (n_negative, I.size)):
            for row in range(first, last, 32):
                end = min(row + 32, last)
                sums[:] = 0
                for i in range(row, end, 4):
                    _exponents(left, I, i, end, R, high, low, S)
                    _add_powers(S, weights, i, end, sums)
                add_sums(
                    sums,
                    first < n_negative,
                    own[row:end],
                    other[part],
                    bound,
                    values[part],
                    errors[part],
                )


@njit(cache=True, nogil=True, fastmath=FAST)
def write_tiles(left, right, width, d, I, J, out):
    """Write 2^-|a_i - b_j|^2 for i in I and j in J to the first columns of `out`."""
    kind = left[2].dtype
    memory = np.empty((d + 7) * width, kind)
    for start in range(0, J.size, width):
        part = slice(start, min(start + width, J.size))
        R, S, high, low, _ = _transposed(memory, d, right, J[part])
        for i in range(0, I.size, 4):
            _exponents(left, I, i, I.size, R, high, low, S)
            for r in range(min(4, I.size - i)):
                row, into = S[r], out[i + r, part]
                for j in range(into.size):
                    into[j] = exp2(row[j])


@njit(nogil=True)
def _transposed(memory, d, right, J):
    """Return what a tile of the rows J needs, its arrays next to each other, to vectorise.

    Twice the rows as columns, memory for four exponents each, both parts of -|b|^2, and memory for
    sums.
    """
    n = J.size
    R, S = memory[: d * n].reshape(d, n), memory[d * n : (d + 4) * n].reshape(4, n)
    rest = memory[(d + 4) * n : (d + 7) * n].reshape(3, n)
    high, low = rest[0], rest[1]
    indptr, columns, values, own_high, own_low = right
    if columns.size:
        R[:] = 0
    for j in range(J.size):
        row = J[j]
        high[j], low[j] = own_high[row], own_low[row]
        first = indptr[row]
        for k in range(first, indptr[row + 1]):
            value = values[k] + values[k]
            if columns.size == 0:
                R[k - first, j] = value
            elif value != 0:
                R[columns[k], j] = value
    return R, S, high, low, rest[2]


@njit(nogil=True)
def _exponents(left, I, i, end, R, high, low, S):
    """Write -|a - b|^2 for four rows, the last ones again where there are fewer."""
    indptr, columns, values, own_high, own_low = left
    for r in range(4):
        row = I[min(i + r, end - 1)]
        _start(own_high[row], own_low[row], high, low, S[r])
        if columns.size:
            _add_row(indptr[row], indptr[row + 1], columns, values, R, S[r])
    if columns.size == 0:
        a, b = indptr[I[i]], indptr[I[min(i + 1, end - 1)]]
        c, d = indptr[I[min(i + 2, end - 1)]], indptr[I[min(i + 3, end - 1)]]
        for k in range(0, R.shape[0], 4):
            _add_four(values, a + k, b + k, c + k, d + k, R[k : k + 4], S)


@njit(nogil=True, fastmath=_IN_ORDER)
def _start(own_high, own_low, high, low, out):
    for j in range(out.size):
        out[j] = (own_high + high[j]) + (own_low + low[j])


@njit(nogil=True, fastmath=_IN_ORDER)
def _add_row(first, last, columns, values, R, out):
    """Add the product of a row with all columns, four entries a pass."""
    for k in range(first, last, 4):
        a, b, c, d = values[k], values[k + 1], values[k + 2], values[k + 3]
        A, B, C, D = R[columns[k]], R[columns[k + 1]], R[columns[k + 2]], R[columns[k + 3]]
        for j in range(out.size):
            out[j] += (a * A[j] + b * B[j]) + (c * C[j] + d * D[j])


@njit(nogil=True, fastmath=_IN_ORDER)
def _add_four(values, a, b, c, d, R, S):
    """Add the products of four features of four rows with all columns."""
    for j in range(R.shape[1]):
        x, y, z, u = R[0, j], R[1, j], R[2, j], R[3, j]
        S[0, j] += (values[a] * x + values[a + 1] * y) + (values[a + 2] * z + values[a + 3] * u)
        S[1, j] += (values[b] * x + values[b + 1] * y) + (values[b + 2] * z + values[b + 3] * u)
        S[2, j] += (values[c] * x + values[c + 1] * y) + (values[c + 2] * z + values[c + 3] * u)
        S[3, j] += (values[d] * x + values[d + 1] * y) + (values[d + 2] * z + values[d + 3] * u)


@njit(nogil=True, fastmath=FAST)
def _add_powers(S, weights, i, end, sums):
    """Add the weighted powers of two of four rows; rows that are not there have no weight."""
    a, none = weights[i], weights.dtype.type(0)
    b = weights[i + 1] if i + 1 < end else none
    c = weights[i + 2] if i + 2 < end else none
    d = weights[i + 3] if i + 3 < end else none
    A, B, C, D = S[0], S[1], S[2], S[3]
    for j in range(sums.size):
        one = a * exp2(A[j]) + b * exp2(B[j])
        sums[j] += one + (c * exp2(C[j]) + d * exp2(D[j]))
