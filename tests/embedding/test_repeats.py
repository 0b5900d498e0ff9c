from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skscreen import read_answers
from skscreen.metrics import noise_ceiling
from skscreen.metrics.answers import Votes, ceiling_of


def from_table(votes):
    questions, options = np.nonzero(votes)
    counts = votes[questions, options].astype(float)
    return ceiling_of(Votes(questions, options, votes.shape[1], counts, np.ones(len(counts))))


def by_hand(votes):
    """From lists of answers, one answer and one pair of answers after the other."""
    lists = [np.repeat(np.arange(len(row)), row) for row in votes if sum(row) >= 2]
    agreement, lower, upper, n = 0.0, 0.0, 0.0, sum(map(len, lists))
    for said in lists:
        pairs = list(combinations(said, 2))
        agreement += len(said) * np.mean([a == b for a, b in pairs])
        upper += np.bincount(said).max()
        for place, one in enumerate(said):
            others = np.bincount(np.delete(said, place), minlength=len(votes[0]))
            most = np.flatnonzero(others == others.max())
            lower += np.mean(most == one)
    return agreement / n, lower / n, upper / n, len(lists), n


@pytest.mark.parametrize("options", [2, 3])
def test_votes_by_hand(options):
    votes = np.random.default_rng(0).integers(0, 5, size=(40, options))
    found = from_table(votes)
    assert_allclose(found, by_hand(votes.tolist()))
    assert found.lower <= found.agreement or options > 2
    assert found.lower <= found.upper


def test_who_knows_the_probabilities_is_between_the_bounds():
    rng = np.random.default_rng(1)
    chance = rng.uniform(0.5, 1.0, size=3000)
    first = rng.binomial(9, chance)
    found = from_table(np.stack([first, 9 - first], axis=1))
    assert found.lower < chance.mean() < found.upper
    assert_allclose(found.agreement, np.mean(chance**2 + (1.0 - chance) ** 2), atol=0.01)


def test_the_same_question_in_any_form():
    rows = [[0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 0, 2], [3, 1, 2]]
    found = noise_ceiling(rows)
    assert (found.n_questions, found.n_answers) == (1, 3)
    assert_allclose(found[:3], [1.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0])
    assert noise_ceiling([[0, 1, 2]] * 3, [1, 1, -1])[:3] == found[:3]
    votes = read_answers([[0, 1, 2]], chosen=[[2], [1]], response="count")
    assert noise_ceiling(votes)[:3] == found[:3]
    assert noise_ceiling([["a", "b", "c"], ["a", "b", "c"], ["a", "c", "b"]])[:3] == found[:3]
    # The pairs of a quadruplet, and the objects of a pair, in any order.
    assert noise_ceiling(pairs([[0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 0, 1]]))[:3] == found[:3]
    # A triplet is a quadruplet with one object twice.
    assert noise_ceiling(pairs([[0, 1, 0, 2], [1, 0, 2, 0], [0, 2, 0, 1]]))[:3] == found[:3]


def test_choices_of_the_odd_one_out():
    shown = [["cat", "dog", "car"], ["car", "cat", "dog"], ["dog", "car", "cat"]]
    found = noise_ceiling(read_answers(shown, kind="oddoneout", chosen=["car", "car", "cat"]))
    assert_allclose(found[:3], [1.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0])
    assert noise_ceiling(shown, [2, 0, 2], oddoneout=True) == found
    paired = read_answers([["a", "b"], ["a", "b"], ["b", "a"]], kind="paired")
    assert noise_ceiling(paired)[:3] == found[:3]


def pairs(rows):
    return read_answers(rows, kind="quadruplets")


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ([[0, 1, 2], [1, 2, 0]], {}, r"^X\b"),
        (read_answers([[0, 1, 2]], weights=[1.5]), {}, r"^X\b"),
        ([[0, 1], [0, 1]], {}, "X must have"),
    ],
)
def test_wrong_answers(X, options, message):
    with pytest.raises(ValueError, match=message):
        noise_ceiling(X, **options)


def test_the_switch_is_a_truth_value():
    with pytest.raises(TypeError, match=r"^oddoneout\b"):
        noise_ceiling([[0, 1, 2]] * 2, oddoneout="yes")


def test_equal_counts_are_counts():
    assert noise_ceiling(read_answers([[0, 1, 2], [0, 1, 3]], weights=[3, 3])).n_answers == 6
    found = noise_ceiling(read_answers([[0, 1, 2], [0, 2, 1]], weights=[2, 2]))
    assert found.n_answers == 4
    assert_allclose(found.agreement, 1.0 / 3.0)


@pytest.mark.parametrize("grouped", [False, True])
def test_weights_and_participants_by_hand(grouped):
    """One answer after the other is compared with those of others."""
    rng = np.random.default_rng(3)
    m = 150
    rows = np.array([rng.choice(5, 3, replace=False) for _ in range(m)])
    weights, people = rng.integers(0, 4, m) / 2.0, rng.integers(4, size=m)
    found = noise_ceiling(rows, sample_weight=weights, groups=people if grouped else None)
    keys = [(i, *sorted((j, k))) for i, j, k in rows.tolist()]
    sums, agreement, lower, questions = 0.0, 0.0, 0.0, set()
    for a in np.flatnonzero(weights):
        votes = [0.0, 0.0]
        for b in np.flatnonzero(weights):
            other = people[b] != people[a] if grouped else a != b
            if keys[a] == keys[b] and other:
                votes[int(rows[a, 1] != rows[b, 1])] += weights[b]
        if sum(votes):
            sums += weights[a]
            agreement += weights[a] * votes[0] / sum(votes)
            lower += weights[a] * (0.5 if votes[0] == votes[1] else votes[0] > votes[1])
            questions.add(keys[a])
    upper = 0.0
    for key in questions:
        same = np.array([k == key for k in keys])
        upper += max(weights[same & (rows[:, 1] == j)].sum() for j in key[1:])
    assert_allclose(found[:3], np.array([agreement, lower, upper]) / sums)
    assert found.n_questions == len(questions)


def test_somebody_alone_is_no_ceiling():
    rows = [[0, 1, 2]] * 3 + [[1, 0, 2]]
    assert noise_ceiling(rows).agreement == 1.0
    with pytest.raises(ValueError, match=r"^X\b"):
        noise_ceiling(rows, groups=["a", "a", "a", "b"])
    with pytest.raises(ValueError, match="sample_weight"):
        noise_ceiling(rows, sample_weight=[1.0])
