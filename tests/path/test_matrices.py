"""Kernel matrices kept in memory."""

import numpy as np
from sklearn.datasets import load_breast_cancer

from skscreen import ScreenedSVC
from skscreen.path import matrices
from skscreen.path.matrices import kept_matrix


def test_the_matrices_used_last_stay(monkeypatch):
    monkeypatch.setattr(matrices, "_KEPT", type(matrices._KEPT)())
    computed = []

    def matrix(key):
        return kept_matrix(key, 2 * 8 * 9, lambda: computed.append(key) or np.zeros((3, 3)))

    first = matrix("a")
    assert matrix("a") is first and computed == ["a"]
    matrix("b"), matrix("a"), matrix("c"), matrix("a"), matrix("b")
    assert computed == ["a", "b", "c", "b"]


def test_a_matrix_that_is_too_large_is_not_kept(monkeypatch):
    monkeypatch.setattr(matrices, "_KEPT", type(matrices._KEPT)())
    kept_matrix("a", 8 * 8, lambda: np.zeros((3, 3)))
    assert not matrices._KEPT


def test_what_is_kept_leaves_as_much_memory_free(monkeypatch):
    monkeypatch.setattr(matrices, "_KEPT", type(matrices._KEPT)())
    monkeypatch.setattr(matrices, "free_memory", lambda: 100)
    for key in "abc":
        kept_matrix(key, 1e9, lambda: np.zeros((2, 3)))
    assert list(matrices._KEPT) == ["b", "c"]


def test_fits_with_a_store_share_the_kernel_matrix(monkeypatch, tmp_path):
    monkeypatch.setattr(matrices, "_KEPT", type(matrices._KEPT)())
    X, y = load_breast_cancer(return_X_y=True)
    for C in (0.1, 1.0):
        for gamma in (0.01, 0.02):
            ScreenedSVC(C=C, kernel="rbf", gamma=gamma, memory=tmp_path).fit(X, y)
    assert len(matrices._KEPT) == 2
    assert not list(tmp_path.rglob("*.npy"))
