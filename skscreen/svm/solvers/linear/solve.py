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

from skscreen.core.floats import EPS
from skscreen.samples.rows import LinearSamples
from skscreen.svm.dual import Dual
from skscreen.svm.solvers.linear.coordinate_descent import coordinate_descent, epoch_work
from skscreen.svm.solvers.linear.hessian import by_entries
from skscreen.svm.solvers.linear.newton import newton
from skscreen.svm.solvers.linear.state import SampleState
from skscreen.svm.solvers.solution import SampleSolution

SOLVERS = ("auto", "coordinate-descent", "second-order")

# Work of one multiplication in a product or factorisation of matrices. The unit of all work is that
# of reading one entry in coordinate descent, about a nanosecond.
_PER_MULTIPLY = 0.03


def solve_linear(
    samples: LinearSamples,
    dual: Dual,
    *,
    start: np.ndarray | None = None,
    fixed: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 100_000,
    solver: str = "auto",
    screening: bool = True,
    random_state: int | None = None,
) -> SampleSolution:
    """Solve a problem of one group to a relative duality gap.

    `start` (n,) are dual variables; what `fixed` (n,) says, 1: beta_i = 0, 2: at its other bound,
    is taken at its word. Returns the point of the smallest gap seen.
    """
    began = time.perf_counter()
    state = SampleState(samples, dual, start, fixed)
    if solver == "auto" and _is_faster_from_nothing(state):
        solver = "second-order"
    method = solver
    descent: dict[str, Any] = {"screening": screening, "seed": random_state or 0}
    if solver == "auto":
        reached = coordinate_descent(
            state, tol, max_iter // 2, **descent,
            give_up=lambda left: _newton_work(state) < left,
        )  # fmt: skip
        method = "coordinate-descent" if reached else "second-order"
    if method != "coordinate-descent" and state.relative_gap > tol:
        newton(state, tol, max_iter, screening=screening)
        state.stretch(tol)
        # If rounding errors of scores times C exceed the tolerance, moves of single variables
        # often still find the better side of the kink: they do so soon, or not at all. Nor do they
        # where sums of dual variables times rows may have errors that make scores wrong by 1.
        most = state.n_iter + 200 if solver != "auto" or _is_blurred(state) else max_iter
        max_iter = min(max_iter, most)
    if state.relative_gap > tol:
        coordinate_descent(state, tol, max_iter, **descent)
        state.stretch(tol)
    # How much better than the tolerance to be, until also the weights of dual variables meet it.
    for share in (0.1, 1e-3, None):
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


def begins_with_newton(samples: LinearSamples, dual: Dual) -> bool:
    """Whether "auto" starts with the second-order method."""
    return _is_faster_from_nothing(SampleState(samples, dual))


def _is_faster_from_nothing(state: SampleState) -> bool:
    # Losses with shifts take more epochs, of which all samples have a part.
    n_epochs = 100.0 if state.problem.smooth else 40.0
    return _newton_work(state) < n_epochs * epoch_work(state.step.samples)


def _is_blurred(state: SampleState) -> bool:
    """Whether rounding errors of weights, as sums of rows up to bounds, may hide scores of 1."""
    sizes = np.abs(state.beta) if state.problem.smooth else state.problem.width
    lengths = state.step.samples.norms
    return EPS * float(sizes @ lengths) * float(lengths.max(initial=0.0)) > 1.0


def _newton_work(state: SampleState) -> float:
    """Return the estimated work of Newton's method from a state, see `epoch_work`."""
    samples, smooth = state.step.samples, state.problem.smooth
    n, d, width = state.undecided().size, samples.n_features, float(samples.row_lengths.mean())
    n_inside = samples.n if smooth else samples.n // 4
    if state.beta.any():
        n_inside = int(np.count_nonzero(state.inside())) * (1 if smooth else 2)
        if not smooth and not state.n_iter and n_inside < d:
            # The solution for a small C, with hardly a margin of 1, says nothing of larger ones.
            n_inside = max(n_inside, samples.n // 4)
    n_inside = min(n_inside, n)
    side = min(n_inside, d)
    # A system of 4,000 equations takes 130 MB.
    if side > 4000:
        return np.inf
    if samples.is_sparse and side < d:
        # Pairs of entries of two rows that meet in a column, which have to be found.
        products = 4.0 * samples.n_meetings() * side / samples.n_rows
    elif by_entries(samples) and side == d:
        products = 1.5 * 0.5 * width**2
    else:
        # Rows are copied to be multiplied.
        products = _PER_MULTIPLY * 0.5 * d * side + d
    # Three passes over the rows, a factorisation, and what does not depend on the sizes.
    step = 3.0 * (0.7 * width + 5.0) * n + _PER_MULTIPLY * side**3 / 3.0 + 1e5
    # Typical numbers of steps, and how often all products are summed up. What sweeps have found
    # does not save many steps, but the solution for another C does.
    n_steps, n_sums = (8, 1) if smooth else (50, 100)
    if not smooth and state.beta.any() and not state.n_iter:
        n_steps, n_sums = 15, 30
    if side < d:
        # The matrix of a set of samples is of no use for the next set.
        n_sums = max(n_sums, n_steps)
    return n_steps * step + n_sums * n_inside * products
