"""When solvers give up: rounds that gain nothing, one after the other."""

from dataclasses import dataclass

import numpy as np


@dataclass
class Stalls:
    """Rounds in a row that have left more than a share of the gap that there was.

    That is the gap of the last round that gained, so that small gains add up; with `each` it is the
    least gap so far, and each round has to gain by itself.
    """

    share: float
    each: bool = False
    gap: float = np.inf
    rounds: int = 0

    def see(self, gap: float, gains: bool = False, weight: int = 1) -> int:
        """Take up the gap of a round, which may gain otherwise; return how many have not."""
        # There is nothing to gain from a gap of 0.
        gains = gains or (gap < self.gap and gap <= self.share * self.gap)
        if gains or self.each:
            self.gap = min(self.gap, gap)
        self.rounds = 0 if gains else self.rounds + weight
        return self.rounds
