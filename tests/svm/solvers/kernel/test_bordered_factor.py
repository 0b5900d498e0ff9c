"""Systems on sets that change little."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from skscreen.core.memory import Pool
from skscreen.svm.solvers.kernel import bordered_factor
from skscreen.svm.solvers.kernel.bordered_factor import BorderedFactor

M = 400
RANDOM = np.random.default_rng(0)
Q = rbf_kernel(RANDOM.normal(size=(M, 10)), gamma=0.1)


def nearby_sets(n, changes):
    """Sets of about n samples, each so many samples away from one of those before."""
    E = np.sort(RANDOM.permutation(M)[:n])
    yield E
    for removed, added in changes:
        stay = np.delete(E, RANDOM.permutation(n)[:removed])
        new = RANDOM.permutation(np.setdiff1d(np.arange(M), E))[:added]
        yield np.sort(np.concatenate([stay, new]))


@pytest.mark.parametrize("delta", [1e-1, 1e-4, 1e-7, 1e-10])
def test_solutions_are_those_of_the_whole_system(delta, monkeypatch):
    factor, made, factorise = (
        BorderedFactor(Q, np.full(len(Q), delta), Pool()),
        [],
        BorderedFactor._factorise,
    )
    monkeypatch.setattr(
        BorderedFactor, "_factorise", lambda self, E: made.append(E.size) or factorise(self, E)
    )
    changes = [(0, 0), (3, 0), (0, 5), (10, 12), (1, 1), (0, 25), (13, 13), (60, 60), (2, 3)]
    for n_columns, E in enumerate(nearby_sets(200, changes)):
        right = RANDOM.normal(size=(E.size, 1 + n_columns % 2))
        H = Q[np.ix_(E, E)] + delta * np.eye(E.size)
        found = factor.solve(E, right)
        assert np.abs(H @ found - right).max() <= 1e-9 * np.abs(right).max()
    if delta >= bordered_factor._LEAST_DELTA:
        # Once at the beginning, and after each of the changes that are too large.
        assert made == [200, 200, 200, 201]
    else:
        assert len(made) == 1 + len(changes)


@pytest.mark.parametrize("n", [1, 20, bordered_factor._SMALLEST - 1])
def test_small_sets(n):
    factor = BorderedFactor(Q, np.full(len(Q), 1e-3), Pool())
    for E in nearby_sets(n, [(0, 1), (1, 0), (0, 0), (1, 3)]):
        H = Q[np.ix_(E, E)] + 1e-3 * np.eye(E.size)
        right = RANDOM.normal(size=(E.size, 2))
        assert factor.solve(E, right) == pytest.approx(
            np.linalg.solve(H, right), rel=1e-8, abs=1e-9
        )


def test_a_matrix_that_is_not_definite_is_refused():
    factor = BorderedFactor(-Q, np.full(len(Q), 1e-3), Pool())
    with pytest.raises(ValueError, match="not positive semi-definite"):
        factor.solve(np.arange(10), np.ones((10, 1)))
