"""The kernel matrix of a set of samples, whole in memory or in tiles, and samples known by it.

With z_i = y_i (phi(x_i), B), where B is the value of the feature that carries the penalised
intercept (0 for none), everything a solver asks of samples is in

    Q_ij = <z_i, z_j> = y_i y_j (K_ij + B^2).

A `Gram` knows no labels: the problems of one-vs-rest share it.
"""

from __future__ import annotations

from functools import cached_property
from math import fsum
from typing import Any

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
    BLOCK,
    all_squared_distances,
    lost_digits,
    near_origin,
    rbf_of_distances,
    square_norms,
    squared_distances,
    write_symmetric,
)
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.kernels.kernel_blocks import ComputedBlocks, RBFBlocks, RBFRows, spread_error
from skscreen.samples.kernels.poly_blocks import PolyBlocks, PolyRows
from skscreen.samples.rows import LARGEST, LARGEST_SINGLE


def _arguments(kernel: Kernel, X: Any) -> np.ndarray:
    """Return sizes of terms of the kernel values of samples with themselves."""
    size = abs(kernel.gamma) * square_norms(X) + abs(kernel.coef0)
    return size**kernel.degree if kernel.name == "poly" else size


def value_error(kernel: Kernel, X: Any) -> float:
    """Return the largest error of computed values of a kernel of products; given ones have none."""
    if kernel.name == "precomputed":
        return 0.0
    times = kernel.degree + 1.0 if kernel.name == "poly" else 1.0
    return EPS * (X.shape[1] + 4.0) * times * float(_arguments(kernel, X).max(initial=0.0))


