import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from cases import every_pair, some
from numpy.testing import assert_allclose, assert_array_equal
from pragam_reference import objective, optimum
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, LinearSVC

from skscreen import PragamSVC

# 143 tumours with 30 features; 75 irises of three classes.
X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X[::4]), y[::4]
IRIS_X, IRIS_Y = load_iris(return_X_y=True)
IRIS_X, IRIS_Y = scale(IRIS_X)[::2], IRIS_Y[::2]
DIGITS_X, DIGITS_Y = load_digits(return_X_y=True)
for array in (X, y, IRIS_X, IRIS_Y):
    array.setflags(write=False)
NAMES = np.array(["benign", "malign"])
SIGNS = np.where(y == 1, 1.0, -1.0)
SOLVERS = ["pragam", "bmrm", "ls-bmrm", "pegasos"]


@pytest.mark.few(9)
@pytest.mark.parametrize("solver", ["pragam", "bmrm"])
@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("data", ["cancer", "digits", "iris"])
def test_decision_values_of_svc(solver, C, data):
    A, b = {
        "cancer": (X, y),
        "digits": (DIGITS_X[::5] / 16.0, DIGITS_Y[::5] == 8),
        "iris": (IRIS_X, IRIS_Y == 1),
    }[data]
    peer = SVC(kernel="linear", C=C, tol=1e-8).fit(A, b)
    # The planes of BMRM are nearly parallel at last: its programme has fewer digits.
    tol = 1e-12 if solver == "pragam" else 1e-10
    model = PragamSVC(C, solver=solver, tol=tol).fit(A, b)
    assert_allclose(model.decision_function(A), peer.decision_function(A), rtol=0.0, atol=1e-4)
    assert_array_equal(model.predict(A), peer.predict(A))


@pytest.mark.few(5)
@every_pair(
    C=[0.05, 7.0],
    fit_intercept=[False, True],
    solver=SOLVERS,
)
def test_conic_solver(solver, fit_intercept, C):
    lam = 1.0 / (C * len(y))
    best = optimum(X, SIGNS, lam, fit_intercept)
    for tol in (1e-4, 1e-6) if solver in ("pragam", "bmrm") else (5e-2,):
        model = PragamSVC(
            C, solver=solver, fit_intercept=fit_intercept, tol=tol, max_iter=5000
        ).fit(X, y)
        assert 0.0 <= model.dual_gap_ <= tol
        value, (b,) = model.objective_, model.intercept_
        assert best - 1e-10 <= value <= best / (1.0 - tol) + 1e-10
        assert value * (1.0 - model.dual_gap_) <= best + 1e-10
        assert_allclose(objective(X, SIGNS, lam, model.coef_[0], b), value, rtol=1e-10)
        assert (b == 0.0) == (not fit_intercept)


