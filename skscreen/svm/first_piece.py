"""The first piece of the path over C, which is known in closed form.

For small C every sample stays on the side of its kink where it is at w = 0, which only depends on
the thresholds. Losses with shifts and without caps, such as the squared hinge, have no such piece:
as long as all samples have a loss, w is the solution of a ridge regression, which is not
proportional to C.
"""

import math
from functools import cached_property

import numpy as np

from skscreen.samples.intercept import best_intercepts
from skscreen.samples.losses import SampleLosses


class FirstPiece:
    """Solutions at small C, of losses at C = 1; `signs` (n,) are labels of a free intercept."""

    def __init__(self, samples, losses: SampleLosses, signs: np.ndarray | None):
        self._samples, self._losses, self._signs = samples, losses, signs
        # With a free intercept, or losses with shifts, no piece is known.
        self._exists = signs is None and not losses.smooth
        # Dual variables divided by C: at w = 0 samples with a positive threshold have a loss.
        self.alpha = np.where(losses.thresholds > 0.0, losses.sizes, 0.0)

    @cached_property
    def margins(self) -> np.ndarray:
        """Margins that belong to `alpha`."""
        return self._samples.q_dot(self.alpha)

    @cached_property
    def C_min(self) -> float:
        """Up to here the solution is C `alpha` (Lemma 9 of Ogawa et al. 2014); 0 if not known.

        That is with a free intercept, a threshold of 0, or losses with shifts, which have none.
        """
        if not self._exists:
            return 0.0
        largest = float(self._inverses(self.margins, self._losses.thresholds).max())
        return 1.0 / largest if largest > 0.0 else math.inf

    # A threshold that is nearly 0 is reached at once, and so is what overflows.
    @staticmethod
    @np.errstate(over="ignore")
    def _inverses(margins: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return 1 / C at which the margins of samples reach their thresholds, if positive."""
        at_kink = thresholds == 0.0
        leaves = np.where(margins < 0.0, np.inf, -np.inf)
        return np.where(at_kink, leaves, margins / np.where(at_kink, 1.0, thresholds))

    def ends_before(self, C: float) -> bool:
        """Whether C > C_min; 64 margins usually suffice, without a product with all samples.

        For a kernel matrix that is not in memory this product would cost a fifth of a fit.
        """
        if not self._exists:
            return True
        if "C_min" not in vars(self):
            n = self._samples.n
            some = np.unique(np.linspace(0, n - 1, min(64, n), dtype=np.int64))
            margins = self._samples.some_margins(some, self.alpha)
            if C * float(self._inverses(margins, self._losses.thresholds[some]).max()) > 1.0:
                return True
        return C > self.C_min

    @cached_property
    def C_start(self) -> float:
        """A C up to which, at least, the solution is proportional to C.

        C_min, if known. Else let kinks be tied at w = 0. As long as |w| |z_i| is no more than their
        distance from the next ones (half of it, where an intercept moves too), tied samples stay
        between their bounds and the others keep their sides; and for C = 1 |w| is no larger than
        that of any dual variables that are optimal at w = 0.
        """
        if self._losses.smooth:
            return self._ridge()
        if self.C_min > 0.0:
            return self.C_min
        if self._signs is None:
            alpha, sizes = self.alpha, np.abs(self._losses.thresholds)
            distance = float(sizes.min(where=sizes > 0.0, initial=np.inf))
        else:
            alpha, distance = self._tied(self._signs)
        square = max(float(alpha @ self._samples.q_dot(alpha)), 0.0)
        reach = math.sqrt(square) * float(self._samples.norms.max())
        return distance / reach if reach > 0.0 else math.inf

    def _ridge(self) -> float:
        """Return a C up to which no loss of w = 0 vanishes: |w|^2 / 2 is at most their sum."""
        losses = self._losses
        total = float(losses.sizes @ np.maximum(losses.thresholds, 0.0) ** 2)
        reach = total * float(self._samples.norms.max()) ** 2
        least = float(np.abs(losses.thresholds).min(where=losses.thresholds != 0.0, initial=np.inf))
        return least**2 / reach if reach > 0.0 else math.inf

    def _tied(self, y: np.ndarray) -> tuple[np.ndarray, float]:
        """Return optimal dual variables at w = 0, and half the distance between kinks."""
        caps = self._losses.caps
        kinks = y * self._losses.thresholds
        low, high = best_intercepts(kinks, caps, float(caps[y > 0.0].sum()))
        alpha = np.where(y * (kinks - 0.5 * (low + high)) > 0.0, caps, 0.0)
        if low < high:
            return alpha, 0.5 * (high - low)
        tied = kinks == low
        rises = float(caps[tied & (y > 0.0)].sum())
        falls = float(caps[tied & (y < 0.0)].sum())
        share = (falls - float(y[~tied] @ alpha[~tied])) / (rises + falls)
        alpha[tied] = caps[tied] * np.where(y[tied] > 0.0, share, 1.0 - share)
        apart = np.abs(kinks[~tied] - low)
        return alpha, 0.5 * float(apart.min(initial=np.inf))
