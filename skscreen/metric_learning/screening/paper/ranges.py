"""Ranges: for which lambda a reference decides an item, without asking again at each.

The range of an item is the open interval of lambda in which the sphere rule decides it from the
ball of RRPB of one reference (Yoshida et al. 2019, Theorem 4.1 for the zero part, and its
counterpart for the linear part). It holds the reference's own lambda, or is empty.
"""

import sys
from dataclasses import replace

import numpy as np

from skscreen._compiled import metric_learning
from skscreen.core.floats import WIDER
from skscreen.metric_learning.problem.domains import Metric
from skscreen.metric_learning.problem.objective import Objective, norm
from skscreen.metric_learning.screening.active import decide, leave_out
from skscreen.metric_learning.screening.paper.bounds import rrpb_ball
from skscreen.metric_learning.solvers.solution import Warm


class PathRanges:
    """Problems without the items whose range contains lambda (Algorithm 2 of the paper)."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all ranges."""
        # Between which values of lambda they hold, and the problem that they leave.
        self._known: tuple[float, float, Objective] | None = None

    def leave_out(self, objective: Objective, reference: Warm) -> Objective | None:
        """Return what the ranges leave of an objective; None above the reference's lambda."""
        lam = objective.lam
        if not lam < reference.lam:
            return None
        if self._known is None or not self._known[0] <= lam <= self._known[1]:
            # For three steps of the path beyond the next, none of them so long that it is lost.
            low = max(lam * max(lam / reference.lam, 0.1) ** 3, sys.float_info.min)
            at_low = replace(objective, lam=low)
            ball = rrpb_ball(reference.evaluation, low, reference.lam)
            reduced = leave_out(at_low, decide(at_low, [ball]))
            self._known = low, reference.lam, reduced
            return replace(reduced, lam=lam)
        return replace(self._known[2], lam=lam, proximal=objective.proximal)


def count_in_range(
    objective: Objective, point: Metric, lam: float, gap: float, lams: np.ndarray
) -> np.ndarray:
    """Count items whose range contains each of `lams`, ascending; solved at `lam` to a gap."""
    steps = np.zeros(lams.size + 1, dtype=np.int64)
    lams = np.ascontiguousarray(lams, dtype=np.float64)
    metric_learning.count_ranges(*_reference(objective, point, lam, gap), lams, steps)
    return np.cumsum(steps)[:-1]


def item_ranges(objective: Objective, point: Metric, lam: float, gap: float) -> np.ndarray:
    """Return the range of each item, (T, 2) by item numbers, NaN for none; see `count_in_range`."""
    out = np.full((objective.geometry.n_items, 2), np.nan)
    metric_learning.list_ranges(*_reference(objective, point, lam, gap), out)
    return out


def _reference(objective: Objective, point: Metric, lam: float, gap: float) -> tuple:
    """Return the arguments that tell loops of a reference."""
    geometry, items, loss = objective.geometry, objective.geometry.items, objective.loss
    return (
        items.start, items.stop, items.base, items.rank, items.near, items.at_places, geometry.X,
        geometry.diagonal, geometry.near_sizes, geometry.far_sizes,
        geometry.intervals(((1.0, geometry.margins(point)),)), geometry.thresholds(loss),
        loss.depth, lam, norm(point.value) * WIDER, float(np.sqrt(2.0 * gap / lam)) * WIDER,
    )  # fmt: skip
