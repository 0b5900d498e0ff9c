"""The engine on tiles and on matrices, on problems small enough for other solvers."""

import numpy as np
import pytest
from cases import every_pair
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from skscreen import ScreenedSVC, svc_path
from skscreen.samples.kernels.gram import Gram
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.losses import SampleLosses, hinge
from skscreen.svm.dual import Dual, View
from skscreen.svm.solvers.kernel import levels
from skscreen.svm.solvers.kernel.engine import Engine, rises
from tests.awkward_data import HARD, on_a_line
from tests.svm_labelled import KernelSamples, solve_kernel
from tests.svm_reference import free_gap, free_optimum, gap, optimum


def data(kind, n=220):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    if kind == "cancer":
        X, y = load_breast_cancer(return_X_y=True)
        X, y = ((X - X.mean(0)) / X.std(0))[:n], np.where(y[:n], 1.0, -1.0)
    elif kind == "separable":
        y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    elif kind == "on a line":
        X, y = on_a_line(X, y, rng)
    elif kind in HARD:
        X, y = HARD[kind](X, y, rng)
    return X, y


KINDS = ("plain", "cancer", "duplicates", "on a line", "separable", "outliers")


def tiled(gram):
    """The same matrix without values in memory."""
    gram.whole = None
    return gram


def extended_gap(X, y, C, beta, b, bias, gamma=0.3):
    """The relative gap of the problem whose kernel values have no rounding errors."""
    beta, X = beta.astype(np.longdouble), X.astype(np.longdouble)
    squares = np.stack([((X - x) ** 2).sum(axis=1) for x in X])
    f = (np.exp(-squares * np.longdouble(gamma)) + bias**2) @ beta
    short = 1.0 - y * (f + np.longdouble(b))
    parts = C * np.maximum(short, 0.0) - y * beta * short
    assert np.all((y * beta >= 0.0) & (y * beta <= C))
    return float(parts.sum() / (0.5 * beta @ f + C @ np.maximum(short, 0.0)))


@pytest.mark.few(5)
@every_pair(
    C=[1e-3, 1.0, 300.0, 1e6],
    kind=KINDS,
    mode=["free", "penalised", "none"],
    in_tiles=[True, False],
)
def test_gap_is_no_larger_than_said(kind, mode, C, in_tiles):
    X, y = data(kind)
    caps = C * np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], size=y.size)
    bias, free = 2.0 * (mode == "penalised"), mode == "free"
    gram = Gram(X, Kernel("rbf", gamma=0.3))
    samples = KernelSamples(tiled(gram) if in_tiles else gram, y, bias=bias)
    for tol in (1e-2, 1e-7):
        found = solve_kernel(samples, hinge(caps), free=free, tol=tol)
        said = found.certificate.relative_gap
        if mode == "free":
            assert abs(y @ found.alpha) <= 1e-12 * found.alpha.sum()
        assert extended_gap(X, y, caps, y * found.alpha, found.b, bias) <= said + 1e-15
        assert said <= tol or C > 1e5


@pytest.mark.few(4)
@every_pair(
    squared=[False, True],
    free=[False, True],
    kernel=["rbf", "poly", "precomputed"],
)
def test_optimum_in_tiles_is_that_of_clarabel(kernel, free, squared):
    X, y = data("cancer")
    settings = {"gamma": 0.05, "degree": 2, "coef0": 1.0}
    if kernel == "precomputed":
        gram = Gram((0.05 * X @ X.T + 1.0) ** 2, Kernel(kernel))
    else:
        gram = Gram(X, Kernel(kernel, **settings))
    problem, n, rel = KernelSamples(tiled(gram), y), y.size, 3e-9
    C, shifts = np.full(n, 3.0), np.zeros(n)
    if squared:
        C, shifts = np.full(n, np.inf), np.full(n, 1.0 / 6.0)
    losses = SampleLosses(np.ones(n), C, shifts)
    solution = solve_kernel(problem, losses, tol=1e-9, free=free)
    assert solution.converged
    Q = problem.block(np.arange(n), np.arange(n)) + np.diag(shifts)
    if squared:
        # Far above what is used, no bound counts.
        C, rel = np.full(n, 2.0 * solution.alpha.max()), 1e-7
    if free:
        alpha = free_optimum(Q, C, y)[0]
        best = alpha.sum() - 0.5 * alpha @ Q @ alpha
        best += 0.0 if squared else free_gap(Q, C, y, alpha)
    else:
        alpha = optimum(Q, C)
        best = alpha.sum() - 0.5 * alpha @ Q @ alpha
        best += 0.0 if squared else gap(Q, C, alpha)
    assert solution.certificate.primal == pytest.approx(best, rel=rel)


