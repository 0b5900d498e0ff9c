"""Problems of two classes with kernel values in single precision, certified in double precision.

Kernel values inside a class serve all problems of that class and are computed once; those between
two classes serve one. Problems of classes too large for a matrix are solved on the samples near the
margin, where these are few, then by levels (see `engine`).
"""

from functools import partial
from math import fsum

import numpy as np

from skscreen.core.floats import EPS
from skscreen.core.memory import check_memory
from skscreen.samples.gram import Gram
from skscreen.samples.kernel_blocks import KernelBlocks, RBFBlocks
from skscreen.samples.kernel_samples import Places
from skscreen.samples.multiclass import OneVsOne
from skscreen.svm.certificate import Box, View
from skscreen.svm.solvers.kernel.block_smo_loops import LANES
from skscreen.svm.solvers.kernel.class_pair_loops import (
    LARGEST,
    bounded,
    improve,
    scores,
)
from skscreen.svm.solvers.kernel.engine import DIGITS, Engine, Point
from skscreen.svm.solvers.kernel.levels import from_nothing
from skscreen.svm.solvers.kernel.working_set import WorkingSets, smallest

# Largest class whose kernel matrix is kept in memory: 36 MB.
_WHOLE = 3000

# Least size of working sets for larger classes: most two-class problems have few support vectors.
_SET = 300

# Limit of SMO steps for each sample on few of them.
_STEPS_A_SAMPLE = 1000

# Problems of at most `_SMALL` samples are solved to this fraction of the tolerance at no cost.
_SMALL, _MORE_DIGITS = 100, 1e-4

# Share of the tolerance that the gap in single precision may use up.
_SHARE = 0.5

# Relative tolerances below which the primal value has to be known precisely.
_FINE = 1e-6

# Share of the remaining gap that errors of scores may use up.
_HALF = 0.5

# `_FewOfMany`: samples of each class in the first problem, and its relative gap.
_LOOKED_AT, _ROUGH = 500, 2e-2
# Rounds, and the least and largest number of samples in one.
_ROUNDS, _FEWEST, _MOST = 10, 600, 3000
# Samples of a round over those on the wrong side or off their bounds.
_ROOM = 1.3
# Share of the tolerance that the gap of a round may use up.
_PART = 0.3

# Passes in single precision, each from scores of the last point in double precision.
_PASSES = 10
# A pass is the last one if it leaves more than this share of the gap.
_SLOW = 0.7


def block_bytes(division: OneVsOne, inside: bool = False) -> float:
    """Return the bytes of kernel values inside classes and between them.

    With `inside` kernel values between classes are those of one pair, the largest.
    """
    sizes = np.array([rows.size for rows in division.members if rows.size <= _WHOLE], float)
    own = sizes @ sizes
    across = sizes.max(initial=0.0) ** 2 if inside else 0.5 * (sizes.sum() ** 2 - own)
    return 4.0 * (own + across)


