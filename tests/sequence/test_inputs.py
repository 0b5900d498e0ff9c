"""What sequences may be: frames with names, iterators, empty ones; labels of one kind."""

import re
import warnings
from enum import Enum

import numpy as np
import pandas as pd
import polars as pl
import pytest
from chain_cases import LENGTHS, X, Y
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, TargetEncoder

from skscreen import ChainCRF, KernelChainClassifier, MaxMarginChain, SequenceTransformer
from skscreen.metrics import sequence_accuracy, span_f1

RNG = np.random.default_rng(0)
MODELS = [ChainCRF(), MaxMarginChain(random_state=0), KernelChainClassifier()]
every = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
libraries = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])


def frames(frame, names=("a", "b"), parts=X):
    return [frame({name: part[:, k] for k, name in enumerate(names)}) for part in parts]


@pytest.mark.slow
@every
@libraries
def test_columns_in_another_order_are_refused_everywhere(model, frame):
    given = frames(frame)
    swapped = [part[["b", "a"]] for part in given]
    fitted = clone(model).fit(given, Y)
    assert_array_equal(fitted.feature_names_in_, ["a", "b"])
    assert fitted.score(given, Y) == clone(model).fit(X, Y).score(X, Y)
    piped = make_pipeline(SequenceTransformer(StandardScaler()), clone(model)).fit(given, Y)
    order = "Feature names must be in the same order as they were in fit"
    for labeller in (fitted, piped):
        with pytest.raises(ValueError, match=rf"(?s){order}.*X\[0\]"):
            labeller.predict(swapped)
        # From one sentence to the next.
        with pytest.raises(ValueError, match=rf"(?s){order}.*X\[2\]"):
            labeller.score([*given[:2], *swapped[2:]], Y)
        with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- c\n.*missing:\n- b\n"):
            labeller.predict(frames(frame, ("a", "c")))
        with pytest.raises(ValueError, match=rf"(?s){order}.*X\[4\]"):
            clone(labeller).fit([*given[:4], swapped[4], given[5]], Y)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but"):
        fitted.predict(X)
    assert not hasattr(clone(model).fit(given, Y).fit(X, Y), "feature_names_in_")


@libraries
def test_columns_by_name_in_a_transformer(frame):
    given = [part.assign(word="w") if frame is pd.DataFrame else part.with_columns(
        pl.lit("w").alias("word")) for part in frames(frame)]  # fmt: skip
    columns = make_column_transformer((StandardScaler(), ["b"]), (OneHotEncoder(), ["word"]))
    rows = SequenceTransformer(columns).fit_transform(given)
    wanted = StandardScaler().fit_transform(np.concatenate(X)[:, 1:])
    assert_allclose(np.concatenate([np.asarray(part)[:, :1] for part in rows]), wanted)
    model = make_pipeline(SequenceTransformer(columns), ChainCRF()).fit(given, Y)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict([part[["word", "b", "a"]] for part in given])


@every
def test_labels_of_mixed_kinds_are_refused(model):
    numbers = [np.searchsorted(["x", "y", "z"], labels) for labels in Y]
    mixture = r"Mix of label input types \((string|number|bytes) and (string|number|bytes)\)"
    fitted, coded = clone(model).fit(X, Y), clone(model).fit(X, numbers)
    byte_labels = [np.char.encode(labels) for labels in Y]
    for labeller, other in ((fitted, numbers), (coded, Y), (fitted, byte_labels)):
        with pytest.raises(ValueError, match=mixture):
            labeller.score(X, other)
        with pytest.raises(ValueError, match=mixture):
            sequence_accuracy(labeller.predict(X), other)
    for parts in ([*Y[:3], *numbers[3:]], [*Y[:3], *byte_labels[3:]]):
        with pytest.raises(ValueError, match=mixture + r": y\[3\] holds .*y\[0\]"):
            clone(model).fit(X, parts)
    with pytest.raises(ValueError, match=r"y\[2\] holds 'x' and 1 \(position 1\)"):
        clone(model).fit(X, [*Y[:2], ["x", 1, "y", "z"], *Y[3:]])
    with pytest.raises(ValueError, match=r"y\[0\] must hold strings or numbers, got None"):
        clone(model).fit(X, [[None, "x", "y"], *Y[1:]])
    with pytest.raises(TypeError, match="Support for labels represented as bytes"):
        clone(model).fit(X, byte_labels)
    objects = [pd.Series(labels) for labels in Y]
    assert clone(model).fit(X, objects).score(X, objects) == fitted.score(X, Y)
    # Whole numbers are labels as booleans and floats are.
    coded.score(X, [labels.astype(float) for labels in numbers])


