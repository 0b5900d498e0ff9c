import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from cases import every_pair
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, LinearSVC
from svm_reference import optimum, primal

from skscreen import ScreenedLinearSVC, ScreenedSVC, svc_path
from skscreen.svm.solvers.linear.state import SampleState

LinearHingeSVC = partial(ScreenedLinearSVC, loss="hinge")

# 143 tumours with 30 features; 75 irises of three classes.
X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X[::4]), y[::4]
IRIS_X, IRIS_Y = load_iris(return_X_y=True)
IRIS_X, IRIS_Y = scale(IRIS_X)[::2], IRIS_Y[::2]
for array in (X, y, IRIS_X, IRIS_Y):
    array.setflags(write=False)
NAMES = np.array(["benign", "malign"])

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.05},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
]


def gram(X, Y=None, *, kernel="linear", gamma="scale", degree=3, coef0=0.0):
    if gamma == "scale":
        gamma = 1.0 / (X.shape[1] * X.var())
    settings = {"gamma": gamma, "degree": degree, "coef0": coef0}
    return pairwise_kernels(X, Y, metric=kernel, filter_params=True, **settings)


@pytest.mark.few(8)
@every_pair(
    bias=[0.0, 1.0, 3.0],
    C=[1e-4, 0.1, 10.0],
    options=KERNELS,
)
def test_optimum_of_clarabel(options, C, bias):
    model = ScreenedSVC(
        C,
        intercept="penalised",
        fit_intercept=bias > 0.0,
        intercept_scaling=bias or 1.0,
        tol=1e-8,
        **options,
    ).fit(X, y)
    K, signs = gram(X, **options), np.where(y == 1, 1.0, -1.0)
    Q, bounds = signs[:, None] * (K + bias**2) * signs, np.full(len(y), C)
    best = optimum(Q, bounds)
    value = primal(Q, bounds, best)
    assert model.dual_gap_ <= 1e-8
    assert_allclose(model.objective_, [value], rtol=1e-7)
    scores = (K + bias**2) @ (signs * best)
    accuracy = 2e-4 * np.sqrt(value) * np.sqrt(np.diag(K)).max()
    assert_allclose(model.decision_function(X), scores, atol=accuracy)
    assert (model.intercept_[0] == 0.0) == (bias == 0.0)
    # The dual variables certify the objective by themselves.
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0] * signs[model.support_]
    assert np.all(alpha >= 0.0) and np.all(alpha <= C)
    assert alpha.sum() - 0.5 * alpha @ Q @ alpha >= value * (1.0 - 2e-8)


def test_linear_svc_with_its_penalised_intercept():
    model = LinearHingeSVC(0.1, intercept_scaling=2.0, tol=1e-10).fit(X, y)
    peer = LinearSVC(
        C=0.1, loss="hinge", intercept_scaling=2.0, tol=1e-10, max_iter=10**6, random_state=0
    ).fit(X, y)
    assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    assert_allclose(model.intercept_, peer.intercept_, atol=1e-5)
    assert_array_equal(model.predict(X), peer.predict(X))


@pytest.mark.parametrize("options", KERNELS)
def test_svc_with_its_free_intercept(options):
    model = ScreenedSVC(0.5, intercept="free", tol=1e-9, **options).fit(X, NAMES[y])
    peer = SVC(C=0.5, tol=1e-8, **options).fit(X, NAMES[y])
    assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)
    assert_array_equal(model.support_, peer.support_)
    assert_array_equal(model.n_support_, peer.n_support_)
    assert_allclose(model.dual_coef_, peer.dual_coef_, atol=1e-3)
    assert_array_equal(model.support_vectors_, X[model.support_])
    assert_array_equal(model.predict(X), peer.predict(X))
    if options["kernel"] == "linear":
        assert_allclose(model.coef_, peer.coef_, atol=1e-4)


