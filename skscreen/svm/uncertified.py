"""Kernels that are not positive semi-definite: LIBSVM's point without a certificate."""

import time
import warnings
from typing import Any, NoReturn

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from skscreen.core.certificate import Certificate
from skscreen.samples.kernels.definite import IndefiniteError
from skscreen.samples.kernels.kernel import Kernel
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


def solve_pairs(
    X: Any, kernel: Kernel, division: OneVsOne, C: float, max_iter: int | None
) -> PairSolutions:
    """Return the points of all pairs of classes where one call of LIBSVM stops."""
    labels, members, n = division.labels, division.members, division.labels.rows.size
    caps, signed = C * labels.weights, np.zeros((len(members) - 1, n))
    given = {"gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
    model = SVC(kernel=kernel.name, max_iter=max_iter or -1, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, labels.codes, sample_weight=caps)
    coefs = model.dual_coef_
    signed[:, model.support_] = coefs.toarray() if sparse.issparse(coefs) else coefs
    # Of each sample for each other class.
    row = np.arange(len(members) - 1)
    other = row + (row >= labels.codes[:, None])
    scores, b = _scores(X, kernel, division, signed), np.ravel(model.intercept_)
    first = np.minimum(other, labels.codes[:, None])
    second = np.maximum(other, labels.codes[:, None])
    problem = first * len(members) - first * (first + 1) // 2 + second - first - 1
    signs = np.where(labels.codes[:, None] < other, 1.0, -1.0)
    lost = caps[:, None] * np.maximum(1.0 - signs * (scores + b[problem]), 0.0)
    values = (0.5 * signed.T * scores + lost).ravel()
    primals = np.bincount(problem.ravel(), values, minlength=b.size)
    gaps, n_iters = np.full(b.size, np.nan), np.ravel(model.n_iter_).astype(np.int64)
    return PairSolutions(C, signed, b, gaps, primals, n_iters)


def _scores(X: Any, kernel: Kernel, division: OneVsOne, signed: np.ndarray) -> np.ndarray:
    """Return the scores (n, n_classes - 1) of samples, without intercepts, for each other class."""
    codes, out = division.labels.codes, np.zeros(signed.T.shape)
    for c, rows in enumerate(division.members):
        given = kernel.name == "precomputed"
        K = X[:, rows] if given else kernel.between(X, X[rows])
        out[rows] += K[rows] @ signed[:, rows].T
        others = np.flatnonzero(codes != c)
        own, place = codes[others] - (codes[others] > c), c - (c > codes[others])
        out[others, place] += np.einsum("ij,ij->i", K[others], signed[np.ix_(own, rows)])
    return out


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

    def solve(self, C: float, tol: float, start: Any = None) -> SampleSolution:
        """Return the point where LIBSVM stops."""
        began, n, dual = time.perf_counter(), len(self._K), self.dual
        weights, limit = C * dual.width[:n], self._max_iter or -1
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
