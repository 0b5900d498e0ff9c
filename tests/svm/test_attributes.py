"""`objective_` and `dual_gap_` are those of the attributes users hold, in extended precision."""

import numpy as np
import pytest
from cases import every_pair
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import scale

from skscreen import ScreenedSVC, ScreenedSVR

BIG = np.longdouble


def certificate(model, X, y):
    """Return the primal value, and the gap as a sum of slacknesses and |w - u|^2 / 2."""
    X, y, C = X.astype(BIG), y.astype(BIG), BIG(model.C)
    beta, b = np.zeros(len(y), BIG), BIG(model.intercept_[0])
    beta[model.support_] = np.ravel(model.dual_coef_)
    B = BIG(model.intercept_scaling)
    # A free intercept has no length, and no dual variables that it could be apart from.
    penalised = model.intercept == "penalised"
    square, apart = (b / B) ** 2 * penalised, (b / B - B * beta.sum()) ** 2 * penalised
    if hasattr(model, "coef_"):
        w = np.ravel(model.coef_).astype(BIG)
        scores, square = X @ w, square + w @ w
        apart += ((w - X.T @ beta) ** 2).sum()
    else:
        X = X - X.mean(axis=0)
        squares = (X**2).sum(axis=1)
        K = np.exp(-BIG(model.gamma_) * (squares[:, None] + squares - 2 * X @ X.T))
        scores = K @ beta
        square += beta @ scores
    sides = [(y * beta, 1 - y * (scores + b))]
    if hasattr(model, "epsilon"):
        rest, epsilon = y - scores - b, BIG(model.epsilon)
        sides = [(np.maximum(beta, 0), rest - epsilon), (np.maximum(-beta, 0), -rest - epsilon)]
    loss = gap = BIG(0)
    for alpha, short in sides:
        lost = np.maximum(short, 0)
        if "squared" in model.loss:
            loss += C * (lost**2).sum()
            gap += (C * (lost - alpha / (2 * C)) ** 2 + alpha * np.maximum(-short, 0)).sum()
        else:
            assert alpha.max() <= C
            loss += C * lost.sum()
            gap += np.maximum((C - alpha) * short, -alpha * short).sum()
    return square / 2 + loss, gap + apart / 2


def check(model, X, y):
    primal, gap = certificate(model, X, y)
    assert abs(model.objective_ - primal) <= 1e-9 * primal
    assert gap <= (model.dual_gap_ * (1 + 1e-6) + 1e-11) * primal
    assert model.dual_gap_ <= model.tol


@pytest.mark.slow
@every_pair(
    squared=[False, True],
    kernel=["linear", "rbf"],
    intercept=["free", "penalised"],
    C=[0.01, 1.0, 1e3],
    far=[0.0, 1e3],
)
def test_the_certificate_is_that_of_the_attributes(kernel, intercept, squared, C, far):
    options = {"kernel": kernel, "intercept": intercept, "random_state": 0}
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X)[:200] + far, 2.0 * y[:200] - 1.0
    loss = "squared_hinge" if squared else "hinge"
    check(ScreenedSVC(C, loss=loss, **options).fit(X, y), X, y)
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X)[:200] + far, scale(y)[:200]
    loss = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
    check(ScreenedSVR(C, loss=loss, **options).fit(X, y), X, y)


@pytest.mark.parametrize("squared", [False, True])
def test_the_certificate_of_linear_machines(squared):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X), 2.0 * y - 1.0
    # Machines that keep their dual variables, with the solver and the problem of the linear ones.
    options = {"kernel": "linear", "intercept": "penalised", "random_state": 0}
    model = ScreenedSVC(loss="squared_hinge" if squared else "hinge", **options)
    check(model.fit(X, y), X, y)
    loss = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
    check(ScreenedSVR(loss=loss, epsilon=0.1, **options).fit(X, y), X, y)
