"""Ranges of lambda against the sphere rule at every lambda, and the path that uses them."""

import numpy as np
import pytest
from metric_cases import ALL_CASES
from rtlm_reference import small_data

from skscreen import rtlm_path
from skscreen._compiled import metric_learning
from skscreen.metric_learning.screening.paper.ranges import count_in_range
from skscreen.metric_learning.solvers.projected_gradient import Settings, minimise


def fires(margin, norm, level, lam0, lam, size, epsilon):
    """RRPB and the sphere rule at one lambda, as the paper prints them."""
    centre = (lam0 + lam) / (2 * lam) * margin
    radius = abs(lam0 - lam) / (2 * lam) * size + max(lam0, lam) / lam * epsilon
    return centre - radius * norm > level


@pytest.mark.slow
@pytest.mark.parametrize("epsilon_scale", [0.0, 1e-6, 0.1])
def test_a_range_is_where_the_rule_fires(epsilon_scale):
    rng = np.random.default_rng(0)
    n_inside = 0
    for _ in range(3000):
        size, norm, lam0 = rng.exponential(size=3)
        margin = size * norm * rng.uniform(-1.0, 1.0)
        level, epsilon = rng.normal(), epsilon_scale * size * rng.random()
        low, high = metric_learning.zero_range(margin, norm, level, lam0, size, epsilon)
        for lam in lam0 * np.exp(rng.normal(size=5)):
            inside = low < lam < high
            n_inside += inside
            if min(abs(lam - low), abs(lam - high)) > 1e-9 * lam:
                assert inside == fires(margin, norm, level, lam0, lam, size, epsilon)
    assert n_inside > 1000


def test_no_range_without_a_decision_at_the_reference():
    # Without that check a negative denominator gives an interval (erratum of the paper).
    for margin in (1.0, 0.5, -3.0, np.nan):
        low, high = metric_learning.zero_range(margin, 1.0, 1.0, 1.0, 10.0, 0.0)
        assert not low < high


@pytest.mark.few(2)
@pytest.mark.parametrize("case", ALL_CASES, ids=str)
def test_ranges_hold_at_certified_optima(case):
    """An item is counted only where it lies in its part at the optimum."""
    problem, explicit = case.problem(), case.explicit
    start = problem.ray.scaled(1.0 / case.lam)
    reference, _ = minimise(problem.at(case.lam, case.proximal()), start, Settings(tol=1e-6))
    lams = case.lam * np.array([0.5, 0.7, 0.9, 0.99, 1.01, 1.2, 1.5])
    gap = reference.certificate.gap
    counts = count_in_range(problem.at(case.lam), reference.point, case.lam, gap, lams)
    for lam, count in zip(lams, counts, strict=True):
        best = case.optimum(lam)
        slack = best.radius * explicit.norms + best.uncertainty
        zero = best.margins > explicit.threshold - slack
        linear = best.margins < explicit.threshold - explicit.gamma + slack
        assert count <= np.sum(zero | linear)
    # Nearer references decide more.
    assert np.all(np.diff(counts[:4]) >= 0)
    assert counts[3] > 0


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"diagonal": True}, {"loss": "hinge"}], ids=str)
def test_a_path_with_ranges_is_the_same_path(options):
    X, y, _ = small_data("wine")
    settings = {"n_neighbors": 3, "n_lams": 40, "tol": 1e-8, **options}
    path, plain = (rtlm_path(X, y, ranges=ranges, **settings) for ranges in (True, False))
    np.testing.assert_allclose(path.lams, plain.lams)
    np.testing.assert_allclose(path.objectives, plain.objectives, rtol=2e-8)
    assert path.dual_gaps.max() <= 1e-8
    events = [[event.where for event in solution.history] for solution in path.solutions]
    assert sum("range" in where for where in events) > 30
    assert not any("repair" in where for where in events)
    # What is out of range at one value counts as decided there from the start.
    for solution in path.solutions:
        decided = [event.zero + event.linear for event in solution.history]
        assert decided == sorted(decided)


def test_range_rates():
    X, y, _ = small_data("wine")
    path = rtlm_path(X, y, ranges=True, n_neighbors=3, n_lams=30)
    rates = path.range_rates
    assert rates.shape == (len(path), len(path))
    lower = np.tril_indices(len(path), -1)
    assert np.all(np.isnan(rates[lower]))
    upper = rates[np.triu_indices(len(path))]
    assert np.all((upper >= 0.0) & (upper <= 1.0))
    # At its own lambda nearly everything decidable is decided; further away, less.
    assert np.diagonal(rates)[10:].min() > 0.9
    assert np.nanmean(np.diagonal(rates, 10)) < np.nanmean(np.diagonal(rates, 1))
    # Whether the path itself used ranges has no part in them.
    assert rtlm_path(X, y, n_neighbors=3, n_lams=30).range_rates.shape == rates.shape


def test_no_ranges_without_screening():
    X, y, _ = small_data("wine")
    path = rtlm_path(X, y, ranges=True, screening=False, n_neighbors=3, n_lams=10)
    assert all(not solution.history for solution in path.solutions)
