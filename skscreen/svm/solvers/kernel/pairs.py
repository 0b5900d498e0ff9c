"""Problems that one compiled call solves for one C: one-vs-one, and small ones of all samples.

The time between calls would be most of it. Few samples have values in double precision, see `few`.
Of more, kernel values inside a class serve all problems of that class and are computed once; those
between two classes serve one. These are in single precision, and scores that matter for the
certificate are computed in double precision. Problems of classes too large for a matrix are solved
without one, by levels (see `engine`).
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import fsum
from time import perf_counter
from typing import Any

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS
from skscreen.core.memory import check_memory
from skscreen.samples.kernels.gram import Gram, Places
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.kernels.kernel_blocks import RBFBlocks
from skscreen.samples.labels import check_bounds
from skscreen.samples.multiclass import Division, OneVsOne
from skscreen.samples.targets import BothSides
from skscreen.svm.certificate import Point, certify
from skscreen.svm.dual import Dual
from skscreen.svm.roads import LARGEST_CLASS
from skscreen.svm.solvers.kernel.engine import DIGITS, STEPS_A_SAMPLE, Engine
from skscreen.svm.solvers.kernel.few import FewValues, few_values, first_part, solve_few
from skscreen.svm.solvers.kernel.levels import from_nothing
from skscreen.svm.solvers.solution import PairSolutions, Solution, growth
from skscreen.svm.solvers.stalls import Stalls

# Largest working set of compiled loops on class blocks.
_LARGEST = loops.LARGEST_SET

# Share of the tolerance that a pass of the compiled loop may leave.
_SHARE = 0.8

# Most passes, each from the certified scores of the last point. One is slow if it leaves more than
# a share of the gap, and raises the dual value by less than a share of it.
_PASSES, _SLOW, _RISEN = 60, 0.7, 0.01

# Intercept, bounds on the gap and on the primal value, and steps.
Found = tuple[float, float, float, int]
# Improves beta (n_pair,) of a problem to a tolerance in a limited number of steps.
Solve = Callable[[Dual, np.ndarray, float, int], Found]


class ClassPairs:
    """Solves problems that share kernel values, in at most `max_iter` steps for a value of C.

    Without that in `most_steps` of a problem that is solved alone.
    """

    def __init__(
        self, blocks, division: Division | BothSides, bias: float, free: bool,
        max_iter: int | None, most_steps: float = np.inf,
    ):  # fmt: skip
        self.blocks, self._division = blocks, division
        self._bias, self._free, self._max_iter = bias, free, max_iter
        self._most_steps = most_steps

    def solve_path(
        self, problem: int, Cs: Iterable[float], tol: float, start: np.ndarray | None = None
    ) -> Iterator[Solution]:
        """Solve a problem for one C after the other to a relative gap, from `start` (n_pair,)."""
        rows, signs = self._division.rows(problem), self._division.signs(problem)
        whole = Dual.of(self._division.losses_of_hinge(problem), signs, self._free)
        limit = self._max_iter or int(min(STEPS_A_SAMPLE * rows.size, self._most_steps))
        solve, before = self.blocks.pair(problem, rows), None
        beta = np.zeros(signs.size) if start is None else np.array(start)
        for C in Cs:
            began = perf_counter()
            check_bounds(C, whole.width)
            dual = whole.at(C)
            if before is not None:
                beta = growth(beta, before * whole.width, C / before) * beta
            if before is not None or start is not None:
                beta = dual.balanced(np.clip(beta, dual.low, dual.high))
            b, gap, primal, n_iter = solve(dual, beta, tol, limit)
            before = C
            yield Solution(
                beta=np.clip(beta, dual.low, dual.high),
                w=None,
                certificate=Certificate(primal, primal - gap, gap),
                n_iter=n_iter,
                converged=bool(gap <= tol * primal),
                seconds=perf_counter() - began,
                b=b if self._free else self._bias**2 * fsum(beta),
                C=C,
            )

    def solve_together(self, C: float, tol: float, held: np.ndarray | None = None) -> PairSolutions:
        """Solve the problems of all pairs, from nothing, without the samples that are held out.

        Gaps above `tol` are the caller's.
        """
        limit = self._max_iter or STEPS_A_SAMPLE
        labels: Any = self._division.labels
        caps = C * labels.weights
        if held is not None:
            caps[held] = 0.0
        return PairSolutions(C, *self.blocks.solve_together(caps, tol, limit))

    def solve_without(self, held: np.ndarray, C: float, tol: float) -> PairSolutions:
        """Solve all problems, from nothing, without some samples; gaps above `tol` are left."""
        if isinstance(self._division, OneVsOne):
            return self.solve_together(C, tol, held)
        rows, signs = self._division.rows(0), self._division.signs(0)
        dual = Dual.of(self._division.losses_of_hinge(0), signs, self._free).at(C)
        taken = np.ones(rows.size)
        taken[held] = 0.0
        dual = dual._replace(low=taken * dual.low, high=taken * dual.high)
        solve, beta = self.blocks.pair(0, rows), np.zeros(rows.size)
        limit = self._max_iter or STEPS_A_SAMPLE * rows.size
        b, gap, primal, n_iter = (np.array([value]) for value in solve(dual, beta, tol, limit))
        b = b if self._free else np.array([self._bias**2 * fsum(beta)])
        return PairSolutions(C, beta[None], b, gap, primal, n_iter)


def sums_of_pairs(values: np.ndarray, coefs: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return sums (n_values, n_problems) of values (n_values, n) times coefficients (n, ...).

    These are those of `OneVsOne.dual_coefs`, class by class; classes end before `ends`.
    """
    n_classes, n_problems = ends.size, ends.size * (ends.size - 1) // 2
    sums = np.empty((n_classes, len(values), n_classes - 1))
    loops.sum_by_class(values, coefs, ends, sums)
    out, exact = np.empty((len(values), n_problems)), np.zeros(n_problems)
    loops.pair_values(sums, exact, (np.empty(0), 0.0, exact, exact), n_classes, out)
    return out


