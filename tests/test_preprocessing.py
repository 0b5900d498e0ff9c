"""Converters, compared with what ratings, ranks, piles and matrices say pair by pair."""

import warnings
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skscreen import read_answers
from skscreen.datasets import make_triplets
from skscreen.preprocessing import (
    paired_from_levels,
    triplets_from_matrix,
    triplets_from_oddoneout,
    triplets_from_piles,
    triplets_from_ranking,
    triplets_from_ratings,
    triplets_from_tensor,
)

RNG = np.random.default_rng(0)
PEOPLE = np.repeat(["P1", "P2"], 10)
PAIRS = np.array([*combinations("abcde", 2)] * 2)
RATED = pd.DataFrame(PAIRS, columns=["one", "two"]).assign(
    alike=RNG.integers(1, 6, size=20), who=PEOPLE, sure=RNG.integers(1, 3, size=20)
)
COLUMNS = ["one", "two"]


def said(answers):
    return sorted(map(tuple, answers.objects[answers.rows].tolist()))


def compared(table=RATED, sign=1):
    """All pairs of ratings of a participant that differ, the more alike one first."""
    for one, two in permutations(table.to_dict("records"), 2):
        if one["who"] == two["who"] and sign * one["alike"] > sign * two["alike"]:
            yield one, two


@pytest.mark.parametrize("dissimilarity", [False, True])
def test_ratings_with_an_object_in_common_are_triplets(dissimilarity):
    expected, n = [], 0
    for one, two in compared(sign=-1 if dissimilarity else 1):
        n += 1
        for i in {one["one"], one["two"]} & {two["one"], two["two"]}:
            j, k = ({x["one"], x["two"]} - {i} for x in (one, two))
            expected.append((i, *j, *k))
    options = {"groups": "who", "dissimilarity": dissimilarity}
    with pytest.warns(UserWarning, match=f"{len(expected)} of {n} comparisons"):
        answers = triplets_from_ratings(RATED, COLUMNS, "alike", **options)
    assert said(answers) == sorted(expected)
    # Those of a participant and a first object are one trial.
    heads = answers.objects[answers.rows[:, 0]]
    for trial in range(len(answers)):
        assert len(set(heads[answers.trials == trial])) == 1
    assert set(answers.groups.tolist()) == {"P1", "P2"} and len(answers.groups) == len(answers)


def test_quadruplets_keep_all_comparisons():
    expected = sorted((a["one"], a["two"], b["one"], b["two"]) for a, b in compared())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = triplets_from_ratings(RATED, COLUMNS, "alike", groups="who", kind="quadruplets")
    assert said(answers) == expected
    assert answers.kind == "quadruplets" and len(answers) == 2
    assert answers.groups.tolist() == ["P1", "P2"]


@pytest.mark.filterwarnings("ignore:.*comparisons are used")
def test_weights_missing_ratings_and_objects():
    table = RATED.assign(alike=RATED.alike.astype(object))
    table.loc[[0, 13], "alike"] = ["?", None]
    answers = triplets_from_ratings(table, COLUMNS, "alike", groups="who", weights="sure",
                                    missing=["?", None], objects=list("zedcba"))  # fmt: skip
    plain = triplets_from_ratings(RATED.drop([0, 13]), COLUMNS, "alike", groups="who")
    assert said(answers) == said(plain) and {0, 13} <= set(answers.left_out.tolist())
    assert answers.objects.tolist() == list("zedcba")
    assert set(answers.weights.tolist()) <= {1.0, 2.0, 4.0} and plain.weights is None
    with pytest.raises(ValueError, match=r"^ratings\b.*row 13"):
        triplets_from_ratings(table, COLUMNS, "alike", missing=["?"])
    with pytest.raises(ValueError, match=r"^ratings\b.*row 0"):
        triplets_from_ratings(table, COLUMNS, "alike", missing=[None])
    with pytest.raises(ValueError, match=r"^objects\b"):
        triplets_from_ratings(RATED, COLUMNS, "alike", objects=list("abcd"))


