import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from skscreen import ScreenedLinearSVC, _compiled, svc_path
from skscreen.svm.l1 import newton
from skscreen.svm.l1.rounds import column_sweeps
from skscreen.svm.l1.solve import L1Problem
from tests.optima import Problem

X, y = load_breast_cancer(return_X_y=True)
X, SIGNS = scale(X[::3]), np.where(y[::3] == 1, 1.0, -1.0)


def optimum(X, signs, c, B=1.0, intercept=True):
    """Return weights, intercept and value from an independent solver."""
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    h = cp.pos(1.0 - cp.multiply(signs, X @ w + b))
    value = cp.norm1(w) + cp.abs(b) / B + cp.sum(cp.multiply(c, cp.square(h)))
    problem = Problem(cp.Minimize(value), [] if intercept else [b == 0])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return w.value, float(b.value), problem.value


@pytest.mark.few(8)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_optimum_is_that_of_an_independent_solver(C, as_given, fit_intercept):
    rows = np.where(np.abs(X) > 0.7, X, 0.0)
    w, b, value = optimum(rows, SIGNS, C, 2.0, fit_intercept)
    model = ScreenedLinearSVC(
        C, penalty="l1", tol=1e-9, fit_intercept=fit_intercept, intercept_scaling=2.0
    ).fit(as_given(rows), SIGNS)
    assert model.dual_gap_ <= 1e-9
    assert_allclose(model.objective_, value, rtol=1e-8)
    assert_array_equal(model.coef_[0] != 0.0, np.abs(w) > 1e-6 * np.abs(w).max())
    assert_allclose(model.intercept_, [b], rtol=1e-3, atol=1e-4 * np.abs(w).max())


def test_the_certificate_by_definition():
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(X))
    problem = L1Problem(np.asfortranarray(X), SIGNS, weights)
    found = problem.solve(0.5, 1e-10, 10_000)
    c, Z = 0.5 * weights, SIGNS[:, None] * X
    h = np.maximum(1.0 - Z @ found.w, 0.0)
    assert_allclose(found.primal, np.abs(found.w).sum() + c @ h**2, rtol=1e-12)
    assert (found.alpha >= 0.0).all()
    assert np.abs(Z.T @ found.alpha).max() <= 1.0 + 1e-12
    assert_allclose(found.dual, found.alpha.sum() - (found.alpha**2 / (4.0 * c)).sum(), rtol=1e-12)
    assert 0.0 <= found.primal - found.dual <= 1e-10 * found.primal


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-3, 10.0), st.floats(1e-6, 0.5))
def test_features_that_are_dropped_have_no_weight(seed, C, tol):
    """Also where the fit stops far from the optimum, on columns of very unequal size."""
    rng = np.random.default_rng(seed)
    n, d = 25, 40
    rows = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    problem = L1Problem(np.asfortranarray(rows), signs, np.ones(n))
    rough, exact = problem.solve(C, tol, 1000), problem.solve(C, 1e-9, 10_000)
    assert not exact.w[rough.zero].any()
    assert rough.dual <= exact.primal * (1.0 + 1e-12)
    assert exact.dual <= rough.primal * (1.0 + 1e-12)


def test_many_classes_weights_and_a_selector():
    rows, labels = load_iris(return_X_y=True)
    rows = scale(rows)
    weights = np.random.default_rng(0).integers(0, 3, len(rows)).astype(float)
    model = ScreenedLinearSVC(0.1, penalty="l1", tol=1e-10, class_weight={1: 2.0})
    model.fit(rows, labels, sample_weight=weights)
    for k in range(3):
        c = 0.1 * weights * (2.0 if k == 1 else 1.0) ** (labels == 1)
        value = optimum(rows, np.where(labels == k, 1.0, -1.0), c)[2]
        assert_allclose(model.objective_[k], value, rtol=1e-7)
    repeated = np.repeat(np.arange(len(rows)), weights.astype(int))
    again = ScreenedLinearSVC(0.1, penalty="l1", tol=1e-10, class_weight={1: 2.0})
    again.fit(rows[repeated], labels[repeated])
    assert_allclose(again.coef_, model.coef_, atol=1e-6)
    kept = SelectFromModel(ScreenedLinearSVC(0.01, penalty="l1")).fit(X, SIGNS).transform(X)
    theirs = LinearSVC(penalty="l1", dual=False, C=0.01, tol=1e-9, max_iter=10**6)
    assert kept.shape == SelectFromModel(theirs).fit(X, SIGNS).transform(X).shape