@every
@pytest.mark.parametrize("nothing", [[], np.empty((0, 2)), sparse.csr_array((0, 2)), np.empty(0)])
def test_empty_sequences(model, nothing):
    fitted = clone(model).fit(X, Y)
    given, labels = [nothing, *X[:2], nothing, *X[2:], nothing], [[], *Y[:2], [], *Y[2:], []]
    found = fitted.predict(given)
    assert [*map(len, found)] == [0, *LENGTHS[:2], 0, *LENGTHS[2:], 0]
    for part, whole in zip([f for f in found if len(f)], fitted.predict(X), strict=True):
        assert_array_equal(part, whole)
    assert fitted.score(given, labels) == fitted.score(X, Y)
    assert [*map(len, fitted.predict([nothing]))] == [0] and len(fitted.predict([])) == 0
    assert np.isnan(fitted.score([nothing], [[]]))
    if hasattr(fitted, "predict_marginals"):
        assert [part.shape for part in fitted.predict_marginals([nothing, X[0]])] == [
            (0, 3), (LENGTHS[0], 3)
        ]  # fmt: skip
        assert fitted.labelling_probability([nothing], [[]])[0] == 1.0
    with pytest.warns(UserWarning, match=r"skipped: X\[0\], X\[3\], X\[8\]"):
        again = clone(model).fit(given, labels)
    assert_allclose(again.objective_, fitted.objective_, rtol=2e-3)
    with pytest.raises(ValueError, match="at least one sequence that is not empty"):
        clone(model).fit([nothing], [[]])


def test_ends_of_empty_sequences_are_no_ends():
    model = ChainCRF(fit_start_end=True).fit(X, Y)
    found = model.predict_marginals([[], X[0], [], X[2], []])
    assert_allclose(found[1], model.predict_marginals(X)[0])
    assert_allclose(found[3], model.predict_marginals(X)[2])


WORDS = [["the", "cat", "ran"], ["a", "dog", "sat"], ["the", "dog", "ran"]]
TAGS = [["D", "N", "V"]] * 3


def test_iterators_are_read_once():
    dicts = [[{"w": word} for word in sentence] for sentence in WORDS]
    wanted = make_pipeline(SequenceTransformer(DictVectorizer()), ChainCRF()).fit(dicts, TAGS)
    for given in (
        lambda: (sentence for sentence in dicts),
        lambda: map(list, dicts),
        lambda: [iter(sentence) for sentence in dicts],
        lambda: ((item for item in sentence) for sentence in dicts),
    ):
        model = clone(wanted).fit(given(), TAGS)
        assert_array_equal(model[-1].coef_, wanted[-1].coef_)
        assert model.score(given(), TAGS) == 1.0
    assert (
        len(ChainCRF().fit((np.eye(3) for _ in WORDS), TAGS).predict(np.eye(3) for _ in "ab")) == 2
    )


@pytest.mark.parametrize("vectorizer", [DictVectorizer(), FeatureHasher(2**10)])
def test_items_that_crfsuite_takes(vectorizer):
    lists = [[[f"w={word}", "bias"] for word in sentence] for sentence in WORDS]
    dicts = [[dict.fromkeys(item, 1.0) for item in sentence] for sentence in lists]
    rows, wanted = (SequenceTransformer(vectorizer).fit_transform(part) for part in (lists, dicts))
    for a, b in zip(rows, wanted, strict=True):
        assert_array_equal(a.toarray(), b.toarray())


Tag = Enum("Tag", {"PER": "B-PER", "MORE": "I-PER", "NONE": "O"}, type=str)


