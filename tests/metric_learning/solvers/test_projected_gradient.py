"""The solver against a conic solver, with and without its accelerations, and when lied to."""

from dataclasses import replace

import numpy as np
import pytest
from metric_cases import ALL_CASES
from rtlm_reference import (
    Case,
    Explicit,
    brute_force_triplets,
    item_matrices,
    time_limit,
    triplets_from_array,
)

from skscreen.metric_learning.path_solver import PathSolver
from skscreen.metric_learning.problem.comparisons import Comparisons, DiagonalComparisons
from skscreen.metric_learning.problem.domains import NonnegativeOrthant, PSDCone
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Problem
from skscreen.metric_learning.problem.triplets import triplets_from_labels
from skscreen.metric_learning.screening.ball import Ball
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import RULES, PaperScreening
from skscreen.metric_learning.solvers.anderson import AndersonMemory
from skscreen.metric_learning.solvers.projected_gradient import Settings, minimise
from skscreen.metric_learning.solvers.solution import Warm

cases = pytest.mark.parametrize("case", ALL_CASES, ids=str)
PLAIN = Settings(screening=False, active_set=False, tol=1e-9)
TIGHT = Settings(tol=1e-9)


def run_on(case, options, lam=None, warm=None):
    """Return the solution, and what it leaves for another lambda."""
    problem = case.problem()
    lam = case.lam if lam is None else lam
    start = problem.ray.scaled(1.0 / lam)
    solution, end = minimise(problem.at(lam, case.proximal()), start, options, warm=warm)
    return solution, Warm(lam, end, solution.step, solution.n_iter)


def run(case, options, lam=None, warm=None):
    return run_on(case, options, lam, warm)[0]


def assert_optimal(case, solution, tol):
    """The certificate is that of the full problem, below the tolerance and true."""
    best, theta = case.optimum(solution.lam), solution.point.value
    certificate = solution.certificate
    assert solution.converged
    assert certificate.relative_gap <= tol
    primal = case.explicit.primal(theta, solution.lam)
    assert certificate.primal == pytest.approx(primal, rel=1e-11)
    assert certificate.primal - best.primal <= certificate.gap + 1e-12 * best.primal
    assert certificate.dual <= best.primal
    radius = np.sqrt(2 * certificate.gap / solution.lam)
    assert np.linalg.norm(theta - best.theta) <= radius + best.radius


@pytest.mark.few(8)
@cases
@pytest.mark.parametrize("fraction", [1.0, 0.2])
def test_objective_is_that_of_a_conic_solver(case, fraction):
    lam = fraction * case.lam
    solution = run(case, TIGHT, lam)
    assert_optimal(case, solution, 1e-9)
    assert solution.certificate.primal == pytest.approx(case.optimum(lam).primal, rel=1e-8)


@pytest.mark.few(4)
@pytest.mark.slow
@cases
def test_screening_and_active_set_do_not_change_the_result(case):
    for screening in (False, True):
        for active_set in (False, True):
            solution = run(case, replace(TIGHT, screening=screening, active_set=active_set))
            assert_optimal(case, solution, 1e-9)
            assert bool(solution.history) is screening


@pytest.mark.few(17)
@pytest.mark.slow
@cases
@pytest.mark.parametrize("bounds", [*((name,) for name in BOUNDS), tuple(BOUNDS)], ids="+".join)
def test_every_bound_gives_the_optimum(case, bounds):
    assert_optimal(case, run(case, replace(TIGHT, hook=PaperScreening(bounds))), 1e-9)


@pytest.mark.few(6)
@pytest.mark.slow
@cases
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_gives_the_optimum(case, rule):
    for bounds in (("gap",), ("gb",), tuple(BOUNDS)):
        solution = run(case, replace(TIGHT, hook=PaperScreening(bounds, rule)))
        assert_optimal(case, solution, 1e-9)
        assert solution.history


