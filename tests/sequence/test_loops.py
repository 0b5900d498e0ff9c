import numpy as np
import pytest
from chain_cases import CODES, LENGTHS, X
from chain_reference import features, labellings, log_marginals
from numpy.testing import assert_allclose, assert_array_equal

from skscreen.sequence.chains import ONE
from skscreen.sequence.loops import best_labels, expectations

M, P = 3, 2
STACKED, ALL_CODES = np.concatenate(X), np.concatenate(CODES)
FIRST = np.concatenate([[0], np.cumsum(LENGTHS)])
WEIGHTS = np.random.default_rng(1).dirichlet(np.ones(len(X)))
# The scores of the second lie too far apart for exponentials, those of the third nearly.
SIZES = [1.0, 300.0, 40.0]


def scores(w):
    return STACKED @ w[: M * P].reshape(M, P).T, w[M * P :].reshape(M, M)


@pytest.mark.parametrize("lost", [0.0, 1.3])
def test_best_labels_are_those_of_enumeration(lost):
    rng = np.random.default_rng(0)
    losses = np.full(len(STACKED), lost)
    for _ in range(5):
        w, out = rng.normal(size=M * P + M * M), np.empty(len(STACKED), np.int32)
        best_labels(*scores(w), FIRST, ALL_CODES, losses, ONE, out)
        for x, truth, found in zip(X, CODES, np.split(out, FIRST[1:-1]), strict=True):
            paths = labellings(len(x), M)
            values = [w @ features(x, path, M) + lost * np.sum(path != truth) for path in paths]
            assert_array_equal(found, paths[int(np.argmax(values))])


@pytest.mark.parametrize("size", SIZES)
def test_expectations_are_those_of_enumeration(size):
    rng = np.random.default_rng(0)
    for _ in range(5):
        w = size * rng.normal(size=M * P + M * M)
        nodes, edges = np.empty((len(STACKED), M)), np.zeros((M, M))
        log_sums = np.empty(len(X))
        expectations(*scores(w), FIRST, nodes, edges, log_sums, WEIGHTS, ONE)
        means = np.zeros(M * M)
        for c, x in enumerate(X):
            paths = labellings(len(x), M)
            values = np.array([w @ features(x, path, M) for path in paths])
            shares = np.exp(values - values.max())
            assert_allclose(log_sums[c], values.max() + np.log(shares.sum()), rtol=1e-12)
            shares /= shares.sum()
            steps = [features(x, path, M)[M * P :] for path in paths]
            means += WEIGHTS[c] * (shares @ np.array(steps))
            part = nodes[FIRST[c] : FIRST[c + 1]]
            assert_allclose(part, log_marginals(x, M, w), atol=1e-12)
        assert_allclose(edges.ravel(), means, atol=1e-12)


def test_scaled_sums_and_logarithms_agree_at_the_border_between_them():
    """One score far below all others changes the way, not the result."""
    rng = np.random.default_rng(0)
    U, E = rng.normal(size=(50, 4)), rng.normal(size=(4, 4))
    first, out = np.array([0, 50]), []
    for low in (-150.0, -250.0):
        U[20, 1] = low
        nodes, edges, log_sums = np.empty(U.shape), np.zeros(E.shape), np.empty(1)
        expectations(U, E, first, nodes, edges, log_sums, np.ones(1), ONE)
        out.append(np.concatenate([nodes.ravel(), edges.ravel(), log_sums]))
    assert_allclose(out[0], out[1], rtol=1e-12, atol=1e-30)