def test_members_of_an_enum_are_their_values():
    tags = [[Tag.PER, Tag.MORE, Tag.NONE]] * 3
    values = [["B-PER", "I-PER", "O"]] * 3
    for given in (tags, [np.array(part, dtype=object) for part in tags]):
        model = ChainCRF(C=10.0).fit([np.eye(3)] * 3, given)
        assert model.classes_.tolist() == values[0]
        assert model.score([np.eye(3)] * 3, values) == 1.0
        assert span_f1(given, values) == sequence_accuracy(given, values) == 1.0


def test_values_of_features():
    values = {
        "n": np.float32(2.0), "t": np.True_, "b": b"q", "s": {"a"}, "d": {"a": {"b": 2, "c": "z"}},
        "nan": np.nan, "f": False, "l": ["a", b"b"], "e": Tag.PER, "0": np.array(3.0), 1: "q",
    }  # fmt: skip
    transformer = SequenceTransformer(DictVectorizer()).fit([[values]])
    found = dict(zip(transformer.get_feature_names_out(),
                     transformer.transform([[values]])[0].toarray()[0], strict=True))  # fmt: skip
    assert found == {"n": 2.0, "t": 1.0, "b=q": 1.0, "s=a": 1.0, "d=a=b": 2.0, "d=a=c=z": 1.0,
                     "f": 0.0, "l=a": 1.0, "l=b": 1.0, "e=B-PER": 1.0, "0": 3.0,
                     "1=q": 1.0}  # fmt: skip


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("the", r"X\[1\]\[2\] must be a dict of features or a list of strings, got 'the'"),
        (["w", 1], r"X\[1\]\[2\] must be .* got 1 in the list"),
        ({"f": None}, r"X\[1\]\[2\]\['f'\] must be a number, a string, .* got None"),
        ({"f": [1.5, 2.0]}, r"X\[1\]\[2\]\['f'\] .* got 1.5 in a list: give each number a name"),
    ],
)
def test_wrong_items_are_named(item, message):
    with pytest.raises(ValueError, match=message):
        SequenceTransformer(DictVectorizer()).fit([[{"a": 1}], [{"a": 1}, {"a": 2}, item]])


def test_rows_of_a_matrix_are_items():
    lists = [[[word, "bias"] for word in sentence] for sentence in WORDS]
    rows, wanted = (
        SequenceTransformer(DictVectorizer()).fit_transform(part)
        for part in ([np.array(sentence) for sentence in lists], lists)
    )
    for a, b in zip(rows, wanted, strict=True):
        assert_array_equal(a.toarray(), b.toarray())


GROUPS = pd.DataFrame({"a": 1.0, "s": np.repeat(range(6), LENGTHS), "y": np.concatenate(Y)})


@pytest.mark.parametrize(
    ("given", "labels", "message"),
    [
        (GROUPS.groupby("s"), Y, r"X\[0\] is a pair .* pass \[group for _, group in X\]"),
        (X, GROUPS.groupby("s")["y"], r"y\[0\] is a pair .* pass \[group for _, group in y\]"),
        ([*X[:5], np.ma.array(X[5], mask=True)], Y, r"X\[5\] has masked entries"),
        (X, [*Y[:5], np.ma.array(Y[5], mask=True)], r"y\[5\] has masked entries"),
        (X, [np.eye(3)[: len(part)] for part in Y], r"y\[0\] must have shape \(length,\)"),
        (X, [*Y[:1], np.full(LENGTHS[1], np.nan)], r"y\[1\] must hold a label .* position 0"),
        ([part.astype(str) + "?" for part in X], Y, r"X\[0\] must be a matrix of numbers"),
        (np.array([[{"w": 1}]] * 6, dtype=object), Y, r"X\[0\] holds dicts of features"),
    ],
)
def test_what_would_be_read_as_something_else(given, labels, message):
    with pytest.raises(ValueError, match=message):
        ChainCRF().fit(given, labels)


