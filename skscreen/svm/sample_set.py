"""The samples of problems, rows or a kernel matrix, and the calls of their solvers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from skscreen._compiled import svm as loops
from skscreen.core.memory import check_kernel_memory
from skscreen.fitting.kept_matrices import KernelMatrices
from skscreen.fitting.store import Store
from skscreen.samples.kernels.definite import (
    INDEFINITE,
    DefiniteMatrix,
    IndefiniteError,
    check_symmetric,
    made_definite,
)
from skscreen.samples.kernels.distances import square_norms
from skscreen.samples.kernels.gram import Gram, KernelSamples, Places
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.rows import LinearSamples, compress, shifted
from skscreen.svm.certificate import GivenTargets, Samples
from skscreen.svm.dual import Dual
from skscreen.svm.path_solver import SamplePathSolver, Solve
from skscreen.svm.roads import Fit, Road, begins_with_newton, road
from skscreen.svm.solvers.kernel.solve import solve_kernel
from skscreen.svm.solvers.linear.classes_together import start_together
from skscreen.svm.solvers.linear.solve import rows_at, solve_linear
from skscreen.svm.solvers.linear.state import SampleState
from skscreen.svm.solvers.solution import SampleSolution, Solution
from skscreen.svm.uncertified import GuardedSolver, UncertifiedSolver


@dataclass(frozen=True)
class Settings:
    """Parameters of an estimator that are passed to a solver."""

    loss: str
    bias: float
    free: bool
    screening: str
    solver: str
    max_iter: int | None
    cache_size: float
    random_state: int
    store: Store | None = None
    indefinite: str = "error"


@dataclass
class SampleSet:
    """The samples of some problems, rows or kernel values, and the `Facts` that they tell."""

    X: Any
    kernel: Kernel
    settings: Settings
    fit: Fit
    shared: KernelMatrices | None = None
    changed: DefiniteMatrix | None = None  # what makes an indefinite kernel definite
    members: Sequence[np.ndarray] = ()  # of each class, where the problems are those of pairs

    @cached_property
    def road(self) -> Road:
        """How problems on these samples are solved."""
        return road(self.fit, self)

    @property
    def largest(self) -> float:
        """The largest square of the length of a sample, with its feature for an intercept."""
        square_bias = self.settings.bias**2
        if self.kernel.name == "linear":
            return float(square_norms(self.X).max(initial=0.0)) + square_bias
        try:
            return float(self.values.diagonal.max(initial=0.0)) + square_bias
        except IndefiniteError:
            # There are no lengths.
            return math.inf

    @property
    def is_wide(self) -> bool:
        """Whether kernel values are large enough for most samples to be no support vectors."""
        return self.values.is_wide

    @property
    def is_definite(self) -> bool:
        """Whether the kernel matrix of few samples is positive semi-definite, for all pairs.

        With a free intercept for dual variables of sum zero, see `samples.kernels.definite`.
        """
        K, free = self.by_class, self.settings.free
        ends = np.cumsum([rows.size for rows in self.members])
        ridge = INDEFINITE * float(max(K.max(), -K.min(), 0.0))
        return loops.definite_pairs(K, ends, ridge, free)

    @cached_property
    def by_class(self) -> np.ndarray:
        """The kernel matrix of few samples of pairs of classes, class by class."""
        order = np.concatenate(self.members)
        if self.kernel.name == "precomputed":
            # A matrix that is in order is read as it is.
            in_order = order.size == len(self.X) and bool((np.diff(order) > 0).all())
            K = self.X if in_order else self.X[np.ix_(order, order)]
            K = np.ascontiguousarray(K, np.float64)
        else:
            X = self.X[order]
            K = np.ascontiguousarray(self.kernel.between(X, X))
        check_symmetric(K, "X, as a kernel matrix,")
        return K

    @property
    def is_sparse(self) -> bool:
        """Whether rows of the linear kernel are sparse, or mostly zero."""
        return self._sparse_rows is not None

    @property
    def is_filled(self) -> bool:
        """Whether rows are full, or have more than half of their values."""
        if not sparse.issparse(self.X):
            return True
        n, d = self.X.shape[0], self.n_weights
        return 2 * (self.X.nnz + n * (d - self.X.shape[1])) > n * d

    @property
    def n_weights(self) -> int:
        """Number of features, with that for an intercept."""
        return int(self.X.shape[1]) + (self.settings.bias > 0.0)

    @property
    def width(self) -> float:
        """The same of full rows; else infinite."""
        return math.inf if sparse.issparse(self.X) else self.n_weights

    @cached_property
    def values(self) -> Gram:
        """Kernel values, which are computed as they are needed."""
        return Gram(self.X, self.kernel, cache_size=0.0)

    @cached_property
    def _gram(self) -> Gram | None:
        """The kernel values of solvers; None where LIBSVM solves the problem."""
        otherwise = self.road.otherwise
        if otherwise != "shift" or self.settings.indefinite == "warn":
            try:
                if self.road.values == "matrix":
                    self.values.fill(self.shared)
                return self.values
            except IndefiniteError:
                if otherwise == "refuse":
                    raise
        try:
            return self._made_definite(otherwise == "shift")
        except IndefiniteError:
            if otherwise != "LIBSVM":
                raise
            return None

    @property
    def is_uncertified(self) -> bool:
        """Whether the kernel is known to be one that LIBSVM solves for."""
        return self.road.otherwise == "LIBSVM" and self._gram is None

    def _made_definite(self, shift: bool) -> Gram:
        changed = made_definite(self._matrix, free=self.settings.free, shift=shift)
        self.changed = changed
        # Whole, whatever the size: it is there already.
        return Gram(changed.K, Kernel("precomputed"), cache_size=np.inf)

    @cached_property
    def _matrix(self) -> np.ndarray:
        """The whole kernel matrix, of a kernel that is indefinite."""
        if self.kernel.name == "precomputed":
            return self.X
        check_kernel_memory(self.X.shape[0], self.X.shape[0], 2, "Use fewer samples.")
        return self.kernel.between(self.X, self.X)

    def _uncertified(self, dual: Dual) -> UncertifiedSolver:
        return UncertifiedSolver(self._matrix, dual, self.fit.regression, self.settings.max_iter)

    @cached_property
    def _linear_samples(self) -> LinearSamples:
        X, bias = self.X, self.settings.bias
        if self.settings.free:
            return shifted(X, bias, compressed=True)
        return LinearSamples(X, np.ones(X.shape[0]), bias, compress(X))

    @property
    def _sparse_rows(self) -> Any:
        """The rows of the linear kernel where they are sparse, otherwise None."""
        samples = self._linear_samples
        return samples.X if samples.is_sparse else samples.compressed

    def start_together(
        self, classes: np.ndarray, dual: Dual, tol: float
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return dual variables of classes against the rest and their steps."""
        samples, rows = self._linear_samples, self._sparse_rows
        rows = sparse.csr_array(samples.X) if rows is None else rows
        few = begins_with_newton(rows_at(SampleState(samples, dual)))
        return start_together(
            rows, samples.bias, samples.norms, classes, dual.shifts, tol,
            few=few, seed=self.settings.random_state,
        )  # fmt: skip

    def prepare(self) -> None:
        """Make what problems share, before threads ask for it."""
        _ = self._linear_samples if self.road.values == "rows" else self._gram

    def path_solver(self, dual: Dual, given: GivenTargets | None = None, spent: int = 0) -> Any:
        """Return a `SamplePathSolver` or the like; in a regression samples stand twice.

        `spent` are steps for one value of C that others have taken already.
        """
        settings, road, twice = self.settings, self.road, self.fit.regression
        samples: Samples
        solve: Solve
        if road.values == "rows":
            rows = self._linear_samples
            samples = rows.twice() if twice else rows
            solve = partial(
                solve_linear, random_state=settings.random_state, solver=settings.solver,
                screening=road.screens != "",
            )  # fmt: skip
        elif (gram := self._gram) is None:
            return self._uncertified(dual)
        else:
            samples = KernelSamples(Places.twice(gram) if twice else gram, bias=settings.bias)
            inside = road.solver == "interior point"
            solve = partial(
                solve_kernel, double=road.double, exact=road.exact, interior=inside,
                levels=road.solver == "levels",
            )  # fmt: skip
        max_iter = settings.max_iter and settings.max_iter - spent
        solver = SamplePathSolver(
            samples, dual, solve, road.screens, max_iter=max_iter, given=given,
            polished=road.polished,
        )  # fmt: skip
        # A shift is taken once.
        if road.otherwise == "LIBSVM":
            return GuardedSolver(solver, partial(self._uncertified, dual))
        if settings.indefinite == "warn" and road.otherwise == "shift" and self.changed is None:
            return GuardedSolver(solver, partial(self._shifted, dual, given, spent))
        return solver

    def _shifted(self, dual: Dual, given, spent: int) -> SamplePathSolver:
        """Return the solver of a problem whose kernel turned out to be indefinite."""
        self._gram = self._made_definite(True)
        return self.path_solver(dual, given, spent)

    def finish(self, solution: SampleSolution, origin: float) -> Solution:
        """Return a solution as users see it, without scores; the intercept is `origin` larger."""
        settings, w, b = self.settings, solution.w, solution.b
        # Of a regression the sum of both sides of each sample.
        signed = solution.beta.reshape(-1, self.X.shape[0]).sum(axis=0)
        if w is not None:
            b = self._linear_samples.intercept(w, b)
            w = w[: self.X.shape[1]]
        elif not settings.free:
            b = settings.bias**2 * math.fsum(signed)
        shift = 0.0
        if self.changed is not None:
            shift = self.changed.shift
            b = b if self.changed.means is None else b - self.changed.means @ signed
        return Solution(
            solution.beta, w, float(b) + origin, solution.certificate, solution.n_iter,
            solution.converged, solution.seconds, solution.history, solution.C, shift,
        )  # fmt: skip
