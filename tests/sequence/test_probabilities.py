"""Probabilities of labels, pairs, spans and labellings; tables of names; folds."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from chain_cases import LENGTHS, X, Y
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_extraction import DictVectorizer
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skscreen import ChainCRF, KernelChainClassifier, MaxMarginChain, SequenceTransformer
from skscreen.metrics import sequence_accuracy, span_f1
from skscreen.model_selection import cross_val_predict_sequences

PROBABILISTIC = [ChainCRF(fit_start_end=True), KernelChainClassifier()]
both = pytest.mark.parametrize("model", PROBABILISTIC, ids=["crf", "kernel"])


def all_probabilities(model, x):
    """Labellings and their probabilities, by enumeration of the model's own scores."""
    if hasattr(model, "coef_"):
        U = x @ model.coef_.T + model.intercept_
        U[0] += model.start_
        U[-1] += model.end_
    else:
        K = np.exp(-((x[:, None] - model.observations_) ** 2).sum(axis=2) / 2.0 / X_SCALE)
        U = K @ model.dual_coef_
    paths = np.array(list(product(range(3), repeat=len(x))))
    scores = U[np.arange(len(x)), paths].sum(axis=1)
    scores += model.transition_[paths[:, :-1], paths[:, 1:]].sum(axis=1)
    shares = np.exp(scores - scores.max())
    return paths, shares / shares.sum()


# gamma="scale" is 1 / (n_features variance).
X_SCALE = np.concatenate(X).var()


