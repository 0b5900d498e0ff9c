import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skscreen import project_box_equality
from skscreen._compiled import core


def by_enumeration(m, z, sigma, l, u, d):
    """Try every kink and interpolate between the two around the root."""
    sides = np.concatenate([(l - m), (u - m)])
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = sides * np.tile(d**2 / sigma, 2)
    kinks = np.unique(kinks[np.isfinite(kinks)])
    if kinks.size == 0:
        kinks = np.zeros(1)
    kinks = np.concatenate([[kinks[0] - 1e3], kinks, [kinks[-1] + 1e3]])
    points = np.clip(m + kinks[:, None] * sigma / d**2, l, u)
    sums = points @ sigma
    k = min(max(int(np.searchsorted(sums, z)), 1), kinks.size - 1)
    rise = sums[k] - sums[k - 1]
    share = (z - sums[k - 1]) / rise if rise > 0.0 else 0.0
    return (1.0 - share) * points[k - 1] + share * points[k]


@st.composite
def problems(draw):
    """Small whole numbers: kinks coincide nearly always."""
    n = draw(st.integers(1, 12))
    rows = st.lists(st.integers(-3, 3), min_size=n, max_size=n)
    m, sigma, l = (np.array(draw(rows), dtype=float) for _ in range(3))
    u = l + np.abs(np.array(draw(rows), dtype=float))
    d = 1.0 + np.abs(np.array(draw(rows), dtype=float))
    feasible = l + draw(st.floats(0.0, 1.0)) * (u - l)
    return m, float(sigma @ feasible), sigma, l, u, d


@pytest.mark.proof
@settings(max_examples=300, deadline=None)
@given(problems(), st.booleans())
def test_ties_by_enumeration(problem, search_only):
    m, z, sigma, l, u, d = problem
    expected = by_enumeration(m, z, sigma, l, u, d)
    if search_only:
        t = core.search_kinks(m, sigma / d**2, sigma, l, u, z, -np.inf, np.inf)
        shift = np.zeros_like(m)
        np.multiply(t, sigma / d**2, out=shift, where=sigma != 0.0)
        found = np.clip(m + shift, l, u)
    else:
        found = project_box_equality(m, z, coefficients=sigma, lower=l, upper=u, weights=d)
    assert_allclose(found, expected, atol=1e-11)
    assert_allclose(sigma @ found, z, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_conic_solver(seed):
    rng = np.random.default_rng(seed)
    n = 30
    m, sigma = rng.normal(size=(2, n))
    l = -rng.random(n)
    u, d, z = l + rng.random(n), 0.5 + rng.random(n), 0.1
    a = cp.Variable(n)
    objective = cp.Minimize(0.5 * cp.sum_squares(cp.multiply(d, a - m)))
    cp.Problem(objective, [a >= l, a <= u, sigma @ a == z]).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
    )
    found = project_box_equality(m, z, coefficients=sigma, lower=l, upper=u, weights=d)
    assert_allclose(found, a.value, atol=1e-7)


