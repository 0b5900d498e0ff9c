"""Best intercept and decisions of a hinge-loss problem, from margins alone."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from skscreen.samples.intercept import (
    balancing_intercept,
    best_intercept_end,
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
        return 0.5 * sum(self._end_of_intercepts(self.y, kinks, side) for side in (-1.0, 1.0))

    def decide(self, extremes: Extremes, codes: np.ndarray | None = None) -> np.ndarray:
        """Return codes by bounds on all <z_i, w*>: see `rules.decide`."""
        return decide(*self.bounds(extremes), codes, self.losses)

    def bounds(self, extremes: Extremes) -> Extremes:
        """Return bounds on the margins, with every best intercept, by those on all <z_i, w*>."""
        if self.y is None:
            return extremes
        thresholds = self.losses.thresholds
        end = partial(self._end_of_intercepts, self.y)
        return bounds_with_intercept(*extremes, self.y, thresholds, end)

    def _end_of_intercepts(self, y: np.ndarray, kinks: np.ndarray, side: float) -> float:
        """Return the lower or upper end of the interval of best intercepts for some kinks."""
        losses = self.losses
        if kinks.size and losses.smooth:
            return balancing_intercept(kinks, losses.sizes, y, -side)
        level = float(losses.caps[y > 0.0].sum()) - self.total
        return best_intercept_end(kinks, losses.caps, level, side)


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
