"""The hard margin, C = inf: the largest margin without any loss.

    min 1/2 |w|^2   subject to   m_i >= 1 for all margins m_i,

has the dual max sum alpha - 1/2 |sum_i alpha_i z_i|^2 over alpha >= 0. The dual variables for any
finite C are feasible, and so is the primal point divided by its smallest margin, if that is
positive. Together they prove how far the point is from the optimum. The hard-margin solution is
also the solution for every C above its largest dual variable (divided by the weight), so it is
found by solving for a few values of C.

No direction has a margin above |sum_i alpha_i z_i| / sum_i alpha_i, the length of a point of the
convex hull of the z_i. If this is negligible compared with the samples, they are not separable.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from skscreen.core.certificate import ScreeningEvent
from skscreen.core.floats import EPS
from skscreen.samples.kernels.definite import IndefiniteError
from skscreen.svm.certificate import without_losses
from skscreen.svm.path_solver import SamplePathSolver
from skscreen.svm.solvers.solution import SampleSolution
from skscreen.svm.uncertified import NO_HARD_MARGIN

# Margin, relative to the length of the samples, that double precision cannot tell from zero.
_NONE = 1e-7


def solve_hard_margin(solver: SamplePathSolver, tol: float) -> SampleSolution:
    """Return the solution for C = inf of a new problem, or refuse it."""
    for found, is_last in _growing(solver, tol):
        hard = without_losses(solver.samples, solver.dual, found, tol)
        if hard.converged or is_last:
            break
        square, total = float(found.beta @ found.scores), float(found.alpha.sum())
        if math.sqrt(max(square, 0.0)) <= _NONE * solver.samples.norms.max() * total:
            raise ValueError(
                "C=inf needs classes that can be separated, and X and y cannot: no margin is above "
                f"{_NONE:g} of the length of the samples. Use a finite C, or another kernel."
            )
    return hard


def solve_hard_tube(solver: SamplePathSolver, tol: float) -> SampleSolution:
    """Return the solution of a regression without any loss, or refuse it."""
    for found, _ in _growing(solver, tol):
        # It is that of every C whose dual variables are below their bounds: there losses cost more
        # than they save. Rounding errors reach no further than half of them.
        if np.all(found.alpha <= 0.5 * found.C * solver.dual.width):
            return replace(found, C=math.inf)
    raise ValueError(
        "C=inf needs a function within epsilon of all targets, and there is none for this X and y, "
        "or none that double precision can find. Use a finite C, a larger epsilon or another "
        "kernel."
    )


def _growing(solver: SamplePathSolver, tol: float) -> Iterator[tuple[SampleSolution, bool]]:
    """Yield solutions for growing C, with the steps of all of them, and whether it is the last."""
    square = float(solver.samples.norms.max()) ** 2
    C, last = (factor / max(square, EPS) for factor in (1.0, 1e16))
    n_iter, history = 0, tuple[ScreeningEvent, ...]()
    while True:
        found = solver.solve(C, tol)
        if math.isnan(found.certificate.gap):
            raise IndefiniteError(NO_HARD_MARGIN)
        n_iter, history = n_iter + found.n_iter, (*history, *found.history)
        yield replace(found, n_iter=n_iter, history=history), C >= last
        if C >= last:
            return
        C = min(100.0 * C, last)
