from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score

from skscreen.metrics import (
    mean_average_precision,
    mean_average_precision_at_r,
    precision_at_k,
    procrustes_distance,
    r_precision,
    recall_at_k,
    retrieval_recall_at_k,
    sequence_accuracy,
    span_f1,
    triplet_error,
)

LINE = [[0.0], [1.0], [3.0], [-1.0]]
RELEVANT = np.array([[1, 0, 1, 0], [0, 1, 0, 0]], dtype=bool)
# Ranks: relevant, not, not, relevant; and not, relevant, not, not.
DISTANCES = np.array([[0.1, 0.2, 0.9, 0.3], [0.1, 0.2, 0.3, 0.4]])


def test_triplet_error_counts_ties_and_nan_as_wrong():
    assert triplet_error(LINE, [[0, 1, 2]]) == 0.0
    assert triplet_error(LINE, [[0, 1, 2], [0, 2, 1], [0, 1, 3], [1, 0, 2]]) == 0.5
    assert triplet_error(LINE, [[0, 1, 2], [0, 2, 1]], [1, -1]) == 0.0
    assert triplet_error(LINE, [[0, 1, 3]], [-1]) == 1.0
    assert triplet_error(np.full((3, 2), np.nan), [[0, 1, 2]]) == 1.0
    assert triplet_error([[0.0], [1.0], [np.inf]], [[0, 1, 2], [0, 2, 1]]) == 0.5
    assert triplet_error(LINE, [[0, 1, 1, 2]]) == 0.0
    weights = [3.0, 1.0]
    assert triplet_error(LINE, [[0, 1, 2], [0, 2, 1]], sample_weight=weights) == 0.25
    with pytest.raises(ValueError, match="X names 1 objects that are not known, 4"):
        triplet_error(LINE, [[0, 1, 4]])


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300, 1.5e308])
def test_triplet_error_does_not_depend_on_the_unit(size):
    rng = np.random.default_rng(0)
    X, triplets = rng.uniform(-1.0, 1.0, (20, 3)), rng.integers(20, size=(300, 3))
    quadruplets = rng.integers(20, size=(300, 4))
    triplets = triplets[(triplets[:, 0] != triplets[:, 1]) & (triplets[:, 1] != triplets[:, 2])
                        & (triplets[:, 0] != triplets[:, 2])]  # fmt: skip
    quadruplets = quadruplets[(quadruplets[:, 0] != quadruplets[:, 1])
                              & (quadruplets[:, 2] != quadruplets[:, 3])]  # fmt: skip
    for rows in (triplets, quadruplets):
        assert triplet_error(size * X, rows) == triplet_error(X, rows)
    # Two objects far away, the others near each other.
    far = np.array([[0.0], [1.0], [3.0], [size], [-size]])
    assert triplet_error(far, [[0, 1, 2], [0, 2, 3], [3, 0, 4]][: 1 if size < 1.0 else 3]) == 0.0


def test_procrustes_distance_ignores_what_answers_cannot_tell():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    turn = np.array([[0.6, -0.8], [-0.8, -0.6]])
    assert_allclose(procrustes_distance(X, 3.0 * X @ turn + 5.0), 0.0, atol=1e-12)
    assert 0.0 < procrustes_distance(X, X + 0.1 * rng.normal(size=X.shape)) < 0.05
    with pytest.raises(ValueError, match="same shape"):
        procrustes_distance(X, X[:5])


def test_retrieval_by_hand():
    assert precision_at_k(RELEVANT, DISTANCES, 1) == 0.5
    assert precision_at_k(RELEVANT, DISTANCES, 2) == 0.5
    assert recall_at_k(RELEVANT, DISTANCES, 2) == 0.75
    assert recall_at_k(RELEVANT, DISTANCES, 4) == 1.0
    assert_allclose(mean_average_precision(RELEVANT, DISTANCES), ((1.0 + 2 / 4) / 2 + 1 / 2) / 2)


def test_average_precision_is_that_of_scikit_learn():
    """Over the whole ranking, and not cut after the number of relevant items."""
    rng = np.random.default_rng(0)
    relevant, distances = rng.uniform(size=(30, 200)) < 0.3, rng.uniform(size=(30, 200))
    each = [average_precision_score(*row) for row in zip(relevant, -distances, strict=True)]
    assert_allclose(mean_average_precision(relevant, distances), np.mean(each), rtol=1e-12)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="k must be from 1 to 4"):
        precision_at_k(RELEVANT, DISTANCES, 5)
    with pytest.raises(TypeError, match="k must be an instance of int"):
        precision_at_k(RELEVANT, DISTANCES, None)
    with pytest.raises(ValueError, match="relevant must hold booleans or numbers"):
        precision_at_k(np.array([["a", "b"]]), [[1.0, 2.0]], 1)
    with pytest.raises(ValueError, match="Y must have two different points"):
        procrustes_distance([[0.0], [1.0]], [[2.0], [2.0]])
    assert procrustes_distance([[0.0], [1e-200]], [[3.0], [3e200]]) < 1e-12
    assert procrustes_distance([[1.0], [1.0 + 2.3e-16]], [[0.0], [1.0]]) < 1e-12
    with pytest.raises(ValueError, match="sample_weight must not be zero"):
        triplet_error([[0.0], [1.0], [2.0]], [[0, 1, 2]], sample_weight=[0.0])
    with pytest.raises(ValueError, match="same shape"):
        recall_at_k(RELEVANT, DISTANCES[:, :3], 1)
    with pytest.raises(ValueError, match=r"relevant must name an item .*row 1"):
        mean_average_precision([[1, 0], [0, 0]], [[1.0, 2.0], [1.0, 2.0]])


