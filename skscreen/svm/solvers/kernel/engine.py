"""Kernel SVMs by working sets: the one engine, whatever the kernel values come from.

    U            samples whose scores are kept up to date while their problem is solved: all that
                 are undecided where kernel values are in memory; else thousands that are nearest to
                 the margin or on its wrong side;
    working set  a part of U, chosen anew each time and solved with its kernel matrix in memory (see
                 `working_set`).

All other scores are updated after each pass over U. Between passes samples are screened. Scores
from tiles are in single precision until the gap is small, each with a bound on its error. A sample
at its bound whose score is on the right side of the margin, error included, adds exactly zero to
the gap. The scores of all others are then computed in double precision, and the last working sets
start from them. The gap is the largest one for scores within their errors. Where single precision
of the matrices of working sets no longer helps they are in double precision.
"""

from collections.abc import Callable
from math import fsum

import numpy as np

from skscreen.core.floats import EPS
from skscreen.samples.kernels.definite import INDEFINITE, IndefiniteError, indefinite_message
from skscreen.svm.certificate import Box, Point, View, certify
from skscreen.svm.solvers.kernel.working_set import WorkingSets, choose, smallest

# Size of U, and least size of a working set.
_NEAR, _LEAST = 6000, 1000

# Largest number of passes, and of working sets in a U.
_PASSES, _SETS = 40, 12
# Passes end if one leaves more than the first share of the gap (in double precision the second),
# and the dual value rises by less than the third.
_STALLED, _SLOW, _RISEN = 0.98, 0.7, 0.02

# Working sets of a U end at this share of the first gap on U, less where U is a small part of the
# samples, as the rest of a pass takes most of the time then; or at this share of the tolerance.
_LEFT, _SHARE = 0.1, 0.3

# Limit of steps for each sample, where no other is given.
STEPS_A_SAMPLE = 1000

# Smallest relative gap that is computed in single precision.
DIGITS = 1e-4


# Takes the box, a point and its view; returns the box with decided samples held at their bounds.
Screen = Callable[[Box, Point, View], Box]


