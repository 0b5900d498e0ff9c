"""Runs of `paper.py`: paths with the CPU time of their screening, and what events tell."""

import time
from dataclasses import dataclass

import numpy as np

from benchmarks.support.tables import table
from skscreen import rtlm_path
from skscreen.metric_learning.path import RTLMPath
from skscreen.metric_learning.solvers import reduction


@dataclass(frozen=True)
class Run:
    """A path and what it cost.

    Parameters
    ----------
    path : RTLMPath
    seconds : float
        CPU time of all solves, screening included.
    screening : float
        CPU time of all screening steps, those that decide nothing included.
    """

    path: RTLMPath
    seconds: float
    screening: float

    @property
    def step_ms(self) -> float:
        """Milliseconds for the start and each iteration, without screening."""
        return 1e3 * (self.seconds - self.screening) / (self.path.n_iters.sum() + len(self.path))

    @property
    def visits(self) -> float:
        """Triplets left to look at, summed over the start and all iterations of all solves.

        What the time of a solver is proportional to that looks at each of them in turn.
        """
        return float(
            sum(_visits(solution, self.path.n_triplets) for solution in self.path.solutions)
        )


class ScreeningClock:
    """Context that adds up the CPU time of screening steps."""

    def __enter__(self) -> "ScreeningClock":
        self.seconds = 0.0
        self._screen = screen = reduction.Reduction.screen

        def timed(run, *arguments):
            started = time.process_time()
            try:
                return screen(run, *arguments)
            finally:
                self.seconds += time.process_time() - started

        reduction.Reduction.screen = timed
        return self

    def __exit__(self, *_) -> None:
        reduction.Reduction.screen = self._screen


def run(X, y, **options) -> Run:
    """Follow a path; `projected_gradient` has to measure CPU time."""
    with ScreeningClock() as clock:
        path = rtlm_path(X, y, **options)
    return Run(path, float(path.seconds.sum()), clock.seconds)


def best_of(X, y, arms: dict, repeats: int, **options) -> dict[str, Run]:
    """Run the arms in turn, `repeats` times; the fastest run of each counts."""
    best = {}
    for _ in range(repeats):
        for label, arm in arms.items():
            result = run(X, y, **{**options, **arm})
            if label not in best or result.seconds < best[label].seconds:
                best[label] = result
    return best


def _visits(solution, n_items: int) -> float:
    total, left, at = 0.0, n_items, 0
    for event in solution.history:
        total += left * (event.iteration - at)
        left, at = event.undecided, event.iteration
    return total + left * (solution.n_iter + 1 - at)


def of_decidable(path: RTLMPath, rates: str) -> np.ndarray:
    """Return rates of a path as shares of the triplets off the quadratic piece, as in the paper."""
    return np.minimum(getattr(path, rates) * path.n_triplets / np.maximum(path.n_decidable, 1), 1.0)


# What a column of a table of arms says of a run, given the first arm's.
CELLS = {
    "CPU s": lambda run, _: f"{run.seconds:.2f}",
    "none / it": lambda run, first: f"{first.seconds / run.seconds:.2f}",
    "screening": lambda run, _: f"{run.screening / run.seconds:.0%}",
    "visits none / it": lambda run, first: f"{first.visits / run.visits:.1f}",
    "iterations": lambda run, _: run.path.n_iters.sum(),
    "ms a step": lambda run, _: f"{run.step_ms:.2f}",
    "path rate": lambda run, _: f"{of_decidable(run.path, 'path_rates').mean():.3f}",
    "end rate": lambda run, _: f"{of_decidable(run.path, 'rates').mean():.3f}",
    "iterations a λ": lambda run, _: f"{run.path.n_iters.mean():.2f}",
    "λ without any": lambda run, _: f"{np.mean(run.path.n_iters == 0):.0%}",
}


def arms_table(head: str, runs: dict[str, Run], columns: str, **more: dict[str, object]) -> None:
    """Print a row for each arm: columns of `CELLS`, or of `more` with a cell for some arms."""
    first = next(iter(runs.values()))

    def cell(label: str, column: str):
        return more[column].get(label, "") if column in more else CELLS[column](runs[label], first)

    rows = [(label, *(cell(label, column) for column in columns.split(","))) for label in runs]
    table(f"{head},{columns}", rows)


def dynamic_rates(path: RTLMPath) -> np.ndarray:
    """Screening rates of shape (iterations + 1, n_lams): row t is after t iterations.

    Row 0 is the path step alone, and what it could decide where the solve was too short to make it.
    NaN where a solve had ended by then.
    """
    longest = max(int(np.percentile(path.n_iters, 98)), 1)
    rates = np.full((longest + 1, len(path)), np.nan)
    for column, solution in enumerate(path.solutions):
        scale = max(path.n_decidable[column], 1)
        rates[: solution.n_iter + 1, column] = of_decidable(path, "path_rates")[column]
        for event in solution.history:
            first = event.iteration + (event.where != "path")
            rate = min((event.zero + event.linear) / scale, 1.0)
            rates[first : solution.n_iter + 1, column] = rate
    return rates
