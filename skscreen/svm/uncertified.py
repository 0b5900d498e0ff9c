"""Kernels that are not positive semi-definite: LIBSVM's point without a certificate."""

import time
import warnings
from typing import Any, NoReturn

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from skscreen.core.certificate import Certificate
from skscreen.samples.kernels.definite import IndefiniteError
from skscreen.samples.losses import SampleLosses
from skscreen.svm.path_solver import SamplePathSolver
from skscreen.svm.solvers.solution import SampleSolution

NO_CERTIFICATE = (
    "the kernel is not positive semi-definite: the problem is not convex, the solution is where "
    "SVC's solver stops, and nothing certifies it (dual_gap_ is nan). Choose another kernel or "
    "other parameters, or indefinite='shift'."
)
NO_HARD_MARGIN = f"C=inf needs certificates, and {NO_CERTIFICATE} Or use a finite C."
SHIFTED = (
    "the kernel is not positive semi-definite: its diagonal was added to, as with "
    "indefinite='shift', see kernel_shift_. Choose another kernel or other parameters."
)


class UncertifiedSolver:
    """Solves by LIBSVM: K (n, n), hinges, free intercept; a regression without signs (n,)."""

    C_min = 0.0

    def __init__(self, K: np.ndarray, signs, losses: SampleLosses, max_iter: int | None):
        self._K, self._signs, self._losses, self._max_iter = K, signs, losses, max_iter

    @property
    def C_start(self) -> float:
        """There are no relative errors to follow a path by."""
        raise IndefiniteError(f"eps needs certificates, and {NO_CERTIFICATE} Or pass Cs.")

    @property
    def samples(self) -> NoReturn:
        """There are no vectors."""
        raise IndefiniteError(NO_HARD_MARGIN)

    def recall(self, C: float, alpha: np.ndarray, margins: np.ndarray, C_min: float) -> None:
        """Take no notice of a solution for another C."""

    def with_proof(self, solution: SampleSolution) -> SampleSolution:
        """Return the solution: there is no proof."""
        return solution

    def solve(self, C: float, tol: float, start: Any = None) -> SampleSolution:
        """Return the point where LIBSVM stops."""
        began, n = time.perf_counter(), len(self._K)
        weights, limit = C * self._losses.caps[:n], self._max_iter or -1
        options = {"kernel": "precomputed", "max_iter": limit}
        if self._signs is None:
            above, below = np.split(self._losses.thresholds, 2)
            model, targets = SVR(epsilon=-0.5 * (above[0] + below[0]), **options), above - below
            targets = 0.5 * targets
        else:
            # LIBSVM begins with the first class: of a pair the one that is positive.
            pair = bool(np.all(np.diff(self._signs) <= 0.0))
            model, targets = SVC(**options), -self._signs if pair else self._signs
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(self._K, targets, sample_weight=weights)
        beta = np.zeros(n)
        beta[model.support_] = model.dual_coef_[0]
        b = float(model.intercept_[0])
        if self._signs is not None and pair:
            beta, b = -beta, -b
        scores = self._K @ beta
        z = scores + b
        if self._signs is None:
            alpha = np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
            margins, shown = np.concatenate([scores, -scores]), np.concatenate([z, -z])
        else:
            alpha, margins, shown = np.abs(beta), self._signs * scores, self._signs * z
        thresholds = np.broadcast_to(self._losses.thresholds, shown.shape)
        lost = C * self._losses.caps @ np.maximum(thresholds - shown, 0.0)
        primal = 0.5 * float(beta @ scores) + float(lost)
        n_iter = int(np.sum(model.n_iter_))
        return SampleSolution(
            alpha, margins, None, Certificate(primal, np.nan, np.nan), n_iter,
            converged=limit < 0 or n_iter < limit, seconds=time.perf_counter() - began, b=b, C=C,
        )  # fmt: skip


class GuardedSolver:
    """A `SamplePathSolver` until the kernel turns out to be indefinite, then another solver."""

    def __init__(self, solver: SamplePathSolver, uncertified):
        self._solver, self._uncertified = solver, uncertified

    def __getattr__(self, name: str):
        """Ask the solver."""
        return getattr(self._solver, name)

    def solve(self, C: float, tol: float, start: Any = None) -> SampleSolution:
        """Solve for one C."""
        try:
            return self._solver.solve(C, tol, start)
        except IndefiniteError:
            if isinstance(self._solver, UncertifiedSolver):
                raise
            self._solver = self._uncertified()
            return self._solver.solve(C, tol, start)
