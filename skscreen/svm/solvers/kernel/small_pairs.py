"""Problems of two classes of few samples, each solved for one C in one compiled call.

For hundreds of problems of some hundred samples, and for a single one, the time between calls would
be most of it. Kernel values between all samples are computed once, in double precision.
"""

from itertools import pairwise
from math import fsum

import numpy as np

from skscreen.core.floats import EPS
from skscreen.samples.gram import Gram
from skscreen.samples.kernel import Kernel
from skscreen.samples.multiclass import Division, OneVsOne, first_positive
from skscreen.svm.certificate import Box
from skscreen.svm.solvers.kernel.class_pair_loops import solve_small

# Dual variables up to which all problems are solved to this part of the tolerance, as that takes no
# time.
_FEW, _MORE_DIGITS = 300, 1e-4

# Exponents of an RBF kernel below which what its values lack to 1 has more digits than they have.
_FLAT = 0.5


class SmallBlocks:
    """Kernel values inside and between classes, in double precision.

    Parameters
    ----------
    known : tuple
        See `class_blocks`.
    ends : int array of shape (n_classes + 1,)
    pairs : list of (int, int)
        Classes of the problems.
    bias : float
        B of a penalised intercept, 0 for none.
    """

    def __init__(self, known: tuple, ends: np.ndarray, pairs: list[tuple[int, int]], bias: float):
        self._blocks, sizes, self._relative, self._missing = known
        self._pairs, self._square_bias = pairs, bias**2
        sizes = np.sqrt(sizes**2 + bias**2) if bias else sizes
        self._sizes = [sizes[first:last] for first, last in pairwise(ends)]
        n_variables = sum(self._sizes[c].size for classes in pairs for c in classes)
        self._part = _MORE_DIGITS if n_variables <= _FEW else 1.0

    def pair(self, problem: int, rows: np.ndarray) -> "SmallPair":
        """Return one of the problems."""
        first, second = classes = self._pairs[problem]
        blocks = self._blocks
        values = blocks[first, first], blocks[second, second], blocks[classes], self._square_bias
        sizes = np.concatenate([self._sizes[first], self._sizes[second]])
        return SmallPair(values, (sizes, self._relative), self._missing, self._part)


class SmallPair:
    """A problem of two classes; see `class_pair_loops.solve_small` and `class_blocks`."""

    def __init__(self, values: tuple, errors: tuple, missing: float, part: float):
        self._values, self._errors, self._missing, self._part = values, errors, missing, part

    def solve(self, box: Box, beta, tol: float, limit: int) -> tuple[float, float, float, int]:
        """Improve beta; return intercept, bounds on gap and primal value, and steps."""
        bounds = box.target, box.low, box.high, box.free
        steps, b, gap, primal = solve_small(
            *self._values, *bounds, *self._errors, tol, tol * self._part, limit, beta
        )
        if self._missing:
            b -= self._missing * fsum(beta)
        return b, gap, primal, steps


def small_blocks(X, kernel: Kernel, division: Division, bias: float, free: bool, kept=None):
    """Return kernel values of few samples X of shape (n, d); for the others see `ClassPairs`.

    `kept` is where kernel values of the same samples and kernel stay for other fits, or None.
    """
    if isinstance(division, OneVsOne):
        pairs, order = division.pairs, np.concatenate(division.members)
        sizes = [rows.size for rows in division.members]
    else:
        pairs, order = [(0, 1)], first_positive(division)
        sizes = [np.count_nonzero(division.signs(0) == sign) for sign in (1.0, -1.0)]
    ends = np.concatenate([[0], np.cumsum(sizes)])

    def compute() -> tuple:
        return class_blocks(kernel.gram(X[order], 0.0), ends, free)

    return SmallBlocks(compute() if kept is None else kept.get("all", compute), ends, pairs, bias)


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
