"""Every bound against explicit formulas and against certified optima at other lambdas."""

import numpy as np
import pytest
from rtlm_reference import ALL_CASES

from skscreen.screening.bounds import BOUNDS

cases = pytest.mark.parametrize("case", ALL_CASES, ids=str)
NOISES = (0.0, 1e-8, 1e-4, 1e-2, 0.1, 1.0)
RATIOS = (0.5, 0.7, 0.9, 1.0, 1.1, 1.5)


def references(case, lam):
    """Evaluations at points of every accuracy, with the dual variables each has used.

    Those of the hinge come from a centre at the optimum and from an unrelated one: duals that are
    no subgradients.
    """
    rng = np.random.default_rng(0)
    best, problem = case.optimum(lam), case.problem()
    centres = [None] if case.gamma else [best.alpha, rng.random(best.alpha.size)]
    for noise in NOISES:
        E = rng.normal(size=best.theta.shape)
        E = E if case.diagonal else E + E.T
        E *= noise * np.linalg.norm(best.theta) / np.linalg.norm(E)
        point = case.domain.project(best.theta + E)
        for centre in centres:
            proximal = case.proximal(centre)
            evaluation = problem.at(lam, proximal).evaluate(point)
            x = case.explicit.margins(point.value)
            alpha = case.explicit.dual_variables(x) if case.gamma else proximal.alpha.copy()
            yield problem.geometry, evaluation, alpha


def formula(name, explicit, theta, alpha, lam, reference_lam):
    """Centre and squared radius of sections 3 and 4 of Yoshida et al. (2019)."""
    S = explicit.adjoint(alpha)
    upper, lower = explicit.split(S)
    slack = np.maximum(explicit.fenchel_young(explicit.margins(theta), alpha), 0.0).sum()

    def gap(lam):
        distance = np.linalg.norm(lam * theta - upper)
        return slack + distance**2 / (2 * lam) + max(np.vdot(theta, lower), 0.0)

    if name == "dgb":
        return theta, 2 * gap(lam) / lam
    if name == "rrpb":
        epsilon = np.sqrt(2 * gap(reference_lam) / reference_lam)
        radius = abs(reference_lam - lam) / (2 * lam) * np.linalg.norm(theta)
        radius += max(reference_lam, lam) / lam * epsilon
        return (reference_lam + lam) / (2 * lam) * theta, radius**2
    if name == "gap":
        u = upper / lam
        return (theta + u) / 2, gap(lam) / lam - np.linalg.norm(theta - u) ** 2 / 4
    Q = (theta + S / lam) / 2
    square = np.linalg.norm(theta - S / lam) ** 2 / 4 + slack / lam
    if name == "gb":
        return Q, square
    assert name == "pgb"
    positive, negative = explicit.split(Q)
    return positive, square - np.linalg.norm(negative) ** 2


@cases
@pytest.mark.parametrize("name", BOUNDS)
def test_ball_is_that_of_the_formula_and_holds_the_optimum(case, name):
    explicit, lam = case.explicit, case.lam
    for geometry, evaluation, alpha in references(case, lam):
        theta = evaluation.point.value
        for ratio in RATIOS:
            target = ratio * lam
            ball = BOUNDS[name](evaluation, target, lam, geometry.margins)
            centre, square = formula(name, explicit, theta, alpha, target, lam)
            size = np.linalg.norm(theta) + np.linalg.norm(centre)
            # No smaller than the formula, and larger by rounding errors only.
            assert ball.radius**2 >= square - 1e-13 * size**2
            assert ball.radius <= np.sqrt(max(square, 0.0)) * (1 + 1e-6) + 1e-6 * size
            best = case.optimum(target)
            distance = np.linalg.norm(best.theta - centre)
            assert distance <= ball.radius + best.radius
            assert_pairs_in_ball(geometry, ball, centre, best)


