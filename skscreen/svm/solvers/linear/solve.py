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
from skscreen.svm.roads import Rows, begins_with_newton, newton_work
from skscreen.svm.solvers.linear.coordinate_descent import coordinate_descent
from skscreen.svm.solvers.linear.hessian import by_entries
from skscreen.svm.solvers.linear.newton import newton
from skscreen.svm.solvers.linear.state import SampleState
from skscreen.svm.solvers.solution import SampleSolution

SOLVERS = ("auto", "coordinate-descent", "second-order")


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
    if solver == "auto" and begins_with_newton(rows_at(state)):
        solver = "second-order"
    method = solver
    descent: dict[str, Any] = {"screening": screening, "seed": random_state or 0}
    if solver == "auto":
        reached = coordinate_descent(
            state, tol, max_iter // 2, **descent,
            give_up=lambda left, done: is_late(rows_at(state), left, done),
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
        if state.apart == 0.0 or state.stretched or state.relative_gap > tol:
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


def is_late(rows: Rows, left: float, done: float) -> bool:
    """Whether Newton's method is to go on: for less work, or where sweeps take longer than said.

    Their rate falls. What they have done already counts until they are nearly there, and longer
    once it would have been enough for Newton's method.
    """
    newton = newton_work(rows, left + done)
    few = 6.0 if newton < done else 3.0
    return newton < left or (newton < left + done and newton < few * left)


def rows_at(state: SampleState) -> Rows:
    """Return what the work of solvers depends on at a state."""
    samples, undecided = state.step.samples, state.undecided()
    return Rows(
        samples.n,
        undecided.size,
        samples.n_features,
        float(samples.row_lengths.sum()),
        state.problem.smooth,
        n_inside=int(np.count_nonzero(state.inside())),
        is_zero=not state.beta[undecided].any(),
        is_start=state.n_iter == 0,
        has_total=state.total != 0.0,
        by_entries=by_entries(samples),
        meetings=(lambda: samples.n_meetings() / samples.n_rows) if samples.is_sparse else None,
    )


def _is_blurred(state: SampleState) -> bool:
    """Whether rounding errors of weights, as sums of rows up to bounds, may hide scores of 1."""
    sizes = np.abs(state.beta) if state.problem.smooth else state.problem.width
    lengths = state.step.samples.norms
    return EPS * float(sizes @ lengths) * float(lengths.max(initial=0.0)) > 1.0
