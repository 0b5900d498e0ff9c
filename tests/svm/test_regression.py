"""`ScreenedSVR` against Clarabel, `SVR` and `LinearSVR`."""

import pickle
import warnings

import cvxpy as cp
import numpy as np
import pytest
from cases import every_pair
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale
from sklearn.svm import SVR, LinearSVR

from skscreen import ScreenedSVR
from tests.optima import Problem
from tests.svm_reference import regression_optimum, squared_regression_optimum

X, y = load_diabetes(return_X_y=True)
X, y = scale(X)[:120, :5], scale(y)[:120]
GAMMA = 0.2
LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")
WEIGHTS = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 120)
KERNELS = {"rbf": {"gamma": GAMMA}, "poly": {"gamma": GAMMA, "coef0": 1.0, "degree": 2},
           "linear": {}}  # fmt: skip


@every_pair(power=[1, 2], kernel=KERNELS, epsilon=[0.0, 0.1], free=[True, False], seed=range(5))
def test_the_objective_is_that_of_clarabel(power, kernel, epsilon, free, seed):
    rng = np.random.default_rng(seed)
    rows = rng.choice(120, 40, replace=False)
    data, targets, weights = X[rows], y[rows].round(seed % 2 + 1), WEIGHTS[rows]
    C = 10.0 ** rng.uniform(-2.0, 2.0)
    K = pairwise_kernels(data, metric=kernel, **KERNELS[kernel]) + (0.0 if free else 0.7**2)
    optimum = squared_regression_optimum if power == 2 else regression_optimum
    wanted = optimum(K, targets, C * weights, epsilon, free)
    model = ScreenedSVR(
        C, kernel=kernel, epsilon=epsilon, intercept="free" if free else "penalised",
        intercept_scaling=0.7, tol=1e-9, loss=LOSSES[power - 1], **KERNELS[kernel],
    ).fit(data, targets, weights)  # fmt: skip
    assert model.objective_ == pytest.approx(wanted, rel=1e-8)
    assert model.dual_gap_ <= 1e-9
    short = np.maximum(np.abs(targets - model.predict(data)) - epsilon, 0.0)
    coefs = np.zeros(40)
    coefs[model.support_] = model.dual_coef_[0]
    value = 0.5 * coefs @ K @ coefs + C * weights @ short**power
    assert value == pytest.approx(model.objective_, rel=1e-9)


@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_it_agrees_with_svr(kernel, C):
    """For larger C the kernel values of libsvm, in single precision, have too few digits."""
    options = {"kernel": kernel, "C": C, **KERNELS[kernel]}
    model = ScreenedSVR(tol=1e-12, **options).fit(X, y, WEIGHTS)
    other = SVR(tol=1e-9, **options).fit(X, y, WEIGHTS)
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-5)
    np.testing.assert_array_equal(model.support_, other.support_)
    np.testing.assert_allclose(model.dual_coef_, other.dual_coef_, atol=1e-4 * C)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=1e-5)
    np.testing.assert_array_equal(model.n_support_, other.n_support_)
    np.testing.assert_array_equal(model.support_vectors_, other.support_vectors_)
    if kernel == "linear":
        np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", LOSSES)
def test_it_agrees_with_linear_svr(loss, make, fit_intercept):
    shared = {"fit_intercept": fit_intercept, "epsilon": 0.2, "tol": 1e-10, "loss": loss}
    model = ScreenedSVR(kernel="linear", intercept="penalised", **shared).fit(make(X), y, WEIGHTS)
    other = LinearSVR(**shared, max_iter=100_000, dual=True).fit(X, y, WEIGHTS)
    np.testing.assert_allclose(model.predict(make(X)), other.predict(X), atol=1e-5)
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    np.testing.assert_allclose(coef[0], other.coef_, atol=1e-5)


