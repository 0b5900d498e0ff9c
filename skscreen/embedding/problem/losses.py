"""Losses of ordinal embedding: how badly a squared distance a < c is violated.

An answer "i and j are nearer to each other than l and k" is right where a = |x_i - x_j|^2 is below
c = |x_l - x_k|^2; the choice (i, j, k) of the odd one k where a is the smallest of the distances
between the three. The formulas are in `_compiled/embedding/losses.hpp`, once for all solvers.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from skscreen._compiled import embedding


@dataclass(frozen=True)
class Traits:
    """What solvers know of a loss beyond its values."""

    # The parameter of the estimator that is the parameter of the loss.
    parameter: str | None = None
    # Of SGD, in squared distance per unit of slope; longer ones diverge on noisy answers.
    first_step: float = 0.1
    # For r noise-free answers per coordinate and a loss with parameter s the ridge is the first
    # number over r to the power of the second and s to that of the third, at most the fourth.
    clean_ridge: tuple[float, int, int, float] = (0.3, 2, 0, 0.3)
    # Tried for noisy answers, weakest first, which costs the map nothing where answers contradict.
    ridges: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3)
    # Largest number of dimensions in which the default start has extra ones.
    lift_up_to: int = 3


TRAITS = {
    "gnmds": Traits("smoothing", 0.1, (0.5, 2, 0, 0.3), (0.003, 0.03, 0.1, 0.3)),
    # CKL has local minima in more dimensions; its value needs no other ridge.
    "ckl": Traits("mu", 0.2, (0.01, 0, 0, 0.01), (), lift_up_to=5),
    "ste": Traits(),
    "tste": Traits("alpha", 0.2, (0.001, 0, 1, np.inf), (0.001, 0.01, 0.03, 0.1)),
    "soe": Traits("margin", 0.2, (0.03, 2, 0, 0.1)),
    "oddoneout": Traits(ridges=(0.01, 0.03, 0.1, 0.3, 0.5)),
}
# By name: the number by which kernels know a loss, and that of the distances in an answer.
_KINDS = {name: (code, sides) for code, (name, sides, _) in enumerate(embedding.LOSSES)}
# Losses that are convex in the Gram matrix of the points.
CONVEX_LOSSES = tuple(name for name, _, is_convex in embedding.LOSSES if is_convex)


@dataclass(frozen=True)
class EmbeddingLoss:
    """A loss with its one parameter, which not all use; see `_compiled/embedding/losses.hpp`."""

    name: str
    shape: float = 1.0

    @classmethod
    def of(cls, estimator: BaseEstimator) -> "EmbeddingLoss":
        """Return the loss that the parameters of an estimator name."""
        name = TRAITS[estimator.loss].parameter
        shape = 1.0 if name is None else getattr(estimator, name)
        if shape is None:  # alpha
            shape = max(estimator.n_components - 1, 1)
        return cls(estimator.loss, float(shape))

    @property
    def traits(self) -> Traits:
        """What solvers know of the loss."""
        return TRAITS[self.name]

    @property
    def code(self) -> int:
        """The number by which kernels know the loss."""
        return _KINDS[self.name][0]

    @property
    def sides(self) -> int:
        """Number of distances that an answer compares."""
        return _KINDS[self.name][1]

    @property
    def of_trials(self) -> bool:
        """Whether answers are choices of the odd one out, not of the nearer pair."""
        return self.sides == 3
