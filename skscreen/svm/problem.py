"""What an SVM is learned from: labels, weights and a kernel, checked and brought to one form."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import fsum

import numpy as np

from skscreen.fitting.kept_matrices import kept_matrix
from skscreen.fitting.store import Store, content_key
from skscreen.samples.gram import (
    KernelSamples,
    LinearKernelSamples,
)
from skscreen.samples.kernel import Kernel, KnownTraining
from skscreen.samples.labels import Labels
from skscreen.samples.rows import LinearSamples, compress
from skscreen.svm.path_solver import SamplePathSolver, SamplePoint
from skscreen.svm.solvers.kernel.solve import SOLVERS as KERNEL_SOLVERS
from skscreen.svm.solvers.kernel.solve import solve_kernel
from skscreen.svm.solvers.linear.solve import SOLVERS as LINEAR_SOLVERS
from skscreen.svm.solvers.linear.solve import solve_linear
from skscreen.svm.solvers.solution import SampleSolution

SOLVERS = {"linear": LINEAR_SOLVERS, "kernel": KERNEL_SOLVERS}

_LARGEST_TOL = 1e100


def by_rows(kernel_name: str | Callable, free: bool) -> bool:
    """Whether a problem is solved on its rows: kernels alone know an unpenalised intercept."""
    return kernel_name == "linear" and not free


@dataclass(frozen=True)
class Settings:
    """How to solve: the parameters of the estimator that reach a solver."""

    bias: float
    free: bool
    screening: str | None
    solver: str
    max_iter: int | None
    cache_size: float
    random_state: int
    store: Store | None = None


@dataclass(frozen=True)
class BinaryFit:
    """The solution of one two-class problem.

    Parameters
    ----------
    point : SamplePoint
        Without margins, and weights as a vector.
    coefficients : ndarray of shape (n,)
        y_i alpha_i.
    coef : ndarray of shape (n_features,), or None
        Weights of the features, for the linear kernel.
    intercept : float
    """

    point: SamplePoint
    coefficients: np.ndarray
    coef: np.ndarray | None
    intercept: float


class SVMProblem:
    """The two-class problems of a training set, which share its rows or its kernel matrix.

    Parameters
    ----------
    X : array or CSR of shape (n, n_features)
        The samples that take part.
    labels : Labels
    function : Kernel
    settings : Settings

    Attributes
    ----------
    training : KnownTraining, or None
        With a store.
    """

    def __init__(self, X, labels: Labels, function: Kernel, settings: Settings):
        self.labels, self._settings = labels, settings
        self._rows = X if function.name == "linear" else None
        self._linear = by_rows(function.name, settings.free)
        store, keep, self.training = settings.store, None, None
        if store is not None:
            content = content_key(X)
            key = content_key(content, labels.rows, function)
            keep = partial(kept_matrix, key, store.max_bytes)
            self.training = KnownTraining(key, int(labels.rows[-1]) + 1, store.max_bytes)
            # What the solutions depend on, apart from C and the signs.
            self._key = content, labels.weights, function, settings.bias, settings.free
        self._shared = X if self._linear else function.gram(X, settings.cache_size, keep)
        self._compressed = compress(X) if self._linear else None

    @property
    def thread_safe(self) -> bool:
        """Whether problems can be solved at the same time: a function may not allow it."""
        return self._linear or self._shared.whole is not None or not callable(self._shared.kernel)

    def finish(self, problem: int, point: SamplePoint) -> BinaryFit:
        """Return what stays of a solution."""
        solution, signs = point.solution, self.labels.signs(problem)
        coefficients, coef, w = signs * solution.alpha, None, solution.w
        if self._rows is not None:
            if w is None:
                w = LinearSamples(self._rows, signs).combine(solution.alpha)
            coef = w[: self._rows.shape[1]]
        if self._settings.free:
            intercept = float(solution.b)
        elif w is not None and self._settings.bias:
            intercept = float(self._settings.bias * w[-1])
        else:
            intercept = self._settings.bias**2 * fsum(coefficients)
        lean = replace(point, solution=replace(solution, margins=np.empty(0), w=None))
        return BinaryFit(lean, coefficients, coef, intercept)

    def solve(
        self, problem: int, C: float, tol: float, start: np.ndarray | None = None
    ) -> SamplePoint:
        """Solve one of the two-class problems for one C, with what a store knows about others.

        `start` are dual variables to start from, where they are known.
        """
        solver, store, key = self.path_solver(problem), self._settings.store, None
        if store is not None:
            key = content_key(self.labels.signs(problem), *self._key)
        if start is not None:
            solver.recall(C, start, None, solver.C_min)
        elif key is not None:
            for other, known in store.neighbours(key, C):
                if known["alpha"].shape == known["margins"].shape == self.labels.rows.shape:
                    solver.recall(other, known["alpha"], known["margins"], float(known["C_min"]))
        point = solver.solve(C, tol)
        solution = point.solution
        if key is not None and solution.converged:
            store.put(key, C, alpha=solution.alpha, margins=solution.margins, C_min=solver.C_min)
        return point

    def path_solver(self, problem: int) -> SamplePathSolver:
        """Return what solves one of the two-class problems for values of C."""
        signs, settings = self.labels.signs(problem), self._settings
        if self._linear:
            samples = LinearSamples(self._shared, signs, settings.bias, self._compressed)
            solve = partial(_solve_linear, samples, settings)
        else:
            samples = KernelSamples(self._shared, signs, bias=settings.bias)
            if self._rows is not None:
                samples = LinearKernelSamples(self._shared, LinearSamples(self._rows, signs))
            solve = partial(_solve_kernel, samples, settings)
        screening = settings.screening
        return SamplePathSolver(
            samples, self.labels.weights, solve, screening, free=settings.free,
            max_iter=settings.max_iter,
        )  # fmt: skip


def _solve_linear(samples, settings, bounds, start, margins, codes, tol, left) -> SampleSolution:
    return solve_linear(
        samples, bounds, start=start, fixed=codes, random_state=settings.random_state,
        **_common(settings, tol, left),
    )  # fmt: skip


def _solve_kernel(samples, settings, bounds, start, margins, codes, tol, left) -> SampleSolution:
    return solve_kernel(
        samples, bounds, start=start, margins=margins, fixed=codes,
        intercept="free" if settings.free else "none", **_common(settings, tol, left),
    )  # fmt: skip


def _common(settings: Settings, tol: float, left: int | None) -> dict:
    limit = {} if left is None else {"max_iter": left}
    return {
        "solver": settings.solver,
        "screening": settings.screening is not None,
        # A larger one asks for nothing either, and products with this are numbers.
        "tol": min(tol, _LARGEST_TOL),
        **limit,
    }
