"""The best multiple of weights, from the scores of samples alone."""

import numpy as np

from skscreen.svm.dual import Dual


def best_multiple(dual: Dual, square: float, f: np.ndarray) -> tuple[float, float]:
    """Return the s >= 0 (and b) that minimise the primal at w = s u, where |u|^2 = square."""
    # For u = C / C0 times the solution at C0, s is near C0 / C: w changes far less than beta.
    low, high = 0.0, 2.0
    if square <= 0.0:
        return 1.0, dual.best_intercept(f)
    # The loss is quadratic in the width of the interval that is left.
    for _ in range(8):
        s = 0.5 * (low + high)
        slopes = dual.target - s * f - dual.best_intercept(s * f)
        slope = s * square - dual.best(slopes) @ f
        low, high = (s, high) if slope < 0.0 else (low, s)
    s = 0.5 * (low + high)
    return s, dual.best_intercept(s * f)
