import cvxpy as cp
import numpy as np
import pytest
from cases import every_pair
from embedding_reference import loss_values, triplets_of
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skscreen import OrdinalEmbedding, read_answers
from skscreen._compiled import embedding
from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers.auto import random_start
from skscreen.embedding.solvers.convex import convex, value_and_bound
from skscreen.embedding.solvers.solve import solve_embedding
from skscreen.embedding.solvers.state import Settings
from tests.optima import Problem

N, REG = 7, 0.1
POINTS = np.random.default_rng(0).normal(size=(N, 2))
ROWS = triplets_of(POINTS, 60, 1, noise=0.1).astype(np.int32)
QUADRUPLETS = np.insert(ROWS, 2, ROWS[:, 0], axis=1)
ANSWERS = {"triplets": ROWS, "quadruplets": QUADRUPLETS}
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, size=60)
ODD = EmbeddingLoss("oddoneout")
LOSSES = [EmbeddingLoss("ste"), ODD, EmbeddingLoss("gnmds", 1.0), EmbeddingLoss("gnmds", 0.0)]


def optimum(loss, weights, reg):
    """By an interior-point method."""
    G = cp.Variable((N, N), PSD=True)
    i, j, k = ROWS.T

    def differences(i, j, k):
        """|x_i - x_j|^2 - |x_i - x_k|^2."""
        return cp.hstack([2.0 * G[u, w] - 2.0 * G[u, v] + G[v, v] - G[w, w]
                          for u, v, w in zip(i, j, k, strict=True)])  # fmt: skip

    z = differences(i, j, k)
    if loss.name == "oddoneout":
        losses = cp.log_sum_exp(cp.vstack([np.zeros(60), z, differences(j, i, k)]), axis=0)
    elif loss.name == "ste":
        losses = cp.logistic(z)
    elif loss.shape == 0.0:
        losses = cp.pos(1.0 + z)
    else:
        # The hinge with a quadratic piece is Huber's loss on one side.
        losses = 0.5 * cp.huber(cp.pos(1.0 + z), loss.shape) / loss.shape
    mean = weights @ losses / weights.sum()
    return Problem(cp.Minimize(mean + reg / N * cp.trace(G))).solve(solver=cp.CLARABEL)


def start(p=2, seed=0):
    return random_start(N, p, np.random.default_rng(seed))


@pytest.mark.few(1)
@every_pair(
    # Choices are of three.
    valid=lambda answers, loss, **_: loss is not ODD or answers == "triplets",
    reg=[0.02, REG], answers=ANSWERS, weighted=[False, True], loss=LOSSES[:3],
)  # fmt: skip
def test_the_optimum_is_that_of_an_interior_point_method(loss, weighted, answers, reg):
    rows, weights = ANSWERS[answers], WEIGHTS if weighted else None
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


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.29])
def test_a_hinge_needs_a_quadratic_piece(smoothing):
    model = OrdinalEmbedding(loss="gnmds", smoothing=smoothing, random_state=0)
    with pytest.raises(ValueError, match=r"^smoothing\b"):
        clone(model).set_params(formulation="convex").fit(ROWS)
    with pytest.raises(ValueError, match=r"^smoothing\b"):
        model.fit(ROWS).lower_bound(1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_bound_holds_wherever_it_comes_from(loss):
    problem = EmbeddingProblem(ROWS, None, N, loss, REG)
    least = optimum(loss, np.ones(60), REG)
    rng = np.random.default_rng(0)
    for p in (1, 2, 4, 9):
        for scale in (1e-8, 0.1, 1.0, 10.0, 1e6):
            bound = value_and_bound(problem, scale * rng.normal(size=(N, p)))[1]
            assert bound <= least * (1.0 + 1e-7)
        fit = solve_embedding(problem, p, "lbfgs", Settings(tol=1e-10), 0)
        assert 0.0 <= value_and_bound(problem, fit.embedding)[1] <= least * (1.0 + 1e-7)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_conjugates_are_those_of_the_losses(loss):
    # -f*(t) = min over z of f(z) - t z, at slopes f'(z) where that is the minimum.
    rng = np.random.default_rng(0)
    z = rng.normal(size=(50, 2 if loss is ODD else 1))
    if loss is ODD:
        values = np.log1p(np.exp(z).sum(axis=1))
        slopes = np.exp(z) / (1.0 + np.exp(z).sum(axis=1, keepdims=True))
    else:
        values, slopes, _ = loss_values(loss, np.maximum(z, 0.0), np.maximum(-z, 0.0))
        values = values[:, 0]
    found = np.empty(50)
    embedding.conjugates(loss.code, loss.shape, slopes, found)
    assert_allclose(found, values - (slopes * z).sum(axis=1), atol=1e-14)


@pytest.mark.parametrize("loss", LOSSES[:2], ids=str)
def test_there_is_no_gap_once_there_are_enough_dimensions(loss):
    problem = EmbeddingProblem(ROWS, None, N, loss, REG)
    gaps = []
    for p in (1, 6):
        fit = solve_embedding(problem, p, "lbfgs", Settings(tol=1e-13, max_iter=5000), 0)
        gaps.append(fit.objective - value_and_bound(problem, fit.embedding)[1])
    assert gaps[0] > 1e-2
    assert gaps[1] < 1e-6


def test_the_estimator_reports_the_gap():
    model = OrdinalEmbedding(2, loss="ste", formulation="convex", tol=1e-6, random_state=0)
    model.fit(ROWS)
    assert 0.0 <= model.dual_gap_ <= 1e-6
    history = model.history_
    assert history["gap"][-1] == model.dual_gap_
    assert np.all(history["dual"] <= history["primal"])
    plain = model.set_params(formulation="nonconvex").fit(ROWS)
    assert np.isnan(plain.dual_gap_) and np.isnan(plain.history_["gap"]).all()
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model.set_params(formulation="convex", reg=0.0).fit(ROWS)
    assert model.dual_gap_ == 1.0


def test_the_bound_of_a_fit_is_that_of_the_convex_problem():
    plane = OrdinalEmbedding(2, loss="gnmds", reg=REG, random_state=0).fit(ROWS)
    least = optimum(LOSSES[2], np.ones(60), REG)
    assert 0.99 * least <= plane.lower_bound() <= least * (1.0 + 1e-7)
    assert_allclose(plane.lower_bound(1e-6), least, rtol=2e-6)
    assert plane.lower_bound(np.inf) <= plane.lower_bound()
    assert plane.objective_ >= least


def test_choices_of_the_odd_one_out_have_a_bound():
    odd = read_answers(ROWS, kind="oddoneout", chosen=2)
    model = OrdinalEmbedding(2, loss="oddoneout", reg=REG, random_state=0).fit(odd)
    least = optimum(ODD, np.ones(60), REG)
    assert_allclose(model.lower_bound(1e-6), least, rtol=2e-6)
    exact = OrdinalEmbedding(2, loss="oddoneout", reg=REG, formulation="convex", tol=1e-6)
    assert_allclose(exact.fit(odd).objective_, least, rtol=2e-6)
    assert exact.dual_gap_ <= 1e-6


def test_bounds_need_a_fit_and_a_convex_loss():
    with pytest.raises(NotFittedError):
        OrdinalEmbedding(loss="ste").lower_bound()
    with pytest.raises(ValueError, match=r"^loss\b"):
        OrdinalEmbedding().fit(ROWS).lower_bound()
    with pytest.raises(ValueError, match="tol"):
        OrdinalEmbedding(loss="ste").fit(ROWS).lower_bound(-1.0)
