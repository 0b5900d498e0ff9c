"""What a solve has spent, and how far it is."""

import math
from dataclasses import dataclass, field
from time import perf_counter

from skscreen.core.certificate import ScreeningEvent
from skscreen.metric_learning.problem.objective import Evaluation
from skscreen.metric_learning.screening.active import Hook

# Steps without a hundredth of the gap after which rounding errors prevent any progress.
_PATIENCE = 2_000


@dataclass(frozen=True)
class Settings:
    """Settings of the solver; see `ScreenedRTLM` for their meaning."""

    hook: Hook | None = None
    screening: bool = True
    screen_every: int = 10
    active_set: bool = True
    tol: float = 1e-6
    max_iter: int = 10_000


@dataclass
class Progress:
    """Steps and time of the solve at one lambda, and what happened."""

    lam: float
    settings: Settings
    n_iter: int = 0
    work: float = 0.0  # of the steps of first order, see `Comparisons.evaluation_work`
    stalled: bool = False  # whether rounding errors prevent any progress
    events: list[ScreeningEvent] = field(default_factory=list)
    lines: list[tuple[int, float, float, float, float]] = field(default_factory=list)  # `HISTORY`

    # The least gap that was a gain, and when it was.
    _least: float = math.inf
    _gained_at: int = 0

    def __post_init__(self) -> None:
        self.started = perf_counter()

    @property
    def is_spent(self) -> bool:
        """Whether nothing more can be done: steps used up, or lost in rounding errors."""
        return self.stalled or self.n_iter >= self.settings.max_iter

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return perf_counter() - self.started

    def target(self, evaluation: Evaluation) -> float:
        """Return the absolute gap that meets the tolerance."""
        # Python floats, because they overflow to infinity without a warning.
        return self.settings.tol * float(abs(evaluation.primal(self.lam)))

    def is_done(self, evaluation: Evaluation) -> bool:
        """Whether a gap meets the tolerance, or if that is out of reach its rounding allowance."""
        gap, target = evaluation.gap(self.lam), self.target(evaluation)
        allowance = evaluation.rounding(self.lam)
        return gap <= target or (target < allowance and gap <= 2.0 * allowance)

    def note(self, evaluation: Evaluation) -> None:
        """Add a line: one for each number of steps, the last of them; give up without a gain."""
        found = evaluation.certificate(self.lam)
        if found.gap < 0.99 * self._least:
            self._least, self._gained_at = found.gap, self.n_iter
        self.stalled |= self.n_iter - self._gained_at > _PATIENCE
        if self.lines and self.lines[-1][0] == self.n_iter:
            self.lines.pop()
        bounds = found.primal, found.dual, found.relative_gap
        self.lines.append((self.n_iter, self.seconds, *bounds))
