"""Hinge-loss problems of many samples with a kernel: the solver by levels, for labelled samples."""

from time import perf_counter

import numpy as np

from skscreen.core.certificate import Certificate, ScreeningEvent, screening_event
from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.samples.kernel_samples import KernelSamples
from skscreen.samples.losses import SampleLosses
from skscreen.svm.solvers.kernel.box import Box
from skscreen.svm.solvers.kernel.levels import DIGITS, LevelSolver, Point
from skscreen.svm.solvers.kernel.state import feasible
from skscreen.svm.solvers.solution import SampleSolution

# Steps of SMO for each sample where no limit is given.
_STEPS_A_SAMPLE = 1000

# Of the tolerance, what single precision may leave.
_SHARE = 0.5


def solve_by_levels(
    samples: KernelSamples,
    losses: SampleLosses,
    y: np.ndarray | None,
    start: np.ndarray | None,
    margins: np.ndarray | None,
    codes: np.ndarray,
    tol: float,
    max_iter: int | None,
) -> SampleSolution:
    """Solve a problem as `solve_kernel` does, from products with kernel values in tiles.

    Parameters
    ----------
    samples : KernelSamples
        Whose Gram matrix has `blocks`.
    losses : SampleLosses
        Hinges: with no shifts.
    start, margins, tol, max_iter
        See `solve_kernel`.
    y : ndarray of shape (n,), or None
        Labels, where the intercept is free.
    codes : int8 ndarray of shape (n,)
        What is decided: 1 alpha_i = 0, 2 alpha_i = C_i.

    Returns
    -------
    SampleSolution
        With `rounding`.
    """
    began, signs, n, C = perf_counter(), samples.y, samples.n, losses.caps
    limit = _STEPS_A_SAMPLE * n if max_iter is None else max_iter
    low, high = np.minimum(signs * C, 0.0), np.maximum(signs * C, 0.0)
    whole = Box(signs * losses.thresholds, low, high, y is not None)
    box, history = _decided(whole, signs * C, codes), []
    solver = LevelSolver(samples.gram.blocks, samples.gram.diagonal, samples.bias**2, tol, limit)
    if start is None and not (codes == LINEAR).any():
        point = solver.from_nothing(box)
    else:
        point = _from_start(solver, box, signs, start, margins, y)
    everyone = np.arange(n)
    solver.improve(everyone, box, point, max(_SHARE * tol, DIGITS))
    solver.finish(box, point)
    view, rounding = solver.certify(whole, point)
    if view.gap > tol * view.primal and codes[C > 0.0].any():
        # Decisions are proved; should rounding errors have led to a wrong one all the same, it is
        # taken back.
        history.append(_repair(C, solver.n_steps))
        solver.improve(everyone, whole, point, max(_SHARE * tol, DIGITS))
        view, rounding = solver.finish(whole, point)
    return SampleSolution(
        alpha=np.clip(signs * point.beta, 0.0, C),
        margins=signs * point.f,
        w=None,
        certificate=Certificate(view.primal, view.primal - view.gap, view.gap),
        n_iter=solver.n_steps,
        converged=bool(view.gap <= tol * view.primal),
        seconds=perf_counter() - began,
        history=tuple(history),
        b=view.b,
        rounding=rounding,
    )


def _decided(box: Box, ends: np.ndarray, codes: np.ndarray) -> Box:
    """Return the box with decided samples where they belong."""
    low, high = box.low.copy(), box.high.copy()
    low[codes == ZERO] = high[codes == ZERO] = 0.0
    at_C = codes == LINEAR
    low[at_C] = high[at_C] = ends[at_C]
    return Box(box.target, low, high, box.free)


def _from_start(solver: LevelSolver, box: Box, signs, start, margins, y) -> Point:
    """Return the start, moved into the box, with its scores."""
    begin = np.zeros(signs.size) if start is None else signs * start
    low, high = np.minimum(signs * box.low, signs * box.high), np.abs(box.high - box.low)
    total = 0.0 if y is None else -float(y @ low)
    alpha = low + feasible(signs * begin - low, high, y, total)
    beta = np.clip(signs * alpha, box.low, box.high)
    everyone = np.arange(signs.size)
    if start is not None and margins is None:
        return Point(beta, solver.scores(everyone, beta, everyone))
    f = np.zeros(signs.size) if margins is None else signs * margins
    return Point(beta, f + solver.scores(everyone, beta - begin, everyone))


def _repair(C: np.ndarray, n_steps: int) -> ScreeningEvent:
    return screening_event(
        "repair", n_steps, np.where(C == 0.0, ZERO, UNDECIDED).astype(np.int8), 0.0
    )
