"""What a solve leaves: the solution with its proof, and where the next one begins."""

import math
from dataclasses import dataclass

from skscreen.core.certificate import Certificate, ScreeningEvent, n_screened
from skscreen.metric_learning.problem.domains import Metric
from skscreen.metric_learning.problem.objective import Evaluation, Proximal


@dataclass(frozen=True)
class Solution:
    """Optimum of the full problem at one lambda, with its proof."""

    lam: float
    point: Metric
    certificate: Certificate
    loss: float  # sum of all losses
    n_iter: int
    converged: bool  # whether the relative duality gap met the tolerance
    history: tuple[ScreeningEvent, ...]
    step: float  # the last step length, a good first one for a problem nearby
    seconds: float
    # Rows of `HISTORY`, one for the start and for each round of steps.
    progress: tuple[tuple[int, float, float, float, float], ...]

    @property
    def place(self) -> str:
        """Where it is on a path."""
        return f"lam={self.lam:.3g}"

    def __str__(self) -> str:
        """Return what a progress bar shows."""
        screened = ""
        if self.history:
            share = self.n_screened() / max(self.n_screened() + self.history[-1].undecided, 1)
            screened = f"screened={share:.0%} "
        gap = self.certificate.relative_gap
        return f"{self.place} gap={gap:.1e} {screened}iterations={self.n_iter}"

    def n_screened(self, where: str | None = None) -> int:
        """Return the number of items fixed at the end, or after the step `where`."""
        return n_screened(self.history, where)


@dataclass(frozen=True)
class Warm:
    """What the solve at one lambda leaves for the next."""

    lam: float
    evaluation: Evaluation  # of the full problem at the solution: the reference of screening
    step: float  # its last length, the first one of the next solve
    n_iter: int
    before: tuple[float, Metric] | None = None  # lambda and solution one step earlier
    proximal: Proximal | None = None  # how the next solve is smoothed

    @property
    def is_short(self) -> bool:
        """Whether a solve of as many steps would not earn back a screening step before them."""
        return self.n_iter < 8

    def start(self, lam: float) -> Metric:
        """Extrapolate to a lambda: lambda^(1/4) theta is nearly linear in log(lambda)."""
        # So it is with any exponent from 0 to 1/2.
        last = self.evaluation.point
        if self.before is None or self.before[0] == self.lam:
            return last
        before, step = self.before[1].value, math.log(self.before[0] / self.lam)
        # More than one step ahead the line is no longer a good model of the path.
        share = min(max(math.log(self.lam / lam) / step, -1.0), 1.0)
        move = share * (last.value - math.exp(0.25 * step) * before)
        value = math.exp(0.25 * step * share) * (last.value + move)
        return self.evaluation.objective.domain.project(value)
