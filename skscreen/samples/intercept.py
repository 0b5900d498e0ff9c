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

# Rounding error of a margin with an intercept, in addition to that of its bounds, in EPS.
_ROUNDING = 8.0


def margins_with_intercept(margins: np.ndarray, b: float, y: np.ndarray | None) -> np.ndarray:
    """Return y_i f(x_i): margins with an intercept; without labels there is none."""
    return margins if y is None else margins + b * y


best_intercepts = samples.best_intercepts
"""(kinks, caps, level, error=0) -> the ends of the interval of best intercepts; 0 without samples.

`kinks` (m,) are y_i (t_i - m_i) for margins of intercept 0 and thresholds t_i, `caps` (m,) are C_i.
`level` is the sum of C_i where y_i = +1; for a part of the samples, plus that of y_i C_i over those
left out because alpha_i = C_i, of rounding error `error`. The interval is wider where rounding
errors leave the place of the quantile open.
"""


def balancing_intercepts(
    kinks: np.ndarray, sizes: np.ndarray, y: np.ndarray
) -> tuple[float, float]:
    """Return the ends of the interval of best intercepts of losses with shifts and without caps.

    There the dual variables alpha_i = sizes_i (y_i (kink_i - b))_+ balance, sum_i y_i alpha_i = 0:
    a piecewise linear function of b that falls has its root. `sizes` (m,) are 1 / shift > 0. Wider
    by what rounding errors may do; 0 without samples.
    """
    if kinks.size == 0:
        return 0.0, 0.0
    return tuple(samples.balancing_intercept(kinks, sizes, y, side) for side in (1.0, -1.0))


def bounds_with_intercept(
    lower: np.ndarray,
    upper: np.ndarray,
    y: np.ndarray,
    thresholds: np.ndarray | float,
    ends: Callable[[np.ndarray], tuple[float, float]],
) -> tuple[np.ndarray, np.ndarray]:
    """Turn bounds on all <z_i, w*> into bounds on the margins at every optimal intercept.

    For a part of the samples: at one of these, which is as good. All arrays are (m,); bounds are
    NaN for none. `ends` returns the interval of best intercepts for kinks, and rises in each.
    """
    # Nothing is known about a ball without a finite radius.
    lower = np.where(np.isnan(lower), -np.inf, lower)
    upper = np.where(np.isnan(upper), np.inf, upper)
    kinks = np.sort(np.stack([y * (thresholds - lower), y * (thresholds - upper)]), axis=0)
    smallest, largest = ends(kinks[0])[0], ends(kinks[1])[1]
    moves = y * smallest, y * largest
    rounding = _ROUNDING * EPS * (np.abs(thresholds) + max(abs(smallest), abs(largest)))
    return lower + np.minimum(*moves) - rounding, upper + np.maximum(*moves) + rounding


def balanced_target(short: np.ndarray, caps: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return C_i s_i for a subgradient s of the hinges at their best intercept.

    So sum_i y_i C_i s_i = 0, up to rounding errors: s_i is 1 below the threshold and 0 above, and
    between them for samples at the kink. `short` (n,) is threshold minus margin of intercept 0.
    """
    short = short - y * best_intercepts(y * short, caps, caps[y > 0.0].sum())[0]
    target = np.where(short > 0.0, caps, 0.0)
    balance(short, y, caps, target)
    return target


def balance(short, y, caps, alpha):
    """Make the sum of y_i alpha_i vanish by the samples nearest to the kink, where `short` is 0.

    `short` is threshold minus margin, with an intercept. Where that is the best one these are the
    samples on the kink, so that <alpha, short> stays the same.
    """
    missing = samples.balance_at_kink(short, y, caps, alpha)
    if missing != 0.0:
        samples.balance_in(np.argsort(np.abs(short), kind="stable"), missing, y, caps, alpha)


weighted_quantile = samples.weighted_quantile
"""(values, weights, level) -> smallest value at which the cumulative weight reaches a level."""
