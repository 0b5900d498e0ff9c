"""The certificate in signed variables, against optima of its parts and exact arithmetic."""

import operator
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from skscreen import ScreenedSVC
from skscreen.core.certificate import Certificate
from skscreen.samples.kernels.gram import Gram, KernelSamples
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.losses import hinge, squared_hinge
from skscreen.svm.certificate import certified
from skscreen.svm.dual import Dual
from skscreen.svm.solvers.kernel.solve import solve_kernel

LOSSES = {"hinge": hinge, "squared": squared_hinge}


def problem(loss, free, seed=0, n=40):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, -1.0, 1.0)
    A = rng.normal(size=(n, 6))
    losses = LOSSES[loss](rng.uniform(0.1, 3.0, n) * rng.integers(0, 3, n))
    box = Dual.of(losses, y, free)
    high = np.where(losses.caps > 0.0, np.minimum(losses.caps, 2.0), 0.0)
    beta = box.balanced(y * high * rng.choice([0.0, 0.4, 1.0], n))
    return y, A @ A.T, losses, box, beta


def lacks(box, beta, slopes):
    """What the loss of each sample is above its dual part: what it adds to the gap."""
    shifts = box.shifts if box.shifts.size else 0.0
    return box.losses(slopes) - (slopes * beta - 0.5 * shifts * beta**2)


def primal(K, y, losses, beta, b):
    short = np.maximum(1.0 - y * (K @ beta + b), 0.0)
    short, exists = short[losses.caps > 0.0], losses.caps > 0.0
    lost = 0.5 * short**2 / losses.shifts[exists] if losses.smooth else losses.caps[exists] * short
    return 0.5 * beta @ K @ beta + lost.sum()


def gain(y, losses, beta):
    return (y * beta - 0.5 * losses.shifts * beta**2).sum()


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_view_is_that_of_the_best_intercept(loss, free):
    for seed in range(5):
        y, K, losses, box, beta = problem(loss, free, seed)
        view = box.view(beta, K @ beta)
        assert view.primal == pytest.approx(primal(K, y, losses, beta, view.b), rel=1e-12)
        dual = gain(y, losses, beta) - 0.5 * beta @ K @ beta
        assert view.primal - view.gap == pytest.approx(dual, rel=1e-10)
        assert view.gap == pytest.approx(lacks(box, beta, view.slopes).sum(), rel=1e-10)
        if free:
            assert beta.sum() == pytest.approx(0.0, abs=1e-13)
            found = minimize_scalar(lambda b: primal(K, y, losses, beta, b)).fun  # noqa: B023
            assert view.primal <= found + 1e-9 * abs(found)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0])
def test_scores_within_their_errors_have_no_larger_gap(loss, free, size):
    rng = np.random.default_rng(1)
    for seed in range(20):
        y, K, losses, box, beta = problem(loss, free, seed)
        errors = size * rng.random(y.size)
        view, parts, _ = box.largest_gap(beta, K @ beta, errors)
        for _ in range(5):
            # What the scores may be, with the intercept of those that are known.
            f = K @ beta + errors * rng.choice([-1.0, 1.0, 0.0], y.size)
            slopes = box.target - f - view.b
            slack = lacks(box, beta, slopes)
            assert (slack <= parts + 1e-12).all()
            value = 0.5 * (gain(y, losses, beta) + box.losses(slopes).sum() + slack.sum())
            assert slack.sum() <= view.gap * (1.0 + 1e-12)
            assert slack.sum() / value <= view.gap / view.primal * (1.0 + 1e-9)


@given(st.floats(-1e30, 1e30), st.floats(0.0, 1.0), st.floats(1.0, 1e60))
@pytest.mark.slow
def test_rounding_errors_of_slopes_are_part_of_the_gap(f, share, C):
    box = Dual(np.ones(1), np.zeros(1), np.full(1, C), False)
    beta = np.full(1, share * C)
    view, parts, _ = box.largest_gap(beta, np.full(1, f), np.zeros(1))
    slope, beta = Fraction(1) - Fraction(f), Fraction(float(beta[0]))
    exact = max((Fraction(C) - beta) * slope, -beta * slope)
    # Of a product below the smallest number nothing is left.
    least = Fraction(float(np.finfo(float).smallest_subnormal))
    assert exact <= Fraction(float(parts[0])) * (1 + Fraction(1, 2**50)) + least
    assert view.gap >= parts[0]