def test_sweeps_over_columns_reach_the_optimum():
    rng = np.random.default_rng(0)
    rows = sparse.random_array((60, 300), density=0.2, rng=rng, format="csc")
    signs, c = np.where(rng.random(60) < 0.5, 1.0, -1.0), np.ones(60)
    expected = L1Problem(rows, signs, c).solve(1.0, 1e-9, 10_000)
    margins, w, data = np.zeros(60), np.zeros(300), rows.data * signs[rows.indices]
    steepest = np.asarray((rows.multiply(rows)).T @ c).ravel()
    columns = data, rows.indices, rows.indptr, c, steepest, np.arange(300)
    for _ in range(50):
        column_sweeps(*columns, margins, w, 100)
    assert_allclose(margins, signs * (rows @ w), atol=1e-10)
    value = np.abs(w).sum() + (np.maximum(1.0 - margins, 0.0) ** 2).sum()
    assert_allclose(value, expected.primal, rtol=1e-7)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_columns_of_categories_whose_sums_are_all_equal(C):
    """The matrix of Newton's method is singular, and the gap stands still for a while."""
    rng = np.random.default_rng(0)
    categories = rng.integers(0, 8, (400, 12))
    rows = sparse.csr_array(np.concatenate([np.eye(8)[column] for column in categories.T], axis=1))
    y = np.where(categories[:, 0] + categories[:, 1] + rng.normal(size=400) > 7.0, 1, -1)
    model = ScreenedLinearSVC(C, penalty="l1").fit(rows, y)
    dense = ScreenedLinearSVC(C, penalty="l1", tol=1e-9).fit(rows.toarray(), y)
    assert model.dual_gap_ <= 1e-6
    assert_allclose(model.objective_, dense.objective_, rtol=1e-6)


@pytest.mark.parametrize("level", _compiled.LEVELS)
def test_the_least_of_a_quadratic_model(level):
    rng = np.random.default_rng(0)
    A, g, x = rng.normal(size=(8, 5)), 2.0 * rng.normal(size=5), rng.normal(size=5)
    H, gradient, target = A.T @ A, g.copy(), x.copy()
    _compiled.LEVELS[level].svm.quadratic_descent(H, gradient, target, 1e-12, 10_000)
    assert_allclose(gradient, g + H @ (target - x), atol=1e-10)
    d = cp.Variable(5)
    model = Problem(cp.Minimize(g @ d + 0.5 * cp.sum_squares(A @ d) + cp.norm1(x + d)))
    model.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    assert_allclose(target, x + d.value, atol=1e-5)


def test_values_whose_products_overflow_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 2)) * 1e160
    for rows in (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match=r"^X\b"):
            ScreenedLinearSVC(penalty="l1").fit(rows, np.arange(20) % 2)


def test_the_hinge_is_refused():
    with pytest.raises(ValueError, match="penalty='l1' needs loss='squared_hinge'"):
        ScreenedLinearSVC(penalty="l1", loss="hinge").fit(X, SIGNS)


@pytest.mark.few(1)
@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
def test_a_path_over_C(as_given):
    """Each solution is that of a fit, and what the one before proves about features is right."""
    Cs = np.geomspace(0.003, 3.0, 13)
    path = svc_path(as_given(X), SIGNS, Cs, penalty="l1", tol=1e-9, intercept_scaling=2.0)
    assert path.dual_gaps.max() <= 1e-9 and path.n_iters.sum() > 0
    for k, C in enumerate(Cs):
        *_, value = optimum(X, SIGNS, C, 2.0)
        assert_allclose(path.objectives[k], value, rtol=1e-7)
        fit = ScreenedLinearSVC(C, penalty="l1", tol=1e-9, intercept_scaling=2.0)
        fit.fit(as_given(X), SIGNS)
        assert_array_equal(path.coefs[k] != 0.0, fit.coef_[0] != 0.0)
        assert path[k].C == C and isinstance(path[k], ScreenedLinearSVC)
        assert_array_equal(path[k].predict(X), fit.predict(X))
    where = path.screening_history["where"]
    assert_array_equal(where[1:3], ["path", "dynamic"])
    assert path.path_rates[0] == 0.0 and path.path_rates[1:].max() > 0.1
    assert np.all(path.path_rates <= path.rates) and np.all(path.rates <= 1.0)


def test_up_to_its_C_min_a_path_has_no_weights():
    path = svc_path(X, SIGNS, [1.0], penalty="l1")
    ends = svc_path(X, SIGNS, [0.999 * path.C_min, 1.001 * path.C_min], penalty="l1", tol=1e-12)
    assert not ends.coefs[0].any() and ends.intercepts[0] == 0.0
    assert ends.coefs[1].any() or ends.intercepts[1] != 0.0


