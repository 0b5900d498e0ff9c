"""Iterates with bounds from both sides, and the loop that follows them to a tolerance.

Every algorithm for J(w) = lam/2 |w|^2 + R(w) is a generator of `Iterate`s; what is common to all,
the best bounds, the stopping rule and the history, is here.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

# Seconds between two drawings of a progress bar.
_REDRAW = 0.1

HISTORY = np.dtype(
    [
        ("iteration", np.int64),
        ("seconds", np.float64),
        ("primal", np.float64),
        ("dual", np.float64),
    ]
)


@dataclass(frozen=True, slots=True)
class Iterate:
    """A point of an algorithm with the bounds on the optimum that it gives.

    Parameters
    ----------
    iteration : int
    w : ndarray
        Not changed by the algorithm afterwards.
    b : float
        Best intercept for w, 0 where there is none.
    primal, dual : float
        J(w) and a lower bound of the optimum.
    a : ndarray, or None
        Dual variables of that lower bound, where the algorithm has them.
    promise : float
        A bound of primal - dual that theory gives; infinite where it gives none.
    """

    iteration: int
    w: np.ndarray
    b: float
    primal: float
    dual: float
    a: np.ndarray | None = None
    promise: float = np.inf


@dataclass(frozen=True)
class Certified:
    """The best primal and the best dual point of a run, kept separately.

    Parameters
    ----------
    w, b, a
        Of the best iterates: w and b by the primal, a by the dual.
    primal, dual : float
        The smallest J and the largest lower bound.
    history : structured ndarray of shape (n_iterates,)
        Fields "iteration", "seconds", "primal", "dual": the best values so far.
    tol : float
    relative : bool, default=False
        Whether the gap counts in units of the primal value.
    """

    w: np.ndarray
    b: float
    a: np.ndarray | None
    primal: float
    dual: float
    history: np.ndarray
    tol: float
    relative: bool = False

    @property
    def gap(self) -> float:
        """Primal - dual, >= 0 but for rounding errors, which are cut off."""
        return duality_gap(self.primal, self.dual, self.relative)

    @property
    def converged(self) -> bool:
        """Whether the gap is within the tolerance."""
        return self.gap <= self.tol

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return int(self.history["iteration"][-1])


def duality_gap(primal: float, dual: float, relative: bool) -> float:
    """Return primal - dual, at least 0, or its share of the primal value."""
    gap = max(primal - dual, 0.0)
    return gap / primal if relative and gap > 0.0 else gap


class Bar(Protocol):
    """A progress bar."""

    def update(self, fraction: float, message: str) -> None:
        """Draw it at `fraction` of its length with `message` behind it."""


class Watch:
    """Show on a progress bar how far several problems are, by the logarithm of their gaps.

    Parameters
    ----------
    bar : Bar
    tol : float
    n_problems : int
    relative : bool, default=False
    """

    def __init__(self, bar: Bar, tol: float, n_problems: int, relative: bool = False):
        self._bar, self._tol, self._drawn, self._relative = bar, tol, -np.inf, relative
        self._fractions = np.zeros(n_problems)

    def problem(self, index: int) -> Callable[[Iterate], None]:
        """Return what is to be called with the iterates of a problem."""
        first = lowest = highest = None

        def show(iterate: Iterate) -> None:
            nonlocal first, lowest, highest
            lowest = iterate.primal if lowest is None else min(lowest, iterate.primal)
            highest = iterate.dual if highest is None else max(highest, iterate.dual)
            reached = duality_gap(lowest, highest, self._relative)
            gap = max(reached, self._tol)
            first = gap if first is None else first
            share = np.log(first / gap) / np.log(first / self._tol) if first > self._tol else 1.0
            self._fractions[index] = share
            now = time.perf_counter()
            if now - self._drawn > _REDRAW or gap <= self._tol:
                self._drawn = now
                message = f"gap={reached:.1e} iterations={iterate.iteration}"
                self._bar.update(float(self._fractions.mean()), message)

        return show


def follow(
    iterates: Iterable[Iterate],
    tol: float,
    max_iter: int,
    watch: Callable[[Iterate], None] | None = None,
    relative: bool = False,
) -> Certified:
    """Follow an algorithm until the gap between its best bounds is within a tolerance.

    Parameters
    ----------
    iterates : iterable of Iterate
        If it ends, there is nothing more to gain in floating point.
    tol : float
        Of J - D.
    max_iter : int
    watch : callable, optional
        Called with every iterate; its time does not count.
    relative : bool, default=False
        Whether J - D counts in units of J.
    """
    best = highest = None
    rows, spent, began = [], 0.0, time.perf_counter()
    for iterate in iterates:
        if best is None or iterate.primal < best.primal:
            best = iterate
        if highest is None or iterate.dual > highest.dual:
            highest = iterate
        seconds = time.perf_counter() - began - spent
        rows.append((iterate.iteration, seconds, best.primal, highest.dual))
        if watch is not None:
            paused = time.perf_counter()
            watch(iterate)
            spent += time.perf_counter() - paused
        gap = duality_gap(best.primal, highest.dual, relative)
        if gap <= tol or iterate.iteration >= max_iter:
            break
    history = np.array(rows, dtype=HISTORY)
    return Certified(best.w, best.b, highest.a, best.primal, highest.dual, history, tol, relative)
