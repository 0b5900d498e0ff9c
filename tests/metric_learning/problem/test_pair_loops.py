import numpy as np
import pytest

from skscreen._compiled import metric_learning as loops


def pairs_in_runs(rng, n, n_runs):
    """Pairs of random second points, in runs of 0 to 9 with the same first point."""
    first = np.repeat(rng.integers(n, size=n_runs), rng.integers(10, size=n_runs))
    return np.c_[first, rng.integers(n, size=first.size)].astype(np.int32)


@pytest.mark.parametrize("seed", range(10))
def test_pairs_in_runs_of_any_length_have_the_distances_of_their_points(seed):
    rng = np.random.default_rng(seed)
    Z, pairs = rng.normal(size=(12, 4 * (seed % 4))), pairs_in_runs(rng, 12, seed)
    out = np.full(len(pairs), np.nan)
    loops.squared_distances(Z, pairs, out)
    expected = ((Z[pairs[:, 0]] - Z[pairs[:, 1]]) ** 2).sum(axis=1)
    np.testing.assert_allclose(out, expected, rtol=1e-14)


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("seed", range(5))
def test_edges_in_runs_of_any_length_add_up_to_the_weighted_pairs(seed, sign, share):
    rng = np.random.default_rng(seed)
    X, pairs = rng.normal(size=(12, 8)), pairs_in_runs(rng, 12, 3 * seed)
    weights = rng.exponential(size=len(pairs)) * (rng.random(len(pairs)) < share)
    degrees, out = rng.normal(size=12), rng.normal(size=X.shape)
    expected_degrees, expected = degrees.copy(), out.copy()
    for (a, b), weight in zip(pairs, sign * weights, strict=True):
        expected_degrees[[a]] += weight
        expected_degrees[[b]] += weight
        expected[a] -= 2.0 * weight * X[b]
    loops.add_edges(X, pairs, weights, sign, degrees, out)
    np.testing.assert_allclose(degrees, expected_degrees, atol=1e-13)
    np.testing.assert_allclose(out, expected, atol=1e-13)
