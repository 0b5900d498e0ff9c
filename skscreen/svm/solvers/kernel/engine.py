"""Kernel SVMs by working sets: the one engine, whatever the kernel values come from.

    U            samples whose scores are kept up to date while their problem is solved: all that
                 are undecided where kernel values are in memory; else thousands that are nearest to
                 the margin or on its wrong side;
    working set  a part of U, chosen anew each time and solved with its kernel matrix in memory: by
                 SMO, then by Newton's method.

All other scores are updated after each pass over U. Scores from tiles are in single precision until
the gap is small, each with a bound on its error. A sample at its bound whose score is on the right
side of the margin, error included, adds exactly zero to the gap. The scores of all others are then
computed in double precision, and the last working sets start from them. The gap is the largest one
for scores within their errors. Where single precision of the matrices of working sets no longer
helps they are in double precision.

With slopes g_i = target_i - f_i, less s_i beta_i, steps of SMO move pairs that keep the sum of beta
(of each group, see `Dual`) until no two slopes differ by more than eps; or, without an offset,
until no sample can move along a slope above eps: the first of a pair has the largest slope, the
second the largest gain together with it, and both move to the optimum of their problem.

References
----------
R.-E. Fan, P.-H. Chen, C.-J. Lin. Working set selection using second order information for
training support vector machines. JMLR 6, 2005.
I. Steinwart, D. Hush, C. Scovel. Training SVMs without offset. JMLR 12, 2011.
"""

from dataclasses import dataclass, field
from functools import partial
from math import fsum
from time import perf_counter

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.floats import EPS
from skscreen.samples.kernels.definite import INDEFINITE, IndefiniteError, indefinite_message
from skscreen.samples.kernels.gram import Gram, Places
from skscreen.svm.certificate import Point, certify
from skscreen.svm.dual import Dual, View
from skscreen.svm.solvers.kernel.block_newton import newton_step
from skscreen.svm.solvers.stalls import Stalls

# Size of U, and least size of a working set.
_NEAR, _LEAST = 6000, 1000

# Samples of a working set: few enough for its matrix to be factored, at most 1 GB, and as much for
# the factor.
LARGEST = 16_000

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