def test_liblinear_without_intercept():
    peer = LinearSVC(
        C=0.1, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**6, random_state=0
    ).fit(X, y)
    model = PragamSVC(0.1, fit_intercept=False, tol=1e-12).fit(X, y)
    assert_allclose(model.coef_, peer.coef_, atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_history(solver):
    model = PragamSVC(solver=solver, tol=0.02).fit(X, y)
    history = model.history_
    assert history.dtype.names == ("iteration", "seconds", "primal", "dual", "gap")
    assert_array_equal(history["iteration"], np.arange(model.n_iter_ + 1))
    gaps = history["gap"]
    assert_allclose(gaps * history["primal"], history["primal"] - history["dual"], atol=1e-15)
    assert np.all(np.diff(gaps) <= 0.0) and np.all(np.diff(history["seconds"]) >= 0.0)
    assert gaps[-1] == model.dual_gap_ <= 0.02 < gaps[-2]
    assert history["primal"][-1] == model.objective_
    assert history["primal"][0] == pytest.approx(2.0 * np.mean(y == 0))


def test_dual_variables_certify_by_themselves():
    C = 0.3
    model = PragamSVC(C, tol=1e-6).fit(X, y)
    alpha = SIGNS * model.dual_coef_[0]
    w = model.dual_coef_[0] @ X
    assert np.all(alpha >= 0.0) and np.all(alpha <= C * (1.0 + 1e-14))
    assert abs(model.dual_coef_.sum()) < 1e-12
    lam = 1.0 / (C * len(y))
    assert_allclose(lam * (alpha.sum() - 0.5 * w @ w), model.history_["dual"][-1], rtol=1e-10)


def test_more_classes_are_one_against_the_rest():
    names = np.array(["c", "a", "b"])[IRIS_Y]
    model = PragamSVC(tol=1e-6).fit(IRIS_X, names)
    parts = [PragamSVC(tol=1e-6).fit(IRIS_X, names == name) for name in "abc"]
    assert_array_equal(model.classes_, ["a", "b", "c"])
    assert_array_equal(model.coef_, [part.coef_[0] for part in parts])
    assert_array_equal(model.intercept_, [part.intercept_[0] for part in parts])
    assert model.dual_gap_ == max(part.dual_gap_ for part in parts)
    assert model.n_iter_ == max(part.n_iter_ for part in parts)
    assert_array_equal(model.objective_, [part.objective_ for part in parts])
    for k, part in enumerate(parts):
        history = model.history_[model.history_["problem"] == k]
        assert_array_equal(history["gap"], part.history_["gap"])
    scores = model.decision_function(IRIS_X)
    assert_array_equal(model.predict(IRIS_X), model.classes_[scores.argmax(axis=1)])
    threads = PragamSVC(tol=1e-6, n_jobs=2).fit(IRIS_X, names)
    assert_array_equal(threads.coef_, model.coef_)


@pytest.mark.parametrize("solver", ["pragam", "bmrm"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 0.5, 1: 2.0}])
def test_weights_are_repetitions_and_zero_is_removal(solver, class_weight):
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    model = PragamSVC(0.3, solver=solver, tol=1e-10, class_weight=class_weight)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-8)
    if solver == "pragam":
        assert not weighted.dual_coef_[0, weights == 0].any()


def test_weights_of_svc():
    weights = np.random.default_rng(1).random(len(y))
    peer = SVC(kernel="linear", C=0.5, tol=1e-8, class_weight={0: 3.0}).fit(X, y, weights)
    model = PragamSVC(0.5, tol=1e-12, class_weight={0: 3.0}).fit(X, y, weights)
    assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-4)
    value = optimum(
        X, SIGNS, 1.0 / (0.5 * (w := weights * np.where(y == 0, 3.0, 1.0)).sum()), True, w
    )
    assert_allclose(model.objective_, value, rtol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array])
def test_sparse_equals_dense(solver, container):
    rough = np.where(np.abs(X) > 0.5, X, 0.0)
    model = PragamSVC(0.1, solver=solver, tol=1e-2)
    dense, thin = (clone(model).fit(data, y) for data in (rough, container(rough)))
    assert_allclose(
        thin.decision_function(container(X)), dense.decision_function(X), rtol=1e-6, atol=1e-8
    )
    assert thin.n_iter_ == dense.n_iter_


def test_small_batches():
    options = {"solver": "pegasos", "fit_intercept": False, "tol": 0.01, "C": 0.05}
    models = [
        PragamSVC(batch_size=size, random_state=seed, **options).fit(X, y)
        for size, seed in ((1, 0), (1, 0), (1, 1), (20, 0))
    ]
    assert_array_equal(models[0].coef_, models[1].coef_)
    assert not np.array_equal(models[0].coef_, models[2].coef_)
    assert not np.array_equal(models[0].coef_, models[3].coef_)
    state = np.random.RandomState(3)
    again = [PragamSVC(batch_size=1, random_state=state, **options).fit(X, y) for _ in range(2)]
    assert not np.array_equal(again[0].coef_, again[1].coef_)
    # A line for each pass over the data.
    assert_array_equal(np.diff(models[0].history_["iteration"]), len(y))
    best = optimum(X, SIGNS, 1.0 / (0.05 * len(y)), False)
    for model in (*models, *again):
        assert best <= model.objective_ <= best / 0.99
        assert not hasattr(model, "dual_coef_")


