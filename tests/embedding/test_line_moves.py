import numpy as np
import pytest
from embedding_reference import trials_of, triplets_of
from numpy.testing import assert_allclose

from skscreen import OrdinalEmbedding
from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers.auto import clean_ridge
from skscreen.embedding.solvers.lbfgs import improve
from skscreen.embedding.solvers.solve import solve_embedding, solve_from
from skscreen.embedding.solvers.state import Settings

N = 12
SCALE = np.arange(N, dtype=float)[:, None]


def problem(seed=0, size=600, noise=0.0, loss=None, width=3, weights=None):
    rows = triplets_of(SCALE, size, seed, noise).astype(np.int32)
    if width == 4:
        rows = np.insert(rows, 2, rows[:, 0], axis=1)
    if loss is not None and loss.of_trials:
        trials, odd = trials_of(SCALE, size, seed, noise)
        rows = np.take_along_axis(trials, (odd[:, None] + [1, 2, 3]) % 3, axis=1).astype(np.int32)
    made = EmbeddingProblem(rows, weights, N, loss or EmbeddingLoss("ste"), 0.0)
    return made.with_reg(clean_ridge(made, 1))


@pytest.mark.parametrize("loss", ["ste", "oddoneout"])
@pytest.mark.parametrize("width", [3, 4])
@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).uniform(0.5, 2.0, 600)])
def test_a_misplaced_point_is_moved_home(width, weights, loss):
    line = problem(width=width, weights=weights, loss=EmbeddingLoss(loss if width == 3 else "ste"))
    right = solve_embedding(line, 1, "lbfgs", Settings(tol=1e-10), 0, SCALE / N)
    X = right.embedding.copy()
    X[[2, 9]] = X[[9, 2]]
    start = line.evaluate(X)[0]
    values = [progress.value for progress in improve(line, X, Settings(tol=1e-10))]
    assert np.all(np.diff([start, *values]) <= 0.0)
    assert_allclose(values[-1], right.objective, rtol=1e-6)
    assert_allclose(line.evaluate(X)[0], values[-1], rtol=1e-12)


def test_what_is_in_place_stays():
    line = problem()
    X = solve_embedding(line, 1, "lbfgs", Settings(tol=1e-12), 0, SCALE / N).embedding
    before = X.copy()
    assert list(improve(line, X, Settings())) == []
    assert np.array_equal(X, before)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["soe", "ste", "tste", "ckl"])
def test_five_starts_are_as_good_as_many(name):
    loss = EmbeddingLoss(name, {"soe": 0.1, "ckl": 1e-3}.get(name, 1.0))
    for seed in range(4):
        line = problem(seed, 200, 0.1, loss)
        found = solve_from(line, 1, "auto", Settings(), [1, 2, 3, 4, 5], [None] * 5, None)
        best = min(solve_embedding(line, 1, "auto", Settings(), s).objective for s in range(6, 60))
        assert found.objective <= 1.02 * best
        assert_allclose(line.evaluate(found.embedding)[0], found.objective, rtol=1e-12)


def test_the_estimator_orders_a_scale():
    rows = triplets_of(SCALE, 400, 3, 0.1)
    found = OrdinalEmbedding(1, loss="ckl", random_state=0).fit(rows).embedding_[:, 0]
    assert abs(np.corrcoef(np.argsort(np.argsort(found)), SCALE[:, 0])[0, 1]) > 0.97


def test_many_points_try_gaps_at_equal_steps():
    points = np.random.default_rng(0).uniform(size=(60, 1))
    rows = triplets_of(points, 3000, 1).astype(np.int32)
    line = EmbeddingProblem(rows, None, 60, EmbeddingLoss("soe", 0.1), 1e-4)
    X = np.random.default_rng(2).normal(size=(60, 1))
    start = line.evaluate(X)[0]
    *_, last = improve(line, X, Settings())
    assert last.value < 0.1 * start
