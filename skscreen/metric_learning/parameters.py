"""Parameters of a problem and of its solvers, whichever estimator has them."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from skscreen.fitting.store import Store
from skscreen.metric_learning.problem.losses import SmoothedHinge


@dataclass(frozen=True)
class Parameters:
    """What `ScreenedRTLM` calls by these names; what an estimator lacks has its default there."""

    lam: float = 0.01
    relative_lam: bool = True
    n_neighbors: int | None = 5
    loss: str = "smoothed_hinge"
    width: float = 0.05
    pull: float = 0.0
    linear_term: Any = None
    diagonal: bool = False
    bound: str | Sequence[str] = ("gap",)
    rule: str | None = None
    screening: bool = True
    screen_every: int = 10
    active_set: bool = True
    tol: float = 1e-6
    max_iter: int | None = None
    store: str | os.PathLike | Store | None = None
    n_components: int | float | None = None
    neighbors: Any = None
    unlabelled: Any = None
    n_jobs: int | None = None

    @classmethod
    def of(cls, model: BaseEstimator, **others: object) -> Self:
        """Return those of an estimator, some of them replaced by `others`."""
        known = model.get_params(deep=False) | others
        return cls(**{part.name: known[part.name] for part in fields(cls) if part.name in known})

    @property
    def loss_function(self) -> SmoothedHinge:
        """The loss of a margin."""
        if self.loss == "squared_hinge":
            return SmoothedHinge(1.0, 0.5, math.inf)
        return SmoothedHinge(1.0, float(self.width) if self.loss == "smoothed_hinge" else 0.0)


@dataclass(frozen=True)
class Supervision:
    """What says which samples belong together, as given to `ScreenedRTLM.fit`."""

    y: Any = None
    sample_weight: Any = None
    triplets: Any = None
    quadruplets: Any = None
    pairs: Any = None
    comparison_weight: Any = None
    checked: bool = False  # whether rows of lists and weights are arrays that were checked

    @property
    def lists(self) -> list[str]:
        """Names of the comparisons that are given; without any there are labels."""
        names = "triplets", "quadruplets", "pairs"
        return [name for name in names if getattr(self, name) is not None]

    @property
    def arrays(self) -> list[np.ndarray | None]:
        """All parts as arrays, in C order, on which the key of a store depends."""
        parts = self.y, self.sample_weight, self.triplets, self.quadruplets
        parts += (*(self.pairs or ()), self.comparison_weight)
        return [None if part is None else np.ascontiguousarray(part) for part in parts]
