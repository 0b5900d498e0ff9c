from itertools import islice

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from pragam_reference import TIGHT, optimum
from scipy.linalg import hadamard
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from skscreen.pragam.bundle import bmrm, ls_bmrm
from skscreen.pragam.hinge_risk import HingeRisk
from skscreen.pragam.iterates import follow
from skscreen.pragam.simplex_qp import maximise_on_simplex
from skscreen.samples.rows import LinearSamples
from tests.optima import Problem

X, y = load_breast_cancer(return_X_y=True)
X, SIGNS = scale(X)[::4], np.where(y[::4] == 1, 1.0, -1.0)


class LargestOf:
    """R(w) = max(floor of R, max_i <a_i, w> + c) for the rows a_i."""

    floor = -np.inf

    def __init__(self, rows, lam, c=0.0, at_least=-np.inf):
        self.rows, self.lam, self.c, self.at_least = rows, lam, c, at_least
        self.n_weights = rows.shape[1]

    def cut(self, w):
        heights = self.rows @ w + self.c
        i = int(np.argmax(heights))
        value = max(float(heights[i]), self.at_least)
        return value, 0.0, self.rows[i], self.c + value - float(heights[i])


def simplex(m):
    """Unit vectors with inner products -1 / (m - 1)."""
    corners = (np.eye(m) - 1.0 / m) * np.sqrt(m / (m - 1.0))
    basis = np.linalg.svd(corners)[2][: m - 1]
    return corners @ basis.T


@pytest.mark.parametrize("lam", [0.5, 1e-3])
@pytest.mark.parametrize("rows", [hadamard(32) / np.sqrt(32.0), np.eye(40)])
def test_orthonormal_construction(rows, lam):
    d = len(rows)
    c = 0.5 / (lam * d)
    primals, duals = [], []
    for iterate in islice(bmrm(LargestOf(rows, lam, c)), d):
        primals.append(iterate.primal)
        duals.append(iterate.dual)
    t = np.arange(1, d)
    curve = 0.5 / (lam * t)
    gaps = np.minimum.accumulate(primals) - duals
    assert_allclose(primals[1:], c + curve, rtol=1e-10)
    assert_allclose(duals[1:], c - curve, rtol=1e-10)
    assert_allclose(gaps[1:], curve, rtol=1e-10, atol=0.0)
    # With all columns it is exact.
    last = next(islice(bmrm(LargestOf(rows, lam, c)), d, None))
    assert_allclose(last.primal, c - 0.5 / (lam * d), atol=1e-10 / lam)


@pytest.mark.parametrize("lam", [0.5, 1e-3])
def test_regular_simplex_construction(lam):
    m = 33
    t = np.arange(1, m)
    found = list(islice(bmrm(LargestOf(simplex(m), lam)), m))[1:]
    assert_allclose(
        [iterate.primal for iterate in found], (m + t) / (2.0 * lam * t * (m - 1)), rtol=1e-10
    )
    assert_allclose(
        [iterate.dual for iterate in found], -(m - t) / (2.0 * lam * t * (m - 1)), atol=1e-10 / lam
    )


def test_construction_with_a_floor():
    lam, d = 0.1, 16
    found = list(islice(bmrm(LargestOf(np.eye(d), lam, at_least=0.0)), d))[1:]
    t = np.arange(1, d)
    assert_allclose([iterate.primal for iterate in found], 0.5 / (lam * t), rtol=1e-10)
    assert_allclose([iterate.dual for iterate in found], -0.5 / (lam * t), rtol=1e-10)


def test_line_search_meets_the_same_lower_bounds():
    rows, lam = hadamard(32) / np.sqrt(32.0), 0.5
    c = 0.5 / (lam * 32)
    steps = [islice(solver(LargestOf(rows, lam, c)), 1, 32) for solver in (bmrm, ls_bmrm)]
    for full, cheap in zip(*steps, strict=True):
        assert_allclose(cheap.dual, full.dual, rtol=1e-10, atol=1e-10)


