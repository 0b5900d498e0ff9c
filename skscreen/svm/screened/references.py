"""What a reference is known by: dual variables of a fitted estimator or given ones, or weights."""

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skscreen.samples.kernel_samples import KernelSamples
from skscreen.samples.losses import SampleLosses
from skscreen.samples.multiclass import Division, OneVsOne
from skscreen.samples.rows import LinearSamples
from skscreen.svm.screened.regions import Point

# Samples nearest to the kink whose dual variables are looked for where only weights are known.
_NEAREST = 1000

# Samples in single precision are the same samples.
_SINGLE = 1e-6

# Rounds of this search, each from the point of the one before, and its options.
_ROUNDS = 4
_LBFGS = {"maxiter": 1000, "ftol": 1e-15, "gtol": 0.0, "maxcor": 30, "maxfun": 5000}


class GivenDuals:
    """Dual variables alpha_i or y_i alpha_i, (n_samples,) or (n_problems, n_samples), of any C."""

    def __init__(self, values, n_samples: int):
        try:
            values = np.array(values, dtype=np.float64, ndmin=2)
        except (TypeError, ValueError):
            values = np.empty((0, 0))
        if values.ndim != 2 or values.shape[1] != n_samples:
            raise ValueError(
                "reference must be a fitted estimator (ScreenedSVC, ScreenedLinearSVC, SVC, "
                f"LinearSVC), or dual variables of shape ({n_samples},) or "
                f"(n_problems, {n_samples}), the number of samples in X."
            )
        if not np.all(np.isfinite(values)):
            raise ValueError("reference contains NaN or infinity.")
        self._values = values

    def point(self, problem: int, division: Division, samples, losses: SampleLosses) -> Point:
        """Return what is known of a problem; see `Known`."""
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
        return Point(likely_C(alpha, samples, losses), alpha)

    def other_row(self, X) -> None:
        """Return None: of numbers alone nobody knows which samples they are of."""


def likely_C(alpha: np.ndarray, samples, losses: SampleLosses) -> float:
    """Return the C that dual variables are best for.

    Of hinges the smallest whose box they are in, which is that of a solution with a sample at its
    bound. Of squared hinges, for which alpha_i = 2 C_i (1 - m_i), the least squares fit; bounds
    are sound for any.
    """
    if not alpha.any():
        return 1.0
    if not losses.smooth:
        return float((alpha / losses.caps).max())
    used = np.flatnonzero(alpha)
    # shift_i alpha_i / C + y_i b = 1 - m_i for the unknown 1 / C and b.
    lacks = (losses.thresholds - samples.q_dot(alpha))[used]
    system = np.stack([losses.shifts[used] * alpha[used], samples.y[used]], axis=1)
    inverse = float(np.linalg.lstsq(system, lacks, rcond=None)[0][0])
    return 1.0 / inverse if inverse > 0.0 else 1.0