def test_a_path_of_three_classes_and_arguments_that_do_not_belong():
    three, classes = load_iris(return_X_y=True)
    path = svc_path(three, classes, [0.1, 1.0], penalty="l1")
    assert path.coefs.shape == (2, 3, 4) and 0.0 <= path.rates.min() <= path.rates.max() <= 1.0
    fit = ScreenedLinearSVC(1.0, penalty="l1").fit(three, classes)
    assert_allclose(path.coefs[1], fit.coef_, atol=1e-3)
    with pytest.raises(ValueError, match=r"^penalty\b"):
        svc_path(X, SIGNS, penalty="l1")
    with pytest.raises(ValueError, match="penalty='l1' needs kernel="):
        svc_path(X, SIGNS, [1.0], penalty="l1", kernel="poly")


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.floats(1.05, 3.0), st.sampled_from([1e-1, 1e-3, 1e-6]))
def test_what_a_solution_proves_for_another_C(seed, factor, tol):
    """No feature is wrongly taken for zero, from rough solutions, both ways along a path."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(30, 60)) * 10.0 ** rng.uniform(-2, 2, 60)
    signs = np.where(rng.random(30) < 0.5, -1.0, 1.0)
    problem = L1Problem(np.asfortranarray(rows), signs, rng.uniform(0.5, 2.0, 30))
    C = 3.0 * problem.C_min
    rough, n_found = problem.solve(C, tol, 1000), 0
    for other in (C * factor, C / factor):
        used = problem.solve(other, 1e-13, 10_000).w != 0.0
        found = problem.solve(other, tol, 1000, rough)
        assert not np.any(used & found.zero) and np.all(found.zero[found.zero_at_first])
        n_found += np.count_nonzero(found.zero_at_first)
    assert n_found > 0 or tol > 1e-2 or factor > 1.3


def test_columns_far_from_the_origin_end_soon():
    """Rounding errors keep the gap above the tolerance; a fit says so, after few steps."""
    rng = np.random.default_rng(0)
    rows, signs = 2e9 + 1e3 * rng.normal(size=(14, 3)), np.where(np.arange(14) % 3, 1.0, -1.0)
    problem = L1Problem(np.column_stack([rows, np.ones(14)]), signs, np.ones(14))
    found = problem.solve(1.0, 1e-6, 100_000)
    assert found.n_iter < 2000 and 0.0 <= found.relative_gap < 1.0


def test_a_working_set_is_left_where_only_rounding_errors_are():
    rng = np.random.default_rng(0)
    y, X = rng.integers(0, 2, 20), 8.458e9 + 1e4 * rng.normal(size=(20, 5))
    problem = L1Problem(np.column_stack([X, np.ones(20)]), np.where(y, 1.0, -1.0), np.ones(20))
    found = problem.solve(1.0, 1e-6, 100_000)
    assert found.n_iter < 100


def test_few_features_far_from_the_origin_end_soon():
    """Weights next to 0 kept Newton's model from its minimum, for minutes."""
    rng = np.random.default_rng(0)
    X = 2723463.0 + np.column_stack([rng.normal(size=(10, 2)), np.zeros(10)])
    y = np.array([0, 2, 2, 3, 3, 1, 1, 0, 0, 1])
    with pytest.warns(ConvergenceWarning, match="standardise X"):
        model = ScreenedLinearSVC(penalty="l1").fit(X, y)
    assert model.dual_gap_ < 1e-2


def test_weights_of_losses_that_differ_by_nine_orders():
    # Steps that meet a loss of weight 3e5 or 3e10, not among those of the model, were cut to 1e-8.
    signs, c = np.array([-1.0, -1.0, 1.0, 1.0]), np.array([3.6e2, 3.2e5, 1.1e1, 2.8e10])
    rows = np.random.default_rng(0).normal(size=(4, 3)) + (signs[:, None] > 0)
    Z = np.asfortranarray(np.column_stack([rows, np.ones(4)]))
    found = L1Problem(Z, signs, c).solve(1.0, 1e-6, 200)
    assert found.relative_gap <= 1e-6
    # At the optimum the losses of the two heaviest samples are 0, all but exactly.
    w, heavy, light = cp.Variable(4), [1, 3], [0, 2]
    margins = cp.multiply(signs, Z @ w)
    losses = cp.sum(cp.multiply(c[light], cp.square(cp.pos(1.0 - margins[light]))))
    problem = Problem(cp.Minimize(cp.norm1(w) + losses), [margins[heavy] >= 1.0])
    problem.solve(solver=cp.CLARABEL)
    assert_allclose(found.primal, problem.value, rtol=1e-3)


