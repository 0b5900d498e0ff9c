"""Probabilities of classes by Platt scaling, and by coupling those of pairs, as in LIBSVM."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, deprecated
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skscreen._compiled import svm as loops
from skscreen.core.checks import MatrixLike
from skscreen.fitting.warning import warn_user
from skscreen.samples.labels import of_rows
from skscreen.samples.multiclass import OneVsOne
from skscreen.svm.held_out import of_other_classes, scores_of_held
from skscreen.svm.problem import SVMProblem
from skscreen.svm.scores import DecisionRule, dense_dual_coef, settled_scores

# Folds of the scores of held-out samples, and the least tolerance of their fits: that of `SVC`.
_N_FOLDS, _TOL = 5, 1e-3


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
    """Return A and B of 1 / (1 + exp(A f + B)), (n_problems, 2), by scores of held-out samples.

    A sample is held out once, from all problems it is in. The folds hold equal shares of each
    class, and are solved as precisely as `SVC` solves.
    """
    labels, n_classes = problem.labels, problem.labels.present.size
    pairs = isinstance(problem.division, OneVsOne)
    n_columns = n_classes - 1 if pairs else problem.division.n_problems
    drawn = _folds(labels.codes, model)
    folds = [np.flatnonzero(drawn == k) for k in range(_N_FOLDS)]
    scores = _scores_of_few(model, problem, folds)
    if scores is None:
        scores = np.zeros((labels.rows.size, n_columns))
        for held in folds:
            if held.size:
                rest = np.setdiff1d(np.arange(labels.rows.size), held, assume_unique=True)
                scores[held] = _held_scores(model, problem, held, rest, pairs)
    out = np.empty((problem.division.n_problems, 2))
    if pairs:
        order, ends = np.argsort(labels.codes, kind="stable"), np.bincount(labels.codes).cumsum()
        loops.fit_pair_sigmoids(scores[order], ends, out)
    for k in range(0 if pairs else n_columns):
        positive = (problem.division.signs(k) > 0.0).astype(np.uint8)
        loops.fit_sigmoid(np.ascontiguousarray(scores[:, k]), positive, out[k])
    return out


def _folds(codes: np.ndarray, model: Any) -> np.ndarray:
    """Return the fold that each sample is held out in, at random."""
    rng, out = check_random_state(model.random_state), np.empty(codes.size, np.int64)
    for members in np.split(np.argsort(codes, kind="stable"), np.bincount(codes).cumsum()[:-1]):
        out[rng.permutation(members)] = (np.arange(members.size) + rng.randint(_N_FOLDS)) % _N_FOLDS
    return out


def _scores_of_few(model: Any, problem: Any, folds: list[np.ndarray]) -> np.ndarray | None:
    """Return the scores of held-out samples of few, as `_held_scores`, or None."""
    if not isinstance(problem, SVMProblem) or model.max_iter is not None:
        return None
    found = scores_of_held(problem, folds, float(model.C), max(model.tol, _TOL))
    if found is None or not isinstance(problem.division, OneVsOne):
        return found
    return of_other_classes(found, problem.labels.codes, problem.labels.present.size)


def _held_scores(model: Any, problem: Any, held: np.ndarray, rest: np.ndarray, pairs: bool) -> Any:
    """Return the scores of held-out samples, a column for each other class or each problem."""
    labels, pairwise = problem.labels, model.kernel == "precomputed"
    codes, known = labels.codes[held], np.unique(labels.codes[rest])
    n_classes, rows = labels.present.size, labels.rows
    # Where one side is all held out, the other one wins.
    if pairs:
        other = np.arange(n_classes - 1) + (np.arange(n_classes - 1) >= codes[:, None])
        has = np.isin(codes, known)[:, None].astype(float) - np.isin(other, known)
        out = np.where(codes[:, None] < other, has, -has)
    else:
        out = np.where(np.isin(np.arange(n_classes), known), 1.0, -1.0)
        out = np.tile(out[-problem.division.n_problems :], (held.size, 1))
    if known.size < 2:
        return out
    with warnings.catch_warnings():
        # The fit of all samples has warned already.
        warnings.simplefilter("ignore")
        fold, weights = clone(model).set_params(tol=max(model.tol, _TOL)), labels.weights
        if not problem.division.same_weights:
            # Samples of the rest have no class weights.
            factors = dict(enumerate(labels.factors.tolist()))
            fold, weights = fold.set_params(class_weight=factors), labels.repetitions
        fold.fit(of_rows(problem.X, rows[rest], pairwise), labels.codes[rest], weights[rest])
    X = problem.X[rows[held]]
    X = X[:, rows[rest]] if pairwise else X
    if not pairs:
        found = settled_scores(fold, fold._decision, X)
        found = np.hstack([-found, found]) if 2 == known.size < n_classes else found
        out[:, known if n_classes > 2 else [0]] = found
        return out
    return _own_scores(fold, X, codes, known, out)


def _own_scores(fold: Any, X: Any, codes: np.ndarray, known: np.ndarray, out: np.ndarray) -> Any:
    """Write scores of samples of classes `codes` in the problems of their class that a fold has."""
    if known.size == 2:
        both = np.flatnonzero(np.isin(codes, known))
        if both.size == 0:
            return out
        scores = -settled_scores(fold, fold._decision, X[both])[:, 0]
        other = np.where(codes[both] == known[0], known[1], known[0])
        out[both, other - (other > codes[both])] = scores
        return out
    kernel, support = fold._decision.kernel, fold.support_
    K = X[:, support] if kernel.name == "precomputed" else kernel.between(X, fold.support_vectors_)
    coefs, counts = dense_dual_coef(fold), fold.n_support_
    own, places = np.repeat(np.arange(known.size), counts), np.arange(support.size)
    filled = np.flatnonzero(counts)
    starts = np.cumsum(counts)[filled] - counts[filled]
    for c, code in enumerate(known.tolist()):
        rows, others = np.flatnonzero(codes == code), np.delete(np.arange(known.size), c)
        # Coefficients of the samples of other classes against this one.
        row = np.minimum(c - (c > own), known.size - 2)
        across = np.where(own == c, 0.0, coefs[row, places])
        sums = np.zeros((rows.size, known.size))
        sums[:, filled] = np.add.reduceat(K[rows] * across, starts, axis=1)
        first, second = np.minimum(others, c), np.maximum(others, c)
        pair = first * known.size - first * (first + 1) // 2 + second - first - 1
        scores = K[np.ix_(rows, own == c)] @ coefs[:, own == c].T + sums[:, others]
        out[np.ix_(rows, known[others] - (known[others] > code))] = scores + fold.intercept_[pair]
    return out


def probabilities(scores: np.ndarray, of: np.ndarray, one_against_one: bool) -> np.ndarray:
    """Return probabilities (n, n_classes) from scores (n, n_problems), by what `sigmoids` found."""
    p = np.clip(expit(-(of[:, 0] * scores + of[:, 1])), 1e-7, 1.0 - 1e-7)
    if p.shape[1] == 1:
        return np.hstack([1.0 - p, p])
    if not one_against_one:
        return p / p.sum(axis=1, keepdims=True)
    # One column for each of k (k - 1) / 2 pairs.
    out = np.empty((len(p), int(0.5 + np.sqrt(0.25 + 2.0 * p.shape[1]))))
    loops.couple(p, out)
    return out
