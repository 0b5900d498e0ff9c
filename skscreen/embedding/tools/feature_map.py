"""A map from features of objects to the points of an embedding."""

from __future__ import annotations

from numbers import Real
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils import check_scalar

from skscreen.core.checks import TableLike, check_samples
from skscreen.core.floats import SQUARABLE
from skscreen.core.memory import check_kernel_memory
from skscreen.core.named import in_order
from skscreen.core.sklearn_private import check_feature_names

# Measured number of kernel matrices in memory at the same time.
_MATRICES = 4


def learn_map(
    model: BaseEstimator, F: TableLike, alpha: float, gamma: float | None
) -> tuple[FeatureMap, KernelRidge]:
    """Return how features are scaled, and their regression on the points of a model."""
    check_scalar(alpha, "alpha", Real, min_val=0, include_boundaries="neither")
    features = in_order(F, model.objects_.tolist(), "F")
    frame = FeatureMap().fit(features, model.compared_)
    rows = frame.transform(features)[model.compared_]
    check_kernel_memory(len(rows), len(rows), _MATRICES, "Use fewer rows of F.")
    spread = 2.0 * rows.var(axis=0).sum()
    if gamma is not None:
        check_scalar(gamma, "gamma", Real, min_val=0)
        gamma = min(float(gamma) * frame.size_ * frame.size_, SQUARABLE)
    else:
        gamma = 1.0 / spread if spread > 0.0 else 1.0
    ridge = KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma)
    return frame, ridge.fit(rows, model.embedding_[model.compared_])


def mapped(frame: FeatureMap, ridge: KernelRidge, F: TableLike) -> np.ndarray:
    """Return points for features."""
    rows = frame.transform(F)
    check_kernel_memory(len(rows), len(ridge.X_fit_), _MATRICES, "Map fewer rows of F at a time.")
    return ridge.predict(rows)


class FeatureMap(BaseEstimator):
    """Mean, size and names of features: products of rows are accurate near the origin only."""

    def fit(self, F: TableLike, rows: np.ndarray) -> Self:
        """Take middle and size of the rows where `rows` is True."""
        values = self._check(F)
        if len(values) != len(rows):
            raise ValueError(
                f"F must have a row for each of {len(rows)} objects, got {len(values)}."
            )
        check_feature_names(self, F, reset=True)
        values = values[rows]
        self.middle_ = values.mean(axis=0)
        self.size_ = float(np.abs(values - self.middle_).max()) or 1.0
        return self

    def transform(self, F: TableLike) -> np.ndarray:
        """Return the features around the origin, of size 1."""
        values, width = self._check(F), self.middle_.size
        if values.shape[1] != width:
            raise ValueError(
                f"F must have the {width} features that the map was learned from, got "
                f"{values.shape[1]}."
            )
        check_feature_names(self, F, reset=False)
        with np.errstate(over="ignore"):
            return np.clip((values - self.middle_) / self.size_, -SQUARABLE, SQUARABLE)

    @staticmethod
    def _check(F: TableLike) -> np.ndarray:
        F = check_samples(F, "F", dtype=np.float64)
        if np.abs(F).max() > SQUARABLE:
            raise ValueError(f"F must hold numbers of at most {SQUARABLE:g} in size: rescale it.")
        return F
