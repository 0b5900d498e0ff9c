"""What classifiers share that decide by the sign or the largest of their scores."""

import numpy as np
from sklearn.base import ClassifierMixin


class ScoreClassifierMixin(ClassifierMixin):
    """Prediction from `decision_function` and `classes_`."""

    def predict(self, X) -> np.ndarray:
        """Return the class of each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        winners = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winners]
