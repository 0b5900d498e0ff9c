"""Classification and regression at a nu: solutions, feasibility, degenerate problems, paths."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from sklearn.svm import NuSVC, NuSVR

from skscreen import (
    ScreenedNuSVC,
    ScreenedNuSVR,
    ScreenedSVC,
    ScreenedSVR,
    nu_svc_path,
    nu_svr_path,
    screen_samples,
)
from skscreen.svm.nu.labelled import NuProblems


def scaled(load):
    X, y = load(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.fixture(scope="module")
def cancer():
    return scaled(load_breast_cancer)


@pytest.fixture(scope="module")
def wine():
    return scaled(load_wine)


@pytest.fixture(scope="module")
def diabetes():
    X, y = scaled(load_diabetes)
    return X[:250], (y - y.mean())[:250] / y.std()


@pytest.mark.few(3)
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("data", ["cancer", "wine"])
def test_classifiers_are_those_of_scikit_learn(data, kernel, request):
    X, y = request.getfixturevalue(data)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    for nu, weight in ((0.1, None), (0.4, weights)):
        how = {"nu": nu, "kernel": kernel, "coef0": 1.0, "gamma": 0.03, "tol": 1e-9}
        for shape in ("ovr", "ovo"):
            model = ScreenedNuSVC(**how, decision_function_shape=shape)
            known = NuSVC(**how, decision_function_shape=shape)
            model.fit(X, y, sample_weight=weight)
            known.fit(X, y, sample_weight=weight)
            assert model.dual_gap_ <= 1e-9
            np.testing.assert_array_equal(model.predict(X), known.predict(X))
            np.testing.assert_allclose(
                model.decision_function(X), known.decision_function(X), atol=2e-4
            )


def test_the_solution_is_that_of_the_svc_at_its_C(cancer):
    X, y = cancer
    model = ScreenedNuSVC(nu=0.2, gamma=0.03, tol=1e-9).fit(X, y)
    known = ScreenedSVC(model.C_, gamma=0.03, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), known.decision_function(X), atol=1e-4
    )  # fmt: skip
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-8)
    assert model.history_["gap"][-1] == pytest.approx(model.dual_gap_)


def test_the_solution_is_that_of_the_svr_at_its_epsilon(diabetes):
    X, y = diabetes
    for kernel in ("rbf", "linear", "poly"):
        how = {"kernel": kernel, "gamma": 0.1, "tol": 1e-9}
        model, known = ScreenedNuSVR(0.3, **how).fit(X, y), NuSVR(nu=0.3, **how).fit(X, y)
        np.testing.assert_allclose(model.predict(X), known.predict(X), atol=1e-4)
        other = ScreenedSVR(epsilon=model.epsilon_, **how).fit(X, y)
        np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-4)
        assert model.objective_ == pytest.approx(other.objective_, rel=1e-7)
        # No more than a share nu is outside of the tube.
        residuals = np.abs(model.predict(X) - y)
        assert np.mean(residuals > model.epsilon_ * (1.0 + 1e-6)) <= 0.3


def test_class_weights_are_honoured_and_make_a_nu_feasible(cancer):
    X, y = cancer
    X, y = np.concatenate([X[y == 1], X[y == 0][:40]]), np.repeat([1, 0], [(y == 1).sum(), 40])
    with pytest.raises(ValueError, match=r"^specified nu is infeasible"):
        ScreenedNuSVC(nu=0.5).fit(X, y)
    model = ScreenedNuSVC(nu=0.5, gamma=0.03, class_weight="balanced", tol=1e-9).fit(X, y)
    weights = y.size / (2.0 * np.bincount(y))[y]
    known = NuSVC(nu=0.5, gamma=0.03, tol=1e-9).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        model.decision_function(X), known.decision_function(X), atol=1e-5
    )  # fmt: skip


def test_an_infeasible_nu_is_known_before_any_kernel_value(wine):
    X, y = wine

    def kernel(A, B):
        raise AssertionError

    largest = 2.0 * 48 / (48 + 71)
    with pytest.raises(ValueError, match=f"specified nu is infeasible.*{largest:.6g}"):
        ScreenedNuSVC(nu=0.9, kernel=kernel).fit(X, y)
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        nu_svc_path(X, y, [0.1, 0.9], kernel=kernel)
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        screen_samples(X, y, nu=0.9, reference=ScreenedNuSVC(nu=0.3).fit(X, y))


@pytest.mark.parametrize("data", ["cancer", "wine"])
def test_the_largest_nu_predicts_as_scikit_learn(data, request):
    X, y = request.getfixturevalue(data)
    y = (y > 0).astype(int)
    nu = 2.0 * np.bincount(y).min() / y.size
    model = ScreenedNuSVC(nu=nu).fit(X, y)
    # scikit-learn's intercept is not finite there; next to it its predictions are these.
    known = NuSVC(nu=nu * (1.0 - 1e-6)).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), known.predict(X))
    X, y = np.concatenate([X[y == 0][:50], X[y == 1][:50]]), np.repeat([0, 1], 50)
    assert ScreenedNuSVC(nu=1.0).fit(X, y).score(X, y) > 0.8


def test_hulls_that_meet_end_with_advice():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    X, y = np.concatenate([X, X]), np.repeat([0, 1], 100)
    for kernel in ("rbf", "linear"):
        with pytest.raises(ValueError, match=r"^nu=0\.3"):
            ScreenedNuSVC(nu=0.3, kernel=kernel).fit(X, y)
    # Six rows on which libsvm never ended.
    with pytest.raises(ValueError, match=r"^nu=0\.3"):
        ScreenedNuSVC(nu=0.3).fit(np.ones((6, 13)), [0, 0, 0, 1, 1, 1])


def test_hulls_of_many_samples_that_meet_end_with_advice():
    rng = np.random.default_rng(0)
    both, own = rng.normal(size=(400, 4)), rng.normal(size=(1400, 4))
    y = np.repeat([0, 1, 0, 1], [400, 400, 700, 700])
    X = np.concatenate([both, both, own + 4.0 * (2 * y[800:, None] - 1)])
    # With up to 400 dual variables of each class at their bounds on rows of both w = 0.
    with pytest.raises(ValueError, match=r"^nu=0\.35 "):
        ScreenedNuSVC(nu=0.35).fit(X, y)
    assert ScreenedNuSVC(nu=0.75).fit(X, y).dual_gap_ <= 1e-6
    # A polynomial of few features, of labels that are noise.
    with pytest.raises(ValueError, match=r"^nu=0\.3 "):
        ScreenedNuSVC(nu=0.3, kernel="poly").fit(X, rng.permutation(y))


def test_a_nu_below_the_error_rate_is_solved_or_warned_of():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 4))
    y = X[:, 0] + 0.3 * rng.normal(size=2500) > 0.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ScreenedNuSVC(nu=0.12, max_iter=20_000).fit(X, y)
    missed = [each for each in caught if issubclass(each.category, ConvergenceWarning)]
    assert bool(missed) == (model.dual_gap_ > 1e-6)


def test_equal_targets_have_no_weights():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = ScreenedNuSVR(nu=0.4).fit(X, np.full(30, 7.0))
    assert (model.predict(X) == 7.0).all()
    assert model.epsilon_ == model.dual_gap_ == 0.0


@pytest.mark.parametrize(("n", "kernel"), [(200, "linear"), (1100, "linear"), (200, "poly")])
def test_targets_of_two_levels_in_a_tube_have_no_weights(n, kernel):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 3)), 2.0 + 3.0 * (rng.random(n) < 0.6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ScreenedNuSVR(nu=0.4, kernel=kernel).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), 3.5)
    assert model.epsilon_ == 1.5
    assert model.dual_gap_ == model.objective_ == 0.0


def test_targets_of_two_levels_apart_have_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.round(X[:, 0] + 0.5 * rng.normal(size=200)).clip(-1.0, 1.0)
    for nu in (0.1, 0.2, 0.5):
        model = ScreenedNuSVR(nu=nu, kernel="linear", tol=1e-9).fit(X, y)
        # The same solution, by a problem that knows no nu.
        other = ScreenedSVR(epsilon=model.epsilon_, kernel="linear", tol=1e-9).fit(X, y)
        np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-5)
        assert np.linalg.norm(model.coef_) > 0.1
    path = nu_svr_path(X, y, kernel="linear", nus=[0.2, 0.02, 0.01])
    np.testing.assert_allclose([path[0].epsilon_, path[1].epsilon_], 1.0)
    assert path[2].epsilon_ < 0.99


@pytest.mark.slow
def test_targets_of_two_levels_next_to_a_tube_without_weights():
    """Working sets take over, as one compiled call would take hundreds of steps a sample."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=500) > 0.0, 1.0, 0.0)
    model = ScreenedNuSVR(nu=0.05).fit(X, y)
    assert 8000 < model.n_iter_ < 200_000
    assert model.dual_gap_ <= 1e-6 and 0.49 < model.epsilon_ < 0.5
    other = ScreenedSVR(epsilon=model.epsilon_, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-4)


