"""Triplets from other kinds of answers, compared with what each answer says pair by pair."""

from decimal import Decimal
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest

from skscreen.preprocessing import (
    triplets_from_mostcentral,
    triplets_from_multiselect,
    triplets_from_oddoneout,
    triplets_from_ranking,
    triplets_from_ratings,
    triplets_from_votes,
)

TRIALS = np.array([[0, 1, 2, 3], [5, 6, 7, 8], [3, 9, 0, 4]])
NAMES = np.array(list("abcdefghij"))


def sorted_rows(triplets):
    return sorted(map(tuple, np.asarray(triplets).tolist()))


@pytest.mark.parametrize("y", [None, [0, 2, 3]])
@pytest.mark.parametrize("width", [3, 4])
def test_odd_one_out_and_most_central(y, width):
    trials = TRIALS[:, :width]
    y = None if y is None else np.minimum(y, width - 1)
    odd, central = [], []
    for trial, column in zip(trials.tolist(), [0, 0, 0] if y is None else y, strict=True):
        chosen = trial.pop(column)
        for i, j in permutations(trial, 2):
            odd.append((i, j, chosen))
            central.append((i, chosen, j))
    assert sorted_rows(triplets_from_oddoneout(trials, y)) == sorted(odd)
    assert sorted_rows(triplets_from_mostcentral(trials, y)) == sorted(central)


@pytest.mark.parametrize("function", [triplets_from_oddoneout, triplets_from_mostcentral])
def test_choices_by_name(function):
    columns = [1, 2, 0]
    expected = NAMES[function(TRIALS, columns)].tolist()
    words = NAMES[TRIALS]
    chosen = words[np.arange(3), columns]
    for X in (words, words.tolist(), pd.DataFrame(words, columns=list("wxyz"))):
        assert function(X, columns).tolist() == expected
        assert function(X, chosen).tolist() == expected
        assert function(X, pd.Series(chosen, index=[7, 8, 9])).tolist() == expected