def rankings(Z, labels):
    """Yield, by definition, which samples have the label of each query, nearest first."""
    Z, labels = np.asarray(Z, dtype=float), np.asarray(labels)
    for i in range(len(Z)):
        others = np.delete(np.arange(len(Z)), i)
        order = np.argsort(((Z[others] - Z[i]) ** 2).sum(axis=1), kind="stable")
        hits = labels[others[order]] == labels[i]
        if hits.any():
            yield hits, hits.sum()


@pytest.mark.parametrize("block", [1, 50, 2**22])
@pytest.mark.parametrize("grid", [True, False])
def test_retrieval_from_embeddings_is_the_definition(block, grid, monkeypatch):
    """With ties on a grid of integers, labels of every size, and one that is alone."""
    monkeypatch.setattr("skscreen.metrics._BLOCK", block)
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c", "alone", "d"], [2, 12, 5, 1, 20])
    rng.shuffle(labels)
    Z = rng.normal(size=(40, 2)) + (labels == "b")[:, None]
    Z = np.round(3.0 * Z) if grid else Z
    ranked = list(rankings(Z, labels))
    for k in (1, 3, len(Z) - 1):
        wanted = np.mean([hits[:k].any() for hits, _ in ranked])
        assert retrieval_recall_at_k(Z, labels, k) == pytest.approx(wanted)
    wanted = np.mean([hits[:r].mean() for hits, r in ranked])
    assert r_precision(Z, labels) == pytest.approx(wanted)
    wanted = np.mean(
        [sum(hits[: j + 1].mean() for j in range(r) if hits[j]) / r for hits, r in ranked]
    )
    assert mean_average_precision_at_r(Z, labels) == pytest.approx(wanted)


def test_retrieval_from_embeddings_does_not_depend_on_place_and_size():
    rng = np.random.default_rng(1)
    Z, labels = rng.normal(size=(50, 3)), np.arange(50) % 7
    for measure in (r_precision, mean_average_precision_at_r):
        for moved in (Z + 1e4, Z * 1e200, Z * 1e-200):
            assert measure(moved, labels) == measure(Z, labels)
    # All in one place: the others in their order.
    assert r_precision(np.ones((4, 2)), [0, 0, 1, 1]) == 0.5
    assert mean_average_precision_at_r([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]) == 1.0


@pytest.mark.slow
def test_neighbours_in_groups_far_apart_and_equal_samples_are_in_order():
    rng = np.random.default_rng(0)
    centres = np.repeat(rng.normal(size=(50, 2)), 2, axis=0)
    Z = centres + 0.01 * rng.normal(size=(100, 2))
    Z[60:] += 1e8
    labels = np.arange(100) // 2
    assert retrieval_recall_at_k(Z, labels, 1) == np.mean([h[0] for h, _ in rankings(Z, labels)])
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Z, labels = np.tile(rng.normal(size=(101, 37)), (3, 1)), rng.integers(0, 5, 303)
        wanted = np.mean([hits[0] for hits, _ in rankings(Z, labels)])
        assert retrieval_recall_at_k(Z, labels, 1) == pytest.approx(wanted)


def test_wrong_arguments_of_retrieval_from_embeddings_are_named():
    Z = [[0.0], [1.0], [2.0]]
    with pytest.raises(ValueError, match="k must be from 1 to 2, the other samples, got 3"):
        retrieval_recall_at_k(Z, [0, 0, 1], 3)
    with pytest.raises(TypeError, match="k must be an instance of int"):
        retrieval_recall_at_k(Z, [0, 0, 1], 1.0)
    with pytest.raises(ValueError, match="labels must give at least two samples the same"):
        r_precision(Z, [0, 1, 2])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        r_precision(Z, [0, 1])
    with pytest.raises(ValueError, match="Input Z contains NaN"):
        r_precision([[np.nan], [1.0]], [0, 0])
    with pytest.raises(TypeError, match="labels must be uniformly strings or numbers"):
        r_precision(Z, np.array(["a", 1, "a"], dtype=object))


def test_scores_of_sequences_by_hand():
    truth = [["B-NP", "I-NP", "O", "B-VP"], ["B-NP", "B-NP"], ["O"]]
    found = [["B-NP", "I-NP", "B-VP", "I-VP"], ["I-NP", "B-NP"], ["O"]]
    assert sequence_accuracy(truth, found) == 1 / 3
    # A span may begin with I, as after another type: all but the verb phrase is found.
    assert span_f1(truth, found) == 2 * 3 / (4 + 4)
    assert span_f1(truth, truth) == sequence_accuracy(truth, truth) == 1.0
    assert span_f1([["B-a", "I-b", "I-b"]], [["B-a", "B-b", "I-b"]]) == 1.0


def test_labels_that_are_missing_are_refused():
    points, labels = [[0.0], [1.0], [5.0], [6.0]], [np.nan, np.nan, 0.0, 0.0]
    nearest = partial(retrieval_recall_at_k, k=1)
    for measure in (r_precision, mean_average_precision_at_r, nearest):
        with pytest.raises(ValueError, match="labels must not hold NaN"):
            measure(points, labels)
