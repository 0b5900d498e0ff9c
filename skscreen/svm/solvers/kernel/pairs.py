"""Problems of two classes that share kernel values: one-vs-one, and a small one of all samples.

Kernel values inside a class serve all problems of that class and are computed once; those between
two classes serve one. Of few samples they are in double precision, and a problem is solved for one
C in one compiled call, as the time between calls would be most of it. Of more they are in single
precision, and scores that matter for the certificate are computed in double precision. Problems of
classes too large for a matrix are solved without one, by levels (see `engine`).
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from math import fsum
from time import perf_counter

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS
from skscreen.core.memory import check_memory
from skscreen.samples.gram import Gram
from skscreen.samples.kernel import Kernel
from skscreen.samples.kernel_blocks import RBFBlocks
from skscreen.samples.kernel_samples import Places
from skscreen.samples.labels import check_bounds
from skscreen.samples.multiclass import Division, OneVsOne, first_positive
from skscreen.svm.certificate import Box, View
from skscreen.svm.solvers.kernel.engine import DIGITS, FINE, Engine
from skscreen.svm.solvers.kernel.levels import from_nothing
from skscreen.svm.solvers.kernel.working_set import WorkingSets
from skscreen.svm.solvers.solution import SampleSolution, growth

# Limit of steps for each sample, unless `max_iter` is given.
_STEPS_A_SAMPLE = 1000

# Largest class whose kernel matrix is kept in memory: 36 MB.
WHOLE = 3000
# Largest working set of compiled loops on class blocks.
_LARGEST = 3000
# Least size of working sets for larger classes, and samples of the one level before all of them:
# most two-class problems have few support vectors, and scores of all samples take most of the time.
_SET, _LOOK = 300, (1000,)

# Dual variables of small problems, and samples of one with class blocks, up to which problems are
# solved to this part of the tolerance, as that takes no time.
_FEW, _SMALL, _MORE_DIGITS = 300, 100, 1e-4

# Exponents of an RBF kernel below which what its values lack to 1 has more digits than they have.
_FLAT = 0.5

# Share of the tolerance that the gap in single precision may use up, and of what remains of it that
# errors of scores may.
_SHARE, _HALF = 0.5, 0.5

# Passes in single precision, each from scores of the last point in double precision; one is the
# last if it leaves more than this share of the gap.
_PASSES, _SLOW = 10, 0.7

# Intercept, bounds on the gap and on the primal value, and steps.
Found = tuple[float, float, float, int]
# Improves beta (n_pair,) of a box to a tolerance in a limited number of steps.
Solve = Callable[[Box, np.ndarray, float, int], Found]


class ClassPairs:
    """Solves the problems of pairs of classes, in at most `max_iter` steps for a value of C."""

    def __init__(self, blocks, division: Division, bias: float, free: bool, max_iter: int | None):
        self._blocks, self._division = blocks, division
        self._bias, self._free, self._max_iter = bias, free, max_iter

    def follow(
        self, problem: int, Cs: Iterable[float], tol: float, start: np.ndarray | None = None
    ) -> Iterator[SampleSolution]:
        """Solve a problem for one C after the other to a relative gap, from `start` (n_pair,)."""
        division = self._division
        place = slice(None) if isinstance(division, OneVsOne) else first_positive(division)
        rows, signs = division.rows(problem)[place], division.signs(problem)[place]
        weights = division.weights(problem)[place]
        limit = self._max_iter or _STEPS_A_SAMPLE * rows.size
        solve, rises, before = self._blocks.pair(problem, rows), signs > 0.0, None
        beta = np.zeros(rows.size) if start is None else signs * start[place]
        for C in Cs:
            began = perf_counter()
            check_bounds(C, weights)
            caps = C * weights
            box = Box(signs, np.where(rises, 0.0, -caps), np.where(rises, caps, 0.0), self._free)
            if before is not None:
                beta = growth(np.abs(beta), before * weights, C / before) * beta
            if before is not None or start is not None:
                beta = box.balanced(np.clip(beta, box.low, box.high))
            b, gap, primal, n_iter = solve(box, beta, tol, limit)
            alpha, before = np.empty(rows.size), C
            alpha[place] = np.minimum(np.abs(beta), caps)
            yield SampleSolution(
                alpha=alpha,
                margins=np.empty(0),
                w=None,
                certificate=Certificate(primal, primal - gap, gap),
                n_iter=n_iter,
                converged=bool(gap <= tol * primal),
                seconds=perf_counter() - began,
                b=b if self._free else self._bias**2 * fsum(beta),
                C=C,
            )


class SmallBlocks:
    """Kernel values of few samples inside and between classes, in double precision."""

    def __init__(
        self, X, kernel: Kernel, division: Division, bias: float, free: bool, kept=None
    ):  # fmt: skip
        if isinstance(division, OneVsOne):
            self._pairs, order = division.pairs, np.concatenate(division.members)
            sizes = [rows.size for rows in division.members]
        else:
            self._pairs, order = [(0, 1)], first_positive(division)
            sizes = [int(np.count_nonzero(division.signs(0) == sign)) for sign in (1.0, -1.0)]
        ends = np.concatenate([[0], np.cumsum(sizes)])

        def compute() -> tuple:
            return class_blocks(kernel.gram(X[order], 0.0), ends, free)

        known = compute() if kept is None else kept.get("all", compute)
        self._blocks, lengths, self._relative, self._missing = known
        self._square_bias = bias**2
        lengths = np.sqrt(lengths**2 + bias**2) if bias else lengths
        self._sizes = [lengths[first:last] for first, last in pairwise(ends)]
        n_variables = sum(self._sizes[c].size for classes in self._pairs for c in classes)
        self._part = _MORE_DIGITS if n_variables <= _FEW else 1.0

    def pair(self, problem: int, rows: np.ndarray) -> Solve:
        """Return what solves a problem, whose samples of positive sign come first."""
        return partial(self._solve, self._pairs[problem])

    def _solve(self, classes, box: Box, beta, tol: float, limit: int) -> Found:
        (first, second), blocks = classes, self._blocks
        values = blocks[first, first], blocks[second, second], blocks[classes], self._square_bias
        sizes = np.concatenate([self._sizes[first], self._sizes[second]])
        steps, b, gap, primal = loops.solve_small_pair(
            values, box.arrays, sizes, self._relative, tol, tol * self._part, limit, beta
        )
        if self._missing:
            b -= self._missing * fsum(beta)
        return b, gap, primal, steps


def class_blocks(
    gram: Gram, ends: np.ndarray, free: bool
) -> tuple[dict[tuple[int, int], np.ndarray], np.ndarray, float, float]:
    """Return values by pairs of classes (i <= j), sizes (n,), errors over their products, the rest.

    The rest was taken off, as a free intercept takes it up; |K_ij| is at most sizes_i sizes_j.
    """
    if gram.kernel != "rbf":
        return _split(gram.compute, ends), np.sqrt(gram.diagonal), gram.computed_error, 0.0
    blocks, largest = _split(gram.distances, ends), 0.0
    for (i, j), block in blocks.items():
        if i == j:
            # |a|^2 + |a|^2 - 2 <a, a> is not exactly zero.
            np.fill_diagonal(block, 0.0)
        block *= -gram.gamma
        largest = max(largest, -float(block.min()))
    if not free or largest > _FLAT:
        for block in blocks.values():
            np.exp(block, out=block)
        return blocks, np.ones(gram.n), gram.computed_error, 0.0
    for block in blocks.values():
        np.expm1(block, out=block)
        block += largest
    errors = gram.exponent_error + EPS * largest
    relative = errors / largest if largest else 0.0
    return blocks, np.full(gram.n, np.sqrt(largest)), relative, 1.0 - largest


def _split(compute, ends: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    """Compute values between each class and the others from it on, and split them by classes."""
    ranges, blocks = [slice(first, last) for first, last in pairwise(ends)], {}
    for i, rows in enumerate(ranges):
        panel = compute(rows, slice(rows.start, None))
        for j, columns in enumerate(ranges[i:], i):
            first = rows.start
            blocks[i, j] = panel[:, columns.start - first : columns.stop - first].copy()
    return blocks


def block_bytes(division: OneVsOne, whole: int = WHOLE, inside: bool = False) -> float:
    """Return the bytes of kernel values of classes of at most `whole` samples, or of a pair."""
    sizes = np.array([rows.size for rows in division.members if rows.size <= whole], float)
    own = sizes @ sizes
    across = sizes.max(initial=0.0) ** 2 if inside else 0.5 * (sizes.sum() ** 2 - own)
    return 4.0 * (own + across)


class ClassBlocks:
    """Kernel values inside classes of up to `whole` samples and between them, maybe `kept`."""

    def __init__(self, gram: Gram, division: OneVsOne, bias: float, kept=None, whole: int = WHOLE):
        self._gram, self._blocks, self._division = gram, gram.blocks, division
        self._square_bias, members, self._kept = bias**2, division.members, kept
        what = f"Kernel matrices inside {len(members):,} classes"
        nbytes = block_bytes(division, whole, inside=True)
        check_memory(nbytes, what, "Use fewer samples.")
        blocks, self._sides = gram.blocks, {}
        self._relative = np.full((2, gram.n), np.inf)
        if isinstance(blocks, RBFBlocks):
            everyone = np.arange(gram.n)
            self._relative[:] = [blocks.B.relative_errors(everyone, d) for d in (False, True)]
        if isinstance(blocks, RBFBlocks) and not blocks.B.is_sparse:
            self._sides = {
                c: (blocks.A.left(rows, False), blocks.B.right(rows, False))
                for c, rows in enumerate(members)
                if rows.size <= whole
            }
        self._own = [
            self._values(c, c) if rows.size <= whole else None for c, rows in enumerate(members)
        ]

    def pair(self, problem: int, rows: np.ndarray) -> Solve:
        """Return what solves a problem, on the samples `rows` (n_pair,)."""
        classes = self._division.pairs[problem]
        own = [self._own[c] for c in classes]
        if own[0] is None or own[1] is None:
            return partial(_solve_large, Places(self._gram, rows), self._square_bias)
        values = *own, self._values(*classes), self._square_bias
        return _Pair(values, self._blocks, rows, self._relative[:, rows]).solve

    def _values(self, *classes: int) -> np.ndarray:
        """Return kernel values between two classes, kept or computed."""
        compute = partial(self._block, *classes)
        return compute() if self._kept is None else self._kept.get(classes, compute)

    def _block(self, first: int, second: int) -> np.ndarray:
        I, J = self._division.members[first], self._division.members[second]
        out = np.empty((I.size, J.size), np.float32)
        if isinstance(self._blocks, RBFBlocks) and self._sides:
            self._blocks.between(self._sides[first][0], self._sides[second][1], I, J, out)
        else:
            self._blocks.block(I, J, out)
        return out


def _solve_large(values: Places, bias: float, box: Box, beta, tol: float, limit: int) -> Found:
    """Solve a problem of classes too large for a matrix."""
    everyone = np.arange(beta.size)
    engine = Engine(WorkingSets(values, bias, values.diagonal + bias, limit), tol, _SET)
    point = engine.point(everyone, beta) if beta.any() else from_nothing(engine, box, _LOOK)
    engine.improve(everyone, box, point, max(_SHARE * tol, DIGITS))
    found = engine.finish(box, point)
    beta[:] = point.beta
    return found.b, found.gap, found.primal, engine.n_steps


class _Pair:
    """A problem of `ClassBlocks`, of samples `rows` (n_pair,).

    `values` are those inside both classes, between them, and B^2; `relative` (2, n_pair) are r such
    that relative errors are at most r_s + r_t, in single and in double precision.
    """

    def __init__(self, values: tuple, blocks, rows: np.ndarray, relative: np.ndarray):
        self._values, self._blocks, self._rows = values, blocks, rows
        self._relative = np.ascontiguousarray(relative)
        self._known = bool(np.isfinite(relative[0]).all())

    def solve(self, box: Box, beta, tol: float, limit: int) -> Found:
        """Improve beta (n_pair,) by stored values, and scores in double precision that matter."""
        f, errors = np.zeros((2, beta.size))
        if beta.any():
            self._scores(beta, f, errors)
        if beta.any() and np.all(np.abs(beta) < box.high - box.low):
            hard = self._hard_margin(box, beta, f, errors, tol)
            if hard is not None:
                return hard.b, hard.gap, hard.primal, 0
        steps, before = 0, np.inf
        tol *= _MORE_DIGITS if beta.size <= _SMALL else 1.0
        # Room for the matrix of a working set.
        memory = np.empty((min(beta.size, _LARGEST) + loops.SMO_LANES) ** 2, np.float32)
        for _ in range(_PASSES):
            enough = max(_SHARE * tol, DIGITS if before == np.inf else 0.0)
            steps += loops.improve_pair(
                self._values, box.arrays, beta, f, errors, self._relative[0], enough,
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
            if view.gap >= view.primal or tol < FINE:
                J = np.flatnonzero(((parts > 0.0) | (beta != 0.0)) & ~exact)
            else:
                known = box.certify(beta, f, np.zeros(beta.size))[1]
                J = _doubtful(known, parts, exact, tol * view.primal)
            if J.size == 0:
                return view
            f[J], errors[J] = self._in_double(beta, J)
            exact[J] = True

    def _hard_margin(self, box: Box, beta, f, errors, tol: float) -> View | None:
        """Scale beta until no score is short of its target; return the view if that is optimal."""
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
            loops.pair_scores(self._values, beta, self._relative[0], f, errors)
        else:
            f[:], errors[:] = self._in_double(beta, np.arange(beta.size))

    def _in_double(self, beta, J) -> tuple[np.ndarray, np.ndarray]:
        """Return scores and bounds for the samples J in double precision."""
        used, rows, square_bias = np.flatnonzero(beta), self._rows, self._values[3]
        if not self._known:
            f, errors = self._blocks.dot(rows[used], beta[used], rows[J], double=True)
            f += square_bias * fsum(beta)
            return f, errors + EPS * np.abs(f)
        K = self._blocks.block_double(rows[used], rows[J])
        few, size = np.searchsorted(used, self._values[0].shape[0]), np.abs(beta[used])
        relative, (f, errors) = self._relative[1], np.empty((2, J.size))
        # Sums over either class have terms of one sign.
        first, second = size[:few] @ K[:few], size[few:] @ K[few:]
        loops.bounded_scores(first, second, square_bias, beta, relative, relative[J], f, errors)
        return f, errors


def _doubtful(known: np.ndarray, parts: np.ndarray, exact: np.ndarray, allowed: float):
    """Return the fewest inexact samples to recompute; they add known (n,), or parts with errors."""
    J = np.flatnonzero((parts > 0.0) & ~exact)
    excess = (parts - known)[J]
    order = np.argsort(excess)
    left = allowed - known.sum() - (parts - known)[exact].sum()
    # Use half of what is left, because better scores may also enlarge the gap.
    few = np.searchsorted(excess[order].cumsum(), _HALF * left) if left > 0.0 else 0
    return np.sort(J[order[few:]])
