"""Bootstrap and goodness of fit of perceptual scales."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.exceptions import NotFittedError

from skscreen import DifferenceScaling, read_answers

LEVELS = 8
TRUE = (np.arange(LEVELS) / (LEVELS - 1.0)) ** 1.5


def judged(size, seed, noise=0.15, true=TRUE):
    """Quadruples in order, and whether the second pair was said to differ more."""
    rng = np.random.default_rng(seed)
    rows = np.sort([rng.choice(LEVELS, 4, replace=False) for _ in range(size)], axis=1)
    a, b, c, d = true[rows].T
    return rows, (d - c) - (b - a) + noise * rng.normal(size=size) > 0.0


ROWS, SECOND = judged(300, 0)
MODEL = DifferenceScaling().fit(ROWS, SECOND)


def test_residuals_and_runs_by_definition():
    """As residuals.glm and binom.diagnostics of R: runs in the order of the fitted values."""
    found = MODEL.goodness_of_fit(30, random_state=0)
    a, b, c, d = (MODEL.scale_ / MODEL.noise_)[ROWS].T
    fitted = norm.cdf((d - c) - (b - a))
    residuals = np.where(
        SECOND, np.sqrt(-2.0 * np.log(fitted)), -np.sqrt(-2.0 * np.log(1.0 - fitted))
    )
    assert_allclose(found.residuals, np.sort(residuals), atol=1e-9)
    assert_allclose(found.deviance, (residuals**2).sum())
    assert_allclose(found.null_deviance, 2.0 * len(ROWS) * np.log(2.0))
    assert_allclose(found.explained, 1.0 - found.deviance / found.null_deviance)
    assert_allclose(found.aic, found.deviance + 2.0 * (LEVELS - 1))
    signs = residuals[np.argsort(fitted, kind="stable")] > 0.0
    assert abs(found.n_runs - np.count_nonzero(np.diff(signs))) <= 4
    assert found.p_value == np.mean(found.simulated_runs <= found.n_runs)
    assert found.envelope.shape == (2, len(ROWS))
    # The model is true.
    assert found.p_value > 0.02
    inside = (found.envelope[0] <= found.residuals) & (found.residuals <= found.envelope[1])
    assert inside.mean() > 0.8


def test_however_the_answers_are_written():
    expected = MODEL.goodness_of_fit(5, random_state=0)
    reversed_rows = np.where(SECOND[:, None], ROWS, ROWS[:, [2, 3, 0, 1]])
    other = DifferenceScaling().fit(reversed_rows).goodness_of_fit(5, random_state=0)
    assert_allclose(other.residuals, expected.residuals, atol=1e-6)
    assert abs(other.n_runs - expected.n_runs) <= 2


def test_answers_that_follow_another_rule_have_few_runs():
    """Who looks at the second pair alone is no difference scale."""
    _, _, c, d = TRUE[ROWS].T
    only = d - c > np.median(d - c)
    found = DifferenceScaling().fit(ROWS, only).goodness_of_fit(30, random_state=0)
    assert found.p_value < 0.05


@pytest.mark.proof
def test_intervals_hold_the_true_scale_about_as_often_as_they_say():
    inside = []
    for seed in range(8):
        model = DifferenceScaling().fit(*judged(400, seed))
        low, high = model.bootstrap(40, random_state=0).interval(0.9)
        inside.append((low <= TRUE) & (high >= TRUE))
    assert 0.6 < np.mean(np.array(inside)[:, 1:-1]) < 1.0


@pytest.mark.slow
def test_the_spread_of_the_samples_is_the_standard_error():
    """Of values in units of the noise, which are not divided by the largest."""
    sample = MODEL.bootstrap(100, random_state=0)
    assert sample.scales.shape == (100, LEVELS)
    spread = (sample.scales / sample.noises[:, None]).std(axis=0)
    # Simulated scales are larger, as all of few answers: compare the middle ones.
    errors = MODEL.standard_errors_ / MODEL.noise_
    assert_allclose(spread[1:5], errors[1:5], rtol=0.3)
    assert_array_equal(sample.scales[:, 0], 0.0)
    assert_array_equal(np.abs(sample.scales).max(axis=1), 1.0)
    assert_array_equal(sample.scales, MODEL.bootstrap(100, random_state=0).scales)


def test_participants_are_drawn_together():
    rows, second, people = [], [], []
    for person in range(5):
        true = TRUE ** (0.4 + 0.4 * person)
        some = judged(200, person, true=true)
        rows.append(some[0])
        second.append(some[1])
        people += [f"person {person}"] * 200
    model = DifferenceScaling().fit(np.concatenate(rows), np.concatenate(second))
    single = model.bootstrap(40, random_state=0).scales.std(axis=0)[2:6]
    groups = model.bootstrap(40, groups=people, random_state=0).scales.std(axis=0)[2:6]
    assert np.all(groups > 1.5 * single)
    with pytest.raises(ValueError, match=r"^groups\b"):
        model.bootstrap(2, groups=people[1:])


@pytest.mark.slow
def test_conjoint_models_too():
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(400, 4))
    true = np.array([0.0, 1.0, 1.5, 3.0])
    first = true[X[:, 0]] + 0.5 * X[:, 1] - true[X[:, 2]] - 0.5 * X[:, 3] + rng.normal(size=400) > 0
    answers = read_answers(X, [(0, 1), (2, 3)], kind="paired", chosen=first, response="sign")
    model = DifferenceScaling(model="additive").fit(answers)
    low, high = model.bootstrap(50, random_state=0).interval(0.99)
    assert low.shape == model.scale_.shape == (4, 4)
    assert np.all((low <= model.scale_) & (model.scale_ <= high))
    found = model.goodness_of_fit(20, random_state=0)
    assert_allclose(found.deviance, model.deviance_)
    assert found.p_value > 0.02


def test_they_need_a_fit_and_a_number():
    for call in (DifferenceScaling().bootstrap, DifferenceScaling().goodness_of_fit):
        with pytest.raises(NotFittedError):
            call()
    for call in (MODEL.bootstrap, MODEL.goodness_of_fit):
        with pytest.raises(ValueError, match="n_samples == 0"):
            call(0)
    with pytest.raises(ValueError, match=r"level == 1\.0"):
        MODEL.bootstrap(2, random_state=0).interval(1.0)
