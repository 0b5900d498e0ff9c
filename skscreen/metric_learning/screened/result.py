"""Decisions on triplets."""

from functools import cached_property

import numpy as np

from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.metric_learning.problem.domains import Metric
from skscreen.metric_learning.problem.objective import Objective, Problem
from skscreen.metric_learning.screening.paper.ranges import item_ranges


class TripletScreening:
    """Decisions on triplets: which losses are proved to be zero, and which linear.

    Returned by `screen_triplets`, for the problem of one lambda.

    Attributes
    ----------
    triplets_ : ndarray of shape (n_triplets, 3)
        Rows (i, j, k): sample i should be nearer to j than to k.
    codes_ : ndarray of shape (n_triplets,), int8
        0 undecided, 1 no loss (margin above 1), 2 on the linear piece of the loss.
    undecided_ : ndarray
        Indices of the undecided triplets.
    rate_ : float
        Share of the decided among all triplets.
    intervals_ : ndarray of shape (n_triplets, 2)
        Open interval of lambda, absolute, over which the reference alone decides the triplet by the
        sphere rule of RRPB (Theorem 4.1 of the paper, and its counterpart for the linear part);
        NaN where there is none. Computed when it is asked for.
    lam_, lam_max_ : float
        Lambda of the problem and the smallest one from which on all triplets are linear, absolute.
    """

    def __init__(
        self, triplets: np.ndarray, codes: np.ndarray, problem: Problem, objective: Objective,
        point: Metric, reference_lam: float, gap: float,
    ):  # fmt: skip
        self.triplets_, self.codes_, self._problem = triplets, codes, problem
        self.lam_, self.lam_max_ = problem.in_data(objective.lam), problem.in_data(problem.lam_max)
        self.undecided_ = np.flatnonzero(codes == UNDECIDED)
        self.rate_ = (codes.size - self.undecided_.size) / max(codes.size, 1)
        self._known = objective, point, reference_lam, gap

    @cached_property
    def intervals_(self) -> np.ndarray:
        """Range of lambda over which each triplet is known to be decided."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            ranges = item_ranges(*self._known)
        return self._problem.in_data(1.0) * ranges

    def __repr__(self) -> str:
        """Tell how many are decided."""
        counts = [np.count_nonzero(self.codes_ == code) for code in (ZERO, LINEAR, UNDECIDED)]
        return (
            f"TripletScreening(lam={self.lam_:.4g}, rate={self.rate_:.3f}: {counts[0]} without "
            f"loss, {counts[1]} linear, {counts[2]} undecided)"
        )
