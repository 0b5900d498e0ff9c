"""The unpenalised intercept b of a hinge-loss problem, whose margins are m_i = <z_i, w> + y_i b.

For a known w the losses sum_i C_i (1 - m_i)_+ are smallest where b is a weighted quantile of the
kinks t_i = y_i - <x_i, w>: at level sum of C_i over y_i = +1. A quantile increases in each t_i, so
bounds on all <z_i, w> bound b, and with it the margins.

References
----------
K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
machines. arXiv:1401.6740. (Without such an intercept.)
"""

import numpy as np

from skscreen.core.floats import EPS

# Rounding error of a margin with intercept, next to bounds that have their own.
_ROUNDING = 8.0


def shown(margins: np.ndarray, b: float, y: np.ndarray | None) -> np.ndarray:
    """Return margins with an intercept; without labels there is none."""
    return margins if y is None else margins + b * y


def best_intercepts(kinks: np.ndarray, caps: np.ndarray, level: float) -> tuple[float, float]:
    """Return the ends of the interval of best intercepts.

    Parameters
    ----------
    kinks : ndarray of shape (m,)
        y_i (1 - m_i) for margins of intercept 0.
    caps : ndarray of shape (m,)
        C_i > 0.
    level : float
        Sum of C_i where y_i = +1; for a part of the samples, plus that of y_i C_i over those left
        out because alpha_i = C_i.

    Returns
    -------
    low, high : float
        Wider where rounding errors leave the place of the quantile open; 0 without samples.
    """
    if kinks.size == 0:
        return 0.0, 0.0
    order = np.argsort(kinks)
    cumulative = np.cumsum(caps[order])
    slack = 4.0 * EPS * kinks.size * (cumulative[-1] + abs(level))
    low = np.searchsorted(cumulative, level - slack)
    high = np.searchsorted(cumulative, level + slack, side="right")
    last = kinks.size - 1
    return kinks[order[min(low, last)]], kinks[order[min(high, last)]]


def with_intercept(
    lower: np.ndarray, upper: np.ndarray, y: np.ndarray, caps: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Turn bounds on all <z_i, w*> into bounds on the margins at every optimal intercept.

    For a part of the samples: at one of these, which is as good.

    Parameters
    ----------
    lower, upper : ndarray of shape (m,)
        Bounds on margins of intercept 0; NaN for none.
    y : ndarray of shape (m,)
        Labels, -1 or +1.
    caps, level
        See `best_intercepts`.
    """
    # Of a ball without a finite radius nothing is known.
    lower = np.where(np.isnan(lower), -np.inf, lower)
    upper = np.where(np.isnan(upper), np.inf, upper)
    ends = np.sort(np.stack([y * (1.0 - lower), y * (1.0 - upper)]), axis=0)
    smallest = best_intercepts(ends[0], caps, level)[0]
    largest = best_intercepts(ends[1], caps, level)[1]
    moves = y * smallest, y * largest
    rounding = _ROUNDING * EPS * (1.0 + max(abs(smallest), abs(largest)))
    return lower + np.minimum(*moves) - rounding, upper + np.maximum(*moves) + rounding


def balanced_target(margins: np.ndarray, caps: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return C_i s_i for a subgradient s of the hinges at their best intercept.

    So sum_i y_i C_i s_i = 0, up to rounding errors: s_i is 1 for margins below 1 and 0 above, and
    between them for one sample at the kink.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        Of intercept 0.
    caps, y : ndarray of shape (n,)
    """
    order = np.argsort(y * (1.0 - margins))
    cumulative = np.cumsum(caps[order])
    kink = min(np.searchsorted(cumulative, caps[y > 0.0].sum()), order.size - 1)
    above = np.zeros(order.size, np.bool_)
    above[order[kink:]] = True
    target = np.where(above == (y > 0.0), caps, 0.0)
    target[order[kink]] = 0.0
    missing = -y[order[kink]] * (y @ target)
    target[order[kink]] = min(max(missing, 0.0), caps[order[kink]])
    return target