def unequal_columns(n, d, seed):
    """Return samples with columns of scales from 1e-5 to 1e5, and signs."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    signs = np.where(rows[:, :5].sum(axis=1) + rng.normal(size=n) > 0.0, 1.0, -1.0)
    return rows * 10.0 ** rng.uniform(-5, 5, d), signs


def test_sparse_rows_that_are_filled_are_solved_as_dense_ones():
    rows, signs = unequal_columns(60, 40, 0)
    dense, filled = (
        ScreenedLinearSVC(penalty="l1").fit(X, signs) for X in (rows, sparse.csr_array(rows))
    )
    assert_array_equal(filled.coef_, dense.coef_)
    assert filled.n_iter_ == dense.n_iter_ < 100


def test_small_features_beside_large_ones_move():
    """Newton's model, damped by the mean of all features, ended at a gap of 3e-6."""
    rows, signs = unequal_columns(200, 40, 1)
    found = L1Problem(np.asfortranarray(rows), signs, np.ones(200)).solve(100.0, 1e-6, 200)
    assert found.relative_gap <= 1e-6


def test_sweeps_that_crawl_give_way_to_working_sets():
    """Sweeps over columns of unequal size took 23,000 steps, or had a gap of 1 after 100,000."""
    rows, signs = unequal_columns(40, 160, 0)
    some = np.random.default_rng(9).random(rows.shape) < 0.3
    problem = L1Problem(sparse.csc_array(rows * some), signs, np.ones(40), fills=True)
    assert problem.solve(1.0, 1e-6, 2000).relative_gap <= 1e-6


def test_weights_of_losses_that_differ_by_ten_orders_take_few_steps():
    """Damped steps met one loss after the other: 100,000 of them left a gap of 0.7."""
    Z = np.array(
        [
            [0.74, -0.23, -0.86, -0.32, 0.04, 0.18, -0.2, 0.81, 1.54, 1.0, 1.0],
            [-0.31, 0.07, 0.35, 0.25, -1.06, -1.45, 0.1, 1.47, 0.28, 0.87, 1.0],
            [0.2, 0.11, -0.98, 1.3, -0.79, 0.37, 0.17, -1.26, 0.47, -0.8, 1.0],
            [1.25, 0.81, -0.24, -0.34, -0.12, 0.74, -0.05, 2.06, -1.26, 0.28, 1.0],
            [2.13, -2.18, -0.46, 0.43, -1.78, 1.12, -1.91, 0.08, -0.26, -0.93, 1.0],
            [2.48, -1.05, 2.08, 0.79, 1.82, 0.05, -0.8, -0.16, 1.62, -1.72, 1.0],
            [0.46, 1.02, 0.1, -0.97, 1.01, 0.73, 1.23, 1.15, -1.05, -0.32, 1.0],
        ],
        order="F",
    )
    signs = np.array([-1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
    c = np.array([2e6, 2.0, 4e-4, 1e-3, 2e1, 3e6, 9e1])
    assert L1Problem(Z, signs, c).solve(1.0, 1e-6, 1000).relative_gap <= 1e-6


@pytest.mark.proof
def test_sweeps_that_stand_still_give_way_to_the_whole_model():
    """Steps of the weights in use ended at a gap of 7e-3 here, and on w8a at C = 100 at .85."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((48_000, 300), density=0.04, rng=rng, format="csr")
    X.data[:] = 1.0
    scores = X @ (rng.normal(size=300) * (rng.random(300) < 0.5))
    model = ScreenedLinearSVC(penalty="l1", C=1000.0, tol=1e-3).fit(X, scores > 4.0)
    assert model.dual_gap_ <= 1e-3


@pytest.mark.slow
def test_a_row_next_to_which_others_have_no_digits_ends():
    """Newton's model of these rows crawled for more than ten thousand steps."""
    X = np.array(
        [
            [-0.21, -0.35, 0.46, -0.24, 0.49, 1.32, -0.16, 0.89, 0.25, -1.96],
            [-1.58, 1.45, 0.7, 0.62, 1.2, 2.71, 0.9, 0.11, 1.44, 1.34],
            [-15e9, 9.5e9, 2.2e9, 1e10, -7.8e9, 0.92e9, 26e9, -5.4e9, 2.8e9, 4.1e9],
        ]
    )
    with pytest.warns(ConvergenceWarning):
        model = ScreenedLinearSVC(0.58, penalty="l1", tol=1e-3).fit(X, [0, 0, 1])
    assert model.n_iter_ < 600


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_columns_equal_but_for_rounding_take_few_systems(monkeypatch):
    """Models whose systems have no factor were swept a thousand times each, for 15 s."""
    calls, factor = [], newton.cho_factor
    monkeypatch.setattr(newton, "cho_factor", lambda *a, **k: calls.append(1) or factor(*a, **k))
    rows = 2e10 + 1e4 * np.random.default_rng(0).normal(size=(22, 5))
    ScreenedLinearSVC(penalty="l1", tol=1e-300).fit(rows, np.arange(22) % 2)
    assert len(calls) < 5_000
