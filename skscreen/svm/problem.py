"""What an SVM is learned from: labels, weights and a kernel, checked and brought to one form."""

from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from functools import partial
from math import fsum
from numbers import Integral

import numpy as np
from sklearn.utils.validation import validate_data

from skscreen.fitting.kept_matrices import kept_matrix
from skscreen.fitting.store import Store, content_key
from skscreen.samples.gram import near_origin
from skscreen.samples.kernel import Kernel, gamma_value
from skscreen.samples.kernel_samples import KernelSamples, LinearKernelSamples
from skscreen.samples.labels import Labels, check_labels
from skscreen.samples.rows import LinearSamples, compress
from skscreen.svm.path_solver import SamplePathSolver
from skscreen.svm.solvers.kernel.solve import SOLVERS as KERNEL_SOLVERS
from skscreen.svm.solvers.kernel.solve import solve_kernel
from skscreen.svm.solvers.linear.solve import SOLVERS as LINEAR_SOLVERS
from skscreen.svm.solvers.linear.solve import solve_linear
from skscreen.svm.solvers.solution import SampleSolution

SOLVERS = {"linear": LINEAR_SOLVERS, "kernel": KERNEL_SOLVERS}

# Caps tol so that products with it stay finite; a larger one asks for nothing either.
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
    once: bool = False


class SVMProblem:
    """The two-class problems of a training set, which share its rows or its kernel matrix.

    Parameters
    ----------
    X : array or CSR of shape (n_samples, n_features)
        All samples, also those of weight zero.
    labels : Labels
    kernel : Kernel
    settings : Settings
    """

    def __init__(self, X, labels: Labels, kernel: Kernel, settings: Settings):
        self.X, self.labels, self.kernel, self._settings = X, labels, kernel, settings
        X = labels.take(X, kernel.name == "precomputed")
        self._linear = by_rows(kernel.name, settings.free)
        store, keep = settings.store, None
        if store is not None:
            content, kind = content_key(X), astuple(kernel)
            keep = partial(kept_matrix, content_key(content, *kind), store.max_bytes)
            # What the solutions depend on, apart from C and the signs.
            self._key = content, labels.weights, *kind, settings.bias, settings.free
        self._rows = self._origin = None
        if kernel.name == "linear":
            # An unpenalised intercept takes up any shift; next to a large one digits are lost.
            self._rows = near_origin(X)[0] if settings.free else X
            if self._rows is not X:
                self._origin, X = X[0] - self._rows[0], self._rows
        once = settings.once and labels.n_problems == 1
        self._shared = X if self._linear else kernel.gram(X, settings.cache_size, keep, once)
        self._compressed = compress(X) if self._linear else None

    @property
    def thread_safe(self) -> bool:
        """Whether problems can be solved at the same time: a function may not allow it."""
        return self._linear or self._shared.whole is not None or not callable(self._shared.kernel)

    def finish(self, problem: int, solution: SampleSolution) -> SampleSolution:
        """Return a solution with weights of features and intercept, and without margins."""
        settings, signs, w, b = self._settings, self.labels.signs(problem), solution.w, solution.b
        if self._rows is not None and w is None:
            w = LinearSamples(self._rows, signs).combine(solution.alpha)
        if not settings.free:
            rows = solution.w is not None and settings.bias
            b = settings.bias * w[-1] if rows else settings.bias**2 * fsum(signs * solution.alpha)
        if w is not None:
            w = w[: self.X.shape[1]]
        if self._origin is not None:
            b -= w @ self._origin
        return replace(solution, margins=np.empty(0), w=w, b=float(b))

    def solve(
        self, problem: int, C: float, tol: float, start: np.ndarray | None = None
    ) -> SampleSolution:
        """Solve one of the two-class problems for one C, with what a store knows about others.

        `start` are dual variables to start from, where they are known.
        """
        store, key = self._settings.store, None
        solver = self.path_solver(problem, exact=not self._settings.once)
        if store is not None:
            key = content_key(self.labels.signs(problem), *self._key)
        if start is not None:
            solver.recall(C, start, None, solver.C_min)
        elif key is not None:
            for other, known in store.neighbours(key, C):
                if known["alpha"].shape == known["margins"].shape == self.labels.rows.shape:
                    solver.recall(other, known["alpha"], known["margins"], float(known["C_min"]))
        solution = solver.solve(C, tol)
        if key is not None and solution.converged:
            store.put(key, C, alpha=solution.alpha, margins=solution.margins, C_min=solver.C_min)
        return self.finish(problem, solution)

    def path_solver(self, problem: int, exact: bool = True) -> SamplePathSolver:
        """Return what solves one of the two-class problems for values of C.

        See `SamplePathSolver` for `exact`.
        """
        signs, settings = self.labels.signs(problem), self._settings
        if self._linear:
            samples = LinearSamples(self._shared, signs, settings.bias, self._compressed)
            solve = partial(_solve_linear, samples, settings)
        else:
            samples = KernelSamples(self._shared, signs, bias=settings.bias)
            if self._rows is not None:
                samples = LinearKernelSamples(self._shared, LinearSamples(self._rows, signs))
            solve = partial(_solve_kernel, samples, settings)
        return SamplePathSolver(
            samples, self.labels.weights, solve, settings.screening, free=settings.free,
            max_iter=settings.max_iter, exact=exact,
        )  # fmt: skip