@pytest.mark.parametrize("options", KERNELS)
def test_more_classes_are_one_against_the_rest(options):
    names = np.array(["c", "a", "b"])[IRIS_Y]
    model = ScreenedSVC(multi_class="ovr", intercept="penalised", tol=1e-9, **options).fit(
        IRIS_X, names
    )
    assert_array_equal(model.classes_, ["a", "b", "c"])
    parts = [
        ScreenedSVC(multi_class="ovr", intercept="penalised", tol=1e-9, **options).fit(
            IRIS_X, names == name
        )
        for name in "abc"
    ]
    scores = np.stack([part.decision_function(IRIS_X) for part in parts], axis=1)
    assert_allclose(model.decision_function(IRIS_X), scores, atol=2e-3)
    assert model.dual_coef_.shape == (3, len(model.support_))
    union = np.unique(np.concatenate([part.support_ for part in parts]))
    assert_array_equal(np.sort(model.support_), union)
    assert_array_equal(names[model.support_], np.repeat(["a", "b", "c"], model.n_support_))
    assert_array_equal(
        model.predict(IRIS_X), model.classes_[model.decision_function(IRIS_X).argmax(axis=1)]
    )
    assert model.objective_.shape == model.intercept_.shape == (3,)
    assert isinstance(model.n_iter_, int) and isinstance(model.dual_gap_, float)


@pytest.mark.parametrize("options", KERNELS)
def test_threads_change_nothing(options):
    one, two = (
        ScreenedSVC(n_jobs=n, random_state=0, **options).fit(IRIS_X, IRIS_Y) for n in (1, 2)
    )
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert one.n_iter_ == two.n_iter_


def test_a_matrix_that_does_not_fit_is_cached_by_rows():
    options = {"kernel": "rbf", "gamma": 0.05, "tol": 1e-9, "n_jobs": 2}
    whole = ScreenedSVC(**options).fit(IRIS_X, IRIS_Y)
    rows = ScreenedSVC(cache_size=1e-3, **options).fit(IRIS_X, IRIS_Y)
    assert_allclose(rows.decision_function(X[:, :4]), whole.decision_function(X[:, :4]), atol=1e-3)


@pytest.mark.parametrize(
    "options", [{"kernel": "linear", "intercept": "penalised"}, {}, {"intercept": "penalised"}]
)
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 0.5, 1: 2.0}])
def test_weights_are_repetitions_and_zero_is_removal(options, class_weight):
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    model = ScreenedSVC(0.3, tol=1e-10, class_weight=class_weight, gamma=0.05, **options)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-3)
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-8)
    assert weights[weighted.support_].min() > 0


def test_class_weights_are_sample_weights_by_class():
    """Of two classes, and of pairs of classes."""
    factors = np.array([3.0, 1.0, 0.5])[IRIS_Y]
    for some in (IRIS_Y < 2, IRIS_Y >= 0):
        given = IRIS_X[some], IRIS_Y[some]
        model = ScreenedSVC(0.01, kernel="linear", tol=1e-9, random_state=0)
        by_class = clone(model).set_params(class_weight={0: 3.0, 1: 1.0, 2: 0.5}).fit(*given)
        by_sample = clone(model).fit(*given, sample_weight=factors[some])
        assert_array_equal(by_class.coef_, by_sample.coef_)
        assert not np.allclose(by_class.coef_, model.fit(*given).coef_, rtol=1e-3)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array])
@pytest.mark.parametrize("options", KERNELS)
def test_sparse_equals_dense(container, options):
    rough = np.where(np.abs(X) > 0.5, X, 0.0)
    options = {"tol": 1e-9, "C": 0.3, **options}
    dense, thin = (ScreenedSVC(**options).fit(data, y) for data in (rough, container(rough)))
    assert_allclose(thin.decision_function(container(X)), dense.decision_function(X), atol=2e-3)
    assert_allclose(thin.objective_, dense.objective_, rtol=1e-8)
    assert sparse.issparse(thin.support_vectors_)


