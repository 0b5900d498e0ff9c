"""Bounds for samples: balls that provably hold the optimal w of a hinge-loss problem at a target C.

The problem is a `Dual` in signed variables, with scores f_i = <x_i, w>. Vectors are only used by
their scores, so the same bounds serve linear models and kernels. All bounds are cases of one ball,
that of `core.ball`: for any w and any dual-feasible beta with u = sum beta_i x_i

    |w* - (w + u)/2|^2 <= sum_i kappa_i + |w - u|^2 / 4,
    kappa_i = max((high_i - beta_i) g_i, (low_i - beta_i) g_i) >= 0,   g_i = target_i - f_i.

With w = u(beta0) of a reference, solved for the bounds over rho, the tests of Ogawa et al. (2014)
are this ball for two choices of beta: rho beta0 (BT1, Corollary 6) and a vertex of the box (BT2,
Corollary 7). The balls of all beta between the two make up the intersection test. Every radius
includes the rounding errors of its scores.

With a free intercept, g_i = target_i - f_i - b, the dual variables also have the sum 0. The
identity still holds: all beta above, and those between them, are feasible up to rounding errors,
which are part of the radius. `skscreen.samples.intercept` bounds b.

References
----------
K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
machines. arXiv:1401.6740.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.ball import gap_radius
from skscreen.core.floats import EPS, WIDER
from skscreen.samples.intercept import balanced_target
from skscreen.svm.dual import Dual

# Allowance for the rounding error of a sum of vectors, in EPS times the sum of their lengths.
SLACK = 8.0


@dataclass(frozen=True)
class SampleBall:
    """A ball around a centre known by its scores (n,); see `Segment` about the radius."""

    scores: np.ndarray
    radius: float


@dataclass(frozen=True)
class Reference:
    """A dual point beta (n,) with the scores f (n,) of w = u(beta); see `reference`."""

    # |x_i|, and scores without the intercept b.
    norms: np.ndarray
    f: np.ndarray
    beta: np.ndarray
    dual: Dual
    # |w|^2; the sum of |beta_i| |x_i|; how far from u(beta) the vector of the scores may be.
    square: float
    length: float
    shift: float
    # With a free intercept beta_i have to go a share of the way to an end of their box for their
    # sum to be zero.
    share: float = 0.0
    b: float = 0.0

    @property
    def square_error(self) -> float:
        """Rounding error of `square`: each score may be off by `shift` |x_i|."""
        return self.shift * (2.0 * np.sqrt(self.square) + self.shift + self.length)

    @cached_property
    def gap(self) -> float:
        """Sum of kappa_i at w, the duality gap of the problem, including rounding errors."""
        return self.slackness(self.beta, self.dual, self.share)

    def slackness(self, beta: np.ndarray, dual: Dual, share: float, scale: float = 1.0) -> float:
        """Sum of kappa_i at scale * w for dual variables, including rounding errors."""
        slopes = dual.target - (scale * self.f + self.b)
        width = abs(scale) * self.shift * self.norms
        if dual.free:
            width += SLACK * EPS * np.abs(dual.target - slopes)
        total = dual.gap_of_slopes(beta, slopes, width)[0]
        if share > 0.0:
            low, high = _rooms(beta, dual)
            rooms = high - low
            total += share * float(rooms @ (np.abs(slopes) + width + dual.all_shifts * rooms))
        return total


def reference(
    norms: np.ndarray,
    f: np.ndarray,
    beta: np.ndarray,
    dual: Dual,
    b: float = 0.0,
    rounding: float = 0.0,
    apart: float = 0.0,
) -> Reference:
    """Make a reference of a dual point beta (n,) in the box of the full problem.

    Scores may have errors `rounding` beyond those of double precision, over |x_i|, and be those
    of a vector that is `apart` from sum beta_i x_i.
    """
    length, square = float(norms @ np.abs(beta)), max(float(beta @ f), 0.0)
    low, high = _rooms(beta, dual)
    share = _share_to_move(beta, low, high, _missing(beta, dual))
    shift = apart + rounding + SLACK * EPS * length + share * float(norms @ (high - low))
    return Reference(norms, f, beta, dual, square, length, shift, share, b)


def _missing(beta: np.ndarray, dual: Dual) -> float:
    """|sum beta_i|, rounded up."""
    # All errors of scores grow with it: what a plain sum may be off by decides at large C.
    return (1.0 + EPS) * abs(math.fsum(beta)) if dual.free else 0.0


def _rooms(beta: np.ndarray, dual: Dual) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds for balancing; those without a bound may grow to twice their value."""
    if not dual.smooth:
        return dual.low, dual.high
    return np.minimum(2.0 * beta, 0.0), np.maximum(2.0 * beta, 0.0)


def _share_to_move(beta: np.ndarray, low: np.ndarray, high: np.ndarray, missing: float) -> float:
    """Share of their room by which all dual variables have to move for their sum to be 0."""
    if missing == 0.0:
        return 0.0
    room = min(float((beta - low).sum()), float((high - beta).sum()))
    # Without room there is no feasible point, and nothing is decided.
    return missing / room if missing < room else np.inf


