import numpy as np
import pytest
from rtlm_reference import brute_force_triplets, triplets_from_array

from skscreen.metric_learning.problem.triplets import locality_order, triplets_from_labels


def expand(items):
    """All items as rows (i, j, l), placed by item number."""
    triplets = np.full((items.n_items, 3), -1)
    places = np.arange(items.n_places) if items.places is None else items.places
    for p in range(len(items.near)):
        for s in range(items.start[p], items.stop[p]):
            i, j = items.near[p]
            anchor, l = items.far[places[s]]
            assert anchor == i
            assert np.all(triplets[items.base[p] + items.rank[s]] == -1)
            triplets[items.base[p] + items.rank[s]] = i, j, l
    assert triplets.min() >= 0
    return triplets


def labelled(sizes, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return rng.normal(size=(y.size, 3)), y


@pytest.mark.parametrize("k", [1, 2, 5, None])
@pytest.mark.parametrize("sizes", [(8, 9), (2, 12, 5), (2, 2)])
def test_labels_give_the_triplets_of_a_full_sort_in_its_order(sizes, k):
    X, y = labelled(sizes)
    items = triplets_from_labels(X, y, k)
    np.testing.assert_array_equal(expand(items), brute_force_triplets(X, y, k))


@pytest.mark.parametrize("scale", [1e-38, 1.0, 1e38, 0.0])
def test_in_order_of_locality_classes_are_together_and_sorted_along_the_widest_direction(scale):
    X, y = labelled((30, 40))
    X = (X - X.mean(axis=0)) * scale * np.array([1.0, 9.0, 1.0])
    order = locality_order(X, y)
    assert np.array_equal(np.sort(order), np.arange(70))
    assert np.all(np.diff(y[order]) >= 0)
    for code in (0, 1):
        places = X[order[y[order] == code], 1]
        assert scale == 0.0 or abs(np.corrcoef(places, np.arange(places.size))[0, 1]) > 0.9


def test_a_small_class_gives_the_neighbours_it_has():
    X, y = labelled((3, 20))
    triplets = expand(triplets_from_labels(X, y, 6))
    for i in range(len(X)):
        near, far = (np.unique(triplets[triplets[:, 0] == i, column]) for column in (1, 2))
        assert near.size == (2 if y[i] == 0 else 6)
        assert far.size == (6 if y[i] == 0 else 3)


def test_duplicate_rows_give_valid_triplets():
    X, y = labelled((6, 7))
    X[3:9] = X[3]
    triplets = expand(triplets_from_labels(X, y, 3))
    i, j, l = triplets.T
    assert np.all(i != j)
    assert np.all(y[i] == y[j])
    assert np.all(y[i] != y[l])
    assert len(np.unique(triplets, axis=0)) == len(triplets)


@pytest.mark.parametrize("k", [2, 6, None])
def test_the_triplets_of_some_anchors_are_a_part_of_all(k):
    X, y = labelled((6, 9, 2))
    whole = expand(triplets_from_labels(X, y, k))
    order = np.argsort(y, kind="stable")
    parts = [triplets_from_labels(X, y, k, anchors=own) for own in np.array_split(order, 5)]
    np.testing.assert_array_equal(np.concatenate([expand(part) for part in parts]), whole)


def test_an_anchor_with_many_copies_is_not_its_own_neighbour():
    X, y = labelled((12, 7))
    X[y == 0] = 1.0
    items = triplets_from_labels(X, y, 3, anchors=np.arange(len(X)))
    assert np.all(items.near[:, 0] != items.near[:, 1])
    assert items.n_items == triplets_from_labels(X, y, 3).n_items


def test_explicit_triplets_keep_their_row_numbers():
    rng = np.random.default_rng(0)
    triplets = np.stack([rng.permutation(9)[:3] for _ in range(200)])
    np.testing.assert_array_equal(expand(triplets_from_array(triplets)), triplets)


def test_far_pairs_of_explicit_triplets_are_stored_once():
    triplets = np.array([(0, 1, 5), (0, 2, 5), (0, 3, 5), (0, 3, 4)])
    items = triplets_from_array(triplets)
    assert len(items.far) == 2
    assert len(items.near) == 3


def test_one_triplet():
    np.testing.assert_array_equal(expand(triplets_from_array(np.array([[2, 0, 1]]))), [[2, 0, 1]])


def test_too_many_triplets_are_refused_with_their_number_and_size(little_memory):
    X, y = labelled((5, 5))
    little_memory(1000)
    with pytest.raises(MemoryError, match=r"^200 triplets\b.*\bn_neighbors\b"):
        triplets_from_labels(X, y, None)


@pytest.mark.few(1)
@pytest.mark.parametrize("k", [1, 3, 7])
def test_many_small_classes_are_searched_together(k):
    """And those too large for that, and those of one member."""
    X, y = labelled(np.resize([1, 2, 3, 5, 9, 17], 120))
    X, y = np.concatenate((X, X[:70] + 0.5)), np.concatenate((y, np.full(70, 120)))
    items = triplets_from_labels(X, y, k)
    np.testing.assert_array_equal(expand(items), brute_force_triplets(X, y, k))
