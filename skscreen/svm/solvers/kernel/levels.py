"""Kernel SVMs of many samples: nested levels, and working sets of those near the margin.

Only one operation reads long rows of the kernel matrix: what a change of beta does to the scores
of other samples, in blocks (`kernel_blocks`). Samples at their bounds need it once.

    levels       random subsets of growing size, with bounds C n / n_level: the scores that the
                 solution of one gives to the samples of the next tell which of them are at bounds;
    U            on a level, thousands of samples nearest to the margin, or on the wrong side of
                 it: only their scores are kept up to date until they are solved;
    working set  a part of U, chosen anew each time, solved with its kernel matrix at hand.

Scores are in single precision until the gap is small, each with a bound on its error. A sample that
is at its bound and on its own side of the margin, whatever its error, adds exactly zero to the gap;
scores of the others are then computed in double precision, and it is their slopes that the last
working sets start from. The gap is the largest that scores within their bounds can have.
"""

from dataclasses import dataclass, replace
from math import fsum

import numpy as np

from skscreen.core.floats import EPS
from skscreen.samples.kernel_blocks import KernelBlocks
from skscreen.svm.solvers.kernel.box import Box, View
from skscreen.svm.solvers.kernel.state import feasible
from skscreen.svm.solvers.kernel.working_set import LARGEST, WorkingSets

# Samples of the levels before the last, which is all; least growth from one to the next.
LEVELS, _GROWTH = (1000, 4000, 16000), 1.5

# Least samples of either sign on a level, if there are so many.
_FEW = 250

# Relative gap of levels before the last.
_ROUGH = 3e-2

# Samples of U, and least samples of a working set.
_NEAR, _LEAST = 6000, 1000

# Samples between their bounds at the start of a level, over those that are free on the one before,
# and least of them.
_BAND, _FEWEST = 3, 300

# Of a level's solution, what has to be inside the bounds of the next for that to start from it.
_KEPT = 0.5

# Passes over a level, working sets of one U; the part of the gap that a pass has to leave at most,
# or the part of it by which the dual value has to rise.
_PASSES, _SETS, _STALLED, _RISEN = 40, 12, 0.98, 0.02

# Of the first gap on U, and of the tolerance, what its working sets may leave.
_LEFT, _SHARE = 0.02, 0.3

# Relative gap down to which single precision does; passes in double precision, and the part of a
# gap that each has to leave at most.
DIGITS, _DOUBLE_PASSES, _SLOW = 1e-4, 30, 0.7

# Of the primal value, how much may be unknown; relative gaps below which its digits are asked for.
_UNSURE, _FINE = 0.1, 1e-6

# Most that beta is made longer by.
_STRETCHED = 1.0 + 1e-6

# Of the interval of an intercept; least band of slopes; below any sum that counts.
_HALVINGS, _NARROW, _TINY = 40, 1e-12, 1e-300


@dataclass
class Point:
    """A point on some samples.

    Parameters
    ----------
    beta : ndarray of shape (m,)
    f : ndarray of shape (m,)
        Its scores, without intercept.
    errors : ndarray of shape (m,)
        How far they may be off.
    exact : bool ndarray of shape (m,)
        Whether they are in double precision.
    """

    beta: np.ndarray
    f: np.ndarray
    errors: np.ndarray
    exact: np.ndarray


