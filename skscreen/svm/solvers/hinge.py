"""Duality gap, best intercept and gap ball of a hinge-loss problem, from margins alone."""

from dataclasses import dataclass

import numpy as np
from numba import njit

from skscreen.core.floats import EPS
from skscreen.samples.intercept import best_intercepts, shown, with_intercept
from skscreen.svm.screening.bounds import SampleBall
from skscreen.svm.screening.rules import Extremes, ball_test, decide

# Of the interval of multiples of a start: what is lost by the rest is a square of it.
_HALVINGS = 8


@dataclass(frozen=True)
class Part:
    """Some samples of a problem: the undecided ones, or all.

    Parameters
    ----------
    C : ndarray of shape (m,)
    norms : ndarray of shape (m,)
    y : ndarray of shape (m,), or None
        Labels, where the intercept is free.
    fixed_sum : float
        Sum of y_i C_i over the samples left out because alpha_i = C_i.
    """

    C: np.ndarray
    norms: np.ndarray
    y: np.ndarray | None = None
    fixed_sum: float = 0.0

    def gap(self, alpha: np.ndarray, margins: np.ndarray) -> tuple[float, float]:
        """Return the duality gap at w = u(alpha) and the best intercept, and that intercept.

        Samples left out have a loss that is linear, so they add nothing to the gap.
        """
        b = self.best_intercept(margins)
        return self.gap_terms(alpha, self.shifted(margins, b)), b

    def gap_terms(self, alpha: np.ndarray, shown: np.ndarray) -> float:
        """Return sum_i C_i (1 - m_i)_+ - alpha_i (1 - m_i), terms that are not negative."""
        return certify(shown, self.C, alpha)[0]

    def shifted(self, margins: np.ndarray, b: float) -> np.ndarray:
        """Return the margins with an intercept."""
        return shown(margins, b, self.y)

    def best_intercept(self, margins: np.ndarray) -> float:
        """Return the b that minimises the primal: a weighted quantile of y_i - f_i."""
        if self.y is None:
            return 0.0
        return 0.5 * sum(best_intercepts(self.y * (1.0 - margins), self.C, self._level))

    def decide(self, centre: np.ndarray, square_radius: float, size: float) -> np.ndarray:
        """Return codes by the ball: 1 where alpha_i = 0 at the optimum, 2 where alpha_i = C_i.

        Parameters
        ----------
        centre : ndarray of shape (m,)
            Margins of the centre, without intercept.
        square_radius : float
        size : float
            sum_i alpha_i |z_i|: bounds the rounding errors of margins.
        """
        ball = SampleBall(centre, float(np.sqrt(square_radius)) + 8.0 * EPS * size)
        return decide(*self.with_intercept(ball_test(ball, self.norms)))

    def with_intercept(self, extremes: Extremes) -> Extremes:
        """Turn bounds on <z_i, w*> into bounds on the margins, where the intercept is free."""
        if self.y is None:
            return extremes
        return with_intercept(*extremes, self.y, self.C, self._level)

    @property
    def _level(self) -> float:
        """Of the quantile that the best intercept is."""
        return self.C[self.y > 0.0].sum() + self.fixed_sum


def best_multiple(part: Part, square: float, margins: np.ndarray) -> tuple[float, float]:
    """Return the s >= 0 (and b) that minimise the primal at w = s u, where |u|^2 = square.

    With u = C / C0 times the solution at C0 it is near C0 / C: w changes far less than alpha.
    """
    low, high = 0.0, 2.0
    if square <= 0.0:
        return 1.0, part.best_intercept(margins)
    for _ in range(_HALVINGS):
        s = 0.5 * (low + high)
        b = part.best_intercept(s * margins)
        shown = part.shifted(s * margins, b)
        slope = s * square - part.C @ np.where(shown < 1.0, margins, 0.0)
        low, high = (s, high) if slope < 0.0 else (low, s)
    s = 0.5 * (low + high)
    return s, part.best_intercept(s * margins)


def rounding_of_gap(n: int, square: float, loss: float, total: float) -> float:
    """Bound what rounding does to a gap: of |w|^2, the sum of losses and that of alpha."""
    return 8.0 * EPS * np.sqrt(n) * (square + loss + total)


@njit(cache=True, nogil=True)
def certify(margins, C, alpha):
    """Return the sum of C_i (1 - m_i)_+ - alpha_i (1 - m_i) >= 0 and that of C_i (1 - m_i)_+."""
    gap, hinge = 0.0, 0.0
    for i in range(margins.size):
        short = 1.0 - margins[i]
        if short > 0.0:
            hinge += C[i] * short
            gap += (C[i] - alpha[i]) * short
        else:
            gap -= alpha[i] * short
    return gap, hinge
