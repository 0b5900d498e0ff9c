"""Problems one against one with a kernel, which share what they know of the classes.

Kernel values inside a class serve all problems of that class and are computed once, in single
precision; those between two classes serve one. A problem is solved with these (see
`class_pair_loops`), then finished and certified in double precision (see `levels`). Problems of
classes too large for a matrix are solved by levels.
"""

from collections.abc import Iterable, Iterator
from math import fsum
from time import perf_counter

import numpy as np

from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS
from skscreen.core.memory import check_memory
from skscreen.samples.kernel_blocks import KernelBlocks, RBFBlocks
from skscreen.samples.multiclass import OneVsOne
from skscreen.svm.solvers.kernel.block_smo_loops import LANES
from skscreen.svm.solvers.kernel.box import Box
from skscreen.svm.solvers.kernel.class_pair_loops import LARGEST, certificate, solve_pair, sums
from skscreen.svm.solvers.kernel.levels import DIGITS, LevelSolver, balanced
from skscreen.svm.solvers.solution import SampleSolution, growth

# Samples of a class whose kernel values are kept: 36 MB.
_WHOLE = 3000

# Samples of a working set of larger classes: most problems of two have few support vectors.
_SET = 300

# Steps of SMO for each sample where no limit is given.
_STEPS_A_SAMPLE = 1000

# Samples up to which a problem is solved to this part of the tolerance, as that takes no time.
_SMALL, _MORE_DIGITS = 100, 1e-4

# Of the tolerance, what single precision may leave.
_SHARE = 0.5

# What powers of two are cut off at; relative gaps below which digits of the primal value count.
_TINIEST, _FINE = 2.0**-125, 1e-6

# Passes in single precision, each from scores of the last in double precision; the part of a gap
# that each has to leave at most.
_PASSES, _SLOW = 10, 0.7


class PartBlocks:
    """Kernel values between some of the samples, by their places among these."""

    def __init__(self, blocks: KernelBlocks, rows: np.ndarray):
        self._blocks, self._rows, self.n = blocks, rows, rows.size

    def dot(self, I, c, J, double=False) -> tuple[np.ndarray, np.ndarray]:
        """Return sum_{i in I} c_i K(x_i, x_j) for j in J, and bounds on the errors."""
        return self._blocks.dot(self._rows[I], c, self._rows[J], double)

    def block(self, I, J, out: np.ndarray) -> None:
        """Write K between samples to the first columns of `out`, a float32 array."""
        self._blocks.block(self._rows[I], self._rows[J], out)


class ClassPairs:
    """Solves the problems of pairs of classes.

    Parameters
    ----------
    blocks : KernelBlocks
        Of all samples.
    diagonal : ndarray of shape (n,)
        K_ii.
    division : OneVsOne
    bias : float
        B of a penalised intercept, 0 for none.
    free : bool
        Whether the intercept is unpenalised.
    max_iter : int or None
        Most steps for one value of C.
    """

    def __init__(self, blocks, diagonal, division: OneVsOne, bias: float, free: bool, max_iter):
        self._blocks, self._diagonal, self._division = blocks, diagonal, division
        self._bias, self._free, self._max_iter = bias, free, max_iter
        sizes = [rows.size for rows in division.members if rows.size <= _WHOLE]
        what = f"Kernel matrices inside {len(sizes):,} classes"
        check_memory(4.0 * sum(size**2 for size in sizes), what, "Use fewer samples.")
        self._own = [
            self._block(rows, rows) if rows.size <= _WHOLE else None for rows in division.members
        ]

    def _block(self, I, J) -> np.ndarray:
        out = np.empty((I.size, J.size), np.float32)
        self._blocks.block(I, J, out)
        return out

    def follow(
        self, problem: int, Cs: Iterable[float], tol: float, start: np.ndarray | None = None
    ) -> Iterator[SampleSolution]:
        """Solve one problem for one C after the other, each from the one before.

        Parameters
        ----------
        problem : int
        Cs : iterable of float
        tol : float
            Relative duality gap.
        start : ndarray of shape (n_pair,), optional
            Dual variables to start the first C from.
        """
        rows, signs = self._division.rows(problem), self._division.signs(problem)
        weights = signs * self._division.weights(problem)
        limit = self._max_iter or _STEPS_A_SAMPLE * rows.size
        own = [self._own[c] for c in self._division.pairs[problem]]
        pair = last = None
        if own[0] is not None and own[1] is not None:
            across = self._block(
                *(self._division.members[c] for c in self._division.pairs[problem])
            )
            pair = _Pair(*own, across, self._blocks, rows, self._bias**2)
        for C in Cs:
            began = perf_counter()
            box = Box(signs, np.minimum(C * weights, 0.0), np.maximum(C * weights, 0.0), self._free)
            beta = np.zeros(rows.size)
            if last is not None:
                caps = np.abs(last[0] * weights)
                factor = growth(np.abs(last[1]), caps, C / last[0])
                beta = np.clip(factor * last[1], box.low, box.high)
            elif start is not None:
                beta = np.clip(signs * start, box.low, box.high)
                beta = balanced(beta, box.low, box.high) if self._free else beta
            if pair is not None:
                b, gap, primal, n_iter = pair.solve(box, beta, tol, limit)
            else:
                b, gap, primal, n_iter = self._by_levels(rows, box, beta, tol, limit)
            last = C, beta
            yield SampleSolution(
                alpha=np.clip(signs * beta, 0.0, np.abs(C * weights)),
                margins=np.empty(0),
                w=None,
                certificate=Certificate(primal, primal - gap, gap),
                n_iter=n_iter,
                converged=bool(gap <= tol * primal),
                seconds=perf_counter() - began,
                b=b if self._free else self._bias**2 * fsum(beta),
                C=C,
            )

    def _by_levels(self, rows, box: Box, beta, tol, limit) -> tuple[float, float, float, int]:
        """Solve a problem by levels; return intercept, gap, primal value and steps."""
        blocks, everyone = PartBlocks(self._blocks, rows), np.arange(rows.size)
        solver = LevelSolver(blocks, self._diagonal[rows], self._bias**2, tol, limit, _SET)
        point = solver.point(everyone, beta) if beta.any() else solver.from_nothing(box)
        solver.improve(everyone, box, point, max(_SHARE * tol, DIGITS))
        found = solver.finish(box, point)
        beta[:] = point.beta
        return found.b, found.gap, found.primal, solver.n_steps