@pytest.mark.proof
def test_options_of_the_algorithms_reach_them():
    plain = PragamSVC(tol=1e-6).fit(X, y)
    exact = PragamSVC(tol=1e-6, lipschitz=len(y) * np.linalg.norm(X, 2) ** 2).fit(X, y)
    published = PragamSVC(tol=1e-6, restart=False).fit(X, y)
    assert plain.n_iter_ < 0.5 * exact.n_iter_
    assert plain.n_iter_ < 0.5 * published.n_iter_
    wild, tame = (
        PragamSVC(solver="pegasos", fit_intercept=False, tol=0.05, projection=p).fit(X, y)
        for p in (False, True)
    )
    assert not np.array_equal(wild.history_["primal"], tame.history_["primal"][: wild.n_iter_])


def test_warm_start():
    model = PragamSVC(0.1, tol=1e-6, warm_start=True).fit(X, y)
    cold = PragamSVC(0.12, tol=1e-6).fit(X, y)
    assert model.fit(X, y).n_iter_ == 0
    model.set_params(C=0.12).fit(X, y)
    assert 0 < model.n_iter_ < cold.n_iter_
    assert_allclose(model.objective_, cold.objective_, atol=1e-6)
    weights = np.where(np.arange(len(y)) % 5, 1.0, 0.0)
    model.fit(X, y, weights)
    assert_allclose(
        model.objective_, PragamSVC(0.12, tol=1e-6).fit(X, y, weights).objective_, atol=1e-6
    )
    many = PragamSVC(0.1, tol=1e-6, warm_start=True).fit(IRIS_X, IRIS_Y).fit(IRIS_X, IRIS_Y)
    assert many.n_iter_ == 0
    # Other labels of the same samples are another problem, solved all the same.
    flipped = model.fit(X, 1 - y)
    assert_allclose(flipped.coef_, -PragamSVC(0.12, tol=1e-6).fit(X, y).coef_, atol=1e-2)


@pytest.mark.parametrize("solver", ["bmrm", "ls-bmrm"])
def test_warm_start_of_bundles(solver):
    model = PragamSVC(0.1, tol=1e-2, solver=solver, warm_start=True).fit(X, y)
    first = model.objective_
    model.fit(X, y)
    assert model.history_["primal"][0] == pytest.approx(first, rel=1e-12)
    # Dual variables are not kept by bundles: Pragam then begins from nothing.
    assert model.set_params(solver="pragam").fit(X, y).history_["dual"][0] == 0.0


def test_warm_start_of_other_samples():
    model = PragamSVC(warm_start=True).fit(X, y)
    for data, labels in ((X[:50], y[:50]), (X[:, :5], y), (X, NAMES[y])):
        with pytest.raises(ValueError, match=r"^warm_start=True"):
            model.fit(data, labels)
        model.fit(X, y)
    model.set_params(warm_start=False).fit(X[:50], y[:50])


def test_few_iterations_warn_with_the_gap():
    with pytest.warns(ConvergenceWarning, match=r"tol=0\.0001"):
        model = PragamSVC(max_iter=3).fit(X, y)
    assert model.dual_gap_ > 1e-4 and model.n_iter_ == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        PragamSVC().fit(X, y)


def test_single_precision_and_read_only_data():
    model = PragamSVC(tol=1e-6).fit(X.astype(np.float32), y)
    assert_allclose(model.coef_, PragamSVC(tol=1e-6).fit(X, y).coef_, atol=1e-3)


def test_progress_bar(capsys):
    PragamSVC(verbose=1).fit(IRIS_X, IRIS_Y)
    shown = capsys.readouterr().err
    assert "100% gap=" in shown and "iterations=" in shown
    PragamSVC().fit(IRIS_X, IRIS_Y)
    assert capsys.readouterr().err == ""


