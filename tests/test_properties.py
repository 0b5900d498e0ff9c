"""Promises that hold for whatever data: duplicates, constants, any scale, far clusters, n < d."""

import numpy as np
import pytest
from cvxpy.error import SolverError
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from rtlm_reference import (
    Explicit,
    brute_force_triplets,
    item_matrices,
    screen,
    time_limit,
    triplets_from_array,
    wrong_decisions,
)

from skscreen.metric_learning.learning import unit_of_lam
from skscreen.metric_learning.path_solver import PathSolver
from skscreen.metric_learning.problem.comparisons import Comparisons, DiagonalComparisons
from skscreen.metric_learning.problem.domains import NonnegativeOrthant, PSDCone
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Problem, Proximal
from skscreen.metric_learning.problem.triplets import comparisons_from_arrays, triplets_from_labels
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import RULES, PaperScreening
from skscreen.metric_learning.solvers.progress import Settings

examples = settings(deadline=None, derandomize=True, max_examples=25)


@st.composite
def data_sets(draw, wild=False):
    """Small centred data with labels, awkward in the ways that are named above.

    Wild data are conditioned so badly that double precision need not reach a tolerance.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(5, 12)), draw(st.integers(1, 6))
    y = np.arange(n) % draw(st.integers(2, max(2, n // 3)))
    X = rng.normal(size=(n, d)) + draw(st.sampled_from([0.0, 1.0])) * y[:, None]
    far = draw(st.sampled_from([0.0, 10.0, 100.0, *([1e4] if wild else [])]))
    # Clusters that are the classes, or that have nothing to do with them.
    X += far * ((y if draw(st.booleans()) else rng.integers(2, size=n)) == 0)[:, None]
    if draw(st.booleans()):
        X[: n // 2] = X[rng.integers(n, size=n // 2)]
    if d > 1 and draw(st.booleans()):
        X[:, 0] = draw(st.sampled_from([0.0, 0.1]))
    X[:, -1] *= draw(st.sampled_from([1.0, 0.1, 10.0, *([1e-4, 1e4] if wild else [])]))
    X = (X + draw(st.sampled_from([0.0, 1e3]))) * draw(st.sampled_from([1e-6, 1e-3, 1.0, 1e3, 1e6]))
    # As the estimator does: rounding errors grow with the distance from the origin.
    return X - X.mean(axis=0), y


def build(X, items, gamma, diagonal):
    loss = SmoothedHinge(1.0, gamma)
    if diagonal:
        return Problem(DiagonalComparisons(X, items), loss, NonnegativeOrthant())
    return Problem(Comparisons(X, items), loss, PSDCone())


def solve(problem, lam, options=None):
    """Last solution of an approach to one lambda."""
    with time_limit(5):
        steps = list(PathSolver(problem).approach(lam, options or Settings()))
    return steps[-1][1]


def optimum(explicit, lam):
    """Certified optimum; data that the conic solver cannot cope with prove nothing."""
    try:
        return explicit.optimum(lam)
    except SolverError:
        reject()


gammas, neighbours = st.sampled_from([0.05, 0.0]), st.sampled_from([1, 3, None])
fractions = st.sampled_from([1.0, 0.3, 0.03, 0.003])


@examples
@given(data_sets(), gammas, st.booleans(), neighbours, fractions)
@pytest.mark.slow
def test_the_solver_meets_its_tolerance_with_a_certificate(data, gamma, diagonal, k, fraction):
    X, y = data
    problem = build(X, triplets_from_labels(X, y, k), gamma, diagonal)
    lam = fraction * unit_of_lam(problem)
    solution = solve(problem, lam)
    assert solution.converged
    certificate = solution.certificate
    assert np.isfinite([certificate.primal, certificate.dual, certificate.gap]).all()
    assert 0.0 <= certificate.gap <= 1e-6 * certificate.primal


@pytest.mark.slow
@examples
@given(data_sets(), gammas, st.booleans(), neighbours, fractions, st.sampled_from(RULES))
def test_screening_does_not_change_the_objective(data, gamma, diagonal, k, fraction, rule):
    X, y = data
    problem = build(X, triplets_from_labels(X, y, k), gamma, diagonal)
    lam = fraction * unit_of_lam(problem)
    objectives = []
    for screening in (False, True):
        options = Settings(PaperScreening(tuple(BOUNDS), rule), screening, screen_every=3)
        solution = solve(problem, lam, options)
        objectives.append(solution.certificate.primal)
    assert abs(objectives[0] - objectives[1]) <= 1e-6 * objectives[0]


@pytest.mark.slow
@examples
@given(data_sets(wild=True), gammas, st.booleans(), neighbours, fractions)
def test_on_wild_data_the_solver_ends_and_tells_how_far_it_got(data, gamma, diagonal, k, fraction):
    X, y = data
    triplets = brute_force_triplets(X, y, k)
    explicit = Explicit(item_matrices(X, triplets, diagonal), gamma)
    problem = build(X, triplets_from_array(triplets), gamma, diagonal)
    lam = fraction * unit_of_lam(problem)
    solution = solve(problem, lam, Settings(max_iter=300))
    certificate = solution.certificate
    assert np.isfinite([certificate.primal, certificate.dual, certificate.gap]).all()
    assert certificate.gap >= 0.0
    assert solution.converged == (certificate.relative_gap <= 1e-6)
    best = optimum(explicit, lam)
    rounding = 1e-12 * (1.0 + np.linalg.norm(best.theta) * explicit.norms.sum())
    assert certificate.dual <= best.primal + rounding
    assert certificate.primal >= best.primal - best.gap - rounding


@pytest.mark.slow
@examples
@given(
    data_sets(wild=True),
    gammas,
    st.booleans(),
    st.sampled_from([1, 2]),
    fractions,
    st.sampled_from([0.5, 0.9, 1.0, 1.5]),
    st.sampled_from([1e-1, 1e-3, 1e-6]),
)
def test_no_decision_contradicts_a_certified_solution(
    data, gamma, diagonal, k, fraction, ratio, tol
):
    X, y = data
    triplets = brute_force_triplets(X, y, k)
    explicit = Explicit(item_matrices(X, triplets, diagonal), gamma)
    problem = build(X, triplets_from_array(triplets), gamma, diagonal)
    reference_lam = fraction * unit_of_lam(problem)
    lam = ratio * reference_lam
    best = optimum(explicit, lam)
    # A reference as loose as asked for, at another lambda, with dual variables of its own.
    proximal = None if gamma else Proximal(0.05, np.ones(len(triplets)))
    options = Settings(tol=tol, screening=False, max_iter=1000)
    solution = solve(problem, reference_lam, options)
    evaluation = problem.at(reference_lam, proximal).evaluate(solution.point)
    for name, bound in BOUNDS.items():
        ball = bound(evaluation, lam, reference_lam)
        for rule in RULES:
            decisions = np.zeros(len(triplets), dtype=np.int8)
            screen(problem.at(lam), [ball], decisions, rule)
            assert wrong_decisions(explicit, best, decisions) == 0, (name, rule)


@pytest.mark.slow
@examples
@given(data_sets(wild=True), gammas, st.booleans(), fractions, st.sampled_from([0.7, 1.0, 1.5]))
def test_no_decision_on_bounded_and_weighted_comparisons_is_wrong(
    data, gamma, diagonal, fraction, ratio
):
    X, _ = data
    rng, m = np.random.default_rng(len(X)), 40
    near, far = rng.integers(len(X), size=(2, m, 2))
    near[:12], far[12:20] = near[:12, [0, 0]], far[12:20, [0, 0]]
    thresholds = np.repeat([0.01, 5.0, -0.3, 1.0], [6, 6, 8, 20])
    weights = rng.choice([0.1, 1.0, 7.0], m)
    A = [X[pairs[:, 0]] - X[pairs[:, 1]] for pairs in (near, far)]
    A = [u**2 if diagonal else u[:, :, None] * u[:, None, :] for u in A]
    explicit = Explicit(A[1] - A[0], gamma, thresholds, weights=weights)
    problem = build(X, comparisons_from_arrays(near, far, thresholds, weights), gamma, diagonal)
    lam_max = problem.lam_max
    if not lam_max:
        return
    reference_lam = fraction * lam_max
    lam = ratio * reference_lam
    best = optimum(explicit, lam)
    proximal = None if gamma else Proximal(0.05, np.ones(m))
    solution = solve(problem, reference_lam, Settings(max_iter=300))
    evaluation = problem.at(reference_lam, proximal).evaluate(solution.point)
    for name, bound in BOUNDS.items():
        ball = bound(evaluation, lam, reference_lam)
        decisions = np.zeros(m, dtype=np.int8)
        screen(problem.at(lam), [ball], decisions)
        assert wrong_decisions(explicit, best, decisions) == 0, name


@examples
@given(data_sets(wild=True), st.booleans(), st.sampled_from([0.0, 1e3, 1e6]))
def test_decisions_stay_safe_on_data_that_are_not_centred(data, diagonal, offset):
    X, y = data
    X = X + offset * np.abs(X).max()
    triplets = brute_force_triplets(X, y, 2)
    explicit = Explicit(item_matrices(X, triplets, diagonal), 0.05)
    problem = build(X, triplets_from_array(triplets), 0.05, diagonal)
    lam_max = problem.lam_max
    if not lam_max:
        return
    lam = 0.1 * lam_max
    best = optimum(explicit, lam)
    evaluation = problem.at(lam).evaluate(problem.domain.project(best.theta))
    for name, bound in BOUNDS.items():
        ball = bound(evaluation, lam, lam)
        for rule in RULES:
            decisions = np.zeros(len(triplets), dtype=np.int8)
            screen(problem.at(lam), [ball], decisions, rule)
            assert wrong_decisions(explicit, best, decisions) == 0, (name, rule)


@examples
@given(data_sets(wild=True), gammas, st.booleans())
@pytest.mark.slow
def test_the_gap_of_any_point_is_finite_positive_and_true(data, gamma, diagonal):
    X, y = data
    triplets = brute_force_triplets(X, y, 2)
    explicit = Explicit(item_matrices(X, triplets, diagonal), gamma)
    problem = build(X, triplets_from_array(triplets), gamma, diagonal)
    lam_max, S = problem.lam_max, problem.ray
    lam = 0.1 * lam_max if lam_max else 1.0
    best = optimum(explicit, lam)
    lowest = best.primal - best.gap
    for scale in (0.0, 1e-3, 1.0, 1e3):
        proximal = None if gamma else Proximal(0.1, np.ones(len(triplets)))
        evaluation = problem.at(lam, proximal).evaluate(S.scaled(scale / lam))
        certificate = evaluation.certificate(lam)
        assert np.isfinite([certificate.primal, certificate.dual, certificate.gap]).all()
        assert certificate.gap >= 0.0
        assert certificate.primal >= lowest * (1 - 1e-9)
        assert certificate.dual <= best.primal * (1 + 1e-9)
