from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from metric_cases import ALL_CASES
from rtlm_reference import CASES, Case, Explicit, item_margins, triplets_from_array

from skscreen.core.certificate import Certificate
from skscreen.metric_learning.problem.comparisons import Comparisons
from skscreen.metric_learning.problem.domains import PSDCone
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Problem

cases = pytest.mark.parametrize("case", ALL_CASES, ids=str)
hinges = pytest.mark.parametrize("case", [c for c in CASES if c.loss == "hinge"], ids=str)
NOISES = (1e-8, 1e-4, 1e-2, 0.1, 1.0)


def perturbed(case, noise, rng, lam=None):
    """A point near the optimum, as far from it as `noise` times its norm."""
    theta = case.optimum(lam or case.lam).theta
    E = rng.normal(size=theta.shape)
    E = E + E.T if E.ndim == 2 else E
    return case.domain.project(theta + noise * np.linalg.norm(theta) / np.linalg.norm(E) * E)


def evaluate(case, point, lam=None):
    """Evaluation, with the dual variables it must have used."""
    lam = lam or case.lam
    proximal = case.proximal(case.optimum(case.lam).alpha)
    evaluation = case.problem().at(lam, proximal).evaluate(point)
    x = case.explicit.margins(point.value)
    alpha = case.explicit.dual_variables(x) if proximal is None else proximal.duals(evaluation)
    return evaluation, alpha


@pytest.mark.few(3)
@cases
def test_primal_gradient_and_dual_variables_are_those_of_brute_force(case):
    rng = np.random.default_rng(0)
    for noise in NOISES:
        point = perturbed(case, noise, rng)
        evaluation, alpha = evaluate(case, point)
        expected = case.explicit.adjoint(alpha)
        np.testing.assert_allclose(
            evaluation.adjoint, expected, atol=1e-11 * np.abs(expected).max()
        )
        np.testing.assert_allclose(
            evaluation.gradient(case.lam), case.lam * point.value - evaluation.adjoint
        )
        primal = case.explicit.primal(point.value, case.lam)
        assert evaluation.primal(case.lam) == pytest.approx(primal, rel=1e-11)
        slack = case.explicit.fenchel_young(case.explicit.margins(point.value), alpha).sum()
        assert evaluation.fenchel_young >= slack - 1e-13 * primal
        assert evaluation.fenchel_young <= slack + 1e-9 * primal


@cases
def test_gap_is_primal_minus_dual(case):
    rng = np.random.default_rng(1)
    for noise in NOISES:
        point = perturbed(case, noise, rng)
        for lam in (0.3 * case.lam, case.lam, 2.0 * case.lam):
            evaluation, alpha = evaluate(case, point, lam)
            primal = case.explicit.primal(point.value, lam)
            dual = case.explicit.dual(alpha, lam)
            assert evaluation.gap(lam) == pytest.approx(primal - dual, rel=1e-8, abs=1e-9 * primal)
            certificate = evaluation.certificate(lam)
            assert certificate.primal == pytest.approx(primal, rel=1e-11)
            assert certificate.dual == certificate.primal - certificate.gap
            assert certificate.relative_gap == certificate.gap / certificate.primal


@cases
def test_gap_is_never_below_the_true_suboptimality(case):
    rng = np.random.default_rng(2)
    best = case.optimum(case.lam)
    for noise in (0.0, 1e-10, *NOISES):
        point = perturbed(case, noise, rng)
        evaluation, _ = evaluate(case, point)
        excess = case.explicit.primal(point.value, case.lam) - best.primal
        assert evaluation.gap(case.lam) > 0.0
        # The rounding error of an explicit sum is no part of the promise.
        assert evaluation.gap(case.lam) >= excess - 1e-14 * best.primal
        assert evaluation.certificate(case.lam).dual <= best.primal * (1 + 1e-14)


@cases
def test_gap_closes_at_the_optimum(case):
    point = case.domain.project(case.optimum(case.lam).theta)
    evaluation, _ = evaluate(case, point)
    assert evaluation.gap(case.lam) <= 1e-9 * evaluation.primal(case.lam)


@cases
def test_gradient_is_that_of_the_smooth_objective(case):
    rng = np.random.default_rng(3)
    objective = case.problem().at(case.lam, case.proximal(rng.random(len(case.data[2]))))
    point = perturbed(case, 0.1, rng)
    size = np.linalg.norm(point.value)
    # Inside the cone every direction is feasible.
    inside = point.value + 0.1 * size * (1.0 if case.diagonal else np.eye(len(point.value)))
    evaluation = objective.evaluate(case.domain.project(inside))
    for _ in range(3):
        direction = rng.normal(size=inside.shape)
        direction = direction + direction.T
        direction *= 1e-7 * size / np.linalg.norm(direction)
        ends = (case.domain.project(inside + sign * direction) for sign in (1.0, -1.0))
        high, low = (objective.evaluate(end).smoothed_primal(case.lam) for end in ends)
        expected = np.vdot(evaluation.gradient(case.lam), direction)
        scale = np.linalg.norm(evaluation.gradient(case.lam)) * np.linalg.norm(direction)
        assert (high - low) / 2 == pytest.approx(expected, abs=1e-4 * scale)


