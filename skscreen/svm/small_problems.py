"""Problems between classes of few samples, most of which are solved in one compiled call each.

For hundreds of problems of some hundred samples, and for a single one, the time between calls would
be most of it. Kernel values between all samples are computed once, in double precision.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import fsum
from time import perf_counter

import numpy as np

from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS
from skscreen.samples.gram import Gram
from skscreen.samples.kernel import Kernel
from skscreen.samples.kernel_samples import check_intercept_scaling
from skscreen.samples.multiclass import Division, OneVsOne
from skscreen.samples.rows import check_bounds
from skscreen.svm.certificate import Box
from skscreen.svm.solvers.kernel.class_pair_loops import solve_small
from skscreen.svm.solvers.solution import SampleSolution, growth

# Steps for each sample where no limit is given.
_STEPS_A_SAMPLE = 1000

# Samples up to which problems are solved to this part of the tolerance, as that takes no time.
_FEW, _MORE_DIGITS = 300, 1e-4

# Exponents of an RBF kernel below which what its values lack to 1 has more digits than they have.
_FLAT = 0.5


class SmallProblems:
    """Solves one-vs-one problems, or that of two classes, together or one alone.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
    kernel : Kernel
        Positive semi-definite whatever the samples.
    division : Division
    bias : float
        B of a penalised intercept, 0 for none.
    free : bool
        Whether the intercept is unpenalised.
    max_iter : int or None
        Most steps of one problem for one value of C.
    kept : KernelBlocksKept, optional
        Where kernel values of the same samples and kernel stay for other fits.
    """

    def __init__(
        self, X, kernel: Kernel, division: Division, bias: float, free: bool, max_iter, kept=None
    ):
        check_intercept_scaling(bias)
        codes, pairs = division.labels.codes, [(0, 1)]
        if isinstance(division, OneVsOne):
            pairs = division.pairs
        else:
            # Samples of positive sign come first.
            codes = 1 - codes
        order, sizes = np.argsort(codes, kind="stable"), np.bincount(codes)
        self._pairs, self._ends = pairs, np.concatenate([[0], sizes.cumsum()])
        self._stops = np.array([sizes[a] + sizes[b] for a, b in pairs]).cumsum()
        ranges = [np.arange(first, last) for first, last in pairwise(self._ends)]
        index = np.concatenate([ranges[c] for pair in pairs for c in pair])
        # Where the variables of a problem are among its samples.
        self._place = slice(None) if isinstance(division, OneVsOne) else order
        self._signs = np.repeat(
            np.tile([1.0, -1.0], len(pairs)), [sizes[c] for pair in pairs for c in pair]
        )
        self._weights = division.labels.weights[order[index]]
        self._bias, self._free, self._max_iter = bias, free, max_iter

        def compute() -> tuple:
            return class_blocks(kernel.gram(X[order], 0.0), self._ends, free)

        found = compute() if kept is None else kept.get("all", compute)
        self._blocks, self._sizes, self._relative, self._missing = found
        if bias:
            self._sizes = np.sqrt(self._sizes**2 + bias**2)

    def together(self, C: float, tol: float) -> list[SampleSolution]:
        """Solve all problems for one C."""
        return self._solve(slice(None), C, tol, np.zeros(self._signs.size))

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
        which = slice(problem, problem + 1)
        part = self._variables(which)
        alpha, weights = np.zeros(part.stop - part.start), self._weights[part]
        if start is not None:
            alpha = start[self._place]
        before = None
        for C in Cs:
            if before is not None:
                alpha = alpha * growth(alpha, before * weights, C / before)
            (solution,) = self._solve(which, C, tol, self._signs[part] * alpha)
            alpha, before = solution.alpha[self._place], C
            yield solution

    def _values(self, pair: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return kernel values inside two classes and between them."""
        first, second = pair
        blocks = self._blocks
        return blocks[first, first], blocks[second, second], blocks[pair]

    def _bounds(self, pair: tuple[int, int]) -> np.ndarray:
        """Return the roots of bounds on kernel values of the samples of two classes."""
        return np.concatenate([self._sizes[self._ends[c] : self._ends[c + 1]] for c in pair])

    def _variables(self, which: slice) -> slice:
        first, stop, _ = which.indices(self._stops.size)
        return slice(self._stops[first - 1] if first else 0, self._stops[stop - 1])

    def _solve(self, which: slice, C: float, tol: float, beta) -> list[SampleSolution]:
        """Solve neighbouring problems for one C."""
        began, part = perf_counter(), self._variables(which)
        check_bounds(C, self._weights[part])
        signs, caps = self._signs[part], C * self._weights[part]
        low, high = np.minimum(signs * caps, 0.0), np.maximum(signs * caps, 0.0)
        beta = np.clip(beta, low, high)
        beta = Box(signs, low, high, self._free).balanced(beta)
        enough = tol * (_MORE_DIGITS if self._signs.size <= _FEW else 1.0)
        limit = self._max_iter or _STEPS_A_SAMPLE * self._signs.size
        stops, first, found = self._stops[which] - part.start, 0, []
        for pair, last in zip(self._pairs[which], stops, strict=True):
            own = slice(first, last)
            bounds = signs[own], low[own], high[own], self._free
            errors = self._bounds(pair), self._relative
            values = *self._values(pair), self._bias**2
            found.append(solve_small(*values, *bounds, *errors, tol, enough, limit, beta[own]))
            first = last
        alpha = np.minimum(np.abs(beta), caps)
        seconds, solutions, first = (perf_counter() - began) / stops.size, [], 0
        for (steps, b, gap, primal), last in zip(found, stops, strict=True):
            own = alpha[first:last]
            if self._free:
                b -= self._missing * fsum(beta[first:last])
            else:
                b = self._bias**2 * fsum(beta[first:last])
            placed = np.empty(own.size)
            placed[self._place] = own
            solutions.append(
                SampleSolution(
                    alpha=placed,
                    margins=np.empty(0),
                    w=None,
                    certificate=Certificate(primal, primal - gap, gap),
                    n_iter=steps,
                    converged=gap <= tol * primal,
                    seconds=seconds,
                    b=b,
                    C=C,
                )
            )
            first = last
        return solutions


def class_blocks(
    gram: Gram, ends: np.ndarray, free: bool
) -> tuple[dict[tuple[int, int], np.ndarray], np.ndarray, float, float]:
    """Return kernel values inside and between classes, less what a free intercept takes up.

    Parameters
    ----------
    gram : Gram
        Whose matrix is not there yet.
    ends : int array of shape (n_classes + 1,)
        First samples of the classes, and the number of samples.
    free : bool

    Returns
    -------
    blocks : dict of ndarray
        By pairs of classes (i, j), i <= j. They are read again and again, so each has its own
        memory.
    sizes : ndarray of shape (n,)
        No entry K_ij is larger than sizes_i sizes_j.
    relative : float
        Their errors, over these products.
    missing : float
        What was taken off all of them.
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
