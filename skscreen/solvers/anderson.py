"""Anderson acceleration of a projected-gradient iteration."""

import numpy as np

# Steps kept. On dna (d = 180) 6 doubled the iterations of 10, and 15 gained nothing.
_DEPTH = 10

# Ridge of the least-squares problem, whose columns are scaled to length one.
_RIDGE = 1e-10


class AndersonMemory:
    """Past steps of a projected-gradient iteration, combined to the next by least squares.

    The optimum is X = [Z]_K for the fixed point Z of Z -> G(Z) = X - step * gradient(X). The next
    Z is the affine combination of the last G(Z) whose residuals F = G(Z) - Z nearly cancel
    (Anderson 1965; type II of Fang and Saad 2009). Where the objective is quadratic that acts
    like a Krylov method, where gradient steps of whatever length act like gradient descent.

    Parameters
    ----------
    size : int
        Number of entries of a parameter.
    """

    def __init__(self, size: int):
        # Rows are differences of successive G and F.
        self._G, self._F = np.empty((2, _DEPTH, size))
        self.clear()

    def clear(self) -> None:
        """Forget everything; needed before another step length."""
        self._count, self._slot = 0, 0
        self.cut()

    def cut(self) -> None:
        """Form no difference with the last step: the objective has changed since."""
        self._last: tuple[np.ndarray, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether `extrapolate` has nothing to go by."""
        return self._count == 0

    def add(self, Z: np.ndarray, X: np.ndarray, gradient: np.ndarray, step: float) -> None:
        """Take in the projection X of Z and the gradient there."""
        if self._last is not None:
            last_Z, last_X, last_gradient = self._last
            change = X - last_X - step * (gradient - last_gradient)
            self._G[self._slot] = change.ravel()
            self._F[self._slot] = (change - (Z - last_Z)).ravel()
            self._slot = (self._slot + 1) % _DEPTH
            self._count = min(self._count + 1, _DEPTH)
        self._last = Z, X, gradient

    @np.errstate(over="ignore", invalid="ignore")
    def extrapolate(self, G: np.ndarray, F: np.ndarray) -> np.ndarray:
        """Return the next Z from G and F = G - Z at the last; O(_DEPTH^2 size).

        That is G where squares overflow.
        """
        past_G, past_F = self._G[: self._count], self._F[: self._count]
        gram = past_F @ past_F.T
        lengths = np.sqrt(np.maximum(gram.diagonal(), np.finfo(np.float64).tiny))
        gram /= np.outer(lengths, lengths)
        gram.flat[:: self._count + 1] += _RIDGE
        weights = np.linalg.solve(gram, past_F @ F.ravel() / lengths) / lengths
        if not np.isfinite(weights).all():
            return G
        return G - (weights @ past_G).reshape(G.shape)
