"""Relative comparisons whose anchors are spread over Dask workers, in parts.

Only sums over parts come to the driver: values, counts, and matrices of the size of a parameter.
Where the solver and the bounds hand margins on, here they hand on the point at which a part will
compute them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from typing import Any, Self

import numpy as np
from dask.sizeof import sizeof
from distributed import Client

from skscreen.core.floats import EPS
from skscreen.core.threads import blas_threads_for
from skscreen.distributed.parts import Parts, addresses, sent
from skscreen.metric_learning.problem.comparisons import Comparisons
from skscreen.metric_learning.problem.domains import Domain, Metric
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Objective
from skscreen.metric_learning.problem.triplets import locality_order, triplets_from_labels
from skscreen.metric_learning.screening.active import (
    Decision,
    Hook,
    decide,
    decide_items,
    keep_undecided,
)
from skscreen.metric_learning.screening.ball import Ball


@dataclass(frozen=True)
class PartitionedDecision:
    """Decisions about all items: a `Decision` for each part, on its worker, and total counts."""

    decisions: Parts
    n_zero: int
    n_linear: int


class PartitionedComparisons:
    """Comparisons in parts on workers; does what solver and screening ask of `Comparisons`."""

    # Single items are on the workers, so the interior-point method is not used, and the work of an
    # evaluation is not needed.
    lists_items = False
    evaluation_work = 0.0

    def __init__(
        self, parts: Parts, kind: type[Comparisons], n_features: int, n_items: int,
        has_long_ranges: bool,
    ):  # fmt: skip
        # In a fixed order, so that sums do not depend on which worker did what.
        self.parts, self.kind = parts, kind
        self.n_features, self.n_items = n_features, n_items
        self.has_long_ranges = has_long_ranges

    @classmethod
    def from_labels(
        cls, client: Client, X: np.ndarray, codes: np.ndarray, n_neighbors: int | None,
        kind: type[Comparisons], n_parts: int | None = None,
    ) -> Self:  # fmt: skip
        """Build the triplets of nearest neighbours of X (n, d), of classes (n,), on workers."""
        # X goes to every worker that builds a part; by default there is one for each thread.
        places = addresses(client)
        # Sorted by class, so that the anchors of a part share neighbours.
        order = locality_order(X, codes)
        X, codes = X[order], codes[order]
        # A class with one member has no anchor.
        own = np.flatnonzero(np.bincount(codes)[codes] > 1)
        n_parts = min(len(places) if n_parts is None else n_parts, own.size)
        anchors = np.array_split(own, n_parts)
        data, labels = sent(client, X), sent(client, codes)
        futures = [
            client.submit(
                rtlm_triplets, data, labels, own, n_neighbors, kind, pure=False,
                workers=[places[k % len(places)]], allow_other_workers=True,
            )
            for k, own in enumerate(anchors)
        ]  # fmt: skip
        parts = Parts(client, futures)
        sizes = parts.map(attrgetter("n_items", "has_long_ranges"), name="rtlm_count")
        counts, long = zip(*sizes, strict=True)
        return cls(parts, kind, X.shape[1], sum(counts), any(long))

    def _like(self, parts: Parts, n_items: int) -> Self:
        return type(self)(parts, self.kind, self.n_features, n_items, self.has_long_ranges)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a parameter."""
        return (self.n_features,) if self.kind.diagonal else (self.n_features, self.n_features)

    def thresholds(self, loss: SmoothedHinge) -> np.ndarray:
        """Return the one threshold that all rows have."""
        return np.array([loss.threshold])

    def margins(self, point: Metric) -> Metric:
        """Return what stands for the margins at a point, in whatever order the parts keep them."""
        return point

    def loss(self, point: Metric, loss: SmoothedHinge) -> tuple[float, np.ndarray, float]:
        """Return value, adjoint and its error as `Comparisons.loss` does: one pass on workers."""
        found = self._map("loss", point, loss)
        values, adjoints, errors = zip(*found, strict=True)
        return sum(values), *self._sum(adjoints, errors)

    def loss_value(self, point: Metric, loss: SmoothedHinge) -> tuple[float, float]:
        """Sum of losses alone, and a bound on its rounding error."""
        found = self._map("loss_value", point, loss)
        values, errors = zip(*found, strict=True)
        # Losses are not negative.
        return sum(values), sum(errors) + len(values) * EPS * sum(values)

    def loss_bound(self, point: Metric, loss: SmoothedHinge, upper: bool) -> float:
        """Return what the sum of losses is at most or at least."""
        found = self._map("loss_bound", point, loss, upper)
        error = len(found) * EPS * sum(abs(value) for value in found)
        return sum(found) + error if upper else sum(found) - error

    def near_term(self, weight: float) -> tuple[np.ndarray, float]:
        """Return B with <B, M> = -weight times the sum of near distances, and its error."""
        return self._sum(*zip(*self._map("near_term", None, weight), strict=True))

    def adjoint_at_zero(self, loss: SmoothedHinge) -> tuple[np.ndarray, float]:
        """Return the adjoint at the zero metric, and its error."""
        return self._sum(*zip(*self._map("adjoint_at_zero", None, loss), strict=True))

    def largest_lam(self, loss: SmoothedHinge) -> float:
        """Return what lambda_max cannot exceed, from the sizes of the pairs alone."""
        return len(self.parts) * sum(self._map("largest_lam", None, loss))

    def largest_ratio(self, point: Metric, loss: SmoothedHinge) -> float:
        """Largest ratio of a margin to the one at which the item leaves its piece at zero."""
        return max(self._map("largest_ratio", point, loss))

    def sort_places(self, point: Metric) -> tuple[Self, Metric]:
        """Sort the places of each block by distance; nothing waits for it."""
        return self._like(self.parts.then(rtlm_sorted, point), self.n_items), point

    def _map(self, method: str, point: Metric | None, *args) -> list:
        """Call a method of all parts, with their margins at a point if there is one."""
        return self.parts.map(_call, method, point, *args, name=f"rtlm_{method}")

    def _sum(self, adjoints: Sequence[np.ndarray], errors: Sequence[float]):
        total = sum(adjoints, np.zeros(self.shape))
        sizes = sum(float(np.linalg.norm(adjoint)) for adjoint in adjoints)
        return total, sum(errors) + len(errors) * EPS * sizes


