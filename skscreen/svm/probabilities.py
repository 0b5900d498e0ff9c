"""Probabilities of classes by Platt scaling, and by coupling those of pairs, as in LIBSVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, deprecated
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skscreen.core.checks import Matrix, MatrixLike
from skscreen.core.sklearn_private import sigmoid_calibration
from skscreen.fitting.warning import warn_user
from skscreen.samples.labels import of_rows
from skscreen.svm.problem import SVMProblem
from skscreen.svm.scores import DecisionRule, settled_scores


class ProbabilitiesMixin:
    """Base of classifiers with the parameter `probability` of `SVC`."""

    probability: bool | str
    classes_: np.ndarray
    # What a fit has learned, see `BaseSVC`; A and B of `sigmoids`.
    _decision: DecisionRule
    _sigmoids: np.ndarray | None = None

    def _has_probabilities(self) -> bool:
        """Whether there are probabilities; otherwise the error names what has them."""
        return self.probability not in ("deprecated", False)

    @available_if(_has_probabilities)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return the probabilities of classes, by Platt scaling and coupling of pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        if self._sigmoids is None:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False"
            )
        how = self._decision
        found = probabilities(settled_scores(self, how, X), self._sigmoids, how.pairs)
        out = np.zeros((len(found), self.classes_.size))
        out[:, how.present] = found
        return out

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))

    @property
    @deprecated("Attribute `probA_` was deprecated in scikit-learn 1.9, as `probability` was.")
    def probA_(self) -> np.ndarray:
        """Factors of scores in the sigmoids of `predict_proba`, (n_problems,) or empty."""
        return self._sigmoids[:, 0] if self._sigmoids is not None else np.empty(0)

    @property
    @deprecated("Attribute `probB_` was deprecated in scikit-learn 1.9, as `probability` was.")
    def probB_(self) -> np.ndarray:
        """Constants in the sigmoids of `predict_proba`, (n_problems,) or empty."""
        return self._sigmoids[:, 1] if self._sigmoids is not None else np.empty(0)


def calibrate(model: BaseEstimator, problem: SVMProblem) -> None:
    """Warn of `probability`; learn the sigmoids of the scores, if these are asked for."""
    warn_of_probability("ScreenedSVC")
    if model._has_probabilities():
        kernel = problem.kernel
        fold = clone(model).set_params(
            probability="deprecated", store=None, kernel=kernel.name, gamma=kernel.gamma,
            class_weight=None, verbose=0, decision_function_shape="ovr",
        )  # fmt: skip
        model._sigmoids = sigmoids(fold, problem)


def warn_of_probability(name: str) -> None:
    """Warn of the parameter `probability` of an estimator."""
    warn_user(
        "The `probability` parameter was deprecated in scikit-learn 1.9 and goes with that of "
        f"SVC. Use `CalibratedClassifierCV({name}(), ensemble=False)` instead of "
        f"`{name}(probability=True)`.",
        FutureWarning,
    )


def sigmoids(model: BaseEstimator, problem: Any) -> np.ndarray:
    """Return A and B of 1 / (1 + exp(A f + B)), (n_problems, 2), by scores of held-out samples."""
    division, rng = problem.division, check_random_state(model.random_state)
    out = np.empty((division.n_problems, 2))
    for k in range(division.n_problems):
        part, signs, labels = division.rows(k), division.signs(k), problem.labels
        of_part = labels.rows[part], signs, labels.weights[part]
        out[k] = _sigmoid_of(model, problem.X, *of_part, rng)
    return out


def _sigmoid_of(
    model: BaseEstimator, X: Matrix, rows: np.ndarray, signs: np.ndarray, weights: np.ndarray,
    rng: np.random.RandomState,
) -> Sequence[float]:  # fmt: skip
    """Return A and B for one problem, by the scores of five folds."""
    scores, pairwise = np.empty(rows.size), model.kernel == "precomputed"
    for held in np.array_split(rng.permutation(rows.size), 5):
        rest = np.setdiff1d(np.arange(rows.size), held)
        if held.size == 0:
            continue
        if rest.size == 0 or np.all(signs[rest] == signs[rest[0]]):
            scores[held] = signs[rest[0]] if rest.size else 0.0
            continue
        fold = clone(model).fit(of_rows(X, rows[rest], pairwise), signs[rest], weights[rest])
        given = X[rows[held]]
        scores[held] = fold.decision_function(given[:, rows[rest]] if pairwise else given)
    return sigmoid_calibration(scores, signs)


def probabilities(scores: np.ndarray, of: np.ndarray, one_against_one: bool) -> np.ndarray:
    """Return probabilities (n, n_classes) from scores (n, n_problems), by what `sigmoids` found."""
    p = np.clip(expit(-(of[:, 0] * scores + of[:, 1])), 1e-7, 1.0 - 1e-7)
    if p.shape[1] == 1:
        return np.hstack([1.0 - p, p])
    return coupled(p) if one_against_one else p / p.sum(axis=1, keepdims=True)


def coupled(p: np.ndarray) -> np.ndarray:
    """Return probabilities of classes from those of the first of each pair, (n, k (k - 1) / 2).

    The second method of T.-F. Wu, C.-J. Lin, R. C. Weng (2004), Probability estimates for
    multi-class classification by pairwise coupling, JMLR 5: minimises the sum of
    (r_ji q_i - r_ij q_j)^2 over q of sum 1, by Algorithm 2 with equation (47). Limits are LIBSVM's.
    """
    n, k = len(p), int(0.5 + np.sqrt(0.25 + 2.0 * p.shape[1]))
    first, second = np.triu_indices(k, 1)
    r = np.zeros((n, k, k))
    r[:, first, second], r[:, second, first] = p, 1.0 - p
    Q = -r.transpose(0, 2, 1) * r
    Q[:, np.arange(k), np.arange(k)] = (r**2).sum(axis=1)
    q = np.full((n, k), 1.0 / k)
    for _ in range(max(100, k)):
        Qq = np.einsum("nij,nj->ni", Q, q)
        square = (q * Qq).sum(axis=1)
        if np.abs(Qq - square[:, None]).max(initial=0.0) < 1e-5 / k:
            break
        for i in range(k):
            step = (square - Qq[:, i]) / Q[:, i, i]
            q[:, i] += step
            square = (square + step * (step * Q[:, i, i] + 2.0 * Qq[:, i])) / (1.0 + step) ** 2
            Qq = (Qq + step[:, None] * Q[:, i]) / (1.0 + step)[:, None]
            q /= (1.0 + step)[:, None]
    return q
