"""Bounds: balls that provably hold the optimum at a target lambda.

All are built from an `Evaluation` of an objective at a reference point theta, with dual
variables alpha and S = sum_t alpha_t A_t + B. Write S = S_K - Gamma for its split by the domain
and u = S_K / lambda. There is one ball behind the names,

    |theta* - (theta + u)/2|^2 <= gap(theta, alpha) / lambda - |theta - u|^2 / 4
                                = (sum FY + <theta, Gamma>) / lambda + |theta - u|^2 / 4,

because P is lambda-strongly convex at theta and D is so at u (add the two inequalities and
complete the square). The named bounds of Yoshida et al. (2019) are kept beside it. Every radius
carries the rounding error of the evaluation that produced it.

A bound takes `(evaluation, lam, reference_lam)`: the target lambda and the one at which the
reference was solved (used by "rrpb" only). The evaluation must be of the *full* problem, or of
one reduced by decisions that hold at `lam`: items fixed for another lambda make the loss and the
gradient wrong, and the ball unsafe.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skscreen.problems.comparisons import EPS, PairDistances
from skscreen.problems.domains import Point
from skscreen.problems.objective import SLACK, Evaluation, inner, norm


@dataclass(frozen=True)
class Ball:
    """A ball round a centre known by its margins.

    Parameters
    ----------
    terms : tuple of (float, PairDistances)
        The centre's margins as a linear combination of evaluated ones.
    radius : float
    """

    terms: tuple[tuple[float, PairDistances], ...]
    radius: float


Margins = Callable[[Point], PairDistances]


def _radius(square: float, evaluation: Evaluation, lam: float, centre_error: float = 0.0) -> float:
    """Radius from its square, widened by the rounding errors of the square and the centre."""
    square = max(square, 0.0) + evaluation.rounding(lam) / lam
    shift = (evaluation.adjoint_error + SLACK * EPS * norm(evaluation.adjoint)) / lam
    return (np.sqrt(square) + shift + centre_error) * (1.0 + 1e-9)


def gap_ball(evaluation: Evaluation, lam: float, reference_lam: float, margins: Margins) -> Ball:
    """Ball round (theta + u)/2 from any dual variables; the tightest for its cost.

    Costs one split of S and one pass of pair distances (for u).
    """
    u = evaluation.adjoint_split[0].scaled(1.0 / lam)
    slackness = evaluation.fenchel_young + evaluation.complementarity()
    square = slackness / lam + 0.25 * norm(evaluation.point.value - u.value) ** 2
    terms = ((0.5, evaluation.margins), (0.5, margins(u)))
    return Ball(terms, _radius(square, evaluation, lam))


def gradient_ball(
    evaluation: Evaluation, lam: float, reference_lam: float, margins: Margins
) -> Ball:
    """GB (Theorem J1): centre (theta + S / lambda)/2, radius |lambda theta - S| / (2 lambda).

    For dual variables that are no subgradient r^2 grows by sum FY / lambda.
    """
    upper, lower = (part.scaled(1.0 / lam) for part in evaluation.adjoint_split)
    square = evaluation.fenchel_young / lam + (0.5 * norm(evaluation.gradient(lam)) / lam) ** 2
    terms = ((0.5, evaluation.margins), (0.5, margins(upper)), (-0.5, margins(lower)))
    return Ball(terms, _radius(square, evaluation, lam))


def projected_gradient_ball(
    evaluation: Evaluation, lam: float, reference_lam: float, margins: Margins
) -> Ball:
    """PGB (Theorem J2): centre [Q]_K for the centre Q of GB, r^2 = r_GB^2 - |[-Q]_K|^2.

    The radius is computed as |Q_K - theta|^2 + 2 <theta, [-Q]_K>, a sum of non-negative terms.
    Costs one split of Q and one pass of pair distances.
    """
    Q = 0.5 * (evaluation.point.value + evaluation.adjoint / lam)
    centre, rest = evaluation.domain.split(Q)
    theta = evaluation.point.value
    square = (
        norm(centre.value - theta) ** 2
        + 2.0 * max(inner(theta, rest.value), 0.0)
        + evaluation.fenchel_young / lam
    )
    gradient_square = (0.5 * norm(evaluation.gradient(lam)) / lam) ** 2
    square += SLACK * EPS * (gradient_square + norm(Q) ** 2)
    return Ball(((1.0, margins(centre)),), _radius(square, evaluation, lam))


def duality_gap_ball(
    evaluation: Evaluation, lam: float, reference_lam: float, margins: Margins
) -> Ball:
    """DGB (Theorem J4): centre theta, r^2 = 2 gap / lambda. Needs no further margins."""
    square = 2.0 * evaluation.gap(lam) / lam
    return Ball(((1.0, evaluation.margins),), _radius(square, evaluation, lam))


def relaxed_path_ball(
    evaluation: Evaluation, lam: float, reference_lam: float, margins: Margins
) -> Ball:
    """RRPB (Theorem J6): for theta within eps of the optimum at the reference lambda.

    Centre (l0 + l1)/(2 l1) theta, radius |l0 - l1|/(2 l1) |theta| + max(l0, l1)/l1 eps with
    eps = sqrt(2 gap_{l0} / l0). Equal to DGB at l1 = l0. Needs no further margins.
    """
    epsilon = np.sqrt(2.0 * evaluation.gap(reference_lam) / reference_lam)
    size = norm(evaluation.point.value)
    radius = 0.5 * abs(reference_lam - lam) / lam * size
    radius += max(reference_lam, lam) / lam * epsilon
    centre = 0.5 * (reference_lam + lam) / lam
    return Ball(((centre, evaluation.margins),), _radius(radius**2, evaluation, lam))


BOUNDS: dict[str, Callable[[Evaluation, float, float, Margins], Ball]] = {
    "gap": gap_ball,
    "gb": gradient_ball,
    "pgb": projected_gradient_ball,
    "dgb": duality_gap_ball,
    "rrpb": relaxed_path_ball,
}
