"""Problems of two classes that share kernel values: one-vs-one, and a small one of all samples.

What solves a single problem for one C depends on the number of samples; see `small_pairs` and
`single_pairs`.
"""

from collections.abc import Iterable, Iterator
from math import fsum
from time import perf_counter
from typing import Protocol

import numpy as np

from skscreen.core.certificate import Certificate
from skscreen.samples.multiclass import Division, OneVsOne, first_positive
from skscreen.samples.rows import check_bounds
from skscreen.svm.certificate import Box
from skscreen.svm.solvers.solution import SampleSolution, growth

# Limit of SMO steps for each sample, unless `max_iter` is given.
_STEPS_A_SAMPLE = 1000


class Pair(Protocol):
    """A problem of two classes, of which the samples of positive sign come first."""

    def solve(
        self, box: Box, beta: np.ndarray, tol: float, limit: int
    ) -> tuple[float, float, float, int]:
        """Improve beta (n_pair,); return intercept, bounds on gap and primal value, and steps."""


class Blocks(Protocol):
    """Kernel values of all classes."""

    def pair(self, problem: int, rows: np.ndarray) -> Pair:
        """Return one of the problems, on the samples `rows` (n_pair,)."""


class ClassPairs:
    """Solves the problems of pairs of classes.

    Parameters
    ----------
    blocks : Blocks
    division : Division
    bias : float
        B of a penalised intercept, 0 for none.
    free : bool
        Whether the intercept is unpenalised.
    max_iter : int or None
        Most steps for one value of C.
    """

    def __init__(self, blocks: Blocks, division: Division, bias: float, free: bool, max_iter):
        self._blocks, self._division = blocks, division
        self._bias, self._free, self._max_iter = bias, free, max_iter

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
        division = self._division
        place = slice(None) if isinstance(division, OneVsOne) else first_positive(division)
        rows, signs = division.rows(problem)[place], division.signs(problem)[place]
        weights = division.weights(problem)[place]
        limit = self._max_iter or _STEPS_A_SAMPLE * rows.size
        pair, rises, before = self._blocks.pair(problem, rows), signs > 0.0, None
        beta = np.zeros(rows.size) if start is None else signs * start[place]
        for C in Cs:
            began = perf_counter()
            check_bounds(C, weights)
            caps = C * weights
            box = Box(signs, np.where(rises, 0.0, -caps), np.where(rises, caps, 0.0), self._free)
            if before is not None:
                beta = growth(np.abs(beta), before * weights, C / before) * beta
            beta = box.balanced(np.clip(beta, box.low, box.high))
            b, gap, primal, n_iter = pair.solve(box, beta, tol, limit)
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