@pytest.mark.parametrize(
    ("error", "match", "options"),
    [
        (ValueError, "^kind must", {"kind": "pairs"}),
        (TypeError, "^dissimilarity must", {"dissimilarity": 1}),
        (TypeError, r"^table\b", {"columns": None}),
        (ValueError, r"^columns\b", {"columns": ["one"]}),
        (ValueError, r"^ratings\b", {"ratings": "rating"}),
        (ValueError, r"^ratings\b", {"ratings": np.full(20, np.inf)}),
        (ValueError, r"^table\b", {"ratings": np.ones(20)}),
    ],
)
def test_wrong_ratings_are_named(error, match, options):
    with pytest.raises(error, match=match):
        triplets_from_ratings(RATED, **{"columns": COLUMNS, "ratings": "alike", **options})


def test_rankings_by_hand():
    trials = [["q", "a", "b", "c"], ["r", "c", "a", None]]
    expected = [("q", "a", "b"), ("q", "a", "c"), ("q", "b", "c"), ("r", "c", "a")]
    answers = triplets_from_ranking(trials, groups=["P1", "P2"])
    assert said(answers) == expected
    assert answers.trials.tolist() == [0, 0, 0, 1] and answers.groups.tolist() == ["P1", "P2"]
    ranks = np.array([[2, 1, 1], [1, 2, 0]])
    by_rank = triplets_from_ranking(trials, ranks=list(ranks.T), weights=[2.0, 1.0])
    assert said(by_rank) == [("q", "b", "a"), ("q", "c", "a"), ("r", "c", "a")]
    assert by_rank.weights.tolist() == [2, 2, 1]
    some = triplets_from_ranking(trials, ranks=[[2, 1], [None, 2], [1, 0]], missing=[None])
    assert said(some) == [("q", "c", "a"), ("r", "c", "a")]
    for wrong, match in ((["x"] * 2, r"^ranks\b"), (["x"] * 3, r"^ranks\b")):
        with pytest.raises(ValueError, match=match):
            triplets_from_ranking(trials, ranks=wrong)
    with pytest.raises(ValueError, match=r"^ranks\b.*row 1"):
        triplets_from_ranking(trials, ranks=[[2, "no"], [1, 2], [1, 0]])


def test_piles_say_which_pairs_are_together():
    table = pd.DataFrame(
        {"who": list("AAAABBB"), "what": list("abcdabc"), "pile": [1, 1, 2, 2, 1, 2, 2]}
    )
    answers = triplets_from_piles(table, ["what"], "pile", groups="who")
    expected = [(i, j, k) for i, j, rest in (("a", "b", "cd"), ("b", "a", "cd"), ("c", "d", "ab"),
                ("d", "c", "ab"), ("b", "c", "a"), ("c", "b", "a")) for k in rest]  # fmt: skip
    assert said(answers) == sorted(expected)
    four = triplets_from_piles(table, ["what"], "pile", groups="who", kind="quadruplets")
    assert len(four.rows) == 2 * 4 + 1 * 2
    with pytest.raises(ValueError, match=r"^table\b"):
        triplets_from_piles(table, ["what"], "pile")


@pytest.mark.parametrize("symmetric", [False, True])
def test_each_row_of_a_matrix_is_compared(symmetric):
    M = RNG.integers(0, 50, size=(6, 6)).astype(float)
    M = M + M.T if symmetric else M
    M[2, 4] = np.nan
    expected = sorted((i, j, k) for i, j, k in permutations(range(6), 3) if M[i, j] > M[i, k])
    answers = triplets_from_matrix(M)
    assert said(answers) == expected and len(answers) == 6
    assert said(triplets_from_matrix(-M, dissimilarity=True)) == expected
    frame = pd.DataFrame(M, index=list("abcdef"), columns=list("abcdef"))
    assert triplets_from_matrix(frame).objects.tolist() == list("abcdef")
    assert triplets_from_matrix(M, objects=list("fedcba")).objects.tolist() == list("fedcba")
    with pytest.raises(ValueError, match=r"^matrix\b"):
        triplets_from_matrix(M[:4])
    with pytest.raises(ValueError, match=r"^objects\b"):
        triplets_from_matrix(M, objects=list("abc"))


