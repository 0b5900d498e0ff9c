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
from skscreen.svm.solvers.kernel.class_pair_loops import LARGEST, solve_pair, sums
from skscreen.svm.solvers.kernel.levels import DIGITS, LevelSolver, Point, balanced
from skscreen.svm.solvers.solution import SampleSolution

# Samples of a class whose kernel values are kept: 36 MB.
_WHOLE = 3000

# Steps of SMO for each sample where no limit is given.
_STEPS_A_SAMPLE = 1000

# Of the tolerance, what single precision may leave.
_SHARE = 0.5


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
        blocks, diagonal = PartBlocks(self._blocks, rows), self._diagonal[rows]
        limit = self._max_iter or _STEPS_A_SAMPLE * rows.size
        own = [self._own[c] for c in self._division.pairs[problem]]
        is_whole, across, last = own[0] is not None and own[1] is not None, None, None
        if is_whole:
            members = [self._division.members[c] for c in self._division.pairs[problem]]
            across = self._block(*members)
        everyone = np.arange(rows.size)
        for C in Cs:
            began, n_iter, enough = perf_counter(), 0, max(_SHARE * tol, DIGITS)
            box = Box(signs, np.minimum(C * weights, 0.0), np.maximum(C * weights, 0.0), self._free)
            solver = LevelSolver(blocks, diagonal, self._bias**2, tol, limit)
            beta = np.zeros(rows.size)
            if last is not None:
                # The box is larger in the same proportion.
                beta = np.clip(C / last[0] * last[1], box.low, box.high)
            elif start is not None:
                beta = np.clip(signs * start, box.low, box.high)
                beta = balanced(beta, box.low, box.high) if self._free else beta
            if is_whole:
                n_iter = self._solve_whole(*own, across, box, beta, enough, limit)
                point = self._point(*own, across, beta, rows) or solver.point(everyone, beta)
            else:
                point = solver.point(everyone, beta) if beta.any() else solver.from_nothing(box)
                solver.improve(everyone, box, point, enough)
            view, last = solver.finish(box, point), (C, point.beta)
            yield SampleSolution(
                alpha=np.clip(signs * point.beta, 0.0, np.abs(C * weights)),
                margins=np.empty(0),
                w=None,
                certificate=Certificate(view.primal, view.primal - view.gap, view.gap),
                n_iter=n_iter + solver.n_steps,
                converged=bool(view.gap <= tol * view.primal),
                seconds=perf_counter() - began,
                b=view.b if self._free else self._bias**2 * float(point.beta.sum()),
                C=C,
            )

    def _point(self, first, second, across, beta, rows) -> Point | None:
        """Return a point whose scores are sums of the kernel values at hand.

        None where bounds on their errors are not known.
        """
        if not isinstance(self._blocks, RBFBlocks):
            return None
        relative = self._blocks.relative_errors(rows)
        if not np.isfinite(relative).all():
            return None
        # Sums over one class have terms of one sign.
        positive, negative = sums(first, second, across, beta)
        size = positive + negative
        errors = (relative.max() + relative + EPS * beta.size) * size
        f = positive - negative + self._bias**2 * fsum(beta)
        return Point(beta, f, errors + EPS * np.abs(f), np.zeros(beta.size, np.bool_))

    def _solve_whole(self, first, second, across, box: Box, beta, tol, limit) -> int:
        """Improve a point by kernel values at hand; return the steps."""
        size = min(beta.size, LARGEST)
        memory = np.empty(size * (size + LANES), np.float32)
        return solve_pair(
            first, second, across, self._bias**2, box.target, box.low, box.high, beta, box.free,
            tol, limit, memory,
        )  # fmt: skip
