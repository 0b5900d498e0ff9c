"""Decisions against certified optima: not one may be wrong."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from metric_cases import ALL_CASES
from rtlm_reference import CASES, Explicit, screen, wrong_decisions

from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.metric_learning.screening.active import active_part
from skscreen.metric_learning.screening.ball import Ball
from skscreen.metric_learning.screening.paper.bounds import BOUNDS

cases = pytest.mark.parametrize("case", ALL_CASES, ids=str)
NOISES = (0.0, 1e-8, 1e-4, 1e-2, 0.1)
RATIOS = (0.5, 0.7, 0.9, 1.0, 1.1, 1.5)


def reference(case, problem, noise, rng):
    """A point near the optimum at `case.lam` and its evaluation."""
    best = case.optimum(case.lam)
    E = rng.normal(size=best.theta.shape)
    E = E if case.diagonal else E + E.T
    E *= noise * np.linalg.norm(best.theta) / np.linalg.norm(E)
    point = case.domain.project(best.theta + E)
    return problem.at(case.lam, case.proximal(best.alpha)).evaluate(point)


def sorted_at_optimum(case):
    """The problem as a path driver hands it on: places sorted by the last margins."""
    problem = case.problem()
    evaluation = reference(case, problem, 0.0, np.random.default_rng(0))
    return replace(problem, geometry=problem.geometry.sort_places(evaluation.margins)[0])


def undecided_numbers(geometry):
    items = geometry.items
    return sorted(
        int(items.base[p] + items.rank[s])
        for p in range(len(items.start))
        for s in range(items.start[p], items.stop[p])
    )


def screened(case, names=("gap",), noise=1e-4, ratio=0.9):
    """Full objective, reduced objective and decisions from one reference."""
    problem = case.problem()
    lam = ratio * case.lam
    evaluation = reference(case, problem, noise, np.random.default_rng(0))
    objective = problem.at(lam, case.proximal(case.optimum(lam).alpha))
    balls = [BOUNDS[name](evaluation, lam, case.lam) for name in names]
    decisions = np.zeros(problem.geometry.n_items, dtype=np.int8)
    return objective, screen(objective, balls, decisions), decisions


@pytest.mark.few(3)
@pytest.mark.slow
@cases
@pytest.mark.parametrize("ordered", [False, True], ids=["any order", "sorted places"])
def test_no_decision_of_any_bound_or_union_is_wrong(case, ordered):
    problem = sorted_at_optimum(case) if ordered else case.problem()
    geometry, rng = problem.geometry, np.random.default_rng(0)
    n_items, decided = geometry.n_items, dict.fromkeys(BOUNDS, 0)
    for noise in NOISES:
        evaluation = reference(case, problem, noise, rng)
        for ratio in RATIOS:
            lam = ratio * case.lam
            best, objective = case.optimum(lam), problem.at(lam)
            balls = {name: bound(evaluation, lam, case.lam) for name, bound in BOUNDS.items()}
            choices = [(name,) for name in BOUNDS]
            choices += [*combinations(BOUNDS, 2), tuple(BOUNDS)]
            for names in choices:
                decisions = np.zeros(n_items, dtype=np.int8)
                screen(objective, [balls[name] for name in names], decisions)
                assert wrong_decisions(case.explicit, best, decisions) == 0
                if len(names) == 1:
                    decided[names[0]] += np.count_nonzero(decisions)
    # The test would be empty if nothing were decided.
    for name, count in decided.items():
        assert count > (0.02 if name == "gb" else 0.2) * n_items * len(NOISES) * len(RATIOS) / 2


@pytest.mark.few(2)
@cases
def test_reduced_problem_has_the_same_optimum_and_value(case):
    for ratio in (0.7, 1.0, 1.5):
        objective, reduced, decisions = screened(case, tuple(BOUNDS), 1e-3, ratio)
        best, lam = case.optimum(objective.lam), objective.lam
        assert 0 < np.count_nonzero(decisions) < decisions.size
        # By strong convexity of the reduced problem its certificate at the full optimum proves it.
        point = case.domain.project(best.theta)
        certificate = reduced.evaluate(point).certificate(lam)
        assert certificate.primal == pytest.approx(best.primal, rel=1e-9)
        assert certificate.relative_gap < 1e-8
        # The same from a conic solver that knows nothing of the full problem.
        left = Explicit(
            case.explicit.A[decisions == UNDECIDED],
            case.gamma,
            linear_term=case.explicit.A[decisions == LINEAR].sum(axis=0),
        )
        other = left.optimum(lam)
        constant = (1.0 - case.gamma / 2) * np.sum(decisions == LINEAR)
        assert other.primal + constant == pytest.approx(best.primal, rel=1e-9)
        assert np.linalg.norm(other.theta - best.theta) <= other.radius + best.radius


@cases
def test_decisions_say_what_was_left_out(case):
    objective, reduced, decisions = screened(case)
    assert set(np.unique(decisions)) <= {UNDECIDED, ZERO, LINEAR}
    assert reduced.n_zero == np.sum(decisions == ZERO) > 0
    assert reduced.n_linear == np.sum(decisions == LINEAR) > 0
    assert undecided_numbers(reduced.geometry) == np.flatnonzero(decisions == UNDECIDED).tolist()
    expected = case.explicit.A[decisions == LINEAR].sum(axis=0)
    np.testing.assert_allclose(reduced.linear_term, expected, atol=1e-11 * np.abs(expected).max())
    # The full problem is as it was.
    assert (objective.n_zero, objective.n_linear) == (0, 0)
    assert objective.geometry.n_items == decisions.size
    assert np.all(objective.linear_term == 0.0)


@cases
def test_screening_again_adds_to_the_decisions(case):
    problem = case.problem()
    rng, lam = np.random.default_rng(1), case.lam
    objective, decisions = problem.at(lam), np.zeros(problem.geometry.n_items, dtype=np.int8)
    if case.gamma == 0.0:
        objective = problem.at(lam, case.proximal(case.optimum(lam).alpha))
    for noise in (0.1, 1e-2, 1e-3, 1e-5):
        before = decisions.copy()
        point = reference(case, problem, noise, rng).point
        evaluation = objective.evaluate(point)
        ball = BOUNDS["gap"](evaluation, lam, lam)
        objective = screen(objective, [ball], decisions)
        assert np.all(decisions[before != UNDECIDED] == before[before != UNDECIDED])
        assert objective.n_zero == np.sum(decisions == ZERO)
        assert objective.n_linear == np.sum(decisions == LINEAR)
        assert wrong_decisions(case.explicit, case.optimum(lam), decisions) == 0
    assert undecided_numbers(objective.geometry) == np.flatnonzero(decisions == 0).tolist()
    expected = case.explicit.A[decisions == LINEAR].sum(axis=0)
    np.testing.assert_allclose(objective.linear_term, expected, atol=1e-11 * np.abs(expected).max())


@cases
def test_decisions_are_optional(case):
    objective, reduced, _ = screened(case)
    problem = case.problem()
    evaluation = reference(case, problem, 1e-4, np.random.default_rng(0))
    ball = BOUNDS["gap"](evaluation, objective.lam, case.lam)
    same = screen(problem.at(objective.lam, case.proximal()), [ball])
    assert (same.n_zero, same.n_linear) == (reduced.n_zero, reduced.n_linear)


@pytest.mark.parametrize("case", [c for c in CASES if c.loss == "hinge"], ids=str)
def test_decided_items_of_the_hinge_get_their_optimal_dual_variables(case):
    _, reduced, decisions = screened(case)
    point = case.domain.project(case.optimum(case.lam).theta)
    for values in (reduced.proximal.duals(reduced.evaluate(point)), reduced.proximal.centre):
        assert np.all(values[decisions == ZERO] == 0.0)
        assert np.all(values[decisions == LINEAR] == 1.0)


@cases
@pytest.mark.parametrize("radius", [np.inf, np.nan, 1e300])
def test_a_useless_ball_leaves_the_problem_alone(case, radius):
    problem = case.problem()
    objective = problem.at(case.lam)
    evaluation = reference(case, problem, 0.0, np.random.default_rng(0))
    decisions = np.zeros(problem.geometry.n_items, dtype=np.int8)
    ball = Ball(((1.0, evaluation.margins),), radius)
    assert screen(objective, [ball], decisions) is objective
    assert screen(objective, [], decisions) is objective
    assert np.all(decisions == UNDECIDED)


@cases
def test_everything_can_be_decided(case):
    problem, objective, evaluation, ball = case.all_linear()
    lam = objective.lam
    decisions = np.zeros(problem.geometry.n_items, dtype=np.int8)
    reduced = screen(objective, [ball], decisions)
    assert np.all(decisions == LINEAR)
    assert reduced.geometry.n_items == 0
    left = reduced.evaluate(evaluation.point)
    assert left.certificate(lam).relative_gap < 1e-12
    assert left.primal(lam) == pytest.approx(evaluation.primal(lam), rel=1e-12)


@cases
def test_active_part_keeps_value_and_gradient(case):
    problem = sorted_at_optimum(case)
    best = case.domain.project(case.optimum(case.lam).theta)
    objective = problem.at(case.lam, case.proximal(case.optimum(case.lam).alpha))
    sizes = []
    # The larger the metric, the more margins are beyond the threshold.
    for scale in (0.5, 1.0, 4.0, 50.0):
        evaluation = objective.evaluate(best.scaled(scale))
        part = active_part(objective, evaluation)
        sizes.append(part.geometry.n_items)
        assert (part.n_zero, part.n_linear) == (0, 0)
        again = part.evaluate(evaluation.point)
        value = evaluation.smoothed_primal(case.lam)
        assert again.smoothed_primal(case.lam) == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(
            again.gradient(case.lam),
            evaluation.gradient(case.lam),
            atol=1e-11 * np.abs(evaluation.adjoint).max(),
        )
    assert sizes[-1] < objective.geometry.n_items


@cases
def test_a_reduced_problem_inherits_the_rounding_error_of_what_it_fixed(case):
    problem, objective, evaluation, ball = case.all_linear()
    reduced = screen(objective, [ball])
    assert reduced.n_linear == problem.geometry.n_items
    allowance = reduced.evaluate(evaluation.point).adjoint_error
    assert allowance >= problem.geometry.adjoint_at_zero(problem.loss)[1]