def test_decisions_take_samples_out_and_wrong_ones_are_no_solution():
    X, y = data("plain")
    problem, C = KernelSamples(tiled(Gram(X, Kernel("rbf", gamma=0.3))), y), np.ones(y.size)
    free = solve_kernel(problem, hinge(C), tol=1e-8, free=True)
    shown = free.margins + free.b * y
    codes = np.where(shown > 1.01, 1, np.where(shown < 0.99, 2, 0)).astype(np.int8)
    found = solve_kernel(problem, hinge(C), fixed=codes, tol=1e-8, free=True)
    assert found.certificate.primal == pytest.approx(free.certificate.primal, rel=1e-7)
    wrong = codes.copy()
    wrong[np.flatnonzero(codes == 2)[:5]] = 1
    found = solve_kernel(problem, hinge(C), fixed=wrong, tol=1e-8, free=True)
    assert not found.converged
    gap = found.certificate.primal - free.certificate.dual
    assert found.certificate.gap >= gap * (1.0 - 1e-6) > 0.0


@pytest.mark.parametrize("in_tiles", [True, False])
def test_a_good_start_takes_few_steps(in_tiles):
    X, y = data("plain")
    gram = Gram(X, Kernel("rbf", gamma=0.3))
    problem = KernelSamples(tiled(gram) if in_tiles else gram, y, bias=1.0)
    C = np.ones(y.size)
    cold = solve_kernel(problem, hinge(C), tol=1e-6)
    for margins in (problem.q_dot(cold.alpha), None):
        warm = solve_kernel(problem, hinge(C), start=cold.alpha, margins=margins, tol=1e-6)
        assert warm.n_iter <= 2
    assert cold.n_iter > 50


@pytest.mark.parametrize("in_tiles", [True, False])
def test_few_steps_are_kept_to(in_tiles):
    X, y = data("plain")
    gram = Gram(X, Kernel("rbf", gamma=0.3))
    problem = KernelSamples(tiled(gram) if in_tiles else gram, y)
    solution = solve_kernel(problem, hinge(np.ones(y.size)), tol=1e-8, max_iter=40)
    assert not solution.converged
    assert solution.n_iter <= 41
    assert solution.certificate.relative_gap > 1e-8


def test_margins_that_are_not_exact_say_by_how_much_they_are_off():
    X, y = data("plain", 400)
    problem, C = KernelSamples(tiled(Gram(X, Kernel("rbf", gamma=0.3))), y), np.full(400, 0.1)
    for exact in (False, True):
        found = solve_kernel(problem, hinge(C), tol=1e-3, free=True, exact=exact)
        off = np.abs(problem.q_dot(found.alpha) - found.margins) / problem.norms
        assert off.max() <= max(found.rounding, 1e-13)
        assert found.rounding <= 1e-12 or not exact


@pytest.mark.parametrize("gamma", [3e-4, 3e-6])
@pytest.mark.parametrize("in_tiles", [True, False])
def test_flat_kernels_with_a_large_C(gamma, in_tiles):
    """Single precision does not tell their values apart; matrices in double precision do."""
    X, y = data("cancer")
    gram = Gram(X, Kernel("rbf", gamma=gamma))
    samples, caps = KernelSamples(tiled(gram) if in_tiles else gram, y), np.full(y.size, 1e6)
    found = solve_kernel(samples, hinge(caps), free=True)
    said = found.certificate.relative_gap
    assert extended_gap(X, y, caps, y * found.alpha, found.b, 0.0, gamma) <= said <= 1e-6


