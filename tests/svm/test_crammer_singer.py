import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from skscreen import ScreenedLinearSVC, _compiled, screen_samples
from skscreen.samples.rows import LinearSamples
from skscreen.svm.crammer_singer.faces import move_on_face, onto_simplex, variables
from skscreen.svm.crammer_singer.fit import joint_solutions
from skscreen.svm.crammer_singer.newton import _Proximal, proximal_step
from skscreen.svm.crammer_singer.solve import solve_crammer_singer
from skscreen.svm.problem import build
from tests.optima import Problem

X, y = load_iris(return_X_y=True)
X, y = scale(X)[::2], y[::2]
WEIGHTS = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
JOINT = {"multi_class": "crammer_singer", "random_state": 0}


def violations(scores, own):
    """Return the loss of each sample, by definition."""
    rows = np.arange(len(own))
    wrong = (np.arange(scores.shape[1]) != own[:, None]).astype(float)
    return (wrong + scores - scores[rows, own][:, None]).max(axis=1)


def optimum(X, own, c, B=1.0):
    """Return weights (d, K), intercepts and the value of an independent solver; B = 0: none."""
    K = own.max() + 1
    W, b, own_class = cp.Variable((X.shape[1], K)), cp.Variable((1, K)), np.eye(K)[own]
    scores = X @ W + np.ones((len(X), 1)) @ b
    own_scores = cp.sum(cp.multiply(scores, own_class), axis=1)
    losses = cp.max(1.0 - own_class + scores, axis=1) - own_scores
    size = cp.sum_squares(W) + (cp.sum_squares(b) / B**2 if B else 0.0)
    problem = Problem(cp.Minimize(0.5 * size + c @ losses), [] if B else [b == 0])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return W.value, b.value[0], problem.value


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("B", [0.0, 1.0, 3.0])
def test_the_optimum_is_that_of_an_independent_solver(C, B):
    W, b, value = optimum(X, y, np.full(len(X), C), B)
    options = {"fit_intercept": B > 0.0, "intercept_scaling": B or 1.0}
    model = ScreenedLinearSVC(C, tol=1e-9, **options, **JOINT).fit(X, y)
    assert model.dual_gap_ <= 1e-9
    assert_allclose(model.objective_, value, rtol=1e-7)
    assert_allclose(model.coef_, W.T, atol=1e-3)
    assert_allclose(model.intercept_, b, atol=1e-3)
    size = (model.coef_**2).sum() + (model.intercept_**2).sum() / (B or 1.0) ** 2
    found = 0.5 * size + C * violations(X @ model.coef_.T + model.intercept_, y).sum()
    assert_allclose(model.objective_, found, rtol=1e-12)


@pytest.mark.few(3)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
@pytest.mark.slow
def test_columns_of_very_unequal_size(C, as_given):
    """Wine as it is: one feature is a thousand times as large as others. Sweeps alone fail."""
    Z, own = load_wine(return_X_y=True)
    model = ScreenedLinearSVC(C, max_iter=20_000, **JOINT).fit(as_given(Z), own)
    assert model.dual_gap_ <= 1e-6
    *_, value = optimum(Z, own, np.full(len(Z), C))
    assert_allclose(model.objective_, value, rtol=3e-6)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.floats(-2.0, 3.0), st.booleans())
def test_proximal_steps_raise_the_dual_and_stay_feasible(seed, K, power, with_bias):
    rng, n, d = np.random.default_rng(seed), 40, 4
    rows = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, d)
    own, c = rng.integers(0, K, n), 10.0**power * rng.uniform(0.5, 2.0, n)
    samples = LinearSamples(rows, np.ones(n), 0.7 if with_bias else 0.0)
    full = np.column_stack([rows, np.full(n, 0.7)]) if with_bias else rows
    first = solve_crammer_singer(samples, own, c, 1e-1, 10, seed, True)
    alpha, gap = first.alpha.copy(), first.certificate.gap

    def dual(alpha):
        w = full.T @ alpha
        return alpha[np.arange(n), own].sum() - 0.5 * np.vdot(w, w)

    primal = first.certificate.primal
    steps, _ = proximal_step(samples, own, c, alpha, full.T @ alpha, gap, primal, 0)
    assert steps > 0 or np.array_equal(alpha, first.alpha)
    assert dual(alpha) >= dual(first.alpha) - 1e-12 * primal
    others = np.where(np.arange(K) == own[:, None], 0.0, alpha)
    assert np.all(others <= 0.0) and np.all(alpha[np.arange(n), own] <= c * (1.0 + 1e-12))
    assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-12 * c.max())


