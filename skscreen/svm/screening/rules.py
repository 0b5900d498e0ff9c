"""Rules for samples: what a region that holds the optimal w proves about the side of each sample.

A sample whose smallest margin over the region is above 1 has the dual variable 0, one whose
largest margin is below 1 has it at its upper bound C_i (rule 9 of Ogawa et al. 2014).
"""

import numpy as np
from numba import njit

from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO, sphere_lower, sphere_upper
from skscreen.core.floats import WIDER
from skscreen.svm.screening.bounds import Reference, SampleBall, Segment, radius_at

# Samples on the kink have a margin of 1 and must never be decided, whatever the rounding errors.
_TOLERANCE = 1e-9

Extremes = tuple[np.ndarray, np.ndarray]


def decide(lower: np.ndarray, upper: np.ndarray, codes: np.ndarray | None = None) -> np.ndarray:
    """Turn bounds on margins into codes by strict inequalities; a NaN decides nothing.

    Parameters
    ----------
    lower, upper : ndarray of shape (n,)
    codes : ndarray of shape (n,), int8, optional
        Earlier decisions for the same problem, which stay as they are.

    Returns
    -------
    ndarray of shape (n,), int8
        0 undecided, 1 alpha_i = 0, 2 alpha_i = C_i.
    """
    found = np.full(lower.size, UNDECIDED, dtype=np.int8)
    found[lower > 1.0 + _TOLERANCE] = ZERO
    found[upper < 1.0 - _TOLERANCE] = LINEAR
    return found if codes is None else np.where(codes == UNDECIDED, found, codes)


def ball_test(ball: SampleBall, norms: np.ndarray) -> Extremes:
    """Smallest and largest margin of each sample over a ball (Lemma 1)."""
    arguments = ball.margins, norms, ball.radius
    return sphere_lower(*arguments), sphere_upper(*arguments)


def intersection_test(segment: Segment, norms: np.ndarray) -> Extremes:
    """Bounds on the margins over the intersection of the two balls of a segment (Theorem 8)."""
    lower, upper = np.empty(norms.size), np.empty(norms.size)
    _intersection_pass(
        segment.margins, segment.slope, norms, *segment.squares, segment.shift, lower, upper
    )
    return lower, upper


@njit(cache=True, nogil=True)
def _intersection_pass(margins, slope, norms, constant, linear, quadratic, shift, lower, upper):
    """Maximise margin + t slope - r(t) |z| over t in [0, 1] for each sample, and its mirror image.

    With r^2 = quadratic (t - middle)^2 + depth and depth >= 0 this is concave in t, and its
    maximum is at t = middle + slope / |z| sqrt(depth / (quadratic (quadratic - slope^2 / |z|^2))),
    clipped. For depth < 0 (one ball inside the other, or rounding errors) it is at an end. Both
    ends are looked at in any case, so the result is never below that of either ball.
    """
    first = radius_at(constant, linear, quadratic, 0.0, shift)
    last = radius_at(constant, linear, quadratic, 1.0, shift)
    # Subnormal numbers have no place in what follows; the ends alone are as safe.
    flat = not quadratic > 1e-280
    middle = 0.0 if flat else -0.5 * linear / quadratic
    depth = -1.0 if flat else constant - quadratic * middle * middle
    for i in range(margins.size):
        end = margins[i] + slope[i]
        low = max(sphere_lower(margins[i], norms[i], first), sphere_lower(end, norms[i], last))
        high = min(sphere_upper(margins[i], norms[i], first), sphere_upper(end, norms[i], last))
        if depth > 0.0 and norms[i] > 0.0:
            ratio = slope[i] / norms[i]
            rest = quadratic - ratio * ratio
            if rest > 0.0:
                reach = ratio * np.sqrt(depth / quadratic / rest)
                t = min(max(middle + reach, 0.0), 1.0)
                r = radius_at(constant, linear, quadratic, t, shift)
                low = max(low, sphere_lower(margins[i] + t * slope[i], norms[i], r))
                t = min(max(middle - reach, 0.0), 1.0)
                r = radius_at(constant, linear, quadratic, t, shift)
                high = min(high, sphere_upper(margins[i] + t * slope[i], norms[i], r))
        lower[i], upper[i] = low, high


