"""What the solution of a fit proves about its own problem."""

import numpy as np

from skscreen.fitting.training_data import TrainingDataMixin, mark, remembered
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.labels import Labels
from skscreen.svm.screened.result import SampleScreening


class OwnScreening(TrainingDataMixin):
    """Base of classifiers whose solution decides samples of its own problem."""

    @property
    def screened_(self) -> SampleScreening:
        """Decisions that the certificate of the solution proves, see `screen_samples`.

        Computed when it is first asked for. If the training samples were changed in place since
        the fit, it is an error.
        """

        def compute(fitted, X, was: list[int], labels: Labels, kernel: Kernel) -> SampleScreening:
            # Estimators are what `screen_samples` is made of.
            from skscreen.svm.screened.api import screen_samples

            if fitted.multi_class == "crammer_singer":
                raise AttributeError(
                    "screened_ is about two-class problems, and multi_class='crammer_singer' has "
                    "one for all classes; use 'ovr'."
                )
            if fitted.penalty == "l1":
                raise AttributeError(
                    "screened_ is about samples, and penalty='l1' drops features; use 'l2'."
                )
            if mark(X) != was:
                raise AttributeError(
                    "screened_ is about the samples of the fit, and X was changed in place since; "
                    "fit again, or ask for screened_ before X is changed."
                )

            n, classes = X.shape[0], labels.all_classes
            weights = np.zeros(n)
            absent = np.setdiff1d(np.arange(classes.size), labels.present)
            y = np.resize(classes[absent] if absent.size else classes, n)
            weights[labels.rows], y[labels.rows] = labels.weights, labels.classes[labels.codes]
            return screen_samples(
                X, y, fitted.C, reference=fitted, kernel=kernel.name, gamma=kernel.gamma,
                class_weight={}, sample_weight=weights, tests="gap",
            )  # fmt: skip

        return remembered(self, compute)
