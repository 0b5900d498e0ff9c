"""The problem of a support vector regression: targets, weights and a kernel, checked."""

import math
from dataclasses import astuple, replace

import numpy as np

from skscreen.fitting.kept_matrices import KernelMatrices, kept_kernel_matrices
from skscreen.fitting.store import Store, content_key
from skscreen.samples.kernel import Kernel
from skscreen.samples.targets import LOSSES, Targets, check_targets
from skscreen.svm.hard_margin import solve_hard_tube
from skscreen.svm.path_solver import SamplePathSolver
from skscreen.svm.problem import as_solved, kernel_of, settings_of, validated, with_kernel
from skscreen.svm.sample_set import SampleSet
from skscreen.svm.settings import Settings
from skscreen.svm.solvers.solution import SampleSolution
from skscreen.svm.stored import StoredFit, solve_with_store


class RegressionProblem:
    """The problem of a training set with targets: each row is two samples of a hinge-loss problem.

    Parameters
    ----------
    X : array or CSR of shape (n_samples, n_features)
        All samples, also those of weight zero.
    targets : Targets
    kernel : Kernel
    settings : Settings
    epsilon : float
    shared : KernelMatrices, optional
        Of the same samples, for this kernel and others.

    Attributes
    ----------
    losses : SampleLosses
        At C = 1, of both sides of the rows that take part.
    """

    def __init__(
        self,
        X,
        targets: Targets,
        kernel: Kernel,
        settings: Settings,
        epsilon: float,
        shared: KernelMatrices | None = None,
    ):
        self.X, self.targets, self.kernel, self._settings = X, targets, kernel, settings
        # A free intercept absorbs any shift of the targets; a large shift would cost digits.
        self._shift = float(np.median(targets.values)) if settings.free else 0.0
        values = targets.values - self._shift
        self._given = values, targets.repetitions, epsilon
        self.losses = LOSSES[settings.loss](*self._given)
        taking_part = as_solved(targets.take(X, kernel.name == "precomputed"), kernel)
        store = settings.store
        self._stored = None
        if store is not None:
            content = content_key(taking_part)
            given = content, values, targets.repetitions, settings.loss, epsilon
            asked = settings.bias, settings.free, settings.indefinite
            key = content_key(*given, *astuple(kernel), *asked)
            self._stored = StoredFit(store, key, 1)
            shared = shared or kept_kernel_matrices(content, store.max_bytes)
            # What is stored is a reference for other C.
            self._settings = settings = replace(settings, once=False)
        self._samples = SampleSet(taking_part, kernel, settings, shared)
        self._samples.prepare()

    def solve(self, C: float, tol: float, start: np.ndarray | None = None) -> SampleSolution:
        """Solve for one C, with stored solutions for other C; see `finish`.

        `start` are dual variables to start from, where they are known.
        """
        if math.isinf(C):
            return self._hard_tube(tol)
        solver = self._samples.path_solver(None, self.losses)
        return self.finish(solve_with_store(solver, self._stored, 0, C, tol, start))

    def _hard_tube(self, tol: float) -> SampleSolution:
        """Solve for C = inf: no residual is above epsilon."""
        losses = LOSSES["epsilon_insensitive"](*self._given)
        solver = self._samples.path_solver(None, losses)
        return self.finish(solve_hard_tube(solver, losses.caps, tol))

    def path_solver(self) -> SamplePathSolver:
        """Return what solves the problem for values of C."""
        return self._samples.path_solver(None, self.losses)

    def finish(self, solution: SampleSolution) -> SampleSolution:
        """Return a solution with weights of features and intercept, and without margins."""
        found = self._samples.finish(signed(solution), solution)
        return replace(found, b=found.b + self._shift)


def signed(solution: SampleSolution) -> np.ndarray:
    """Return the dual variables of rows: those of positive minus those of negative residuals."""
    above, below = np.split(solution.alpha, 2)
    return above - below


def build_regression(
    model,
    X,
    y,
    sample_weight=None,
    store: Store | None = None,
    once: bool = False,
    *,
    epsilon: float | None = None,
    gamma: float | str | None = None,
    shared: KernelMatrices | None = None,
) -> RegressionProblem:
    """Validate the data and set the problem of an estimator up; see `skscreen.svm.problem.build`.

    Parameters
    ----------
    model : ScreenedSVR
        Its parameters but `C`, `tol` and `store` count; its number and names of features are set.
    X, y, sample_weight
        As for `ScreenedSVR.fit`.
    store : Store, optional
        Of solutions for other values of C.
    once : bool, default=False
        Whether the problem is solved for one C alone.
    epsilon, gamma : float, optional
        In the place of those of the estimator.
    shared : KernelMatrices, optional
        Of the same samples, for this gamma and others.
    """
    X, y, function = with_kernel(model, *validated(model, X, y, y_numeric=True))
    targets = check_targets(X, y, sample_weight)
    kernel = kernel_of(model, X, targets, gamma, function)
    settings = settings_of(model, store, once)
    epsilon = float(model.epsilon if epsilon is None else epsilon)
    return RegressionProblem(X, targets, kernel, settings, epsilon, shared)
