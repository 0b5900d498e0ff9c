"""Starts from a solution at another C."""

import numpy as np
from sklearn.datasets import load_iris

from skscreen import svc_path
from skscreen.svm.solvers.solution import growth


def test_a_hard_margin_is_no_larger_for_a_larger_C():
    caps = np.array([1.0, 2.0])
    assert growth(np.array([0.5, 0.0]), caps, 3.0) == 1.0
    assert growth(np.array([0.5, 2.0]), caps, 3.0) == 3.0
    # A smaller box may cut it off, and squared hinges have no such margin.
    assert growth(np.array([0.5, 0.0]), caps, 0.5) == 0.5
    assert growth(np.array([0.5, 0.0]), np.full(2, np.inf), 3.0) == 3.0


def test_paths_beyond_the_hard_margin_cost_no_step():
    X, y = load_iris(return_X_y=True)
    for intercept in ("free", "penalised"):
        path = svc_path(
            X, y > 0, Cs=[1e3, 1e4, 1e6], kernel="rbf", gamma=0.1, intercept=intercept, tol=3e-9
        )
        assert path.n_iters[0] > 0
        np.testing.assert_array_equal(path.n_iters[1:], 0)
        assert path.dual_gaps.max() <= 1e-6
        np.testing.assert_allclose(path.dual_coefs[2], path.dual_coefs[0])