class LevelSolver:
    """Solves one problem, in signed variables (see `box`), by levels and working sets.

    Parameters
    ----------
    blocks : KernelBlocks
    diagonal : ndarray of shape (n,)
        K_ii.
    square_bias : float
        B^2 of a penalised intercept, added to all kernel values; 0 for none.
    tol : float
        Relative gap.
    max_steps : int
    least : int, optional
        Least samples of a working set: fewer for problems with few support vectors.
    """

    def __init__(
        self,
        blocks: KernelBlocks,
        diagonal,
        square_bias: float,
        tol: float,
        max_steps,
        least=None,
    ):
        self.blocks, self.square_bias, self.tol = blocks, square_bias, tol
        self._least = least or _LEAST
        self.sets = WorkingSets(blocks, square_bias, diagonal + square_bias, max_steps)
        self.max_steps, self._roots = max_steps, np.sqrt(diagonal + square_bias)

    @property
    def n_steps(self) -> int:
        """Steps of SMO and Newton's method."""
        return self.sets.n_steps

    def scores(self, I, beta, J, double: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return what beta at the samples I adds to the scores of J, and bounds on the errors."""
        used = np.flatnonzero(beta)
        values, errors = self.blocks.dot(I[used], beta[used], J, double)
        if self.square_bias:
            values += self.square_bias * fsum(beta[used])
        return values, errors + EPS * np.abs(values)

    def point(self, index: np.ndarray, beta: np.ndarray) -> Point:
        """Return a point on the samples `index` from its beta."""
        return Point(beta, *self.scores(index, beta, index), np.zeros(beta.size, np.bool_))

    def from_nothing(self, box: Box) -> Point:
        """Return a point on all samples, from nested subsets of them."""
        n = box.target.size
        order = np.random.default_rng(0).permutation(n)
        index, before, point, view = np.empty(0, np.int64), box, None, None
        for size in (*(size for size in LEVELS if size * _GROWTH < n), n):
            chosen, factors = _some(order, box, size)
            part = box.scaled(chosen, factors)
            if view is None:
                point = self.point(chosen, np.clip(np.zeros(size), part.low, part.high))
            else:
                free = before.is_free(point.beta)
                point = self._carried(index, point, view.b, chosen, part, free)
            index, before = chosen, part
            if size < n:
                view = self.improve(index, part, point, _ROUGH)
        return point

    def _carried(self, index, point: Point, b: float, new, box: Box, free) -> Point:
        """Return a point on new samples, those of the level before among them.

        The same one if little of it is outside the new bounds; else at its bound by its score, or
        between near the margin.
        """
        f, errors = self.scores(index, point.beta, new)
        same = np.zeros(new.size)
        same[np.searchsorted(new, index)] = point.beta
        beta = np.clip(same, box.low, box.high)
        if np.abs(beta).sum() >= _KEPT * np.abs(same).sum():
            beta = balanced(beta, box.low, box.high) if box.free else beta
            values, more = self.scores(new, beta - same, new)
            return Point(beta, f + values, errors + more, np.zeros(new.size, np.bool_))
        g = box.target - f - b
        size = min(max(_BAND * np.count_nonzero(free), _FEWEST), self._least, new.size) - 1
        beta = _by_scores(g, max(np.partition(np.abs(g), size)[size], _NARROW), box)
        return self.point(new, beta)

    def improve(self, index: np.ndarray, box: Box, point: Point, tol: float) -> View:
        """Improve a point on a level to a relative gap, as single precision tells it."""
        view, before = box.view(point.beta, point.f), None
        for _ in range(_PASSES):
            if view.gap <= tol * view.primal or self._halted(view, before, _STALLED):
                break
            before = view
            self._pass(index, box, point, view, self._near(box, point, view), tol)
            view = box.view(point.beta, point.f)
        return view

    def _halted(self, view: View, before: View | None, most: float) -> bool:
        """Whether more than a part of the gap is left, and the dual value has not risen much.

        Far from the solution the gap may rise, but the dual value does not fall.
        """
        if self.n_steps >= self.max_steps or before is None:
            return self.n_steps >= self.max_steps
        risen = (view.primal - view.gap) - (before.primal - before.gap)
        return view.gap > most * before.gap and risen < _RISEN * before.gap

    def _near(self, box: Box, point: Point, view: View) -> np.ndarray:
        """Return the samples that may matter: free ones, violators, and those next in line."""
        violations, free = box.violations(point.beta, view.slopes), box.is_free(point.beta)
        rank = np.where(violations > 0.0, -violations, np.abs(view.slopes))
        rank[free] = -np.inf
        rank[box.low == box.high] = np.inf
        size = max(_NEAR * self._least // _LEAST, int(1.5 * np.count_nonzero(free)))
        return _smallest(rank, size)

    def _pass(self, index, box: Box, point: Point, view: View, U, tol, double=False) -> None:
        """Solve the problem on U by working sets, and bring all other scores up to date."""
        beta, f, errors = point.beta[U], point.f[U], point.errors[U]
        part = box.take(U, point.beta.sum() - beta.sum())
        enough = None
        for _ in range(_SETS):
            near = part.view(beta, f)
            if enough is None:
                enough = max(_LEFT * near.gap, _SHARE * tol * view.primal)
            elif near.gap <= enough or self.n_steps >= self.max_steps:
                break
            W, eps = self._working_set(part, beta, near, tol * view.primal)
            moved = self.sets.solve(index[U[W]], part.take(W, 0.0), beta[W], near.slopes[W], eps)
            change = moved - beta[W]
            if not change.any():
                break
            beta[W] = moved
            values, more = self.scores(index[U[W]], change, index[U], double)
            f += values
            errors += more + EPS * np.abs(f)
        change = beta - point.beta[U]
        point.beta[U], point.f[U], point.errors[U] = beta, f, errors
        rest = np.ones(index.size, np.bool_)
        rest[U] = False
        point.exact[rest if double else slice(None)] = False
        rest = np.flatnonzero(rest)
        values, more = self.scores(index[U], change, index[rest])
        point.f[rest] += values
        point.errors[rest] += more + EPS * np.abs(point.f[rest])

    def _working_set(self, box: Box, beta, near: View, allowed: float) -> tuple[np.ndarray, float]:
        """Return free samples, the largest violators and those nearest to the margin; and eps."""
        violations, free = box.violations(beta, near.slopes), box.is_free(beta)
        n_free = np.count_nonzero(free)
        size = min(max(self._least, int(1.3 * n_free) + self._least // 5), LARGEST)
        worst = violations.max()
        # Slopes of so many samples apart by eps leave less than half of the gap that is allowed.
        width = box.high - box.low
        weight = max(width[free].sum(), 0.1 * size * width.mean())
        eps = min(max(0.5 * allowed / weight, 0.1 * worst), 0.5 * worst)
        if size >= beta.size:
            return np.arange(beta.size), eps
        rank = -violations
        rank[free] -= 2.0 * worst
        first = _smallest(rank, n_free + (size - n_free) // 2 if n_free < size else size)
        rest = np.abs(near.slopes)
        rest[first] = -np.inf
        return _smallest(rest, size), eps

    def finish(self, box: Box, point: Point) -> View:
        """Bring a point on all samples to the tolerance, and return its certificate."""
        before, n = None, box.target.size
        for _ in range(_DOUBLE_PASSES):
            self._balance(box, point)
            view, parts = self._certified(box, point)
            if view.gap <= self.tol * view.primal or self._halted(view, before, _SLOW):
                break
            before = view
            J = np.flatnonzero((parts > 0.0) | box.is_free(point.beta))
            self._pass(np.arange(n), box, point, view, J, self.tol, double=True)
        if view.gap > self.tol * view.primal and self._stretch(box, point, view):
            view = self._certified(box, point)[0]
        return view

    def _stretch(self, box: Box, point: Point, view: View) -> bool:
        """Make beta longer by so much that no score is short of its target; if C does not count.

        Next to a huge C a score that lacks a rounding error costs more than the gap may be.
        """
        sign = np.where(box.high > 0.0, 1.0, -1.0)[box.low < box.high]
        target, slopes, errors = (
            part[box.low < box.high] for part in (box.target, view.slopes, point.errors)
        )
        target = sign * target
        reach = target - sign * slopes - 2.0 * errors
        if not (np.all(reach > 0.0) and np.all(target > 0.0)):
            return False
        factor = float((target / reach).max())
        beta = factor * point.beta
        if not (1.0 < factor < _STRETCHED and np.all((beta <= box.high) & (beta >= box.low))):
            return False
        point.beta, point.f, point.errors = beta, factor * point.f, factor * point.errors
        return True

    def certify(self, box: Box, point: Point) -> View:
        """Return the certificate of a point as it is."""
        return self._certified(box, point)[0]

    def _balance(self, box: Box, point: Point) -> None:
        """Take off what rounding errors have added to the sum of beta."""
        if not box.free:
            return
        beta = balanced(point.beta, box.low, box.high)
        # Kernel values between samples are at most the roots of their diagonal entries.
        moved = float(np.abs(beta - point.beta) @ self._roots)
        point.beta[:] = beta
        point.errors += moved * self._roots

    def _certified(self, box: Box, point: Point) -> tuple[View, np.ndarray]:
        """Return the certificate, and what each sample may add to the gap by errors of its score.

        Scores whose errors count are computed in double precision, unless the gap is good enough.
        """
        everyone = np.arange(box.target.size)
        while True:
            view = box.view(point.beta, point.f)
            parts = box.slackness(point.beta, view.slopes, point.errors)
            gap = float(parts.sum())
            losses = box.losses(view.slopes, point.errors) - box.losses(view.slopes)
            unsure = 0.5 * (float(losses.sum()) + gap - view.gap)
            # A larger gap in place of a smaller primal value, which is as good as it is known.
            sure = unsure <= _UNSURE * view.primal
            view = replace(view, gap=gap / (1.0 - unsure / view.primal) if sure else np.inf)
            digits = not sure or self.tol < _FINE
            new = (parts > 0.0) & (view.gap > self.tol * view.primal) | (losses > 0.0) & digits
            new = np.flatnonzero(new & ~point.exact)
            if new.size == 0:
                return view, parts
            point.f[new], point.errors[new] = self.scores(everyone, point.beta, new, double=True)
            point.exact[new] = True


def _some(order: np.ndarray, box: Box, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples that stand for all, ascending, and for how many each of them does.

    The first of an order, but no fewer than `_FEW` of one sign: a level without them has no margin.
    """
    rises = box.high[order] > 0.0
    n_rising = np.count_nonzero(rises)
    n, fewest = order.size, min(n_rising, order.size - n_rising)
    few = min(max(size * fewest // n, _FEW), fewest, size // 2)
    sizes = (few, size - few) if n_rising == fewest else (size - few, few)
    parts = [order[rises][: sizes[0]], order[~rises][: sizes[1]]]
    factors = np.repeat(
        [n_rising / max(sizes[0], 1), (n - n_rising) / max(sizes[1], 1)],
        [part.size for part in parts],
    )
    chosen = np.concatenate(parts)
    places = np.argsort(chosen)
    return chosen[places], factors[places]


def _smallest(rank: np.ndarray, size: int) -> np.ndarray:
    """Return where the smallest entries are, in increasing order of place."""
    if size >= rank.size:
        return np.arange(rank.size)
    return np.sort(np.argpartition(rank, size)[:size])


def balanced(beta: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return a point of the box whose sum is zero, samples at their bounds left there if possible.

    Off it by what rounding errors have added up to.
    """
    excess = beta.sum()
    room = np.minimum(beta - low, high - beta)
    if abs(excess) <= room.sum():
        return np.clip(beta - excess * room / max(room.sum(), _TINY), low, high)
    signs = np.where(high > 0.0, 1.0, -1.0)
    return signs * feasible(signs * beta, high - low, signs, 0.0)


def _by_scores(g: np.ndarray, band: float, box: Box) -> np.ndarray:
    """Return beta at its bounds by the sign of g, linear for |g| < band; of sum zero if it has to.

    For this g moves by a constant, found by halving an interval.
    """
    width = box.high - box.low

    def point(b: float) -> np.ndarray:
        return box.low + np.clip(0.5 + 0.5 * (g - b) / band, 0.0, 1.0) * width

    if not box.free:
        return point(0.0)
    low, high = g.min() - band, g.max() + band
    for _ in range(_HALVINGS):
        b = 0.5 * (low + high)
        low, high = (b, high) if point(b).sum() > 0.0 else (low, b)
    return balanced(point(b), box.low, box.high)
