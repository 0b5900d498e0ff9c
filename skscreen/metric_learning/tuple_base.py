"""Base of the metric learners whose samples are tuples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from skscreen.core.checks import TableLike, as_labels, check_samples, is_missing, refuse_masked
from skscreen.core.sklearn_private import check_feature_names
from skscreen.fitting.callbacks import CallbackSupportMixin
from skscreen.fitting.path import forget
from skscreen.metric_learning.distance import FLOATS, MahalanobisMixin, check_tuples, mapped
from skscreen.metric_learning.estimator import ScreenedRTLM
from skscreen.metric_learning.learning import fit_metric
from skscreen.metric_learning.parameters import Parameters, Supervision
from skscreen.metric_learning.supervision import check_weights_in_range, same_pairs

# Parameters of `ScreenedRTLM` that belong to labels, to its papers, or to large data; all others
# are passed on.
_NOT_HERE = (
    "n_neighbors", "pull", "bound", "rule", "screen_every", "active_set", "neighbors",
    "unlabelled", "n_jobs",
)  # fmt: skip


class TuplesClassifier(CallbackSupportMixin, MahalanobisMixin, ClassifierMixin, BaseEstimator):
    """Base of the learners from tuples; `_name` and `_size` are the name and size of a tuple."""

    _name: ClassVar[str]
    _size: ClassVar[int]
    _parameter_constraints: ClassVar[dict] = {
        **{
            name: kinds
            for name, kinds in ScreenedRTLM._parameter_constraints.items()
            if name not in _NOT_HERE
        },
        "preprocessor": ["array-like", callable, None],
    }

    def __init__(
        self, lam=0.01, *, preprocessor=None, relative_lam=True, loss="smoothed_hinge", width=0.05,
        linear_term=None, diagonal=False, screening=True, tol=1e-6, max_iter=None, store=None,
        n_components=None, verbose=0,
    ):  # fmt: skip
        self.lam = lam
        self.preprocessor = preprocessor
        self.relative_lam = relative_lam
        self.loss = loss
        self.width = width
        self.linear_term = linear_term
        self.diagonal = diagonal
        self.screening = screening
        self.tol = tol
        self.max_iter = max_iter
        self.store = store
        self.n_components = n_components
        self.verbose = verbose

    def pair_distance(self, pairs: ArrayLike) -> np.ndarray:
        """Return the learned distances of pairs of samples.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        check_is_fitted(self)
        return super().pair_distance(self._vectors("pairs", pairs, 2, self.n_features_in_))

    def transform(self, X: TableLike) -> np.ndarray:
        """Map samples such that Euclidean distances are the learned distances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Or their names, of shape (n_samples,), if there is a `preprocessor`.

        Returns
        -------
        ndarray of shape (n_samples, r)
            In the precision of X.
        """
        check_is_fitted(self)
        given: Any = X
        if self.preprocessor_ is not None and np.ndim(given) == 1:
            given = self._look_up("X", np.asarray(X))
        elif hasattr(self, "feature_names_in_"):
            check_feature_names(self, X, reset=False)
        rows = check_samples(given, dtype=FLOATS)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} features, got {rows.shape[1]}.")
        return mapped(rows, self.components_)

    def __sklearn_tags__(self):
        """Declare samples that are tuples of vectors."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.preprocessor is not None
        tags.input_tags.three_d_array = True
        tags.target_tags.required = self._size == 2
        tags.classifier_tags.multi_class = False
        return tags

    def _vectors(self, name: str, tuples: ArrayLike, size: int, n_features: int) -> np.ndarray:
        """Return tuples of vectors (m, size, d), looked up where they are names."""
        if np.ndim(tuples) != 2:
            return check_tuples(name, tuples, size, n_features)
        names, rows = self._rows(name, tuples, size)
        return self._look_up(name, names)[rows]

    def _rows(self, name: str, tuples: ArrayLike, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the names that occur in tuples of names, and the tuples as indices of those."""
        if self.preprocessor_ is None:
            raise ValueError(
                f"{name} must be vectors, of shape (n_{name}, {size}, n_features), got shape "
                f"{np.shape(tuples)}. If they are indices of samples X, pass preprocessor=X to "
                f"{type(self).__name__}."
            )
        refuse_masked(tuples, name)
        tuples = np.asarray(tuples)
        cells = tuples.tolist() if tuples.dtype == object else []
        lacking = [k for k, row in enumerate(cells) if any(map(is_missing, row))]
        if lacking:
            raise ValueError(
                f"{name} must name a sample in each cell, but row {lacking[0]} lacks one."
            )
        if tuples.shape[1] != size or len(tuples) == 0:
            raise ValueError(
                f"{name} must have shape (n_{name} >= 1, {size}), or (n_{name}, {size}, "
                f"n_features), got {tuples.shape}."
            )
        # Integers and strings of pandas are objects.
        tuples = np.asarray(cells) if cells else tuples
        names, rows = np.unique(tuples, return_inverse=True)
        return names, rows.reshape(tuples.shape)

    def _look_up(self, name: str, names: np.ndarray) -> np.ndarray:
        """Return the samples of some names."""
        if callable(self.preprocessor_):
            X = check_samples(self.preprocessor_(names), "of the preprocessor", dtype=FLOATS)
            if len(X) != len(names):
                raise ValueError(
                    f"preprocessor must return a sample for each name, got {len(X)} for "
                    f"{len(names)} names."
                )
            return X
        n = len(self.preprocessor_)
        if names.dtype.kind not in "iu":
            raise TypeError(
                f"{name} must be integers or vectors, got dtype {names.dtype}; for names the "
                "preprocessor must be a function."
            )
        if names.min() < 0 or names.max() >= n:
            raise ValueError(
                f"{name} must be indices from 0 to {n - 1} of the preprocessor's samples, got "
                f"{names.min()} to {names.max()}."
            )
        return self.preprocessor_[names]


