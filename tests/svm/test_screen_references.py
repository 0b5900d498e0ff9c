"""Screening from references that are no fitted estimator: any weights, any dual variables."""

import warnings
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC
from svm_reference import expect_right, margins_at, optimum

from skscreen import PragamSVC, ScreenedLinearSVC, ScreenedSVC, screen_samples

CANCER = load_breast_cancer(return_X_y=True)
X, LABELS = scale(CANCER[0])[::4], CANCER[1][::4]
Y = np.where(LABELS == 1, 1.0, -1.0)
WINE = scale(load_wine().data), load_wine().target


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
def test_any_weights_are_a_sound_reference(intercept, loss):
    """Optimal, inexact, random and zero ones, of any C, against Clarabel."""
    options = {"kernel": "linear", "intercept": intercept, "loss": loss}
    Q = Y[:, None] * (X @ X.T + (intercept == "penalised")) * Y
    rng, best = np.random.default_rng(0), 0.0
    C = np.full(len(Y), 0.1)
    _, low, high = margins_at(Q, C, Y, intercept, loss)
    for known in (0.02, 0.1, 0.098):
        alpha = margins_at(Q, known * C / 0.1, Y, intercept, loss)[0]
        w, b = X.T @ (Y * alpha), Y @ alpha
        noise = rng.normal(size=w.size) * np.linalg.norm(w) / np.sqrt(w.size)
        weights = [w, w + 1e-3 * noise, w + 0.3 * noise, 1.2 * w, noise, 0.0 * w]
        for vector, offset in [(v, b) for v in weights] + [(w, b + 1.0)]:
            for tests in ("intersection", "ball1", "ball2", "gap"):
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    found = screen_samples(
                        X, LABELS, 0.1, reference=(vector, offset), tests=tests, **options
                    )  # fmt: skip
                expect_right(found, low, high)
                best = max(best, found.rate_)
        exact, of_duals = (
            screen_samples(X, LABELS, 0.1, reference=reference, tests="ball1", **options).rate_
            for reference in ((w, b), alpha)
        )
        assert exact >= of_duals - 0.02
    assert best > (0.9 if loss == "hinge" else 0.5)


@pytest.mark.parametrize("intercept", ["free", "penalised"])
@pytest.mark.slow
def test_weights_of_a_large_C_decide_most_samples(intercept):
    """Many samples are near the kink of an optimum: their dual variables have to be found."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(2000, 30))
    y = Z[:, 0] + 0.8 * rng.normal(size=2000) > 0.0
    for seed in range(3):
        fit = ScreenedSVC(
            100.0, kernel="linear", tol=1e-9, intercept=intercept, random_state=seed
        ).fit(Z, y)
        known = fit.coef_, fit.intercept_
        found = screen_samples(Z, y, 110.0, reference=known, kernel="linear", intercept=intercept)
        assert found.rate_ > 0.8


def test_weights_of_several_problems_are_those_of_estimators():
    Z, y = WINE
    for model in (ScreenedLinearSVC(0.09, loss="hinge"), SVC(C=0.09, kernel="linear")):
        model.fit(Z, y)
        named = {"kernel": "linear", "intercept": "penalised", "multi_class": "ovr"}
        if isinstance(model, SVC):
            named = {"kernel": "linear", "intercept": "free", "multi_class": "ovo"}
        weights = model.coef_, model.intercept_
        found = screen_samples(Z, y, 0.1, reference=weights, **named)
        same = screen_samples(Z, y, 0.1, reference=model)
        assert found.rate_ >= same.rate_ - 0.05 and found.rate_ > 0.4
        assert not np.any((found.codes_ != same.codes_) & (found.codes_ != 0) & (same.codes_ != 0))


def test_sparse_numbers_are_a_reference():
    model, named = LinearSVC(C=0.09).fit(X, LABELS), {"kernel": "linear", "loss": "squared_hinge"}
    alpha = np.zeros(len(Y))
    duals = ScreenedSVC(C=0.09, intercept="penalised", **named).fit(X, LABELS)
    alpha[duals.support_] = duals.dual_coef_[0]
    for dense, thin in (
        (model, deepcopy(model).sparsify()),
        ((model.coef_, model.intercept_), (sparse.csr_matrix(model.coef_), model.intercept_)),
        (alpha, sparse.csr_array(alpha[None])),
    ):
        found, same = (
            screen_samples(X, LABELS, 0.1, reference=known, intercept="penalised", **named)
            for known in (thin, dense)
        )
        assert_array_equal(found.codes_, same.codes_)
        assert found.rate_ > 0.0


def test_dual_variables_off_their_bounds_serve_at_any_larger_C():
    """Of separable samples: the solution stays while C grows."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    Z = rng.normal(size=(60, 2)) + np.where(y, 3.0, -3.0)[:, None]
    alpha = optimum((y - 0.5)[:, None] * (Z @ Z.T) * (y - 0.5) * 4.0, np.full(60, 1e3))
    model = SVC(C=1e3, kernel="linear", tol=1e-12).fit(Z, y)
    for reference, intercept in ((alpha, "none"), (model, "free")):
        found = screen_samples(Z, y, 1e5, reference=reference, kernel="linear", intercept=intercept)
        assert found.rate_ > 0.9 and not np.any(found.codes_ == 2)


