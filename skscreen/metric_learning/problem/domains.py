"""Domains of the parameters: self-dual cones with their projections.

A domain splits a parameter A as A = A_K - A_polar with A_K and A_polar in the cone K and
<A_K, A_polar> = 0 (Moreau). The dual optimum is [S]_K / lambda, so the same split serves the
projected-gradient step, the duality gap and the bounds.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from skscreen.core.floats import EPS
from skscreen.core.memory import check_memory


@dataclass(frozen=True)
class Metric:
    """An element of a cone, with the factor that makes its margins cheap."""

    # Squared distances under the metric are Euclidean ones of the data times the factor.
    value: np.ndarray  # (d, d) symmetric, or (d,) for the orthant
    factor: np.ndarray  # (d, r) with value = factor @ factor.T, or (d,) square roots

    @np.errstate(over="ignore")
    def scaled(self, scale: float) -> "Metric":
        """Return the point times a non-negative number."""
        return Metric(scale * self.value, np.sqrt(scale) * self.factor)


class PSDCone:
    """Symmetric positive semidefinite d x d matrices; a projection is one eigendecomposition."""

    @staticmethod
    def check_memory(n_features: int) -> None:
        """Refuse matrices that would not fit, before they are made."""
        what = f"Learning a metric of {n_features:,} x {n_features:,} numbers"
        advice = "Use fewer features (PCA), or diagonal=True."
        # As measured: a solve has 70 of them in memory at the same time.
        check_memory(8.0 * 70 * n_features**2, what, advice)

    def project(self, value: np.ndarray) -> Metric:
        """Keep the positive eigenvalues, O(d^3); what may be rounding errors is left out."""
        # All of them: most are positive along paths, and LAPACK is slower for some.
        eigenvalues, vectors = np.linalg.eigh(value)
        noise = len(value) * EPS * np.abs(eigenvalues).max(initial=0.0)
        return self._positive_part(eigenvalues - noise * (eigenvalues <= noise), vectors)

    def split(self, value: np.ndarray) -> tuple[Metric, Metric]:
        """Split by the sign of the eigenvalues, O(d^3)."""
        eigenvalues, vectors = np.linalg.eigh(value)
        upper, lower = (self._positive_part(sign * eigenvalues, vectors) for sign in (1.0, -1.0))
        return upper, lower

    @staticmethod
    def _positive_part(eigenvalues: np.ndarray, vectors: np.ndarray) -> Metric:
        positive = eigenvalues > 0.0
        factor = vectors[:, positive] * np.sqrt(eigenvalues[positive])
        return Metric(factor @ factor.T, factor)


class NonnegativeOrthant:
    """Vectors with non-negative entries: feature weights, a diagonal metric."""

    @staticmethod
    def check_memory(n_features: int) -> None:
        """Refuse components that might not fit: as many rows as weights that are not zero."""
        what = f"The {n_features:,} components of a diagonal metric"
        check_memory(8.0 * n_features**2, what, "Use fewer features.")

    def project(self, value: np.ndarray) -> Metric:
        """Replace negative entries by zero, O(d)."""
        positive = np.maximum(value, 0.0)
        return Metric(positive, np.sqrt(positive))

    def split(self, value: np.ndarray) -> tuple[Metric, Metric]:
        """Split by the sign of the entries, O(d)."""
        return self.project(value), self.project(-value)


Domain = PSDCone | NonnegativeOrthant


def components(point: Metric) -> np.ndarray:
    """Return rows whose outer products add up to the metric, largest first; at least one row."""
    diagonal = point.factor.ndim == 1
    factor = point.factor
    sizes = factor**2 if diagonal else np.einsum("ij,ij->j", factor, factor)
    # Eigenvalues of this size are rounding errors, while weights of features are exact.
    noise = 0.0 if diagonal else len(factor) * EPS * sizes.max(initial=0.0)
    order = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes > noise)]
    if diagonal or not order.size:
        rows = np.zeros((max(order.size, 1), len(factor)))
        rows[np.arange(order.size), order] = factor[order] if diagonal else 0.0
        return rows
    return np.ascontiguousarray(factor[:, order].T)


def row_space(X: np.ndarray) -> np.ndarray | None:
    """Return orthonormal columns (d, n - 1) that span the differences of rows; None for n > d."""
    # All H_t lie in that space, and outside of it a metric would only add to its norm.
    if len(X) > X.shape[1]:
        return None
    # Nothing is dropped as a rounding error, because some items may differ in nothing else.
    return qr((X[1:] - X[0]).T, mode="economic", check_finite=False)[0]
