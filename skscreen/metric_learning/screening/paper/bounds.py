"""The bounds of Yoshida et al. (2019): balls that hold the optimum, beside that of `ball.py`.

A bound takes `(evaluation, lam, reference_lam)`: the target lambda, and that of the reference.
"""

import math
from collections.abc import Callable

import numpy as np

from skscreen.core.floats import EPS
from skscreen.metric_learning.problem.objective import SLACK, Evaluation, inner, norm
from skscreen.metric_learning.screening.ball import Ball, ball_radius, gap_ball


@np.errstate(over="ignore", invalid="ignore")
def gradient_ball(evaluation: Evaluation, lam: float, reference_lam: float) -> Ball:
    """GB (Theorem J1): centre (theta + S / lambda)/2, radius |lambda theta - S| / (2 lambda)."""
    # For dual variables that are no subgradient r^2 grows by sum FY / lambda. The linear rule takes
    # the negative part of the centre as its normal: what is left of the ball lies inside PGB.
    upper, lower = (part.scaled(1.0 / lam) for part in evaluation.adjoint_split)
    distance = norm(evaluation.gradient(lam)) / lam
    radius = ball_radius(evaluation, lam, slackness=evaluation.fenchel_young, distance=distance)
    ends = (0.5, evaluation.margins_at(upper)), (-0.5, evaluation.margins_at(lower))
    centre = 0.5 * (evaluation.point.value + evaluation.adjoint / lam)
    return Ball(((0.5, evaluation.margins), *ends), radius, centre)


@np.errstate(over="ignore", invalid="ignore")
def projected_gradient_ball(evaluation: Evaluation, lam: float, reference_lam: float) -> Ball:
    """PGB (Theorem J2): centre [Q]_K for the centre Q of GB, r^2 = r_GB^2 - |[-Q]_K|^2."""
    Q = 0.5 * (evaluation.point.value + evaluation.adjoint / lam)
    centre, rest = evaluation.objective.domain.split(Q)
    theta = evaluation.point.value
    # As |Q_K - theta|^2 + 2 <theta, [-Q]_K>, a sum of non-negative terms.
    # Products, as powers of Python floats do not overflow to infinity.
    half = 0.5 * norm(evaluation.gradient(lam)) / lam
    square = 2.0 * max(inner(theta, rest.value), 0.0)
    square += SLACK * EPS * (half * half + inner(Q, Q))
    slackness, distance = evaluation.fenchel_young + lam * square, 2.0 * norm(centre.value - theta)
    radius = ball_radius(evaluation, lam, slackness=slackness, distance=distance)
    return Ball(((1.0, evaluation.margins_at(centre)),), radius, centre.value, rest)


def duality_gap_ball(evaluation: Evaluation, lam: float, reference_lam: float) -> Ball:
    """DGB (Theorem J4): centre theta, r^2 = 2 gap / lambda. Needs no further margins."""
    radius = ball_radius(evaluation, lam, slackness=2.0 * evaluation.gap(lam))
    centre, normal = evaluation.point.value, evaluation.adjoint_split[1]
    return Ball(((1.0, evaluation.margins),), radius, centre, normal)


@np.errstate(over="ignore", invalid="ignore")
def constrained_duality_gap_ball(evaluation: Evaluation, lam: float, reference_lam: float) -> Ball:
    """CDGB (Theorem J14): centre u, r^2 = (P(u) - D(alpha)) / lambda, for any dual variables."""
    # The theorem needs a centre in the cone. That of any other dual variable Gamma than the best
    # one, [-S]_K, need not be there, and its ball may miss the optimum.
    objective, u = evaluation.objective, evaluation.adjoint_split[0].scaled(1.0 / lam)
    at_u = evaluation.margins_at(u)
    # Losses at the ends of the intervals of the margins; D(alpha) = P - gap follows from theta's.
    highest = objective.loss_bound(u, at_u, upper=True)
    lowest = objective.loss_bound(evaluation.point, evaluation.margins, upper=False)
    squares = [0.5 * lam * inner(value, value) for value in (u.value, evaluation.point.value)]
    slackness = highest + squares[0] - lowest - squares[1] + evaluation.gap(lam)
    size = abs(highest) + abs(lowest) + sum(squares)
    for value in (u.value, evaluation.point.value):
        size += norm(objective.linear_term) * norm(value)
    radius = ball_radius(evaluation, lam, slackness=max(slackness, 0.0) + SLACK * EPS * size)
    return Ball(((1.0, at_u),), radius, u.value, evaluation.adjoint_split[1])


def rrpb_ball(evaluation: Evaluation, lam: float, reference_lam: float) -> Ball:
    """RRPB (Theorem J6): for theta within eps of the optimum at the reference lambda."""
    # Centre (l0 + l1)/(2 l1) theta, radius |l0 - l1|/(2 l1) |theta| + max(l0, l1)/l1 eps with
    # eps = sqrt(2 gap_{l0} / l0). Equal to DGB at l1 = l0.
    # Quotients of Python floats overflow to infinity without a warning.
    epsilon = math.sqrt(2.0 * float(evaluation.gap(reference_lam)) / reference_lam)
    size, scale = norm(evaluation.point.value), 0.5 * (reference_lam + lam) / lam
    radius = 0.5 * abs(reference_lam - lam) / lam * size
    radius += max(reference_lam, lam) / lam * epsilon
    radius = ball_radius(evaluation, lam, distance=2.0 * radius)
    centre, normal = scale * evaluation.point.value, evaluation.adjoint_split[1]
    return Ball(((scale, evaluation.margins),), radius, centre, normal)


Bound = Callable[[Evaluation, float, float], Ball]

BOUNDS: dict[str, Bound] = {
    "gap": gap_ball,
    "gb": gradient_ball,
    "pgb": projected_gradient_ball,
    "dgb": duality_gap_ball,
    "cdgb": constrained_duality_gap_ball,
    "rrpb": rrpb_ball,
}
