"""The three rules of the paper, each item by its own Frobenius norm.

The sphere rule is that of section 4.1. The optimum lies in the ball *and* in the cone, so the
smallest margin over both decides more than that over the ball: the linear rule cuts the ball with
one half-space for all items (Theorem J9), the semidefinite rule with the cone (SDLS, section 4.2;
for diagonal metrics the analytic solution of the same problem, Theorems J11 and J12). Each rule
tries those before it, so that it decides all that they decide. An item is looked at here: O(d),
where the pass over near pairs (`active.py`) takes a bisection each, so only what that has left is.

Every decision rests on a lower bound, valid for any C in the cone K (self-dual, so <C, X> >= 0),

    min {<A, X> : |X - Q| <= r, X in K} >= <A - C, Q> - r |A - C|,

evaluated with its rounding errors: how C was found has no part in whether the decision is right.
For the linear part of the loss A changes its sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skscreen._compiled import metric_learning
from skscreen.core.floats import EPS
from skscreen.metric_learning.problem.objective import SLACK, Evaluation, Objective, inner, norm
from skscreen.metric_learning.screening.active import Decision
from skscreen.metric_learning.screening.ball import Ball
from skscreen.metric_learning.screening.paper.bounds import BOUNDS

# From the weakest to the strongest.
RULES = ("sphere", "linear", "semidefinite")


@dataclass(frozen=True)
class PaperScreening:
    """Bounds and rule by name: an item is decided as soon as one of the bounds decides it."""

    bounds: tuple[str, ...] = ("gap",)
    rule: str = "sphere"

    def __post_init__(self):
        if not self.bounds or any(name not in tuple(BOUNDS) for name in self.bounds):
            raise ValueError(
                f"bound must name at least one of {', '.join(map(repr, BOUNDS))}, got "
                f"{self.bounds!r}."
            )

    def balls(self, evaluation: Evaluation, lam: float, reference_lam: float) -> list[Ball]:
        """Return the balls of all bounds."""
        return [BOUNDS[name](evaluation, lam, reference_lam) for name in self.bounds]

    def refine(self, objective: Objective, balls: Sequence[Ball], decision: Decision) -> Decision:
        """Decide, item by item, what the pass over near pairs has left."""
        # For the full metric and a centre outside the cone ("gb") "semidefinite" *is* "linear": the
        # search would need a full eigendecomposition for each step and item.
        items, start, stop = objective.geometry.items, decision.start, decision.stop
        found = np.zeros(int((stop - start).sum()), dtype=np.int8)
        for ball in balls:
            if np.isfinite(ball.radius):
                _decide(objective, ball, self.rule, start, stop, found)
        n_pieces = metric_learning.count_pieces(start, stop, found)
        near_pairs, begins, ends = np.empty((3, n_pieces), dtype=np.int64)
        n_zero, n_linear = metric_learning.split_rows(
            start, stop, items.base, items.rank, found, near_pairs, begins, ends, decision.codes,
            decision.near_linear, decision.place_steps,
        )  # fmt: skip
        return replace(
            decision, start=begins, stop=ends, near_pairs=near_pairs,
            n_zero=decision.n_zero + n_zero, n_linear=decision.n_linear + n_linear,
        )  # fmt: skip


def _decide(
    objective: Objective, ball: Ball, rule: str, start: np.ndarray, stop: np.ndarray,
    found: np.ndarray,
) -> None:  # fmt: skip
    """Decide undecided items by one ball; `found` (m,), int8, is in their order."""
    geometry, items = objective.geometry, objective.geometry.items
    nothing = np.empty(0)
    half_space, scale, depth, slack = (nothing,) * 4, 0.0, 0.0, 0.0
    values, points, noise = nothing, geometry.X, 0.0
    centre = ball.centre
    if rule != "sphere" and centre is not None and np.isfinite(norm(centre)):
        # Rounding errors of the centre, which the radius bounds where the centre cancels.
        slack = SLACK * EPS * (norm(centre) + ball.radius)
        normal = ball.normal or objective.domain.split(centre)[1]
        size = norm(normal.value)
        if size > 0.0:
            half_space = geometry.intervals(((1.0, geometry.margins(normal)),))
            scale, depth = 1.0 / size, inner(normal.value, centre) / size + slack
        if rule == "semidefinite":
            values, points, noise = _search_space(objective, centre, ball.radius)
    metric_learning.item_pass(
        start, stop, items.near, items.at_places, geometry.X, geometry.diagonal,
        geometry.near_sizes, geometry.far_sizes, geometry.intervals(ball.terms), half_space, scale,
        depth, values, points, noise, slack, ball.radius, geometry.thresholds(objective.loss),
        objective.loss.depth, found,
    )  # fmt: skip


def _search_space(
    objective: Objective, centre: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return eigenvalues of the centre, the data in its eigenbasis, their noise; or no values."""
    geometry, nothing = objective.geometry, np.empty(0)
    if geometry.diagonal:
        # With an empty intersection the search could prove anything.
        meets = norm(np.minimum(centre, 0.0)) < radius
        return (centre if meets else nothing), geometry.X, 0.0
    values, vectors = np.linalg.eigh(centre)
    # Indefinite beyond rounding errors.
    if values[0] < -1e-10 * values[-1]:
        return nothing, geometry.X, 0.0
    X = geometry.X[:, : geometry.n_features]
    largest = np.sqrt(np.einsum("ij,ij->i", X, X).max(initial=0.0))
    return np.maximum(values, 0.0), X @ vectors, 8.0 * EPS * geometry.n_features * largest