def test_pipelines_grids_and_names():
    frame = pd.DataFrame(X).add_prefix("f")
    model = PragamSVC().fit(frame, NAMES[y])
    assert model.feature_names_in_[0] == "f0"
    assert set(model.predict(frame)) == set(NAMES)
    grid = {"pragamsvc__C": [0.01, 1.0], "pragamsvc__solver": ["pragam", "bmrm"]}
    search = GridSearchCV(make_pipeline(StandardScaler(), PragamSVC()), grid, cv=3)
    assert search.fit(X, y).best_score_ > 0.94
    assert_array_equal(
        pickle.loads(pickle.dumps(model)).decision_function(frame), model.decision_function(frame)
    )
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(PragamSVC().set_fit_request(sample_weight=True))
        routed.fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "'C' parameter"),
        ({"C": np.inf}, "'C' parameter"),
        ({"solver": "sgd"}, "'solver' parameter"),
        ({"lipschitz": 0.0}, "'lipschitz' parameter"),
        ({"lipschitz": "exact"}, "'lipschitz' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"batch_size": 0}, "'batch_size' parameter"),
        ({"class_weight": {7: 1.0}}, r"^class_weight\b"),
        ({"batch_size": 1, "solver": "pegasos"}, "needs fit_intercept=False"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        PragamSVC(**options).fit(X, y)


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("pragam", {"batch_size": 1, "projection": False}),
        ("bmrm", {"lipschitz": 1.0, "restart": False, "batch_size": 1}),
        ("pegasos", {"warm_start": True, "store": "nowhere", "restart": False}),
    ],
)
def test_parameters_of_other_solvers_are_ignored(solver, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain = PragamSVC(solver=solver, tol=0.05)
    with_others = clone(plain).set_params(**options).fit(X, y).fit(X, y)
    assert_array_equal(with_others.coef_, plain.fit(X, y).coef_)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("labels", "weights", "message"),
    [
        (np.ones(len(y)), None, r"\by\b"),
        (y, np.zeros(len(y)), "[Ss]ample.weight"),
        (y, np.full(len(y), -1.0), "sample_weight"),
        (y, (y == 1).astype(float), r"\by\b"),
        (X[:, 0], None, "continuous"),
    ],
)
def test_bad_labels_and_weights(labels, weights, message):
    with pytest.raises(ValueError, match=message):
        PragamSVC().fit(X, labels, sample_weight=weights)


