"""Files of models leave out weights of pairs of classes; loading gives the same bits again."""

import copy
import io
import pickle
from itertools import combinations

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from skscreen import ScreenedNuSVC, ScreenedSVC, svc_path

BIG = np.longdouble


def blobs(n_classes, of_each, n_features, spread):
    return make_blobs(
        n_classes * of_each, n_features, centers=n_classes, cluster_std=spread, random_state=0
    )


def sparse_rows(n, d, n_classes):
    """Return rows of small integers, so that sums of few are exact, and labels."""
    rng = np.random.default_rng(0)
    X = np.round(3.0 * rng.normal(size=(n, d))) * (rng.random((n, d)) < 0.1)
    return sparse.csr_matrix(X), np.argmax(X @ rng.normal(size=(d, n_classes)), axis=1)


# Samples on which all pairs are solved in one call, alone, by rows, and sparse ones of two sizes.
SAMPLES = {
    "together": lambda: blobs(5, 20, 6, 6.0),
    "single": lambda: (blobs(5, 20, 6, 6.0)[0].astype(np.float32), blobs(5, 20, 6, 6.0)[1]),
    "apart": lambda: blobs(12, 20, 10, 2.0),
    "far": lambda: (blobs(4, 20, 3, 2.0)[0] + 100.0, blobs(4, 20, 3, 2.0)[1]),
    "rows": lambda: blobs(3, 220, 6, 6.0),
    "few sparse": lambda: sparse_rows(150, 30, 4),
    "sparse": lambda: sparse_rows(900, 60, 3),
}
OPTIONS = {
    "usual": {},
    "large C": {"C": 100.0},
    "penalised": {"intercept": "penalised"},
    "no intercept": {"fit_intercept": False},
    "squares": {"loss": "squared_hinge"},
    "one by one": {"verbose": 1},
    "weights": {"class_weight": "balanced"},
}


def from_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def is_left_out(model):
    return "coef_" in vars(model) and model.__getstate__()["coef_"] is None


def check_same(model, other, X):
    first, second = model.coef_, other.coef_
    assert type(first) is type(second)
    dense = [w.toarray() if sparse.issparse(w) else w for w in (first, second)]
    assert_array_equal(*dense)
    for rows in (X, X[:1]):
        assert_array_equal(model.decision_function(rows), other.decision_function(rows))
        assert_array_equal(model.predict(rows), other.predict(rows))


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("samples", SAMPLES)
def test_a_loaded_model_is_the_same_to_the_last_bit(samples, options):
    X, y = SAMPLES[samples]()
    model = ScreenedSVC(kernel="linear", **options).fit(X, y).set_params(verbose=0)
    assert is_left_out(model)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), from_joblib(model)):
        check_same(model, other, X)
        # A file of a loaded model leaves them out, too.
        assert is_left_out(other)


@pytest.mark.slow
@pytest.mark.parametrize("samples", ["together", "apart", "rows", "few sparse", "sparse"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_certificates_are_those_of_the_weights(samples, options):
    X, y = SAMPLES[samples]()
    options = {key: value for key, value in options.items() if key != "class_weight"}
    model = ScreenedSVC(kernel="linear", **options).fit(X, y)
    dense, W, dual = (
        (A.toarray() if sparse.issparse(A) else A).astype(BIG)
        for A in (X, model.coef_, model.dual_coef_)
    )
    C, squares = BIG(model.C), model.loss == "squared_hinge"
    for k, (i, j) in enumerate(combinations(range(model.classes_.size), 2)):
        alpha = np.zeros(len(y), BIG)
        of_first, of_second = (y[model.support_] == c for c in (i, j))
        alpha[model.support_[of_first]] = dual[j - 1, of_first]
        alpha[model.support_[of_second]] = dual[i, of_second]
        b, signs = BIG(model.intercept_[k]), np.where(y == i, 1, -1)
        short = np.maximum(1 - signs * (dense @ W[k] + b), 0)[(y == i) | (y == j)]
        primal = W[k] @ W[k] / 2 + C * (short**2 if squares else short).sum()
        v, alpha = dense.T @ alpha, signs * alpha
        value = alpha.sum() - v @ v / 2 - (alpha @ alpha / (4 * C) if squares else 0)
        if model.intercept == "penalised":
            primal, value = primal + b**2 / 2, value - (signs * alpha).sum() ** 2 / 2
        assert_allclose(float(model.objective_[k]), float(primal), rtol=1e-9)
        assert primal - value <= (model.dual_gap_ + 1e-9) * primal


@pytest.mark.parametrize("samples", ["together", "rows"])
def test_paths_and_nu_machines_are_the_same_after_loading(samples):
    X, y = SAMPLES[samples]()
    for model in (svc_path(X, y, [0.1, 1.0], kernel="linear")[1], ScreenedNuSVC(kernel="linear")):
        model = model.fit(X, y) if isinstance(model, ScreenedNuSVC) else model
        assert is_left_out(model)
        check_same(model, pickle.loads(pickle.dumps(model)), X)


def test_weights_that_a_user_has_set_stay():
    X, y = SAMPLES["together"]()
    model = ScreenedSVC(kernel="linear").fit(X, y)
    model.coef_ = np.round(model.coef_, 2)
    assert_array_equal(pickle.loads(pickle.dumps(model)).coef_, np.round(model.coef_, 2))
    assert isinstance(model.coef_, np.ndarray)


def test_absent_classes_and_probabilities_are_the_same_after_loading():
    X, y = SAMPLES["together"]()
    weights = np.where(y == 2, 0.0, 1.0)
    model = ScreenedSVC(kernel="linear", probability=True, random_state=0).fit(X, y, weights)
    other = pickle.loads(pickle.dumps(model))
    check_same(model, other, X)
    assert_array_equal(model.predict_proba(X), other.predict_proba(X))


@pytest.mark.slow
@pytest.mark.parametrize("is_sparse", [False, True])
def test_files_of_sixty_classes_are_as_large_as_those_of_the_peer(is_sparse):
    X, y = blobs(60, 34, 40, 8.0)
    if is_sparse:
        X = sparse.csr_matrix(np.where(np.abs(X) > 15.0, X, 0.0))
    model, peer = (
        kind(kernel="linear", tol=1e-3).fit(X, y) for kind in (ScreenedSVC, SVC)
    )  # fmt: skip
    assert len(pickle.dumps(model)) <= 1.1 * len(pickle.dumps(peer))
    check_same(model, pickle.loads(pickle.dumps(model)), X[:50])
