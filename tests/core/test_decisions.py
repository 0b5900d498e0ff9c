import cvxpy as cp
import numpy as np
import pytest

from skscreen._compiled import core, metric_learning
from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO, sphere_lower, sphere_upper
from skscreen.metric_learning.screening.paper.rules import RULES

half_space_lower = metric_learning.half_space_lower


def test_sphere_bounds_are_attained_on_the_ball():
    rng = np.random.default_rng(0)
    for _ in range(50):
        Q, A, r = rng.normal(size=6), rng.normal(size=6), rng.random()
        unit = A / np.linalg.norm(A)
        low = sphere_lower(A @ Q, np.linalg.norm(A), r)
        high = sphere_upper(A @ Q, np.linalg.norm(A), r)
        assert low == pytest.approx(A @ (Q - r * unit))
        assert high == pytest.approx(A @ (Q + r * unit))
        inside = Q + r * rng.random() * (E := rng.normal(size=6)) / np.linalg.norm(E)
        assert low <= A @ inside <= high


def test_codes_of_decisions_are_those_of_the_documentation():
    assert (UNDECIDED, ZERO, LINEAR) == (0, 1, 2)
    assert RULES == ("sphere", "linear", "semidefinite")


# -- slackness ------------------------------------------------------------------------------------

# Cap and shift: hinges, smoothed ones, and the squared hinge.
HINGES = [(1.0, 0.0), (2.5, 0.0), (1.0, 0.05), (1.0, 0.7), (2.5, 0.3), (np.inf, 0.4)]
SHORT = np.linspace(-2.0, 2.0, 401)


def loss(short, cap, shift):
    """The definition, piece by piece."""
    if short <= 0.0:
        return 0.0
    if short < shift * cap:
        return short * short / (2.0 * shift)
    return cap * (short - 0.5 * shift * cap)


@pytest.mark.parametrize(("cap", "shift"), HINGES)
def test_slackness_is_loss_plus_conjugate_minus_product(cap, shift):
    for short in SHORT:
        for alpha in np.linspace(0.0, min(cap, 6.0), 11):
            expected = loss(short, cap, shift) + 0.5 * shift * alpha**2 - alpha * short
            found = core.hinge_slackness(short, alpha, cap, shift)
            assert found == pytest.approx(expected, abs=2e-14)
            assert found >= 0.0


@pytest.mark.parametrize(("cap", "shift"), HINGES)
def test_slackness_vanishes_exactly_at_subgradients(cap, shift):
    for short in SHORT:
        best = min(max(short / shift, 0.0), cap) if shift else cap * (short > 0.0)
        assert core.hinge_slackness(short, best, cap, shift) == pytest.approx(0.0, abs=1e-14)
        if abs(short) > 1e-6:
            other = best + 0.1 if best + 0.1 < cap else best - 0.1
            assert core.hinge_slackness(short, other, cap, shift) > 1e-8
    assert core.hinge_slackness(-1.0, 0.0, cap, shift) == 0.0
    assert all(core.hinge_slackness(0.0, alpha, 1.0, 0.0) == 0.0 for alpha in (0.0, 0.3, 1.0))
    assert np.isnan(core.hinge_slackness(np.nan, 0.0, cap, shift))


# -- ball and half-space --------------------------------------------------------------------------


def lower(A, P, Q, r):
    """The smallest <A, X> over the ball and {<P, X> >= 0} by the rule, with its allowances."""
    size, norm = np.linalg.norm(P), np.linalg.norm(A) * (1.0 + 1e-12)
    return half_space_lower(A @ Q, norm, r, A @ P / size - 1e-15 * norm, P @ Q / size)


def upper(A, P, Q, r):
    return -lower(-A, P, Q, r)


def half_space_cases(rng, n):
    """Vectors of 1 to 6 entries: general, collinear with either sign, cut, not cut and empty."""
    for _ in range(n):
        d = int(rng.integers(1, 7))
        P, r = rng.normal(size=d), 10.0 ** rng.uniform(-2, 1)
        A = rng.choice([-2.0, 0.5]) * P if rng.random() < 0.3 else rng.normal(size=d)
        # The depth of the centre in units of the radius.
        depth = rng.choice([rng.uniform(-0.999, 0.999), rng.uniform(1, 3), rng.uniform(-3, -1), 0])
        Q = rng.normal(size=d)
        Q += (depth * r - P @ Q / np.linalg.norm(P)) * P / np.linalg.norm(P)
        yield A, P, Q, r, depth


