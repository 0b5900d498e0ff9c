"""The dual of a problem in signed variables, and the certificate of its points.

With beta_i = y_i alpha_i labels vanish from the dual,

    max  sum_i (target_i beta_i - shift_i/2 beta_i^2) - 1/2 beta' K beta,
    low_i <= beta_i <= high_i,   [sum_{i in g} beta_i = T_g],

target_i = y_i t_i with the threshold t_i of the loss (1 for a hinge), [low, high] = [0, C_i] for
y_i = 1 and [-C_i, 0] for y_i = -1. With slopes g_i = target_i - f_i - b, f = K beta, the loss of a
sample is that of the best beta_i in its box, best_i g_i - shift_i/2 best_i^2, and what it adds to
the duality gap is what its beta_i lacks to that.

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

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS
from skscreen.samples.kernels.gram import KernelSamples
from skscreen.samples.losses import SampleLosses
from skscreen.samples.rows import LinearSamples
from skscreen.svm.solvers.solution import SampleSolution


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


# Of a single group with a free intercept.
_ZERO = np.zeros(1)
_ONE_GROUP = np.empty(0, np.int8)


# Squared length of w, over that of a sum of vectors of one direction, from which on w is 0.
_VANISHED = 1e-12


class VanishedError(ValueError):
    """The solution is w = 0, which tells no sample from another."""


class Sums(NamedTuple):
    """What beta of each group of samples sum to; the groups (n,), see `Box`."""

    totals: np.ndarray
    group: np.ndarray = _ONE_GROUP


class Box(NamedTuple):
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
    def of(
        cls, losses: SampleLosses, y: np.ndarray, free: bool, sums: "Sums | None" = None
    ) -> "Box":
        """Return the problem of some losses of labelled samples, with the sum zero or others."""
        ends = y * losses.caps
        # A sample without loss may have any shift.
        shifts = np.where(losses.caps > 0.0, losses.shifts, 1.0) if losses.smooth else np.empty(0)
        target = y * losses.thresholds
        known = () if sums is None else (sums.totals, sums.group)
        return cls(target, np.minimum(ends, 0.0), np.maximum(ends, 0.0), free, shifts, *known)

    def take(self, index: np.ndarray, beta: np.ndarray | None = None) -> "Box":
        """Return the problem on some of the samples, the others of a point `beta` held fixed."""
        target, low, high = (part[index] for part in (self.target, self.low, self.high))
        shifts, group = (part[index] if part.size else part for part in (self.shifts, self.group))
        sums = self.sums
        if beta is not None and self.free:
            rest = self.sums_of(beta) - self._replace(group=group).sums_of(beta[index])
            sums = sums - rest
        return Box(target, low, high, self.free, shifts, sums, group)

    def held(self, at_zero: np.ndarray, at_cap: np.ndarray) -> "Box":
        """Return the problem in which some samples stay at zero and others at their caps."""
        ends = np.where(self.high > 0.0, self.high, self.low)
        low, high = np.where(at_cap, ends, self.low), np.where(at_cap, ends, self.high)
        low[at_zero] = high[at_zero] = 0.0
        return self._replace(low=low, high=high)

    def sums_of(self, beta: np.ndarray) -> np.ndarray:
        """Return the sum of beta in each group."""
        if not self.group.size:
            return np.array([beta.sum()])
        return np.bincount(self.group, beta, minlength=self.sums.size)

    def of_samples(self, b: float | np.ndarray) -> float | np.ndarray:
        """Return the intercept of each sample, or the one of all."""
        return b[self.group] if isinstance(b, np.ndarray) else b

    def _seen(self, slopes, first: float, second: float, gap, primal, losses) -> View:
        """Return what compiled loops have found as a view."""
        b = np.array([first, second]) if self.group.size else first
        lifted = float(np.sum(b * self.sums)) if self.free and self.sums.any() else 0.0
        return View(b, slopes, gap, primal, losses, lifted)

    def view(self, beta: np.ndarray, f: np.ndarray) -> View:
        """Return the certificate of a point with scores f, for the best intercept."""
        slopes = np.empty(beta.size)
        return self._seen(slopes, *loops.view(self, beta, f, slopes))

    def certify(
        self, beta: np.ndarray, f: np.ndarray, errors: np.ndarray
    ) -> tuple[View, np.ndarray, np.ndarray]:
        """Return the largest gap for scores within errors; what samples and errors add, (m,)."""
        slopes, parts, losses = np.empty((3, beta.size))
        found = loops.certify(self, beta, f, errors, slopes, parts, losses)
        return self._seen(slopes, *found), parts, losses

    # Where a primal value overflows there is no gap.
    @np.errstate(over="ignore", invalid="ignore")
    def stretched(
        self, beta: np.ndarray, f: np.ndarray, errors: np.ndarray
    ) -> tuple[float, View] | None:
        """Return a factor that brings scores, within errors, to their targets; the view there."""
        factor, b, _, *values = loops.stretch(self, beta, f, errors)
        return (factor, View(b, self.target - factor * f - b, *values)) if factor else None

    # Weights far from the solution may have losses that overflow.
    @np.errstate(over="ignore", invalid="ignore")
    def losses(self, g: np.ndarray) -> np.ndarray:
        """Return the losses of samples for slopes."""
        if not self.shifts.size:
            return np.maximum(self.high * g, self.low * g)
        best = self.best(g)
        return best * (g - 0.5 * self.shifts * best)

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

    def best(self, g: np.ndarray) -> np.ndarray:
        """Return the beta that belong to slopes, of losses with shifts."""
        return np.clip(g / self.shifts, self.low, self.high)

    def balanced(self, beta: np.ndarray) -> np.ndarray:
        """Return a point of the box with the prescribed sums, up to rounding errors."""
        if not self.free or np.array_equal(self.sums_of(beta), self.sums):
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


def certified(
    samples: LinearSamples | KernelSamples,
    losses: SampleLosses,
    found: SampleSolution,
    free: bool,
    tol: float,
) -> SampleSolution:
    """Return a solution with the certificate that users see.

    Gaps are the largest for scores within their errors, which a huge C enlarges. Where `tol`
    depends on these errors scores are computed more precisely: by rows those of the weights, by a
    kernel those that add to the gap. What then still has losses through errors alone becomes
    longer. Last, targets and intercept are those that users have.
    """
    if isinstance(samples, LinearSamples):
        solution = _by_rows(samples, losses, found, free, tol)
    elif found.converged and samples.gram.whole is None:
        # Solvers have bounds on errors of values in tiles.
        solution = found
    else:
        solution = _by_values(samples, losses, found, free, tol)
        if not found.converged and found.certificate.gap < solution.certificate.gap:
            solution = found
    return solution if losses.lost is None else as_held(samples, losses, solution, free, tol)


def rounding(samples: Any, losses: SampleLosses, solution: SampleSolution) -> np.ndarray:
    """Return estimates of rounding errors of margins: twice those of a sum of products."""
    thresholds = 2.0 * EPS * np.abs(losses.thresholds)
    if isinstance(samples, KernelSamples):
        size = samples.summed(solution.alpha)
        return thresholds + 2.0 * EPS * (abs(solution.b) + size * samples.norms)
    w = samples.combine(solution.alpha) if solution.w is None else solution.w
    return thresholds + samples.rounding(w, solution.b)


def _by_rows(samples: LinearSamples, losses, found: SampleSolution, free: bool, tol: float):
    """Certify weights: by margins in extended precision where errors matter."""
    y, errors = samples.y, rounding(samples, losses, found)
    box = Box.of(losses, y, free)
    beta, f = y * found.alpha, y * found.margins
    effect = max(box.certify(beta, f, errors)[0].gap - box.view(beta, f).gap, 0.0)
    # Weights, as sums of rows, have rounding errors too.
    blur = EPS * float(found.alpha @ samples.norms)
    primal, gap = found.certificate.primal, found.certificate.gap + effect
    unsure = max(effect, blur * (found.apart + 0.5 * blur)) > 1e-9 * primal
    if found.w is not None and (gap > tol * primal or unsure):
        found = _measured(samples, found, found.w, losses)
    if found.certificate.gap <= tol * found.certificate.primal:
        return replace(found, converged=True)
    return _longer(box, beta, f, errors, found, tol)


def _by_values(samples: KernelSamples, losses, found: SampleSolution, free: bool, tol: float):
    """Certify a point known by kernel values: by some in extended precision where errors matter."""
    y, errors = samples.y, rounding(samples, losses, found)
    box, exact = Box.of(losses, y, free), errors.copy()
    beta, f = y * found.alpha, y * found.margins
    errors += samples.value_errors(found.alpha)
    least = box.view(beta, f).gap
    view, parts, _ = box.certify(beta, f, errors)
    given, allowed = found.certificate, tol * found.certificate.primal
    if max(given.gap, view.gap) > allowed >= least:
        # Bounds on errors of kernel values say too much: those scores without such errors.
        J = np.flatnonzero(parts > 0.0)
        f[J], errors[J] = samples.exact_scores(J, beta), exact[J]
        view = box.certify(beta, f, errors)[0]
        least, given = view.gap, Certificate(view.primal, view.primal - view.gap, view.gap)
    gap = given.gap + max(view.gap - least, 0.0)
    given = Certificate(given.primal, given.primal - gap, gap)
    found = replace(found, certificate=given, converged=given.relative_gap <= tol)
    return found if found.converged else _longer(box, beta, f, errors, found, tol)


def _longer(box: Box, beta, f, errors, found: SampleSolution, tol: float) -> SampleSolution:
    """Return a solution, longer if it has losses through errors alone and that helps."""
    longer = box.stretched(beta, f, errors)
    if longer is not None:
        factor, view = longer
        gap = view.gap + 0.5 * (factor * found.apart) ** 2
        if gap < found.certificate.gap:
            found = found.stretched(factor, view.b)
            # No sample has a loss any more.
            primal = view.primal if found.w is None else 0.5 * float(found.w @ found.w)
            found = replace(found, certificate=Certificate(primal, primal - gap, gap))
    return replace(found, converged=found.certificate.relative_gap <= tol)


def as_held(
    samples: LinearSamples | KernelSamples,
    losses: SampleLosses,
    found: SampleSolution,
    free: bool,
    tol: float,
) -> SampleSolution:
    """Return a regression with the certificate of users' targets and rounded intercept."""
    if losses.lost is None:
        return found
    w, b, lost = found.w, found.b, losses.lost
    if isinstance(samples, LinearSamples) and w is not None:
        b = samples.intercept(w, b)
    moved = np.longdouble(b + losses.origin) - losses.origin - b if losses.origin else 0.0
    lost = lost - samples.y * float(moved)
    short = losses.short(found.margins, found.b, samples.y if free else None)
    slackness, loss = np.subtract(
        losses.certify(short + lost, found.alpha), losses.certify(short, found.alpha)
    )
    before = found.certificate
    if max(abs(slackness), abs(loss)) <= 1e-9 * before.primal:
        return found
    if isinstance(samples, LinearSamples) and w is not None:
        found = _measured(samples, found, w, losses, lost)
    else:
        primal, gap = before.primal + loss, before.gap + max(slackness, 0.0)
        found = replace(found, certificate=Certificate(primal, primal - gap, gap))
    return replace(found, converged=found.certificate.relative_gap <= tol)


def _measured(
    samples: LinearSamples, solution: SampleSolution, w: np.ndarray, losses: SampleLosses,
    lost: np.ndarray | float = 0.0,
) -> SampleSolution:  # fmt: skip
    """Return the solution with the certificate of the weights w (d,) that users have.

    Their margins, computed in extended precision, have no rounding errors to speak of; thresholds
    have `lost` some digits.
    """
    alpha = solution.alpha
    short = losses.thresholds - samples.exact_margins(w, solution.b) + lost
    slackness, loss = losses.certify(short.astype(np.float64), alpha)
    exact = samples.exact_combine(alpha)
    # Of rows so long that even their sum has errors.
    blur = float(np.finfo(np.longdouble).eps) * float(alpha @ samples.norms)
    own, apart = exact.astype(np.float64), float(np.linalg.norm(w - exact)) + blur
    primal, dual = 0.5 * float(w @ w) + loss, losses.gain(alpha) - 0.5 * float(own @ own)
    # Sums have rounding errors.
    gap = slackness + 0.5 * apart**2 + 4.0 * EPS * primal
    return replace(solution, certificate=Certificate(primal, dual, gap), apart=apart)
