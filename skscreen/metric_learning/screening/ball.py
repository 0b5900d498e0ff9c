"""The ball that provably holds the optimum at a target lambda.

It is built from an `Evaluation` of an objective at a reference point theta, with dual variables
alpha and S = sum_t alpha_t A_t + B. Write S = S_K - Gamma for its split by the domain and
u = S_K / lambda. It is that of `core.ball` with a slackness of sum FY + <theta, Gamma>:

    |theta* - (theta + u)/2|^2 <= (sum FY + <theta, Gamma>) / lambda + |theta - u|^2 / 4.

Its radius carries the rounding error of the evaluation, which must be of the *full* problem, or of
one reduced by decisions that hold at `lam`: those for another lambda make the ball unsafe.
"""

from dataclasses import dataclass

import numpy as np

from skscreen.core.ball import gap_radius
from skscreen.core.floats import EPS
from skscreen.metric_learning.problem.comparisons import Terms
from skscreen.metric_learning.problem.domains import Metric
from skscreen.metric_learning.problem.objective import SLACK, Evaluation, norm


@dataclass(frozen=True)
class Ball:
    """A ball round a centre known by its margins, a linear combination of evaluated ones."""

    terms: Terms
    radius: float
    centre: np.ndarray | None = None  # for rules beyond the sphere rule
    # They cut the ball with {X: <P, X> >= 0} for this P in the cone, which is self-dual; by default
    # the negative part of the centre, which is of no use where the centre is in the cone.
    normal: Metric | None = None


def ball_radius(
    evaluation: Evaluation, lam: float, *, slackness: float = 0.0, distance: float = 0.0
) -> float:
    """Radius with the rounding errors of the slackness and of the centre."""
    shift = (evaluation.adjoint_error + SLACK * EPS * norm(evaluation.adjoint)) / lam
    slackness = max(slackness, 0.0) + evaluation.rounding(lam)
    return float(gap_radius(slackness, distance, lam, shift))


# What overflows to no number decides nothing.
@np.errstate(over="ignore", invalid="ignore")
def gap_ball(evaluation: Evaluation, lam: float, reference_lam: float) -> Ball:
    """Ball round (theta + u)/2 from any dual variables; the tightest for its cost."""
    # Costs one split of S and one pass of pair distances (for u).
    u = evaluation.adjoint_split[0].scaled(1.0 / lam)
    slackness = evaluation.fenchel_young + evaluation.complementarity()
    distance = norm(evaluation.point.value - u.value)
    radius = ball_radius(evaluation, lam, slackness=slackness, distance=distance)
    terms = ((0.5, evaluation.margins), (0.5, evaluation.margins_at(u)))
    centre = 0.5 * (evaluation.point.value + u.value)
    return Ball(terms, radius, centre, evaluation.adjoint_split[1])
