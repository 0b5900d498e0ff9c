"""`ScreenedLinearSVR` against `LinearSVR`."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVR

from skscreen import ScreenedLinearSVR, ScreenedSVR

X, y = load_diabetes(return_X_y=True)
X, y = scale(X)[:150], scale(y)[:150]


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize(
    "options",
    [{}, {"epsilon": 0.3, "C": 5.0}, {"fit_intercept": False}, {"intercept_scaling": 3.0}],
    ids=str,
)
def test_solutions_of_linear_svr(loss, options):
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.5], y.size)
    peer = LinearSVR(loss=loss, tol=1e-9, max_iter=10**6, random_state=0, **options)
    peer.fit(X, y, weights)
    for data in (X, sparse.csr_array(X)):
        model = ScreenedLinearSVR(loss=loss, tol=1e-9, **options).fit(data, y, weights)
        assert model.coef_.shape == (X.shape[1],) and model.intercept_.shape == (1,)
        assert isinstance(model.coef_, np.ndarray) and isinstance(model.n_iter_, int)
        assert model.dual_gap_ <= 1e-9
        assert_allclose(model.predict(data), peer.predict(X), atol=2e-3)
    same = ScreenedSVR(kernel="linear", intercept="penalised", loss=loss, tol=1e-9)
    same.set_params(**{"epsilon": 0.0, **options}).fit(X, y, weights)
    assert_allclose(model.coef_, same.coef_[0], atol=1e-5)


@pytest.mark.parametrize("shape", [(5, 1), (700, 17), (1300, 2)])
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_narrow_rows_have_the_optimum_of_sparse_ones(shape, epsilon):
    """One compiled call for the former, coordinate descent and Newton's method for the latter."""
    random = np.random.default_rng(0)
    rows, weights = random.normal(size=shape), random.choice([0.3, 2.0], shape[0])
    targets = rows.sum(axis=1) + random.laplace(size=shape[0])
    model = ScreenedLinearSVR(C=2.0, epsilon=epsilon, tol=1e-9).fit(rows, targets, weights)
    peer = ScreenedLinearSVR(C=2.0, epsilon=epsilon, tol=1e-9, solver="second-order")
    peer.fit(sparse.csr_array(rows), targets, weights)
    w, b = model.coef_, model.intercept_[0]
    losses = np.maximum(np.abs(targets - rows @ w - b) - epsilon, 0.0)
    assert_allclose(model.objective_, 0.5 * (w @ w + b * b) + 2.0 * weights @ losses, rtol=1e-12)
    assert_allclose(model.objective_, peer.objective_, rtol=1e-8)
    assert model.dual_gap_ <= 1e-9


def test_parameters_are_those_of_linear_svr():
    theirs, ours = LinearSVR().get_params(), ScreenedLinearSVR().get_params()
    assert set(theirs) <= set(ours)
    assert all(ours[name] == theirs[name] for name in set(theirs) - {"tol", "max_iter"})


# Errors in the last digits of targets, and a tube that holds all of them.
EXTREMES = [(np.array([1e-310, 1.0, -1.0, 3e-309]), 0.0), (np.array([1.0, -2.0, 0.5, 1.0]), 1e300)]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("targets, epsilon", EXTREMES)
def test_targets_and_tubes_of_extreme_size(targets, epsilon, loss):
    rows = X[:4, :2]
    for model in (ScreenedLinearSVR, ScreenedSVR):
        found = model(epsilon=epsilon, loss=loss).fit(rows, targets)
        assert 0.0 <= found.dual_gap_ <= 1e-6
        assert np.isfinite(found.predict(rows)).all()


def test_targets_whose_inverse_overflows():
    X = np.random.default_rng(0).normal(size=(14, 5))
    y = 1e-310 * X[:, 0]
    for C in (1.0, 1e30):
        model = ScreenedLinearSVR(C=C, epsilon=0.0).fit(sparse.csr_array(X), y)
        assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("seed", range(4))
def test_weights_that_miss_the_tolerance_by_rounding_are_told(seed):
    """The gap of dual variables was 0, that of weights made of them 1e-16."""
    rng = np.random.default_rng(seed)
    rows, targets = rng.normal(size=(4, 1)), rng.normal(size=4)
    model = ScreenedLinearSVR(epsilon=0.1, intercept_scaling=1e-8, tol=1e-300, max_iter=1000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows, targets)
    told = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    assert told == (model.dual_gap_ > 1e-300)
    assert model.dual_gap_ < 1e-12


def test_targets_beyond_single_precision():
    rows = X[:40, :3]
    targets = 1e39 * (rows.sum(axis=1) + y[:40])
    model = ScreenedLinearSVR(loss="squared_epsilon_insensitive", solver="second-order", epsilon=0)
    model.fit(rows, targets)
    Z = np.column_stack([rows, np.ones(40)])
    exact = np.linalg.solve(2.0 * Z.T @ Z + np.eye(4), 2.0 * Z.T @ targets)
    assert_allclose([*model.coef_, *np.ravel(model.intercept_)], exact, rtol=1e-5)
