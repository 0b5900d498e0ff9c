"""Fitted machines as fitted estimators of scikit-learn, for tools that know only those."""

import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from skscreen.svm.estimator import BaseSVM
from skscreen.svm.nu.one_class import ScreenedOneClassSVM
from skscreen.svm.nu.svc import ScreenedNuSVC
from skscreen.svm.nu.svr import ScreenedNuSVR
from skscreen.svm.scores import DecisionRule

_NONE = np.empty(0)


def to_sklearn(model: BaseEstimator) -> Any:
    """Return a fitted support vector machine as an estimator of scikit-learn, with its decisions.

    For tools that know the classes of scikit-learn: converters to ONNX or C, explainers. The
    returned estimator predicts the same labels, has the same scores up to rounding errors, and is
    independent of `model`. Attributes that scikit-learn keeps inside are set as its `fit` does, for
    each release from 1.6 on.

    Parameters
    ----------
    model : fitted estimator
        `ScreenedSVC`, `ScreenedLinearSVC`, `ScreenedSVR`, `ScreenedLinearSVR`, `ScreenedNuSVC`,
        `ScreenedNuSVR`, `ScreenedOneClassSVM`, a `Pipeline` that ends with one, a
        `CalibratedClassifierCV` of them, or a search with one of these as `best_estimator_`.

    Returns
    -------
    fitted estimator
        `SVC`, `LinearSVC`, `SVR`, `LinearSVR`, `NuSVC`, `NuSVR` or `OneClassSVM`; for
        ``multi_class="ovr"`` with kernels and more than two classes a `OneVsRestClassifier` of
        such; a `Pipeline` or `CalibratedClassifierCV` where one was given, or found by a search. A
        model with
        ``probability=True`` has its `predict_proba`, too, up to the .005 at which LIBSVM stops to
        couple those of pairs. Classes whose samples all had weight zero, which are never predicted,
        are not among the classes.

    Raises
    ------
    TypeError
        For another estimator; a callable kernel, whose training samples other tools cannot call it
        with.
    ValueError
        For a sphere (``ScreenedOneClassSVM(shape="sphere")``), which scikit-learn does not have.
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from skscreen import ScreenedSVC, to_sklearn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ScreenedSVC().fit(X, y)
    >>> exported = to_sklearn(model)
    >>> type(exported).__name__, bool(np.all(exported.predict(X) == model.predict(X)))
    ('SVC', True)
    """
    if hasattr(model, "best_estimator_"):
        return to_sklearn(model.best_estimator_)
    if isinstance(model, Pipeline):
        check_is_fitted(model)
        last, out = model.steps[-1], copy.copy(model)
        out.steps = [*model.steps[:-1], (last[0], to_sklearn(last[1]))]
        return out
    if isinstance(model, CalibratedClassifierCV):
        return _calibrated(model)
    if not isinstance(model, BaseSVM):
        raise TypeError(
            "model must be a support vector machine of skscreen, a Pipeline that ends with one, a "
            "CalibratedClassifierCV of them, or a fitted search with one of these as "
            f"best_estimator_, got {type(model).__name__}."
        )
    check_is_fitted(model)
    if callable(model.kernel):
        raise TypeError(
            "kernel of model must have a name to be exported, got a callable: its values with the "
            "training samples are known to Python only. Use kernel='precomputed', and give these "
            "values to the exported model."
        )
    if getattr(model, "shape", "plane") == "sphere":
        raise ValueError("shape of model must be 'plane': scikit-learn has no spheres.")
    if model.by_weights:
        return _by_weights(model)
    how = vars(model)["_decision"]
    if is_classifier(model) and how.present.size > 2 and not how.pairs:
        return _one_vs_rest(model, how)
    return _by_samples(model, how)


