"""All classes of few narrow rows in one compiled call: solutions, certificates, other roads."""

import warnings
from fractions import Fraction

import cvxpy as cp
import numpy as np
import optima
import pytest
from cases import every_pair
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.svm import LinearSVC

from skscreen import ScreenedLinearSVC, ScreenedLinearSVR
from skscreen._compiled import svm as loops
from skscreen.svm.problem import build

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 5)) * np.array([3.0, 1.0, 1.0, 0.3, 0.0]) + np.arange(5.0)
SCORES = X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=120)
WEIGHTS = RNG.uniform(0.0, 2.0, 120) * (RNG.random(120) < 0.9)
LABELS = {2: (SCORES > 1.0).astype(int), 3: np.digitize(SCORES, [0.0, 3.0])}


@every_pair(C=[1e-4, 1.0, 1e4, 1e8], classes=[2, 3], scaling=[1.0, 10.0])
def test_certificates_are_true(C, classes, scaling):
    y = LABELS[classes]
    model = ScreenedLinearSVC(C, intercept_scaling=scaling, tol=1e-6)
    assert build(model, X, y, WEIGHTS).road.solver == "rows at once"
    model.fit(X, y, WEIGHTS)
    assert model.dual_gap_ <= 1e-6
    wide = np.longdouble
    Z = np.column_stack([X, np.full(120, scaling)]).astype(wide)
    kinds = [1] if classes == 2 else [0, 1, 2]
    for k, kind in enumerate(kinds):
        signs = np.where(y == kind, 1.0, -1.0)
        w = np.append(model.coef_[k], model.intercept_[k] / scaling).astype(wide)
        short = np.maximum(1.0 - signs * (Z @ w), 0.0)
        primal = 0.5 * w @ w + C * (WEIGHTS * short**2).sum()
        alpha = 2.0 * C * WEIGHTS * short
        u = (signs * alpha) @ Z
        bound = alpha.sum() - 0.25 * (alpha * short).sum() - 0.5 * u @ u
        assert (primal - bound) / primal <= model.dual_gap_ + 1e-16
        assert_allclose(np.atleast_1d(model.objective_)[k], float(primal), rtol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_decisions_are_those_of_scikit_learn(classes):
    y = LABELS[classes]
    peer = LinearSVC(tol=1e-10, max_iter=100_000).fit(X, y)
    for data in (X, X.astype(np.float32), sparse.csr_array(X), X.tolist()):
        model = ScreenedLinearSVC().fit(data, y)
        assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-5)
    assert_array_equal(model.predict(X), peer.predict(X))
    plain = ScreenedLinearSVC(fit_intercept=False).fit(X, y)
    assert_array_equal(plain.intercept_, 0.0)


def test_other_solvers_find_the_same():
    model = ScreenedLinearSVC(10.0).fit(X, LABELS[3])
    for solver in ("coordinate-descent", "second-order"):
        other = ScreenedLinearSVC(10.0, solver=solver, tol=1e-9).fit(X, LABELS[3])
        assert_allclose(model.coef_, other.coef_, atol=1e-6)
        assert_allclose(model.objective_, other.objective_, rtol=1e-9)


@every_pair(C=[1e-3, 1.0, 1e3], epsilon=[0.0, 0.5], tol=[1e-3, 1e-8], scaling=[1.0, 10.0])
def test_certificates_of_tubes_are_true(C, epsilon, tol, scaling):
    model = ScreenedLinearSVR(C, epsilon=epsilon, tol=tol, intercept_scaling=scaling)
    assert build(model, X, SCORES, WEIGHTS).road.solver == "rows at once"
    model.fit(X, SCORES, WEIGHTS)
    assert model.dual_gap_ <= tol
    w, b = model.coef_, model.intercept_[0]
    losses = np.maximum(np.abs(SCORES - X @ w - b) - epsilon, 0.0)
    primal = 0.5 * (w @ w + (b / scaling) ** 2) + C * WEIGHTS @ losses
    assert_allclose(model.objective_, primal, rtol=1e-12)
    other = ScreenedLinearSVR(C, epsilon=epsilon, tol=1e-9, intercept_scaling=scaling)
    other.set_params(solver="second-order").fit(X, SCORES, WEIGHTS)
    assert other.objective_ * (1.0 - 2e-9) <= primal <= other.objective_ * (1.0 + 2.0 * tol)


