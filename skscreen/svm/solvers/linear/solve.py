"""Losses over samples of a linear model: the choice between coordinate descent and Newton's method.

Coordinate descent reads each row twice an epoch whatever their width, but the number of epochs
grows with C. Newton's method takes some tens of steps at any C, with systems of the size of
min(d, samples of margin 1), and products that make them. "auto" begins with coordinate descent,
which finds out what C means for it, and goes over to the other from the point reached, as soon as
its estimated cost is less than what coordinate descent would need at its present rate; or begins
with the other where that costs less than some tens of epochs.
"""

import time
from typing import Any

import numpy as np

from skscreen.samples.losses import SampleLosses
from skscreen.samples.rows import LinearSamples
from skscreen.svm.solvers.linear.coordinate_descent import coordinate_descent, epoch_work
from skscreen.svm.solvers.linear.hessian import by_entries
from skscreen.svm.solvers.linear.newton import newton
from skscreen.svm.solvers.linear.state import SampleState
from skscreen.svm.solvers.solution import SampleSolution

SOLVERS = ("auto", "coordinate-descent", "second-order")

# Estimated nanoseconds per entry read in coordinate descent, and in matrix-vector products; per
# entry copied, sample in a pass, multiplication in a product of matrices, pair of entries of a
# sparse row in one, of two rows, and Newton step.
_NS_PER_ENTRY, _NS_PER_READ, _NS_PER_COPY, _NS_PER_SAMPLE = 1.0, 0.7, 1.0, 5.0
_NS_PER_MULTIPLY, _NS_PER_PAIR, _NS_PER_MEETING, _OVERHEAD = 0.03, 1.5, 4.0, 1e5
# Passes over the data in a Newton step.
_PASSES = 3.0
# Typical numbers of Newton steps, and how often all products of their matrix are summed up, from
# nothing and from another start: for losses with shifts, and for hinges.
_SMOOTH_STEPS, _STEPS = ((8, 1), (6, 1)), ((50, 100), (15, 30))
# "auto" begins with another method if it costs less than this many epochs of coordinate descent.
_EPOCHS = 40.0
# The same for losses with shifts.
_SMOOTH_EPOCHS = 100.0
# Largest number of epochs that polish the solution of another method.
_POLISHING_EPOCHS = 200
# Shares of the tolerance to aim at until also the weights of the dual variables meet it.
_SHARES = (0.1, 1e-3)
# Largest Newton system, limited by its memory (130 MB).
_LARGEST_SYSTEM = 4000


def solve_linear(
    samples: LinearSamples,
    losses: SampleLosses,
    *,
    free: bool = False,
    start: np.ndarray | None = None,
    fixed: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 100_000,
    solver: str = "auto",
    screening: bool = True,
    random_state: int | None = None,
) -> SampleSolution:
    """Minimise 1/2 |w|^2 + sum_i l_i(<z_i, w> [+ y_i b]) to a relative duality gap.

    A `free` b is unpenalised. `start` (n,) are dual variables; what `fixed` (n,) says, 1: alpha_i =
    0, 2: alpha_i = C_i, is taken at its word. Returns the point of the smallest gap seen.
    """
    began = time.perf_counter()
    state = SampleState(samples, losses, start, fixed, free)
    if solver == "auto" and _is_faster_from_nothing(state):
        solver = "second-order"
    method = solver
    descent: dict[str, Any] = {"screening": screening, "seed": random_state or 0}
    if solver == "auto":
        reached = coordinate_descent(
            state, tol, max_iter // 2, **descent,
            give_up=lambda left: _newton_work(state) < _NS_PER_ENTRY * left,
        )  # fmt: skip
        method = "coordinate-descent" if reached else "second-order"
    if method != "coordinate-descent" and state.relative_gap > tol:
        newton(state, tol, max_iter, screening=screening)
        state.stretch(tol)
        # If rounding errors of margins times C exceed the tolerance, moves of single variables
        # often still find the better side of the kink.
        most = max_iter if solver == "auto" else state.n_iter + _POLISHING_EPOCHS
        max_iter = min(max_iter, most)
    if state.relative_gap > tol:
        coordinate_descent(state, tol, max_iter, **descent)
        state.stretch(tol)
    for share in (*_SHARES, None):
        if state.best.apart == 0.0 or state.stretched or state.relative_gap > tol:
            break
        # Weights that are those of the dual variables, where these are precise enough.
        state.begin(1.0)
        if state.relative_gap <= tol or state.n_iter >= max_iter or share is None:
            break
        if method == "coordinate-descent":
            coordinate_descent(state, share * tol, max_iter, **descent)
        else:
            newton(state, share * tol, max_iter, screening=screening)
    return state.solution(tol, time.perf_counter() - began)


def is_narrow(samples: LinearSamples, losses: SampleLosses) -> bool:
    """Whether "auto" starts with the second-order method."""
    return _is_faster_from_nothing(SampleState(samples, losses))


def _is_faster_from_nothing(state: SampleState) -> bool:
    n_epochs = _SMOOTH_EPOCHS if state.losses.smooth else _EPOCHS
    few_epochs = n_epochs * _NS_PER_ENTRY * epoch_work(state.samples)
    return _newton_work(state) < few_epochs


def _newton_work(state: SampleState) -> float:
    """Return the estimated time of Newton's method from a state, in nanoseconds."""
    samples, smooth = state.samples, state.losses.smooth
    n, d, width = state.undecided().size, samples.n_features, float(samples.row_lengths.mean())
    n_inside = samples.n if smooth else samples.n // 4
    if state.alpha.any():
        n_inside = int(np.count_nonzero(state.inside())) * (1 if smooth else 2)
        if not smooth and not state.n_iter and n_inside < d:
            # The solution for a small C, with hardly a margin of 1, says nothing of larger ones.
            n_inside = max(n_inside, samples.n // 4)
    n_inside = min(n_inside, n)
    side = min(n_inside, d)
    if side > _LARGEST_SYSTEM:
        return np.inf
    if samples.is_sparse and side < d:
        # Pairs of entries of two rows that meet in a column.
        products = _NS_PER_MEETING * samples.n_meetings() * side / samples.n_rows
    elif by_entries(samples) and side == d:
        products = _NS_PER_PAIR * 0.5 * width**2
    else:
        products = _NS_PER_MULTIPLY * 0.5 * d * side + _NS_PER_COPY * d
    passes = _PASSES * (_NS_PER_READ * width + _NS_PER_SAMPLE) * n
    step = passes + _NS_PER_MULTIPLY * side**3 / 3.0 + _OVERHEAD
    # What sweeps have found does not save many steps.
    known = bool(state.alpha.any()) and not state.n_iter
    n_steps, n_sums = _SMOOTH_STEPS[known] if smooth else _STEPS[known]
    if side < d:
        # The matrix of a set of samples is of no use for the next set.
        n_sums = max(n_sums, n_steps)
    return n_steps * step + n_sums * n_inside * products