class ComparisonsClassifier(TuplesClassifier):
    """Base of the learners that compare two distances, those of columns `_near` and `_far`."""

    _near: ClassVar[list[int]]
    _far: ClassVar[list[int]]

    def predict(self, tuples: ArrayLike) -> np.ndarray:
        """Return 1 if the first distance is smaller, and -1 if it is not, or if both are equal.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)

        Returns
        -------
        ndarray of shape (n_tuples,)
        """
        return np.where(self.decision_function(tuples) > 0.0, 1, -1)

    def decision_function(self, tuples: ArrayLike) -> np.ndarray:
        """Return the second learned distance minus the first.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)

        Returns
        -------
        ndarray of shape (n_tuples,)
        """
        check_is_fitted(self)
        tuples = self._vectors(self._name, tuples, self._size, self.n_features_in_)
        far, near = (self.pair_distance(tuples[:, two]) for two in (self._far, self._near))
        return far - near

    def score(self, tuples: ArrayLike, y: ArrayLike | None = None) -> float:
        """Return the share of comparisons that agree with the metric; a tie does not.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)
        y : array-like of shape (n_tuples,), optional
            1, or -1 if the first distance should be the greater one. All 1 by default.

        Returns
        -------
        float
        """
        margins = self.decision_function(tuples)
        return float(np.mean(margins * check_answers(y, len(margins), self._name) > 0.0))


def read_tuples(model: TuplesClassifier, tuples: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples that occur, and the tuples as rows of indices of them."""
    forget(model)
    given = model.preprocessor
    if isinstance(given, Mapping) or getattr(given, "ndim", 2) == 1:
        raise TypeError(
            "preprocessor must be an array of samples, or a function of names, got "
            f"{type(given).__name__}: pass lambda names: np.stack([samples[n] for n in names])."
        )
    if given is not None and not callable(given):
        check_feature_names(model, given, reset=True)
        given = check_samples(given, "preprocessor", dtype=FLOATS)
    model.preprocessor_ = given
    if np.ndim(tuples) == 2:
        names, rows = model._rows(model._name, tuples, model._size)
        same = same_pairs(rows)
        if np.any(same):
            row = int(np.argmax(same))
            raise ValueError(
                f"{model._name} must compare different samples; row {row} is "
                f"{names[rows[row]].tolist()}."
            )
        return model._look_up(model._name, names), rows
    tuples = check_tuples(model._name, tuples, model._size)
    X, rows = np.unique(tuples.reshape(-1, tuples.shape[2]), axis=0, return_inverse=True)
    rows = rows.reshape(len(tuples), model._size)
    # Equal vectors in a tuple may be those of two samples.
    repeats = np.flatnonzero((np.diff(np.sort(rows, axis=1), axis=1) == 0).any(axis=1))
    copies = np.arange(repeats.size * model._size) + len(X)
    rows[repeats] = copies.reshape(-1, model._size)
    return np.concatenate((X, tuples[repeats].reshape(-1, tuples.shape[2]))), rows


def learn_metric(model: TuplesClassifier, X: np.ndarray, supervision: Supervision) -> None:
    """Solve the problem of some comparisons of samples and keep what is learned."""
    model.classes_, model.n_features_in_ = np.array([-1, 1]), X.shape[1]
    fit_metric(model, Parameters.of(model), X, supervision)


def fit_comparisons(
    model: ComparisonsClassifier, tuples: ArrayLike, y: ArrayLike | None, weights: ArrayLike | None
) -> ComparisonsClassifier:
    """Learn from tuples, of which those with y = -1 are turned round."""
    X, rows = read_tuples(model, tuples)
    answers = check_answers(y, len(rows), model._name)
    near, far = rows[:, model._near], rows[:, model._far]
    turned = (answers == -1)[:, None]
    near, far = np.where(turned, far, near), np.where(turned, near, far)
    if weights is not None:
        weights = check_weights_in_range(weights, len(rows))
    if model._size == 3:
        # Turned round, (i, j, k) is (i, k, j).
        triplets = np.column_stack((rows[:, 0], near[:, 1], far[:, 1]))
        supervision = Supervision(triplets=triplets, comparison_weight=weights, checked=True)
    else:
        fours = np.hstack((near, far))
        supervision = Supervision(quadruplets=fours, comparison_weight=weights, checked=True)
    learn_metric(model, X, supervision)
    return model


def check_answers(y: ArrayLike | None, n_tuples: int, tuples: str, name: str = "y") -> np.ndarray:
    """Return labels of tuples: 1 and -1."""
    if y is None:
        return np.ones(n_tuples, dtype=int)
    y = as_labels(y, name)
    if len(y) != n_tuples:
        raise ValueError(
            f"{name} must have a label for each of the {n_tuples} {tuples}, got {len(y)}."
        )
    wrong = ~np.isin(y, (-1, 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must be 1 or -1 for each of the {tuples}, got {y.tolist()[row]!r} at {row}."
        )
    return y.astype(int)
