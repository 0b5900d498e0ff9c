"""What is said after a fit: that answers agree no better than chance, or their reverse better."""

import warnings

import numpy as np
import pytest
from embedding_reference import trials_of, triplets_of

from skscreen import OrdinalEmbedding, read_answers
from skscreen._compiled import embedding

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


def rough_shares(rows, weights, n, p):
    """The shares that agree, from all eigenvalues of the sums of quadruplets."""
    sums = np.zeros((n, n))
    for (i, j, k, l), weight in zip(rows, weights, strict=True):
        sums[[i, j], [j, i]] += weight
        sums[[k, l], [l, k]] -= weight
    centring = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(centring @ sums @ centring)
    largest = np.argsort(-np.abs(values))[: min(2 * p + 2, n - 1)]
    shares = []
    for sign in (1.0, -1.0):
        kept = sorted((k for k in largest if sign * values[k] > 0.0), key=lambda k: -abs(values[k]))
        X = vectors[:, kept[:p]] * np.sqrt(np.abs(values[kept[:p]]))
        a, c = (np.square(X[rows[:, k]] - X[rows[:, k + 1]]).sum(axis=1) for k in (0, 2))
        shares.append(weights @ (sign * (c - a) > 0.0) / weights.sum())
    return shares


@pytest.mark.parametrize("p", [1, 2, 3, 20])
@pytest.mark.parametrize("kind", ["triplets", "quadruplets", "trials"])
def test_rough_maps_are_those_of_all_eigenvalues(kind, p):
    n, weights = 13, np.random.default_rng(1).uniform(0.1, 1.0, size=200)
    triplets = triplets_of(POINTS[:n], 200, 2, noise=0.2).astype(np.int32)
    rows = np.insert(triplets, 2, triplets[:, 0], axis=1)
    given = rows if kind == "quadruplets" else triplets
    shares = embedding.rough_agreement(given, weights, kind == "trials", n, p, 2000)
    if kind == "trials":
        rows = np.concatenate([rows, triplets[:, [0, 1, 1, 2]]])
        weights = np.tile(weights, 2)
    np.testing.assert_allclose(shares, rough_shares(rows, weights, n, p), atol=1e-12)
    # Other objects, which are in no answer, change nothing but the start.
    more = embedding.rough_agreement(given, weights[:200], kind == "trials", n + 5, p, 2000)
    np.testing.assert_allclose(more, shares, atol=1e-12 if p < 20 else 1.0)


def told(rows):
    """Whether a fit says that the reverse agrees better."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model().fit(rows)
    return any("reverse of the answers" in str(warning.message) for warning in found)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "least"), [(60, 4), (100, 6)])
def test_noisy_answers_are_told_to_be_reversed_and_right_ones_are_not(n, least):
    caught = 0
    for seed in range(6):
        points = np.random.default_rng(seed).normal(size=(n, 2))
        noisy, weak = (triplets_of(points, 30 * n, 50 + seed, noise=noise) for noise in (0.1, 0.3))
        caught += told(noisy[:, [0, 2, 1]])
        assert not told(noisy)
        assert not told(weak)
    assert caught >= least
