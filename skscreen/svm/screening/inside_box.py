"""Bounds on margins by samples inside their box, for a free intercept.

The difference of two margins does not depend on the intercept. With s = y_i y_j,

    m_i - s m_j = <z_i - s z_j, w>,

and |z_i - s z_j| is small compared with |z_i| for similar samples. With the gap G of the gap ball
of (w, alpha) the optimum has sum_j max((C_j - alpha_j) (1 - m*_j), alpha_j (m*_j - 1)) <= G, so the
margin of a sample inside its box is near its threshold, 1:

    1 - G / (C_j - alpha_j) <= m*_j <= 1 + G / alpha_j.

Without caps and with shifts s_j the sum has s_j/2 (alpha_j - alpha*_j)^2, so alpha*_j is known
within sqrt(2 G / s_j), and with it the margin, 1 - s_j alpha*_j where alpha*_j is positive.

Every such sample bounds the margins of all others; the best of these bounds is used.
"""

import math
from dataclasses import dataclass
from typing import cast

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.floats import EPS
from skscreen.samples.kernels.gram import KernelSamples
from skscreen.samples.losses import SampleLosses
from skscreen.samples.rows import LinearSamples
from skscreen.svm.screening.bounds import Reference, SampleBall, path_gap, scaled_gap_ball
from skscreen.svm.screening.rules import Extremes

# Number of samples to compare all with; more hardly decide more.
_MOST = 30

# Factor that widens limits of margins, for rounding errors.
_LIMIT_SLACK = 1.0 + 1e-6


@dataclass(frozen=True)
class Inside:
    """Samples inside their box (k,), with limits on their margins (k,) at the optimum."""

    index: np.ndarray
    least: np.ndarray
    most: np.ndarray


def compare_at(
    reference: Reference, rho: float, samples: LinearSamples | KernelSamples
) -> Extremes:
    """Bound the margins at bounds rho times those of a reference with labels; see `compare`."""
    losses = reference.losses.at(rho)
    # Errors of squared lengths, for dual variables of up to twice the size.
    size = max(rho, 1.0) * reference.length
    unsure = 4.0 * samples.error * size * size
    gap = path_gap(reference, rho) + unsure
    inside = furthest_inside(rho * reference.alpha, losses, gap, reference.share)
    products = samples.products(inside.index)
    ball, shift = scaled_gap_ball(reference, rho), 0.5 * (1.0 + rho) * reference.shift
    ball = SampleBall(ball.margins, math.hypot(ball.radius, math.sqrt(unsure)))
    y = cast(np.ndarray, reference.signs)
    return compare(inside, products, ball, shift, reference.norms, y)


def furthest_inside(
    alpha: np.ndarray, losses: SampleLosses, gap: float, share: float = 0.0
) -> Inside:
    """Choose the samples furthest inside their box, for dual variables (n,) with a gap, or less.

    They may have to move a `share` of their room to be feasible.
    """
    caps, thresholds = losses.caps, losses.thresholds
    room = np.minimum(alpha, caps - alpha)
    index = np.argpartition(-room, _MOST)[:_MOST] if room.size > _MOST else np.arange(room.size)
    index = index[room[index] > 0.0] if share < 1.0 else index[:0]
    # Overflow, and NaN, mean no limit.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        reach = _LIMIT_SLACK * gap / np.float64(1.0 - share)
        if losses.smooth:
            least, most = _limits(alpha[index], losses.shifts[index], reach, share)
            return Inside(index, thresholds[index] + least, thresholds[index] + most)
        least = thresholds[index] - reach / (caps - alpha)[index]
        most = thresholds[index] + reach / alpha[index]
    return Inside(index, least, most)


def _limits(alpha, shifts, reach: float, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return limits of margins minus thresholds, for losses with shifts and without caps."""
    # The margin changes by s_i times the change of alpha_i and its uncertainty. Sums of limits have
    # rounding errors.
    middle = shifts * alpha
    width = _LIMIT_SLACK * np.sqrt(2.0 * shifts * reach) + (share + 8.0 * EPS) * middle
    return -middle - width, np.where(middle > width, width - middle, reach / alpha)


def compare(
    inside: Inside,
    products: np.ndarray,
    ball: SampleBall,
    shift: float,
    norms: np.ndarray,
    y: np.ndarray,
) -> Extremes:
    """Bound all margins, with any optimal intercept, by <z_j, z_i> (k, n) of the samples inside.

    The ball holds the optimal w; the vector that has its margins may be `shift` off its centre.
    """
    lower, upper = np.full(norms.size, -np.inf), np.full(norms.size, np.inf)
    loops.compare_margins(
        inside.index, inside.least, inside.most, products, ball.margins, ball.radius, shift, norms,
        y, lower, upper,
    )  # fmt: skip
    return lower, upper