@every_pair(C=[1e-3, 1.0, 1e3, 1e7], epsilon=[0.0, 0.5], tol=[1e-3, 1e-8], scaling=[1.0, 10.0])
def test_certificates_of_squared_tubes_are_true(C, epsilon, tol, scaling):
    loss = "squared_epsilon_insensitive"
    model = ScreenedLinearSVR(C, epsilon=epsilon, loss=loss, tol=tol, intercept_scaling=scaling)
    assert build(model, X, SCORES, WEIGHTS).road.solver == "rows at once"
    model.fit(X, SCORES, WEIGHTS)
    assert model.dual_gap_ <= tol
    wide = np.longdouble
    Z = np.column_stack([X, np.full(120, scaling)]).astype(wide)
    w = np.append(model.coef_, model.intercept_[0] / scaling).astype(wide)
    residuals = SCORES - Z @ w
    short = np.maximum(np.abs(residuals) - epsilon, 0.0)
    primal = 0.5 * w @ w + C * (WEIGHTS * short**2).sum()
    beta = 2.0 * C * WEIGHTS * short * np.sign(residuals)
    u = beta @ Z
    bound = beta @ SCORES - np.abs(beta).sum() * epsilon - 0.25 * np.abs(beta) @ short - 0.5 * u @ u
    assert (primal - bound) / primal <= model.dual_gap_ + 1e-16
    assert_allclose(model.objective_, float(primal), rtol=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_squared_tubes_have_all_digits_at_any_tol(epsilon):
    loss = "squared_epsilon_insensitive"
    model = ScreenedLinearSVR(epsilon=epsilon, loss=loss, tol=1e-3).fit(X, SCORES)
    w, Z = np.append(model.coef_, model.intercept_), np.column_stack([X, np.ones(120)])
    residuals = SCORES - Z @ w
    slopes = 2.0 * np.sign(residuals) * np.maximum(np.abs(residuals) - epsilon, 0.0)
    assert_allclose(w, Z.T @ slopes, rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_tubes_that_hold_all_targets(loss):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y, epsilon in ((SCORES, 1e3), (np.zeros(120), 0.0), (np.zeros(120), 1.0)):
            model = ScreenedLinearSVR(epsilon=epsilon, loss=loss).fit(X, y)
            assert_allclose(model.coef_, 0.0, atol=1e-12)
            assert_allclose(model.predict(X), 0.0, atol=1e-12)


exact = np.vectorize(Fraction, otypes=[object])
FAR = np.random.default_rng(1).normal(size=(40, 5))
KINDS = {
    "squared_hinge": (ScreenedLinearSVC, lambda short: cp.square(cp.pos(short))),
    "epsilon_insensitive": (ScreenedLinearSVR, lambda rest: cp.pos(cp.abs(rest) - 0.1)),
    "squared_epsilon_insensitive": (
        ScreenedLinearSVR, lambda rest: cp.square(cp.pos(cp.abs(rest) - 0.1))
    ),
}  # fmt: skip


def optimum_about_mean(Z, y, loss, signs):
    """Return the least objective, with the weight along the mean row in units of its score."""
    mean = Z.mean(axis=0)
    length = np.linalg.norm(mean)
    along = mean / length
    apart = Z - mean
    shares = 1.0 + apart @ along / length
    apart -= np.outer(apart @ along, along)
    w, of_mean = cp.Variable(Z.shape[1]), cp.Variable()
    scores = apart @ w + shares * of_mean
    rest = y - scores if signs is None else 1.0 - cp.multiply(signs, scores)
    squares = cp.sum_squares(w) + cp.square(of_mean / length)
    aim = 0.5 * squares + cp.sum(KINDS[loss][1](rest))
    tols = {f"tol_{name}": 1e-11 for name in ("gap_abs", "gap_rel", "feas")}
    return optima.Problem(cp.Minimize(aim)).solve(solver=cp.CLARABEL, **tols)


@every_pair(loss=list(KINDS), n_features=[2, 5], noise=[0.0, 1.0], far=[1e6, 1e8, -1e9],
            intercept=[True, False], dtype=[np.float64, np.float32])  # fmt: skip
def test_rows_that_vary_by_little_next_to_their_means(
    loss, n_features, noise, far, intercept, dtype
):
    Z, more = FAR[:, :n_features] * (1.0 if dtype is np.float64 else 100.0), {}
    shown = (Z + far).astype(dtype)
    y = FAR[:, 0] + noise * np.random.default_rng(2).normal(size=40)
    signs = None
    if loss == "squared_hinge":
        signs = np.where(y > 0.0, 1.0, -1.0)
    else:
        more["epsilon"] = 0.1
    model = KINDS[loss][0](loss=loss, fit_intercept=intercept, **more)
    given = y if signs is None else signs
    (found,) = build(model, shown, given).solve_at_once(1.0, 1e-6)
    assert found.converged
    model.fit(shown, given)
    assert model.dual_gap_ <= 1e-6
    assert model.n_iter_ == found.n_iter
    w, b = np.ravel(model.coef_), np.ravel(model.intercept_)[0]
    f = (exact(shown.astype(float)) @ exact(w) + Fraction(b)).astype(float)
    losses = KINDS[loss][1](cp.Constant(1.0 - signs * f if signs is not None else y - f)).value
    primal = 0.5 * (w @ w + b * b) + losses.sum()
    assert_allclose(model.objective_, primal, rtol=1e-9)
    Z = np.column_stack([shown, np.ones((40, int(intercept)))])
    least = optimum_about_mean(Z.astype(float), y, loss, signs)
    assert least * (1.0 - 1e-8) <= primal <= least / (1.0 - model.dual_gap_) + 1e-8 * least


def test_a_gap_above_the_tolerance_is_that_of_the_weights():
    rng = np.random.default_rng(1)
    columns = np.ascontiguousarray(rng.normal(size=(20, 200)))
    y = columns[1] + 0.1 * rng.normal(size=200)
    columns[0] += 4.5e8
    thresholds, caps = np.concatenate([y, -y]), np.ones(200)
    w, beta, found = np.empty(20), np.empty(400), np.empty(3)
    loops.solve_tube(columns, thresholds, caps, 0.0, w, beta, found)
    assert (np.abs(beta) <= 1.0).all()
    w, beta = exact(w), exact(beta)
    signed, Z = beta[:200] + beta[200:], exact(columns)
    u, wide = Z @ signed, exact(y)
    gap = w @ w / 2 + np.abs(wide - w @ Z).sum() - wide @ signed + u @ u / 2
    assert 0 <= gap <= found[1]
