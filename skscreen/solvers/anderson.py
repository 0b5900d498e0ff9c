"""Anderson acceleration of a projected-gradient iteration."""

import math

import numpy as np

# Steps kept. On dna (d = 180) 6 doubled the iterations of 10; 10 took 4 % more than 15 on satimage
# and as many on segment.
_DEPTH = 15

# Ridge of the least-squares problem, whose columns are scaled to length one.
_RIDGE = 1e-10


class AndersonMemory:
    """Past steps of a projected-gradient iteration, combined to the next by least squares.

    The optimum is X = [Z]_K for the fixed point Z of Z -> G(Z) = X - step * gradient(X). The next
    Z is the affine combination of the last G(Z) whose residuals F = G(Z) - Z nearly cancel
    (Anderson 1965; type II of Fang and Saad 2009). Where the objective is quadratic that acts
    like a Krylov method, where gradient steps of whatever length act like gradient descent.

    Kept are the changes of Z, of X and of the adjoint S. With gradient = lambda X - S they give
    those of G and F for whatever step and lambda, so that steps at one lambda serve the next.

    Parameters
    ----------
    shape : tuple of int
        Shape of a parameter: (d, d) of symmetric matrices, or (d,).
    """

    def __init__(self, shape: tuple[int, ...]):
        size = math.prod(shape)
        n_free = size if len(shape) == 1 else (size + shape[0]) // 2
        # More than half as many steps as unknowns mix old ones into nearly every direction.
        self._depth = min(_DEPTH, max(n_free // 2, 1))
        # Rows are differences of successive steps.
        self._Z, self._X, self._S = np.empty((3, self._depth, size))
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._count, self._slot = 0, 0
        self.cut()

    def forget(self, share: float) -> None:
        """Forget a share of the steps, the oldest."""
        kept = self._count - math.ceil(share * self._count)
        newest = (self._slot - kept + np.arange(kept)) % self._depth
        for rows in (self._Z, self._X, self._S):
            rows[:kept] = rows[newest]
        self._count, self._slot = kept, kept % self._depth

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
                row[self._slot] = (new - old).ravel()
            self._slot = (self._slot + 1) % self._depth
            self._count = min(self._count + 1, self._depth)
        self._last = Z, X, S

    @np.errstate(over="ignore", invalid="ignore")
    def extrapolate(self, G: np.ndarray, F: np.ndarray, step: float, lam: float) -> np.ndarray:
        """Return the next Z from G and F = G - Z at the last; O(depth^2 size).

        That is G where squares overflow.
        """
        kept = slice(self._count)
        past_G = (1.0 - step * lam) * self._X[kept] + step * self._S[kept]
        past_F = past_G - self._Z[kept]
        gram = past_F @ past_F.T
        lengths = np.sqrt(np.maximum(gram.diagonal(), np.finfo(np.float64).tiny))
        gram /= np.outer(lengths, lengths)
        gram.flat[:: self._count + 1] += _RIDGE
        weights = np.linalg.solve(gram, past_F @ F.ravel() / lengths) / lengths
        if not np.isfinite(weights).all():
            return G
        return G - (weights @ past_G).reshape(G.shape)