class ClassBlocks:
    """Kernel values inside classes, kept, and between them.

    Parameters
    ----------
    gram : Gram
        Of all samples.
    division : OneVsOne
    bias : float
        B of a penalised intercept, 0 for none.
    kept : KernelBlocksKept, optional
        Where kernel values of the same samples and kernel stay for other fits.
    """

    def __init__(self, gram: Gram, division: OneVsOne, bias: float, kept=None):
        self._gram, self._blocks, self._division = gram, gram.blocks, division
        blocks, n = gram.blocks, gram.n
        self._square_bias = bias**2
        members = division.members
        what = f"Kernel matrices inside {len(members):,} classes"
        check_memory(block_bytes(division, inside=True), what, "Use fewer samples.")
        self._relative, self._sides = np.full((2, n), np.inf), {}
        if isinstance(blocks, RBFBlocks):
            everyone = np.arange(n)
            self._relative[:] = [blocks.relative_errors(everyone, d) for d in (False, True)]
        if isinstance(blocks, RBFBlocks) and not blocks.is_sparse:
            self._sides = {
                c: (blocks.A.left(rows, False), blocks.B.right(rows, False))
                for c, rows in enumerate(members)
                if rows.size <= _WHOLE
            }
        self._kept = kept
        self._own = [
            self._values(c, c) if rows.size <= _WHOLE else None for c, rows in enumerate(members)
        ]

    def pair(self, problem: int, rows: np.ndarray) -> "_Pair | _LargePair":
        """Return one of the problems, on the samples `rows`."""
        classes = self._division.pairs[problem]
        own = [self._own[c] for c in classes]
        if own[0] is None or own[1] is None:
            return _LargePair(Places(self._gram, rows), self._square_bias)
        values = *own, self._values(*classes)
        return _Pair(values, self._blocks, rows, self._relative[:, rows], self._square_bias)

    def _values(self, *classes: int) -> np.ndarray:
        """Return kernel values between two classes, kept or computed."""
        compute = partial(self._block, *classes)
        return compute() if self._kept is None else self._kept.get(classes, compute)

    def _block(self, first: int, second: int) -> np.ndarray:
        I, J = self._division.members[first], self._division.members[second]
        out = np.empty((I.size, J.size), np.float32)
        if self._sides:
            self._blocks.between(self._sides[first][0], self._sides[second][1], I, J, out)
        else:
            self._blocks.block(I, J, out)
        return out


class _LargePair:
    """A problem without its matrix."""

    def __init__(self, values: Places, square_bias: float):
        self._values, self._square_bias = values, square_bias

    def solve(self, box: Box, beta, tol: float, limit: int) -> tuple[float, float, float, int]:
        """Improve beta; return intercept, bounds on gap and primal value, and steps."""
        everyone, enough = np.arange(beta.size), max(_SHARE * tol, DIGITS)
        values, bias = self._values, self._square_bias
        solver = Engine(WorkingSets(values, bias, values.diagonal + bias, limit), tol, _SET)
        point = _FewOfMany(solver, box).improve(beta, enough)
        if not point.beta.any():
            point = from_nothing(solver, box)
        solver.improve(everyone, box, point, enough)
        found = solver.finish(box, point)
        beta[:] = point.beta
        return found.b, found.gap, found.primal, solver.n_steps


