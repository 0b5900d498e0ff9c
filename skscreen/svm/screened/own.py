"""What the solution of a fit proves about samples."""

from __future__ import annotations

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skscreen.core.checks import MatrixLike
from skscreen.fitting.warning import warn_user
from skscreen.svm.screened.decisions import screened_by
from skscreen.svm.screened.result import SampleScreening


class OwnScreening:
    """Base of classifiers whose solution decides samples of its own problem."""

    def screened(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SampleScreening:
        """Return the decisions that the solution proves at its own C, see `screen_samples`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. What is decided is proved for these samples, whichever the model was fitted
            on; of those of the fit it decides most.

        Returns
        -------
        SampleScreening

        Raises
        ------
        ValueError, TypeError
            For data that `fit` would refuse, or that have other features, classes or, where the
            model has dual variables, fewer samples; and for ``multi_class="crammer_singer"``, which
            is one problem for all classes, and ``penalty="l1"``, which drops features.

        Warns
        -----
        UserWarning
            If these are not the samples of the fit: rows are not the support vectors, or the
            relative duality gap is above 0.5.
        """
        check_is_fitted(self)
        found, reason = screened_by(self, X, y, sample_weight)
        if reason is not None:
            warn_user(
                f"X is not what this {type(self).__name__} was fitted on: {reason}. Bounds and "
                "decisions hold all the same, but fewer samples, or none, are decided."
            )
        return found