@dataclass
class Engine:
    """Solves problems of n samples (see `dual`), in `max_steps` at most.

    `whole`: all samples are in U, scores in double precision, their errors perhaps estimates, and
    matrices K_ij - own_i - own_j in a unit that is a power of two.
    """

    values: Gram | Places
    square_bias: float
    diagonal: np.ndarray  # (n,), K_ii + B^2
    max_steps: int
    tol: float
    least: int = _LEAST
    whole: bool = False
    own: np.ndarray = field(default_factory=lambda: np.empty(0))
    unit: float = 1.0
    # Whether matrices of working sets are in double precision; whether scores are, too, as w is
    # shorter than errors of single precision.
    double: bool = False
    short: bool = False
    # The matrix of a working set, and the samples that it is of.
    memory: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32))
    known: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    n_steps: int = 0
    # Of views of all samples: steps, time, primal value, gap.
    progress: list = field(default_factory=list)

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
        double = double or self.whole or self.short
        values, errors = self.values.dot(I[used], change[used], J, double)
        if self.square_bias:
            # The sum of changes that are rounded would be wrong next to a large bias.
            terms = beta[used] if before is None else np.append(beta[used], -before[used])
            values += self.square_bias * fsum(terms)
        return values, errors + EPS * np.abs(values)

    def point(self, index: np.ndarray, beta: np.ndarray) -> Point:
        """Return a point on the samples `index` from its beta."""
        exact = np.full(beta.size, self.whole)
        return Point(beta, *self.scores(index, beta, index), exact)

    def improve(
        self,
        index: np.ndarray,
        dual: Dual,
        point: Point,
        tol: float,
        certified: bool = False,
    ) -> View:
        """Improve a point on some samples to a relative gap, as scores show it or `certified`."""
        double, before = self.whole or certified, None
        stalls = Stalls(_SLOW if double else _STALLED, each=True)
        for _ in range(_PASSES):
            # A certificate knows which samples add to the gap.
            parts = None
            if certified:
                view, parts = self.certificate_of(dual, point)
            else:
                may_vanish = dual.sums.any() and not dual.target.any()
                vanished = may_vanish and self._has_vanished(index, dual, point)
                view = dual.view(point.beta, point.f)
                if vanished:
                    break
            if index.size == self.diagonal.size:
                self.progress.append((self.n_steps, perf_counter(), view.primal, view.gap))
            if view.gap <= tol * abs(view.primal) or self.n_steps >= self.max_steps:
                break
            if stalls.see(view.gap, before is None or rises(dual, view, before)):
                if not double or self.double:
                    break
                self._to_double()
            before = view
            U = self._near(dual, point, view, parts)
            if U.size == 0:
                break
            self._pass(index, dual, point, view, U, tol, double)
        return view

    def certificate_of(self, dual: Dual, point: Point) -> tuple[View, np.ndarray]:
        """Balance a point; return its certificate and what samples add to the gap at most, (n,)."""
        beta = dual.balanced(point.beta)
        # |K_ij| is at most the product of the roots of K_ii and K_jj.
        roots = np.sqrt(self.diagonal)
        point.errors += float(np.abs(beta - point.beta) @ roots) * roots
        point.beta[:] = beta
        dual.check_length(float(beta @ point.f), beta, roots)
        everyone = np.arange(beta.size)
        return certify(dual, point, self.tol, lambda J: self.scores(everyone, beta, J, double=True))

    def _to_double(self) -> None:
        """Have matrices in double precision from now on."""
        self.double = True
        self.memory, self.known = np.empty(0), np.empty(0, np.int64)

    def _has_vanished(self, index: np.ndarray, dual: Dual, point: Point) -> bool:
        """Refuse w = 0 of all samples; return whether w is shorter than its rounding errors.

        Where it is shorter than those of single precision it is known in double precision then.
        """
        square, is_all = float(point.beta @ point.f), index.size == self.diagonal.size
        if is_all:
            dual.check_length(square, point.beta, np.sqrt(self.diagonal))
        if self.whole or square > float(np.abs(point.beta) @ point.errors):
            return False
        if self.short or not is_all:
            return True
        self._measure_again(index, point)
        return False

    def _measure_again(self, index: np.ndarray, point: Point) -> None:
        """Have scores, and all that follow, in double precision."""
        self.short, self.least = True, 300
        self._to_double()
        point.f[:], point.errors[:] = self.scores(index, point.beta, index)
        point.exact[:] = True

    def _near(self, dual: Dual, point: Point, view: View, parts: np.ndarray | None) -> np.ndarray:
        """Return U: free samples, and violators and the next to the margin, or what has `parts`."""
        moves = dual.low < dual.high
        if self.whole or (parts is None and dual.shifts.size):
            return np.flatnonzero(moves)
        slopes, rises, falls = view.slopes, point.beta < dual.high, point.beta > dual.low
        free = rises & falls
        if parts is not None:
            return np.flatnonzero(((parts > 0.0) | free) & moves)
        violates = (rises & (slopes > 0.0)) | (falls & (slopes < 0.0))
        rank = np.where(violates, -np.abs(slopes), np.abs(slopes))
        rank[free] = -np.inf
        rank[~moves] = np.inf
        # Violators that are left out come back as gaps that hardly fall.
        size = max(int(1.5 * free.sum()), int(np.count_nonzero(violates)) // 2)
        return smallest(rank, max(size, _NEAR * self.least // _LEAST))

    def _pass(self, index, dual: Dual, point: Point, view: View, U, tol, double: bool) -> None:
        """Solve the problem on U by working sets, and update all other scores."""
        beta, f, errors = point.beta[U], point.f[U], point.errors[U]
        part = dual.take(U, point.beta)
        allowed, enough = tol * abs(view.primal), None
        for _ in range(_SETS):
            near = part.view(beta, f)
            if enough is None:
                left = _LEFT * U.size / index.size
                enough = max(left * near.gap, _SHARE * allowed)
            elif near.gap <= enough or self.n_steps >= self.max_steps:
                break
            gradient = near.slopes - part.shifts * beta if part.shifts.size else near.slopes
            W, eps = choose(part, beta, gradient, allowed, self.least)
            I = index[U[W]]
            with np.errstate(over="ignore", invalid="ignore"):
                moved = self._solve_set(I, part.take(W), beta[W], gradient[W], eps)
                change = moved - beta[W]
                if not change.any():
                    break
                values, more = self.scores(I, moved, index[U], double, before=beta[W])
                square = float(change @ values[W] + np.abs(change) @ more[W])
                size = float(np.abs(change) @ np.sqrt(self.diagonal[I]))
            if not np.isfinite(square + size * size):
                # Along a direction in which rounding errors are all that a flat kernel has.
                break
            if square < -INDEFINITE * (size * size):
                raise IndefiniteError(indefinite_message("the square of a norm is negative"))
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

    def _solve_set(
        self, W: np.ndarray, dual: Dual, beta: np.ndarray, g: np.ndarray, eps: float
    ) -> np.ndarray:
        """Return beta (m,) of samples W, from slopes g, with slopes no further apart than eps."""
        m, unit = W.size, self.unit
        # Rows are padded to a multiple of the lanes.
        n = m + -m % loops.SMO_LANES
        if self.memory.size < m * n:
            # Fresh memory comes page by page, which takes as long as filling it.
            self.memory = np.empty(m * n, np.float64 if self.double else np.float32)
        K = self.memory[: m * n].reshape(m, n)
        sizes = self.diagonal[W] + (dual.shifts if dual.shifts.size else 0.0)
        both = (self.own[W], self.own[W]) if self.whole else None
        if both is not None:
            sizes = sizes - 2.0 * both[0]
        diagonal = np.ones(n, K.dtype)
        # A sample at the origin moves to a bound at once.
        diagonal[:m] = np.maximum(sizes / unit, 1e-30)
        if not np.array_equal(W, self.known):
            K[:, m:] = 0.0
            self.values.block(W, W, K, both, 1.0 / unit)
            if self.square_bias:
                K[:, :m] += K.dtype.type(self.square_bias / unit)
            self.known = W
        K[np.arange(m), np.arange(m)] = diagonal[:m]
        padded = np.zeros((4, n))
        padded[:, :m] = unit * dual.low, unit * dual.high, unit * beta, g
        low, high, beta, g = padded
        loop = loops.pairs_with_offset if dual.free else loops.pairs_without_offset
        if dual.group.size:
            loop = partial(_in_groups, dual.group)
        groups = dual.group if dual.group.size else np.zeros(m if dual.free else 0, np.int8)
        # Sets of values in memory are changed often, and each is solved from where others came.
        sweeps = 4 if self.whole else 10
        for _ in range(12):
            # The more samples, the longer a factor takes.
            most = min(int(sweeps + 0.0025 * m) * m, self.max_steps - self.n_steps)
            steps = loop(K, diagonal, low, high, beta, g, eps, most)
            self.n_steps += steps
            # Values that overflow leave nothing to go on from.
            if steps < most or self.n_steps >= self.max_steps or not np.isfinite(g).all():
                break
            self.n_steps += newton_step(K, low[:m], high[:m], beta[:m], g, groups)
        return np.clip(beta[:m] / unit, dual.low, dual.high)


def rises(dual: Dual, view: View, before: View) -> bool:
    """Whether a pass has raised the dual value by more than hardly anything."""
    # Far from the solution the gap may rise, but the dual value does not fall. It cannot rise by
    # more than to the primal value of beta = 0, perhaps far below that of the point.
    risen = view.dual - before.dual
    left = float(dual.losses(dual.target).sum()) - before.dual
    # Values that overflow are no reason to end.
    return not risen < _RISEN * min(before.gap, left)


def _in_groups(group: np.ndarray, *known) -> int:
    """Move pairs of one group each; see `pairs_with_offset`."""
    *arrays, eps, most = known
    return loops.pairs_in_groups(*arrays, group, eps, most)


def choose(
    dual: Dual, beta: np.ndarray, slopes: np.ndarray, allowed: float, least: int
) -> tuple[np.ndarray, float]:
    """Return free samples, the largest violators and those nearest to the margin; and eps."""
    rises, falls = beta < dual.high, beta > dual.low
    free = rises & falls
    n_free = int(np.count_nonzero(free))
    size = min(max(least, int(1.6 * n_free) + least // 5), LARGEST)
    # The largest slope along which a sample can move.
    worst = max(slopes.max(where=rises, initial=0.0), -slopes.min(where=falls, initial=0.0))
    # Slopes of so many samples apart by eps leave less than half of the gap that is allowed.
    if dual.shifts.size:
        enough = np.sqrt(allowed / (1.0 / dual.shifts[free]).sum()) if n_free else 0.0
    else:
        width = dual.high - dual.low
        enough = 0.5 * allowed / max(width[free].sum(), 0.1 * size * width.mean())
    eps = min(max(enough, 0.03 * worst), 0.5 * worst)
    # As many that may rise as may fall: with an intercept they move in pairs.
    most, chosen = n_free + max(size - n_free, 0) // 4, np.zeros(beta.size, np.bool_)
    for slope, moves in ((slopes, rises), (-slopes, falls)):
        rank = np.where(moves, -slope, np.inf)
        rank[free] = -np.inf if n_free < size else -np.abs(slopes[free])
        chosen[smallest(rank, min(most, size))] = True
    rest = np.abs(slopes)
    rest[chosen] = -np.inf
    return smallest(rest, size), eps


def smallest(rank: np.ndarray, size: int) -> np.ndarray:
    """Return where the smallest entries are, in increasing order of place."""
    if size >= rank.size:
        return np.arange(rank.size)
    return np.sort(np.argpartition(rank, size)[:size])
