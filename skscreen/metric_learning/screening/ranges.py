"""Ranges: for which lambda a reference decides an item, without asking again at each."""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.floats import EPS, WIDER
from skscreen.metric_learning.problem.domains import Point
from skscreen.metric_learning.problem.objective import Objective, norm


def count_in_range(
    objective: Objective, point: Point, lam: float, gap: float, lams: np.ndarray
) -> np.ndarray:
    """Count the items whose range contains each of some values of lambda.

    The range of an item is the open interval of lambda in which the sphere rule decides it from the
    ball of RRPB of one reference (Yoshida et al. 2019, Theorem 4.1 for the zero part). It holds
    the reference's own lambda, or is empty. Here with sqrt(|u|^4 + |v|^4) >= |H|. Costs some 50 ns
    an item.

    Parameters
    ----------
    objective : Objective
        With nothing fixed, at any lambda.
    point : Point
    lam, gap : float
        Where the reference was solved, and its duality gap there.
    lams : ndarray of shape (n_lams,)
        Ascending.

    Returns
    -------
    ndarray of shape (n_lams,), int64
    """
    geometry, loss = objective.geometry, objective.loss
    intervals = geometry.intervals(((1.0, geometry.margins(point)),))
    epsilon = np.sqrt(2.0 * gap / lam) * WIDER
    size = norm(point.value) * WIDER
    steps = np.zeros(lams.size + 1, dtype=np.int64)
    items = geometry.items
    _add_ranges(
        items.start, items.stop, geometry.near_sizes, geometry.far_sizes, *intervals,
        geometry.thresholds(loss), loss.gamma, lam, size, epsilon, lams, steps,
    )  # fmt: skip
    return np.cumsum(steps)[:-1]


@njit(cache=True, nogil=True)
def _add_ranges(
    start, stop, near_sizes, far_sizes, near_low, near_high, far_low, far_high,
    thresholds, gamma, reference_lam, size, epsilon, lams, steps,
):  # fmt: skip
    """Add 1 at the first of the ascending values in each item's range and -1 behind the last."""
    for p in range(start.size):
        tau = thresholds[p]
        for s in range(start[p], stop[p]):
            norm_bound = np.sqrt(near_sizes[p] ** 2 + far_sizes[s] ** 2) * (1.0 + 1e-12)
            low, high = zero_range(
                far_low[s] - near_high[p], norm_bound, tau, reference_lam, size, epsilon
            )
            if not low < high:
                # The linear part is the zero part of minus the margin.
                low, high = zero_range(
                    near_low[p] - far_high[s], norm_bound, gamma - tau, reference_lam, size, epsilon
                )
            if low < high:
                steps[np.searchsorted(lams, low, side="right")] += 1
                steps[np.searchsorted(lams, high)] -= 1


@njit(inline="always")
def zero_range(margin, norm_bound, level, reference_lam, size, epsilon):
    """Open interval of lambda for which RRPB proves a margin above a level; (1, 0) if empty.

    Parameters
    ----------
    margin, norm_bound : float
        Margin at the reference (or less) and norm of the item (or more).
    level : float
    reference_lam, size, epsilon : float
        Lambda and norm of the reference, and its distance from the optimum there (or more).
    """
    reach, slack = size * norm_bound, epsilon * norm_bound
    if not margin - slack > level + 4.0 * EPS * abs(level):
        return 1.0, 0.0
    rounding = 8.0 * EPS * (reach + abs(margin) + 2.0 * slack + 2.0 * abs(level))
    # Below the reference: (1 + x) margin - (x - 1) reach - 2 x slack > 2 level, x = l0 / lam.
    low = (reach - margin + 2.0 * slack + rounding) / (reach + margin - 2.0 * level - rounding)
    # Above it: (1 + x) margin - (1 - x) reach - 2 slack > 2 level.
    bottom = reach - margin + 2.0 * level + 2.0 * slack + rounding
    high = (reach + margin - rounding) / bottom if bottom > 0.0 else np.inf
    if not low < 1.0 < high:
        return 1.0, 0.0
    return reference_lam * max(low, 0.0), reference_lam * high