@pytest.mark.parametrize("free", [False, True])
def test_no_score_is_short_after_a_stretch(free):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(30) < 0.5, -1.0, 1.0)
    box = Dual.of(hinge(np.full(30, 1e12)), y, free)
    f = y * (1.0 + rng.choice([0.0, -1e-9, 0.3], 30)) - 0.2 * free
    beta, errors = y * rng.random(30), np.full(30, 1e-12)
    factor, view = box.stretched(beta, f, errors)
    assert factor > 1.0
    assert (y * (factor * f + view.b) - factor * errors >= 1.0).all()
    assert box.losses(view.slopes).sum() == 0.0
    # Nothing is lost either: the dual value is that of the longer vector.
    dual = factor * np.abs(beta).sum() - 0.5 * factor**2 * beta @ (f + 0.2 * free)
    if not free:
        assert view.primal - view.gap == pytest.approx(dual, rel=1e-9)
    # Neither where scores are far too short nor where the box leaves no room.
    assert box.stretched(beta, 0.3 * f, errors) is None
    full = Dual.of(hinge(np.abs(beta)), y, free)
    assert full.stretched(beta, f, errors) is None


def test_a_sum_that_bounds_leave_no_room_for_is_spread():
    """Where all samples are at their bounds some have to leave them."""
    box = Dual(np.ones(4), np.array([0.0, 0, -1, -2]), np.array([2.0, 1, 0, 0]), True)
    for beta in ([2.0, 1.0, 0.0, 0.0], [0.0, 0.0, -1.0, -2.0], [2.0, 1.0, -1.0, 0.0]):
        moved = box.balanced(np.array(beta))
        assert moved.sum() == pytest.approx(0.0, abs=1e-15)
        assert np.all((moved >= box.low) & (moved <= box.high))


@pytest.mark.parametrize("rare", [1, 7, 40])
def test_balancing_frees_no_sample_at_zero(rare):
    """Else all samples of the larger class would be between their bounds."""
    rng = np.random.default_rng(rare)
    y = np.where(np.arange(400) < rare, 1.0, -1.0)
    box = Dual.of(hinge(rng.uniform(1.0, 3.0, 400)), y, True)
    for share in (0.0, 0.01, 0.5):
        at_bound = (rng.random(400) < share) | (y > 0.0)
        beta = np.where(at_bound, box.low + box.high, 0.0)
        moved = box.balanced(beta)
        assert abs(moved.sum()) <= 1e-14 * np.abs(moved).sum()
        assert np.all((moved >= box.low) & (moved <= box.high))
        assert not moved[~at_bound].any()


def test_values_that_overflow_have_no_gap():
    y, _, losses, _, beta = problem("hinge", free=True)
    box = Dual.of(hinge(np.where(losses.caps > 0.0, 1e200, 0.0)), y, free=True)
    f = np.where(np.arange(y.size) % 2, 1e200, -1e200)
    view = box.largest_gap(beta, f, np.zeros(y.size))[0]
    assert np.isnan(view.gap)


def of_attributes(model, K, y, square=False):
    """Return P and the gap of what users hold, in exact arithmetic, for kernel values of rows."""
    K, C = [[Fraction(float(value)) for value in row] for row in K], Fraction(model.C)
    beta = np.zeros(len(y))
    beta[model.support_] = np.ravel(model.dual_coef_)
    beta, b = [Fraction(value) for value in beta], Fraction(float(model.intercept_[0]))
    f = [sum(map(operator.mul, row, beta)) for row in K]
    P = gap = sum(map(operator.mul, beta, f)) / 2
    gap -= P
    for sign, score, value in zip(np.where(y == y.max(), 1, -1).tolist(), f, beta, strict=True):
        short = 1 - sign * (score + b)
        loss = C * max(short, 0) ** (2 if square else 1)
        P += loss
        gap += loss - sign * value * short + (value**2 / (4 * C) if square else 0)
    return float(P), float(gap / P)


def test_single_precision_is_no_other_problem():
    """Rows that are shifted for a free intercept keep their digits."""
    X, y = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1]], np.float32), np.array([0, 0, 1])
    model = ScreenedSVC(1.5e9, kernel="linear", loss="squared_hinge").fit(X, y)
    K = X.astype(np.float64) @ X.T
    P, gap = of_attributes(model, K, y, square=True)
    assert P == pytest.approx(model.objective_, rel=1e-12) and gap < 1e-12


