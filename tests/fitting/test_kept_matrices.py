"""Kernel matrices kept in memory."""

import copy

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import scale

from skscreen import ScreenedSVC, Store
from skscreen.fitting.kept_matrices import KeptMatrices, KernelMatrices


def test_the_matrices_used_last_stay():
    computed, kept = [], KeptMatrices(2 * 8 * 9)

    def matrix(key):
        return kept.matrix(key, lambda: computed.append(key) or np.zeros((3, 3)))

    first = matrix("a")
    assert matrix("a") is first and computed == ["a"]
    matrix("b"), matrix("a"), matrix("c"), matrix("a"), matrix("b")
    assert computed == ["a", "b", "c", "b"]


def test_a_matrix_that_is_too_large_is_not_kept():
    kept = KeptMatrices(8 * 8)
    assert kept.matrix("a", lambda: np.zeros((3, 3))).shape == (3, 3)
    assert not kept.values()


def test_what_is_kept_leaves_as_much_memory_free(monkeypatch):
    monkeypatch.setattr("skscreen.fitting.kept_matrices.free_memory", lambda: 100)
    kept = KeptMatrices(1e9)
    found = [kept.matrix(key, lambda: np.zeros((2, 3))) for key in "abc"]
    assert all(one is other for one, other in zip(kept.values(), found[1:], strict=True))


def test_stores_of_a_folder_keep_the_same(tmp_path):
    folder = tmp_path / "of one"
    kept = Store(folder).kept
    assert Store(str(folder), max_bytes=7).kept is kept and kept.max_bytes == 7
    assert copy.deepcopy(Store(folder)).kept is kept
    folder.mkdir()
    assert Store(tmp_path / "of another").kept is not kept
    assert Store(folder).kept is kept
    folder.rmdir()
    # What is kept goes with the folder.
    assert Store(tmp_path / "of a third").kept is not kept
    assert Store(folder).kept is not kept


def test_distances_are_kept_once_a_second_kernel_matrix_is_asked_for():
    def matrix(kept, gamma):
        asked = []

        def compute():
            D = kept.distances((), 99, lambda: asked.append("distances") or np.empty((99, 99)))
            asked.append("kernel" if D is None else "kernel of distances")
            return np.empty((99, 99))

        return kept.kernel((gamma,), compute), asked

    size, kept = 8 * 99**2, KeptMatrices(1e9).kernels("a")
    first, asked = matrix(kept, 1.0)
    assert asked == ["kernel"]
    again, asked = matrix(kept, 1.0)
    assert again is first and not asked
    assert matrix(kept, 2.0)[1] == ["distances", "kernel of distances"]
    assert matrix(kept, 1.0)[1] == ["kernel of distances"]
    assert kept.nbytes == 2 * size
    # Not where they would take more than a quarter of the limit.
    kept = KeptMatrices(3 * size).kernels("b")
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
    (matrices,) = Store(tmp_path).kept.values()
    assert matrices.nbytes == 2 * 8 * len(y) ** 2
    assert not list(tmp_path.rglob("*.npy"))


def test_fits_of_several_classes_share_kernel_values(tmp_path):
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], [900, 700, 500])
    X, values = rng.normal(size=(y.size, 4)) + 2.0 * y[:, None], {}
    for C in (0.1, 1.0):
        kept = ScreenedSVC(C, store=tmp_path, tol=1e-8).fit(X, y)
        (blocks,) = Store(tmp_path).kept.values()
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
            (values,) = Store(tmp_path).kept.values()[-1]._blocks.values()
            assert known.setdefault(gamma, values) is values
    ScreenedSVC(gamma=0.1, store=tmp_path).fit(scale(X), np.roll(y, 1))
    (values,) = Store(tmp_path).kept.values()[-1]._blocks.values()
    assert all(values is not other for other in known.values())


def test_blocks_that_are_too_large_are_not_kept():
    kept = KeptMatrices(1000.0)
    assert kept.blocks("small", 100) is kept.blocks("small", 100)
    assert kept.blocks("large", 300) is None
