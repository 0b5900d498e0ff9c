"""Optima of lam/2 |w|^2 + mean hinge loss by a conic solver; shares nothing with us."""

import cvxpy as cp
import numpy as np

from tests.optima import Problem

TIGHT = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def optimum(X, signs, lam, free, weights=None):
    """Smallest value of lam/2 |w|^2 + sum_i u_i (1 - y_i (<w, x_i> + b))_+ with u = s / sum s."""
    n, d = X.shape
    caps = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    w, b = cp.Variable(d), cp.Variable()
    scores = X @ w + b if free else X @ w
    losses = cp.pos(1.0 - cp.multiply(signs, scores))
    problem = Problem(cp.Minimize(0.5 * lam * cp.sum_squares(w) + caps @ losses))
    return problem.solve(**TIGHT)


def objective(X, signs, lam, w, b, weights=None):
    """The same function at a point."""
    losses = np.maximum(1.0 - signs * (X @ w + b), 0.0)
    return 0.5 * lam * w @ w + np.average(losses, weights=weights)
