"""The one radius, against optima known in closed form."""

import numpy as np
import pytest

from skscreen.core.ball import gap_radius


@pytest.mark.parametrize("lam", [0.1, 1.0, 7.0])
def test_the_ball_holds_the_optimum_of_any_pair(lam):
    """For a sum of smoothed hinges: lam/2 |x|^2 + sum_i loss(1 - <a_i, x>), solved by its dual."""
    rng = np.random.default_rng(0)
    A, shift = rng.normal(size=(12, 4)), 0.3
    # Without caps the dual is a quadratic with alpha >= 0; large enough thresholds leave it inside.
    system = A @ A.T / lam + shift * np.eye(12)
    inside = rng.random(12)
    thresholds = system @ inside
    optimum = A.T @ inside / lam
    tight = np.inf
    for noise in (0.0, 1e-6, 1e-2, 1.0):
        for _ in range(50):
            x = optimum + noise * rng.normal(size=4)
            alpha = np.maximum(inside + noise * rng.normal(size=12), 0.0)
            u, short = A.T @ alpha / lam, thresholds - A @ x
            losses = 0.5 * np.maximum(short, 0.0) ** 2 / shift
            slackness = np.sum(losses + 0.5 * shift * alpha**2 - alpha * short)
            radius = gap_radius(slackness, np.linalg.norm(x - u), lam)
            away = np.linalg.norm(optimum - 0.5 * (x + u))
            assert away <= radius + 1e-7
            tight = min(tight, radius / away) if noise else tight
    # It is no wild guess either.
    assert tight < 3.0


def test_the_radius_by_hand():
    assert gap_radius(3.0, 2.0) == pytest.approx(2.0)
    assert gap_radius(6.0, 2.0, lam=2.0, shift=0.5) == pytest.approx(2.5)
    # What rounding errors leave of a slackness of nothing is no root of a negative number.
    assert gap_radius(-1e-20, 0.0, 1.0, 1e-3) >= 1e-3
    assert np.isnan(gap_radius(np.nan, 0.0)) and gap_radius(np.inf, 1.0) == np.inf
