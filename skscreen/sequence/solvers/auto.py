"""The default solver of max-margin chains: Frank-Wolfe or smoothing, or one after the other.

The sweeps of Frank-Wolfe grow in number with the largest column, the iterations of smoothing hardly
do. Columns of text, and standardised ones, are a matter of tens of sweeps.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from skscreen.pragam.iterates import Iterate, relative_gap
from skscreen.sequence.chains import Chains
from skscreen.sequence.likelihood import units_of
from skscreen.sequence.solvers.frank_wolfe import frank_wolfe
from skscreen.sequence.solvers.smoothing import smoothing


def automatic(chains: Chains, tol: float, seed: int, limit: int) -> Iterator[Iterate]:
    """Yield the iterates of one solver, and of the other; iteration numbers count both."""
    if np.ndim(units_of(chains)):
        return _smoothing_first(chains, tol, seed, limit)
    return _sweeps_first(chains, tol, seed, limit)


def _smoothing_first(chains: Chains, tol: float, seed: int, limit: int) -> Iterator[Iterate]:
    """Yield those of smoothing, then those of Frank-Wolfe, which gets no more iterations."""
    # Where a large column separates the labels the optimum is below the rounding errors of losses
    # of one, which smoothing sums; Frank-Wolfe ends there after a few sweeps, else seldom at all.
    done = 0
    for iterate in smoothing(chains, tol, limit):
        done = iterate.iteration
        yield iterate
    if done < limit:
        yield from _after(done, frank_wolfe(chains, tol, seed, min(done, limit - done)))


def _sweeps_first(chains: Chains, tol: float, seed: int, limit: int) -> Iterator[Iterate]:
    """Yield those of Frank-Wolfe; where many more are to come, of smoothing, then of the rest."""
    # The gap falls ever more slowly where many labellings share in the solution: more sweeps than
    # foreseen are to come, each of several times the cost of an iteration of smoothing.
    sweeps, pace = frank_wolfe(chains, tol, seed, limit), _Pace(tol)
    for iterate in sweeps:
        yield iterate
        k, more = iterate.iteration, pace.sweeps_to_come(iterate)
        if more > 0.5 * k and k < limit:
            done = 0
            for smoothed in _after(k, smoothing(chains, tol, limit - k)):
                done = smoothed.iteration - k
                # The first one is w = 0.
                if done:
                    yield smoothed
            yield from _after(done, (one for one in sweeps if one.iteration + done <= limit))


def _after(done: int, iterates: Iterator[Iterate]) -> Iterator[Iterate]:
    """Yield iterates as those after a number of iterations."""
    for iterate in iterates:
        yield replace(iterate, iteration=done + iterate.iteration)


class _Pace:
    """How fast the gap falls."""

    def __init__(self, tol: float):
        # Easy problems are solved in fewer sweeps.
        self._tol, self._judged = tol, 200
        self._primal, self._dual, self._gaps = np.inf, -np.inf, [(0, np.inf)]

    def sweeps_to_come(self, iterate: Iterate) -> float:
        """Return how many sweeps seem to be needed, judged by the last half; 0 if it is early."""
        self._primal = min(self._primal, iterate.primal)
        self._dual = max(self._dual, iterate.dual)
        k, gap = iterate.iteration, relative_gap(self._primal, self._dual)
        self._gaps.append((k, gap))
        if k < self._judged or gap <= self._tol:
            return 0.0
        self._judged = 2 * k
        half, before = next(one for one in self._gaps if one[0] >= k // 2)
        fall = np.log(before / gap)
        return (k - half) * np.log(gap / self._tol) / fall if fall > 0.0 else np.inf
