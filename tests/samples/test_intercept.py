"""The unpenalised intercept: bounds on it, and decisions against optima of Clarabel."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from svm_reference import best_intercepts as by_trying_all
from svm_reference import free_gap, free_optimum

from skscreen.core.decisions import LINEAR, ZERO
from skscreen.samples.intercept import (
    balanced_target,
    best_intercepts,
)
from skscreen.samples.losses import hinge
from skscreen.svm.dual import Dual
from skscreen.svm.screening.bounds import (
    SampleBall,
    gap_ball,
    intersection_target,
    reference,
    scaled_gap_ball,
    segment,
)
from skscreen.svm.screening.inside_box import compare, compare_at, furthest_inside
from skscreen.svm.screening.rules import ball_test, intersection_test

SETS = ("cancer", "wine", "rbf", "weighted", "blobs")
RATIOS = (0.5, 0.9, 1.0, 1.02, 1.1, 2.0, 10.0, 100.0)
TESTS = ("ball1", "ball2", "intersection", "inside")


@st.composite
def hinges(draw):
    """Margins with ties, bounds and labels of both classes."""
    n = draw(st.integers(2, 12))
    margins = draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    caps = draw(st.lists(st.sampled_from([0.25, 1.0, 3.0]), min_size=n, max_size=n))
    y = draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n - 2, max_size=n - 2))
    return np.array(margins, float), np.array(caps), np.array([1.0, -1.0, *y])


@settings(deadline=None)
@given(hinges())
@pytest.mark.slow
def test_best_intercepts_are_found(problem):
    margins, caps, y = problem
    found = best_intercepts(y * (1.0 - margins), caps, caps[y > 0.0].sum())
    assert_allclose(found, by_trying_all(margins, caps, y))


def test_kinks_without_weight_end_no_interval():
    kinks, caps = np.array([4.0, 0.0, 2.0, 1.0, 3.0]), np.array([1.0, 1.0, 1e-30, 1e-30, 1e-30])
    assert best_intercepts(kinks, caps, 1.0) == (0.0, 4.0)
    assert best_intercepts(kinks, caps, 0.5) == (0.0, 0.0)
    assert best_intercepts(kinks, caps, 2.0) == (4.0, 4.0)


@settings(deadline=None)
@given(hinges(), st.integers(0, 2**32 - 1))
@pytest.mark.slow
def test_bounds_on_margins_hold_at_every_best_intercept(problem, seed):
    margins, caps, y = problem
    rng = np.random.default_rng(seed)
    widths = rng.exponential(size=(2, y.size)) * rng.choice([0.0, 0.1, 1.0, 5.0])

    dual, f = Dual.of(hinge(caps), y, True), y * margins
    lower, upper = dual.scores_between((f - widths[0], f + widths[1]))
    for b in by_trying_all(margins, caps, y):
        assert np.all(lower <= f + b + 1e-12)
        assert np.all(upper >= f + b - 1e-12)
    # Another intercept in the scores is no other problem.
    shift = rng.normal()
    moved = dual.scores_between((f - widths[0] + shift, f + widths[1] + shift))
    assert_allclose(moved, (lower, upper), atol=1e-12)


@settings(deadline=None)
@given(hinges())
@pytest.mark.slow
def test_targets_are_balanced_subgradients(problem):
    margins, caps, y = problem
    bounds = np.minimum(y * caps, 0.0), np.maximum(y * caps, 0.0)
    target = y * balanced_target(y * (1.0 - margins), *bounds)
    assert_allclose(y @ target, 0.0, atol=1e-12)
    assert np.all((target >= 0.0) & (target <= caps))
    low, high = by_trying_all(margins, caps, y)
    shown = margins + 0.5 * (low + high) * y
    assert np.all(target[shown < 1.0 - 1e-12] == caps[shown < 1.0 - 1e-12])
    assert not target[shown > 1.0 + 1e-12].any()
    # The hinges are as large as their tangent at the target: it is a subgradient.
    losses = caps @ np.maximum(1.0 - shown, 0.0)
    assert_allclose(target @ (1.0 - shown), losses, atol=1e-12)


@functools.cache
def problem(name):
    """Q, labels and weights."""
    rng = np.random.default_rng(0)
    if name == "blobs":
        X, labels = rng.normal(size=(60, 2)), np.arange(60) % 3 == 0
        X += 0.7 * (2 * labels - 1)[:, None] + 1.0
        X[10:14], X[20] = X[10], 0.0
    else:
        X, labels = (load_wine if name == "wine" else load_breast_cancer)(return_X_y=True)
        X, labels = scale(X)[::6], (labels == 1)[::6]
    y = np.where(labels, 1.0, -1.0)
    K = rbf_kernel(X, gamma=0.3 / X.shape[1]) if name in ("rbf", "weighted") else X @ X.T
    weights = rng.choice([0.3, 1.0, 2.5], len(y)) if name == "weighted" else np.ones(len(y))
    return y[:, None] * K * y, y, weights


@functools.cache
def solved(name, C):
    Q, y, weights = problem(name)
    return free_optimum(Q, C * weights, y)


def sloppy(alpha, C, y, noise, rng):
    """A feasible point nearby: exchanges between the classes keep their balance."""
    moved = np.clip(alpha + noise * C * rng.normal(size=y.size) * (rng.random(y.size) < 0.3), 0, C)
    sums = [moved[y == sign].sum() for sign in (-1.0, 1.0)]
    return moved * np.where(y > 0.0, min(sums) / sums[1], min(sums) / sums[0])


class Known:
    """Samples known by the matrix of their products."""

    def __init__(self, Q, error=1e-14):
        self.Q, self.error = Q, error

    def products(self, index):
        return self.Q[index]


def refer(norms, Q, alpha, C, y, b):
    """A reference of labelled samples."""
    return reference(norms, y * (Q @ alpha), y * alpha, Dual.of(hinge(C), y, True), b)


def decisions(ref, rho, test, Q, y):
    K, dual = np.outer(y, y) * Q, ref.dual.at(rho)
    if test == "inside":
        return dual.codes(*compare_at(ref, rho, Known(K)))
    if test == "ball1":
        extremes = ball_test(scaled_gap_ball(ref, rho), ref.norms)
    else:
        target = intersection_target(ref, rho)
        balls = segment(ref, rho, target, K @ (target - rho * ref.beta))
        if test == "intersection":
            extremes = intersection_test(balls, ref.norms)
        else:
            extremes = ball_test(balls.ball(1.0), ref.norms)
    return dual.decided(extremes)


def wrong(codes, name, C):
    """Wrong decisions at either end of the best intercepts, as far as the optimum can tell."""
    Q, y, weights = problem(name)
    alpha, low, high = solved(name, C)
    norms, margins = np.sqrt(np.diag(Q)), Q @ alpha
    accuracy = 1e-9 + (norms + norms.max()) * np.sqrt(free_gap(Q, C * weights, y, alpha))
    smallest, largest = (
        margins + np.minimum(y * low, y * high),
        margins + np.maximum(y * low, y * high),
    )
    return np.count_nonzero(
        ((codes == ZERO) & (smallest < 1.0 - accuracy))
        | ((codes == LINEAR) & (largest > 1.0 + accuracy))
    )


@pytest.mark.few(4)
@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-3, 0.1])
def test_no_decision_is_wrong(name, noise):
    Q, y, weights = problem(name)
    decided = {test: 0 for test in TESTS}
    for C0 in (0.02, 1.0):
        alpha = solved(name, C0)[0]
        assert free_gap(Q, C0 * weights, y, alpha) <= 1e-8 * alpha.sum()
        point = sloppy(alpha, C0 * weights, y, noise, np.random.default_rng(1))
        # Any intercept will do; a bad one makes the gap larger.
        b = by_trying_all(Q @ point, C0 * weights, y)[0] + noise
        ref = refer(np.sqrt(np.diag(Q)), Q, point, C0 * weights, y, b)
        for rho in RATIOS:
            for test in TESTS:
                codes = decisions(ref, rho, test, Q, y)
                decided[test] += np.count_nonzero(codes)
                assert wrong(codes, name, rho * C0) == 0
    assert decided["intersection"] >= max(decided["ball1"], decided["ball2"])
    assert decided["intersection"] > 0 or noise == 0.1


@pytest.mark.parametrize("name", SETS)
def test_dual_variables_out_of_balance(name):
    """As rounding errors leave them, or worse: the radius allows for what has to be moved."""
    Q, y, weights = problem(name)
    C, norms = 1.0, np.sqrt(np.diag(Q))
    alpha, low, _ = solved(name, C)
    shares = []
    for excess in (0.0, 1e-12, 1e-6, 1e-3, 0.1):
        tilted = np.minimum(alpha * np.where(y > 0.0, 1.0 + excess, 1.0), C * weights)
        ref = refer(norms, Q, tilted, C * weights, y, low)
        ball = gap_ball(ref)
        away = alpha - tilted
        assert np.sqrt(max(away @ Q @ away, 0.0)) <= ball.radius * (1.0 + 1e-9) + 1e-9
        codes = decisions(ref, 1.0, "ball1", Q, y)
        assert wrong(codes, name, C) == 0
        assert wrong(decisions(ref, 1.0, "inside", Q, y), name, C) == 0
        shares.append(np.mean(codes != 0))
    assert shares[0] >= 0.5 and shares[-1] <= shares[0]


def scores_between(name, C):
    """Smallest and largest scores at the best intercepts of an optimum."""
    Q, y, _ = problem(name)
    alpha, low, high = solved(name, C)
    return y * (Q @ alpha) + low, y * (Q @ alpha) + high


@pytest.mark.parametrize("name", SETS)
def test_bounds_by_samples_inside_hold_and_close(name):
    """They hold for any point, and meet the margins where that point is optimal."""
    Q, y, weights = problem(name)
    C, norms, rng = 1.0, np.sqrt(np.diag(Q)), np.random.default_rng(2)
    alpha, b, _ = solved(name, C)
    least, most = scores_between(name, C)
    for noise in (0.0, 1e-6, 1e-3, 0.1, 1.0):
        point = sloppy(alpha, C * weights, y, noise, rng)
        ref = refer(norms, Q, point, C * weights, y, b)
        lower, upper = compare_at(ref, 1.0, Known(np.outer(y, y) * Q))
        assert np.all(lower <= least + 1e-7) and np.all(upper >= most - 1e-7)
        if noise == 0.0:
            assert np.all(upper - lower <= 1e-2 * norms.max())


def test_a_sample_inside_decides_what_the_intercept_hides():
    """Two clusters far apart: nothing bounds b well but a sample near the one in question."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=80) > 0.0, 1.0, -1.0)
    Q = y[:, None] * rbf_kernel(X, gamma=0.02) * y
    C = np.full(80, 50.0)
    alpha, b, _ = free_optimum(Q, C, y)
    ref = refer(np.ones(80), Q, alpha, C, y, b)
    by_ball, by_samples = (decisions(ref, 1.05, test, Q, y) for test in ("ball1", "inside"))
    both = (by_ball != 0) & (by_samples != 0)
    assert np.array_equal(by_ball[both], by_samples[both])
    assert np.count_nonzero(by_samples) >= 1.5 * np.count_nonzero(by_ball) > 0


