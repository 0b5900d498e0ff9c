"""Samples, labels and weights that would be read as others are refused, or brought to one form."""

import enum

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.class_weight import compute_sample_weight

from skscreen import (
    OrdinalEmbedding,
    PragamSVC,
    RTLMPairsClassifier,
    RTLMTripletsClassifier,
    ScreenedLinearSVC,
    ScreenedRTLM,
    ScreenedRTLMCV,
    ScreenedSVC,
    ScreenedSVCCV,
    ScreenedSVR,
)
from skscreen.core.inputs import refuse_not_finite, sample_weights, sound
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
    for wrong, place in (
        (_with_index(sparse.csr_array(X), 2, 6), r"column 6, but shape \(40, 6\)"),
        (_with_index(sparse.csr_array(X), 2, -1), "column -1"),
        (_with_index(sparse.csc_array(X), 0, 40), "row 40, column 0"),
    ):
        with pytest.raises(ValueError, match=place + ".*counted from 0"):
            model.predict(wrong)
        with pytest.raises(ValueError, match=place + ".*counted from 0"):
            clone(model).fit(wrong, Y)


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
        with pytest.raises(ValueError, match="X has masked entries, the first at"):
            call()
    with pytest.raises(ValueError, match=r"y has masked entries, the first at \[0\]"):
        clone(model).fit(X, np.ma.MaskedArray(Y, first))
    with pytest.raises(ValueError, match="sample_weight has masked entries"):
        model.fit(X, Y, sample_weight=np.ma.MaskedArray(np.ones(40), first))
    # Nothing is masked.
    model.fit(np.ma.MaskedArray(X), np.ma.MaskedArray(Y))


