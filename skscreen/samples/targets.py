"""Targets and weights of the samples of a regression, checked and brought to one form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from skscreen.core.checks import are_finite, as_labels
from skscreen.samples.labels import taking_part
from skscreen.samples.losses import SampleLosses, hinge, squared_hinge
from skscreen.samples.rows import LARGEST


@dataclass(frozen=True)
class Targets:
    """Samples of positive weight that take part: rows, targets and sample weights, all (n,)."""

    rows: np.ndarray
    values: np.ndarray
    repetitions: np.ndarray


def check_targets(y: ArrayLike, name: str = "y") -> np.ndarray:
    """Return targets of a regression, finite numbers (n,)."""
    y = as_labels(y, name)
    if are_finite(y):
        return y
    return check_array(y, ensure_2d=False, dtype=np.float64, input_name=name)


def read_targets(y: np.ndarray, sample_weight: ArrayLike | None) -> Targets:
    """Bring checked targets and weights to one form; samples of weight zero are left out."""
    if np.abs(y).max(initial=0.0) > LARGEST:
        raise ValueError(
            f"y has values up to {np.abs(y).max():g}, and products above {LARGEST:g} may overflow: "
            "rescale y."
        )
    rows, weights = taking_part(y.size, sample_weight)
    return Targets(rows, y[rows], weights)


# Losses of regression by name, and those of their two sides: max(0, |y_i - f(x_i)| - epsilon), or
# the square of it.
LOSSES = {"epsilon_insensitive": hinge, "squared_epsilon_insensitive": squared_hinge}


class BothSides:
    """A regression as a problem in which each sample stands twice, in the place of a `Division`."""

    n_problems = 1
    same_weights = True  # in all problems: there is one

    def __init__(self, targets: Targets, epsilon: float, free: bool):
        self.labels, self.epsilon = targets, epsilon
        # A free intercept absorbs any shift of the targets, and a large one would cost digits.
        self.shift = float(np.median(targets.values)) if free else 0.0
        self._values, self.everyone = targets.values - self.shift, np.arange(targets.rows.size)
        # A residual is too large on one side or the other: z_i = x_i has the threshold y_i -
        # epsilon, and z_{n+i} = -x_i has -y_i - epsilon. No target is beyond LARGEST: without a
        # loss at w = 0 the tube need not be wider.
        self._tube = min(epsilon, LARGEST)
        self._thresholds = np.concatenate([self._values, -self._values]) - self._tube
        self.n_variables = 2 * self.everyone.size

    @property
    def content(self) -> tuple:
        """All that the problem depends on beside the samples and the loss."""
        return self._values, self.labels.repetitions, self.epsilon

    def rows(self, problem: int) -> np.ndarray:
        """Return which of the samples take part: all."""
        return self.everyone

    def signs(self, problem: int) -> np.ndarray:
        """Return the signs of both sides of each sample, (2 n,)."""
        return np.repeat([1.0, -1.0], self.everyone.size)

    def losses(self, problem: int, loss: str) -> SampleLosses:
        """Return the losses at C = 1 of both sides, (2 n,)."""
        weights = self.labels.repetitions
        losses = LOSSES[loss](np.concatenate([weights, weights]))
        return replace(losses, thresholds=self._thresholds)

    def lost(self) -> np.ndarray:
        """Return what rounding took from thresholds, (2 n,)."""
        exact = self.labels.values.astype(np.longdouble) - self.shift
        exact = np.concatenate([exact - self._tube, -exact - self._tube])
        return (exact - self._thresholds).astype(np.float64)

    def dual_coefs(self, betas: Sequence[np.ndarray]) -> np.ndarray:
        """Return the sums of the dual variables of both sides, as a row."""
        return betas[0].reshape(2, -1).sum(axis=0, keepdims=True)

    def losses_of_hinge(self, problem: int) -> SampleLosses:
        """Return the losses at C = 1 if they are those of a tube, without squares."""
        return self.losses(problem, "epsilon_insensitive")

    def weights(self, problem: int) -> np.ndarray:
        """Return the weights of the samples."""
        return self.labels.repetitions

    def by_class(self, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return some samples, and their number, (1,): there are no classes."""
        return found, np.array([found.size])

    def check(self, n_features: int) -> None:
        """Refuse nothing: there is one problem."""
