import numpy as np
import pytest
from chain_cases import CODES, X, Y, weights_of, with_constants
from chain_reference import log_loss, log_marginals, log_optimum
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from skscreen import ChainCRF
from skscreen.sequence.chains import Chains
from skscreen.sequence.data import check_sequences
from skscreen.sequence.likelihood import LogLoss


@pytest.mark.parametrize(("C", "intercept", "ends"), [(0.3, True, False), (20.0, False, True)])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_conic_solver_and_enumeration(C, intercept, ends, tol):
    lam = 1.0 / (C * len(X))
    whole = with_constants(X, intercept, ends)
    best = log_optimum(whole, CODES, 3, lam)
    model = ChainCRF(C, fit_intercept=intercept, fit_start_end=ends, tol=tol).fit(X, Y)
    w = weights_of(model, intercept, ends)
    assert_allclose(model.objective_, 0.5 * lam * w @ w + log_loss(whole, CODES, 3, w), rtol=1e-10)
    assert model.objective_ * (1.0 - model.dual_gap_) <= best + 1e-8 <= model.objective_ + 2e-8
    assert model.dual_gap_ <= tol
    for found, x in zip(model.predict_marginals(X), whole, strict=True):
        assert_allclose(found, log_marginals(x, 3, w), atol=1e-10)


@pytest.mark.parametrize("size", [1.0, 500.0])
def test_gradient_by_finite_differences(size):
    sequences, rng = check_sequences(X), np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(len(X)))
    codes = np.concatenate(CODES)
    chains = Chains(sequences, codes, 3, shares, np.ones(codes.size), 0.1)
    problem = LogLoss(chains)
    for _ in range(10):
        w = size * rng.normal(size=problem.size)
        gradient = problem.value_and_gradient(w)[1]
        error = check_grad(lambda w: problem.value_and_gradient(w)[0],
                           lambda w: problem.value_and_gradient(w)[1], w,
                           epsilon=1e-7 * size)  # fmt: skip
        assert error < 1e-4 * np.linalg.norm(gradient)


def test_single_labels_are_logistic_regression():
    images, digits = load_digits(n_class=3, return_X_y=True)
    images, digits = images[:120] / 16.0, digits[:120]
    model = ChainCRF(0.5, fit_intercept=False, tol=1e-10)
    model.fit([row[None] for row in images], digits[:, None])
    peer = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8, max_iter=1000)
    peer.fit(images, digits)
    assert_allclose(model.coef_, peer.coef_, atol=2e-4)
    found = np.concatenate(model.predict_marginals([images]))
    assert_allclose(found, peer.predict_proba(images), atol=1e-4)


def test_few_iterations_warn_with_the_gap():
    with pytest.warns(ConvergenceWarning, match=r"duality gap of \d.*e.* > tol=1e-09"):
        ChainCRF(tol=1e-9, max_iter=2).fit(X, Y)
