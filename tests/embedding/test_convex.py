import cvxpy as cp
import numpy as np
import pytest
from embedding_reference import triplets_of
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skscreen import OrdinalEmbedding
from skscreen.embedding.auto import random_start
from skscreen.embedding.convex import convex, lower_bound
from skscreen.embedding.losses import EmbeddingLoss
from skscreen.embedding.objective import EmbeddingProblem
from skscreen.embedding.solve import solve
from skscreen.embedding.state import Settings

N, REG = 7, 0.1
POINTS = np.random.default_rng(0).normal(size=(N, 2))
ROWS = triplets_of(POINTS, 60, 1, noise=0.1).astype(np.int32)
QUADRUPLETS = np.insert(ROWS, 2, ROWS[:, 0], axis=1)
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, size=60)
LOSSES = [EmbeddingLoss("ste"), EmbeddingLoss("gnmds", 1.0), EmbeddingLoss("gnmds", 0.0)]


def optimum(loss, weights, reg):
    """By an interior-point method."""
    G = cp.Variable((N, N), PSD=True)
    i, j, k = ROWS.T
    z = cp.hstack(
        [2.0 * G[u, w] - 2.0 * G[u, v] + G[v, v] - G[w, w] for u, v, w in zip(i, j, k, strict=True)]
    )
    if loss.name == "ste":
        losses = cp.logistic(z)
    elif loss.shape == 0.0:
        losses = cp.pos(1.0 + z)
    else:
        # The hinge with a quadratic piece of width 1 is Huber's loss on one side.
        losses = 0.5 * cp.huber(cp.pos(1.0 + z), 1.0)
    mean = weights @ losses / weights.sum()
    return cp.Problem(cp.Minimize(mean + reg / N * cp.trace(G))).solve(solver=cp.CLARABEL)


def start(p=2, seed=0):
    return random_start(N, p, np.random.default_rng(seed))


@pytest.mark.parametrize("loss", LOSSES[:2], ids=str)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("rows", [ROWS, QUADRUPLETS], ids=["triplets", "quadruplets"])
@pytest.mark.parametrize("reg", [0.02, REG])
def test_the_optimum_is_that_of_an_interior_point_method(loss, weights, rows, reg):
    problem = EmbeddingProblem(rows, weights, N, loss, reg)
    X = start()
    *_, last = convex(problem, X, Settings(tol=1e-6))
    expected = optimum(loss, np.ones(60) if weights is None else weights, reg)
    assert last.converged
    assert last.dual_gap <= 1e-6
    assert_allclose(last.value, expected, rtol=1e-6)
    assert last.value * (1.0 - last.dual_gap) <= expected * (1.0 + 1e-7)
    # Centred, largest axis first, orthogonal.
    assert_allclose(X.mean(axis=0), 0.0, atol=1e-10)
    products = X.T @ X
    assert products[0, 0] >= products[1, 1]
    assert_allclose(products[0, 1], 0.0, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_bound_holds_wherever_it_comes_from(loss):
    problem = EmbeddingProblem(ROWS, None, N, loss, REG)
    least = optimum(loss, np.ones(60), REG)
    rng = np.random.default_rng(0)
    for p in (1, 2, 4, 9):
        for scale in (1e-8, 0.1, 1.0, 10.0, 1e6):
            assert lower_bound(problem, scale * rng.normal(size=(N, p))) <= least * (1.0 + 1e-7)
        fit = solve(problem, p, "lbfgs", Settings(tol=1e-10), 0)
        assert 0.0 <= lower_bound(problem, fit.embedding) <= least * (1.0 + 1e-7)


def test_there_is_no_gap_once_there_are_enough_dimensions():
    problem = EmbeddingProblem(ROWS, None, N, EmbeddingLoss("ste"), REG)
    gaps = []
    for p in (1, 6):
        fit = solve(problem, p, "lbfgs", Settings(tol=1e-13, max_epochs=5000), 0)
        gaps.append(fit.objective - lower_bound(problem, fit.embedding))
    assert gaps[0] > 1e-2
    assert gaps[1] < 1e-6


def test_the_estimator_reports_the_gap():
    model = OrdinalEmbedding(2, loss="ste", formulation="convex", tol=1e-6, random_state=0)
    model.fit(ROWS)
    assert 0.0 <= model.dual_gap_ <= 1e-6
    assert not hasattr(model.set_params(formulation="nonconvex").fit(ROWS), "dual_gap_")
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model.set_params(formulation="convex", reg=0.0).fit(ROWS)
    assert model.dual_gap_ == 1.0


def test_the_bound_of_a_fit_is_that_of_the_convex_problem():
    plane = OrdinalEmbedding(2, loss="gnmds", reg=REG, random_state=0).fit(ROWS)
    least = optimum(LOSSES[1], np.ones(60), REG)
    assert 0.99 * least <= plane.lower_bound() <= least * (1.0 + 1e-7)
    assert_allclose(plane.lower_bound(1e-6), least, rtol=2e-6)
    assert plane.lower_bound(np.inf) <= plane.lower_bound()
    assert plane.objective_ >= least


def test_bounds_need_a_fit_and_a_convex_loss():
    with pytest.raises(NotFittedError):
        OrdinalEmbedding(loss="ste").lower_bound()
    with pytest.raises(ValueError, match="loss must be 'gnmds' or 'ste'"):
        OrdinalEmbedding().fit(ROWS).lower_bound()
    with pytest.raises(ValueError, match="tol"):
        OrdinalEmbedding(loss="ste").fit(ROWS).lower_bound(-1.0)
