"""Samples, labels and weights are checked as by scikit-learn, and for what it would misread."""

import enum

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

from skscreen import (
    OrdinalEmbedding,
    PragamSVC,
    RTLMPairsClassifier,
    ScreenedLinearSVC,
    ScreenedRTLM,
    ScreenedRTLMCV,
    ScreenedSVC,
    ScreenedSVCCV,
    ScreenedSVR,
)
from skscreen.core.checks import as_labels, check_labels, check_samples, check_weights
from skscreen.datasets import make_triplets
from skscreen.metrics import precision_at_k, procrustes_distance, triplet_error

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 6)) * (RNG.random((40, 6)) < 0.4)
Y = (X @ np.arange(6.0) + 0.5 * RNG.normal(size=40) > 0.0).astype(int)
MODELS = {
    "rbf": ScreenedSVC(),
    "linear": ScreenedSVC(kernel="linear"),
    "penalised": ScreenedLinearSVC(),
    "l1": ScreenedLinearSVC(penalty="l1"),
    "together": ScreenedLinearSVC(multi_class="crammer_singer"),
    "pragam": PragamSVC(),
    "regression": ScreenedSVR(),
    "search": ScreenedSVCCV([1.0, 10.0], cv=2),
}
of_samples = pytest.mark.parametrize("name", MODELS)


def _with_index(X, k, value):
    X.indices[k] = value
    return X


@of_samples
def test_entries_of_sparse_samples_outside_of_their_shape(name):
    model = MODELS[name].fit(sparse.csr_array(X), Y)
    for wrong, index in (
        (_with_index(sparse.csr_array(X), 2, 6), 6),
        (_with_index(sparse.csr_array(X), 2, -1), -1),
        (_with_index(sparse.csc_array(X), 0, 40), 40),
    ):
        with pytest.raises(ValueError, match=rf"^X\b.* {index},"):
            model.predict(wrong)
        with pytest.raises(ValueError, match=rf"^X\b.* {index},"):
            clone(model).fit(wrong, Y)


def test_starts_of_rows_that_go_back():
    wrong = sparse.csr_array(X)
    wrong.indptr[3] = wrong.indptr[5]
    with pytest.raises(ValueError, match=r"^X\b"):
        check_samples(wrong, accept_sparse="csr")


@of_samples
def test_sparse_samples_with_spare_room_or_two_kinds_of_indices(name):
    expected = MODELS[name].fit(sparse.csr_array(X), Y).predict(X)
    spare, mixed = sparse.csr_array(X), sparse.csr_array(X)
    spare.data, spare.indices = np.append(spare.data, 99.0), np.append(spare.indices, np.int32(1))
    mixed.indptr = mixed.indptr.astype(np.int64)
    for given in (spare, mixed):
        np.testing.assert_array_equal(MODELS[name].fit(given, Y).predict(given), expected)


@of_samples
def test_masked_entries_are_refused(name):
    model = MODELS[name].fit(X, Y)
    masked, first = np.ma.MaskedArray(X, X > 1.0), np.arange(40) < 1
    for call in (lambda: clone(model).fit(masked, Y), lambda: model.predict(masked)):
        with pytest.raises(ValueError, match=r"^X\b"):
            call()
    with pytest.raises(ValueError, match=r"^y\b"):
        clone(model).fit(X, np.ma.MaskedArray(Y, first))
    with pytest.raises(ValueError, match=r"^sample_weight\b"):
        model.fit(X, Y, sample_weight=np.ma.MaskedArray(np.ones(40), first))
    # Nothing is masked.
    model.fit(np.ma.MaskedArray(X), np.ma.MaskedArray(Y))


@of_samples
@pytest.mark.parametrize(
    ("weights", "kind"),
    [
        ({0: 1.0, 1: 2.0}, TypeError), ("balanced", ValueError), (np.ones(39), ValueError),
        (np.full(40, np.nan), ValueError), (np.full(40, -1.0), ValueError),
        (np.zeros(40), ValueError),
        (np.ones((40, 1)), ValueError), (np.full(40, 1j), (TypeError, ValueError)),
        ([[1.0], [1.0, 2.0]], ValueError), (iter(np.ones(40)), TypeError),
    ],
)  # fmt: skip
def test_weights_that_are_none(name, weights, kind):
    with pytest.raises(kind):
        clone(MODELS[name]).fit(X, Y, sample_weight=weights)


