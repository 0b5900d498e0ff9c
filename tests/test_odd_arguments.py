"""Arguments of odd kinds and sizes end in a documented exception or in a right answer."""

import time
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from skscreen import (
    ChainCRF,
    KernelChainClassifier,
    MaxMarginChain,
    OrdinalEmbedding,
    PragamSVC,
    ScreenedLinearSVC,
    ScreenedLinearSVR,
    ScreenedNuSVC,
    ScreenedNuSVR,
    ScreenedOneClassSVM,
    ScreenedRTLM,
    ScreenedRTLMCV,
    ScreenedSVC,
    ScreenedSVCCV,
    ScreenedSVR,
    embedding_dimension_test,
    nu_svc_path,
    project_box_equality,
    rtlm_path,
    screen_samples,
    svc_certified_C,
    svc_path,
    svr_certified_C,
)
from skscreen.metrics import precision_at_k_of
from skscreen.model_selection import cross_val_predict_sequences

X, y = load_iris(return_X_y=True)
X, y = X[:100:2], y[:100:2]
T = np.random.default_rng(0).permuted(np.tile(np.arange(8), (60, 1)), axis=1)[:, :3]
SEQUENCES, LABELS = [X[15:35], X[10:40]], [y[15:35], y[10:40]]


@pytest.mark.parametrize("n_jobs", [pd.NA, 1e308, 1j, "two", 2.5], ids=str)
@pytest.mark.parametrize(
    "call",
    [
        lambda n: ScreenedSVC(n_jobs=n).fit(X, y),
        lambda n: ScreenedRTLM(n_jobs=n).fit(X, y),
        lambda n: OrdinalEmbedding(n_jobs=n).fit(T),
        lambda n: OrdinalEmbedding(random_state=0).fit(T).bootstrap(2, n_jobs=n),
        lambda n: embedding_dimension_test(T, [1, 2], n_jobs=n),
        lambda n: cross_val_predict_sequences(ChainCRF(), SEQUENCES, LABELS, cv=2, n_jobs=n),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_jobs_that_are_no_number_of_them(call, n_jobs):
    with pytest.raises(ValueError, match="n_jobs"):
        call(n_jobs)


@pytest.mark.parametrize("kernel", [pd.NA, 1j, 1e308, None], ids=str)
def test_kernels_that_are_none(kernel):
    for call in (
        lambda: ScreenedSVC(kernel=kernel).fit(X, y), lambda: svc_path(X, y, kernel=kernel),
        lambda: svc_certified_C(X, y, X, y, (0.1, 1.0), kernel=kernel),
        lambda: KernelChainClassifier(kernel=kernel).fit(SEQUENCES, LABELS),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="kernel"):
            call()


def test_complex_numbers_are_no_values_of_a_parameter():
    for name, call in (
        ("Cs", lambda: svc_path(X, y, Cs=[1.0 + 1.0j])),
        ("Cs", lambda: ScreenedSVCCV(Cs=[1.0, 2.0j]).fit(X, y)),
        ("lams", lambda: rtlm_path(X, y, lams=[0.5 + 1.0j])),
        ("lams", lambda: ScreenedRTLMCV(lams=[0.5 + 1.0j]).fit(X, y)),
        ("C", lambda: ScreenedSVC(C=1.0j).fit(X, y)),
        ("gammas", lambda: ScreenedSVCCV(gammas=[1.0j], cv=2).fit(X, y)),
    ):
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            call()


@pytest.mark.parametrize("callbacks", [3, "abc", object()], ids=["number", "text", "object"])
def test_callbacks_that_are_no_list_of_them(callbacks):
    pytest.importorskip("sklearn.callback")
    with pytest.raises(TypeError):
        svc_path(X, y, callbacks=callbacks)
    with pytest.raises(TypeError):
        rtlm_path(X, y, callbacks=callbacks)


@pytest.mark.parametrize(
    "model",
    [
        ScreenedSVC(), ScreenedLinearSVC(), ScreenedLinearSVC(penalty="l1"), ScreenedRTLM(),
        PragamSVC(), ScreenedSVR(),
    ],
    ids=str,
)  # fmt: skip
def test_as_many_iterations_as_one_likes(model):
    with pytest.raises(ValueError, match="max_iter"):
        model.set_params(max_iter=1e30).fit(X, y)
    assert model.set_params(max_iter=10**30).fit(X, y).dual_gap_ <= model.tol


@pytest.mark.parametrize("model", [ChainCRF(), MaxMarginChain(random_state=0)], ids=str)
def test_as_many_iterations_of_chains_as_one_likes(model):
    with pytest.raises(ValueError, match="max_iter"):
        model.set_params(max_iter=1e30).fit(SEQUENCES, LABELS)
    assert model.set_params(max_iter=10**30).fit(SEQUENCES, LABELS).dual_gap_ <= model.tol


def test_a_width_below_normal_numbers_is_a_hinge():
    model = ScreenedRTLM(width=1e-320).fit(X, y)
    hinge = ScreenedRTLM(loss="hinge").fit(X, y)
    assert model.dual_gap_ <= model.tol
    assert model.objective_ == pytest.approx(hinge.objective_, rel=2e-6)


def test_lists_of_samples_of_a_function():
    def inner(A, B):
        return np.asarray(A) @ np.asarray(B).T

    known = (y[::2], X[1::2], y[1::2], (0.1, 10.0))
    wanted = svc_certified_C(X[::2], *known, kernel=inner)
    lists = X[::2].tolist(), y[::2], X[1::2].tolist(), y[1::2], (0.1, 10.0)
    found = svc_certified_C(*lists, kernel=inner)
    assert found.C == wanted.C and found.upper_bound == wanted.upper_bound


def test_projections_of_the_smallest_numbers():
    tiny = 1e-300
    for point, total, upper, wanted in (
        ([tiny, 2.0 * tiny], 0.0, tiny, [0.0, 0.0]),
        ([tiny, 2.0 * tiny], 1.5 * tiny, tiny, [0.5 * tiny, tiny]),
        ([1.0, 2.0], tiny, 1.0, [0.0, tiny]),
        ([tiny, 2.0 * tiny], 1.0, 1.0, [0.5, 0.5]),
    ):
        found = project_box_equality(point, total, upper=upper)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=0.0)


def test_relevant_items_of_unequal_lengths():
    distances = [[1.0, 2.0], [1.0, 2.0]]
    for rows in ([[1, 0], [1]], [[1, 0], (1, 0, 1)], [[1, 0], []]):
        with pytest.raises(ValueError, match=r"^relevant must .* row 1\b"):
            precision_at_k_of(rows, distances, 1)
        with pytest.raises(ValueError, match=r"^distances must .* row 1\b"):
            precision_at_k_of([[1, 0], [1, 0]], rows, 1)
    for relevant in ([[1, 0]], [[1, 0, 1], [0, 1, 0]]):
        with pytest.raises(ValueError, match=r"relevant|inconsistent"):
            precision_at_k_of(relevant, distances, 1)


@pytest.mark.parametrize(
    "model", [ScreenedSVC(), ScreenedLinearSVC(), PragamSVC(), ScreenedRTLM()], ids=str
)
def test_samples_of_unequal_lengths(model):
    with pytest.raises(ValueError, match=r"^X must .* row 2\b"):
        model.fit([[1.0, 2.0], [2.0, 1.0], [3.0]], [0, 1, 1])


RNG = np.random.default_rng(0)
N = 200
ORDINARY = RNG.normal(size=(N, 10))
SIGNS = np.where(ORDINARY[:, 0] + RNG.normal(size=N) > 0.0, 1, -1)
FOUR = np.argmax(ORDINARY[:, :4] + 0.5 * RNG.normal(size=(N, 4)), axis=1)
TWO_SIZES = np.where(RNG.random(N) < 0.5, 1e8, 1e-8)
DECADES = 10.0 ** RNG.uniform(-4.0, 4.0, size=N)
COLUMNS = ORDINARY * np.logspace(-5.0, 5.0, 10)
L1 = {"penalty": "l1", "loss": "squared_hinge"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "data", "labels", "ordinary"),
    [
        (ScreenedLinearSVC(**L1), (ORDINARY, TWO_SIZES), SIGNS, (ORDINARY, None)),
        (ScreenedLinearSVC(loss="hinge"), (ORDINARY, DECADES), FOUR, (ORDINARY, None)),
        (
            ScreenedLinearSVC(loss="hinge", multi_class="crammer_singer"),
            (ORDINARY, DECADES), FOUR, (ORDINARY, None),
        ),
        *(
            (model, (sparse.csr_matrix(COLUMNS), None), SIGNS, (sparse.csr_matrix(ORDINARY), None))
            for model in (ScreenedLinearSVC(), ScreenedLinearSVC(loss="hinge"),
                          ScreenedLinearSVC(**L1), ScreenedLinearSVR(),
                          ScreenedSVC(kernel="linear"))
        ),
        *(
            (model, (ORDINARY[:40, :5] + 1e8, None), SIGNS[:40], (ORDINARY[:40, :5], None))
            for model in (ScreenedLinearSVC(), ScreenedLinearSVC(loss="hinge"),
                          ScreenedLinearSVR(), ScreenedSVC(kernel="linear"), PragamSVC())
        ),
    ],
)  # fmt: skip
def test_wild_data_take_ten_times_as_long_or_a_warning_with_the_gap(model, data, labels, ordinary):
    def seconds(X, weights):
        before = time.process_time()
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            clone(model).fit(X, labels, sample_weight=weights)
        return time.process_time() - before, record

    # Less than this is lost in what a busy machine adds.
    usual = max(seconds(*ordinary)[0], 0.1)
    needed, record = seconds(*data)
    told = [str(warning.message) for warning in record]
    assert needed <= 10.0 * usual or any("gap" in text for text in told)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("size", [1.0, 1e30])