def test_what_a_transformer_cannot_read():
    frames_of_words = [pd.DataFrame({"w": sentence}) for sentence in WORDS]
    model = make_pipeline(SequenceTransformer(DictVectorizer()), ChainCRF())
    with pytest.raises(ValueError, match=r"X\[0\] must be a list of dicts .* to_dict"):
        model.fit(frames_of_words, TAGS)
    dicts = [frame.to_dict("records") for frame in frames_of_words]
    with pytest.raises(ValueError, match=r"y must be a list, .* got map: pass list\(y\)"):
        model.fit(dicts, map(list, TAGS))


@pytest.mark.parametrize("weights", [2.0, [[1.0], [1.0, 2.0]], ["a"] * 6, iter([1.0])])
def test_weights_that_are_no_numbers_of_sequences(weights):
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(6,\)"):
        ChainCRF().fit(X, Y, sample_weight=weights)


def test_masked_weights_and_durations():
    masked = np.ma.masked_equal(np.arange(1.0, 7.0), 2.0)
    with pytest.raises(ValueError, match=r"sample_weight has masked entries, the first at \[1\]"):
        ChainCRF().fit(X, Y, sample_weight=masked)
    with pytest.raises(ValueError, match="sample_weight must hold numbers, but has dates"):
        ChainCRF().fit(X, Y, sample_weight=np.arange(1, 7).astype("m8[s]"))


def test_numbers_that_are_none_are_placed():
    bad = [part.copy() for part in X]
    bad[2][3, 1] = np.nan
    with pytest.raises(ValueError, match=r"Input X\[2\] contains NaN in row 3, column 1: leave"):
        ChainCRF().fit(bad, Y)


@pytest.mark.parametrize(
    "last", [SelectKBest(chi2, k=4), LinearDiscriminantAnalysis(), None], ids=["chi2", "LDA", "TE"]
)
def test_transformers_learn_from_the_labels(last):
    if last is None:
        given = [np.array(sentence)[:, None] for sentence in WORDS]
        transformer, flat = TargetEncoder(cv=2, random_state=0), np.concatenate(given)
    else:
        given = [[{"w": word, "l": len(word)} for word in sentence] for sentence in WORDS]
        transformer = make_pipeline(DictVectorizer(sparse=False), last)
        flat = [item for sentence in given for item in sentence]
    rows = SequenceTransformer(clone(transformer)).fit_transform(given, TAGS)
    wanted = clone(transformer).fit_transform(flat, np.concatenate(TAGS))
    assert_allclose(np.concatenate(rows), wanted)
    with pytest.raises(ValueError, match=f"y must hold {len(given)} sequences, as X does, got 2"):
        SequenceTransformer(clone(transformer)).fit(given, TAGS[:2])
    shorter = [*TAGS[:1], TAGS[1][:-1], *TAGS[2:]]
    with pytest.raises(ValueError, match=r"y\[1\] must have .* labels, one for each row of X\[1\]"):
        SequenceTransformer(clone(transformer)).fit(given, shorter)


def test_predictions_are_joined_by_scikit_learn():
    found = cross_val_predict(ChainCRF(), X, Y, cv=2)
    assert [*map(len, found)] == LENGTHS and isinstance(ChainCRF().fit(X, Y).predict(X), list)


def test_numbers_that_are_too_large_are_placed():
    model = make_pipeline(SequenceTransformer(DictVectorizer()), ChainCRF())
    for item in ({"x": 10**400}, {"x": {"y": 10**400}}):
        with pytest.raises(ValueError, match=r"X\[1\]\[2\]\['x.*double precision"):
            model.fit([[{"x": 1}] * 3, [{"x": 1}, {"x": 1}, item]], [TAGS[0]] * 2)