@cases
def test_a_reference_screens_before_the_first_iteration(case):
    _, warm = run_on(case, TIGHT)
    for ratio in (0.9, 1.1):
        solution = run(case, TIGHT, ratio * case.lam, warm)
        first = solution.history[0]
        assert (first.where, first.iteration) == ("path", 0)
        assert first.zero + first.linear > 0.5 * len(case.data[2])
        assert solution.n_screened("path") == first.zero + first.linear
        assert_optimal(case, solution, 1e-9)


@cases
def test_history_adds_up_and_only_grows(case):
    solution = run(case, TIGHT)
    decided = [event.zero + event.linear for event in solution.history]
    assert decided == sorted(decided)
    for event in solution.history:
        assert event.zero + event.linear + event.undecided == len(case.data[2])
        assert event.lam == solution.lam
        assert event.seconds >= 0.0
    x = case.explicit.margins(solution.point.value)
    assert solution.n_screened() == max(decided, default=0)
    assert solution.n_screened() <= np.sum((x > 1.0) | (x < 1.0 - case.gamma))
    assert solution.loss == pytest.approx(case.explicit.losses(x).sum(), rel=1e-10)


@cases
@pytest.mark.parametrize("screen_every", [1, 7])
def test_screening_can_be_as_frequent_as_wanted(case, screen_every):
    assert_optimal(case, run(case, replace(TIGHT, screen_every=screen_every)), 1e-9)


@cases
def test_warm_start_at_the_solution_takes_no_iteration(case):
    problem = case.problem()
    objective = problem.at(case.lam, case.proximal())
    first, end = minimise(objective, problem.ray.scaled(1.0 / case.lam), TIGHT)
    assert first.n_iter > 0
    # With the hinge, the dual variables are part of what is known.
    known = replace(objective, proximal=end.objective.proximal)
    again, _ = minimise(known, first.point, TIGHT)
    assert again.n_iter == 0
    assert again.converged
    assert again.point is first.point


@cases
def test_running_out_of_iterations_is_reported_with_a_true_certificate(case):
    for max_iter in (1, 3, 12):
        solution = run(case, replace(TIGHT, max_iter=max_iter))
        assert not solution.converged
        assert solution.n_iter == max_iter
        assert solution.certificate.relative_gap > 1e-9
        assert solution.certificate.dual <= case.optimum(case.lam).primal
        primal = case.explicit.primal(solution.point.value, case.lam)
        assert solution.certificate.primal == pytest.approx(primal, rel=1e-11)


@pytest.mark.parametrize(
    "case", [Case("iris"), Case("wine", "hinge"), Case("wine", "smoothed", True)], ids=str
)
@pytest.mark.parametrize("tol", [1e-14, 1e-16])
def test_a_tolerance_below_rounding_errors_ends_unconverged_or_met(case, tol):
    with time_limit(20):
        solution = run(case, Settings(tol=tol, max_iter=3000))
    assert solution.converged == (solution.certificate.relative_gap <= tol)
    assert solution.certificate.relative_gap < 1e-8
    assert solution.certificate.primal == pytest.approx(case.optimum(case.lam).primal, rel=1e-8)


# -- wrong decisions -----------------------------------------------------------------------------


def lying_bound(n_lies, shrink=0.0):
    """A bound whose first balls are far too small: they decide whatever the reference says."""
    calls = []

    def bound(evaluation, lam, reference_lam):
        calls.append(lam)
        ball = BOUNDS["dgb"](evaluation, lam, reference_lam)
        return Ball(ball.terms, shrink * ball.radius) if len(calls) <= n_lies else ball

    return bound


