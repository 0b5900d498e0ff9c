"""Losses of a margin: the hinge with a threshold and optional smoothing, and its square."""

from dataclasses import dataclass

import numpy as np

# Width of a quadratic piece, as a share of the largest threshold, below which a loss is as hard to
# minimise as a hinge. With many far places steps cost little, so that many of them cost less than
# smoothing.
_NARROW, _NARROW_IN_LONG_ROWS = 5e-3, 1e-4


@dataclass(frozen=True)
class SmoothedHinge:
    """Hinge loss with threshold tau, smoothed quadratically over a width; or the squared hinge.

    With z = tau - x, the loss of a margin x is 0 for z <= 0, z^2 / (2 width) for
    0 <= z <= width and z - width / 2 beyond; width = 0 is the plain hinge. Its conjugate is
    l*(-alpha) = width / 2 alpha^2 - tau alpha on 0 <= alpha <= 1.

    At the optimum an item is in the *zero* part when its margin is above `threshold` (dual
    variable 0) and in the *linear* part when it is below `linear_below` (dual variable 1). With
    `most` infinite there is no linear part, and a width of 1/2 makes the loss z^2 for z >= 0.

    Parameters
    ----------
    threshold : float
        Margin from which on the loss is zero.
    width : float
        Width of the quadratic piece, in units of the margin; 0 <= width.
    most : float
        Largest dual variable: 1, or infinite.

    References
    ----------
    Yoshida, Takeuchi and Karasuyama (2019), "Safe triplet screening for distance metric
    learning", Neural Computation 31, equation 2.2 and section 6.3.
    """

    threshold: float = 1.0
    width: float = 0.05
    most: float = 1.0

    @property
    def depth(self) -> float:
        """How far below its threshold a margin is where the linear part begins."""
        return self.width if self.most == 1.0 else np.inf

    @property
    def linear_below(self) -> float:
        """Margin below which the loss is linear."""
        return self.threshold - self.depth

    def duals_at_zero(self, thresholds: np.ndarray) -> np.ndarray:
        """Dual variables of margins of zero under thresholds of their own.

        Positive for the loss's own threshold; 0 for negative ones, which a margin of zero meets.
        """
        if self.width == 0.0:
            return (thresholds > 0.0).astype(np.float64)
        return np.clip(thresholds / self.width, 0.0, self.most)

    def reach_from_zero(self, thresholds: np.ndarray) -> np.ndarray:
        """Margins at which the dual variables at margin zero begin to change; signed.

        The end of the piece of the loss that holds a margin of zero: threshold - width on the
        linear, threshold on the zero part. Where that is nearly zero itself (thresholds of the
        size of the width) the dual variable changes slowly, and half the threshold or half the
        width stands for it. Without a linear part the threshold stands for its end.
        """
        if self.most > 1.0:
            return np.where(thresholds > 0.0, thresholds, np.minimum(thresholds, -0.5 * self.width))
        # For the threshold of the loss this is the end of the linear part, whatever the width.
        share = min(0.5, self.linear_below / self.threshold)
        above = np.maximum(thresholds - self.width, share * thresholds)
        return np.where(thresholds > 0.0, above, np.minimum(thresholds, -0.5 * self.width))


def is_narrow(width: float, threshold: float, has_long_rows: bool) -> bool:
    """Whether a loss is descended with proximal smoothing, and two numbers kept for each item."""
    return width <= (_NARROW_IN_LONG_ROWS if has_long_rows else _NARROW) * threshold
