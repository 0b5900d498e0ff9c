"""Rules: what a ball that holds the optimum proves about one item.

The rules see an item only through an interval for its margin at the centre of the ball
(an interval, because the margin itself carries rounding errors) and its norm. They are scalar
functions, so that they can run inside the one pass that also compacts.
"""

from numba.extending import register_jitable

# Codes of decisions. Items are decided by strict inequalities only: the smallest margin above the
# threshold (zero part) or the largest below the linear piece. A NaN decides nothing.
UNDECIDED, ZERO, LINEAR = 0, 1, 2


@register_jitable(inline="always")
def sphere_lower(margin_low, norm, radius):
    """Smallest margin over a ball: <A, X> >= <A, Q> - r |A| for |X - Q| <= r."""
    return margin_low - radius * norm


@register_jitable(inline="always")
def sphere_upper(margin_high, norm, radius):
    """Largest margin over a ball: <A, X> <= <A, Q> + r |A| for |X - Q| <= r."""
    return margin_high + radius * norm


@register_jitable
def hinge_slackness(short, alpha, cap, shift=0.0):
    """Slackness of an item: loss + conjugate - alpha * short >= 0, 0 where they belong together.

    The loss is the largest alpha * short - shift/2 alpha^2 over 0 <= alpha <= cap: the hinge for a
    shift of 0, smoothed over a width of shift * cap or, if cap is infinite, squared. Written
    without the cancellation of the definition.

    Parameters
    ----------
    short : float
        Threshold minus margin.
    alpha, cap, shift : float
        0 <= alpha <= cap, shift >= 0; only one of cap and 1 / shift may be infinite.
    """
    value = 0.0
    if shift > 0.0:
        value = 0.5 * shift * (alpha - min(max(short / shift, 0.0), cap)) ** 2
    if short > shift * cap:
        value += (cap - alpha) * (short - shift * cap)
    elif not short >= 0.0:
        # NaN stays NaN.
        value -= alpha * short
    return value
