"""The kernel matrix of a set of samples: whole in memory, or in tiles."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from skscreen._compiled import samples as loops
from skscreen.core.floats import EPS
from skscreen.core.memory import check_memory
from skscreen.samples.kernels.definite import (
    INDEFINITE,
    check_definite,
    check_minors,
    check_symmetric,
)
from skscreen.samples.kernels.distances import (
    all_squared_distances,
    lost_digits,
    near_origin,
    rbf_of_distances,
    square_norms,
    squared_distances,
)
from skscreen.samples.kernels.kernel_blocks import ComputedBlocks, KernelBlocks, RBFBlocks, RBFRows
from skscreen.samples.kernels.poly_blocks import PolyBlocks, PolyRows, has_poly_blocks
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


class Shared(Protocol):
    """Matrices that problems on the same samples share, whatever the parameters of their kernel."""

    def kernel(self, key: tuple, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the kernel matrix that a key names: known, or computed."""

    def distances(self, key: tuple, n: int, compute: Callable[[], np.ndarray]) -> np.ndarray | None:
        """Return the same of n squared distances, or None where they are not worth their memory."""


class Gram:
    """The kernel matrix of samples X (n, d); of kernel "precomputed" X is the matrix.

    A matrix of up to `cache_size` megabytes is computed `whole`; of a larger one values are
    computed in tiles as they are needed (see `kernel_blocks`). So it is for more than `BY_BLOCKS`
    samples where one problem is solved for one C (`once`), as computing the matrix takes longer
    than solving; unless it is next to a unit matrix. A kernel that is not positive semi-definite is
    refused: its problems are not convex, and nothing could be certified.
    """

    def __init__(
        self, X, kernel: str | Callable = "rbf", *, gamma: float = 1.0, degree: float = 3,
        coef0: float = 0.0, cache_size: float = 1000, shared: Shared | None = None,
        once: bool = False,
    ):  # fmt: skip
        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {KERNELS}, got {kernel!r}")
        self.X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, degree, coef0
        self.n, self.is_definite = self.X.shape[0], is_definite(kernel, gamma, coef0)
        self._probe = np.linspace(0, self.n - 1, min(self.n, _PROBE)).astype(np.int64)
        if kernel == "rbf":
            (self.X,) = near_origin(self.X)
            self._squares = square_norms(self.X)
            if not np.all(self._squares <= LARGEST**2):
                raise ValueError(f"X has rows of length above {LARGEST:g}: rescale X.")
            # A single row that is far from the origin is far from all others too.
            far = np.sort(self._squares)[-2:][0]
            is_sparse = sparse.issparse(self.X)
            self._lost, self._is_far = lost_digits(far, self.gamma, is_sparse)
            # Dense samples that are far have their differences taken.
            self._lost = 0.0 if self._is_far and not is_sparse else self._lost
        elif kernel == "precomputed":
            check_symmetric(self.X, "X, as a kernel matrix,")
            check_minors(self.X, np.diagonal(self.X))
        # Overflow is checked below.
        with np.errstate(over="ignore", invalid="ignore"):
            self.diagonal = self._diagonal()
            self._check_values()
        # An accepted kernel may have a diagonal entry just below zero.
        self.diagonal = np.maximum(self.diagonal, 0.0)
        fits = 8 * self.n**2 <= cache_size * 2**20
        in_tiles = once and self.n > BY_BLOCKS and self._is_wide
        self._shared = None if kernel == "precomputed" else shared
        self.whole = None
        if fits and not in_tiles:
            # What has told that there is to be a matrix takes memory.
            vars(self).pop("blocks", None)
            key, compute = (kernel, gamma, degree, coef0), self._compute_whole
            self.whole = compute() if self._shared is None else self._shared.kernel(key, compute)

    @cached_property
    def blocks(self) -> KernelBlocks:
        """What computes products in tiles."""
        small = float(self.diagonal.max(initial=0.0)) <= LARGEST_SINGLE
        full = not sparse.issparse(self.X) or self.X.shape[1] <= _WIDEST
        if full and sparse.issparse(self.X):
            what = f"{self.n:,} sparse rows made dense"
            nbytes = _BYTES_DENSE * self.n * self.X.shape[1]
            check_memory(nbytes, what, "Use fewer samples.")
        if self.kernel == "rbf" and full:
            near = RBFRows(self.X, self.gamma)
            return RBFBlocks(near, near)
        settings = self.gamma, self.degree, self.coef0
        if self.kernel == "poly" and full and small and has_poly_blocks(*settings):
            rows = PolyRows(self.X, *settings)
            return PolyBlocks(rows, rows)
        return ComputedBlocks(self.compute, self.diagonal, self.computed_error)

    @property
    def _is_wide(self) -> bool:
        """Whether most samples may turn out to be no support vectors: not next to a unit matrix."""
        if not self.is_definite or self.diagonal.max() > LARGEST_SINGLE:
            return False
        probe = self._probe
        values = np.empty((probe.size, probe.size), np.float32)
        self.blocks.block(probe, probe, values)
        return float(np.abs(values).mean()) > _NARROW * float(self.diagonal[probe].mean())

    def dot(
        self, I: np.ndarray, c: np.ndarray, J: np.ndarray, double: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return sum_{i in I} c_i K(x_i, x_j) for j in J, and the errors: bounds or estimates."""
        if self.whole is None:
            return self.blocks.dot(I, c, J, double)
        out, roots = np.zeros(J.size), self._roots
        if I.size and J.size == self.n:
            loops.add_gram_rows(self.whole, I, c, out)
        elif I.size:
            loops.add_gram_rows_at(self.whole, I, c, J, out)
        return out, 2.0 * EPS * float(np.linalg.norm(c * roots[I])) * roots[J]

    @cached_property
    def _roots(self) -> np.ndarray:
        return np.sqrt(self.diagonal)

    def block(
        self,
        I: np.ndarray,
        J: np.ndarray,
        out: np.ndarray,
        own: tuple[np.ndarray, np.ndarray] | None = None,
        factor: float = 1.0,
    ) -> None:
        """Write factor (K_ij - own_i - own_j) to the first columns of `out`; own = (I's, J's)."""
        if self.whole is not None:
            left, right = (np.zeros(I.size), np.zeros(J.size)) if own is None else own
            loops.copy_block(self.whole, I, J, left, right, factor, out)
        elif own is None and factor == 1.0 and out.dtype == np.float32:
            self.blocks.block(I, J, out)
        else:
            K = self.compute(I, J)
            K = K if own is None else K - own[0][:, None] - own[1]
            out[:, : J.size] = factor * K

    def compute(self, rows: Any, columns: Any) -> np.ndarray:
        """Return K between two sets of samples, in float64."""
        if self.kernel == "precomputed":
            return np.asarray(self.X[np.ix_(rows, columns)], np.float64)
        if self.kernel != "rbf":
            settings = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
            return kernel_values(self.kernel, self.X[rows], self.X[columns], **settings)
        D = self.distances(rows, columns)
        # A sample far from all others loses digits next to itself only.
        place = np.full(self.n, -1)
        place[columns] = np.arange(D.shape[1])
        itself = np.flatnonzero(place[rows] >= 0)
        D[itself, place[rows][itself]] = 0.0
        return rbf_of_distances(D, self.gamma, D)

    def distances(self, rows: Any, columns: Any) -> np.ndarray:
        """Return the squared distances between two sets of samples, of an RBF kernel."""
        squares = self._squares[rows], self._squares[columns]
        return squared_distances(self.X[rows], self.X[columns], *squares, self._is_far)

    def _diagonal(self) -> np.ndarray:
        if self.kernel == "rbf":
            return np.ones(self.n)
        if self.kernel == "precomputed":
            return np.array(np.diagonal(self.X), np.float64)
        squares = square_norms(self.X)
        if self.kernel == "linear":
            return squares
        inner = self.gamma * squares + self.coef0
        return np.tanh(inner) if self.kernel == "sigmoid" else inner**self.degree

    def _compute_whole(self) -> np.ndarray:
        if self.kernel == "precomputed":
            return np.ascontiguousarray(self.X, np.float64)
        what = f"{self.n:,} rows of the kernel matrix of {self.n:,} samples"
        needed = 8 * self.n * (self.n + 2 * _BLOCK)
        check_memory(needed, what, "Use a smaller cache_size, or fewer samples.")
        K = np.empty((self.n, self.n))
        if self.kernel == "rbf" and self._shared is not None:
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
            check_minors(K, self.diagonal)
        return K

    def squared_distances(self) -> np.ndarray:
        """Return the squared distances between all samples, of an RBF kernel."""
        D = np.empty((self.n, self.n))
        all_squared_distances(self.X, self._squares, self._is_far, D)
        return D

    @property
    def error(self) -> float:
        """Relative errors of the values, which may be of single precision where they are given."""
        if self.kernel == "precomputed":
            return INDEFINITE
        return max(_EXACT, self._lost if self.kernel == "rbf" else 0.0)

    @property
    def computed_error(self) -> float:
        """Errors of computed values K_ij over sqrt(K_ii K_jj); given ones are what they are."""
        if self.kernel == "precomputed":
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

    def _check_values(self) -> None:
        """Refuse values that are not finite, or too large, and a kernel that is indefinite."""
        if not np.all(np.isfinite(self.diagonal)):
            raise ValueError("the kernel has values that are not finite on X")
        if self.diagonal.max() > LARGEST**2:
            raise ValueError(
                f"the kernel has values up to {self.diagonal.max():g} on X, and products above "
                f"{LARGEST**2:g} may overflow: rescale X, or choose other parameters of the kernel"
            )
        if not self.is_definite:
            check_definite(self.compute(self._probe, self._probe))


def is_definite(kernel: str | Callable, gamma: float, coef0: float) -> bool:
    """Whether a kernel is positive semi-definite on any samples."""
    if kernel == "poly":
        return gamma >= 0.0 and coef0 >= 0.0
    return kernel in ("rbf", "linear")


def kernel_values(kernel: str | Callable, A: Any, B: Any, **settings: float) -> np.ndarray:
    """Return the matrix between two sets of samples of a kernel, as `Gram` would."""
    shape = A.shape[0], B.shape[0]
    if 0 in shape:
        return np.empty(shape)
    if callable(kernel):
        return matrix_of(kernel, A, B, shape)
    if kernel != "rbf":
        return pairwise_kernels(A, B, metric=kernel, filter_params=True, **settings)
    # Sparse rows cannot be shifted. Few of them were learned from as dense ones.
    if max(shape) * A.shape[1] <= FEW_ENTRIES:
        A, B = (X.toarray() if sparse.issparse(X) else X for X in (A, B))
    (A, B), gamma = near_origin(A, B), settings["gamma"]
    squares = square_norms(A), square_norms(B)
    far, is_sparse = min(s.max() for s in squares), sparse.issparse(A) or sparse.issparse(B)
    D = squared_distances(A, B, *squares, lost_digits(far, gamma, is_sparse)[1])
    return rbf_of_distances(D, gamma, D)


def matrix_of(kernel: Callable, A: Any, B: Any, shape: tuple[int, int]) -> np.ndarray:
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
