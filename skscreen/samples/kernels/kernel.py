"""Kernels, their parameters, and values between training and other samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils import gen_batches
from sklearn.utils.extmath import safe_sparse_dot

from skscreen._compiled import samples as loops
from skscreen.core.checks import Matrix, MatrixLike, is_sparse
from skscreen.core.floats import near_one
from skscreen.core.sklearn_private import num_samples
from skscreen.samples.kernels.definite import check_symmetric
from skscreen.samples.kernels.distances import (
    in_cache,
    lost_digits,
    near_origin,
    rbf_of_distances,
    square_norms,
    squared_distances,
)
from skscreen.samples.kernels.kernel_blocks import RBFBlocks, RBFRows
from skscreen.samples.kernels.poly_blocks import PolyBlocks, PolyRows
from skscreen.samples.rows import flat_rows, sparse_products, squared_norms

KERNELS_WITH_GAMMA = ("rbf", "poly", "sigmoid")
KERNELS = (*KERNELS_WITH_GAMMA, "linear", "precomputed")
# Those whose samples have lengths that are not all alike, and known without other samples.
WITH_LENGTHS = ("linear", "poly")

# Entries of sparse samples up to which they are made dense.
FEW_ENTRIES = 2**18

# Samples up to which a prediction is one compiled call, and kernel values from which on tiles are
# faster than matrices.
FEW_ROWS, MANY_VALUES = 8, 2**18

# A variance below this share of the mean square is the rounding error of a constant.
_NOISE = 1e-14
# A smaller variance has lost digits where squares underflow.
_LEAST_VARIANCE = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class KernelFunction:
    """A kernel that is a function, and the training samples it knows, of whatever kind.

    Its second argument is always the set of all training samples, as some functions look at all of
    them: to centre, to scale, for a band width.
    """

    kernel: Callable
    samples: Any

    def matrix(self) -> np.ndarray:
        """Return the kernel matrix of the training samples, (n, n)."""
        K = self.to_training(self.samples)
        check_symmetric(K, "The matrix of a callable kernel")
        return K

    def to_training(self, X: Matrix) -> np.ndarray:
        """Return kernel values between samples and those of the training, (len(X), n)."""
        X = as_given(X)
        shape = n_samples(X), n_samples(self.samples)
        return matrix_of(self.kernel, X, self.samples, shape)

    @property
    def rows(self) -> Any:
        """The training samples where they are rows of numbers, an array or CSR; otherwise None."""
        X = self.samples
        if is_sparse(X):
            return X.tocsr()
        return np.asarray(X) if is_table(X) and np.asarray(X).dtype.kind in "fiub" else None


@dataclass(frozen=True)
class Kernel:
    """A kernel, one of `KERNELS` or a function, with its parameters."""

    name: str | Callable
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 0.0
    function: KernelFunction | None = None  # what computes the matrices of "precomputed"

    def scores(self, X: Matrix, support_vectors: Matrix, dual_coef: np.ndarray) -> np.ndarray:
        """Return sum_j K(x, x_j) dual_coef_j for the rows of X, by blocks of limited size."""
        if self.name == "precomputed":
            return X @ dual_coef
        if X.shape[0] <= FEW_ROWS:
            return self.values(X, support_vectors) @ dual_coef
        out = np.zeros((X.shape[0], dual_coef.shape[1]))
        if self._in_tiles(X, support_vectors):
            for part, blocks in self._blocks(X, support_vectors):
                out[part] = blocks.combine(dual_coef)
            return out
        # There may be no support vectors if the tolerance is large.
        n_rows = get_config()["working_memory"] * 2**20 // max(8 * len(dual_coef), 1)
        for part in gen_batches(X.shape[0], max(int(n_rows), 1)):
            out[part] = self.between(X[part], support_vectors) @ dual_coef
        return out

    def decisive_scores(
        self, X: Matrix, support_vectors: Matrix, coef: np.ndarray, b: float
    ) -> np.ndarray:
        """Return the same for one column plus b, some in single precision, each with its sign."""
        if not self._in_tiles(X, support_vectors):
            return self.scores(X, support_vectors, coef[:, None])[:, 0] + b
        out, everyone = np.empty(X.shape[0]), np.arange(coef.size)
        for part, blocks in self._blocks(X, support_vectors):
            scores, errors = blocks.dot(everyone, coef, np.arange(blocks.B.n))
            # Those whose sign might be another in double precision, which has errors too, are
            # computed in it.
            unsure = np.flatnonzero(np.abs(scores + b) <= 1.01 * errors)
            scores[unsure] = blocks.dot(everyone, coef, unsure, double=True)[0]
            out[part] = scores + b
        return out

    def _in_tiles(self, X: Matrix, support_vectors: Matrix) -> bool:
        """Whether the kernel is faster in tiles: many values of rows that are not very wide."""
        n, d = X.shape
        many = d <= 1000 and n * support_vectors.shape[0] >= MANY_VALUES
        return many and self.may_be_in_tiles

    @property
    def may_be_in_tiles(self) -> bool:
        """Whether there are tiles for the kernel."""
        return self.name == "rbf" or self.is_power

    @property
    def is_power(self) -> bool:
        """Whether it is a power of inner products of augmented rows, as `PolyBlocks` needs it."""
        # Errors of higher powers are not small.
        powers = range(1, 17)
        return (
            self.name == "poly" and self.gamma > 0.0 and self.coef0 >= 0.0 and self.degree in powers
        )

    def _blocks(
        self, X: Matrix, support_vectors: Matrix
    ) -> Iterator[tuple[slice, RBFBlocks | PolyBlocks]]:
        """Yield parts of the rows of X, and products with the support vectors."""
        parts = gen_batches(X.shape[0], 8192)
        if self.name == "poly":
            settings = self.gamma, self.degree, self.coef0
            rows = PolyRows(support_vectors, *settings)
            yield from ((part, PolyBlocks(rows, PolyRows(X[part], *settings))) for part in parts)
            return
        A = RBFRows(support_vectors, self.gamma)
        for part in parts:
            yield part, RBFBlocks(A, RBFRows(X[part], self.gamma, A.centre))

    @property
    def is_definite(self) -> bool:
        """Whether the kernel is positive semi-definite on any samples."""
        if self.name == "poly":
            return self.gamma >= 0.0 and self.coef0 >= 0.0
        return self.name in ("rbf", "linear")

    def lengths(self, X: Matrix, origin: np.ndarray | None = None) -> np.ndarray:
        """Return sqrt(K(x, x)) of the rows of X, or about that: the size of terms of scores.

        Of a linear kernel as if a point were the origin.
        """
        if is_sparse(X):
            squares = squared_norms(flat_rows(X), X.shape[0])
        else:
            X, squares = np.ascontiguousarray(X), np.empty(X.shape[0])
            origin = np.zeros(X.shape[1]) if origin is None else origin.astype(np.float64)
            loops.squared_distances_from(X, origin, squares)
        if self.name == "linear":
            return np.sqrt(squares)
        return (self.gamma * squares + abs(self.coef0)) ** (0.5 * self.degree)

    def values(self, X: Matrix, support_vectors: Matrix) -> np.ndarray:
        """Return the kernel matrix between samples and support vectors, of few in one loop."""
        shape = X.shape[0], support_vectors.shape[0]
        if shape[0] > FEW_ROWS or 0 in shape:
            return self.between(X, support_vectors)
        if is_sparse(support_vectors) and max(shape) * X.shape[1] > FEW_ENTRIES:
            return self._values_of_sparse(X, support_vectors)
        if self.name not in KERNELS_WITH_GAMMA:
            return self.between(X, support_vectors)
        X, S = (A.toarray() if is_sparse(A) else A for A in (X, support_vectors))
        out, degree = np.empty(shape), float(self.degree)
        if self.name == "rbf":
            loops.rbf_values(X, S, self.gamma, out)
        elif self.name == "poly":
            loops.poly_values(X, S, self.gamma, degree, self.coef0, out)
        else:
            loops.sigmoid_values(X, S, self.gamma, self.coef0, out)
        return out

    def _values_of_sparse(self, X: Matrix, support_vectors: Matrix) -> np.ndarray:
        """Return the same of sparse support vectors, each of which is read once for a row of X."""
        X = sparse.csr_array(X)
        out = sparse_products(X, support_vectors)
        if self.name != "rbf":
            return self.of_products(out)
        squares, own = squared_norms(flat_rows(support_vectors), out.shape[1]), square_norms(X)
        lost_digits(min(squares.max(), own.max()), self.gamma, is_sparse=True)
        out *= -2.0
        out += own[:, None] + squares
        return rbf_of_distances(np.maximum(out, 0.0, out=out), self.gamma, out)

    def between(self, X: Matrix, Y: Matrix) -> np.ndarray:
        """Return the kernel matrix between two sets of samples."""
        shape = X.shape[0], Y.shape[0]
        if 0 in shape:
            return np.empty(shape)
        if callable(self.name):
            return matrix_of(self.name, X, Y, shape)
        if self.name == "linear":
            return safe_sparse_dot(X, Y.T, dense_output=True)
        if self.name != "rbf":
            inner = safe_sparse_dot(X, Y.T, dense_output=True)
            return self.of_products(np.asarray(inner, np.float64))
        # Sparse rows cannot be shifted. Few of them were learned from as dense ones.
        if max(shape) * X.shape[1] <= FEW_ENTRIES:
            X, Y = (A.toarray() if is_sparse(A) else A for A in (X, Y))
        X, Y = near_origin(X, Y)
        squares = square_norms(X), square_norms(Y)
        far, either = min(s.max() for s in squares), is_sparse(X) or is_sparse(Y)
        D = squared_distances(X, Y, *squares, lost_digits(far, self.gamma, either)[1])
        return rbf_of_distances(D, self.gamma, D)

    def exact(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return the matrix of a named kernel between dense samples, in extended precision."""
        X, Y = X.astype(np.longdouble), Y.astype(np.longdouble)
        if self.name == "rbf":
            squares = np.zeros((len(X), len(Y)), np.longdouble)
            for x, y in zip(X.T, Y.T, strict=True):
                squares += (x[:, None] - y) ** 2
            return np.exp(-self.gamma * squares)
        return self.of_products(X @ Y.T)

    # Values that are not finite are told of where they are used.
    @np.errstate(over="ignore")
    def of_products(self, inner: np.ndarray) -> np.ndarray:
        """Return the values of a kernel of inner products, in their place."""
        if self.name == "linear":
            return inner
        for rows in in_cache(inner):
            part = inner[rows]
            part *= self.gamma
            part += self.coef0
            if self.name == "sigmoid":
                np.tanh(part, out=part)
            else:
                to_power(part, self.degree)
        return inner