def test_precomputed_and_callable_kernels():
    K = rbf_kernel(X, gamma=0.05)
    model = ScreenedSVC(kernel="rbf", gamma=0.05, intercept="penalised").fit(X, y)
    weights = np.arange(len(y)) % 5 > 0
    for sample_weight in (None, weights):
        model = ScreenedSVC(kernel="rbf", gamma=0.05, intercept="penalised").fit(
            X, y, sample_weight
        )
        by_matrix = ScreenedSVC(kernel="precomputed", intercept="penalised").fit(
            K, y, sample_weight
        )
        by_function = ScreenedSVC(kernel=gauss, intercept="penalised").fit(X, y, sample_weight)
        assert_allclose(by_matrix.decision_function(K), model.decision_function(X), atol=1e-6)
        assert_allclose(by_function.decision_function(X), model.decision_function(X), atol=1e-6)
    assert by_matrix.support_vectors_.size == 0
    assert not hasattr(by_matrix, "coef_")
    search = GridSearchCV(
        ScreenedSVC(kernel="precomputed", intercept="penalised"), {"C": [0.01, 1.0]}, cv=3
    ).fit(K, y)
    assert search.best_score_ > 0.9


def gauss(A, B):
    return rbf_kernel(A, B, gamma=0.05)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.07])
def test_gamma_is_that_of_scikit_learn(gamma):
    for data in (X, sparse.csr_array(X)):
        model = ScreenedSVC(kernel="rbf", gamma=gamma, intercept="free", tol=1e-9).fit(data, y)
        peer = SVC(gamma=gamma, tol=1e-8).fit(data, y)
        assert_allclose(model.decision_function(data), peer.decision_function(data), atol=1e-3)


@pytest.mark.parametrize("screening", [False, True, "gap", "ball1", "ball2", "intersection"])
def test_screening_changes_nothing_but_the_history(screening):
    model = LinearHingeSVC(screening=screening, tol=1e-9).fit(X, y)
    plain = LinearHingeSVC(screening=False, tol=1e-9).fit(X, y)
    assert_allclose(model.coef_, plain.coef_, atol=1e-4)
    assert bool(model.screening_history_.size) == bool(screening)
    if screening:
        last = model.screening_history_[-1]
        assert last["zero"] + last["at_bound"] + last["undecided"] == len(y)
        assert last["zero"] > 0.5 * len(y)
        assert last["rate"] == 1.0 - last["undecided"] / len(y)


@pytest.mark.parametrize(
    "options",
    [
        *(
            {"kernel": "linear", "intercept": "penalised", "solver": name}
            for name in ("coordinate-descent", "second-order")
        ),
        {"intercept": "free", "kernel": "linear", "screening": "intersection"},
    ],
    ids=str,
)
def test_the_history_has_every_screening_step(options):
    model = ScreenedSVC(0.5, **options).fit(X, y)
    history = model.screening_history_
    assert len(history) > 1
    assert set(history["where"]) == {"dynamic"}
    assert model.screening_parameter_ == "C" and set(history["parameter"]) == {0.5}
    assert history["seconds"].min() > 0.0
    assert_array_equal(history["zero"] + history["at_bound"] + history["undecided"], len(y))
    steps = history["iteration"].tolist()
    assert steps == sorted(steps) and steps[-1] <= model.n_iter_
    assert history[-1]["undecided"] < history[0]["undecided"]


def test_the_smallest_C_has_a_closed_form():
    model = ScreenedSVC(1e-6, kernel="linear", intercept="penalised").fit(X, y)
    assert model.n_iter_ == 0
    assert_allclose(np.abs(model.dual_coef_), 1e-6)
    assert len(model.support_) == len(y)


def test_single_precision_and_read_only_data():
    model = LinearHingeSVC(tol=1e-8).fit(X.astype(np.float32), y)
    assert_allclose(model.coef_, LinearHingeSVC(tol=1e-8).fit(X, y).coef_, atol=1e-3)


def test_pickles_without_the_gram_matrix():
    big = np.tile(X, (4, 1))
    model = ScreenedSVC(kernel="rbf", intercept="penalised").fit(big, np.tile(y, 4))
    blob = pickle.dumps(model)
    assert len(blob) < 4 * len(big) ** 2
    assert_array_equal(pickle.loads(blob).decision_function(X), model.decision_function(X))


