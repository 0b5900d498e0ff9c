"""The stronger rules against conic solvers, sampled metrics and certified optima."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from metric_cases import ALL_CASES, path_ball
from rtlm_reference import item_matrices, screen, triplets_from_array, wrong_decisions

from skscreen._compiled import metric_learning
from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO, sphere_lower
from skscreen.metric_learning.problem.comparisons import Comparisons, DiagonalComparisons
from skscreen.metric_learning.problem.domains import Metric, NonnegativeOrthant, PSDCone
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Problem
from skscreen.metric_learning.screening.ball import Ball
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import RULES

cases = pytest.mark.parametrize("case", ALL_CASES, ids=str)
kinds = pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])


# -- the searches, in coordinates -----------------------------------------------------------------


def cone_case(rng, d):
    """Eigenvalues of a centre of any rank, two differences, a radius."""
    values = np.sort(10.0 ** rng.uniform(-3, 1, size=d))
    values[: rng.integers(0, d)] = 0.0
    a, b = rng.normal(size=(2, d)) * 10.0 ** rng.uniform(-1, 1, size=(2, 1))
    if rng.random() < 0.3:
        b = rng.choice([0.0, 0.5, 1.0, 2.0]) * a + rng.choice([0.0, 0.1]) * b
    return values, a, b, values.sum() * 10.0 ** rng.uniform(-2, 0.5)


def cone_rule(values, a, b, r, level):
    A = np.outer(a, a) - np.outer(b, b)
    size = np.linalg.norm(A) * (1 + 1e-12) + 1e-14 * (a @ a + b @ b)
    margin = values @ (a * a - b * b)
    margin -= 1e-14 * (values @ (a * a + b * b))
    noises = 1e-15 * np.sqrt(a @ a + b @ b), 1e-14 * (np.linalg.norm(values) + r)
    # The search is for what the sphere rule leaves.
    return sphere_lower(margin, size, r) > level or metric_learning.cone_decides(
        values, r, level, margin, size, a, b, *noises, np.empty(a.size)
    )


@cache
def semidefinite_program(d):
    A, Q = cp.Parameter((d, d), symmetric=True), cp.Parameter((d, d), symmetric=True)
    r, X = cp.Parameter(nonneg=True), cp.Variable((d, d), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.trace(A @ X)), [cp.norm(X - Q, "fro") <= r])
    return problem, A, Q, r


@pytest.mark.slow
def test_semidefinite_search_decides_as_a_semidefinite_program():
    rng = np.random.default_rng(0)
    gained = 0
    for k in range(90):
        values, a, b, r = cone_case(rng, 2 + k % 3)
        problem, A, Q, radius = semidefinite_program(a.size)
        A.value, Q.value, radius.value = np.outer(a, a) - np.outer(b, b), np.diag(values), r
        size = np.linalg.norm(A.value)
        if size == 0.0:
            continue
        problem.solve(solver=cp.CLARABEL)
        tolerance = 1e-5 * (size * (r + np.linalg.norm(values)))
        assert cone_rule(values, a, b, r, problem.value - tolerance)
        assert not cone_rule(values, a, b, r, problem.value + tolerance)
        gained += problem.value > np.vdot(A.value, Q.value) - size * r + tolerance
    assert gained > 40


@pytest.mark.proof
def test_semidefinite_search_never_passes_what_a_point_of_the_cone_attains():
    """Ties included: the level is the margin of a metric in the ball, nearly the smallest."""
    rng = np.random.default_rng(1)
    decided = 0
    for _ in range(3000):
        values, a, b, r = cone_case(rng, int(rng.integers(1, 8)))
        A, Q = np.outer(a, a) - np.outer(b, b), np.diag(values)
        size = np.linalg.norm(A)
        if size == 0.0:
            continue
        for t in r / size * np.array([1.0, 1.5, 3.0, 30.0]):
            eigenvalues, vectors = np.linalg.eigh(Q - t * A)
            X = (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T
            X = Q + min(1.0, r / max(np.linalg.norm(X - Q), 1e-300)) * (X - Q)
            attained = np.vdot(A, X)
            allowance = 1e-13 * (a @ a + b @ b) * (np.linalg.norm(values) + r)
            assert not cone_rule(values, a, b, r, attained + allowance)
        decided += cone_rule(values, a, b, r, attained - 0.1 * size * r)
    assert decided > 1000


def orthant_case(rng, inside):
    d = int(rng.integers(1, 9))
    a, b = rng.normal(size=(2, d)) * rng.choice([0.0, 1.0], size=(2, d), p=[0.2, 0.8])
    q = rng.normal(size=d) * rng.choice([0.0, 1.0], size=d, p=[0.2, 0.8])
    q = np.abs(q) if inside else q
    outside = np.linalg.norm(np.minimum(q, 0.0))
    return q, a, b, outside * (1.0 + 1e-6) + 10.0 ** rng.uniform(-2, 1)


@cache
def orthant_program(d):
    h, q, r = cp.Parameter(d), cp.Parameter(d), cp.Parameter(nonneg=True)
    x = cp.Variable(d, nonneg=True)
    return cp.Problem(cp.Minimize(h @ x), [cp.norm(x - q) <= r]), h, q, r


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("inside", [True, False], ids=["centre inside", "centre anywhere"])
def test_analytic_rule_decides_as_a_conic_solver(inside):
    rng = np.random.default_rng(2)
    for _ in range(200):
        centre, a, b, radius = orthant_case(rng, inside)
        h = a * a - b * b
        if not np.any(h):
            continue
        problem, *parameters = orthant_program(h.size)
        for parameter, value in zip(parameters, (h, centre, radius), strict=True):
            parameter.value = value
        problem.solve(solver=cp.CLARABEL)
        tolerance = 1e-5 * np.linalg.norm(h) * (radius + np.linalg.norm(centre))
        assert metric_learning.orthant_decides(centre, radius, problem.value - tolerance, a, b)
        assert not metric_learning.orthant_decides(centre, radius, problem.value + tolerance, a, b)


@pytest.mark.slow
def test_analytic_rule_never_passes_what_a_weight_vector_attains():
    rng = np.random.default_rng(3)
    for _ in range(2000):
        centre, a, b, radius = orthant_case(rng, True)
        h = a * a - b * b
        if not np.any(h):
            continue
        beta = np.linalg.norm(h) / radius
        for scale in (1.0, 0.7, 0.3, 0.01):
            x = np.maximum(centre - h / (scale * beta), 0.0)
            x = centre + min(1.0, radius / max(np.linalg.norm(x - centre), 1e-300)) * (x - centre)
            allowance = 1e-13 * (a @ a + b @ b) * (np.linalg.norm(centre) + radius)
            assert not metric_learning.orthant_decides(centre, radius, h @ x + allowance, a, b)
    # All weights may be zero, and none makes the margin negative.
    assert metric_learning.orthant_decides(np.ones(3), 10.0, -1e-3, np.ones(3), np.zeros(3))
    assert not metric_learning.orthant_decides(np.ones(3), 10.0, 1e-3, np.ones(3), np.zeros(3))


@pytest.mark.parametrize("place", range(8))
def test_searches_conclude_nothing_from_nan(place):
    centre, a, b = np.array([0.5, 2.0]), np.array([1.0, 0.5]), np.array([0.3, -1.0])
    A = np.outer(a, a) - np.outer(b, b)
    size, margin = np.linalg.norm(A), np.vdot(A, np.diag(centre))
    # A level that the sphere rule does not reach.
    numbers = [3.0, margin - 2.9 * size, margin, size, 1e-15, 1e-15]
    arrays = [centre, a, b]
    assert metric_learning.cone_decides(centre, *numbers[:4], a, b, *numbers[4:], np.empty(2))
    assert metric_learning.orthant_decides(centre, *numbers[:2], a, b)
    if place < 6:
        numbers[place] = np.nan
    else:
        arrays[place - 6][0] = np.nan
    centre, a, b = arrays
    assert not metric_learning.cone_decides(centre, *numbers[:4], a, b, *numbers[4:], np.empty(2))
    if place not in (2, 3, 4, 5):
        assert not metric_learning.orthant_decides(centre, *numbers[:2], a, b)


# -- whole passes ---------------------------------------------------------------------------------


def random_problem(rng, diagonal, n=30, d=4, n_triplets=300, one_each=False):
    """Problem, its item matrices, and a ball round a metric, cut by a half-space."""
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-0.5, 0.5, size=d)
    X -= X.mean(axis=0)
    triplets = np.stack([rng.permutation(n)[:3] for _ in range(n_triplets)])
    if one_each:
        triplets = triplets[np.unique(triplets[:, :2], axis=0, return_index=True)[1]]
    kinds = (Comparisons, PSDCone) if not diagonal else (DiagonalComparisons, NonnegativeOrthant)
    geometry = kinds[0](X, triplets_from_array(triplets))
    problem = Problem(geometry, SmoothedHinge(1.0, 0.05), kinds[1]())
    rank = int(rng.integers(1, d + 1))
    F, G = rng.normal(size=(d, rank)), rng.normal(size=(d, 1))
    if diagonal:
        F = np.abs(F).mean(axis=1) * (np.arange(d) < rank)
        G = np.abs(G[:, 0]) * (np.arange(d) >= rank)
        points = [Metric(f * f, f) for f in (F, G)]
    else:
        points = [Metric(f @ f.T, f) for f in (F, G)]
    A = item_matrices(X, triplets, diagonal)
    scale = 2.0 / np.abs(np.tensordot(A, points[0].value, A.ndim - 1)).mean()
    centre, normal = points[0].scaled(scale), points[1]
    radius = np.linalg.norm(centre.value) * 10.0 ** rng.uniform(-1.5, 0.0)
    return problem, A, Ball(((1.0, geometry.margins(centre)),), radius, centre.value, normal)


def decide(problem, ball, rule):
    decisions = np.zeros(problem.geometry.n_items, dtype=np.int8)
    reduced = screen(problem.at(1.0), [ball], decisions, rule)
    return decisions, reduced


def project(X):
    if X.ndim == 1:
        return np.maximum(X, 0.0)
    values, vectors = np.linalg.eigh(X)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


@pytest.mark.slow
@kinds
def test_no_decision_contradicts_a_metric_in_the_ball(diagonal):
    rng, counts = np.random.default_rng(4), dict.fromkeys(RULES, 0)
    for _ in range(25):
        problem, A, ball = random_problem(rng, diagonal)
        metrics = [ball.centre]
        for direction in [*rng.normal(size=(20, *ball.centre.shape)), *A[:40], *-A[:40]]:
            E = direction if diagonal else direction + direction.T
            # A projection moves no point of the ball out of it.
            metrics.append(project(ball.centre + ball.radius * E / np.linalg.norm(E)))
        margins = np.array([np.tensordot(A, M, A.ndim - 1) for M in metrics])
        # The linear rule knows of one half-space only; all these are in it.
        before = np.zeros(len(A), dtype=np.int8)
        for rule in RULES:
            decisions, reduced = decide(problem, ball, rule)
            assert np.all(margins[:, decisions == ZERO] > 1.0 - 1e-9)
            assert np.all(margins[:, decisions == LINEAR] < 0.95 + 1e-9)
            assert np.all(decisions[before != UNDECIDED] == before[before != UNDECIDED])
            counts[rule] += np.count_nonzero(decisions)
            assert (reduced.n_zero, reduced.n_linear) == (
                np.sum(decisions == ZERO),
                np.sum(decisions == LINEAR),
            )
            expected = A[decisions == LINEAR].sum(axis=0)
            np.testing.assert_allclose(reduced.linear_term, expected, atol=1e-10)
            before = decisions
    assert counts["sphere"] < counts["linear"] < counts["semidefinite"]


@pytest.mark.few(1)
@pytest.mark.slow
@kinds
def test_decisions_of_single_items_are_those_of_a_conic_solver(diagonal):
    """Both parts, through the pass: every row has one item, so that each is tested."""
    rng, checked, gained = np.random.default_rng(5), 0, 0
    for _ in range(4):
        problem, A, ball = random_problem(rng, diagonal, d=3, n_triplets=60, one_each=True)
        sphere, decisions = (decide(problem, ball, rule)[0] for rule in ("sphere", "semidefinite"))
        program = orthant_program(3) if diagonal else semidefinite_program(3)
        for t in np.flatnonzero(sphere == UNDECIDED)[:12]:
            ends = []
            for sign in (1.0, -1.0):
                for parameter, value in zip(
                    program[1:], (sign * A[t], ball.centre, ball.radius), strict=True
                ):
                    parameter.value = value
                program[0].solve(solver=cp.CLARABEL)
                ends.append(sign * program[0].value)
            tolerance = 1e-5 * (1.0 + np.abs(ends).max())
            if np.abs(np.array(ends) - (1.0, 0.95)).min() < tolerance:
                continue
            expected = ZERO if ends[0] > 1.0 else LINEAR if ends[1] < 0.95 else UNDECIDED
            assert decisions[t] == expected
            checked, gained = checked + 1, gained + (expected != UNDECIDED)
    assert checked > 30
    assert gained > 2


@kinds
def test_empty_intersections_decide_nothing(diagonal):
    rng = np.random.default_rng(6)
    problem, _, ball = random_problem(rng, diagonal)
    # A ball far from the cone, and from the half-space with it: the negative part is the normal.
    centre = -1e-3 * ball.centre
    negative = problem.domain.split(centre)[1]
    terms = ((-1.0, problem.geometry.margins(negative)),)
    for shrink in (0.999, 0.5, 1e-6, 0.0):
        empty = Ball(terms, shrink * np.linalg.norm(centre), centre)
        sphere, strongest = (decide(problem, empty, rule)[0] for rule in ("sphere", "semidefinite"))
        assert np.array_equal(sphere, strongest)


@kinds
def test_a_ball_without_centre_or_radius_is_one_for_the_sphere_rule(diagonal):
    problem, _, ball = random_problem(np.random.default_rng(7), diagonal)
    plain = Ball(ball.terms, ball.radius)
    sphere = decide(problem, ball, "sphere")[0]
    for rule in RULES:
        assert np.array_equal(decide(problem, plain, rule)[0], sphere)
        for radius in (np.inf, np.nan):
            useless = Ball(ball.terms, radius, ball.centre, ball.normal)
            assert not np.any(decide(problem, useless, rule)[0])
        nowhere = Ball(ball.terms, ball.radius, np.full_like(ball.centre, np.nan))
        assert np.array_equal(decide(problem, nowhere, rule)[0], sphere)
        # Without a normal the linear rule has nothing to cut with, if the centre is in the cone.
        whole = Ball(ball.terms, ball.radius, ball.centre)
        assert np.sum(decide(problem, whole, rule)[0] > 0) >= np.sum(sphere > 0)


# -- balls of bounds ------------------------------------------------------------------------------


def evaluated(case, problem, noise):
    rng, best = np.random.default_rng(0), case.optimum(case.lam)
    E = rng.normal(size=best.theta.shape)
    E = E if case.diagonal else E + E.T
    E *= noise * np.linalg.norm(best.theta) / np.linalg.norm(E)
    point = case.domain.project(best.theta + E)
    return problem.at(case.lam, case.proximal(best.alpha)).evaluate(point)


@pytest.mark.few(2)
@pytest.mark.slow
@cases
def test_no_decision_of_any_bound_and_rule_is_wrong(case):
    problem = case.problem()
    geometry, decided = problem.geometry, {}
    for noise in (0.0, 1e-6, 1e-3, 1e-2, 0.1):
        evaluation = evaluated(case, problem, noise)
        for ratio in (0.5, 0.7, 0.9, 1.0, 1.1, 1.5):
            lam = ratio * case.lam
            best = case.optimum(lam)
            for bound in (*BOUNDS.values(), *[path_ball] * (noise == 0.0)):
                ball = bound(evaluation, lam, case.lam)
                if bound is path_ball:
                    error = max(case.lam, lam) / lam * case.optimum(case.lam).radius
                    ball = Ball(ball.terms, ball.radius + error, ball.centre, ball.normal)
                before = np.zeros(geometry.n_items, dtype=np.int8)
                for rule in RULES:
                    decisions = np.zeros(geometry.n_items, dtype=np.int8)
                    screen(problem.at(lam), [ball], decisions, rule)
                    assert wrong_decisions(case.explicit, best, decisions) == 0
                    # A stronger rule decides all that a weaker one does, in the same way.
                    assert np.all(decisions[before != UNDECIDED] == before[before != UNDECIDED])
                    decided[rule] = decided.get(rule, 0) + np.count_nonzero(decisions)
                    before = decisions
    assert 0 < decided["sphere"] <= decided["linear"] <= decided["semidefinite"]


@cases
@pytest.mark.parametrize("rule", RULES)
def test_several_balls_decide_at_least_what_each_does(case, rule):
    problem = case.problem()
    evaluation = evaluated(case, problem, 1e-2)
    lam = 0.9 * case.lam
    balls = [f(evaluation, lam, case.lam) for f in BOUNDS.values()]
    union, counts = np.zeros(problem.geometry.n_items, dtype=np.int8), []
    screen(problem.at(lam), balls, union, rule)
    for ball in balls:
        decisions = np.zeros(problem.geometry.n_items, dtype=np.int8)
        screen(problem.at(lam), [ball], decisions, rule)
        counts.append(np.count_nonzero(decisions))
        if rule == "sphere":
            assert np.all(union[decisions != UNDECIDED] == decisions[decisions != UNDECIDED])
    assert np.count_nonzero(union) >= max(counts)
    assert wrong_decisions(case.explicit, case.optimum(lam), union) == 0


@cases
@pytest.mark.parametrize("rule", RULES[1:])
def test_the_problem_that_a_rule_leaves_has_the_same_optimum(case, rule):
    problem = case.problem()
    evaluation = evaluated(case, problem, 1e-2)
    for ratio in (0.7, 1.0, 1.5):
        lam = ratio * case.lam
        best = case.optimum(lam)
        objective = problem.at(lam, case.proximal(best.alpha))
        balls = [f(evaluation, lam, case.lam) for f in BOUNDS.values()]
        decisions = np.zeros(problem.geometry.n_items, dtype=np.int8)
        reduced = screen(objective, balls, decisions, rule)
        assert reduced.geometry.n_items == np.sum(decisions == UNDECIDED) < decisions.size
        assert reduced.n_zero == np.sum(decisions == ZERO)
        assert reduced.n_linear == np.sum(decisions == LINEAR)
        certificate = reduced.evaluate(case.domain.project(best.theta)).certificate(lam)
        assert certificate.primal == pytest.approx(best.primal, rel=1e-9)
        assert certificate.relative_gap < 1e-8