def test_samples_that_are_alike_but_for_rounding_errors():
    """Kernel values of single precision: distances of copies are rounding errors, of any sign."""
    rng = np.random.default_rng(4)
    X = np.repeat(rng.normal(size=(12, 3)), 4, axis=0)
    y = np.where(rng.random(48) < 0.5, 1.0, -1.0)
    K = rbf_kernel(X, gamma=0.3) * (1.0 + 5e-8 * rng.uniform(-1.0, 1.0, (48, 48)))
    Q = y[:, None] * (0.5 * (K + K.T)) * y
    C, norms = np.full(48, 5.0), np.sqrt(np.diag(Q))
    alpha, low, high = free_optimum(Q, C, y)
    least, most = y * (Q @ alpha) + low, y * (Q @ alpha) + high
    for noise in (1e-9, 1e-7, 1e-4):
        point = sloppy(alpha, C, y, noise, rng)
        known = Known(np.outer(y, y) * Q, 1e-7)
        lower, upper = compare_at(refer(norms, Q, point, C, y, low), 1.0, known)
        assert np.all(lower <= least + 1e-9) and np.all(upper >= most - 1e-9)


@pytest.mark.parametrize("gap", [0.0, 1.0, np.inf])
def test_no_sample_inside_no_bound(gap):
    K, y = np.eye(3), np.array([1.0, -1.0, 1.0])
    dual = Dual.of(hinge(np.ones(3)), y, True)
    inside = furthest_inside(y * np.array([0.0, 1.0, 0.0]), dual, gap)
    assert inside.index.size == 0
    lower, upper = compare(inside, K[:0], SampleBall(np.zeros(3), gap), 0.0, np.ones(3))
    assert np.all(lower == -np.inf) and np.all(upper == np.inf)


