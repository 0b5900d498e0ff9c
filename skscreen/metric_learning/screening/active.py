"""Active set: apply a ball to all items in one pass and keep what stays undecided.

The pass decides all triplets of one near pair at once, with sqrt(|a|^4 + |b|^4) for the norm of
H = aa' - bb'. What the paper's bounds and rules decide beyond that comes in by a `Hook`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Protocol

import numpy as np

from skscreen._compiled import metric_learning
from skscreen.core.decisions import LINEAR, ZERO
from skscreen.metric_learning.problem.comparisons import Comparisons
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Evaluation, Objective
from skscreen.metric_learning.screening.ball import Ball, gap_ball


@dataclass(frozen=True)
class Decision:
    """Decisions about the items of an objective; see `decide`."""

    # (R,) the far places that stay undecided of each near pair, or of pieces of `near_pairs`.
    start: np.ndarray
    stop: np.ndarray
    near_linear: np.ndarray  # (R,) how many items of each near pair are linear
    # (S + 1,) steps of such numbers for the far places: constant time for a whole prefix of them.
    place_steps: np.ndarray
    codes: np.ndarray | None  # (T,) int8, if asked for: 0 undecided, 1 zero, 2 linear part
    n_zero: int
    n_linear: int
    near_pairs: np.ndarray | None = None


class Hook(Protocol):
    """Other balls, and decisions item by item."""

    def balls(self, evaluation: Evaluation, lam: float, reference_lam: float) -> Sequence[Ball]:
        """Return balls that hold the optimum at `lam`, in the place of `gap_ball`."""
        ...

    def refine(self, objective: Objective, balls: Sequence[Ball], decision: Decision) -> Decision:
        """Decide more than the pass over near pairs has decided."""
        ...


def screen(
    objective: Objective, evaluation: Evaluation, reference_lam: float, hook: Hook | None = None
) -> Decision:
    """Decide items by the balls of one reference, whose gap is that of the full problem."""
    # Its margins are those of the items of `objective`.
    arguments = evaluation, objective.lam, reference_lam
    balls = (gap_ball(*arguments),) if hook is None else hook.balls(*arguments)
    return decide(objective, balls, hook=hook)


def decide(
    objective: Objective, balls: Sequence[Ball], codes: np.ndarray | None = None,
    hook: Hook | None = None,
) -> Decision:  # fmt: skip
    """Find items that one of the balls decides, each of which holds the optimum; update `codes`."""
    return decide_items(objective.geometry, objective, balls, codes, hook)


@singledispatch
def decide_items(
    geometry: Any, objective: Objective, balls: Sequence[Ball], codes: np.ndarray | None,
    hook: Hook | None,
) -> Decision:  # fmt: skip
    """Do what `decide` promises; other types of geometries register their own, with its counts."""
    loss = objective.loss
    if codes is None and objective.proximal is not None:
        codes = np.zeros(objective.proximal.centre.size, dtype=np.int8)
    start, stop = _ranges(objective)
    (near, far), levels = geometry.no_weights(), (geometry.thresholds(loss), loss.depth)
    n_zero = n_linear = 0
    for ball in balls:
        found = _shrink(
            geometry, start, stop, geometry.intervals(ball.terms), ball.radius, *levels, codes,
            near, far,
        )  # fmt: skip
        n_zero, n_linear = n_zero + found[0], n_linear + found[1]
    decision = Decision(start, stop, near, far, codes, n_zero, n_linear)
    return decision if hook is None else hook.refine(objective, balls, decision)


def leave_out(objective: Objective, decision: Decision) -> Objective:
    """Return the problem of the undecided items, of the same optimum; itself if it is all."""
    if decision.n_zero + decision.n_linear == 0:
        return objective
    proximal = objective.proximal
    if proximal is not None and decision.codes is not None:
        proximal = proximal.fixed(decision.codes == ZERO, decision.codes == LINEAR)
    geometry, (term, error, constant) = keep_undecided(objective.geometry, decision, objective.loss)
    return replace(
        objective,
        geometry=geometry,
        linear_term=objective.linear_term + term,
        linear_error=objective.linear_error + error,
        linear_constant=objective.linear_constant + constant,
        n_zero=objective.n_zero + decision.n_zero,
        n_linear=objective.n_linear + decision.n_linear,
        proximal=proximal,
    )


@singledispatch
def keep_undecided(
    geometry: Any, decision: Decision, loss: SmoothedHinge
) -> tuple[Comparisons, tuple[np.ndarray, float, float]]:
    """Return the geometry of the undecided items, and the `linear_part` of the others."""
    linear = np.zeros(geometry.shape), 0.0, 0.0
    if decision.n_linear:
        place_linear = np.cumsum(decision.place_steps)
        linear = geometry.linear_part(decision.near_linear, place_linear, loss)
    return geometry.restrict(decision.start, decision.stop, decision.near_pairs), linear


def active_part(objective: Objective, evaluation: Evaluation) -> Objective:
    """Leave out items whose dual variable is 0 at a point: a guess, not a decision."""
    # Value and gradient at the point are the same for the part.
    geometry, margins = objective.geometry, evaluation.margins
    start, stop = _ranges(objective)
    near = margins.near
    if objective.proximal is not None:
        near = near + objective.proximal.width
    here = near, near, margins.far.copy(), margins.far.copy()
    n_zero, _ = _shrink(
        geometry, start, stop, here, 0.0, geometry.thresholds(objective.loss), np.inf, None,
        *geometry.no_weights(),
    )  # fmt: skip
    # With fewer it does not pay.
    if n_zero < 0.4 * geometry.n_items:
        return objective
    return replace(objective, geometry=geometry.restrict(start, stop))


def _ranges(objective: Objective) -> tuple[np.ndarray, np.ndarray]:
    """Return copies of the ranges of far places of all near pairs."""
    items = objective.geometry.items
    return items.start.copy(), items.stop.copy()


def _shrink(
    geometry: Comparisons, start: np.ndarray, stop: np.ndarray, intervals: tuple, radius: float,
    thresholds: np.ndarray, width: float, codes: np.ndarray | None, *weights: np.ndarray,
) -> tuple[int, int]:  # fmt: skip
    """Run the compiled pass, which overwrites intervals; return counts of zero and linear items."""
    items = geometry.items
    return metric_learning.shrink_pass(
        start, stop, items.blocks, items.base, items.rank, geometry.near_sizes, geometry.far_sizes,
        *intervals, radius, thresholds, width, codes, *weights,
    )  # fmt: skip
