import numpy as np
import pytest
from embedding_reference import trials_of, triplets_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.model_selection import RepeatedKFold, cross_val_score

from skscreen import OrdinalEmbedding, embedding_dimension_test, read_answers
from skscreen.embedding.tools.dimension import _chance_p_value, _holm, _rise_p_values

POINTS = np.random.default_rng(0).normal(size=(20, 2))
ROWS = triplets_of(POINTS, 1200, 1, noise=0.1)


def test_the_plane_is_found():
    points = np.random.default_rng(2).normal(size=(20, 2))
    rows = triplets_of(points, 1200, 1, noise=0.1)
    result = embedding_dimension_test(rows, [1, 2, 3], cv=5, random_state=0)
    assert result.dimension_ == 2
    assert result.scores_.shape == result.train_scores_.shape == (3, 5)
    assert result.p_values_.shape == result.corrected_p_values_.shape == (2,)
    assert np.all(result.corrected_p_values_ >= result.p_values_)
    assert result.corrected_p_values_[0] <= result.alpha < result.corrected_p_values_[1]


def test_where_all_rises_are_significant_the_last_is_named():
    points = np.random.default_rng(1).normal(size=(20, 3))
    rows = triplets_of(points, 2000, 1)
    assert embedding_dimension_test(rows, [1, 2], cv=5, random_state=0).dimension_ == 2


def test_scores_are_those_of_scikit_learn():
    model = OrdinalEmbedding(1, loss="ste", solver="lbfgs", n_init=20, tol=1e-8)
    result = embedding_dimension_test(
        ROWS, [1, 2], 4, estimator=model, n_repeats=2, random_state=np.random.RandomState(5)
    )
    folds = RepeatedKFold(n_splits=4, n_repeats=2, random_state=np.random.RandomState(5))
    model.set_params(n_components=2, random_state=0)
    assert_allclose(result.scores_[1], cross_val_score(model, ROWS, cv=folds), atol=0.01)


def test_the_result_depends_on_neither_names_threads_nor_responses():
    one = embedding_dimension_test(ROWS, [1, 2], cv=3, random_state=0)
    names = np.array([f"object {i:02d}" for i in range(20)])
    others = (
        embedding_dimension_test(names[ROWS], [1, 2], cv=3, random_state=0),
        embedding_dimension_test(ROWS, [1, 2], cv=3, random_state=0, n_jobs=2),
        embedding_dimension_test(
            ROWS[:, [0, 2, 1]], [1, 2], cv=3, y=-np.ones(len(ROWS)), random_state=0
        ),
    )
    for other in others:
        assert_array_equal(one.scores_, other.scores_)
        assert_array_equal(one.p_values_, other.p_values_)


def test_weights_count_in_fits_and_scores():
    weights = np.where(np.arange(len(ROWS)) < 900, 1.0, 0.0)
    weighted = embedding_dimension_test(ROWS, [1, 2], cv=3, sample_weight=weights, random_state=0)
    plain = embedding_dimension_test(ROWS[:900], [1, 2], cv=3, random_state=0)
    assert_array_equal(weighted.scores_, plain.scores_)
    uneven = np.random.default_rng(0).uniform(0.5, 2.0, len(ROWS))
    other = embedding_dimension_test(ROWS, [1, 2], cv=3, sample_weight=uneven, random_state=0)
    assert not np.array_equal(other.scores_, plain.scores_)


def test_p_values_by_hand():
    scores = np.array([[0.6, 0.7, 0.7], [0.5, 0.7, 0.72], [0.6, 0.65, 0.6]])
    rises = np.array([0.1, 0.2, 0.05])
    t = rises.mean() / (rises.std(ddof=1) * np.sqrt(1.0 / 3.0 + 0.5))
    assert_allclose(_rise_p_values(scores, 0.5)[0], stats.t.sf(t, 2))
    same = np.array([[0.5, 0.75, 0.75], [0.5, 0.75, 0.75]])
    assert_array_equal(_rise_p_values(same, 1.0), [0.0, 1.0])