@cases
def test_wrong_decisions_are_repaired_and_recorded(case, monkeypatch):
    monkeypatch.setitem(BOUNDS, "lie", lying_bound(1))
    # Far from the optimum at case.lam: many items of the reference lie elsewhere. Many iterations
    # there: so the decisions are used at once.
    warm = replace(run_on(case, TIGHT, 20 * case.lam)[1], n_iter=100)
    with time_limit(20):
        solution = run(case, replace(TIGHT, hook=PaperScreening(("lie",))), warm=warm)
    assert [event.where for event in solution.history[:1]] == ["path"]
    repairs = [event for event in solution.history if event.where == "repair"]
    assert repairs
    for event in repairs:
        assert (event.zero, event.linear) == (0, 0)
        assert event.undecided == len(case.data[2])
    assert_optimal(case, solution, 1e-9)


@pytest.mark.few(1)
@cases
def test_a_bound_that_always_lies_never_gets_a_false_certificate(case, monkeypatch):
    monkeypatch.setitem(BOUNDS, "lie", lying_bound(10**9))
    _, warm = run_on(case, TIGHT, 20 * case.lam)
    options = replace(TIGHT, hook=PaperScreening(("lie",)), max_iter=500)
    with time_limit(20):
        solution = run(case, options, warm=warm)
    if solution.converged:
        assert_optimal(case, solution, 1e-9)
    primal = case.explicit.primal(solution.point.value, case.lam)
    assert solution.certificate.primal == pytest.approx(primal, rel=1e-11)
    assert solution.certificate.dual <= case.optimum(case.lam).primal


# -- special problems ----------------------------------------------------------------------------


def test_one_comparison_has_a_closed_form():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    problem = Problem(
        Comparisons(X, triplets_from_array(np.array([(0, 1, 2)]))),
        SmoothedHinge(1.0, 0.0),
        PSDCone(),
    )
    # H = diag(-1, 4): M = alpha diag(0, 4)/lam with alpha = min(1, lam/16).
    for lam, alpha in ((1.0, 1.0 / 16.0), (16.0, 1.0), (40.0, 1.0)):
        case = Case("iris", "hinge")
        proximal = replace(case.proximal(), centre=np.ones(1))
        start = problem.domain.project(np.zeros((2, 2)))
        solution, _ = minimise(problem.at(lam, proximal), start, TIGHT)
        assert solution.converged
        expected = np.diag([0.0, 4.0 * alpha / lam])
        np.testing.assert_allclose(solution.point.value, expected, atol=1e-4 / lam)


def test_zero_is_found_when_no_metric_helps():
    X = np.array([[0.0], [2.0], [1.0]])
    geometry = Comparisons(X, triplets_from_array(np.array([(0, 1, 2)])))
    problem = Problem(geometry, SmoothedHinge(), PSDCone())
    for start in (0.0, 1.0, 100.0):
        point = problem.domain.project(np.full((1, 1), start))
        with time_limit(20):
            solution, _ = minimise(problem.at(1.0), point, TIGHT)
        assert solution.converged
        assert abs(solution.point.value[0, 0]) < 1e-4


@pytest.mark.parametrize("scale", [0.0, 1e-6, 1e6])
def test_the_start_does_not_matter(scale):
    case = Case("wine")
    problem = case.problem()
    start = problem.ray.scaled(scale / case.lam)
    assert_optimal(case, minimise(problem.at(case.lam), start, TIGHT)[0], 1e-9)


MIXED_CLUSTERS = [
    [55.3, 55.0, 55.3, 54.0],
    [55.1, 53.0, 53.8, 55.5],
    [-44.3, -42.8, -43.4, -43.1],
    [55.3, 55.0, 55.3, 54.0],
    [-43.5, -45.1, -44.8, -46.1],
    [-44.3, -42.8, -43.4, -43.1],
    [55.3, 55.0, 55.3, 54.0],
    [-44.2, -42.8, -44.7, -43.5],
    [-44.6, -44.5, -43.4, -41.7],
]
CLOSE_CLASSES = [
    [7.9, 7.7, 6.8],
    [-2.4, -3.0, -4.0],
    [-2.0, -2.6, -2.7],
    [-2.0, -2.0, -2.6],
    [7.3, 6.0, 7.5],
    [-2.8, -4.6, -3.5],
    [-3.4, -1.7, -2.7],
    [-1.2, -1.1, -0.7],
    [7.9, 8.0, 8.8],
    [-2.6, -0.3, -2.9],
    [-3.3, -3.5, -2.2],
    [-3.3, -2.8, -1.9],
]


