"""Bounds for samples: balls that provably hold the optimal w of a hinge-loss problem at a target C.

The problem is min 1/2 |w|^2 + sum_i C_i (1 - m_i)_+ with m_i = <z_i, w>, whose dual variables lie
in 0 <= alpha_i <= C_i. A vector is known by its margins alone, so that the same bounds serve
linear models and kernels. There is one ball behind the names: for any w and any dual-feasible
alpha with u = sum alpha_i z_i

    |w* - (w + u)/2|^2 <= sum_i kappa_i + |w - u|^2 / 4,
    kappa_i = C_i (1 - m_i)_+ - alpha_i (1 - m_i) >= 0,

because the primal is 1-strongly convex at w and the dual is quadratic in u (add the two
inequalities and complete the square). With w = u(alpha0) of a reference, solved for the bounds
C_i / rho, the tests of Ogawa et al. (2014) are this ball for two choices of alpha: rho alpha0
(BT1, Corollary 6) and C_i s_i with s_i in {0, 1} (BT2, Corollary 7). The balls of all alpha
between the two make up the intersection test. Every radius carries the rounding errors of the
margins that it was made from.

With an unpenalised intercept, m_i = <z_i, w> + y_i b, dual variables also have sum y_i alpha_i = 0.
The identity holds as it is: all alpha above, and those between them, are feasible up to rounding
errors, which the radius allows for. `skscreen.samples.intercept` bounds b.

References
----------
K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
machines. arXiv:1401.6740.
"""

from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from skscreen.core.floats import EPS, WIDER
from skscreen.samples.intercept import balanced_target, shown

# Rounding error of a sum of vectors, in units of EPS times the sum of their lengths. Far above
# what blocked sums of terms of both signs show.
SLACK = 8.0


@dataclass(frozen=True)
class SampleBall:
    """A ball round a centre known by its margins; see `Segment` for what a radius includes.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        Margins of the centre.
    radius : float
    """

    margins: np.ndarray
    radius: float


@dataclass(frozen=True)
class Reference:
    """A point w = u(alpha) with dual variables that are feasible for `bounds`; see `reference`.

    Parameters
    ----------
    norms, margins, alpha, bounds : ndarray of shape (n,)
        |z_i|, m_i = <z_i, w>, dual variables and their upper bounds.
    square : float
        |w|^2.
    gap : float
        Sum of kappa_i, which is the duality gap of the full problem, or more by rounding errors.
    shift : float
        How far the vector with the given margins may be from u(alpha) by rounding errors.
    signs : ndarray of shape (n,), or None
        Labels, where the intercept is unpenalised.
    b : float
        That intercept, which is not in the margins.
    moved : float
        Share by which some alpha_i have to be smaller for sum y_i alpha_i = 0.
    """

    norms: np.ndarray
    margins: np.ndarray
    alpha: np.ndarray
    bounds: np.ndarray
    square: float
    gap: float
    shift: float
    signs: np.ndarray | None = None
    b: float = 0.0
    moved: float = 0.0

    @property
    def square_error(self) -> float:
        """Rounding error of `square`: each margin may be off by `shift` |z_i|."""
        spread = float(self.norms @ self.alpha)
        return self.shift * (2.0 * np.sqrt(self.square) + self.shift + spread)

    @property
    def shown(self) -> np.ndarray:
        """Margins with the intercept."""
        return shown(self.margins, self.b, self.signs)

    @property
    def width(self) -> np.ndarray:
        """Rounding errors of `shown`."""
        width = self.shift * self.norms
        return width if self.signs is None else width + SLACK * EPS * np.abs(self.shown)


def reference(
    norms: np.ndarray,
    margins: np.ndarray,
    alpha: np.ndarray,
    bounds: np.ndarray,
    signs: np.ndarray | None = None,
    b: float = 0.0,
) -> Reference:
    """Make a reference from a solution of any accuracy; costs a few passes over the arrays.

    Parameters
    ----------
    norms, margins, alpha, bounds : ndarray of shape (n,)
        Of the *full* problem, 0 <= alpha <= bounds and margins those of sum alpha_i z_i.
    signs : ndarray of shape (n,), optional
        Labels, for an unpenalised intercept.
    b : float, default=0
        That intercept, which margins do not include.

    Returns
    -------
    Reference
    """
    moved = _moved_share(alpha, signs)
    shift = (SLACK * EPS + moved) * float(norms @ alpha)
    square = max(float(alpha @ margins), 0.0)
    known = Reference(norms, margins, alpha, bounds, square, 0.0, shift, signs, b, moved)
    gap = _largest_slackness(known, alpha, bounds) + moved * _losses(known, alpha)
    return replace(known, gap=gap)


