"""The L1 penalty behind the door of `ScreenedLinearSVC`."""

import time
from collections.abc import Callable

import numpy as np
from scipy import sparse

from skscreen.core.certificate import Certificate, screening_event
from skscreen.core.decisions import UNDECIDED, ZERO
from skscreen.core.floats import EPS
from skscreen.svm.l1.solve import L1Problem
from skscreen.svm.problem import SVMProblem
from skscreen.svm.solvers.solution import SampleSolution

# Newton steps and sweeps that ordinary data do not reach.
_MOST = 100_000


def l1_solver(model, problem: SVMProblem) -> Callable[..., SampleSolution]:
    """Return solve(k, C, tol, start) for the two-class problems with an L1 penalty.

    Parameters
    ----------
    model : ScreenedLinearSVC
        With the squared hinge.
    problem : SVMProblem
        Of the same samples.
    """
    if model.loss != "squared_hinge":
        raise ValueError(
            f"penalty='l1' needs loss='squared_hinge', got {model.loss!r}, as in LinearSVC."
        )
    division, scale = problem.division, float(model.intercept_scaling)
    rows = division.labels.rows
    X = problem.X if rows.size == problem.X.shape[0] else problem.X[rows]
    if model.fit_intercept:
        column = np.full((X.shape[0], 1), scale)
        X = sparse.hstack([X, column]) if sparse.issparse(X) else np.hstack([X, column])
    X = sparse.csc_array(X, dtype=np.float64) if sparse.issparse(X) else np.asfortranarray(X)
    most = _MOST if model.max_iter in (None, -1) else model.max_iter
    d = problem.X.shape[1]

    def solve(k: int, C: float, tol: float, start=None) -> SampleSolution:
        began = time.perf_counter()
        found = L1Problem(X, division.signs(k), division.weights(k)).solve(C, tol, most)
        gap = max(found.primal - found.dual, 0.0) + 8.0 * EPS * found.primal
        certificate = Certificate(found.primal, found.dual, gap)
        codes = np.where(found.zero[:d], ZERO, UNDECIDED)
        seconds = time.perf_counter() - began
        return SampleSolution(
            alpha=found.alpha, margins=np.empty(0), w=found.w[:d], certificate=certificate,
            n_iter=found.n_iter, converged=certificate.relative_gap <= tol, seconds=seconds,
            history=(screening_event("features", found.n_iter, codes, seconds, 1.0 / C),),
            b=scale * found.w[d] if model.fit_intercept else 0.0, C=C,
        )  # fmt: skip

    return solve