def test_estimator_and_path_agree_with_svc():
    X, y = data("cancer")
    model = ScreenedSVC(C=2.0, kernel="rbf", gamma=0.03, intercept="free", tol=1e-8).fit(X, y)
    peer = SVC(C=2.0, gamma=0.03, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)
    path = svc_path(X, y, Cs=[0.1, 0.5, 2.0], kernel="rbf", gamma=0.03, intercept="free", tol=1e-8)
    assert path.objectives[-1] == pytest.approx(model.objective_, rel=1e-7)


@pytest.mark.parametrize("in_tiles", [True, False])
def test_separable_data_and_a_huge_C(in_tiles):
    X, y = data("separable")
    X[:, 0] += 0.3 * y
    gram, caps = Gram(X, Kernel("rbf", gamma=0.3)), np.full(y.size, 1e8)
    samples = KernelSamples(tiled(gram) if in_tiles else gram, y)
    found = solve_kernel(samples, hinge(caps), free=True, tol=1e-7)
    said = found.certificate.relative_gap
    assert extended_gap(X, y, caps, y * found.alpha, found.b, 0.0) <= said <= 1e-7


def level_box(n, C=1.0):
    _, y = data("plain", n)
    return Dual.of(hinge(np.full(n, C)), y, False)


def test_a_gap_above_the_value_of_zero_is_no_reason_to_stop():
    # The value of beta = 0 is 400, so that the dual can rise from 100 by 300, whatever the gap is.
    before, after = (View(0.0, np.empty(0), 1e5, 1e5 + dual, 1e5) for dual in (100.0, 140.0))
    assert rises(level_box(400), after, before)
    assert not rises(level_box(400), before, before)


def test_levels_of_any_size_lead_to_the_same_optimum():
    X, y = data("plain", 400)
    gram, box = tiled(Gram(X, Kernel("rbf", gamma=0.3))), Dual.of(hinge(np.ones(400)), y, True)
    found = []
    for sizes in ((), (60,), (30, 90)):
        engine = Engine(gram, 0.0, gram.diagonal, 10**6, 1e-7, 40)
        point = levels.from_nothing(engine, box, sizes)
        engine.improve(np.arange(400), box, point, 1e-4)
        found.append(engine.improve(np.arange(400), box, point, 1e-7, certified=True))
        assert found[-1].gap <= 1e-7 * found[-1].primal
    assert max(view.primal for view in found) <= (1.0 + 2e-7) * min(view.primal for view in found)


def test_the_next_level_starts_with_the_intercept_of_the_one_before():
    box, g = level_box(300), np.random.default_rng(0).normal(loc=50.0, size=300)
    beta = levels._by_scores(g, 0.1, box, 7.5)
    assert beta.sum() == pytest.approx(7.5)
    assert np.all((box.low <= beta) & (beta <= box.high))
    assert levels._by_scores(g, 0.1, box, None).sum() == pytest.approx(box.high.sum())


@pytest.mark.slow
def test_fits_do_not_depend_on_the_number_of_threads():
    rng, found = np.random.default_rng(8), []
    X = rng.normal(size=(2500, 30))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=2500) > 0.0, 1.0, -1.0)
    for n in (1, 2):
        with threadpool_limits(n, user_api="blas"):
            model = ScreenedSVC(C=10.0, tol=1e-5).fit(X, y)
            found.append((model.dual_coef_, model.intercept_, model.decision_function(X)))
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one, two)


def test_classes_of_very_unequal_size_take_few_steps():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(5000) < 30, 1.0, -1.0)
    X = rng.normal(size=(5000, 4)) + 1.5 * (y > 0.0)[:, None]
    samples = KernelSamples(tiled(Gram(X, Kernel("rbf", gamma=0.1), cache_size=0)), y)
    found = solve_kernel(samples, hinge(np.full(5000, 10.0)), free=True, tol=1e-4)
    assert found.converged and found.n_iter < 2000
    assert np.count_nonzero(found.alpha) < 300
