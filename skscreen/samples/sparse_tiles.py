"""Tiles of exponents of an RBF kernel from rows that are mostly zero.

Rows of one side meet a few columns of the other, which stand transposed in cache: each entry that
is not zero of a row adds a multiple of one of their rows, a loop that vectorises. That is as many
products an entry as the row has entries that are not zero, not as many as there are features.
"""

from dataclasses import dataclass

import numpy as np

from skscreen.core.compiling import njit

# Entries of a transposed tile: a megabyte in single precision; least columns of a tile.
_TRANSPOSED, _FEWEST = 2**18, 64

# Of all entries, how many may be other than zero: above, products of dense rows are faster.
_DENSE = 0.25


@dataclass(frozen=True)
class SparseRows:
    """Rows a, with -|a|^2, in one precision.

    Parameters
    ----------
    indptr, columns, values : ndarray
        As in CSR.
    high, low : ndarray of shape (n,)
        -|a|^2, and what of it does not fit into the first.
    d : int
        Features.
    """

    indptr: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    high: np.ndarray
    low: np.ndarray
    d: int

    def width(self, most: int) -> int:
        """Return the columns of a tile: at most so many, and few enough for the cache."""
        return min(most, max(_FEWEST, _TRANSPOSED // self.d))

    def exponents(self, right: "SparseRows", width: int):
        """Return what makes, of columns J, what makes -|a_i - b_j|^2 of rows I in some memory."""
        transposed = np.empty((self.d, width), self.values.dtype)

        def columns(J: np.ndarray):
            R = transposed[:, : J.size]
            R.fill(0.0)
            _transpose(right.indptr, right.columns, right.values, J, R)
            high, low = right.high[J], right.low[J]

            def rows(I: np.ndarray, memory: np.ndarray) -> np.ndarray:
                T = memory[: I.size * J.size].reshape(I.size, J.size)
                own = self.indptr, self.columns, self.values, self.high, self.low
                _multiply(*own, I, R, high, low, T)
                return T

            return rows

        return columns


def pattern(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return `indptr` and `columns` of rows that are mostly zero; None of others."""
    counts = np.count_nonzero(rows, axis=1)
    if counts.sum() > _DENSE * rows.size:
        return None
    return np.concatenate([[0], np.cumsum(counts)]), np.nonzero(rows)[1]


@njit(cache=True, nogil=True)
def _transpose(indptr, columns, values, J, R):
    """Write the rows J as columns of R, which is zero elsewhere."""
    for j in range(J.size):
        for k in range(indptr[J[j]], indptr[J[j] + 1]):
            R[columns[k], j] = values[k]


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _multiply(indptr, columns, values, own_high, own_low, I, R, high, low, T):
    """Write 2 a_i b_j - |a_i|^2 - |b_j|^2 to T, four entries of a row a pass."""
    for i in range(I.size):
        row, out = I[i], T[i]
        first, last = indptr[row], indptr[row + 1]
        H, L = own_high[row], own_low[row]
        for j in range(out.size):
            out[j] = (H + high[j]) + (L + low[j])
        whole = last - (last - first) % 4
        for k in range(first, whole, 4):
            a, b, c, d = values[k], values[k + 1], values[k + 2], values[k + 3]
            a, b, c, d = a + a, b + b, c + c, d + d
            A, B, C, D = R[columns[k]], R[columns[k + 1]], R[columns[k + 2]], R[columns[k + 3]]
            for j in range(out.size):
                out[j] += (a * A[j] + b * B[j]) + (c * C[j] + d * D[j])
        for k in range(whole, last):
            a, A = values[k] + values[k], R[columns[k]]
            for j in range(out.size):
                out[j] += a * A[j]
