import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skscreen.datasets import load_eurodist, make_triplets
from skscreen.metrics import triplet_error

POINTS = np.random.default_rng(0).normal(size=(12, 3))


def test_eurodist_is_a_table_of_distances():
    cities = load_eurodist()
    assert cities.distances.shape == (21, 21) == (len(cities.names),) * 2
    assert_array_equal(cities.distances, cities.distances.T)
    assert_array_equal(np.diag(cities.distances), 0.0)
    assert (cities.distances[~np.eye(21, dtype=bool)] > 0.0).all()
    at = {name: index for index, name in enumerate(cities.names)}
    assert cities.distances[at["Athens"], at["Barcelona"]] == 3313
    assert cities.distances[at["Stockholm"], at["Vienna"]] == 2105
    assert cities.distances[at["Gibraltar"], at["Hook of Holland"]] == 2428


def test_triplets_are_true_of_points_and_of_distances():
    triplets = make_triplets(POINTS, 500, random_state=0)
    assert triplets.shape == (500, 3)
    assert triplet_error(POINTS, triplets) == 0.0
    distances = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
    same = make_triplets(distances, 500, metric="precomputed", random_state=0)
    assert_array_equal(triplets, same)
    assert not np.array_equal(triplets, make_triplets(POINTS, 500, random_state=1))


def test_all_objects_are_drawn_equally_often():
    triplets = make_triplets(POINTS, 30_000, random_state=0)
    assert (np.sort(triplets, axis=1)[:, :-1] != np.sort(triplets, axis=1)[:, 1:]).all()
    # Standard deviation of a count is 83.
    assert abs(np.bincount(triplets[:, 0]) - 2500).max() < 250
    assert abs(np.bincount(triplets.ravel()) - 7500).max() < 450


def test_noise_turns_a_share_round():
    triplets = make_triplets(POINTS, 5000, noise=0.2, random_state=0)
    assert abs(triplet_error(POINTS, triplets) - 0.2) < 0.02


def test_ties_are_drawn_again():
    corners = [[0.0], [1.0], [2.0]]
    # From the middle both others are equally far.
    assert 1 not in make_triplets(corners, 200, random_state=0)[:, 0]
    with pytest.raises(ValueError, match="X has nothing to compare"):
        make_triplets(np.zeros((5, 2)), 10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "cosine"}, "metric must be"),
        ({"noise": 1.5}, "noise must be"),
        ({"noise": None}, "noise must be"),
        ({"metric": None}, "metric must be"),
        ({"metric": "precomputed"}, "X must be a square matrix"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        make_triplets(POINTS, 10, **options)


def test_the_number_of_triplets_is_a_whole_number():
    with pytest.raises(TypeError, match="n_triplets must be an instance of int"):
        make_triplets(POINTS, 10.5)
    with pytest.raises(ValueError, match="n_triplets == 0, must be >= 1"):
        make_triplets(POINTS, 0)


def test_true_is_one_triplet():
    assert make_triplets(POINTS, True).shape == (1, 3)


def test_distances_that_overflow_are_refused():
    with pytest.raises(ValueError, match="X must hold numbers of at most"):
        make_triplets(1e200 * POINTS, 10)
