"""Best intercept and decisions of a hinge-loss problem, from margins alone."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from skscreen.samples.intercept import (
    balancing_intercepts,
    best_intercepts,
    bounds_with_intercept,
)
from skscreen.samples.losses import SampleLosses
from skscreen.svm.screening.rules import Extremes, decide


@dataclass(frozen=True)
class HingeTerms:
    """Best b and decisions; y (n,), or None where there is no b, and the sum of y_i alpha_i."""

    losses: SampleLosses
    y: np.ndarray | None = None
    total: float = 0.0

    def best_intercept(self, margins: np.ndarray) -> float:
        """Return the b that minimises the primal: a weighted quantile of the kinks, or a root."""
        if self.y is None:
            return 0.0
        kinks = self.y * self.losses.short(margins)
        return 0.5 * sum(self._ends_of_intercepts(self.y, kinks))

    def decide(self, extremes: Extremes, codes: np.ndarray | None = None) -> np.ndarray:
        """Return codes by bounds on all <z_i, w*>: see `rules.decide`."""
        return decide(*self.bounds(extremes), codes, self.losses)

    def bounds(self, extremes: Extremes) -> Extremes:
        """Return bounds on the margins, with every best intercept, by those on all <z_i, w*>."""
        if self.y is None:
            return extremes
        thresholds = self.losses.thresholds
        ends = partial(self._ends_of_intercepts, self.y)
        return bounds_with_intercept(*extremes, self.y, thresholds, ends)

    def _ends_of_intercepts(self, y: np.ndarray, kinks: np.ndarray) -> tuple[float, float]:
        """Return the ends of the interval of best intercepts for some kinks."""
        losses = self.losses
        if losses.smooth:
            return balancing_intercepts(kinks, losses.sizes, y)
        level = float(losses.caps[y > 0.0].sum()) - self.total
        return best_intercepts(kinks, losses.caps, level)


def best_multiple(terms: HingeTerms, square: float, margins: np.ndarray) -> tuple[float, float]:
    """Return the s >= 0 (and b) that minimise the primal at w = s u, where |u|^2 = square."""
    # For u = C / C0 times the solution at C0, s is near C0 / C: w changes far less than alpha.
    losses, low, high = terms.losses, 0.0, 2.0
    if square <= 0.0:
        return 1.0, terms.best_intercept(margins)
    # The loss is quadratic in the width of the interval that is left.
    for _ in range(8):
        s = 0.5 * (low + high)
        short = losses.short(s * margins, terms.best_intercept(s * margins), terms.y)
        slope = s * square - losses.best(short) @ margins
        low, high = (s, high) if slope < 0.0 else (low, s)
    s = 0.5 * (low + high)
    return s, terms.best_intercept(s * margins)
