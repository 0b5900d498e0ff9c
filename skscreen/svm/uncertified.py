"""Kernels that are not positive semi-definite: LIBSVM's point without a certificate."""

import time
import warnings
from typing import Any, NoReturn

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR
from sklearn.utils import gen_batches

from skscreen._compiled import svm as loops
from skscreen.core.certificate import Certificate
from skscreen.samples.kernels.definite import IndefiniteError
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.labels import check_bounds
from skscreen.samples.multiclass import OneVsOne
from skscreen.svm.dual import Dual
from skscreen.svm.path_solver import SamplePathSolver
from skscreen.svm.solvers.solution import PairSolutions, SampleSolution

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


# LIBSVM's own limit of steps, which that of scikit-learn lacks: with a huge C no step may gain.
_STEPS = 10_000_000


def libsvm_steps(max_iter: int | None) -> int:
    """Return a limit of steps as LIBSVM takes it, which counts in 32 bits."""
    return _STEPS if max_iter is None else min(max_iter, 2**31 - 1)


def solve_pairs(
    X: Any, kernel: Kernel, division: OneVsOne, C: float, max_iter: int | None,
    K: np.ndarray | None,
) -> PairSolutions:  # fmt: skip
    """Return the points of all pairs of classes where one call of LIBSVM stops.

    `K` is the kernel matrix of the samples class by class, or None if it is too large.
    """
    labels, order = division.labels, np.concatenate(division.members)
    caps, signed = C * labels.weights, np.zeros((len(division.members) - 1, order.size))
    if K is None:
        given = {"gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
        samples, rows, model = X, np.arange(order.size), SVC(kernel=kernel.name, **given)
    else:
        samples, rows, model = K, order, SVC(kernel="precomputed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(max_iter=libsvm_steps(max_iter))
        model.fit(samples, labels.codes[rows], sample_weight=caps[rows])
    coefs = model.dual_coef_
    signed[:, rows[model.support_]] = coefs.toarray() if sparse.issparse(coefs) else coefs
    b, ends = np.ravel(model.intercept_), np.cumsum([own.size for own in division.members])
    dual, primals = np.ascontiguousarray(signed[:, order]), np.zeros(b.size)
    for part in gen_batches(order.size, order.size if K is not None else 256):
        if K is not None:
            values = K
        elif kernel.name == "precomputed":
            values = np.asarray(X[np.ix_(order[part], order)], np.float64)
        else:
            values = kernel.between(X[order[part]], X[order])
        loops.add_primals(
            np.ascontiguousarray(values), part.start, dual, caps[order], b, ends, primals
        )
    gaps, n_iters = np.full(b.size, np.nan), np.ravel(model.n_iter_).astype(np.int64)
    return PairSolutions(C, signed, b, gaps, primals, n_iters)


class UncertifiedSolver:
    """Solves by LIBSVM: K (n, n), hinges, free intercept; samples of a regression stand twice."""

    C_min = 0.0

    def __init__(self, K: np.ndarray, dual: Dual, regression: bool, max_iter: int | None):
        self._K, self.dual, self._regression, self._max_iter = K, dual, regression, max_iter

    @property
    def C_start(self) -> float:
        """There are no relative errors to follow a path by."""
        raise IndefiniteError(f"eps needs certificates, and {NO_CERTIFICATE} Or pass Cs.")

    @property
    def samples(self) -> NoReturn:
        """There are no vectors."""
        raise IndefiniteError(NO_HARD_MARGIN)

    def recall(self, C: float, beta: np.ndarray, f: np.ndarray, C_min: float) -> None:
        """Take no notice of a solution for another C."""

    def with_proof(self, solution: SampleSolution) -> SampleSolution:
        """Return the solution: there is no proof."""
        return solution

    def decided_ahead(self, C: float, beta: np.ndarray, b: float, ahead: float) -> int:
        """Return that no sample is decided for another C."""
        return 0

    def solve(self, C: float, tol: float, start: Any = None) -> SampleSolution:
        """Return the point where LIBSVM stops."""
        began, n, dual = time.perf_counter(), len(self._K), self.dual
        check_bounds(C, dual.sizes)
        weights, limit = C * dual.width[:n], libsvm_steps(self._max_iter)
        options = {"kernel": "precomputed", "max_iter": limit}
        pair = False
        if self._regression:
            # y - epsilon and y + epsilon.
            above, below = np.split(dual.target, 2)
            model, targets = SVR(epsilon=0.5 * (below[0] - above[0]), **options), above + below
            targets = 0.5 * targets
        else:
            # LIBSVM begins with the first class: of a pair the one that is positive.
            pair = bool(np.all(np.diff(dual.signs) <= 0.0))
            model, targets = SVC(**options), -dual.signs if pair else dual.signs
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(self._K, targets, sample_weight=weights)
        beta = np.zeros(n)
        beta[model.support_] = model.dual_coef_[0]
        b = float(model.intercept_[0])
        if pair:
            beta, b = -beta, -b
        scores = self._K @ beta
        if self._regression:
            scores = np.tile(scores, 2)
            beta = np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
        lost = dual.at(C).losses(dual.target - scores - b).sum()
        primal = 0.5 * float(beta @ scores) + float(lost)
        n_iter = int(np.sum(model.n_iter_))
        return SampleSolution(
            beta, scores, None, Certificate(primal, np.nan, np.nan), n_iter,
            converged=n_iter < limit, seconds=time.perf_counter() - began, b=b, C=C,
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