@cases
def test_fixed_items_enter_as_their_linear_part(case):
    rng = np.random.default_rng(4)
    explicit, problem = case.explicit, case.problem()
    geometry = problem.geometry
    start, stop = geometry.items.start, geometry.items.stop.copy()
    stop[::2] = start[::2]
    dropped = np.ones(geometry.n_items, dtype=bool)
    for p in range(1, len(start), 2):
        numbers = geometry.items.base[p] + geometry.items.rank[start[p] : stop[p]]
        dropped[numbers] = False
    linear = dropped & (rng.random(dropped.size) < 0.5)
    B = explicit.A[linear].sum(axis=0)
    objective = replace(
        problem.at(case.lam, case.proximal()),
        geometry=geometry.restrict(start.copy(), stop),
        linear_term=B,
        linear_constant=linear.sum() * (1.0 - case.gamma / 2),
        n_zero=int((dropped & ~linear).sum()),
        n_linear=int(linear.sum()),
    )
    reduced = Explicit(explicit.A[~dropped], case.gamma, linear_term=B)
    point = perturbed(case, 0.1, rng)
    constant = linear.sum() * (1.0 - case.gamma / 2)
    expected = reduced.primal(point.value, case.lam) + constant
    evaluation = objective.evaluate(point)
    assert evaluation.primal(case.lam) == pytest.approx(expected, rel=1e-11)
    # Every loss is at least its linear part and at least zero.
    assert expected <= explicit.primal(point.value, case.lam) * (1 + 1e-14)


@cases
def test_above_lam_max_the_closed_form_is_optimal(case):
    problem = case.problem()
    lam_max, S = problem.lam_max, problem.ray
    assert lam_max == pytest.approx(case.explicit.lam_max(), rel=1e-12)
    for factor in (1.0 + 1e-9, 3.0):
        lam = factor * lam_max
        point = S.scaled(1.0 / lam)
        evaluation = problem.at(lam, case.proximal()).evaluate(point)
        assert evaluation.certificate(lam).relative_gap < 1e-12
        x = item_margins(problem.geometry, evaluation.margins)
        assert np.all(x <= problem.loss.linear_below * (1 + 1e-12))
    x = item_margins(problem.geometry, problem.geometry.margins(S.scaled(1.01 / lam_max)))
    assert x.max() > problem.loss.linear_below


def test_without_any_useful_direction_lam_max_is_zero():
    # The far samples are the near ones: no metric separates them.
    X = np.array([[0.0], [1.0], [0.5]])
    geometry = Comparisons(X, triplets_from_array(np.array([(0, 1, 2)])))
    problem = Problem(geometry, SmoothedHinge(), PSDCone())
    lam_max, S = problem.lam_max, problem.ray
    assert lam_max == 0.0
    assert np.all(S.value == 0.0)
    for lam in (1e-3, 1.0, 1e3):
        assert problem.at(lam).evaluate(S).gap(lam) <= 1e-24


def test_relative_gap_without_an_objective_is_the_gap():
    assert Certificate(0.0, -1e-9, 1e-9).relative_gap == 1e-9


# -- the proximal smoothing of the hinge ---------------------------------------------------------


@hinges
def test_smoothed_hinge_is_below_the_hinge_up_to_the_centre_term(case):
    rng = np.random.default_rng(5)
    proximal = case.proximal(rng.random(len(case.data[2])))
    objective = case.problem().at(case.lam, proximal)
    for noise in NOISES:
        evaluation = objective.evaluate(perturbed(case, noise, rng))
        constant = 0.5 * proximal.width * proximal.centre @ proximal.centre
        assert evaluation.smoothed_loss <= evaluation.loss + constant
        assert evaluation.objective.proximal.duals(evaluation).min() >= 0.0
        assert evaluation.objective.proximal.duals(evaluation).max() <= 1.0


@hinges
def test_recentring_closes_the_gap_at_any_fixed_width(case):
    """Exact proximal steps on the dual, each an explicit smooth problem shifted by the centre."""
    lam, best = case.lam, case.optimum(case.lam)
    objective = case.problem().at(lam, case.proximal())
    point = case.domain.project(best.theta)
    gaps = []
    for _ in range(30):
        evaluation = objective.evaluate(point)
        gaps.append(evaluation.fenchel_young)
        moved = replace(objective.proximal, centre=objective.proximal.duals(evaluation))
        objective = replace(objective, proximal=moved)
    assert gaps[-1] <= 1e-2 * gaps[0] + 1e-9 * best.primal
    assert all(after <= before * (1 + 1e-9) for before, after in pairwise(gaps))


def test_recentring_moves_the_centre_and_remembers_the_gap():
    case = Case("iris", "hinge")
    objective = case.problem().at(case.lam, case.proximal())
    before = objective.proximal.centre.copy()
    evaluation = objective.evaluate(case.domain.project(case.optimum(case.lam).theta))
    proximal = objective.proximal
    moved, duals = proximal.recentred(evaluation, 1), proximal.duals(evaluation)
    np.testing.assert_array_equal(moved.centre, duals)
    assert moved.last_gap == evaluation.fenchel_young
    # What was evaluated has not changed, nor does evaluating change anything.
    np.testing.assert_array_equal(objective.proximal.centre, before)
    again = objective.evaluate(evaluation.point)
    assert again.smoothed_loss == evaluation.smoothed_loss
    np.testing.assert_array_equal(proximal.duals(again), duals)
    assert proximal.recentred(evaluation, 51).width == 2.0 * proximal.width


def test_fixing_sets_the_dual_variables_of_decided_items():
    proximal = Case("iris", "hinge").proximal(np.full(300, 0.3))
    zero, linear = np.zeros((2, 300), dtype=bool)
    zero[:10], linear[10:30] = True, True
    values = proximal.fixed(zero, linear).centre
    assert np.all(values[:10] == 0.0)
    assert np.all(values[10:30] == 1.0)
    assert np.all(values[30:] == 0.3)
