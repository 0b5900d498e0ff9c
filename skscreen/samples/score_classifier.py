"""Classifiers that decide by the sign or the largest of their scores."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin


def without_noise(scores: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return scores (n, n_problems), 0 where errors (n or 1, n_problems) alone tell them from 0."""
    # So a tie is a tie whatever the order of sums was: dense or sparse, one sample or many.
    return np.where(np.abs(scores) <= errors, 0.0, scores)


def equal_to_best(scores: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return scores (n, n_classes), those that errors alone tell from the best equal to it."""
    best = scores.max(axis=1, keepdims=True)
    return np.where(scores >= best - errors - errors.max(axis=1, keepdims=True), best, scores)


def with_absent(scores: np.ndarray, present: np.ndarray, n_classes: int) -> np.ndarray:
    """Return scores, (n,) or (n, n_present), with smaller ones for absent classes."""
    if present.size == n_classes:
        return scores
    if scores.ndim == 1:
        scores = np.stack([-scores, scores], axis=1)
    out = np.repeat(scores.min(axis=1, keepdims=True) - 1.0, n_classes, axis=1)
    out[:, present] = scores
    return out


class ScoreClassifierMixin(ClassifierMixin):
    """Prediction from `decision_function` and `classes_`."""

    def predict(self, X: Any) -> np.ndarray:
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