def test_a_gap_that_overflows_proves_nothing():
    K, y = np.eye(3), np.array([1.0, -1.0, 1.0])
    dual = Dual.of(hinge(np.ones(3)), y, True)
    inside = furthest_inside(0.5 * y, dual, np.inf)
    lower, upper = compare(inside, K, SampleBall(np.zeros(3), np.inf), 0.0, np.ones(3))
    assert not dual.codes(lower, upper).any()


def test_rounding_errors_are_allowed_for():
    """Of dual variables out of balance, of products that cancel, and of margins."""
    K, dual = np.ones((2, 2)), Dual.of(hinge(np.full(2, 4.0)), np.ones(2), True)
    inside = furthest_inside(np.array([1.0, 0.0]), dual, 0.3, share=0.5)
    assert_allclose([*inside.least, *inside.most], [0.8, 1.6], rtol=1e-6)
    assert inside.least < 0.8 and inside.most > 1.6
    lower, upper = compare(inside, K[:1], SampleBall(np.zeros(2), 2.0), 0.1, np.ones(2))
    # A copy of the first, as far as products can tell: |z_i - z_j| is 1e-3 |z_i| or so at most.
    assert np.all(lower <= 0.8 - 2e-3 - 0.2) and np.all(upper >= 1.6 + 2e-3 + 0.2)
    assert_allclose([lower, upper], [[0.6] * 2, [1.8] * 2], atol=4e-3)