class Engine:
    """Solves problems in signed variables (see `certificate`) by sets of at least `least`."""

    def __init__(self, sets: WorkingSets, tol: float, least: int = _LEAST):
        self.sets, self.tol, self.least = sets, tol, least
        # All samples are in U then, scores in double precision, their errors perhaps estimates.
        self.whole, self.roots = sets.own is not None, np.sqrt(sets.diagonal)

    def scores(
        self,
        I: np.ndarray,
        beta: np.ndarray,
        J: np.ndarray,
        double: bool = False,
        before: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what beta at I adds to scores of J, less what it did `before`; error bounds."""
        change = beta if before is None else beta - before
        used = np.flatnonzero(change)
        values, errors = self.sets.values.dot(I[used], change[used], J, double or self.whole)
        if self.sets.square_bias:
            # The sum of changes that are rounded would be wrong next to a large bias.
            terms = beta[used] if before is None else np.append(beta[used], -before[used])
            values += self.sets.square_bias * fsum(terms)
        return values, errors + EPS * np.abs(values)

    def point(self, index: np.ndarray, beta: np.ndarray) -> Point:
        """Return a point on the samples `index` from its beta."""
        exact = np.full(beta.size, self.whole)
        return Point(beta, *self.scores(index, beta, index), exact)

    def improve(
        self, index: np.ndarray, box: Box, point: Point, tol: float, screen: Screen | None = None
    ) -> View:
        """Improve a point on some samples to a relative gap as scores show it, errors or not."""
        view, before, least = box.view(point.beta, point.f), None, np.inf
        screened_at, whole = view.gap, self.whole
        for _ in range(_PASSES):
            most = least * (_SLOW if whole else _STALLED)
            if view.gap <= tol * abs(view.primal) or self._halts(box, view, before, most, whole):
                break
            # Where the gap is a quarter of that at the start or the last screening.
            if screen is not None and view.gap <= 0.25 * screened_at:
                screened_at, box = view.gap, screen(box, point, view)
            before, least = view, min(least, view.gap)
            U = self._near(box, point, view)
            if U.size == 0:
                break
            self._pass(index, box, point, view, U, tol, whole)
            view = box.view(point.beta, point.f)
        return view

    def finish(self, box: Box, point: Point) -> View:
        """Bring a point on all samples to the tolerance, and return its certificate."""
        before, least, everyone = None, np.inf, np.arange(box.target.size)
        for _ in range(_PASSES):
            view, parts = self.certify(box, point)
            if view.gap <= self.tol * abs(view.primal):
                break
            if self._halts(box, view, before, _SLOW * least, True):
                break
            before, least = view, min(least, view.gap)
            J = np.flatnonzero(
                (self.whole | (parts > 0.0) | box.is_free(point.beta)) & (box.low < box.high)
            )
            if J.size == 0:
                break
            self._pass(everyone, box, point, view, J, self.tol, double=True)
        return view

    def certify(self, box: Box, point: Point) -> tuple[View, np.ndarray]:
        """Balance a point; return its certificate and what samples add to the gap at most, (n,)."""
        beta = box.balanced(point.beta)
        # |K_ij| is at most the product of the roots of K_ii and K_jj.
        point.errors += float(np.abs(beta - point.beta) @ self.roots) * self.roots
        point.beta[:] = beta
        everyone = np.arange(beta.size)
        return certify(box, point, self.tol, lambda J: self.scores(everyone, beta, J, double=True))

    def _halts(self, box: Box, view: View, before: View | None, most: float, double: bool) -> bool:
        """Whether steps are used up, or a pass did too little and `double` precision is no help."""
        if self.sets.n_steps >= self.sets.max_steps:
            return True
        if before is None or view.gap <= most:
            return False
        # Far from the solution the gap may rise, but the dual value does not fall. It cannot rise
        # by more than to the primal value of beta = 0, perhaps far below that of the point.
        dual = before.primal - before.gap
        risen, left = view.primal - view.gap - dual, float(box.losses(box.target).sum()) - dual
        if risen >= _RISEN * min(before.gap, left):
            return False
        return not (double and self.sets.sharpen())

    def _near(self, box: Box, point: Point, view: View) -> np.ndarray:
        """Return free samples, violators, and the samples next to the margin, or all."""
        if self.whole or box.shifts.size:
            return np.flatnonzero(box.low < box.high)
        violations, free = box.violations(point.beta, view.slopes), box.is_free(point.beta)
        rank = np.where(violations > 0.0, -violations, np.abs(view.slopes))
        rank[free] = -np.inf
        rank[box.low == box.high] = np.inf
        # Violators that are left out come back as gaps that hardly fall.
        size = max(int(1.5 * free.sum()), int(np.count_nonzero(violations)) // 2)
        return smallest(rank, max(size, _NEAR * self.least // _LEAST))

    def _pass(self, index, box: Box, point: Point, view: View, U, tol, double: bool) -> None:
        """Solve the problem on U by working sets, and update all other scores."""
        beta, f, errors = point.beta[U], point.f[U], point.errors[U]
        part = box.take(U, point.beta.sum() - beta.sum())
        allowed, enough = tol * abs(view.primal), None
        for _ in range(_SETS):
            near = part.view(beta, f)
            if enough is None:
                left = _LEFT * U.size / index.size
                enough = max(left * near.gap, _SHARE * allowed)
            elif near.gap <= enough or self.sets.n_steps >= self.sets.max_steps:
                break
            gradient = near.slopes - part.shifts * beta if part.shifts.size else near.slopes
            W, eps = choose(part, beta, gradient, allowed, self.least)
            moved = self.sets.solve(index[U[W]], part.take(W, 0.0), beta[W], gradient[W], eps)
            change = moved - beta[W]
            if not change.any():
                break
            values, more = self.scores(index[U[W]], moved, index[U], double, before=beta[W])
            _check_definite(change, values[W], more[W], self.roots[index[U[W]]])
            beta[W] = moved
            f += values
            errors += more + EPS * np.abs(f)
        before = point.beta[U]
        point.beta[U], point.f[U], point.errors[U] = beta, f, errors
        rest = np.ones(index.size, np.bool_)
        rest[U] = False
        point.exact[rest if double and not self.whole else slice(None)] = False
        rest = np.flatnonzero(rest)
        values, more = self.scores(index[U], beta, index[rest], before=before)
        point.f[rest] += values
        point.errors[rest] += more + EPS * np.abs(point.f[rest])


def _check_definite(change, effect, errors, roots) -> None:
    """Refuse a kernel under which a change has a square below zero."""
    least = -INDEFINITE * float(np.abs(change) @ roots) ** 2
    if float(change @ effect + np.abs(change) @ errors) < least:
        raise IndefiniteError(indefinite_message("the square of a norm is negative"))
