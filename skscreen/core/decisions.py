"""Rules: what a ball that holds the optimum proves about an item, from its margin and norm."""

from typing import Any

# Codes of decisions. Items are decided by strict inequalities only: the smallest margin above the
# threshold (zero part) or the largest below the linear piece. A NaN decides nothing.
UNDECIDED, ZERO, LINEAR = 0, 1, 2


def sphere_lower(margin_low: Any, norm: Any, radius: Any) -> Any:
    """Smallest margin over a ball: <A, X> >= <A, Q> - r |A| for |X - Q| <= r."""
    return margin_low - radius * norm


def sphere_upper(margin_high: Any, norm: Any, radius: Any) -> Any:
    """Largest margin over a ball: <A, X> <= <A, Q> + r |A| for |X - Q| <= r."""
    return margin_high + radius * norm
