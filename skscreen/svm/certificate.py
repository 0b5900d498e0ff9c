"""The dual of a problem in signed variables, and the certificate of its points.

With beta_i = y_i alpha_i labels vanish from the dual,

    max  sum_i (target_i beta_i - shift_i/2 beta_i^2) - 1/2 beta' K beta,
    low_i <= beta_i <= high_i,   [sum beta = 0],

target_i = y_i t_i with the threshold t_i of the loss (1 for a hinge), [low, high] = [0, C_i] for
y_i = 1 and [-C_i, 0] for y_i = -1. With slopes g_i = target_i - f_i - b, f = K beta, the loss of a
sample is that of the best beta_i in its box, best_i g_i - shift_i/2 best_i^2, and what it adds to
the duality gap is what its beta_i lacks to that.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skscreen.core.projection import project
from skscreen.samples.intercept import balancing_intercepts, best_intercepts
from skscreen.samples.losses import SampleLosses

# Largest uncertainty of the primal value, as a share of it.
_UNSURE = 0.1

# Largest factor of `stretch`.
_STRETCHED = 1.0 + 1e-6

# Tiny number that avoids division by zero.
_TINY = 1e-300


@dataclass(frozen=True)
class View:
    """The best intercept, slopes with it, duality gap and primal value of a point."""

    b: float
    slopes: np.ndarray
    gap: float
    primal: float


@dataclass(frozen=True)
class Box:
    """Bounds, targets and shifts of some samples.

    Parameters
    ----------
    target, low, high : ndarray of shape (m,)
    free : bool
        Whether there is an unpenalised intercept b.
    shifts : ndarray of shape (m,), or None
        None for hinges, whose shifts are 0; else all are positive, and bounds infinite.
    outer_sum : float
        Sum of beta over samples that do not take part; 0 with shifts.
    """

    target: np.ndarray
    low: np.ndarray
    high: np.ndarray
    free: bool
    shifts: np.ndarray | None = None
    outer_sum: float = 0.0

    @classmethod
    def of(cls, losses: SampleLosses, y: np.ndarray, free: bool) -> "Box":
        """Return the problem of some losses of labelled samples."""
        ends = y * losses.caps
        # A sample without loss may have any shift.
        shifts = np.where(losses.caps > 0.0, losses.shifts, 1.0) if losses.smooth else None
        target = y * losses.thresholds
        return cls(target, np.minimum(ends, 0.0), np.maximum(ends, 0.0), free, shifts)

    def take(self, index: np.ndarray, outer_sum: float) -> "Box":
        """Return the problem on some of the samples."""
        parts = (part[index] for part in (self.target, self.low, self.high))
        shifts = None if self.shifts is None else self.shifts[index]
        return Box(*parts, self.free, shifts, outer_sum)

    def scaled(self, index: np.ndarray, factors: np.ndarray) -> "Box":
        """Return the problem of a subset that represents all samples, with multiplied losses."""
        part = self.take(index, 0.0)
        shifts = None if part.shifts is None else part.shifts / factors
        return replace(part, low=factors * part.low, high=factors * part.high, shifts=shifts)

    @cached_property
    def signs(self) -> np.ndarray:
        """Which way beta goes from 0; 1 where it stays there."""
        return np.where(self.low < 0.0, -1.0, 1.0)

    # Where a primal value overflows there is no gap.
    @np.errstate(over="ignore", invalid="ignore")
    def view(self, beta: np.ndarray, f: np.ndarray) -> View:
        """Return the certificate of a point with scores f, for the best intercept."""
        b, g = 0.0, self.target - f
        if self.free:
            b = self.best_intercept(g)
            g -= b
        gap = float(self.slackness(beta, g).sum())
        primal = 0.5 * (self.gain(beta) + float(self.losses(g).sum()) + gap)
        return View(b, g, gap if primal < np.inf else np.nan, primal)

    @np.errstate(over="ignore", invalid="ignore")
    def certify(
        self, beta: np.ndarray, f: np.ndarray, errors: np.ndarray
    ) -> tuple[View, np.ndarray, np.ndarray]:
        """Return the certificate with the largest gap for scores within errors.

        Returns
        -------
        view : View
            With a gap above the primal value where hardly anything is known.
        parts : ndarray of shape (m,)
            The largest contribution of each sample to the gap.
        losses : ndarray of shape (m,)
            What its errors add to the loss of each sample at most.
        """
        view = self.view(beta, f)
        raw, lost = _difference(self.target, f)
        errors = errors + np.abs(lost) + np.abs(_difference(raw, view.b)[1])
        parts = self.slackness(beta, view.slopes, errors)
        losses = self.losses(view.slopes, errors) - self.losses(view.slopes)
        gap = float(parts.sum()) if view.primal < np.inf else np.nan
        # P - D is the gap, and P + D what the losses and beta alone make it. The uncertainty of P
        # is added to the gap.
        unsure = 0.5 * (float(losses.sum()) + gap - view.gap)
        if unsure > _UNSURE * view.primal:
            gap += unsure + view.primal
        elif unsure > 0.0:
            gap /= 1.0 - unsure / view.primal
        return replace(view, gap=gap), parts, losses

    def gain(self, beta: np.ndarray) -> float:
        """Return what the dual has beside -1/2 beta' K beta."""
        gain = self.target * beta
        if self.shifts is not None:
            gain -= 0.5 * self.shifts * beta**2
        return float(gain.sum())

    def best_intercept(self, g: np.ndarray) -> float:
        """Return the b that minimises the primal: a weighted quantile of the slopes, or a root."""
        if self.shifts is not None:
            exist = self.low < self.high
            ends = balancing_intercepts(g[exist], 1.0 / self.shifts[exist], self.signs[exist])
        else:
            ends = best_intercepts(g, self.high - self.low, self.high.sum() + self.outer_sum)
        return 0.5 * sum(ends)

    def slackness(self, beta: np.ndarray, g: np.ndarray, errors=0.0) -> np.ndarray:
        """Return the largest contributions of samples to the gap for slopes within `errors`."""
        # Convex in the slope, so largest at an end.
        if self.shifts is None:
            return np.maximum((self.high - beta) * (g + errors), (self.low - beta) * (g - errors))
        return np.maximum(self._lacks(beta, g + errors), self._lacks(beta, g - errors))

    def _lacks(self, beta, g) -> np.ndarray:
        best = self.best(g)
        return 0.5 * self.shifts * (beta - best) ** 2 + (best - beta) * (g - self.shifts * best)

    def losses(self, g: np.ndarray, errors=0.0) -> np.ndarray:
        """Return the largest losses of samples for slopes within `errors`."""
        if self.shifts is None:
            return np.maximum(self.high * (g + errors), self.low * (g - errors))
        g = g + self.signs * errors
        best = self.best(g)
        return best * (g - 0.5 * self.shifts * best)

    def best(self, g: np.ndarray) -> np.ndarray:
        """Return the beta that belong to slopes, of losses with shifts."""
        return np.clip(g / self.shifts, self.low, self.high)

    def gradient(self, beta: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Return the slopes of the dual along beta."""
        return slopes if self.shifts is None else slopes - self.shifts * beta

    def violations(self, beta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the sizes of slopes along which samples can move."""
        rises, falls = beta < self.high, beta > self.low
        return np.maximum(np.where(rises, gradient, 0.0), np.where(falls, -gradient, 0.0))

    def is_free(self, beta: np.ndarray) -> np.ndarray:
        """Return which samples are strictly between their bounds."""
        return (beta > self.low) & (beta < self.high)

    def balanced(self, beta: np.ndarray) -> np.ndarray:
        """Return a point of the box whose sum is zero, up to rounding errors, if b is free.

        Samples stay at their bounds if possible.
        """
        excess = beta.sum()
        if not self.free or excess == 0.0:
            return beta
        room = np.minimum(beta - self.low, self.high - beta)
        if abs(excess) <= room.sum():
            return np.clip(beta - excess * room / max(room.sum(), _TINY), self.low, self.high)
        ones, nearest = np.ones(beta.size), beta.copy()
        project(beta, ones, ones, self.low, self.high, 0.0, 0.0, nearest)
        return nearest

    def stretch(self, beta: np.ndarray, view: View, errors: np.ndarray) -> float:
        """Return the factor from which on no score is short of its target; 1 if it is too large.

        With a huge C a score that is short by a rounding error costs more than the tolerance, while
        a slightly longer vector costs nothing.
        """
        exist = self.low < self.high
        signs, target, slopes, errors = (
            part[exist] for part in (self.signs, self.target, view.slopes, errors)
        )
        target = signs * target
        reach = target - signs * slopes - 2.0 * errors
        if self.shifts is not None or not (np.all(reach > 0.0) and np.all(target > 0.0)):
            return 1.0
        factor = float((target / reach).max(initial=0.0))
        longer = factor * beta
        fits = np.all((longer <= self.high) & (longer >= self.low))
        return factor if 1.0 < factor < _STRETCHED and fits else 1.0


def _difference(a, b) -> tuple[np.ndarray, np.ndarray]:
    """Return a - b and its rounding error, exactly (Knuth's sum of two)."""
    found = a - b
    back = found - a
    return found, (a - (found - back)) - (b + back)