def test_a_move_along_a_line_may_be_tiny():
    """To where one of two long rows leaves its corner; before that Newton's matrix is 1."""
    samples, own, c = LinearSamples(np.full((2, 1), 1e4), np.ones(2)), np.arange(2), [500.0, 2e3]
    step = _Proximal(samples, own, np.array(c), np.zeros((2, 2)), 1e-4)
    W = np.array([[-2e-4, 2e-4]])
    theta, gradient = step.at(W)
    direction = step.direction(theta, gradient)
    assert_allclose(direction, -gradient, rtol=1e-9)
    length, theta, there = step.along(W, direction, gradient)
    assert_allclose(length, 3e-11, rtol=1e-3)
    assert abs(np.vdot(there, direction)) <= 0.1 * np.vdot(gradient, gradient)
    assert np.all(theta[1] > 0.0)


@pytest.mark.parametrize("level", _compiled.LEVELS)
def test_a_short_row_has_all_digits(level):
    """Next to losses over the square of its length its variables had only ten."""
    row, c = LinearSamples(np.zeros((1, 2)), np.ones(1)).rows, np.array([296.3])
    for shares in np.random.default_rng(0).dirichlet(np.ones(4), 10):
        alpha = variables(c * shares[None], np.eye(1, 4) > 0.0, c)
        _compiled.LEVELS[level].svm.sweep_classes(
            (row, 0.0, 4, np.zeros(1, np.int64), c, 1e-6 / c, alpha, np.zeros(12)),
            np.zeros(1, np.int64), np.ones(1, np.uint64), 0.0, 1, 1,
        )  # fmt: skip
        assert_allclose(alpha[0, 0], c[0], rtol=1e-15)


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("scales", [1e2, 1e3])
def test_no_fit_gives_up_by_rounding_errors(scales):
    """Rows that differ in the last digit took other ways, of which some ended above tol."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(30, 4)) * scales ** np.linspace(-1.0, 1.0, 4)
        rows[:3] = 0.0
        own, c = np.append(rng.integers(0, 8, 29), 7), 300.0 * rng.uniform(0.1, 2.0, 30)
        found = solve_crammer_singer(
            LinearSamples(rows, np.ones(30)), own, c, 1e-5, 3000, seed, True
        )
        assert found.certificate.relative_gap <= 1e-5


@pytest.mark.few(3)
@pytest.mark.slow
@pytest.mark.parametrize("as_given", [sparse.csr_array, sparse.csc_matrix, np.asfortranarray])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_kind_of_samples_has_the_same_solution(as_given, dtype):
    rows, labels = load_digits(return_X_y=True)
    rows, labels = (rows[::3] / 16.0).astype(dtype), labels[::3]
    dense = ScreenedLinearSVC(0.05, tol=1e-7, **JOINT).fit(rows, labels)
    other = clone(dense).fit(as_given(rows), labels)
    assert_allclose(other.objective_, dense.objective_, rtol=1e-7)
    assert_allclose(other.coef_, dense.coef_, atol=1e-3)
    scores = dense.decision_function(rows)
    assert_allclose(other.decision_function(as_given(rows)), scores, atol=1e-2)


def test_weights_are_repetitions_and_multiply_those_of_classes():
    factors = {0: 0.5, 1: 2.0}
    model = ScreenedLinearSVC(0.3, tol=1e-9, class_weight=factors, **JOINT)
    model.fit(X, y, sample_weight=WEIGHTS)
    c = 0.3 * WEIGHTS * np.array([0.5, 2.0, 1.0])[y]
    assert_allclose(model.objective_, optimum(X, y, c)[2], rtol=1e-7)
    again = np.repeat(np.arange(len(X)), WEIGHTS.astype(int))
    repeated = clone(model).fit(X[again], y[again])
    assert_allclose(repeated.objective_, model.objective_, rtol=1e-7)
    assert_allclose(repeated.coef_, model.coef_, atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_the_crammer_singer_of_linear_svc(n_classes):
    rows, labels = X[y < n_classes][:, :2], y[y < n_classes]
    model = ScreenedLinearSVC(0.5, tol=1e-10, intercept_scaling=2.0, **JOINT).fit(rows, labels)
    peer = LinearSVC(C=0.5, tol=1e-10, max_iter=10**6, intercept_scaling=2.0, **JOINT)
    peer.fit(rows, labels)
    assert model.coef_.shape == peer.coef_.shape
    assert model.intercept_.shape == peer.intercept_.shape
    assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    assert_allclose(model.intercept_, peer.intercept_, atol=1e-4)
    assert_allclose(model.decision_function(rows), peer.decision_function(rows), atol=1e-3)
    assert_array_equal(model.predict(rows), peer.predict(rows))


def dual_variables(model, rows, labels):
    """Dual variables with signs, (n_problems, n_samples), which a fitted model does not keep."""
    problem = build(model, rows, labels)
    solutions = joint_solutions(model, problem, model.C)
    return problem.division.dual_coefs([solution.beta for solution in solutions])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_coefficients_are_those_of_the_dual_variables(n_classes):
    rows, labels = X[y < n_classes], y[y < n_classes]
    model = ScreenedLinearSVC(0.1, **JOINT).fit(rows, labels)
    duals = dual_variables(model, rows, labels)
    assert_allclose(duals @ rows, model.coef_, atol=1e-10)
    assert_allclose(duals.sum(axis=1), model.intercept_, atol=1e-10)
    assert isinstance(model.objective_, float) and isinstance(model.n_iter_, int)
    if n_classes == 3:
        assert_allclose(duals.sum(axis=0), 0.0, atol=1e-12)
        own = duals[labels, np.arange(labels.size)]
        assert (own >= 0.0).all() and (own <= 0.1 * (1.0 + 1e-12)).all()


def test_what_belongs_to_other_problems_has_no_effect():
    model = ScreenedLinearSVC(0.1, tol=1e-8, **JOINT).fit(X, y)
    for options in ({"loss": "hinge"}, {"penalty": "l1"}, {"dual": False}, {"screening": False}):
        assert_array_equal(clone(model).set_params(**options).fit(X, y).coef_, model.coef_)


def test_a_class_without_weight_is_never_predicted():
    weights = np.where(y == 1, 0.0, 1.0)
    model = ScreenedLinearSVC(**JOINT).fit(X, y, sample_weight=weights)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert set(model.predict(X)) == {0, 2}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 11), st.floats(1e-4, 1e3), st.floats(1e-6, 0.9))
@pytest.mark.slow
def test_the_certificate_by_definition(seed, K, C, tol):
    """Also far from the optimum, on ill-conditioned rows, some of them zero."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(30, 4)) * 10.0 ** rng.uniform(-2, 2, 4)
    rows[:3] = 0.0
    own, c = np.append(rng.integers(0, K, 29), K - 1), C * rng.uniform(0.1, 2.0, 30)
    found = solve_crammer_singer(
        LinearSamples(rows, np.ones(30), 0.0), own, c, tol, 3000, seed, True
    )
    limits, alpha = c[:, None] * np.eye(K)[own], found.alpha
    assert (alpha <= limits * (1.0 + 1e-14)).all()
    assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-12 * c.max())
    assert_allclose(found.w, rows.T @ alpha, atol=1e-11 * c.sum() * np.abs(rows).max())
    half = 0.5 * (found.w**2).sum()
    primal = half + c @ violations(rows @ found.w, own)
    dual = alpha[np.arange(30), own].sum() - half
    certificate = found.certificate
    assert_allclose(certificate.primal, primal, rtol=1e-12)
    assert_allclose(certificate.dual, dual, atol=1e-10 * primal)
    assert primal - dual <= certificate.gap + 1e-10 * primal
    assert certificate.relative_gap <= tol or found.n_iter >= 3000


