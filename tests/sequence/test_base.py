"""What all sequence labellers promise: inputs, weights, predictions, errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
from chain_cases import LENGTHS, X, Y
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skscreen import ChainCRF, KernelChainClassifier, MaxMarginChain, SequenceTransformer

ALL = [
    MaxMarginChain(tol=1e-7),
    MaxMarginChain(solver="pragam", tol=1e-2),
    ChainCRF(tol=1e-9),
    KernelChainClassifier(tol=1e-9),
]
every = pytest.mark.parametrize("estimator", ALL)


def weights(model):
    known = model.coef_ if hasattr(model, "coef_") else model.dual_coef_
    return np.concatenate([known.ravel(), model.transition_.ravel()])


@every
def test_weights_of_sequences_mean_repetitions(estimator):
    counts = np.array([2, 0, 1, 3, 1, 2])
    index = np.repeat(np.arange(len(X)), counts)
    X_again, Y_again = [X[i] for i in index], [Y[i] for i in index]
    weighted = clone(estimator).fit(X, Y, sample_weight=counts)
    repeated = clone(estimator).fit(X_again, Y_again)
    assert_allclose(weighted.objective_, repeated.objective_, rtol=2.0 * estimator.tol + 1e-9)
    assert_allclose(
        weighted.score(X, Y, sample_weight=counts), weighted.score(X_again, Y_again), rtol=1e-12
    )
    if isinstance(estimator, MaxMarginChain):
        # Labellings may tie at the optimum, but it is strongly convex: lam/2 |w - w*|^2 <= gap.
        gaps = [model.objective_ * estimator.tol * counts.sum() for model in (weighted, repeated)]
        away = np.sqrt(2.0 * np.array(gaps)).sum()
        assert np.linalg.norm(weights(weighted) - weights(repeated)) <= away
        return
    assert_array_equal(np.concatenate(weighted.predict(X)), np.concatenate(repeated.predict(X)))
    if isinstance(estimator, ChainCRF):
        assert_allclose(weights(weighted), weights(repeated), atol=1e-3)


@every
def test_sparse_rows_are_the_same_as_dense_ones(estimator):
    dense = clone(estimator).fit(X, Y)
    for form in (sparse.csr_matrix, sparse.csr_array, sparse.coo_array):
        rows = [form(x) for x in X]
        model = clone(estimator).fit(rows, Y)
        assert_allclose(model.objective_, dense.objective_, rtol=2.0 * estimator.tol + 1e-9)
        assert_array_equal(np.concatenate(model.predict(rows)), np.concatenate(dense.predict(X)))


@pytest.mark.parametrize("transformer", [DictVectorizer(), FeatureHasher(64)])
@pytest.mark.parametrize("estimator", [MaxMarginChain(), ChainCRF()])
def test_lists_of_dicts_through_a_transformer(estimator, transformer):
    words = [["the", "cat", "sat"], ["a", "dog", "sat"], ["the", "dog"], ["cats", "sat"]]
    tags = [["D", "N", "V"], ["D", "N", "V"], ["D", "N"], ["N", "V"]]
    dicts = [[{"word": word, "length": len(word)} for word in part] for part in words]
    model = make_pipeline(SequenceTransformer(transformer), clone(estimator).set_params(C=10.0))
    model.fit(dicts, tags)
    assert model.score(dicts, tags) == 1.0
    assert [part.tolist() for part in model.predict(dicts[:1])] == tags[:1]
    for wrong in (dicts, words):
        with pytest.raises((ValueError, TypeError)):
            clone(estimator).fit(wrong, tags)


@every
def test_searches_and_folds(estimator):
    many, labels = 3 * X, 3 * Y
    search = GridSearchCV(clone(estimator).set_params(tol=1e-2), {"C": [0.1, 1.0]}, cv=2)
    search.fit(many, labels)
    assert search.best_params_["C"] in (0.1, 1.0)
    scores = cross_val_score(clone(estimator).set_params(tol=1e-2), many, labels, cv=3)
    assert scores.shape == (3,) and np.isfinite(scores).all()


@every
def test_predictions(estimator):
    model = clone(estimator).fit(X, [list(labels) for labels in Y])
    found = model.predict(X)
    assert [len(part) for part in found] == LENGTHS
    assert model.score(X, Y) == np.mean(np.concatenate(found) == np.concatenate(Y))
    assert model.score(X, iter(Y)) == model.score(X, Y)
    assert_array_equal(model.classes_, ["x", "y", "z"])
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(np.concatenate(again.predict(X)), np.concatenate(found))
    columns = [labels[:, None] for labels in Y]
    assert clone(estimator).fit(X, columns).score(X, columns) == model.score(X, Y)
    with pytest.raises(ValueError, match=r"^X\b"):
        model.predict([np.zeros((2, 3))])
    with pytest.raises(ValueError, match=r"^y must hold"):
        model.score(X, Y[:-1])


@pytest.mark.parametrize("estimator", ALL[2:])
def test_marginals_are_probabilities(estimator):
    model = clone(estimator).fit(X, Y)
    for found, length in zip(model.predict_marginals(X), LENGTHS, strict=True):
        assert found.shape == (length, 3)
        assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    # One label alone: the most probable is that of Viterbi.
    singles = [x[:1] for x in X]
    best = [model.classes_[part.argmax(axis=1)] for part in model.predict_marginals(singles)]
    assert_array_equal(np.concatenate(best), np.concatenate(model.predict(singles)))


@every
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X[0], Y[0], r"^y\b|1d array|2D array"),
        (sparse.csr_array(X[0]), Y[0], r"^[Xy] must"),
        (3.0, Y, r"^X must"),
        (["the cat"], [["a", "b"]], r"^X must"),
        (dict(enumerate(X)), Y, r"^X must"),
        ([X[0], np.full_like(X[1], np.inf), *X[2:]], Y, "X contains infinity"),
        ([], [], r"^X\b"),
        ([X[0], np.zeros((2, 5))], Y[:2], r"^X\b"),
        ([sparse.csr_array(X[0]), np.zeros((2, 5))], Y[:2], r"^X\b"),
        ([X[0], np.zeros(5)], Y[:2], r"^X\b"),
        ([np.zeros(5)], [[0, 1, 0, 1, 0]], "2D array"),
        ([part.astype(str) + "?" for part in X], Y, "could not convert string"),
        (X, Y[:-1], r"^y\b"),
        (X, [*Y[:-1], Y[0]], r"^y\b"),
        (X, dict(enumerate(Y)), r"^y must"),
        (X, ["xyz", *Y[1:]], r"^y must"),
        (X, [np.zeros((len(part), 3)) for part in Y], r"^y\b"),
        ([np.full((2, 2), np.nan)], [[0, 1]], "X contains NaN"),
        ([[[0.0]] * 2], [[0, np.nan]], "y contains NaN"),
        ([[[0.0]] * 2], [pd.array([1.0, np.nan])], r"\by\b"),
        (X, [np.zeros(length, int) for length in LENGTHS], r"\by\b"),
        (X, [np.full(length, 0.5) for length in LENGTHS], "continuous"),
        ([1e200 * part for part in X], Y, r"^X\b"),
        ([*X[:5], np.ma.array(X[5], mask=True)], Y, r"^X\b"),
        (X, [*Y[:5], np.ma.array(Y[5], mask=True)], r"^y\b"),
        (X, None, r"^y must"),
    ],
)
def test_bad_sequences(estimator, X, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        clone(estimator).fit(X, y)


@every
@pytest.mark.parametrize(
    "weights",
    [
        [1.0], [-1.0] + [1.0] * 5, [0.0] * 6, [np.nan] + [1.0] * 5, [[1.0], [1.0, 2.0]], ["a"] * 6,
        np.ma.masked_equal(np.arange(1.0, 7.0), 2.0), iter([1.0]),
    ],
)  # fmt: skip
def test_bad_weights(estimator, weights):
    with pytest.raises((ValueError, TypeError)):
        clone(estimator).fit(X, Y, sample_weight=weights)


def test_one_class_with_weight():
    with pytest.raises(ValueError, match=r"\bweight\b"):
        ChainCRF().fit(X, Y, sample_weight=[0.0, 1.0] + [0.0] * 4)


def test_entries_of_sparse_sequences_outside_of_their_shape():
    model = ChainCRF().fit([sparse.csr_array(x) for x in X], Y)
    for given in ([X[2]], X):
        wrong = [sparse.csr_array(x) for x in given]
        wrong[0].indices[0] = 7
        with pytest.raises(ValueError, match=r"^X\b.*index 7"):
            model.predict(wrong)
        with pytest.raises(ValueError, match=r"^X\b.*index 7"):
            clone(model).fit(wrong, Y[: len(wrong)] if len(wrong) > 1 else [Y[2]])


def test_sparse_sequences_with_spare_room_and_doubled_entries_are_read_and_not_changed():
    rows = [sparse.csr_array(x) for x in X]
    wanted = ChainCRF().fit(rows, Y)
    spare = [row.copy() for row in rows]
    for row in spare:
        row.data, row.indices = np.append(row.data, 99.0), np.append(row.indices, np.int32(1))
    doubled = []
    for row in rows:
        indices = np.repeat(row.indices, 2)[::-1].copy()
        parts = 0.5 * np.repeat(row.data, 2)[::-1], indices, 2 * row.indptr
        # Of a single row the order is free.
        doubled.append(sparse.csr_array(parts, shape=row.shape) if row.shape[0] == 1 else row)
    before = [row.indices.copy() for row in doubled]
    for given in (spare, doubled):
        model = ChainCRF().fit(given, Y)
        assert_allclose(model.coef_, wanted.coef_, atol=1e-12)
        assert_array_equal(np.concatenate(model.predict(given)), np.concatenate(wanted.predict(X)))
        assert_array_equal(model.predict(given[:1])[0], wanted.predict(X[:1])[0])
    for row, indices in zip(doubled, before, strict=True):
        assert_array_equal(row.indices, indices)


@every
def test_a_failed_fit_leaves_the_estimator_unfitted(estimator):
    model = clone(estimator).fit(X, Y)
    with pytest.raises(ValueError, match="y must hold"):
        model.fit(X, Y[:-1])
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match=r"^C\b"):
        clone(estimator).set_params(C=1e300).fit(X, Y)


def test_positions_may_be_lists_of_different_lengths():
    words = [[["w=the", "capital"], ["w=cat"]], [["w=sat"]]]
    hashed = SequenceTransformer(FeatureHasher(8, input_type="string")).fit_transform(words)
    assert [part.shape for part in hashed] == [(2, 8), (1, 8)]
    for wrong in ([1, 2], ["the cat"], [{"w": 1}]):
        with pytest.raises(ValueError, match=r"^X\b"):
            SequenceTransformer(FeatureHasher(8)).fit(wrong)


def test_sequences_stay_lists_whatever_the_output_of_others_is():
    frames = [pd.DataFrame(part, columns=["a", "b"]) for part in (np.eye(2), np.ones((3, 2)))]
    with config_context(transform_output="pandas"):
        scaled = SequenceTransformer(StandardScaler()).fit_transform(frames)
    assert [part.shape for part in scaled] == [(2, 2), (3, 2)]
    assert_allclose(np.vstack(scaled).mean(axis=0), 0.0, atol=1e-12)
