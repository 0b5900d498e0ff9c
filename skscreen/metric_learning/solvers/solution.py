"""Solutions: returned by solvers, yielded by paths, and references for screening."""

from dataclasses import dataclass, replace

from skscreen.core.certificate import Certificate, ScreeningEvent, n_screened
from skscreen.metric_learning.problem.domains import Point
from skscreen.metric_learning.problem.objective import Evaluation

# Number of steps; a solve that is expected to be shorter skips the first screening.
_FEW_STEPS = 8


@dataclass(frozen=True)
class Solution:
    """Optimum of one problem at one lambda, with its proof.

    The certificate is that of the full problem, `loss` the sum of all losses, `evaluation` the full
    one at the point: the reference for other values of lambda. `converged` tells whether the
    relative duality gap met the tolerance; `step` is the last step length, a good first one for a
    problem nearby; `progress` are rows of `HISTORY`, one for the start and for each round of steps.
    """

    lam: float
    point: Point
    certificate: Certificate
    loss: float
    evaluation: Evaluation | None
    n_iter: int
    converged: bool
    history: tuple[ScreeningEvent, ...]
    step: float
    seconds: float
    progress: tuple[tuple[int, float, float, float, float], ...] = ()

    @property
    def is_short(self) -> bool:
        """Whether a solve of as many steps would not earn back a screening step before them."""
        return self.n_iter < _FEW_STEPS

    @property
    def place(self) -> str:
        """Where it is on a path."""
        return f"lam={self.lam:.3g}"

    @property
    def line(self) -> str:
        """What a progress bar shows."""
        screened = ""
        if self.history:
            share = self.n_screened() / max(self.n_screened() + self.history[-1].undecided, 1)
            screened = f"screened={share:.0%} "
        gap = self.certificate.relative_gap
        return f"{self.place} gap={gap:.1e} {screened}iterations={self.n_iter}"

    def without_evaluation(self) -> "Solution":
        """Return the solution without the part that grows with the number of pairs."""
        return replace(self, evaluation=None)

    def n_screened(self, where: str | None = None) -> int:
        """Return the number of items fixed at the end, or after the step `where`."""
        return n_screened(self.history, where)
