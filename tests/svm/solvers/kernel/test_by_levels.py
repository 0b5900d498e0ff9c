"""Solves by levels and working sets, on problems small enough for other solvers."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import skscreen.samples.gram
import skscreen.samples.kernel
from skscreen import ScreenedSVC, svc_path
from skscreen.core import threads
from skscreen.samples.gram import Gram
from skscreen.samples.kernel_samples import KernelSamples
from skscreen.samples.losses import hinge
from skscreen.svm.solvers.kernel import levels, working_set
from skscreen.svm.solvers.kernel.by_levels import solve_by_levels
from skscreen.svm.solvers.kernel.solve import solve_kernel
from tests.svm_reference import free_gap, free_optimum, gap, optimum


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Levels and sets of tens of samples."""
    monkeypatch.setattr(skscreen.samples.gram, "BY_BLOCKS", 0)
    monkeypatch.setattr(levels, "LEVELS", (30, 90))
    monkeypatch.setattr(levels, "_NEAR", 100)
    monkeypatch.setattr(levels, "_LEAST", 40)
    monkeypatch.setattr(working_set, "LARGEST", 150)


def data(kind, n=220):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    if kind == "cancer":
        X, y = load_breast_cancer(return_X_y=True)
        X, y = ((X - X.mean(0)) / X.std(0))[:n], np.where(y[:n], 1.0, -1.0)
    elif kind == "repeated":
        X = X[rng.integers(0, 40, n)]
    elif kind == "on a line":
        X = np.outer(X[:, 0], [1.0, 2.0])
    elif kind == "separable":
        y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    elif kind == "outliers":
        X[[3, 70]] *= 1e6
    return X, y


KINDS = ("plain", "cancer", "repeated", "on a line", "separable", "outliers")


def extended_gap(X, y, C, model, bias):
    """The relative gap of the problem whose kernel values have no rounding errors."""
    beta = np.zeros(y.size, np.longdouble)
    beta[model.support_] = model.dual_coef_[0]
    X = X.astype(np.longdouble)
    squares = np.stack([((X - x) ** 2).sum(axis=1) for x in X])
    f = (np.exp(-squares * np.longdouble(0.3)) + bias**2) @ beta
    b = 0.0 if bias else np.longdouble(model.intercept_[0])
    short = 1.0 - y * (f + b)
    parts = C * np.maximum(short, 0.0) - y * beta * short
    assert np.all((y * beta >= 0.0) & (y * beta <= C))
    return float(parts.sum() / (0.5 * beta @ f + C @ np.maximum(short, 0.0))), float(beta.sum())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("mode", ["free", "penalised", "none"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 300.0, 1e6])
def test_gap_is_no_larger_than_said(kind, mode, C):
    X, y = data(kind)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], size=y.size)
    bias = 2.0 * (mode == "penalised")
    how = {"fit_intercept": False} if mode == "none" else {"intercept": mode}
    for tol in (1e-2, 1e-7):
        model = ScreenedSVC(C, kernel="rbf", gamma=0.3, intercept_scaling=2.0, tol=tol, **how)
        model.fit(X, y, weights)
        true, total = extended_gap(X, y, C * weights, model, bias)
        if mode == "free":
            assert abs(total) <= 1e-12 * np.abs(model.dual_coef_).sum()
        assert true <= model.dual_gap_
        assert model.dual_gap_ <= tol or C > 1e5


@pytest.mark.parametrize("kernel", ["rbf", "poly", "callable", "precomputed"])
@pytest.mark.parametrize("free", [False, True])
def test_optimum_is_that_of_clarabel(kernel, free):
    X, y = data("cancer")
    settings = {"gamma": 0.05, "degree": 2, "coef0": 1.0}
    if kernel == "callable":
        gram = Gram(X, lambda A, B: (0.05 * A @ B.T + 1.0) ** 2, cache_size=1e-6)
    elif kernel == "precomputed":
        gram = Gram((0.05 * X @ X.T + 1.0) ** 2, kernel, cache_size=1e-6)
    else:
        gram = Gram(X, kernel, once=True, **settings)
    assert gram.blocks is not None
    problem, C = KernelSamples(gram, y), np.full(y.size, 3.0)
    solution, _ = solve_by_levels(
        problem, hinge(C), y if free else None, None, None, np.zeros(y.size, np.int8), 1e-9, None
    )
    assert solution.converged
    Q = problem.block(np.arange(y.size), np.arange(y.size))
    if free:
        alpha = free_optimum(Q, C, y)[0]
        best = alpha.sum() - 0.5 * alpha @ Q @ alpha + free_gap(Q, C, y, alpha)
    else:
        alpha = optimum(Q, C)
        best = alpha.sum() - 0.5 * alpha @ Q @ alpha + gap(Q, C, alpha)
    assert solution.certificate.primal == pytest.approx(best, rel=3e-9)