def test_steps_that_are_rounding_errors_end_a_fit(size):
    data, labels = size * RNG.normal(size=(58, 72)), np.arange(58) % 2
    model = ScreenedLinearSVC(C=1e30, loss="squared_hinge", class_weight={0: 1e8, 1: 1e-8})
    assert np.isfinite(model.fit(data, labels).coef_).all()


@pytest.mark.parametrize("weight", [1e200, 1e-200])
def test_bounds_out_of_the_range_of_products(weight):
    weights = np.full(N, weight)
    for model in (ScreenedLinearSVC(), ScreenedLinearSVC(**L1), ScreenedSVC()):
        with pytest.raises(ValueError, match=r"^C\b"):
            model.fit(ORDINARY, SIGNS, sample_weight=weights)
    for options in (L1, {}):
        with pytest.raises(ValueError, match=r"^C\b"):
            svc_path(ORDINARY, SIGNS, Cs=[1.0, 2.0], sample_weight=weights, **options)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.dok_matrix])
def test_values_of_which_squares_overflow(make):
    for model in (PragamSVC(), ScreenedLinearSVC(), ScreenedSVC(), ScreenedSVC(kernel="linear")):
        with pytest.raises(ValueError, match=r"\bX\b"):
            model.fit(make(1e250 * ORDINARY), SIGNS)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("gamma", [1e308, np.float64(1e308)], ids=["float", "float64"])
