"""Weighted sums of kernel values in tiles: computed in the processor's cache, used once, forgotten.

The exponent of an RBF kernel to the base 2, -(gamma / ln 2) |x - z|^2, is one inner product of
augmented rows, (a, -|a|^2, 1) . (2 a', 1, -|a'|^2) with a = x sqrt(gamma / ln 2): a product of
matrices gives a tile of exponents, and a compiled pass raises 2 to them and adds them up. In single
precision this is several times faster than the kernel matrix in double precision, and what is
computed never leaves the cache.

Precision. Rows are rounded to single precision first and their squares are those of the rounded
rows, in two parts: so what is computed is the kernel of samples nearby, up to the rounding errors
of sums of the size of |a|^2 + |a'|^2. Rows far from the centre, where these are large, take part in
double precision; rows so far that double precision loses digits too, by their differences.

Other kernels are computed in double precision throughout.
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from scipy import sparse

from skscreen.samples.kernel_block_loops import (
    add_powers,
    add_powers_double,
    differences,
    powers,
    powers_double,
)

# Rows and columns of a tile: a megabyte, which stays in the second-level cache.
_TILE, _TILE_DOUBLE = 512, 256

# |a|^2 above which rows take part in double precision, and above which by differences: rounding
# errors of exponents are then below 1e-5 and 1e-10.
_FAR, _VERY_FAR = 20.0, 1e5

# Rows whose median is the centre.
_LOOKED_AT = 1000

# Unit of rounding errors in single precision.
EPS_SINGLE = float(np.finfo(np.float32).eps)

# Of |c|_2, the largest error of a sum with weights c in units of rounding errors in single
# precision, as measured: 5 on standardised data; four times that.
_ERROR = 20.0


class KernelBlocks(Protocol):
    """Kernel values between samples of one set, in tiles."""

    n: int

    def dot(self, I: np.ndarray, c: np.ndarray, J: np.ndarray) -> np.ndarray:
        """Return sum_{i in I} c_i K(x_i, x_j) for j in J, in single precision where that does."""

    def dot_double(self, I: np.ndarray, c: np.ndarray, J: np.ndarray) -> np.ndarray:
        """Return the same in double precision."""

    def block(self, I: np.ndarray, J: np.ndarray, out: np.ndarray) -> None:
        """Write K between samples to the first columns of `out`, a float32 array."""

    def rounding(self, c: np.ndarray) -> float:
        """Return what errors `dot` may well have with weights c."""


class RBFRows:
    """Samples of an RBF kernel, prepared for products in tiles.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        Sparse rows are made dense.
    gamma : float
    centre : ndarray of shape (d,), optional
        What is taken off all rows, by default the median of some of them, which outliers do not
        move; two sets of rows need the same one.
    """

    def __init__(self, X, gamma: float, centre: np.ndarray | None = None):
        X = X.toarray() if sparse.issparse(X) else X
        self.n, self.d = X.shape
        self.centre = (
            np.median(X[:: -(-self.n // _LOOKED_AT)], axis=0) if centre is None else centre
        )
        d, self._double = self.d, np.empty((self.n, self.d + 2))
        rows = self._double[:, :d]
        np.subtract(X, self.centre, out=rows)
        rows *= np.sqrt(gamma / np.log(2.0))
        squares = np.einsum("ij,ij->i", rows, rows)
        self._double[:, d], self._double[:, d + 1] = -squares, 1.0
        self.far, self.very_far = squares > _FAR, squares > _VERY_FAR
        self.any_far = bool(self.far.any())
        self._single = np.empty((self.n, d + 4), np.float32)
        self._single[:, :d] = np.where(self.very_far[:, None], 0.0, rows) if self.any_far else rows
        rounded = self._single[:, :d].astype(np.float64)
        squares = -np.einsum("ij,ij->i", rounded, rounded)
        self._single[:, d] = squares
        self._single[:, d + 1] = squares - self._single[:, d]
        self._single[:, d + 2 :] = 1.0

    def left(self, index: np.ndarray, double: bool) -> np.ndarray:
        """Return augmented rows for the left side of a product."""
        return (self._double if double else self._single)[index]

    def right(self, index: np.ndarray, double: bool) -> np.ndarray:
        """Return augmented rows for the right side of a product."""
        out, d = self.left(index, double), self.d
        k = (out.shape[1] - d) // 2
        out[:, d + k :] = out[:, d : d + k]
        out[:, d : d + k] = 1.0
        out[:, :d] *= out.dtype.type(2.0)
        return out


class RBFBlocks:
    """Products of an RBF kernel between two sets of samples, which may be the same."""

    def __init__(self, A: RBFRows, B: RBFRows):
        self.A, self.B, self.n = A, B, B.n

    def rounding(self, c: np.ndarray) -> float:
        """Return what errors `dot` may well have with weights c."""
        return _ERROR * EPS_SINGLE * float(np.linalg.norm(c))

    def dot(self, I, c, J) -> np.ndarray:
        """Return sum_{i in I} c_i K(a_i, b_j) for j in J, in single precision where that does."""
        out = np.zeros(J.size)
        if not (self.A.any_far or self.B.any_far):
            self._add_single(I, c, J, out)
            return out
        near_I, near_J = ~self.A.far[I], ~self.B.far[J]
        part = np.zeros(np.count_nonzero(near_J))
        self._add_single(I[near_I], c[near_I], J[near_J], part)
        out[near_J] = part + self.dot_double(I[~near_I], c[~near_I], J[near_J])
        out[~near_J] = self.dot_double(I, c, J[~near_J])
        return out

    def _add_single(self, I, c, J, out) -> None:
        left, right, c = self.A.left(I, False), self.B.right(J, False), c.astype(np.float32)
        tile, sums = np.empty(_TILE * _TILE, np.float32), np.empty(_TILE, np.float32)
        for columns in _tiles(J.size, _TILE):
            for rows in _tiles(I.size, _TILE):
                T = _product(left[rows], right[columns], tile)
                add_powers(T, c[rows], sums, out[columns])

    def dot_double(self, I, c, J) -> np.ndarray:
        """Return the same in double precision."""
        out, c = np.zeros(J.size), np.ascontiguousarray(c, np.float64)
        tile = np.empty(_TILE_DOUBLE * _TILE_DOUBLE)
        for rows, columns, T in self._exponents(I, J, tile):
            add_powers_double(T, c[rows], out[columns])
        return out

    def _exponents(self, I, J, tile) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield tiles of exponents in double precision."""
        A, B = self.A, self.B
        left = A.left(I, True)
        for columns in _tiles(J.size, _TILE_DOUBLE):
            right = B.right(J[columns], True)
            for rows in _tiles(I.size, _TILE_DOUBLE):
                T = _product(left[rows], right, tile)
                if A.very_far[I[rows]].any() or B.very_far[J[columns]].any():
                    differences(left[rows, : A.d], 0.5 * right[:, : A.d], -1.0, T)
                yield rows, columns, T

    def block(self, I, J, out: np.ndarray) -> None:
        """Write K between samples to the first columns of `out`, a float32 array."""
        left, right = self.A.left(I, False), self.B.right(J, False)
        tile = np.empty(_TILE * _TILE, np.float32)
        for rows in _tiles(I.size, _TILE):
            for columns in _tiles(J.size, _TILE):
                T = _product(left[rows], right[columns], tile)
                powers(T, out, rows.start, columns.start)
        far_I, far_J = np.flatnonzero(self.A.far[I]), np.flatnonzero(self.B.far[J])
        if far_I.size:
            out[far_I, : J.size] = self.block_double(I[far_I], J)
        if far_J.size:
            out[:, far_J] = self.block_double(I, J[far_J])

    def block_double(self, I, J) -> np.ndarray:
        """Return K between samples in double precision."""
        out, tile = np.empty((I.size, J.size)), np.empty(_TILE_DOUBLE * _TILE_DOUBLE)
        for rows, columns, T in self._exponents(I, J, tile):
            powers_double(T)
            out[rows, columns] = T
        return out


