"""Regressions without a tube and with a large C: an interior point, whatever the kernel is like."""

import warnings

import numpy as np
import pytest

from skscreen import ScreenedSVR, svr_path
from skscreen.svm.solvers.kernel.interior import interior_point


def problem(n, d, gamma):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    K = np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))
    return X, K, np.sin(X).sum(axis=1)


def gap(K, y, C, beta, b):
    """The relative gap of the problem in one variable for each sample."""
    f = K @ beta
    rest = y - f - b
    primal = 0.5 * beta @ f + C @ np.abs(rest)
    return (primal - (y @ beta - 0.5 * beta @ f)) / primal


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
def test_points_are_optimal_and_inside(free, C):
    _, K, y = problem(120, 3, 1.0)
    caps = C * np.random.default_rng(1).uniform(0.5, 2.0, y.size)
    beta, steps = interior_point(K, y, caps, free, 1e-7)
    assert np.all(np.abs(beta) <= caps) and 0 < steps < 30
    assert not free or abs(beta.sum()) < 1e-8 * caps.sum()
    # The best intercept leaves as much weight above as below.
    rest = y - K @ beta
    b = min(rest, key=lambda b: caps @ np.abs(rest - b)) if free else 0.0
    assert gap(K, y, caps, beta, b) < 2e-7


@pytest.mark.parametrize("intercept", ["free", "penalised"])
@pytest.mark.parametrize(("d", "gamma"), [(5, 1.0), (2, 1.0)])
def test_noiseless_targets_with_a_large_C(d, gamma, intercept):
    X, K, y = problem(300, d, gamma)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ScreenedSVR(C=1e4, epsilon=0.0, gamma=gamma, tol=1e-3, intercept=intercept).fit(
            X, y
        )
    assert model.dual_gap_ <= 1e-3 and model.n_iter_ < 100
    beta = np.zeros(y.size)
    beta[model.support_] = model.dual_coef_.ravel()
    values = K + (intercept == "penalised")
    b = model.intercept_[0] if intercept == "free" else 0.0
    assert gap(values, y, np.full(y.size, 1e4), beta, b) <= 1.01 * model.dual_gap_
    assert np.abs(model.predict(X) - y).max() < 1e-3


def test_small_boxes_are_left_to_working_sets():
    X, _, y = problem(300, 3, 1.0)
    one, other = (ScreenedSVR(C=1.0, epsilon=epsilon, gamma=1.0).fit(X, y) for epsilon in (0, 1e-9))
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-5)


def test_a_path_keeps_no_margins_of_the_start_that_the_interior_point_replaces():
    X, _, y = problem(40, 2, 1.0)
    Cs = [30.0, 300.0, 3e3]
    path = svr_path(X, y, Cs=Cs, epsilon=0.0, gamma=1.0, intercept="penalised")
    for C, objective in zip(Cs, path.objectives, strict=True):
        single = ScreenedSVR(C=C, epsilon=0.0, gamma=1.0, intercept="penalised").fit(X, y)
        assert objective == pytest.approx(single.objective_, rel=2e-6)
    assert path.dual_gaps.max() <= 1e-6