def _calibrated(model: CalibratedClassifierCV) -> CalibratedClassifierCV:
    """Return a calibrated classifier around exported ones."""
    check_is_fitted(model)
    out, parts = copy.copy(model), []
    for part in model.calibrated_classifiers_:
        exported = copy.copy(part)
        exported.estimator = to_sklearn(part.estimator)
        parts.append(exported)
    out.calibrated_classifiers_ = parts
    return out


def _by_weights(model: BaseEstimator) -> LinearSVC | LinearSVR:
    """Return a linear machine as weights of features."""
    names = ("C", "loss", "fit_intercept", "intercept_scaling", "tol")
    settings = {name: getattr(model, name) for name in names}
    if is_classifier(model):
        settings |= {name: getattr(model, name) for name in ("penalty", "multi_class")}
        out = LinearSVC(**settings, class_weight=model.class_weight)
        present = vars(model)["_decision"].present
        learned = {"coef_": model.coef_.copy(), "classes_": model.classes_[present]}
    else:
        out = LinearSVR(**settings, epsilon=model.epsilon)
        learned = {"coef_": model.coef_.copy()}
    intercept = np.array(model.intercept_, dtype=np.float64)
    return _with(out, model, learned | {"intercept_": intercept, "n_iter_": model.n_iter_})


def _by_samples(model: BaseEstimator, how: DecisionRule) -> Any:
    """Return a machine as support vectors and their coefficients."""
    out = _kind(model)(
        kernel=model.kernel, degree=model.degree, coef0=model.coef0, tol=model.tol,
        gamma=getattr(model, "gamma_", "scale"), cache_size=model.cache_size,
    )  # fmt: skip
    for name in ("C", "nu", "epsilon", "class_weight", "decision_function_shape", "break_ties"):
        if name in out.get_params(deep=False):
            out.set_params(**{name: getattr(model, name)})
    dense, n_problems = model.dual_coef_, model.intercept_.size
    dense = np.ascontiguousarray(dense.toarray() if sparse.issparse(dense) else dense)
    counts = np.asarray(model.n_support_)
    learned: dict[str, Any] = {}
    if is_classifier(model):
        counts = counts[how.present]
        learned["classes_"] = model.classes_[how.present]
        learned["class_weight_"] = np.ones(counts.size)
        sigmoids = vars(model)["_sigmoids"]
        if sigmoids is not None:
            out.set_params(probability=True)
            learned |= _probabilities(sigmoids, n_problems == 1)
        steps: Any = np.full(n_problems, model.n_iter_, np.int32)
    else:
        # As LIBSVM's two classes of a regression.
        counts, steps = np.repeat(counts.sum(), 2), model.n_iter_
    learned |= {"n_iter_": steps, "_num_iter": np.full(n_problems, model.n_iter_, np.int32)}
    intercept = np.array(model.intercept_, dtype=np.float64)
    if hasattr(model, "offset_"):
        learned["offset_"] = np.array(-intercept)
    return _with(out, model, learned | _libsvm(model, dense, intercept, counts))


def _libsvm(
    model: BaseEstimator, dense: np.ndarray, intercept: np.ndarray, counts: np.ndarray
) -> dict:
    """Return the attributes of support vectors, as LIBSVM's wrapper of scikit-learn has them."""
    is_sparse = sparse.issparse(model.support_vectors_)
    # For two classes LIBSVM's scores are positive for the first one.
    sign = -1.0 if is_classifier(model) and intercept.size == 1 else 1.0
    vectors = model.support_vectors_
    if is_sparse:
        vectors = type(vectors)(vectors, copy=True)
        vectors.sort_indices()
        vectors.indices, vectors.indptr = (
            part.astype(np.int32) for part in (vectors.indices, vectors.indptr)
        )
    else:
        vectors = np.array(vectors, dtype=np.float64, order="C")
    shown: Any = _full(dense, type(vectors)) if is_sparse else dense.copy()
    inside: Any = _full(sign * dense, type(vectors)) if is_sparse else sign * dense
    largest = int(model.support_.max(initial=-1)) + 1
    width = vectors.shape[1] if model.kernel != "precomputed" else model.n_features_in_
    return {
        "support_": model.support_.astype(np.int32),
        "_n_support": counts.astype(np.int32),
        "support_vectors_": vectors,
        "dual_coef_": shown,
        "_dual_coef_": inside,
        "intercept_": intercept,
        "_intercept_": sign * intercept,
        "_gamma": float(getattr(model, "gamma_", 0.0)),
        "_sparse": is_sparse,
        "fit_status_": 0,
        # The number of training samples, where it matters.
        "shape_fit_": (width if model.kernel == "precomputed" else largest, width),
    }