@decide_items.register
def _(
    geometry: PartitionedComparisons, objective: Objective, balls: Sequence[Ball],
    codes: np.ndarray | None, hook: Hook | None,
):  # fmt: skip
    """Decide on the workers; `codes`, a number for every item, would have to come to the driver."""
    decisions = geometry.parts.then(
        rtlm_decide, balls, hook, objective.loss, objective.domain, objective.lam
    )
    counts = decisions.map(attrgetter("n_zero", "n_linear"), name="rtlm_decided")
    n_zero, n_linear = np.sum(counts, axis=0)
    return PartitionedDecision(decisions, int(n_zero), int(n_linear))


@keep_undecided.register
def _(geometry: PartitionedComparisons, decision: PartitionedDecision, loss: SmoothedHinge):
    """Compact on the workers."""
    kept = geometry.parts.then(rtlm_undecided, loss, each=[decision.decisions])
    parts = kept.map(itemgetter(1), name="rtlm_linear_part")
    adjoints, errors, constants = zip(*parts, strict=True)
    n_items = geometry.n_items - decision.n_zero - decision.n_linear
    reduced = geometry._like(kept.then(itemgetter(0), name="rtlm_part"), n_items)
    return reduced, (*reduced._sum(adjoints, errors), sum(constants))


@sizeof.register(Comparisons)
def _(part: Comparisons) -> int:
    """Tell Dask what it would have to move."""
    items = part.items
    arrays = part.X, part.near_sizes, part.far_sizes, items.near, items.far, items.rank
    return sum(array.nbytes for array in arrays) + 4 * items.start.nbytes


# -- what runs on workers; dashboards show these names ------------------------------------------


def rtlm_triplets(
    X: np.ndarray, codes: np.ndarray, anchors: np.ndarray, n_neighbors: int, kind: type[Comparisons]
) -> Comparisons:
    """Build a part, which keeps the rows of X that it needs and no others."""
    items = triplets_from_labels(X, codes, n_neighbors, anchors=anchors)
    return kind(X, items).restrict(items.start, items.stop)


def _call(part: Comparisons, method: str, point: Metric | None, *args):
    with blas_threads_for(part.n_features):
        margins = [] if point is None else [part.margins(point)]
        return getattr(part, method)(*margins, *args)


def rtlm_sorted(part: Comparisons, point: Metric) -> Comparisons:
    """Sort the places of a part."""
    with blas_threads_for(part.n_features):
        return part.sort_places(part.margins(point))[0]


def rtlm_decide(
    part: Comparisons, balls: Sequence[Any], hook: Hook | None, loss: SmoothedHinge,
    domain: Domain, lam: float,
) -> Decision:  # fmt: skip
    """Screen a part by balls whose margins, at the points of their terms, it has to compute."""
    with blas_threads_for(part.n_features):
        known = [
            replace(ball, terms=tuple((share, part.margins(at)) for share, at in ball.terms))
            for ball in balls
        ]
        # Items that were fixed before do not matter for decisions about others.
        objective = Objective(part, loss, domain, lam, np.zeros(part.shape))
        return decide(objective, known, hook=hook)


def rtlm_undecided(part: Comparisons, loss: SmoothedHinge, decision: Decision) -> tuple:
    """Compact a part; also the linear part of what leaves it."""
    with blas_threads_for(part.n_features):
        return keep_undecided(part, decision, loss)
