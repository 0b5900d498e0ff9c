"""Safe sample screening as a step of its own, for any solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from skscreen.core.checks import MatrixLike
from skscreen.core.sklearn_private import Interval, StrOptions, num_samples, validate_params
from skscreen.fitting.warning import warn_user
from skscreen.svm.linear_svc import ScreenedLinearSVC
from skscreen.svm.nu import one_class, svc, svr
from skscreen.svm.nu.decided import NuScreening
from skscreen.svm.nu.one_class import ScreenedOneClassSVM
from skscreen.svm.nu.svc import ScreenedNuSVC
from skscreen.svm.nu.svr import ScreenedNuSVR
from skscreen.svm.problem import TrainingSet, divided_as, validated, with_kernel
from skscreen.svm.screened.decisions import screened_at
from skscreen.svm.screened.references import as_known
from skscreen.svm.screened.result import SampleScreening
from skscreen.svm.screening.rules import BOUNDS
from skscreen.svm.svc import ScreenedSVC

# Parameters that a fitted reference has, if they are not given.
_TAKEN = ("kernel", "gamma", "degree", "coef0", "intercept_scaling", "loss", "class_weight")

_INTERCEPTS = ("penalised", "free", "none")


@validate_params(
    {
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "nu": [Interval(Real, 0.0, 1.0, closed="right"), None],
        "intercept": [StrOptions(set(_INTERCEPTS)), None],
        "tests": [StrOptions(set(BOUNDS))],
        "multi_class": [StrOptions({"ovo", "ovr"}), None],
    },
    prefer_skip_nested_validation=False,
)
def screen_samples(
    X: MatrixLike,
    y: ArrayLike,
    C: float | None = None,
    *,
    reference: BaseEstimator | ArrayLike | Sequence,
    nu: float | None = None,
    kernel: str | Callable | None = None,
    gamma: str | float | None = None,
    degree: int | None = None,
    coef0: float | None = None,
    intercept: str | None = None,
    intercept_scaling: float | None = None,
    tests: str = "intersection",
    loss: str | None = None,
    class_weight: Mapping | str | None = None,
    multi_class: str | None = None,
    sample_weight: ArrayLike | None = None,
    cache_size: float = 1000,
) -> SampleScreening | NuScreening:
    r"""Decide samples of a support vector machine before solving it, from a solution for another C.

    At the optimum of

    .. math::

        \min_{w, b}\ \tfrac12 \lVert w \rVert^2 + C \sum_i s_i \max(0, 1 - y_i f(x_i)), \quad
        f(x) = \langle w, \phi(x) \rangle + b

    a sample with a margin :math:`y_i f(x_i) > 1` has the dual variable 0, and one with a margin
    below 1 has :math:`C s_i`. A reference bounds all margins: a solution for another C, exact or
    not. Every decision is proved, also in floating point, whatever the reference is; a poor
    reference decides less. Any solver can solve the rest, see `SampleScreening.reduced_problem` and
    `SampleScreening.kept_`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples of the reference, or the square kernel matrix for ``kernel="precomputed"``.
    y : array-like of shape (n_samples,)
        Class labels. For more than two classes there is a row of decisions for each problem.
    C : float
        Of the problem that is to be solved, > 0. None is for problems at a nu.
    reference : fitted estimator, array-like or tuple (coef, intercept)
        `ScreenedSVC`, `ScreenedLinearSVC`, `SVC` or `LinearSVC`, fitted on `X` with another C. Or
        dual variables alpha_i (or y_i alpha_i) of any C, of shape (n_samples,) or (n_problems,
        n_samples). Or, for the linear kernel, any weights: `coef` of shape (n_features,) or
        (n_problems, n_features), and a number or (n_problems,); for two classes a positive score
        stands for the second one. For weights and the hinge, dual variables of the 1,000 samples
        nearest to a margin of 1 are solved for, up to a second for 50,000 rows. What a reference
        lacks to a feasible or optimal point is part of the bounds. With a free intercept the best
        one for `coef` takes the place of that given.
    nu : float, optional
        Of the problem that is to be solved, for a `ScreenedOneClassSVM` (y is not used),
        `ScreenedNuSVC` or `ScreenedNuSVR` that was fitted on `X` with another nu, or with this one,
        which is the default. All other parameters are those of the reference.
    kernel, gamma, degree, coef0, loss, class_weight, intercept_scaling : optional
        As in `ScreenedSVC`. By default those of the reference; for dual variables and weights
        `kernel` has to be named, and others have the defaults of `ScreenedSVC`.
    intercept : {"penalised", "free", "none"}, optional
        "free" as in `SVC`, "penalised" as in `LinearSVC`, "none" for b = 0. By default that of the
        reference; for dual variables, weights and other estimators it has to be named.
    tests : {"intersection", "ball1", "ball2", "gap"}, default="intersection"
        What bounds the margins. "ball1" and "ball2" are BT1 and BT2 of the paper, for references of
        any accuracy; "intersection" is IT, the region that both have in common. "ball2" alone
        decides little unless the reference is very near: it is there for comparison. "gap" is the
        ball by the duality gap at C of the scaled dual variables and the best multiple of their w.
        With the squared hinge "ball2" and "intersection" stand for "ball1": the balls are one.
    multi_class : {"ovo", "ovr"}, optional
        How more than two classes are divided into problems. By default as in the reference; for
        dual variables and weights it has to be named.
    sample_weight : array-like of shape (n_samples,), optional
        Weights s_i of the problem that is to be solved; samples of weights <= 0 are left out.
    cache_size : float, default=1000
        Megabytes for kernel values.

    Returns
    -------
    SampleScreening, or NuScreening of a problem at a nu

    Raises
    ------
    ValueError, TypeError
        For invalid arguments, or a reference that does not belong to the problem; the message names
        the argument.

    Warns
    -----
    UserWarning
        If `reference` is none of these samples: its support vectors are not the rows of `X`, or its
        relative duality gap at its own C is above 0.5.

    Notes
    -----
    BT2 is the ball of Corollary 7 for the w of the reference and the s of equation (25), which
    makes the intersection with BT1 small and not BT2 itself: its centre is half of
    :math:`w + \sum_i C s_i z_i`, whose sum moves far with each sample that changes its side.

    With a free intercept a sample is decided only if its margin is on the same side of 1 at *every*
    optimal intercept. Samples that are decided to be 0 may then be dropped without a change of the
    optimal w and the optimal intercepts. Only the hinge has samples at their bound.

    The bounds take n kernel values for each support vector of the reference; "intersection" and
    "ball2" as many for each sample that they guess to be at its bound, which is what solvers spend,
    too. For linear kernels each is a few passes over X.

    References
    ----------
    K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
    machines. arXiv:1401.6740. Rule (9), Corollaries 6 and 7, Theorem 8.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sklearn.svm import SVC
    >>> from skscreen import screen_samples
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> found = screen_samples(X, y, C=1.0, reference=SVC(C=0.8, gamma=0.01).fit(X, y))
    >>> model = SVC(C=1.0, gamma=0.01).fit(X[found.kept_], y[found.kept_])
    >>> whole = SVC(C=1.0, gamma=0.01).fit(X, y)
    >>> bool((model.predict(X) == whole.predict(X)).all())
    True
    """
    if C is None:
        return screened_at_nu(reference, X, y, sample_weight, nu)
    known = as_known(reference, num_samples(X))
    given = {
        "kernel": kernel, "gamma": gamma, "degree": degree, "coef0": coef0, "loss": loss,
        "intercept_scaling": intercept_scaling, "class_weight": class_weight,
        "intercept": intercept, "multi_class": multi_class,
    }  # fmt: skip
    settings = {name: value for name, value in given.items() if value is not None}
    settings = {**_of_reference(reference), **settings}
    model = _posed(float(C), reference, settings, cache_size)
    X, labels = validated(model, X, y)
    if kernel is None or model.kernel != "precomputed":
        _check_features(reference, model)
    division: Any = divided_as(model, labels, sample_weight)
    if division.n_problems > 1 and "multi_class" not in settings:
        raise ValueError(
            "multi_class must be 'ovo' or 'ovr' for more than two classes where reference is no "
            "estimator."
        )
    X, own = with_kernel(model, X, division.labels, _gamma(reference, model))
    found, reason = screened_at(model, TrainingSet(X, division, own), known, tests)
    if reason is not None:
        warn_user(
            f"reference does not fit X: {reason}. Bounds and decisions hold all the same, but "
            "fewer samples, or none, are decided. Give the X and y that reference was fitted on, "
            "with the same rows and scaling; of a pipeline, X as its last step gets it."
        )
    return found


def screened_at_nu(
    reference: Any, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None, nu: float | None
) -> NuScreening:
    """Return what a fitted machine proves about the problem at a nu."""
    if not isinstance(reference, ScreenedOneClassSVM | ScreenedNuSVC | ScreenedNuSVR):
        raise ValueError(
            "C must be given, unless reference is a ScreenedOneClassSVM, ScreenedNuSVC or "
            "ScreenedNuSVR, whose problems are those of a nu."
        )
    check_is_fitted(reference)
    nu = float(reference.nu if nu is None else nu)
    if isinstance(reference, ScreenedOneClassSVM):
        return one_class.screened_at(reference, nu, X, sample_weight)
    module = svc if isinstance(reference, ScreenedNuSVC) else svr
    return module.screened_at(reference, nu, X, y, sample_weight)


def _posed(C: float, reference: Any, settings: dict, cache_size: float) -> ScreenedSVC:
    """Return an estimator with the parameters of the problem that is to be solved."""
    mode = settings.get("intercept")
    if mode is None and isinstance(reference, BaseEstimator):
        raise ValueError(
            f"intercept must be named for a reference of type {type(reference).__name__}: 'free' "
            "if it does not penalise the intercept, as PragamSVC, 'penalised' if it does, 'none'."
        )
    if mode is None or "kernel" not in settings:
        raise ValueError(
            "kernel and intercept must be named where reference is no estimator; for SVC: "
            "screen_samples(X, y, C, reference=alpha, kernel='rbf', gamma=..., intercept='free')."
        )
    intercept = "free" if mode == "free" else "penalised"
    model = ScreenedSVC(
        **{**settings, "intercept": intercept}, C=C, fit_intercept=mode != "none",
        cache_size=cache_size, indefinite="error", random_state=0,
    )  # fmt: skip
    model._validate_params()
    return model


def _of_reference(reference) -> dict:
    """Return the settings of a fitted estimator that are not given."""
    if not isinstance(reference, BaseEstimator):
        return {}
    known = reference.get_params(deep=False)
    out = {name: known[name] for name in _TAKEN if name in known}
    is_linear = "kernel" not in known
    out["kernel"] = known.get("kernel", "linear")
    out.setdefault("loss", "hinge")
    if not known.get("fit_intercept", True):
        out["intercept"] = "none"
    elif "intercept" in known or not is_linear:
        out["intercept"] = known.get("intercept", "free")
    elif isinstance(reference, LinearSVC | ScreenedLinearSVC):
        out["intercept"] = "penalised"
    by_default = "ovr" if is_linear else "ovo"
    out["multi_class"] = known.get("multi_class", by_default)
    if out["multi_class"] == "crammer_singer":
        raise ValueError(
            "reference solves one problem for all classes, multi_class='crammer_singer', whose "
            "samples are not decided here; fit it with multi_class='ovr'."
        )
    return out


def _check_features(reference, model: ScreenedSVC) -> None:
    """Refuse a reference that was fitted on other features than X has, or in another order."""
    known, given = (getattr(m, "n_features_in_", None) for m in (reference, model))
    if None not in (known, given) and known != given:
        raise ValueError(f"reference was fitted on {known} features, X has {given}.")
    names, columns = (getattr(m, "feature_names_in_", None) for m in (reference, model))
    if names is not None and columns is not None and not np.array_equal(names, columns):
        k = int(np.argmax(names != columns))
        raise ValueError(
            f"reference was fitted on columns in another order, or of other names, than X has: "
            f"column {k} was {names[k]!r}, and is {columns[k]!r}."
        )


def _gamma(reference, model: ScreenedSVC) -> float | str:
    """Return the gamma of the problem: a fitted reference may know the number."""
    gamma = model.gamma
    if gamma != "scale" or not isinstance(reference, BaseEstimator):
        return gamma
    if reference.get_params(deep=False).get("gamma") != "scale":
        return gamma
    return getattr(reference, "gamma_", gamma)