@both
def test_probabilities_of_labellings_pairs_and_spans(model):
    model = clone(model).fit(X, Y)
    codes = [np.searchsorted(model.classes_, labels) for labels in Y]
    for c, (x, truth) in enumerate(zip(X, codes, strict=True)):
        paths, shares = all_probabilities(model, x)
        for begin, end in {(0, len(x)), (0, 1), (len(x) // 2, len(x)), (0, min(2, len(x)))}:
            y = [label if begin <= t < end else None for t, label in enumerate(Y[c])]
            inside = (paths[:, begin:end] == truth[begin:end]).all(axis=1)
            found = model.labelling_probability([x], [y])
            assert_allclose(found, shares[inside].sum(), rtol=1e-9)
            assert_allclose(model.labelling_probability([x], [y], log=True), np.log(found))
    assert_allclose(model.labelling_probability(X, [[None] * n for n in LENGTHS]), 1.0)
    some = [None, *Y[0][1:]]
    expected = model.labelling_probability(X[:1], [some])
    # In series None is NaN, or of a kind of its own.
    for dtype in ("str", "string", object):
        assert_allclose(
            model.labelling_probability(X[:1], [pd.Series(some, dtype=dtype)]), expected
        )
    with pytest.raises(ValueError, match=r"^y\b"):
        model.labelling_probability(X[:1], [["x", "q", "y"]])
    with pytest.raises(ValueError, match=r"^y\b"):
        model.labelling_probability(X, Y[:2])


def test_probabilities_of_long_labellings_are_no_zero():
    x, y = np.tile(X[0], (3000, 1)), np.tile(Y[0], 3000)
    model = ChainCRF().fit(X, Y)
    assert -np.inf < model.labelling_probability([x], [y], log=True)[0] < -1000.0


@both
def test_marginals_by_name_and_through_pipelines(model):
    piped = make_pipeline(SequenceTransformer(StandardScaler()), clone(model)).fit(X, Y)
    marginals = piped[-1].predict_marginals(piped[:-1].transform(X))
    for a, b in zip(piped.predict_proba(X), marginals, strict=True):
        assert_array_equal(a, b)
    frames = piped.predict_proba(X, as_frame=True)
    assert isinstance(frames[0], pd.DataFrame)
    assert_array_equal(frames[0].columns, ["x", "y", "z"])
    assert_array_equal(frames[2]["y"], marginals[2][:, 1])


WORDS = [["the", "cat", "ran"], ["a", "dog", "sat"], ["the", "dog", "ran"], ["cats", "sat"]]
TAGS = [["B-N", "I-N", "O"], ["B-N", "I-N", "O"], ["B-N", "I-N", "O"], ["B-N", "O"]]
DICTS = [[{"w": word, "end": word[-1]} for word in sentence] for sentence in WORDS]


@pytest.mark.parametrize("kind", [ChainCRF, MaxMarginChain])
def test_tables_by_name(kind):
    model = make_pipeline(SequenceTransformer(DictVectorizer()), kind(C=10.0)).fit(DICTS, TAGS)
    chain = model[-1]
    table = chain.transitions_frame()
    assert table.loc["B-N", "I-N"] == chain.transition_[0, 1]
    assert (table.index.name, table.columns.name) == ("from", "to")
    names = model[:-1].get_feature_names_out()
    features = chain.state_features(3, names)
    assert features.groupby("label").size().to_dict() == {"B-N": 3, "I-N": 3, "O": 3}
    for label, part in features.groupby("label"):
        row = chain.coef_[list(chain.classes_).index(label)]
        assert_allclose(np.abs(part["coefficient"]), np.sort(np.abs(row))[::-1][:3])
        for name, value in zip(part["feature"], part["coefficient"], strict=True):
            assert value == row[list(names).index(name)]
    assert chain.state_features(100)["feature"].str.startswith("x").all()
    with pytest.raises(ValueError, match="feature_names must hold"):
        chain.state_features(3, names[:-1])
    frame = [pd.DataFrame(part, columns=["a", "b"]) for part in X]
    assert set(kind().fit(frame, Y).state_features()["feature"]) == {"a", "b"}


@pytest.mark.slow
def test_predictions_of_folds():
    model = make_pipeline(SequenceTransformer(DictVectorizer()), ChainCRF())
    X, y = 3 * DICTS, 3 * TAGS
    splits = list(GroupKFold(3).split(X, groups=np.arange(12) // 4))
    wanted = [None] * 12
    for train, test in splits:
        fitted = clone(model).fit([X[i] for i in train], [y[i] for i in train])
        for i in test:
            wanted[i] = fitted.predict([X[i]])[0].tolist()
    with parallel_config(backend="threading"):
        found = cross_val_predict_sequences(
            model, iter(X), y, cv=GroupKFold(3), groups=np.arange(12) // 4, n_jobs=2
        )
    assert [labels.tolist() for labels in found] == wanted
    for method in ("predict_marginals", "predict_proba"):
        # A label that a fold has not seen has a column, too.
        parts = cross_val_predict_sequences(
            model, [*X, X[0]], [*y, ["B-Q", "O", "O"]], cv=13, method=method
        )
        assert all(
            part.shape == (len(labels), 4) for part, labels in zip(parts, y + y[:1], strict=True)
        )
        assert_allclose(np.concatenate(parts).sum(axis=1), 1.0)
        assert not parts[-1][:, 1].any()
    rows, weights = [np.eye(3)[: len(labels)] for labels in y], np.r_[np.zeros(4), np.ones(8)]
    # Weights are taken by position, whatever index they have.
    weighted, same = (
        cross_val_predict_sequences(
            ChainCRF(), rows, y, cv=splits, method="predict_proba", params={"sample_weight": given}
        )
        for given in (weights, pd.Series(weights, index=np.arange(12)[::-1]))
    )
    assert [*map(len, weighted)] == [*map(len, y)]
    assert_array_equal(np.concatenate(weighted), np.concatenate(same))
    for cv in (ShuffleSplit(2), ()):
        with pytest.raises(ValueError, match=r"^cv\b"):
            cross_val_predict_sequences(model, X, y, cv=cv)
    for method in ("fit", np.array(["predict", "fit"])):
        with pytest.raises(ValueError, match="'method' parameter"):
            cross_val_predict_sequences(model, X, y, method=method)
    with pytest.raises(ValueError, match=r"^y\b"):
        cross_val_predict_sequences(model, X, y[:-1])


@pytest.mark.parametrize(
    ("measure", "options"),
    [(span_f1, {}), (span_f1, {"average": "macro"}), (sequence_accuracy, {})],
)
def test_measures_of_sequences_are_scores_of_cross_validation(measure, options):
    model = make_pipeline(SequenceTransformer(DictVectorizer()), ChainCRF())
    X, y, scoring = 3 * DICTS, 3 * TAGS, make_scorer(measure, **options)
    scores = cross_val_score(model, X, y, cv=2, scoring=scoring)
    assert np.all((scores > 0.5) & (scores <= 1.0))
    search = GridSearchCV(model, {"chaincrf__C": [0.01, 10.0]}, scoring=scoring, cv=2).fit(X, y)
    assert search.score(X, y) == measure(y, search.predict(X), **options)


def test_splits_do_not_see_labels():
    with pytest.raises(ValueError, match=r"^cv\b"):
        cross_val_predict_sequences(ChainCRF(), X, Y, cv=StratifiedKFold(2))
