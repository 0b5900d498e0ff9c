"""Several starts, what they agree on, and a fit from there."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from skscreen.concepts.matching import consensus, match, mean_correlation
from skscreen.concepts.problem.objective import Objective
from skscreen.concepts.solver import Solution, level_start, solve_concepts
from skscreen.concepts.threads import map_in_threads

# Dimensions no entry of which is larger are remainders, as in SPoSE.
LEAST = 0.1

# Told how far which of the starts has come (the refit is the last one), from 0 to 1, with what.
Told = Callable[[int, float, str], None]


@dataclass(frozen=True)
class Settings:
    """How a problem is solved."""

    max_iter: int
    tol: float
    n_jobs: int | None


@dataclass(frozen=True)
class Agreed:
    """Dimensions that the starts agree on, by mass."""

    X: np.ndarray  # (n_objects, d)
    support: np.ndarray  # (d,): share of the starts that have each
    reproducibility: np.ndarray  # (d,): mean r with the partners in the starts; NaN of one start
    objective: float
    log_likelihood: float
    n_failed: int  # how many of the starts and the refit missed the tolerance
    history: np.ndarray  # of all starts and of the refit


def large(X: np.ndarray) -> np.ndarray:
    """Whether each dimension is more than a remainder."""
    return X.max(axis=0, initial=0.0) > LEAST


def solve_starts(
    objective: Objective, n_components: int, seeds: list[int], settings: Settings, told: Told
) -> Iterator[Solution]:
    """Yield the solutions of level starts, in their order."""

    def run(check: Callable[[], None], start: int, seed: int) -> Solution:
        def report(iteration: int, value: float, n_dimensions: int) -> None:
            check()
            told(start, share_done(iteration), message(value, n_dimensions))

        own = objective if start == 0 else objective.apart()
        X = level_start(objective.n_objects, n_components, objective.l1, seed)
        found = solve_concepts(own, X, settings.max_iter, settings.tol, report)
        found.history["start"] = start
        return found

    yield from map_in_threads(run, enumerate(seeds), settings.n_jobs)


def agree(
    objective: Objective, found: list[Solution], min_support: float, settings: Settings, told: Told
) -> Agreed:
    """Return the dimensions that enough of the starts have, refitted without the others."""
    starts = [solution.X[:, large(solution.X)] for solution in found]
    histories = [solution.history for solution in found]
    n_failed = sum(not solution.converged for solution in found)
    if len(starts) == 1:
        X, support = starts[0], np.ones(starts[0].shape[1])
    else:
        X, support = consensus(starts, min_support)
        last = solve_concepts(
            objective, X, settings.max_iter, settings.tol,
            lambda iteration, value, n: told(
                len(starts), share_done(iteration), message(value, n)
            ),
        )  # fmt: skip
        last.history["start"] = len(starts)
        histories.append(last.history)
        n_failed += not last.converged
        kept = large(last.X)
        X, support = last.X[:, kept], support[last.columns[kept]]
    order = np.argsort(-X.sum(axis=0), kind="stable")
    X = np.ascontiguousarray(X[:, order])
    reproducibility = np.full(len(order), np.nan)
    if len(starts) > 1:
        reproducibility = mean_correlation(np.array([match(X, start)[1] for start in starts]))
    return Agreed(
        X, support[order], reproducibility, objective.evaluate(X)[0],
        objective.log_likelihood(X), n_failed, np.concatenate(histories),
    )  # fmt: skip


def share_done(iteration: int) -> float:
    """Return about how far a solver has come that takes some 200 iterations."""
    return 1.0 - 60.0 / (60.0 + iteration)


def message(value: float, n_dimensions: int) -> str:
    """Return what a progress bar says."""
    return f"objective={value:.4f} dimensions={n_dimensions}"
