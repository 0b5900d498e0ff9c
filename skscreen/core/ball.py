"""The one ball behind all bounds, and the one way its radius allows for rounding errors.

Minimise a function that is lam-strongly convex in x, with dual variables whose objective falls by
lam/2 |u - u*|^2 from its best, u* = x*. For any primal x and dual variables with vector u

    |x* - (x + u)/2|^2 <= slackness / lam + |x - u|^2 / 4,

where slackness, the sum over all items of loss + conjugate - product, is what the duality gap has
beside lam/2 |x - u|^2: add the inequalities of both objectives and complete the square. All terms
are sums of non-negative numbers, so nothing cancels, and rounding errors enter in two places only:

- a centre is known by its margins: `shift` is how far the vector that has them may be from it;
- a slackness is computed from margins: its caller takes the largest for all margins that they may
  stand for.
"""

from skscreen._compiled import core


def gap_radius(slackness: float, distance: float, lam: float = 1.0, shift: float = 0.0) -> float:
    """Radius of the ball round (x + u)/2; what overflows to NaN stays so, and decides nothing."""
    # Each may be more: the sum of all slacknesses, 0 if it is negative; the `distance` |x - u|; the
    # `shift`, that of the vector with the known margins from the centre.
    return core.gap_radius(slackness, distance, lam, shift)