class Known:
    """A fitted estimator, by its dual variables or its weights."""

    def __init__(self, model: BaseEstimator, n_samples: int):
        check_is_fitted(model)
        self._model, self._n_samples = model, n_samples
        self._has_duals = hasattr(model, "dual_coef_") and hasattr(model, "support_")
        classifies = hasattr(model, "C") and hasattr(model, "classes_")
        if not classifies or not (self._has_duals or hasattr(model, "coef_")):
            raise TypeError(
                "reference must be a fitted ScreenedSVC, ScreenedLinearSVC, SVC or LinearSVC, or "
                f"dual variables, got {type(model).__name__}. Of a pipeline give the last step, "
                "with X as that step gets it; of a search, best_estimator_."
            )
        shown = getattr(model, "shape_fit_", (n_samples,))[0]
        if shown != n_samples or (self._has_duals and np.any(model.support_ >= n_samples)):
            raise ValueError(f"reference was fitted on other samples than the {n_samples} of X.")

    def point(self, problem: int, division: Division, samples, losses: SampleLosses) -> Point:
        """Return dual variables, or weights with some that suit them; losses are those at C = 1."""
        self._check_classes(division)
        if not self._has_duals:
            return self._by_weights(problem, samples, losses)
        alpha, C = np.maximum(self._alpha(problem, division), 0.0), float(self._model.C)
        if not np.isfinite(C):
            C = likely_C(alpha, samples, losses)
        return Point(C, alpha)

    def other_row(self, X) -> int | None:
        """Return a row of X that is not the support vector which it was, or None."""
        vectors = getattr(self._model, "support_vectors_", None)
        # Models of precomputed and callable kernels keep none.
        if vectors is None or vectors.shape != (self._model.support_.size, X.shape[1]):
            return None
        rows = X[self._model.support_]
        size = abs(vectors).max() if min(vectors.shape) else 0.0
        off = abs(rows - vectors).max(axis=1)
        off = off.toarray().ravel() if sparse.issparse(off) else np.ravel(off)
        found = np.flatnonzero(off > _SINGLE * size)
        return int(self._model.support_[found[0]]) if found.size else None

    def _check_classes(self, division: Division) -> None:
        known, classes = self._model.classes_, division.labels.all_classes
        if not np.array_equal(known, classes):
            raise ValueError(f"reference has the classes {known}, y has {classes}.")

    def _alpha(self, problem: int, division: Division) -> np.ndarray:
        """Return the dual variables of the samples of a problem."""
        coefs, n = self._model.dual_coef_, self._n_samples
        coefs = coefs.toarray() if hasattr(coefs, "toarray") else np.asarray(coefs)
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
            return division.signs(problem) * signed[problem]
        i, j = division.pairs[problem]
        rows = division.members[i], division.members[j]
        return np.concatenate([signed[j - 1, rows[0]], -signed[i, rows[1]]])

    def _by_weights(self, problem: int, samples, losses: SampleLosses) -> Point:
        """Return the weights of a problem as a point."""
        if isinstance(samples, KernelSamples):
            raise ValueError(
                "reference has weights but no dual variables, which kernel='linear' needs to have."
            )
        model = self._model
        if len(model.coef_) <= problem:
            raise ValueError("reference has weights of fewer problems than the classes in y make.")
        w = np.asarray(model.coef_[problem], dtype=np.float64).ravel()
        if samples.bias != 0.0:
            b = np.broadcast_to(model.intercept_, len(model.coef_))[problem]
            w = np.append(w, float(b) / samples.bias)
        C = float(model.C)
        return Point(C, duals_for(samples, losses.at(C), w), w)


def duals_for(samples: LinearSamples, losses: SampleLosses, w: np.ndarray) -> np.ndarray:
    """Return dual variables for weights: those of squared hinges, or with a small duality gap.

    Of hinges those away from the kink are known, and those of the samples nearest to it are
    improved by a few steps of L-BFGS-B.
    """
    short = losses.short(samples.margins(w))
    alpha = losses.best(short)
    if losses.smooth:
        return alpha
    size = min(_NEAREST, short.size)
    nearest = np.argpartition(np.abs(short), size - 1)[:size]
    Q, caps = samples.block(nearest, nearest), losses.caps[nearest]
    rest = alpha.copy()
    rest[nearest] = 0.0
    lacks = losses.thresholds[nearest] - samples.q_dot(rest)[nearest]

    # In units of the caps, so that steps mean the same for every C.
    shares = np.where(np.abs(short[nearest]) < 1e-3, 0.5, alpha[nearest] / caps)
    for _ in range(_ROUNDS):
        shares = _moved(Q, lacks - Q @ (caps * shares), caps, shares)
    alpha[nearest] = caps * shares
    return alpha


def _moved(Q: np.ndarray, slopes: np.ndarray, caps: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return shares of the caps with a larger dual value; slopes are those of the dual there.

    The function is what the dual loses by a move: of its value itself digits would cancel.
    """

    def negative_gain(move: np.ndarray) -> tuple[float, np.ndarray]:
        product = Q @ (caps * move)
        return float(caps * move @ (0.5 * product - slopes)), caps * (product - slopes)

    box = np.stack([-shares, 1.0 - shares], axis=1)
    found = minimize(
        negative_gain, np.zeros(caps.size), jac=True, bounds=box, method="L-BFGS-B", options=_LBFGS
    )
    return np.clip(shares + found.x, 0.0, 1.0)


def as_known(reference, n_samples: int) -> GivenDuals | Known:
    """Return what gives the points of a reference."""
    if isinstance(reference, BaseEstimator):
        return Known(reference, n_samples)
    return GivenDuals(reference, n_samples)
