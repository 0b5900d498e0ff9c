"""Problems of few samples, each solved in one compiled call, in double precision.

Kernel values are computed a row at a time, as the solver first needs the row: those of support
vectors, by and large. Pairs of samples move (SMO) until the free ones, those between their bounds,
are known; Newton's method gives these their last digits. It stops on the certified gap.
"""

from __future__ import annotations

from math import fsum
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skscreen._compiled import svm as loops
from skscreen.core.checks import Matrix
from skscreen.core.floats import EPS
from skscreen.core.memory import check_kernel_memory
from skscreen.samples.kernels.distances import square_norms
from skscreen.samples.kernels.gram import Gram, value_error
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.rows import LARGEST
from skscreen.svm.dual import Dual

GIVEN, POWERS, RBF, NEAR_RBF = loops.FEW_KINDS

# Exponents of an RBF kernel below which what values lack to 1 has more digits than they have.
_NEAR = 0.5


class FewValues(NamedTuple):
    """Samples X (n, d), or their kernel matrix, and the kernel, as compiled loops take them.

    |K_ij| is at most sizes_i sizes_j, with the square of the bias, and errors are `relative` to it.
    """

    X: np.ndarray
    kind: int
    degree: int
    gamma: float
    coef0: float
    largest: float
    sizes: np.ndarray
    relative: float
    square_bias: float

    @property
    def missing(self) -> float:
        """What was taken off all values, as a free intercept takes it up."""
        return 1.0 - self.largest

    def taken(self, order: np.ndarray) -> FewValues:
        """Return those of some samples, or of all in another order."""
        X = self.X[np.ix_(order, order)] if self.kind == GIVEN else self.X[order]
        return self._replace(X=X, sizes=self.sizes[order])


class FewFound(NamedTuple):
    """What a compiled call has found: intercepts, gap and primal value, steps; scores, errors."""

    b: tuple[float, float]
    gap: float
    primal: float
    n_iter: int
    f: np.ndarray
    errors: np.ndarray


def few_values(
    X: Matrix, kernel: Kernel, bias: float, free: bool, whole: bool = False,
    K: np.ndarray | None = None,
) -> FewValues:  # fmt: skip
    """Return kernel values of few samples, computed as they are needed, all at once, or known."""
    known = not whole and not sparse.issparse(X) and kernel.is_definite
    if known and kernel.name == "rbf":
        return _of_distances(X, kernel, bias, free)
    if known and kernel.name in ("linear", "poly"):
        return _of_products(X, kernel, bias)
    found = class_values(kernel, X, free) if K is None else known_values(kernel, X, K)
    K, lengths, relative, missing = found
    sizes = np.sqrt(lengths**2 + bias**2) if bias else lengths
    return FewValues(K, GIVEN, 0, 0.0, 0.0, 1.0 - missing, sizes, relative, bias**2)


def in_memory(values: FewValues) -> FewValues:
    """Return the same with all kernel values computed, for problems that share most rows."""
    if values.kind == GIVEN:
        return values
    n = len(values.X)
    check_kernel_memory(n, n, 2, "Use fewer samples.")
    K = np.empty((n, n))
    loops.few_matrix(values._replace(square_bias=0.0), K)
    return values._replace(X=K, kind=GIVEN)


def _of_distances(X: np.ndarray, kernel: Kernel, bias: float, free: bool) -> FewValues:
    X = np.ascontiguousarray(X, np.float64)
    n, d = X.shape
    apart = X - X[0]
    # No two samples are further apart than twice as far as from the first.
    square = float(square_norms(apart).max()) if np.isfinite(apart).all() else np.inf
    if not square <= LARGEST**2 or not square_norms(X).max() <= LARGEST**2:
        # Its error.
        Gram(X, kernel)
    largest = 4.0 * kernel.gamma * square * (1.0 + 1e-12)
    # Rounding errors of differences, of sums of their squares, and of what follows.
    relative, kind = EPS * (d + 9.0), NEAR_RBF
    if not free or largest > _NEAR or largest == 0.0:
        kind, largest = RBF, 1.0
    sizes = np.full(n, np.sqrt(largest + bias**2))
    return FewValues(X, kind, 0, kernel.gamma, 0.0, largest, sizes, relative, bias**2)


