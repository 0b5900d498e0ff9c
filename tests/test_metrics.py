import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import average_precision_score

import skscreen.metrics
from skscreen import OrdinalEmbedding, read_answers
from skscreen.metrics import (
    cmc_at_k,
    cmc_at_k_of,
    mean_average_precision,
    mean_average_precision_of,
    precision_at_k,
    precision_at_k_of,
    procrustes_distance,
    recall_at_k,
    recall_at_k_of,
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
    assert (
        triplet_error(LINE, read_answers([[0, 1, 1, 2]], kind="quadruplets", objects=range(4)))
        == 0.0
    )
    weights = [3.0, 1.0]
    assert triplet_error(LINE, [[0, 1, 2], [0, 2, 1]], sample_weight=weights) == 0.25
    with pytest.raises(ValueError, match=r"^X\b"):
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
    four = read_answers(quadruplets, kind="quadruplets", objects=range(20))
    for rows in (triplets, four):
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


def test_points_in_frames_go_by_their_index():
    points = np.random.default_rng(0).normal(size=(5, 2))
    frame = pd.DataFrame(points, index=list("abcde"))
    assert procrustes_distance(frame, frame.iloc[::-1]) == pytest.approx(0.0, abs=1e-12)
    assert procrustes_distance(points, frame.iloc[::-1]) > 0.1


def test_retrieval_by_hand():
    assert precision_at_k_of(RELEVANT, DISTANCES, 1) == 0.5
    assert precision_at_k_of(RELEVANT, DISTANCES, 2) == 0.5
    assert recall_at_k_of(RELEVANT, DISTANCES, 2) == 0.75
    assert recall_at_k_of(RELEVANT, DISTANCES, 4) == 1.0
    assert_allclose(mean_average_precision_of(RELEVANT, DISTANCES), ((1.0 + 2 / 4) / 2 + 1 / 2) / 2)


def test_average_precision_is_that_of_scikit_learn():
    """Over the whole ranking, and not cut after the number of relevant items."""
    rng = np.random.default_rng(0)
    relevant, distances = rng.uniform(size=(30, 200)) < 0.3, rng.uniform(size=(30, 200))
    each = [average_precision_score(*row) for row in zip(relevant, -distances, strict=True)]
    assert_allclose(mean_average_precision_of(relevant, distances), np.mean(each), rtol=1e-12)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"^k\b"):
        precision_at_k_of(RELEVANT, DISTANCES, 5)
    with pytest.raises(TypeError, match=r"^k must"):
        precision_at_k_of(RELEVANT, DISTANCES, None)
    with pytest.raises(ValueError, match=r"^relevant must"):
        precision_at_k_of(np.array([["a", "b"]]), [[1.0, 2.0]], 1)
    with pytest.raises(ValueError, match=r"^relevant must"):
        cmc_at_k_of(DISTANCES, RELEVANT, 1)
    with pytest.raises(ValueError, match=r"^k must"):
        precision_at_k_of(RELEVANT, DISTANCES, "R")
    with pytest.raises(ValueError, match=r"^Y\b"):
        procrustes_distance([[0.0], [1.0]], [[2.0], [2.0]])
    assert procrustes_distance([[0.0], [1e-200]], [[3.0], [3e200]]) < 1e-12
    assert procrustes_distance([[1.0], [1.0 + 2.3e-16]], [[0.0], [1.0]]) < 1e-12
    with pytest.raises(ValueError, match="sample_weight"):
        triplet_error([[0.0], [1.0], [2.0]], [[0, 1, 2]], sample_weight=[0.0])
    with pytest.raises(ValueError, match=r"^relevant\b"):
        recall_at_k_of(RELEVANT, DISTANCES[:, :3], 1)
    with pytest.warns(UserWarning, match=r"^1 of 2 queries\b"):
        assert mean_average_precision_of([[1, 0], [0, 0]], [[1.0, 2.0], [1.0, 2.0]]) == 1.0


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
    monkeypatch.setattr(
        "skscreen.metrics.retrieval.queries_at_once", lambda n_items: max(1, block // n_items)
    )
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c", "alone", "d"], [2, 12, 5, 1, 20])
    rng.shuffle(labels)
    Z = rng.normal(size=(40, 2)) + (labels == "b")[:, None]
    Z = np.round(3.0 * Z) if grid else Z
    ranked = list(rankings(Z, labels))
    for k in (1, 3, len(Z) - 1):
        wanted = np.mean([hits[:k].any() for hits, _ in ranked])
        assert cmc_at_k(Z, labels, k) == pytest.approx(wanted)
    wanted = np.mean([hits[:r].mean() for hits, r in ranked])
    assert precision_at_k(Z, labels, "r") == pytest.approx(wanted)
    wanted = np.mean(
        [sum(hits[: j + 1].mean() for j in range(r) if hits[j]) / r for hits, r in ranked]
    )
    assert mean_average_precision(Z, labels, k="r") == pytest.approx(wanted)


def test_retrieval_from_embeddings_does_not_depend_on_place_and_size():
    rng = np.random.default_rng(1)
    Z, labels = rng.normal(size=(50, 3)), np.arange(50) % 7
    for measure in (precision_at_k, mean_average_precision):
        for moved in (Z + 1e4, Z * 1e200, Z * 1e-200):
            assert measure(moved, labels, k="r") == measure(Z, labels, k="r")
    # All in one place: the others in their order.
    assert precision_at_k(np.ones((4, 2)), [0, 0, 1, 1], "r") == 0.5
    assert mean_average_precision([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1], k="r") == 1.0


@pytest.mark.slow
def test_neighbours_in_groups_far_apart_and_equal_samples_are_in_order():
    rng = np.random.default_rng(0)
    centres = np.repeat(rng.normal(size=(50, 2)), 2, axis=0)
    Z = centres + 0.01 * rng.normal(size=(100, 2))
    Z[60:] += 1e8
    labels = np.arange(100) // 2
    assert cmc_at_k(Z, labels, 1) == np.mean([h[0] for h, _ in rankings(Z, labels)])
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Z, labels = np.tile(rng.normal(size=(101, 37)), (3, 1)), rng.integers(0, 5, 303)
        wanted = np.mean([hits[0] for hits, _ in rankings(Z, labels)])
        assert cmc_at_k(Z, labels, 1) == pytest.approx(wanted)


def test_wrong_arguments_of_retrieval_from_embeddings_are_named():
    Z = [[0.0], [1.0], [2.0]]
    with pytest.raises(ValueError, match=r"^k\b"):
        cmc_at_k(Z, [0, 0, 1], 3)
    with pytest.raises(TypeError, match=r"^k must"):
        cmc_at_k(Z, [0, 0, 1], 1.0)
    with pytest.raises(ValueError, match=r"^labels\b"):
        precision_at_k(Z, [0, 1, 2], "r")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        precision_at_k(Z, [0, 1], "r")
    with pytest.raises(ValueError, match=r"\bZ\b"):
        precision_at_k([[np.nan], [1.0]], [0, 0], "r")
    with pytest.raises(TypeError, match=r"\blabels\b"):
        precision_at_k(Z, np.array(["a", 1, "a"], dtype=object), "r")


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
    for measure in (precision_at_k, mean_average_precision, cmc_at_k, recall_at_k):
        with pytest.raises(ValueError, match=r"\blabels\b"):
            measure(points, labels, k=1)


MEASURES = {
    "precision": (precision_at_k, precision_at_k_of, lambda hits, r, k: hits[:k].sum() / k),
    "recall": (recall_at_k, recall_at_k_of, lambda hits, r, k: hits[:k].sum() / r),
    "cmc": (cmc_at_k, cmc_at_k_of, lambda hits, r, k: hits[:k].any()),
    "map": (mean_average_precision, mean_average_precision_of, lambda hits, r, k: np.sum(
        [hits[: j + 1].mean() for j in range(min(k, len(hits))) if hits[j]]) / min(r, k)),
}  # fmt: skip


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("junk", [None, -1, ["none", -1]])
def test_queries_and_gallery_are_the_definition(name, junk):
    """As samples and as matrices, where what is not ranked has distance inf."""
    measure, by_matrix, definition = MEASURES[name]
    rng = np.random.default_rng(0)
    Q, q = rng.integers(4, size=(30, 2)).astype(float), rng.integers(-1, 6, size=30)
    G, g = rng.integers(4, size=(50, 2)).astype(float), rng.integers(-1, 5, size=50)
    if junk == ["none", -1]:
        q, g = q.astype(str), g.astype(str)
        junk = ["none", "-1"]
    left_out = [] if junk is None else np.atleast_1d(junk)
    kept = ~np.isin(g, left_out)
    for k in (1, 5, int(kept.sum())):
        wanted = []
        for z, label in zip(Q, q, strict=True):
            order = np.argsort(((G[kept] - z) ** 2).sum(axis=1), kind="stable")
            hits = g[kept][order] == label
            if hits.any() and label not in left_out:
                wanted.append(definition(hits, hits.sum(), k))
        with pytest.warns(UserWarning, match=r"\bqueries\b"):
            found = measure(Q, q, k=k, gallery=(G, g), junk=junk)
        assert found == pytest.approx(np.mean(wanted))
        distances = np.where(kept, ((Q[:, None] - G) ** 2).sum(axis=2), np.inf)
        relevant = (q[:, None] == g) & ~np.isin(q, left_out)[:, None]
        with pytest.warns(UserWarning, match=r"\bqueries\b"):
            found = by_matrix(relevant, distances, k=k)
        assert found == pytest.approx(np.mean(wanted))


def test_a_matrix_of_distances_gives_what_samples_give():
    Z, labels = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12) % 3
    D, alike = np.linalg.norm(Z[:, None] - Z, axis=2), labels[:, None] == labels
    np.fill_diagonal(D, np.inf)
    expected = mean_average_precision(Z, labels)
    assert mean_average_precision_of(alike, D) == pytest.approx(expected)
    assert mean_average_precision_of(pd.DataFrame(alike), pd.DataFrame(D)) == pytest.approx(
        expected
    )
    with pytest.raises(ValueError, match=r"^relevant must"):
        mean_average_precision_of(np.where(alike, 1, -1), D)
    with pytest.raises(TypeError, match=r"^junk must"):
        mean_average_precision(Z, labels, junk="0")
    with pytest.raises(TypeError, match=r"^labels\b"):
        mean_average_precision(Z, labels, gallery=(Z, labels.astype(str)))


