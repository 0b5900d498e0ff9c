"""Kernels that are not positive semi-definite."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR
from svm_reference import dual, free_gap, free_optimum, gap, optimum

from skscreen import (
    ScreenedNuSVR,
    ScreenedSVC,
    ScreenedSVCCV,
    ScreenedSVR,
    svc_certified_C,
    svc_path,
)

X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X)[::5], y[::5]
SIGNS = np.where(y == 1, 1.0, -1.0)
DISTANCES = np.linalg.norm(X[:, None] - X, axis=2)
# Conditionally definite, and definite up to rounding to two digits.
CONDITIONAL = -DISTANCES
ROUNDED = np.round(np.exp(-0.05 * DISTANCES**2), 2)
IRIS_X, IRIS_Y = load_iris(return_X_y=True)
IRIS_X = scale(IRIS_X)


def alpha_of(model):
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return alpha


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_a_conditionally_definite_kernel_against_clarabel(C):
    assert np.linalg.eigvalsh(CONDITIONAL)[0] < -1.0
    model = ScreenedSVC(C, kernel="precomputed", tol=1e-9).fit(CONDITIONAL, y)
    assert_array_equal(model.kernel_shift_, [0.0])
    # Any constant makes no difference; a large one makes it definite for Clarabel.
    Q = SIGNS[:, None] * (CONDITIONAL + 2.0 * DISTANCES.max()) * SIGNS
    best = free_optimum(Q, np.full(len(y), C), SIGNS)[0]
    assert_allclose(dual(Q, alpha_of(model)), dual(Q, best), rtol=1e-7)
    assert free_gap(Q, np.full(len(y), C), SIGNS, alpha_of(model)) <= 1e-6 * dual(Q, best)
    peer = SVC(C=C, kernel="precomputed", tol=1e-8).fit(CONDITIONAL, y)
    scores = model.decision_function(CONDITIONAL)
    assert_allclose(scores, peer.decision_function(CONDITIONAL), atol=1e-4)
    assert_allclose(model.intercept_, peer.intercept_, atol=1e-4)
    path = svc_path(CONDITIONAL, y, Cs=[C], kernel="precomputed", tol=1e-9)
    assert_allclose(path.intercepts, model.intercept_, atol=1e-6)


def test_more_classes_by_a_conditionally_definite_function():
    def energy(A, B):
        return -np.linalg.norm(A[:, None] - B, axis=2)

    for name in ("ovo", "ovr"):
        model = ScreenedSVC(kernel=energy, multi_class=name).fit(IRIS_X, IRIS_Y)
        assert model.score(IRIS_X, IRIS_Y) > 0.95 and not model.kernel_shift_.any()
    peer = SVC(kernel=energy, tol=1e-8).fit(IRIS_X, IRIS_Y)
    model = ScreenedSVC(kernel=energy, tol=1e-9).fit(IRIS_X, IRIS_Y)
    assert_array_equal(model.predict(IRIS_X), peer.predict(IRIS_X))
    assert ScreenedSVCCV([0.1, 1.0], kernel=energy, cv=3).fit(IRIS_X, IRIS_Y).best_score_ > 0.9


@pytest.mark.parametrize("options", [{"intercept": "penalised"}, {"fit_intercept": False}])
def test_without_a_free_intercept_it_is_refused(options):
    model = ScreenedSVC(kernel="precomputed", indefinite="error", **options)
    with pytest.raises(ValueError, match="indefinite='shift'"):
        model.fit(CONDITIONAL, y)


@pytest.mark.parametrize(
    ("options", "bias"),
    [({}, None), ({"intercept": "penalised"}, 1.0), ({"fit_intercept": False}, 0)],
)
def test_a_shift_against_clarabel(options, bias):
    smallest = np.linalg.eigvalsh(ROUNDED)[0]
    assert smallest < -1e-3
    with pytest.raises(ValueError, match="indefinite='shift'"):
        ScreenedSVC(kernel="precomputed", indefinite="error", **options).fit(ROUNDED, y)
    model = ScreenedSVC(kernel="precomputed", indefinite="shift", tol=1e-9, **options)
    model.fit(ROUNDED, y)
    (shift,) = model.kernel_shift_
    assert 0.0 < shift <= -smallest * (1.0 + 1e-4)
    K = ROUNDED + shift * np.eye(len(y)) + (bias or 0.0)
    Q, caps = SIGNS[:, None] * K * SIGNS, np.ones(len(y))
    if bias is None:
        best = free_optimum(Q, caps, SIGNS)[0]
        assert free_gap(Q, caps, SIGNS, alpha_of(model)) <= 1e-6 * dual(Q, best)
    else:
        best = optimum(Q, caps)
        assert gap(Q, caps, alpha_of(model)) <= 1e-6 * dual(Q, best)
    assert_allclose(dual(Q, alpha_of(model)), dual(Q, best), rtol=1e-7)
    # Other samples keep their kernel values.
    coefs = np.zeros(len(y))
    coefs[model.support_] = model.dual_coef_[0]
    scores = ROUNDED @ coefs + model.intercept_[0]
    assert_allclose(model.decision_function(ROUNDED), scores, atol=1e-9)


def test_a_definite_kernel_is_left_alone():
    for options in ({}, {"kernel": "linear"}, {"kernel": "poly", "coef0": 1.0}):
        model, same = (ScreenedSVC(indefinite=name, random_state=0, **options).fit(X, y)
                       for name in ("shift", "warn"))  # fmt: skip
        assert_array_equal(model.dual_coef_, same.dual_coef_)
        assert_array_equal(model.kernel_shift_, [0.0])


def test_a_sigmoid_and_a_store(tmp_path):
    options = {"kernel": "sigmoid", "gamma": 0.1, "indefinite": "shift"}
    plain = ScreenedSVC(**options).fit(IRIS_X, IRIS_Y)
    assert plain.kernel_shift_.max() > 0.0 and plain.score(IRIS_X, IRIS_Y) > 0.8
    for _ in range(2):
        kept = ScreenedSVC(store=tmp_path, **options).fit(IRIS_X, IRIS_Y)
        assert_allclose(kept.objective_, plain.objective_, rtol=2e-6)


def test_certified_choices_know_no_shift():
    with pytest.raises(ValueError, match=r"^indefinite\b"):
        ScreenedSVCCV(certify=0.1, kernel="sigmoid", intercept="penalised", indefinite="shift").fit(
            X, y
        )
    with pytest.raises(TypeError, match="'indefinite'"):
        svc_certified_C(X, y, X, y, (0.1, 1.0), indefinite="shift")


@pytest.mark.parametrize("labels", [IRIS_Y, IRIS_Y > 0], ids=["3", "2"])
def test_a_sigmoid_is_solved_as_by_svc_with_a_warning(labels):
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], labels.size)
    for options in ({"gamma": 1.0}, {"gamma": 0.2, "coef0": -0.5, "C": 10.0}):
        model = ScreenedSVC(kernel="sigmoid", decision_function_shape="ovo", **options)
        peer = SVC(kernel="sigmoid", decision_function_shape="ovo", **options)
        peer.fit(IRIS_X, labels, weights)
        with pytest.warns(UserWarning, match=r"\bkernel\b") as seen:
            model.fit(IRIS_X, labels, weights)
        assert len(seen) == 1 and np.isnan(model.dual_gap_)
        assert_allclose(model.decision_function(IRIS_X), peer.decision_function(IRIS_X), atol=1e-10)
        assert_array_equal(model.support_, peer.support_)
        beta, K = model.dual_coef_, np.tanh(model.gamma_ * IRIS_X @ IRIS_X.T + model.coef0)
        if labels is not IRIS_Y:
            scores = K[:, model.support_] @ beta[0] + model.intercept_[0]
            signs = np.where(labels, 1.0, -1.0)
            lost = model.C * weights @ np.maximum(1.0 - signs * scores, 0.0)
            norm = beta[0] @ K[np.ix_(model.support_, model.support_)] @ beta[0]
            assert_allclose(model.objective_, lost + 0.5 * norm)


def test_a_sigmoid_in_a_grid_a_path_a_search_and_a_regression():
    grid = {"kernel": ["rbf", "sigmoid"], "C": [0.1, 1.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own, peer = (
            GridSearchCV(model, grid, cv=3, error_score="raise").fit(IRIS_X, IRIS_Y)
            for model in (ScreenedSVC(), SVC())
        )
        both = [found.cv_results_["mean_test_score"] for found in (own, peer)]
        assert_allclose(*both)
        search = ScreenedSVCCV([0.1, 1.0], kernel="sigmoid", cv=3).fit(IRIS_X, IRIS_Y)
        assert_allclose(search.scores_.mean(axis=0), both[0][[1, 3]])
        path = svc_path(IRIS_X, IRIS_Y, Cs=[0.1, 1.0], kernel="sigmoid")
        assert np.isnan(path.dual_gaps).all()
        with pytest.raises(ValueError, match=r"^eps\b"):
            svc_path(IRIS_X, IRIS_Y, kernel="sigmoid")
        targets = X[:, 0] + X[:, 3]
        found = ScreenedSVR(kernel="sigmoid").fit(X, targets)
        assert_allclose(found.predict(X), SVR(kernel="sigmoid").fit(X, targets).predict(X))
    with pytest.warns(UserWarning, match="kernel_shift_"):
        model = ScreenedSVC(kernel="sigmoid", intercept="penalised").fit(IRIS_X, IRIS_Y)
    assert model.kernel_shift_.max() > 0.0 and model.dual_gap_ <= 1e-6


def _hidden():
    """Return a matrix that is indefinite outside the block that is looked at, and labels."""
    n, hidden = 400, np.setdiff1d(np.arange(400), np.linspace(0, 399, 256).astype(int))[:60]
    K = np.eye(n)
    K[np.ix_(hidden, hidden)] = 1.9 * np.eye(60) - 0.9
    return K, np.isin(np.arange(n), np.linspace(0, 399, 256).astype(int)[:100])


def test_what_the_first_look_does_not_see_is_left_to_libsvm_too():
    K, labels = _hidden()
    with pytest.warns(UserWarning, match="nothing certifies"):
        model = ScreenedSVC(kernel="precomputed").fit(K, labels)
    peer = SVC(kernel="precomputed").fit(K, labels)
    assert_allclose(model.decision_function(K), peer.decision_function(K), atol=1e-10)


@pytest.mark.parametrize("model", [ScreenedSVC, ScreenedSVR])
def test_a_hard_margin_needs_a_certificate(model):
    for K in (np.tanh(scale(X[:40]) @ scale(X[:40]).T - 1.0), _hidden()[0]):
        labels = np.where(np.arange(len(K)) % 2, 1.0, -1.0)
        with pytest.raises(ValueError, match=r"^C=inf"):
            model(np.inf, kernel="precomputed").fit(K, labels)


def test_a_huge_C_is_refused_as_of_other_kernels():
    with pytest.raises(ValueError, match=r"^C times"):
        ScreenedSVC(1e300, kernel="sigmoid", coef0=1.0, max_iter=1000).fit(IRIS_X, IRIS_Y > 0)


@pytest.mark.parametrize("kind", [ScreenedSVC, ScreenedSVR, ScreenedNuSVR])
@pytest.mark.parametrize("options", [{}, {"cache_size": 1e-3}])
def test_samples_whose_products_overflow_have_no_sigmoid(kind, options):
    rows, labels = 1e160 * IRIS_X[:100], IRIS_Y[:100]
    with pytest.raises(ValueError, match=r"\bX\b"):
        kind(kernel="sigmoid", gamma=1e-12, **options).fit(rows, labels)


@pytest.mark.parametrize("kind", [ScreenedSVC, ScreenedSVR, ScreenedNuSVR])
@pytest.mark.parametrize("kernel", ["sigmoid", "rbf"])
def test_limits_of_steps_beyond_64_bits_are_none(kind, kernel):
    X, y = IRIS_X[::5], IRIS_Y[::5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        limited, free = (kind(kernel=kernel, max_iter=most).fit(X, y) for most in (10**30, None))
    assert_array_equal(limited.predict(X), free.predict(X))


@pytest.mark.slow
def test_steps_end_where_none_gains():
    rows = np.random.default_rng(0).normal(size=(24, 3))
    with pytest.warns(UserWarning, match="positive semi-definite"):
        model = ScreenedSVC(C=1e14, kernel="sigmoid").fit(rows, np.arange(24) % 2)
    assert model.n_iter_ == 10_000_000 and np.isfinite(model.decision_function(rows)).all()


def test_a_path_of_which_some_pairs_have_a_certificate():
    K = IRIS_X @ IRIS_X.T
    last = IRIS_Y == 2
    K[np.ix_(last, last)] -= 3.0 * np.diag(K[last][:, last].diagonal())
    with pytest.warns(UserWarning, match="positive semi-definite"):
        path = svc_path(K, IRIS_Y, Cs=[1e-4, 2e-4], kernel="precomputed")
    certified = [not np.isnan(each.certificate.gap) for each in path.solutions[0].problems]
    assert certified == [True, False, False]
    pair = IRIS_Y != 2
    alone = svc_path(K[np.ix_(pair, pair)], IRIS_Y[pair], Cs=[1e-4, 2e-4], kernel="precomputed")
    # Nothing is decided of pairs without one: two thirds of all.
    np.testing.assert_allclose(path.path_rates, alone.path_rates / 3.0)
    assert path.path_rates[1] > 0.0
