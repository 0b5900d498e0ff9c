"""Newton's method for linear large-margin problems that are known by sums over their rows.

All problems (classes against the rest, values of C) are solved in the same passes. With the sums
of `linear_passes` at w, u = C sum_i s_i a_i y_i (x_i, B), and the dual variables C s_i a_i,

    squared hinge   P - D = 1/2 |w - u|^2,
    hinge           P - D = 1/2 |w - u|^2 + C sum_i s_i (max(0, h_i) - a_i h_i),

both sums of non-negative terms. The squared hinge is solved by Newton's method on P (Mangasarian
2002), the hinge by proximal steps on the dual, each a smoothed hinge that Newton's method solves
(Li, Sun, Toh 2018), with a width that shrinks. A step that is too long is tried once more, at the
root of the slope along it. The papers are those of `DistributedLinearSVC`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skscreen.core.floats import EPS
from skscreen.core.memory import check_memory
from skscreen.distributed.linear_passes import (
    LENGTHS,
    Passed,
    PassRequest,
    RowSums,
    linear_pass,
    linear_product,
)
from skscreen.distributed.parts import Parts, sent
from skscreen.distributed.rows import Block


@dataclass(frozen=True)
class Problems:
    """All n problems that share the rows."""

    positive: np.ndarray  # (n,) code of the class against the rest
    Cs: np.ndarray  # (n,)
    scale: float  # entry of every row for the intercept; 0 for none
    hinge: bool  # or else the squared hinge
    width: int  # number of weights D, with that of the intercept

    @property
    def with_matrix(self) -> bool:
        """Whether Newton systems are formed; else conjugate gradients take a pass a product."""
        return self.width <= 3000

    def check_memory(self) -> None:
        """Raise MemoryError if the Newton systems would not fit into the driver's memory."""
        if self.with_matrix:
            n = self.Cs.size
            what = f"{n} Newton systems of {self.width:,} equations"
            check_memory(40.0 * n * self.width**2, what, "Use fewer values of C at a time.")


@dataclass(frozen=True)
class Incumbent:
    """The best weights (n, D) so far, with their primal and dual objectives (n,)."""

    W: np.ndarray
    primal: np.ndarray
    dual: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        """Return the relative duality gaps (n,)."""
        tiny = np.finfo(np.float64).tiny
        return np.maximum(self.primal - self.dual, 0.0) / np.maximum(self.primal, tiny)