@np.errstate(over="ignore", invalid="ignore")
def gap_ball(reference: Reference, scale: float = 1.0) -> SampleBall:
    """Gap ball of (scale w, beta), of centre (1 + scale)/2 w: for a scale of 1, r^2 is the gap."""
    slackness = reference.gap
    if scale != 1.0:
        slackness = reference.slackness(reference.beta, reference.dual, reference.share, scale)
    return _ball(reference, scale, 1.0, slackness)


def scaled_gap_ball(reference: Reference, rho: float) -> SampleBall:
    """BT1 for a reference of any accuracy, at any rho times its losses: that of (w0, rho beta0).

    Centre (1 + rho)/2 w0, r^2 = ((rho - 1)/2)^2 |w0|^2 + rho gap0 with the duality gap there.
    """
    return _ball(reference, 1.0, rho, rho * reference.gap)


@np.errstate(over="ignore", invalid="ignore")
def _ball(reference: Reference, scale: float, rho: float, slackness: float) -> SampleBall:
    """Ball of (scale w, rho beta) for a given slackness."""
    middle = 0.5 * (scale + rho)
    distance = abs(scale - rho) * np.sqrt(reference.square + reference.square_error)
    radius = gap_radius(slackness, distance, 1.0, abs(middle) * reference.shift)
    return SampleBall(middle * reference.f, float(radius))


@np.errstate(over="ignore", invalid="ignore")
def path_gap(reference: Reference, rho: float) -> float:
    """Return an upper bound on the duality gap of (w0, rho beta0), see `scaled_gap_ball`."""
    apart = abs(rho - 1.0) * np.sqrt(reference.square + reference.square_error)
    # w0 is u(beta0) up to rounding errors.
    apart += rho * reference.shift
    return (0.5 * apart * apart + rho * reference.gap) * WIDER


@dataclass(frozen=True)
class Segment:
    """The balls, for t in [0, 1], between BT1 and BT2; each holds the optimum. See `segment`."""

    # Scores of a centre are `scores + t * slope`, squared radii a polynomial of t; rounding
    # errors `shift` of the centre come to the radius.
    scores: np.ndarray
    slope: np.ndarray
    squares: tuple[float, float, float]
    shift: float

    @np.errstate(over="ignore", invalid="ignore")
    def ball(self, t: float) -> SampleBall:
        """Return one of the balls: at 0 relaxed BT1, at 1 BT2."""
        radius = loops.pencil_radius((*self.squares, self.shift), t)
        return SampleBall(self.scores + t * self.slope, radius)


def intersection_target(reference: Reference, rho: float) -> np.ndarray:
    """Dual variables at bounds that make BT2 the best partner of BT1 (equation 25).

    Not at 0 where the centre of BT1 has a loss: this maximises |m1 - m2|^2 - r2^2.
    """
    dual = reference.dual.at(rho)
    slopes = dual.target - 0.5 * (1.0 + rho) * reference.f
    return balanced_target(slopes, dual.low, dual.high) if dual.free else dual.best(slopes)


@np.errstate(over="ignore", invalid="ignore")
def segment(
    reference: Reference,
    rho: float,
    target: np.ndarray,
    difference: np.ndarray,
    summed: float = 0.0,
) -> Segment:
    """Return the balls between BT1 and BT2 (the region of Theorem 8 as a pencil of balls).

    Both share w = w0: the gap ball of any dual variables between rho beta0 and a feasible `target`
    (n,) holds the optimum, and the best one for each sample is the bound over both balls.
    `difference` (n,) are scores of sum_i (target_i - rho beta0_i) x_i, `summed` the lengths of
    all vectors that were added up for it: rounding errors grow with these.
    """
    q, step = reference.f, target - rho * reference.beta
    dual = reference.dual.at(rho)
    length_moved = float(np.abs(step) @ reference.norms)
    share = _share_to_move(target, dual.low, dual.high, _missing(target, dual))
    error = SLACK * EPS * (length_moved + summed + rho * reference.length)
    error += share * float(reference.norms @ dual.width)
    length_square = max(float(step @ difference), 0.0)
    length = float(np.sqrt(length_square))
    # |w0 - u_t|^2 / 4 with w0 - u_t = (1 - rho) w0 - t (target's u - rho u0), in beta-space.
    half = 0.5 * (rho - 1.0)
    constant = half * (reference.square + reference.square_error) * half
    linear = half * float(step @ q)
    near, far = rho * reference.gap, reference.slackness(target, dual, share)
    shift = 0.5 * (1.0 + rho) * reference.shift + error
    # Errors of the terms in t: each is an inner product of vectors known up to `shift`.
    size = np.sqrt(reference.square) + reference.shift
    rounding = (abs(rho - 1.0) * (size + length) + length + shift) * shift
    rounding += (abs(rho - 1.0) + 1.0) * shift * length_moved
    squares = (constant + near, linear + far - near + rounding, 0.25 * length_square)
    return Segment(0.5 * (1.0 + rho) * q, 0.5 * difference, squares, shift)
