"""Ranges: for which lambda a reference decides an item, without asking again at each."""

import numpy as np

from skscreen._compiled import metric_learning
from skscreen.core.floats import WIDER
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
    metric_learning.add_ranges(
        items.start, items.stop, geometry.near_sizes, geometry.far_sizes, *intervals,
        geometry.thresholds(loss), loss.width, lam, size, epsilon,
        np.ascontiguousarray(lams, dtype=np.float64), steps,
    )  # fmt: skip
    return np.cumsum(steps)[:-1]


zero_range = metric_learning.zero_range
"""(margin, norm_bound, level, reference_lam, size, epsilon) -> open interval of lambda.

Where RRPB proves a margin above a level; (1, 0) if empty. `margin` is that at the reference (or
less), `norm_bound` the norm of the item (or more); then lambda and norm of the reference, and its
distance from the optimum there (or more).
"""
