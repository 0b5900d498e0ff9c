import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from skscreen import ScreenedRTLM
from skscreen.metric_learning.problem.graph import read_graph, triplets_from_graph

X, y = load_wine(return_X_y=True)
X = scale(X)
GRAPH = kneighbors_graph(X, 30, mode="distance")


def triplets_of(graph, y, k):
    """Triplets by definition, from a graph as a matrix."""
    distances, found = graph.toarray(), set()
    for i in range(len(y)):
        near, far = (
            sorted((distances[i, j], j) for j in np.flatnonzero(distances[i]) if alike(y[i], y[j]))
            for alike in (int.__eq__, int.__ne__)
        )
        found |= {(i, j, l) for _, j in near[:k] for _, l in far[:k]}
    return found


@pytest.mark.parametrize("k", [1, 3, 100])
@pytest.mark.parametrize("shuffled", [False, True])
def test_the_triplets_are_those_of_the_graph(k, shuffled):
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y)) if shuffled else np.arange(len(y))
    codes = [int(code) for code in y]
    items = triplets_from_graph(read_graph(GRAPH, X), y, order, k)
    found = {
        (*order[items.near[row]].tolist(), int(order[items.far[place, 1]]))
        for row in range(len(items.near)) for place in range(items.start[row], items.stop[row])
    }  # fmt: skip
    assert found == triplets_of(GRAPH, codes, k) and items.n_items == len(found)
    assert_array_equal(np.repeat(items.near[:, 0], items.stop - items.start),
                       items.far[np.concatenate([np.arange(a, b) for a, b in zip(
                           items.start, items.stop, strict=True)]), 0])  # fmt: skip


def test_a_graph_of_all_neighbours_gives_the_triplets_without_it():
    everyone = KNeighborsTransformer(n_neighbors=len(X) - 1)
    model = ScreenedRTLM(n_neighbors=4).fit(X, y)
    for neighbors in (
        everyone,
        everyone.fit_transform(X),
        kneighbors_graph(X, 177, mode="distance"),
    ):
        other = ScreenedRTLM(n_neighbors=4, neighbors=neighbors).fit(X, y)
        assert other.n_triplets_ == model.n_triplets_
        assert_allclose(other.objective_, model.objective_, rtol=1e-5)


def test_a_graph_with_unlabelled_samples_and_in_a_store(tmp_path):
    labels = np.where(np.arange(len(y)) % 4 == 0, -1, y)
    known = labels >= 0
    model = ScreenedRTLM(neighbors=GRAPH, unlabelled=-1, store=tmp_path).fit(X, labels)
    part = ScreenedRTLM(neighbors=GRAPH[known][:, known]).fit(X[known], y[known])
    assert model.n_triplets_ == part.n_triplets_
    assert_allclose(model.objective_, part.objective_, rtol=1e-5)
    other = ScreenedRTLM(
        neighbors=kneighbors_graph(X, 60, mode="distance"), unlabelled=-1, store=tmp_path
    ).fit(X, labels)
    assert other.n_triplets_ > model.n_triplets_ and other.dual_gap_ <= 1e-6


def test_wrong_graphs_are_refused():
    for wrong, message in (
        (GRAPH[:9], r"^neighbors\b"),
        (StandardScaler(), "got ndarray"),
        (sparse.csr_array(GRAPH * np.nan), r"\bneighbors\b"),
        (-1.0 * GRAPH, r"^neighbors\b"),
        (GRAPH > 0.0, r"^neighbors\b"),
        (sparse.csc_array(kneighbors_graph(X, 30)), r"^neighbors\b"),
        (sparse.csr_array((178, 178)), r"^neighbors\b"),
        (GRAPH.toarray(), "'neighbors' parameter"),
    ):
        with pytest.raises(ValueError, match=message):
            ScreenedRTLM(neighbors=wrong).fit(X, y)


def test_a_graph_without_distances():
    """In the order of a search, or where all neighbours are taken, it says enough."""
    expected = ScreenedRTLM(neighbors=GRAPH).fit(X, y).components_
    found = ScreenedRTLM(neighbors=kneighbors_graph(X, 30)).fit(X, y).components_
    np.testing.assert_array_equal(found, expected)
    expected = ScreenedRTLM(neighbors=GRAPH, n_neighbors=None).fit(X, y).components_
    found = ScreenedRTLM(neighbors=GRAPH > 0.0, n_neighbors=None).fit(X, y).components_
    np.testing.assert_allclose(found.T @ found, expected.T @ expected, rtol=1e-3, atol=1e-4)


def test_a_transformer_in_a_pipeline_sees_what_the_metric_sees():
    model = make_pipeline(
        StandardScaler(), ScreenedRTLM(neighbors=KNeighborsTransformer(n_neighbors=20))
    )
    assert model.fit_transform(*load_wine(return_X_y=True)).shape[0] == 178