def accepted(model) -> dict:
    """Return how the samples of an estimator are validated."""
    # Kernel values are computed in double precision, whatever the samples are.
    rows = by_rows(model.kernel, has_free_intercept(model))
    return {
        "dtype": [np.float64, np.float32] if rows else np.float64,
        "accept_sparse": False if model.kernel == "precomputed" else "csr",
        "order": "C",
    }


def has_free_intercept(model) -> bool:
    """Whether the intercept of an estimator is unpenalised."""
    return model.fit_intercept and model.intercept == "free"


def build(model, X, y, sample_weight=None, store=None, once: bool = False) -> SVMProblem:
    """Validate the data and set the problems of an estimator up.

    Parameters
    ----------
    model : ScreenedSVC
        Its parameters but `C`, `tol` and `memory` count; its number and names of features are set.
    X, y, sample_weight
        As for `ScreenedSVC.fit`.
    store : Store, optional
        Of solutions for other values of C.
    once : bool, default=False
        Whether the problems are solved for one C alone.
    """
    X, y = validate_data(model, X, y, **accepted(model))
    if model.kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"X must be a square kernel matrix for kernel='precomputed', got shape {X.shape}."
        )
    labels = check_labels(X, y, sample_weight, model.class_weight)
    gamma, free = 1.0, has_free_intercept(model)
    if model.kernel in ("rbf", "poly", "sigmoid"):
        gamma = gamma_value(model.gamma, labels.take(X, False), labels.repetitions)
    kernel = Kernel(model.kernel, gamma, model.degree, float(model.coef0))
    seed = model.random_state or 0
    if not isinstance(seed, Integral):
        seed = int(seed.randint(2**31 - 1))
    known = SOLVERS["linear" if by_rows(model.kernel, free) else "kernel"]
    if model.solver not in known:
        raise ValueError(
            f"solver must be one of {', '.join(map(repr, known))} for kernel={model.kernel!r} "
            f"with this intercept, got {model.solver!r}."
        )
    if store is not None and callable(model.kernel):
        raise ValueError(
            "memory needs a kernel with a name: the content of a function is not known."
        )
    settings = Settings(
        bias=float(model.intercept_scaling) if model.fit_intercept and not free else 0.0,
        free=free,
        screening=model.screening,
        solver=model.solver,
        max_iter=model.max_iter,
        random_state=seed,
        cache_size=model.cache_size,
        store=store,
        once=once and store is None,
    )
    return SVMProblem(X, labels, kernel, settings)


def _solve_linear(samples, settings, losses, start, margins, codes, tol, left) -> SampleSolution:
    return solve_linear(
        samples, losses, start=start, fixed=codes, random_state=settings.random_state,
        **_common(settings, tol, left),
    )  # fmt: skip


def _solve_kernel(samples, settings, losses, start, margins, codes, tol, left) -> SampleSolution:
    return solve_kernel(
        samples, losses, start=start, margins=margins, fixed=codes,
        intercept="free" if settings.free else "none", **_common(settings, tol, left),
    )  # fmt: skip


def _common(settings: Settings, tol: float, left: int | None) -> dict:
    limit = {} if left is None else {"max_iter": left}
    return {
        "solver": settings.solver,
        "screening": settings.screening is not None,
        "tol": min(tol, _LARGEST_TOL),
        **limit,
    }
