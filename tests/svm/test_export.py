"""`to_sklearn`: the same decisions, by the attributes that scikit-learn's own fits leave."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from skscreen import (
    ScreenedLinearSVC,
    ScreenedLinearSVR,
    ScreenedNuSVC,
    ScreenedNuSVR,
    ScreenedOneClassSVM,
    ScreenedSVC,
    ScreenedSVCCV,
    ScreenedSVR,
    to_sklearn,
)

X, Y = make_classification(
    300, 10, n_informative=7, n_classes=4, n_clusters_per_class=1, random_state=0
)
TWO, NAMES = Y > 1, np.array(["a", "b", "c", "d"])[Y]
NEW = 2.0 * np.random.default_rng(1).normal(size=(10_000, 10))
WEIGHTS = np.random.default_rng(2).integers(0, 4, 300).astype(float)


def thin(A):
    return sparse.csr_matrix(np.where(np.abs(A) > 0.5, A, 0.0))


OVR = {"multi_class": "ovr"}
CASES = {
    "two classes": (ScreenedSVC(), X, TWO, NEW, SVC),
    "pairs": (ScreenedSVC(), X, NAMES, NEW, SVC),
    "pairs, scores of pairs": (ScreenedSVC(decision_function_shape="ovo"), X, Y, NEW, SVC),
    "penalised": (ScreenedSVC(intercept="penalised", kernel="poly"), X, Y, NEW, SVC),
    "rest": (ScreenedSVC(**OVR), X, NAMES, NEW, OneVsRestClassifier),
    "rest, squared": (
        ScreenedSVC(loss="squared_hinge", kernel="linear", **OVR), X, Y, NEW, OneVsRestClassifier
    ),
    "linear kernel": (ScreenedSVC(kernel="linear"), X, Y, NEW, SVC),
    "linear": (ScreenedLinearSVC(), X, NAMES, NEW, LinearSVC),
    "linear, two": (ScreenedLinearSVC(loss="hinge"), X, TWO, NEW, LinearSVC),
    "crammer_singer": (ScreenedLinearSVC(multi_class="crammer_singer"), X, Y, NEW, LinearSVC),
    "sparse": (ScreenedSVC(), thin(X), Y, thin(NEW), SVC),
    "sparse, two": (ScreenedSVC(kernel="poly"), thin(X), TWO, thin(NEW), SVC),
    "sparse, rest": (ScreenedSVC(**OVR), thin(X), Y, thin(NEW), OneVsRestClassifier),
    "precomputed": (ScreenedSVC(kernel="precomputed"), X @ X.T, Y, NEW @ X.T, SVC),
    "precomputed, rest": (
        ScreenedSVC(kernel="precomputed", **OVR), X @ X.T, Y, NEW @ X.T, OneVsRestClassifier
    ),
    "weights": (ScreenedSVC(class_weight={"a": 3.0}), X, NAMES, NEW, SVC),
    "search": (ScreenedSVCCV([0.1, 1.0], cv=2), X, Y, NEW, SVC),
    "nu": (ScreenedNuSVC(0.2), X, Y, NEW, NuSVC),
    "regression": (ScreenedSVR(), X, X[:, 0], NEW, SVR),
    "linear regression": (ScreenedLinearSVR(), X, X[:, 0], NEW, LinearSVR),
    "nu regression": (ScreenedNuSVR(), X, X[:, 0], NEW, NuSVR),
    "one class": (ScreenedOneClassSVM(0.1), X, None, NEW, OneClassSVM),
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CASES)
def test_decisions_are_those_of_the_model(name):
    model, rows, labels, new, kind = CASES[name]
    weights = {"sample_weight": WEIGHTS} if name == "weights" else {}
    model = clone(model).fit(rows, labels, **weights)
    found = to_sklearn(model)
    assert type(found) is kind and check_is_fitted(found) is None
    if hasattr(model, "decision_function"):
        scores = model.decision_function(new)
        assert_allclose(found.decision_function(new), scores, atol=1e-11 * np.abs(scores).max())
        assert_array_equal(found.predict(new), model.predict(new))
    else:
        assert_allclose(found.predict(new), model.predict(new), atol=1e-10)
    assert_array_equal(pickle.loads(pickle.dumps(found)).predict(new), found.predict(new))
    assert (
        clone(found).get_params().keys() == kind().get_params().keys()
        if kind is not (OneVsRestClassifier)
        else clone(found)
    )


@pytest.mark.slow
def test_machines_inside_of_other_estimators():
    calibrated = CalibratedClassifierCV(ScreenedSVC(), ensemble=False).fit(X, NAMES)
    found = to_sklearn(calibrated)
    assert type(found.calibrated_classifiers_[0].estimator) is SVC
    assert_allclose(found.predict_proba(NEW), calibrated.predict_proba(NEW), atol=1e-10)
    assert_array_equal(found.predict(NEW), calibrated.predict(NEW))
    assert type(calibrated.calibrated_classifiers_[0].estimator) is ScreenedSVC
    pipeline = make_pipeline(StandardScaler(), ScreenedSVC()).fit(X, Y)
    found = to_sklearn(pipeline)
    assert type(found[-1]) is SVC and type(pipeline[-1]) is ScreenedSVC
    assert_array_equal(found.predict(NEW), pipeline.predict(NEW))


@pytest.mark.parametrize(
    ("inside", "values", "kind"),
    [
        (ScreenedSVC(), {"C": [1.0, 10.0]}, SVC),
        (make_pipeline(StandardScaler(), ScreenedSVC()), {"screenedsvc__C": [1.0, 10.0]}, Pipeline),
        (CalibratedClassifierCV(ScreenedSVC()), {"cv": [2, 3]}, CalibratedClassifierCV),
        (ScreenedSVCCV([0.1, 1.0], cv=2), {"kernel": ["rbf", "linear"]}, SVC),
    ],
    ids=["machine", "pipeline", "calibrated", "search"],
)
@pytest.mark.slow
def test_what_a_search_found(inside, values, kind):
    search = GridSearchCV(inside, values, cv=2).fit(X, NAMES)
    found = to_sklearn(search)
    assert type(found) is kind
    assert_array_equal(found.predict(NEW), search.predict(NEW))
    around = make_pipeline(StandardScaler(), search).fit(X, NAMES)
    assert_array_equal(to_sklearn(around).predict(NEW), around.predict(NEW))


def test_a_search_without_a_best_machine_says_what_is_needed():
    search = GridSearchCV(ScreenedSVC(), {"C": [1.0, 10.0]}, cv=2, refit=False).fit(X, TWO)
    with pytest.raises(TypeError, match=r"fitted search .* as best_estimator_, got GridSearchCV"):
        to_sklearn(search)


@pytest.mark.few(1)
@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize(("labels", "options"), [(TWO, {}), (Y, {}), (Y, OVR)])
def test_probabilities_are_those_of_the_model(labels, options):
    model = ScreenedSVC(probability=True, random_state=0, **options).fit(X, labels)
    found = to_sklearn(model)
    # LIBSVM ends the coupling of pairs at 0.005 / n_classes.
    assert_allclose(found.predict_proba(NEW), model.predict_proba(NEW), atol=0.02)
    assert_array_equal(found.predict(NEW), model.predict(NEW))


PEERS = [SVC(), NuSVC(nu=0.2), SVR(), NuSVR(), OneClassSVM(), LinearSVC(), LinearSVR()]
OURS = [
    ScreenedSVC(), ScreenedNuSVC(0.2), ScreenedSVR(), ScreenedNuSVR(), ScreenedOneClassSVM(),
    ScreenedLinearSVC(), ScreenedLinearSVR(),
]  # fmt: skip


@pytest.mark.parametrize("rows", [X, thin(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize(("ours", "peer"), zip(OURS, PEERS, strict=True), ids=str)
def test_attributes_are_those_of_a_fit_of_this_release(ours, peer, rows):
    """Private ones, too: a release of scikit-learn that changes them is noticed here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = to_sklearn(clone(ours).fit(rows, Y)), clone(peer).fit(rows, Y)
    assert set(vars(expected)) <= set(vars(found)) | {"_effective_probability"}
    for name, value in vars(expected).items():
        if name in ("shape_fit_", "_gamma", "n_iter_") or name in expected.get_params():
            continue
        mine = getattr(found, name)
        assert type(mine) is type(value), name
        if hasattr(value, "dtype"):
            assert mine.dtype == value.dtype and mine.ndim == value.ndim, name
        if sparse.issparse(value) and name == "support_vectors_":
            assert mine.indices.dtype == value.indices.dtype and mine.has_sorted_indices
        elif sparse.issparse(value):
            # LIBSVM reads the entries alone.
            assert mine.nnz == mine.shape[0] * mine.shape[1]


