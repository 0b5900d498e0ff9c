"""State of the kernel solvers: a dual point, and what screening has fixed."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from skscreen.core.certificate import ScreeningEvent, screening_event
from skscreen.core.decisions import LINEAR
from skscreen.core.projection import project
from skscreen.samples.kernel_samples import KernelSamples
from skscreen.samples.losses import SampleLosses
from skscreen.svm.screening.bounds import gap_ball, reference
from skscreen.svm.screening.rules import ball_test
from skscreen.svm.solvers.hinge import HingeTerms

# Share of the tolerance that the undecided samples may use; the gap of all samples is checked last.
SHARE = 0.5

# Samples are screened again when the gap is below this share of the gap at the last screening.
_SCREEN_AT = 0.25


@dataclass
class State:
    """The current dual point; its margins (without intercept) are valid for undecided samples."""

    alpha: np.ndarray
    margins: np.ndarray
    codes: np.ndarray
    dual: float
    b: float = 0.0


class KernelRun:
    """A solve on the undecided samples of a state; keeps a history of its screening steps."""

    def __init__(
        self, samples: KernelSamples, losses: SampleLosses, state: State, *, free, tol, screening
    ):
        self.samples, self.losses, self.state = samples, losses, state
        self.y = samples.y if free else None
        self.tol, self.screening = tol, screening
        self.n_steps = 0
        self.history: list[ScreeningEvent] = []
        self.screened_at = np.inf
        self.take_part()

    def gap(self) -> tuple[float, float]:
        """Return the gap of the undecided samples (of the reduced problem) and the best b."""
        return self.terms.gap(self.state.alpha[self.S], self.state.margins[self.S])

    def is_solved(self, gap: float) -> bool:
        """Whether the gap of the undecided samples is within their share of the tolerance."""
        if self.S.size == 0:
            # If this were wrong, no step here could detect it.
            return True
        return gap <= SHARE * self.tol * (self.state.dual + gap)

    def take_part(self) -> None:
        """Restrict arrays to the undecided samples."""
        codes = self.state.codes
        self.S = np.flatnonzero(codes == 0)
        losses = self.losses.take(self.S)
        if self.y is None:
            self.terms = HingeTerms(losses)
            return
        at_cap = codes == LINEAR
        self.terms = HingeTerms(losses, self.y[self.S], (self.y * self.losses.caps)[at_cap])

    def screen(self, gap: float) -> None:
        """Screen by the gap ball around the current point."""
        if self.screening and gap <= _SCREEN_AT * self.screened_at:
            self.screened_at = gap
            self.screen_by_multiple(1.0, self.state.b)

    def screen_by_multiple(self, scale: float, b: float) -> None:
        """Fix samples that are at their proven bounds, by the gap ball of (scale * w, b, alpha)."""
        began, state, S = perf_counter(), self.state, self.S
        point = state.margins, state.alpha, self.losses
        known = reference(self.samples.norms, *point, self.y, b, part=S)
        codes = self.terms.decide(ball_test(gap_ball(known, scale), known.norms))
        alpha = state.alpha[S]
        # The others move there in the next step.
        codes[(codes == 1) & (alpha != 0.0) | (codes == 2) & (alpha != self.terms.losses.caps)] = 0
        state.codes[S] = codes
        seconds = perf_counter() - began
        self.history.append(screening_event("dynamic", self.n_steps, state.codes, seconds))
        if codes.any():
            self.take_part()
            self.left_out()

    def left_out(self) -> None:
        """Do nothing here; called when samples have been fixed."""


def feasible(alpha: np.ndarray, caps: np.ndarray, y: np.ndarray | None, total: float) -> np.ndarray:
    """Return a point of the box near alpha; with labels, the nearest one with y'a = total."""
    inside = np.clip(alpha, 0.0, caps)
    # A projection would move variables off their bounds by rounding errors.
    if y is None or abs(y @ inside - total) <= 1e-13 * (np.abs(inside).sum() + abs(total)):
        return inside
    project(alpha, y, y, np.zeros(alpha.size), caps, total, 0.0, inside)
    return inside