@pytest.mark.few(3)
@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.05, 0.0])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize(
    ("X", "n_classes", "k"),
    [(MIXED_CLUSTERS, 3, 1), (CLOSE_CLASSES, 4, 20), (CLOSE_CLASSES, 2, 3)],
    ids=["mixed clusters", "close classes", "mixed classes"],
)
def test_small_problems_that_need_many_step_sizes(X, n_classes, k, diagonal, gamma):
    """Found by search: a step that keeps coming back too long leaves no progress."""
    X = np.array(X) - np.mean(X, axis=0)
    triplets = brute_force_triplets(X, np.arange(len(X)) % n_classes, k)
    explicit = Explicit(item_matrices(X, triplets, diagonal), gamma)
    geometry = (DiagonalComparisons if diagonal else Comparisons)(X, triplets_from_array(triplets))
    domain = NonnegativeOrthant() if diagonal else PSDCone()
    problem = Problem(geometry, SmoothedHinge(1.0, gamma), domain)
    lam_max = problem.lam_max
    for fraction in (0.5, 0.003):
        lam = fraction * lam_max if lam_max else 1.0
        with time_limit(20):
            *_, (_, solution) = PathSolver(problem).approach(lam, Settings())
        assert solution.converged
        # The conic solver is not that accurate here, but knows how much.
        best, primal = explicit.optimum(lam), explicit.primal(solution.point.value, lam)
        assert solution.certificate.primal == pytest.approx(primal, rel=1e-9)
        assert best.primal - best.gap <= primal <= best.primal * (1 + 2e-6)


@pytest.mark.parametrize("gamma", [0.05, 0.0])
@pytest.mark.parametrize("constant", [0.0, 1e-17, 0.1])
def test_rounding_errors_of_a_constant_feature_are_no_useful_direction(constant, gamma):
    """The other feature separates nothing, so zero is optimal but for rounding errors."""
    for seed in range(4):
        X = np.c_[np.full(8, constant), np.random.default_rng(seed).normal(size=8)]
        items = triplets_from_labels(X, np.arange(8) % 2, None)
        problem = Problem(Comparisons(X, items), SmoothedHinge(1.0, gamma), PSDCone())
        lam_max = problem.lam_max
        lam = 0.5 * lam_max if lam_max else 1.0
        with time_limit(20):
            *_, (_, solution) = PathSolver(problem).approach(lam, Settings())
        assert solution.converged
        zero = problem.geometry.n_items * (1.0 - 0.5 * problem.loss.width)
        assert solution.certificate.primal == pytest.approx(zero, rel=1e-6)


def test_an_extrapolation_whose_squares_overflow_is_the_plain_step():
    memory = AndersonMemory((2,))
    for power in (1e180, 2e180):
        memory.add(power * np.ones(2), power * np.array([1.0, 2.0]), np.zeros(2))
    G = np.array([3.0, 4.0])
    np.testing.assert_array_equal(memory.extrapolate(G, 1e180 * G, 1.0, 0.0), G)


def test_steps_at_one_lambda_serve_another_lambda_and_step_length():
    """Of a quadratic objective as many steps as it has directions tell all about it."""
    memory, curvatures = AndersonMemory((4,)), np.array([3.0, 0.5, 1.0, 1.0])
    b = np.array([1.0, 2.0, 0.0, 0.0])
    X = np.zeros(4)
    for _ in range(3):
        S = b - curvatures * X
        memory.add(X, X, S)
        X = X - 0.1 * (1.0 * X - S)
    X, S = memory._last[1:]
    G = X - 0.3 * (2.0 * X - S)
    optimum = b / (curvatures + 2.0)
    assert np.linalg.norm(G - optimum) > 0.1
    np.testing.assert_allclose(memory.extrapolate(G, G - X, 0.3, 2.0), optimum, atol=1e-7)