class _Pair:
    """A problem between two classes whose kernel values are at hand.

    Parameters
    ----------
    first, second, across : float32 ndarray
        Kernel values inside the classes, and between them.
    blocks : KernelBlocks
        Of all samples.
    rows : ndarray of shape (n_pair,)
        Samples of both classes.
    square_bias : float
    """

    def __init__(self, first, second, across, blocks: KernelBlocks, rows, square_bias: float):
        self._values, self._blocks, self._rows = (first, second, across), blocks, rows
        self._square_bias, self._relative = square_bias, [np.full(rows.size, np.inf)] * 2
        if isinstance(blocks, RBFBlocks):
            self._relative = [blocks.relative_errors(rows, double) for double in (False, True)]
        self._known = bool(np.isfinite(self._relative[0]).all())

    def solve(self, box: Box, beta, tol: float, limit: int) -> tuple[float, float, float, int]:
        """Improve beta; return intercept, bounds on gap and primal value, and steps.

        Scores are sums of the kernel values at hand, until the gap is small or their errors count;
        then those that may add to the gap are computed in double precision.
        """
        steps, before, parts = 0, np.inf, np.empty(beta.size)
        tol *= _MORE_DIGITS if beta.size <= _SMALL else 1.0
        limits = box.target, box.low, box.high, beta
        memory = np.empty((min(beta.size, LARGEST) + LANES) ** 2, np.float32)
        f, errors = self._scores(beta)
        for _ in range(_PASSES):
            g, enough = box.target - f, max(_SHARE * tol, DIGITS if before == np.inf else 0.0)
            steps += solve_pair(
                *self._values, self._square_bias, *limits, g, box.free, enough, limit - steps,
                memory,
            )  # fmt: skip
            f, errors = self._scores(beta)
            b, gap, primal = certificate(*limits, f, errors, box.free, parts)
            exact = np.full(beta.size, not self._known)
            while gap > tol * primal:
                # Where the primal value or its digits are asked for, all errors count.
                doubtful = (parts > 0.0) | (gap == np.inf or tol < _FINE)
                J = np.flatnonzero(doubtful & ~exact)
                if J.size == 0:
                    break
                f[J], errors[J] = self._in_double(beta, J)
                exact[J] = True
                b, gap, primal = certificate(*limits, f, errors, box.free, parts)
            if gap <= tol * primal or not gap < _SLOW * before or steps >= limit:
                break
            before = gap
        return b, gap, primal, steps

    def _scores(self, beta) -> tuple[np.ndarray, np.ndarray]:
        """Return scores by the kernel values at hand, and bounds on their errors."""
        if not self._known:
            return self._in_double(beta, np.arange(beta.size))
        # Sums over one class have terms of one sign.
        positive, negative = sums(*self._values, beta)
        return self._bounded(positive, negative, beta, self._relative[0])

    def _in_double(self, beta, J) -> tuple[np.ndarray, np.ndarray]:
        """Return the same for the samples J in double precision."""
        used, rows = np.flatnonzero(beta), self._rows
        if not self._known:
            f, errors = self._blocks.dot(rows[used], beta[used], rows[J], double=True)
            f += self._square_bias * fsum(beta)
            return f, errors + EPS * np.abs(f)
        K = self._blocks.block_double(rows[used], rows[J])
        change = beta[used]
        sides = np.stack([np.maximum(change, 0.0), np.maximum(-change, 0.0)]) @ K
        return self._bounded(*sides, beta, self._relative[1], J)

    def _bounded(self, positive, negative, beta, relative, J=slice(None)):
        """Return differences of sums of known relative errors, and bounds on theirs."""
        relative = relative.max() + relative[J] + EPS * beta.size
        shift = self._square_bias * fsum(beta)
        f = positive - negative + shift
        errors = relative * (positive + negative) + EPS * (np.abs(f) + abs(shift))
        return f, errors + _TINIEST * np.abs(beta).sum()
