"""Bounds on scores by samples inside their box, for a free intercept.

The difference of two scores does not depend on the intercept,

    s_i - s_j = <x_i - x_j, w>,

and |x_i - x_j| is small compared with |x_i| for similar samples. With the gap G of the gap ball of
(w, beta) the optimum has sum_j max((high_j - beta_j) g*_j, (low_j - beta_j) g*_j) <= G, so the
score of a sample inside its box is near its target:

    target_j - G / (high_j - beta_j) <= s*_j <= target_j + G / (beta_j - low_j).

Without bounds and with shifts v_j the sum has v_j/2 (beta_j - beta*_j)^2, so beta*_j is known
within sqrt(2 G / v_j), and with it the score, target_j - v_j beta*_j where beta*_j is not 0.

Every such sample bounds the scores of all others; the best of these bounds is used.
"""

import math
from dataclasses import dataclass

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.floats import EPS
from skscreen.samples.kernels.gram import KernelSamples
from skscreen.samples.rows import LinearSamples
from skscreen.svm.dual import Dual, Extremes
from skscreen.svm.screening.bounds import Reference, SampleBall, path_gap, scaled_gap_ball

# Number of samples to compare all with; more hardly decide more.
_MOST = 30

# Factor that widens limits of scores, for rounding errors.
_LIMIT_SLACK = 1.0 + 1e-6


@dataclass(frozen=True)
class Inside:
    """Samples inside their box (k,), with limits on their scores (k,) at the optimum."""

    index: np.ndarray
    least: np.ndarray
    most: np.ndarray


def compare_at(
    reference: Reference, rho: float, samples: LinearSamples | KernelSamples
) -> Extremes:
    """Bound the scores at bounds rho times those of a reference; see `compare`."""
    dual = reference.dual.at(rho)
    # Errors of squared lengths, for dual variables of up to twice the size.
    size = max(rho, 1.0) * reference.length
    unsure = 4.0 * samples.error * size * size
    gap = path_gap(reference, rho) + unsure
    inside = furthest_inside(rho * reference.beta, dual, gap, reference.share)
    products = samples.products(inside.index)
    ball, shift = scaled_gap_ball(reference, rho), 0.5 * (1.0 + rho) * reference.shift
    ball = SampleBall(ball.scores, math.hypot(ball.radius, math.sqrt(unsure)))
    return compare(inside, products, ball, shift, reference.norms)


def furthest_inside(beta: np.ndarray, dual: Dual, gap: float, share: float = 0.0) -> Inside:
    """Choose the samples furthest inside their box, for dual variables (n,) with a gap, or less.

    They may have to move a `share` of their room to be feasible.
    """
    target, below, above = dual.target, beta - dual.low, dual.high - beta
    room = np.minimum(below, above)
    index = np.argpartition(-room, _MOST)[:_MOST] if room.size > _MOST else np.arange(room.size)
    index = index[room[index] > 0.0] if share < 1.0 else index[:0]
    # Overflow, and NaN, mean no limit.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        reach = _LIMIT_SLACK * gap / np.float64(1.0 - share)
        if dual.smooth:
            least, most = _limits(np.abs(beta[index]), dual.shifts[index], reach, share)
            rises = dual.high[index] > 0.0
            least, most = np.where(rises, least, -most), np.where(rises, most, -least)
            return Inside(index, target[index] + least, target[index] + most)
        least = target[index] - reach / above[index]
        most = target[index] + reach / below[index]
    return Inside(index, least, most)


def _limits(alpha, shifts, reach: float, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return limits of scores beyond targets, of positive sign, for losses with shifts."""
    # The score changes by s_i times the change of alpha_i and its uncertainty. Sums of limits have
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
) -> Extremes:
    """Bound all scores, with any optimal intercept, by <x_j, x_i> (k, n) of the samples inside.

    The ball holds the optimal w; the vector that has its scores may be `shift` off its centre.
    """
    lower, upper = np.full(norms.size, -np.inf), np.full(norms.size, np.inf)
    loops.compare_scores(
        inside.index, inside.least, inside.most, products, ball.scores, ball.radius, shift, norms,
        lower, upper,
    )  # fmt: skip
    return lower, upper