def test_labels_in_a_column_and_junk_of_any_collection():
    rng = np.random.default_rng(0)
    Z, labels = rng.normal(size=(12, 3)), np.arange(12) % 3
    with pytest.warns(DataConversionWarning):
        found = precision_at_k(Z, labels[:, None], 2)
    assert found == precision_at_k(Z, labels, 2)
    expected = precision_at_k(Z, labels, 2, junk=[0, 1])
    for junk in (
        {0, 1},
        (0, 1),
        iter([0, 1]),
        pd.Series([0, 1]),
        range(2),
        {0: "a", 1: "b"}.keys(),
    ):
        assert precision_at_k(Z, labels, 2, junk=junk) == expected
    assert precision_at_k(Z, labels, 2) != expected


def test_precision_cut_after_k_is_divided_by_what_could_be_found():
    """The example of a question about MAP@k: labels of the five nearest of five queries."""
    queries = np.array([1, 1, 2, 3, 4])
    nearest = np.array([[0, 1, 1, 2, 2], [1, 0, 1, 1, 3], [4, 4, 4, 4, 2], [3, 1, 3, 1, 3],
                        [0, 0, 4, 2, 2]])  # fmt: skip
    relevant, distances = nearest == queries[:, None], np.tile(np.arange(5.0), (5, 1))
    each = [(1 / 2 + 2 / 3) / 2, (1 + 2 / 3) / 3, 0.0, (1 + 2 / 3) / 3, (1 / 3) / 1]
    assert mean_average_precision_of(relevant, distances, k=3) == pytest.approx(np.mean(each))
    each = [(1 / 2 + 2 / 3) / 2, (1 + 2 / 3 + 3 / 4) / 3, 1 / 5, (1 + 2 / 3 + 3 / 5) / 3, 1 / 3]
    assert mean_average_precision_of(relevant, distances) == pytest.approx(np.mean(each))


