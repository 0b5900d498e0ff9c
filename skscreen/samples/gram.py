"""The kernel matrix of a set of samples: whole in memory, by rows, or in tiles."""

import threading
from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from skscreen.core.floats import EPS
from skscreen.core.memory import check_memory
from skscreen.samples.distances import (
    all_squared_distances,
    check_sparse_rows,
    is_far,
    lost_digits,
    near_origin,
    rbf_of_distances,
    square_norms,
    squared_distances,
)
from skscreen.samples.gram_loops import add_rows, add_rows_at, copy_block
from skscreen.samples.kernel_blocks import ComputedBlocks, KernelBlocks, RBFBlocks, RBFRows
from skscreen.samples.poly_blocks import PolyBlocks, PolyRows, has_poly_blocks
from skscreen.samples.row_cache import RESERVING, RowCache, reserved_bytes
from skscreen.samples.rows import LARGEST, LARGEST_SINGLE

KERNELS = ("rbf", "poly", "sigmoid", "linear", "precomputed")

# Rows computed at a time: enough for GEMM, few enough for the cache.
_BLOCK = 256

# Samples from which products in tiles are faster than a matrix in memory.
BY_BLOCKS = 2000

# Most features of sparse rows that are made dense.
_WIDEST = 4096
# Bytes for each of their entries: copies in double and single precision.
_BYTES_DENSE = 28.0

# Entries of sparse samples up to which they are made dense.
FEW_ENTRIES = 2**18

# Relative errors of kernel values that are computed here.
_EXACT = 1e-14

# Samples of a block that tells what kind of matrix it is part of.
_PROBE = 256

# Mean kernel value, over that of the diagonal, below which a matrix is next to a unit matrix.
_NARROW = 0.05

# Negative eigenvalues and asymmetry that rounding errors explain, over the largest kernel value.
INDEFINITE = 1e-7