def smallest_on_a_grid(A, P, Q, r):
    """The same by search: the position along P is free, what is across P is at its best."""
    P = P / np.linalg.norm(P)
    along, depth = A @ P, P @ Q
    across = np.linalg.norm(A - along * P)

    def values(x):
        return along * x - across * np.sqrt(np.maximum(r**2 - x**2, 0.0))

    low, high = max(-r, -depth), r
    for _ in range(12):
        x = np.linspace(low, high, 101)
        best = int(np.argmin(values(x)))
        low, high = x[max(best - 1, 0)], x[min(best + 1, 100)]
    return A @ Q + values(x).min()


@pytest.mark.slow
def test_half_space_bound_is_the_minimum_over_what_is_left_of_the_ball():
    rng, empty = np.random.default_rng(0), 0
    for A, P, Q, r, depth in half_space_cases(rng, 1500):
        found, scale = (lower(A, P, Q, r), upper(A, P, Q, r)), np.linalg.norm(A) * r
        if depth <= -1.0:
            assert found == (-np.inf, np.inf)
            empty += 1
            continue
        expected = smallest_on_a_grid(A, P, Q, r), -smallest_on_a_grid(-A, P, Q, r)
        # Where A is a multiple of P, the root of the allowances is what is lost.
        collinear = abs(A @ P) > 0.99999 * np.linalg.norm(A) * np.linalg.norm(P)
        tolerance = (2e-6 if collinear else 1e-9) * scale
        assert found == pytest.approx(expected, abs=tolerance)
        assert found[0] <= expected[0] + 1e-12 * (scale + abs(A @ Q))
        assert found[1] >= expected[1] - 1e-12 * (scale + abs(A @ Q))
        # Never weaker than the sphere rule, but for the last bit, which FMA rounds once less.
        sphere = sphere_lower(A @ Q, np.linalg.norm(A) * (1.0 + 1e-12), r)
        assert found[0] >= sphere - 1e-15 * (scale + abs(A @ Q))
    assert empty > 100


def test_half_space_bound_agrees_with_a_conic_solver():
    rng = np.random.default_rng(1)
    A, P, Q = (cp.Parameter(4) for _ in range(3))
    r, X = cp.Parameter(nonneg=True), cp.Variable(4)
    problem = cp.Problem(cp.Minimize(A @ X), [cp.norm(X - Q) <= r, P @ X >= 0])
    checked = 0
    for one in half_space_cases(rng, 800):
        if one[0].size != 4 or one[-1] <= -1.0:
            continue
        A.value, P.value, Q.value, r.value = one[:4]
        problem.solve(solver=cp.CLARABEL)
        assert lower(*one[:4]) == pytest.approx(problem.value, abs=1e-5 * (1 + abs(problem.value)))
        checked += 1
    assert checked > 60


def test_half_space_bound_of_a_multiple_of_the_normal():
    """The case where the printed theorem is wrong unless the ball is cut."""
    for sign in (1.0, -1.0):
        # Cut: <P, X> runs from 0 to 2 + 3.
        assert sign * half_space_lower(sign * 2.0, 1.0, 3.0, sign, 2.0) == pytest.approx(
            0.0 if sign > 0 else 5.0, abs=1e-12
        )
        # Not cut: from 5 - 3 to 5 + 3.
        assert sign * half_space_lower(sign * 5.0, 1.0, 3.0, sign, 5.0) == 5.0 - sign * 3.0


@pytest.mark.parametrize("place", range(5))
def test_half_space_bound_concludes_nothing_from_nan(place):
    arguments = [2.0, 1.0, 0.5, 0.9, 0.1]
    arguments[place] = np.nan
    assert not half_space_lower(*arguments) > half_space_lower(2.0, 1.0, 0.5, 0.9, 0.1)


def test_half_space_bound_of_nothing():
    # An item without a size has a margin without a range; a ball without a radius has a centre.
    assert half_space_lower(0.3, 0.0, 2.0, 0.0, -1.0) == 0.3
    assert half_space_lower(0.3, 2.0, 0.0, 1.0, 1e-9) == 0.3
    assert half_space_lower(0.3, 2.0, 0.0, 1.0, 0.0) == -np.inf
    assert half_space_lower(0.3, 2.0, 1.0, 1.0, -1.0) == -np.inf