def test_sparse_and_dense_sequences_are_stacked():
    mixed = [sparse.csr_array(part) if c % 2 else part for c, part in enumerate(X)]
    scaler = StandardScaler(with_mean=False)
    wanted = SequenceTransformer(scaler).fit_transform(X)
    for given in (mixed, [sparse.csr_array(part) for part in X]):
        for part, right in zip(
            SequenceTransformer(scaler).fit_transform(given), wanted, strict=True
        ):
            assert_allclose(part.toarray(), right)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (pd.DataFrame({"a": [1.0, 2.0], "id": [0, 0]}), ["a", "b"], "for _, group in X.groupby"),
        ([[sparse.csr_array([[1.0]])] * 2], [["a", "b"]], r"pass scipy.sparse.vstack\(X\[0\]\)"),
        (["the cat"], [["a", "b"]], "X.0. is a string, 'the cat': pass its words"),
        ([[1.0, 2.0]], [["a", "b"]], r"Put a single sequence into a list: \[X\]"),
        ([[[1.0], [2.0]]], ["a b"], r"Pass y\[0\].split\(\)"),
    ],
)
def test_sequences_in_other_forms_are_named_with_the_call(X, y, message):
    with pytest.raises(ValueError, match=message):
        ChainCRF().fit(X, y)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (["the cat"], "Of sentences pass .*text.split"),
        ([["the", "cat"]], "Of a word pass {'word': 'the'}"),
    ],
)
def test_words_are_named_with_what_to_make_of_them(X, message):
    with pytest.raises(ValueError, match=message):
        SequenceTransformer(DictVectorizer()).fit(X)


class ArrowLists:
    """Sequences as arrays of Arrow, which need a package of their own, have them."""

    def __init__(self, lists):
        self.lists = lists

    def to_pylist(self):
        return self.lists


def test_lists_of_arrow_are_read():
    rows = [pd.Series(part.tolist()) for part in X]
    assert_array_equal(ChainCRF().fit(rows, Y).coef_, ChainCRF().fit(X, Y).coef_)
    given = [ArrowLists([part.tolist() for part in parts]) for parts in (X, Y)]
    assert_array_equal(ChainCRF().fit(*given).coef_, ChainCRF().fit(X, Y).coef_)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (dict(enumerate(X)), Y, r"pass list\(X\.values\(\)\)"),
        (X, dict(enumerate(Y)), r"pass list\(y\.values\(\)\)"),
        (np.concatenate(X), Y, r"pass numpy\.split\(X, numpy\.cumsum\(lengths\)\[:-1\]\)"),
        ([np.zeros((2, 1), "M8[s]")], [[0, 1]], r"X\[0\] .* has dates or durations"),
        ([[[0.0]] * 2], [[0.5, 1.5]], "y must hold labels, no other numbers. Unknown label type"),
        (
            [[[0.0]] * 2],
            [pd.array([1, None], "Int64")],
            "label for each row, got nan at position 1",
        ),
        (
            [[[0.0]] * 2] * 2,
            [np.array([1, 2], np.uint64), np.array([3, 2**60 + 1])],
            f"become floats, and {2**60 + 1} is too long for them",
        ),
    ],
)
def test_what_is_no_list_or_no_label_is_named(X, y, message):
    with pytest.raises(ValueError, match=message):
        ChainCRF().fit(X, y)


def warned_by_a_fit(X, y):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        ChainCRF(max_iter=1, tol=10.0).fit(X, y)
    return " ".join(str(one.message) for one in warned)


@pytest.mark.parametrize("label", [-1, 0])
@pytest.mark.parametrize("form", ["zeros", "before", "scaled", "sparse", "one feature"])
def test_padding_is_told(label, form):
    lengths = RNG.integers(2, 6, size=12)
    y = [np.where(np.arange(6) < length, RNG.integers(3, size=6), label) for length in lengths]
    given = [RNG.normal(size=(6, 2)) * (np.arange(6) < length)[:, None] for length in lengths]
    where = rf"end .* X\[0\] from row {lengths[0]} on"
    if form == "before":
        given, y = ([part[::-1] for part in parts] for parts in (given, y))
        where = rf"begin with .* X\[0\] before row {6 - lengths[0]}"
    elif form == "scaled":
        given = [(part - 1.5) / 3.0 for part in given]
    elif form == "sparse":
        given = [sparse.csr_array(part) for part in given]
    elif form == "one feature":
        given = [np.where(part[:, :1] == 0.0, -10.0, part[:, :1]) for part in given]
    assert re.search(
        rf"12 of 12 sequences {where}, all with the label {label}:", warned_by_a_fit(given, y)
    )
    if form != "zeros":
        return
    short = [[part[:length] for part, length in zip(parts, lengths, strict=True)]
             for parts in (given, y)]  # fmt: skip
    assert not warned_by_a_fit(*short)
    # Rows of zeros elsewhere are data, and so is a last word.
    given[3][0], y[3][0] = 0.0, label
    assert not warned_by_a_fit(given, y)
    ends = [np.vstack([RNG.normal(size=(5, 2)), [1.0, 2.0]]) for _ in range(12)]
    assert not warned_by_a_fit(ends, [[0, 1, 0, 1, 0, 2]] * 12)


