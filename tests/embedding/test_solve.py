from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from embedding_reference import gradient, share_right, triplets_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from skscreen._compiled import embedding
from skscreen.embedding.problem.losses import CONVEX_LOSSES, TRAITS, EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers import svrg
from skscreen.embedding.solvers.auto import clean_ridge, random_start
from skscreen.embedding.solvers.lbfgs import lbfgs
from skscreen.embedding.solvers.solve import SOLVERS, solve_embedding, solve_from
from skscreen.embedding.solvers.state import Settings, shuffled

N, P = 25, 2
POINTS = np.random.default_rng(0).normal(scale=0.5, size=(N, P))
ROWS = triplets_of(POINTS, 1200, 1).astype(np.int32)
UNSEEN = triplets_of(POINTS, 2000, 2)
QUADRUPLETS = np.insert(ROWS, 2, ROWS[:, 0], axis=1)
LOSSES = {
    "gnmds": EmbeddingLoss("gnmds", 1.0),
    "ckl": EmbeddingLoss("ckl", 1e-3),
    "ste": EmbeddingLoss("ste"),
    "tste": EmbeddingLoss("tste", 2.0),
    "soe": EmbeddingLoss("soe", 0.1),
}
losses = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
ODD = EmbeddingLoss("oddoneout")
steppers = pytest.mark.parametrize("loss", [*LOSSES.values(), ODD], ids=[*LOSSES, "oddoneout"])


def problem(loss, rows=ROWS, weights=None, reg=0.01, **options):
    return EmbeddingProblem(rows, weights, N, loss, reg, **options)


def start(seed=0):
    return random_start(N, P, np.random.default_rng(seed))


@losses
@pytest.mark.parametrize(
    "solver", ["auto", *(name for name in SOLVERS if name not in ("gram", "convex", "sgd"))]
)
def test_every_solver_meets_its_tolerance_and_predicts(loss, solver):
    settings = Settings(tol=1e-4, max_iter=2000)
    solution = solve_embedding(problem(loss), P, solver, settings, 0)
    assert solution.converged
    assert share_right(solution.embedding, UNSEEN) > 0.9
    assert_allclose(solution.objective, problem(loss).evaluate(solution.embedding)[0], rtol=1e-12)
    passes = solution.history["passes"].tolist()
    assert passes == sorted(passes)


@losses
def test_sgd_predicts_and_its_steps_fall(loss):
    solution = solve_embedding(problem(loss), P, "sgd", Settings(), 0)
    assert share_right(solution.embedding, UNSEEN) > 0.9
    lengths = solution.history["step"].tolist()
    assert lengths == sorted(lengths, reverse=True)


@losses
def test_lbfgs_finds_the_minimum_that_scipy_finds(loss):
    X = start()
    *_, last = lbfgs(problem(loss), X, Settings(tol=1e-14, max_iter=5000))
    assert last.converged

    def value_and_gradient(x):
        value, slope = problem(loss).evaluate(x.reshape(N, P))
        return value, slope.ravel()

    # From the same point it may find another minimum: start near this one.
    near = X + 1e-3 * start(1)
    found = minimize(
        value_and_gradient, near.ravel(), jac=True, method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000},
    )  # fmt: skip
    assert_allclose(last.value, found.fun, rtol=1e-6)
    assert np.linalg.norm(problem(loss).evaluate(X)[1]) < 1e-5


def test_lbfgs_goes_down_and_stops_at_a_minimum_soon():
    X = start()
    steps = list(lbfgs(problem(LOSSES["ste"]), X, Settings(tol=1e-12, max_iter=1000)))
    values = [progress.value for progress in steps]
    assert all(after <= before for before, after in pairwise(values))
    again = list(lbfgs(problem(LOSSES["ste"]), X, Settings(tol=1e-6)))
    assert len(again) == 2
    assert again[-1].converged