def test_wrong_galleries_and_distances_are_named():
    Z, labels = [[0.0], [1.0], [2.0]], [0, 0, 1]
    with pytest.raises(ValueError, match=r"^gallery\b"):
        cmc_at_k(Z, labels, 1, gallery=Z)
    with pytest.raises(ValueError, match=r"^gallery\b"):
        cmc_at_k(Z, labels, 1, gallery=([[0.0, 1.0]], [0]))
    with pytest.raises(ValueError, match=r"^labels\b"):
        cmc_at_k(Z, labels, 1, gallery=([[0.0]], [7]))
    with pytest.raises(ValueError, match=r"^k\b"):
        cmc_at_k(Z, labels, 2, gallery=([[0.0]], [0]))
    with pytest.raises(ValueError, match=r"^distances must"):
        cmc_at_k_of([[1, 0]], [[np.nan, 1.0]], 1)
    with pytest.raises(ValueError, match=r"^k must"):
        cmc_at_k(Z, labels, "r")
    assert cmc_at_k_of([[1, 0, 1]], [[np.inf, 1.0, 2.0]], 1) == 0.0


def test_the_room_has_its_names():
    assert sorted(skscreen.metrics.__all__) == skscreen.metrics.__all__
    assert all(callable(getattr(skscreen.metrics, name)) for name in skscreen.metrics.__all__)