def test_labels_that_mark_no_label_are_refused():
    y = [[0, 1, -100], [1, 0, -100]]
    with pytest.raises(ValueError, match=r"the label -100, .* leave these out"):
        ChainCRF().fit(RNG.normal(size=(2, 3, 2)), y)
    ChainCRF().fit(RNG.normal(size=(2, 3, 2)), np.asarray(y).astype(str))


@pytest.mark.parametrize("kind", [ChainCRF, MaxMarginChain])
@pytest.mark.parametrize("entry", [1e16, 1e37])
def test_a_huge_entry_decides_its_own_position_only(kind, entry):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(12, 3)) for _ in range(20)]
    model = kind(max_iter=20, tol=0.1).fit(X, [(x[:, 0] > 0).astype(int) for x in X])
    x = rng.normal(size=(10, 3))
    x[4, 2] = 1e5
    known, marginals = model.predict([x])[0], None
    if kind is ChainCRF:
        marginals, some = model.predict_marginals([x])[0], [[None, 1, *[None] * 8]]
        probability = model.labelling_probability([x], some)
    x[4, 2] = entry
    assert_array_equal(model.predict([x])[0], known)
    if kind is ChainCRF:
        assert_allclose(model.predict_marginals([x])[0], marginals, atol=1e-12)
        assert_allclose(model.labelling_probability([x], some), probability, rtol=1e-10)


def test_a_column_that_numbers_the_sequences_is_told():
    groups = pd.DataFrame({"a": RNG.normal(size=60), "sentence": np.repeat(np.arange(20), 3)})
    y = [["u", "v", "u"]] * 20
    parts = [group for _, group in groups.groupby("sentence")]
    assert "Column 1 of X is the number of the sequence" in warned_by_a_fit(parts, y)
    assert not warned_by_a_fit([part[["a"]] for part in parts], y)
    assert not warned_by_a_fit(parts[:1] + parts[:0:-1], y)


def test_labels_that_differ_in_spaces_are_told():
    assert "'u' and 'u ' in y differ in spaces" in warned_by_a_fit(
        [[[0.0]] * 3], [["u", "v", "u "]]
    )


@pytest.mark.parametrize("fit_start_end", [False, True])
@pytest.mark.parametrize("model", MODELS[:2], ids=lambda model: type(model).__name__)
def test_columns_without_entries_change_nothing(model, fit_start_end):
    model = clone(model).set_params(fit_start_end=fit_start_end)
    columns = np.array([40, 3])
    wide = [
        sparse.csr_array((part, (rows, columns[places])), shape=(len(matrix), 100))
        for matrix in X
        for (rows, places), part in [(np.nonzero(matrix), matrix[np.nonzero(matrix)])]
    ]
    few = clone(model).fit([sparse.csr_array(part) for part in X], Y)
    many = clone(model).fit(wide, Y)
    assert many.objective_ == pytest.approx(few.objective_, rel=1e-3)
    assert many.dual_gap_ <= model.tol
    assert_allclose(many.coef_[:, columns], few.coef_, atol=0.05)
    assert not np.delete(many.coef_, columns, axis=1).any()
    assert many.n_features_in_ == 100
    for a, b in zip(many.predict(wide), few.predict(X), strict=True):
        assert_array_equal(a, b)
    nothing = [sparse.csr_array((len(part), 100)) for part in X]
    assert not clone(model).set_params(fit_intercept=False).fit(nothing, Y).coef_.any()


