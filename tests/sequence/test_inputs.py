"""What sequences may be: frames with names, iterators, empty ones; labels of one kind."""

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
        with pytest.raises(ValueError, match=order):
            labeller.predict(swapped)
        # From one sentence to the next.
        with pytest.raises(ValueError, match=r"^X\b"):
            labeller.score([*given[:2], *swapped[2:]], Y)
        with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- c\n.*missing:\n- b\n"):
            labeller.predict(frames(frame, ("a", "c")))
        with pytest.raises(ValueError, match=r"^X\b"):
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
    # Columns are chosen by their names.
    given = [part[["word", "b", "a"]] for part in given]
    for found, labels in zip(model.predict(given), model.predict(given), strict=True):
        assert_array_equal(found, labels)


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
    again = clone(model).fit(given, labels)
    assert_allclose(again.objective_, fitted.objective_, rtol=2e-3)
    with pytest.raises(ValueError, match=r"^X\b"):
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


def test_rows_of_a_matrix_are_items():
    lists = [[[word, "bias"] for word in sentence] for sentence in WORDS]
    rows, wanted = (
        SequenceTransformer(DictVectorizer()).fit_transform(part)
        for part in ([np.array(sentence) for sentence in lists], lists)
    )
    for a, b in zip(rows, wanted, strict=True):
        assert_array_equal(a.toarray(), b.toarray())


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
    with pytest.raises(ValueError, match=rf"^y\b.*\b{len(given)}\b"):
        SequenceTransformer(clone(transformer)).fit(given, TAGS[:2])
    shorter = [*TAGS[:1], TAGS[1][:-1], *TAGS[2:]]
    with pytest.raises(ValueError, match=r"^y\[1\] must have"):
        SequenceTransformer(clone(transformer)).fit(given, shorter)


def test_predictions_are_joined_by_scikit_learn():
    found = cross_val_predict(ChainCRF(), X, Y, cv=2)
    assert [*map(len, found)] == LENGTHS and isinstance(ChainCRF().fit(X, Y).predict(X), list)


def test_sparse_and_dense_sequences_are_stacked():
    mixed = [sparse.csr_array(part) if c % 2 else part for c, part in enumerate(X)]
    scaler = StandardScaler(with_mean=False)
    wanted = SequenceTransformer(scaler).fit_transform(X)
    for given in (mixed, [sparse.csr_array(part) for part in X]):
        for part, right in zip(
            SequenceTransformer(scaler).fit_transform(given), wanted, strict=True
        ):
            assert_allclose(part.toarray(), right)


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
    with pytest.raises(ValueError, match=rf"^transformer\b.*\b{sum(LENGTHS)}\b"):
        shorter.fit_transform(X)
    fitted = shorter.fit([X[0][:2]])
    with pytest.raises(ValueError, match=rf"^transformer\b.*\b{sum(LENGTHS)}\b"):
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
        with pytest.raises(ValueError, match=r"^columns\b"):
            model.predict([table[["n"]] for table in tables])
        with pytest.raises(ValueError, match=r"^X\b"):
            model.predict([tables[0], *fewer[1:]])


def test_keys_and_zeros_of_class_weights_are_named():
    labels = sorted({label for part in Y for label in part})
    with pytest.raises(ValueError, match=r"^class_weight\b"):
        ChainCRF(class_weight={labels[0]: 2.0, "other": 3.0}).fit(X, Y)
    with pytest.raises(ValueError, match=r"^class_weight\b"):
        MaxMarginChain(class_weight=dict.fromkeys(labels, 0.0)).fit(X, Y)


