"""A map from features of objects to the points of an embedding."""

from numbers import Real
from typing import Self

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils import check_array, check_scalar
from sklearn.utils.validation import check_is_fitted

from skscreen.problems.memory import check_kernel_memory

# Kernel matrices that live at the same time; measured.
_MATRICES = 4

# The square of the largest number, and the reciprocal of the smallest spread, are numbers.
_LARGEST, _SMALLEST = 1e150, 1e-300


class FeatureMapMixin:
    """For estimators with `embedding_` and `compared_`: points of objects that were not there."""

    def fit_features(self, F, *, alpha=0.1, gamma=None) -> Self:
        """Learn a map from features of the objects to their points.

        Kernel ridge regression with the kernel exp(-gamma |f - f'|^2), for the objects that were
        compared.

        Parameters
        ----------
        F : array-like of shape (n_objects, n_features)
        alpha : float, default=0.1
            Strength > 0 of its ridge.
        gamma : float, optional
            1 / (mean squared distance of the features) by default.

        Returns
        -------
        OrdinalEmbedding

        Raises
        ------
        ValueError, TypeError
            For invalid arguments, or if there are no points yet.
        MemoryError
            If the kernel matrices of so many objects would not fit into the free memory.
        """
        check_is_fitted(self)
        check_scalar(alpha, "alpha", Real, min_val=0, include_boundaries="neither")
        F = _features(F)
        if len(F) != len(self.embedding_):
            raise ValueError(
                f"F must have a row for each of {len(self.embedding_)} objects, got {len(F)}."
            )
        F = F[self.compared_]
        check_kernel_memory(len(F), len(F), _MATRICES, "Use fewer rows of F.")
        spread = 2.0 * F.var(axis=0).sum()
        if gamma is None:
            gamma = 1.0 / spread if spread > _SMALLEST else 1.0
        model = KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma)
        self.feature_map_ = model.fit(F, self.embedding_[self.compared_])
        return self

    def map_features(self, F) -> np.ndarray:
        """Return points for objects of which only features are known.

        Parameters
        ----------
        F : array-like of shape (n_new_objects, n_features)

        Returns
        -------
        ndarray of shape (n_new_objects, n_components)

        Raises
        ------
        ValueError, TypeError
            If `F` has not the features of the map, or there is no map yet.
        MemoryError
            If the kernel matrices of so many objects would not fit into the free memory.
        """
        check_is_fitted(self, "feature_map_", msg="%(name)s has no map yet: call fit_features.")
        F, model = _features(F), self.feature_map_
        if F.shape[1] != model.n_features_in_:
            raise ValueError(
                f"F must have the {model.n_features_in_} features that the map was learned from, "
                f"got {F.shape[1]}."
            )
        check_kernel_memory(len(F), len(model.X_fit_), _MATRICES, "Map fewer rows of F at a time.")
        return model.predict(F)


def _features(F) -> np.ndarray:
    F = check_array(F, dtype=np.float64, input_name="F")
    if np.abs(F).max() > _LARGEST:
        raise ValueError(f"F must hold numbers of at most {_LARGEST:g} in size: rescale it.")
    return F