def test_simplex_and_missing_bounds():
    assert_allclose(project_box_equality([0.9, 0.5, -0.2], 1.0), [0.7, 0.3, 0.0])
    plane = project_box_equality([1.0, 2.0, 3.0], 0.0, lower=-np.inf, upper=np.inf)
    assert_allclose(plane, [-1.0, 0.0, 1.0])
    half = project_box_equality([1e3, 0.0, -1e3], 1.0, lower=0.0, upper=np.inf)
    assert_allclose(half, [1.0, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("size", [1e15, 1e16, 1e49])
def test_points_far_from_the_box(size):
    """The multiplier is as large as the point, and alone has no digits left for the box."""
    assert_allclose(project_box_equality([size] * 3, 1.0), [1.0 / 3.0] * 3)
    assert_allclose(project_box_equality([size, -size, 3.0], 1.0), [1.0, 0.0, 0.0])
    found = project_box_equality([size, size, 0.0], 0.5, coefficients=[1.0, -1.0, 1.0])
    assert_allclose(found[0] - found[1] + found[2], 0.5)


def test_extreme_totals_end_at_the_bounds():
    l, u, sigma = np.array([0.0, -1.0, 2.0]), np.array([1.0, 3.0, 2.0]), np.array([1.0, -2.0, 3.0])
    options = {"coefficients": sigma, "lower": l, "upper": u}
    assert_array_equal(project_box_equality([0.3, 0.1, 9.0], 0.0, **options), [0.0, 3.0, 2.0])
    assert_array_equal(project_box_equality([0.3, 0.1, 9.0], 9.0, **options), [1.0, -1.0, 2.0])


@pytest.mark.slow
@pytest.mark.parametrize("search_only", [False, True])
def test_a_million_items(search_only):
    rng = np.random.default_rng(0)
    n = 1_000_000
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    # Rounded, so that kinks come in large groups.
    m = np.round(rng.normal(size=n), 2) / n
    upper = np.full(n, 1.0 / n)
    if search_only:
        t = core.search_kinks(m, y, y, np.zeros(n), upper, 0.0, -np.inf, np.inf)
        a = np.clip(m + t * y, 0.0, upper)
    else:
        a = project_box_equality(m, 0.0, coefficients=y, upper=upper)
    free = (a > 0.0) & (a < upper)
    # Optimality: one multiplier for all items inside, and the others beyond their bounds.
    t = np.median((y * (a - m))[free])
    assert_allclose(np.clip(m + t * y, 0.0, upper), a, rtol=0.0, atol=1e-15 / n)
    # The search alone leaves the rounding errors of its running sums.
    assert abs(y @ a) < (1e-12 if search_only else 1e-15)


def test_the_guess_and_the_place_of_the_result_change_nothing():
    rng = np.random.default_rng(1)
    m, sigma = rng.normal(size=50), np.where(rng.random(50) < 0.5, 1.0, -1.0)
    expected = project_box_equality(m, 0.3, coefficients=sigma)
    for start in (-1e6, 0.0, 0.02, 7.0):
        out = m.copy()
        core.project(out, sigma, sigma, np.zeros(50), np.ones(50), 0.3, start, out)
        assert_allclose(out, expected, atol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([[1.0]], 0.0), {}, r"^point\b"),
        (([np.nan], 0.0), {}, r"^point\b"),
        (([1.0], np.inf), {}, r"^total\b"),
        (([1.0, 2.0], 0.0), {"coefficients": [1.0]}, r"^coefficients\b"),
        (([1.0, 2.0], 0.0), {"coefficients": np.nan}, r"^coefficients\b"),
        (([1.0, 2.0], 0.0), {"weights": [1.0, 0.0]}, r"^weights\b"),
        (([1.0, 2.0], 0.0), {"lower": 2.0}, r"^lower\b"),
        (([1.0, 2.0], 0.0), {"upper": np.nan}, r"^lower\b"),
        (([1.0, 2.0], 2.5), {}, r"^total=2\.5"),
        (([1.0, 2.0], 1.0), {"coefficients": 0.0}, "^total=1"),
        (("nope", 0.0), {}, r"^point\b"),
        (([1.0], None), {}, r"^total\b"),
        (([1.0], 0.0), {"lower": {}}, r"^lower\b"),
        (([1.0], 0.0), {"upper": 10**400}, r"^upper\b"),
        (([1.0], 0.0), {"weights": 1e-200}, r"^weights\b"),
        (([1.0], 0.0), {"coefficients": 1e200}, r"^coefficients\b"),
        (([1.0], 0.0), {"lower": -1e300}, r"^lower\b"),
        (([1e300], 0.0), {}, r"^point\b"),
    ],
)
def test_bad_arguments(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        project_box_equality(*arguments, **options)


def test_tiny_points_are_projected_as_large_ones():
    rng = np.random.default_rng(0)
    m, sigma, d = rng.normal(size=7), 10.0 ** rng.uniform(-8, 8, 7), 10.0 ** rng.uniform(-8, 8, 7)
    total = float(sigma @ rng.normal(size=7))
    wanted = project_box_equality(m, total, coefficients=sigma, weights=d, lower=-np.inf)
    tiny = project_box_equality(
        2.0**-980 * m, 2.0**-980 * total, coefficients=sigma, weights=d, lower=-1e40
    )
    assert_allclose(2.0**980 * tiny, wanted, rtol=1e-8)