def to_power(values: np.ndarray, degree: float) -> None:
    """Raise values to a power in their place; low ones by products, in a tenth of the time."""
    if not 0 < degree <= 16:
        values **= degree
        return
    first = values.copy() if degree > 1 else values
    for _ in range(1, int(degree)):
        values *= first


def matrix_of(kernel: Callable, A: Matrix, B: Matrix, shape: tuple[int, int]) -> np.ndarray:
    """Return what a function says is the kernel matrix between two sets of samples."""
    K = kernel(A, B)
    # The matrix may be sparse for sparse samples.
    K = np.asarray(K.toarray() if is_sparse(K) else K)
    if K.shape != shape:
        raise ValueError(
            f"kernel must return a matrix of shape {shape} for two sets of so many samples, got "
            f"{'' if K.ndim else f'{K.item()!r:.40} of '}shape {K.shape}."
        )
    try:
        with np.errstate(over="ignore"):
            K = K.astype(
                np.float64, copy=False, casting="unsafe" if K.dtype == object else "same_kind"
            )
    except (TypeError, ValueError) as error:
        raise TypeError(f"kernel must return real numbers, got an array of {K.dtype}.") from error
    if not np.isfinite(K).all():
        # Of scores that are NaN the sign would still name a class.
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(
            f"the kernel has values that are not finite on X: {K[i, j]} for row {i} of its first "
            f"argument and row {j} of its second. Rescale X, or pass a kernel of finite values."
        )
    return K