@pytest.mark.few(6)
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("solver", [bmrm, ls_bmrm])
@pytest.mark.parametrize("lam", [1e-1, 1e-3])
def test_conic_solver(free, solver, lam):
    risk = HingeRisk(LinearSamples(X, SIGNS), np.ones(len(SIGNS)), lam, free)
    best = optimum(X, SIGNS, lam, free)
    w = np.linspace(-1.0, 1.0, X.shape[1])
    for start in (None, w):
        duals = []
        for iterate in islice(solver(risk, start), 300):
            assert iterate.dual <= best + 1e-10 and iterate.primal >= best - 1e-10
            duals.append(iterate.dual)
        # From one plane to the next the lower bound does not fall; before them it is the floor.
        assert duals[0] == 0.0
        assert np.all(np.diff(duals[1:]) >= -1e-12)
    tol = 1e-6 if solver is bmrm else 5e-2
    found = follow(solver(risk), tol, 3000)
    assert found.converged and best - 1e-10 <= found.primal <= best / (1.0 - tol) + 1e-10


def test_first_step_is_at_the_start():
    risk = HingeRisk(LinearSamples(X, SIGNS), np.ones(len(SIGNS)), 0.01, True)
    exact = follow(bmrm(risk), 1e-10, 1000).w
    for solver in (bmrm, ls_bmrm):
        near, far = (next(iter(solver(risk, start))) for start in (exact, None))
        assert near.primal < far.primal
        assert near.dual == far.dual == 0.0


@pytest.mark.parametrize("rank", [3, 20])
def test_quadratic_programme_on_the_simplex(rank):
    rng = np.random.default_rng(rank)
    A, b = rng.normal(size=(20, rank)), rng.normal(size=20)
    # Parallel columns, as BMRM has them near the end.
    A[10:13], b[12] = A[9], b[9]
    G, x = A @ A.T, np.eye(20)[0].copy()
    maximise_on_simplex(G, b, x, 0.0)
    z = cp.Variable(20)
    objective = b @ z - 0.5 * cp.sum_squares(A.T @ z)
    best = Problem(cp.Maximize(objective), [z >= 0, cp.sum(z) == 1]).solve(**TIGHT)
    assert np.all(x >= 0.0)
    assert_allclose(x.sum(), 1.0, rtol=1e-14)
    assert_allclose(b @ x - 0.5 * x @ G @ x, best, rtol=1e-9)


def test_planes_without_a_share_cost_no_row():
    """2,000 iterations with a few planes of some share took 5 s, nearly all for such rows."""
    G, x = np.eye(3), np.array([1.0, 0.0, 0.0])
    G[2, :2] = np.nan
    maximise_on_simplex(G, np.array([0.0, 0.5, -2.0]), x, 0.0)
    assert_allclose(x, [0.25, 0.75, 0.0], rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("free", [True, False])
def test_planes_whose_lengths_differ_by_decades(free, seed):
    """A ridge in units of the longest plane held the others: thousands of iterations, not ten."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(22, 3))
    signs = np.where(X[:, 0] + 0.5 * rng.normal(size=22) > 0.0, 1.0, -1.0)
    X *= 10.0 ** rng.uniform(-9.0, 9.0, size=(22, 1))
    risk = HingeRisk(LinearSamples(X, signs), np.ones(22), 1.0 / 22, free)
    assert follow(bmrm(risk), 1e-4, 50).converged


@pytest.mark.parametrize("tol", [1e-4, 1e-10])
def test_more_planes_than_features(tol):
    """Newton's matrix is singular then; its rounding errors ended four of ten fits too early."""
    rng = np.random.default_rng(0)
    for n, d, C in ((113, 4, 1.0), (60, 1, 0.1), (200, 9, 10.0), (40, 2, 0.01)):
        X = rng.normal(size=(n, d))
        signs = np.where(X[:, 0] + rng.normal(size=n) > 0.0, 1.0, -1.0)
        risk = HingeRisk(LinearSamples(X, signs), np.ones(n), 1.0 / (n * C), True)
        assert follow(bmrm(risk), tol, 2000).gap <= tol


def test_flat_programme():
    x = np.array([1.0, 0.0, 0.0])
    maximise_on_simplex(np.zeros((3, 3)), np.array([1.0, 3.0, 2.0]), x, 0.0)
    assert_allclose(x, [0.0, 1.0, 0.0])
