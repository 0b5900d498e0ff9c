"""The matrix of Newton's method, I + sum_E z_i z_i' / width_i, over a set E that changes."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, get_blas_funcs
from scipy.linalg.blas import dsyrk

from skscreen._compiled import samples as row_loops
from skscreen.core.floats import EPS
from skscreen.core.memory import check_memory
from skscreen.samples.rows import LinearSamples

# Widths with which sums, and their quotients, are far from the ends of single precision.
_SINGLE = 1e-30, 1e30


def by_entries(samples: LinearSamples) -> bool:
    """Whether rows are sparse enough for outer products to be summed up entry by entry."""
    return samples.row_lengths.sum() < 0.15 * samples.n_features * samples.n


class Hessian:
    """I + 1 / width times the sum of sizes_i z_i z_i' over a set, in single precision if possible.

    From one set to the next only the rows of samples that enter or leave it are read; a set with
    fewer samples than weights has a matrix of its own size.
    """

    def __init__(self, samples: LinearSamples, sizes: np.ndarray):
        self._samples, self._sizes = samples, sizes
        self._by_entries = by_entries(samples)
        self._total = float(sizes @ samples.norms**2)
        self._single, self._sum = not self._by_entries, np.empty((0, 0))
        self._inside = np.zeros(samples.n, np.bool_)

    def begin(self, width: float) -> None:
        """Set the width of the next systems."""
        self._width, self._slope = width, np.inf
        # Rounding errors of a sum in single precision are harmless next to the identity, and so are
        # terms below its numbers.
        harmless = float(np.finfo(np.float32).eps) * self._total <= 10.0 * width
        if not (harmless and _SINGLE[0] <= width <= _SINGLE[1]):
            self._to_double()

    def solve(self, x: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Solve with the matrix of a set, a mask (n,) of samples."""
        n_inside, d = int(np.count_nonzero(inside)), x.size
        n_changes = int(np.count_nonzero(inside != self._inside))
        # Multiplications to make and to factorise either matrix. That of few weights is cheap, and
        # better conditioned.
        own = n_inside**2 * (d + n_inside / 3.0)
        if d > 64 and own < d**2 * (min(n_inside, n_changes) + d / 3.0):
            return self._by_samples(x, np.flatnonzero(inside))
        self._update(inside, n_changes >= n_inside)
        slope = float(np.linalg.norm(x))
        # A step to the minimum that leaves much of the gradient is too inexact.
        if n_changes == 0 and slope > 0.1 * self._slope:
            self._to_double()
        self._slope = slope
        try:
            return self._by_weights(x, 1.0)
        except np.linalg.LinAlgError:
            # Large terms leave rounding errors behind when they are subtracted.
            self._sum = np.empty((0, 0))
            self._to_double()
            self._update(inside, True)
        # With a ridge above the rounding errors of the sum the step still leads downhill.
        size = float(np.trace(self._sum)) / self._width
        return self._by_weights(x, 1.0 + 2.0 * (n_inside + d) * EPS * size)

    def _by_samples(self, x: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Solve by Woodbury's identity: (I + A'A)^-1 x = x - A' (I + A A')^-1 A x."""
        if index.size == 0:
            return x.copy()
        _check(index.size)
        A = self._samples.scaled_rows(index, np.sqrt(self._sizes[index] / self._width))
        if self._samples.is_sparse:
            M = np.asfortranarray((A @ A.T).toarray())
        else:
            M = dsyrk(1.0, A.T, trans=1, lower=1)
        return x - A.T @ _solve_shifted(M, 1.0, A @ x)

    def _by_weights(self, x: np.ndarray, ridge: float) -> np.ndarray:
        # Backwards: the first column is that of the intercept, by far the largest one.
        kind = self._sum.dtype.type
        matrix = self._sum[::-1, ::-1].T * kind(1.0 / self._width)
        # Single precision ends at 3e38; gradients of targets up to 1e40, which are taken, do not.
        size = float(np.abs(x).max()) if kind is np.float32 else 1.0
        if size == 0.0:
            return np.zeros_like(x)
        b = (x[::-1] / size).astype(kind)
        return size * _solve_shifted(matrix, ridge, b)[::-1].astype(np.float64)

    def _update(self, inside: np.ndarray, again: bool) -> None:
        """Update the sum for another set, or sum up again."""
        if again or not self._sum.size:
            side = self._samples.n_features
            _check(side)
            # The upper triangle, in Fortran order: for C the lower one.
            self._sum = np.zeros((side, side), np.float32 if self._single else np.float64)
            self._inside = np.zeros_like(inside)
        self._add(np.flatnonzero(inside & ~self._inside), 1.0)
        self._add(np.flatnonzero(self._inside & ~inside), -1.0)
        self._inside = inside

    def _add(self, index: np.ndarray, sign: float) -> None:
        samples, total, sizes = self._samples, self._sum, self._sizes
        if self._by_entries:
            row_loops.add_products(
                samples.short_rows, samples.bias, index, sign * sizes[index], total
            )
            return
        (multiply,) = get_blas_funcs(("syrk",), (total,))
        # Copies of all rows would take as much memory as the data.
        together = 4096
        for first in range(0, index.size, together):
            part = index[first : first + together]
            rows = samples.scaled_rows(part, np.sqrt(sizes[part]), total.dtype)
            rows = rows.toarray() if samples.is_sparse else rows
            multiply(sign, rows.T, beta=1.0, c=total.T, overwrite_c=1)

    def _to_double(self) -> None:
        """Go over to double precision."""
        if self._single:
            self._single = False
            if self._sum.size:
                self._update(self._inside, True)


def _check(side: int) -> None:
    """Refuse a system that is too large for the memory."""
    what = f"A Newton system of {side:,} equations"
    check_memory(16.0 * side**2, what, "Use solver='coordinate-descent'.")


def _solve_shifted(M: np.ndarray, ridge: float, b: np.ndarray) -> np.ndarray:
    """Solve (ridge I + M) x = b, M positive semidefinite and known by its lower triangle."""
    M[np.diag_indices_from(M)] += ridge
    # Where columns are of very different size the identity is lost next to the largest. It still
    # counts in the others, whose pivots are the last then.
    sizes, order = M.diagonal(), np.arange(b.size)
    if np.any(sizes > 1e8 * np.minimum.accumulate(sizes)):
        order = np.argsort(-sizes)
        M = np.asfortranarray(np.where(np.tri(len(M)), M, M.T)[np.ix_(order, order)])
    factor = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
    x = np.empty_like(b)
    x[order] = cho_solve(factor, b[order], check_finite=False)
    return x
