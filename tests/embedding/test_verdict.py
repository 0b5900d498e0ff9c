"""What is said after a fit: that answers agree no better than chance, or their reverse better."""

import warnings

import numpy as np
import pytest
from embedding_reference import trials_of, triplets_of

from skscreen import OrdinalEmbedding, read_answers

N = 24
POINTS = np.random.default_rng(0).normal(size=(N, 2))
T = triplets_of(POINTS, 900, 1, noise=0.1)
TRIALS, ODD = trials_of(POINTS, 1200, 3, noise=0.1)


def model(**options):
    return OrdinalEmbedding(**{"random_state": 0, **options})


def test_answers_read_in_the_wrong_way_are_told_by_chance():
    with pytest.warns(UserWarning, match=r"\bchance\b"):
        model(loss="oddoneout").fit(TRIALS, (ODD + 1) % 3)
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="binomial test"):
        model().fit(np.array([rng.permutation(N)[:3] for _ in range(2000)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(loss="oddoneout").fit(TRIALS, ODD)
        # A fifth of the answers at random, and few of them.
        model().fit(triplets_of(POINTS, 300, 5, noise=0.1))
        model().fit(triplets_of(POINTS, 1500, 5, noise=0.3))


@pytest.mark.parametrize("weighted", [False, True])
def test_answers_read_in_the_wrong_direction_are_told_by_a_map_of_the_reverse(weighted):
    weight = np.random.default_rng(5).uniform(0.5, 1.5, size=900) if weighted else None
    rejected = T[:, [0, 2, 1]]
    with pytest.warns(UserWarning, match=r"\breverse\b"):
        model().fit(rejected, sample_weight=weight)
    four = read_answers(np.column_stack([T[:, [0, 2]], T[:, [0, 1]]]), kind="quadruplets")
    with pytest.warns(UserWarning, match=r"\breverse\b"):
        model(loss="ste").fit(four, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The right direction of answers of which a quarter is wrong.
        noisy = np.where(np.random.default_rng(4).uniform(size=(900, 1)) < 0.2, rejected, T)
        assert model().fit(noisy).score(noisy) < 0.8


def test_the_most_central_object_is_not_the_odd_one():
    sides = np.linalg.norm(POINTS[TRIALS] - POINTS[np.roll(TRIALS, 1, axis=1)], axis=2)
    # The one opposite to the longest side.
    central = (sides.argmax(axis=1) + 1) % 3
    with pytest.warns(UserWarning, match=r"\breverse\b"):
        model(loss="oddoneout").fit(TRIALS, central)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right = read_answers(TRIALS, kind="mostcentral", chosen=central, response="position")
        assert model().fit(right).score(right) > 0.9
