"""Base of the support vector regressions."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from skscreen.svm.estimator import BaseSVM
from skscreen.svm.problem import TrainingSet, asked
from skscreen.svm.solvers.solution import SampleSolution


class BaseSVR(RegressorMixin, BaseSVM):
    """Base of the support vector regressions."""

    # Whether weights of features are one vector, as in `LinearSVR`.
    flat_coef = False

    def predict(self, X) -> np.ndarray:
        """Return f(x).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Kernel values with all training samples for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        scores = self._known_scores(X)
        if scores is None:
            scores = self._raw_scores(asked(self, self._kernel, X))
        return scores[:, 0]

    def _own_attributes(
        self, data: TrainingSet, solutions: Sequence[SampleSolution], found: np.ndarray, known: dict
    ) -> dict:
        """Return the attributes that differ from those of classifiers."""
        flat = {"coef_": known["coef_"][0]} if self.flat_coef else {}
        return {"kernel_shift_": solutions[0].shift, **flat}
