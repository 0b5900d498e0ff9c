"""Decides the triplets of a problem at one lambda, from any point."""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from skscreen.core.memory import check_memory
from skscreen.metric_learning.problem.domains import Metric
from skscreen.metric_learning.problem.items import Items
from skscreen.metric_learning.problem.objective import Evaluation, Problem
from skscreen.metric_learning.screened.result import TripletScreening
from skscreen.metric_learning.screening.active import decide
from skscreen.metric_learning.screening.ball import Ball
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import PaperScreening


def metric_of(rows: np.ndarray, diagonal: bool) -> np.ndarray:
    """Return the metric (d, d), or the weights (d,) of a diagonal one, of a map (r, d)."""
    return np.einsum("ij,ij->j", rows, rows) if diagonal else rows.T @ rows


def point_of(problem: Problem, metric: np.ndarray) -> Metric:
    """Return a metric of the features, or weights of them, as a parameter of a problem."""
    value = np.asarray(metric, dtype=np.float64) * problem.unit**2
    if problem.basis is not None:
        value = problem.basis.T @ value
        value = value if problem.geometry.diagonal else value @ problem.basis
    return problem.domain.project(value)


def screened_at(
    problem: Problem, lam: float, point: Metric, known_lam: float,
    bound: str | Sequence[str] = "gap", rule: str = "sphere",
) -> TripletScreening:  # fmt: skip
    """Return what a point, known as the solution at one lambda, decides at another."""
    if problem.rows is None and problem.triplets is None:
        raise ValueError("Decisions are those of triplets, not of quadruplets or pairs.")
    # Bytes of samples, places, code and range.
    check_memory(64 * problem.geometry.n_items, "all triplets", "Use a smaller n_neighbors.")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        evaluation = problem.at(known_lam).evaluate(point)
        balls = _balls(evaluation, lam, known_lam, bound)
        objective = problem.at(lam)
        codes = np.zeros(problem.geometry.n_items, dtype=np.int8)
        decide(objective, balls, codes, PaperScreening(rule=rule))
    triplets = problem.triplets
    if problem.rows is not None:
        triplets = _listed(problem.geometry.items, problem.rows)
    return TripletScreening(
        np.asarray(triplets), codes, problem, objective, point, known_lam,
        evaluation.gap(known_lam),
    )  # fmt: skip


def _balls(
    evaluation: Evaluation, lam: float, known_lam: float, bound: str | Sequence[str]
) -> list[Ball]:
    """Return the balls of all bounds that are finite."""
    balls = []
    if np.all(np.isfinite(evaluation.adjoint)) and np.isfinite(evaluation.loss):
        for name in [bound] if isinstance(bound, str) else bound:
            with suppress(np.linalg.LinAlgError):
                balls.append(BOUNDS[name](evaluation, lam, known_lam))
    balls = [ball for ball in balls if np.isfinite(ball.radius)]
    if not balls:
        raise ValueError(
            f"lam={lam:g} (absolute), or the reference, is too small or too large for X: what they "
            "bound is not finite in floating point. Rescale X, or choose another lam."
        )
    return balls


def _listed(items: Items, samples: np.ndarray) -> np.ndarray:
    """Return the triplets (i, j, k), in the order of their numbers."""
    near_pairs, places = items.listed()
    out = np.empty((near_pairs.size, 3), dtype=np.int64)
    near, far = items.pairs(near_pairs, places)
    out[items.numbers(near_pairs, places)] = samples[np.column_stack([near, far[:, 1]])]
    return out
