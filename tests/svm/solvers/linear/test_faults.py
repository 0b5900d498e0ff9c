"""Inputs that linear solvers failed on: each with the optimum of an independent solver."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from cases import every_pair
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from svm_labelled import solve_linear, state_of

from skscreen import ScreenedLinearSVC, ScreenedLinearSVR, ScreenedSVC, ScreenedSVR, svc_path
from skscreen.samples.losses import hinge, squared_hinge
from skscreen.samples.rows import LinearSamples
from skscreen.svm.solvers.linear.coordinate_descent import coordinate_descent
from skscreen.svm.solvers.linear.newton import newton
from tests.optima import Problem


def noisy(n=200, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0.0, 1.0, -1.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("intercept", ["free", "penalised"])
@pytest.mark.parametrize("factor", [1e-3, 10.0, 1e4])
def test_a_start_without_any_loss_is_left(intercept, factor):
    """Newton's method ended at once, at w = 0, where no sample had a loss at the start."""
    X, y = noisy()
    samples = LinearSamples(X, y, 1.0 if intercept == "penalised" else 0.0)
    how = {"free": intercept == "free", "tol": 1e-9}
    cold = solve_linear(samples, squared_hinge(np.full(200, factor)), **how)
    known = solve_linear(samples, squared_hinge(np.ones(200)), **how)
    for start in (factor * known.alpha, 1e6 * known.alpha, np.full(200, 1e3)):
        warm = solve_linear(samples, squared_hinge(np.full(200, factor)), start=start, **how)
        assert warm.converged
        assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=3e-9)
    Cs = [1.0, factor, 30.0 * factor]
    path = svc_path(X, y, Cs=sorted(Cs), kernel="linear", loss="squared_hinge", intercept=intercept)
    assert path.converged.all()


UNEQUAL = {
    "large": [1.0, 1.0, 1e7, 1.0, 5e7],
    "small": [1.0, 1.0, 1e-7, 1.0, 1e-9],
    "both": [1.0, 1e-5, 1e6, 1.0, 1e3],
}


@pytest.mark.few(5)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scales", UNEQUAL.values(), ids=UNEQUAL)
@pytest.mark.parametrize("offset", [0.0, 4.0])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_columns_of_very_unequal_size(scales, offset, form):
    """Where some columns were 1e7 times as large as others fits ended at gaps near 1."""
    Z, y = noisy(150, 5)
    Z, scales = Z + offset, np.array(scales)
    w, b = cp.Variable(5), cp.Variable()
    size = 0.5 * cp.sum_squares(cp.multiply(1.0 / scales, w))
    loss = cp.sum(cp.pos(1.0 - cp.multiply(y, Z @ w + b)))
    best = Problem(cp.Minimize(size + loss)).solve(solver=cp.CLARABEL)
    model = ScreenedSVC(kernel="linear").fit(form(Z * scales), y)
    assert model.objective_ == pytest.approx(best, rel=1e-5)
    assert model.dual_gap_ <= 1e-6
    penalised = ScreenedLinearSVC(loss="hinge").fit(form(Z * scales), y)
    loss = cp.sum(cp.pos(1.0 - cp.multiply(y, Z @ w + b)))
    best = Problem(cp.Minimize(size + 0.5 * cp.square(b) + loss)).solve(solver=cp.CLARABEL)
    assert penalised.objective_ == pytest.approx(best, rel=1e-5)
    targets = Z[:, 0] + 0.1 * Z[:, 3]
    assert ScreenedSVR(kernel="linear").fit(form(Z * scales), targets).dual_gap_ <= 1e-6
    assert ScreenedLinearSVC().fit(form(Z * scales), y).dual_gap_ <= 1e-6


