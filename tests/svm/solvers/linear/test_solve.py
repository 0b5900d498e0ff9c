"""Linear hinge solvers against a conic solver and LIBLINEAR, and what their certificates say."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from cases import every_pair
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.svm import LinearSVC
from svm_labelled import solve_linear, state_of

from skscreen.core.decisions import LINEAR, ZERO
from skscreen.samples.losses import SampleLosses, hinge, squared_hinge
from skscreen.samples.rows import LinearSamples, compress
from skscreen.svm.solvers.linear.coordinate_descent import coordinate_descent
from skscreen.svm.solvers.linear.state import SampleState
from tests.optima import Problem

SOLVERS = ("coordinate-descent", "second-order", "auto")
solvers = pytest.mark.parametrize("solver", SOLVERS)


def not_for_the_second_order_method(solver, name, C, **_):
    """Sweeps alone are too slow for a large C, except on wide data."""
    return solver != "coordinate-descent" or C <= 1.0 or name == "wide"


def scaled(X):
    return np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0))


@cache
def data(name):
    rng = np.random.default_rng(3)
    if name == "cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return scaled(X), 2.0 * y - 1.0
    if name == "wine":
        X, y = load_wine(return_X_y=True)
        return scaled(X), np.where(y == 1, 1.0, -1.0)
    n, d = (40, 90) if name == "wide" else (120, 6)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=n) > 0, 1.0, -1.0)
    if name == "repeated":
        # Duplicates, contradictions, rows of zeros, a constant and an empty column.
        X[60:] = X[:60]
        y[:90] = y[30:]
        X[::17] = 0.0
        X[:, 2], X[:, 3] = 1.0, 0.0
    return X, y


def caps_for(y, C, weighted):
    if not weighted:
        return np.full(y.size, float(C))
    return C * np.random.default_rng(5).choice([0.0, 0.5, 1.0, 3.0], y.size)


@cache
def optimum(name, C, weighted=False, bias=0.0):
    """Value of a conic solver, of the problem divided by max(C, 1)."""
    X, y = data(name)
    Z = y[:, None] * (np.c_[X, np.full(len(X), bias)] if bias else X)
    caps, scale = caps_for(y, C, weighted), max(C, 1.0)
    w = cp.Variable(Z.shape[1])
    problem = Problem(
        cp.Minimize(cp.sum_squares(w) / (2 * scale) + (caps / scale) @ cp.pos(1 - Z @ w))
    )
    problem.solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12, max_iter=200
    )
    value = w.value
    return 0.5 * value @ value + caps @ np.maximum(1 - Z @ value, 0.0)


def check(samples, caps, solution, tol):
    """The certificate is that of alpha, recomputed here with sums that cancel."""
    w = samples.combine(solution.alpha)
    margins = samples.margins(w)
    primal = 0.5 * w @ w + caps @ np.maximum(1 - margins, 0)
    dual = solution.alpha.sum() - 0.5 * w @ w
    assert solution.converged
    assert solution.certificate.relative_gap <= tol
    assert (solution.alpha >= 0).all() and (solution.alpha <= caps).all()
    np.testing.assert_allclose(solution.w, w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(solution.margins, margins, rtol=1e-10, atol=1e-10)
    assert solution.certificate.primal == pytest.approx(primal, rel=1e-12)
    assert solution.certificate.gap == pytest.approx(primal - dual, abs=1e-11 * primal)
    assert solution.certificate.dual == pytest.approx(dual, abs=1e-11 * primal)


@pytest.mark.few(13)
@every_pair(
    weighted=[False, True],
    C=[1e-4, 0.1, 10.0, 1e4],
    name=["cancer", "wine", "random", "wide", "repeated"],
    solver=SOLVERS,
    valid=not_for_the_second_order_method,
)
def test_objective_is_that_of_a_conic_solver(solver, name, C, weighted):
    X, y = data(name)
    samples, caps = LinearSamples(X, y), caps_for(y, C, weighted)
    # Separable data: rounding errors of margins, times C, are most of this.
    tol = 5e-10 if name == "wide" else 1e-10
    solution = solve_linear(samples, hinge(caps), solver=solver, tol=tol)
    check(samples, caps, solution, tol)
    best = optimum(name, C, weighted)
    assert solution.certificate.primal <= best * (1 + 1e-9)
    assert solution.certificate.dual <= best * (1 + 1e-12)


def test_newton_steps_that_lower_nothing_are_where_the_next_problem_begins():
    # With C = 1e4 the zones of the first problems are too narrow for its steps to end.
    X, y = data("wine")
    samples, caps = LinearSamples(X, y), np.full(y.size, 1e4)
    solution = solve_linear(samples, hinge(caps), solver="second-order", tol=1e-10)
    check(samples, caps, solution, 1e-10)


FORMATS = {
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "csr float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
}


@pytest.mark.few(35)
@solvers
@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("name", ["random", "wide"])
def test_formats_and_bias(solver, make, bias, name):
    X, y = data(name)
    samples, caps = LinearSamples(make(X), y, bias), np.full(y.size, 0.7)
    solution = solve_linear(samples, hinge(caps), solver=solver, tol=1e-10)
    check(samples, caps, solution, 1e-10)
    single = samples.X.dtype == np.float32
    assert solution.certificate.primal == pytest.approx(
        optimum(name, 0.7, False, bias), rel=1e-6 if single else 1e-9
    )


@solvers
@pytest.mark.parametrize("name", ["cancer", "wine"])
def test_weights_are_those_of_liblinear(solver, name):
    X, y = data(name)
    peer = LinearSVC(
        loss="hinge", C=0.1, fit_intercept=False, tol=1e-11, max_iter=1_000_000, random_state=0
    )
    w = peer.fit(X, y).coef_.ravel()
    samples = LinearSamples(X, y)
    solution = solve_linear(samples, hinge(np.full(y.size, 0.1)), solver=solver, tol=1e-13)
    np.testing.assert_allclose(solution.w, w, atol=1e-6 * np.abs(w).max())


@solvers
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-5])
def test_gap_bounds_the_distance_to_the_optimum(solver, tol):
    X, y = data("cancer")
    samples, caps = LinearSamples(X, y), np.full(y.size, 1.0)
    solution = solve_linear(samples, hinge(caps), solver=solver, tol=tol)
    best = solve_linear(samples, hinge(caps), tol=1e-12)
    check(samples, caps, solution, tol)
    assert (
        solution.certificate.primal - best.certificate.primal
        <= solution.certificate.gap + 1e-12 * best.certificate.primal
    )
    assert np.linalg.norm(solution.w - best.w) <= np.sqrt(solution.certificate.gap) + 1e-5


@pytest.mark.parametrize("name", ["cancer", "wine", "wide"])
def test_a_tolerance_below_rounding_errors_is_given_up_soon(name):
    X, y = data(name)
    solution = solve_linear(LinearSamples(X, y, 1.0), hinge(np.full(len(y), 1.0)), tol=1e-300)
    assert not solution.converged
    assert solution.certificate.relative_gap < 1e-13
    assert solution.n_iter < 50_000


def test_sweeps_end_once_the_gap_they_meet_is_small_enough():
    X, y = data("cancer")
    samples, C = LinearSamples(X, y, 1.0), np.full(len(y), 1e-3)
    counts = [
        solve_linear(samples, hinge(C), tol=tol, solver="coordinate-descent").n_iter
        for tol in (0.5, 1e-4, 1e-6)
    ]
    # A whole epoch of work, which ends them otherwise, is many sweeps over what is active.
    assert counts[0] < counts[1] < counts[2] < 20


@solvers
@pytest.mark.slow
def test_fixed_samples_keep_their_values(solver):
    X, y = data("wine")
    samples, caps = LinearSamples(X, y), np.full(y.size, 0.5)
    free = solve_linear(samples, hinge(caps), solver=solver, tol=1e-12)
    codes = np.zeros(y.size, np.int8)
    codes[free.margins > 1 + 1e-4] = ZERO
    codes[free.margins < 1 - 1e-4] = LINEAR
    codes[::3] = 0
    for fixed, converges in ((codes, True), (np.full(y.size, LINEAR, np.int8), False)):
        given = fixed.copy()
        solution = solve_linear(
            samples, hinge(caps), solver=solver, fixed=fixed, tol=1e-10, max_iter=5000
        )
        assert solution.converged == converges
        assert (solution.alpha[fixed == ZERO] == 0).all()
        assert (solution.alpha[fixed == LINEAR] == 0.5).all()
        np.testing.assert_array_equal(fixed, given)
    # A wrong code: reported, with the gap of the full problem.
    worst = int(np.argmax(free.margins))
    codes[worst] = LINEAR
    solution = solve_linear(
        samples, hinge(caps), solver=solver, fixed=codes, tol=1e-6, max_iter=300
    )
    assert not solution.converged
    assert solution.certificate.primal - free.certificate.primal <= solution.certificate.gap


@every_pair(C=[1e-3, 1.0, 1e3], name=["cancer", "random", "wide", "repeated"], solver=SOLVERS)
def test_screening_decides_nothing_wrong(solver, name, C, monkeypatch):
    X, y = data(name)
    samples, caps = LinearSamples(X, y), caps_for(y, C, True)
    best = solve_linear(samples, hinge(caps), solver="second-order", screening=False, tol=1e-12)
    below = (best.margins < 1 - 1e-6) | (caps == 0)
    above = (best.margins > 1 + 1e-6) | (caps == 0)
    seen, screen = [], SampleState.screen

    def record(state):
        count = screen(state)
        seen.append(state.codes.copy())
        return count

    monkeypatch.setattr(SampleState, "screen", record)
    for tol in (0.3, 1e-2, 1e-4, 1e-6, 1e-9):
        solution = solve_linear(samples, hinge(caps), solver=solver, tol=tol, max_iter=2000)
        if solution.converged:
            assert (
                solution.certificate.primal - best.certificate.primal
                <= solution.certificate.gap + 1e-10 * best.certificate.primal
            )
        else:
            assert solver == "coordinate-descent" and C >= 1.0
        # What the solution itself decides.
        state = state_of(samples, hinge(caps), solution.alpha)
        state.evaluate()
        decided = state.screen()
    assert decided > 0 or not solution.converged
    for codes in seen:
        assert above[codes == ZERO].all()
        assert below[codes == LINEAR].all()


@solvers
def test_start(solver):
    X, y = data("cancer")
    samples, n_cold, n_near = LinearSamples(X, y), 0, 0
    for C in (0.03, 0.1, 0.3, 1.0):
        caps = np.full(y.size, C)
        cold = solve_linear(samples, hinge(caps), solver=solver, tol=1e-8)
        again = solve_linear(samples, hinge(caps), solver=solver, tol=1e-8, start=cold.alpha)
        near = solve_linear(
            samples, hinge(1.05 * caps), solver=solver, tol=1e-8, start=1.05 * cold.alpha
        )
        outside = solve_linear(
            samples, hinge(caps), solver=solver, tol=1e-8, start=cold.alpha * 9 - 1
        )
        assert again.n_iter == 0
        assert again.converged and near.converged and outside.converged
        n_cold, n_near = n_cold + cold.n_iter, n_near + near.n_iter
    assert n_near < n_cold


@solvers
def test_running_out_of_iterations_is_reported(solver):
    X, y = data("cancer")
    samples, caps = LinearSamples(X, y), np.full(y.size, 100.0)
    solution = solve_linear(samples, hinge(caps), solver=solver, tol=1e-12, max_iter=3)
    assert not solution.converged
    assert solution.n_iter <= 4
    assert solution.certificate.relative_gap > 1e-12
    best = solve_linear(samples, hinge(caps), tol=1e-10)
    assert solution.certificate.dual <= best.certificate.primal <= solution.certificate.primal


@solvers
def test_trivial_problems(solver):
    X, y = data("random")
    nothing = solve_linear(LinearSamples(X, y), hinge(np.zeros(y.size)), solver=solver)
    assert nothing.converged and nothing.certificate.primal == 0.0 and (nothing.w == 0).all()
    zeros = solve_linear(LinearSamples(0 * X, y), hinge(np.ones(y.size)), solver=solver)
    assert zeros.converged and zeros.certificate.primal == y.size and (zeros.alpha == 1).all()
    one_class = LinearSamples(X, np.ones(y.size), 1.0)
    check(
        one_class,
        np.ones(y.size),
        solve_linear(one_class, hinge(np.ones(y.size)), solver=solver),
        1e-6,
    )
    one = LinearSamples(X[:1], y[:1])
    check(one, np.ones(1), solve_linear(one, hinge(np.ones(1)), solver=solver), 1e-6)


def test_seed_decides_the_order_of_visits():
    X, y = data("cancer")
    samples, caps = LinearSamples(X, y), np.ones(y.size)
    alphas = [
        solve_linear(
            samples, hinge(caps), solver="coordinate-descent", tol=1e-4, random_state=seed
        ).alpha
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(alphas[0], alphas[1])
    assert (alphas[0] != alphas[2]).any()


def test_auto_leaves_coordinate_descent_where_it_stalls():
    X, y = data("cancer")
    samples, caps = LinearSamples(X, y), np.full(y.size, 1e4)
    alone = solve_linear(samples, hinge(caps), solver="coordinate-descent", max_iter=1000)
    auto = solve_linear(samples, hinge(caps), max_iter=1000)
    assert auto.converged and not alone.converged


def test_short_rows_give_the_same_solution():
    X, y = data("wine")
    thin = np.where(np.abs(X) > 1.2, X, 0.0)
    caps = np.full(y.size, 2.0)
    dense = solve_linear(LinearSamples(thin, y, 1.0), hinge(caps), tol=1e-10)
    short = solve_linear(LinearSamples(thin, y, 1.0, compress(thin)), hinge(caps), tol=1e-10)
    assert compress(thin) is not None
    assert (
        abs(short.certificate.primal - dense.certificate.primal) <= 2e-10 * dense.certificate.primal
    )


def test_descent_never_lowers_the_dual():
    X, y = data("cancer")
    state = state_of(LinearSamples(X, y, 1.0), hinge(np.full(y.size, 10.0)))
    state.evaluate()
    values = [state.dual]
    for epochs in range(1, 400, 7):
        coordinate_descent(state, 1e-9, epochs, screening=False)
        values.append(state.dual)
    assert np.all(np.diff(values) >= -1e-12 * np.abs(values[-1]))
    assert values[-1] > values[0]


@pytest.mark.parametrize("scale", [1e-30, 1e25, 1e29, 1e37])
@pytest.mark.parametrize("solver", ["auto", "coordinate-descent", "second-order"])
def test_data_of_any_size_end_in_numbers(solver, scale):
    """A line search along which rounding errors are all there is has nothing to divide by."""
    X = scale * np.random.default_rng(0).normal(size=(4, 1))
    samples = LinearSamples(X, np.array([-1.0, -1.0, 1.0, 1.0]), 1.0)
    for tol in (1e-6, 1e-15):
        solution = solve_linear(samples, hinge(np.ones(4)), solver=solver, tol=tol, max_iter=2000)
        assert np.isfinite(
            [solution.certificate.primal, solution.certificate.dual, solution.certificate.gap]
        ).all()


def regression_losses(y, C, squared):
    """Losses of a regression on targets that are far from labels: thresholds of any sign."""
    targets = 3.0 * np.random.default_rng(7).normal(size=y.size)
    thresholds = np.concatenate([targets - 0.2, -targets - 0.2])
    n = thresholds.size
    caps, shifts = (np.inf, 0.5 / C) if squared else (C, 0.0)
    return SampleLosses(thresholds, np.full(n, float(caps)), np.full(n, shifts))


@pytest.mark.few(10)
@every_pair(
    C=[0.01, 30.0],
    loss=["hinge", "squared", "tube", "squared tube"],
    name=["cancer", "random", "wide", "repeated", "far"],
    solver=SOLVERS,
    valid=not_for_the_second_order_method,
)
def test_a_free_intercept_is_that_of_a_conic_solver(solver, name, loss, C):
    X, y = data("random" if name == "far" else name)
    if name == "far":
        X = X + 5.0
    rows, squared = (
        LinearSamples(sparse.csr_array(X) if name == "wide" else X, y),
        "squared" in loss,
    )
    weighted = C * np.random.default_rng(5).choice([0.0, 0.5, 1.0, 3.0], y.size)
    losses = (squared_hinge if squared else hinge)(weighted)
    if "tube" in loss:
        rows = rows.twice()
        rows.y = np.repeat([1.0, -1.0], y.size)
        losses = regression_losses(y, C, squared)
    exist = losses.caps > 0.0
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    short = cp.pos(
        losses.thresholds - cp.multiply(rows.y, np.tile(X, (rows.n // y.size, 1)) @ w + b)
    )
    sizes = np.where(exist, losses.sizes, 0.0) * (0.5 if squared else 1.0)
    total = sizes @ (short**2 if squared else short)
    best = Problem(cp.Minimize(0.5 * cp.sum_squares(w) + total)).solve(solver=cp.CLARABEL)
    found = solve_linear(rows, losses, free=True, solver=solver, tol=1e-8)
    assert found.converged
    short = np.maximum(losses.thresholds - rows.margins(found.w) - found.b * rows.y, 0.0)
    primal = 0.5 * found.w @ found.w + sizes @ (short**2 if squared else short)
    assert found.certificate.primal == pytest.approx(primal, rel=1e-10)
    assert primal == pytest.approx(best, rel=1e-6, abs=1e-6)
    u = rows.combine(found.alpha)
    dual = found.alpha @ (losses.thresholds - 0.5 * losses.shifts * found.alpha) - 0.5 * u @ u
    assert found.certificate.gap == pytest.approx(primal - dual, abs=1e-10 * primal)
    assert abs(found.alpha @ rows.y) <= 1e-13 * found.alpha.sum()
    assert np.linalg.norm(found.w - u) == pytest.approx(found.apart, abs=1e-9)


@pytest.mark.parametrize("loss", [hinge, squared_hinge])
def test_screening_with_a_free_intercept_decides_nothing_wrong(loss):
    X, y = data("cancer")
    losses = loss(caps_for(y, 0.3, True))
    samples = LinearSamples(X, y)
    best = solve_linear(samples, losses, free=True, tol=1e-12)
    margins, exist = best.margins + best.b * y, losses.caps > 0.0
    for tol in (0.3, 1e-2, 1e-4, 1e-6):
        found = solve_linear(samples, losses, free=True, tol=tol)
        state = state_of(samples, losses, found.alpha, free=True)
        state.screen()
        assert (margins > 1.0 - 1e-9)[(state.codes == ZERO) & exist].all()
        assert (margins < 1.0 + 1e-9)[state.codes == LINEAR].all()
    assert (state.codes[exist] != 0).sum() > 0.5 * exist.sum()
    fixed = solve_linear(samples, losses, free=True, fixed=state.codes, tol=1e-10)
    assert fixed.converged
    assert fixed.certificate.primal == pytest.approx(best.certificate.primal, rel=1e-9)


@pytest.mark.parametrize("free", [False, True])
def test_a_start_from_another_C_takes_few_newton_steps(free):
    X, y = data("cancer")
    samples = LinearSamples(X, y)
    how = {"free": free, "solver": "second-order"}
    known = solve_linear(samples, hinge(np.full(y.size, 1.0)), tol=1e-8, **how)
    cold = solve_linear(samples, hinge(np.full(y.size, 1.1)), **how)
    warm = solve_linear(samples, hinge(np.full(y.size, 1.1)), start=1.1 * known.alpha, **how)
    assert warm.converged and 2 * warm.n_iter < cold.n_iter


def test_rows_that_meet_in_some_columns_go_on_by_coordinate_descent():
    """As those of texts do, whose products of rows cost a hundred times those of even columns."""
    rng = np.random.default_rng(0)
    columns = np.minimum(rng.zipf(1.3, size=(3000, 60)), 20_000) - 1
    X = sparse.csr_array((np.ones(columns.size), columns.ravel(), np.arange(0, 180_001, 60)))
    X.sum_duplicates()
    y = np.where(X @ rng.normal(size=X.shape[1]) > 0.0, 1.0, -1.0)
    samples = LinearSamples(X / np.sqrt(X.sum(axis=1))[:, None], y, 1.0)
    start = solve_linear(samples, squared_hinge(np.full(3000, 1e-3)), random_state=0).alpha
    losses, options = squared_hinge(np.full(3000, 10.0)), {"start": start, "random_state": 0}
    auto = solve_linear(samples, losses, **options)
    swept = solve_linear(samples, losses, solver="coordinate-descent", **options)
    assert auto.converged and auto.n_iter == swept.n_iter


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_one_evaluation_ends_a_solve_whose_value_falls_far_from_that_of_no_weights(bias):
    X = np.random.default_rng(0).normal(size=(1000, 20))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    X[:, 0] += 2.0 * y
    state = state_of(LinearSamples(X, y, bias), hinge(np.full(y.size, 0.01)))
    first = state.primal
    assert coordinate_descent(state, 1e-2, 1000)
    assert state.primal < 0.02 * first
    # That of no weights, and one after all sweeps.
    assert len(state.progress) == 2


def test_rows_of_zeros_screen_nothing_without_weights():
    X, y = data("cancer")
    X = np.vstack([X, np.zeros((5, X.shape[1]))])
    samples, caps = LinearSamples(X, np.append(y, np.ones(5))), np.full(y.size + 5, 0.1)
    history = solve_linear(samples, hinge(caps), solver="coordinate-descent").history
    assert history
    assert all(event.iteration > 0 for event in history)
