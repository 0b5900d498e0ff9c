"""Newton's steps on a working set whose kernel matrix is known."""

import numpy as np
import pytest

from skscreen._compiled import svm
from skscreen.svm.solvers.kernel.block_newton import _System, newton_step

M = 60


def matrix():
    """An RBF kernel matrix in single precision, padded."""
    X = np.random.default_rng(2).normal(size=(M, 3))
    K = np.zeros((M, svm.SMO_LANES), np.float32)
    K[:, :M] = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    return K


@pytest.mark.parametrize("total", [None, 0.7])
def test_the_system_of_some_samples_is_solved(total):
    K, rng = matrix(), np.random.default_rng(0)
    some, rest = np.sort(rng.permutation(M)[:50]), rng.normal(size=50)
    A = np.ones((51, 51))
    A[:-1, :-1], A[-1, -1] = K[np.ix_(some, some)] + 1e-3 * np.eye(50), 0.0
    ends = [] if total is None else [(total, np.ones(rest.size))]
    x = _System(K, some, 1e-3).solve(rest, ends)
    if total is None:
        expected = np.linalg.solve(A[:-1, :-1], rest)
    else:
        expected = np.linalg.solve(A, np.append(rest, -total))[:-1]
        assert x.sum() == pytest.approx(-total)
    np.testing.assert_allclose(x, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("with_offset", [False, True])
def test_a_newton_step_raises_the_dual_and_stays_in_the_box(with_offset):
    K, target = matrix(), np.where(np.arange(M) % 3, 1.0, -1.0)
    low, high = np.full(M, -2.0), np.full(M, 2.0)
    beta = 0.5 * target - (0.5 * target).mean()
    g = np.zeros(svm.SMO_LANES)
    g[:M] = target - K[:, :M].astype(float) @ beta

    def dual(beta):
        return float(target @ beta - 0.5 * beta @ K[:, :M].astype(float) @ beta)

    before, total = dual(beta), beta.sum()
    assert newton_step(K, low, high, beta, g, np.zeros(beta.size if with_offset else 0, np.int8))
    assert dual(beta) > before + 0.1
    assert np.all((low <= beta) & (beta <= high))
    np.testing.assert_allclose(g[:M], target - K[:, :M].astype(float) @ beta, atol=1e-9)
    assert not with_offset or beta.sum() == pytest.approx(total, abs=1e-9)
