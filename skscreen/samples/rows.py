"""Samples of a linear classifier: margins, their adjoint and norms, without a copy of the data.

The vectors of the problem are z_i = y_i (x_i, B), with y_i in {-1, +1} and B the value of a
feature that all samples share (0: there is none), whose weight times B is an intercept that is
penalised like the other weights. Signs and B are applied to results, never to the data. Problems in
signed variables (`svm.dual`) have the signs +1.

In regression a residual can be too large on either side: that is two dual variables on one row.
Such 2n samples read the n rows without a copy: place i stands for row i mod n. For kernel values
see `gram.Places`.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from skscreen._compiled import samples as loops
from skscreen.core.checks import Matrix, is_sparse
from skscreen.core.floats import EPS
from skscreen.core.memory import aligned
from skscreen.samples.kernels.distances import near_origin

# Largest length of a vector, so that sums of inner products with dual variables do not overflow.
LARGEST = 1e40

# Largest kernel value for solvers in single precision, whose numbers end at 3e38.
LARGEST_SINGLE = 1e37

# Multiplications of a product, a tenth of a second, from which on threads share it.
_FOR_THREADS = 1e9

# Rows that are copied in extended precision together.
_TOGETHER = 256

# What is made of the data, and not kept in files.
_FOR_LOOPS = {"rows", "short_rows"}


class LinearSamples:
    """Rows z_i = y_i (x_i, B) of X (n, d), an array or CSR, with labels y (n,), -1 or +1.

    Dense data in C order and CSR without repeated entries, in single or double precision, are kept
    as they are. `compressed` is the same data without zeros (see `compress`), for algorithms that
    read single rows; `norms` (n,) are |z_i|, `n_features` is the length of vectors of weights.
    """

    # Relative errors of products beyond those of double precision.
    error = 0.0
    # The rows that users have, if those here are these minus a vector, and that vector (d,).
    given: tuple | None = None

    def __init__(self, X, y, bias: float = 0.0, compressed: sparse.csr_array | None = None):
        self.X, self.compressed = _rows_of(X), compressed
        self.bias = float(bias)
        # What is counted once, for all signs.
        self._counts: dict[str, float] = {}
        self.n_rows, self.n_columns = self.X.shape
        self.n = self.n_rows
        self.y = self._checked(y)
        if not np.isfinite(self.bias):
            raise ValueError(f"bias must be finite, got {bias!r}.")
        self.is_sparse = is_sparse(self.X)
        self.n_features = self.n_columns + (self.bias != 0.0)
        squares = squared_norms(self.rows, self.n) + self.bias * self.bias
        self.norms = np.sqrt(squares)
        if np.isnan(self.norms).any():
            raise ValueError("X contains NaN.")
        if self.norms.max(initial=0.0) > LARGEST:
            what = "X (with intercept_scaling)" if self.bias else "X"
            raise ValueError(
                f"{what} has rows of length {self.norms.max():g}, and products of lengths above "
                f"{LARGEST:g} may overflow: rescale X."
            )

    def _checked(self, y) -> np.ndarray:
        y = np.ascontiguousarray(y, dtype=np.float64)
        if y.shape != (self.n,):
            raise ValueError(f"y must have shape ({self.n},), one sign per row of X.")
        if not np.all(np.abs(y) == 1.0):
            raise ValueError("y must hold only -1 and +1.")
        return y

    def signed(self, y: np.ndarray) -> LinearSamples:
        """Return the same rows with other signs; nothing is computed again."""
        out = copy(self)
        out.y = self._checked(y)
        return out

    def twice(self) -> LinearSamples:
        """Return samples that stand twice on the same rows."""
        out = copy(self)
        out.n, out.y, out.norms = 2 * self.n, np.tile(self.y, 2), np.tile(self.norms, 2)
        return out

    def _tiled(self, values: np.ndarray) -> np.ndarray:
        """Return values of rows for each sample."""
        return values if self.n == self.n_rows else np.tile(values, 2)

    def with_bias(self, bias: float) -> LinearSamples:
        """Return the same rows with a feature of another value B."""
        out = copy(self)
        out.bias, out.n_features = float(bias), self.n_columns + (bias != 0.0)
        out.norms, out._counts = np.sqrt(self.norms**2 - self.bias**2 + out.bias**2), {}
        return out

    def __getstate__(self) -> dict:
        return {name: value for name, value in vars(self).items() if name not in _FOR_LOOPS}

    def __setstate__(self, state: dict) -> None:
        vars(self).update((name, aligned(value)) for name, value in state.items())

    @cached_property
    def rows(self) -> Any:
        """The rows for compiled code."""
        return flat_rows(self.X)

    @cached_property
    def short_rows(self) -> Any:
        """The same without zeros, if they are known."""
        return self.rows if self.compressed is None else flat_rows(self.compressed)

    @property
    def row_lengths(self) -> np.ndarray:
        """Number of entries in each of `short_rows`."""
        X = self.X if self.compressed is None else self.compressed
        if is_sparse(X):
            return self._tiled(np.diff(X.indptr).astype(np.int64))
        return np.full(self.n, self.n_columns, np.int64)

    def n_meetings(self) -> float:
        """Return the pairs of entries in one column that a sparse row has with all rows, a mean."""
        if "meetings" not in self._counts:
            filled = np.bincount(self.X.indices, minlength=self.n_columns).astype(np.float64)
            if self.bias:
                filled = np.append(filled, self.n_rows)
            self._counts["meetings"] = float(filled @ filled) / self.n_rows
        return self._counts["meetings"]

    @property
    def n_entries(self) -> int:
        """Number of stored entries of the rows of all samples."""
        return (self.X.nnz if self.is_sparse else self.X.size) * self.n // max(self.n_rows, 1)

    @property
    def width(self) -> float:
        """Width of the matrices that are multiplied, for the choice of BLAS threads."""
        # Smaller products gain little from threads, and where other programs use the processors
        # these wait for each other many times longer than one thread works.
        side = min(self.n, self.n_features)
        return self.n_features if self.n * self.n_features * side >= _FOR_THREADS else 0.0

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Return <z_i, w> for all samples."""
        if not w.any():
            return np.zeros(self.n)
        d = self.n_columns
        if self._by_blas:
            out = self.X @ w[:d]
        else:
            out = np.empty(self.n_rows)
            loops.multiply(self.short_rows, np.ascontiguousarray(w, dtype=np.float64), out)
        if self.bias != 0.0:
            out += self.bias * w[d]
        out = self._tiled(out)
        out *= self.y
        return out

    def combine(self, alpha: np.ndarray) -> np.ndarray:
        """Return the sum of alpha_i z_i."""
        out, d = np.zeros(self.n_features), self.n_columns
        if not alpha.any():
            return out
        scales = alpha * self.y
        if self.n > self.n_rows:
            scales = scales[: self.n_rows] + scales[self.n_rows :]
        if self._by_blas and 2 * np.count_nonzero(scales) > self.n_rows:
            out[:d] = self.X.T @ scales
        else:
            loops.multiply_transposed(self.short_rows, scales, out)
        if self.bias != 0.0:
            out[d] = self.bias * scales.sum()
        return out

    def q_dot(self, alpha: np.ndarray) -> np.ndarray:
        """Return Q alpha with Q_ij = <z_i, z_j>: the margins of `combine(alpha)`."""
        return self.margins(self.combine(alpha))

    def rounding(self, w: np.ndarray, b: float) -> np.ndarray:
        """Return estimates of the rounding errors of margins: twice those of a sum of products."""
        size = float(np.linalg.norm(w))
        far = 0.0 if self.given is None else float(np.linalg.norm(self.given[1]))
        return 2.0 * EPS * (size * (self.norms + 2.0 * far) + abs(b))

    def intercept(self, w: np.ndarray, b: float) -> float:
        """Return the intercept of the rows that users have, for weights and a free b here."""
        b = b + self.bias * w[-1] if self.bias != 0.0 else b
        return b if self.given is None else b - float(w[: self.n_columns] @ self.given[1])

    def exact_margins(self, w: np.ndarray, b: float) -> np.ndarray:
        """Return the margins, in extended precision, of weights and intercept that users have."""
        X = self.X if self.given is None else self.given[0]
        wide, out = w[: self.n_columns].astype(np.longdouble), np.empty(self.n_rows, np.longdouble)
        for first in range(0, self.n_rows, _TOGETHER):
            part = X[first : first + _TOGETHER]
            part = part.toarray() if is_sparse(part) else part
            out[first : first + _TOGETHER] = part @ wide
        return self.y * self._tiled(out + self.intercept(w, b))

    def exact_combine(self, alpha: np.ndarray) -> np.ndarray:
        """Return the sum of alpha_i z_i in extended precision, of rows before they were shifted."""
        X, shift = (self.X, 0.0) if self.given is None else self.given
        scales = (alpha * self.y).astype(np.longdouble).reshape(-1, self.n_rows).sum(axis=0)
        out = np.zeros(self.n_features, np.longdouble)
        for first in range(0, self.n_rows, _TOGETHER):
            part = X[first : first + _TOGETHER]
            part = part.toarray() if is_sparse(part) else part
            wide = part.astype(np.longdouble) - shift
            out[: self.n_columns] += scales[first : first + _TOGETHER] @ wide
        if self.bias != 0.0:
            out[-1] = self.bias * scales.sum()
        return out

    def some_scores(self, index: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Return some of the margins of `combine(alpha)`."""
        w, out = self.combine(alpha), np.empty(index.size)
        loops.multiply_some(self.short_rows, index % self.n_rows, w, out)
        if self.bias != 0.0:
            out += self.bias * w[self.n_columns]
        return out * self.y[index]

    def restrict(self, index: np.ndarray) -> LinearSamples:
        """Return the samples of an array of indices; their rows are copied."""
        index = np.asarray(index)
        part = object.__new__(LinearSamples)
        part.X, part.y = self.X[index % self.n_rows], self.y[index]
        part.norms, part.n_rows = self.norms[index], index.size
        part.compressed, part._counts = None, {}
        part.bias, part.is_sparse, part.given = self.bias, self.is_sparse, None
        part.n, part.n_columns, part.n_features = index.size, self.n_columns, self.n_features
        return part

    def scaled_rows(
        self, index: np.ndarray, scales: np.ndarray, dtype: DTypeLike = np.float64
    ) -> Any:
        """Return the rows scales_i z_i of some samples: an array or CSR."""
        scales = scales * self.y[index]
        if self.n > self.n_rows:
            index = index % self.n_rows
        if self.is_sparse:
            out = self.X[index].astype(dtype)
            out.data *= np.repeat(scales, np.diff(out.indptr))
            if self.bias != 0.0:
                out = sparse.hstack([out, self.bias * scales[:, None]], format="csr")
            return out
        out = np.empty((index.size, self.n_features), dtype)
        columns = out[:, : self.n_columns]
        np.multiply(self.X.take(index, axis=0), scales[:, None], out=columns, casting="same_kind")
        if self.bias != 0.0:
            out[:, -1] = self.bias * scales
        return out

    def block(
        self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return Q between two sets of samples."""
        if not self.is_sparse:
            left, right = (
                self.scaled_rows(index, np.ones(index.size)) for index in (rows, columns)
            )
            return np.matmul(left, right.T, out=out)
        # Not as products of scaled rows: an intercept would be a dense column in a sparse matrix.
        left, right = (
            self.X[index % self.n_rows].astype(np.float64, copy=False) for index in (rows, columns)
        )
        out = (left @ right.T).toarray(out=out)
        out += self.bias * self.bias
        out *= self.y[rows][:, None]
        out *= self.y[columns]
        return out

    def products(self, index: np.ndarray) -> np.ndarray:
        """Return <z_i, z_j> of some samples with all."""
        rows, out = self.scaled_rows(index, np.ones(index.size)), np.empty((index.size, self.n))
        for k, row in enumerate(rows.toarray() if self.is_sparse else rows):
            out[k] = self.margins(row)
        return out

    @property
    def _by_blas(self) -> bool:
        # Mixed precision would make a copy of the whole matrix.
        full = not self.is_sparse and self.compressed is None
        return full and self.X.dtype == np.float64


def shifted(X: Matrix, bias: float = 0.0, compressed: bool = False) -> LinearSamples:
    """Return rows, all with the sign +1, for a free intercept, near the origin.

    It takes up any shift, next to which digits are lost. Sparse rows that are shifted become dense.
    """
    rows = X
    if is_sparse(X):
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        # In a unit, as squares overflow of numbers that are refused later, with their own text.
        unit = float(np.abs(X.data).max(initial=0.0)) or 1.0
        values, centre = X.data.astype(np.float64) / unit, mean / unit
        if float(values @ values) / X.shape[0] < 2.0 * float(centre @ centre) < np.inf:
            rows = X.toarray() - mean
    else:
        rows = near_origin(X)[0]
    out = LinearSamples(rows, np.ones(X.shape[0]), bias, compress(rows) if compressed else None)
    if rows is not X:
        first = X[[0]].toarray() if is_sparse(X) else X[[0]]
        out.given = X, (first - rows[0])[0]
    return out


def compress(X: Matrix) -> sparse.csr_array | None:
    """Return dense data as CSR if that is half as large or less; None otherwise."""
    if is_sparse(X):
        return None
    X = np.ascontiguousarray(X)
    counts = np.empty(X.shape[0], np.int64)
    loops.count_entries(X, counts)
    if 3 * int(counts.sum()) > X.size:
        return None
    starts = np.concatenate([[0], np.cumsum(counts)])
    places = np.int32 if starts[-1] <= np.iinfo(np.int32).max else np.int64
    starts, columns = starts.astype(places), np.empty(starts[-1], places)
    data = np.empty(starts[-1], X.dtype)
    loops.take_entries(X, starts, columns, data)
    return sparse.csr_array((data, columns, starts), shape=X.shape)


def flat_rows(X: Matrix) -> Any:
    """Return rows for compiled code, which are checked once and must not change from then on.

    They have the arrays of CSR, unsigned columns spare the test for negative ones; dense data has
    neither columns nor starts of rows.
    """
    if not is_sparse(X):
        return loops.rows(X.reshape(-1), np.empty(0, np.uint32), np.empty(0, np.int32), X.shape[1])
    places = np.promote_types(X.indices.dtype, X.indptr.dtype)
    columns, starts = (np.ascontiguousarray(part, places) for part in (X.indices, X.indptr))
    unsigned = np.uint32 if places.itemsize == 4 else np.uint64
    return loops.rows(np.ascontiguousarray(X.data), columns.view(unsigned), starts, X.shape[1])


def sparse_products(X: sparse.csr_array, Y: Matrix) -> np.ndarray:
    """Return the products of few sparse rows with all of Y, (n, m), each of which is read once."""
    out, rows = np.empty((X.shape[0], Y.shape[0])), flat_rows(Y)
    for products, (first, last) in zip(out, pairwise(X.indptr), strict=True):
        columns = X.indices[first:last].astype(np.int64, copy=False)
        values = X.data[first:last].astype(np.float64, copy=False)
        loops.multiply_sparse(rows, columns, values, products)
    return out


def squared_norms(rows: Any, n: int) -> np.ndarray:
    """Return the squared lengths of n `flat_rows`; columns must not repeat within a row."""
    out = np.empty(n)
    loops.squared_norms(rows, out)
    return out


def _rows_of(X: Matrix):
    """Return X as a C-ordered array or as CSR without repeated entries."""
    if is_sparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.ascontiguousarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