def test_accurate_weights_decide_as_accurate_dual_variables_do():
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 2
    Z = rng.normal(scale=1.5, size=(3000, 2)) + np.where(y, 0.5, -0.5)[:, None]
    options = {"C": 9.0, "loss": "hinge", "fit_intercept": False, "random_state": 0}
    weights = ScreenedLinearSVC(tol=1e-12, **options).fit(Z, y)
    rates = [screen_samples(Z, y, 10.0, reference=weights).rate_]
    known = LinearSVC(**options).fit(Z[:9], y[:9])
    known.coef_, known.intercept_ = weights.coef_, weights.intercept_
    rates.append(screen_samples(Z, y, 10.0, reference=known).rate_)
    named = {"kernel": "linear", "intercept": "none"}
    rates.append(screen_samples(Z, y, 10.0, reference=(weights.coef_[0], 0.0), **named).rate_)
    assert rates[0] > 0.9 and rates[1] == pytest.approx(rates[0], abs=0.02)
    # Dual variables that suit the weights best at the new C.
    assert rates[2] >= rates[0]


def test_fits_with_other_weights_or_another_C_are_sound_references():
    """Their dual variables are outside of the box of the problem that is screened."""
    Q, C = Y[:, None] * rbf_kernel(X, gamma=0.01) * Y, np.full(len(Y), 1.2)
    _, low, high = margins_at(Q, C, Y, "free", "hinge")
    weighted = SVC(gamma=0.01).fit(X, LABELS, np.linspace(1.0, 2.0, len(Y)))
    balanced = SVC(gamma=0.01, class_weight={0: 3.0}).fit(X, LABELS)
    changed = SVC(gamma=0.01, C=1.3).fit(X, LABELS).set_params(C=0.5)
    for reference, options in (
        (weighted, {}),
        (balanced, {"class_weight": {0: 1.0}}),
        (changed, {}),
    ):
        for tests in ("intersection", "ball1", "ball2", "gap"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = screen_samples(
                    X, LABELS, 1.2, reference=reference, tests=tests, **options
                )  # fmt: skip
            expect_right(found, low, high)
    # Such dual variables are those of another C.
    assert screen_samples(X, LABELS, 1.2, reference=changed).rate_ > 0.3


def test_class_weights_that_differ_from_problem_to_problem():
    """`LinearSVC` weighs the rest of a class by 1: each problem is that of these weights."""
    Z, y = WINE
    factors = {0: 3.0, 1: 1.0, 2: 0.5}
    reference = LinearSVC(class_weight=factors, loss="hinge", tol=1e-8, max_iter=10**6).fit(Z, y)
    found = screen_samples(Z, y, 1.1, reference=reference)
    for c, factor in factors.items():
        w, own = np.where(y == c, factor, 1.0), y == c
        single = LinearSVC(loss="hinge", tol=1e-8, max_iter=10**6).fit(Z, own, sample_weight=w)
        alone = screen_samples(Z, own, 1.1, reference=single, sample_weight=w)
        assert alone.rate_ > 0.5
        np.testing.assert_allclose(found.bounds_[c], alone.bounds_, atol=1e-3)
        exact = LinearSVC(C=1.1, loss="hinge", tol=1e-10, max_iter=10**6).fit(Z, own, w)
        margins = np.where(own, 1.0, -1.0) * exact.decision_function(Z)
        assert np.all(found.bounds_[c, :, 0] <= margins + 1e-6)
        assert np.all(margins <= found.bounds_[c, :, 1] + 1e-6)
    # Of two classes each sample has one weight.
    two = y < 2
    reference = LinearSVC(class_weight=factors, loss="hinge", tol=1e-8).fit(Z[two], y[two])
    assert screen_samples(Z[two], y[two], 1.1, reference=reference).rate_ > 0.5


def test_whether_another_estimator_penalises_the_intercept_is_not_guessed():
    """PragamSVC does not: with bounds of a penalised intercept margins would lie outside them."""
    classes = (np.arange(300) % 10 == 0).astype(int)
    A = np.random.default_rng(1).normal(size=(300, 2)) + 2.5 * classes[:, None]
    reference = PragamSVC(C=0.05, tol=1e-6).fit(A, classes)
    with pytest.raises(ValueError, match=r"^intercept\b"):
        screen_samples(A, classes, 0.065, reference=reference)
    found = screen_samples(A, classes, 0.065, reference=reference, intercept="free")
    exact = ScreenedSVC(0.065, kernel="linear", tol=1e-12).fit(A, classes)
    margins = (2 * classes - 1) * exact.decision_function(A)
    assert np.all((found.bounds_[:, 0] <= margins) & (margins <= found.bounds_[:, 1]))
    with pytest.raises(ValueError, match=r"^intercept\b"):
        screen_samples(A, classes, 0.065, reference=LogisticRegression().fit(A, classes))
    none = PragamSVC(C=0.05, fit_intercept=False).fit(A, classes)
    named = screen_samples(A, classes, 0.065, reference=none, intercept="none")
    assert_array_equal(screen_samples(A, classes, 0.065, reference=none).codes_, named.codes_)


def test_complex_dual_variables_are_refused():
    for reference in (1j, np.full(len(X), 1j)):
        with pytest.raises(ValueError, match=r"^reference must"):
            screen_samples(X, LABELS, 1.0, reference=reference)
