"""The unpenalised intercept b of a hinge-loss problem, whose margins are m_i = <z_i, w> + y_i b.

For a known w the losses sum_i C_i (1 - m_i)_+ are smallest where b is a weighted quantile of the
kinks y_i - <x_i, w>: at level sum of C_i over y_i = +1. A quantile increases in each kink, so
bounds on all <z_i, w> bound b, and with it the margins.

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

Kinks are y_i (t_i - m_i), the level is the sum of C_i where y_i = +1: see
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
    y: np.ndarray,
    thresholds: np.ndarray | float,
    end: Callable[[np.ndarray, float], float],
) -> tuple[np.ndarray, np.ndarray]:
    """Turn bounds (m,) on all <z_i, w*> into bounds on the margins at every optimal intercept."""
    # For a part of the samples: at one of these intercepts, which is as good. `end` returns the
    # lower (side -1) or upper end of the interval of best intercepts for kinks, and rises in each.
    # Bounds are NaN where nothing is known about a ball without a finite radius.
    lower = np.where(np.isnan(lower), -np.inf, lower)
    upper = np.where(np.isnan(upper), np.inf, upper)
    kinks = y * (thresholds - lower), y * (thresholds - upper)
    smallest, largest = end(np.minimum(*kinks), -1.0), end(np.maximum(*kinks), 1.0)
    moves = y * smallest, y * largest
    # Rounding error of a margin with an intercept, in addition to that of its bounds.
    rounding = 8.0 * EPS * (np.abs(thresholds) + max(abs(smallest), abs(largest)))
    return lower + np.minimum(*moves) - rounding, upper + np.maximum(*moves) + rounding


def balanced_target(short: np.ndarray, caps: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return C_i s_i (n,), s a subgradient at the best intercept: sum y_i C_i s_i = 0."""
    short = short - y * best_intercepts(y * short, caps, caps[y > 0.0].sum())[0]
    target = np.where(short > 0.0, caps, 0.0)
    balance(short, y, caps, target)
    return target


def balance(short: np.ndarray, y: np.ndarray, caps: np.ndarray, alpha: np.ndarray) -> None:
    """Make the sum of y_i alpha_i vanish by the samples nearest to the kink, where `short` is 0."""
    # With the best intercept these are on the kink, so that <alpha, short> stays the same.
    missing = samples.balance_at_kink(short, y, caps, alpha)
    if missing != 0.0:
        samples.balance_in(np.argsort(np.abs(short), kind="stable"), missing, y, caps, alpha)


weighted_quantile = samples.weighted_quantile
"""(values, weights, level) -> smallest value at which the cumulative weight reaches a level."""
