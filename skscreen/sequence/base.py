"""Base of the sequence labellers: reading data, prediction and score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar, compute_class_weight
from sklearn.utils.validation import check_is_fitted

from skscreen.core.checks import check_weights, is_missing
from skscreen.core.memory import check_memory
from skscreen.core.sklearn_private import Interval, StrOptions
from skscreen.fitting.callbacks import CallbackSupportMixin, Tasks
from skscreen.fitting.path import forget
from skscreen.fitting.warning import warn_user
from skscreen.pragam.iterates import Certified, Watch
from skscreen.samples.labels import check_bounds
from skscreen.samples.rows import LARGEST
from skscreen.sequence.chains import ONE, Chains
from skscreen.sequence.data import Sequences, SequencesLike, as_sequences, read_samples
from skscreen.sequence.labels import check_kinds, check_lengths, labels_of_positions
from skscreen.sequence.loops import best_labels, expectations


class ChainClassifier(CallbackSupportMixin, BaseEstimator):
    """Prediction and score; a subclass has `C`, learns `transition_`, defines `stacked_scores`."""

    def predict(self, X: SequencesLike) -> list[np.ndarray]:
        """Return the labels with the largest score for each sequence (Viterbi).

        Parameters
        ----------
        X : list of array-likes, frames or sparse matrices of shape (length, n_features)
            A sequence may be empty, or `[]`: its labels are, too.

        Returns
        -------
        list of ndarrays of shape (length,)
        """
        check_is_fitted(self)
        sequences = read_samples(self, X, reset=False)
        n = sequences.X.shape[0]
        U, codes, no_truth = self._scores(sequences), np.empty(n, np.int32), np.zeros(n, int)
        best_labels(U, self.transition_, sequences.filled, no_truth, np.zeros(n), ONE, codes)
        return sequences.split(self.classes_[codes])

    def _scores(self, sequences: Sequences) -> np.ndarray:
        """Return the scores of labels less the largest one of each position, (n, n_classes)."""
        U = self.stacked_scores(sequences)
        # What all labels of a position have in common decides nothing, but large numbers take the
        # last digits of sums with other positions.
        return U - U.max(axis=1, keepdims=True)

    def score(
        self, X: SequencesLike, y: Iterable[ArrayLike], sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the share of labels that are right.

        Parameters
        ----------
        X : list of array-likes, frames or sparse matrices of shape (length, n_features)
        y : list of array-likes of shape (length,)
        sample_weight : array-like of shape (n_sequences,), optional

        Returns
        -------
        float
            NaN where there are no labels at all.
        """
        found = self.predict(X)
        lengths = [*map(len, found)]
        truth = labels_of_positions(y, lengths)
        if not truth.size:
            return np.nan
        check_kinds(self.classes_, truth, "fit", "y")
        weights = np.repeat(check_weights(sample_weight, len(lengths)), lengths)
        return float(np.average(np.concatenate(found) == truth, weights=weights))

    def transitions_frame(self) -> Any:
        """Return the scores of transitions with the names of the labels.

        Returns
        -------
        pandas.DataFrame of shape (n_classes, n_classes)
            From the label of the row to that of the column.
        """
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame(
            self.transition_,
            index=pd.Index(self.classes_, name="from"),
            columns=pd.Index(self.classes_, name="to"),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "transition_")


def begin_fit(
    model: ChainClassifier, X: SequencesLike, y: Iterable[ArrayLike],
    sample_weight: ArrayLike | None,
) -> tuple[Sequences, np.ndarray, np.ndarray]:  # fmt: skip
    """Validate the data; return sequences of positive weight, codes of labels, and weights."""
    forget(model)
    sequences = read_samples(model, X, reset=True)
    lengths = np.diff(sequences.starts)
    if not lengths.any():
        raise ValueError("X must hold at least one sequence that is not empty, got none.")
    labels = labels_of_positions(y, lengths)
    weights = check_weights(sample_weight, lengths.size)
    check_bounds(float(model.C), weights[weights > 0.0])
    kept = np.flatnonzero((weights > 0.0) & (lengths > 0))
    if kept.size < lengths.size:
        if not kept.size:
            raise ValueError("sample_weight is zero for all sequences that are not empty.")
        labels = labels[sequences.positions(kept)]
        sequences, weights = sequences.take(kept), weights[kept]
    model.classes_, codes = np.unique(labels, return_inverse=True)
    if model.classes_.size < 2:
        raise ValueError(
            "The number of classes in y has to be greater than one; got 1 class"
            f"{'.' if sample_weight is None else ' among the sequences of positive weight.'}"
        )
    return sequences, codes.astype(np.int64), weights


