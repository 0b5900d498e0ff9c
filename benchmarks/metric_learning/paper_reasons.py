"""Why screening saves less time here than in the paper: an ablation for `paper.py`.

What makes a path without screening cheap here is taken away piece by piece: starts extrapolated
along the path, the acceleration of the iterations, and evaluations that share pairs and skip most
triplets. What is left is close to the solver that the paper describes: projected gradient with
Barzilai-Borwein steps from the last solution, in which every triplet costs O(d^2).
"""

from contextlib import ExitStack
from dataclasses import dataclass, fields
from unittest.mock import patch

import numpy as np

from benchmarks.metric_learning.paper_numbers import PAPER, RUNS
from benchmarks.metric_learning.paper_runs import best_of
from benchmarks.support.tables import table
from skscreen.metric_learning import path_solver
from skscreen.metric_learning.path_solver import Warm
from skscreen.metric_learning.problem import build
from skscreen.metric_learning.problem.comparisons import Comparisons, PairDistances
from skscreen.metric_learning.problem.domains import Metric
from skscreen.metric_learning.solvers import projected_gradient
from skscreen.metric_learning.solvers.anderson import AndersonMemory

# All triplets of iris; of segment fewer, and the first part of the path, where O(d^2) for each
# triplet takes a minute and plain gradient steps do not yet take thousands.
CASES = {"iris": {"n_neighbors": None}, "segment": {"n_neighbors": 10, "n_lams": 80}}
# Triplets whose products are computed together.
TOGETHER = 4096
ARMS = {arm: RUNS[arm] for arm in ("none", "RRPB", "RRPB+PGB")}


def reasons(X, y, name: str, **options) -> None:
    """Print CPU times with and without screening for less and less of our solver."""
    steps = {
        "skscreen": [],
        "starts at the last solution": [patch.object(Warm, "start", last_solution)],
        "plain gradient steps": [
            patch.object(path_solver, "AndersonMemory", NoMemory),
            patch.object(projected_gradient, "interior_point_work", lambda _objective: np.inf),
        ],
        "O(d^2) a triplet": [
            patch.object(build, "Comparisons", TripletwiseComparisons),
            # Here even one evaluation of fewer triplets earns their compaction back.
            patch.object(Warm, "is_short", False),
        ],
    }
    rows = []
    with ExitStack() as stack:
        for label, patches in steps.items():
            for each in patches:
                stack.enter_context(each)
            runs = best_of(X, y, ARMS, 1, active_set=False, **options)
            none, *screened = runs.values()
            both = screened[-1]
            cells = [none.path.n_iters.sum(), *(f"{run.step_ms:.2f}" for run in (none, both))]
            cells += [f"{run.seconds:.2f}" for run in (none, *screened)]
            cells += [f"{none.seconds / run.seconds:.2f}" for run in screened]
            rows.append((label, *cells, f"{none.visits / both.visits:.1f}"))
    theirs = PAPER[name]
    rows.append(
        ("paper", *[""] * 6, f"{theirs[0] / theirs[4]:.2f}", f"{theirs[0] / theirs[5]:.2f}", "")
    )
    k = options.get("n_neighbors") or "all"
    print(
        f"\n{name}, k={k}, {none.path.n_triplets:,} triplets, {len(none.path)} values of λ down "
        f"to {none.path.lams[-1] / none.path.lam_max:.1e} λ_max\n"
    )
    table(
        "each line without one thing more,iterations,ms a step none,RRPB+PGB,CPU s none,RRPB,"
        "RRPB+PGB,none / RRPB,none / RRPB+PGB,visits none / RRPB+PGB",
        rows,
    )


def last_solution(warm: Warm, lam: float) -> Metric:
    """Start where the last lambda ended."""
    return warm.evaluation.point


class NoMemory(AndersonMemory):
    """Remembers nothing: every step is a projected-gradient step."""

    def add(self, Z, X, S) -> None:
        """Forget the step."""


@dataclass(frozen=True)
class MatrixDistances(PairDistances):
    """Distances of pairs, and the metric they are of."""

    metric: np.ndarray


class TripletwiseComparisons(Comparisons):
    """Comparisons that look at each triplet by itself, at O(d^2) for margin and adjoint."""

    def margins(self, point) -> PairDistances:
        """Remember the metric beside the distances."""
        pairs = super().margins(point)
        return MatrixDistances(*(getattr(pairs, f.name) for f in fields(pairs)), point.value)

    def loss(self, margins, loss):
        """Compute value and adjoint one by one; the error bound is the usual one."""
        _value, adjoint, error = super().loss(margins, loss)
        adjoint, items = np.zeros_like(adjoint), self.items
        value = triplet_pass(
            self.X[:, : self.n_features], margins.metric, items.near, items.at_places, items.start,
            items.stop, loss.threshold, loss.width, adjoint,
        )  # fmt: skip
        return value, adjoint, error


def triplet_pass(X, M, near, far, start, stop, threshold, gamma, adjoint):
    """Sum of the losses; adds alpha_t H_t to the adjoint, with H_t = v v' - u u'."""
    total, counts = 0.0, stop - start
    pair = np.repeat(np.arange(start.size), counts)
    triplet = np.arange(pair.size) + (start - np.cumsum(counts) + counts)[pair]
    u, v = (X[ends[:, 0]] - X[ends[:, 1]] for ends in (near[pair], far[triplet]))
    for first in range(0, len(v), TOGETHER):
        U, V = (part[first : first + TOGETHER] for part in (u, v))
        margins = np.einsum("ij,ij->i", V @ M, V) - np.einsum("ij,ij->i", U @ M, U)
        lacks = threshold - margins
        alpha = np.clip(lacks / gamma, 0.0, 1.0)
        total += float(alpha @ (lacks - 0.5 * gamma * alpha))
        adjoint += V.T @ (alpha[:, None] * V) - U.T @ (alpha[:, None] * U)
    return total