class Gram:
    """The matrix of a kernel on samples X (n, d); of the kernel "precomputed" X is the matrix.

    A matrix of up to `cache_size` megabytes is computed `whole`; without one values are computed in
    tiles as they are needed (see `kernel_blocks`), until `fill` computes it. A kernel that is not
    positive semi-definite is refused: its problems are not convex, and nothing could be certified.
    """

    def __init__(self, X, kernel: Kernel, *, cache_size: float = 1000):
        self.X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        self.kernel, self.n = kernel, self.X.shape[0]
        # A block of these samples tells what kind of matrix it is part of.
        self._probe = np.linspace(0, self.n - 1, min(self.n, 256)).astype(np.int64)
        # Relative errors of the values.
        self.error, self.diagonal = 1e-14, np.ones(self.n)
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
            if kernel.function is None:
                # That of a function is checked where it is computed.
                check_symmetric(self.X, "X, as a kernel matrix,")
            self.diagonal = np.array(np.diagonal(self.X), np.float64)
            check_minors(self.X, self.diagonal)
        # Overflow is what is checked.
        with np.errstate(over="ignore", invalid="ignore"):
            if kernel.name in ("linear", "poly", "sigmoid"):
                squares = square_norms(self.X)
                if kernel.name == "sigmoid" and not np.all(np.isfinite(squares)):
                    # A sigmoid of them is 1, but what errors they have is not known.
                    raise ValueError("X has rows whose inner products overflow: rescale X")
                self.diagonal = kernel.of_products(squares)
            if not np.all(np.isfinite(self.diagonal)):
                raise ValueError("the kernel has values that are not finite on X")
            if (largest := self.diagonal.max()) > LARGEST**2:
                raise ValueError(
                    f"the kernel has values up to {largest:g} on X, and products above "
                    f"{LARGEST**2:g} may overflow: rescale X, or choose other parameters of the "
                    "kernel"
                )
            if not kernel.is_definite:
                check_definite(self.compute(self._probe, self._probe))
        # An accepted kernel may have a diagonal entry just below zero.
        self.diagonal = np.maximum(self.diagonal, 0.0)
        self._roots = np.sqrt(self.diagonal)
        self.whole: np.ndarray | None = None
        if 8 * self.n**2 <= cache_size * 2**20:
            self.fill()

    def fill(self, shared: Any = None) -> None:
        """Compute the whole matrix, unless it is there.

        `shared` is what keeps matrices of these samples for other kernels too, see
        `fitting.kept_matrices`.
        """
        if self.whole is not None:
            return
        # What has told that there is to be a matrix takes memory.
        vars(self).pop("blocks", None)
        if shared is None or self.kernel.name == "precomputed":
            self.whole = self._compute_whole(None)
        else:
            self.whole = shared.kernel(self.kernel, lambda: self._compute_whole(shared))

    @cached_property
    def blocks(self) -> RBFBlocks | PolyBlocks | ComputedBlocks:
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
    def is_wide(self) -> bool:
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

    def exact_dot(self, I: np.ndarray, c: np.ndarray, J: np.ndarray) -> np.ndarray:
        """Return sum_{i in I} c_i K(x_i, x_j) for j in J, in extended precision."""
        out = np.empty(J.size, np.longdouble)
        for first in range(0, J.size, BLOCK):
            part = slice(first, first + BLOCK)
            if self.kernel.name == "precomputed":
                K = self.compute(J[part], I)
            else:
                X = self.X[J[part]], self.X[I]
                K = self.kernel.exact(*(A.toarray() if sparse.issparse(A) else A for A in X))
            out[part] = K @ c
        return out

    def block(
        self, I: np.ndarray, J: np.ndarray, out: np.ndarray, own: tuple | None = None,
        factor: float = 1.0,
    ) -> None:  # fmt: skip
        """Write factor (K_ij - own_i - own_j) to the first columns of `out`; own = (I's, J's)."""
        if self.whole is not None:
            left, right = (np.zeros(I.size), np.zeros(J.size)) if own is None else own
            loops.copy_block(self.whole, I, J, left, right, factor, out)
        elif own is None and factor == 1.0 and (out.dtype == np.float32 or self.kernel.is_power):
            self.blocks.block(I, J, out)
        else:
            K = self.compute(I, J)
            K = K if own is None else K - own[0][:, None] - own[1]
            out[:, : J.size] = factor * K

    def compute(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        """Return K between two sets of samples, in float64."""
        if self.kernel.name == "precomputed":
            # Slices have no product of indices.
            if isinstance(rows, slice) or isinstance(columns, slice):
                return np.asarray(self.X[rows, columns], np.float64)
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

    def distances(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        """Return the squared distances between two sets of samples, of an RBF kernel."""
        squares = self._squares[rows], self._squares[columns]
        return squared_distances(self.X[rows], self.X[columns], *squares, self._is_far)

    def _compute_whole(self, shared: Any) -> np.ndarray:
        if self.kernel.name == "precomputed":
            return np.ascontiguousarray(self.X, np.float64)
        what = f"{self.n:,} rows of the kernel matrix of {self.n:,} samples"
        needed = 8 * self.n * (self.n + 2 * BLOCK)
        check_memory(needed, what, "Use a smaller cache_size, or fewer samples.")
        K = np.empty((self.n, self.n))
        if self.kernel.name == "rbf" and shared is not None:
            D = shared.distances((self._is_far,), self.n, self.squared_distances)
            if D is not None:
                return rbf_of_distances(D, self.kernel.gamma, K)
        write_symmetric(self.compute, K)
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
        if kernel.name == "poly":
            # Or of rows of length 1, which are multiplied by their lengths.
            products = (kernel.degree + 1.0) * (products + EPS)
        if kernel.is_definite:
            return products
        # A negative `coef0` cancels digits, and a sigmoid has values smaller than its argument.
        size = _arguments(kernel, self.X)
        with np.errstate(over="ignore"):
            return products * float(np.max(size / np.maximum(self.diagonal, 1e-300)))

    @property
    def exponent_error(self) -> float:
        """Errors of the exponents of an RBF kernel, as far as its values, at most 1, show them."""
        d, largest = self.X.shape[1], self.kernel.gamma * float(self._squares.max())
        if self._is_far and not sparse.issparse(self.X):
            # Of t = gamma |x - x'|^2, by differences: next to t and to its root, and no power of
            # t times exp(-t) is larger than 1.
            return min(EPS * (d + 4.0 + 2.0 * float(np.sqrt(largest))), 1.0)
        return min(4.0 * EPS * (d + 4.0) * largest, 1.0)

    def sum_errors(self, sizes: np.ndarray) -> np.ndarray:
        """Bound what errors of kernel values do to sums_j c_j K_ij, |c_j| = sizes_j, of all i."""
        roots = self._roots
        if self.kernel.name != "rbf" or self._is_far:
            return spread_error(self.computed_error * float(sizes @ roots), roots)
        # Exponents have the errors of |x_i|^2 and |x_j|^2: a long row is wrong for itself alone.
        digits, own = self._exponent_errors()
        total = float(sizes.sum())
        return 4.0 * digits * total + own * total + float(sizes @ own)

    def sum_errors_of_values(self, sizes: np.ndarray) -> np.ndarray:
        """Return closer bounds, by two products: a value has no more than its share of errors."""
        if self.kernel.name != "rbf" or self._is_far:
            return self.sum_errors(sizes)
        digits, own = self._exponent_errors()
        if own.max() > 0.005:
            return self.sum_errors(sizes)
        used, everyone = np.flatnonzero(sizes), np.arange(self.n)
        sums = self.dot(used, sizes[used], everyone, double=True)[0]
        others = self.dot(used, (sizes * own)[used], everyone, double=True)[0]
        # exp(-a) is wrong by at most e exp(e) times the value, e <= .01 that of a.
        return 1.02 * ((4.0 * digits + own) * sums + others)

    def _exponent_errors(self) -> tuple[float, np.ndarray]:
        """Return relative errors of distances, and those of exponents that are of each row."""
        digits = EPS * (self.X.shape[1] + 4.0)
        return digits, 2.0 * digits * self.kernel.gamma * self._squares


class Places:
    """Kernel values of samples that are rows (n,) of a `Gram`: of some, or of all of them twice."""

    def __init__(self, gram: Gram, rows: np.ndarray):
        self._gram, self._rows, self.n = gram, rows, rows.size
        self.whole, self.error = gram.whole, gram.error
        self.diagonal, self.computed_error = gram.diagonal[rows], gram.computed_error

    @classmethod
    def twice(cls, gram: Gram) -> Places:
        """Return samples that stand twice."""
        return cls(gram, np.tile(np.arange(gram.n), 2))

    def dot(
        self, I: np.ndarray, c: np.ndarray, J: np.ndarray, double: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return sum_{i in I} c_i K(x_i, x_j) for j in J, and bounds on the errors."""
        if self.n <= self._gram.n:
            return self._gram.dot(self._rows[I], c, self._rows[J], double)
        sums = np.bincount(self._rows[I], c, minlength=self._gram.n)
        used, asked = np.flatnonzero(sums), self._rows[J]
        place = np.zeros(self._gram.n, np.int64)
        place[asked] = 1
        read = np.flatnonzero(place)
        place[read] = np.arange(read.size)
        values, errors = self._gram.dot(used, sums[used], read, double)
        return values[place[asked]], errors[place[asked]]

    def sum_errors(self, sizes: np.ndarray) -> np.ndarray:
        """Bound what errors of kernel values do to sums, see `Gram.sum_errors`."""
        sums = np.bincount(self._rows, sizes, minlength=self._gram.n)
        return self._gram.sum_errors(sums)[self._rows]

    def sum_errors_of_values(self, sizes: np.ndarray) -> np.ndarray:
        """Return closer bounds, see `Gram.sum_errors_of_values`."""
        sums = np.bincount(self._rows, sizes, minlength=self._gram.n)
        return self._gram.sum_errors_of_values(sums)[self._rows]

    def exact_dot(self, I: np.ndarray, c: np.ndarray, J: np.ndarray) -> np.ndarray:
        """Return sum_{i in I} c_i K(x_i, x_j) for j in J, in extended precision."""
        return self._gram.exact_dot(self._rows[I], c, self._rows[J])

    def block(
        self, I: np.ndarray, J: np.ndarray, out: np.ndarray, own: tuple | None = None,
        factor: float = 1.0,
    ) -> None:  # fmt: skip
        """Write kernel values to the first columns of `out`, see `Gram.block`."""
        self._gram.block(self._rows[I], self._rows[J], out, own, factor)


class KernelSamples:
    """Samples known by their kernel values, and `bias` B."""

    # Sums of BLAS would depend on the number of its threads; kernel values have threads of their
    # own.
    width = 0.0

    def __init__(self, gram: Gram | Places, *, bias: float = 0.0):
        self.gram, self.bias = gram, float(bias)
        largest = float(gram.diagonal.max(initial=0.0))
        most = 1e6 * largest**0.5
        if largest > 0.0 and self.bias > most:
            # Beside B^2 kernel values would keep fewer than four digits.
            raise ValueError(
                f"intercept_scaling={self.bias:g} is too large: its square is added to kernel "
                f"values of up to {largest:g}, which lose their digits. Give at most {most:g}, or "
                f"intercept='free' for an intercept without a penalty."
            )
        # Relative errors of kernel values: how far they may be from those of any vectors.
        self.n, self.error = gram.n, gram.error
        self.diagonal = gram.diagonal + self.bias**2
        self.norms = np.sqrt(self.diagonal)

    def q_dot(self, beta: np.ndarray) -> np.ndarray:
        """Return (K + B^2) beta, the scores of sum_i beta_i x_i; zeros of beta cost nothing."""
        used = np.flatnonzero(beta)
        scores = self.gram.dot(used, beta[used], np.arange(self.n), double=True)[0]
        if not self.bias:
            return scores
        # Exact sum, because this part may be large and nearly cancel.
        return scores + self.bias**2 * fsum(beta[used])

    def summed(self, beta: np.ndarray) -> float:
        """Return the size, for a sample of length 1, of what is summed up to a score."""
        return float(np.linalg.norm(beta * self.norms))

    def value_errors(self, alpha: np.ndarray) -> np.ndarray:
        """Return bounds on what errors of kernel values do to scores, of |beta_i| = alpha_i."""
        return self.gram.sum_errors(alpha)

    def close_value_errors(self, alpha: np.ndarray) -> np.ndarray:
        """Return closer bounds, by two products with kernel values."""
        return self.gram.sum_errors_of_values(alpha)

    def exact_scores(self, index: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return some of the scores sum_j beta_j (K_ij + B^2), in extended precision."""
        used = np.flatnonzero(beta)
        wide = beta[used].astype(np.longdouble)
        return self.gram.exact_dot(used, wide, index) + self.bias**2 * wide.sum()

    def products(self, index: np.ndarray) -> np.ndarray:
        """Return <x_i, x_j> of some samples with all, in float64."""
        return self.block(index, np.arange(self.n))

    def some_scores(self, index: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return some of the scores of sum_i beta_i x_i."""
        used = np.flatnonzero(beta)
        return self.block(index, used) @ beta[used] if used.size else np.zeros(index.size)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return K + B^2 between two sets of samples, in float64."""
        out = np.empty((rows.size, columns.size))
        self.gram.block(rows, columns, out)
        out += self.bias**2
        return out
