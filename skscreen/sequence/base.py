"""Base of the sequence labellers: reading data, prediction and score."""

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skscreen.fitting.callbacks import CallbackSupportMixin, Tasks
from skscreen.fitting.path import forget
from skscreen.fitting.warning import warn_user
from skscreen.pragam.follow import Certified, Watch
from skscreen.samples.rows import LARGEST, check_bounds
from skscreen.sequence.chains import Chains
from skscreen.sequence.data import Sequences, check_labels, check_sequences, check_weights
from skscreen.sequence.loops import best_labels, expectations


class ChainClassifier(CallbackSupportMixin, BaseEstimator):
    """Prediction and score from the scores of labels and of transitions.

    A subclass has `C`, learns `transition_` and defines `stacked_scores`.
    """

    def predict(self, X) -> list[np.ndarray]:
        """Return the labels with the largest score for each sequence (Viterbi).

        Parameters
        ----------
        X : list of array-likes or sparse matrices of shape (length, n_features)

        Returns
        -------
        list of ndarrays of shape (length,)
        """
        check_is_fitted(self)
        sequences = check_sequences(X, self.n_features_in_)
        n = sequences.X.shape[0]
        U, codes, no_truth = self.stacked_scores(sequences), np.empty(n, np.int32), np.zeros(n, int)
        best_labels(U, self.transition_, sequences.first, no_truth, np.zeros(n), codes)
        return sequences.split(self.classes_[codes])

    def score(self, X, y, sample_weight=None) -> float:
        """Return the share of labels that are right.

        Parameters
        ----------
        X : list of array-likes or sparse matrices of shape (length, n_features)
        y : list of array-likes of shape (length,)
        sample_weight : array-like of shape (n_sequences,), optional

        Returns
        -------
        float
        """
        found, y = self.predict(X), list(y)
        if len(found) != len(y) or any(len(a) != len(b) for a, b in zip(found, y, strict=True)):
            raise ValueError("y must hold one sequence of labels of the same length for each of X.")
        weights = np.repeat(check_weights(sample_weight, len(y)), [len(part) for part in found])
        right = np.concatenate(found) == np.concatenate([column_or_1d(part) for part in y])
        return float(np.average(right, weights=weights))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "transition_")

    def stacked_scores(self, sequences: Sequences) -> np.ndarray:
        """Return the scores of labels at all positions."""
        raise NotImplementedError


def begin_fit(
    model: ChainClassifier, X, y, sample_weight
) -> tuple[Sequences, np.ndarray, np.ndarray]:
    """Validate the data; return sequences of positive weight, codes of labels, and weights."""
    forget(model)
    sequences = check_sequences(X)
    labels = check_labels(sequences, y)
    weights = check_weights(sample_weight, sequences.first.size - 1)
    check_bounds(float(model.C), weights[weights > 0.0])
    model.n_features_in_ = sequences.X.shape[1]
    if not weights.all():
        kept = np.flatnonzero(weights)
        labels = labels[sequences.positions(kept)]
        sequences, weights = sequences.take(kept), weights[kept]
    model.classes_, codes = np.unique(labels, return_inverse=True)
    if model.classes_.size < 2:
        raise ValueError(
            "The number of classes in y has to be greater than one; got 1 class"
            f"{'.' if sample_weight is None else ' among the sequences of positive weight.'}"
        )
    return sequences, codes.astype(np.int64), weights


def solve(
    model: ChainClassifier, run: Callable[[Callable | None], Certified], advice: str
) -> Certified:
    """Solve under the eyes of the bar of `verbose` and of callbacks; set what certifies the result.

    Parameters
    ----------
    model : ChainClassifier
        With `tol` and `verbose`.
    run : callable
        Solves, with a `watch` of `follow.Record`.
    advice : str
        What to do where the tolerance is missed.
    """
    with Tasks(model, 0) as tasks:
        watch = Watch(tasks.bar, model.tol, 1).problem(0) if model.verbose > 0 else None
        found = run(watch)
    if not found.converged:
        warn_user(
            f"{found.n_iter} iterations reached a relative duality gap of {found.gap:.2e} > "
            f"tol={model.tol:g}. {advice}",
            ConvergenceWarning,
        )
    model.objective_, model.dual_gap_ = found.primal, found.gap
    model.n_iter_, model.history_ = found.n_iter, found.history
    return found


class MarginalsMixin:
    """Probabilities of labels, for labellings with probabilities proportional to exp(score)."""

    def predict_marginals(self, X) -> list[np.ndarray]:
        """Return the probabilities of the labels at each position, given the whole sequence.

        Parameters
        ----------
        X : list of array-likes or sparse matrices of shape (length, n_features)

        Returns
        -------
        list of ndarrays of shape (length, n_classes)
            With columns in the order of `classes_`.
        """
        check_is_fitted(self)
        sequences = check_sequences(X, self.n_features_in_)
        U, E = self.stacked_scores(sequences), self.transition_
        n, nodes = sequences.first.size - 1, np.empty(U.shape)
        expectations(U, E, sequences.first, nodes, np.zeros(E.shape), np.empty(n), np.ones(n))
        return sequences.split(nodes)


class LinearChain(ChainClassifier):
    """A chain whose scores are linear in features, with a constant term and scores of the ends.

    A subclass has the parameters `fit_intercept` and `fit_start_end`.
    """

    def stacked_scores(self, sequences: Sequences) -> np.ndarray:
        """Return the scores of labels at all positions, one sequence after the other."""
        U = np.ascontiguousarray(sequences.X @ self.coef_.T)
        U += self.intercept_
        U[sequences.first[:-1]] += self.start_
        U[sequences.first[1:] - 1] += self.end_
        return U


def linear_chains(model: LinearChain, X, y, sample_weight, class_weight=None) -> Chains:
    """Validate the data of a fit and return its problem."""
    sequences, codes, weights = begin_fit(model, X, y, sample_weight)
    lengths = np.diff(sequences.first)
    losses = _class_losses(class_weight, model.classes_, codes, np.repeat(weights, lengths))
    return Chains(
        sequences.with_constants(model.fit_intercept, model.fit_start_end), codes,
        model.classes_.size, weights / weights.sum(), losses[codes],
        1.0 / (float(model.C) * float(weights.sum())),
    )  # fmt: skip


def keep_weights(model: LinearChain, chains: Chains, w: np.ndarray) -> None:
    """Set the attributes of weights."""
    W, E = chains.tables(w)
    d, m = model.n_features_in_, model.classes_.size
    model.coef_ = np.ascontiguousarray(W[:d].T)
    model.intercept_ = W[d].copy() if model.fit_intercept else np.zeros(m)
    model.start_, model.end_ = W[-2:].copy() if model.fit_start_end else np.zeros((2, m))
    model.transition_ = E.copy()


def _class_losses(class_weight, classes, codes, weights) -> np.ndarray:
    """Return what a wrong label costs where each class is the true one."""
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, str):
        # Sums of weights, so that weights still mean repetitions.
        return weights.sum() / (classes.size * np.bincount(codes, weights))
    losses = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    if not (np.all(losses >= 0.0) and losses.max() <= LARGEST):
        raise ValueError(f"class_weight must hold finite numbers >= 0, got {class_weight!r}.")
    return losses.astype(np.float64)