def n_samples(X: MatrixLike) -> int:
    """Return the number of samples of any kind."""
    return len(X) if isinstance(X, np.ndarray) and X.ndim else num_samples(X)


def as_given(X: MatrixLike, name: str = "X") -> Any:
    """Return samples as a kernel function gets them: as they are, but equal lists as an array."""
    if isinstance(X, str | bytes | Mapping | Set):
        # These have a length, but are no samples in an order.
        raise TypeError(f"{name} must be an array or a list of samples, got {type(X).__name__}.")
    if not isinstance(X, list | tuple) or not all(isinstance(x, list | tuple) for x in X):
        return X
    try:
        rows = np.asarray(X)
    except ValueError:
        return X
    return rows if rows.ndim == 2 and rows.dtype.kind in "fiub" else X


def is_table(X: object) -> bool:
    """Whether samples have columns, which can be counted."""
    return len(getattr(X, "shape", ())) == 2


def gamma_value(gamma: str | float, X: Matrix, weights: np.ndarray) -> float:
    """Return the value of gamma, by scikit-learn's meaning of "scale" and "auto"."""
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    # Samples count by their weights, as if they were repeated.
    weights = near_one(weights)
    share = weights / (weights.sum() * X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        if is_sparse(X):
            square, mean = (float((part.T @ share).sum()) for part in (X.multiply(X), X))
            variance, noise = square - mean * mean, _NOISE * square
            is_lost = square < _LEAST_VARIANCE and X.count_nonzero() > 0
            is_lost = is_lost or noise < variance < _LEAST_VARIANCE
        else:
            mean = float((X.T @ share).sum())
            variance, noise = float((((X - mean) ** 2).T @ share).sum()), _NOISE**2 * mean * mean
            is_lost = variance < _LEAST_VARIANCE and bool(X.min() < X.max())
    if not variance < np.inf:
        raise ValueError("X has no finite variance, which gamma='scale' needs: rescale X.")
    if is_lost:
        raise ValueError(
            "X has values so near to each other that their variance, which gamma='scale' needs, "
            "underflows: rescale X."
        )
    return 1.0 / (X.shape[1] * variance) if variance > noise else 1.0


def gamma_grid(gammas: Iterable) -> list[float | str]:
    """Return the values of gamma that a list means, or refuse it; "scale" and "auto" stay."""
    try:
        found = [gamma if isinstance(gamma, str) else float(gamma) for gamma in gammas]
    except (TypeError, ValueError):
        found = []
    known = [g in ("scale", "auto") if isinstance(g, str) else 0.0 < g < np.inf for g in found]
    if not known or not all(known):
        raise ValueError(
            "gammas must be None or a non-empty list of positive finite numbers, 'scale' and "
            f"'auto', got {gammas!r}."
        )
    return found
