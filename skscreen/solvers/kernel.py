"""Hinge-loss problems with a kernel: one entrance to the solvers."""

from time import perf_counter

import numpy as np

from skscreen.problems.gram import KernelSamples
from skscreen.solvers.hinge_gap import Part
from skscreen.solvers.kernel_active_set import ActiveSetRun, State, feasible
from skscreen.solvers.sample_solution import SampleSolution


def solve_kernel(
    samples: KernelSamples,
    C: np.ndarray,
    *,
    start: np.ndarray | None = None,
    margins: np.ndarray | None = None,
    fixed: np.ndarray | None = None,
    intercept: str = "none",
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    screening: bool = True,
) -> SampleSolution:
    started = perf_counter()
    C = np.asarray(C, np.float64)
    n = samples.n
    free = intercept == "free"
    y = samples.y if free else None
    codes = np.zeros(n, np.int8) if fixed is None else fixed.astype(np.int8)
    codes = np.where(C == 0.0, 1, codes).astype(np.int8)
    alpha = np.zeros(n) if start is None else np.asarray(start, float)
    begin = alpha
    low = np.where(codes == 2, C, 0.0)
    high = np.where(codes == 1, 0.0, C)
    alpha = np.clip(begin, low, high)
    margins = samples.q_dot(begin) if margins is None else margins.copy()
    change = alpha - begin
    ch = np.flatnonzero(change)
    samples.add_columns(ch, change[ch], margins)
    whole = Part(C, samples.norms, y)
    n_iter = 0
    for attempt in range(3):
        dual = alpha.sum() - 0.5 * alpha @ margins
        state = State(alpha.copy(), margins.copy(), codes, dual)
        run = ActiveSetRun(samples, C, state, free=free, tol=tol, screening=screening)
        run.run(1000)
        n_iter += run.n_steps
        change = state.alpha - alpha
        ch = np.flatnonzero(change)
        rest = np.flatnonzero(state.codes != 0)
        m = margins[rest]
        samples.add_columns(ch, change[ch], m, rest)
        margins = state.margins
        margins[rest] = m
        alpha = state.alpha
        gap, b = whole.gap(alpha, margins)
        dual = alpha.sum() - 0.5 * alpha @ margins
        if gap <= tol * (dual + gap):
            break
        codes = np.zeros(n, np.int8)
    return SampleSolution(alpha, whole.shifted(margins, b), None, dual + gap, dual, gap, n_iter,
        gap <= tol * (dual + gap), perf_counter() - started)
