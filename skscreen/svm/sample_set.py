"""The samples of problems, rows or a kernel matrix, and the calls of their solvers."""

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from skscreen.core.memory import check_kernel_memory
from skscreen.fitting.kept_matrices import KernelMatrices
from skscreen.fitting.store import Store
from skscreen.samples.kernels.definite import DefiniteMatrix, IndefiniteError, made_definite
from skscreen.samples.kernels.gram import Gram, KernelSamples, Places
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.losses import SampleLosses
from skscreen.samples.rows import LinearSamples, both_signs, compress, shifted
from skscreen.svm.path_solver import SamplePathSolver, Samples, Solve
from skscreen.svm.solvers.kernel.solve import solve_kernel
from skscreen.svm.solvers.linear.classes_together import start_together
from skscreen.svm.solvers.linear.solve import is_narrow, solve_linear
from skscreen.svm.solvers.solution import SampleSolution
from skscreen.svm.uncertified import GuardedSolver, UncertifiedSolver


@dataclass(frozen=True)
class Settings:
    """Parameters of an estimator that are passed to a solver."""

    loss: str
    bias: float
    free: bool
    screening: str | None
    solver: str
    max_iter: int | None
    cache_size: float
    random_state: int
    store: Store | None = None
    once: bool = False
    indefinite: str = "error"


@dataclass
class SampleSet:
    """The samples of some problems: their rows, or their kernel matrix, which is made once."""

    X: Any
    kernel: Kernel
    settings: Settings
    shared: KernelMatrices | None = None
    changed: DefiniteMatrix | None = None  # what makes an indefinite kernel definite

    @cached_property
    def _gram(self) -> Gram | None:
        """The kernel matrix; None where it is indefinite, and LIBSVM solves the problem."""
        settings, kernel = self.settings, self.kernel
        if settings.indefinite != "shift" or kernel.is_definite:
            try:
                return Gram(
                    self.X, kernel, cache_size=settings.cache_size, shared=self.shared,
                    once=settings.once,
                )  # fmt: skip
            except IndefiniteError:
                # A conditionally definite kernel is convex all the same.
                if not settings.free and settings.indefinite == "error":
                    raise
        warns = settings.indefinite == "warn"
        shift = settings.indefinite == "shift" or (warns and not self._is_for_libsvm)
        try:
            return self._made_definite(shift)
        except IndefiniteError:
            if not warns:
                raise
            return None

    def _made_definite(self, shift: bool) -> Gram:
        changed = made_definite(self._matrix, free=self.settings.free, shift=shift)
        self.changed = changed
        # Whole, whatever the size: it is there already.
        return Gram(changed.K, Kernel("precomputed"), cache_size=np.inf)

    @property
    def _is_for_libsvm(self) -> bool:
        """Whether LIBSVM solves such problems."""
        return self.settings.free and not self.settings.loss.startswith("squared")

    @cached_property
    def _matrix(self) -> np.ndarray:
        """The whole kernel matrix, of a kernel that is indefinite."""
        if self.kernel.name == "precomputed":
            return self.X
        check_kernel_memory(self.X.shape[0], self.X.shape[0], 2, "Use fewer samples.")
        return self.kernel.between(self.X, self.X)

    def _uncertified(self, signs, losses) -> UncertifiedSolver:
        return UncertifiedSolver(self._matrix, signs, losses, self.settings.max_iter)

    @cached_property
    def _linear_samples(self) -> LinearSamples:
        X, bias = self.X, self.settings.bias
        if self.settings.free:
            return shifted(X, bias, compressed=True)
        return LinearSamples(X, np.ones(X.shape[0]), bias, compress(X))

    def start_together(
        self, classes: np.ndarray, losses: SampleLosses, tol: float
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return dual variables of classes against the rest and their steps, for sparse rows."""
        if self.kernel.name != "linear":
            return None
        samples = self._linear_samples
        X = samples.X if samples.is_sparse else samples.compressed
        if X is None:
            return None
        return start_together(
            X, samples.bias, samples.norms, classes, losses.shifts, tol,
            few=is_narrow(samples, losses), seed=self.settings.random_state,
        )  # fmt: skip

    def prepare(self) -> None:
        """Make what problems share, before threads ask for it."""
        _ = self._linear_samples if self.kernel.name == "linear" else self._gram

    def path_solver(self, signs: np.ndarray | None, losses: SampleLosses, spent: int = 0) -> Any:
        """Return a `SamplePathSolver` or the like; without `signs` (n,) samples stand twice.

        `spent` are steps for one value of C that others have taken already.
        """
        settings = self.settings
        how: dict[str, Any] = {"free": settings.free, "screening": settings.screening is not None}
        samples: Samples
        solve: Solve
        if self.kernel.name == "linear":
            rows = self._linear_samples
            samples = rows.twice() if signs is None else rows.signed(signs)
            how |= {"random_state": settings.random_state, "solver": settings.solver}
            solve = partial(solve_linear, **how)
        elif (gram := self._gram) is None:
            return self._uncertified(signs, losses)
        else:
            bias = settings.bias
            if signs is None:
                samples = KernelSamples(Places.twice(gram), both_signs(gram.n), bias=bias)
            else:
                samples = KernelSamples(gram, signs, bias=bias)
            solve = partial(solve_kernel, exact=not settings.once, **how)
        max_iter = settings.max_iter and settings.max_iter - spent
        solver = SamplePathSolver(
            samples, losses, solve, settings.screening, free=settings.free, max_iter=max_iter
        )
        # A shift is taken once.
        is_shifted = self.changed is not None and not self._is_for_libsvm
        if settings.indefinite != "warn" or self.kernel.is_definite or is_shifted:
            return solver
        if self._is_for_libsvm:
            return GuardedSolver(solver, partial(self._uncertified, signs, losses))
        return GuardedSolver(solver, partial(self._shifted, signs, losses, spent))

    def _shifted(self, signs, losses, spent: int) -> SamplePathSolver:
        """Return the solver of a problem whose kernel turned out to be indefinite."""
        self._gram = self._made_definite(True)
        return self.path_solver(signs, losses, spent)

    def finish(
        self, signs: np.ndarray | None, solution: SampleSolution, origin: float
    ) -> SampleSolution:
        """Return a solution as users see it, without margins; the intercept is `origin` larger."""
        settings, w, b = self.settings, solution.w, solution.b
        if signs is None:
            above, below = np.split(solution.alpha, 2)
            signed = above - below
        else:
            signed = signs * solution.alpha
        if w is not None:
            b = self._linear_samples.intercept(w, b)
            w = w[: self.X.shape[1]]
        elif not settings.free:
            b = settings.bias**2 * math.fsum(signed)
        shift = 0.0
        if self.changed is not None:
            shift = self.changed.shift
            b = b if self.changed.means is None else b - self.changed.means @ signed
        return replace(solution, margins=np.empty(0), w=w, b=float(b) + origin, shift=shift)
