"""Bounds for samples: balls that provably hold the optimal w of a hinge-loss problem at a target C.

The problem is min 1/2 |w|^2 + sum_i C_i (t_i - m_i)_+ with m_i = <z_i, w>, whose dual variables lie
in 0 <= alpha_i <= C_i. Vectors are only used by their margins, so the same bounds serve linear
models and kernels. All bounds are cases of one ball, that of `core.ball`: for any w and any
dual-feasible alpha with u = sum alpha_i z_i

    |w* - (w + u)/2|^2 <= sum_i kappa_i + |w - u|^2 / 4,
    kappa_i = C_i (t_i - m_i)_+ - alpha_i (t_i - m_i) >= 0.

With w = u(alpha0) of a reference, solved for the caps C_i / rho, the tests of Ogawa et al. (2014)
are this ball for two choices of alpha: rho alpha0 (BT1, Corollary 6) and C_i s_i with s_i in {0, 1}
(BT2, Corollary 7). The balls of all alpha between the two make up the intersection test. Every
radius includes the rounding errors of its margins.

With a free intercept, m_i = <z_i, w> + y_i b, the dual variables also have sum y_i alpha_i = 0. The
identity still holds: all alpha above, and those between them, are feasible up to rounding errors,
which are part of the radius. `skscreen.samples.intercept` bounds b.

References
----------
K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
machines. arXiv:1401.6740.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.ball import gap_radius
from skscreen.core.floats import EPS, WIDER
from skscreen.samples.intercept import balanced_target
from skscreen.samples.losses import SampleLosses

# Allowance for the rounding error of a sum of vectors, in EPS times the sum of their lengths.
SLACK = 8.0


@dataclass(frozen=True)
class SampleBall:
    """A ball around a centre known by its margins (n,); see `Segment` about the radius."""

    margins: np.ndarray
    radius: float


@dataclass(frozen=True)
class Reference:
    """A dual point alpha (n,) with the margins (n,) of w = u(alpha); see `reference`."""

    # |z_i|, and margins without the intercept b.
    norms: np.ndarray
    margins: np.ndarray
    alpha: np.ndarray
    losses: SampleLosses
    # |w|^2; the sum of alpha_i |z_i|; how far from u(alpha) the vector of the margins may be.
    square: float
    length: float
    shift: float
    # With labels (n,) the intercept is unpenalised, and alpha_i have to go a share of the way to an
    # end of their box for sum y_i alpha_i = 0.
    share: float = 0.0
    signs: np.ndarray | None = None
    b: float = 0.0

    @property
    def square_error(self) -> float:
        """Rounding error of `square`: each margin may be off by `shift` |z_i|."""
        return self.shift * (2.0 * np.sqrt(self.square) + self.shift + self.length)

    @cached_property
    def gap(self) -> float:
        """Sum of kappa_i at w, the duality gap of the problem, including rounding errors."""
        return self.slackness(self.alpha, self.losses, self.share)

    def slackness(
        self, alpha: np.ndarray, losses: SampleLosses, share: float, scale: float = 1.0
    ) -> float:
        """Sum of kappa_i at scale * w for dual variables, including rounding errors."""
        short = losses.short(scale * self.margins, self.b, self.signs)
        width, free = abs(scale) * self.shift * self.norms, self.signs is not None
        if free:
            width += SLACK * EPS * np.abs(losses.thresholds - short)
        total = losses.certify(short, alpha, width)[0]
        if share > 0.0:
            rooms = _rooms(alpha, losses.caps)
            total += share * float(rooms @ (np.abs(short) + width + losses.shifts * rooms))
        return total


def reference(
    norms: np.ndarray,
    margins: np.ndarray,
    alpha: np.ndarray,
    losses: SampleLosses,
    signs: np.ndarray | None = None,
    b: float = 0.0,
    rounding: float = 0.0,
    apart: float = 0.0,
) -> Reference:
    """Make a reference of a dual point 0 <= alpha (n,) <= caps of the full problem.

    Margins may have errors `rounding` beyond those of double precision, over |z_i|, and be those
    of a vector that is `apart` from sum alpha_i z_i.
    """
    length, square = float(norms @ alpha), max(float(alpha @ margins), 0.0)
    rooms = _rooms(alpha, losses.caps)
    share = _share_to_move(alpha, rooms, signs, _missing(alpha, signs))
    shift = apart + rounding + SLACK * EPS * length + share * float(norms @ rooms)
    return Reference(norms, margins, alpha, losses, square, length, shift, share, signs, b)


def _missing(alpha: np.ndarray, signs: np.ndarray | None) -> float:
    """|sum y_i alpha_i|, or more by rounding errors."""
    if signs is None:
        return 0.0
    # Pairwise sums of n numbers have errors of (9 + log2(n) / 2) EPS, products of vectors of many.
    return abs(float((signs * alpha).sum())) + 32.0 * EPS * float(alpha.sum())


def _rooms(alpha: np.ndarray, caps: np.ndarray) -> np.ndarray:
    """Caps for balancing dual variables; those without a cap may rise to twice their value."""
    return np.where(np.isfinite(caps), caps, 2.0 * alpha)


def _share_to_move(alpha, caps, signs, missing: float) -> float:
    """Share of their room by which all dual variables have to move for sum y_i alpha_i = 0."""
    if missing == 0.0:
        return 0.0
    # The sum falls where y_i = 1 moves to 0 and y_i = -1 to C_i, and rises the other way.
    falls = float(np.where(signs > 0.0, alpha, caps - alpha).sum())
    room = min(falls, float(caps.sum()) - falls)
    # Without room there is no feasible point, and nothing is decided.
    return missing / room if missing < room else np.inf


@np.errstate(over="ignore", invalid="ignore")
def gap_ball(reference: Reference, scale: float = 1.0) -> SampleBall:
    """Gap ball of (scale w, alpha), of centre (1 + scale)/2 w: for a scale of 1, r^2 is the gap."""
    slackness = reference.gap
    if scale != 1.0:
        slackness = reference.slackness(reference.alpha, reference.losses, reference.share, scale)
    return _ball(reference, scale, 1.0, slackness)


def scaled_gap_ball(reference: Reference, rho: float) -> SampleBall:
    """BT1 for a reference of any accuracy, at any rho times its losses: that of (w0, rho alpha0).

    Centre (1 + rho)/2 w0, r^2 = ((rho - 1)/2)^2 |w0|^2 + rho gap0 with the duality gap there.
    """
    return _ball(reference, 1.0, rho, rho * reference.gap)


@np.errstate(over="ignore", invalid="ignore")
def _ball(reference: Reference, scale: float, rho: float, slackness: float) -> SampleBall:
    """Ball of (scale w, rho alpha) for a given slackness."""
    middle = 0.5 * (scale + rho)
    distance = abs(scale - rho) * np.sqrt(reference.square + reference.square_error)
    radius = gap_radius(slackness, distance, 1.0, abs(middle) * reference.shift)
    return SampleBall(middle * reference.margins, float(radius))


@np.errstate(over="ignore", invalid="ignore")
def path_gap(reference: Reference, rho: float) -> float:
    """Return an upper bound on the duality gap of (w0, rho alpha0), see `scaled_gap_ball`."""
    apart = abs(rho - 1.0) * np.sqrt(reference.square + reference.square_error)
    # w0 is u(alpha0) up to rounding errors.
    apart += rho * reference.shift
    return (0.5 * apart * apart + rho * reference.gap) * WIDER


@dataclass(frozen=True)
class Segment:
    """The balls, for t in [0, 1], between BT1 and BT2; each holds the optimum. See `segment`."""

    # Margins of a centre are `margins + t * slope`, squared radii a polynomial of t; rounding
    # errors `shift` of the centre come to the radius.
    margins: np.ndarray
    slope: np.ndarray
    squares: tuple[float, float, float]
    shift: float

    @np.errstate(over="ignore", invalid="ignore")
    def ball(self, t: float) -> SampleBall:
        """Return one of the balls: at 0 relaxed BT1, at 1 BT2."""
        radius = loops.pencil_radius((*self.squares, self.shift), t)
        return SampleBall(self.margins + t * self.slope, radius)


def intersection_target(reference: Reference, rho: float) -> np.ndarray:
    """Dual variables C_i s_i that make BT2 the best partner of BT1 (equation 25).

    s_i = 1 where the margin at the centre of BT1 is below 1: this maximises |m1 - m2|^2 - r2^2.
    """
    middle, caps = 0.5 * (1.0 + rho) * reference.margins, rho * reference.losses.caps
    short = reference.losses.short(middle)
    if reference.signs is not None:
        return balanced_target(short, caps, reference.signs)
    return np.where(short > 0.0, caps, 0.0)


@np.errstate(over="ignore", invalid="ignore")
def segment(
    reference: Reference,
    rho: float,
    target: np.ndarray,
    difference: np.ndarray,
    summed: float = 0.0,
) -> Segment:
    """Return the balls between BT1 and BT2 (the region of Theorem 8 as a pencil of balls).

    Both share w = w0: the gap ball of any dual variables between rho alpha0 and a feasible `target`
    (n,) holds the optimum, and the best one for each sample is the bound over both balls.
    `difference` (n,) are margins of sum_i (target_i - rho alpha0_i) z_i, `summed` the lengths of
    all vectors that were added up for it: rounding errors grow with these.
    """
    q, step = reference.margins, target - rho * reference.alpha
    losses = reference.losses.at(rho)
    length_moved = float(np.abs(step) @ reference.norms)
    missing = _missing(target, reference.signs)
    share = _share_to_move(target, losses.caps, reference.signs, missing)
    error = SLACK * EPS * (length_moved + summed + rho * reference.length)
    error += share * float(reference.norms @ losses.caps)
    length_square = max(float(step @ difference), 0.0)
    length = float(np.sqrt(length_square))
    # |w0 - u_t|^2 / 4 with w0 - u_t = (1 - rho) w0 - t (target's u - rho u0), in alpha-space.
    half = 0.5 * (rho - 1.0)
    constant = half * (reference.square + reference.square_error) * half
    linear = half * float(step @ q)
    near, far = rho * reference.gap, reference.slackness(target, losses, share)
    shift = 0.5 * (1.0 + rho) * reference.shift + error
    # Errors of the terms in t: each is an inner product of vectors known up to `shift`.
    size = np.sqrt(reference.square) + reference.shift
    rounding = (abs(rho - 1.0) * (size + length) + length + shift) * shift
    rounding += (abs(rho - 1.0) + 1.0) * shift * length_moved
    squares = (constant + near, linear + far - near + rounding, 0.25 * length_square)
    return Segment(0.5 * (1.0 + rho) * q, 0.5 * difference, squares, shift)