class Shared(Protocol):
    """Matrices that problems on the same samples share, whatever the parameters of their kernel."""

    def kernel(self, key: tuple, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the kernel matrix that a key names: known, or computed."""

    def distances(self, key: tuple, n: int, compute: Callable[[], np.ndarray]):
        """Return the same of n squared distances, or None where they are not worth their memory."""


class IndefiniteError(ValueError):
    """A kernel is not positive semi-definite."""


class Gram:
    """The kernel matrix of a set of samples, whole in memory or by rows as they are needed.

    Parameters
    ----------
    X : array or CSR array of shape (n, d), or ndarray of shape (n, n)
        Samples; the kernel matrix itself if `kernel` is "precomputed".
    kernel : {"rbf", "poly", "sigmoid", "linear", "precomputed"} or callable, default="rbf"
        With the formulas of scikit-learn: exp(-gamma |x - x'|^2), (gamma <x, x'> + coef0)^degree,
        tanh(gamma <x, x'> + coef0). A callable takes two sets of samples and returns the matrix
        between them.
    gamma : float, default=1.0
    degree : float, default=3
    coef0 : float, default=0.0
    cache_size : float, default=1000
        Megabytes. A matrix that fits is computed once. Of a larger one, values are computed in
        tiles as they are needed (see `kernel_blocks`); solvers that ask for rows keep this much of
        them in each thread, those used least recently making room.
    dtype : {np.float64, np.float32}, default=np.float64
        What kernel values are stored in (they are computed in float64). The float32 matrix is the
        one the problem is then solved with, to any gap: rounding changes decision values by up to
        6e-8 sum_i |alpha_i K_ij|.
    shared : Shared, optional
        Matrices of the same samples, with this or with other kernels.
    once : bool, default=False
        Whether one problem is solved for one C. Then more than `BY_BLOCKS` samples have no matrix
        although it would fit, as computing it takes longer than solving; unless it is next to a
        unit matrix.

    Raises
    ------
    MemoryError
        If the rows that `cache_size` allows, or the least number of rows, are not free.
    ValueError
        Unknown kernel; sparse rows too far from the origin for their distances; a matrix that is
        not square, symmetric, or positive semi-definite on a block of 256 samples. Hinge-loss
        problems with an indefinite kernel are not convex: there is no duality gap, and nothing
        could be certified. `sigmoid` is indefinite for most data.
    """

    def __init__(
        self,
        X,
        kernel: str | Callable = "rbf",
        *,
        gamma: float = 1.0,
        degree: float = 3,
        coef0: float = 0.0,
        cache_size: float = 1000,
        dtype=np.float64,
        shared: Shared | None = None,
        once: bool = False,
    ):
        if not callable(kernel) and kernel not in KERNELS:
            raise ValueError(f"kernel must be a callable or one of {KERNELS}, got {kernel!r}")
        self.X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, degree, coef0
        self.n = self.X.shape[0]
        self.dtype = np.dtype(dtype)
        if kernel == "rbf":
            (self.X,) = near_origin(self.X)
            self._squares = square_norms(self.X)
            if not np.all(self._squares <= LARGEST**2):
                raise ValueError(f"X has rows of length above {LARGEST:g}: rescale X.")
            # A single row that is far from the origin is far from all others too.
            far = np.sort(self._squares)[-2:][0]
            self._is_far = is_far(far, gamma)
            # Dense samples that are far have their differences taken.
            self._lost = 0.0
            if sparse.issparse(self.X) or not self._is_far:
                self._lost = lost_digits(far, gamma)
                check_sparse_rows(far, gamma)
        elif kernel == "precomputed":
            check_symmetric(self.X, "X, as a kernel matrix,")
            _check_minors(self.X, np.diagonal(self.X))
        # Overflow is checked below.
        with np.errstate(over="ignore", invalid="ignore"):
            self.diagonal = self._diagonal()
            self._check_definite()
        # An accepted kernel may have a diagonal entry just below zero.
        self.diagonal = np.maximum(self.diagonal, 0.0)
        row = self.n * self.dtype.itemsize
        n_rows = int(min(cache_size * 2**20 // row, self.n))
        self._n_rows = min(max(n_rows, _BLOCK), self.n)
        self.whole, self._caches = None, threading.local()
        self.blocks = None
        if self._has_tiles and (n_rows < self.n or (once and self._is_wide)):
            self.blocks = self.tiles()
        if n_rows == self.n and self.blocks is None:
            self._shared = None if kernel == "precomputed" else shared
            self.whole = self._whole()

    def tiles(self) -> KernelBlocks:
        """Return what computes products in tiles."""
        sparse_and_wide = sparse.issparse(self.X) and self.X.shape[1] > _WIDEST
        if sparse.issparse(self.X) and not sparse_and_wide:
            what = f"{self.n:,} sparse rows made dense"
            nbytes = _BYTES_DENSE * self.n * self.X.shape[1]
            check_memory(nbytes, what, "Use fewer samples.")
        if self.kernel == "rbf" and not sparse_and_wide:
            rows = RBFRows(self.X, self.gamma)
            return RBFBlocks(rows, rows)
        settings = self.gamma, self.degree, self.coef0
        if self.kernel == "poly" and not sparse_and_wide and has_poly_blocks(*settings):
            rows = PolyRows(self.X, *settings)
            return PolyBlocks(rows, rows)
        return ComputedBlocks(self.compute, self.diagonal, self.computed_error)

    @property
    def _has_tiles(self) -> bool:
        """Whether products in tiles are faster than a matrix in memory."""
        if self.n <= BY_BLOCKS or self.kernel == "linear" or self.dtype != np.float64:
            return False
        return bool(self.diagonal.max() <= LARGEST_SINGLE)

    @property
    def _is_wide(self) -> bool:
        """Whether most samples may turn out to be no support vectors.

        Next to the unit matrix nearly all are, and a solution asks for all values again and again.
        """
        if not self.is_definite:
            return False
        probe = self._probe
        block = self.compute(probe, probe)
        return float(np.abs(block).mean()) > _NARROW * float(self.diagonal[probe].mean())

    @property
    def _probe(self) -> np.ndarray:
        return np.linspace(0, self.n - 1, min(self.n, _PROBE)).astype(np.int64)

    @property
    def _cache(self) -> RowCache:
        # Made when rows are asked for: the diagonal needs none. A thread that shared it would find
        # rows gone between fetching and reading them.
        if not hasattr(self._caches, "rows"):
            with RESERVING:
                self._check_memory(self._n_rows, reserved_bytes())
                self._caches.rows = RowCache(self.n, self._n_rows, self.dtype)
        return self._caches.rows

    def compute(self, rows, columns=None) -> np.ndarray:
        """Return K between two sets of samples (all, without columns), in float64."""
        if self.kernel == "precomputed":
            block = self.X[rows] if columns is None else self.X[np.ix_(rows, columns)]
            return np.asarray(block, np.float64)
        A, B = self.X[rows], self.X if columns is None else self.X[columns]
        if self.kernel != "rbf":
            settings = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
            return kernel_values(self.kernel, A, B, **settings)
        D = self._distances(A, B, rows, columns)
        # A sample far from all others loses digits next to itself only.
        place = np.full(self.n, -1)
        place[slice(None) if columns is None else columns] = np.arange(D.shape[1])
        itself = np.flatnonzero(place[rows] >= 0)
        D[itself, place[rows][itself]] = 0.0
        return rbf_of_distances(D, self.gamma, D)

    def distances(self, rows, columns) -> np.ndarray:
        """Return the squared distances between two sets of samples, of an RBF kernel."""
        return self._distances(self.X[rows], self.X[columns], rows, columns)

    def _distances(self, A, B, rows, columns) -> np.ndarray:
        squares = self._squares if columns is None else self._squares[columns]
        return squared_distances(A, B, self._squares[rows], squares, self._is_far)

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return rows of K."""
        if self.whole is not None:
            return self.whole[index]
        out = np.empty((index.size, self.n), self.dtype)
        for first in range(0, index.size, _BLOCK):
            part = slice(first, first + _BLOCK)
            slots = self._cache.slots(index[part], self.compute)
            out[part] = self._cache.values[slots]
        return out

    def block(self, I: np.ndarray, J: np.ndarray, own: np.ndarray, factor: float, out) -> None:
        """Write factor (K_ij - own_i - own_j) to the first columns of `out`, of float32."""
        if self.whole is not None:
            copy_block(self.whole, I, J, own, factor, out)
        elif self.blocks is not None and factor == 1.0 and not own.any():
            self.blocks.block(I, J, out)
        else:
            out[:, : J.size] = factor * (self.compute(I, J) - own[I][:, None] - own[J])

    def add_rows(self, index, weights, out, columns=None) -> None:
        """Add sum_k weights_k K[index_k] (at `columns`) to out."""
        if self.whole is not None:
            if columns is None:
                add_rows(self.whole, index, weights, out)
            else:
                add_rows_at(self.whole, index, weights, columns, out)
            return
        if out.size == 0:
            return
        if self.blocks is not None:
            used = np.arange(self.n) if columns is None else columns
            out += self.blocks.dot(index, weights, used, double=True)[0]
            return
        for first in range(0, index.size, _BLOCK):
            part = slice(first, first + _BLOCK)
            if columns is not None and 2 * columns.size < self.n:
                # Cheaper than whole rows, and rows kept for others stay.
                out += weights[part] @ self.compute(index[part], columns).astype(self.dtype)
                continue
            slots = self._cache.slots(index[part], self.compute)
            if columns is None:
                add_rows(self._cache.values, slots, weights[part], out)
            else:
                add_rows_at(self._cache.values, slots, weights[part], columns, out)

    def _diagonal(self) -> np.ndarray:
        if self.kernel == "rbf":
            return np.ones(self.n)
        if self.kernel == "precomputed":
            return np.array(np.diagonal(self.X), np.float64)
        out = np.empty(self.n)
        # Blocks of a few: all but their diagonals is thrown away.
        for first in range(0, self.n, 16):
            part = np.arange(first, min(first + 16, self.n))
            out[part] = np.diagonal(self.compute(part, part))
        return out

    def _whole(self) -> np.ndarray:
        if self._shared is None:
            return self._compute_whole(self.dtype)
        key = self.kernel, self.gamma, self.degree, self.coef0
        return self._shared.kernel(key, self._compute_whole)

    def _compute_whole(self, dtype=np.float64) -> np.ndarray:
        if self.kernel == "precomputed":
            return np.ascontiguousarray(self.X, self.dtype)
        self._check_memory(self.n)
        K = np.empty((self.n, self.n), dtype)
        if self.kernel == "rbf" and K.dtype == np.float64 and self._shared is not None:
            D = self._shared.distances((self._is_far,), self.n, self.squared_distances)
            if D is not None:
                return rbf_of_distances(D, self.gamma, K)
        # The upper triangle by blocks of rows, mirrored.
        for first in range(0, self.n, _BLOCK):
            last = min(first + _BLOCK, self.n)
            block = self.compute(np.arange(first, last), np.arange(first, self.n))
            K[first:last, first:] = block
            K[last:, first:last] = block[:, last - first :].T
        # |a|^2 + |a|^2 - 2 <a, a> is not exactly zero.
        np.fill_diagonal(K, self.diagonal)
        if not self.is_definite:
            _check_minors(K, self.diagonal)
        return K

    def squared_distances(self) -> np.ndarray:
        """Return the squared distances between all samples, of an RBF kernel."""
        D = np.empty((self.n, self.n))
        all_squared_distances(self.X, self._squares, self._is_far, D)
        return D

    def _check_memory(self, n_rows: int, reserved: int = 0) -> None:
        needed = n_rows * self.n * self.dtype.itemsize + 2 * _BLOCK * self.n * 8 + reserved
        what = f"{n_rows:,} rows of the kernel matrix of {self.n:,} samples"
        check_memory(needed, what, "Use a smaller cache_size, or fewer samples.")

    @property
    def error(self) -> float:
        """Relative errors of the values, which may be of single precision where they are given."""
        if callable(self.kernel) or self.kernel == "precomputed" or self.dtype == np.float32:
            return INDEFINITE
        return max(_EXACT, self._lost if self.kernel == "rbf" else 0.0)

    @property
    def computed_error(self) -> float:
        """Errors of computed values K_ij over sqrt(K_ii K_jj); given ones are what they are."""
        if callable(self.kernel) or self.kernel == "precomputed":
            return 0.0
        # Error of an inner product, relative to the product of the norms.
        products = EPS * (self.X.shape[1] + 4.0)
        if self.kernel == "rbf":
            return 4.0 * products + self.exponent_error
        products *= self.degree + 1.0 if self.kernel == "poly" else 1.0
        if self.is_definite:
            return products
        # A negative `coef0` cancels digits, and a sigmoid has values smaller than its argument.
        size = self.gamma * square_norms(self.X) + abs(self.coef0)
        size = size**self.degree if self.kernel == "poly" else size
        return products * float(np.max(size / np.maximum(self.diagonal, 1e-300)))

    @property
    def exponent_error(self) -> float:
        """Errors of the exponents of an RBF kernel, as far as its values show them."""
        d, largest = self.X.shape[1], self.gamma * float(self._squares.max())
        if self._is_far and not sparse.issparse(self.X):
            # Of t = gamma |x - x'|^2, by differences: next to t and to its root, and no power of
            # t times exp(-t) is larger than 1.
            return EPS * (d + 4.0 + 2.0 * np.sqrt(largest))
        return 4.0 * EPS * (d + 4.0) * largest

    @property
    def is_definite(self) -> bool:
        """Whether the kernel is positive semi-definite on any samples."""
        return is_definite(self.kernel, self.gamma, self.coef0)

    def _check_definite(self) -> None:
        """Refuse a kernel that is indefinite on a block of samples."""
        if not np.all(np.isfinite(self.diagonal)):
            raise ValueError("the kernel has values that are not finite on X")
        if self.diagonal.max() > LARGEST**2:
            raise ValueError(
                f"the kernel has values up to {self.diagonal.max():g} on X, and products above "
                f"{LARGEST**2:g} may overflow: rescale X, or choose other parameters of the kernel"
            )
        if self.is_definite:
            return
        probe = self._probe
        block = self.compute(probe, probe)
        if callable(self.kernel):
            check_symmetric(block, "The matrix of a callable kernel")
        if not np.all(np.isfinite(block)):
            raise ValueError("the kernel has values that are not finite on X")
        smallest, largest = np.linalg.eigvalsh(block)[[0, -1]]
        if smallest < -INDEFINITE * abs(largest):
            found = f"eigenvalue {smallest:.3g} on {probe.size} samples"
            raise IndefiniteError(indefinite_message(found))


def is_definite(kernel: str | Callable, gamma: float, coef0: float) -> bool:
    """Whether a kernel is positive semi-definite on any samples."""
    if kernel == "poly":
        return gamma >= 0.0 and coef0 >= 0.0
    return kernel in ("rbf", "linear")


def _check_minors(K: np.ndarray, diagonal: np.ndarray) -> None:
    """Refuse a symmetric matrix with an indefinite minor of two rows."""
    roots = np.sqrt(np.maximum(diagonal, 0.0))
    for first in range(0, len(K), _BLOCK):
        part = slice(first, first + _BLOCK)
        excess = np.abs(K[part]) - roots[part, None] * roots
        if excess.max() > INDEFINITE * diagonal.max():
            i, j = np.unravel_index(excess.argmax(), excess.shape)
            raise IndefiniteError(indefinite_message(f"see samples {first + i} and {j}"))


def indefinite_message(found: str) -> str:
    """Return the text of the error for kernels that are not positive semi-definite."""
    return (
        f"the kernel is not positive semi-definite ({found}): the problem is not convex and no "
        "solution could be certified; choose another kernel or other parameters, or let "
        "indefinite='shift' add to the diagonal what is missing, or take the solution without a "
        "certificate, with indefinite='warn'"
    )


def kernel_values(kernel: str | Callable, A, B, **settings: float) -> np.ndarray:
    """Return the matrix between two sets of samples of a kernel, as `Gram` would."""
    shape = A.shape[0], B.shape[0]
    if 0 in shape:
        return np.empty(shape)
    if kernel == "rbf":
        # Sparse rows cannot be shifted. Few of them were learned from as dense ones.
        if max(shape) * A.shape[1] <= FEW_ENTRIES:
            A, B = (X.toarray() if sparse.issparse(X) else X for X in (A, B))
        (A, B), gamma = near_origin(A, B), settings["gamma"]
        squares = square_norms(A), square_norms(B)
        far = min(s.max() for s in squares)
        if sparse.issparse(A) or sparse.issparse(B):
            check_sparse_rows(far, gamma)
        D = squared_distances(A, B, *squares, is_far(far, gamma))
        return rbf_of_distances(D, gamma, D)
    if not callable(kernel):
        return pairwise_kernels(A, B, metric=kernel, filter_params=True, **settings)
    return matrix_of(kernel, A, B, shape)


def matrix_of(kernel: Callable, A, B, shape: tuple[int, int]) -> np.ndarray:
    """Return what a function says is the kernel matrix between two sets of samples."""
    K = kernel(A, B)
    # The matrix may be sparse for sparse samples.
    K = np.asarray(K.toarray() if sparse.issparse(K) else K, np.float64)
    if K.shape != shape:
        raise ValueError(
            f"kernel must return a matrix of shape {shape} for two sets of so many samples, got "
            f"shape {K.shape}."
        )
    return K


def check_symmetric(K: np.ndarray, what: str) -> None:
    """Refuse a matrix that is not square and symmetric; `what` it is begins the message."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"{what} must be square, got shape {K.shape}.")
    largest = max(K.max(initial=0.0), -K.min(initial=0.0))
    for first in range(0, len(K), _BLOCK):
        part = slice(first, first + _BLOCK)
        if np.abs(K[part] - K[:, part].T).max() > INDEFINITE * largest:
            raise ValueError(
                f"{what} must be symmetric. SVC would take it, and end at a point that is "
                "optimal for no problem, as it reads rows as columns: pass the symmetric part, "
                "(K + K.T) / 2."
            )