def test_transformers_that_leave_rows_out_are_named():
    shorter = SequenceTransformer(
        FunctionTransformer(lambda rows: rows[:-1] if len(rows) > 4 else rows)
    )
    with pytest.raises(
        ValueError, match=f"transformer must return a row for each of {sum(LENGTHS)}"
    ):
        shorter.fit_transform(X)
    fitted = shorter.fit([X[0][:2]])
    with pytest.raises(
        ValueError, match=f"transformer must return a row for each of {sum(LENGTHS)}"
    ):
        fitted.transform(X)


@libraries
def test_columns_selected_by_name_need_no_others(frame):
    tables = [frame({"word": [f"w{v > 0}" for v in x[:, 0]], "n": x[:, 1], "spare": x[:, 0]})
              for x in X]  # fmt: skip
    columns = make_column_transformer((OneHotEncoder(), ["word"]), (StandardScaler(), ["n"]))
    for steps in (columns, make_pipeline(columns, StandardScaler(with_mean=False))):
        model = make_pipeline(SequenceTransformer(steps), ChainCRF()).fit(tables, Y)
        fewer = [table[["n", "word"]] for table in tables]
        for found, expected in zip(model.predict(fewer), model.predict(tables), strict=True):
            assert_array_equal(found, expected)
        with pytest.raises(ValueError, match=r"columns are missing: \{'word'\}"):
            model.predict([table[["n"]] for table in tables])
        with pytest.raises(ValueError, match=r"These are the columns of X\[1\]"):
            model.predict([tables[0], *fewer[1:]])


def test_features_that_the_fit_did_not_make_are_a_warning():
    words = [[{"word": w} for w in "a b c a".split()], [{"word": w} for w in "b a".split()]]
    tags = [list("xyxx"), list("yx")]
    model = make_pipeline(SequenceTransformer(DictVectorizer()), ChainCRF()).fit(words, tags)
    with pytest.warns(UserWarning, match="X has no feature at any position"):
        model.predict([[{"text": "a"}, {"text": "b"}]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict([[{"text": "a"}, {"word": "b"}]])


def test_wrong_labels_of_a_probability_are_named():
    model = ChainCRF(max_iter=5, tol=1.0).fit(X, Y)
    for y, message in (
        (None, "y must be a list of arrays, got NoneType"),
        ([None, *Y[1:]], r"y\[0\] must be an array of labels, got NoneType"),
        ([{"a": 1}, *Y[1:]], r"y\[0\] must be an array of labels, got dict"),
        ([np.asarray(Y[0])[:, None], *Y[1:]], r"y\[0\] must be one label, or None, .* shape"),
    ):
        with pytest.raises(ValueError, match=message):
            model.labelling_probability(X, y)
    found = model.labelling_probability(X, map(iter, Y))
    assert_array_equal(found, model.labelling_probability(X, Y))


def test_keys_and_zeros_of_class_weights_are_named():
    labels = sorted({label for part in Y for label in part})
    with pytest.raises(ValueError, match=r"class_weight must have labels of y .*'other'"):
        ChainCRF(class_weight={labels[0]: 2.0, "other": 3.0}).fit(X, Y)
    with pytest.raises(ValueError, match="class_weight must not be 0 for all labels"):
        MaxMarginChain(class_weight=dict.fromkeys(labels, 0.0)).fit(X, Y)


def test_none_in_a_list_of_features_hides_no_number():
    for value, wrong in (([None, 0.5], "None"), ([0.5, None], "0.5"), (["a", None], "None")):
        with pytest.raises(ValueError, match=f"got {wrong} in a list"):
            SequenceTransformer(DictVectorizer()).fit([[{"f": value}]])


def test_tagged_words_of_nltk_are_no_strings_of_features():
    words = [[("the", "DT", "B-NP"), ("cat", "NN", "I-NP")], [("it", "PRP", "B-NP")]]
    with pytest.raises(ValueError, match=r"X\[0\] has tuples of 3 strings, .* list\(item\) if"):
        SequenceTransformer(DictVectorizer()).fit(words)
    lists = [[list(item) for item in part] for part in words]
    assert len(SequenceTransformer(DictVectorizer()).fit(lists).get_feature_names_out()) == 8
    named = [[("word=the", "pos=DT")], [("word=it",)]]
    assert len(SequenceTransformer(DictVectorizer()).fit(named).get_feature_names_out()) == 3