class COO:
    """As the package `sparse` has it."""

    def __init__(self, dense):
        self.coords, self.shape = np.array(np.nonzero(dense)), dense.shape
        self.data, self.ndim = dense[np.nonzero(dense)], dense.ndim


@pytest.mark.parametrize(
    "make",
    [
        COO,
        lambda dense: sparse.csr_array(dense.reshape(3, 9)),
        lambda dense: sparse.csc_matrix(dense.reshape(9, 3)),
    ],
)
def test_tensors_of_counts(make):
    counts = np.zeros((3, 3, 3))
    counts[0, 1, 2], counts[1, 0, 2], counts[2, 0, 1] = 2.0, -1.0, 1.0
    answers = triplets_from_tensor(make(counts), objects=list("abc"))
    assert said(answers) == [("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")]
    assert answers.weights.tolist() == [2, 1, 1]
    made = make_triplets(np.arange(3.0)[:, None], 50, result_format="tensor-count", random_state=0)
    assert triplets_from_tensor(made).weights.sum() == np.abs(made).sum()
    with pytest.raises(ValueError, match=r"^tensor\b"):
        triplets_from_tensor(make(0.0 * counts))
    with pytest.raises(ValueError, match=r"^tensor\b"):
        triplets_from_tensor(sparse.eye_array(2, 9))
    with pytest.raises(TypeError, match=r"^tensor\b"):
        triplets_from_tensor(counts)


def test_choices_of_the_odd_one_out_are_two_triplets_each():
    odd = read_answers([["a", "b", "c"], ["d", "b", "a"]], kind="oddoneout", chosen=["a", "b"])
    answers = triplets_from_oddoneout(odd)
    assert said(answers) == [("a", "d", "b"), ("b", "c", "a"), ("c", "b", "a"), ("d", "a", "b")]
    assert answers.trials.tolist() == [0, 0, 1, 1] and len(answers) == 2
    with pytest.raises(ValueError, match=r"^answers\b"):
        triplets_from_oddoneout(answers)
    with pytest.raises(TypeError, match=r"^answers\b"):
        triplets_from_oddoneout([[0, 1, 2]])


def test_levels_of_single_objects_are_paired():
    table = pd.DataFrame({"lum": [1, 2, 1], "col": ["r", "g", "g"], "bright": [3, 5, 3]})
    answers = paired_from_levels(table, [("lum", "col")], "bright")
    assert said(answers) == [((2, "g"), (1, "g")), ((2, "g"), (1, "r"))]
    assert answers.kind == "paired" and len(answers) == 1


def test_groups_may_be_numbers_beside_strings():
    table = RATED.assign(who=[1] * 10 + ["P2"] * 10)
    answers = triplets_from_ratings(table, COLUMNS, "alike", groups="who", kind="quadruplets")
    same = triplets_from_ratings(RATED, COLUMNS, "alike", groups="who", kind="quadruplets")
    assert said(answers) == said(same) and set(answers.groups.tolist()) == {1, "P2"}


def test_rankings_of_weight_zero_are_left_out():
    table = [["q", "a", "b"], ["r", "a", "b"]]
    answers = triplets_from_ranking(table, weights=[0.0, 2.0])
    assert said(answers) == [("r", "a", "b")] and answers.left_out.tolist() == [0]
    assert answers.weights.tolist() == [2]
    with pytest.raises(ValueError, match=r"^table\b"):
        triplets_from_ranking(table, weights=[0.0, 0.0])


def test_values_missing_from_ranks_need_ranks():
    table = [["q", "a", "b", "-"], ["r", "a", "b", "c"]]
    with pytest.raises(ValueError, match=r"^missing\b.*'-'"):
        triplets_from_ranking(table, missing=["-"])
    with pytest.raises(ValueError, match=r"^ranks\b"):
        triplets_from_ranking(table, ranks=3)
