"""Constants of floating-point arithmetic, and numbers brought near 1."""

import numpy as np

# Relative rounding error of one operation is at most half of this.
EPS = float(np.finfo(np.float64).eps)

# Largest number of data and parameters, so that products of a few do not overflow; and largest
# whose square does not.
LARGEST, SQUARABLE = 1e40, 1e150

# Factor that covers the last few roundings of a radius: those of norms, roots and of the rules.
WIDER = 1.0 + 1e-9


def near_one(weights: np.ndarray) -> np.ndarray:
    """Return weights >= 0 times a power of two, the largest near 1: sums do not overflow."""
    found: np.ndarray = np.ldexp(weights, -np.frexp(weights.max(initial=0.0))[1])
    return found