@pytest.mark.parametrize("missing", [pd.NA, pd.NaT, None, np.nan])
@pytest.mark.parametrize("name", MEASURES)
def test_missing_values_are_refused(name, missing):
    """As labels, as junk and in matrices; as k, where None stands for all ranks."""
    measure, by_matrix, _ = MEASURES[name]
    Z, y = np.arange(8.0)[:, None], np.array([0, 1] * 4)
    some, lacks = Z.astype(object), y.astype(object)
    some[2, 0] = lacks[2] = missing
    words = np.array(["a", "b"] * 4, dtype=object)
    words[3] = missing
    relevant, distances = (values.astype(object) for values in (RELEVANT, DISTANCES))
    relevant[0, 0] = distances[0, 0] = missing
    for call in (
        lambda: measure(Z, lacks, k=1), lambda: measure(Z, words, k=1),
        lambda: measure(some, y, k=1), lambda: measure(Z, y, k=1, gallery=(Z, lacks)),
        lambda: measure(Z, y, k=1, gallery=(some, y)), lambda: by_matrix(relevant, DISTANCES, k=1),
        lambda: by_matrix(RELEVANT, distances, k=1),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            call()
    if missing is None and name == "map":
        assert 0.0 <= measure(Z, y, k=missing) <= 1.0
    else:
        with pytest.raises(TypeError, match=r"^k must"):
            measure(Z, y, k=missing)


@pytest.mark.parametrize("junk", [[[1, 2]], [[1], [1, 2]]])
def test_junk_is_a_list_of_labels(junk):
    with pytest.raises(ValueError, match=r"junk|sequence"):
        cmc_at_k(np.arange(8.0)[:, None], [0, 1] * 4, 1, junk=junk)


def test_points_of_frames_go_by_name():
    model = OrdinalEmbedding(random_state=0).fit([["a", "b", "c"], ["b", "c", "a"]])
    frame = pd.DataFrame(model.embedding_, index=model.objects_)
    turned = frame.loc[["c", "a", "b"]]
    assert procrustes_distance(frame, turned) == pytest.approx(0.0)
    rows = [["a", "b", "c"], ["b", "c", "a"]]
    assert triplet_error(frame, rows) == triplet_error(turned, rows) == 1.0 - model.score(rows)
    with pytest.raises(ValueError, match=r"^X\b"):
        triplet_error(frame.to_numpy(), rows)
