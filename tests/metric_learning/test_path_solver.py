"""The path driver: every value certified, whatever it reuses from the values before."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from metric_cases import ALL_CASES
from rtlm_reference import Case, small_data, triplets_from_array

from skscreen.metric_learning import path_solver
from skscreen.metric_learning.path_solver import PathSolver
from skscreen.metric_learning.problem.comparisons import Comparisons
from skscreen.metric_learning.problem.domains import PSDCone
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Problem
from skscreen.metric_learning.problem.triplets import triplets_from_labels
from skscreen.metric_learning.screening.active import screen
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import PaperScreening
from skscreen.metric_learning.solvers.progress import Settings

cases = pytest.mark.parametrize("case", ALL_CASES, ids=str)
SETTINGS = Settings(tol=1e-8)


def path(case, lams, settings=SETTINGS):
    problem = case.problem()
    solver = PathSolver(problem)
    return [solver.solve(lam, settings) for lam in lams]


def grid(case, n=12, ratio=0.7):
    return case.explicit.lam_max() * ratio ** np.arange(n)


@pytest.mark.few(1)
@cases
def test_every_value_has_a_true_certificate_of_the_full_problem(case):
    for solution in path(case, grid(case)):
        lam, theta = solution.lam, solution.point.value
        assert solution.converged
        assert solution.certificate.relative_gap <= 1e-8
        primal = case.explicit.primal(theta, lam)
        assert solution.certificate.primal == pytest.approx(primal, rel=1e-11)
    for lam, solution in zip(grid(case)[::4], path(case, grid(case))[::4], strict=True):
        assert solution.certificate.primal == pytest.approx(case.optimum(lam).primal, rel=2e-8)


@pytest.mark.few(1)
@cases
def test_screening_changes_no_objective_of_the_path(case):
    plain = path(case, grid(case), replace(SETTINGS, screening=False, active_set=False))
    for settings in (
        SETTINGS,
        replace(SETTINGS, hook=PaperScreening(tuple(BOUNDS)), screen_every=3),
    ):
        for one, other in zip(path(case, grid(case), settings), plain, strict=True):
            assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-8)


@pytest.mark.few(2)
@cases
def test_a_close_reference_decides_most_items_before_the_first_iteration(case):
    problem, rates = case.problem(), []
    solver = PathSolver(problem)
    for lam in grid(case, 30, 0.9):
        before, solution = solver.warm, solver.solve(lam, SETTINGS)
        if before is None or before.n_iter == 0:
            continue
        reference = before.evaluation.in_order()
        full = replace(reference.objective, lam=solution.lam)
        found = screen(full, reference, before.lam)
        margins = full.geometry.margins(solution.point)
        decidable = full.geometry.count_decidable(margins, full.loss)
        rates.append((found.n_zero + found.n_linear) / decidable)
        if looked := solution.n_screened("path"):
            assert looked / decidable == pytest.approx(rates[-1], abs=0.01)
    assert np.mean(rates) > 0.7


@pytest.mark.few(3)
@cases
def test_only_solves_that_follow_a_long_one_screen_before_the_first_iteration(case):
    solutions = path(case, grid(case, 30, 0.9))
    for before, solution in itertools.pairwise(solutions):
        looked = "path" in {event.where for event in solution.history}
        assert looked == (before.n_iter >= 8 or case.loss == "hinge")


@cases
def test_above_lam_max_the_first_start_is_optimal(case):
    for factor in (1.5, 1 + 1e-9):
        (solution,) = path(case, [factor * case.explicit.lam_max()], Settings(tol=1e-10))
        assert solution.n_iter == 0
        assert solution.converged


@pytest.mark.few(4)
@cases
def test_any_order_and_repeated_values_are_solved_too(case):
    lams = case.lam * np.array([1.0, 3.0, 0.5, 0.5, 20.0, 0.2, 1.0])
    solutions = path(case, lams)
    for lam, solution in zip(lams, solutions, strict=True):
        assert solution.lam == lam
        assert solution.converged
        primal = case.explicit.primal(solution.point.value, lam)
        assert solution.certificate.primal == pytest.approx(primal, rel=1e-11)
    ends = [solution.certificate.primal for solution in (solutions[0], solutions[-1])]
    assert ends[0] == pytest.approx(ends[1], rel=2e-8)
    ends = [solution.certificate.primal for solution in (solutions[2], solutions[3])]
    assert ends[0] == pytest.approx(ends[1], rel=2e-8)


@pytest.mark.few(3)
@cases
@pytest.mark.parametrize("fraction", [2.0, 1.0, 0.4, 0.01])
def test_approach_ends_at_the_wanted_value(case, fraction):
    problem = case.problem()
    lam_max = problem.lam_max
    lam = fraction * lam_max
    steps = list(PathSolver(problem).approach(lam, SETTINGS))
    done = [fraction for fraction, _ in steps]
    assert done == sorted(set(done))
    assert done[-1] == 1.0
    last = steps[-1][1]
    assert last.lam == lam
    assert last.converged
    assert last.certificate.relative_gap <= 1e-8
    assert last.certificate.primal == pytest.approx(case.optimum(lam).primal, rel=2e-8)


def test_triplets_from_labels_give_a_path_too():
    X, y, _ = small_data("wine")
    problem = Problem(Comparisons(X, triplets_from_labels(X, y, None)), SmoothedHinge(), PSDCone())
    lam_max = problem.lam_max
    objectives = []
    for screening in (True, False):
        solver = PathSolver(problem)
        settings = replace(SETTINGS, screening=screening)
        solutions = [solver.solve(lam_max * 0.5**k, settings) for k in range(12)]
        assert all(solution.converged for solution in solutions)
        objectives.append([solution.certificate.primal for solution in solutions])
    np.testing.assert_allclose(*objectives, rtol=2e-8)


@pytest.mark.slow
def test_the_same_path_twice_is_bitwise_the_same():
    case = Case("wine", "hinge")
    for one, other in zip(path(case, grid(case)), path(case, grid(case)), strict=True):
        np.testing.assert_array_equal(one.point.value, other.point.value)
        assert one.certificate == other.certificate
        assert one.n_iter == other.n_iter


@pytest.mark.few(4)
@pytest.mark.parametrize("power", [-20, 20])
@cases
@pytest.mark.slow
def test_the_unit_of_the_data_does_not_matter(case, power):
    """Scaling by a power of two is exact, so not even rounding errors may differ."""
    X, _, triplets = case.data
    paths = []
    for scale in (1.0, 2.0**power):
        geometry = type(case.problem().geometry)(scale * X, triplets_from_array(triplets))
        problem = replace(case.problem(), geometry=geometry)
        lam_max = problem.lam_max
        solver = PathSolver(problem)
        paths.append([solver.solve(lam_max * 0.3**k, SETTINGS) for k in range(5)])
    for one, other in zip(*paths, strict=True):
        assert one.n_iter == other.n_iter
        assert one.certificate.primal == other.certificate.primal
        np.testing.assert_array_equal(one.point.value, other.point.value * 4.0**power)


@pytest.mark.proof
def test_an_approach_that_rounding_errors_end_goes_no_further():
    """A feature a hundred million times as large as the others, and lambda far below lambda_max."""
    X = np.random.default_rng(0).normal(size=(11, 3)) * [1.0, 1.0, 5e7]
    geometry = Comparisons(X - X.mean(axis=0), triplets_from_array(np.array([[4, 6, 7]])))
    problem = Problem(geometry, SmoothedHinge(1.0, 0.05), PSDCone())
    lam_max = problem.lam_max
    steps = list(PathSolver(problem).approach(1e-34 * lam_max, Settings()))
    assert steps[-1][0] == 1.0 and steps[-1][1].lam == 1e-34 * lam_max
    assert len(steps) < 100 and sum(solution.n_iter for _, solution in steps) < 50_000


def test_an_approach_whose_steps_are_used_up_goes_no_further(monkeypatch):
    """Steps at one lambda after the other that lead nowhere took a fit of six samples 10 s."""
    solve, problem = path_solver.minimise, Case("iris").problem()

    def spent(full, start, settings, **known):
        solution, end = solve(full, start, settings, **known)
        certificate = replace(solution.certificate, gap=solution.certificate.primal)
        n_iter = settings.max_iter
        return replace(solution, certificate=certificate, n_iter=n_iter, converged=False), end

    monkeypatch.setattr(path_solver, "minimise", spent)
    lam_max = problem.lam_max
    n_solves = {}
    for max_iter in (100, 5_000, 10_000):
        settings = replace(SETTINGS, max_iter=max_iter)
        approach = PathSolver(problem).approach(0.01 * lam_max, settings)
        n_solves[max_iter] = len(list(approach))
    # The last is the one at the lambda asked for.
    assert n_solves == {100: 5, 5_000: 3, 10_000: 2}