@pytest.mark.parametrize("C", [1e-3, 1e3])
def test_samples_that_depend_on_each_other_converge(C):
    """Columns that are alike and not centred, where sweeps alone need millions of steps."""
    rows, labels = load_iris(return_X_y=True)
    model = ScreenedLinearSVC(C, tol=1e-8, **JOINT).fit(rows, labels)
    assert model.dual_gap_ <= 1e-8
    assert_allclose(model.objective_, optimum(rows, labels, np.full(150, C))[2], rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_no_visit_lowers_the_dual(seed):
    """Ties of classes at a corner are met on the way, and large c_i beside small variables."""
    rows, labels = load_iris(return_X_y=True)
    samples = LinearSamples(rows * [1.0, 10.0, 0.1, 1.0], np.ones(150), 1.0)
    own, before = labels.astype(np.int64), 0.0
    for most in (50, 100, 150, 200):
        found = solve_crammer_singer(samples, own, np.full(150, 1e3), 1e-8, most, seed, True)
        dual = found.certificate.dual
        assert dual > before
        before = dual


def test_a_move_on_the_face_raises_the_dual():
    samples, own, c = LinearSamples(X, np.ones(len(X)), 1.0), y.astype(np.int64), np.full(75, 3.0)
    found = solve_crammer_singer(samples, own, c, 0.5, 1, 0, True)
    alpha, rows = found.alpha.copy(), np.column_stack([X, np.ones(75)])

    def dual(alpha):
        return alpha[np.arange(75), own].sum() - 0.5 * ((rows.T @ alpha) ** 2).sum()

    assert move_on_face(samples, own, c, alpha, found.w) > 0
    assert dual(alpha) > dual(found.alpha)
    assert (alpha <= 3.0 * np.eye(3)[own]).all()
    assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize("level", _compiled.LEVELS)
def test_a_visit_moves_to_the_best_values(level):
    rng = np.random.default_rng(1)
    row, cap = rng.normal(size=(1, 5)), 0.3
    alpha, weights = np.zeros((1, 4)), np.zeros(5 * _compiled.svm.SCORE_LANES)
    problem = LinearSamples(row, np.ones(1)).rows
    own, order = np.array([2]), np.zeros(1, np.int64)
    _compiled.LEVELS[level].svm.sweep_classes(
        (problem, 0.0, 4, own, np.array([cap]), np.array([row @ row.T]).ravel(), alpha, weights),
        order, np.ones(1, np.uint64), 0.0, 1, 1,
    )  # fmt: skip
    assert_allclose(weights.reshape(5, -1)[:, :4], row.T @ alpha, atol=1e-15)
    # The other classes, here all alike, share what the own class gains.
    value = min(cap, 1.0 / (4.0 / 3.0 * float(row[0] @ row[0])))
    expected = np.array([-value / 3.0, -value / 3.0, value, -value / 3.0])
    assert_allclose(alpha[0], expected, rtol=1e-12)


@pytest.mark.parametrize("level", _compiled.LEVELS)
@pytest.mark.parametrize("K", [2, 5, 16, 39])
@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
def test_a_visit_is_a_projection_onto_the_simplex(level, K, as_given):
    """From any variables, also at corners; classes fill no, some or several whole vectors."""
    rng, lanes, cap = np.random.default_rng(K), _compiled.svm.SCORE_LANES, 0.7
    for size in np.repeat([0.01, 1.0, 100.0], 8):
        row, own = rng.normal(size=(1, 6)) * np.sqrt(size), rng.integers(0, K, 1)
        theta = rng.dirichlet(np.full(K, 0.2)) if rng.random() < 0.7 else np.eye(K)[own[0]]
        alpha = np.zeros((1, -(-K // lanes) * lanes))
        alpha[:, :K] = variables(cap * theta[None], np.arange(K) == own[:, None], np.full(1, cap))
        weights = np.zeros((7, alpha.size))
        weights[:, :K] = rng.normal(size=(7, K)) / rng.choice([1.0, 30.0])
        before, w = alpha.copy(), weights.copy()
        samples, square = LinearSamples(as_given(row), np.ones(1), 2.0), row @ row.T + 4.0
        _compiled.LEVELS[level].svm.sweep_classes(
            (samples.rows, 2.0, K, own, np.array([cap]), square.ravel(), alpha, weights.ravel()),
            np.zeros(1, np.int64), np.ones(1, np.uint64), 0.0, 1, 1,
        )  # fmt: skip
        full, is_own = np.append(row, 2.0), np.arange(K) == own[:, None]
        losses = (full @ w)[:K] + ~is_own
        wanted = onto_simplex(cap * is_own - before[:, :K] + losses / square, np.array([cap]))
        assert_allclose(alpha[:, :K], cap * is_own - wanted, atol=1e-12)
        assert_array_equal(alpha[:, K:], 0.0)
        assert_allclose(weights, w + full[:, None] * (alpha - before), atol=1e-12)


def test_a_missed_tolerance_is_named_with_its_gap():
    with pytest.warns(ConvergenceWarning, match="tol=1e-06"):
        model = ScreenedLinearSVC(10.0, max_iter=1, **JOINT).fit(X, y)
    assert model.dual_gap_ > model.tol and model.n_iter_ == 1


def test_samples_are_not_screened():
    model = ScreenedLinearSVC(**JOINT).fit(X, y)
    assert model.screening_history_.size == 0
    with pytest.raises(ValueError, match="crammer_singer"):
        model.screened(X, y)
    with pytest.raises(ValueError, match=r"^reference\b"):
        screen_samples(X, y, 2.0, reference=model)


@pytest.mark.parametrize("rows", [np.where(X > 2.0, np.nan, X), X * 1e60])
def test_bad_samples_are_refused(rows):
    with pytest.raises(ValueError, match="X"):
        ScreenedLinearSVC(**JOINT).fit(rows, y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("C", [1e-320, 1e90])
def test_weights_of_losses_that_over_or_underflow_are_refused(C):
    with pytest.raises(ValueError, match=r"^C\b"):
        ScreenedLinearSVC(C, **JOINT).fit(X, y)


@pytest.mark.parametrize("seed", range(3))
def test_a_column_next_to_which_weights_lose_their_digits(seed):
    """Sums of rows of length 1e7 have no digits for weights of 1e-9; Newton's method has."""
    rng, wide = np.random.default_rng(seed), np.longdouble
    A, codes = rng.normal(size=(8, 3)) * [1e-2, 1e-2, 2e7], np.array([2, 0, 0, 0, 1, 1, 1, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The dual variables are those of another solve.
        model = ScreenedLinearSVC(**JOINT, fit_intercept=False).fit(A, codes)
    alpha = dual_variables(model, A, codes).astype(wide)
    W, Z = model.coef_.astype(wide), A.astype(wide)
    scores = Z @ W.T
    losses = scores + (codes[:, None] != np.arange(3)) - scores[np.arange(8), codes][:, None]
    P = (W * W).sum() / 2 + losses.max(axis=1).sum()
    D = alpha[codes, np.arange(8)].sum() - ((alpha @ Z) ** 2).sum() / 2
    assert float(P) == pytest.approx(model.objective_, rel=1e-9)
    assert float((P - D) / P) <= model.dual_gap_ * 1.01 <= 1.01e-6


def test_a_gap_of_zero_is_no_gain():
    """No tolerance is met by rounding errors of P, and the gap itself was 0 for ever."""
    rows, labels = np.full((11, 1), 1.668), np.array([0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0])
    model = ScreenedLinearSVC(multi_class="crammer_singer", tol=1e-300, random_state=0)
    with pytest.warns(ConvergenceWarning, match="tol"):
        model.fit(rows, labels)
    assert model.dual_gap_ < 1e-12
    # All scores are equal: the smaller class pays twice.
    assert model.objective_ == pytest.approx(10.0, rel=0.1)