def test_pipelines_grids_and_names():
    frame = pd.DataFrame(X).add_prefix("f")
    model = LinearHingeSVC().fit(frame, NAMES[y])
    assert model.feature_names_in_[0] == "f0"
    assert set(model.predict(frame)) == set(NAMES)
    grid = {"screenedsvc__C": [0.01, 1.0], "screenedsvc__kernel": ["linear", "rbf"]}
    search = GridSearchCV(make_pipeline(StandardScaler(), ScreenedSVC()), grid, cv=3)
    assert search.fit(X, y).best_score_ > 0.94
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(LinearHingeSVC().set_fit_request(sample_weight=True))
        routed.fit(X, y, sample_weight=np.ones(len(y)))


def test_random_state_and_solver_reach_the_solver():
    fits = [
        LinearHingeSVC(solver="coordinate-descent", random_state=s).fit(X, y) for s in (0, 0, 1)
    ]
    assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert not np.array_equal(fits[0].coef_, fits[2].coef_)
    other = LinearHingeSVC(solver="second-order").fit(X, y)
    assert_allclose(other.coef_, fits[0].coef_, atol=1e-2)
    assert other.n_iter_ < fits[0].n_iter_


def test_few_steps_warn_with_the_gap():
    with pytest.warns(ConvergenceWarning, match=r"tol=1e-06 at C=100\b"):
        model = LinearHingeSVC(100.0, solver="coordinate-descent", max_iter=3).fit(X, y)
    assert model.dual_gap_ > 1e-6
    assert model.n_iter_ <= 3
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        LinearHingeSVC(100.0).fit(X, y)