def assert_pairs_in_ball(geometry, ball, centre, best):
    """The ball's own margins are those of its centre and hold those of the optimum."""
    near_low, near_high, far_low, far_high = geometry.intervals(ball.terms)
    items = geometry.items
    for low, high, sizes, pairs in (
        (near_low, near_high, geometry.near_sizes, items.near),
        (far_low, far_high, geometry.far_sizes, items.far[items.slots]),
    ):
        u = geometry.X[pairs[:, 0]] - geometry.X[pairs[:, 1]]
        u = u[:, : len(centre)]
        at_centre, at_best = (
            u**2 @ M if M.ndim == 1 else np.einsum("pi,ij,pj->p", u, M, u)
            for M in (centre, best.theta)
        )
        size = np.linalg.norm(centre) + np.linalg.norm(best.theta)
        tolerance = 1e-12 * size * sizes.max()
        assert np.all(np.abs(low - at_centre) <= tolerance)
        assert np.all(np.abs(high - at_centre) <= tolerance)
        reach = (ball.radius + best.radius) * sizes + tolerance
        assert np.all(at_best >= low - reach)
        assert np.all(at_best <= high + reach)


@cases
def test_projection_never_widens_the_gradient_ball(case):
    for geometry, evaluation, _ in references(case, case.lam):
        for ratio in RATIOS:
            lam = ratio * case.lam
            radii = [
                BOUNDS[name](evaluation, lam, case.lam, geometry.margins).radius
                for name in ("pgb", "gb")
            ]
            assert radii[0] <= radii[1] * (1 + 1e-7) + 1e-7 * np.linalg.norm(evaluation.point.value)


@cases
def test_gap_ball_lies_inside_the_duality_gap_ball(case):
    for geometry, evaluation, alpha in references(case, case.lam):
        theta = evaluation.point.value
        for ratio in RATIOS:
            lam = ratio * case.lam
            small, large = (
                BOUNDS[name](evaluation, lam, case.lam, geometry.margins).radius
                for name in ("gap", "dgb")
            )
            shift = np.linalg.norm(
                theta - case.explicit.project(case.explicit.adjoint(alpha)) / lam
            )
            assert small + shift / 2 <= large * (1 + 1e-6) + 1e-6 * np.linalg.norm(theta)


@cases
def test_relaxed_path_ball_is_the_duality_gap_ball_at_its_own_lambda(case):
    for geometry, evaluation, _ in references(case, case.lam):
        relaxed, gap = (
            BOUNDS[name](evaluation, case.lam, case.lam, geometry.margins)
            for name in ("rrpb", "dgb")
        )
        assert relaxed.radius == pytest.approx(gap.radius, rel=1e-9)
        for one, other in zip(
            geometry.intervals(relaxed.terms), geometry.intervals(gap.terms), strict=True
        ):
            np.testing.assert_array_equal(one, other)


@cases
def test_at_an_exact_reference_radii_are_those_of_the_path_bound(case):
    """PGB = RPB and r_DGB = 2 r_RPB when reference and dual variables are optimal."""
    geometry, evaluation, _ = next(references(case, case.lam))
    size = np.linalg.norm(evaluation.point.value)
    for ratio in (0.5, 0.9, 1.5):
        lam = ratio * case.lam
        radius = {
            name: BOUNDS[name](evaluation, lam, case.lam, geometry.margins).radius / size
            for name in BOUNDS
        }
        exact = abs(case.lam - lam) / (2 * lam)
        assert radius["rrpb"] == pytest.approx(exact, rel=1e-2)
        assert radius["pgb"] == pytest.approx(exact, rel=1e-2)
        assert radius["gap"] == pytest.approx(exact, rel=1e-2)
        assert radius["dgb"] == pytest.approx(2 * exact, rel=1e-2)


@cases
def test_radii_vanish_at_the_optimum_but_for_the_plain_gradient_ball(case):
    geometry, evaluation, _ = next(references(case, case.lam))
    size = np.linalg.norm(evaluation.point.value)
    for name in set(BOUNDS) - {"gb"}:
        assert BOUNDS[name](evaluation, case.lam, case.lam, geometry.margins).radius < 1e-4 * size


@cases
def test_zero_is_a_valid_reference(case):
    problem = case.problem()
    zero = case.domain.project(np.zeros(problem.geometry.shape))
    evaluation = problem.at(case.lam, case.proximal()).evaluate(zero)
    for name, bound in BOUNDS.items():
        for lam in (case.lam, 0.5 * case.lam):
            ball = bound(evaluation, lam, case.lam, problem.geometry.margins)
            alpha = np.ones(len(case.data[2]))
            centre, _ = formula(name, case.explicit, zero.value, alpha, lam, case.lam)
            best = case.optimum(lam)
            assert np.linalg.norm(best.theta - centre) <= ball.radius + best.radius