def _largest_slackness(reference: Reference, alpha: np.ndarray, bounds: np.ndarray) -> float:
    """Sum of kappa_i, or more by rounding errors of the margins."""
    middle, width = reference.shown, reference.width
    ends = (_slackness(margins, alpha, bounds) for margins in (middle - width, middle + width))
    return float(np.maximum(*ends).sum())


def _moved_share(alpha: np.ndarray, signs: np.ndarray | None) -> float:
    """Share of dual variables that is to be moved for sum y_i alpha_i = 0, with rounding errors.

    Those of the heavier sign are made smaller in proportion; they are half of the sum or more.
    """
    total = float(alpha.sum())
    if signs is None or total == 0.0:
        return 0.0
    # Pairwise sums have errors of few EPS, products of vectors of many.
    return 2.0 * (abs(float((signs * alpha).sum())) / total + SLACK * EPS)


def _losses(reference: Reference, alpha: np.ndarray) -> float:
    """Bound what moving all of alpha changes in the sum of alpha_i (1 - m_i)."""
    return float(alpha @ (1.0 + np.abs(reference.shown) + reference.width))


def _slackness(margins: np.ndarray, alpha: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """kappa_i, without cancellation. Convex in the margin, so largest at an end of an interval."""
    return np.where(margins < 1.0, (bounds - alpha) * (1.0 - margins), alpha * (margins - 1.0))


def gap_ball(
    norms: np.ndarray,
    bounds: np.ndarray,
    margins: np.ndarray,
    alpha: np.ndarray,
    dual_margins: np.ndarray,
    distance: float,
) -> SampleBall:
    """Ball round (w + u)/2 for any w and any feasible alpha; nothing needs to be optimal.

    Parameters
    ----------
    norms, bounds : ndarray of shape (n,)
        |z_i| and C_i at the target.
    margins : ndarray of shape (n,)
        Those of w, which may carry an error of EPS times a few |z_i| |w|.
    alpha, dual_margins : ndarray of shape (n,)
        Dual variables, 0 <= alpha <= bounds, and the margins of u = sum alpha_i z_i.
    distance : float
        |w - u|, or more.

    Returns
    -------
    SampleBall
    """
    dual = reference(norms, dual_margins, alpha, bounds)
    size = float(np.sqrt(dual.square)) + distance
    shift = dual.shift + SLACK * EPS * size
    slackness = np.maximum(
        _slackness(margins - shift * norms, alpha, bounds),
        _slackness(margins + shift * norms, alpha, bounds),
    )
    distance += shift
    return _ball(
        0.5 * (margins + dual_margins), float(slackness.sum()) + 0.25 * distance * distance, shift
    )


def _ball(margins: np.ndarray, square: float, shift: float) -> SampleBall:
    # What overflows to NaN stays so, and decides nothing.
    radius = 0.0 if square <= 0.0 else np.sqrt(square)
    return SampleBall(margins, float((radius + shift) * WIDER))


def relaxed_path_ball(reference: Reference, rho: float) -> SampleBall:
    """BT1 for a reference of any accuracy, at the bounds rho times those of the reference.

    Centre (1 + rho)/2 w0 and r^2 = ((rho - 1)/2)^2 |w0|^2 + rho gap0, where gap0 is the *full*
    duality gap at the reference: the gap ball of (w0, rho alpha0). Holds for rho < 1 too.
    """
    return _path_ball(reference, rho, rho * reference.gap)


@np.errstate(over="ignore", invalid="ignore")
def path_gap(reference: Reference, rho: float) -> float:
    """Return the duality gap of (w0, rho alpha0), that of `relaxed_path_ball`, or more."""
    apart = abs(rho - 1.0) * np.sqrt(reference.square + reference.square_error)
    # w0 is that of the dual variables up to rounding errors.
    apart += rho * reference.shift
    return (0.5 * apart * apart + rho * reference.gap) * WIDER


def dynamic_ball(reference: Reference) -> SampleBall:
    """Ball round w0 with r^2 = gap0, for the bounds of the reference itself.

    This is `relaxed_path_ball` for rho = 1, smaller by sqrt(2) than what strong convexity of the
    primal alone gives.
    """
    return relaxed_path_ball(reference, 1.0)


def path_ball(reference: Reference, rho: float) -> SampleBall:
    """BT1 (Corollary 6, equation 16) for a reference that *is* optimal at its bounds.

    Safe only if the reference is exact, which no solver gives: for research and tests.
    """
    return _path_ball(reference, rho, 0.0)


def _half(rho: float) -> float:
    return 0.5 * (rho - 1.0)


@np.errstate(over="ignore", invalid="ignore")
def _path_ball(reference: Reference, rho: float, slackness: float) -> SampleBall:
    scale = 0.5 * (1.0 + rho)
    square = _half(rho) * (reference.square + reference.square_error) * _half(rho) + slackness
    return _ball(scale * reference.margins, square, scale * reference.shift)


@dataclass(frozen=True)
class Segment:
    """The balls of the dual variables between rho alpha0 and another target; see `segment`.

    At t in [0, 1] the centre has margins `margins + t * slope` and the squared radius is
    `squares[0] + squares[1] * t + squares[2] * t^2`, to which `shift`, the rounding error of the
    centre, is still to be added. Each ball holds the optimum.
    """

    margins: np.ndarray
    slope: np.ndarray
    squares: tuple[float, float, float]
    shift: float

    @np.errstate(over="ignore", invalid="ignore")
    def ball(self, t: float) -> SampleBall:
        """Return one of the balls: at 0 relaxed BT1, at 1 BT2."""
        # As a Python function: see `rules.ball_test`.
        radius = float(radius_at.py_func(*self.squares, t, self.shift))
        return SampleBall(self.margins + t * self.slope, radius)


@njit(inline="always")
def radius_at(constant, linear, quadratic, t, shift):
    """Radius of a segment at t; the cancellation between the terms of r^2 is allowed for."""
    size = constant + t * (abs(linear) + t * quadratic)
    square = constant + t * (linear + t * quadratic) + 4.0 * EPS * size
    root = 0.0 if square <= 0.0 else np.sqrt(square)
    return (root + shift) * WIDER


def intersection_target(reference: Reference, rho: float) -> np.ndarray:
    """Dual variables C_i s_i that make BT2 the best partner of BT1 (equation 25).

    s_i = 1 where the margin at the centre of BT1 is below 1: this maximises |m1 - m2|^2 - r2^2.
    An unpenalised intercept is the best one there, and s balanced by one sample at the kink.
    """
    return _target(reference, rho, 0.5 * (1.0 + rho) * reference.margins)


def gradient_target(reference: Reference, rho: float) -> np.ndarray:
    """Dual variables C_i s_i for a subgradient s of the hinge at w0: BT2 is then the ball GB.

    Centre w0 - g/2 and radius |g|/2 with the gradient g of the primal at w0.
    """
    return _target(reference, rho, reference.margins)


def _target(reference: Reference, rho: float, margins: np.ndarray) -> np.ndarray:
    bounds = rho * reference.bounds
    if reference.signs is not None:
        return balanced_target(margins, bounds, reference.signs)
    return np.where(margins < 1.0, bounds, 0.0)


@np.errstate(over="ignore", invalid="ignore")
def segment(
    reference: Reference,
    rho: float,
    target: np.ndarray,
    difference: np.ndarray,
    summed: float = 0.0,
) -> Segment:
    """Return the balls between BT1 and BT2 (the region of Theorem 8 as a pencil of balls).

    Both share w = w0, so the gap ball of any dual variables between rho alpha0 and `target` holds
    the optimum, and taking the best one for each sample gives the minimum over the intersection
    of the two balls. Safety depends on no case distinction: a poor choice only loosens a bound.

    Parameters
    ----------
    reference : Reference
    rho : float
        Target bounds as multiples of those of the reference.
    target : ndarray of shape (n,)
        Dual variables that are feasible at the target.
    difference : ndarray of shape (n,)
        Margins of sum_i (target_i - rho alpha0_i) z_i; few terms differ from zero.
    summed : float, default=0
        Sum of the lengths of the vectors whose margins were added up to `difference`, where it
        was not computed from that sum at once: rounding errors grow with it.

    Returns
    -------
    Segment
    """
    q, step = reference.margins, target - rho * reference.alpha
    length_moved = float(np.abs(step) @ reference.norms)
    share = _moved_share(target, reference.signs)
    error = SLACK * EPS * (length_moved + summed + rho * float(reference.norms @ reference.alpha))
    error += share * float(reference.norms @ target)
    length_square = max(float(step @ difference), 0.0)
    length = float(np.sqrt(length_square))
    # |w0 - u_t|^2 / 4 with w0 - u_t = (1 - rho) w0 - t (target's u - rho u0), in alpha-space.
    constant = _half(rho) * (reference.square + reference.square_error) * _half(rho)
    linear = _half(rho) * float(step @ q)
    near = rho * reference.gap
    far = _largest_slackness(reference, target, rho * reference.bounds)
    far += share * _losses(reference, target)
    shift = 0.5 * (1.0 + rho) * reference.shift + error
    # Errors of the terms in t: each is an inner product of vectors known up to `shift`.
    size = np.sqrt(reference.square) + reference.shift
    rounding = (abs(rho - 1.0) * (size + length) + length + shift) * shift
    rounding += (abs(rho - 1.0) + 1.0) * shift * length_moved
    squares = (constant + near, linear + far - near + rounding, 0.25 * length_square)
    return Segment(0.5 * (1.0 + rho) * q, 0.5 * difference, squares, shift)
