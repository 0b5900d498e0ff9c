"""The unpenalised intercept b of a hinge-loss problem, whose scores are <x_i, w> + b.

For a known w the losses are smallest where b is a weighted quantile of the kinks target_i - <x_i,
w>: at level sum of C_i over y_i = +1. A quantile increases in each kink, so bounds on all <x_i, w>
bound b, and with it the scores.

References
----------
K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
machines. arXiv:1401.6740. (Without such an intercept.)
"""

from collections.abc import Callable

import numpy as np

from skscreen._compiled import samples
from skscreen.core.floats import EPS

best_intercepts = samples.best_intercepts
"""(kinks (m,), caps (m,), level) -> the ends of the interval of best intercepts.

Kinks are target_i - <x_i, w>, the level is the sum of C_i where y_i = +1: see
`_compiled/samples/intercept.hpp`.
"""

best_intercept_end = samples.best_intercept_end
"""The same with a side, -1 or 1, of which the end is returned."""

balancing_intercept = samples.balancing_intercept
"""(kinks (m,), sizes (m,), y (m,), side) -> one of `balancing_intercepts`, of m > 0 samples."""


def balancing_intercepts(
    kinks: np.ndarray, sizes: np.ndarray, y: np.ndarray
) -> tuple[float, float]:
    """Return the same for losses with shifts, sizes (m,) = 1 / shift > 0, and without caps."""
    if kinks.size == 0:
        return 0.0, 0.0
    low, high = (balancing_intercept(kinks, sizes, y, side) for side in (1.0, -1.0))
    return low, high


def bounds_with_intercept(
    lower: np.ndarray,
    upper: np.ndarray,
    target: np.ndarray | float,
    end: Callable[[np.ndarray, float], float],
) -> tuple[np.ndarray, np.ndarray]:
    """Turn bounds (m,) on all <x_i, w*> into bounds on the scores at every optimal intercept."""
    # For a part of the samples: at one of these intercepts, which is as good. `end` returns the
    # lower (side -1) or upper end of the interval of best intercepts for kinks, and rises in each.
    # Bounds are NaN where nothing is known about a ball without a finite radius.
    lower = np.where(np.isnan(lower), -np.inf, lower)
    upper = np.where(np.isnan(upper), np.inf, upper)
    smallest, largest = end(target - upper, -1.0), end(target - lower, 1.0)
    # Rounding error of a score with an intercept, in addition to that of its bounds.
    rounding = 8.0 * EPS * (np.abs(target) + max(abs(smallest), abs(largest)))
    return lower + smallest - rounding, upper + largest + rounding


def balanced_target(slopes: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return dual variables (n,) at the bounds that slopes ask for, whose sum is zero."""
    slopes = slopes - best_intercepts(slopes, high - low, high.sum())[0]
    beta = np.where(slopes > 0.0, high, np.where(slopes < 0.0, low, 0.0))
    balance(slopes, low, high, beta)
    return beta


def balance(slopes: np.ndarray, low: np.ndarray, high: np.ndarray, beta: np.ndarray) -> None:
    """Make the sum of beta vanish by the samples nearest to the kink, where `slopes` are 0."""
    # With the best intercept these are on the kink, so that <beta, slopes> stays the same.
    missing = samples.balance_at_kink(slopes, low, high, beta)
    if missing != 0.0:
        samples.balance_in(np.argsort(np.abs(slopes), kind="stable"), missing, low, high, beta)


weighted_quantile = samples.weighted_quantile
"""(values, weights, level) -> smallest value at which the cumulative weight reaches a level."""