def test_holm_by_hand():
    assert_allclose(_holm(np.array([0.01, 0.5, 0.02, 0.4])), [0.04, 0.8, 0.06, 0.8])
    assert_allclose(_holm(np.array([0.9, 0.8])), [1.0, 1.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimensions": [1]}, r"^dimensions\b"),
        ({"dimensions": [2, 1]}, r"^dimensions\b"),
        ({"dimensions": [1, 2.5]}, r"^dimensions\b"),
        ({"dimensions": 3}, r"^dimensions\b"),
        ({"cv": 1}, "cv == 1"),
        ({"cv": 5000}, r"^cv\b"),
        ({"alpha": 0.0}, "alpha == 0.0"),
        ({"n_repeats": 0}, "n_repeats == 0"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        embedding_dimension_test(ROWS, **options)


def test_only_our_estimator():
    with pytest.raises(TypeError, match=r"^estimator\b"):
        embedding_dimension_test(ROWS, estimator=3)


def test_trials_with_the_odd_one_out():
    trials, columns = trials_of(POINTS, 400, 3)
    model = OrdinalEmbedding(loss="oddoneout")
    options = {"cv": 3, "estimator": model, "random_state": 0}
    names = np.array([f"object {i:02d}" for i in range(20)])[trials]
    answers = read_answers(names, kind="oddoneout", chosen=columns, response="position")
    expected = embedding_dimension_test(answers, [1, 2], **options)
    found = embedding_dimension_test(trials, [1, 2], y=columns, **options)
    assert_array_equal(found.scores_, expected.scores_)
    assert found.scores_[1].mean() > 0.8


def test_random_answers_have_no_dimension():
    rng = np.random.default_rng(0)
    rows = np.array([rng.choice(12, 3, replace=False) for _ in range(600)])
    found = [
        embedding_dimension_test(rows, [1, 2], cv=5, random_state=seed, estimator=model, y=y)
        for model, y in (
            (OrdinalEmbedding(n_init=1), None),
            (OrdinalEmbedding(loss="oddoneout", n_init=1), np.zeros(600)),
        )
        for seed in range(2)
    ]
    assert [result.dimension_ for result in found] == [0] * 4
    assert min(result.chance_p_value_ for result in found) > 0.05
    clear = embedding_dimension_test(ROWS, [1, 2], cv=5, random_state=0)
    assert clear.dimension_ > 0
    assert clear.chance_p_value_ < 1e-3


def test_the_p_value_of_chance_by_hand():
    scores = np.array([[0.6, 0.7], [0.5, 0.7], [0.6, 0.65]])
    expected = []
    for one in scores.T - 0.5:
        t = one.mean() / (one.std(ddof=1) * np.sqrt(1.0 / 3.0 + 0.5))
        expected.append(stats.t.sf(t, 2))
    assert_allclose(_chance_p_value(scores, 0.5, 0.5), 2.0 * min(expected))


def test_participants_are_not_in_two_folds():
    people = np.arange(len(ROWS)) % 7
    # A person who answers the reverse is predicted by nobody.
    turned = np.where((people == 3)[:, None], ROWS[:, [0, 2, 1]], ROWS)
    scores = embedding_dimension_test(turned, [1, 2], cv=7, groups=people, random_state=0).scores_
    assert scores.shape == (2, 7)
    assert np.sort(scores[1])[0] < 0.3 < 0.7 < np.sort(scores[1])[1]
    with pytest.raises(ValueError, match=r"^cv\b"):
        embedding_dimension_test(ROWS, [1, 2], cv=8, groups=people)
    with pytest.raises(ValueError, match=r"^groups\b"):
        embedding_dimension_test(ROWS, [1, 2], groups=people[1:])


def test_answers_that_are_misread_are_told():
    with pytest.warns(UserWarning, match=r"\breverse\b"):
        embedding_dimension_test(ROWS[:, [0, 2, 1]], [1, 2], cv=3, random_state=0)
