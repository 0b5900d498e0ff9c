import warnings

import numpy as np
import pytest
from chain_cases import CODES, LENGTHS, X, Y, digit_words
from chain_reference import log_loss
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from skscreen import KernelChainClassifier
from skscreen.sequence.likelihood import KernelFactor


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize(("C", "eta"), [(0.3, 1.0), (2.0, 0.4)])
def test_kernel_chain_against_a_plain_optimiser(C, eta):
    """With the linear kernel, on the weights themselves and by enumeration."""
    lam = 1.0 / (C * len(X))
    scale = np.concatenate([np.ones(6), np.full(9, eta)])

    def objective(v):
        return 0.5 * lam * v @ v + log_loss(X, CODES, 3, scale * v)

    best = minimize(objective, np.zeros(15), tol=1e-10)
    model = KernelChainClassifier(C, kernel="linear", transition_scale=eta, tol=1e-8).fit(X, Y)
    assert_allclose(model.objective_, best.fun, atol=1e-7)
    assert model.objective_ * (1.0 - model.dual_gap_) <= best.fun + 1e-9
    assert_allclose(model.transition_.ravel(), (scale * best.x)[6:], atol=1e-3)


def test_kernel_chain_of_single_labels_is_logistic_regression():
    images, digits = load_digits(n_class=3, return_X_y=True)
    images = images[:120] / 16.0
    singles, labels = [row[None] for row in images], [digits[i : i + 1] for i in range(120)]
    model = KernelChainClassifier(0.5, kernel="linear", tol=1e-9).fit(singles, labels)
    peer = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8, max_iter=1000)
    peer.fit(images, digits[:120])
    assert_allclose((model.dual_coef_.T @ model.observations_), peer.coef_, atol=2e-4)
    assert_allclose(model.transition_, 0.0, atol=1e-12)


def test_kernels_of_scikit_learn():
    named = KernelChainClassifier(kernel="rbf", gamma=0.3).fit(X, Y)
    function = KernelChainClassifier(kernel=lambda a, b: rbf_kernel(a, b, gamma=0.3)).fit(X, Y)
    assert_allclose(named.dual_coef_, function.dual_coef_, atol=1e-8)
    for options in ({"kernel": "poly", "degree": 2, "coef0": 1.0}, {"gamma": 3.0}, {"C": 30.0}):
        assert abs(KernelChainClassifier(**options).fit(X, Y).objective_ - named.objective_) > 1e-3


def test_a_kernel_chain_refuses_values_that_are_not_finite():
    model = KernelChainClassifier(kernel="poly", degree=30, gamma=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(ValueError, match=r"\bkernel\b"):
            model.fit([1e30 * part for part in X], Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.filterwarnings("error", category=RuntimeWarning, module="skscreen")
        with pytest.raises(ValueError, match=r"\bkernel\b"):
            KernelChainClassifier(kernel="poly", degree=30, gamma=1e12).fit(X, Y)
    with pytest.raises(ValueError, match="'transition_scale'"):
        KernelChainClassifier(transition_scale=1e308).fit(X, Y)


def test_the_objective_is_that_of_the_coefficients_where_the_line_search_breaks_down():
    model = KernelChainClassifier(transition_scale=1e12, max_iter=100)
    with pytest.warns(ConvergenceWarning):
        model.fit([1e-8 * part for part in X], Y)
    at_zero = np.log(3) * sum(LENGTHS) / len(LENGTHS)
    if not model.transition_.any() and not model.dual_coef_.any():
        assert_allclose(model.objective_, at_zero)
    assert model.objective_ <= at_zero * (1.0 + 1e-9)


@pytest.mark.parametrize("rank", [3, 40])
def test_factor_of_a_kernel_matrix(rank):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, rank))
    K = Z @ Z.T
    factor = KernelFactor(K.copy())
    assert factor.shape == (40, rank)
    L = factor @ np.eye(rank)
    assert_allclose(L @ L.T, K, atol=1e-9)
    assert_allclose(factor.T @ np.eye(40), L.T)
    V = rng.normal(size=(rank, 2))
    A = factor.coefficients(V)
    assert_allclose(K @ A, L @ V, atol=1e-7)
    assert np.count_nonzero(A.any(axis=1)) == rank


def test_words_of_digits():
    train, test = digit_words(100, 0, slice(0, 900)), digit_words(100, 1, slice(900, None))
    assert KernelChainClassifier().fit(*train).score(*test) > 0.7


def test_bad_parameters():
    for options, message in (
        ({"kernel": "precomputed"}, "'kernel' parameter"),
        ({"transition_scale": 0.0}, "'transition_scale' parameter"),
    ):
        with pytest.raises(ValueError, match=message):
            KernelChainClassifier(**options).fit(X, Y)


def test_few_iterations_warn_with_the_gap():
    with pytest.warns(ConvergenceWarning, match="tol=1e-09"):
        KernelChainClassifier(tol=1e-9, max_iter=2).fit(X, Y)


def test_an_indefinite_kernel_is_refused():
    rows = [np.array([[0.0], [1.0]]), np.array([[2.0], [5.0]])]
    model = KernelChainClassifier(kernel=lambda A, B: -((A - B.T) ** 2))
    with pytest.raises(ValueError, match=r"\bkernel\b"):
        model.fit(rows, [[0, 1], [1, 0]])
