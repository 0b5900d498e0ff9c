"""One-class machines: solutions, offsets, calibration, what is certain, spheres, paths."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.svm import OneClassSVM

from skscreen import ScreenedOneClassSVM, one_class_path
from tests.optima import Problem


@pytest.fixture(scope="module")
def cancer():
    X = load_breast_cancer().data
    return (X - X.mean(axis=0)) / X.std(axis=0)


def whole(model, n):
    alpha = np.zeros(n)
    alpha[model.support_] = np.asarray(model.dual_coef_).ravel()
    return alpha


@pytest.mark.few(8)
@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_solutions_are_those_of_scikit_learn(kernel, nu, cancer):
    X = cancer + 3.0 if kernel == "linear" else cancer
    how = {"nu": nu, "kernel": kernel, "coef0": 1.0, "gamma": 0.03, "tol": 1e-9}
    model, known = ScreenedOneClassSVM(**how).fit(X), OneClassSVM(**how).fit(X)
    assert model.dual_gap_ <= 1e-9
    size = abs(known.offset_[0])
    np.testing.assert_allclose(
        model.decision_function(X), known.decision_function(X), atol=2e-6 * size
    )
    K = {"rbf": rbf_kernel(X, gamma=0.03), "linear": linear_kernel(X)}.get(
        kernel, (0.03 * X @ X.T + 1.0) ** 3
    )
    values = [0.5 * a @ K @ a for a in (whole(model, len(X)), whole(known, len(X)))]
    assert values[0] == pytest.approx(values[1], rel=1e-7)
    assert model.objective_ == pytest.approx(-values[1], rel=1e-7)
    assert whole(model, len(X)).sum() == pytest.approx(nu * len(X), rel=1e-12)


@pytest.mark.few(3)
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("shape", ["plane", "sphere"])
def test_no_more_weight_than_nu_is_outside_at_any_tolerance(shape, kernel, tol, cancer):
    X = cancer + 3.0 if kernel == "linear" else cancer
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    for nu in (1e-6, 0.013, 0.2, 0.77, 1.0):
        for weight in (None, weights):
            model = ScreenedOneClassSVM(nu=nu, kernel=kernel, shape=shape, coef0=1.0, tol=tol)
            outside = model.fit(X, sample_weight=weight).predict(X) < 0
            assert np.average(outside, weights=weight) <= nu * (1.0 + 1e-12)
            assert not outside.all()


def test_scores_decisions_and_offsets_agree_bit_for_bit(cancer):
    for shape in ("plane", "sphere"):
        model = ScreenedOneClassSVM(nu=0.1, shape=shape).fit(cancer)
        scores, decisions = model.score_samples(cancer), model.decision_function(cancer)
        assert (scores == decisions + model.offset_).all()
        assert model.intercept_ == [-model.offset_]
        assert (model.predict(cancer) == np.where(decisions >= 0.0, 1, -1)).all()
        assert (model.fit_predict(cancer) == model.predict(cancer)).all()


def test_weights_are_repetitions_and_scales_do_not_matter(cancer):
    X, weights = cancer[:150], np.arange(150) % 3
    how = {"nu": 0.2, "gamma": 0.03, "tol": 1e-10}
    model = ScreenedOneClassSVM(**how).fit(X, sample_weight=weights)
    known = ScreenedOneClassSVM(**how).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(model.score_samples(X), known.score_samples(X), rtol=1e-6)
    other = ScreenedOneClassSVM(**how).fit(X, sample_weight=1e-7 * weights)
    np.testing.assert_allclose(1e-7 * model.score_samples(X), other.score_samples(X), rtol=1e-6)
    assert other.dual_gap_ <= 1e-10


def test_matrices_functions_and_sparse_rows_are_the_same(cancer):
    X, Z = cancer[:200], cancer[200:260]
    model = ScreenedOneClassSVM(nu=0.1, gamma=0.03, tol=1e-9).fit(X)
    scores = model.decision_function(Z)
    K = rbf_kernel(X, gamma=0.03)
    given = ScreenedOneClassSVM(nu=0.1, kernel="precomputed", tol=1e-9).fit(K)
    found = given.decision_function(rbf_kernel(Z, X, gamma=0.03))
    np.testing.assert_allclose(found, scores, atol=1e-6 * abs(model.offset_))
    function = ScreenedOneClassSVM(nu=0.1, kernel=lambda A, B: rbf_kernel(A, B, 0.03), tol=1e-9)
    np.testing.assert_allclose(
        function.fit(X).decision_function(Z), scores, atol=1e-6 * abs(model.offset_)
    )
    rows = ScreenedOneClassSVM(nu=0.1, gamma=0.03, tol=1e-9).fit(sparse.csr_array(X))
    assert sparse.issparse(rows.support_vectors_)
    np.testing.assert_allclose(
        rows.decision_function(sparse.csr_array(Z)), scores, atol=1e-6 * abs(model.offset_)
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_the_sphere_is_the_smallest_one(kernel, cancer):
    X, nu = cancer[:80, :5], 0.15
    model = ScreenedOneClassSVM(nu, kernel=kernel, gamma=0.2, coef0=1.0, shape="sphere", tol=1e-9)
    model.fit(X)
    K = {"rbf": rbf_kernel(X, gamma=0.2), "linear": X @ X.T}.get(kernel, (0.2 * X @ X.T + 1.0) ** 3)
    w, V = np.linalg.eigh(K)
    points = V * np.sqrt(np.maximum(w, 0.0))
    centre, square = cp.Variable(len(X)), cp.Variable()
    distances = cp.sum(cp.square(points - cp.reshape(centre, (1, len(X)), order="C")), axis=1)
    P = square + cp.sum(cp.pos(distances - square)) / (nu * len(X))
    Problem(cp.Minimize(P)).solve(cp.CLARABEL)
    assert model.objective_ == pytest.approx(float(P.value), rel=1e-6)
    assert model.radius_**2 == pytest.approx(-model.offset_)
    found = -model.score_samples(X)
    np.testing.assert_allclose(found, distances.value, rtol=1e-3, atol=1e-3 * found.max())
    assert model.dual_coef_.sum() == pytest.approx(1.0)


def test_a_sphere_is_the_same_wherever_the_origin_is(cancer):
    models = [
        ScreenedOneClassSVM(0.1, kernel="linear", shape="sphere", tol=1e-8).fit(cancer + far)
        for far in (0.0, 100.0)
    ]
    assert models[0].radius_ == pytest.approx(models[1].radius_, rel=1e-6)


@pytest.mark.parametrize("far", [100.0, 1000.0])
def test_a_sphere_far_from_the_origin_is_the_primal_value_of_its_weights(cancer, far):
    # Weights are a little apart from what the dual variables give, and |w|^2 is large.
    model = ScreenedOneClassSVM(0.1, kernel="linear", shape="sphere", tol=1e-11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(cancer + far)
    rows, alpha = (cancer + far).astype(np.longdouble), whole(model, len(cancer))
    rows -= rows.mean(axis=0)
    dual = alpha @ (rows**2).sum(axis=1) - ((alpha @ rows) ** 2).sum()
    assert -1e-10 <= model.objective_ / dual - 1.0 <= max(1e-11, model.dual_gap_)


def test_a_sphere_needs_own_values_of_new_samples(cancer):
    K = rbf_kernel(cancer[:50])
    model = ScreenedOneClassSVM(kernel="precomputed", shape="sphere").fit(K)
    with pytest.raises(ValueError, match=r"^shape"):
        model.predict(K)
    with pytest.raises(ValueError, match=r"^certain"):
        ScreenedOneClassSVM(kernel="precomputed").fit(K).certain(K)


def test_calibrated_offsets_have_the_rate_that_was_asked_for():
    rng, rates = np.random.default_rng(0), []
    for _ in range(40):
        X, held_out, fresh = rng.normal(size=(3, 100, 3))
        model = ScreenedOneClassSVM(nu=0.3).fit(X)
        assert model.calibrate_offset(held_out, 0.1) is model
        assert np.count_nonzero(model.predict(held_out) < 0) == 9
        rates.append(np.mean(model.predict(fresh) < 0))
    assert 0.08 < np.mean(rates) < 0.12
    with pytest.raises(ValueError, match=r"^rate=0.001"):
        model.calibrate_offset(held_out, 0.001)
    with pytest.raises(ValueError, match=r"^rate must"):
        model.calibrate_offset(held_out, 1.5)


@pytest.mark.few(3)
@pytest.mark.parametrize("shape", ["plane", "sphere"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_what_is_certain_has_the_side_of_the_exact_solution(kernel, shape, cancer):
    X, Z = cancer[:300], np.random.default_rng(0).normal(size=(500, 30))
    if kernel == "linear":
        X, Z = X + 3.0, Z + 3.0
    how = {"nu": 0.1, "kernel": kernel, "shape": shape, "coef0": 1.0, "gamma": 0.03}
    exact = ScreenedOneClassSVM(**how, tol=1e-12).fit(X)
    for tol in (1e-1, 1e-2, 1e-4, 1e-8):
        model = ScreenedOneClassSVM(**how, tol=tol).fit(X)
        for _ in range(2):
            certain = model.certain(Z)
            assert (model.predict(Z) == exact.predict(Z))[certain].all()
            model.calibrate_offset(Z[:200], 0.2)
            exact.calibrate_offset(Z[:200], 0.2)
        exact = ScreenedOneClassSVM(**how, tol=1e-12).fit(X)
    assert certain.mean() > 0.9


@pytest.mark.parametrize("shape", ["plane", "sphere"])
def test_decisions_on_samples_hold_in_the_exact_solution(shape, cancer):
    how = {"nu": 0.2, "shape": shape, "gamma": 0.03}
    exact = ScreenedOneClassSVM(**how, tol=1e-12).fit(cancer)
    alpha = whole(exact, len(cancer)) * (0.2 * len(cancer) if shape == "sphere" else 1.0)
    for tol in (1e-2, 1e-5, 1e-9):
        found = ScreenedOneClassSVM(**how, tol=tol).fit(cancer).screened(cancer)
        assert (alpha[found.codes_ == 1] == 0.0).all()
        assert (alpha[found.codes_ == 2] == 1.0).all()
        assert 0.0 <= found.rate_ <= 1.0
    assert found.rate_ > 0.9
    with pytest.raises(ValueError, match=r"^X must"):
        exact.screened(cancer[::-1])


def test_the_origin_inside_ends_with_advice(cancer):
    with pytest.raises(ValueError, match=r"^nu=0\.1"):
        ScreenedOneClassSVM(nu=0.1, kernel="linear").fit(cancer)


def test_few_steps_warn_with_the_gap(cancer):
    with pytest.warns(ConvergenceWarning, match="tol=1e-09"):
        model = ScreenedOneClassSVM(nu=0.1, max_iter=3, tol=1e-9).fit(cancer)
    assert model.dual_gap_ > 1e-9
    assert model.history_["gap"][-1] == model.dual_gap_


@pytest.mark.filterwarnings("ignore:the kernel")
def test_indefinite_kernels_are_those_of_scikit_learn(cancer):
    how = {"nu": 0.3, "kernel": "sigmoid", "gamma": 0.1, "tol": 1e-6}
    model, known = ScreenedOneClassSVM(**how).fit(cancer), OneClassSVM(**how).fit(cancer)
    assert np.isnan(model.dual_gap_)
    np.testing.assert_allclose(
        model.decision_function(cancer), known.decision_function(cancer), atol=1e-2
    )
    assert not model.certain(cancer).any()


@pytest.mark.few(3)
@pytest.mark.parametrize("shape", ["plane", "sphere"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_path_is_single_fits(kernel, shape, cancer):
    X, nus = cancer + 3.0, [0.05, 0.1, 0.15, 0.3]
    path = one_class_path(X, nus, kernel=kernel, shape=shape, tol=1e-9)
    np.testing.assert_array_equal(path.nus, nus)
    assert path.dual_gaps.max() <= 1e-9
    for k, nu in enumerate(nus):
        model = ScreenedOneClassSVM(nu, kernel=kernel, shape=shape, tol=1e-9).fit(X)
        assert path[k].nu == nu
        assert path.objectives[k] == path[k].objective_ == pytest.approx(model.objective_, rel=1e-6)
        scores = model.score_samples(X)
        np.testing.assert_allclose(path[k].score_samples(X), scores, rtol=1e-4)
    with pytest.raises(ValueError, match=r"^nus must"):
        one_class_path(X, [0.5, 1.5])


def test_a_path_in_tiles_is_certified():
    X = np.random.default_rng(0).normal(size=(2500, 4))
    path = one_class_path(X)
    assert path.nus.size == 20
    assert path.dual_gaps.max() <= 1e-6
    outside = [np.mean(model.predict(X) < 0) for model in path]
    assert (np.array(outside) <= path.nus + 1e-12).all()


def test_a_path_ends_where_w_is_zero(cancer):
    with pytest.warns(UserWarning, match=r"\bnu\b"):
        path = one_class_path(cancer + 0.2, [0.01, 0.05, 0.9, 0.95], kernel="linear")
    assert path.nus[-1] == 0.95
    assert len(path) < 4


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_sphere_around_equal_samples_is_a_point(kernel):
    model = ScreenedOneClassSVM(0.5, kernel=kernel, gamma=0.1, shape="sphere", max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(np.ones((5, 2)))
    assert model.radius_ == pytest.approx(0.0, abs=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_path_of_spheres_around_one_sample_ends_at_once():
    """A gap relative to a radius of 0 was asked for, in 100,000 steps for each nu."""
    path = one_class_path([[0.1257]], kernel="linear", shape="sphere")
    assert all(model.n_iter_ < 100 for model in path)
    assert max(model.radius_ for model in path) < 1e-6


@pytest.mark.parametrize("shape", ["plane", "sphere"])
def test_a_nu_whose_products_underflow_is_refused(shape, cancer):
    with pytest.raises(ValueError, match=r"^nu="):
        ScreenedOneClassSVM(1e-160, shape=shape).fit(cancer[:20])
