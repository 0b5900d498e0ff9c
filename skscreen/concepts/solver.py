"""Descent to a local minimum of the penalised likelihood over x >= 0."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from skscreen._compiled import concepts as _loops
from skscreen.concepts.problem.objective import Objective
from skscreen.core import certificate

# Pairs of steps and changes of the gradient that L-BFGS remembers.
MEMORY = 10
# The relative decrease of the objective is that of an iteration, in the mean over so many.
WINDOW = 10
# Sufficient decrease, shortening and number of trials of a line search; the first step of all and
# the longest, as shares of the size of the points. A longer one would take the level start to zero,
# where all dimensions end, before they differ.
ARMIJO, SHORTER, SEARCHES, FIRST_STEP, LONGEST_STEP = 1e-4, 0.4, 30, 0.05, 0.2
# The least level of a start, SPoSE's, and as a multiple of the L1 penalty. The penalty takes a
# level to zero in a time in proportion to both, in which dimensions grow; of 12.5 too few do, or
# none, where an object has few trials and many dimensions.
LEVEL, LEVEL_OF_PENALTY = 0.1, 18.0
# Similarities at a start are at most this, so that their exponentials have slopes; the dimensions
# of a start are not fewer than these for it, if so many were asked for.
MOST_SIMILAR, FEWEST = 50.0, 10

# A line of the history of a fit; "start" counts the starts, the refit is the last of them.
HISTORY = np.dtype([*certificate.HISTORY.descr, ("dimensions", int), ("start", int)])

# Called after each iteration with its number, the objective and the number of dimensions.
Report = Callable[[int, float, int], None]


@dataclass(frozen=True)
class Solution:
    """A local minimum, or where the iterations ended."""

    X: np.ndarray  # (n_objects, d): the dimensions that are not zero
    columns: np.ndarray  # (d,): which columns of the start these are
    objective: float
    converged: bool
    history: np.ndarray  # (n_iter,), of dtype HISTORY


def level_start(
    n_objects: int, n_components: int, l1: float, seed: int, noise: float
) -> np.ndarray:
    """Return the start of SPoSE: all entries alike, but for noise, a share of the level."""
    # Of a high level fewer dimensions, lest similarities be too large.
    level = min(max(LEVEL, LEVEL_OF_PENALTY * l1), np.sqrt(MOST_SIMILAR))
    n_components = min(n_components, max(int(MOST_SIMILAR / level**2), FEWEST))
    level = min(level, np.sqrt(MOST_SIMILAR / n_components))
    drawn = np.random.default_rng(seed).normal(1.0, noise, size=(n_objects, n_components))
    return level * np.maximum(drawn, 0.0)


class _Memory:
    """Steps and changes of the gradient, the newest of which tell the curvature."""

    def __init__(self, size: int):
        self.steps, self.changes = np.empty((MEMORY, size)), np.empty((MEMORY, size))
        self.ages: list[int] = []  # rows in use, the newest last

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Keep a pair if the curvature along it is positive, in place of the oldest."""
        if not np.vdot(step, change) > 1e-12 * np.vdot(change, change):
            return
        row = self.ages.pop(0) if len(self.ages) == MEMORY else len(self.ages)
        self.steps[row], self.changes[row] = step.ravel(), change.ravel()
        self.ages.append(row)

    def keep_columns(self, alive: np.ndarray) -> None:
        """Forget the columns of points that are not alive."""
        shape = (MEMORY, -1, len(alive))
        for name in ("steps", "changes"):
            kept = getattr(self, name).reshape(shape)[:, :, alive]
            setattr(self, name, np.ascontiguousarray(kept).reshape(MEMORY, -1))

    def direction(self, X: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the quasi-Newton direction within x >= 0."""
        found = np.empty_like(X)
        _loops.bounded_direction(
            X.ravel(), gradient.ravel(), self.steps, self.changes, np.array(self.ages, dtype=int),
            found.ravel(),
        )  # fmt: skip
        return found


def solve_concepts(
    objective: Objective, X: np.ndarray, max_iter: int, tol: float, report: Report | None = None
) -> Solution:
    """Minimise by projected L-BFGS, until the objective falls by less than `tol` an iteration."""
    X = np.ascontiguousarray(X)
    columns, began = np.arange(X.shape[1]), perf_counter()
    value, gradient = objective.evaluate(X)
    memory = _Memory(X.size)
    history, converged = [(0, 0.0, value, np.nan, np.nan, X.shape[1], 0)], False
    for iteration in range(1, max_iter + 1):
        found = _search(objective, X, value, gradient, memory)
        if found is None:
            # No shorter step lowers the objective in floating point.
            converged = True
            break
        new, value, new_gradient = found
        memory.add(new - X, new_gradient - gradient)
        X, gradient = new, new_gradient
        alive = np.asarray(X.any(axis=0))
        n_alive = int(alive.sum())
        if n_alive < X.shape[1]:
            # A dimension that is zero stays so: its gradient is the penalty, which is not negative.
            X, gradient = (np.ascontiguousarray(part[:, alive]) for part in (X, gradient))
            columns = columns[alive]
            memory.keep_columns(alive)
        seconds = perf_counter() - began
        history.append((iteration, seconds, value, np.nan, np.nan, n_alive, 0))
        if report is not None:
            report(iteration, value, n_alive)
        if n_alive == 0 or _is_flat(history, tol):
            converged = True
            break
    return Solution(X, columns, value, converged, np.array(history[1:], dtype=HISTORY))


def _is_flat(history: list[tuple], tol: float) -> bool:
    """Whether the last iterations lowered the objective by at most `tol`, relative to it."""
    if len(history) <= WINDOW:
        return False
    before, value = history[-1 - WINDOW][2], history[-1][2]
    return before - value <= WINDOW * tol * abs(value)


def _search(
    objective: Objective, X: np.ndarray, value: float, gradient: np.ndarray, memory: _Memory
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Return the next points, with value and gradient, on an arc of projected steps."""
    direction = memory.direction(X, gradient)
    if memory.ages and not np.vdot(direction, gradient) < 0.0:
        memory.ages.clear()
        direction = memory.direction(X, gradient)
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        return None
    size = float(np.linalg.norm(X)) / length
    step = min(1.0, LONGEST_STEP * size) if memory.ages else FIRST_STEP * size
    for _ in range(SEARCHES):
        new = np.maximum(X + step * direction, 0.0)
        new_value, new_gradient = objective.evaluate(new)
        slope = float(np.vdot(gradient, new - X))
        if slope < 0.0 and new_value <= value + ARMIJO * slope:
            return new, new_value, new_gradient
        step *= SHORTER
    return None
