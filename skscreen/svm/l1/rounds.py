"""Rounds between two certificates: on working sets of full features, or sweeps over sparse ones."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from skscreen._compiled import svm as compiled
from skscreen.core.floats import EPS
from skscreen.svm.l1.certificate import L1Point, scaled_dual
from skscreen.svm.l1.newton import DAMPING, FEW, newton_step, step_of_used
from skscreen.svm.l1.pace import Pace

column_sweeps = compiled.column_sweeps
"""(data, rows, starts, c (n,), steepest (d,), index (k,), margins (n,), x (d,), sweeps) -> sum.

Of the violations before the last of the sweeps over some columns of CSC; `steepest` are sums of
c_i z_ij^2.
"""

# Largest set whose matrix is formed: 72 MB.
_LARGEST_MATRIX = 3000


class Sets:
    """Newton's method on the features in use, and those nearest to being used."""

    def __init__(self, X: np.ndarray, signs: np.ndarray):
        self._X, self._signs, self._growth = X, signs, 1

    def least_gain(self, pace: Pace) -> float:
        """Return the share of the gap that is a gain of the primal value in a round."""
        # A round has up to fifty Newton steps: if these move less than a thousandth of the gap,
        # they lead nowhere in time.
        return 1e-3 if pace.slow >= 5 else 1e-6

    def leads_nowhere(self, pace: Pace) -> bool:
        """Whether further rounds are of no use."""
        # Nor are twenty without half of the gap.
        return pace.failures > 5 or pace.slow > 20

    def other(self, point: L1Point, pace: Pace) -> sparse.csc_array | None:
        """Return the columns for rounds of the other kind, if sets become too large."""
        # Twice as many features as are in use; more where that has brought little.
        self._growth = 2 * self._growth if pace.left > 0.5 else 1
        return sparse.csc_array(self._X) if self._size(point) > _LARGEST_MATRIX else None

    def _size(self, point: L1Point) -> int:
        used = int(np.count_nonzero(point.w))
        return min(self._growth * max(100, 2 * used), point.w.size)

    def go_on(self, point: L1Point, pace: Pace, tol: float, most: int) -> int:
        """Change the weights of a set in so many steps; return the steps."""
        index = working_set(point, self._size(point))
        gap = max(0.05 * point.found.gap, 0.3 * tol * point.found.primal)
        unequal = pace.failures > 0 or pace.slow >= 5
        c, Z, x = point.c, self._signs[:, None] * self._X[:, index], point.w[index]
        margins, damping, steps = Z @ x, DAMPING, 0
        least, lost = np.inf, 0
        while steps < min(most, 50):
            short = np.maximum(1.0 - margins, 0.0)
            alpha = 2.0 * c * short
            gradient = -(Z.T @ alpha)
            primal = np.abs(x).sum() + c @ (short * short)
            # Steps that lower the primal value by rounding errors alone are lost.
            lost = 0 if primal < (1.0 - 4.0 * EPS) * least else lost + 1
            least = min(least, primal)
            missing = primal - scaled_dual(alpha, c, np.abs(gradient).max(initial=0.0))[0]
            # All features may be proved to be zero while rounding errors leave a gap.
            if missing <= gap or lost == 3 or not x.size:
                break
            damping *= newton_step(Z, c, gradient, x, margins, primal, damping, unequal)
            steps += 1
            if damping > 1e3:
                # No step of the model leads downhill.
                break
        point.w[index] = x
        return max(steps, 1)


class Sweeps:
    """Coordinate descent over sparse features, and Newton's method on those in use.

    With `fills` the columns are filled where that makes slow progress.
    """

    def __init__(self, X: sparse.csc_array, signs: np.ndarray, fills: bool):
        self._X, self._signs, self._fills, self._damping = X, signs, fills, DAMPING

    @cached_property
    def _Z(self) -> sparse.csc_array:
        return with_entries(self._X, self._X.data * self._signs[self._X.indices])

    def least_gain(self, pace: Pace) -> float:
        """Return the share of the gap that is a gain of the primal value in a round."""
        return 1e-6

    def leads_nowhere(self, pace: Pace) -> bool:
        """Whether further rounds are of no use."""
        return pace.failures > 5

    def other(self, point: L1Point, pace: Pace) -> np.ndarray | None:
        """Return the columns for rounds of the other kind, if these only crawl."""
        # As they do on features of very unequal size.
        return self._X.toarray(order="F") if self._fills and pace.slow == 100 else None

    def go_on(self, point: L1Point, pace: Pace, tol: float, most: int) -> int:
        """Sweep, and take a Newton step where sweeps alone are slow; return the steps."""
        Z, c, w, margins, n_sweeps = self._Z, point.c, point.w, point.margins, 5
        # Features that may come into use before the next certificate, and those in use.
        near = np.abs(point.correlations) > 0.8
        index, steepest = np.flatnonzero(~point.zero & (near | (w != 0.0))), 0.5 * point.norms**2
        column_sweeps(Z.data, Z.indices, Z.indptr, c, steepest, index, margins, w, n_sweeps)
        # Where sweeps and steps of the weights in use stand still, the whole model is worth its
        # price.
        few = index.size <= (4 * FEW if pace.most_failures >= 3 else FEW)
        some = index if few else np.flatnonzero(w)
        # Sweeps go on alone as long as they lower the gap fast.
        if pace.left <= 0.3 or not 0 < some.size <= _LARGEST_MATRIX:
            return n_sweeps
        part, x, short = Z[:, some], w[some], np.maximum(1.0 - margins, 0.0)
        gradient = -(part.T @ (2.0 * c * short))
        primal = np.abs(x).sum() + c @ (short * short)
        step = newton_step if few else step_of_used
        factor = step(part, c, gradient, x, margins, primal, self._damping)
        # Beyond this the step is one along the gradient, of no length.
        self._damping = min(factor * self._damping, 1e9)
        w[some] = x
        return n_sweeps + 1


def rounds_of(X: Any, signs: np.ndarray, fills: bool) -> Sets | Sweeps:
    """Return rounds on columns X (n, d)."""
    return Sweeps(X, signs, fills) if sparse.issparse(X) else Sets(X, signs)


def with_entries(X: sparse.csc_array, data: np.ndarray) -> sparse.csc_array:
    """Return a matrix with other entries in the same places."""
    return sparse.csc_array((data, X.indices, X.indptr), X.shape)


def working_set(point: L1Point, size: int) -> np.ndarray:
    """Return the features in use and those whose constraint is nearest, in ascending order."""
    w, norms = point.w, point.norms
    distance = np.full(w.size, np.inf)
    open_ = ~point.zero & (norms > 0.0)
    distance[open_] = (1.0 - point.scaled[open_]) / norms[open_]
    distance[w != 0.0] = -np.inf
    size = min(size, int(np.count_nonzero(np.isfinite(distance) | (w != 0.0))))
    return np.sort(np.argpartition(distance, max(size - 1, 0))[:size])
