"""Steps of SMO on a known kernel matrix, free of an equality."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skscreen._compiled import svm

M = 100


def problem(seed, scale, shifted):
    """An RBF or polynomial kernel matrix, padded, and a point of a box of uneven width."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(M, 3))
    if seed % 2:
        values = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))
    else:
        values = (X @ X.T + 0.5) ** 3
    K = np.zeros((M, svm.SMO_LANES), np.float32)
    K[:, :M] = values
    diagonal = np.ones(svm.SMO_LANES, np.float32)
    diagonal[:M] = values.diagonal() + (0.3 if shifted else 0.0)
    low, high, beta, target = np.zeros((4, svm.SMO_LANES))
    signs, width = rng.choice([-1.0, 1.0], M), scale * rng.choice([0.01, 1.0, 50.0], M)
    low[:M], high[:M] = np.minimum(signs * width, 0.0), np.maximum(signs * width, 0.0)
    target[:M] = signs
    Q = K[:, :M].astype(np.float64)
    Q[np.arange(M), np.arange(M)] = diagonal[:M]
    return K, diagonal, low, high, beta, target, Q


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e4])
@pytest.mark.parametrize("shifted", [False, True])
def test_the_dual_value_never_falls(seed, scale, shifted):
    K, diagonal, low, high, beta, target, Q = problem(seed, scale, shifted)
    g, dual = target.copy(), 0.0
    for _ in range(400):
        taken = svm.pairs_without_offset(K, diagonal, low, high, beta, g, 1e-5, 1)
        assert np.all((low <= beta) & (beta <= high))
        score = Q @ beta[:M]
        value = float(target[:M] @ beta[:M] - 0.5 * beta[:M] @ score)
        # Rounding errors of the sums that are subtracted.
        assert value >= dual - 1e-13 * (np.abs(beta[:M]).sum() + abs(beta[:M]) @ np.abs(score))
        dual = max(value, dual)
        if not taken:
            break
    np.testing.assert_allclose(g[:M], target[:M] - score, atol=1e-9 * (1.0 + np.abs(Q).max()))
    assert dual > 0.0


@pytest.mark.parametrize("scale", [1e-45, 1e-2, 1.0])
def test_slopes_end_within_eps(scale):
    K, diagonal, low, high, beta, target, Q = problem(1, scale, False)
    g = target.copy()
    assert svm.pairs_without_offset(K, diagonal, low, high, beta, g, 1e-4, 100_000) < 100_000
    slopes = target[:M] - Q @ beta[:M]
    rising, falling = beta[:M] < high[:M], beta[:M] > low[:M]
    assert slopes[rising].max(initial=0.0) <= 1.001e-4
    assert slopes[falling].min(initial=0.0) >= -1.001e-4


def best_of_two(H, g, low, high):
    """The optimum in a box of two variables: that of the inside, of an edge, or a corner."""
    points = [np.linalg.solve(H, g), *map(np.array, product(*zip(low, high, strict=True)))]
    for k in (0, 1):
        for bound in (low[k], high[k]):
            point = np.empty(2)
            point[k] = bound
            point[1 - k] = (g[1 - k] - H[0, 1] * bound) / H[1 - k, 1 - k]
            points.append(point)
    inside = [p for p in points if np.all((p >= low - 1e-12) & (p <= high + 1e-12))]
    return max(g @ p - 0.5 * p @ H @ p for p in inside)


def one_step(H, g, low, high):
    """A step of two samples from nothing, in double precision."""
    K = np.zeros((2, svm.SMO_LANES))
    K[:, :2] = H
    diagonal, padded = np.ones(svm.SMO_LANES), np.zeros((4, svm.SMO_LANES))
    diagonal[:2], padded[:2, :2], padded[3, :2] = H.diagonal(), (low, high), g
    svm.pairs_without_offset(K, diagonal, *padded, 1e-14, 1)
    return padded[2, :2]


@pytest.mark.parametrize("cosine", [-0.999, -0.7, 0.0, 0.4, 0.9999])
def test_two_samples_move_to_the_optimum_of_their_box(cosine):
    rng = np.random.default_rng(0)
    for _ in range(300):
        d_i, d_j = rng.uniform(0.2, 5.0, 2)
        q = cosine * np.sqrt(d_i * d_j)
        H, g = np.array([[d_i, q], [q, d_j]]), rng.normal(size=2)
        low, high = -rng.exponential(size=2), rng.exponential(size=2)
        low[rng.random(2) < 0.2] = 0.0
        # Both move if both can.
        g = np.where(rng.random(2) < 0.5, np.abs(g), g)
        p = one_step(H, g, low, high)
        assert np.all((low <= p) & (p <= high))
        value = g @ p - 0.5 * p @ H @ p
        assert value == pytest.approx(best_of_two(H, g, low, high), rel=1e-9, abs=1e-12)


def test_a_single_sample_has_no_partner():
    m, n = 1, svm.SMO_LANES
    K = np.full((m, n), np.nan, np.float32)
    K[0, 0], K[0, 1:] = 2.0, 0.0
    memory = np.full((2, n), np.nan, np.float32)
    memory[:1] = K
    diagonal = np.ones(n, np.float32)
    diagonal[0] = 2.0
    low, high, beta, g = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    high[0], g[0] = 10.0, 1.0
    steps = svm.pairs_without_offset(memory[:1], diagonal, low, high, beta, g, 1e-9, 10)
    assert steps == 1
    assert_allclose(beta[0], 0.5)
    assert np.isfinite(g).all() and not beta[1:].any()