def test_matrices_are_the_same(wine, diabetes):
    X, y = wine
    model = ScreenedNuSVC(nu=0.2, gamma=0.05, tol=1e-9).fit(X, y)
    given = ScreenedNuSVC(nu=0.2, kernel="precomputed", tol=1e-9).fit(rbf_kernel(X, gamma=0.05), y)
    np.testing.assert_allclose(
        given.decision_function(rbf_kernel(X, gamma=0.05)), model.decision_function(X), atol=1e-5
    )
    X, y = diabetes
    model = ScreenedNuSVR(nu=0.2, gamma=0.05, tol=1e-9).fit(X, y)
    function = ScreenedNuSVR(nu=0.2, kernel=lambda A, B: rbf_kernel(A, B, 0.05), tol=1e-9)
    np.testing.assert_allclose(function.fit(X, y).predict(X), model.predict(X), atol=1e-5)


@pytest.mark.filterwarnings("ignore:The `probability`")
def test_probabilities_and_one_against_the_rest(wine):
    X, y = wine
    model = ScreenedNuSVC(nu=0.2, probability=True, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert (model.predict_proba(X).argmax(axis=1) == y).mean() > 0.95
    model = ScreenedNuSVC(nu=0.2, multi_class="ovr").fit(X, y)
    assert model.C_.shape == (3,)
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_decisions_on_samples_hold_in_the_exact_solution(multi_class, wine, diabetes):
    X, y = wine
    how = {"nu": 0.2, "gamma": 0.05, "multi_class": multi_class}
    exact = ScreenedNuSVC(**how, tol=1e-12).fit(X, y).screened(X, y)
    for tol in (1e-1, 1e-3, 1e-6):
        found = ScreenedNuSVC(**how, tol=tol).fit(X, y).screened(X, y)
        known = found.codes_ != 0
        # What the exact solution decides it decides alike.
        both = known & (exact.codes_ != 0)
        assert (found.codes_[both] == exact.codes_[both]).all()
        low, high = np.moveaxis(exact.bounds_, -1, 0)
        assert (found.bounds_[..., 0] <= high + 1e-9)[~np.isnan(high)].all()
        assert (found.bounds_[..., 1] >= low - 1e-9)[~np.isnan(low)].all()
    X, y = diabetes
    exact = ScreenedNuSVR(0.3, gamma=0.05, tol=1e-12).fit(X, y)
    alpha = np.zeros(y.size)
    alpha[exact.support_] = np.abs(exact.dual_coef_[0])
    for tol in (1e-2, 1e-6):
        found = ScreenedNuSVR(0.3, gamma=0.05, tol=tol).fit(X, y).screened(X, y)
        assert (alpha[found.codes_ == 1] == 0.0).all()
        assert (alpha[found.codes_ == 2] == 1.0).all()
    assert found.rate_ > 0.5


def test_paths_are_single_fits(wine, diabetes):
    X, y = wine
    path = nu_svc_path(X, y, [0.1, 0.3, 0.5], tol=1e-9)
    for k, nu in enumerate(path.nus):
        model = ScreenedNuSVC(nu, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(
            path[k].decision_function(X), model.decision_function(X), atol=1e-5
        )
        np.testing.assert_allclose(path[k].C_, model.C_, rtol=1e-5)
    X, y = diabetes
    path = nu_svr_path(X, y, [0.1, 0.5, 1.0], C=10.0, tol=1e-9)
    for k, nu in enumerate(path.nus):
        model = ScreenedNuSVR(nu, 10.0, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(path[k].predict(X), model.predict(X), atol=1e-5)
        assert path.objectives[k] == pytest.approx(model.objective_, rel=1e-7)
    assert nu_svc_path(X, y > 0.0, tol=1e-3).nus.size == 20


def test_references_of_the_family_decide_samples(cancer, diabetes):
    X, y = cancer
    model = ScreenedNuSVC(0.2, gamma=0.03, tol=1e-10).fit(X, y)
    for nu in (0.195, 0.2, 0.205):
        found = screen_samples(X, y, nu=nu, reference=model)
        exact = ScreenedNuSVC(nu, gamma=0.03, tol=1e-12).fit(X, y)
        alpha = np.zeros(y.size)
        alpha[exact.support_] = np.abs(exact.dual_coef_[0]) / exact.C_
        assert (alpha[found.codes_ == 1] == 0.0).all()
        np.testing.assert_allclose(alpha[found.codes_ == 2], 1.0)
        assert found.nu == nu
        assert found.rate_ > 0.2
    # As the C-SVC that it is.
    found = screen_samples(X, y, 1.05 * model.C_, reference=model)
    assert found.rate_ > 0.5
    X, y = diabetes
    model = ScreenedNuSVR(0.3, gamma=0.05, tol=1e-10).fit(X, y)
    found = screen_samples(X, y, reference=model)
    assert found.rate_ > 0.5
    assert found.bounds_.shape == (y.size, 2)
    with pytest.raises(ValueError, match=r"^C\b"):
        screen_samples(X, y > 0.0, reference=ScreenedSVC().fit(X, y > 0.0))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "sigmoid"])
def test_a_huge_C_is_refused(kernel, diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match=r"^C times"):
        ScreenedNuSVR(C=1e300, kernel=kernel).fit(X[:20], y[:20])


@pytest.mark.parametrize("size", [1e-100, 1e-161])
def test_margins_that_underflow_are_refused(size):
    with pytest.raises(ValueError, match=r"^X\b"):
        ScreenedNuSVC(kernel="linear").fit(
            size * np.array([[1.0], [2.0], [-1.0], [-2.0]]), [1, 1, 0, 0]
        )


def pairs_one_by_one(model, X, y, weights=None):
    """Return what pairs learn that are solved in a call each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NuProblems, "solve_together", lambda *_: None)
        return clone(model).fit(X, y, sample_weight=weights)


@pytest.mark.few(2)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "given"])
def test_pairs_together_are_those_alone_and_of_libsvm(kernel, weighted):
    X, y = load_digits(return_X_y=True)
    # The classes have 15 samples or so, in any order.
    X, y = scale(X)[:150], y[:150]
    weights = np.random.default_rng(0).uniform(0.5, 2.0, y.size) if weighted else None
    rows = X
    if kernel == "given":
        rows, kernel = rbf_kernel(X, gamma=0.01), "precomputed"
    # LIBSVM's tolerance is not relative: no kernel may have small values.
    how = {"kernel": kernel, "gamma": 0.1 if kernel == "poly" else 0.01}
    model = ScreenedNuSVC(0.2, **how, tol=1e-10)
    alone = pairs_one_by_one(model, rows, y, weights)
    model.fit(rows, y, sample_weight=weights)
    known = NuSVC(nu=0.2, **how, tol=1e-9).fit(rows, y, sample_weight=weights)
    for name in ("dual_coef_", "intercept_", "C_", "objective_"):
        np.testing.assert_allclose(
            getattr(model, name), getattr(alone, name), rtol=1e-8, atol=1e-10, err_msg=name
        )
    assert (model.support_ == alone.support_).all()
    assert model.n_iter_ == alone.n_iter_
    assert model.history_.dtype == alone.history_.dtype
    np.testing.assert_array_equal(model.history_["problem"], alone.history_["problem"])
    np.testing.assert_allclose(model.history_["primal"], alone.history_["primal"], rtol=1e-8)
    if kernel == "linear":
        np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-9)
    coefs = np.zeros((2, 9, y.size))
    for into, fitted in zip(coefs, (model, known), strict=True):
        into[:, fitted.support_] = fitted.dual_coef_
    np.testing.assert_allclose(*coefs, atol=1e-4 * np.abs(coefs).max())


def test_pairs_whose_hulls_meet_are_found_among_many(wine):
    X, y = wine
    # Classes 1 and 3 are the same rows.
    X, y = np.concatenate([X, X[y == 1]]), np.concatenate([y, np.full((y == 1).sum(), 3)])
    for kernel in ("rbf", "linear"):
        with pytest.raises(ValueError, match=r"^nu=0\.3 is too small: the weighted means"):
            ScreenedNuSVC(nu=0.3, kernel=kernel).fit(X, y)
    with pytest.raises(ValueError, match=r"nu=0\.9, and the largest one is 0\.80672"):
        ScreenedNuSVC(nu=0.9).fit(X, y)
    balanced = ScreenedNuSVC(nu=0.9, class_weight="balanced").fit(*wine)
    assert balanced.dual_gap_ <= 1e-6


def test_pairs_that_take_many_steps_go_on_alone():
    # Two classes that hardly differ, and one that does.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 4)), np.repeat([0, 1, 2], [200, 200, 100])
    X += 0.3 * (y == 1)[:, None] + 3.0 * (y == 2)[:, None]
    model = ScreenedNuSVC(0.2, gamma=0.2)
    alone = pairs_one_by_one(model, X, y)
    model.fit(X, y)
    assert model.n_iter_ == alone.n_iter_ > 4000
    np.testing.assert_allclose(model.objective_, alone.objective_, rtol=1e-5)
    np.testing.assert_array_equal(model.history_["problem"], alone.history_["problem"])
    # A limit of steps holds for each problem.
    with pytest.warns(ConvergenceWarning, match="^5 steps reached"):
        limited = ScreenedNuSVC(0.2, gamma=0.2, max_iter=5).fit(X, y)
    assert limited.n_iter_ <= 6
