"""Kernel SVMs of many samples: nested levels, and working sets of those near the margin.

Only one operation reads long rows of the kernel matrix: the update of the scores of other samples
after a change of beta, in blocks (`kernel_blocks`). Samples at their bounds need it once.

    levels       random subsets of growing size, with bounds C n / n_level: the solution of one
                 level gives scores of the next one's samples, which tell which are at bounds;
    U            thousands of samples of a level that are nearest to the margin or on its wrong
                 side: until their problem is solved only their scores are updated;
    working set  a part of U, chosen anew each time and solved with its kernel matrix in memory.

Scores are in single precision until the gap is small, each with a bound on its error. A sample at
its bound whose score is on the right side of the margin, error included, adds exactly zero to the
gap. The scores of all others are then computed in double precision, and the last working sets start
from them. The gap is the largest one for scores within their error bounds.
"""

from dataclasses import dataclass, replace
from math import fsum

import numpy as np

from skscreen.core.floats import EPS
from skscreen.samples.kernel_blocks import KernelBlocks
from skscreen.svm.solvers.kernel.box import Box, View
from skscreen.svm.solvers.kernel.state import feasible
from skscreen.svm.solvers.kernel.working_set import WorkingSets, choose, smallest

# Sizes of the levels before the last one, which has all samples; least ratio of two sizes.
LEVELS, _GROWTH = (1000, 4000, 16000), 1.5

# Least number of samples of either sign on a level, if there are as many.
_FEW = 250

# Relative gap of levels before the last one.
_ROUGH = 3e-2

# Size of U, and least size of a working set.
_NEAR, _LEAST = 6000, 1000

# Number of samples between their bounds at the start of a level: a multiple of the free samples of
# the level before, and the least number.
_BAND, _FEWEST = 3, 300

# A level starts from the solution before if this share of it is inside the new bounds.
_KEPT = 0.5

# Largest number of passes over a level, and of working sets in a U.
_PASSES, _SETS = 40, 12
# A level ends if a pass leaves more than the first share of the gap, and the dual value rises by
# less than the second.
_STALLED, _RISEN = 0.98, 0.02

# Working sets of a U end at this share of the first gap on U, or at this share of the tolerance.
_LEFT, _SHARE = 0.1, 0.3

# Smallest relative gap that is computed in single precision.
DIGITS = 1e-4
# Largest number of passes in double precision; they end if one leaves more than a share `_SLOW`.
_DOUBLE_PASSES, _SLOW = 30, 0.7

# Largest uncertainty of the primal value, as a share of it.
_UNSURE = 0.1
# Relative tolerances below which the primal value has to be known precisely.
_FINE = 1e-6

# Largest factor of `_stretch`.
_STRETCHED = 1.0 + 1e-6

# Halvings of the interval of an intercept.
_HALVINGS = 40
# Least width of a band of slopes, and a tiny number that avoids division by zero.
_NARROW, _TINY = 1e-12, 1e-300