def test_decisions_take_samples_out_and_wrong_ones_are_taken_back():
    X, y = data("plain")
    problem, C = KernelSamples(Gram(X, gamma=0.3, once=True), y), np.ones(y.size)
    free = solve_kernel(problem, C, tol=1e-8, intercept="free")
    shown = free.margins + free.b * y
    codes = np.where(shown > 1.01, 1, np.where(shown < 0.99, 2, 0)).astype(np.int8)
    found = solve_kernel(problem, C, fixed=codes, tol=1e-8, intercept="free")
    assert found.certificate.primal == pytest.approx(free.certificate.primal, rel=1e-7)
    assert not found.history
    wrong = codes.copy()
    wrong[np.flatnonzero(codes == 2)[:5]] = 1
    found = solve_kernel(problem, C, fixed=wrong, tol=1e-8, intercept="free")
    assert found.converged
    assert found.certificate.primal == pytest.approx(free.certificate.primal, rel=1e-7)
    assert [event.where for event in found.history] == ["repair"]


def test_a_good_start_takes_few_steps():
    X, y = data("plain")
    problem, C = KernelSamples(Gram(X, gamma=0.3, once=True), y, bias=1.0), np.ones(y.size)
    cold = solve_kernel(problem, C, tol=1e-6)
    for margins in (problem.q_dot(cold.alpha), None):
        warm = solve_kernel(problem, C, start=cold.alpha, margins=margins, tol=1e-6)
        assert warm.n_iter <= 2
    assert cold.n_iter > 50


def test_few_steps_are_kept_to():
    X, y = data("plain")
    problem = KernelSamples(Gram(X, gamma=0.3, once=True), y)
    solution = solve_kernel(problem, np.ones(y.size), tol=1e-8, max_iter=40)
    assert not solution.converged
    assert solution.n_iter <= 41
    assert solution.certificate.relative_gap > 1e-8


def test_estimator_and_path_agree_with_svc():
    X, y = data("cancer")
    model = ScreenedSVC(C=2.0, kernel="rbf", gamma=0.03, intercept="free", tol=1e-8).fit(X, y)
    peer = SVC(C=2.0, gamma=0.03, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)
    path = svc_path(X, y, Cs=[0.1, 0.5, 2.0], kernel="rbf", gamma=0.03, intercept="free", tol=1e-8)
    assert path.objectives[-1] == pytest.approx(model.objective_, rel=1e-7)


@pytest.mark.filterwarnings("error")
def test_separable_data_and_a_huge_C():
    X, y = data("separable")
    X[:, 0] += 0.3 * y
    model = ScreenedSVC(1e8, kernel="rbf", gamma=0.3, intercept="free", tol=1e-7).fit(X, y)
    assert extended_gap(X, y, np.full(y.size, 1e8), model, 0.0)[0] <= model.dual_gap_ <= 1e-7


def level_box(n, C=1.0):
    _, y = data("plain", n)
    return levels.Box(y, np.minimum(C * y, 0.0), np.maximum(C * y, 0.0), False)


def test_a_gap_above_the_value_of_zero_is_no_reason_to_stop():
    # The value of beta = 0 is 400, so that the dual can rise from 100 by 300, whatever the gap is.
    solver = levels.LevelSolver(None, np.ones(400), 9.0, 1e-4, 10**9)
    before, after = (levels.View(0.0, np.empty(0), 1e5, 1e5 + dual) for dual in (100.0, 140.0))
    assert not solver._halted(level_box(400), after, before, 0.98)
    assert solver._halted(level_box(400), before, before, 0.98)


def test_the_next_level_starts_with_the_intercept_of_the_one_before():
    box, g = level_box(300), np.random.default_rng(0).normal(loc=50.0, size=300)
    beta = levels._by_scores(g, 0.1, box, 7.5)
    assert beta.sum() == pytest.approx(7.5)
    assert np.all((box.low <= beta) & (beta <= box.high))
    assert levels._by_scores(g, 0.1, box, None).sum() == pytest.approx(box.high.sum())


def test_fits_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(threads, "_MANY", 0)
    monkeypatch.setattr(skscreen.samples.kernel, "_MANY", 0)
    rng, found = np.random.default_rng(8), []
    X = rng.normal(size=(2500, 30))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=2500) > 0.0, 1.0, -1.0)
    for n in (1, 2):
        monkeypatch.setattr(threads, "n_threads", lambda n=n: n)
        with threadpool_limits(n, user_api="blas"):
            model = ScreenedSVC(C=10.0, tol=1e-5).fit(X[:1500], y[:1500])
            found.append((model.dual_coef_, model.intercept_, model.decision_function(X)))
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one, two)
