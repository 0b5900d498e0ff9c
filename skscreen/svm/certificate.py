"""The dual of a problem in signed variables, and the certificate of its points.

With beta_i = y_i alpha_i labels vanish from the dual,

    max  sum_i (target_i beta_i - shift_i/2 beta_i^2) - 1/2 beta' K beta,
    low_i <= beta_i <= high_i,   [sum beta = 0],

target_i = y_i t_i with the threshold t_i of the loss (1 for a hinge), [low, high] = [0, C_i] for
y_i = 1 and [-C_i, 0] for y_i = -1. With slopes g_i = target_i - f_i - b, f = K beta, the loss of a
sample is that of the best beta_i in its box, best_i g_i - shift_i/2 best_i^2, and what it adds to
the duality gap is what its beta_i lacks to that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.samples.losses import SampleLosses


@dataclass(frozen=True)
class View:
    """The best intercept, slopes with it, duality gap, primal value and losses of a point."""

    b: float
    slopes: np.ndarray
    gap: float
    primal: float
    losses: float


class Box(NamedTuple):
    """Targets, bounds and shifts (m,) of some samples, as compiled loops take them."""

    target: np.ndarray
    low: np.ndarray
    high: np.ndarray
    free: bool  # whether there is a free intercept
    shifts: np.ndarray = np.empty(0)  # none of hinges; else all positive, and bounds infinite
    outer_sum: float = 0.0  # sum of beta over samples that do not take part; 0 with shifts

    @classmethod
    def of(cls, losses: SampleLosses, y: np.ndarray, free: bool) -> "Box":
        """Return the problem of some losses of labelled samples."""
        ends = y * losses.caps
        # A sample without loss may have any shift.
        shifts = np.where(losses.caps > 0.0, losses.shifts, 1.0) if losses.smooth else np.empty(0)
        target = y * losses.thresholds
        return cls(target, np.minimum(ends, 0.0), np.maximum(ends, 0.0), free, shifts)

    def take(self, index: np.ndarray, outer_sum: float) -> "Box":
        """Return the problem on some of the samples."""
        target, low, high = (part[index] for part in (self.target, self.low, self.high))
        shifts = self.shifts[index] if self.shifts.size else self.shifts
        return Box(target, low, high, self.free, shifts, outer_sum)

    def view(self, beta: np.ndarray, f: np.ndarray) -> View:
        """Return the certificate of a point with scores f, for the best intercept."""
        slopes = np.empty(beta.size)
        b, *values = loops.view(self, beta, f, slopes)
        return View(b, slopes, *values)

    def certify(
        self, beta: np.ndarray, f: np.ndarray, errors: np.ndarray
    ) -> tuple[View, np.ndarray, np.ndarray]:
        """Return the largest gap for scores within errors; what samples and errors add, (m,)."""
        slopes, parts, losses = np.empty((3, beta.size))
        b, *values = loops.certify(self, beta, f, errors, slopes, parts, losses)
        return View(b, slopes, *values), parts, losses

    # Where a primal value overflows there is no gap.
    @np.errstate(over="ignore", invalid="ignore")
    def stretched(
        self, beta: np.ndarray, f: np.ndarray, errors: np.ndarray
    ) -> tuple[float, View] | None:
        """Return a factor that brings scores, within errors, to their targets; the view there."""
        factor, b, *values = loops.stretch(self, beta, f, errors)
        return (factor, View(b, self.target - factor * f - b, *values)) if factor else None

    # Weights far from the solution may have losses that overflow.
    @np.errstate(over="ignore", invalid="ignore")
    def losses(self, g: np.ndarray) -> np.ndarray:
        """Return the losses of samples for slopes."""
        if not self.shifts.size:
            return np.maximum(self.high * g, self.low * g)
        best = self.best(g)
        return best * (g - 0.5 * self.shifts * best)

    def best(self, g: np.ndarray) -> np.ndarray:
        """Return the beta that belong to slopes, of losses with shifts."""
        return np.clip(g / self.shifts, self.low, self.high)

    def balanced(self, beta: np.ndarray) -> np.ndarray:
        """Return a point of the box whose sum is zero, up to rounding errors, if b is free."""
        if not self.free or beta.sum() == 0.0:
            return beta
        beta = np.array(beta)
        loops.balance(self, beta)
        return beta


@dataclass
class Point:
    """A point on some samples, arrays (m,)."""

    beta: np.ndarray
    f: np.ndarray  # scores without intercept
    errors: np.ndarray  # bounds on their errors
    exact: np.ndarray  # which scores no computation makes better


def certify(
    box: Box, point: Point, tol: float, better: Callable[[np.ndarray], tuple] | None
) -> tuple[View, np.ndarray]:
    """Return the certificate of a point, and what its samples add to the gap at most, (m,).

    Scores whose errors matter are computed by `better`, if there is such. A point without losses
    but for such errors, as of a hard margin, becomes longer in place where that helps.
    """
    while True:
        view, parts, losses = box.certify(point.beta, point.f, point.errors)
        small = view.gap <= tol * view.primal
        if better is None:
            break
        matters = (parts > 0.0) & (not small)
        if view.gap >= view.primal or tol < 1e-6:
            # The primal value is needed precisely.
            matters |= losses > 0.0
        J = np.flatnonzero(matters & ~point.exact)
        if J.size == 0:
            break
        point.f[J], point.errors[J] = better(J)
        point.exact[J] = True
    longer = None if small else box.stretched(point.beta, point.f, point.errors)
    if longer is not None and longer[1].gap < view.gap:
        factor, view = longer
        for part in (point.beta, point.f, point.errors):
            part *= factor
    return view, parts
