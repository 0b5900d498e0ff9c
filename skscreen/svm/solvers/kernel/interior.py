"""Regressions without a tube, by an interior point method on the kernel matrix.

With epsilon = 0 a sample may move either way from where it is: hardly any dual variable is at a
bound, and for a large C steps along pairs of samples lead nowhere. The dual in one variable for
each sample,

    max  y' beta - 1/2 beta' K beta,   -C_i <= beta_i <= C_i,   [sum beta = 0],

has no such trouble with Newton's method on the perturbed conditions of optimality, with predictor
and corrector (Mehrotra 1992). Each step is a Cholesky factor of K + D, D diagonal.

References
----------
S. Mehrotra. On the implementation of a primal-dual interior point method. SIAM Journal on
Optimization 2, 1992.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from skscreen.core.floats import EPS

# Most steps, and the share of the way to the nearest bound that one goes.
_STEPS, _SHARE = 30, 0.99


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def interior_point(
    K: np.ndarray, targets: np.ndarray, caps: np.ndarray, free: bool, tol: float
) -> tuple[np.ndarray, int]:
    """Return beta (n,) of the smallest relative gap seen, at best `tol`, and the steps taken.

    K (n, n) has the feature of a penalised intercept added; caps are positive and finite.
    """
    point = _Interior(K, targets, caps, free)
    best, least, steps = point.beta, np.inf, 0
    while steps < _STEPS:
        gap = point.gap()
        if gap < least:
            best, least = point.beta, gap
        # Rounding errors of the factor: from here on gaps grow.
        if not least > tol or not gap <= 1e2 * least:
            break
        steps += 1
        try:
            point.step()
        except LinAlgError:
            break
    return best, steps


class _Interior:
    """A point inside the box, its multipliers, and the intercept b."""

    def __init__(self, K: np.ndarray, targets: np.ndarray, caps: np.ndarray, free: bool):
        self._K, self._targets, self._caps, self._free = K, targets, caps, free
        n, size = targets.size, max(float(np.abs(targets).max()), EPS)
        self.beta, self._f, self._b = np.zeros(n), np.zeros(n), 0.0
        # Of the distances to the lower and the upper bound.
        self._low, self._high = np.full(n, size), np.full(n, size)
        # What a factor needs beside the rounding errors of K.
        self._ridge = EPS * n * float(K.diagonal().max())

    def gap(self) -> float:
        """Return the relative duality gap of beta, moved to the sum that it must have."""
        rest = self._targets - self._f - self._b
        loss, square = float(self._caps @ np.abs(rest)), float(self.beta @ self._f)
        primal = 0.5 * square + loss
        return (loss - float(self.beta @ rest)) / primal if primal > 0.0 else 0.0

    def step(self) -> None:
        """Take a step of Newton's method, of predictor and corrector."""
        below, above = self.beta + self._caps, self._caps - self.beta
        low, high = self._low, self._high
        D = low / below + high / above
        A = self._K.copy()
        A[np.diag_indices(D.size)] += D + self._ridge
        factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
        ones = self._solved(factor, D, np.ones(D.size)) if self._free else None
        rest = self._targets - self._f - self._b

        def direction(to_low, to_high):
            change = self._solved(factor, D, rest + to_low / below - to_high / above)
            move = 0.0
            if ones is not None:
                move = float((change.sum() + self.beta.sum()) / ones.sum())
                change = change - move * ones
            return (change, move, to_low / below - low - low / below * change,
                    to_high / above - high + high / above * change)  # fmt: skip

        nothing = np.zeros(D.size)
        change, move, d_low, d_high = direction(nothing, nothing)
        length = _length((below, change), (above, -change), (low, d_low), (high, d_high))
        mean = float(low @ below + high @ above)
        after = float((low + length * d_low) @ (below + length * change))
        after += float((high + length * d_high) @ (above - length * change))
        aim = (after / mean) ** 3 * mean / (2 * D.size)
        change, move, d_low, d_high = direction(aim - d_low * change, aim + d_high * change)
        length = _length((below, change), (above, -change), (low, d_low), (high, d_high))
        length = min(1.0, _SHARE * length)
        if not np.isfinite(length * change.sum()):
            raise LinAlgError("no finite step")
        self.beta = self.beta + length * change
        self._low, self._high = low + length * d_low, high + length * d_high
        self._b += length * move
        self._f = self._K @ self.beta

    def _solved(self, factor, D: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Solve (K + D) x = right; what the ridge has changed is made good."""
        x = cho_solve(factor, right, check_finite=False)
        for _ in range(3):
            x += cho_solve(factor, right - self._K @ x - D * x, check_finite=False)
        return x


def _length(*moves: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the part, at most 1, of moves of positive numbers that keeps them positive."""
    part = 1.0
    for at, move in moves:
        falls = move < 0.0
        if falls.any():
            part = min(part, float((-at[falls] / move[falls]).min()))
    return part
