"""Classifiers that decide by the sign or the largest of their scores."""

import numpy as np
from sklearn.base import ClassifierMixin


def without_noise(scores: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return scores of which those that rounding errors alone tell from zero are zero.

    So a tie is a tie whatever the order of sums was: dense or sparse, one sample or many.

    Parameters
    ----------
    scores : ndarray of shape (n, n_problems)
    errors : ndarray of shape (n or 1, n_problems)
    """
    return np.where(np.abs(scores) <= errors, 0.0, scores)


def equal_to_best(scores: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return scores of which those that rounding errors alone tell from the best are equal to it.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes)
    errors : ndarray of shape (n or 1, n_classes)
    """
    best = scores.max(axis=1, keepdims=True)
    return np.where(scores >= best - errors - errors.max(axis=1, keepdims=True), best, scores)


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
