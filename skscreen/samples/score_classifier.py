"""Classifiers that decide by the sign or the largest of their scores."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin

from skscreen.core.checks import MatrixLike


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

    def predict(self, X: MatrixLike) -> np.ndarray:
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
