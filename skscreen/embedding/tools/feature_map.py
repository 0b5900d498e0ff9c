"""A map from features of objects to the points of an embedding."""

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils import check_array, check_scalar
from sklearn.utils.validation import check_is_fitted

from skscreen.core.floats import SQUARABLE
from skscreen.core.inputs import in_order, sound
from skscreen.core.memory import check_kernel_memory
from skscreen.core.sklearn_private import check_feature_names

# Measured number of kernel matrices in memory at the same time.
_MATRICES = 4


class FeatureMapMixin(BaseEstimator):
    """Mixin of embeddings: points of new objects from features."""

    def fit_features(self, F: Any, *, alpha: float = 0.1, gamma: float | None = None) -> Self:
        """Learn a map from features of the objects to their points.

        Kernel ridge regression with the kernel exp(-gamma |f - f'|^2), for the objects that were
        compared.

        Parameters
        ----------
        F : array-like of shape (n_objects, n_features)
            A row for each of `objects_`. A frame whose index are these may have them in any order,
            and so may a dict.
        alpha : float, default=0.1
            Strength of the ridge, > 0.
        gamma : float, optional
            By default 1 / (mean squared distance of the features).

        Returns
        -------
        OrdinalEmbedding

        Raises
        ------
        ValueError, TypeError
            For invalid arguments, or if the estimator is not fitted.
        MemoryError
            If the kernel matrices of so many objects would not fit into the free memory.
        """
        check_is_fitted(self)
        check_scalar(alpha, "alpha", Real, min_val=0, include_boundaries="neither")
        F = in_order(F, self.objects_.tolist(), "F")
        frame = FeatureMap().fit(F, self.compared_)
        F = frame.transform(F)[self.compared_]
        check_kernel_memory(len(F), len(F), _MATRICES, "Use fewer rows of F.")
        spread = 2.0 * F.var(axis=0).sum()
        if gamma is not None:
            check_scalar(gamma, "gamma", Real, min_val=0)
            gamma = min(float(gamma) * frame.size_ * frame.size_, SQUARABLE)
        else:
            gamma = 1.0 / spread if spread > 0.0 else 1.0
        model = KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma)
        self.feature_map_ = model.fit(F, self.embedding_[self.compared_])
        self._frame = frame
        return self

    def map_features(self, F: Any) -> np.ndarray:
        """Return points for new objects from their features.

        Parameters
        ----------
        F : array-like of shape (n_new_objects, n_features)

        Returns
        -------
        ndarray of shape (n_new_objects, n_components)

        Raises
        ------
        ValueError, TypeError
            If `F` does not have the features of the map, or if `fit_features` was not called.
        MemoryError
            If the kernel matrices of so many objects would not fit into the free memory.
        """
        check_is_fitted(self, "feature_map_", msg="%(name)s has no map yet: call fit_features.")
        F, model = self._frame.transform(F), self.feature_map_
        check_kernel_memory(len(F), len(model.X_fit_), _MATRICES, "Map fewer rows of F at a time.")
        return model.predict(F)


class FeatureMap(BaseEstimator):
    """Mean, size and names of features: products of rows are accurate near the origin only."""

    def fit(self, F: Any, rows: np.ndarray) -> Self:
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

    def transform(self, F: Any) -> np.ndarray:
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
    def _check(F) -> np.ndarray:
        F = check_array(sound(F, "F"), dtype=np.float64, input_name="F")
        if np.abs(F).max() > SQUARABLE:
            raise ValueError(f"F must hold numbers of at most {SQUARABLE:g} in size: rescale it.")
        return F
