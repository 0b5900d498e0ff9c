"""The one place where the paper's bounds and rules enter screening."""

from collections.abc import Sequence
from dataclasses import dataclass

from skscreen.metric_learning.problem.objective import Evaluation, Objective
from skscreen.metric_learning.screening.active import Decision
from skscreen.metric_learning.screening.ball import Ball
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import refine


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
        """Decide items that the pass over near pairs has left."""
        return refine(objective, balls, self.rule, decision)
