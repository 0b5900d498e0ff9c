"""Several starts, what they agree on, and a fit from there."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from skscreen.concepts.matching import consensus, match, mean_correlation
from skscreen.concepts.problem.law import law
from skscreen.concepts.problem.objective import Objective
from skscreen.concepts.problem.trials import Trials
from skscreen.concepts.solver import Report, Solution, level_start, solve_concepts
from skscreen.concepts.threads import map_in_threads
from skscreen.concepts.tools.errors import count_significant, standard_errors

# Dimensions no entry of which is larger are remainders, as in SPoSE.
LEAST = 0.1
# A dimension that fewer objects significantly have is a pair, or a hub, and not kept beside others.
LEAST_OBJECTS = 3
# Noise of a start, as a share of its level. Dimensions that are alike pay the L1 penalty for the
# same similarities each, and all go to zero unless they differ before. With SPoSE's noise they do
# where the penalty is at most that of the law; more noise keeps false ones there. A greater penalty
# leaves few false ones, and takes true ones, too, unless there is more noise: the most of it from
# about 1.3 times the law.
NOISE, MOST_NOISE, POWER = 0.1, 0.3, 4

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
    errors: np.ndarray  # (n_objects, d): standard errors
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
        found = solve_start(own, n_components, seed, settings, report)
        found.history["start"] = start
        return found

    yield from map_in_threads(run, enumerate(seeds), settings.n_jobs)


def noise_of(objective: Objective) -> float:
    """Return the noise of a start that belongs to the penalty."""
    times = objective.l1 / law(objective.n_objects, objective.total)
    # The power of a huge penalty would overflow.
    return min(NOISE * min(max(times, 1.0), 2.0) ** POWER, MOST_NOISE)


def solve_start(
    objective: Objective, n_components: int, seed: int, settings: Settings, report: Report
) -> Solution:
    """Solve from a level start, from one with the most noise if all dimensions go to zero."""
    for noise in sorted({noise_of(objective), MOST_NOISE}):
        X = level_start(objective.n_objects, n_components, objective.l1, seed, noise)
        found = solve_concepts(objective, X, settings.max_iter, settings.tol, report)
        if large(found.X).any():
            break
    return found


def agree(
    objective: Objective, trials: Trials, found: list[Solution], min_support: float,
    settings: Settings, told: Told,
) -> Agreed:  # fmt: skip
    """Return the dimensions that enough of the starts have, refitted without the others."""
    starts = [np.ascontiguousarray(solution.X[:, large(solution.X)]) for solution in found]
    fits = list(found)
    if len(starts) == 1:
        X, support = starts[0], np.ones(starts[0].shape[1])
        errors = standard_errors(X, trials, objective.l2)
    else:
        X, support = consensus(starts, min_support)

        def solve(X: np.ndarray) -> Solution:
            report = partial(_tell_refit, told, len(starts))
            last = solve_concepts(objective, X, settings.max_iter, settings.tol, report)
            last.history["start"] = len(starts)
            fits.append(last)
            return last

        X, support, errors = _refitted(trials, objective.l2, X, support, solve)
    order = np.argsort(-X.sum(axis=0), kind="stable")
    X = np.ascontiguousarray(X[:, order])
    reproducibility = np.full(len(order), np.nan)
    if len(starts) > 1:
        reproducibility = mean_correlation(np.array([match(X, start)[1] for start in starts]))
    return Agreed(
        X, support[order], reproducibility, objective.evaluate(X)[0],
        objective.log_likelihood(X), errors[:, order], sum(not fit.converged for fit in fits),
        np.concatenate([fit.history for fit in fits]),
    )  # fmt: skip


def _refitted(
    trials: Trials, l2: float, X: np.ndarray, support: np.ndarray,
    solve: Callable[[np.ndarray], Solution],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Fit from X, and again without what too few objects have; dimensions, support and errors."""
    while True:
        last = solve(X)
        kept = large(last.X)
        X, support = np.ascontiguousarray(last.X[:, kept]), support[last.columns[kept]]
        errors = standard_errors(X, trials, l2)
        clear = count_significant(X, errors) >= LEAST_OBJECTS
        if clear.all() or not clear.any():
            return X, support, errors
        X, support = np.ascontiguousarray(X[:, clear]), support[clear]


def _tell_refit(told: Told, n_starts: int, iteration: int, value: float, n: int) -> None:
    """Report an iteration of the fit after the starts."""
    told(n_starts, share_done(iteration), message(value, n))


def share_done(iteration: int) -> float:
    """Return about how far a solver has come that takes some 200 iterations."""
    return 1.0 - 60.0 / (60.0 + iteration)


def message(value: float, n_dimensions: int) -> str:
    """Return what a progress bar says."""
    return f"objective={value:.4f} dimensions={n_dimensions}"
