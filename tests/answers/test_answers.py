"""The object: what it holds and says, and that tools for samples take it."""

import pickle

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    LeaveOneGroupOut,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    train_test_split,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import resample, shuffle

from skscreen import concat_answers, read_answers


def central(n=40):
    """Trials of two rows each, with weights and groups."""
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(9)[:3] for _ in range(n)])
    return read_answers(
        rows, kind="mostcentral", chosen=0, groups=np.arange(n) % 4, weights=1.0 + np.arange(n)
    )


class Counter(BaseEstimator):
    """Checks that trials stay together, and counts."""

    def __init__(self, shift=0):
        self.shift = shift

    def fit(self, X, y=None):
        assert np.array_equal(np.bincount(X.trials), np.full(len(X), 2))
        self.n_ = len(X)
        return self

    def predict(self, X):
        return np.full(len(X), self.n_)

    def score(self, X, y=None):
        return 1.0 / (1.0 + self.shift + len(X))


def test_it_says_the_first_answer_in_words():
    rows = [["a", "b", "c"], ["b", "c", "a"], ["a", "a", "c"]]
    text = repr(read_answers(rows, groups=[1, 2, 2]))
    assert text.split("\n") == [
        "2 trials of 3 objects, triplets; 2 groups; 1 row left out",
        "first: 'b' is closer to 'a' than 'c' is",
        "objects occur 2 ('a') to 2 ('a') times",
    ]
    four = read_answers([["a", "b", "c", "d"]], kind="quadruplets")
    assert "first: 'a' and 'b' are closer than 'c' and 'd'" in repr(four)
    odd = read_answers([["a", "b", "c"]], kind="oddoneout", chosen=["b"])
    assert "first: 'b' is the odd one among 'a', 'c', 'b'" in repr(odd)
    paired = read_answers([["a", "b"]], kind="paired", chosen=["b"])
    assert "first: 'b' has more of it than 'a'" in repr(paired)
    assert repr(odd[[]]) == "0 trials of 3 objects, oddoneout"
    assert "80 rows, weighted; 4 groups" in repr(central())


def test_an_index_selects_trials():
    answers = central()
    for key in (slice(3, 9), np.arange(3, 9), [3, 4, 5, 6, 7, 8],
                (np.arange(3, 9), ...), (np.arange(40) >= 3) & (np.arange(40) < 9)):  # fmt: skip
        part = answers[key]
        assert np.array_equal(part.rows, answers.rows[6:18]) and len(part) == 6
        assert np.array_equal(part.weights, answers.weights[6:18])
        assert np.array_equal(part.groups, answers.groups[3:9])
        assert part.trials.tolist() == np.repeat(range(6), 2).tolist()
        assert part.objects is answers.objects
    mask = pl.Series((np.arange(40) >= 3) & (np.arange(40) < 9))
    for key in (mask, mask.to_arrow(), mask.to_pandas().astype("boolean")):
        assert np.array_equal(answers[key].rows, answers.rows[6:18])
    twice = answers[[5, 5, 2]]
    assert twice.trials.tolist() == [0, 0, 1, 1, 2, 2]
    assert np.array_equal(twice.rows, answers.rows[[10, 11, 10, 11, 4, 5]])
    assert len(answers[[]]) == 0 and answers[[]].shape == (0, 3)
    assert answers.shape == (40, 3)
    mine = answers[answers.groups == 3]
    assert len(mine) == 10 and set(mine.groups.tolist()) == {3}


def test_what_it_is_not():
    answers = central()
    for key in (0, "P07", (0, 1), np.zeros((2, 2), dtype=int), None):
        with pytest.raises(TypeError, match="indexed by"):
            answers[key]
    with pytest.raises(TypeError):
        iter(answers)
    with pytest.raises(TypeError, match=r"answers\.rows"):
        np.asarray(answers)
    with pytest.raises(IndexError):
        answers[[40]]
    assert answers != central() and answers == answers


def test_reversed_is_the_opposite():
    answers = read_answers([["a", "b", "c"]])
    assert answers.reversed().rows.tolist() == [[0, 2, 1]]
    assert np.array_equal(answers.reversed().reversed().rows, answers.rows)
    four = read_answers([[0, 1, 2, 3]], kind="quadruplets")
    assert four.reversed().rows.tolist() == [[2, 3, 0, 1]]
    paired = read_answers([["a", "b"]], kind="paired")
    assert paired.reversed().rows.tolist() == [[1, 0]]
    odd = read_answers([["a", "b", "c"]], kind="oddoneout", chosen=2)
    with pytest.raises(ValueError, match="opposite"):
        odd.reversed()


def test_parts_are_joined_by_name():
    one = read_answers([["b", "c", "d"]], groups=["P1"])
    two = read_answers([["a", "d", "b"]], groups=["P2"], weights=[3.0])
    both = concat_answers([one, two])
    assert both.objects[both.rows].tolist() == [["b", "c", "d"], ["a", "d", "b"]]
    assert both.objects.tolist() == ["b", "c", "d", "a"]
    assert both.weights.tolist() == [1, 3] and both.groups.tolist() == ["P1", "P2"]
    assert both.trials.tolist() == [0, 1]
    assert concat_answers(iter([one])).weights is None
    odd = read_answers([["a", "b", "c"]], kind="oddoneout", chosen=2)
    for parts in ([], [one, odd], [one, read_answers([["a", "b", "c"]])]):
        with pytest.raises(ValueError, match=r"^parts must"):
            concat_answers(parts)
    for parts in ([one, [["a", "b", "c"]]], one, None):
        with pytest.raises(TypeError, match=r"^parts must"):
            concat_answers(parts)


@pytest.mark.slow
def test_folds_and_searches_take_trials():
    answers, grid = central(), {"shift": [0, 1]}
    assert cross_val_score(Counter(), answers, cv=4).tolist() == [1 / 11] * 4
    groups = answers.groups
    scores = cross_val_score(Counter(), answers, groups=groups, cv=LeaveOneGroupOut())
    assert scores.tolist() == [1 / 11] * 4
    found = cross_validate(
        Counter(), answers, groups=groups, cv=GroupKFold(2), return_estimator=True
    )
    assert [model.n_ for model in found["estimator"]] == [20, 20]
    assert cross_val_predict(Counter(), answers, cv=4).tolist() == [30] * 40
    assert learning_curve(Counter(), answers, None, cv=4)[0][-1] == 30
    validation_curve(Counter(), answers, None, param_name="shift", param_range=[0, 1], cv=2)
    searches = [
        GridSearchCV(Counter(), grid, cv=2),
        RandomizedSearchCV(Counter(), grid, n_iter=2, cv=2),
        HalvingGridSearchCV(Counter(), grid, cv=2, min_resources=10, random_state=0),
    ]
    for search in searches:
        assert search.fit(answers).best_params_ == {"shift": 0}
    assert make_pipeline(FunctionTransformer(), Counter()).fit(answers).score(answers) > 0.0


def test_splits_copies_and_hashes():
    answers = central()
    train, test = train_test_split(answers, test_size=0.25, random_state=0)
    assert (len(train), len(test)) == (30, 10)
    drawn = resample(answers, random_state=0)
    assert len(drawn) == 40 and drawn.trials.tolist() == np.repeat(range(40), 2).tolist()
    assert len(shuffle(answers)) == 40
    copy = pickle.loads(pickle.dumps(answers))
    assert np.array_equal(copy.rows, answers.rows) and repr(copy) == repr(answers)
    assert joblib.hash(answers) == joblib.hash(copy) != joblib.hash(answers.reversed())
    assert repr(clone(answers, safe=False)) == repr(answers)