def test_a_gamma_of_which_products_overflow(gamma, form):
    # No two samples are near enough for a value other than 0.
    for labels in (np.arange(30) % 2, np.arange(30) % 3):
        found, wanted = (
            ScreenedSVC(gamma=each).fit(form(ORDINARY[:30]), labels) for each in (gamma, 1e4)
        )
        np.testing.assert_allclose(found.objective_, wanted.objective_, rtol=1e-6)
    with pytest.warns(ConvergenceWarning, match="gap"):
        sphere = ScreenedOneClassSVM(gamma=gamma).fit(form(ORDINARY[:30]))
    assert np.isfinite(sphere.objective_) and np.isfinite(sphere.decision_function(ORDINARY)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_chains_of_any_gamma_and_of_a_tol_in_single_precision():
    far = [1e9 * part for part in SEQUENCES]
    model = KernelChainClassifier(gamma=1e308).fit(far, LABELS)
    assert np.isfinite(model.dual_gap_)
    for kind in (ChainCRF, MaxMarginChain):
        halves = np.float32(0.5), 0.5
        single, double = (kind(C=1e-3, tol=tol).fit(SEQUENCES, LABELS) for tol in halves)
        assert single.objective_ == double.objective_
        assert np.isfinite(kind(C=1e3, tol=halves[0]).fit(far, LABELS).objective_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_features_that_are_all_proved_to_be_zero():
    rng = np.random.default_rng(9)
    data, weights = 1e-30 * rng.normal(size=(23, 1)), rng.uniform(0.1, 3.0, 23)
    path = svc_path(data, np.arange(23) % 2, [1e-9], tol=1e-300, sample_weight=weights, **L1)
    assert not path[0].coef_.any()


def test_a_reference_of_which_the_intercept_overflows():
    known = {"reference": ([-1.0, 0.0, 1.0], [1.0]), "kernel": "linear"}
    with pytest.raises(ValueError, match=r"^reference\b"):
        screen_samples(
            ORDINARY[:, :3], SIGNS, 1.0, intercept="penalised", intercept_scaling=1e-320, **known
        )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_lam_of_which_quotients_overflow():
    model = ScreenedRTLM(1e-300, bound="rrpb", rule="sphere", diagonal=True, max_iter=100)
    assert model.fit(np.eye(3), triplets=[[0, 1, 2]]).dual_gap_ <= model.tol
    path = rtlm_path(X, y, [1.0, 0.5, 1e-300], ranges=True)
    cold = rtlm_path(X, y, [1.0, 0.5, 1e-300], screening=False)
    np.testing.assert_allclose(path[2].objective_, cold[2].objective_, rtol=2e-6)


@pytest.mark.slow
def test_a_lam_beyond_digits_ends_with_the_gap():
    iris, classes = load_iris(return_X_y=True)
    model = ScreenedRTLM(1e-36)
    with pytest.warns(ConvergenceWarning, match="gap"):
        model.fit(iris[::3], classes[::3])
    assert model.dual_gap_ > model.tol and np.isfinite(model.components_).all()


@pytest.mark.parametrize("size", [1e-310, 1e-12, 1e308])
def test_shares_by_validation_weights_of_any_size(size):
    weights, targets = np.linspace(0.5, 1.0, 40), 1e-300 * ORDINARY[:40, 0]
    fit = ORDINARY[:40, 1:4], targets, ORDINARY[40:80, 1:4], targets, (1e-6, 1e3)
    found, wanted = (
        svr_certified_C(*fit, kernel="linear", sample_weight_val=each, n_grid=3)
        for each in (size * weights, weights)
    )
    assert 0.0 < found.lower_bound <= found.validation_error <= found.upper_bound
    assert found.validation_error == pytest.approx(wanted.validation_error, rel=1e-6)


def test_nu_weights_out_of_the_range_of_products():
    for weight in (1e308, 1e100):
        for model in (ScreenedNuSVC(), ScreenedOneClassSVM(), ScreenedOneClassSVM(shape="sphere")):
            with pytest.raises(ValueError, match=r"^sample_weight\b"):
                model.fit(ORDINARY, SIGNS, sample_weight=np.full(N, weight))
        with pytest.raises(ValueError, match=r"^sample_weight\b"):
            nu_svc_path(ORDINARY, SIGNS, nus=[0.5], sample_weight=np.full(N, weight))


def test_small_samples_of_a_linear_one_class_machine():
    data = 1e-25 * (ORDINARY[:40, :2] + 3.0)
    small, ordinary = (
        ScreenedOneClassSVM(0.3, kernel="linear").fit(each) for each in (data, 1e25 * data)
    )
    assert small.objective_ == pytest.approx(1e-50 * ordinary.objective_, rel=1e-5)
    np.testing.assert_allclose(small.coef_, 1e-25 * ordinary.coef_, rtol=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("size", [1e15, 1e20, 1e30])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_tube_around_targets_beyond_digits_is_not_certified(kernel, size):
    # Half of |w|^2 and the losses are nothing beside rounding errors of the targets.
    targets = size * np.array([1.26, 1.05, 6.4, 1.05])
    model = ScreenedNuSVR(kernel=kernel)
    model.fit(ORDINARY[:4, :3], targets, sample_weight=[0.6, 0.7, 2.2, 2.3])
    assert model.dual_gap_ > model.tol
