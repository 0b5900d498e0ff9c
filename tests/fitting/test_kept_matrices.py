"""Kernel matrices kept in memory."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from skscreen import ScreenedSVC
from skscreen.fitting import kept_matrices
from skscreen.fitting.kept_matrices import kept_matrix


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(kept_matrices, "_KEPT", type(kept_matrices._KEPT)())


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
            ScreenedSVC(C=C, kernel="rbf", gamma=gamma, memory=tmp_path, intercept="penalised").fit(
                X, y
            )
    assert len(kept_matrices._KEPT) == 2
    assert not list(tmp_path.rglob("*.npy"))