def _full(dense: np.ndarray, kind: type) -> Any:
    """Return a matrix as CSR with all entries, zeros too, which LIBSVM reads without places."""
    rows, columns = dense.shape
    places = np.tile(np.arange(columns, dtype=np.int32), rows)
    starts = np.arange(0, rows * columns + 1, max(columns, 1), dtype=np.int32)[: rows + 1]
    return kind((dense.ravel(), places, starts), shape=dense.shape)


def _probabilities(sigmoids: np.ndarray, two_classes: bool) -> dict:
    """Return the sigmoids of scores as LIBSVM has them: of the first class of each pair."""
    A, B = (np.array(column) for column in sigmoids.T)
    # The scores of two classes are those of the second one.
    return {"_probA": A, "_probB": -B if two_classes else B, "_effective_probability": True}


def _one_vs_rest(model: BaseEstimator, how: DecisionRule) -> OneVsRestClassifier:
    """Return one machine for each class against the rest."""
    parts, dense, vectors = [], model.dual_coef_, model.support_vectors_
    dense = np.asarray(dense.toarray() if sparse.issparse(dense) else dense)
    sigmoids = vars(model)["_sigmoids"]
    for k in range(how.present.size):
        part = copy.copy(model)
        # Support vectors of this class and of others, those of the rest first.
        order = np.argsort(dense[k] > 0.0, kind="stable")
        order = order[dense[k, order] != 0.0]
        values = dense[k, order][None]
        is_sparse = sparse.issparse(vectors)
        vars(part).update(
            classes_=np.array([0, 1]),
            support_=model.support_[order],
            support_vectors_=vectors[order] if vectors.shape[0] else vectors,
            dual_coef_=type(model.dual_coef_)(values) if is_sparse else values,
            n_support_=np.array([np.sum(values < 0.0), np.sum(values > 0.0)]),
            intercept_=model.intercept_[[k]],
            class_weight=None,
            _sigmoids=None if sigmoids is None else sigmoids[[k]],
        )  # fmt: skip
        parts.append(_by_samples(part, DecisionRule(how.kernel, present=np.arange(2))))
    binary = LabelBinarizer(sparse_output=True)
    classes = model.classes_[how.present]
    out = OneVsRestClassifier(parts[0])
    learned = {
        "estimators_": parts,
        "label_binarizer_": binary.fit(classes),
        "classes_": classes,
    }
    return _with(out, model, learned)


def _kind(model: BaseEstimator) -> type:
    """Return the class of scikit-learn with these decisions."""
    if isinstance(model, ScreenedOneClassSVM):
        return OneClassSVM
    if is_classifier(model):
        return NuSVC if isinstance(model, ScreenedNuSVC) else SVC
    return NuSVR if isinstance(model, ScreenedNuSVR) else SVR


def _with(out: Any, model: BaseEstimator, learned: dict) -> Any:
    """Return an estimator with what is learned, and the features of a model."""
    inside = {"_probA": _NONE, "_probB": _NONE, "_effective_probability": False}
    if isinstance(out, SVC | NuSVC | SVR | NuSVR | OneClassSVM):
        learned = inside | learned
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            learned[name] = getattr(model, name)
    vars(out).update(learned)
    return out
