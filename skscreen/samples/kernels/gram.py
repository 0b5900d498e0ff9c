"""The kernel matrix of a set of samples: whole in memory, or in tiles."""

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

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
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.kernels.kernel_blocks import ComputedBlocks, KernelBlocks, RBFBlocks, RBFRows
from skscreen.samples.kernels.poly_blocks import PolyBlocks, PolyRows
from skscreen.samples.rows import LARGEST, LARGEST_SINGLE

# Rows computed at a time: enough for GEMM, few enough for the cache.
_BLOCK = 256

# Samples from which products in tiles are faster than a matrix in memory.
BY_BLOCKS = 2000


class Shared(Protocol):
    """Matrices that problems on the same samples share, whatever the parameters of their kernel."""

    def kernel(self, key: Hashable, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the kernel matrix that a key names: known, or computed."""

    def distances(self, key: tuple, n: int, compute: Callable[[], np.ndarray]) -> np.ndarray | None:
        """Return the same of n squared distances, or None where they are not worth their memory."""


class Gram:
    """The matrix of a kernel on samples X (n, d); of the kernel "precomputed" X is the matrix.

    A matrix of up to `cache_size` megabytes is computed `whole`; of a larger one values are
    computed in tiles as they are needed (see `kernel_blocks`). So it is for more than `BY_BLOCKS`
    samples where one problem is solved for one C (`once`), as computing the matrix takes longer
    than solving; unless it is next to a unit matrix. A kernel that is not positive semi-definite is
    refused: its problems are not convex, and nothing could be certified.
    """

    def __init__(
        self, X, kernel: Kernel, *, cache_size: float = 1000, shared: Shared | None = None,
        once: bool = False,
    ):  # fmt: skip
        self.X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        self.kernel, self.n = kernel, self.X.shape[0]
        # A block of these samples tells what kind of matrix it is part of.
        self._probe = np.linspace(0, self.n - 1, min(self.n, 256)).astype(np.int64)
        # Relative errors of the values.
        self.error = 1e-14
        if kernel.name == "rbf":
            (self.X,) = near_origin(self.X)
            self._squares = square_norms(self.X)
            if not np.all(self._squares <= LARGEST**2):
                raise ValueError(f"X has rows of length above {LARGEST:g}: rescale X.")
            # A single row that is far from the origin is far from all others too.
            far = np.sort(self._squares)[-2:][0]
            is_sparse = sparse.issparse(self.X)
            lost, self._is_far = lost_digits(far, kernel.gamma, is_sparse)
            if is_sparse or not self._is_far:
                # Else differences are taken.
                self.error = max(self.error, lost)
        elif kernel.name == "precomputed":
            # They may be of single precision.
            self.error = INDEFINITE
            check_symmetric(self.X, "X, as a kernel matrix,")
            check_minors(self.X, np.diagonal(self.X))
        # Overflow is checked below.
        with np.errstate(over="ignore", invalid="ignore"):
            self.diagonal = self._diagonal()
            self._check_values()
        # An accepted kernel may have a diagonal entry just below zero.
        self.diagonal = np.maximum(self.diagonal, 0.0)
        self._roots = np.sqrt(self.diagonal)
        fits = 8 * self.n**2 <= cache_size * 2**20
        in_tiles = once and self.n > BY_BLOCKS and self._is_wide
        self._shared = None if kernel.name == "precomputed" else shared
        self.whole = None
        if fits and not in_tiles:
            # What has told that there is to be a matrix takes memory.
            vars(self).pop("blocks", None)
            compute = self._compute_whole
            self.whole = compute() if self._shared is None else self._shared.kernel(kernel, compute)

    @cached_property
    def blocks(self) -> KernelBlocks:
        """What computes products in tiles."""
        small = float(self.diagonal.max(initial=0.0)) <= LARGEST_SINGLE
        # Wide sparse rows stay as they are.
        full = not sparse.issparse(self.X) or self.X.shape[1] <= 4096
        if full and sparse.issparse(self.X):
            what = f"{self.n:,} sparse rows made dense"
            # Copies in double and in single precision.
            nbytes = 28.0 * self.n * self.X.shape[1]
            check_memory(nbytes, what, "Use fewer samples.")
        kernel = self.kernel
        if kernel.name == "rbf" and full:
            near = RBFRows(self.X, kernel.gamma)
            return RBFBlocks(near, near)
        if kernel.is_power and full and small:
            rows = PolyRows(self.X, kernel.gamma, kernel.degree, kernel.coef0)
            return PolyBlocks(rows, rows)
        return ComputedBlocks(self.compute, self.diagonal, self.computed_error)

    @property
    def _is_wide(self) -> bool:
        """Whether most samples may turn out to be no support vectors: not next to a unit matrix."""
        if not self.kernel.is_definite or self.diagonal.max() > LARGEST_SINGLE:
            return False
        probe = self._probe
        values = np.empty((probe.size, probe.size), np.float32)
        self.blocks.block(probe, probe, values)
        return float(np.abs(values).mean()) > 0.05 * float(self.diagonal[probe].mean())

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
        if self.kernel.name == "precomputed":
            return np.asarray(self.X[np.ix_(rows, columns)], np.float64)
        if self.kernel.name != "rbf":
            return self.kernel.between(self.X[rows], self.X[columns])
        D = self.distances(rows, columns)
        # A sample far from all others loses digits next to itself only.
        place = np.full(self.n, -1)
        place[columns] = np.arange(D.shape[1])
        itself = np.flatnonzero(place[rows] >= 0)
        D[itself, place[rows][itself]] = 0.0
        return rbf_of_distances(D, self.kernel.gamma, D)

    def distances(self, rows: Any, columns: Any) -> np.ndarray:
        """Return the squared distances between two sets of samples, of an RBF kernel."""
        squares = self._squares[rows], self._squares[columns]
        return squared_distances(self.X[rows], self.X[columns], *squares, self._is_far)

    def _diagonal(self) -> np.ndarray:
        kernel = self.kernel
        if kernel.name == "rbf":
            return np.ones(self.n)
        if kernel.name == "precomputed":
            return np.array(np.diagonal(self.X), np.float64)
        squares = square_norms(self.X)
        if kernel.name == "linear":
            return squares
        inner = kernel.gamma * squares + kernel.coef0
        return np.tanh(inner) if kernel.name == "sigmoid" else inner**kernel.degree

    def _compute_whole(self) -> np.ndarray:
        if self.kernel.name == "precomputed":
            return np.ascontiguousarray(self.X, np.float64)
        what = f"{self.n:,} rows of the kernel matrix of {self.n:,} samples"
        needed = 8 * self.n * (self.n + 2 * _BLOCK)
        check_memory(needed, what, "Use a smaller cache_size, or fewer samples.")
        K = np.empty((self.n, self.n))
        if self.kernel.name == "rbf" and self._shared is not None:
            D = self._shared.distances((self._is_far,), self.n, self.squared_distances)
            if D is not None:
                return rbf_of_distances(D, self.kernel.gamma, K)
        # The upper triangle by blocks of rows, mirrored.
        for first in range(0, self.n, _BLOCK):
            last = min(first + _BLOCK, self.n)
            block = self.compute(np.arange(first, last), np.arange(first, self.n))
            K[first:last, first:] = block
            K[last:, first:last] = block[:, last - first :].T
        # |a|^2 + |a|^2 - 2 <a, a> is not exactly zero.
        np.fill_diagonal(K, self.diagonal)
        if not self.kernel.is_definite:
            check_minors(K, self.diagonal)
        return K

    def squared_distances(self) -> np.ndarray:
        """Return the squared distances between all samples, of an RBF kernel."""
        D = np.empty((self.n, self.n))
        all_squared_distances(self.X, self._squares, self._is_far, D)
        return D

    @property
    def computed_error(self) -> float:
        """Errors of computed values K_ij over sqrt(K_ii K_jj); given ones are what they are."""
        kernel = self.kernel
        if kernel.name == "precomputed":
            return 0.0
        # Error of an inner product, relative to the product of the norms.
        products = EPS * (self.X.shape[1] + 4.0)
        if kernel.name == "rbf":
            return 4.0 * products + self.exponent_error
        products *= kernel.degree + 1.0 if kernel.name == "poly" else 1.0
        if kernel.is_definite:
            return products
        # A negative `coef0` cancels digits, and a sigmoid has values smaller than its argument.
        size = kernel.gamma * square_norms(self.X) + abs(kernel.coef0)
        size = size**kernel.degree if kernel.name == "poly" else size
        return products * float(np.max(size / np.maximum(self.diagonal, 1e-300)))

    @property
    def exponent_error(self) -> float:
        """Errors of the exponents of an RBF kernel, as far as its values show them."""
        d, largest = self.X.shape[1], self.kernel.gamma * float(self._squares.max())
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
        if not self.kernel.is_definite:
            check_definite(self.compute(self._probe, self._probe))