def has_all(found: ClassPairs) -> bool:
    """Whether all problems can be solved in one call."""
    return isinstance(found.blocks, SmallBlocks)


class SmallBlocks:
    """Kernel values of few samples, in double precision: a row at a time, or all of `kept` ones."""

    def __init__(
        self, X, kernel: Kernel, division: Division | BothSides, bias: float, free: bool,
        whole: bool = False, kept=None, K: np.ndarray | None = None,
    ):  # fmt: skip
        if isinstance(division, OneVsOne):
            self._pairs, sizes = division.pairs, [rows.size for rows in division.members]
            # Where the samples, class by class, stand among those that take part.
            self._order = np.concatenate(division.members)
            self._ends = np.concatenate([[0], np.cumsum(sizes)])
            # Not by `of_rows`, which keeps the order of all; a known K is in order.
            X = X[self._order] if K is None else X
        self._free, self._whole = free, whole
        self._part = first_part(division.n_variables, isinstance(division, BothSides))
        compute = partial(few_values, X, kernel, bias, free, whole or kept is not None, K)
        self._values = compute() if kept is None else kept.get("all", compute)

    def pair(self, problem: int, rows: np.ndarray) -> Solve:
        """Return what solves a problem on the samples `rows`."""
        samples = np.arange(self._values.sizes.size)
        if rows.size < samples.size:
            parts = [samples[slice(*self._ends[c : c + 2])] for c in self._pairs[problem]]
            samples = np.concatenate(parts)
        return partial(_solve_few, self._values, samples, self._part)

    def solve_together(self, caps: np.ndarray, tol: float, limit: int) -> tuple[Any, ...]:
        """Solve the problems of all pairs, with upper bounds (n,), in so many steps a sample.

        Returns sign times dual variable (n_classes - 1, n), as `OneVsOne.dual_coefs`, and for each
        problem intercept, gap, primal value and steps. Some gaps may be too large.
        """
        values, ends, caps = self._values, self._ends, caps[self._order]
        dual = np.empty((ends.size - 2, caps.size))
        found = np.empty((len(self._pairs), 4))
        if self._whole:
            # Six passes do for almost all; others go on alone.
            limits = tol, self._part, _SHARE, DIGITS, limit, 6
            known = values.X, ends[1:], values.sizes, values.relative, values.square_bias
            loops.solve_pairs_together(known, caps, self._free, limits, dual, found)
        else:
            few_limits = tol, self._part, limit
            how = caps, self._free, 0.0, few_limits
            loops.solve_pairs_of_few(values, ends[1:], *how, dual, found)
        b, gaps, primals, steps = found.T
        if not self._free:
            b = values.square_bias * _sums_of_pairs(dual, ends)
        elif values.missing:
            b = b - values.missing * _sums_of_pairs(dual, ends)
        out = np.empty(dual.shape)
        out[:, self._order] = dual
        return out, b, gaps, primals, steps.astype(np.int64)


def _solve_few(
    values: FewValues, samples: np.ndarray, part: float, dual: Dual, beta: np.ndarray, tol: float,
    limit: int,
) -> Found:  # fmt: skip
    found = solve_few(values, samples, dual, beta, (tol, part, limit))
    return found.b[0], found.gap, found.primal, found.n_iter