def test_a_failed_fit_leaves_the_estimator_unfitted():
    model = PragamSVC().fit(X, y)
    with pytest.raises(ValueError, match=r"\by\b"):
        model.fit(X, np.ones(len(y)))
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_features_far_from_the_origin(make):
    """Steps as long as the samples' distance from it would allow were too short to get anywhere."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(40, 2))
    labels = data[:, 0] + 0.3 * rng.normal(size=40) > 0.0
    near = PragamSVC(tol=1e-6).fit(make(data), labels)
    far = PragamSVC(tol=1e-6).fit(make(data + 1e6), labels)
    assert far.dual_gap_ <= 1e-6
    assert far.n_iter_ <= 2 * near.n_iter_
    assert abs(far.objective_ - near.objective_) <= 2e-6


@pytest.mark.parametrize("size", [1e-161, 1e-150, 1e-130])
def test_features_whose_squares_are_next_to_nothing(size):
    data = size * np.array([[1.0], [-1.0], [0.5], [-0.3]])
    for fit_intercept in (True, False):
        model = PragamSVC(fit_intercept=fit_intercept).fit(data, [0, 1, 0, 1])
        assert model.dual_gap_ <= 1e-4


@pytest.mark.parametrize("seed", some(range(2), 0))
def test_lower_bounds_of_bmrm_between_planes_far_longer_than_their_mean(seed):
    rng = np.random.default_rng(seed)
    far = 1e8 * rng.normal(size=(30, 2))
    signs = np.where(far[:, 0] + 7e7 * rng.normal(size=30) > 0.0, 1, -1)
    found = {}
    for solver in ("bmrm", "ls-bmrm"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = PragamSVC(100.0, solver=solver, tol=1e-3, max_iter=1000)
            found[solver] = model.fit(far, signs)
    best = min(model.objective_ for model in found.values())
    for model in found.values():
        assert model.objective_ * (1.0 - model.dual_gap_) <= best * (1.0 + 1e-9)


def test_rounding_errors_of_margins_are_no_proof():
    """|w| is so large that the hinge losses of Pegasos are rounding errors."""
    X = np.array([[10.3, 9.1], [10.9, 9.2], [9.4, 10.6], [10.1, 11.2], [9.8, 10.3]])
    signs = np.array([1, -1, 1, 1, -1])
    weights = 10.0 ** np.array([-7.6, 7.3, 2.0, 5.0, -1.0])
    with pytest.warns(ConvergenceWarning):
        model = PragamSVC(1e20, solver="pegasos", max_iter=100, tol=1e-8).fit(
            X, signs, sample_weight=weights
        )
    w, b = model.coef_[0].astype(np.longdouble), np.longdouble(model.intercept_[0])
    shares = weights / weights.sum()
    loss = shares @ np.maximum(1.0 - signs * (X.astype(np.longdouble) @ w + b), 0.0)
    value = loss + w @ w / (2.0 * weights.sum() * 1e20)
    assert value <= model.objective_ * (1.0 + 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_only_products_of_C_and_weights_count(solver, fit_intercept):
    weights = np.random.default_rng(0).random(len(y))
    options = {"solver": solver, "fit_intercept": fit_intercept, "tol": 1e-2}
    options["max_iter"] = 200
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PragamSVC(0.01, **options).fit(X, y, weights)
        for factor in (2.0**-30, 1e-12, 1e12):
            other = PragamSVC(0.01 / factor, **options).fit(X, y, weights * factor)
            assert abs(other.n_iter_ - model.n_iter_) <= 1
            assert_allclose(other.coef_, model.coef_, rtol=1e-6, atol=1e-8)
            assert_allclose(other.objective_, model.objective_, rtol=1e-6)


def test_rows_far_from_the_origin():
    """An intercept takes up their shift, before any digits are lost."""
    model, far = PragamSVC().fit(X, y), PragamSVC().fit(X + 1e8, y)
    assert far.n_iter_ <= 2 * model.n_iter_ and far.dual_gap_ <= 1e-4
    assert_allclose(far.objective_, model.objective_, rtol=2e-4)


def test_the_certificate_of_a_huge_C_is_that_of_what_users_hold():
    rng, wide = np.random.default_rng(0), np.longdouble
    rows, signs = rng.normal(size=(8, 3)) + 1e5, np.where(np.arange(8) % 3, 1, -1)
    weights = 10.0 ** rng.uniform(-4, 4, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PragamSVC(1e8, max_iter=2000).fit(rows, signs, weights)
    w, a = model.coef_[0].astype(wide), model.dual_coef_[0].astype(wide)
    short = 1 - signs * (rows.astype(wide) @ w + model.intercept_[0])
    losses, apart = 1e8 * weights * np.maximum(short, 0), w - a @ (rows - rows.mean(axis=0))
    J = w @ w / 2 + losses.sum()
    assert_allclose(float(J) / (1e8 * weights.sum()), model.objective_, rtol=1e-6)
    gap = (losses - np.abs(a) * short).sum() + apart @ apart / 2
    assert float(gap / J) <= 1.01 * model.dual_gap_ + 1e-9


def test_the_dual_point_is_feasible_with_weights_of_many_decades():
    """Its sum by labels was 6e-9 for caps of 3e-17: a bound above the optimum, or a gap of 9e6."""
    samples, labels = np.random.default_rng(0).normal(size=(6, 3)), np.arange(6) % 2
    weights = {0: 1e8, 1: 1e-8}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PragamSVC(class_weight=weights, random_state=7).fit(samples, labels)
    dual = model.dual_coef_[0]
    assert abs(dual.sum()) <= 1e-15 * max(np.abs(dual).max(), 1e-300)
    assert 0.0 <= model.dual_gap_ <= 1.0


@pytest.mark.slow
def test_what_no_limit_would_be_enough_for_ends():
    """With lam = 1e-14 the gap stood still for the 100,000 iterations of each problem."""
    weights = np.random.default_rng(0).uniform(1e11, 3e12, len(IRIS_Y))
    with pytest.warns(ConvergenceWarning, match="tol"):
        model = PragamSVC(max_iter=None).fit(IRIS_X + 2.0, IRIS_Y == 1, sample_weight=weights)
    assert model.n_iter_ < 50_000 and np.isfinite(model.objective_)