class _FewOfMany:
    """A problem between two large classes with few support vectors.

    Parameters
    ----------
    solver : Engine
        Of the problem, which counts the steps.
    box : Box
    """

    def __init__(self, solver: Engine, box: Box):
        self._solver, self._box = solver, box
        self._everyone = np.arange(box.target.size)
        self._n_first = int(np.count_nonzero(box.target > 0.0))

    def improve(self, beta: np.ndarray, tol: float) -> Point:
        """Return a better point than beta, up to a relative gap, computed in single precision.

        Only support vectors and samples near the margin or on its wrong side may change. Stops
        early if there are too many of them.
        """
        box, before = self._box, np.inf
        point = self._solver.point(self._everyone, beta)
        b, f = (box.view(beta, point.f).b, point.f) if beta.any() else self._look()
        for _ in range(_ROUNDS):
            slopes = box.target - f - b
            violations = box.violations(beta, slopes)
            rank = np.where(violations > 0.0, -violations, np.abs(slopes))
            rank[beta != 0.0] = -np.inf
            size = max(_FEWEST, int(_ROOM * np.count_nonzero(rank <= 0.0)))
            if size > _MOST or self._solver.n_steps >= self._solver.max_steps:
                break
            U = smallest(rank, size)
            few = beta[U]
            self._solve(U, box.take(U, 0.0), few, _PART * tol)
            values, more = self._solver.scores(U, few - beta[U], self._everyone)
            beta[U] = few
            point.f += values
            point.errors += more + EPS * np.abs(point.f)
            view = box.view(beta, point.f)
            if view.gap <= tol * view.primal or view.gap > _SLOW * before:
                break
            before, b, f = view.gap, view.b, point.f
        return point

    def _look(self) -> tuple[float, np.ndarray]:
        """Solve for a few samples of each class; return intercept and all scores."""
        n, m = self._box.target.size, self._n_first
        sizes = min(m, _LOOKED_AT), min(n - m, _LOOKED_AT)
        S = np.concatenate(
            [np.arange(sizes[0]) * m // sizes[0], m + np.arange(sizes[1]) * (n - m) // sizes[1]]
        )
        few = np.zeros(S.size)
        part = self._box.scaled(S, np.repeat([m / sizes[0], (n - m) / sizes[1]], sizes))
        b = self._solve(S, part, few, _ROUGH)
        return b, self._solver.scores(S, few, self._everyone)[0]

    def _solve(self, U, box: Box, beta, tol: float) -> float:
        """Improve beta on the samples U, all others at 0; return the intercept."""
        solver, bias = self._solver, self._solver.square_bias
        few, size = np.searchsorted(U, self._n_first), U.size
        sides, values = (U[:few], U[few:]), []
        for I, J in ((0, 0), (1, 1), (0, 1)):
            out = np.empty((sides[I].size, sides[J].size), np.float32)
            solver.values.block(sides[I], sides[J], out)
            values.append(out)
        f, errors, relative = np.zeros((3, size))
        if beta.any():
            scores(*values, bias, beta, relative, f, errors)
        memory = np.empty((min(size, LARGEST) + LANES) ** 2, np.float32)
        solver.sets.n_steps += improve(
            *values, bias, box.target, box.low, box.high, box.free, beta, f, errors, relative, tol,
            min(solver.max_steps - solver.n_steps, _STEPS_A_SAMPLE * size), memory,
        )  # fmt: skip
        return box.view(beta, f).b


class _Pair:
    """A problem between two classes with known kernel values.

    Parameters
    ----------
    values : tuple of three float32 ndarray
        Kernel values inside the first class, inside the second, and between them.
    blocks : KernelBlocks
        Of all samples.
    rows : ndarray of shape (n_pair,)
        Samples of both classes.
    relative : ndarray of shape (2, n_pair)
        Bounds on relative errors of kernel values in single and in double precision, see `scores`
        of `class_pair_loops`; infinite where there are none.
    square_bias : float
    """

    def __init__(self, values, blocks: KernelBlocks, rows, relative, square_bias: float):
        self._values, self._blocks, self._rows = values, blocks, rows
        self._square_bias, self._relative = square_bias, np.ascontiguousarray(relative)
        self._known = bool(np.isfinite(relative[0]).all())

    def solve(self, box: Box, beta, tol: float, limit: int) -> tuple[float, float, float, int]:
        """Improve beta; return intercept, bounds on gap and primal value, and steps.

        Scores are sums of the stored kernel values until the gap is small or their errors matter;
        then scores that may contribute to the gap are computed in double precision.
        """
        f, errors = np.zeros((2, beta.size))
        if beta.any():
            self._scores(beta, f, errors)
        if beta.any() and np.all(np.abs(beta) < box.high - box.low):
            hard = self._hard_margin(box, beta, f, errors, tol)
            if hard is not None:
                return hard.b, hard.gap, hard.primal, 0
        steps, before = 0, np.inf
        tol *= _MORE_DIGITS if beta.size <= _SMALL else 1.0
        memory = np.empty((min(beta.size, LARGEST) + LANES) ** 2, np.float32)
        for _ in range(_PASSES):
            steps += improve(
                *self._values, self._square_bias, box.target, box.low, box.high, box.free, beta, f,
                errors, self._relative[0], max(_SHARE * tol, DIGITS if before == np.inf else 0.0),
                limit - steps, memory,
            )  # fmt: skip
            view = self._certified(box, beta, f, errors, tol)
            if view.gap <= tol * view.primal or not view.gap < _SLOW * before or steps >= limit:
                break
            before = view.gap
        return view.b, view.gap, view.primal, steps

    def _certified(self, box: Box, beta, f, errors, tol: float) -> View:
        """Return the certificate of a point, of scores in double precision where that matters."""
        exact = np.zeros(beta.size, np.bool_)
        if not self._known:
            self._scores(beta, f, errors)
            exact[:] = True
        while True:
            view, parts, _ = box.certify(beta, f, errors)
            if view.gap <= tol * view.primal:
                return view
            # If the primal value is needed precisely, all losses matter.
            if view.gap >= view.primal or tol < _FINE:
                J = np.flatnonzero(((parts > 0.0) | (beta != 0.0)) & ~exact)
            else:
                known = box.certify(beta, f, np.zeros(beta.size))[1]
                J = _doubtful(known, parts, exact, tol * view.primal)
            if J.size == 0:
                return view
            f[J], errors[J] = self._in_double(beta, J)
            exact[J] = True

    def _hard_margin(self, box: Box, beta, f, errors, tol: float) -> View | None:
        """Scale beta until no score is short of its target; return the view if that is optimal.

        None if beta is then outside of the box, or if the gap is not proven to be small enough.
        """
        found = box.stretched(beta, f, errors)
        if found is None or found[1].gap > tol * found[1].primal:
            known = box.stretched(beta, f, np.zeros(beta.size))
            if known is None or known[1].gap > tol * known[1].primal:
                return None
            # Errors of scores of support vectors and of samples near the margin are too large.
            factor, view = known
            near = (beta != 0.0) | (box.signs * (f + view.b / factor) - errors < 1.0)
            J = np.flatnonzero(near)
            f[J], errors[J] = self._in_double(beta, J)
            found = box.stretched(beta, f, errors)
        if found is None or found[1].gap > tol * found[1].primal:
            return None
        beta *= found[0]
        return found[1]

    def _scores(self, beta, f, errors) -> None:
        """Write scores and error bounds, from stored kernel values if their errors are known."""
        if self._known:
            scores(*self._values, self._square_bias, beta, self._relative[0], f, errors)
        else:
            f[:], errors[:] = self._in_double(beta, np.arange(beta.size))

    def _in_double(self, beta, J) -> tuple[np.ndarray, np.ndarray]:
        """Return scores and bounds for the samples J in double precision."""
        used, rows = np.flatnonzero(beta), self._rows
        if not self._known:
            f, errors = self._blocks.dot(rows[used], beta[used], rows[J], double=True)
            f += self._square_bias * fsum(beta)
            return f, errors + EPS * np.abs(f)
        K = self._blocks.block_double(rows[used], rows[J])
        few, size = np.searchsorted(used, self._values[0].shape[0]), np.abs(beta[used])
        f, errors = np.empty((2, J.size))
        bounded(
            size[:few] @ K[:few], size[few:] @ K[few:], self._square_bias, beta, self._relative[1],
            self._relative[1][J], f, errors,
        )  # fmt: skip
        return f, errors


def _doubtful(known: np.ndarray, parts: np.ndarray, exact: np.ndarray, allowed: float):
    """Return the fewest samples to recompute so that the gap may become small enough.

    Parameters
    ----------
    known, parts : ndarray of shape (n,)
        What samples add to the gap by their scores, and may add by their errors too.
    exact : bool ndarray of shape (n,)
        Samples whose scores are as good as they can be.
    allowed : float
        The largest gap.
    """
    J = np.flatnonzero((parts > 0.0) & ~exact)
    excess = (parts - known)[J]
    order = np.argsort(excess)
    left = allowed - known.sum() - (parts - known)[exact].sum()
    # Use half of what is left, because better scores may also enlarge the gap.
    few = np.searchsorted(excess[order].cumsum(), _HALF * left) if left > 0.0 else 0
    return np.sort(J[order[few:]])