@dataclass
class Point:
    """A point on some samples.

    Parameters
    ----------
    beta : ndarray of shape (m,)
    f : ndarray of shape (m,)
        Its scores, without intercept.
    errors : ndarray of shape (m,)
        Bounds on their errors.
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
        Least size of a working set; smaller for problems with few support vectors.
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
        """Return the contributions of beta at I to the scores of J, and bounds on their errors."""
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
        """Return a point on new samples, which include those of the level before.

        It is the old point if little of it is outside the new bounds. Otherwise scores decide at
        which bound a sample is; samples near the margin are between their bounds.
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
        band = max(np.partition(np.abs(g), size)[size], _NARROW)
        # The sum is what a penalised intercept is a multiple of.
        total = float(point.beta.sum()) if box.free or self.square_bias else None
        return self.point(new, _by_scores(g, band, box, total))

    def improve(self, index: np.ndarray, box: Box, point: Point, tol: float) -> View:
        """Improve a point on a level to a relative gap, computed in single precision."""
        view, before = box.view(point.beta, point.f), None
        for _ in range(_PASSES):
            if view.gap <= tol * view.primal or self._halted(box, view, before, _STALLED):
                break
            before = view
            self._pass(index, box, point, view, self._near(box, point, view), tol)
            view = box.view(point.beta, point.f)
        return view

    def _halted(self, box: Box, view: View, before: View | None, most: float) -> bool:
        """Whether steps are used up, or a pass has reduced the gap and raised the dual too little.

        Far from the solution the gap may rise, but the dual value does not fall. It cannot rise by
        more than to the primal value of beta = 0, which may be far below that of the point.
        """
        if self.n_steps >= self.max_steps or before is None:
            return self.n_steps >= self.max_steps
        dual = before.primal - before.gap
        risen, left = view.primal - view.gap - dual, float(box.losses(box.target).sum()) - dual
        return view.gap > most * before.gap and risen < _RISEN * min(before.gap, left)

    def _near(self, box: Box, point: Point, view: View) -> np.ndarray:
        """Return free samples, violators, and the samples next to the margin."""
        violations, free = box.violations(point.beta, view.slopes), box.is_free(point.beta)
        rank = np.where(violations > 0.0, -violations, np.abs(view.slopes))
        rank[free] = -np.inf
        rank[box.low == box.high] = np.inf
        # Violators that are left out come back as gaps that hardly fall.
        size = max(int(1.5 * np.count_nonzero(free)), np.count_nonzero(violations) // 2)
        return smallest(rank, max(size, _NEAR * self._least // _LEAST))

    def _pass(self, index, box: Box, point: Point, view: View, U, tol, double=False) -> None:
        """Solve the problem on U by working sets, and update all other scores."""
        beta, f, errors = point.beta[U], point.f[U], point.errors[U]
        part = box.take(U, point.beta.sum() - beta.sum())
        enough = None
        for _ in range(_SETS):
            near = part.view(beta, f)
            if enough is None:
                enough = max(_LEFT * near.gap, _SHARE * tol * view.primal)
            elif near.gap <= enough or self.n_steps >= self.max_steps:
                break
            W, eps = choose(part, beta, near.slopes, tol * view.primal, self._least)
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

    def finish(self, box: Box, point: Point) -> View:
        """Bring a point on all samples to the tolerance, and return its certificate."""
        before, n = None, box.target.size
        for _ in range(_DOUBLE_PASSES):
            self._balance(box, point)
            view, parts = self._certified(box, point)
            if view.gap <= self.tol * view.primal or self._halted(box, view, before, _SLOW):
                break
            before = view
            J = np.flatnonzero((parts > 0.0) | box.is_free(point.beta))
            self._pass(np.arange(n), box, point, view, J, self.tol, double=True)
        if view.gap > self.tol * view.primal and self._stretch(box, point, view):
            view = self._certified(box, point)[0]
        return view

    def _stretch(self, box: Box, point: Point, view: View) -> bool:
        """Scale beta up until no score is short of its target, if the bounds allow it.

        With a huge C a score that is short by a rounding error costs more than the tolerance.
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
        """Remove rounding errors from the sum of beta."""
        if not box.free:
            return
        beta = balanced(point.beta, box.low, box.high)
        # |K_ij| is at most the product of the roots of K_ii and K_jj.
        moved = float(np.abs(beta - point.beta) @ self._roots)
        point.beta[:] = beta
        point.errors += moved * self._roots

    def _certified(self, box: Box, point: Point) -> tuple[View, np.ndarray]:
        """Return the certificate, and the largest contribution of each sample to the gap.

        Scores whose errors matter are computed in double precision, unless the gap is small enough.
        """
        everyone = np.arange(box.target.size)
        while True:
            view = box.view(point.beta, point.f)
            parts = box.slackness(point.beta, view.slopes, point.errors)
            gap = float(parts.sum())
            losses = box.losses(view.slopes, point.errors) - box.losses(view.slopes)
            unsure = 0.5 * (float(losses.sum()) + gap - view.gap)
            # The uncertainty of the primal value is added to the gap.
            sure = unsure <= _UNSURE * view.primal
            if unsure > 0.0:
                gap = gap / (1.0 - unsure / view.primal) if sure else np.inf
            view = replace(view, gap=gap)
            digits = not sure or self.tol < _FINE
            new = (parts > 0.0) & (view.gap > self.tol * view.primal) | (losses > 0.0) & digits
            new = np.flatnonzero(new & ~point.exact)
            if new.size == 0:
                return view, parts
            point.f[new], point.errors[new] = self.scores(everyone, point.beta, new, double=True)
            point.exact[new] = True


def _some(order: np.ndarray, box: Box, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples that represent all, ascending, and the number that each of them represents.

    These are the first ones of an order, but at least `_FEW` of either sign, as a level of one
    sign has no margin.
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


def balanced(beta: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return a point of the box whose sum is zero up to rounding errors.

    Samples stay at their bounds if possible.
    """
    excess = beta.sum()
    room = np.minimum(beta - low, high - beta)
    if abs(excess) <= room.sum():
        return np.clip(beta - excess * room / max(room.sum(), _TINY), low, high)
    signs = np.where(high > 0.0, 1.0, -1.0)
    return signs * feasible(signs * beta, high - low, signs, 0.0)


def _by_scores(g: np.ndarray, band: float, box: Box, total: float | None) -> np.ndarray:
    """Return beta at its bounds by the sign of g, and linear in g for |g| < band.

    For a sum of `total` g is shifted by a constant, found by bisection.
    """
    width = box.high - box.low

    def point(b: float) -> np.ndarray:
        return box.low + np.clip(0.5 + 0.5 * (g - b) / band, 0.0, 1.0) * width

    if total is None:
        return point(0.0)
    low, high = g.min() - band, g.max() + band
    for _ in range(_HALVINGS):
        b = 0.5 * (low + high)
        low, high = (b, high) if point(b).sum() > total else (low, b)
    return balanced(point(b), box.low, box.high) if box.free else point(b)