def solve_chains(
    model: ChainClassifier, run: Callable[[Callable | None], Certified], advice: str
) -> Certified:
    """Run a solver with bar and callbacks; set what certifies its result, or warn with `advice`."""
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


class MarginalsMixin(ChainClassifier):
    """Probabilities of labels, for labellings with probabilities proportional to exp(score)."""

    def predict_marginals(self, X: SequencesLike, *, as_frame: bool = False) -> list:
        """Return the probabilities of the labels at each position, given the whole sequence.

        Parameters
        ----------
        X : list of array-likes, frames or sparse matrices of shape (length, n_features)
        as_frame : bool, default=False
            Whether to return pandas frames, whose columns are named by the labels.

        Returns
        -------
        list of ndarrays or frames of shape (length, n_classes)
            With columns in the order of `classes_`.
        """
        check_is_fitted(self)
        sequences = read_samples(self, X, reset=False)
        nodes, _ = self._probabilities(sequences.filled, self._scores(sequences))
        if not as_frame:
            return sequences.split(nodes)
        import pandas as pd

        return [pd.DataFrame(part, columns=self.classes_) for part in sequences.split(nodes)]

    # The name that pipelines pass on.
    predict_proba = predict_marginals

    def labelling_probability(
        self, X: SequencesLike, y: Iterable[ArrayLike], *, log: bool = False
    ) -> np.ndarray:
        """Return the probability that each sequence has certain labels, at all positions or some.

        Parameters
        ----------
        X : list of array-likes, frames or sparse matrices of shape (length, n_features)
        y : list of array-likes of shape (length,)
            Labels; None is any label. All of them given, it is the probability of the whole
            labelling; a pair or a span of them, with None elsewhere, that of the pair or the span.
        log : bool, default=False
            Whether to return logarithms, which do not become zero for long sequences.

        Returns
        -------
        ndarray of shape (n_sequences,)
            1 for an empty sequence.

        Raises
        ------
        ValueError
            If y does not have the lengths of X, or a label that is not among `classes_`.
        """
        check_is_fitted(self)
        sequences = read_samples(self, X, reset=False)
        codes = np.concatenate([np.empty(0, int), *self._codes(y, np.diff(sequences.starts))])
        U, starts, known = self._scores(sequences), sequences.filled, codes >= 0
        allowed = U.copy()
        allowed[known] = -np.inf
        allowed[known, codes[known]] = U[known, codes[known]]
        lengths, out = np.diff(sequences.starts), np.zeros(sequences.starts.size - 1)
        (_, right), (_, total) = (self._probabilities(starts, some) for some in (allowed, U))
        out[lengths > 0] = right - total
        out = np.minimum(out, 0.0)
        return out if log else np.exp(out)

    def _probabilities(self, starts: np.ndarray, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return marginals (n, m) and logarithms of sums over labellings, of filled sequences."""
        E, n = self.transition_, starts.size - 1
        nodes, log_sums = np.empty(U.shape), np.empty(n)
        expectations(U, E, starts, nodes, np.zeros(E.shape), log_sums, np.ones(n), ONE)
        return nodes, log_sums

    def _codes(self, y: Iterable[ArrayLike], lengths: np.ndarray) -> list[np.ndarray]:
        """Return places in `classes_` of the labels of each sequence, -1 for None."""
        places = {label: k for k, label in enumerate(self.classes_.tolist())}
        parts = as_sequences(y, "y")
        check_lengths(parts, lengths, "y")
        out = []
        for c, part in enumerate(parts):
            labels = np.asarray(part, dtype=object)
            if labels.ndim != 1:
                raise ValueError(f"y[{c}] must have shape (length,), got {labels.shape}.")
            for t, label in enumerate(labels.tolist()):
                # In series None becomes NaN.
                if label not in places and not is_missing(label):
                    raise ValueError(
                        f"y[{c}][{t}] must be None or one of the labels of the fit, "
                        f"{self.classes_.tolist()}, got {label!r}."
                    )
            out.append(np.array([places.get(label, -1) for label in labels], int))
        return out


class LinearChain(ChainClassifier):
    """A chain whose scores are linear in features, with a constant term and scores of the ends."""

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "fit_start_end": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self, C=1.0, *, fit_intercept=True, fit_start_end=False, class_weight=None, tol=1e-3,
        max_iter=None, verbose=0,
    ):  # fmt: skip
        self.C = C
        self.fit_intercept = fit_intercept
        self.fit_start_end = fit_start_end
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def stacked_scores(self, sequences: Sequences) -> np.ndarray:
        """Return the scores of labels at all positions, one sequence after the other."""
        U, starts = np.ascontiguousarray(sequences.X @ self.coef_.T), sequences.filled
        U += self.intercept_
        U[starts[:-1]] += self.start_
        U[starts[1:] - 1] += self.end_
        return U

    def state_features(self, n: int = 10, feature_names: ArrayLike | None = None) -> Any:
        """Return the strongest features of each label.

        Parameters
        ----------
        n : int, default=10
            How many of each label.
        feature_names : array-like of str of shape (n_features_in_,), optional
            Names; of a pipeline, ``model[:-1].get_feature_names_out()``. By default those of the
            frames of the fit, else "x0", "x1" and so on.

        Returns
        -------
        pandas.DataFrame
            Columns "label", "feature" and "coefficient": for each label the n features with the
            largest absolute coefficients, the largest first.
        """
        import pandas as pd

        check_is_fitted(self)
        check_scalar(n, "n", Integral, min_val=1)
        names = getattr(self, "feature_names_in_", None) if feature_names is None else feature_names
        names = np.array(
            [f"x{k}" for k in range(self.n_features_in_)] if names is None else names, dtype=object
        )
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"feature_names must hold {self.n_features_in_} names, got {names.shape}."
            )
        order = np.argsort(-np.abs(self.coef_), axis=1, kind="stable")[:, :n]
        return pd.DataFrame({
            "label": np.repeat(self.classes_, order.shape[1]),
            "feature": names[order].ravel(),
            "coefficient": np.take_along_axis(self.coef_, order, axis=1).ravel(),
        })  # fmt: skip


def linear_chains(
    model: LinearChain, X: SequencesLike, y: Iterable[ArrayLike], sample_weight: ArrayLike | None
) -> Chains:
    """Validate the data of a fit and return its problem, with rows that are not weighted yet."""
    class_weight = model.class_weight
    sequences, codes, weights = begin_fit(model, X, y, sample_weight)
    position_weights = np.repeat(weights, np.diff(sequences.starts))
    costs = _class_costs(class_weight, model.classes_, codes, position_weights)[codes]
    scales = ONE
    if class_weight is not None:
        scales = np.concatenate([[1.0], np.maximum(costs[1:], costs[:-1])])
        scales[sequences.starts[:-1]] = 1.0
    sequences, columns = sequences.without_empty_columns()
    d, m = model.n_features_in_, model.classes_.size
    check_memory(
        8.0 * d * m, f"Weights of {d:,} features and {m:,} labels",
        "Use fewer labels or features, for instance by a FeatureHasher.",
    )  # fmt: skip
    return Chains(
        sequences.with_constants(model.fit_intercept, model.fit_start_end), codes,
        model.classes_.size, weights / weights.sum(), costs,
        1.0 / (float(model.C) * float(weights.sum())), scales, columns,
    )  # fmt: skip


def keep_weights(model: LinearChain, chains: Chains, w: np.ndarray) -> None:
    """Set the attributes of weights."""
    W, E = chains.tables(w)
    m, kept = model.classes_.size, chains.columns
    d = model.n_features_in_ if kept is None else kept.size
    # Such that its transpose is in C order, in which products with few rows need no copy of it.
    model.coef_ = W[:d].copy().T
    if kept is not None:
        # Features without entries have weight 0 at the optimum.
        coef, model.coef_ = model.coef_, np.zeros((model.n_features_in_, m)).T
        model.coef_[:, kept] = coef
    model.intercept_ = W[d].copy() if model.fit_intercept else np.zeros(m)
    model.start_, model.end_ = W[-2:].copy() if model.fit_start_end else np.zeros((2, m))
    model.transition_ = E.copy()


def _class_costs(
    class_weight: Mapping | str | None, classes: np.ndarray, codes: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return what a wrong label costs where each class is the true one."""
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, str):
        # Sums of weights, so that weights still mean repetitions.
        return weights.sum() / (classes.size * np.bincount(codes, weights))
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    if unknown and not all(label in class_weight for label in known):
        raise ValueError(
            f"class_weight must have labels of y as its keys, {known}, got {unknown[0]!r}."
        )
    losses = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    if not losses.any():
        raise ValueError("class_weight must not be 0 for all labels.")
    if not (np.all(losses >= 0.0) and losses.max() <= LARGEST):
        raise ValueError(f"class_weight must hold finite numbers >= 0, got {class_weight!r}.")
    return losses.astype(np.float64)