def test_weights_are_named_in_errors():
    for weights in ([1.0, np.nan], [1.0, -1.0], [0.0, 0.0], [1.0], [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="comparison_weight"):
            check_weights(weights, 2, "comparison_weight")


def test_weights_of_one_number_none_and_other_libraries():
    np.testing.assert_array_equal(check_weights(None, 3), np.ones(3))
    np.testing.assert_array_equal(check_weights(2.0, 3), [2.0, 2.0, 2.0])
    for given in (
        pd.Series([1, 2, 3], dtype="Int64"), pl.Series([1, 2, 3]), (1, 2.0, np.float32(3.0)),
        np.array([1, 2.0, np.float32(3.0)], dtype=object),
    ):  # fmt: skip
        found = check_weights(given, 3)
        assert found.dtype == np.float64 and found.tolist() == [1.0, 2.0, 3.0]


def test_the_right_sizes_and_kinds_of_samples():
    for wrong in (
        np.ones(3),
        np.ones((2, 2, 2)),
        np.empty((0, 2)),
        [[1.0, 2.0], [3.0]],
        "ab",
        None,
    ):
        with pytest.raises(ValueError, match=r"array|\bX must"):
            check_samples(wrong)
    for wrong in ([[1.0, np.nan]], [[1.0, None]], [[np.inf, 0.0]]):
        with pytest.raises(ValueError, match="Input Z contains"):
            check_samples(wrong, "Z", dtype=np.float64)
    with pytest.raises(ValueError, match="could not convert string"):
        check_samples([["a"]], dtype=np.float64)
    large = np.full((3, 2), 1e308)
    assert check_samples(large) is large


def test_masks_in_metric_learning():
    samples, first = RNG.normal(size=(40, 6)), np.arange(40) < 1
    masked = np.ma.MaskedArray(samples, samples > 2.0)
    model = ScreenedRTLM().fit(samples, Y)
    triplets = np.ma.MaskedArray([[0, 1, 2], [3, 4, 5]], [[0, 0, 0], [0, 0, 1]])
    pairs, weights = [[0, 1], [2, 3]], np.ma.MaskedArray([1.0, 2.0], [True, False])
    for name, call in (
        ("X", lambda: model.transform(masked)),
        ("X", lambda: model.fit(masked, Y)),
        ("X", lambda: ScreenedRTLMCV(2, cv=2).fit(masked, Y)),
        ("y", lambda: model.fit(samples, np.ma.MaskedArray(Y, first))),
        ("triplets", lambda: model.fit(samples, triplets=triplets)),
        ("preprocessor", lambda: RTLMPairsClassifier(preprocessor=masked).fit(pairs, [1, -1])),
        ("y", lambda: RTLMPairsClassifier(preprocessor=samples).fit(
            pairs, np.ma.MaskedArray([1, -1], [False, True]))),
        ("sample_weight", lambda: RTLMPairsClassifier(preprocessor=samples).fit(
            pairs, [1, -1], sample_weight=weights)),
        ("Z", lambda: precision_at_k(masked, Y, 1)),
        ("labels", lambda: precision_at_k(samples, np.ma.MaskedArray(Y, first), 1)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"^{name}\b.* masked"):
            call()


def test_graph_of_neighbours_with_an_index_that_is_no_sample():
    graph = _with_index(sparse.csr_array(np.ones((40, 40))), 3, 40)
    with pytest.raises(ValueError, match=r"^neighbors\b"):
        ScreenedRTLM(neighbors=graph).fit(X, Y)


def test_a_metric_does_not_depend_on_the_memory_layout():
    # The features are rounded to a tenth: many neighbours are at equal distances.
    samples, labels = load_iris(return_X_y=True)
    for model in (ScreenedRTLM(), ScreenedRTLMCV(2, cv=2)):
        first = model.fit(samples, labels).components_
        np.testing.assert_array_equal(
            model.fit(np.asfortranarray(samples), labels).components_, first
        )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("missing", [np.nan, np.inf])
def test_labels_that_are_not_finite_give_no_warning_of_a_cast(missing):
    labels = np.where(np.arange(40) == 3, missing, Y)
    with pytest.raises(ValueError, match="Input y contains"):
        ScreenedRTLM().fit(X, labels)


class Colour(str, enum.Enum):  # noqa: UP042 - members of a StrEnum are written as they are
    """Members that NumPy writes as "Colour.RED", cut to the length of the values."""

    RED = "r"
    BLUE = "b"


@pytest.mark.parametrize(
    ("labels", "error"),
    [
        ([np.nan, "a"], ValueError),
        (["a", True], TypeError),
        (["a", 3], TypeError),
        ([None, "a"], ValueError),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["rbf", "penalised", "together", "pragam", "search", "metric"])
def test_lists_of_labels_of_several_kinds(name, labels, error):
    # NumPy makes strings of them.
    model = ScreenedRTLM() if name == "metric" else clone(MODELS[name])
    with pytest.raises(error, match=r"\by\b"):
        model.fit(X, [labels[label] for label in np.arange(len(X)) % 2])


def test_members_of_an_enum_are_told_apart():
    assert np.unique(check_labels([Colour.RED, Colour.BLUE, Colour.RED])).size == 2


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (pd.Series([1, None], dtype="Int64"), ValueError),
        (pl.Series([1, None]), ValueError),
        ([1.0, np.nan], ValueError),
        (pd.Series(["a", None], dtype="string"), TypeError),
        (pl.Series(["a", None]), TypeError),
        (np.array([[1, 2], [3, 4]]), ValueError),
        ("ab", ValueError),
        (None, ValueError),
        (pl.DataFrame({"a": [1]}).lazy(), ValueError),
    ],
)
def test_labels_that_are_none_are_named(labels, kind):
    with pytest.raises(kind, match="y_val"):
        check_labels(labels, "y_val")


def test_labels_of_all_kinds_are_arrays():
    for given in (["a", "b"], np.array(["a", "b"], dtype=object), pd.Series(["a", "b"]),
                  pd.Series(["a", "b"], dtype="category"), pl.Series(["a", "b"])):  # fmt: skip
        assert check_labels(given).tolist() == ["a", "b"]
    assert as_labels([1, "a", None]).tolist() == [1, "a", None]


def test_missing_labels_are_unlabelled_if_they_are_said_to_be():
    data = load_iris()
    codes = np.where(np.arange(150) % 5 == 0, -1, data.target)
    expected = ScreenedRTLM(unlabelled=-1).fit(data.data, codes).components_
    numbers = np.where(codes < 0, np.nan, codes)
    names = [np.nan if code < 0 else f"class {code}" for code in codes]
    for labels in (numbers, names, pd.Series(names, dtype="string")):
        model = ScreenedRTLM(unlabelled=np.nan).fit(data.data, labels)
        np.testing.assert_array_equal(model.components_, expected)
    beside = ["?" if code < 0 else f"class {code}" for code in codes]
    model = ScreenedRTLM(unlabelled="?").fit(data.data, beside)
    np.testing.assert_array_equal(model.components_, expected)


def test_dates_in_frames_are_no_numbers():
    days = np.datetime64("2020-01-01") + np.arange(40)
    frame = pd.DataFrame({"day": days, "next": days + 1, "number": 1.0})
    for model in (ScreenedSVC(), ScreenedLinearSVC(), ScreenedRTLM(), PragamSVC()):
        with pytest.raises((TypeError, ValueError)):
            model.fit(frame, Y)

    # Of what a function compares, it says itself what it is.
    def kernel(one, other):
        return np.exp(-0.01 * np.abs((one[:, None, 0] - other[:, 0]).astype(float)))

    model = ScreenedSVC(kernel=kernel).fit(days[:, None], Y)
    assert model.predict(days[:, None]).shape == (40,)


def test_masks_in_points():
    points = X[:10] + np.arange(10.0)[:, None]
    masked = np.ma.masked_less(points, 0.5)
    for read in (
        lambda: make_triplets(masked, 10),
        lambda: procrustes_distance(points, masked),
        lambda: triplet_error(masked, [[0, 1, 2]]),
        lambda: OrdinalEmbedding().fit(make_triplets(points, 50), init=masked[:, :2]),
    ):
        with pytest.raises(ValueError, match="masked entries"):
            read()


def test_whole_numbers_of_pandas_that_floats_do_not_tell_apart():
    data = load_iris()
    numbers = data.target.astype(np.int64) + 2**60
    labels = pd.Series(numbers, dtype="Int64")
    for model in (ScreenedSVC(), ScreenedLinearSVC(), PragamSVC(), ScreenedSVCCV([1.0], cv=2)):
        assert model.fit(data.data, labels).classes_.tolist() == [2**60, 2**60 + 1, 2**60 + 2]
    expected = ScreenedRTLM().fit(data.data, numbers)
    model = ScreenedRTLM().fit(data.data, labels)
    np.testing.assert_array_equal(model.components_, expected.components_)
    for given in (labels, numbers):
        search = ScreenedRTLMCV([0.1], cv=2).fit(data.data, given)
        assert search.best_score_ > 0.9
    found = precision_at_k(data.data, labels, k=3)
    assert found == precision_at_k(data.data, numbers, k=3)
    small = pd.Series(data.target, dtype="Int64")
    assert ScreenedSVC().fit(data.data, small).classes_.dtype == np.int64


def test_equal_parameters_of_other_types_are_checked():
    # 1, 1.0 and True are equal, and only some of them are what a parameter may be.
    ScreenedSVC(degree=1).fit(X, Y)
    with pytest.raises(ValueError, match=r"'degree'"):
        ScreenedSVC(degree=1.0).fit(X, Y)
    ScreenedSVC(shrinking=True).fit(X, Y)
    with pytest.raises(ValueError, match=r"'shrinking'"):
        ScreenedSVC(shrinking=1.0).fit(X, Y)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_entry_that_is_not_finite(value):
    spoiled, targets = X.copy(), Y.astype(float)
    spoiled[1, 0] = targets[1] = value
    with pytest.raises(ValueError, match=r"Input X contains"):
        ScreenedSVC().fit(spoiled, Y)
    with pytest.raises(ValueError, match=r"Input y contains"):
        ScreenedSVR().fit(X, targets)


def test_sums_beyond_the_largest_number_are_no_error():
    huge = np.full((4, 2), 1e308)
    huge[:2] = 0.0
    with pytest.raises(ValueError, match=r"rescale"):
        ScreenedSVC(gamma=1.0).fit(huge, [0, 0, 1, 1])


def test_features_of_arrays_are_learned_and_checked():
    model = ScreenedSVC().fit(X, Y)
    assert model.n_features_in_ == 6
    with pytest.raises(ValueError, match=r"X has 1 features"):
        model.predict(np.ones((3, 1)))
    model.fit(np.column_stack([X, X]), Y)
    assert model.n_features_in_ == 12
