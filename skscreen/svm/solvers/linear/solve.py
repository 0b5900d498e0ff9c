"""Losses over samples of a linear model: the choice between coordinate descent and Newton's method.

Coordinate descent reads each row twice an epoch whatever their width, but the number of epochs
grows with C. Newton's method takes some tens of steps at any C, with systems of the size of
min(d, samples of margin 1), and products that make them. "auto" begins with coordinate descent,
which finds out what C means for it, and goes over to the other from the point reached, as soon as
its estimated cost is less than what coordinate descent would need at its present rate; or begins
with the other where that costs less than some tens of epochs.
"""

import time

import numpy as np

from skscreen.samples.losses import SampleLosses, as_losses
from skscreen.samples.rows import LinearSamples
from skscreen.svm.solvers.linear.coordinate_descent import coordinate_descent, epoch_work
from skscreen.svm.solvers.linear.newton import newton, newton_work
from skscreen.svm.solvers.linear.second_order import second_order
from skscreen.svm.solvers.linear.state import SampleState
from skscreen.svm.solvers.solution import SampleSolution

SOLVERS = ("auto", "coordinate-descent", "second-order")
INTERCEPTS = ("none", "free")

# Estimated nanoseconds per entry read in coordinate descent, and in matrix-vector products.
_NS_PER_ENTRY, _NS_PER_READ = 1.0, 0.7
# Nanoseconds per multiplication in a product of dense and of sparse matrices.
_NS_PER_MULTIPLY, _NS_PER_PAIR = 0.06, 3.0
# Typical numbers of Newton steps of the second-order method, from nothing and from another start,
# and fixed nanoseconds per step.
_STEPS, _FEWER_STEPS, _OVERHEAD = 50, 15, 2e5
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
    losses: SampleLosses | np.ndarray,
    *,
    start: np.ndarray | None = None,
    fixed: np.ndarray | None = None,
    intercept: str = "none",
    tol: float = 1e-6,
    max_iter: int = 100_000,
    solver: str = "auto",
    screening: bool = True,
    random_state: int | None = None,
) -> SampleSolution:
    """Minimise 1/2 |w|^2 + sum_i l_i(<z_i, w> [+ y_i b]) to a relative duality gap.

    `start` (n,) are dual variables; what `fixed` (n,) says, 1: alpha_i = 0, 2: alpha_i = C_i, is
    taken at its word. Returns the point of the smallest gap seen.
    """
    began = time.perf_counter()
    losses = as_losses(losses)
    fixed = _check(samples, losses.caps, start, fixed, intercept, solver)
    state = SampleState(samples, losses, start, fixed, intercept == "free")
    if solver == "auto" and _is_faster_from_nothing(state):
        solver = "second-order"
    improve = newton if losses.smooth else second_order
    method, descent = solver, {"screening": screening, "seed": random_state or 0}
    if solver == "auto":
        reached = coordinate_descent(
            state, tol, max_iter // 2, **descent,
            give_up=lambda left: _second_order_work(state) < _NS_PER_ENTRY * left,
        )  # fmt: skip
        method = "coordinate-descent" if reached else "second-order"
    if method != "coordinate-descent" and state.relative_gap > tol:
        improve(state, tol, max_iter, screening=screening)
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
            improve(state, share * tol, max_iter, screening=screening)
    return state.solution(tol, time.perf_counter() - began)


def is_narrow(samples: LinearSamples, losses: SampleLosses) -> bool:
    """Whether "auto" starts with the second-order method."""
    return _is_faster_from_nothing(SampleState(samples, losses))


def _is_faster_from_nothing(state: SampleState) -> bool:
    n_epochs = _SMOOTH_EPOCHS if state.losses.smooth else _EPOCHS
    few_epochs = n_epochs * _NS_PER_ENTRY * epoch_work(state.samples)
    return _second_order_work(state) < few_epochs


def _inside(state: SampleState) -> tuple[int, int]:
    """Return the number of dual variables off their bounds, and of undecided ones."""
    undecided = state.codes == 0
    inside = undecided & (state.alpha > 0.0) & (state.alpha < state.caps)
    return np.count_nonzero(inside), np.count_nonzero(undecided)


def _second_order_work(state: SampleState) -> float:
    if state.losses.smooth:
        wide = state.samples.n_features > _LARGEST_SYSTEM
        return np.inf if wide else newton_work(state)
    samples, (inside, undecided) = state.samples, _inside(state)
    e = min(2 * inside if state.alpha.any() else samples.n // 4, undecided)
    d = samples.n_features
    side = min(e, d)
    if side > _LARGEST_SYSTEM:
        return np.inf
    entries = samples.n_entries * undecided / samples.n
    if samples.is_sparse:
        # Pairs of entries in a row, or those of two rows that meet in a column.
        pairs = (samples.n_entries / samples.n) ** 2 * e * (1.0 if e > d else e / d)
        products = _NS_PER_PAIR * pairs + _NS_PER_READ * side**2
    else:
        products = _NS_PER_MULTIPLY * 0.5 * e * d * side
    step = 2.0 * _NS_PER_READ * entries + products + _NS_PER_MULTIPLY * side**3 / 6.0 + _OVERHEAD
    known = state.alpha.any() and not state.n_iter
    return (_FEWER_STEPS if known else _STEPS) * step


def _check(samples, C, start, fixed, intercept, solver) -> np.ndarray | None:
    """Return the codes as an array; raise an error for invalid arguments."""
    for name, value, known in (("intercept", intercept, INTERCEPTS), ("solver", solver, SOLVERS)):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}.")
    if C.shape != (samples.n,):
        raise ValueError(f"C must have shape ({samples.n},), one bound per sample, got {C.shape}.")
    if start is not None and np.shape(start) != C.shape:
        raise ValueError(f"start must have shape {C.shape}, got {np.shape(start)}.")
    if fixed is not None:
        fixed = np.asarray(fixed)
        if fixed.shape != C.shape or not np.isin(fixed, (0, 1, 2)).all():
            raise ValueError(f"fixed must have shape {C.shape} and hold only 0, 1 and 2.")
    return fixed
