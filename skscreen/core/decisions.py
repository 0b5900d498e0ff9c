"""Rules: what a ball that holds the optimum proves about an item, from its margin and norm."""

import numpy as np

# Codes of decisions. Items are decided by strict inequalities only: the smallest margin above the
# threshold (zero part) or the largest below the linear piece. A NaN decides nothing.
UNDECIDED, ZERO, LINEAR = 0, 1, 2


def sphere_lower(margin_low: np.ndarray, norm: np.ndarray, radius: float) -> np.ndarray:
    """Smallest margin over a ball: <A, X> >= <A, Q> - r |A| for |X - Q| <= r."""
    return margin_low - radius * norm


def sphere_upper(margin_high: np.ndarray, norm: np.ndarray, radius: float) -> np.ndarray:
    """Largest margin over a ball: <A, X> <= <A, Q> + r |A| for |X - Q| <= r."""
    return margin_high + radius * norm
