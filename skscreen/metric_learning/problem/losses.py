"""Losses of a margin: the hinge with a threshold and optional smoothing, and its square.

With z = tau - x the loss of a margin x is 0 for z <= 0, z^2 / (2 width) for 0 <= z <= width and
z - width / 2 beyond; width = 0 is the plain hinge. Its conjugate is l*(-alpha) = width / 2 alpha^2
- tau alpha on 0 <= alpha <= 1 (Yoshida et al. 2019, equation 2.2 and section 6.3). At the optimum
an item is in the *zero* part when its margin is above the threshold (dual variable 0), and in the
*linear* part when it is below threshold - width (dual variable 1).

The squared hinge has no linear part: its dual variables have no largest value, and a width of 1/2
makes the loss z^2 for z >= 0.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SmoothedHinge:
    """Hinge loss with threshold tau, smoothed quadratically over a width; or the squared hinge."""

    threshold: float = 1.0
    width: float = 0.05  # >= 0, in units of the margin
    most: float = 1.0  # largest dual variable: 1, or infinite

    @property
    def depth(self) -> float:
        """How far below its threshold a margin is where the linear part begins."""
        return self.width if self.most == 1.0 else np.inf

    @property
    def linear_below(self) -> float:
        """Margin below which the loss is linear."""
        return self.threshold - self.depth

    def duals_at_zero(self, thresholds: np.ndarray) -> np.ndarray:
        """Return the dual variables of margins of zero under thresholds of their own."""
        if self.width == 0.0:
            return (thresholds > 0.0).astype(np.float64)
        # Of a width below normal numbers the quotient is infinite.
        with np.errstate(over="ignore"):
            return np.clip(thresholds / self.width, 0.0, self.most)

    def piece_ends(self, thresholds: np.ndarray) -> np.ndarray:
        """Return the margins, signed, where the pieces of the loss end that hold a margin of 0."""
        # Where such a piece nearly ends at 0 (thresholds of the size of the width) the dual
        # variable changes slowly, and half the threshold or half the width stands for its end.
        # Without a linear part the threshold does.
        if self.most > 1.0:
            above = thresholds
        else:
            # For the threshold of the loss this is the end of the linear part, whatever the width.
            share = min(0.5, self.linear_below / self.threshold)
            above = np.maximum(thresholds - self.width, share * thresholds)
        return np.where(thresholds > 0.0, above, np.minimum(thresholds, -0.5 * self.width))


def is_narrow(loss: SmoothedHinge, threshold: float, has_long_ranges: bool) -> bool:
    """Whether a loss is descended with proximal smoothing, and two numbers kept for each item."""
    # A loss of so small a width is as hard to minimise as a hinge, unless it is squared. With many
    # far places steps cost little, so that many of them cost less than smoothing.
    least = (1e-4 if has_long_ranges else 5e-3) * threshold
    return loss.most == 1.0 and loss.width <= least