class ComputedBlocks:
    """Products of any kernel, in double precision.

    Parameters
    ----------
    compute : callable
        Takes two sets of indices, returns K between them.
    n : int
    """

    def __init__(self, compute, n: int):
        self._compute, self.n = compute, n

    def rounding(self, c: np.ndarray) -> float:
        """Return what errors `dot` has beyond those of double precision: none."""
        return 0.0

    def dot(self, I, c, J) -> np.ndarray:
        """Return sum_{i in I} c_i K(x_i, x_j) for j in J."""
        return self.dot_double(I, c, J)

    def dot_double(self, I, c, J) -> np.ndarray:
        """Return the same."""
        out = np.zeros(J.size)
        if I.size == 0:
            return out
        for columns in _tiles(J.size, _TILE):
            for rows in _tiles(I.size, _TILE):
                out[columns] += c[rows] @ self._compute(I[rows], J[columns])
        return out

    def block(self, I, J, out: np.ndarray) -> None:
        """Write K between samples to the first columns of `out`."""
        for rows in _tiles(I.size, _TILE):
            out[rows, : J.size] = self._compute(I[rows], J)


def _tiles(n: int, size: int) -> Iterator[slice]:
    return (slice(first, min(first + size, n)) for first in range(0, n, size))


def _product(left: np.ndarray, right: np.ndarray, tile: np.ndarray) -> np.ndarray:
    """Return left right' in the memory of a tile."""
    out = tile[: len(left) * len(right)].reshape(len(left), len(right))
    return np.matmul(left, right.T, out=out)