def test_absent_classes_are_left_out():
    weights = np.where(NAMES == "b", 0.0, 1.0)
    for model in (ScreenedSVC(), ScreenedSVC(**OVR), ScreenedLinearSVC()):
        model.fit(X, NAMES, weights)
        found = to_sklearn(model)
        assert_array_equal(found.classes_, ["a", "c", "d"])
        assert_array_equal(found.predict(NEW), model.predict(NEW))


def test_names_of_columns_are_kept():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"x{k}" for k in range(10)])
    model = ScreenedSVC().fit(frame, Y)
    found = to_sklearn(model)
    assert_array_equal(found.feature_names_in_, frame.columns)
    assert_array_equal(found.predict(frame), model.predict(frame))


def test_what_cannot_be_exported_is_named():
    with pytest.raises(TypeError, match=r"^kernel\b"):
        to_sklearn(ScreenedSVC(kernel=lambda A, B: A @ B.T).fit(X, Y))
    with pytest.raises(ValueError, match=r"^shape\b"):
        to_sklearn(ScreenedOneClassSVM(0.1, shape="sphere").fit(X))
    with pytest.raises(NotFittedError):
        to_sklearn(ScreenedSVC())
    for other in (LogisticRegression().fit(X, Y), SVC().fit(X, Y), None):
        with pytest.raises(TypeError, match=r"^model\b"):
            to_sklearn(other)
