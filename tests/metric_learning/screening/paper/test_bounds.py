"""Every bound against explicit formulas and against certified optima at other lambdas."""

import numpy as np
import pytest
from metric_cases import ALL_CASES, path_ball
from rtlm_reference import CASES

from skscreen._compiled import metric_learning
from skscreen.core.decisions import sphere_lower
from skscreen.metric_learning.screening.paper.bounds import BOUNDS

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
            proximal = evaluation.objective.proximal
            alpha = case.explicit.dual_variables(x) if case.gamma else proximal.duals(evaluation)
            yield problem.geometry, evaluation, alpha


def formula(name, explicit, theta, alpha, lam, reference_lam):
    """Centre and squared radius of sections 3 and 4 of Yoshida et al. (2019)."""
    S = explicit.adjoint(alpha)
    upper, lower = explicit.split(S)
    slack = np.maximum(explicit.fenchel_young(explicit.margins(theta), alpha), 0.0).sum()

    def gap(lam):
        distance = np.linalg.norm(lam * theta - upper)
        return slack + distance**2 / (2 * lam) + max(np.vdot(theta, lower), 0.0)

    if name == "rpb":
        radius = abs(reference_lam - lam) / (2 * lam) * np.linalg.norm(theta)
        return (reference_lam + lam) / (2 * lam) * theta, radius**2
    if name == "cdgb":
        # The gap of u itself: u and [-S]_K are orthogonal, u and [S]_K / lambda the same.
        u = upper / lam
        return u, np.maximum(explicit.fenchel_young(explicit.margins(u), alpha), 0.0).sum() / lam
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


@pytest.mark.few(1)
@cases
@pytest.mark.parametrize("name", BOUNDS)
def test_ball_is_that_of_the_formula_and_holds_the_optimum(case, name):
    explicit, lam = case.explicit, case.lam
    for geometry, evaluation, alpha in references(case, lam):
        theta = evaluation.point.value
        for ratio in RATIOS:
            target = ratio * lam
            ball = BOUNDS[name](evaluation, target, lam)
            centre, square = formula(name, explicit, theta, alpha, target, lam)
            size = np.linalg.norm(theta) + np.linalg.norm(centre)
            # No smaller than the formula, and larger by rounding errors only.
            assert ball.radius**2 >= square - 1e-13 * size**2
            assert ball.radius <= np.sqrt(max(square, 0.0)) * (1 + 1e-6) + 1e-6 * size
            best = case.optimum(target)
            distance = np.linalg.norm(best.theta - centre)
            assert distance <= ball.radius + best.radius
            assert_pairs_in_ball(geometry, ball, centre, best)


@pytest.mark.slow
@cases
def test_path_bound_of_an_exact_reference_is_that_of_the_formula_and_holds_the_optimum(case):
    _, evaluation, alpha = next(references(case, case.lam))
    reference = case.optimum(case.lam)
    for ratio in RATIOS:
        lam = ratio * case.lam
        ball = path_ball(evaluation, lam, case.lam)
        theta = evaluation.point.value
        centre, square = formula("rpb", case.explicit, theta, alpha, lam, case.lam)
        assert ball.radius == pytest.approx(np.sqrt(square), rel=1e-6, abs=1e-6)
        assert_same_metric(ball, centre)
        # What the reference lacks of the optimum moves the centre and the radius.
        best = case.optimum(lam)
        error = max(case.lam, lam) / lam * reference.radius + best.radius
        assert np.linalg.norm(best.theta - centre) <= ball.radius + error


@pytest.mark.few(18)
@cases
@pytest.mark.parametrize("name", BOUNDS)
def test_what_the_stronger_rules_are_told_is_the_centre_and_a_normal_of_the_cone(case, name):
    explicit = case.explicit
    for _, evaluation, alpha in references(case, case.lam):
        for ratio in RATIOS:
            lam = ratio * case.lam
            ball = BOUNDS[name](evaluation, lam, case.lam)
            centre, _ = formula(name, explicit, evaluation.point.value, alpha, lam, case.lam)
            assert_same_metric(ball, centre)
            assert (ball.normal is None) == (name == "gb")
            if name == "gb":
                continue
            assert np.linalg.norm(explicit.split(ball.centre)[1]) <= 1e-13 * norm_of(ball.centre)
            P, factor = ball.normal.value, ball.normal.factor
            square = factor**2 if case.diagonal else factor @ factor.T
            np.testing.assert_allclose(P, square, atol=1e-12 * max(norm_of(P), 1e-300))


