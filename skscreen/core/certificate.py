"""Proofs that solvers return, and the screening steps they took."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO


class ScreeningEvent(NamedTuple):
    """One screening step."""

    # "range", by stored ranges of lambda; "path", from the reference at another lambda; "dynamic",
    # inside the solve; "repair", everything taken back because the certificate of the full problem
    # did not confirm that of the reduced one.
    where: str
    lam: float
    iteration: int  # done at this lambda before the step
    # Items proved to lie in either part, and items left.
    zero: int
    linear: int
    undecided: int
    seconds: float  # that it took


# Rows of `history_`; the gap is relative.
HISTORY = np.dtype(
    {"names": ["iteration", "seconds", "primal", "dual", "gap"], "formats": ["i8", *4 * ["f8"]]}
)

# Rows of `screening_history_`; "rate" is the share of all items that are decided.
STEPS = np.dtype({
    "names": ["where", "parameter", "iteration", "zero", "at_bound", "undecided", "rate",
              "seconds"],
    "formats": ["U7", "f8", *4 * ["i8"], "f8", "f8"],
})  # fmt: skip


def steps_table(events: Iterable[tuple[float, ScreeningEvent]]) -> np.ndarray:
    """Return screening steps, each with the value of the parameter, as a structured array."""
    rows = []
    for value, event in events:
        known = event.zero + event.linear
        rate = known / max(known + event.undecided, 1)
        rows.append((event.where, value, event.iteration, event.zero, event.linear,
                     event.undecided, rate, event.seconds))  # fmt: skip
    return np.array(rows, dtype=STEPS)


def n_screened(history: Sequence[ScreeningEvent], where: str | None = None) -> int:
    """Return the number of items fixed at the end of a history, or after `where`."""
    events = [event for event in history if where in (None, event.where)]
    return events[-1].zero + events[-1].linear if events else 0


@dataclass(frozen=True)
class Certificate:
    """Proof of optimality: no feasible parameter has an objective below `dual`."""

    primal: float
    dual: float
    gap: float  # primal - dual, as a sum of non-negative terms plus its rounding allowance

    @property
    def relative_gap(self) -> float:
        """Duality gap as a fraction of the primal objective."""
        # A quotient of Python floats overflows to infinity without a warning.
        return float(self.gap) / abs(float(self.primal)) if self.primal else self.gap


def screening_event(
    where: str, iteration: int, codes: np.ndarray, seconds: float, lam: float = np.nan
) -> ScreeningEvent:
    """Return a screening step that led to these codes."""
    counts = np.bincount(codes, minlength=3).tolist()
    zero, linear, undecided = counts[ZERO], counts[LINEAR], counts[UNDECIDED]
    return ScreeningEvent(where, lam, iteration, zero, linear, undecided, seconds)


def after_steps(
    history: Sequence[ScreeningEvent], n_steps: int, lam: float
) -> list[ScreeningEvent]:
    """Return screening steps of a solve at a lambda as those that came after `n_steps` others."""
    return [event._replace(iteration=n_steps + event.iteration, lam=lam) for event in history]
