"""Answers in what scikit-learn and joblib do with samples: caches, metadata, searches."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate

from skscreen import ConceptEmbedding, ConceptEmbeddingCV, OrdinalEmbedding, read_answers
from skscreen.datasets import make_triplets

RNG = np.random.default_rng(0)
GROUPS = np.arange(600) % 3
ROWS = make_triplets(RNG.normal(size=(15, 2)), 600, noise=0.2, random_state=0)
TRIPLETS = read_answers(ROWS, groups=GROUPS, objects=range(15))
ODD = read_answers(ROWS, kind="oddoneout", chosen=2, groups=GROUPS, objects=range(15))
# Of some trials little is believed, and of some nothing.
WEIGHTS = RNG.choice([0.0, 0.2, 1.0], size=600)
MODELS = [
    pytest.param(OrdinalEmbedding(random_state=0), TRIPLETS, id="map"),
    pytest.param(ConceptEmbedding(8, l1=0.01, random_state=0), ODD, id="dimensions"),
]


def test_a_cache_of_joblib_knows_answers_by_their_content(tmp_path):
    calls = []

    def mean_of(answers):
        calls.append(len(answers))
        return answers.rows.mean(axis=0)

    cached = joblib.Memory(tmp_path, verbose=0).cache(mean_of)
    again = read_answers(ROWS, groups=GROUPS, objects=range(15))
    assert joblib.hash(again) == joblib.hash(TRIPLETS)
    assert_array_equal(cached(TRIPLETS), cached(again))
    assert joblib.hash(TRIPLETS.reversed()) != joblib.hash(TRIPLETS)
    cached(TRIPLETS.reversed())
    assert calls == [600, 600]


@pytest.mark.parametrize(("model", "answers"), MODELS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_weights_and_groups_are_routed_to_each_fold(model, answers):
    with config_context(enable_metadata_routing=True):
        asking = clone(model).set_fit_request(sample_weight=True)
        asking.set_score_request(sample_weight=True)
        found = cross_validate(
            asking, answers, cv=GroupKFold(3), return_estimator=True, error_score="raise",
            params={"sample_weight": WEIGHTS, "groups": answers.groups},
        )  # fmt: skip
    folds = GroupKFold(3).split(np.zeros(600), groups=answers.groups)
    for (train, test), fitted, score in zip(
        folds, found["estimator"], found["test_score"], strict=True
    ):
        expected = clone(model).fit(answers[train], sample_weight=WEIGHTS[train])
        assert_array_equal(fitted.embedding_, expected.embedding_)
        assert score == expected.score(answers[test], sample_weight=WEIGHTS[test])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_weights_and_groups_are_routed_by_a_search():
    model = OrdinalEmbedding(random_state=0)
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        search = GridSearchCV(
            model, {"n_components": [1, 2]}, cv=GroupKFold(3), error_score="raise"
        ).fit(TRIPLETS, sample_weight=WEIGHTS, groups=TRIPLETS.groups)
    expected = OrdinalEmbedding(**search.best_params_, random_state=0)
    expected.fit(TRIPLETS, sample_weight=WEIGHTS)
    assert_array_equal(search.best_estimator_.embedding_, expected.embedding_)


def test_groups_are_routed_to_the_search_over_penalties():
    model = ConceptEmbeddingCV(8, l1s=[0.01, 0.02], cv=2, random_state=0)
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(groups=True)
        found = cross_validate(
            model, ODD, cv=GroupKFold(3), params={"groups": ODD.groups}, return_estimator=True,
            error_score="raise",
        )  # fmt: skip
    train, _ = next(GroupKFold(3).split(np.zeros(600), groups=GROUPS))
    expected = clone(model).fit(ODD[train], groups=GROUPS[train])
    assert_array_equal(found["estimator"][0].test_log_likelihoods_, expected.test_log_likelihoods_)
