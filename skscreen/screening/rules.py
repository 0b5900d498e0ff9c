"""Rules: what a ball that holds the optimum proves about one item.

The rules see an item only through an interval for its margin at the centre of the ball
(an interval, because the margin itself carries rounding errors) and its norm. They are scalar
functions, so that they can run inside the one pass that also compacts.
"""

from numba import njit

UNDECIDED, ZERO, LINEAR = 0, 1, 2


@njit(inline="always")
def sphere_lower(margin_low, norm, radius):
    """Smallest margin over a ball: <A, X> >= <A, Q> - r |A| for |X - Q| <= r."""
    return margin_low - radius * norm


@njit(inline="always")
def sphere_upper(margin_high, norm, radius):
    """Largest margin over a ball: <A, X> <= <A, Q> + r |A| for |X - Q| <= r."""
    return margin_high + radius * norm


@njit(inline="always")
def decide(lower, upper, threshold, linear_below):
    """Decision for an item whose optimal margin is known to lie in [lower, upper].

    Strict inequalities: an item that may sit at a kink stays undecided. A NaN compares false
    and leaves the item undecided too.
    """
    return (lower > threshold) * ZERO + (upper < linear_below) * LINEAR