@pytest.mark.parametrize("n_steps", [3, 9, 15, 16, 22, 31])
@pytest.mark.parametrize(("share", "kept"), [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)])
def test_a_memory_that_forgets_knows_its_newest_steps(n_steps, share, kept):
    rng = np.random.default_rng(n_steps)
    steps = rng.normal(size=(n_steps + 1, 3, 40))
    memory, newest = AndersonMemory((40,)), AndersonMemory((40,))
    for step in steps:
        memory.add(*step)
    memory.forget(share)
    n_kept = int(kept * min(n_steps, 15))
    for step in steps[n_steps - n_kept :]:
        newest.add(*step)
    assert memory.is_empty == newest.is_empty == (n_kept == 0)
    # Both go on alike.
    for step in rng.normal(size=(4, 3, 40)):
        memory.add(*step)
        newest.add(*step)
        G, Z = step[0], step[1]
        found, expected = (one.extrapolate(G, G - Z, 0.1, 1.0) for one in (memory, newest))
        np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-30, 1e20, 1e32, 1e38])
def test_data_of_any_size_end_in_numbers(scale):
    """What breaks down on the way, the solvers leave where it is."""
    X = scale * np.array([[0.1], [-0.1], [0.6], [0.2], [0.4], [-0.3]])
    y = np.array([0, 0, 1, 1, 0, 1])
    geometry = Comparisons(X - X.mean(axis=0), triplets_from_labels(X, y, None))
    for gamma in (0.05, 0.0):
        problem = Problem(geometry, SmoothedHinge(1.0, gamma), PSDCone())
        lam_max = problem.lam_max
        for fraction in (1.0, 0.1, 1e-6):
            lam = fraction * (lam_max or 1.0)
            *_, (_, solution) = PathSolver(problem).approach(lam, Settings())
            certificate = solution.certificate
            assert np.isfinite([certificate.primal, certificate.dual, certificate.gap]).all()


def test_a_loose_tolerance_does_not_stop_second_order_steps_too_early():
    # Two clusters with both classes in each: |H| differ by four orders of magnitude. Dual variables
    # made from a nearly optimal metric are then far from optimal, and first-order steps take 1,200.
    X = np.array([-1.0, -1.0, 1.0, -1.0, 1.0, 1.0])[:, None]
    X = X + np.random.default_rng(138).uniform(-0.05, 0.05, (6, 6))
    problem = Problem(
        Comparisons(X, triplets_from_labels(X, np.arange(6) % 2, 1)),
        SmoothedHinge(1.0, 0.05),
        PSDCone(),
    )
    lam_max = problem.lam_max
    steps = PathSolver(problem).approach(0.03 * lam_max, Settings(tol=0.1))
    solutions = [solution for _, solution in steps]
    assert all(solution.converged and solution.n_iter < 150 for solution in solutions)


@pytest.mark.few(3)
@pytest.mark.slow
@pytest.mark.parametrize("seed", [5, 12, 14, 18])
def test_features_that_nearly_depend_on_each_other_take_few_steps(seed):
    # Cholesky factors in the coordinates of the features lose all digits: 400 to 2,000 steps.
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((10, 1)) * rng.standard_normal(6)
    X += 1e-3 * rng.standard_normal((10, 6))
    geometry = Comparisons(X - X.mean(axis=0), triplets_from_labels(X, np.arange(10) % 2, 2))
    problem = Problem(geometry, SmoothedHinge(1.0, 0.05), PSDCone())
    lam_max = problem.lam_max
    for _, solution in PathSolver(problem).approach(0.1 * lam_max, Settings()):
        assert solution.n_iter < 150
    assert solution.converged
