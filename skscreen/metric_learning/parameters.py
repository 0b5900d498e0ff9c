"""Parameters of a problem and of its solvers, whichever estimator has them."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
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
    linear_term: ArrayLike | None = None
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
    neighbors: sparse.csr_array | BaseEstimator | None = None
    unlabelled: Hashable = None
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

    y: ArrayLike | None = None
    sample_weight: ArrayLike | None = None
    triplets: ArrayLike | None = None
    quadruplets: ArrayLike | None = None
    pairs: tuple[ArrayLike, ...] | None = None
    comparison_weight: ArrayLike | None = None
    checked: bool = False  # whether rows of lists and weights are arrays that were checked

    @property
    def lists(self) -> list[str]:
        """Names of the comparisons that are given; without any there are labels."""
        names = "triplets", "quadruplets", "pairs"
        return [name for name in names if getattr(self, name) is not None]

    @property
    def arrays(self) -> list[np.ndarray | None]:
        """All parts as arrays, in C order, on which the key of a store depends."""
        lists = self.triplets, self.quadruplets, *(self.pairs or ())
        parts = self.y, self.sample_weight, *lists, self.comparison_weight
        return [None if part is None else np.ascontiguousarray(part) for part in parts]
