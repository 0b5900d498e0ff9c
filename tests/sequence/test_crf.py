import warnings

import numpy as np
import pytest
from chain_cases import CODES, X, Y, weights_of, with_constants
from chain_reference import log_loss, log_marginals, log_optimum
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from skscreen import ChainCRF, KernelChainClassifier
from skscreen.fitting.callbacks import CallbackSupportMixin
from skscreen.sequence.chains import Chains
from skscreen.sequence.data import read_samples
from skscreen.sequence.likelihood import LogLoss
from tests.awkward_data import UNEVEN


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
    sequences, rng = read_samples(ChainCRF(), X, reset=True), np.random.default_rng(0)
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
    with pytest.warns(ConvergenceWarning, match="tol=1e-09"):
        ChainCRF(tol=1e-9, max_iter=2).fit(X, Y)


@pytest.mark.few(11)
@pytest.mark.parametrize("make", UNEVEN.values(), ids=UNEVEN)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_columns_of_very_unequal_scale_are_solved(make, container, tol):
    rng = np.random.default_rng(0)
    y = [rng.integers(2, size=20) for _ in range(30)]
    plain = [np.c_[b + rng.normal(scale=0.4, size=20), rng.normal(size=20)] for b in y]
    X = [make(x) for x in plain]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = ChainCRF(tol=tol).fit([container(x) for x in X], y)
    assert model.dual_gap_ <= tol
    assert model.score(X, y) == pytest.approx(ChainCRF().fit(plain, y).score(plain, y), abs=0.02)
    # The certificate is that of the weights, in more digits.
    W, b, E = (part.astype(np.longdouble) for part in
               (model.coef_, model.intercept_, model.transition_))  # fmt: skip
    loss = np.longdouble(0.0)
    for x, labels in zip(X, y, strict=True):
        U = x.astype(np.longdouble) @ W.T + b
        sums = U[0]
        for t in range(1, len(x)):
            sums = U[t] + np.logaddexp.reduce(sums[:, None] + E, axis=0)
        loss += np.logaddexp.reduce(sums) - U[np.arange(20), labels].sum()
        loss -= E[labels[:-1], labels[1:]].sum()
    value = loss / 30 + sum((part**2).sum() for part in (W, b, E)) / (2.0 * 30)
    assert abs(value - model.objective_) <= 1e-8 * model.objective_


@pytest.mark.parametrize("kind", [ChainCRF, KernelChainClassifier])
def test_progress_history_and_callbacks(kind, capsys):
    model = kind(verbose=1).fit(X, Y)
    assert "100% gap=" in capsys.readouterr().err
    history = model.history_
    assert history.dtype.names == ("iteration", "seconds", "primal", "dual", "gap")
    assert history["iteration"].tolist() == [*range(model.n_iter_ + 1)]
    assert history["gap"][-1] == model.dual_gap_ and history["primal"][-1] == model.objective_
    assert np.all(np.diff(history["gap"]) <= 0.0) and np.all(np.diff(history["dual"]) >= 0.0)
    assert hasattr(model, "set_callbacks") == hasattr(CallbackSupportMixin, "set_callbacks")
