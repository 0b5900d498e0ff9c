"""Hinge-loss problems of many samples with a kernel: the solver by levels, for labelled samples."""

from dataclasses import replace
from time import perf_counter

import numpy as np

from skscreen.core.certificate import Certificate, ScreeningEvent, screening_event
from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.core.floats import EPS
from skscreen.samples.kernel_samples import KernelSamples
from skscreen.samples.losses import SampleLosses
from skscreen.svm.screening.bounds import SLACK
from skscreen.svm.solvers.kernel.box import Box, View
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
) -> tuple[SampleSolution, bool]:
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
    solution : SampleSolution
        With `rounding`.
    done : bool
        Whether what the gap is above the tolerance is rounding errors, which no solver takes off.
    """
    began, signs, n, C = perf_counter(), samples.y, samples.n, losses.caps
    limit = _STEPS_A_SAMPLE * n if max_iter is None else max_iter
    whole, history = _box(samples, losses, y is not None), []
    box = _decided(whole, signs * C, codes)
    solver = _solver(samples, tol, limit)
    if start is None and not (codes == LINEAR).any():
        point = solver.from_nothing(box)
    else:
        point = _from_start(solver, box, samples, start, margins, y is not None)
    everyone = np.arange(n)
    solver.improve(everyone, box, point, max(_SHARE * tol, DIGITS))
    solver.finish(box, point)
    view = solver.certify(whole, point)
    if view.gap > tol * view.primal and codes[C > 0.0].any():
        # Decisions are proven; if rounding errors have led to a wrong one all the same, it is taken
        # back.
        history.append(_repair(C, solver.n_steps))
        solver.improve(everyone, whole, point, max(_SHARE * tol, DIGITS))
        view = solver.finish(whole, point)
    solution = _solution(samples, C, solver, point, view)
    solution = replace(solution, history=tuple(history), seconds=perf_counter() - began)
    computed = whole.view(point.beta, point.f)
    return solution, bool(computed.gap <= tol * view.primal)


def certified_by_levels(
    samples: KernelSamples, losses: SampleLosses, found: SampleSolution, free: bool, tol: float
) -> SampleSolution:
    """Return a solution with a certificate that allows for the errors of all kernel values.

    Parameters
    ----------
    samples, losses, tol
        See `solve_by_levels`.
    found : SampleSolution
    free : bool
        Whether the intercept is free.
    """
    solver, box = _solver(samples, tol, 0), _box(samples, losses, free)
    point = solver.point(np.arange(samples.n), samples.y * found.alpha)
    proved = _solution(samples, losses.caps, solver, point, solver.certify(box, point))
    return replace(proved, n_iter=found.n_iter, history=found.history, seconds=found.seconds)


def _solver(samples: KernelSamples, tol: float, limit: int) -> LevelSolver:
    gram = samples.gram
    return LevelSolver(gram.blocks, gram.diagonal, samples.bias**2, tol, limit)


def _box(samples: KernelSamples, losses: SampleLosses, free: bool) -> Box:
    ends = samples.y * losses.caps
    target = samples.y * losses.thresholds
    return Box(target, np.minimum(ends, 0.0), np.maximum(ends, 0.0), free)


def _solution(samples, C, solver: LevelSolver, point: Point, view: View) -> SampleSolution:
    return SampleSolution(
        alpha=np.clip(samples.y * point.beta, 0.0, C),
        margins=samples.y * point.f,
        w=None,
        certificate=Certificate(view.primal, view.primal - view.gap, view.gap),
        n_iter=solver.n_steps,
        converged=bool(view.gap <= solver.tol * view.primal),
        seconds=0.0,
        b=view.b,
        rounding=float(point.errors.max()),
    )


def _decided(box: Box, ends: np.ndarray, codes: np.ndarray) -> Box:
    """Return the box with decided samples fixed at their bounds."""
    low, high = box.low.copy(), box.high.copy()
    low[codes == ZERO] = high[codes == ZERO] = 0.0
    at_C = codes == LINEAR
    low[at_C] = high[at_C] = ends[at_C]
    return Box(box.target, low, high, box.free)


def _from_start(solver: LevelSolver, box: Box, samples, start, margins, free: bool) -> Point:
    """Return the start, moved into the box, with its scores."""
    signs, everyone = samples.y, np.arange(samples.n)
    begin = np.zeros(samples.n) if start is None else signs * start
    low, high = np.minimum(signs * box.low, signs * box.high), np.abs(box.high - box.low)
    y, total = (signs, -float(signs @ low)) if free else (None, 0.0)
    alpha = low + feasible(signs * begin - low, high, y, total)
    beta = np.clip(signs * alpha, box.low, box.high)
    if start is None or margins is None:
        return solver.point(everyone, beta)
    change, errors = solver.scores(everyone, beta - begin, everyone)
    errors += SLACK * EPS * float(start @ samples.norms) * samples.norms
    return Point(beta, signs * margins + change, errors, np.zeros(samples.n, np.bool_))


def _repair(C: np.ndarray, n_steps: int) -> ScreeningEvent:
    return screening_event(
        "repair", n_steps, np.where(C == 0.0, ZERO, UNDECIDED).astype(np.int8), 0.0
    )
