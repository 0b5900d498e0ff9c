import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import LeaveOneGroupOut, ShuffleSplit

from skscreen import ConceptEmbedding, ConceptEmbeddingCV
from skscreen.concepts.problem.law import law
from skscreen.concepts.problem.objective import Objective
from skscreen.concepts.reading import read
from skscreen.concepts.tools.held_out import error_over_folds, error_over_trials
from skscreen.metrics import match_dimensions
from tests.concept_cases import answer, answers_of, draw_trials, odd_last, true_dimensions

rng = np.random.default_rng(0)
N, D = 30, 3
TRUTH = np.repeat(2.5 * np.eye(D), N // D, axis=0)
TRIALS = draw_trials(N, 3000, rng)
ODD = answer(TRUTH, TRIALS, rng)
PEOPLE = np.arange(len(TRIALS)) % 6
SEARCH = ConceptEmbeddingCV(10, l1s=[1.0, 0.04, 0.01], n_init=2, random_state=0)


def test_the_penalty_that_predicts_best():
    model = clone(SEARCH).set_params(cv=3).fit(TRIALS, ODD)
    assert model.l1s_.tolist() == [0.01, 0.04, 1.0]
    assert model.test_log_likelihoods_.shape == model.n_dimensions_.shape == (3, 3)
    means = model.test_log_likelihoods_.mean(axis=1)
    assert model.best_index_ == np.argmax(means) and model.l1_ == model.l1s_[model.best_index_]
    # Without a dimension all choices are as likely.
    assert model.n_dimensions_[2].tolist() == [0, 0, 0]
    np.testing.assert_allclose(model.test_log_likelihoods_[2], -np.log(3.0))
    assert model.test_scores_[2].tolist() == [0.0, 0.0, 0.0] and model.test_scores_[1].min() > 0.6
    assert not model.as_good_[2] and model.as_good_[model.best_index_]
    low, high = model.dimension_range_
    shown = model.n_dimensions_[model.as_good_]
    assert (low, high) == (shown.min(), shown.max())
    assert (match_dimensions(TRUTH, model.embedding_).correlations > 0.95).all()


def test_the_fit_is_that_with_the_chosen_penalty():
    model = clone(SEARCH).fit(TRIALS, ODD)
    seeds = np.random.RandomState(0)
    seeds.randint(2**31 - 1)
    plain = ConceptEmbedding(10, l1=model.l1_, n_init=2, random_state=0).fit(TRIALS, ODD)
    np.testing.assert_array_equal(model.embedding_, plain.embedding_)
    np.testing.assert_array_equal(model.standard_errors_, plain.standard_errors_)
    assert model.l2_ == plain.l2_ and model.test_scores_.shape == (3, 3)


def test_the_grid_is_around_the_law():
    model = ConceptEmbeddingCV(4, l1s=3, n_init=1, max_iter=50, random_state=0)
    model.fit(TRIALS[:500], ODD[:500])
    law = 0.224 * np.sqrt(N / 500) * max(1.0, 100.0 * N / 500) ** 0.35
    np.testing.assert_allclose(model.l1s_, law * np.geomspace(0.7, 2.0, 3))


@pytest.mark.slow
def test_participants_are_held_out_together():
    model = clone(SEARCH).set_params(cv=LeaveOneGroupOut())
    model.fit(TRIALS, ODD, groups=PEOPLE)
    assert model.test_scores_.shape == (3, 6)
    for cv in (2, None):
        by_people = clone(SEARCH).set_params(cv=cv).fit(TRIALS, ODD, groups=PEOPLE)
        by_trials = clone(SEARCH).set_params(cv=cv).fit(TRIALS, ODD)
        assert not np.array_equal(by_people.test_scores_, by_trials.test_scores_)
    with pytest.raises(ValueError, match=r"^groups must"):
        model.fit(TRIALS, ODD, groups=PEOPLE[:5])


def test_weights_count_in_held_out_trials():
    weights = np.where(np.arange(len(TRIALS)) % 2 == 0, 2.0, 0.0)
    cv = ShuffleSplit(1, test_size=0.3, random_state=0)
    model = clone(SEARCH).set_params(cv=cv).fit(TRIALS, ODD, weights)
    kept = weights > 0.0
    train, test = next(cv.split(TRIALS))
    half = [part[kept[part]] // 2 for part in (train, test)]
    other = clone(SEARCH).set_params(cv=[half]).fit(TRIALS[kept], ODD[kept], weights[kept])
    np.testing.assert_allclose(model.test_log_likelihoods_, other.test_log_likelihoods_, atol=1e-3)
    with pytest.raises(ValueError, match=r"^cv must"):
        clone(SEARCH).set_params(cv=[(half[0], [1, 3])]).fit(TRIALS, ODD, weights)


def test_the_same_in_threads():
    one, two = (clone(SEARCH).set_params(cv=2, n_jobs=n_jobs).fit(TRIALS, ODD) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.test_log_likelihoods_, two.test_log_likelihoods_)
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


def test_errors_of_differences_over_trials():
    draws = np.random.default_rng(1)
    best, noise = draws.normal(size=400), draws.normal(size=400)
    log_p = np.stack([best, best - 0.01 + noise - noise.mean(), best - 0.5])
    found = error_over_trials(log_p, np.ones(400), np.arange(400), 0)
    np.testing.assert_allclose(found, [0.0, noise.std() / 20.0, 0.0], atol=1e-12)
    # Trials of a participant who answers alike count as one.
    twice = error_over_trials(np.repeat(log_p, 2, axis=1), np.ones(800), np.arange(800) // 2, 0)
    np.testing.assert_allclose(twice, found, atol=1e-12)


def test_errors_of_differences_over_folds():
    means = np.array([[-0.7, -0.8, -0.9], [-0.71, -0.83, -0.9], [-0.8, -0.9, -1.0]])
    found = error_over_folds(means, 1.0 / 9.0, 0)
    # t of two degrees of freedom, where a normal variable is at its standard error.
    expected = np.std([0.01, 0.03, 0.0], ddof=1) * np.sqrt(1.0 / 3.0 + 1.0 / 9.0) * 1.32124
    np.testing.assert_allclose(found, [0.0, expected, 0.0], rtol=1e-4, atol=1e-15)
    assert error_over_folds(means[:, :1], 1.0 / 9.0, 0).tolist() == [0.0, 0.0, 0.0]


def test_as_good_is_what_loses_no_more_than_the_larger_error():
    search = clone(SEARCH).set_params(cv=None).fit(TRIALS, ODD)
    means = search.test_log_likelihoods_
    assert means.shape == (3, 3)
    lost = (means[search.best_index_] - means).mean(axis=1)
    over_folds = error_over_folds(means, 1.0 / 9.0, search.best_index_)
    assert search.as_good_[lost <= over_folds].all() and search.as_good_[search.best_index_]
    within = search.n_dimensions_[search.as_good_]
    assert search.dimension_range_ == (within.min(), within.max())


def test_wrong_grids_and_folds():
    for l1s in ([], [0.0], [np.nan]):
        with pytest.raises(ValueError, match=r"^l1s must"):
            clone(SEARCH).set_params(l1s=l1s).fit(TRIALS, ODD)
    with pytest.raises(ValueError, match=r"^cv must"):
        clone(SEARCH).set_params(cv=iter([])).fit(TRIALS, ODD)


def test_folds_without_weight_to_learn_from_are_refused():
    weights = np.where(PEOPLE == 0, 1.0, 0.0)
    model = clone(SEARCH).set_params(cv=LeaveOneGroupOut())
    with pytest.raises(ValueError, match=r"^cv must"):
        model.fit(TRIALS, ODD, weights, groups=np.minimum(PEOPLE, 1))


@pytest.mark.slow
def test_great_penalties_take_no_dimension_of_the_truth():
    draws = np.random.default_rng(0)
    truth = true_dimensions(300, 5, draws, share=0.35)
    trials = draw_trials(300, 20_000, draws)
    answers = answers_of(odd_last(trials, answer(truth, trials, draws)), 300)
    penalties = law(300, len(trials)) * np.array([1.3, 1.6, 1.8, 2.0])
    fits = [ConceptEmbedding(30, l1=l1, n_init=1, random_state=0).fit(answers) for l1 in penalties]
    for fit in fits:
        assert (match_dimensions(truth, fit.embedding_).correlations > 0.9).all()
        # What fits with other penalties are worth with this one is no better.
        objective = Objective(read(answers, None, None).trials, fit.l1_, fit.l2_)
        others = [objective.evaluate(other.embedding_)[0] for other in fits]
        assert fit.objective_ <= min(others) * (1.0 + 1e-3)
    assert [fit.embedding_.shape[1] for fit in fits[1:]] == [5, 5, 5]
    search = ConceptEmbeddingCV(30, l1s=penalties[1:], cv=2, n_init=2, random_state=0).fit(answers)
    assert (search.n_dimensions_ == 5).all() and search.embedding_.shape == (300, 5)
    assert (np.diff(search.test_log_likelihoods_.mean(axis=1)) < 0.0).all()
