"""Iterates of solvers for J(w) = lam/2 |w|^2 + R(w), and the loop that runs them to a gap."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from skscreen.core.certificate import HISTORY
from skscreen.fitting.progress import ProgressBar, share_of_decades

# Iterations without a tenth of the gap after which a solver with a promise gives up, at least.
_PATIENCE = 10_000


@dataclass(frozen=True, slots=True)
class Iterate:
    """A point of a solver with the bounds on the optimum that it gives."""

    iteration: int
    w: np.ndarray  # not changed by the solver afterwards
    b: float  # the best intercept for it, 0 where there is none
    primal: float  # J(w)
    dual: float  # a lower bound of the optimum,
    a: np.ndarray | None = None  # that of these dual variables where the solver has them
    promise: float = np.inf  # bound of primal - dual that theory gives


@dataclass(frozen=True)
class Certified:
    """The best primal and the best dual point of a run, kept separately."""

    w: np.ndarray  # of the smallest J,
    b: float
    a: np.ndarray | None  # and of the largest lower bound
    primal: float
    dual: float
    history: np.ndarray  # a row of `HISTORY` for each iterate, with the best values so far
    tol: float  # of the relative gap

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return relative_gap(self.primal, self.dual)

    @property
    def converged(self) -> bool:
        """Whether the gap is within the tolerance."""
        return self.gap <= self.tol

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return int(self.history["iteration"][-1])


def relative_gap(primal: float, dual: float) -> float:
    """Return (primal - dual) / primal, 0 where rounding errors make it negative."""
    gap = max(primal - dual, 0.0)
    # A primal value that is not positive is so by rounding errors only.
    return gap and (gap / primal if primal > 0.0 else math.inf)


class Watch:
    """Show on a progress bar how far several problems are, by the logarithm of their gaps."""

    def __init__(self, bar: ProgressBar, tol: float, n_problems: int):
        self._bar, self._tol, self._drawn = bar, tol, -np.inf
        self._fractions = np.zeros(n_problems)

    def problem(self, index: int) -> Callable[[int, float], None]:
        """Return what is to be called with iterations and gaps of a problem."""

        def show(iteration: int, reached: float) -> None:
            self._fractions[index] = share_of_decades(reached, self._tol)
            now = time.perf_counter()
            # Ten times a second.
            if now - self._drawn > 0.1 or reached <= self._tol:
                self._drawn = now
                message = f"gap={reached:.1e} iterations={iteration}"
                self._bar.update(float(self._fractions.mean()), message)

        return show


class Record:
    """The best bounds so far, and their history, to a relative gap of `tol`."""

    # `watch` is called with each iteration and its gap, and its time does not count.
    def __init__(self, tol: float, watch: Callable[[int, float], None] | None = None):
        self._tol, self._watch, self.gap = tol, watch, math.inf
        self._best: Iterate | None = None
        self._highest: Iterate | None = None
        self._rows: list[tuple[int, float, float, float, float]] = []
        self._paused, self._began = 0.0, time.perf_counter()

    def see(self, iterate: Iterate) -> None:
        """Keep an iterate where it is the best so far."""
        if self._best is None or iterate.primal < self._best.primal:
            self._best = iterate
        if self._highest is None or iterate.dual > self._highest.dual:
            self._highest = iterate

    def end_iteration(self, iteration: int) -> bool:
        """Write a line of the history; return whether the tolerance is reached."""
        seconds = time.perf_counter() - self._began - self._paused
        best, highest = self._points
        primal, dual = best.primal, highest.dual
        self.gap = gap = relative_gap(primal, dual)
        self._rows.append((iteration, seconds, primal, dual, gap))
        if self._watch is not None:
            now = time.perf_counter()
            self._watch(iteration, gap)
            self._paused += time.perf_counter() - now
        return gap <= self._tol

    @property
    def _points(self) -> tuple[Iterate, Iterate]:
        """The iterates of the lowest primal and of the highest dual value."""
        assert self._best is not None and self._highest is not None, "nothing was seen"
        return self._best, self._highest

    @property
    def result(self) -> Certified:
        """The best points, with the history."""
        best, highest = self._points
        history = np.array(self._rows, dtype=HISTORY)
        return Certified(best.w, best.b, highest.a, best.primal, highest.dual, history, self._tol)


def follow(
    iterates: Iterable[Iterate],
    tol: float,
    max_iter: int,
    watch: Callable[[int, float], None] | None = None,
) -> Certified:
    """Run a solver until the relative gap between its best bounds is within a tolerance."""
    # Iterates that end have nothing more to gain in floating point.
    record, patience = Record(tol, watch), max(_PATIENCE, max_iter // 10)
    gap, since = math.inf, 0
    for iterate in iterates:
        k = iterate.iteration
        record.see(iterate)
        if record.end_iteration(k) or k >= max_iter:
            break
        if record.gap < 0.9 * gap:
            gap, since = record.gap, k
        elif k - since > patience and iterate.promise < math.inf:
            # Where theory promises 1 / k^2 the rest would not be enough.
            break
    return record.result