class Newton:
    """All problems on their way from W (n, D), to relative gaps of `tol`."""

    def __init__(
        self, rows: LocalRows | ClusterRows, problems: Problems, W: np.ndarray, tol: float
    ):
        self._rows, self._problems, self._tol = rows, problems, tol
        n = problems.Cs.size
        # Of the smoothed hinge, in units of the margin: from a good start, and from nothing.
        self._widths = np.full(n, 0.3 if W.any() else 10.0)
        # Where each problem is, its step from there, and the length that is tried.
        self._W, self._step, self._length = W.copy(), np.zeros_like(W), np.ones(n)
        self._objective = np.full(n, np.inf)
        self._taken, self._moved = np.zeros(n, bool), np.zeros(n, bool)
        self._n_passes = np.zeros(n, int)
        self.best = Incumbent(W.copy(), np.full(n, np.inf), np.full(n, -np.inf))

    def passes(self, max_iter: int) -> Iterator[Incumbent]:
        """Yield the best iterate after each pass, of `max_iter` at most."""
        failures, columns = 0, np.arange(self._problems.Cs.size)
        for _ in range(max_iter):
            better = self._pass(columns)
            failures = 0 if better else failures + 1
            yield self.best
            columns = np.flatnonzero(self.best.gap > self._tol)
            # After so many passes without a smaller gap only rounding errors are left.
            if columns.size == 0 or failures == 15:
                return

    def _pass(self, columns: np.ndarray) -> bool:
        """Evaluate the trial points of some problems and choose the next; return if a gap fell."""
        problems, C, n = self._problems, self._problems.Cs[columns], columns.size
        W = self._W[columns] + self._length[columns, None] * self._step[columns]
        widths = self._widths[columns]
        # Much narrower after a proximal step of at most three passes.
        narrow = widths * np.where(self._n_passes[columns] < 3, 0.1, 0.3)
        request = PassRequest(
            columns, problems.positive[columns], self._taken[columns], self._moved[columns],
            np.column_stack((widths, narrow) if problems.hinge else (np.empty((n, 0)),)),
            problems.scale, problems.with_matrix,
        )  # fmt: skip
        sums = self._rows.evaluate(W, request)
        self._n_passes[columns] += 1
        points = [_Point.of(W, C, own) for own in sums]
        better = [self._improve(columns, point) for point in points]
        here = points[0]
        taken, length = self._judge(columns, W, C[:, None] * sums[0].slopes)
        moves = np.zeros(n, bool)
        if problems.hinge:
            moves = taken & here.solved(self._tol)
            self._widths[columns] = np.where(moves, narrow, widths)
            self._n_passes[columns[moves]] = 0
        self._taken[columns], self._moved[columns] = taken, moves
        # By more than rounding errors.
        fell = here.objective < (1.0 - 1e-11) * self._objective[columns]
        self._length[columns] = length
        if taken.any():
            self._go_on(columns, W, points, taken, moves)
        return any(better) or bool(fell.any())

    def _improve(self, columns: np.ndarray, point: _Point) -> bool:
        """Keep points with a smaller gap than the best so far; return whether there is one."""
        best = self.best
        better = point.gap < (best.primal - best.dual)[columns]
        own = columns[better]
        best.W[own] = point.W[better]
        best.primal[own], best.dual[own] = point.primal[better], (point.primal - point.gap)[better]
        return bool(better.any())

    def _judge(
        self, columns: np.ndarray, W: np.ndarray, slopes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return which steps (n,) are taken, and the lengths to try of those that are too long."""
        # `slopes` (n, lengths) are those of the losses along W - start. The slope of the objective
        # is piecewise linear and ascending: its root is between lengths where it is known.
        change = W - self._W[columns]
        square, linear = _dots(change, change), _dots(change, self._W[columns])
        total = slopes + linear[:, None] + LENGTHS * square[:, None]
        last = self._length[columns]
        # A step is too long where the slope at its end is not small beside that at its start. After
        # a first trial it is taken whatever it is: it is at the least of the objective.
        taken = (total[:, -1] <= -0.3 * total[:, 0]) | (last < 1.0)
        taken |= ~np.isfinite(self._objective[columns])
        lengths = np.ones(columns.size)
        for p in np.flatnonzero(~taken):
            k = max(int(np.argmax(total[p] > 0.0)), 1)
            low, high = total[p, k - 1 : k + 1]
            share = -low / (high - low) if high > low and low < 0.0 else 0.5
            lengths[p] = LENGTHS[k - 1] + share * (LENGTHS[k] - LENGTHS[k - 1])
        return taken, lengths

    def _go_on(
        self, columns: np.ndarray, W: np.ndarray, points: list[_Point], taken: np.ndarray,
        moves: np.ndarray,
    ) -> None:  # fmt: skip
        """Take the trial points that were accepted, and compute steps from there."""
        chosen = columns[taken]
        own = [(p, vars(points[-1 if moves[p] else 0])) for p in np.flatnonzero(taken)]
        names = vars(points[0])
        point = _Point(**{name: np.stack([part[name][p] for p, part in own]) for name in names})
        self._W[chosen], self._length[chosen] = W[taken], 1.0
        self._objective[chosen] = point.objective
        variants = moves[taken]
        if self._problems.with_matrix:
            step = point.newton_steps()
        else:
            step = self._conjugate_gradients(columns, point, taken, moves)
        self._step[chosen] = step
        if self._problems.hinge:
            self._widen(chosen[~variants])

    def _widen(self, columns: np.ndarray) -> None:
        """Begin proximal steps of too many passes again, from the same base, with wider zones."""
        slow = columns[self._n_passes[columns] >= 12]
        self._widths[slow] *= 4.0
        self._n_passes[slow] = 0
        # The objective is another one: the next point is taken whatever it is.
        self._objective[slow] = np.inf
        self._step[slow] = 0.0

    def _conjugate_gradients(
        self, columns: np.ndarray, point: _Point, taken: np.ndarray, moves: np.ndarray
    ) -> np.ndarray:
        """Return steps of accepted points: (I + H) step = -gradient, scaled by the diagonal."""
        C = self._problems.Cs[columns, None]
        residual = np.zeros((columns.size, self._problems.width))
        diagonal = np.ones_like(residual)
        residual[taken], diagonal[taken] = -point.gradient, 1.0 + point.curvature
        x, direction = np.zeros_like(residual), residual / diagonal
        size = _dots(residual, direction)
        # The residual falls to a tenth.
        wanted = 0.01 * size
        for _ in range(30):
            if (size <= wanted).all():
                break
            image = direction + C * self._rows.product(direction, moves, self._problems.scale)
            curvature = _dots(direction, image)
            length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0.0)
            length[size <= wanted] = 0.0
            x += length[:, None] * direction
            residual -= length[:, None] * image
            scaled = residual / diagonal
            before, size = size, _dots(residual, scaled)
            share = np.divide(size, before, out=np.zeros_like(size), where=before > 0.0)
            direction = scaled + share[:, None] * direction
        return x[taken]


def _dots(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the inner products (n,) of rows."""
    return np.sum(A * B, axis=1)


@dataclass(frozen=True)
class _Point:
    """Problems at some weights: the smooth objective that Newton's method sees, and the gap."""

    W: np.ndarray  # (n, D)
    objective: np.ndarray  # (n,)
    gradient: np.ndarray  # (n, D)
    curvature: np.ndarray  # (n, D, D) or (n, D), without the identity
    primal: np.ndarray  # (n,)
    gap: np.ndarray  # (n,) absolute
    slack: np.ndarray  # (n,) part of the gap that the smoothing is the reason for

    @classmethod
    def of(cls, W: np.ndarray, C: np.ndarray, sums: RowSums) -> _Point:
        """Return problems whose sums over rows are these."""
        gradient, half = W - C[:, None] * sums.gradient, 0.5 * _dots(W, W)
        gap = 0.5 * _dots(gradient, gradient) + C * sums.slack
        curvature = C.reshape(-1, *[1] * (sums.curvature.ndim - 1)) * sums.curvature
        return cls(
            W, half + C * sums.smooth, gradient, curvature, half + C * sums.loss, gap,
            C * sums.slack,
        )  # fmt: skip

    def solved(self, tol: float) -> np.ndarray:
        """Return which gradients add little to the gap beside the smoothing."""
        allowed = np.maximum(self.slack, tol * self.primal)
        return 0.5 * _dots(self.gradient, self.gradient) <= 0.3 * allowed

    def newton_steps(self) -> np.ndarray:
        """Return the solutions (n, D) of (I + H) step = -gradient."""
        steps = np.empty_like(self.gradient)
        for p, matrix in enumerate(self.curvature):
            # Sums in single precision: a ridge of their rounding errors keeps the factor alive.
            ridge = 1.0
            trace = float(np.trace(matrix))
            while True:
                shifted = matrix.copy()
                shifted[np.diag_indices_from(shifted)] += ridge
                try:
                    factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
                    break
                except np.linalg.LinAlgError:
                    ridge = max(10.0 * ridge, EPS * trace)
            steps[p] = -cho_solve(factor, self.gradient[p], check_finite=False)
        return steps


class LocalRows:
    """One block here, in the driver, and the last pass over it."""

    def __init__(self, block: Block):
        self._block = block
        self._last: Passed | None = None

    def evaluate(self, W: np.ndarray, request: PassRequest) -> list[RowSums]:
        """Return sums at W."""
        self._last = linear_pass(self._block, W, request, self._last)
        return self._last[0]

    def product(self, V: np.ndarray, variants: np.ndarray, scale: float) -> np.ndarray:
        """Return products of the second derivatives of the last pass with V."""
        assert self._last is not None
        return linear_product(self._block, V, variants, scale, self._last)


class ClusterRows:
    """Blocks on workers, read `n_passes` times. Sums are added in the order of the blocks."""

    def __init__(self, blocks: Parts):
        self._blocks, self.n_passes = blocks, 0
        self._last: Parts | list[None] = [None] * len(blocks)

    def evaluate(self, W: np.ndarray, request: PassRequest) -> list[RowSums]:
        """Return sums at W."""
        self.n_passes += 1
        self._last = self._blocks.then(linear_pass, self._shared(W), request, each=[self._last])
        total, *others = self._last.map(itemgetter(0), name="linear_sums")
        for sums in others:
            for mine, theirs in zip(total, sums, strict=True):
                mine.add(theirs)
        return total

    def product(self, V: np.ndarray, variants: np.ndarray, scale: float) -> np.ndarray:
        """Return products of the second derivatives of the last pass with V."""
        self.n_passes += 1
        shared = self._shared(V), variants, scale
        return sum(self._blocks.map(linear_product, *shared, each=[self._last]), np.zeros_like(V))

    def _shared(self, array: np.ndarray):
        """Return the array, or a future of it where every block would get a copy of its own."""
        return array if array.nbytes < 100_000 else sent(self._blocks.client, array)
