"""The L1 penalty behind the door of `ScreenedLinearSVC`."""

import time
from typing import Any

import numpy as np
from scipy import sparse

from skscreen.core.certificate import Certificate, screening_event
from skscreen.core.decisions import UNDECIDED, ZERO
from skscreen.core.floats import EPS, LARGEST
from skscreen.samples.labels import check_bounds
from skscreen.svm.l1.solve import L1Problem, L1Solution
from skscreen.svm.problem import SVMProblem
from skscreen.svm.solvers.solution import Solution


class L1Fits:
    """Fits of the two-class problems of the same samples, for a model with the squared hinge."""

    def __init__(self, model, problem: SVMProblem):
        if model.loss != "squared_hinge":
            raise ValueError(
                f"penalty='l1' needs loss='squared_hinge', got {model.loss!r}, as in LinearSVC."
            )
        division, X, scale = problem.division, problem.taking_part, float(model.intercept_scaling)
        if model.fit_intercept:
            column = np.full((X.shape[0], 1), scale)
            X = sparse.hstack([X, column]) if sparse.issparse(X) else np.hstack([X, column])
        if sparse.issparse(X) and problem.road.values == "full features":
            # Columns that are mostly filled have nothing of the cheapness of sparse ones.
            X = X.toarray()
        X = sparse.csc_array(X, dtype=np.float64) if sparse.issparse(X) else np.asfortranarray(X)
        largest = float(np.abs(X.data if sparse.issparse(X) else X).max(initial=0.0))
        if largest > LARGEST:
            raise ValueError(
                f"X (with intercept_scaling) has values of {largest:g}, and products of values "
                f"above {LARGEST:g} may overflow: rescale X."
            )
        # Newton steps and sweeps that ordinary data do not reach.
        self._most = 100_000 if model.max_iter in (None, -1) else model.max_iter
        self._fills = problem.road.otherwise == "fill"
        self._scale = scale if model.fit_intercept else 0.0
        self._d = problem.X.shape[1]
        # Each class against the rest: all samples take part in all problems.
        self.problems = [
            L1Problem(X, division.signs(k), division.weights(k), self._fills)
            for k in range(division.n_problems)
        ]

    def solve(self, k: int, C: float, tol: float, start: Any = None) -> Solution:
        """Solve a problem; dual variables, which `start` may be, are no start."""
        return self.solved(k, C, tol, None)[0]

    def solved(
        self, k: int, C: float, tol: float, start: L1Solution | None
    ) -> tuple[Solution, L1Solution]:
        """Solve a problem from what was found for another C; what it proves is the step "path"."""
        began, d = time.perf_counter(), self._d
        check_bounds(C, self.problems[k].weights)
        found = self.problems[k].solve(C, tol, self._most, start)
        gap = max(found.primal - found.dual, 0.0) + 8.0 * EPS * found.primal
        certificate = Certificate(found.primal, found.dual, gap)
        seconds = time.perf_counter() - began
        steps = [("dynamic", found.n_iter, found.zero)]
        if start is not None:
            steps.insert(0, ("path", 0, found.zero_at_first))
        history = tuple(
            screening_event(where, n, np.where(zero[:d], ZERO, UNDECIDED), seconds, 1.0 / C)
            for where, n, zero in steps
        )
        solution = Solution(
            beta=self.problems[k].signs * found.alpha, w=found.w[:d],
            certificate=certificate,
            n_iter=found.n_iter, converged=certificate.relative_gap <= tol, seconds=seconds,
            history=history, b=self._scale * found.w[d] if self._scale else 0.0, C=C,
        )  # fmt: skip
        return solution, found
