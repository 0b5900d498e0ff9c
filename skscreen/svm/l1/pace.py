"""How the gap of a solve falls from one certificate to the next."""

from dataclasses import dataclass, field

import numpy as np

from skscreen.svm.l1.certificate import Found
from skscreen.svm.solvers.stalls import Stalls


@dataclass
class Pace:
    """What the rounds of a solve have gained."""

    best: Found | None = None  # that of the smallest gap
    least: float = np.inf  # primal value so far
    last: float = np.inf  # gap
    left: float = np.inf  # share of the gap that the last round has left
    most_failures: int = 0
    # Rounds one after the other without a gain, and without half of the gap.
    _failures: Stalls = field(default_factory=lambda: Stalls(0.9, each=True))
    _slow: Stalls = field(default_factory=lambda: Stalls(0.5))

    @property
    def failures(self) -> int:
        """Rounds one after the other without a gain."""
        return self._failures.rounds

    @property
    def slow(self) -> int:
        """Rounds one after the other without half of the gap."""
        return self._slow.rounds

    def see(self, found: Found, little: float) -> Found:
        """Take up a certificate, a gain of a `little` of the gap being none; return the best."""
        best = self.best
        # The gap, but not the primal value, may stand still for a while at first. Only rounding
        # errors are left where both do several times in a row.
        moved = best is None or self.least - found.primal > little * best.gap
        self._failures.see(found.gap, moved)
        self.most_failures = max(self.most_failures, self.failures)
        self.least = min(self.least, found.primal)
        self.best = best = found if best is None or found.gap < best.gap else best
        self.left, self.last = found.gap / self.last if self.last else 0.0, found.gap
        self._slow.see(best.gap)
        return best

    def begin_again(self) -> None:
        """Take rounds of another kind for new ones."""
        self._slow.rounds = 0
