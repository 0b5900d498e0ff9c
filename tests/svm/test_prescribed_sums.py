"""Duals whose variables have prescribed sums, against Clarabel and scikit-learn."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import SVR, NuSVC, NuSVR, OneClassSVM
from svm_labelled import KernelSamples, solve_kernel, solve_linear

from skscreen.samples.kernels.gram import Gram, Places
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.losses import SampleLosses
from skscreen.samples.rows import LinearSamples
from skscreen.svm.dual import Dual, Sums, VanishedError
from tests.optima import Problem

RBF = Kernel("rbf", gamma=0.2)


def of_thresholds(thresholds, caps):
    return SampleLosses(np.asarray(thresholds, float), caps, np.zeros(caps.size))


def problem(kind, seed=0, n=60):
    """Rows, whether they stand twice, signs, losses and sums of a problem."""
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(n, 3)), rng.uniform(0.5, 2.0, n)
    if kind == "one class":
        sums = Sums(np.array([0.2 * weights.sum()]))
        return X, False, np.ones(n), of_thresholds(np.zeros(n), weights), sums
    if kind == "sphere":
        # Half of K_ii times the sum, with some that differ.
        thresholds = rng.uniform(1.0, 2.0, n)
        return X, False, np.ones(n), of_thresholds(thresholds, weights), Sums(np.array([5.0]))
    if kind == "two classes":
        y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)
        half = 0.2 * weights.sum()
        sums = Sums(np.array([half, -half]), (y < 0.0).astype(np.int8))
        return X, False, y, of_thresholds(np.zeros(n), weights), sums
    t, half = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n), 0.3 * weights.sum()
    sums = Sums(np.array([half, -half]), np.repeat(np.array([0, 1], np.int8), n))
    losses = of_thresholds(np.concatenate([t, -t]), np.tile(weights, 2))
    return X, True, np.repeat([1.0, -1.0], n), losses, sums


KINDS = ["one class", "sphere", "two classes", "both sides"]


def samples_of(X, twice, y, kernel=RBF, **how):
    gram = Gram(X, kernel, **how)
    return KernelSamples(Places.twice(gram) if twice else gram, y)


def matrix(samples):
    everyone = np.arange(samples.n)
    K = np.empty((samples.n, samples.n))
    samples.gram.block(everyone, everyone, K)
    return K


def optimum(K, box):
    """The largest dual value, by Clarabel."""
    w, V = np.linalg.eigh(K)
    root = V * np.sqrt(np.maximum(w, 0.0))
    beta = cp.Variable(len(K))
    groups = box.group if box.group.size else np.zeros(len(K), np.int8)
    rules = [beta >= box.low, beta <= box.high]
    rules += [cp.sum(beta[groups == k]) == total for k, total in enumerate(box.sums)]
    value = box.target @ beta - 0.5 * cp.sum_squares(root.T @ beta)
    exact = {f"tol_{name}": 1e-11 for name in ("gap_abs", "gap_rel", "feas")}
    Problem(cp.Maximize(value), rules).solve(cp.CLARABEL, **exact)
    return float(value.value)


@pytest.mark.few(9)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_dual_value_is_that_of_clarabel(kind, seed):
    X, twice, y, losses, sums = problem(kind, seed)
    samples, box = samples_of(X, twice, y), Dual.of(losses, y, True, sums)
    found, K = solve_kernel(samples, losses, free=True, sums=sums, tol=1e-9), None
    assert found.converged
    assert found.certificate.relative_gap <= 1e-9
    K, beta = matrix(samples), y * found.alpha
    np.testing.assert_allclose(box.sums_of(beta), sums.totals, rtol=1e-13)
    assert (box.low <= beta).all()
    assert (beta <= box.high).all()
    value = box.target @ beta - 0.5 * beta @ K @ beta
    assert value == pytest.approx(optimum(K, box), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gap_is_that_of_primal_and_dual_values(kind):
    X, twice, y, losses, sums = problem(kind)
    samples, box = samples_of(X, twice, y), Dual.of(losses, y, True, sums)
    K = matrix(samples)
    beta = box.balanced(np.random.default_rng(0).uniform(box.low, box.high))
    view = box.view(beta, K @ beta)

    def primal(b):
        slopes = box.target - K @ beta - box.of_samples(b)
        lost = np.maximum(box.high * slopes, box.low * slopes).sum()
        return 0.5 * beta @ K @ beta + lost, np.sum(b * sums.totals)

    fixed, lifted = primal(view.b)
    dual = box.target @ beta - 0.5 * beta @ K @ beta
    assert view.primal == pytest.approx(fixed, rel=1e-12)
    assert view.dual == pytest.approx(dual, rel=1e-12)
    assert view.gap == pytest.approx(fixed + lifted - dual, rel=1e-10)
    # No other intercepts are better.
    for move in (-1e-3, 1e-3):
        for group in range(sums.totals.size):
            other = np.array(view.b, float)
            other.reshape(-1)[group] += move
            other = other if sums.group.size else float(other)
            assert sum(primal(other)) >= fixed + lifted - 1e-12
    # Scores within errors have no larger gap.
    errors = np.full(y.size, 1e-3)
    largest = box.largest_gap(beta, K @ beta, errors)[0]
    assert largest.gap >= box.largest_gap(beta, K @ beta, 0.0 * errors)[0].gap == view.gap


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_met_by_samples_inside_or_by_slopes(kind):
    *_, y, losses, sums = problem(kind)
    box = Dual.of(losses, y, True, sums)
    for beta in (np.zeros(y.size), y * losses.caps, 0.3 * y * losses.caps):
        for moved in (box.balanced(beta), box.filled(beta, np.arange(y.size, dtype=float))):
            np.testing.assert_allclose(box.sums_of(moved), sums.totals, rtol=1e-14)
            assert (box.low <= moved).all()
            assert (moved <= box.high).all()
    filled = box.filled(np.zeros(y.size), np.arange(y.size, dtype=float))
    inside = (box.low < filled) & (filled < box.high)
    assert np.count_nonzero(inside) <= sums.totals.size


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_tiles_and_a_matrix_have_one_solution(kind):
    X, twice, y, losses, sums = problem(kind, n=2100)
    found = [
        solve_kernel(
            samples_of(X, twice, y, cache_size=size), losses, free=True, sums=sums, tol=1e-7
        )
        for size in (0, 1000)
    ]
    assert all(each.converged for each in found)
    apart = y * (found[0].alpha - found[1].alpha)
    square = float(apart @ matrix(samples_of(X, twice, y)) @ apart)
    # |w - w*|^2 is at most the gap of either.
    gaps = [each.certificate.gap for each in found]
    assert square <= (np.sqrt(gaps[0]) + np.sqrt(gaps[1])) ** 2 * (1.0 + 1e-6)


def test_solutions_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    X, how = rng.normal(size=(150, 4)), {"gamma": 0.2, "tol": 1e-9}
    n, one = 150, np.ones(150)

    def solved(twice, y, losses, sums):
        return solve_kernel(
            samples_of(X, twice, y), losses, free=True, sums=sums, tol=1e-10
        )  # fmt: skip

    found = solved(False, one, of_thresholds(0.0 * one, one), Sums(np.array([0.1 * n])))
    known = OneClassSVM(nu=0.1, **how).fit(X)
    np.testing.assert_allclose(found.margins + found.b, known.decision_function(X), atol=1e-6)

    y = np.where(X[:, 0] > 0.3 * rng.normal(size=n), 1.0, -1.0)
    sums = Sums(np.array([0.15 * n, -0.15 * n]), (y < 0.0).astype(np.int8))
    found = solved(False, y, of_thresholds(0.0 * one, one), sums)
    rho, b = 0.5 * (found.b[1] - found.b[0]), 0.5 * found.b.sum()
    known = NuSVC(nu=0.3, **how).fit(X, y)
    np.testing.assert_allclose((y * found.margins + b) / rho, known.decision_function(X), atol=1e-5)

    t = X @ rng.normal(size=4) + 0.1 * rng.normal(size=n)
    sums = Sums(np.array([0.2 * n, -0.2 * n]), np.repeat(np.array([0, 1], np.int8), n))
    losses = of_thresholds(np.concatenate([t, -t]), np.ones(2 * n))
    found = solved(True, np.repeat([1.0, -1.0], n), losses, sums)
    epsilon, b = 0.5 * (found.b[0] - found.b[1]), 0.5 * found.b.sum()
    known = NuSVR(nu=0.4, **how).fit(X, t)
    np.testing.assert_allclose(found.margins[:n] + b, known.predict(X), atol=1e-6)
    known = SVR(epsilon=epsilon, **how).fit(X, t)
    np.testing.assert_allclose(found.margins[:n] + b, known.predict(X), atol=1e-4)


@pytest.mark.few(2)
@pytest.mark.parametrize("scale", [1.0, 1e-4])
@pytest.mark.parametrize("solver", ["auto", "coordinate-descent", "second-order"])
def test_rows_with_a_sum_have_the_solution_of_their_kernel(solver, scale):
    X, _, y, losses, sums = problem("one class", n=200)
    X = scale * (X + 2.0)
    found = solve_linear(
        LinearSamples(X, y), losses, free=True, total=float(sums.totals[0]), tol=1e-9,
        solver=solver,
    )  # fmt: skip
    assert found.converged
    box, K = Dual.of(losses, y, True, sums), X @ X.T
    assert found.alpha.sum() == pytest.approx(sums.totals[0], rel=1e-13)
    assert -0.5 * found.w @ found.w == pytest.approx(
        optimum(K / scale**2, box) * scale**2, rel=1e-7
    )
    view = box.view(found.alpha, X @ found.w)
    assert found.b == pytest.approx(view.b, rel=1e-9)


def test_a_solution_of_zero_is_refused_early():
    rng = np.random.default_rng(0)
    X, one = rng.normal(size=(200, 2)), np.ones(200)
    losses, sums = of_thresholds(0.0 * one, one), Sums(np.array([20.0]))
    with pytest.raises(VanishedError):
        solve_linear(LinearSamples(X, one), losses, free=True, total=20.0)
    with pytest.raises(VanishedError):
        solve_kernel(samples_of(X, False, one, Kernel("linear")), losses, free=True, sums=sums)
    # Rows of both classes.
    X = np.concatenate([X[:100], X[:100]])
    y = np.repeat([1.0, -1.0], 100)
    sums = Sums(np.array([10.0, -10.0]), (y < 0.0).astype(np.int8))
    with pytest.raises(VanishedError):
        solve_kernel(samples_of(X, False, y), losses, free=True, sums=sums)