@of_samples
def test_weights_of_classes_in_the_place_of_those_of_samples(name):
    for given in ({0: 1.0, 1: 2.0}, "balanced"):
        with pytest.raises(TypeError, match="compute_sample_weight"):
            MODELS[name].fit(X, Y, sample_weight=given)
        MODELS[name].fit(X, Y, sample_weight=compute_sample_weight(given, Y))


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
        ("queries", lambda: precision_at_k(masked, Y, 1)),
        ("targets", lambda: precision_at_k(samples, np.ma.MaskedArray(Y, first), 1)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^{name} has masked entries"):
            call()


def test_graph_of_neighbours_with_an_index_that_is_no_sample():
    graph = _with_index(sparse.csr_array(np.ones((40, 40))), 3, 40)
    with pytest.raises(ValueError, match="neighbors has an entry in row 0, column 40"):
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


@pytest.mark.parametrize("model", [ScreenedSVC(), PragamSVC(), ScreenedRTLM(n_neighbors=1)])
def test_labels_of_numpys_variable_strings(model):
    labels = np.array(["a", "b"])[Y]
    with pytest.raises(TypeError, match=r"y\.astype\(str\)"):
        model.fit(X, labels.astype(np.dtypes.StringDType()))
    model.fit(X, labels)


class Colour(str, enum.Enum):  # noqa: UP042 - members of a StrEnum are written as they are
    """Members that NumPy writes as "Colour.RED", cut to the length of the values."""

    RED = "r"
    BLUE = "b"


# Lists of which NumPy makes strings: "nan", "True", "3", and the first letters of "Colour".
MIXED = {
    "NaN": ([np.nan, "a"], "nan at position 0: leave samples without a label out"),
    "truth": (["a", True], r"True at position 1.*\[str\(label\) for label in y\]"),
    "number": (["a", 3], "3 at position 1"),
    "Enum": (list(Colour), r"\[member.value for member in y\]"),
}


@pytest.mark.parametrize("kind", MIXED)
@pytest.mark.parametrize("name", ["rbf", "penalised", "together", "pragam", "search", "metric"])
def test_lists_of_labels_of_several_kinds(name, kind):
    labels, message = MIXED[kind]
    model = ScreenedRTLM() if name == "metric" else clone(MODELS[name])
    with pytest.raises(TypeError, match=message):
        model.fit(X, [labels[label] for label in np.arange(len(X)) % 2])


def test_lists_of_labels_of_several_kinds_elsewhere():
    labels = [np.nan, *(["a", "b"] * 20)[1:]]
    with pytest.raises(ValueError, match="targets must not hold NaN"):
        precision_at_k(X, labels, k=3)
    with pytest.raises(TypeError, match="uniformly strings or numbers"):
        precision_at_k(X, [{label} for label in Y.tolist()], k=3)


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


def test_dates_and_durations_are_no_numbers():
    days = np.datetime64("2020-01-01") + np.arange(40)
    seconds = pd.Series(pd.to_timedelta(np.arange(40), unit="s"))
    frame = pd.DataFrame({"day": days, "next": days + 1})
    for times in (days, pd.Series(days), seconds, seconds.to_numpy()):
        with pytest.raises(ValueError, match="y must hold numbers, but has dates or durations"):
            ScreenedSVR().fit(X, times)
        for model in (ScreenedSVC(), ScreenedRTLM(), PragamSVC()):
            with pytest.raises(ValueError, match="sample_weight must hold numbers, but has dates"):
                model.fit(X, Y, sample_weight=times)
    cells = [[day, 1.0] for day in days]
    for table in (frame, frame.astype(object), cells, np.array(cells, dtype=object)):
        for model in (ScreenedSVC(), ScreenedLinearSVC(), ScreenedRTLM(), PragamSVC()):
            with pytest.raises(ValueError, match="X must hold numbers, but has dates or durations"):
                model.fit(table, Y)

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
        with pytest.raises(ValueError, match="has masked entries, the first at"):
            read()


def test_weights_and_answers_of_objects():
    triplets = np.array([[0, 1, 2], [3, 4, 5], [1, 0, 6]])
    expected = ScreenedRTLM().fit(X, triplets=triplets, comparison_weight=[1.0, 2.0, 3.0])
    mixed = np.array([1, 2.0, np.float32(3.0)], dtype=object)
    model = ScreenedRTLM().fit(X, triplets=triplets, comparison_weight=mixed)
    np.testing.assert_array_equal(model.components_, expected.components_)
    with pytest.raises(ValueError, match=r"convert them, np.asarray\(weights, dtype=float\)"):
        ScreenedRTLM().fit(X, triplets=triplets, comparison_weight=["1", "2", "3"])


@pytest.mark.parametrize(
    "labels, call",
    [
        (["same", "other"], r"np.where\(np.asarray\(y\) == 'same', 1, -1\) if 'same' means 1"),
        (["1", "-1"], r"np.asarray\(y, dtype=int\)"),
        ([1, 2], r"np.where\(np.asarray\(y\) == 1, 1, -1\)"),
        ([True, False], r"np.where\(y, 1, -1\)"),
        ([1.0, np.nan], "nan at position 1: leave tuples without a label out"),
        ([1, None], "None at position 1: leave tuples without a label out"),
        ([1, 0, 2], r"\[1, 0, 2\]"),
    ],
)
def test_other_labels_of_pairs(labels, call):
    pairs = np.array([[0, 1], [2, 3], [4, 5]])[: len(labels)]
    with pytest.raises(ValueError, match="y must be 1 or -1 for each of the pairs, got .*" + call):
        RTLMPairsClassifier(preprocessor=X).fit(pairs, labels)


def test_linear_terms_by_the_names_of_features():
    data = load_iris(as_frame=True)
    term = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5
    names = list(data.data.columns)
    expected = ScreenedRTLM(linear_term=term).fit(data.data, data.target).components_
    frame = pd.DataFrame(term, index=names, columns=names)
    turned = names[::-1]
    for given in (frame, frame.loc[turned], frame.loc[turned, turned], pd.DataFrame(term)):
        model = ScreenedRTLM(linear_term=given).fit(data.data, data.target)
        np.testing.assert_array_equal(model.components_, expected)
    weights = pd.Series([1.0, 2.0, 3.0, 4.0], index=names)
    expected = ScreenedRTLM(linear_term=weights.to_numpy(), diagonal=True)
    model = ScreenedRTLM(linear_term=weights[turned], diagonal=True)
    for one in (expected, model):
        one.fit(data.data, data.target)
    np.testing.assert_array_equal(model.components_, expected.components_)
    with pytest.raises(ValueError, match=r"linear_term must have one .* no entry for 'petal w"):
        ScreenedRTLM(linear_term=weights[:3], diagonal=True).fit(data.data, data.target)
    with pytest.raises(ValueError, match="linear_term has masked entries"):
        ScreenedRTLM(linear_term=np.ma.masked_equal(term, 0.5)).fit(data.data, data.target)


@pytest.mark.parametrize("change", [lambda name: name[:-4], lambda name: f"img/{name}", str.upper])
def test_entries_by_names_that_are_nearly_those_of_the_objects(change):
    names = [f"i{k}.png" for k in range(5)]
    points = pd.DataFrame(np.arange(10.0).reshape(5, 2), index=names)
    others = pd.DataFrame(points.to_numpy()[::-1], index=[change(name) for name in names])
    with pytest.raises(ValueError, match=r"Y must have the objects by their names, as 'i0\.png'"):
        procrustes_distance(points, others)
    apart = others.set_axis(list("abcde"))
    assert procrustes_distance(points, apart) == procrustes_distance(points, apart.to_numpy())


def test_rows_of_samples_are_counted_whatever_their_index():
    with pytest.raises(ValueError, match=r"from 0 to 39, got 0 to 40. Rows of X are .*get_indexer"):
        ScreenedRTLM().fit(X, triplets=[[0, 1, 40]])


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
    # As in scikit-learn, others are floats.
    small = pd.Series(data.target, dtype="Int64")
    assert ScreenedSVC().fit(data.data, small).classes_.dtype == np.float64


@pytest.mark.slow
def test_rows_of_indices_in_series_and_iterators():
    rows = [(0, 1, 20), (1, 2, 30), (3, 4, 39)]
    expected = ScreenedRTLM().fit(X, triplets=rows).components_
    learner = RTLMTripletsClassifier(preprocessor=X).fit(rows)
    for given in (pd.Series(rows), pl.Series([list(row) for row in rows])):
        model = ScreenedRTLM().fit(X, triplets=given)
        np.testing.assert_array_equal(model.components_, expected)
        again = RTLMTripletsClassifier(preprocessor=X).fit(given)
        np.testing.assert_array_equal(again.components_, learner.components_)
        np.testing.assert_array_equal(learner.predict(given), learner.predict(rows))
    model = ScreenedRTLM().fit(X, triplets=iter(rows))
    np.testing.assert_array_equal(model.components_, expected)


@pytest.mark.parametrize("value, what", [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_numbers_that_are_not_finite_are_placed(value, what):
    X = np.ones((5, 3))
    X[3, 1] = value
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for given, column in (
        (X, "1"), (X.astype(np.float32), "1"), (X.tolist(), "1"), (sparse.csr_array(X), "1"),
        (sparse.csc_matrix(X), "1"), (sparse.lil_matrix(X), "1"), (frame, "'b'"),
        (pl.from_pandas(frame), "'b'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"Input X contains {what} in row 3, column {column}:"):
            sound(given)
    with pytest.raises(ValueError, match=f"Input y contains {what} in row 3: leave such rows out"):
        refuse_not_finite(X[:, 1], "y")
    with pytest.raises(ValueError, match=rf"Input T contains {what} in row 0, at \[3, 1\]"):
        refuse_not_finite(X[None], "T")


def test_what_is_missing_among_objects_is_placed():
    frame = pd.DataFrame({"a": pd.array([1, 2, None], dtype="Int64"), "b": np.ones(3)})
    with pytest.raises(ValueError, match="Input X contains NaN in row 2, column 'a': leave"):
        sound(frame)
    with pytest.raises(ValueError, match="Input X contains NaN in row 1, column 0: leave"):
        sound([[1.0, 2.0], [None, 3.0]])
    with pytest.raises(ValueError, match="Input X contains NaN in row 1, column 7: leave"):
        sound(pd.DataFrame({3: [0.0, 1.0], 7: [0.0, np.nan]}))
    with pytest.raises(ValueError, match="Input X contains infinity in row 1, column 1: leave"):
        sound([["1", "2"], ["3", "-inf"]])
    with pytest.raises(ValueError, match="Input sample_weight contains NaN in row 1: leave"):
        sample_weights([1.0, None], [[1.0], [2.0]])


def test_strings_that_are_no_numbers_are_placed():
    frame = pd.DataFrame({"age": [31.0, 40.0, 25.0], "sex": ["1", "0", "f"]})
    message = r"could not convert string to float: 'f' in row 2, column {} of X: leave .*encode"
    for given, column in (
        (frame, "'sex'"), (frame.astype({"sex": "category"}), "'sex'"), (frame.to_numpy(), "1"),
        (pl.from_pandas(frame), "'sex'"), (frame.to_numpy().astype(str), "1"),
        (frame.to_numpy().tolist(), "1"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message.format(column)):
            sound(given)
    sound(frame[:2])
    with pytest.raises(ValueError, match="could not convert string to float: 'f' in row 2 of y"):
        refuse_not_finite(frame["sex"], "y")


def test_large_numbers_are_finite():
    """Their sum overflows."""
    X = np.full((3, 2), 1e308)
    assert sound(X) is X
    assert sound(X, numbers=False) is X


@pytest.mark.parametrize("model", [ScreenedSVC(), ScreenedLinearSVC(), PragamSVC()], ids=str)
def test_missing_labels_and_lazy_frames_are_named(model):
    X, y = load_iris(return_X_y=True)
    labels = pd.Series(y, dtype="Int64")
    labels[7] = pd.NA
    floats = labels.to_numpy(dtype=float, na_value=np.nan)
    for given in (labels, floats, pl.Series([None if k == 7 else c for k, c in enumerate(y)])):
        with pytest.raises(ValueError, match="Input y contains NaN in row 7: leave such rows out"):
            model.fit(X, given)
    with pytest.raises(TypeError, match=r"pass X.collect\(\)"):
        model.fit(pl.DataFrame(X).lazy(), y)
