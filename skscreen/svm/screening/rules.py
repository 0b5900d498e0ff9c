"""Rules for samples: what a region that holds the optimal w proves about the side of each sample.

A sample whose smallest margin over the region is above its threshold has the dual variable 0, one
whose largest margin is on the linear piece of its loss (for the hinge, below the threshold) has it
at its cap C_i (rule 9 of Ogawa et al. 2014).
"""

from collections.abc import Callable

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO, sphere_lower, sphere_upper
from skscreen.samples.losses import SampleLosses
from skscreen.svm.screening.bounds import (
    Reference,
    SampleBall,
    Segment,
    intersection_target,
    scaled_gap_ball,
    segment,
)

# No margin closer to a kink than this, relative to max(1, |kink|), is decided.
_TOLERANCE = 1e-9

Extremes = tuple[np.ndarray, np.ndarray]


def decide(
    lower: np.ndarray,
    upper: np.ndarray,
    codes: np.ndarray | None = None,
    losses: SampleLosses | None = None,
) -> np.ndarray:
    """Turn bounds on margins (n,) into codes (n,) by strict inequalities; NaN decides nothing.

    Earlier decisions `codes` stay as they are; without losses thresholds are 1, those of hinges.
    """
    found = np.full(lower.size, UNDECIDED, dtype=np.int8)
    kinks = (1.0, 1.0) if losses is None else (losses.thresholds, losses.linear_below)
    found[lower > kinks[0] + _TOLERANCE * np.maximum(np.abs(kinks[0]), 1.0)] = ZERO
    found[upper < kinks[1] - _TOLERANCE * np.maximum(np.abs(kinks[0]), 1.0)] = LINEAR
    return found if codes is None else np.where(codes == UNDECIDED, found, codes)


def ball_test(ball: SampleBall, norms: np.ndarray) -> Extremes:
    """Smallest and largest margin of each sample over a ball (Lemma 1)."""
    arguments = ball.margins, norms, ball.radius
    return sphere_lower(*arguments), sphere_upper(*arguments)


def intersection_test(segment: Segment, norms: np.ndarray) -> Extremes:
    """Bounds on the margins over the intersection of the two balls of a segment (Theorem 8)."""
    lower, upper = np.empty(norms.size), np.empty(norms.size)
    balls = *segment.squares, segment.shift
    loops.intersection_pass(segment.margins, segment.slope, norms, balls, lower, upper)
    return lower, upper


# A bound takes a reference, the multiple rho of its losses, and a function that returns the margins
# of sum_i a_i z_i for any a, with the sum of the lengths of all vectors added up for them.
Products = Callable[[np.ndarray], tuple[np.ndarray, float]]
Bound = Callable[[Reference, float, Products], Extremes]


def one_ball(reference: Reference, rho: float, products: Products) -> Extremes:
    """BT1, for references of any accuracy; needs no products."""
    return ball_test(scaled_gap_ball(reference, rho), reference.norms)


def _pencil(reference: Reference, rho: float, products: Products) -> Segment:
    target = intersection_target(reference, rho)
    # Most variables are at bounds and stay there.
    difference, summed = products(target - rho * reference.alpha)
    return segment(reference, rho, target, difference, summed)


def _other_ball(reference: Reference, rho: float, products: Products) -> Extremes:
    """BT2."""
    return ball_test(_pencil(reference, rho, products).ball(1.0), reference.norms)


def _intersection(reference: Reference, rho: float, products: Products) -> Extremes:
    """Intersect both (IT)."""
    return intersection_test(_pencil(reference, rho, products), reference.norms)


# Bounds on all <z_i, w*> from a reference at another C, by name. "gap" decides nothing here: it
# leaves all to the gap balls of points at the new C, which always screen.
BOUNDS: dict[str, Bound | None] = {
    "ball1": one_ball,
    "ball2": _other_ball,
    "intersection": _intersection,
    "gap": None,
}

# The best known.
BEST = "intersection"
