"""Distances under a learned linear map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from skscreen.core.checks import check_samples

# Precisions of samples that are kept as they are.
FLOATS = (np.float64, np.float32)


@dataclass(frozen=True, eq=False)
class MahalanobisDistance:
    """Distance |components (u - v)| of two vectors, components of shape (r, d); picklable."""

    components: np.ndarray

    def __call__(self, u: ArrayLike, v: ArrayLike, squared: bool = False) -> float:
        """Return the distance of two vectors of shape (d,) or (1, d), or its square."""
        difference = self.components @ (self._vector("u", u) - self._vector("v", v))
        square = float(difference @ difference)
        return square if squared else square**0.5

    def _vector(self, name: str, values: ArrayLike) -> np.ndarray:
        # Differences of small or unsigned integers would wrap around.
        values, d = np.asarray(values, dtype=np.float64), self.components.shape[1]
        if values.shape not in ((d,), (1, d)):
            raise ValueError(
                f"{name} must be one vector, of shape ({d},), got {values.shape}; for many pairs "
                "use pair_distance."
            )
        return values.reshape(d)


class MahalanobisMixin(BaseEstimator):
    """Distances of an estimator that learns `components_`, of `n_features_in_` columns."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def pair_distance(self, pairs: ArrayLike) -> np.ndarray:
        """Return the learned distances of pairs of samples.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        check_is_fitted(self)
        pairs = check_tuples("pairs", pairs, 2, self.n_features_in_)
        differences = np.subtract(pairs[:, 0], pairs[:, 1], dtype=np.float64)
        return np.linalg.norm(differences @ self.components_.T, axis=1)

    def pair_score(self, pairs: ArrayLike) -> np.ndarray:
        """Return minus the learned distances: the greater, the more similar.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        return -self.pair_distance(pairs)

    def get_metric(self) -> MahalanobisDistance:
        """Return the learned distance as a function of two vectors, for `metric=` parameters.

        Returns
        -------
        callable
            Takes two arrays of shape (n_features,), and `squared=True` for the square. It can be
            pickled, and does not change if the estimator is fitted again.
        """
        check_is_fitted(self)
        return MahalanobisDistance(self.components_.copy())

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """Return the matrix M of the metric.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        check_is_fitted(self)
        # Of data in small units products may be too large for single precision.
        components = self.components_.astype(np.float64)
        return components.T @ components


def mapped(X: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Return X @ components.T in the precision of X, (n, d), computed in double precision."""
    if X.dtype == np.float64:
        return X @ components.T
    out, rows = np.empty((len(X), len(components)), dtype=X.dtype), components.astype(np.float64)
    # A few at a time: a copy in double precision would take twice the memory of X.
    for some in gen_batches(len(X), 4096):
        out[some] = X[some].astype(np.float64) @ rows.T
    return out


def check_tuples(
    name: str, tuples: ArrayLike, size: int, n_features: int | None = None
) -> np.ndarray:
    """Return tuples of vectors as an array (m, size, d); `name` is that of the argument."""
    tuples = check_samples(tuples, name, allow_nd=True, ensure_2d=False, dtype=FLOATS)
    d = n_features or (tuples.shape[2] if tuples.ndim == 3 else 0)
    if tuples.ndim != 3 or tuples.shape[1:] != (size, d) or d == 0:
        wanted = f"(n_{name}, {size}, {n_features or 'n_features'})"
        raise ValueError(f"{name} must have shape {wanted}, got {tuples.shape}.")
    return tuples
