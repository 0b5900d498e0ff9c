"""Kernel SVMs of many samples: nested levels, and working sets of those near the margin.

Only one operation reads long rows of the kernel matrix: what a change of beta does to the scores
of other samples, in blocks (`kernel_blocks`). Samples at their bounds need it once.

    levels       random subsets of growing size, with bounds C n / n_level: the scores that the
                 solution of one gives to the samples of the next tell which of them are at bounds;
    U            on a level, thousands of samples nearest to the margin, or on the wrong side of
                 it: only their scores are kept up to date until they are solved;
    working set  a part of U, chosen anew each time, solved with its kernel matrix at hand.

Scores are in single precision until the gap is small; then those of samples that may add to the gap
are computed in double precision, and it is their slopes that the last working sets start from. A
sample at its bound and on its own side of the margin adds exactly zero.
"""

from dataclasses import dataclass

import numpy as np

from skscreen.samples.kernel_blocks import KernelBlocks
from skscreen.svm.solvers.kernel.box import Box, View
from skscreen.svm.solvers.kernel.state import feasible
from skscreen.svm.solvers.kernel.working_set import LARGEST, WorkingSets

# Samples of the levels before the last, which is all; least growth from one to the next.
LEVELS, _GROWTH = (1000, 4000, 16000), 1.5

# Relative gap of levels before the last.
_ROUGH = 3e-2

# Samples of U, and least samples of a working set.
_NEAR, _LEAST = 6000, 1500

# Passes over a level, working sets of one U; the part of a gap that a pass has to leave at most.
_PASSES, _SETS, _STALLED = 40, 12, 0.98

# Of the first gap on U, and of the tolerance, what its working sets may leave.
_LEFT, _SHARE = 0.02, 0.3

# Relative gap down to which single precision does; passes in double precision, and the part of a
# gap that each has to leave at most.
DIGITS, _DOUBLE_PASSES, _SLOW = 1e-4, 30, 0.7

# Samples whose scores tell the rounding errors of all, and how many times theirs are allowed for.
_LOOKED_AT, _SAFETY = 256, 4.0

# Of the interval of an intercept; least band of slopes; below any sum that counts.
_HALVINGS, _NARROW, _TINY = 40, 1e-12, 1e-300