def _of_products(X: np.ndarray, kernel: Kernel, bias: float) -> FewValues:
    X = np.ascontiguousarray(X, np.float64)
    is_linear = kernel.name == "linear"
    gamma, coef0, degree = (
        (1.0, 0.0, 1) if is_linear else (kernel.gamma, kernel.coef0, kernel.degree)
    )
    with np.errstate(over="ignore", invalid="ignore"):
        squares = kernel.of_products(square_norms(X))
    if not squares.max() <= LARGEST**2:
        # Its error.
        Gram(X, kernel)
    sizes, relative = np.sqrt(squares + bias**2), EPS * (X.shape[1] + 5.0) * (degree + 1.0)
    return FewValues(X, POWERS, int(degree), gamma, coef0, 1.0, sizes, relative, bias**2)


def class_values(
    kernel: Kernel, X: Matrix, free: bool
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return kernel values, sizes (n,), errors over products of sizes, and the rest.

    The rest was taken off, as a free intercept takes it up; |K_ij| is at most sizes_i sizes_j.
    """
    gram, n = Gram(X, kernel, cache_size=0.0), X.shape[0]
    check_kernel_memory(n, n, 2, "Use a smaller cache_size, or fewer samples.")
    everyone = slice(None)
    if kernel.name != "rbf":
        K = np.ascontiguousarray(gram.compute(everyone, everyone))
        return K, np.sqrt(gram.diagonal), gram.computed_error, 0.0
    K = gram.distances(everyone, everyone)
    # |a|^2 + |a|^2 - 2 <a, a> is not exactly zero.
    np.fill_diagonal(K, 0.0)
    with np.errstate(over="ignore"):
        # The value at infinity is 0, as it should be.
        K *= -kernel.gamma
    largest = -float(K.min())
    # Below, what values lack to 1 has more digits than they have.
    if not free or largest > _NEAR:
        return np.exp(K, out=K), np.ones(gram.n), gram.computed_error, 0.0
    np.expm1(K, out=K)
    K += largest
    errors = gram.exponent_error + EPS * largest
    relative = errors / largest if largest else 0.0
    return K, np.full(gram.n, np.sqrt(largest)), relative, 1.0 - largest


def known_values(
    kernel: Kernel, X: Matrix, K: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the same of a kernel that is definite on these samples only, for pairs at that.

    A diagonal is no bound on its values, if dual variables are to have the sum zero.
    """
    largest = float(max(K.max(), -K.min()))
    error = value_error(kernel, X)
    return K, np.full(len(K), np.sqrt(largest)), error / largest if largest else 0.0, 0.0


def first_part(n_variables: int, twice: bool) -> float:
    """Return what part of a tolerance is reached before a looser one does, of all problems.

    Digits below the tolerance cost little where so few samples are free: not in a regression.
    """
    return 1e-4 if n_variables <= 300 and not twice else 1.0


def solve_few(
    values: FewValues, samples: np.ndarray, dual: Dual, beta: np.ndarray,
    limits: tuple[float, float, int],
) -> FewFound:  # fmt: skip
    """Improve beta of some samples (n,), or (2 n,) where they stand twice.

    `limits` are those of the gap, a part of it for the first turns, and of steps. A start has the
    prescribed sums, or is zero.
    """
    f, errors = np.empty((2, beta.size))
    twice = beta.size > samples.size
    *found, steps = loops.solve_few(values, samples, dual, twice, limits, beta, f, errors)
    first, second, gap, primal = found
    if values.largest != 1.0:
        first -= values.missing * fsum(beta)
    return FewFound((first, second), gap, primal, steps, f, errors)
