"""Base of the support vector classifiers: scores of problems, and decisions by these."""

from collections.abc import Sequence

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skscreen.core.floats import EPS
from skscreen.core.threads import at_most
from skscreen.fitting.training_data import remember
from skscreen.samples.multiclass import OneVsOne, class_scores, pair_scores, vote, with_absent_pairs
from skscreen.samples.score_classifier import (
    ScoreClassifierMixin,
    equal_to_best,
    with_absent,
    without_noise,
)
from skscreen.svm.estimator import BaseSVM
from skscreen.svm.probabilities import ProbabilityMixin
from skscreen.svm.problem import TrainingSet, asked
from skscreen.svm.screened.own import OwnScreening
from skscreen.svm.solvers.solution import SampleSolution

# Rounding errors of scores, relative to the size of their terms, and the largest that may hide a
# score: the terms are sums over all support vectors, whose errors mostly cancel.
_TIE, _MOST_NOISE = 8.0 * EPS, 1e-8


class BaseSVC(OwnScreening, ProbabilityMixin, ScoreClassifierMixin, BaseSVM):
    """Base of the support vector classifiers."""

    def decision_function(self, X) -> np.ndarray:
        """Return f(x): positive for the second of two classes, otherwise one column for each class.

        For one-vs-one, the column of a class holds its number of votes plus less than half a vote
        for the sum of its scores. With ``decision_function_shape="ovo"`` there is a column for each
        pair of classes, with its scores, positive for the first class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Kernel values with all training samples for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_problems)
        """
        scores, present, n_classes = self._scores(X), self._present, self.classes_.size
        if n_classes > 2 and self.multi_class == self.decision_function_shape == "ovo":
            # Two classes are a problem in which the second one is positive.
            pairs = scores if self._one_against_one else -scores
            return with_absent_pairs(pairs, present, n_classes)
        if self._one_against_one:
            scores = class_scores(scores, present.size)
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
        return with_absent(scores, present, n_classes)

    def predict(self, X) -> np.ndarray:
        """Return the class of each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            If ties are to be broken with ``decision_function_shape="ovo"``.
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo'; use "
                "decision_function_shape='ovr'."
            )
        if self._kernel.name not in ("linear", "precomputed") and self.dual_coef_.shape[0] == 1:
            return self._seen[(self._decisive_scores(X) > 0.0).astype(np.intp)]
        if not self._one_against_one:
            return super().predict(X)
        scores, n_classes = self._scores(X), self._present.size
        if self.break_ties:
            return self._seen[class_scores(scores, n_classes).argmax(axis=1)]
        return self._seen[vote(scores, n_classes)]

    @property
    def _seen(self) -> np.ndarray:
        """The classes of samples with weight."""
        return self.classes_[self._present]

    def _decisive_scores(self, X) -> np.ndarray:
        """Return the scores of two classes, precise enough for their signs."""
        if self._known_scores(X) is not None:
            return self._scores(X)[:, 0]
        X = asked(self, self._kernel, X)
        b, coef = float(self.intercept_[0]), self._dense_dual_coef[0]
        with at_most(self.n_jobs):
            scores = self._kernel.decisive_scores(X, self.support_vectors_, coef, b)
        return without_noise(scores[:, None], self._rounding(X))[:, 0]

    def __getattr__(self, name: str):
        """Name an alternative in the error about missing probabilities."""
        text = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in ("predict_proba", "predict_log_proba"):
            text = (
                f"{text}. Use CalibratedClassifierCV({type(self).__name__}(...), ensemble=False)"
                ".fit(X, y).predict_proba(X), of sklearn.calibration."
            )
        raise AttributeError(text)

    def _scores(self, X) -> np.ndarray:
        """Return the scores of all problems, one column each; equal up to rounding means equal."""
        check_is_fitted(self)
        scores = self._known_scores(X)
        if scores is None or self._kernel.has_lengths:
            X = asked(self, self._kernel, X)
        with at_most(self.n_jobs):
            scores = self._raw_scores(X) if scores is None else scores
        errors = self._rounding(X)
        if self._one_against_one or scores.shape[1] == 1:
            return without_noise(scores, errors)
        return equal_to_best(scores, errors)

    def _rounding(self, X) -> np.ndarray:
        """Return estimates of rounding errors of scores, of shape (n or 1, n_problems).

        |sum_j alpha_j K(x, x_j)| is at most sqrt(K(x, x)) sum_j alpha_j sqrt(K(x_j, x_j)). An
        intercept has the errors of the scores of support vectors, from which it was computed.
        """
        sizes = self._sums
        if self._kernel.has_lengths:
            lengths = self._kernel.lengths(X, self.support_vectors_)
            longest = self._longest if self.fit_intercept else 0.0
            sizes = np.maximum(lengths, longest)[:, None] * sizes
        return np.atleast_2d(np.minimum(_TIE * (sizes + np.abs(self.intercept_)), _MOST_NOISE))

    def _raw_scores(self, X) -> np.ndarray:
        if not self._one_against_one or self._kernel.name == "linear":
            return super()._raw_scores(X)
        X = X[:, self.support_] if self._kernel.name == "precomputed" else X
        coefs, sizes = self._dense_dual_coef, self.n_support_[self._present]
        parts = (slice(end - size, end) for size, end in zip(sizes, sizes.cumsum(), strict=True))
        precomputed = self._kernel.name == "precomputed"
        return pair_scores(
            [
                self._kernel.scores(
                    X[:, part] if precomputed else X,
                    self.support_vectors_[part],
                    coefs[:, part].T,
                )
                for part in parts
            ],
            self.intercept_,
        )

    def _own_attributes(
        self, data: TrainingSet, solutions: Sequence[SampleSolution], found: np.ndarray, known: dict
    ) -> dict:
        """Return the attributes that only classifiers have; `found` are the support vectors."""
        kernel, division, labels = data.kernel, data.division, data.division.labels
        lengths = np.zeros(labels.rows.size)
        if kernel.name == "precomputed":
            rows = known["support_"]
            lengths[found] = np.abs(data.X[rows, rows]).max(initial=0.0)
        else:
            vectors = known["support_vectors_"]
            lengths[found] = kernel.lengths(vectors, vectors)
            # Those of other samples are the same where they are not known.
            lengths = lengths if kernel.has_lengths else lengths**2
        sums = [s.alpha @ lengths[division.rows(k)] for k, s in enumerate(solutions)]
        remember(self, data.X, labels, kernel)
        return {
            "classes_": labels.all_classes,
            "_one_against_one": isinstance(division, OneVsOne),
            "_present": labels.present,
            "_sigmoids": None,
            "_sums": np.array(sums),
            "_longest": lengths.max(),
        }