@dataclass
class Point:
    """A point on some samples: beta and its scores, without intercept."""

    beta: np.ndarray
    f: np.ndarray


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
    """

    def __init__(self, blocks: KernelBlocks, diagonal, square_bias: float, tol: float, max_steps):
        self.blocks, self.square_bias, self.tol = blocks, square_bias, tol
        self.sets = WorkingSets(blocks, square_bias, diagonal + square_bias, max_steps)
        self.max_steps = max_steps

    @property
    def n_steps(self) -> int:
        """Steps of SMO and Newton's method."""
        return self.sets.n_steps

    def scores(self, I, beta, J, double: bool = False) -> np.ndarray:
        """Return what beta at the samples I adds to the scores of J."""
        used = np.flatnonzero(beta)
        dot = self.blocks.dot_double if double else self.blocks.dot
        return dot(I[used], beta[used], J) + self.square_bias * beta.sum()

    def from_nothing(self, box: Box) -> Point:
        """Return a point on all samples, from nested subsets of them."""
        n = box.target.size
        order = np.random.default_rng(0).permutation(n)
        index, point, view = np.empty(0, np.int64), Point(np.zeros(0), np.zeros(0)), None
        for size in (*(size for size in LEVELS if size * _GROWTH < n), n):
            chosen = np.sort(order[:size])
            part = box.scaled(chosen, n / size)
            if view is None:
                point = Point(np.clip(np.zeros(size), part.low, part.high), np.zeros(size))
            else:
                point = self._carried(index, point, view.b, chosen, part)
            index = chosen
            if size < n:
                view = self.improve(index, part, point, _ROUGH)
        return point

    def _carried(self, index, point: Point, b: float, new: np.ndarray, box: Box) -> Point:
        """Return a point on new samples: at its bound by its score, or between near the margin."""
        g = box.target - self.scores(index, point.beta, new) - b
        size = min(_LEAST, new.size) - 1
        beta = _by_scores(g, max(np.partition(np.abs(g), size)[size], _NARROW), box)
        return Point(beta, self.scores(new, beta, new))

    def improve(self, index: np.ndarray, box: Box, point: Point, tol: float) -> View:
        """Improve a point on a level to a relative gap, as single precision tells it."""
        view, before = box.view(point.beta, point.f), np.inf
        for _ in range(_PASSES):
            enough = view.gap <= tol * view.primal
            if enough or view.gap > _STALLED * before or self.n_steps >= self.max_steps:
                break
            before = view.gap
            self._pass(index, box, point, view, self._near(box, point, view), tol)
            view = box.view(point.beta, point.f)
        return view

    def _near(self, box: Box, point: Point, view: View) -> np.ndarray:
        """Return the samples that may matter: free ones, violators, and those next in line."""
        violations, free = box.violations(point.beta, view.slopes), box.is_free(point.beta)
        rank = np.where(violations > 0.0, -violations, np.abs(view.slopes))
        rank[free] = -np.inf
        rank[box.low == box.high] = np.inf
        size = max(_NEAR, int(1.5 * np.count_nonzero(free)))
        return _smallest(rank, size)

    def _pass(self, index, box: Box, point: Point, view: View, U, tol, double=False) -> None:
        """Solve the problem on U by working sets, and bring all other scores up to date."""
        beta, f = point.beta[U], point.f[U]
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
            f += self.scores(index[U[W]], change, index[U], double)
        change = beta - point.beta[U]
        point.beta[U], point.f[U] = beta, f
        rest = np.ones(index.size, np.bool_)
        rest[U] = False
        rest = np.flatnonzero(rest)
        point.f[rest] += self.scores(index[U], change, index[rest])

    def _working_set(self, box: Box, beta, near: View, allowed: float) -> tuple[np.ndarray, float]:
        """Return free samples, the largest violators and those nearest to the margin; and eps."""
        violations, free = box.violations(beta, near.slopes), box.is_free(beta)
        n_free = np.count_nonzero(free)
        size = min(max(_LEAST, int(1.3 * n_free) + 300), LARGEST)
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

    def finish(self, box: Box, point: Point) -> tuple[View, float]:
        """Bring a point on all samples to the tolerance, its gap computed in double precision.

        Returns
        -------
        view : View
        rounding : float
            What errors the scores of other samples may have: those that add nothing to the gap.
        """
        before, n = np.inf, box.target.size
        for _ in range(_DOUBLE_PASSES):
            self._balance(box, point)
            view, rounding, J = self._in_double(box, point)
            enough = view.gap <= self.tol * view.primal
            if enough or view.gap > _SLOW * before or self.n_steps >= self.max_steps:
                break
            before = view.gap
            self._pass(np.arange(n), box, point, view, J, self.tol, double=True)
        return view, rounding

    def certify(self, box: Box, point: Point) -> tuple[View, float]:
        """Return the same for a point as it is."""
        return self._in_double(box, point)[:2]

    def _balance(self, box: Box, point: Point) -> None:
        """Take off what rounding errors have added to the sum of beta."""
        if box.free:
            point.beta[:] = balanced(point.beta, box.low, box.high)

    def _in_double(self, box: Box, point: Point) -> tuple[View, float, np.ndarray]:
        """Compute in double precision the scores of samples that may add to the gap."""
        everyone = np.arange(box.target.size)
        exact = np.zeros(everyone.size, np.bool_)
        some = np.unique(np.linspace(0, everyone.size - 1, _LOOKED_AT).astype(np.int64))
        known = self.scores(everyone, point.beta, some, double=True)
        seen = float(np.abs(known - point.f[some]).max())
        rounding = max(self.blocks.rounding(point.beta), _SAFETY * seen)
        point.f[some], exact[some] = known, True
        while True:
            view = box.view(point.beta, point.f)
            at_rest = box.violations(point.beta, view.slopes) == 0.0
            at_rest &= ~box.is_free(point.beta) & (np.abs(view.slopes) > 2.0 * rounding)
            at_rest |= box.low == box.high
            new = np.flatnonzero(~at_rest & ~exact)
            if new.size == 0:
                return view, rounding, np.flatnonzero(~at_rest)
            point.f[new] = self.scores(everyone, point.beta, new, double=True)
            exact[new] = True


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
