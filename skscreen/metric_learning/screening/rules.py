"""Rules of comparisons: what a ball cut by a half-space or a cone proves about one item."""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.floats import EPS

# From the weakest to the strongest; each decides all that the ones before it do.
RULES = ("sphere", "linear", "semidefinite")


@njit(inline="always")
def half_space_lower(margin_low, norm, radius, along, depth):
    """Smallest margin over a ball cut by a half-space (Theorem J9, with its cases in order).

    Minimise <A, X> over |X - Q| <= r and <P, X> >= 0 with |P| = 1. For any y >= 0 the sphere
    bound of A - y P is a lower bound, <A, Q> - y <P, Q> - r |A - y P|, and the best y, that of
    the theorem, makes it the minimum. Evaluated so, it is safe whatever the rounding errors of y.

    Parameters
    ----------
    margin_low, norm : float
        <A, Q> or less, |A| or more.
    radius : float
    along : float
        <P, A> or less.
    depth : float
        <P, Q> or more. From -radius down the half-space leaves nothing of the ball (rounding
        errors, or a wrong ball) and nothing may be concluded: the result is -inf.
    """
    if not along > -norm:
        along = -norm
    elif along > norm:
        along = norm
    if not depth > -radius:
        return -np.inf
    sphere = margin_low - radius * norm
    if not depth * norm < radius * along:
        return sphere
    across = np.sqrt((norm - along) * (norm + along))
    step = -depth * across / (np.sqrt(radius - depth) * np.sqrt(radius + depth))
    multiplier = along + step
    if not multiplier > 0.0:
        return sphere
    rest = np.sqrt(step * step + across * across)
    size = abs(margin_low) + multiplier * abs(depth) + radius * rest
    size += (abs(along) + abs(step)) * (abs(depth) + radius)
    lowest = margin_low - multiplier * depth - radius * rest - 64.0 * EPS * size
    return max(sphere, lowest)
