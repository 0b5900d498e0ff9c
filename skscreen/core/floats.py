"""Constants of floating-point arithmetic."""

import numpy as np

# Relative rounding error of one operation is at most half of this.
EPS = float(np.finfo(np.float64).eps)

# Largest number of data and parameters, so that products of a few do not overflow; and largest
# whose square does not.
LARGEST, SQUARABLE = 1e40, 1e150

# Factor that covers the last few roundings of a radius: those of norms, roots and of the rules.
WIDER = 1.0 + 1e-9