def dome_test(margins: np.ndarray, norms: np.ndarray, smallest: float, largest: float) -> Extremes:
    """Bounds on the margins over {|w|^2 <= largest, <w_a, w> >= smallest} (Theorem 11).

    For every C between those of two references, |w|^2 does not decrease in C. Needs an *exact*
    solution w_a at the smaller one, so it is kept for comparison only. (The theorem's first case
    as printed has factors sqrt(2) that make it unsafe.)

    Parameters
    ----------
    margins : ndarray of shape (n,)
        Those of w_a.
    norms : ndarray of shape (n,)
    smallest, largest : float
        |w_a|^2, and a bound on |w|^2 at the larger C: (|w_b| + sqrt(2 gap_b))^2 for a solution
        with that duality gap.

    Returns
    -------
    lower, upper : ndarray of shape (n,)
    """
    size = np.sqrt(largest)
    across = np.sqrt(np.maximum(smallest * norms**2 - margins**2, 0.0))
    reach = np.sqrt(max(largest - smallest, 0.0) / smallest) * across
    corner = norms * (smallest / size)
    lower = np.where(-margins >= corner, -size * norms, margins - reach)
    upper = np.where(margins >= corner, size * norms, margins + reach)
    return lower, upper


def path_ball_ranges(reference: Reference) -> tuple[np.ndarray, np.ndarray]:
    """For which targets relaxed BT1 decides each sample, from one reference and in closed form.

    The margin h(rho) = (1 + rho)/2 m_i of the centre and the radius r of `scaled_gap_ball` give
    |h - 1| > r |z_i| as a quadratic inequality in rho.

    Parameters
    ----------
    reference : Reference

    Returns
    -------
    zero, linear : ndarray of shape (n, 2)
        Open intervals of rho in which alpha_i = 0, or alpha_i = C_i, is proved; empty ones are
        (inf, -inf).
    """
    reach = reference.shift * reference.norms
    zero = _decided_range(reference, reference.margins - reach, 1.0 + 2.0 * _TOLERANCE, 1.0)
    linear = _decided_range(reference, reference.margins + reach, 1.0 - 2.0 * _TOLERANCE, -1.0)
    return zero, linear


def _decided_range(
    reference: Reference, margins: np.ndarray, level: float, side: float
) -> np.ndarray:
    """Interval of rho > 0 with side * (h - level) > r |z|.

    Squared: a rho^2 + b rho + c > 0. As |m_i| <= |z_i| |w0|, a <= 0: this holds between the roots,
    where h - level has one sign.
    """
    square = (reference.square + reference.square_error) * WIDER
    sizes, half = (reference.norms * WIDER) ** 2, 0.5 * margins - level
    gap = reference.gap * WIDER
    # Rounding must not open the parabola upwards, and a smaller `a` is on the safe side.
    a = np.minimum(0.25 * (margins**2 - sizes * square), -1e-280)
    b = margins * half + sizes * (0.5 * square - gap)
    c = half**2 - 0.25 * sizes * square
    discriminant = b * b - 4.0 * a * c
    # Stable roots: no cancellation. A root may be beyond all numbers, where nothing is wrong.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        pivot = -0.5 * (b + np.copysign(np.sqrt(np.maximum(discriminant, 0.0)), b))
        roots = np.sort(np.stack([pivot / a, c / pivot], axis=1), axis=1)
    low, high = np.maximum(roots[:, 0], 0.0) * WIDER, roots[:, 1] / WIDER
    # One point tells on which side of the level the whole interval is.
    with np.errstate(invalid="ignore", over="ignore"):
        inside = np.where(high < 2.0 * (low + 1.0), 0.5 * (low + high), low + 1.0)
        reach = np.sqrt(0.25 * (inside - 1.0) ** 2 * square + inside * gap)
        depth = side * (0.5 * (1.0 + inside) * margins - level)
        holds = (discriminant > 0.0) & (low < high) & (depth > reach * reference.norms)
    return np.where(holds[:, None], np.stack([low, high], axis=1), [np.inf, -np.inf])
