"""Constants of floating-point arithmetic, and options for reordering sums."""

import numpy as np

# Relative rounding error of one operation is at most half of this.
EPS = float(np.finfo(np.float64).eps)

# Factor that covers the last few roundings of a radius: those of norms, roots and of the rules.
WIDER = 1.0 + 1e-9

# Compiled sums may be reordered, which lets them use vector instructions; NaN keeps its meaning.
REORDER = {"reassoc", "nsz", "contract"}

# The same for loops whose input is known to be finite: comparisons need not handle NaN.
REORDER_FINITE = {*REORDER, "nnan"}