@pytest.mark.parametrize("rows", [ROWS[:60], QUADRUPLETS[:60]], ids=["triplets", "quadruplets"])
@pytest.mark.parametrize("batch", [1, 7])
@steppers
def test_an_epoch_of_svrg_is_that_of_the_plain_formula(loss, rows, batch):
    """The kernel adds the full gradient to an object only when it is needed: that is exact."""
    if loss.of_trials:
        rows = ROWS[:60]
    snapshot, step, first = start(), 0.01, 50
    full = gradient(loss, rows, snapshot)
    plain, lazy = snapshot.copy(), snapshot.copy()
    for t in range(60 // batch):
        block = rows[(first + t * batch + np.arange(batch)) % 60]
        u = gradient(loss, block, plain) - gradient(loss, block, snapshot) + full
        plain = plain - batch * step * u
    embedding.svrg_epoch(
        lazy, snapshot, full, rows, first, 60 // batch, batch, step, loss.code, loss.shape, 0.0
    )
    assert_allclose(lazy, plain, atol=1e-13)


@steppers
def test_an_sgd_pass_is_that_of_the_plain_formula(loss):
    plain, passed = start(), start()
    for t in range(100):
        plain = plain - (0.1 - 0.001 * t) * gradient(loss, ROWS[[(1150 + t) % 1200]], plain)
    row = embedding.sgd_pass(passed, ROWS, 1150, 100, 0.1, 0.0, loss.code, loss.shape, 0.0)
    assert row == 50
    assert_allclose(passed, plain, atol=1e-12)


@losses
def test_stochastic_ridges_have_the_same_minimum(loss):
    """The ridge enters by touches; the noise of the steps is the only difference."""
    strong = problem(loss, reg=0.3)
    exact = solve_embedding(strong, P, "lbfgs", Settings(tol=1e-9, max_iter=1000), 0)
    init = exact.embedding + 1e-3
    for solver in ("svrg-sbb", "sgd"):
        found = solve_embedding(strong, P, solver, Settings(tol=1e-7, max_iter=200), 0, init)
        assert found.objective <= 1.1 * exact.objective


@losses
def test_steps_of_svrg_sbb_keep_their_bounds(loss):
    """1 / (m epsilon) bounds the step; without epsilon it may be larger (equation 34)."""
    m, epsilon = len(ROWS), 0.5
    steps = [
        progress.step
        for progress in svrg.svrg_sbb(
            problem(loss), start(), Settings(sbb_epsilon=epsilon, max_iter=20, tol=0.0),
            np.random.default_rng(0),
        )
    ]  # fmt: skip
    assert max(steps[1:]) <= 1.0 / (m * epsilon)
    free = [
        progress.step
        for progress in svrg.svrg_sbb(
            problem(loss), start(), Settings(sbb_epsilon=0.0, max_iter=20, tol=0.0),
            np.random.default_rng(0),
        )
    ]  # fmt: skip
    assert max(free[1:]) > 1.0 / (m * epsilon)


def test_a_large_epsilon_is_a_small_step_at_any_scale():
    """epsilon |dx|^2 was beyond the largest float where |dx| is some 10^5."""
    settings, X = Settings(sbb_epsilon=1e300, max_iter=9, tol=0.0), 1e6 * start()
    with np.errstate(all="raise"):
        found = list(svrg.svrg_sbb(problem(LOSSES["soe"]), X, settings, np.random.default_rng(0)))
    assert found[-1].step == pytest.approx(1e-300 / len(ROWS))


def test_an_epoch_has_as_many_steps_as_the_update_frequency_says():
    """eta = |dx|^2 / (|<dx, dg>| + epsilon |dx|^2) / (m b) with m steps on b answers."""
    own, epsilon = problem(LOSSES["ste"]), 0.1
    settings = Settings(update_frequency=20, batch_size=3, step=1e-4, sbb_epsilon=epsilon, tol=0.0)
    X, found = start(), []
    for progress in svrg.svrg_sbb(own, X, replace(settings, max_iter=3), np.random.default_rng(0)):
        found.append((progress.step, progress.passes, X.copy()))
    assert found[0][0] == 1e-4
    points = [start(), *(one for *_, one in found)]
    gradients = [own.evaluate(one)[1] for one in points]
    for epoch in (1, 2):
        dx, dg = points[epoch] - points[epoch - 1], gradients[epoch] - gradients[epoch - 1]
        squares = np.vdot(dx, dx)
        eta = squares / (abs(np.vdot(dx, dg)) + epsilon * squares) / 60
        assert_allclose(found[epoch][0], eta)
        passes = found[epoch][1] - found[epoch - 1][1]
        assert_allclose(passes, 1.0 + 2.0 * 60 / len(ROWS))


def test_modules_begin_with_the_first_step_at_the_best_point():
    def steps(module_epochs):
        settings = Settings(module_epochs=module_epochs, max_iter=9, tol=0.0)
        rng = np.random.default_rng(0)
        found = svrg.svrg_sbb(problem(LOSSES["ste"]), start(), settings, rng)
        return [progress.step for progress in found]

    with_modules, without = steps(3), steps(None)
    assert with_modules[:3] == without[:3]
    assert with_modules[0] == with_modules[3] == with_modules[6]
    assert without[3] != without[0]


@losses
def test_an_epoch_that_diverges_is_undone(loss):
    """A first step that is far too long must not ruin the result."""
    for solver in ("svrg-sbb", "svrg", "batch"):
        settings = Settings(step=1e3, max_iter=500, tol=1e-3)
        values = solve_embedding(problem(loss), P, solver, settings, 0).history["primal"].tolist()
        assert np.isfinite(values).all()
        assert all(after <= before for before, after in pairwise(values))
        assert values[-1] <= problem(loss).evaluate(start())[0]


def far_too_fast(loss):
    """The same loss, for which solvers take much too long a first step."""

    class Fast(EmbeddingLoss):
        traits = replace(loss.traits, first_step=1e9)

    return Fast(loss.name, loss.shape)


@losses
def test_a_stochastic_start_that_diverges_is_repaired(loss):
    for solver in ("auto", "sgd"):
        solution = solve_embedding(problem(far_too_fast(loss)), P, solver, Settings(), 0)
        assert np.isfinite(solution.embedding).all()
        assert np.isfinite(solution.objective)


def test_sgd_that_gives_up_has_not_converged():
    X = start()
    *_, last = SOLVERS["sgd"](
        problem(LOSSES["gnmds"], reg=0.0), X, Settings(step=1e9), np.random.default_rng(0)
    )
    assert not last.converged
    assert_array_equal(X, start())


@losses
def test_sgd_with_a_strong_ridge_does_not_pass_the_origin(loss):
    strong = problem(loss, reg=1e4)
    solution = solve_embedding(strong, P, "sgd", Settings(), 0)
    exact = solve_embedding(strong, P, "lbfgs", Settings(max_iter=1000), 0)
    assert solution.converged
    assert solution.objective <= exact.objective * (1.0 + 1e-3)


@losses
@pytest.mark.parametrize("size", [1e7, 1e100])
def test_sgd_from_points_far_apart_ends(loss, size):
    X = size * start()
    *_, last = SOLVERS["sgd"](problem(loss), X, Settings(), np.random.default_rng(0))
    assert last.converged
    assert np.isfinite(X).all()


def test_shuffled_rows_follow_the_weights():
    weights = np.zeros(1200) + 1e-9
    weights[:300] = [1.0, 3.0, 8.0] * 100
    rows = shuffled(problem(LOSSES["ste"], weights=weights), np.random.default_rng(0))
    assert len(rows) == 20 * 1200
    keys = {tuple(row): index % 3 for index, row in enumerate(ROWS[:300])}
    drawn = np.bincount([keys[tuple(row)] for row in rows], minlength=3)
    # Rows may be equal: the counts are near those of the weights.
    assert_allclose(drawn, [2000, 6000, 16000], rtol=0.1)
    light = np.where(np.arange(1200) % 10 == 0, 10.0, 1.0)
    rows = shuffled(problem(LOSSES["ste"], weights=light), np.random.default_rng(0))
    # One list of 1200 rows would lack the half of the light ones.
    assert {tuple(row) for row in rows} == {tuple(row) for row in ROWS[:1200]}
    assert shuffled(problem(LOSSES["ste"]), np.random.default_rng(0)) is not None


@losses
def test_the_lowest_of_several_starts_is_returned(loss):
    seeds = [3, 4, 5, 6]
    best = solve_from(problem(loss), P, "auto", Settings(), seeds, [None] * 4, None)
    each = [solve_embedding(problem(loss), P, "auto", Settings(), seed).objective for seed in seeds]
    assert best.objective == min(each)
    parallel = solve_from(problem(loss), P, "auto", Settings(), seeds, [None] * 4, 2)
    assert_array_equal(best.embedding, parallel.embedding)


def test_noisy_answers_choose_a_stronger_ridge():
    """And so do more components than the answers need."""
    loss, noisy = LOSSES["soe"], triplets_of(POINTS, 1200, 3, noise=0.3).astype(np.int32)
    for rows, n_components, stronger in ((ROWS, 2, False), (noisy, 5, True)):
        task = problem(loss, rows)
        clean = clean_ridge(task, n_components)
        with_ridge, settings = task.with_reg(clean), Settings(adapt=True)
        solution = solve_embedding(with_ridge, n_components, "auto", settings, 0)
        assert (solution.reg > clean) == stronger
        assert_allclose(
            task.with_reg(solution.reg).evaluate(solution.embedding)[0], solution.objective
        )


def test_many_answers_do_not_choose_a_strong_ridge_by_chance():
    """A tenth of 1,500 answers, 10 % of them wrong, says little; strong ridges are worse here."""
    points = np.random.default_rng(1).normal(size=(30, 4)) / np.sqrt(8.0)
    for seed in range(8):
        rows = triplets_of(points, 1500, 10 + seed, noise=0.1).astype(np.int32)
        task = EmbeddingProblem(rows, None, 30, LOSSES["soe"], 1e-4)
        found = solve_embedding(task, 4, "auto", Settings(adapt=True), 0)
        assert found.reg <= 0.03
    line = problem(LOSSES["soe"], triplets_of(POINTS, 1200, 3, noise=0.3).astype(np.int32))
    assert solve_embedding(line, 1, "auto", Settings(adapt=True), 0).reg == line.reg


@pytest.mark.parametrize("p", [5, 10])
def test_answers_about_many_dimensions_are_not_taken_for_noise(p):
    """Starts that ended early chose a strong ridge: 6 % of new answers were wrong for 4 %."""
    points = np.random.default_rng(0).normal(size=(100, p)) / np.sqrt(2.0 * p)
    rows, new = triplets_of(points, 1000 * p, 1).astype(np.int32), triplets_of(points, 4000, 2)
    clear = EmbeddingProblem(rows, None, 100, LOSSES["soe"], 0.0)
    clear = clear.with_reg(clean_ridge(clear, p))
    found = solve_embedding(clear, p, "auto", Settings(adapt=True), 0)
    assert found.reg == clear.reg
    assert share_right(found.embedding, new) > 0.95


def test_more_answers_need_a_weaker_ridge():
    for name, loss in LOSSES.items():
        few, many = (clean_ridge(problem(loss, rows), P) for rows in (ROWS[:300], ROWS))
        assert few == many if name in ("tste", "ckl") else few > many


def test_the_losses_of_the_loops_are_those_of_the_solvers():
    assert {name for name, *_ in embedding.LOSSES} == set(TRAITS)
    assert {"gnmds", "ste", "oddoneout"} <= set(CONVEX_LOSSES)


def stochastic_passes(own, starts, seed):
    """Passes of the start of the default solver, whose values are not known."""
    history = solve_embedding(own, 1, "auto", Settings(starts=starts), seed).history
    return history["passes"][np.isnan(history["primal"])].max()


def test_stochastic_starts_end_where_two_agree():
    line = np.sort(np.random.default_rng(0).normal(size=(N, 1)), axis=0)
    clear = problem(LOSSES["ste"], triplets_of(line, 1200, 1).astype(np.int32))
    one = stochastic_passes(clear, 1, 0)
    assert_allclose(stochastic_passes(clear, 3, 0), 2 * one)
    # Answers at random have many local minima.
    random = np.array([np.random.default_rng(k).permutation(N)[:3] for k in range(200)])
    unclear = problem(LOSSES["ste"], random.astype(np.int32))
    one = stochastic_passes(unclear, 1, 0)
    made = [stochastic_passes(unclear, 3, seed) / one for seed in range(10)]
    assert_allclose(max(made), 3)
    values = [
        np.mean([solve_embedding(unclear, 1, "auto", settings, k).objective for k in range(10)])
        for settings in (Settings(), Settings(starts=3))
    ]
    assert values[1] < values[0]