def test_margins_of_a_polished_solution_are_those_of_its_dual_variables():
    """Steps from beta near C left errors of C times 1e-16 in the margins."""
    K = np.array([[1.0, 0.052, 0.633], [0.052, 1.0, 0.337], [0.633, 0.337, 1.0]])
    y = np.array([1, 0, 0])
    for C in (4e4, 4e6, 4e8):
        model = ScreenedSVC(C, kernel="precomputed", tol=1e-3).fit(K, y)
        P, gap = of_attributes(model, K, y)
        assert pytest.approx(model.objective_, rel=1.01 * model.dual_gap_ + 1e-12) == P
        assert gap <= 1.01 * model.dual_gap_ + 1e-12


def test_the_gap_knows_rounding_errors_of_sums_of_long_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 2)) * np.array([1e-1, 1e12]) * 10.0 ** rng.uniform(-4, 0, (8, 1))
    y, B = np.array([0, 0, 1, 0, 1, 1, 0, 0]), 1e3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ScreenedSVC(1e5, kernel="linear", intercept="penalised", intercept_scaling=B)
        model.fit(X, y)
    wide = np.longdouble
    alpha = np.zeros(8, wide)
    alpha[model.support_] = model.dual_coef_[0]
    w = np.append(model.coef_[0], model.intercept_[0] / B).astype(wide)
    Z = np.c_[X, np.full(8, B)].astype(wide)
    short = 1 - np.where(y > 0, 1, -1) * (Z @ w)
    losses = 1e5 * np.maximum(short, 0)
    apart = w - alpha @ Z
    gap = (losses - np.abs(alpha) * short).sum() + apart @ apart / 2
    assert float(gap / (w @ w / 2 + losses.sum())) <= 1.01 * model.dual_gap_ + 1e-9


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.slow
def test_steps_that_overflow_are_not_taken(degree):
    """Of values near 1e18 that differ by 1e9 rounding errors are all that is left."""
    X, y = np.random.default_rng(0).normal(size=(8, 2)) + 1e9, np.array([0, 1, 1, 0, 1, 0, 0, 1])
    model = ScreenedSVC(60.0, kernel="poly", degree=degree, gamma=1.0, loss="squared_hinge")
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    # Nothing at all costs 60 for each row.
    assert model.objective_ <= 480.0 * (1.0 + 1e-9)


def test_a_gap_that_misses_its_tolerance_knows_errors_of_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5)) + 1e4
    y = np.where(X[:, 0] - 1e4 + rng.normal(size=100) > 0.0, 1.0, -1.0)
    C, gamma = 2e5, 1.0 / float((X**2).sum(axis=1).max())
    options = {"kernel": "poly", "gamma": gamma, "coef0": 1.0, "fit_intercept": False}
    with pytest.warns(ConvergenceWarning):
        model = ScreenedSVC(C, tol=1e-12, **options).fit(X, y)
    rows, beta = X.astype(np.longdouble), np.zeros(100, np.longdouble)
    beta[model.support_] = model.dual_coef_[0]
    f = (np.longdouble(gamma) * (rows @ rows.T) + 1.0) ** 3 @ beta
    short = 1.0 - y * f
    losses = C * np.maximum(short, 0.0)
    gap = (losses - y * beta * short).sum() / (0.5 * beta @ f + losses.sum())
    assert 1e-12 < gap <= model.dual_gap_ * (1.0 + 1e-9)


def test_a_gap_of_more_precise_scores_is_that_of_the_intercept_that_is_returned():
    y, K, _losses, box, _ = problem("hinge", True)
    samples = KernelSamples(Gram(K, Kernel("precomputed")))
    found = solve_kernel(samples, box, tol=1e-10)
    rng = np.random.default_rng(0)
    # What a solver knows of its scores, and of the intercept, is not precise.
    scores = found.scores + 1e-4 * rng.normal(size=y.size)
    unknown = Certificate(found.certificate.primal, 0.0, found.certificate.primal)
    rough = replace(found, scores=scores, b=found.b + 1e-2, certificate=unknown)
    better = certified(samples, box, rough, 1e-2)
    slopes = box.target - K @ better.beta - better.b
    assert better.converged
    assert box.gap_of_slopes(better.beta, slopes)[0] <= better.certificate.gap + 1e-3
