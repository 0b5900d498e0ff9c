"""Kernels: what they are evaluated with, and the values between training and other samples."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn import get_config

from skscreen.samples.gram import Gram, Shared, kernel_values

# Share of the mean square; a smaller variance is rounding errors of a constant.
_NOISE = 1e-14


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters; what decision functions need after the Gram matrix is gone.

    Parameters
    ----------
    name : str or callable
    gamma, degree, coef0 : float
    """

    name: str | Callable
    gamma: float
    degree: float
    coef0: float

    def scores(self, X, support_vectors, dual_coef: np.ndarray) -> np.ndarray:
        """Return sum_j K(x, x_j) dual_coef_j for the rows of X, by blocks of limited size."""
        if self.name == "precomputed":
            return X @ dual_coef
        out = np.zeros((X.shape[0], dual_coef.shape[1]))
        # A tolerance may be met without any support vector.
        for part in _parts(X.shape[0], len(dual_coef)) if len(dual_coef) else ():
            out[part] = self.between(X[part], support_vectors) @ dual_coef
        return out

    def between(self, X, Y) -> np.ndarray:
        """Return the kernel matrix between two sets of samples."""
        return kernel_values(self.name, X, Y, **self._settings)

    def gram(self, X, cache_size: float, shared: Shared | None = None, once=False) -> Gram:
        """Return the kernel matrix of training samples."""
        return Gram(X, self.name, cache_size=cache_size, shared=shared, once=once, **self._settings)

    @property
    def _settings(self) -> dict[str, float]:
        return {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}


def _parts(n: int, width: int) -> Iterator[slice]:
    """Split n rows of kernel values into parts of limited size."""
    memory = get_config()["working_memory"] * 2**20
    n_rows = max(int(memory / (8 * max(width, 1))), 1)
    return (slice(first, first + n_rows) for first in range(0, n, n_rows))


def gamma_value(gamma: str | float, X, weights: np.ndarray) -> float:
    """Return the value of gamma, by scikit-learn's meaning of "scale" and "auto".

    The variance of "scale" counts samples by their weights, as if they were repeated.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    share = weights / (weights.sum() * X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(X):
            square, mean = (float((part.T @ share).sum()) for part in (X.multiply(X), X))
            variance, noise = square - mean * mean, _NOISE * square
        else:
            mean = float((X.T @ share).sum())
            variance, noise = float((((X - mean) ** 2).T @ share).sum()), _NOISE**2 * mean * mean
    if not variance < np.inf:
        raise ValueError("X has no finite variance, which gamma='scale' needs: rescale X.")
    value = 1.0 / (X.shape[1] * variance) if variance > noise else 1.0
    return value if value < np.inf else 1.0
