"""Anderson acceleration of a projected-gradient iteration.

The optimum is X = [Z]_K for the fixed point Z of Z -> G(Z) = X - step * gradient(X). The next Z is
the affine combination of the last G(Z) whose residuals F = G(Z) - Z nearly cancel (Anderson 1965;
type II of Fang and Saad 2009): on a quadratic objective that acts like a Krylov method.

Kept are the changes of Z, of X and of the adjoint S, (d, d) or (d,). With gradient = lambda X - S
they give those of G and F for whatever step and lambda, so that steps at one lambda serve the next.
"""

import math

import numpy as np


class AndersonMemory:
    """Past steps of a projected-gradient iteration, combined to the next by least squares."""

    def __init__(self, shape: tuple[int, ...]):
        self._shape = shape
        self._places, self._scales = _unknowns(shape)
        size = self._places.size
        # Fewer cost iterations if there are many features; more than half as many as unknowns would
        # mix old steps into nearly every direction.
        self._depth = min(15, max(size // 2, 1))
        # Rows are differences of successive steps; F is that of the last step length and lambda.
        self._Z, self._X, self._S, self._F = np.empty((4, self._depth, size))
        self._gram = np.empty((self._depth, self._depth))
        self._count, self._next = 0, 0
        self._F_is_of: tuple[float, float] | None = None
        self.cut()

    def forget(self, share: float) -> None:
        """Forget a share of the steps, the oldest."""
        kept = self._count - math.ceil(share * self._count)
        newest = (self._next - kept + np.arange(kept)) % self._depth
        for rows in (self._Z, self._X, self._S):
            rows[:kept] = rows[newest]
        self._count, self._next = kept, kept % self._depth
        self._F_is_of = None

    def cut(self) -> None:
        """Form no difference with the last step: the objective has changed since."""
        self._last: tuple[np.ndarray, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether `extrapolate` has nothing to go by."""
        return self._count == 0

    def add(self, Z: np.ndarray, X: np.ndarray, S: np.ndarray) -> None:
        """Take in the projection X of Z and the adjoint S there."""
        if self._last is not None:
            rows = (self._Z, self._X, self._S)
            for row, new, old in zip(rows, (Z, X, S), self._last, strict=True):
                row[self._next] = self._pack(new - old)
            if self._F_is_of is not None:
                self._combine(*self._F_is_of, np.array([self._next]))
            self._next = (self._next + 1) % self._depth
            self._count = min(self._count + 1, self._depth)
        self._last = Z, X, S

    @np.errstate(over="ignore", invalid="ignore")
    def extrapolate(self, G: np.ndarray, F: np.ndarray, step: float, lam: float) -> np.ndarray:
        """Return the next Z from G and F = G - Z at the last, O(depth size); G on overflow."""
        if self._F_is_of != (step, lam):
            # O(depth^2 size).
            self._F_is_of = step, lam
            self._combine(step, lam, np.arange(self._count))
        kept = slice(self._count)
        past_F, gram = self._F[kept], self._gram[kept, kept]
        lengths = np.sqrt(np.maximum(gram.diagonal(), np.finfo(np.float64).tiny))
        gram = gram / np.outer(lengths, lengths)
        # A small ridge, as columns have length one.
        gram.flat[:: self._count + 1] += 1e-10
        weights = np.linalg.solve(gram, past_F @ self._pack(F) / lengths) / lengths
        if not np.isfinite(weights).all():
            return G
        return G - self._unpack(weights @ past_F + weights @ self._Z[kept])

    @np.errstate(over="ignore", invalid="ignore")
    def _combine(self, step: float, lam: float, changed: np.ndarray) -> None:
        """Bring F = (1 - step lambda) X + step S - Z and its Gram matrix up to date."""
        self._F[changed] = (1.0 - step * lam) * self._X[changed] + step * self._S[changed]
        self._F[changed] -= self._Z[changed]
        most = max(self._count, changed.max(initial=-1) + 1)
        self._gram[changed, :most] = self._F[changed] @ self._F[:most].T
        self._gram[:most, changed] = self._gram[changed, :most].T

    def _pack(self, value: np.ndarray) -> np.ndarray:
        """Return what is free of a parameter, with the same norm."""
        return value.ravel()[self._places] * self._scales

    def _unpack(self, packed: np.ndarray) -> np.ndarray:
        value = np.zeros(self._shape)
        value.flat[self._places] = packed / self._scales
        if value.ndim == 2:
            value += value.T
            value.flat[:: len(value) + 1] *= 0.5
        return value


def _unknowns(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of what is free of a parameter, and factors that keep its norm."""
    # Of a symmetric matrix that is one triangle, all but the diagonal counting twice.
    if len(shape) == 1:
        return np.arange(shape[0]), np.ones(shape[0])
    rows, columns = np.triu_indices(shape[0])
    return rows * shape[0] + columns, np.where(rows == columns, 1.0, math.sqrt(2.0))
