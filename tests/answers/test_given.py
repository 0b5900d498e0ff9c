"""What estimators are given: answers, or arrays in one strict form; matched by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, learning_curve

from skscreen import (
    DifferenceScaling,
    OrdinalEmbedding,
    embedding_dimension_test,
    next_queries,
    read_answers,
)
from skscreen.answers.given import given_answers, group_codes, places_of
from skscreen.datasets import make_triplets
from skscreen.metrics import noise_ceiling, triplet_error

KINDS = ("triplets", "quadruplets")
T = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1]])
FLIPPED = T[:, [0, 2, 1]]
POINTS = np.random.default_rng(0).normal(size=(15, 2))
ROWS = make_triplets(POINTS, 600, random_state=0)
NAMES = np.array([f"object {(7 * k) % 15:02d}" for k in range(15)])
FITTED = OrdinalEmbedding(random_state=0).fit(ROWS)


def given(X, y=None, kinds=KINDS):
    return given_answers(X, y, kinds=kinds)


@pytest.mark.parametrize(
    "rows",
    [T, T.tolist(), T.astype(np.uint8), T.astype(">i8"), T.astype(float), T.astype(object)],
)
def test_rows_of_any_kind_of_numbers(rows):
    answers = given(rows).answers
    assert_array_equal(answers.rows, T)
    assert answers.rows.dtype == np.int32 and answers.weights is None


def test_numbers_and_text_are_names():
    assert given([[3, 10, 7]]).answers.objects.tolist() == [3, 7, 10]
    assert given([["b", "a", "c"]]).answers.objects.tolist() == ["a", "b", "c"]
    assert given([[-1, 0, 2]]).answers.objects.tolist() == [-1, 0, 2]
    assert given([[0.5, 4.0, 1.0]]).answers.objects.tolist() == [0.5, 1.0, 4.0]


@pytest.mark.parametrize(
    "y",
    [
        [True, False, True, False],
        [1, -1, 1, -1],
        np.array([1.0, -1, 1, -1]),
        pd.Series([1, -1] * 2),
    ],
)
def test_responses_turn_rows_round(y):
    expected = np.where(np.array([1, 0, 1, 0], dtype=bool)[:, None], T, FLIPPED)
    assert_array_equal(given(T, y).answers.rows, expected)


def test_quadruplets_are_turned_round_by_pairs():
    rows = given([[0, 1, 2, 3], [1, 2, 3, 0]], [1, -1]).answers.rows
    assert_array_equal(rows, [[0, 1, 2, 3], [3, 0, 1, 2]])


def test_the_odd_one_is_named_by_its_place():
    answers = given(T[:3], [0, 1, 2], kinds=("oddoneout",)).answers
    assert answers.kind == "oddoneout"
    assert_array_equal(answers.rows, [[1, 2, 0], [1, 0, 2], [2, 0, 1]])
    for y, match in ((None, "^y must say"), ([0, 1, 3], r"^y\b"), ([0], "^y must")):
        with pytest.raises(ValueError, match=match):
            given(T[:3], y, kinds=("oddoneout",))


@pytest.mark.parametrize(
    ("X", "y", "error", "match"),
    [
        (T[:, :2], None, ValueError, "^X must have"),
        (np.zeros((3, 5), dtype=int), None, ValueError, "^X must have"),
        (T[0], None, ValueError, "2D array"),
        (T[:0], None, ValueError, "0 sample"),
        ([[0, 1, np.nan]], None, ValueError, "X contains NaN"),
        ([[0, 1, None]], None, ValueError, r"^columns\b.*row 0"),
        ([[0, 1, np.inf]], None, ValueError, "X contains infinity"),
        (np.ma.MaskedArray(T, mask=T == 0), None, ValueError, r"^X\b"),
        (sparse.eye_array(3, 9), None, TypeError, "[Ss]parse"),
        (pd.DataFrame(T), None, TypeError, r"^X\b"),
        (pl.DataFrame(T), None, TypeError, r"^X\b"),
        ([[0, 0, 1]], None, ValueError, "no answer"),
        (T, [1, 0, 1, 1], ValueError, r"^y\b.*row 1"),
        (T, [1, 2, 1, 2], ValueError, r"^y\b.*row 1"),
        (T, list("abab"), ValueError, r"^y\b.*row 0"),
        (T, [1, 1, 1], ValueError, "^y must have"),
        (T, [1, np.nan, 1, 1], ValueError, r"^y\b.*row 1"),
        (read_answers(T), [1, 1, 1, 1], ValueError, r"^y\b"),
        (read_answers(T, kind="oddoneout", chosen=0), None, ValueError, r"^X\b"),
        (read_answers(T)[[]], None, ValueError, r"^X\b"),
    ],
)
def test_what_is_neither_is_refused(X, y, error, match):
    with pytest.raises(error, match=match):
        given(X, y)


def test_odd_ones_where_triplets_are_taken_come_with_what_takes_them():
    trials = read_answers(T, kind="oddoneout", chosen=0)
    with pytest.raises(ValueError, match=r"got oddoneout: .*triplets_from_oddoneout") as found:
        triplet_error(POINTS, trials)
    assert "loss=" not in str(found.value)
    with pytest.raises(ValueError, match=r"got oddoneout: loss='oddoneout' takes them, or .*from_"):
        OrdinalEmbedding().fit(trials)
    with pytest.raises(ValueError, match=r"got triplets\.$"):
        OrdinalEmbedding(loss="oddoneout").fit(read_answers(T))


def test_weights_are_those_of_trials_times_those_of_answers():
    answers = read_answers(T, weights=[1.0, 2.0, 3.0, 4.0])
    assert given(answers).weights(None).tolist() == [1, 2, 3, 4]
    assert given(answers).weights([2, 0, 1, 1]).tolist() == [2, 0, 3, 4]
    rows = [[0, 1, 2], [0, 0, 1], [2, 1, 0]]
    assert given(rows).weights([1, 9, 3]).tolist() == [1, 3]
    central = read_answers(T, kind="mostcentral", chosen=0)
    assert given(central).weights([1, 2, 3, 4]).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    for wrong in ([1.0, 2.0], [1, -1, 1, 1], [1, np.nan, 1, 1], ["a"] * 4, np.zeros(4)):
        with pytest.raises(ValueError, match=r"weight|negative|to float"):
            given(T).weights(wrong)
    with pytest.raises(ValueError, match="finite sum"):
        given(answers).weights([1e308] * 4)


def test_the_least_of_a_trial():
    central = given(read_answers(T[:2], kind="mostcentral", chosen=0))
    assert central.least(np.array([1, -1, 1, 0])).tolist() == [-1, 0]
    assert given([[0, 1, 2], [0, 0, 1], [2, 1, 0]]).least(np.array([1, -1])).tolist() == [1, 0, -1]


def test_objects_are_matched_by_name():
    answers = read_answers([["b", "a", "c"]])
    assert_array_equal(places_of(answers, np.array(["c", "b", "a"])), [[1, 2, 0]])
    assert_array_equal(places_of(read_answers([[2, 5, 3]]), np.arange(6)), [[2, 5, 3]])
    with pytest.raises(ValueError, match=r"^X\b.*trial 0"):
        places_of(answers, np.array(["a", "b", "z"]))
    assert places_of(answers, np.array(["a", "b", "z"]), strangers=True).tolist() == [[1, 0, -1]]
    with pytest.raises(ValueError, match=r"^X\b"):
        places_of(answers, np.array(["x", "y", "z"]), strangers=True)


def test_a_table_read_apart_is_scored_by_name():
    """A part of the objects, in another order: by place the agreement would be about chance."""
    fitted = OrdinalEmbedding(random_state=0).fit(read_answers(NAMES[ROWS]))
    part = NAMES[ROWS[(ROWS < 9).all(axis=1)]]
    apart, reordered = read_answers(part), read_answers(part, objects=NAMES[::-1])
    assert fitted.score(apart) == fitted.score(reordered) > 0.95
    assert_array_equal(fitted.predict(apart), 1)
    assert fitted.score(apart.reversed()) < 0.05
    frame = pd.DataFrame(fitted.embedding_, index=fitted.objects_)
    assert triplet_error(frame, apart) == triplet_error(frame, reordered) < 0.05


def test_all_consumers_take_answers():
    answers = read_answers(NAMES[ROWS], objects=NAMES, groups=np.arange(600) % 6)
    model = OrdinalEmbedding(random_state=0).fit(answers)
    assert_allclose(model.score(answers), FITTED.score(ROWS), atol=0.02)
    assert model.objects_.tolist() == NAMES.tolist() and model.n_pieces_ == 1
    assert triplet_error(model.embedding_, answers) == 1.0 - model.score(answers)
    groups = answers.groups
    test = embedding_dimension_test(answers, [1, 2], 3, groups=groups, random_state=0)
    assert test.dimension_ == 2
    assert model.bootstrap(3, groups=groups, random_state=0).points.shape == (3, 15, 2)
    assert set(next_queries(model, 5, heads=[NAMES[3]], random_state=0)[:, 0]) == {NAMES[3]}
    twice = read_answers(np.tile(NAMES[ROWS], (2, 1)))
    assert noise_ceiling(twice).agreement > 0.9
    new = read_answers([["new", NAMES[0], NAMES[1]], ["new", NAMES[2], NAMES[3]]])
    assert model.place(new).shape == (1, 2)
    with pytest.raises(ValueError, match=r"^embedding must"):
        triplet_error(model.embedding_[1:], answers)


@pytest.mark.slow
def test_trials_stay_together_in_searches():
    answers = read_answers(ROWS, kind="mostcentral", chosen=0, groups=np.arange(600) % 4,
                           objects=range(15))  # fmt: skip
    model, groups = OrdinalEmbedding(random_state=0), answers.groups
    scores = cross_val_score(model, answers, groups=groups, cv=GroupKFold(4), error_score="raise")
    assert len(scores) == 4 and np.isfinite(scores).all()
    search = GridSearchCV(model, {"n_components": [1, 2]}, cv=3, n_jobs=2).fit(answers)
    assert search.best_estimator_.objects_.tolist() == list(range(15))
    assert np.isfinite(learning_curve(model, answers, None, cv=3)[2]).all()


def test_pieces_that_no_answer_connects_are_one_number_and_one_warning():
    parts = np.concatenate([ROWS, ROWS + 15])
    with pytest.warns(UserWarning, match="2 pieces") as caught:
        model = OrdinalEmbedding(random_state=0).fit(parts)
    assert model.n_pieces_ == 2 and len(caught) == 1 and FITTED.n_pieces_ == 1
    once = np.arange(120).reshape(40, 3)
    with pytest.warns(UserWarning, match="40 pieces"):
        assert OrdinalEmbedding(random_state=0).fit(once).n_pieces_ == 40
    scale = np.sort(ROWS[:, :3], axis=1)
    with pytest.warns(UserWarning, match="pieces"):
        assert DifferenceScaling().fit(np.concatenate([scale, scale + 15])).n_pieces_ == 2


def test_steps_in_a_long_chain_connect():
    chain = np.stack([np.arange(40), np.arange(1, 41), np.arange(2, 42)], axis=1)
    assert OrdinalEmbedding(random_state=0, max_iter=3, tol=1.0).fit(chain).n_pieces_ == 1


@pytest.mark.parametrize("names", [[1, "P2", 1], [("A", 1), ("B", 1), ("A", 1)]])
def test_groups_may_be_of_any_names(names):
    groups = read_answers([["a", "b", "c"]] * 3, groups=names).groups
    assert group_codes(groups, 3, np.array([0, 1, 2, 2])).tolist() == [0, 1, 0, 0]
