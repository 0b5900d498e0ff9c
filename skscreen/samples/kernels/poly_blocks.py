"""Weighted sums of values of a polynomial kernel in tiles: computed in cache, used once, forgotten.

With augmented rows a = (x sqrt(gamma), sqrt(coef0)) of length s the kernel is

    (gamma <x, x'> + coef0)^p = s^p s'^p <a / s, a' / s'>^p:

a product of rows of length 1, whose powers neither overflow nor vanish in single precision
however much the lengths differ. These go into the weights of one side, and multiply the sums of
the other. In single precision this is several times faster than in double precision; rows much
longer than most take part in double precision, as their errors would be larger than other rows'
scores.

Every sum comes with a bound on its error, see "Kernel values in tiles" in doc/maths/svm.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from skscreen.samples.kernels.kernel_blocks import (
    SECOND_ORDER,
    UNIT,
    UNIT_SINGLE,
    parted,
    product_in_parts,
)

# Rows whose weighted sum is in the precision of a tile: those of a tile are a multiple of them.
_SUMMED = 32


class PolyRows:
    """Samples X (n, d) of a polynomial kernel (see `Kernel.is_power`), prepared for tiles."""

    def __init__(self, X, gamma: float, degree: float, coef0: float):
        self.n, self.degree = X.shape[0], int(degree)
        constant = np.full((self.n, 1), np.sqrt(coef0))
        if sparse.issparse(X):
            rows = sparse.hstack([X * np.sqrt(gamma), constant], format="csr", dtype=np.float64)
            squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
            self.terms = int(np.diff(rows.indptr).max(initial=0))
        else:
            rows = np.hstack([X * np.sqrt(gamma), constant])
            squares = np.einsum("ij,ij->i", rows, rows)
            self.terms = parted(rows.shape[1])
        lengths = np.sqrt(squares)
        # Rows of zeros stay what they are.
        shorter = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
        if sparse.issparse(X):
            rows.data *= np.repeat(shorter, np.diff(rows.indptr))
        else:
            rows *= shorter[:, None]
        self._rows, self._single = rows, rows.astype(np.float32)
        self.sizes = lengths**self.degree
        # Far longer rows than most take part in double precision.
        self.far = self.sizes > 1e3 * np.median(self.sizes) if self.n else np.zeros(0, np.bool_)

    def kinds(self, index: np.ndarray) -> list[np.ndarray]:
        """Return where samples are near, and where they are far."""
        far = self.far[index]
        return [np.flatnonzero(~far), np.flatnonzero(far)]

    def left(self, index: np.ndarray, double: bool) -> Any:
        """Return rows of length 1 for the left side of a product."""
        return (self._rows if double else self._single)[index]

    def right(self, index: np.ndarray, double: bool) -> np.ndarray:
        """Return the same as columns, for the right side."""
        rows = self.left(index, double)
        return np.ascontiguousarray(rows.toarray().T) if sparse.issparse(rows) else rows.T


@dataclass(frozen=True)
class PolyBlocks:
    """Products of a polynomial kernel between two sets of samples, which may be the same."""

    A: PolyRows
    B: PolyRows

    def dot(
        self, I: np.ndarray, c: np.ndarray, J: np.ndarray, double: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return sum_{i in I} c_i K(a_i, b_j) for j in J, and bounds on the errors."""
        c, (values, errors) = np.asarray(c, np.float64), np.zeros((2, J.size))
        for left, rows in enumerate(self.A.kinds(I)):
            for right, columns in enumerate(self.B.kinds(J)):
                in_double = double or left + right > 0
                part, error = self._sums(I[rows], c[rows], J[columns], in_double)
                values[columns] += part
                errors[columns] += error
        return values, errors

    def _sums(self, I, c, J, double: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the same of some samples, in one precision."""
        out, weights = np.zeros(J.size), c * self.A.sizes[I]
        size = float(np.abs(weights).max(initial=0.0))
        if size == 0.0:
            return out, np.zeros(J.size)
        scaled = (weights / size).astype(np.float64 if double else np.float32)
        for rows, columns, T in self._powers(I, J, double):
            out[columns] += _sums(scaled[rows], T)
        # In units: an inner product has 9 beside those of its terms, and of a power; weights, and
        # sums of `_SUMMED` rows, have 42.
        unit, terms = UNIT if double else UNIT_SINGLE, self.A.terms + 9.0
        relative = unit * (self.A.degree * terms + 42.0)
        relative = SECOND_ORDER * (relative + UNIT * (I.size / _SUMMED + 1.0))
        sizes = self.B.sizes[J]
        return out * size * sizes, relative * float(np.abs(weights).sum()) * sizes

    def block(self, I: np.ndarray, J: np.ndarray, out: np.ndarray) -> None:
        """Write K between samples to the first columns of `out`, in its precision."""
        double = out.dtype == np.float64
        self._write(I, J, double, out)
        if double:
            return
        far_I, far_J = self.A.kinds(I)[1], self.B.kinds(J)[1]
        for rows, columns in ((far_I, np.arange(J.size)), (np.arange(I.size), far_J)):
            if rows.size and columns.size:
                values = np.empty((rows.size, columns.size))
                self._write(I[rows], J[columns], True, values)
                out[np.ix_(rows, columns)] = values

    def _write(self, I, J, double: bool, out: np.ndarray) -> None:
        """Write K between samples to the first columns of `out`, computed in one precision."""
        left, right = self.A.sizes[I].astype(out.dtype), self.B.sizes[J].astype(out.dtype)
        for rows, columns, T in self._powers(I, J, double):
            T *= left[rows, None]
            np.multiply(T, right[columns], out=out[rows, columns])

    def combine(self, C: np.ndarray) -> np.ndarray:
        """Return sum_i C_ik K(a_i, b_j) for all j and k, in double precision."""
        out, weights = np.zeros((self.B.n, C.shape[1])), C * self.A.sizes[:, None]
        for rows, columns, T in self._powers(np.arange(self.A.n), np.arange(self.B.n), True):
            out[columns] += T.T @ weights[rows]
        return out * self.B.sizes[:, None]

    def _powers(self, I, J, double: bool) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield tiles of the kernel between rows of length 1."""
        if not (I.size and J.size):
            return
        # Rows and columns of a tile.
        size, dtype = (256, np.float64) if double else (512, np.float32)
        memory = np.empty((2, size * size), dtype)
        parts = [(rows, self.A.left(I[rows], double)) for rows in gen_batches(I.size, size)]
        # Few rows have wide tiles.
        for columns in gen_batches(J.size, size * size // min(I.size, size)):
            right = self.B.right(J[columns], double)
            for rows, left in parts:
                if sparse.issparse(left):
                    T = left @ right
                else:
                    T = product_in_parts(left, right.T, *memory)
                other = memory[1][: T.size].reshape(T.shape)
                np.copyto(other, T)
                # Powers by squares and products.
                for digit in f"{self.A.degree:b}"[1:]:
                    T *= T
                    if digit == "1":
                        T *= other
                yield rows, columns, T


def _sums(weights: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return weights' T: a few rows at a time in the precision of T, then in double precision."""
    whole = weights.size - weights.size % _SUMMED
    out = np.zeros(T.shape[1])
    if whole:
        groups = T[:whole].reshape(-1, _SUMMED, T.shape[1])
        sums = np.matmul(weights[:whole].reshape(-1, 1, _SUMMED), groups)
        out += sums.sum(axis=(0, 1), dtype=np.float64)
    if whole < weights.size:
        out += weights[whole:] @ T[whole:]
    return out
