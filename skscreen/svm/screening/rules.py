"""Bounds on the scores of samples over regions that hold the optimal w.

A sample that is on one side of its target all over the region has its dual variable at that bound
(rule 9 of Ogawa et al. 2014), see `Dual.codes`.
"""

from collections.abc import Callable

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.decisions import sphere_lower, sphere_upper
from skscreen.svm.dual import Extremes
from skscreen.svm.screening.bounds import (
    Reference,
    SampleBall,
    Segment,
    intersection_target,
    scaled_gap_ball,
    segment,
)


def ball_test(ball: SampleBall, norms: np.ndarray) -> Extremes:
    """Smallest and largest score of each sample over a ball (Lemma 1)."""
    arguments = ball.scores, norms, ball.radius
    return sphere_lower(*arguments), sphere_upper(*arguments)


def intersection_test(segment: Segment, norms: np.ndarray) -> Extremes:
    """Bounds on the scores over the intersection of the two balls of a segment (Theorem 8)."""
    lower, upper = np.empty(norms.size), np.empty(norms.size)
    balls = *segment.squares, segment.shift
    loops.intersection_pass(segment.scores, segment.slope, norms, balls, lower, upper)
    return lower, upper


# A bound takes a reference, the multiple rho of its losses, and a function that returns the scores
# of sum_i a_i x_i for any a, with the sum of the lengths of all vectors added up for them.
Products = Callable[[np.ndarray], tuple[np.ndarray, float]]
Bound = Callable[[Reference, float, Products], Extremes]


def one_ball(reference: Reference, rho: float, products: Products) -> Extremes:
    """BT1, for references of any accuracy; needs no products."""
    return ball_test(scaled_gap_ball(reference, rho), reference.norms)


def _pencil(reference: Reference, rho: float, products: Products) -> Segment:
    target = intersection_target(reference, rho)
    # Most variables are at bounds and stay there.
    difference, summed = products(target - rho * reference.beta)
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
