"""The second-order solver of reduced problems, on its own."""

import numpy as np
import pytest
from metric_cases import ALL_CASES
from rtlm_reference import Explicit, screen

from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.solvers.interior_point import interior_point

cases = pytest.mark.parametrize("case", ALL_CASES, ids=str)


@pytest.mark.few(2)
@cases
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_full_problem_is_solved_from_any_scale(case, scale):
    explicit, problem = case.explicit, case.problem()
    for lam in (20 * case.lam, case.lam, 0.05 * case.lam):
        best = case.optimum(lam)
        objective = problem.at(lam, case.proximal())
        point, alpha, n_iter = next(interior_point(objective, scale, 1e-9 * best.primal, 60))
        assert n_iter < 60
        assert np.all((alpha >= 0.0) & (alpha <= 1.0))
        primal = explicit.primal(point.value, lam)
        assert primal == pytest.approx(best.primal, rel=1e-8)
        numbers = problem.geometry.items.numbers(*problem.geometry.items.listed())
        assert primal - explicit.dual(alpha[np.argsort(numbers)], lam) <= 1e-8 * primal


@cases
def test_reduced_problem_has_the_same_solution(case):
    problem, lam = case.problem(), case.lam
    best = case.optimum(lam)
    objective = problem.at(lam, case.proximal(best.alpha))
    evaluation = objective.evaluate(case.domain.project(1.001 * best.theta))
    ball = BOUNDS["gap"](evaluation, lam, lam)
    reduced = screen(objective, [ball])
    assert reduced.n_linear > 0
    point, alpha, _ = next(interior_point(reduced, 1.0, 1e-10 * best.primal, 60))
    assert alpha.size == reduced.geometry.n_items
    assert case.explicit.primal(point.value, lam) == pytest.approx(best.primal, rel=1e-8)


@cases
def test_with_nothing_left_to_decide_the_linear_term_gives_the_solution(case):
    _, objective, evaluation, ball = case.all_linear()
    lam = objective.lam
    reduced = screen(objective, [ball])
    assert reduced.geometry.n_items == 0
    point, alpha, _ = next(interior_point(reduced, 1.0, 1e-12, 60))
    assert alpha.size == 0
    empty = Explicit(case.explicit.A[:0], case.gamma, linear_term=reduced.linear_term)
    best = empty.primal(evaluation.point.value, lam)
    assert empty.primal(point.value, lam) == pytest.approx(best, abs=1e-8 * abs(best))
