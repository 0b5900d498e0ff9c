"""Kernel matrices kept in memory."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import scale

from skscreen import ScreenedSVC
from skscreen.fitting import kept_matrices
from skscreen.fitting.kept_matrices import (
    KernelMatrices,
    kept_kernel_blocks,
    kept_kernel_matrices,
    kept_matrix,
)


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


def test_distances_are_kept_once_a_second_kernel_matrix_is_asked_for():
    def matrix(kept, gamma):
        asked = []

        def compute():
            D = kept.distances((), 99, lambda: asked.append("distances") or np.empty((99, 99)))
            asked.append("kernel" if D is None else "kernel of distances")
            return np.empty((99, 99))

        return kept.kernel((gamma,), compute), asked

    size, kept = 8 * 99**2, kept_kernel_matrices("a", 1e9)
    first, asked = matrix(kept, 1.0)
    assert asked == ["kernel"]
    again, asked = matrix(kept_kernel_matrices("a", 1e9), 1.0)
    assert again is first and not asked
    assert matrix(kept, 2.0)[1] == ["distances", "kernel of distances"]
    assert matrix(kept, 1.0)[1] == ["kernel of distances"]
    assert kept.nbytes == 2 * size
    # Not where they would take more than a quarter of the limit.
    kept = kept_kernel_matrices("b", 3 * size)
    assert [matrix(kept, gamma)[1] for gamma in (1.0, 2.0)] == [["kernel"], ["kernel"]]
    # At once where several are announced.
    assert matrix(KernelMatrices(), 1.0)[1] == ["distances", "kernel of distances"]


def test_fits_with_a_store_share_distances(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    # Fits of few samples keep kernel values inside classes.
    X, y = np.vstack([scale(X), scale(X) + 0.1]), np.tile(y, 2)
    for gamma in (0.01, 0.02, 0.01):
        kept = ScreenedSVC(kernel="rbf", gamma=gamma, store=tmp_path, tol=1e-10).fit(X, y)
        bare = ScreenedSVC(kernel="rbf", gamma=gamma, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(kept.objective_, bare.objective_, rtol=1e-9)
    (matrices,) = kept_matrices._KEPT.values()
    assert matrices.nbytes == 2 * 8 * len(y) ** 2
    assert not list(tmp_path.rglob("*.npy"))


@pytest.mark.slow
def test_fits_of_several_classes_share_kernel_values(tmp_path):
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], [900, 700, 500])
    X, values = rng.normal(size=(y.size, 4)) + 2.0 * y[:, None], {}
    for C in (0.1, 1.0):
        kept = ScreenedSVC(C, store=tmp_path, tol=1e-8).fit(X, y)
        (blocks,) = kept_matrices._KEPT.values()
        assert len(blocks._blocks) == 6
        assert all(values.setdefault(key, K) is K for key, K in blocks._blocks.items())
        bare = ScreenedSVC(C, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(kept.objective_, bare.objective_, rtol=2e-8)
    sizes = np.bincount(y)
    assert blocks.nbytes == 2 * (y.size**2 + sizes @ sizes)


def test_small_fits_share_kernel_values(tmp_path):
    X, y = load_wine(return_X_y=True)
    known = {}
    for C in (0.1, 1.0):
        for gamma in (0.1, 0.2):
            ScreenedSVC(C, gamma=gamma, store=tmp_path).fit(scale(X), y)
            (values,) = list(kept_matrices._KEPT.values())[-1]._blocks.values()
            assert known.setdefault(gamma, values) is values
    ScreenedSVC(gamma=0.1, store=tmp_path).fit(scale(X), np.roll(y, 1))
    (values,) = list(kept_matrices._KEPT.values())[-1]._blocks.values()
    assert all(values is not other for other in known.values())


def test_blocks_that_are_too_large_are_not_kept():
    assert kept_kernel_blocks("small", 100, 1000.0) is kept_kernel_blocks("small", 100, 1000.0)
    assert kept_kernel_blocks("large", 300, 1000.0) is None
