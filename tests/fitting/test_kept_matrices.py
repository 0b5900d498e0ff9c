"""Kernel matrices kept in memory."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from skscreen import ScreenedSVC, Store
from skscreen.fitting import kept_matrices
from skscreen.fitting.kept_matrices import KnownRows, kept_matrix, kept_rows
from skscreen.samples.kernel import Kernel


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    for name in ("_KEPT", "_ASKED"):
        empty = getattr(kept_matrices, name).copy()
        empty.clear()
        monkeypatch.setattr(kept_matrices, name, empty)


def test_the_matrices_used_last_stay():
    computed = []

    def matrix(key):
        return kept_matrix(key, 2 * 8 * 9, lambda: computed.append(key) or np.zeros((3, 3)))

    first = matrix("a")
    assert matrix("a") is first and computed == ["a"]
    matrix("b"), matrix("a"), matrix("c"), matrix("a"), matrix("b")
    assert computed == ["a", "b", "c", "b"]


def test_a_matrix_that_is_too_large_is_not_kept():
    kept_matrix("a", 8 * 8, lambda: np.zeros((3, 3)))
    assert not kept_matrices._KEPT


def test_what_is_kept_leaves_as_much_memory_free(monkeypatch):
    monkeypatch.setattr(kept_matrices, "free_memory", lambda: 100)
    for key in "abc":
        kept_matrix(key, 1e9, lambda: np.zeros((2, 3)))
    assert list(kept_matrices._KEPT) == ["b", "c"]


def test_fits_with_a_store_share_the_kernel_matrix(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    for C in (0.1, 1.0):
        for gamma in (0.01, 0.02):
            ScreenedSVC(C=C, kernel="rbf", gamma=gamma, memory=tmp_path).fit(X, y)
    assert len(kept_matrices._KEPT) == 2
    assert not list(tmp_path.rglob("*.npy"))


def test_rows_are_kept_of_a_matrix_that_is_asked_for_again():
    assert kept_rows("a", 1e9, 4, 3) is None and not kept_matrices._KEPT
    rows = kept_rows("a", 1e9, 4, 3)
    assert isinstance(rows, KnownRows) and kept_rows("a", 1e9, 4, 3) is rows
    assert list(kept_matrices._KEPT) == ["a"] and rows.nbytes == 8 * 12
    kept_rows("b", 95, 4, 3)
    assert kept_rows("b", 95, 4, 3) is None


def test_what_was_asked_for_once_does_not_pile_up():
    for k in range(3 * kept_matrices._ASKED.maxlen):
        kept_rows(str(k), 1e9, 4, 3)
    assert len(kept_matrices._ASKED) == kept_matrices._ASKED.maxlen and not kept_matrices._KEPT


def test_each_row_is_computed_once():
    rows, asked = KnownRows(5, 2), []

    def compute(index):
        return lambda places: asked.append(index[places].tolist()) or index[places, None] * [1, 10]

    for index in ([3, 1], [1, 4, 3], [4, 1]):
        found = rows.with_rows(np.array(index), compute(np.array(index)))
        assert np.array_equal(found[index], np.array(index)[:, None] * [1, 10])
    assert asked == [[3, 1], [4]]


CASES = {
    "rbf": {"kernel": "rbf"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "free": {"kernel": "rbf", "intercept": "free"},
    "precomputed": {"kernel": "precomputed"},
}


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("name", CASES)
def test_scores_from_kept_rows_are_those_without(name, load, tmp_path):
    X, y = load(return_X_y=True)
    X = scale(X)
    weights = np.ones(len(y))
    weights[::7] = 0.0
    # Precomputed: nothing to keep.
    data = X @ X.T if name == "precomputed" else X
    for make in (np.asarray, sparse.csr_array):
        if name == "precomputed" and make is not np.asarray:
            continue
        for C in (0.1, 1.0, 10.0):
            model = ScreenedSVC(C=C, tol=1e-9, memory=tmp_path, **CASES[name])
            kept = clone(model).fit(make(data), y, weights)
            bare = clone(model).set_params(memory=None).fit(make(data), y, weights)
            for part in (slice(None), slice(0, None, 3)):
                found = kept.decision_function(make(data)[part])
                assert found == pytest.approx(bare.decision_function(make(data)[part]), abs=1e-5)
    known = [kept for kept in kept_matrices._KEPT.values() if isinstance(kept, KnownRows)]
    assert len(known) == (0 if name == "precomputed" else 4)


def test_a_grid_search_computes_each_kernel_value_twice_at_most(tmp_path, monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    computed, between = [], Kernel.between
    monkeypatch.setattr(
        Kernel,
        "between",
        lambda self, A, B: computed.append(len(A) * len(B)) or between(self, A, B),
    )
    model = ScreenedSVC(kernel="rbf", memory=tmp_path)
    search = GridSearchCV(model, {"C": np.geomspace(0.01, 100.0, 12)}, cv=3, refit=False)
    search.fit(scale(X), y)
    assert sum(computed) <= 2 * 2 * len(y) ** 2 / 3


def test_a_model_from_elsewhere_scores_and_limits_hold(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    store = Store(tmp_path, max_bytes=8 * len(y) * 100)
    model = ScreenedSVC(kernel="rbf", memory=store).fit(scale(X), y)
    other = pickle.loads(pickle.dumps(model))
    kept_matrices._KEPT.clear()
    for _ in range(3):
        assert np.array_equal(other.predict(scale(X)), model.predict(scale(X)))
        few = other.decision_function(scale(X)[:100])
        assert few == pytest.approx(model.decision_function(scale(X)[:100]), abs=1e-12)
    assert [kept.nbytes for kept in kept_matrices._KEPT.values()] == [store.max_bytes]
