import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pragam_reference import objective
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from skscreen._compiled import pragam
from skscreen.pragam.hinge_risk import HingeRisk
from skscreen.samples.intercept import weighted_quantile
from skscreen.samples.rows import LinearSamples

X, y = load_breast_cancer(return_X_y=True)
X, SIGNS = scale(X)[::8], np.where(y[::8] == 1, 1.0, -1.0)
N = len(SIGNS)
WEIGHTS = {"ones": np.ones(N), "different": np.random.default_rng(0).integers(1, 4, N) / 2.0}
LAM = 0.01
CASES = [(name, free) for name in WEIGHTS for free in (False, True)]


def risk_of(name, free):
    return HingeRisk(LinearSamples(X, SIGNS), WEIGHTS[name], LAM, free)


def points(risk):
    rng = np.random.default_rng(1)
    return [np.zeros(X.shape[1]), *rng.normal(size=(5, X.shape[1])) * 0.3]


@pytest.mark.parametrize(("name", "free"), CASES)
def test_value_is_that_of_the_best_intercept(name, free):
    risk = risk_of(name, free)
    for w in points(risk):
        value, b = risk.value(risk.gradient(w))
        assert_allclose(value, objective(X, SIGNS, 0.0, w, b, WEIGHTS[name]), rtol=1e-13)
        kinks = SIGNS * (1.0 - SIGNS * (X @ w)) if free else [0.0]
        assert_allclose(
            value,
            min(objective(X, SIGNS, 0.0, w, kink, WEIGHTS[name]) for kink in kinks),
            rtol=1e-13,
        )


@pytest.mark.parametrize(("name", "free"), CASES)
def test_value_is_the_maximum_over_dual_variables(name, free):
    risk = risk_of(name, free)
    w = points(risk)[2]
    gains = 1.0 - SIGNS * (X @ w)
    equality = {"A_eq": SIGNS[None], "b_eq": [0.0]} if free else {}
    best = linprog(-gains, bounds=np.stack([np.zeros(N), risk.caps], axis=1), **equality)
    assert_allclose(risk.value(risk.gradient(w))[0], -best.fun, rtol=1e-10)


@pytest.mark.parametrize(("name", "free"), CASES)
def test_cuts_are_below_and_touch(name, free):
    risk = risk_of(name, free)
    values = [risk.value(risk.gradient(w))[0] for w in points(risk)]
    for w, value in zip(points(risk), values, strict=True):
        found, _, slope, offset = risk.cut(w)
        assert_allclose(found, value, rtol=1e-13)
        heights = [slope @ other + offset for other in points(risk)]
        assert_allclose(slope @ w + offset, value, rtol=1e-12)
        assert all(h <= v + 1e-12 for h, v in zip(heights, values, strict=True))


@pytest.mark.parametrize(("name", "free"), CASES)
def test_products_and_projection_belong_together(name, free):
    risk, rng = risk_of(name, free), np.random.default_rng(2)
    w, d = rng.normal(size=X.shape[1]), rng.random(N)
    # <a, 1 - Z w> two ways, and a as it is outside.
    a = risk.variables(d)
    Z = SIGNS[:, None] * X
    assert_allclose(risk.gradient(w) @ d, a @ (1.0 - Z @ w), rtol=1e-12)
    assert_allclose(risk.combine(d), Z.T @ a, rtol=1e-12)
    assert_allclose(risk.gain(d), a.sum())
    smallest, largest = risk.curvatures
    shares = N * WEIGHTS[name] / WEIGHTS[name].sum()
    middle = shares @ X / N if free else 0.0
    exact = np.linalg.norm(np.sqrt(shares)[:, None] * (X - middle), 2) ** 2 / LAM
    assert 0.0 < smallest <= exact <= largest
    low = risk.reach(risk.centre)
    assert low <= 0.5 / N * (1.0 + 1e-12)
    for _ in range(20):
        base, centre = rng.normal(size=(2, N)) / N
        near = risk.project(base, risk.gradient(w), 0.3 / N)
        a = risk.variables(near)
        assert np.all(a >= 0.0) and np.all(a <= risk.caps * (1.0 + 1e-15))
        assert not free or abs(SIGNS @ a) < 1e-16 * N
        assert 0.5 * near @ near <= low
        centre = risk.project(centre, centre, 0.0)
        assert 0.5 * np.sum((near - centre) ** 2) <= risk.reach(centre)
        # The nearest point: no feasible direction comes closer.
        target = base + 0.3 / N * risk.gradient(w)
        assert (target - near) @ (centre - near) <= 1e-15


@pytest.mark.parametrize(("name", "free"), CASES)
def test_start_is_the_best_feasible_multiple(name, free):
    risk, rng = risk_of(name, free), np.random.default_rng(3)
    d = risk.start(rng.random(N) * risk.caps)

    def dual(d):
        p = risk.combine(d)
        return risk.gain(d) - 0.5 * p @ p / LAM

    for factor in (0.9, 1.1):
        a = risk.variables(factor * d)
        assert np.any(a > risk.caps) or dual(factor * d) < dual(d)
    assert not risk.start(np.zeros(N)).any()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-4, 4), st.integers(1, 3)), min_size=1, max_size=15),
    st.floats(0.0, 1.0),
    st.integers(-5, 5),
    st.integers(0, 4),
)
@pytest.mark.slow
def test_quantiles_by_sorting(items, share, low, width):
    values, weights = np.array(items, dtype=float).T.copy()
    level = share * weights.sum()
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) >= level
    expected = values[order][np.argmax(reached)]
    assert weighted_quantile(values, weights, level) == expected
    assert (
        pragam.quantile_between(values, weights, level, float(low), float(low + width)) == expected
    )
