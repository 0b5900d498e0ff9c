"""What a reference is known by: dual variables or weights, of a fitted estimator or given."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skscreen.core.checks import Matrix
from skscreen.samples.kernels.gram import KernelSamples
from skscreen.samples.multiclass import Division, OneVsOne
from skscreen.samples.rows import LARGEST
from skscreen.svm.certificate import Samples
from skscreen.svm.screened.points import Duals, Weights


def _dense(values: Any) -> np.ndarray:
    """Return numbers as an array; those of `sparsify` or a fit of sparse samples are sparse."""
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


class GivenDuals:
    """Dual variables alpha_i or y_i alpha_i, (n_samples,) or (n_problems, n_samples), of any C."""

    def __init__(self, values, n_samples: int):
        try:
            values = _dense(values)
            if np.iscomplexobj(values):
                raise TypeError("a cast would leave the imaginary part out")
            values = np.array(values, dtype=np.float64, ndmin=2)
        except (TypeError, ValueError):
            values = np.empty((0, 0))
        if values.ndim != 2 or values.shape[1] != n_samples:
            raise ValueError(
                "reference must be a fitted estimator (ScreenedSVC, ScreenedLinearSVC, SVC, "
                f"LinearSVC), weights as a tuple (coef, intercept), or dual variables of shape "
                f"({n_samples},) or (n_problems, {n_samples}), the number of samples in X."
            )
        if not np.all(np.isfinite(values)):
            raise ValueError("reference contains NaN or infinity.")
        self._values = values

    def known(self, problem: int, division: Division, samples: Samples) -> Duals:
        """Return what is known of a problem."""
        if len(self._values) != division.n_problems:
            raise ValueError(
                f"reference has dual variables of {len(self._values)} problems, but the classes in "
                f"y make {division.n_problems}: one row for each, see multi_class."
            )
        rows = division.labels.rows[division.rows(problem)]
        alpha, signs = self._values[problem, rows], division.signs(problem)
        # Solvers leave tiny numbers on the wrong side of 0.
        below, with_signs = (-np.minimum(a, 0.0).sum() for a in (alpha, signs * alpha))
        alpha = np.maximum(alpha if below <= with_signs else signs * alpha, 0.0)
        if min(below, with_signs) > alpha.sum():
            raise ValueError("reference must hold alpha_i >= 0, or y_i alpha_i, got other signs.")
        return Duals(None, signs * alpha)


class Fitted:
    """A fitted estimator, by its dual variables or its weights."""

    def __init__(self, model: BaseEstimator, n_samples: int):
        check_is_fitted(model)
        self._model, self._n_samples = model, n_samples
        self._has_duals = hasattr(model, "dual_coef_") and hasattr(model, "support_")
        self._C: Any = getattr(model, "C_", getattr(model, "C", None))
        classifies = self._C is not None and hasattr(model, "classes_")
        if not classifies or not (self._has_duals or hasattr(model, "coef_")):
            raise TypeError(
                "reference must be a fitted ScreenedSVC, ScreenedLinearSVC, SVC or LinearSVC, or "
                f"dual variables, got {type(model).__name__}. Of a pipeline give the last step, "
                "with X as that step gets it; of a search, best_estimator_."
            )
        shown = getattr(model, "shape_fit_", (n_samples,))[0]
        if shown != n_samples or (self._has_duals and np.any(model.support_ >= n_samples)):
            raise ValueError(f"reference was fitted on other samples than the {n_samples} of X.")

    def known(self, problem: int, division: Division, samples: Samples) -> Duals | Weights:
        """Return what is known of a problem."""
        self._check_classes(division)
        C = float(self._C if np.ndim(self._C) == 0 else self._C[problem])
        if self._has_duals:
            beta, signs = self._beta(problem, division), division.signs(problem)
            beta[signs * beta < 0.0] = 0.0
            return Duals(C if np.isfinite(C) else None, beta)
        coefs, intercepts = _dense(self._model.coef_), np.ravel(self._model.intercept_)
        return Weights(C, weights_from(coefs, intercepts, problem, division, samples))

    def other_row(self, X: Matrix) -> int | None:
        """Return a row of X that is not the support vector which it was, or None."""
        vectors = getattr(self._model, "support_vectors_", None)
        # Models of precomputed and callable kernels keep none.
        if vectors is None or vectors.shape != (self._model.support_.size, X.shape[1]):
            return None
        rows = X[self._model.support_]
        size = abs(vectors).max() if min(vectors.shape) else 0.0
        off = abs(rows - vectors).max(axis=1)
        off = off.toarray().ravel() if sparse.issparse(off) else np.ravel(off)
        # Samples in single precision are the same samples.
        found = np.flatnonzero(off > 1e-6 * size)
        return int(self._model.support_[found[0]]) if found.size else None

    def _check_classes(self, division: Division) -> None:
        known, classes = self._model.classes_, division.labels.all_classes
        if not np.array_equal(known, classes):
            raise ValueError(f"reference has the classes {known}, y has {classes}.")

    def _beta(self, problem: int, division: Division) -> np.ndarray:
        """Return the dual variables of the samples of a problem."""
        coefs, n = _dense(self._model.dual_coef_), self._n_samples
        one_vs_one = isinstance(division, OneVsOne)
        expected = division.labels.present.size - 1 if one_vs_one else division.n_problems
        if len(coefs) != expected:
            raise ValueError(
                f"reference has dual variables in {len(coefs)} rows, but multi_class='"
                f"{'ovo' if one_vs_one else 'ovr'}' makes {expected}."
            )
        whole = np.zeros((len(coefs), n))
        whole[:, self._model.support_] = coefs
        signed = whole[:, division.labels.rows]
        if not isinstance(division, OneVsOne):
            return signed[problem]
        i, j = division.pairs[problem]
        rows = division.members[i], division.members[j]
        return np.concatenate([signed[j - 1, rows[0]], signed[i, rows[1]]])


class GivenWeights:
    """Weights (n_features,) or (n_problems, n_features) with intercepts, of no C at all."""

    def __init__(self, values):
        try:
            coefs, intercepts = (np.array(_dense(value), np.float64) for value in values)
        except (TypeError, ValueError):
            coefs = intercepts = np.array(np.nan)
        self._coefs, self._intercepts = np.atleast_2d(coefs), np.ravel(intercepts)
        if self._coefs.ndim != 2 or len(self._coefs) % max(self._intercepts.size, 1):
            raise ValueError(
                "reference must be weights as a tuple (coef, intercept): coef of shape "
                "(n_features,) or (n_problems, n_features), intercept a number or one for each "
                f"problem, got shapes {coefs.shape} and {intercepts.shape}."
            )
        if not np.all(np.isfinite(self._coefs)) or not np.all(np.isfinite(self._intercepts)):
            raise ValueError("reference must hold finite numbers, weights as (coef, intercept).")

    def known(self, problem: int, division: Division, samples: Samples) -> Weights:
        """Return what is known of a problem."""
        found = weights_from(self._coefs, self._intercepts, problem, division, samples)
        return Weights(None, found)


def weights_from(
    coefs: np.ndarray, intercepts: np.ndarray, problem: int, division: Division, samples: Samples
) -> np.ndarray:
    """Return the weights of a problem, that of a penalised intercept last.

    A free intercept is not asked for: the best one for the weights takes its place.
    """
    if isinstance(samples, KernelSamples):
        raise ValueError(
            "reference has weights but no dual variables, which kernel='linear' needs to have."
        )
    if len(coefs) != division.n_problems:
        raise ValueError(
            f"reference has weights of {len(coefs)} problems, but the classes in y make "
            f"{division.n_problems}: see multi_class."
        )
    w = np.asarray(coefs[problem], dtype=np.float64).ravel()
    if w.size != samples.n_columns:
        raise ValueError(f"reference has weights of {w.size} features, X has {samples.n_columns}.")
    with np.errstate(over="ignore", invalid="ignore"):
        if samples.bias != 0.0:
            w = np.append(w, np.broadcast_to(intercepts, len(coefs))[problem] / samples.bias)
        largest = np.abs(w).max(initial=0.0) * samples.norms.max(initial=0.0)
    # Sizes and not squares: those of the largest weights are not finite.
    if not largest < LARGEST:
        raise ValueError(f"reference has weights with margins above {LARGEST:g}: rescale X.")
    return w


def as_known(reference: Any, n_samples: int) -> GivenDuals | GivenWeights | Fitted:
    """Return what knows the points of a reference."""
    if isinstance(reference, BaseEstimator):
        return Fitted(reference, n_samples)
    if isinstance(reference, tuple) and len(reference) == 2:
        return GivenWeights(reference)
    return GivenDuals(reference, n_samples)
