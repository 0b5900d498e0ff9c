"""ScreenedRTLM on data of all kinds, on bad data, and what it tells its user."""

import tracemalloc
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from metric_cases import (
    IRIS_X,
    IRIS_Y,
    KINDS,
    T,
    X,
    assert_same_optimum,
    history,
    rtlm,
    y,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.exceptions import (
    ConvergenceWarning,
    DataConversionWarning,
    NotFittedError,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.validation import check_is_fitted

from skscreen import ScreenedRTLM, ScreenedRTLMCV, rtlm_path
from skscreen.metric_learning.parameters import Parameters, Supervision
from skscreen.metric_learning.path_solver import PathSolver
from skscreen.metric_learning.problem import build
from skscreen.metric_learning.solvers.progress import Settings

PAIRS = np.stack((np.arange(40), np.arange(40)[::-1]), axis=1)

# -- data ----------------------------------------------------------------------------------------


@pytest.mark.few(6)
@pytest.mark.parametrize(
    "same",
    [
        lambda X, y: (X.astype(np.float32), y),
        lambda X, y: (X.tolist(), y.tolist()),
        lambda X, y: (pd.DataFrame(X), pd.Series(y)),
        lambda X, y: (np.asfortranarray(X), y.astype(np.float32)),
        lambda X, y: (X[:, ::-1][:, ::-1], y.astype(bool) + 2 * (y == 2)),
        lambda X, y: (X, np.array(["red", "white", "rose"])[y]),
        lambda X, y: (X, np.array(["red", "white", "rose"], dtype=object)[y]),
    ],
    ids=["float32", "list", "pandas", "fortran", "view", "str", "object"],
)
def test_kinds_of_input(same):
    X32 = X.astype(np.float32).astype(np.float64)
    assert_same_optimum(rtlm().fit(*same(X32, y)), rtlm().fit(X32, y))


def test_order_of_the_samples_does_not_matter():
    order = np.random.default_rng(1).permutation(len(X))
    assert_same_optimum(rtlm().fit(X[order], y[order]), rtlm().fit(X, y))


def test_column_vector_y_warns():
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        model = rtlm().fit(X, y[:, None])
    assert_same_optimum(model, rtlm().fit(X, y))


def test_data_is_not_modified():
    own_X, own_y, own_T = X.copy(), y.copy(), T.copy()
    rtlm().fit(own_X, own_y).transform(own_X)
    rtlm().fit(own_X, triplets=own_T)
    assert_array_equal(own_X, X)
    assert_array_equal(own_y, y)
    assert_array_equal(own_T, T)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_refit_is_deterministic(kind):
    model = rtlm(**kind).fit(X, y)
    first = model.components_, model.n_iter_, model.dual_gap_, history(model)
    model.fit(IRIS_X, IRIS_Y)
    assert model.n_features_in_ == 4
    model.fit(X, y)
    assert_array_equal(model.components_, first[0])
    assert (model.n_iter_, model.dual_gap_, history(model)) == first[1:]


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_constant_features_get_no_weight(kind):
    with_constants = X.copy()
    with_constants[:, [2, 7]] = 3.3
    model = rtlm(**kind).fit(with_constants, y)
    assert model.dual_gap_ <= model.tol
    assert_allclose(model.components_[:, [2, 7]], 0.0, atol=1e-10)
    assert len(model.components_) <= 11
    kept = rtlm(**kind).fit(np.delete(with_constants, [2, 7], axis=1), y)
    assert_allclose(model.objective_, kept.objective_, rtol=2e-6)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_duplicate_rows(kind):
    # With five copies of each row the nearest neighbour is at distance 0.
    model = rtlm(**kind).fit(np.repeat(X[::3], 5, axis=0), np.repeat(y[::3], 5))
    assert model.dual_gap_ <= model.tol
    assert np.isfinite(model.components_).all()


def test_duplicates_of_another_class():
    doubled, labels = np.concatenate((X, X[:10])), np.concatenate((y, (y[:10] + 1) % 3))
    model = rtlm().fit(doubled, labels)
    assert model.dual_gap_ <= model.tol


ZERO_METRIC = r"\blam\b"


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("relative", [True, False])
def test_constant_data_gives_the_zero_metric(kind, relative):
    with pytest.warns(UserWarning, match=ZERO_METRIC) as record:
        model = rtlm(relative_lam=relative, **kind).fit(np.full_like(X, 7.0), y)
    assert [warning.filename for warning in record] == [__file__]
    assert_array_equal(model.get_mahalanobis_matrix(), 0.0)
    assert_array_equal(model.transform(X), np.zeros((len(X), 1)))
    assert model.pair_distance(X[None, :2]) == 0.0
    assert model.lam_max_ == 0.0
    assert model.dual_gap_ <= model.tol
    constant = 1.0 if model.loss == "hinge" else 1.0 - 0.5 * model.width
    assert_allclose(model.objective_, constant * model.n_triplets_)


def test_triplets_that_no_metric_can_meet():
    triplets = [[0, 2, 1], [3, 1, 2]]
    with pytest.warns(UserWarning, match=ZERO_METRIC):
        model = rtlm().fit([[0.0], [1.0], [2.0], [3.0]], triplets=triplets)
    assert model.get_mahalanobis_matrix() == 0.0


def test_more_features_than_samples():
    wide = np.random.default_rng(0).normal(size=(12, 40))
    model = rtlm().fit(wide, [0, 1] * 6)
    assert model.dual_gap_ <= model.tol
    assert len(model.components_) < 12


@pytest.mark.few(8)
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("size", [1e-150, 1e-35, 1e-20, 1e20, 1e35, 1e150])
def test_huge_and_tiny_data(size, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = rtlm(**kind).fit(size * X, y)
    assert model.dual_gap_ <= model.tol
    assert_allclose(model.objective_, rtlm(**kind).fit(X, y).objective_, rtol=2e-6)


@pytest.mark.parametrize("size", [1e-320, 1e-160, 1e160, 1e300])
def test_data_of_impossible_scale(size):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"^X\b"):
            rtlm().fit(size * X, y)


def test_data_whose_mean_overflows():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"^X\b"):
            rtlm(n_neighbors=1).fit([[1e308], [1.1e308], [1.2e308], [1.3e308]], [0, 0, 1, 1])


def test_offset_does_not_matter():
    model = rtlm().fit(X + 1e5, y)
    assert_allclose(model.objective_, rtlm().fit(X, y).objective_, rtol=2e-6)


# -- bad data ------------------------------------------------------------------------------------


def changed(values, row, value, dtype=float):
    values = np.array(values, dtype=dtype)
    values[row] = value
    return values


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # in scikit-learn
@pytest.mark.parametrize("train", [rtlm().fit, rtlm_path])
@pytest.mark.parametrize(
    ("data", "error", "match"),
    [
        ((changed(X, 3, np.nan), y), ValueError, "X contains NaN"),
        ((changed(X, 3, np.inf), y), ValueError, "X contains infinity"),
        ((X[0], y), ValueError, "Expected 2D array"),
        ((X[:1], y[:1]), ValueError, "minimum of 2 is required"),
        ((sparse.csr_matrix(X), y), TypeError, "Sparse data"),
        ((np.full(X.shape, "a"), y), ValueError, "could not convert string"),
        ((X, None), ValueError, r"\by\b"),
        ((X, y[:-1]), ValueError, r"inconsistent numbers of samples: \[89, 88\]"),
        ((X, np.stack((y, y), axis=1)), ValueError, r"^y\b"),
        ((X, X[:, 0]), ValueError, "Unknown label type: continuous"),
        ((X, changed(y, 3, np.nan)), ValueError, "y contains NaN"),
        ((X, changed(y, 3, np.inf)), ValueError, "y contains infinity"),
        ((X, changed(y.astype(str), 3, np.nan, object)), ValueError, r"\by\b"),
        ((X, changed(y.astype(str), 3, None, object)), TypeError, r"\by\b"),
        ((X, np.zeros(len(X))), ValueError, r"\by\b"),
        ((X, np.arange(len(X))), ValueError, r"^y\b"),
        ((X, T), ValueError, r"^y\b"),
        ((X[T], y[: len(T)]), ValueError, "Found array with dim 3"),
    ],
)
def test_bad_data(train, data, error, match):
    with pytest.raises(error, match=match):
        train(*data)


@pytest.mark.parametrize("n_neighbors", [len(X), 1000])
def test_too_many_neighbours(n_neighbors):
    with pytest.raises(ValueError, match=rf"^n_neighbors\b.*\b{n_neighbors}\b"):
        rtlm(n_neighbors=n_neighbors).fit(X, y)


@pytest.mark.parametrize("train", [rtlm().fit, rtlm_path])
@pytest.mark.parametrize(
    ("triplets", "error", "match"),
    [
        ([[0, 1, 89]], ValueError, "indices from 0 to 88, .* got 0 to 89"),
        ([[0, 1, 2], [-1, 1, 2]], ValueError, "indices from 0 to 88, .* got -1 to 2"),
        ([[0, 1, 2], [3, 4, 4]], ValueError, r"three different samples; row 1 is \[3, 4, 4\]"),
        ([[0, 1, 2], [3, 4, 3]], ValueError, r"three different samples; row 1 is \[3, 4, 3\]"),
        ([[5, 5, 2], [3, 4, 4]], ValueError, r"three different samples; row 0 is \[5, 5, 2\]"),
        ([0, 1, 2], ValueError, r"shape \(n_triplets >= 1, 3\), .* got \(3,\)"),
        ([[0, 1, 2, 3]], ValueError, r"shape \(n_triplets >= 1, 3\), .* got \(1, 4\)"),
        ([], ValueError, r"shape \(n_triplets >= 1, 3\), .* got \(0,\)"),
        (np.zeros((0, 3), dtype=int), ValueError, r"shape .*, got \(0, 3\)"),
        ([[0, 1, 2], [0, 1]], ValueError, "rows of 3 integers"),
        ("all", TypeError, "integers"),
        ([[0.0, np.nan, 2.0]], TypeError, "float64"),
        ([["0", "1", "2"]], TypeError, "integers, got dtype <U1"),
        ([[True, False, True]], TypeError, "integers, got dtype bool"),
        ([[0, None, 2]], TypeError, "integers, got dtype object"),
    ],
)
def test_bad_triplets(train, triplets, error, match):
    with pytest.raises(error, match="triplets must .*" + match):
        train(X, triplets=triplets)


def test_labels_beside_comparisons_are_for_others():
    """In a pipeline the classifier behind learns from them."""
    model = rtlm().fit(X, y, triplets=T)
    assert_array_equal(model.components_, rtlm().fit(X, triplets=T).components_)
    with pytest.raises(ValueError, match=r"^y must"):
        rtlm().fit(X, y[1:], triplets=T)
    pipeline = make_pipeline(StandardScaler(), rtlm(), KNeighborsClassifier())
    assert pipeline.fit(X, y, screenedrtlm__triplets=T).score(X, y) > 0.8


def test_two_integer_features_are_features():
    """Where rows repeat a number, or labels are others."""
    grid = np.stack(np.divmod(np.arange(36), 6), axis=1)
    for labels in (np.where(grid[:, 0] < 3, -1, 1), np.where(grid[:, 0] < 3, 0, 1)):
        assert rtlm().fit(grid, labels).n_features_in_ == 2
    assert rtlm().fit(PAIRS, np.arange(40) % 2).n_features_in_ == 2
    assert rtlm().fit(PAIRS.astype(float), np.where(np.arange(40) % 2, 1, -1)).n_features_in_ == 2


@pytest.mark.slow
def test_a_class_with_one_member_has_far_samples_only():
    labels = changed(y, 3, 9, int)
    with pytest.warns(UserWarning, match=r"^1 of 4 .*\by\b.*\b9\b"):
        model = rtlm(n_neighbors=None).fit(X, labels)
    codes = np.unique(labels, return_inverse=True)[1]
    same, places = codes[:, None] == codes, np.arange(len(X))
    triplets = [(i, j, l) for i in places for j in places if i != j and same[i, j]
                for l in places[~same[i]]]  # fmt: skip
    listed = rtlm().fit(X, triplets=np.array(triplets))
    assert model.n_triplets_ == len(triplets)
    assert_allclose(model.objective_, listed.objective_, rtol=1e-5)


def test_unlabelled_samples_may_differ_in_type():
    labels = np.where(np.arange(len(X)) % 3 == 0, "?", y.astype(str))
    expected = rtlm(unlabelled="?").fit(X, labels)
    mixed = labels.astype(object)
    mixed[labels == "?"] = -1
    assert_allclose(rtlm(unlabelled=-1).fit(X, mixed).objective_, expected.objective_, rtol=1e-12)
    with pytest.raises(ValueError, match="0 classes"):
        rtlm(unlabelled=-1).fit(X, np.full(len(X), -1, dtype=object))


def test_unlabelled_samples_are_in_no_triplet():
    labels = np.where(np.arange(len(X)) % 3 == 0, -1, y)
    model, known = rtlm(unlabelled=-1).fit(X, labels), labels != -1
    part = rtlm().fit(X[known], y[known])
    assert model.n_triplets_ == part.n_triplets_
    assert_allclose(model.objective_, part.objective_, rtol=1e-5)
    assert len(model.transform(X)) == len(X)
    # Without that it is a class like another.
    assert rtlm().fit(X, labels).n_triplets_ > model.n_triplets_
    names = np.where(known, y.astype(str), "?")
    other = rtlm(unlabelled="?").fit(X, names)
    assert_allclose(other.objective_, model.objective_, rtol=1e-5)


def test_uneven_scales_are_warned_of():
    raw, labels = load_wine(return_X_y=True)
    with pytest.warns(UserWarning, match=r"\bStandardScaler\b"):
        rtlm().fit(raw, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rtlm().fit(scale(raw), labels)
        # Small ones decide nothing.
        rtlm().fit(np.hstack((scale(raw), 1e-9 * raw)), labels)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_integer_types_of_triplets(dtype):
    model = rtlm().fit(X, triplets=T.astype(dtype))
    assert_array_equal(model.components_, rtlm().fit(X, triplets=T).components_)


@pytest.mark.parametrize("shape", [(4,), (4, 13), (4, 2), (4, 2, 12), (4, 3, 13), (1, 4, 2, 13)])
def test_pair_distance_wants_pairs(shape):
    model = rtlm().fit(X, y)
    with pytest.raises(ValueError, match=r"^pairs\b"):
        model.pair_distance(np.zeros(shape))


def test_pair_distance_wants_finite_numbers():
    model = rtlm().fit(X, y)
    with pytest.raises(ValueError, match=r"\bpairs\b"):
        model.pair_distance(np.full((1, 2, 13), np.nan))


def test_memory_error_names_triplets_and_bytes(little_memory):
    little_memory(100_000)
    for train in (rtlm(n_neighbors=None).fit, rtlm_path):
        with pytest.raises(MemoryError, match=r"\bn_neighbors\b"):
            train(X, y)


# -- what the user is told -----------------------------------------------------------------------


@pytest.mark.few(7)
@pytest.mark.parametrize("verbose", [0, 1])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_convergence_warning(kind, verbose):
    model = rtlm(max_iter=1, lam=1e-3, verbose=verbose, **kind)
    with pytest.warns(ConvergenceWarning) as record:
        model.fit(X, y)
    (warning,) = [warning for warning in record if warning.category is ConvergenceWarning]
    assert warning.filename == __file__
    message = str(warning.message)
    for told in (f"{model.dual_gap_:.2e}", "tol=1e-06", "max_iter"):
        assert told in message
    # What was reached is there, with an honest certificate.
    assert model.dual_gap_ > model.tol
    best = rtlm(lam=1e-3, **kind).fit(X, y).objective_
    assert model.dual_objective_ <= best <= model.objective_


def test_unreachable_tolerance_warns():
    with pytest.warns(ConvergenceWarning, match="tol=1e-18"):
        model = rtlm(tol=1e-18, max_iter=100_000).fit(X, y)
    assert model.dual_gap_ <= 1e-12


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_silent_by_default(kind, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rtlm(**kind).fit(X, y)
    assert capfd.readouterr() == ("", "")


def test_verbose_draws_a_progress_bar_on_stderr(capsys):
    rtlm(verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    last = err.splitlines()[-1]
    assert "100%" in last
    assert "lam=" in last
    assert "gap=" in last


def test_interrupted_fit_leaves_the_estimator_unfitted(monkeypatch):
    model, again = rtlm(), rtlm().fit(X, y)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(PathSolver, "solve", interrupt)
    for estimator in (model, again):
        with pytest.raises(KeyboardInterrupt):
            estimator.fit(X, y)
        with pytest.raises(NotFittedError):
            check_is_fitted(estimator)
        with pytest.raises(NotFittedError):
            estimator.transform(X)


def test_failed_fit_leaves_the_estimator_unfitted():
    model = rtlm()
    with pytest.raises(ValueError, match=r"^y\b"):
        model.fit(X, np.arange(len(X)))
    with pytest.raises(NotFittedError):
        model.transform(X)


def wide_data():
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    X = rng.normal(size=(24, 40))
    X[y == 1, :3] += 2.0
    return X, y


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "kind", [{}, {"loss": "hinge"}, {"pull": 0.5}, {"triplets": True}], ids=lambda kind: str(kind)
)
def test_few_samples_of_many_features_are_learned_in_their_span(kind, monkeypatch):
    X, y = wide_data()
    kind, data = dict(kind), {"y": y}
    if kind.pop("triplets", False):
        data = {"triplets": np.random.default_rng(1).random((200, 24)).argsort(axis=1)[:, :3]}
    model = ScreenedRTLM(1e-2, tol=1e-9, **kind).fit(X, **data)
    path = rtlm_path(X, **data, ratio=0.5, n_lams=6, **kind)
    assert path.problem.geometry.n_features == 23
    assert path.matrices.shape == (6, 40, 40)
    last = path[-1]
    assert_allclose(path.matrices[-1], last.get_mahalanobis_matrix(), atol=1e-12)
    distances = np.linalg.norm(last.transform(X[:5]) - last.transform(X[5:10]), axis=1)
    assert_allclose(last.pair_distance(np.stack([X[:5], X[5:10]], axis=1)), distances)
    monkeypatch.setattr(build, "row_space", lambda X: None)
    direct = ScreenedRTLM(1e-2, tol=1e-9, **kind).fit(X, **data)
    assert_allclose(model.lam_max_, direct.lam_max_, rtol=1e-10)
    assert_allclose(model.objective_, direct.objective_, rtol=3e-9)
    M = direct.get_mahalanobis_matrix()
    assert_allclose(model.get_mahalanobis_matrix(), M, atol=1e-3 * np.abs(M).max())


@pytest.mark.slow
def test_searches_and_stores_of_few_samples_of_many_features(tmp_path):
    X, y = wide_data()
    search = ScreenedRTLMCV(lams=3, cv=3, n_neighbors=3).fit(X, y)
    assert search.components_.shape[1] == 40
    first, again = (
        ScreenedRTLM(1e-2, store=tmp_path, tol=1e-8).fit(X, y) for _ in range(2)
    )  # fmt: skip
    assert again.n_iter_ < first.n_iter_
    assert_allclose(again.objective_, first.objective_, rtol=2e-8)


def test_columns_of_zeros_take_nothing_from_the_certificate():
    """Few samples are learned in their span, whose coordinates have the same rounding errors."""
    X = np.zeros((8, 16))
    X[:4, 0], X[:4, 2], X[4:, 1] = 2.0**52, [0.0, 1e8, 3e8, 6e8], [0.0, 1.0, 3.0, 6.0]
    triplets = [[0, 1, 2], [1, 0, 2], [2, 1, 3], [4, 5, 6], [5, 4, 6], [6, 5, 7]]
    with pytest.warns(ConvergenceWarning, match=r"\btol\b"):
        few, many = (
            ScreenedRTLM(0.1, relative_lam=False).fit(X[:, :d], triplets=triplets) for d in (7, 16)
        )
    assert_allclose(many.objective_, few.objective_, rtol=1e-7)
    assert many.dual_objective_ <= few.objective_ and few.dual_objective_ <= many.objective_


@pytest.mark.parametrize("n_samples", [3, 21, 42])
def test_a_huge_constant_feature_is_nothing(n_samples):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_samples, 21)), np.arange(n_samples) % 2
    X[:, 0] = 0.0
    data = {"triplets": [[0, 1, 2]]} if n_samples == 3 else {"y": y}
    model = ScreenedRTLM(tol=1e-8).fit(X, **data)
    X[:, 0] = 1e30
    assert_allclose(ScreenedRTLM(tol=1e-8).fit(X, **data).objective_, model.objective_, rtol=2e-8)


def test_a_search_over_few_samples_of_many_features_asks_for_no_starts(monkeypatch):
    def refuse(*arguments):
        raise MemoryError

    monkeypatch.setattr("skscreen.metric_learning.cv.check_memory", refuse)
    X, y = wide_data()
    ScreenedRTLMCV(lams=2, cv=2, n_neighbors=3).fit(X, y)
    with pytest.raises(MemoryError):
        ScreenedRTLMCV(lams=2, cv=2, n_neighbors=3).fit(X[:, :5], y)


def test_a_training_part_with_more_rows_than_the_data():
    """As bootstrap samples have; its metric is one of the features, that of the refit is not."""
    X, y = wide_data()
    every = np.arange(24)
    splits = [(np.concatenate([every, every]), every)] * 2
    search = ScreenedRTLMCV(lams=2, cv=splits, n_neighbors=3).fit(X, y)
    assert search.dual_gap_ <= search.tol


def test_stored_metrics_in_other_coordinates_are_ignored(tmp_path, monkeypatch):
    X, y = wide_data()
    ScreenedRTLM(1e-2, store=tmp_path).fit(X, y)
    fewer = np.linalg.qr(np.random.default_rng(0).normal(size=(40, 20)))[0]
    monkeypatch.setattr(build, "row_space", lambda X: fewer)
    assert ScreenedRTLM(2e-2, store=tmp_path).fit(X, y).dual_gap_ <= 1e-6


@pytest.mark.parametrize("kind", [ScreenedRTLM, partial(ScreenedRTLMCV, lams=2, cv=2)])
def test_a_fit_that_fails_leaves_nothing_of_the_one_before(kind):
    X, y = wide_data()
    model = kind(n_neighbors=3).fit(X, y)
    with pytest.raises(ValueError, match="classes"):
        model.fit(X, np.zeros(24))
    left = {name for name in vars(model) if name.endswith("_")}
    assert left <= {"n_features_in_", "lams_"}


def test_a_narrow_quadratic_piece_in_long_rows_is_descended_as_it_is():
    """Steps cost little there, and two numbers for each of so many items a lot of memory."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(220, 4)), np.arange(220) % 2
    X[y == 1, 0] += 1.5
    for gamma, smoothed in ((0.004, False), (1e-5, True)):
        path = rtlm_path(X, y, n_neighbors=None, width=gamma, n_lams=2)
        assert path.problem.geometry.has_long_ranges
        assert (PathSolver(path.problem).proximal is not None) == smoothed
    assert PathSolver(rtlm_path(X, y, width=0.004, n_lams=2).problem).proximal is not None


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("ranges", [False, True])
def test_after_a_solve_of_many_steps_the_next_are_smoothed(ranges):
    X, y = np.random.default_rng(0).normal(size=(50, 40)), np.arange(50) % 2
    problem = build.build(X, Parameters(), Supervision(y))
    solver, lam = PathSolver(problem, ranges), 2.0 * problem.lam_max
    while solver.proximal is None:
        lam *= 0.5
        solution = solver.solve(lam, Settings())
        assert (solver.proximal is not None) == (solution.n_iter > 200)
    assert lam < 0.1 * problem.lam_max
    # One that only knows this solution goes on without smoothing.
    plain = PathSolver(problem, ranges)
    plain.recall(lam, solution.point.value, solution.step, solution.n_iter)
    assert plain.proximal is None
    found, other = (one.solve(0.5 * lam, Settings()) for one in (solver, plain))
    assert found.converged and other.converged and found.n_iter < other.n_iter
    assert_allclose(found.certificate.primal, other.certificate.primal, rtol=2e-6)


@pytest.mark.parametrize("y", [None, [0, 1]])
def test_rows_of_unequal_lengths_are_refused(y):
    with pytest.raises(ValueError, match=r"^X must"):
        ScreenedRTLM().fit([[1.0], [1.0, 2.0]], y, triplets=[[0, 1, 2]] if y is None else None)


def test_single_precision_is_what_its_numbers_are_in_double():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 3000)
    single = (rng.normal(size=(6000, 3)) + y[:, None]).astype(np.float32)
    models = [ScreenedRTLM(0.1, n_neighbors=1).fit(X, y) for X in (single, single.astype(float))]
    assert_array_equal(models[0].components_, models[1].components_.astype(np.float32))
    assert models[0].objective_ == models[1].objective_
    mapped = models[0].transform(single)
    assert mapped.dtype == np.float32
    assert_allclose(mapped, models[1].transform(single.astype(float)), rtol=1e-5, atol=1e-6)


def test_single_precision_is_not_copied_as_it_is():
    X = np.random.default_rng(0).normal(size=(40_000, 8))
    triplets = np.random.default_rng(1).permutation(40_000)[:300].reshape(100, 3)
    parameters, supervision, peaks = Parameters(), Supervision(triplets=triplets), []
    build.build(X, parameters, supervision)
    for data in (X, X.astype(np.float32)):
        tracemalloc.start()
        build.build(data, parameters, supervision)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 0.1 * X.nbytes


def test_labels_of_pairs_and_triplets_as_samples_are_told_the_call():
    pairs = np.array([[0, 1], [0, 60]])
    with pytest.raises(ValueError, match=r"^y must"):
        rtlm().fit(X, pairs=pairs, y=[1, -1])
    with pytest.raises(ValueError, match=r"triplets=T\b"):
        rtlm().fit(np.array([[0, 1, 50], [1, 2, 60]]))


@pytest.mark.parametrize("ratio", [1e3, 1e7, 1e10])
def test_a_feature_that_dominates_the_distances_is_named(ratio):
    with pytest.warns(UserWarning, match=r"\bStandardScaler\b"):
        rtlm().fit(X * np.r_[ratio, np.ones(X.shape[1] - 1)], y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-40, 1e-30, 1e34])
def test_maps_of_samples_at_the_ends_of_single_precision(size):
    single = (scale(X) * size).astype(np.float32)
    found = ScreenedRTLM().fit(single, y).transform(single)
    double = single.astype(np.float64)
    expected = ScreenedRTLM().fit(double, y).transform(double)
    assert found.dtype == np.float32
    assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