def norm_of(value):
    return np.linalg.norm(value)


def assert_same_metric(ball, centre):
    size = max(norm_of(centre), 1e-300)
    np.testing.assert_allclose(ball.centre, centre, atol=1e-11 * size, rtol=0.0)


def assert_pairs_in_ball(geometry, ball, centre, best):
    """The ball's own margins are those of its centre and hold those of the optimum."""
    near_low, near_high, far_low, far_high = geometry.intervals(ball.terms)
    items = geometry.items
    for low, high, sizes, pairs in (
        (near_low, near_high, geometry.near_sizes, items.near),
        (far_low, far_high, geometry.far_sizes, items.far[items.places]),
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
    for _, evaluation, _ in references(case, case.lam):
        for ratio in RATIOS:
            lam = ratio * case.lam
            radii = [BOUNDS[name](evaluation, lam, case.lam).radius for name in ("pgb", "gb")]
            assert radii[0] <= radii[1] * (1 + 1e-7) + 1e-7 * np.linalg.norm(evaluation.point.value)


@cases
def test_gap_ball_lies_inside_the_duality_gap_ball(case):
    for _, evaluation, alpha in references(case, case.lam):
        theta = evaluation.point.value
        for ratio in RATIOS:
            lam = ratio * case.lam
            small, large = (
                BOUNDS[name](evaluation, lam, case.lam).radius for name in ("gap", "dgb")
            )
            shift = np.linalg.norm(
                theta - case.explicit.project(case.explicit.adjoint(alpha)) / lam
            )
            assert small + shift / 2 <= large * (1 + 1e-6) + 1e-6 * np.linalg.norm(theta)


@cases
def test_relaxed_path_ball_is_the_duality_gap_ball_at_its_own_lambda(case):
    for geometry, evaluation, _ in references(case, case.lam):
        relaxed, gap = (BOUNDS[name](evaluation, case.lam, case.lam) for name in ("rrpb", "dgb"))
        assert relaxed.radius == pytest.approx(gap.radius, rel=1e-9)
        for one, other in zip(
            geometry.intervals(relaxed.terms), geometry.intervals(gap.terms), strict=True
        ):
            np.testing.assert_array_equal(one, other)


@cases
def test_relaxed_path_ball_is_the_path_ball_and_the_error_of_its_reference(case):
    for _, evaluation, _ in references(case, case.lam):
        epsilon = np.sqrt(2 * evaluation.gap(case.lam) / case.lam)
        for ratio in RATIOS:
            lam = ratio * case.lam
            relaxed, exact = (
                bound(evaluation, lam, case.lam) for bound in (BOUNDS["rrpb"], path_ball)
            )
            expected = exact.radius + max(case.lam, lam) / lam * epsilon
            slack = 1e-6 * np.linalg.norm(evaluation.point.value)
            assert relaxed.radius == pytest.approx(expected, rel=1e-6, abs=slack)
            np.testing.assert_array_equal(relaxed.centre, exact.centre)


@cases
def test_at_an_exact_reference_the_balls_touch_and_share_centres(case):
    """PGB is RPB and touches DGB from inside, so DGB holds PGB, RPB and RRPB."""
    _, evaluation, _ = next(references(case, case.lam))
    size = np.linalg.norm(evaluation.point.value)
    for ratio in (0.5, 0.9, 1.5):
        lam = ratio * case.lam
        path, projected, gap = (
            bound(evaluation, lam, case.lam) for bound in (path_ball, BOUNDS["pgb"], BOUNDS["dgb"])
        )
        tolerance = 1e-4 * size
        assert np.linalg.norm(path.centre - projected.centre) <= tolerance
        assert path.radius == pytest.approx(projected.radius, abs=tolerance)
        shift = np.linalg.norm(path.centre - gap.centre)
        assert shift == pytest.approx(gap.radius - path.radius, abs=tolerance)
        assert gap.radius == pytest.approx(2 * path.radius, abs=tolerance)


@cases
def test_gradient_ball_cut_by_its_half_space_is_inside_the_projected_one(case):
    """GB with the linear rule decides all that PGB does with the sphere rule, item by item."""
    norms, used, strictly = case.explicit.norms, 0, 0
    for _, evaluation, _ in references(case, case.lam):
        for ratio in RATIOS:
            lam = ratio * case.lam
            whole, projected = (BOUNDS[name](evaluation, lam, case.lam) for name in ("gb", "pgb"))
            P = case.explicit.split(whole.centre)[1]
            size = np.linalg.norm(P)
            if size <= 1e-10 * np.linalg.norm(whole.centre):
                continue
            for sign in (1.0, -1.0):
                margin, along, other = (
                    sign * case.explicit.margins(M) for M in (whole.centre, P, projected.centre)
                )
                depth = np.vdot(P, whole.centre) / size
                scale = norms.max() * (projected.radius + np.linalg.norm(projected.centre))
                for t in range(0, norms.size, 10):
                    cut = metric_learning.half_space_lower(
                        margin[t], norms[t], whole.radius, along[t] / size, depth
                    )
                    ball = sphere_lower(other[t], norms[t], projected.radius)
                    assert cut >= ball - 1e-5 * scale
                    used += 1
                    strictly += cut > ball + 1e-3 * norms[t] * projected.radius
    # Some centres never leave the cone.
    assert strictly > 0 or used == 0
    assert used > 0 or str(case) != "wine-smoothed-full"


@pytest.mark.few(5)
@pytest.mark.parametrize("case", [case for case in CASES if case.gamma], ids=str)
def test_gradient_ball_cut_by_the_cone_is_inside_the_duality_gap_ball(case):
    """For dual variables that are minus the derivative of the loss, so not for the hinge."""
    rng = np.random.default_rng(0)
    for _, evaluation, _ in references(case, case.lam):
        for ratio in RATIOS:
            lam = ratio * case.lam
            whole, gap = (BOUNDS[name](evaluation, lam, case.lam) for name in ("gb", "dgb"))
            start = case.explicit.project(whole.centre)
            for _ in range(10):
                E = rng.normal(size=start.shape)
                E = E if case.diagonal else E + E.T
                move = case.explicit.project(start + whole.radius * E / norm_of(E)) - start
                # The start is in both, so some part of the way is.
                while norm_of(start + move - whole.centre) > whole.radius:
                    move *= 0.5
                reach = gap.radius * (1 + 1e-6) + 1e-6 * norm_of(start)
                assert norm_of(start + move - gap.centre) <= reach


@cases
def test_at_an_exact_reference_radii_are_those_of_the_path_bound(case):
    """PGB = RPB and r_DGB = 2 r_RPB when reference and dual variables are optimal."""
    _, evaluation, _ = next(references(case, case.lam))
    size = np.linalg.norm(evaluation.point.value)
    for ratio in (0.5, 0.9, 1.5):
        lam = ratio * case.lam
        radius = {name: BOUNDS[name](evaluation, lam, case.lam).radius / size for name in BOUNDS}
        exact = abs(case.lam - lam) / (2 * lam)
        assert radius["rrpb"] == pytest.approx(exact, rel=1e-2)
        assert radius["pgb"] == pytest.approx(exact, rel=1e-2)
        assert radius["gap"] == pytest.approx(exact, rel=1e-2)
        assert radius["dgb"] == pytest.approx(2 * exact, rel=1e-2)


@cases
def test_radii_vanish_at_the_optimum_but_for_the_plain_gradient_ball(case):
    _, evaluation, _ = next(references(case, case.lam))
    size = np.linalg.norm(evaluation.point.value)
    for name in set(BOUNDS) - {"gb"}:
        assert BOUNDS[name](evaluation, case.lam, case.lam).radius < 1e-4 * size


@cases
def test_zero_is_a_valid_reference(case):
    problem = case.problem()
    zero = case.domain.project(np.zeros(problem.geometry.shape))
    evaluation = problem.at(case.lam, case.proximal()).evaluate(zero)
    for name, bound in BOUNDS.items():
        for lam in (case.lam, 0.5 * case.lam):
            ball = bound(evaluation, lam, case.lam)
            alpha = np.ones(len(case.data[2]))
            centre, _ = formula(name, case.explicit, zero.value, alpha, lam, case.lam)
            best = case.optimum(lam)
            assert np.linalg.norm(best.theta - centre) <= ball.radius + best.radius
