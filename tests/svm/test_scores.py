"""Scores and labels of new samples: against `SVC`, one row or many, and the votes of pairs."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import make_blobs
from sklearn.svm import SVC
from sklearn.utils.multiclass import _ovr_decision_function

from skscreen import ScreenedLinearSVC, ScreenedSVC
from skscreen._compiled import svm as loops
from skscreen.svm.scores import pair_scores


def inner(A, B):
    return A @ B.T


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, 5, centers=7, cluster_std=4.0, random_state=0)


KERNELS = ["rbf", "linear", "poly", "sigmoid", "precomputed", inner]


@pytest.mark.few(3)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: getattr(kernel, "__name__", kernel))
@pytest.mark.parametrize("n_classes", [2, 7])
def test_one_row_has_the_scores_that_it_has_among_many_and_in_svc(blobs, kernel, n_classes):
    X, y = blobs[0], blobs[1] % n_classes
    X = X @ X.T if kernel == "precomputed" else X
    settings = {"kernel": kernel, "gamma": 0.01, "decision_function_shape": "ovo"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sigmoid is no kernel
        model = ScreenedSVC(tol=1e-10, **settings).fit(X, y)
    known = SVC(tol=1e-10, **settings).fit(X, y)
    many, one = model.decision_function(X), [model.decision_function(x[None])[0] for x in X]
    assert_allclose(many, one, rtol=0, atol=1e-11 * np.abs(many).max())
    if kernel != "sigmoid":
        assert_allclose(many, known.decision_function(X), atol=1e-4 * np.abs(many).max())
    assert_array_equal(model.predict(X), [model.predict(x[None])[0] for x in X])
    assert_array_equal(model.predict(X), known.predict(X))


def test_sparse_rows_have_the_scores_of_dense_ones(blobs):
    X, y = np.maximum(blobs[0], 0.0), blobs[1]
    # Wide enough not to be made dense.
    wide = sparse.csr_matrix((120, 3000))
    S = sparse.hstack([sparse.csr_matrix(X), wide], format="csr")
    for kernel in ("rbf", "linear", "poly", "sigmoid"):
        settings = {"kernel": kernel, "gamma": 0.01, "C": 0.1, "indefinite": "warn"}
        settings["decision_function_shape"] = "ovo"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, dense = (ScreenedSVC(tol=1e-10, **settings).fit(A, y) for A in (S, X))
        expected = dense.decision_function(X)
        for rows in (slice(None), slice(3)):
            found = model.decision_function(S[rows])
            assert_allclose(found, expected[rows], atol=2e-6 * np.abs(expected).max())


def test_samples_in_parts_have_the_same_scores(blobs):
    X, y = blobs
    models = [
        ScreenedSVC(kernel=kernel, decision_function_shape=shape, gamma=0.01).fit(X, y)
        for kernel in ("rbf", "linear", inner)
        for shape in ("ovr", "ovo")
    ]
    expected = [(model.decision_function(X), model.predict(X)) for model in models]
    with config_context(working_memory=0.1):
        for model, (values, classes) in zip(models, expected, strict=True):
            assert_allclose(model.decision_function(X), values, atol=1e-11)
            assert_array_equal(model.predict(X), classes)


def test_a_function_is_asked_in_blocks_of_rows(blobs):
    X, y = blobs
    asked = []

    def kernel(A, B):
        asked.append((len(A), len(B)))
        return (A @ B.T).astype(np.float32)

    model = ScreenedSVC(kernel=kernel).fit(X, y)
    assert asked == [(120, 120)]
    whole = model.decision_function(X)
    del asked[:]
    # An eighth for 50 rows of 120 numbers.
    with config_context(working_memory=50.5 * 120 / 2**14):
        assert_allclose(model.decision_function(X), whole)
        assert asked == [(50, 120), (50, 120), (20, 120)]
        assert_array_equal(model.predict(X.tolist()), model.predict(X))
    assert len(asked) == 9


def test_scores_of_pairs_from_those_of_classes():
    coefs, values = np.arange(8.0).reshape(2, 4), np.array([[1.0, 2.0, 3.0, 4.0]])
    # One support vector of class 0, one of class 1, two of class 2.
    sums = np.empty((3, 1, 2))
    loops.sum_by_class(values, np.ascontiguousarray(coefs.T), np.array([1, 2, 4]), sums)
    expected = [0 * 1 + 1 * 2, 4 * 1 + 2 * 3 + 3 * 4, 5 * 2 + 6 * 3 + 7 * 4]
    found = pair_scores(sums, np.array([0.5, 0.0, -1.0]))
    assert_allclose(found[0], np.add(expected, [0.5, 0, -1]))


EXACT = (np.empty(0), 0.0, np.zeros(3), np.zeros(3))


def test_ties_of_votes_go_to_the_first_class_or_to_the_scores():
    # Class 0 beats 1, 1 beats 2 by far, 2 beats 0: one vote each.
    scores = np.array([[0.1, -0.1, 5.0], [0.0, 0.0, 0.0], [-1.0, -1.0, -1.0]])
    winners, votes = np.empty(3, np.int64), np.empty((3, 3))
    loops.pair_winners(scores, EXACT, 3, winners)
    assert_array_equal(winners, [0, 0, 2])
    loops.pair_votes(scores, EXACT, 3, votes)
    assert_array_equal(votes.argmax(axis=1), [1, 0, 2])
    assert_array_equal(votes, _ovr_decision_function(scores < 0.0, -scores, 3))


def test_scores_that_are_noise_are_ties():
    # Errors of 8 units of 1e-16 times 2e6: about 3.6e-9.
    noise = np.array([2e6]), 0.0, np.ones(3), np.zeros(3)
    scores, out = np.array([[1e-9, -3e-9, 5e-9]]), np.empty((1, 3))
    loops.pair_values(scores, noise, 3, out)
    assert_array_equal(out, [[0.0, 0.0, 5e-9]])
    rest = np.array([[1.0, 1.0 - 5e-9, 0.9]])
    assert loops.near_ties(rest)
    loops.settle(rest, noise)
    assert_array_equal(rest, [[1.0, 1.0, 0.9]])
    assert not loops.near_ties(np.array([[1.0, 0.9, 0.9]])) and loops.near_ties(np.zeros((1, 1)))


def test_weights_of_features_may_be_changed(blobs):
    X, y = blobs
    model = ScreenedLinearSVC().fit(X, y)
    model.coef_ = np.zeros_like(model.coef_)
    model.intercept_ = np.arange(7)
    assert_array_equal(model.predict(X), np.full(120, 6))