@pytest.mark.parametrize("intercept", ["free", "penalised"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("loss", LOSSES)
def test_all_solvers_and_screenings_agree(loss, kernel, intercept):
    options = {"kernel": kernel, "gamma": GAMMA, "intercept": intercept, "tol": 1e-9, "loss": loss}
    wanted = ScreenedSVR(**options, screening=False).fit(X, y)
    by_rows = ("coordinate-descent", "second-order")
    for solver in by_rows if kernel == "linear" else ("auto",):
        model = ScreenedSVR(**options, solver=solver).fit(X, y)
        assert model.objective_ == pytest.approx(wanted.objective_, rel=1e-8)
        np.testing.assert_allclose(model.predict(X), wanted.predict(X), atol=1e-4)
    # Neither Newton's method on the rows nor the solver of kernels leaves samples out.
    screens = kernel == "linear" and loss == "epsilon_insensitive"
    assert bool(model.screening_history_.size) == screens


def test_kernels_given_as_functions_and_matrices():
    model = ScreenedSVR(gamma=GAMMA, tol=1e-9).fit(X, y)
    K = pairwise_kernels(X, metric="rbf", gamma=GAMMA)
    known = ScreenedSVR(kernel="precomputed", tol=1e-9).fit(K, y)
    called = ScreenedSVR(
        kernel=lambda A, B: pairwise_kernels(A, B, metric="rbf", gamma=GAMMA), tol=1e-9
    )
    called.fit(X, y)
    np.testing.assert_allclose(known.predict(K), model.predict(X), atol=1e-6)
    np.testing.assert_allclose(called.predict(X), model.predict(X), atol=1e-6)
    assert known.support_vectors_.size == 0 and sparse.issparse(
        ScreenedSVR().fit(sparse.csr_array(X), y).support_vectors_
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_many_samples_are_solved_by_levels(intercept):
    rng = np.random.default_rng(1)
    data = rng.normal(size=(2200, 3))
    targets = np.sin(2.0 * data[:, 0]) + 0.3 * rng.normal(size=2200)
    model = ScreenedSVR(gamma=0.3, intercept=intercept, tol=1e-6).fit(data, targets)
    K = pairwise_kernels(data, metric="rbf", gamma=0.3)
    small = ScreenedSVR(intercept=intercept, tol=1e-6, kernel="precomputed").fit(K, targets)
    assert max(model.dual_gap_, small.dual_gap_) <= 1e-6
    np.testing.assert_allclose(model.predict(data), small.predict(K), atol=1e-2)
    assert model.objective_ == pytest.approx(small.objective_, rel=2e-6)


def test_weights_are_repetitions():
    repeated = np.repeat(np.arange(120), (2.0 * WEIGHTS).astype(int))
    model = ScreenedSVR(2.0, tol=1e-9).fit(X, y, (2.0 * WEIGHTS).astype(int))
    other = ScreenedSVR(2.0, tol=1e-9).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-5)
    some = ScreenedSVR(tol=1e-9).fit(X, y, (WEIGHTS > 0.7).astype(float))
    assert set(some.support_) <= set(np.flatnonzero(WEIGHTS > 0.7))


def test_units_of_targets_do_not_matter():
    model = ScreenedSVR(2.0, epsilon=0.1, tol=1e-9).fit(X, y)
    for unit, shift in ((1e-6, 0.0), (1e6, 3e9)):
        other = ScreenedSVR(2.0 * unit, epsilon=0.1 * unit, tol=1e-8).fit(X, unit * y + shift)
        assert other.dual_gap_ <= 1e-8
        np.testing.assert_allclose((other.predict(X) - shift) / unit, model.predict(X), atol=1e-5)


def test_targets_that_are_all_within_the_tube():
    for intercept in ("free", "penalised"):
        model = ScreenedSVR(epsilon=10.0, intercept=intercept).fit(X, y)
        assert model.support_.size == 0 and model.objective_ == model.dual_gap_ == 0.0
        np.testing.assert_array_equal(model.predict(X), np.full(120, model.intercept_[0]))
    constant = ScreenedSVR(epsilon=0.0).fit(X, np.full(120, 7.0))
    np.testing.assert_allclose(constant.predict(X), 7.0)


def test_the_store_makes_later_fits_cheap(tmp_path):
    kept = {"store": tmp_path, "gamma": GAMMA}
    first = ScreenedSVR(1.0, **kept).fit(X, y)
    second = ScreenedSVR(1.05, **kept).fit(X, y)
    assert second.n_iter_ < ScreenedSVR(1.05, gamma=GAMMA).fit(X, y).n_iter_
    tested = ScreenedSVR(1.06, screening="ball1", **kept).fit(X, y)
    assert "path" in tested.screening_history_["where"]
    again = ScreenedSVR(1.0, **kept).fit(X, y)
    assert again.objective_ == pytest.approx(first.objective_, rel=1e-6)
    squared = ScreenedSVR(1.0, loss=LOSSES[1], screening="ball1", **kept).fit(X, y)
    assert "path" not in squared.screening_history_["where"]
    # Another width is another problem.
    other = ScreenedSVR(1.0, epsilon=0.3, screening="ball1", **kept).fit(X, y)
    assert "path" not in other.screening_history_["where"]
    alone = ScreenedSVR(1.0, epsilon=0.3, gamma=GAMMA).fit(X, y)
    assert other.objective_ == pytest.approx(alone.objective_, rel=2e-6)


def test_inside_the_tools_of_scikit_learn():
    search = GridSearchCV(ScreenedSVR(), {"C": [0.1, 1.0], "epsilon": [0.1, 0.5]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.1
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_wrong_arguments_are_named():
    for wrong, name in (({"epsilon": -0.1}, "epsilon"), ({"loss": "hinge"}, "loss"),
                        ({"C": 0.0}, "C"), ({"solver": "newton"}, "solver")):  # fmt: skip
        with pytest.raises(ValueError, match=name):
            ScreenedSVR(**wrong).fit(X, y)
    with pytest.raises(ValueError, match=r"^y\b"):
        ScreenedSVR().fit(X, np.where(np.arange(120) == 3, 1e50, y))
    with pytest.raises(ValueError, match=r"\bsample_weight\b"):
        ScreenedSVR().fit(X, y, np.zeros(120))
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        ScreenedSVR(1e3, max_iter=3).fit(X, y)


@pytest.mark.proof
def test_many_noisy_rows_converge():
    """Where most residuals are outside the tube, levels start far off and the gap falls slowly."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(20_000, 8))
    targets = np.sin(1.5 * data[:, 0]) + 0.5 * data[:, 1] * data[:, 2]
    targets += 0.3 * np.maximum(data[:, 3], 0.0) + 0.3 * rng.standard_t(4, size=20_000)
    model = ScreenedSVR(gamma="auto", tol=1e-3).fit(data, scale(targets))
    assert model.dual_gap_ <= 1e-3


def test_what_users_of_svr_pass():
    model = ScreenedSVR(shrinking=False, max_iter=-1, gamma=GAMMA).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), ScreenedSVR(gamma=GAMMA).fit(X, y).predict(X))
    assert model.kernel_shift_ == 0.0


@pytest.mark.parametrize("free", [True, False], ids=["free", "penalised"])
def test_an_indefinite_kernel_is_shifted_if_asked(free):
    K = np.tanh(0.3 * X[:40] @ X[:40].T - 0.5)
    options = {"kernel": "precomputed", "intercept": "free" if free else "penalised"}
    with pytest.raises(ValueError, match=r"\bkernel\b"):
        ScreenedSVR(indefinite="error", **options).fit(K, y[:40])
    model = ScreenedSVR(indefinite="shift", tol=1e-9, **options).fit(K, y[:40])
    H = np.eye(40) - 1.0 / 40.0 if free else np.eye(40)
    least = np.linalg.eigvalsh(H @ K @ H).min()
    assert model.kernel_shift_ == pytest.approx(-least, rel=1e-6)
    shifted = H @ K @ H + model.kernel_shift_ * np.eye(40) + (0.0 if free else 1.0)
    wanted = regression_optimum(shifted, y[:40], np.ones(40), 0.1, free)
    assert model.objective_ == pytest.approx(wanted, rel=1e-7)


def test_many_targets_that_are_all_within_the_tube():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(2100, 3))
    for targets in (0.01 * rng.normal(size=2100), np.full(2100, 7.0)):
        model = ScreenedSVR().fit(data, targets)
        assert model.support_.size == 0 and model.objective_ == model.dual_gap_ == 0.0
        np.testing.assert_allclose(model.predict(data), model.intercept_[0])


def test_what_the_store_keeps_is_in_double_precision(tmp_path):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(2100, 3))
    targets = np.sin(data[:, 0]) + 0.1 * rng.normal(size=2100)
    ScreenedSVR(10.0, gamma=GAMMA, store=tmp_path).fit(data, targets)
    (path,) = tmp_path.rglob("*.npz")
    kept = dict(np.load(path))
    beta = kept["beta"].reshape(2, -1).sum(axis=0)
    scores = pairwise_kernels(data, metric="rbf", gamma=GAMMA) @ beta
    size = np.abs(beta).sum()
    np.testing.assert_allclose(kept["scores"], np.tile(scores, 2), rtol=0, atol=1e-13 * size)


def test_a_gamma_of_zero_makes_a_constant():
    model = ScreenedSVR(gamma=0.0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), model.predict(X)[0])


def test_kernel_values_near_the_smallest_number_are_solved_or_it_is_said():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ScreenedSVR(kernel="linear").fit(1e-161 * X, y)
    assert not any(issubclass(one.category, RuntimeWarning) for one in caught)
    assert np.isfinite(model.predict(1e-161 * X)).all()


def test_targets_within_a_wide_tube_of_squared_losses_have_no_gap():
    """Rounding errors of margins count only where they can make a loss."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 20))
    for intercept in ("penalised", "free"):
        model = ScreenedSVR(C=1e8, epsilon=1e9, loss="squared_epsilon_insensitive",
                            intercept=intercept)  # fmt: skip
        model.fit(A, 1e8 * A[:, 0])
        assert model.dual_gap_ == 0.0 and model.objective_ == 0.0


@pytest.mark.few(2)
@pytest.mark.parametrize("options", [{}, {"intercept": "penalised"}, {"fit_intercept": False}])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_no_loss_at_all_against_clarabel(options, loss):
    data, targets, epsilon = X[:60], y[:60], 0.2
    model = ScreenedSVR(np.inf, epsilon=epsilon, loss=loss, gamma=GAMMA, tol=1e-9, **options)
    model.fit(data, targets)
    K = pairwise_kernels(data, metric="rbf", gamma=GAMMA)
    K = K + (options.get("intercept") == "penalised")
    root, v, b = np.linalg.cholesky(K + 1e-13 * np.eye(60)), cp.Variable(60), cp.Variable()
    f = root @ v + (0.0 if options else b)
    problem = Problem(cp.Minimize(0.5 * cp.sum_squares(v)), [cp.abs(targets - f) <= epsilon])
    problem.solve(solver="CLARABEL")
    assert_allclose(model.objective_, problem.value, rtol=1e-6)
    assert model.dual_gap_ <= 1e-9
    assert np.abs(targets - model.predict(data)).max() <= epsilon * (1.0 + 1e-6)
    with pytest.raises(ValueError, match=r"^C=inf"):
        ScreenedSVR(np.inf, kernel="linear", epsilon=0.01).fit(X, y)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_coefficients_of_sparse_samples_are_sparse(container, kernel):
    dense, thin = (ScreenedSVR(kernel=kernel, tol=1e-9).fit(data, y) for data in (X, container(X)))
    assert isinstance(thin.dual_coef_, container) and isinstance(dense.dual_coef_, np.ndarray)
    if kernel == "linear":
        assert isinstance(thin.coef_, container) and thin.coef_.shape == (1, X.shape[1])
        assert_allclose(thin.coef_.toarray(), dense.coef_, atol=1e-6)
    for shown in (X, container(X)):
        assert_allclose(thin.predict(shown), dense.predict(X), atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("epsilon", [1e300, 5e-324])
def test_tubes_of_any_width(kernel, epsilon):
    """What overflows inside is neither a warning nor a wrong model."""
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(18, 3)), rng.normal(size=18)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ScreenedSVR(1e3, epsilon=epsilon, kernel=kernel).fit(rows, targets)
    assert np.isfinite(model.predict(rows)).all()
    if epsilon > 1.0:
        assert not model.dual_coef_.any()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_certificate_is_that_of_the_intercept_next_to_far_targets(kernel):
    """An intercept near 1e9 has lost digits that C times the losses show."""
    rng, wide = np.random.default_rng(0), np.longdouble
    rows = rng.normal(size=(20, 3))
    targets = rows.sum(axis=1) + 0.01 * rng.normal(size=20) + 1e9
    with pytest.warns(ConvergenceWarning, match="Rounding errors"):
        model = ScreenedSVR(1e4, kernel=kernel, gamma=GAMMA).fit(rows, targets)
    beta = np.zeros(20, wide)
    beta[model.support_] = model.dual_coef_[0]
    squares = ((rows[:, None].astype(wide) - rows) ** 2).sum(axis=-1)
    K = rows.astype(wide) @ rows.T if kernel == "linear" else np.exp(-wide(GAMMA) * squares)
    residuals = targets - K @ beta - model.intercept_[0]
    losses = 1e4 * np.maximum(np.abs(residuals) - 0.1, 0.0)
    assert_allclose(float(beta @ K @ beta / 2 + losses.sum()), model.objective_, rtol=1e-6)
    gap = (losses - beta * residuals + 0.1 * np.abs(beta)).sum() / model.objective_
    assert_allclose(float(gap), model.dual_gap_, rtol=1e-3)


@pytest.mark.parametrize("unit", [1e-8, 1e8])
@pytest.mark.parametrize("solver", ["auto", "second-order"])
def test_small_and_large_targets_are_the_same_problem(solver, unit):
    """Hinges are smoothed over a share of the targets."""
    options = {"kernel": "linear", "solver": solver}
    model = ScreenedSVR(50.0, **options).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = ScreenedSVR(50.0 * unit, epsilon=0.1 * unit, **options).fit(X, y * unit)
    assert_allclose(other.objective_, model.objective_ * unit**2, rtol=1e-5)
    assert other.n_iter_ <= 2 * model.n_iter_ + 50