@pytest.mark.parametrize(
    "item",
    [
        "the", 3, None, ["w", 1], {"f": None}, {"f": 1j}, {"f": [1.5, 2.0]}, {"f": [None, "a"]},
        {"f": {"g": None}}, {"x": 10**400}, {"x": {"y": 10**400}}, {"f": b"\xff"},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_item_is_refused(item):
    transformer = SequenceTransformer(DictVectorizer()).fit([[{"x": 1.0, "f": 1.0, "x=y": 1.0}]])
    for call in (transformer.transform, clone(transformer).fit):
        with pytest.raises(ValueError, match=r"^X must hold"):
            call([[{"x": 1}], [{"x": 1}, {"x": 2}, item]])


def random_item(rng):
    names = np.array(["w", "n", "w=a", "l", "d", "b=1", "e", "", "w=", 1], dtype=object)
    values = ["a", "b", "", 2, -1.5, True, np.float32(0.5), np.nan, ["a", "a", "b"], {"x": "a"},
              {"x": {"y": 2.0}}, b"a", ("a",), np.array(3.0), Tag.PER]  # fmt: skip
    if rng.random() < 0.1:
        return [str(name) for name in rng.choice(names, 3)]
    chosen = rng.choice(names, rng.integers(0, 7), replace=False)
    return {name: values[rng.integers(len(values))] for name in chosen}


@pytest.mark.parametrize("separator", ["=", ":"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_items_are_those_of_a_vectorizer(separator, dtype):
    rng = np.random.default_rng(0)
    vectorizer = DictVectorizer(separator=separator, dtype=dtype)
    known, new = ([[random_item(rng) for _ in range(5)] for _ in range(60)] for _ in range(2))
    transformer = SequenceTransformer(vectorizer).fit(known)
    wanted = SequenceTransformer(clone(vectorizer).set_params(sparse=False)).fit(known)
    for given in (known, new, new[:1]):
        for row, right in zip(transformer.transform(given), wanted.transform(given), strict=True):
            assert row.dtype == dtype
            assert_array_equal(row.toarray(), right)


@every
def test_labels_of_mixed_kinds_are_refused(model):
    numbers = [np.searchsorted(["x", "y", "z"], labels) for labels in Y]
    fitted, coded = clone(model).fit(X, Y), clone(model).fit(X, numbers)
    for labeller, other in ((fitted, numbers), (coded, Y)):
        with pytest.raises(ValueError, match="Mix of label input types"):
            labeller.score(X, other)
        with pytest.raises(ValueError, match="Mix of label input types"):
            sequence_accuracy(labeller.predict(X), other)
    for wrong in (
        [*Y[:3], *numbers[3:]], [*numbers[:3], *Y[3:]], [["x", 1, "y"], *Y[1:]],
        [[None, "x", "y"], *Y[1:]], [np.char.encode(labels) for labels in Y],
        [pd.array([1, None, 2], "Int64"), *numbers[1:]],
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=r"\by\b|labels represented as bytes"):
            clone(model).fit(X, wrong)
    objects = [pd.Series(labels) for labels in Y]
    assert clone(model).fit(X, objects).score(X, objects) == fitted.score(X, Y)
    # Whole numbers are labels as booleans and floats are.
    coded.score(X, [labels.astype(float) for labels in numbers])


def test_wrong_labels_of_a_probability_are_named():
    model = ChainCRF(max_iter=5, tol=1.0).fit(X, Y)
    for y in (
        None, [None, *Y[1:]], [{"a": 1}, *Y[1:]], [np.asarray(Y[0])[:, None], *Y[1:]],
        [["?", None, None], *Y[1:]], Y[1:],
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"^y"):
            model.labelling_probability(X, y)
    found = model.labelling_probability(X, map(iter, Y))
    assert_array_equal(found, model.labelling_probability(X, Y))


def test_what_a_transformer_cannot_read():
    model = make_pipeline(SequenceTransformer(DictVectorizer()), ChainCRF())
    dicts = [[{"w": word} for word in sentence] for sentence in WORDS]
    with pytest.raises(ValueError, match=r"^y must"):
        model.fit(dicts, map(list, TAGS))
    for wrong in (["the cat"], [3, 4], "the cat", 3, [{"w": "the"}]):
        with pytest.raises(ValueError, match=r"^X must"):
            SequenceTransformer(DictVectorizer()).fit(wrong)


@libraries
def test_frames_and_arrays_are_not_mixed(frame):
    for given in ([*frames(frame)[:2], *X[2:]], [X[0], *frames(frame)[1:]]):
        with pytest.raises(ValueError, match=r"^X\b"):
            ChainCRF().fit(given, Y)


def test_labels_may_be_arrays_of_arrow():
    given = [pl.Series(labels.tolist()).to_arrow() for labels in Y]
    assert sequence_accuracy(Y, given) == 1.0
