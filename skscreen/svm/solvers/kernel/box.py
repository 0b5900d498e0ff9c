"""The dual of a hinge-loss problem in signed variables, and its certificate.

With beta_i = y_i alpha_i labels vanish from the dual,

    max  sum_i target_i beta_i - 1/2 beta' K beta,   low_i <= beta_i <= high_i,   [sum beta = 0],

target_i = y_i t_i with the threshold t_i of the loss (1 for a hinge), [low, high] = [0, C_i] for
y_i = 1 and [-C_i, 0] for y_i = -1. With slopes g_i = target_i - f_i - b the loss of a sample is
max(high_i g_i, low_i g_i), and its part of the duality gap max((high_i - beta_i) g_i,
(low_i - beta_i) g_i).
"""

from dataclasses import dataclass

import numpy as np

from skscreen.samples.intercept import best_intercepts


@dataclass(frozen=True)
class Box:
    """Bounds and targets of some samples.

    Parameters
    ----------
    target, low, high : ndarray of shape (m,)
    free : bool
        Whether there is an unpenalised intercept b.
    outer_sum : float
        Sum of beta over samples that do not take part.
    """

    target: np.ndarray
    low: np.ndarray
    high: np.ndarray
    free: bool
    outer_sum: float = 0.0

    def take(self, index: np.ndarray, outer_sum: float) -> "Box":
        """Return the problem on some of the samples."""
        parts = (part[index] for part in (self.target, self.low, self.high))
        return Box(*parts, self.free, outer_sum)

    def scaled(self, index: np.ndarray, factors: np.ndarray) -> "Box":
        """Return the problem of a subset that represents all samples, with multiplied bounds."""
        low, high = factors * self.low[index], factors * self.high[index]
        return Box(self.target[index], low, high, self.free)

    def view(self, beta: np.ndarray, f: np.ndarray) -> "View":
        """Return the certificate of a point with scores f, for the best intercept."""
        b, g = 0.0, self.target - f
        if self.free:
            level = self.high.sum() + self.outer_sum
            b = 0.5 * sum(best_intercepts(g, self.high - self.low, level))
            g -= b
        gap = float(self.slackness(beta, g).sum())
        loss = float(self.losses(g).sum())
        primal = 0.5 * (float(self.target @ beta) + loss + gap)
        return View(b, g, gap, primal)

    def slackness(self, beta: np.ndarray, g: np.ndarray, errors=0.0) -> np.ndarray:
        """Return the largest contributions of samples to the gap for slopes within `errors`."""
        # Convex in the slope, so largest at an end.
        return np.maximum((self.high - beta) * (g + errors), (self.low - beta) * (g - errors))

    def losses(self, g: np.ndarray, errors=0.0) -> np.ndarray:
        """Return the largest losses of samples for slopes within `errors`."""
        return np.maximum(self.high * (g + errors), self.low * (g - errors))

    def violations(self, beta: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return the sizes of slopes along which samples can move."""
        return np.maximum(np.where(beta < self.high, g, 0.0), np.where(beta > self.low, -g, 0.0))

    def is_free(self, beta: np.ndarray) -> np.ndarray:
        """Return which samples are strictly between their bounds."""
        return (beta > self.low) & (beta < self.high)


@dataclass(frozen=True)
class View:
    """The best intercept, slopes with it, duality gap and primal value of a point."""

    b: float
    slopes: np.ndarray
    gap: float
    primal: float
