"""The first piece of the path over C, which is known in closed form.

For small C every sample stays on the side of its kink where it is at w = 0, which only depends on
the targets. Losses with shifts and without bounds, such as the squared hinge, have no such piece:
as long as all samples have a loss, w is the solution of a ridge regression, which is not
proportional to C.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from skscreen.samples.intercept import best_intercepts
from skscreen.svm.dual import Dual


class FirstPiece:
    """Solutions at small C, of the problem at C = 1."""

    def __init__(self, samples, dual: Dual):
        self._samples, self._dual = samples, dual
        # With a free intercept, or losses with shifts, no piece is known.
        self._exists = not (dual.free or dual.smooth)

    @cached_property
    def beta(self) -> np.ndarray:
        """Dual variables divided by C, of samples with a loss at w = 0."""
        return self._dual.best(self._dual.target)

    @cached_property
    def f(self) -> np.ndarray:
        """Scores that belong to `beta`."""
        return self._samples.q_dot(self.beta)

    @cached_property
    def C_min(self) -> float:
        """Up to here the solution is C `beta` (Lemma 9 of Ogawa et al. 2014); 0 if not known.

        That is with a free intercept, a target of 0, or losses with shifts, which have none.
        """
        if not self._exists:
            return 0.0
        largest = float(self._inverses(slice(None), self.f).max())
        return 1.0 / largest if largest > 0.0 else math.inf

    # A target that is nearly 0 is reached at once, and so is what overflows.
    @np.errstate(over="ignore")
    def _inverses(self, index: np.ndarray | slice, f: np.ndarray) -> np.ndarray:
        """Return 1 / C at which the scores of some samples reach their targets, if positive."""
        target, signs = self._dual.target[index], self._dual.signs[index]
        at_kink = target == 0.0
        leaves = np.where(signs * f < 0.0, np.inf, -np.inf)
        return np.where(at_kink, leaves, f / np.where(at_kink, 1.0, target))

    def ends_before(self, C: float) -> bool:
        """Whether C > C_min; 64 scores usually suffice, without a product with all samples.

        For a kernel matrix that is not in memory this product would cost a fifth of a fit.
        """
        if not self._exists:
            return True
        if "C_min" not in vars(self):
            n = self._samples.n
            some = np.unique(np.linspace(0, n - 1, min(64, n), dtype=np.int64))
            if (
                C * float(self._inverses(some, self._samples.some_scores(some, self.beta)).max())
                > 1.0
            ):
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
        if self._dual.smooth:
            return self._ridge()
        if self.C_min > 0.0:
            return self.C_min
        if self._dual.free:
            beta, distance = self._tied()
        else:
            beta, sizes = self.beta, np.abs(self._dual.target)
            distance = float(sizes.min(where=sizes > 0.0, initial=np.inf))
        square = max(float(beta @ self._samples.q_dot(beta)), 0.0)
        reach = math.sqrt(square) * float(self._samples.norms.max())
        return distance / reach if reach > 0.0 else math.inf

    def _ridge(self) -> float:
        """Return a C up to which no loss of w = 0 vanishes: |w|^2 / 2 is at most their sum."""
        dual, target = self._dual, self._dual.target
        total = float(dual.sizes @ np.maximum(dual.signs * target, 0.0) ** 2)
        reach = total * float(self._samples.norms.max()) ** 2
        least = float(np.abs(target).min(where=target != 0.0, initial=np.inf))
        return least**2 / reach if reach > 0.0 else math.inf

    def _tied(self) -> tuple[np.ndarray, float]:
        """Return optimal dual variables at w = 0, and half the distance between kinks."""
        dual, kinks = self._dual, self._dual.target
        low, high = best_intercepts(kinks, dual.width, float(dual.high.sum()))
        beta = dual.best(kinks - 0.5 * (low + high))
        if low < high:
            return beta, 0.5 * (high - low)
        tied = kinks == low
        least, width = float(dual.low[tied].sum()), float(dual.width[tied].sum())
        share = (-float(beta[~tied].sum()) - least) / width
        beta[tied] = dual.low[tied] + share * dual.width[tied]
        apart = np.abs(kinks[~tied] - low)
        return beta, 0.5 * float(apart.min(initial=np.inf))