def test_progress_bar(capsys):
    LinearHingeSVC(verbose=1).fit(IRIS_X, IRIS_Y)
    assert "100% C=1 gap=" in capsys.readouterr().err
    LinearHingeSVC().fit(IRIS_X, IRIS_Y)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "'C' parameter"),
        ({"C": np.nan}, "'C' parameter"),
        ({"C": -1.0}, "'C' parameter"),
        ({"kernel": "gauss"}, "'kernel' parameter"),
        ({"gamma": -1.0}, "'gamma' parameter"),
        ({"screening": "dome"}, "'screening' parameter"),
        ({"solver": "simplex"}, "'solver' parameter"),
        ({"intercept": "none"}, "'intercept' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"class_weight": "even"}, "'class_weight' parameter"),
        ({"class_weight": {0: -1.0}}, "class_weight must hold"),
        ({"class_weight": {0: None}}, "class_weight must hold"),
        ({"class_weight": {7: 1.0}}, r"^class_weight\b"),
        ({"class_weight": {0: 0.0}}, r"\by\b"),
        ({"kernel": "precomputed"}, r"^X\b"),
        ({"solver": "newton"}, "'solver' parameter"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        ScreenedSVC(**options).fit(X, y)


@pytest.mark.parametrize(
    ("labels", "weights", "message"),
    [
        (np.ones(len(y)), None, r"\by\b"),
        (y, np.zeros(len(y)), "[Ss]ample.weight"),
        (y, np.full(len(y), -1.0), "sample_weight"),
        (y, (y == 1).astype(float), r"\by\b"),
        (y, np.ones(3), "sample_weight"),
        (X[:, 0], None, "continuous"),
    ],
)
def test_bad_labels_and_weights(labels, weights, message):
    with pytest.raises(ValueError, match=message):
        LinearHingeSVC().fit(X, labels, sample_weight=weights)


def test_a_failed_fit_leaves_the_estimator_unfitted():
    model = LinearHingeSVC().fit(X, y)
    with pytest.raises(ValueError, match=r"\by\b"):
        model.fit(X, np.ones(len(y)))
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize(
    ("options", "scale", "message"),
    [
        ({"kernel": "linear", "intercept": "penalised"}, 1e200, r"^X\b"),
        ({}, 1e200, r"^X\b"),
        ({"kernel": "rbf", "gamma": 1.0}, 1e200, r"^X\b"),
        ({"kernel": "poly", "gamma": 1.0}, 1e60, r"\bkernel\b"),
        (
            {"kernel": "linear", "intercept": "penalised", "intercept_scaling": 1e200},
            1.0,
            "intercept_scaling",
        ),
        (
            {"intercept": "penalised", "intercept_scaling": 1e200},
            1.0,
            r"^intercept_scaling\b",
        ),
        (
            {"intercept": "penalised", "intercept_scaling": 1e8},
            1.0,
            r"^intercept_scaling\b",
        ),
        ({"C": 1e300}, 1.0, r"^C\b"),
        ({"C": 1e-300, "kernel": "rbf"}, 1.0, r"^C\b"),
        ({"class_weight": {0: 0.0}}, 1.0, r"\by\b"),
    ],
)
def test_sizes_with_which_numbers_overflow_are_refused(options, scale, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=message):
            ScreenedSVC(**options).fit(scale * X, y)


@pytest.mark.parametrize("n", [50, 150])
def test_an_intercept_scaling_that_overflows_is_refused_for_pairs_of_classes(n):
    model = ScreenedSVC(intercept="penalised", intercept_scaling=1e200)
    with pytest.raises(ValueError, match=r"^intercept_scaling\b"):
        model.fit(np.tile(IRIS_X[:: 150 // n], (12, 1)), np.tile(IRIS_Y[:: 150 // n], 12))


@pytest.mark.parametrize("scale", [1e-160, 1e-300, 0.0, 1e30])
@pytest.mark.parametrize("intercept", ["free", "penalised"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_any_other_size_is_solved_or_says_so(scale, intercept, kernel):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ScreenedSVC(kernel=kernel, intercept=intercept, gamma=1.0)
        model.fit(scale * X[:20, :2], y[:20])
    assert (
        np.isfinite(model.objective_).all() and np.isfinite(model.decision_function(X[:, :2])).all()
    )
    assert model.dual_gap_ <= 1e-6 or any("duality gap" in str(one.message) for one in caught)


def test_a_step_whose_losses_overflow_is_not_the_solution():
    rows = np.full((6, 3), 1.1e37)
    rows[:, 2] += np.array([11, 1, 10, 0, 8, 0]) * 1e30
    weights = [0.174626, 2.681411, 1.025678, 1.543983, 0.331926, 0.440220]
    with pytest.warns(ConvergenceWarning, match="tol=1e-06"):
        model = ScreenedLinearSVC().fit(rows, list("ababab"), sample_weight=weights)
    assert 0.0 < model.objective_ < sum(weights) and 0.0 < model.dual_gap_ < 1.0


@pytest.mark.slow
def test_rounding_errors_end_a_solve_soon(monkeypatch):
    """No epoch helps any more: the limit of epochs must not be what ends it."""
    count = []
    evaluate = SampleState.evaluate
    monkeypatch.setattr(SampleState, "evaluate", lambda self: count.append(1) or evaluate(self))
    rng = np.random.default_rng(0)
    samples = 1e4 * rng.normal(size=(12, 3)) + 1e4
    with pytest.warns(ConvergenceWarning):
        LinearHingeSVC(C=1e8, solver="coordinate-descent", tol=1e-15).fit(
            samples, np.arange(12) % 2
        )
    assert len(count) < 5000
    count.clear()
    # Here every epoch gains a little, and none much.
    samples = np.array([[10.1], [-0.1], [0.6], [10.1], [-0.5], [10.4]])
    model = LinearHingeSVC(intercept_scaling=1e8, solver="coordinate-descent")
    with pytest.warns(ConvergenceWarning):
        model.fit(samples, ["a", "b", "b", "a", "b", "a"])
    assert len(count) < 5000


def test_a_tolerance_may_be_anything_positive():
    for tol in (1e300, 1e-300):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = ScreenedSVC(kernel="rbf", tol=tol, max_iter=100, intercept="penalised").fit(
                X, y
            )
        assert np.isfinite(model.objective_).all()
    model = ScreenedLinearSVC(C=1e10, tol=1e300).fit(X, y)
    assert model.objective_ > 1e9 and model.dual_gap_ <= model.tol


@pytest.mark.parametrize("far", [1e5, 1e8])
@pytest.mark.parametrize("intercept", ["penalised", "free"])
def test_rbf_does_not_depend_on_where_the_origin_is(far, intercept):
    data = np.round(X * 2**20) / 2**20
    near, away = (
        ScreenedSVC(10.0, kernel="rbf", intercept=intercept, tol=1e-10).fit(data + shift, y)
        for shift in (0.0, far)
    )
    assert_allclose(away.objective_, near.objective_, rtol=1e-8)
    scores = away.decision_function(data + far)
    assert_allclose(scores, near.decision_function(data), atol=1e-5 * np.abs(scores).max())


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_without_support_vectors_the_intercept_decides(kernel):
    model = ScreenedSVC(1e-9, kernel=kernel, intercept="free", tol=2.0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            assert np.isfinite(model.decision_function(X)).all()


def test_sparse_samples_far_from_the_origin_are_judged_as_dense_ones():
    rng = np.random.default_rng(0)
    far = rng.normal(size=(60, 4)) + 1e8
    model = ScreenedSVC(kernel="rbf", gamma=0.25, intercept="penalised").fit(far, far[:, 0] > 1e8)
    assert_array_equal(model.predict(sparse.csr_array(far)), model.predict(far))


@pytest.mark.parametrize("separable", [False, True])
def test_a_rounding_error_next_to_a_huge_weight_is_in_the_gap(separable):
    rng = np.random.default_rng(1)
    Z, labels = rng.normal(size=(20, 3)), np.arange(20) % 2
    Z[labels == 1, 0] += 6.0
    weights = np.where(np.arange(20) % 3, 1e10, 1.0)
    if not separable:
        Z[0, 0] += 8.0
        weights[0] = 1e-6
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ScreenedSVC(100.0, kernel="linear", intercept="penalised", random_state=0)
        model.fit(Z, labels, weights)
    # Where data are separable a vector longer by that error lacks nothing.
    assert bool(caught) == (model.dual_gap_ > 1e-6) and not (caught and separable)
    signs, bounds = np.where(labels, 1.0, -1.0), 100.0 * weights
    # In 64 bits of fraction: P of the weights, D of the dual variables.
    wide = np.longdouble
    w, b = model.coef_[0].astype(wide), wide(model.intercept_[0])
    losses = bounds @ np.maximum(1.0 - signs * (Z.astype(wide) @ w + b), 0.0)
    value = 0.5 * (w @ w + b * b) + losses
    coefs = model.dual_coef_[0].astype(wide)
    u = coefs @ np.column_stack([Z, np.ones(20)])[model.support_].astype(wide)
    bound = np.abs(coefs).sum() - 0.5 * u @ u
    assert (value - bound) / value <= model.dual_gap_
    assert model.dual_gap_ < 1e-12 or not separable


def test_an_indefinite_pair_is_found_wherever_it_is():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(600, 5))
    K = A @ A.T
    K[1, 5] = K[5, 1] = 1e3
    with pytest.raises(ValueError, match=r"\bkernel\b"):
        model = ScreenedSVC(kernel="precomputed", intercept="penalised", indefinite="error")
        model.fit(K, A[:, 0] > 0.0)
    with pytest.raises(ValueError, match=r"\bkernel\b"):
        ScreenedSVC(kernel=lambda A, B: K, intercept="penalised", indefinite="error").fit(
            np.arange(600.0)[:, None], A[:, 0] > 0.0
        )


@pytest.mark.parametrize("C", [0.1, 1.0, 1e4])
@pytest.mark.parametrize("options", [{"intercept": "penalised"}, {"fit_intercept": False}, {}])
def test_nothing_is_certified_where_the_square_of_a_norm_is_negative(C, options):
    """Samples outside the block that is looked at, and pairs as they should be."""
    n, hidden = 400, np.setdiff1d(np.arange(400), np.linspace(0, 399, 256).astype(int))[:60]
    K = np.eye(n)
    K[np.ix_(hidden, hidden)] = 1.9 * np.eye(60) - 0.9
    labels = np.isin(np.arange(n), np.linspace(0, 399, 256).astype(int)[:100])
    model = ScreenedSVC(C, kernel="precomputed", indefinite="error", **options)
    with pytest.raises(ValueError, match=r"\bkernel\b"):
        model.fit(K, labels)
    with pytest.warns(UserWarning, match=r"\bkernel\b"):
        model.set_params(indefinite="warn").fit(K, labels)
    assert np.isnan(model.dual_gap_) if options == {} else model.kernel_shift_[0] > 0.0


@pytest.mark.slow
def test_kernel_values_of_single_precision():
    """With eigenvalues below zero by no more than their rounding errors."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(600, 10)).astype(np.float32)
    labels = A[:, 0] + rng.normal(size=600) > 0.0
    # Rounded once: sums in single precision are others with every BLAS.
    exact = A.astype(np.float64)
    K = (exact @ exact.T).astype(np.float32)
    assert np.linalg.eigvalsh(K.astype(np.float64))[0] < -1e-6
    model = ScreenedSVC(100.0, kernel="precomputed", intercept="penalised").fit(K, labels)
    by_rows = LinearHingeSVC(100.0, tol=1e-9).fit(exact, labels)
    assert model.dual_gap_ <= 1e-6
    assert_allclose(model.objective_, by_rows.objective_, rtol=1e-3)


@pytest.mark.parametrize("intercept", ["penalised", "free"])
def test_a_sample_at_the_origin_with_a_square_below_zero(intercept):
    """As centring a kernel matrix leaves it."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 3))
    A[5] = 0.0
    labels = A[:, 0] + 0.3 * rng.normal(size=60) > 0.0
    K = A @ A.T
    options = {"kernel": "precomputed", "intercept": intercept}
    expected = ScreenedSVC(**options).fit(K, labels)
    K[5, 5] = -1e-17
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ScreenedSVC(**options).fit(K, labels)
    assert model.dual_gap_ <= 1e-6
    assert_allclose(model.objective_, expected.objective_, rtol=1e-12)


@pytest.mark.parametrize("seed", [2, 7])
def test_the_objective_of_a_free_intercept_is_that_of_the_weights(seed):
    """Not that of margins which a solver has carried on by kernel values."""
    rng = np.random.default_rng(seed)
    Z = 50.0 * rng.normal(size=(180, 3))
    signs = np.where(Z[:, 0] + 30.0 * rng.normal(size=180) > 0.0, 1.0, -1.0)
    model = ScreenedSVC(300.0, intercept="free", kernel="linear").fit(Z, signs)
    w, b = model.coef_[0].astype(np.longdouble), model.intercept_[0]
    losses = np.maximum(1.0 - signs * (Z.astype(np.longdouble) @ w + b), 0.0).sum()
    assert_allclose(float(0.5 * (w @ w) + 300.0 * losses), model.objective_, rtol=1e-13)


@pytest.mark.parametrize("other", ["linear", "precomputed", "poly"])
def test_a_model_predicts_by_the_kernel_it_was_fitted_with(other):
    model = ScreenedSVC(kernel="rbf", intercept="penalised").fit(X, y)
    scores = model.decision_function(X)
    assert_array_equal(model.set_params(kernel=other).decision_function(X), scores)
    linear = ScreenedSVC(kernel="linear", intercept="penalised").fit(X, y)
    scores = linear.decision_function(X)
    assert_array_equal(linear.set_params(kernel="rbf").decision_function(X), scores)


def test_class_weights_of_classes_that_are_not_there():
    """As in scikit-learn: a fold may lack a class, but a class may not be misspelt."""
    Z, labels = load_iris(return_X_y=True)
    some = labels < 2
    weights = {0: 1.0, 1: 2.0, 2: 3.0}
    for model in (
        LinearHingeSVC(class_weight=weights).fit(Z[some], labels[some]),
        LinearHingeSVC(class_weight=weights).fit(Z, labels, some.astype(float)),
    ):
        expected = LinearHingeSVC(class_weight={0: 1.0, 1: 2.0}).fit(Z[some], labels[some])
        assert_allclose(model.coef_, expected.coef_)
    with pytest.raises(ValueError, match=r"^class_weight\b"):
        LinearHingeSVC(class_weight={0: 1.0, 1: 2.0, 7: 3.0}).fit(Z, labels)


def test_another_kernel_leaves_no_coef():
    model = ScreenedSVC(kernel="linear").fit(X, y)
    model.set_params(kernel="rbf").fit(X[:, :3], y)
    assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match="y"):
        model.fit(X, np.zeros(len(X)))
    assert not hasattr(model, "dual_gap_")


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("value", [1.0, 1e3, 1 / 3])
def test_gamma_of_constant_data_is_one(make, value):
    model = ScreenedSVC(kernel="rbf", intercept="penalised").fit(
        make(np.full((29, 2), value)), np.arange(29) % 2
    )
    assert model.gamma_ == 1.0


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("C", "weight", "shift"), [(1e3, 1e3, 0.0), (1e5, 1e3, 0.0), (1e3, 1.0, 30.0)]
)
def test_rounding_errors_of_kernel_margins_are_in_the_gap(C, weight, shift):
    """The gap of the dual variables that are returned, in more digits."""
    rng = np.random.default_rng(3)
    data = rng.normal(size=(80, 8)) + shift
    signs = np.where(data[:, 0] - shift + rng.normal(size=80) > 0.0, 1.0, -1.0)
    weights = np.where(rng.random(80) < 0.1, weight, 1.0)
    K = data @ data.T
    model = ScreenedSVC(C, kernel="precomputed", fit_intercept=False, tol=1e-5)
    model.fit(K, signs, sample_weight=weights)
    alpha = np.zeros(80, np.longdouble)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    margins = (signs[:, None] * K * signs).astype(np.longdouble) @ alpha
    square = alpha @ margins
    value = 0.5 * square + (C * weights) @ np.maximum(1.0 - margins, 0.0)
    assert value - (alpha.sum() - 0.5 * square) <= model.dual_gap_ * value


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_a_free_intercept_takes_up_where_the_origin_is(shift):
    X, y = load_breast_cancer(return_X_y=True)
    # Shifts of such numbers are exact.
    X = np.round(scale(X) * 2.0**10) / 2.0**10
    # Next to 1e6 the margins of the attributes are known to 1e-9, which the gap has in it.
    options = {"kernel": "linear", "C": 10.0, "tol": 1e-8, "random_state": 0}
    model, near = ScreenedSVC(**options).fit(X + shift, y), ScreenedSVC(**options).fit(X, y)
    assert model.dual_gap_ <= 1e-8
    assert_allclose(model.objective_, near.objective_, rtol=2e-9)
    assert_allclose(model.coef_, near.coef_, rtol=1e-3, atol=1e-4)
    found, expected = model.decision_function(X + shift), near.decision_function(X)
    assert_allclose(found, expected, atol=1e-3)
    path = svc_path(X + shift, y, Cs=[1.0, 10.0], intercept="free", tol=1e-9, kernel="linear")
    assert_allclose(path.intercepts[1], model.intercept_[0], rtol=1e-6)
    assert np.array_equal(model.support_vectors_, (X + shift)[model.support_])


@pytest.mark.parametrize("C", [1e-46, 1e-42, 1e-30])
def test_labels_are_those_of_the_scores_however_small_the_weights_are(C):
    rng = np.random.default_rng(0)
    labels = np.arange(600) >= 250
    rows = rng.normal(size=(600, 3)) + 8.0 * labels[:, None]
    model = ScreenedSVC(C, intercept="penalised").fit(rows, labels)
    np.testing.assert_array_equal(model.predict(rows), model.decision_function(rows) > 0.0)
    assert 0 < np.count_nonzero(model.predict(rows)) < 600
