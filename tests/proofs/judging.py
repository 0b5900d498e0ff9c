"""Screening decisions against what is proved about an optimum."""

from dataclasses import replace

import numpy as np

from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO

COLUMNS = ("checked", "undecided", "not judged", "wrong")


def judge(codes, low, high, zero_end=1.0, linear_end=1.0) -> dict[str, int]:
    """Count decisions that are proved right or wrong, and those about which nothing is proved.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Of items; what is none of the three codes is not counted.
    low, high : ndarray of shape (n,)
        Bounds on the margins at every optimum.
    zero_end, linear_end : float or ndarray of shape (n,)
        Margin from which on the loss is zero, and that up to which it is linear.
    """
    zero, linear = codes == ZERO, codes == LINEAR
    right = np.sum(zero & (low >= zero_end)) + np.sum(linear & (high <= linear_end))
    wrong = np.sum(zero & (high < zero_end)) + np.sum(linear & (low > linear_end))
    counts = (
        right + wrong, np.sum(codes == UNDECIDED), np.sum(zero | linear) - right - wrong, wrong,
    )  # fmt: skip
    return dict(zip(COLUMNS, map(int, counts), strict=True))


def shrunken(ball, factor: float):
    """Return a ball with a smaller radius, of which decisions may be wrong."""
    return ball if factor == 1.0 else replace(ball, radius=factor * ball.radius)
