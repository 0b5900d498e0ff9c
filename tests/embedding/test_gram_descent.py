import cvxpy as cp
import numpy as np
import pytest
from embedding_reference import triplets_of
from numpy.testing import assert_allclose

from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers.auto import random_start
from skscreen.embedding.solvers.descent import gram_descent
from skscreen.embedding.solvers.state import Settings
from tests.optima import Problem

N, REG = 7, 0.02
POINTS = np.random.default_rng(0).normal(size=(N, 2))
ROWS = triplets_of(POINTS, 60, 1, noise=0.1).astype(np.int32)
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, size=60)


def optimum(loss, weights):
    """By an interior-point method."""
    G = cp.Variable((N, N), PSD=True)
    i, j, k = ROWS.T
    differences = cp.hstack(
        [2.0 * G[u, w] - 2.0 * G[u, v] + G[v, v] - G[w, w] for u, v, w in zip(i, j, k, strict=True)]
    )
    if loss.name == "oddoneout":
        second = cp.hstack(
            [
                2.0 * G[v, w] - 2.0 * G[u, v] + G[u, u] - G[w, w]
                for u, v, w in zip(i, j, k, strict=True)
            ]
        )
        losses = cp.log_sum_exp(cp.vstack([np.zeros(60), differences, second]), axis=0)
    elif loss.name == "ste":
        losses = cp.logistic(differences)
    else:
        # The hinge with a quadratic piece of width 1 is Huber's loss on one side.
        losses = 0.5 * cp.huber(cp.pos(1.0 + differences), 1.0)
    mean = weights @ losses / weights.sum()
    return Problem(cp.Minimize(mean + REG / N * cp.trace(G))).solve(solver=cp.CLARABEL)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "loss", [EmbeddingLoss("gnmds", 1.0), EmbeddingLoss("ste"), EmbeddingLoss("oddoneout")], ids=str
)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_the_optimum_is_that_of_an_interior_point_method(loss, weights):
    problem = EmbeddingProblem(ROWS, weights, N, loss, REG)
    X = random_start(N, 2, np.random.default_rng(0))
    *_, last = gram_descent(problem, X, Settings(tol=1e-11, max_iter=20_000))
    expected = optimum(loss, np.ones(60) if weights is None else weights)
    assert_allclose(last.value, expected, rtol=1e-5)
    assert last.converged
    # Centred, largest axis first, orthogonal.
    assert_allclose(X.mean(axis=0), 0.0, atol=1e-10)
    products = X.T @ X
    assert products[0, 0] >= products[1, 1]
    assert_allclose(products[0, 1], 0.0, atol=1e-10)


@pytest.mark.parametrize("weights", [None, 10.0**10 * WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("step", [None, 1e40])
@pytest.mark.parametrize("reg", [0.0, 1e12, 1e300])
def test_slopes_without_a_bound_are_no_overflow(weights, step, reg):
    """Where objects meet, CKL's slope is 1 / mu, and a step along it was beyond any float."""
    problem = EmbeddingProblem(ROWS, weights, N, EmbeddingLoss("ckl", 1e-300), reg)
    X = random_start(N, 2, np.random.default_rng(0))
    before = problem.evaluate(X - X.mean(axis=0))[0]
    with np.errstate(all="raise", under="ignore"):
        *_, last = gram_descent(problem, X, Settings(tol=0.0, max_iter=30, step=step))
    assert np.all(np.isfinite(X))
    assert last.value <= (1.0 + 1e-12) * before


def test_a_start_of_infinite_slope_names_init():
    problem = EmbeddingProblem(ROWS, 10.0**10 * WEIGHTS, N, EmbeddingLoss("ckl", 1e-300), REG)
    start = np.zeros((N, 2))
    start[0] = 1.0
    with pytest.raises(ValueError, match="init"):
        next(gram_descent(problem, start, Settings()))
