import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import norm

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
    with pytest.raises(ValueError, match=r"^X\b"):
        make_triplets(np.zeros((5, 2)), 10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "cosine"}, r"^metric\b"),
        ({"noise": 1.5}, r"^noise\b"),
        ({"noise": None}, r"^noise\b"),
        ({"metric": None}, r"^metric\b"),
        ({"metric": "precomputed"}, r"^X\b"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        make_triplets(POINTS, 10, **options)


def test_distances_are_no_similarities():
    D = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
    for X in (np.exp(-D), -D):
        with pytest.raises(ValueError, match=r"^X\b"):
            make_triplets(X, 10, metric="precomputed")
    expected = make_triplets(D, 10, metric="precomputed", random_state=0)
    same = make_triplets(-np.exp(-D), 10, metric="precomputed", random_state=0)
    assert_array_equal(same, expected)


def test_the_number_of_triplets_is_a_whole_number():
    with pytest.raises(TypeError, match=r"^n_triplets\b"):
        make_triplets(POINTS, 10.5)
    with pytest.raises(ValueError, match=r"^n_triplets\b"):
        make_triplets(POINTS, 0)


def test_true_is_one_triplet():
    assert make_triplets(POINTS, True).shape == (1, 3)


def test_distances_that_overflow_are_refused():
    with pytest.raises(ValueError, match=r"^X\b"):
        make_triplets(1e200 * POINTS, 10)


@pytest.mark.parametrize("options", [{}, {"queries": [[4, 1, 2], [0, 3, 5]] * 50}])
def test_formats_hold_the_same_answers(options):
    given = {"n_triplets": 300, "noise": 0.3, "random_state": 0, **options}
    order = make_triplets(POINTS, **given)
    for result_format in ("list-boolean", "list-count"):
        rows, responses = make_triplets(POINTS, **given, result_format=result_format)
        turned = np.where((responses > 0)[:, None], rows, rows[:, [0, 2, 1]])
        assert_array_equal(turned, order)
        assert 0 < np.count_nonzero(responses > 0) < 300
    tensor = make_triplets(POINTS, **given, result_format="tensor-count")
    counts = np.zeros((12, 12, 12))
    np.add.at(counts, tuple(rows.T), responses)
    assert_array_equal(tensor.toarray().reshape(12, 12, 12), counts)


def test_all_triplets_are_asked_once():
    triplets = make_triplets(POINTS, random_state=0)
    assert len(triplets) == 12 * 11 * 10 // 2
    assert triplet_error(POINTS, triplets) == 0.0
    questions = np.c_[triplets[:, 0], np.sort(triplets[:, 1:], axis=1)]
    assert len(np.unique(questions, axis=0)) == len(triplets)


def test_a_tie_among_all_triplets_is_answered_by_a_coin():
    answers = [
        make_triplets([[0.0], [1.0], [2.0]], result_format="list-boolean", random_state=seed)[1][1]
        for seed in range(40)
    ]
    assert 5 < np.count_nonzero(answers) < 35


def test_landmarks_are_what_is_chosen_among():
    for size in (400, "all"):
        triplets = make_triplets(POINTS, size, landmarks=[1, 4, 7], random_state=0)
        assert set(np.unique(triplets[:, 1:])) == {1, 4, 7}
        assert set(np.unique(triplets[:, 0])) == set(range(12))
        assert triplet_error(POINTS, triplets) == 0.0
        assert not np.any(triplets[:, [0]] == triplets[:, 1:])
    # Nine others see three pairs, a landmark sees one.
    assert len(triplets) == 9 * 3 + 3
    assert len(np.unique(make_triplets(POINTS, 500, landmarks=4, random_state=0)[:, 1:])) == 4
    assert make_triplets(POINTS[:3], 5, landmarks=2, random_state=0).shape == (5, 3)


def test_given_questions_are_answered_in_their_order():
    queries = np.array([[4, 1, 2], [0, 3, 5], [4, 1, 2]])
    rows, right = make_triplets(POINTS, queries=queries, result_format="list-boolean")
    assert_array_equal(rows, queries)
    near, far = (np.linalg.norm(POINTS[queries[:, 0]] - POINTS[queries[:, c]], axis=1)
                 for c in (1, 2))  # fmt: skip
    assert_array_equal(right, near < far)
    drawn = make_triplets(POINTS, 50, queries=queries, random_state=0)
    assert {tuple(sorted(row)) for row in drawn.tolist()} == {(1, 2, 4), (0, 3, 5)}


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_noise_on_distances_is_that_of_the_difference(metric):
    """On one question the share of right answers is a normal probability."""
    X = np.array([[0.0], [1.0], [1.5]])
    data = X if metric == "euclidean" else np.abs(X - X.T)
    queries = np.repeat([[0, 1, 2]], 4000, axis=0)
    _, right = make_triplets(data, queries=queries, metric=metric, noise=0.5, random_state=0,
                             noise_model="distances", result_format="list-boolean")  # fmt: skip
    assert abs(right.mean() - norm.cdf(0.5 / 0.5)) < 0.02


def test_noise_on_points_moves_all_three():
    """On a line: j is nearer where (k - j)(j + k - 2 i) > 0, here a product of two normals."""
    queries = np.repeat([[0, 1, 2]], 20_000, axis=0)
    _, right = make_triplets([[0.0], [1.0], [1.5]], queries=queries, noise=0.4, random_state=0,
                             noise_model="points", result_format="list-boolean")  # fmt: skip
    # Differences of independent points: k - j, and j + k - 2 i, are uncorrelated.
    first, second = norm.cdf(0.5 / (0.4 * 2**0.5)), norm.cdf(2.5 / (0.4 * 6**0.5))
    assert abs(right.mean() - (first * second + (1 - first) * (1 - second))) < 0.015
    assert make_triplets(POINTS, 50, noise=0.1, noise_model="points").shape == (50, 3)


def test_a_lapse_is_a_coin():
    triplets = make_triplets(POINTS, 5000, lapse=0.4, random_state=0)
    assert abs(triplet_error(POINTS, triplets) - 0.2) < 0.02


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise_model": "white"}, r"^noise_model\b"),
        ({"noise": -1.0, "noise_model": "points"}, r"^noise\b"),
        ({"noise": np.inf, "noise_model": "distances"}, r"^noise\b"),
        ({"lapse": 2.0}, r"^lapse\b"),
        ({"result_format": "order"}, r"^result_format\b"),
        ({"landmarks": 1}, r"^landmarks\b"),
        ({"landmarks": [3]}, r"^landmarks\b"),
        ({"landmarks": [3, 12]}, r"^landmarks\b"),
        ({"landmarks": 3, "queries": [[0, 1, 2]]}, r"^queries\b"),
        ({"queries": [[0, 1, 12]]}, r"^queries\b"),
        ({"queries": [[0, 1]]}, r"^queries\b"),
        ({"queries": [[0, 1, 1]]}, r"^queries\b"),
    ],
)
def test_wrong_designs_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        make_triplets(POINTS, 10, **options)
    square = np.ones((4, 4))
    with pytest.raises(ValueError, match=r"^noise_model\b"):
        make_triplets(square, 10, metric="precomputed", noise_model="points", noise=0.1)