def _sums_of_pairs(dual: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the sums over the samples of each pair, (n_problems,)."""
    by_class = np.add.reduceat(dual, ends[:-1], axis=1)
    first, second = np.triu_indices(ends.size - 1, 1)
    return by_class[second - 1, first] + by_class[first, second]


def block_bytes(division: OneVsOne, whole: int = LARGEST_CLASS, inside: bool = False) -> float:
    """Return the bytes of kernel values of classes of at most `whole` samples, or of a pair."""
    sizes = np.array([rows.size for rows in division.members if rows.size <= whole], float)
    own = sizes @ sizes
    across = sizes.max(initial=0.0) ** 2 if inside else 0.5 * (sizes.sum() ** 2 - own)
    return 4.0 * (own + across)


class ClassBlocks:
    """Kernel values inside classes of up to `whole` samples and between them, maybe `kept`."""

    def __init__(
        self, gram: Gram, division: OneVsOne, bias: float, kept=None, whole: int = LARGEST_CLASS
    ):
        self._gram, self._division, self._kept = gram, division, kept
        self._square_bias, members = bias**2, division.members
        what = f"Kernel matrices inside {len(members):,} classes"
        nbytes = block_bytes(division, whole, inside=True)
        check_memory(nbytes, what, "Use fewer samples.")
        self._blocks: Any = gram.blocks
        self._relative = np.full((2, gram.n), np.inf)
        if isinstance(self._blocks, RBFBlocks):
            everyone, B = np.arange(gram.n), self._blocks.B
            self._relative[:] = [B.relative_errors(everyone, d) for d in (False, True)]
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
        relative = np.ascontiguousarray(self._relative[:, rows])
        if np.isfinite(relative[0]).all():
            scores = partial(loops.pair_scores, values, relative[0])
            better = partial(self._bounded, values, rows, relative[1])
        else:
            better = partial(self._computed, rows)
            scores = partial(_write, better)
        return partial(_solve, values, scores, better)

    def _computed(self, rows, beta, J) -> tuple[np.ndarray, np.ndarray]:
        """Return scores and bounds for samples J of `rows` (n_pair,), by products in tiles."""
        used = np.flatnonzero(beta)
        f, errors = self._blocks.dot(rows[used], beta[used], rows[J], double=True)
        f += self._square_bias * fsum(beta)
        return f, errors + EPS * np.abs(f)

    def _bounded(self, values, rows, relative, beta, J) -> tuple[np.ndarray, np.ndarray]:
        """Return the same by kernel values with relative errors of at most r_i + r_j."""
        used = np.flatnonzero(beta)
        K = self._blocks.block_double(rows[used], rows[J])
        few, size = np.searchsorted(used, values[0].shape[0]), np.abs(beta[used])
        # Sums over either class have terms of one sign.
        first, second = size[:few] @ K[:few], size[few:] @ K[few:]
        f, errors = np.empty((2, J.size))
        bias = self._square_bias
        loops.bounded_scores(first, second, bias, beta, relative, relative[J], f, errors)
        return f, errors

    def _values(self, *classes: int) -> np.ndarray:
        """Return kernel values between two classes, kept or computed."""
        compute = partial(self._block, *classes)
        return compute() if self._kept is None else self._kept.get(classes, compute)

    def _block(self, first: int, second: int) -> np.ndarray:
        I, J = self._division.members[first], self._division.members[second]
        out = np.empty((I.size, J.size), np.float32)
        self._blocks.block(I, J, out)
        return out


def _write(better: Callable, beta, f, errors) -> None:
    """Write what `better` returns for all samples."""
    f[:], errors[:] = better(beta, np.arange(beta.size))


def _solve_large(values: Places, bias: float, dual: Dual, beta, tol: float, limit: int) -> Found:
    """Solve a problem of classes too large for a matrix."""
    everyone = np.arange(beta.size)
    # Most such problems have few support vectors, and scores of all samples take most of the time.
    engine = Engine(values, bias, values.diagonal + bias, limit, tol, least=300)
    point = engine.point(everyone, beta) if beta.any() else from_nothing(engine, dual, (1000,))
    engine.improve(everyone, dual, point, max(_SHARE * tol, DIGITS))
    found = engine.improve(everyone, dual, point, tol, certified=True)
    beta[:] = point.beta
    return found.b, found.gap, found.primal, engine.n_steps


def _solve(
    values: tuple, scores: Callable, better: Callable, dual: Dual, beta: np.ndarray, tol: float,
    limit: int,
) -> Found:  # fmt: skip
    """Improve beta (n_pair,) by the compiled loop, each time from certified scores.

    `values` are those inside both classes, between them, and B^2. `scores(beta, f, errors)` writes
    scores by these values and bounds on their errors, and `better(beta, J)` returns those of
    samples J in double precision.
    """
    n, compute = beta.size, partial(better, beta)
    point = Point(beta, np.zeros(n), np.zeros(n), np.zeros(n, np.bool_))
    # Room for the matrix of a working set, whose rows are padded.
    room = min(n, _LARGEST) * (min(n, _LARGEST) + loops.SMO_LANES)
    memory = np.empty(room, values[0].dtype)
    steps, best, stalls = 0, -np.inf, Stalls(_SLOW, each=True)
    for turn in range(_PASSES + 1):
        if turn or beta.any():
            scores(beta, point.f, point.errors)
            point.exact[:] = False
            view, _ = certify(dual, point, tol, compute)
            risen, best = view.dual - best, max(best, view.dual)
            slow = stalls.see(view.gap, risen > _RISEN * view.gap) > 0
            done = view.gap <= tol * view.primal or slow
            if done or steps >= limit or turn == _PASSES:
                break
        steps += loops.improve_pair(
            values, dual, beta, point.f, _SHARE * tol, limit - steps, memory
        )
    return view.b, view.gap, view.primal, steps
