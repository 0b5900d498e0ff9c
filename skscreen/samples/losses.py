"""Losses of samples: a threshold, a cap and a shift for each."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class SampleLosses:
    """The losses of a problem min 1/2 |w|^2 + sum_i l_i(m_i), with what its dual knows of them.

    With short_i = t_i - m_i each is the largest a short_i - shift_i/2 a^2 over 0 <= a <= cap_i, and
    the dual variables alpha_i are those a:

        max sum_i (t_i alpha_i - shift_i/2 alpha_i^2) - 1/2 |sum_i alpha_i z_i|^2,

    z_i = y_i x_i. `svm.dual` has this in signed variables.
    """

    thresholds: np.ndarray  # margins t_i from which on there is no loss; 1 in classification
    caps: np.ndarray  # largest dual variables: C_i of a hinge
    shifts: np.ndarray  # 0 of a hinge, C_i (t_i - m_i)_+; else the loss has a quadratic piece

    @cached_property
    def sizes(self) -> np.ndarray:
        """Caps, or 1 / shift where there is none: what grows with C."""
        unbounded = np.isinf(self.caps)
        return np.divide(1.0, self.shifts, out=self.caps.copy(), where=unbounded)

    @cached_property
    def smooth(self) -> bool:
        """Whether all losses have a slope everywhere, and no linear piece."""
        if not self.shifts.any():
            return False
        smooth = np.isinf(self.caps) & (self.shifts > 0.0)
        return bool(smooth.any() and np.all(smooth | (self.caps == 0.0)))


def hinge(caps: np.ndarray) -> SampleLosses:
    """Return the hinge losses C_i (1 - m_i)_+; a sample of C_i = 0 does not exist."""
    return SampleLosses(np.ones(caps.size), caps, np.zeros(caps.size))


def squared_hinge(factors: np.ndarray) -> SampleLosses:
    """Return the losses C_i (1 - m_i)_+^2, without caps; a sample of C_i = 0 does not exist."""
    exists = factors > 0.0
    # Weights so small are refused by who knows C.
    with np.errstate(over="ignore"):
        shifts = np.divide(0.5, factors, out=np.zeros(factors.size), where=exists)
    return SampleLosses(np.ones(factors.size), np.where(exists, np.inf, 0.0), shifts)