@pytest.mark.parametrize("seed", [394, 598])
def test_columns_of_very_unequal_size_from_any_order_of_samples(seed):
    """Newton's method, begun where coordinate descent got to, ended early for one seed of 200."""
    Z, y = noisy(150, 5)
    X = sparse.csr_array((Z + 4.0) * np.array(UNEQUAL["large"]))
    assert ScreenedLinearSVC(loss="hinge", random_state=seed).fit(X, y).dual_gap_ <= 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_steps_along_columns_of_huge_entries_end_before_the_kinks(seed):
    """With fewer samples in the zones than huge columns steps went too far, back and forth."""
    Z, y = noisy(150, 5)
    samples = LinearSamples(Z * UNEQUAL["large"], y, 0.0)
    state = state_of(samples, hinge(np.ones(150)), free=True)
    coordinate_descent(state, 1e-6, 5, seed=seed)
    before = state.n_iter
    assert newton(state, 1e-6, 1000)
    assert state.n_iter - before < 300


@pytest.mark.few(2)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [1, 2, 4, 8])
def test_a_newton_solve_that_gains_next_to_nothing_ends(seed):
    """Each of 100,000 steps lowered the objective by a share of 1e-8: fits seemed to hang."""
    rng = np.random.default_rng(seed)
    X = 1e6 * rng.normal(size=(1, 3)) + 1e-3 * rng.normal(size=(18, 3))
    y, C = 1e6 * rng.normal(size=18), 10.0 ** (6 * (seed % 3))
    model = ScreenedLinearSVR(
        C, epsilon=0.1, loss="squared_epsilon_insensitive", solver="second-order", tol=1e-12
    )
    model.fit(X, y)
    assert model.n_iter_ < 1500 and np.isfinite(model.coef_).all()


@every_pair(
    apart=[True, False],
    C=[1e4, 1e7, 1e10],
    far=[0.0, 1e3, 1e5],
)
def test_certificates_are_those_of_the_weights_in_extended_precision(far, C, apart):
    """With a large C and data far from zero a gap of 4e-12 was claimed where it was 0.7."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(120) % 2, 1.0, -1.0)
    X = rng.normal(size=(120, 4)) * [1.0, 30.0, 0.1, 5.0] + far
    X[:, 0] += (8.0 if apart else 1.0) * (y > 0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ScreenedSVC(C, kernel="linear").fit(X, y)
    wide = np.longdouble
    w, coefs = model.coef_[0].astype(wide), model.dual_coef_[0].astype(wide)
    short = np.maximum(1.0 - y * (X.astype(wide) @ w + wide(model.intercept_[0])), 0.0)
    primal = w @ w / 2 + wide(C) * short.sum()
    # Where dual variables balance but for rounding errors, the origin of the rows does not matter.
    u = coefs @ (model.support_vectors_.astype(wide) - X.astype(wide).mean(axis=0))
    gap = (primal - np.abs(coefs).sum() + u @ u / 2) / primal
    assert caught or model.objective_ == pytest.approx(float(primal), rel=1e-9)
    assert gap <= model.dual_gap_ + 1e-9
    assert bool(caught) == (model.dual_gap_ > 1e-6)
    if far < 1e5:
        assert not caught


@pytest.mark.parametrize("seed", [np.int64(3), np.int64(2**31 - 2), np.uint8(200)])
def test_a_seed_may_be_an_integer_of_numpy(seed):
    X, y = noisy()
    options = {"kernel": "linear", "solver": "coordinate-descent"}
    found = ScreenedSVC(**options, random_state=seed).fit(X, y)
    expected = ScreenedSVC(**options, random_state=int(seed)).fit(X, y)
    np.testing.assert_array_equal(found.coef_, expected.coef_)


@pytest.mark.parametrize("rows", [lambda X: 1e8 + X, lambda X: 1e30 * X])
def test_sweeps_that_rounding_errors_blind_end_soon(rows):
    """After Newton's method had given up, sweeps went on to their limit of 100,000."""
    X, y = noisy(40, 5)
    # Without a limit of steps the tube is solved in one call, about the mean.
    for model in (ScreenedLinearSVC(loss="hinge"), ScreenedLinearSVR(max_iter=100_000)):
        with pytest.warns(ConvergenceWarning, match="tol=1e-06"):
            model.fit(rows(X), y)
        assert model.n_iter_ < 2000
