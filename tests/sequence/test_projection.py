from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from pragam_reference import TIGHT

from skscreen._compiled import sequence
from skscreen.sequence.loops import project_chains


def project(point, nu=None):
    T, m = point.shape[:2]
    out = np.empty_like(point)
    nu = np.zeros((T, m)) if nu is None else nu
    project_chains(point, np.array([0, T]), nu, out)
    return out


def violation(a):
    """Largest violation of the equations of consistent marginals."""
    sums = np.abs(a.sum(axis=(1, 2)) - 1.0).max()
    between = np.abs(a[:-1].sum(axis=1) - a[1:].sum(axis=2)).max(initial=0.0)
    return max(sums, between, -a.min())


@pytest.mark.parametrize("T", [1, 2, 5])
@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("size", [0.1, 1.0, 30.0])
def test_conic_solver(T, m, size):
    rng = np.random.default_rng(T * m)
    point = size * rng.normal(size=(T, m, m))
    a = [cp.Variable((m, m), nonneg=True) for _ in range(T)]
    constraints = [cp.sum(part) == 1 for part in a]
    constraints += [cp.sum(a[t], axis=0) == cp.sum(a[t + 1], axis=1) for t in range(T - 1)]
    distance = sum(cp.sum_squares(a[t] - point[t]) for t in range(T))
    cp.Problem(cp.Minimize(0.5 * distance), constraints).solve(**TIGHT)
    found = project(point)
    assert_allclose(found, np.stack([part.value for part in a]), atol=2e-6)
    assert violation(found) < 1e-14


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e7])
@pytest.mark.parametrize(("T", "m"), [(1, 3), (2, 10), (12, 3), (6, 26)])
def test_optimality(size, T, m):
    """No labelling, and so no marginals, lies in a direction that comes closer."""
    rng = np.random.default_rng(m)
    point = size * rng.normal(size=(T, m, m))
    # Ties, as chains of equal observations have them.
    point[:, 0] = point[:, 1]
    nu = np.zeros((T, m))
    a = project(point, nu)
    assert violation(a) < 1e-14
    residual = point - a
    # The best labelling for the residual, by dynamic programming.
    best = residual[0].max(axis=0)
    for t in range(1, T):
        best = (best[:, None] + residual[t]).max(axis=0)
    if T == 1:
        best = residual[0]
    # At size 1e7 the equations hold to 1e-9 before they are repaired.
    accuracy = 1e-11 if size < 1e6 else 1e-6
    assert best.max() - np.sum(residual * a) <= accuracy * T * max(size, 1.0)
    again = project(point, nu)
    assert_allclose(again, a, atol=1e-15 * max(size, 1e3) * T)


def test_repair():
    rng = np.random.default_rng(0)
    rough = rng.random((4, 3, 3))
    rough[2, 1] = 0.0
    out = np.empty_like(rough)
    sequence.make_consistent(rough, out)
    assert violation(out) < 1e-15
    again = np.empty_like(out)
    sequence.make_consistent(out, again)
    assert_allclose(again, out, atol=1e-15)


def test_many_chains_are_projected_one_by_one():
    rng = np.random.default_rng(0)
    point, first = rng.normal(size=(6, 3, 3)), np.array([0, 2, 3, 6])
    out = np.empty_like(point)
    project_chains(point, first, np.zeros((6, 3)), out)
    parts = [project(point[i:j]) for i, j in pairwise(first)]
    assert_allclose(out, np.concatenate(parts), atol=1e-14)