def test_the_triplets_of_a_trial_are_next_to_each_other():
    for function in (triplets_from_oddoneout, triplets_from_mostcentral):
        triplets = function(TRIALS)
        trial = np.repeat(range(3), len(triplets) // 3)
        for row, objects in zip(triplets, TRIALS[trial], strict=True):
            assert set(row) <= set(objects)


@pytest.mark.parametrize("is_ranked", [False, True])
@pytest.mark.parametrize("columns", [None, [[2, 1], [1, 3], [3, 2]]])
def test_selections(columns, is_ranked):
    expected = []
    for row, chosen in zip(TRIALS.tolist(), columns or [[1, 2]] * 3, strict=True):
        picked = [row[c] for c in chosen]
        others = [o for o in row[1:] if o not in picked]
        expected += [(row[0], j, k) for j in picked for k in others]
        if is_ranked:
            expected += [(row[0], *pair) for pair in combinations(picked, 2)]
    select = 2 if columns is None else columns
    assert sorted_rows(triplets_from_multiselect(TRIALS, select, is_ranked)) == sorted(expected)


def test_selections_in_columns_of_lists():
    chosen = [[2, 1], [1, 3], [3, 2]]
    expected = triplets_from_multiselect(TRIALS, chosen).tolist()
    makers = [pd.Series, pytest.importorskip("polars").Series, pytest.importorskip("pyarrow").array]
    for make in makers:
        assert triplets_from_multiselect(TRIALS, make(chosen)).tolist() == expected


def test_rankings():
    expected = [(row[0], *pair) for row in TRIALS.tolist() for pair in combinations(row[1:], 2)]
    assert sorted_rows(triplets_from_ranking(TRIALS)) == sorted(expected)
    assert sorted_rows(triplets_from_ranking(TRIALS, [[1, 2, 3]] * 3)) == sorted(expected)
    # Ties and what was not ranked say nothing.
    some = triplets_from_ranking(NAMES[TRIALS[:1]], [[2.0, 1.0, 2.0]])
    assert sorted_rows(some) == [("a", "c", "b"), ("a", "c", "d")]
    assert sorted_rows(triplets_from_ranking(TRIALS[:1], [[np.nan, 2, 1]])) == [(0, 3, 2)]
    assert triplets_from_ranking(TRIALS, np.zeros((3, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: triplets_from_oddoneout([[0, 1]]), "X must have .* at least 3 objects"),
        (
            lambda: triplets_from_oddoneout(TRIALS, [0, 1]),
            "y must have one response or choice for each of the 3",
        ),
        (
            lambda: triplets_from_oddoneout(TRIALS, [0, 1, 4]),
            "y must hold columns of X that can be chosen, 0, 1, 2, 3",
        ),
        (lambda: triplets_from_oddoneout(TRIALS, [0.5, 1, 2]), "y must hold columns"),
        (lambda: triplets_from_oddoneout(NAMES[TRIALS], ["a", "b", "a"]), "y must name .* row 1"),
        (lambda: triplets_from_oddoneout([["a", "a", "b"]], ["a"]), "y must name one"),
        (lambda: triplets_from_mostcentral([["a", None, "b"]]), "X has a missing answer"),
        (lambda: triplets_from_multiselect(TRIALS, 4), "select must be from 1 to 3, got 4"),
        (lambda: triplets_from_multiselect(TRIALS, [[0], [1], [2]]), "select must .* from"),
        (lambda: triplets_from_multiselect(TRIALS, [[1, 1]] * 3), "select must not name a column"),
        (lambda: triplets_from_multiselect([[0, 1]], 1), "X must have a row for each trial"),
        (lambda: triplets_from_ranking(TRIALS, [[1, 2]] * 3), r"ranks must have shape \(3, 3\)"),
        (lambda: triplets_from_ranking(TRIALS, "abc"), "ranks must hold numbers"),
        (lambda: triplets_from_votes(TRIALS, np.zeros((3, 4))), "at least one of the votes"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("code", [-1, -99, 99, 999])
def test_codes_of_missing_answers_are_no_ranks(code):
    ranks = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 3.0, 1.0]])
    expected = triplets_from_ranking(TRIALS, ranks).tolist()
    assert triplets_from_ranking(TRIALS, ranks - 1.0).tolist() == expected
    assert triplets_from_ranking(TRIALS, ranks - 2.0).tolist() == expected
    ranks[1, 2] = code
    pairs = TRIALS[:, :2].repeat(3, axis=0)
    for call in (lambda r: triplets_from_ranking(TRIALS, r),
                 lambda r: triplets_from_ratings(pairs, r.ravel())):  # fmt: skip
        with pytest.raises(ValueError, match=f"has {code} in row .* pass ra(nks|tings) \\+ 1"):
            call(ranks)
        call(ranks + 1)


def test_what_holds_no_numbers_or_objects_is_named():
    with pytest.raises(ValueError, match=r"ranks must hold numbers, .* triplets_from_multiselect"):
        triplets_from_ranking(TRIALS, np.eye(3, dtype=bool))
    with pytest.raises(ValueError, match="votes must hold numbers, 0 where there is none"):
        triplets_from_votes(TRIALS, np.where(np.eye(3, 4) > 0, np.nan, 1.0))
    with pytest.raises(ValueError, match="got 'NA' in row 1, column 1"):
        triplets_from_ratings([["a", "b"], ["a", "NA"]], [1, 2])


@pytest.mark.parametrize(
    ("select", "call"),
    [
        (["b,c", "c,d"], r"cell\.split\(','\)"),
        (['["b", "c"]', '["c", "d"]'], r"json\.loads\(cell\)"),
        ([[True, True, False], [False, True, True]], "by columns, numpy.array"),
        ([[1, 1, 0], [0, 1, 1]], "by columns, numpy.array"),
    ],
)
def test_chosen_objects_in_other_forms_are_named_with_the_call(select, call):
    with pytest.raises(ValueError, match=rf"select must hold .*{call}"):
        triplets_from_multiselect([list("abcd"), list("abcd")], select)


def test_the_call_for_indicators_works():
    X, select = [list("abcd"), list("abcd")], np.array([[1, 1, 0], [0, 1, 1]])
    columns = np.array([1, 2, 3])[np.nonzero(select)[1]].reshape(len(X), -1)
    wanted = triplets_from_multiselect(X, [["b", "c"], ["c", "d"]])
    np.testing.assert_array_equal(triplets_from_multiselect(X, columns), wanted)


def test_ranks_that_are_no_numbers_are_named_with_the_call():
    with pytest.raises(ValueError, match=r"ranks\.astype\(float\) does.*without ranks"):
        triplets_from_ranking([list("abc")], [["1st", "2nd"]])


def test_ratings_that_are_no_numbers_are_named():
    with pytest.raises(ValueError, match=r"got Decimal\('1.5'\): leave .* as ratings.astype"):
        triplets_from_ratings([["a", "b"], ["a", "c"]], [2, Decimal("1.5")])


def test_sets_of_chosen_objects():
    X, chosen = [list("abcd"), list("abcd")], [["b", "c"], ["d", "c"]]
    wanted = {tuple(row) for row in triplets_from_multiselect(X, chosen).tolist()}
    sets = triplets_from_multiselect(X, [set(row) for row in chosen])
    assert {tuple(row) for row in sets.tolist()} == wanted
    with pytest.raises(ValueError, match="select must hold lists in order if is_ranked=True"):
        triplets_from_multiselect(X, [set(row) for row in chosen], is_ranked=True)


def test_columns_of_ranks_named_by_words_of_one_letter():
    X = pd.DataFrame([list("wxyz")], columns=["ref", "a", "b", "c"])
    ranks = pd.DataFrame([[1, 2, 3]], columns=["rank_c", "rank_a", "rank_b"])
    with pytest.raises(ValueError, match=r"Pass ranks\[\['rank_a', 'rank_b', 'rank_c'\]\]"):
        triplets_from_ranking(X, ranks)
    in_order = triplets_from_ranking(X, ranks[["rank_a", "rank_b", "rank_c"]])
    np.testing.assert_array_equal(in_order, triplets_from_ranking(X, [[2, 3, 1]]))
