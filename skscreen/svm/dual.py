"""The dual of a problem in signed variables: the one form that everything in this package takes.

With beta_i = y_i alpha_i labels vanish from the dual,

    max  sum_i (target_i beta_i - shift_i/2 beta_i^2) - 1/2 beta' K beta,
    low_i <= beta_i <= high_i,   [sum_{i in g} beta_i = T_g],

target_i = y_i t_i with the threshold t_i of the loss (1 for a hinge), [low, high] = [0, C_i] for
y_i = 1 and [-C_i, 0] for y_i = -1. With slopes g_i = target_i - f_i - b, f = K beta, the loss of a
sample is that of the best beta_i in its box, best_i g_i - shift_i/2 best_i^2, and what it adds to
the duality gap is what its beta_i lacks to that. A regression has each sample twice, with both
signs and the same score.

A free intercept is the multiplier of a sum: of all samples, T = 0, in classification and
regression at a C. The problems at a nu (Schölkopf et al. 2000, 2001) prescribe other sums, of all
samples or of two groups with an intercept b_g each; their primal value is

    P(w, b) = 1/2 |w|^2 + sum_i losses_i + sum_g b_g T_g,

which may be negative. 1/2 |w|^2 and the losses alone are the primal value of the problem with these
b_g held fixed, that of a C-SVC or SVR with the same solution, whose gap is the same: that is what a
relative gap is relative to.

References
----------
B. Schölkopf, A. J. Smola, R. C. Williamson, P. L. Bartlett (2000). New support vector algorithms.
Neural Computation 12.
B. Schölkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola, R. C. Williamson (2001). Estimating the
support of a high-dimensional distribution. Neural Computation 13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.decisions import LINEAR, ZERO
from skscreen.samples.losses import SampleLosses

# Squared length of w, over that of a sum of vectors of one direction, from which on w is 0.
_VANISHED = 1e-12

# Lowest and highest score of each sample.
Extremes = tuple[np.ndarray, np.ndarray]

# Of a single group with a free intercept; slopes without errors; no decisions.
_ZERO = np.zeros(1)
_ONE_GROUP = np.empty(0, np.int8)
_EXACT = np.empty(0)
_NOTHING = np.empty(0, np.int8)


class VanishedError(ValueError):
    """The solution is w = 0, which tells no sample from another."""


@dataclass(frozen=True)
class View:
    """The best intercepts, slopes with them, duality gap, primal value and losses of a point.

    The primal value is that with the intercepts held fixed; P is `lifted` larger.
    """

    b: Any  # a float, or an array with that of each group
    slopes: np.ndarray
    gap: float
    primal: float
    losses: float
    lifted: float = 0.0

    @property
    def dual(self) -> float:
        """The dual value, which never falls."""
        return self.primal + self.lifted - self.gap


class Sums(NamedTuple):
    """What beta of each group of samples sum to; the groups (n,), see `Dual`."""

    totals: np.ndarray
    group: np.ndarray = _ONE_GROUP


class Dual(NamedTuple):
    """Targets, bounds and shifts (m,) of some samples, as compiled loops take them.

    With shifts there is one group, whose beta sum to zero.
    """

    target: np.ndarray
    low: np.ndarray
    high: np.ndarray
    free: bool  # whether there is a free intercept, or one for each group
    shifts: np.ndarray = np.empty(0)  # none of hinges; else all positive, and bounds infinite
    sums: np.ndarray = _ZERO  # what beta of each group of these samples sum to, if b is free
    group: np.ndarray = _ONE_GROUP  # the group, 0 or 1, of each sample; empty: all are of one

    @classmethod
    def of(cls, losses: SampleLosses, y: np.ndarray, free: bool, sums: Sums | None = None) -> Dual:
        """Return the problem of some losses of labelled samples, with the sum zero or others."""
        ends = y * losses.caps
        # A sample without loss may have any shift.
        shifts = np.where(losses.caps > 0.0, losses.shifts, 1.0) if losses.smooth else np.empty(0)
        target = y * losses.thresholds
        known = () if sums is None else (sums.totals, sums.group)
        return cls(target, np.minimum(ends, 0.0), np.maximum(ends, 0.0), free, shifts, *known)

    def at(self, C: float) -> Dual:
        """Return the problem of C times the losses, and the sum zero."""
        return self._replace(low=C * self.low, high=C * self.high, shifts=self.shifts / C)

    def take(self, index: np.ndarray, beta: np.ndarray | None = None) -> Dual:
        """Return the problem on some of the samples, the others of a point `beta` held fixed."""
        target, low, high = (part[index] for part in (self.target, self.low, self.high))
        shifts, group = (part[index] if part.size else part for part in (self.shifts, self.group))
        sums = self.sums
        if beta is not None and self.free:
            rest = self.sums_of(beta) - self._replace(group=group).sums_of(beta[index])
            sums = sums - rest
        return Dual(target, low, high, self.free, shifts, sums, group)

    # --- What there is of samples ---

    @property
    def smooth(self) -> bool:
        """Whether losses have a slope everywhere, and no linear piece."""
        return self.shifts.size > 0

    @property
    def width(self) -> np.ndarray:
        """Largest sizes of dual variables: C_i of a hinge."""
        return self.high - self.low

    @property
    def ends(self) -> np.ndarray:
        """The bounds that are not 0."""
        return np.where(self.high > 0.0, self.high, self.low)

    @property
    def signs(self) -> np.ndarray:
        """The signs of dual variables."""
        return np.where(self.low < 0.0, -1.0, 1.0)

    @property
    def sizes(self) -> np.ndarray:
        """Widths, or 1 / shift where there is none: what grows with C."""
        width = self.width
        with np.errstate(over="ignore"):
            return (
                np.divide(1.0, self.shifts, out=width, where=np.isinf(width))
                if self.smooth
                else width
            )

    @property
    def all_shifts(self) -> np.ndarray:
        """Shifts, zeros of hinges."""
        return self.shifts if self.smooth else np.zeros(self.target.size)

    def of_samples(self, b: float | np.ndarray) -> float | np.ndarray:
        """Return the intercept of each sample, or the one of all."""
        return b[self.group] if isinstance(b, np.ndarray) else b

    # --- Values of points ---

    def _seen(self, slopes, first: float, second: float, gap, primal, losses) -> View:
        """Return what compiled loops have found as a view."""
        b = np.array([first, second]) if self.group.size else first
        lifted = float(np.sum(b * self.sums)) if self.free and self.sums.any() else 0.0
        return View(b, slopes, gap, primal, losses, lifted)

    def view(self, beta: np.ndarray, f: np.ndarray) -> View:
        """Return the gap and values of a point with scores f, for the best intercept."""
        slopes = np.empty(beta.size)
        return self._seen(slopes, *loops.view(self, beta, f, slopes))

    def largest_gap(
        self, beta: np.ndarray, f: np.ndarray, errors: np.ndarray
    ) -> tuple[View, np.ndarray, np.ndarray]:
        """Return the view for scores within errors; what samples and errors add to it, (m,)."""
        slopes, parts, losses = np.empty((3, beta.size))
        found = loops.largest_gap(self, beta, f, errors, slopes, parts, losses)
        return self._seen(slopes, *found), parts, losses

    def gap_of_slopes(
        self, beta: np.ndarray, slopes: np.ndarray, errors: np.ndarray = _EXACT
    ) -> tuple[float, float]:
        """Return the sum of what slopes within errors add to the gap at most, and of losses."""
        return loops.gap_of_slopes(self, beta, slopes, errors)

    # Where a primal value overflows there is no gap.
    @np.errstate(over="ignore", invalid="ignore")
    def stretched(
        self, beta: np.ndarray, f: np.ndarray, errors: np.ndarray
    ) -> tuple[float, View] | None:
        """Return a factor that brings scores, within errors, to their targets; the view there."""
        factor, b, _, *values = loops.stretch(self, beta, f, errors)
        return (factor, View(b, self.target - factor * f - b, *values)) if factor else None

    def gain(self, beta: np.ndarray) -> float:
        """Return what the dual has beside -1/2 beta'K beta."""
        if not self.smooth:
            return float((beta * self.target).sum())
        return float((beta * (self.target - 0.5 * self.shifts * beta)).sum())

    # Weights far from the solution may have losses that overflow.
    @np.errstate(over="ignore", invalid="ignore")
    def losses(self, g: np.ndarray) -> np.ndarray:
        """Return the losses of samples for slopes."""
        if not self.smooth:
            return np.maximum(self.high * g, self.low * g)
        best = self.best(g)
        return best * (g - 0.5 * self.shifts * best)

    def best(self, g: np.ndarray) -> np.ndarray:
        """Return the beta that belong to slopes: minus the slopes of losses."""
        if self.smooth:
            return np.clip(g / self.shifts, self.low, self.high)
        return np.where(g > 0.0, self.high, np.where(g < 0.0, self.low, 0.0))

    def gradient(self, beta: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return the gradient of the dual, for slopes."""
        return g - self.shifts * beta if self.smooth else g

    # --- Sums, and intercepts ---

    def sums_of(self, beta: np.ndarray) -> np.ndarray:
        """Return the sum of beta in each group."""
        if not self.group.size:
            return np.array([beta.sum()])
        return np.bincount(self.group, beta, minlength=self.sums.size)

    def balanced(self, beta: np.ndarray) -> np.ndarray:
        """Return a point of the box with the prescribed sums, up to rounding errors."""
        if not self.free or np.array_equal(self.sums_of(beta), self.sums):
            return beta
        beta = np.array(beta)
        loops.balance(self, beta)
        return beta

    def filled(self, beta: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Return a point with the prescribed sums: samples move by the size of their slopes."""
        # To share what is missing among all samples would free all of them.
        beta, missing = np.array(beta), self.sums - self.sums_of(beta)
        for k, total in enumerate(missing):
            part = np.flatnonzero(self.group == k) if self.group.size else np.arange(beta.size)
            order = part[np.argsort(-slopes[part] if total > 0.0 else slopes[part])]
            ends = self.high if total > 0.0 else self.low
            room = np.abs(ends[order] - beta[order])
            before = np.cumsum(room) - room
            beta[order] += np.sign(total) * np.clip(abs(total) - before, 0.0, room)
        return self.balanced(np.clip(beta, self.low, self.high))

    def check_length(self, square: float, beta: np.ndarray, lengths: np.ndarray) -> None:
        """Refuse a feasible point of w = 0, of length `square`, where sums alone keep it from 0."""
        if self.sums.any() and not self.target.any():
            size = float(np.abs(beta) @ lengths)
            if square <= _VANISHED * size * size:
                raise VanishedError

    def best_intercept(self, f: np.ndarray) -> float:
        """Return the b of all samples that minimises the primal: a quantile of kinks, or a root."""
        if not self.free:
            return 0.0
        return loops.best_intercept(self, self.target - f)

    # --- Decisions ---

    def scores_between(self, extremes: Extremes) -> Extremes:
        """Return bounds on scores, with every best intercept, by those on all <x_i, w*>."""
        least, most = np.empty((2, self.target.size))
        loops.scores_between(self, *extremes, least, most)
        return least, most

    def codes(
        self, lower: np.ndarray, upper: np.ndarray, codes: np.ndarray | None = None
    ) -> np.ndarray:
        """Turn bounds on scores (n,) into codes (n,) by strict inequalities; NaN decides nothing.

        Earlier decisions `codes` stay as they are.
        """
        found = np.empty(self.target.size, np.int8)
        loops.codes_between(self, lower, upper, _NOTHING if codes is None else codes, found)
        return found

    def decided(self, extremes: Extremes, codes: np.ndarray | None = None) -> np.ndarray:
        """Return codes by bounds on all <x_i, w*>, see `codes`."""
        return self.codes(*self.scores_between(extremes), codes)

    def decided_by_gap(
        self, norms: np.ndarray, beta: np.ndarray, f: np.ndarray, b: float, error: float,
        errors: np.ndarray | None = None, codes: Any = None,
    ) -> np.ndarray:  # fmt: skip
        """Return codes by the gap ball of a point of this problem, see `screening.bounds`.

        Errors of scores, beyond the rounding errors of their sums, are at most `error` times
        `norms` plus `errors` (n,).
        """
        found = np.empty(self.target.size, np.int8)
        point = norms, f, beta, b, error, _EXACT if errors is None else errors
        loops.decided_by_gap(self, point, _NOTHING if codes is None else codes, found)
        return found

    def held(self, codes: np.ndarray) -> Dual:
        """Return the problem in which decided samples stay at zero or at their other bounds."""
        at_end, ends = codes == LINEAR, self.ends
        low, high = np.where(at_end, ends, self.low), np.where(at_end, ends, self.high)
        low[codes == ZERO] = high[codes == ZERO] = 0.0
        return self._replace(low=low, high=high)

    def moved(self, beta: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return a point with decided samples at the bounds where codes say they are."""
        return np.where(codes == ZERO, 0.0, np.where(codes == LINEAR, self.ends, beta))
