"""Paths of support vector machines and regressions over C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skscreen.core.certificate import steps_table
from skscreen.core.checks import MatrixLike
from skscreen.core.sklearn_private import Interval, StrOptions, validate_params
from skscreen.fitting.grid import positive_values
from skscreen.fitting.path import PathResult, place_of
from skscreen.fitting.progress import say
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.labels import Labels
from skscreen.samples.targets import Targets
from skscreen.svm.estimator import BaseSVM, fitted
from skscreen.svm.l1.path import L1Paths, l1_model
from skscreen.svm.linear_svc import ScreenedLinearSVC
from skscreen.svm.paths import Paths, shares_ahead, solved_grid, solved_within
from skscreen.svm.problem import TrainingSet, build
from skscreen.svm.screened.decisions import check_decides, screened_at
from skscreen.svm.screened.references import Fitted
from skscreen.svm.screened.result import SampleScreening
from skscreen.svm.svc import ScreenedSVC
from skscreen.svm.svr import ScreenedSVR
from skscreen.svm.training_data import own_unless_made

_RULES = {
    "eps": [Interval(Real, 0, 1, closed="neither"), None],
    "C_max": [Interval(Real, 0, None, closed="neither")],
}


@dataclass(frozen=True, repr=False)
class PathOverC(PathResult):
    """Base of the paths over C; up to `C_min` solutions are proportional to C."""

    data: TrainingSet
    C_min: float

    @property
    def X(self) -> Any:
        """Training samples, ndarray or CSR of shape (n_samples, n_features)."""
        return self.data.X

    @property
    def kernel(self) -> Kernel:
        """The kernel between samples."""
        return self.data.kernel

    @property
    def Cs(self) -> np.ndarray:
        """Values of C, ascending."""
        return np.array([solution.C for solution in self.solutions])

    @property
    def screening_parameter(self) -> str:
        """The parameter that differs along the path."""
        return "C"

    @property
    def dual_gaps(self) -> np.ndarray:
        """Relative duality gaps of the full problem, the largest of all problems."""
        gaps = [
            [each.certificate.relative_gap for each in solution.problems]
            for solution in self.solutions
        ]
        return np.max(gaps, axis=1)

    @property
    def coefs(self) -> np.ndarray:
        """Weights of the features; linear kernel only.

        (n_Cs, n_features), for more than two classes (n_Cs, n_problems, n_features), rows as in
        `coef_` of the estimators.
        """
        weights = [found.w for found in self.solutions if found.w is not None]
        if not weights:
            raise AttributeError(
                f"coefs exist for kernel='linear' only, not for {self.model.kernel!r}; use "
                "dual_coefs."
            )
        return np.stack(weights)

    @property
    def intercepts(self) -> np.ndarray:
        """Intercepts, (n_Cs,), for more than two classes (n_Cs, n_problems)."""
        return np.array([solution.b for solution in self.solutions])

    @property
    def dual_coefs(self) -> np.ndarray:
        """Dual variables with signs, (n_Cs, n_samples); zero for samples of weight zero.

        For more than two classes (n_Cs, n_rows, n_samples), rows as in `ScreenedSVC.dual_coef_`.
        """
        division = self.data.division
        rows = [
            division.dual_coefs([found.beta for found in solution.problems])
            for solution in self.solutions
        ]
        out = np.zeros((len(self), len(rows[0]), self.X.shape[0]))
        out[:, :, self.data.division.labels.rows] = rows
        return out[:, 0] if division.n_problems == 1 else out

    @property
    def rates(self) -> np.ndarray:
        """Share of all samples that were proven to be at a bound at the end."""
        return np.array([solution.screening_rate() for solution in self.solutions])

    @cached_property
    def path_rates(self) -> np.ndarray:
        """The same before the first step, by the solution at the previous C.

        Where that would take longer than it saves, as with kernels, nothing is decided before the
        first step unless `screening` names a test. Then this is computed when it is first asked
        for, with kernel values of all samples, and shows what could have been decided.
        """
        rates = np.array([solution.screening_rate("path") for solution in self.solutions])
        if rates.any() or not self.rates.any() or self.model.screening is not True:
            return rates
        return shares_ahead(self.model, self.data, self.solutions)

    @property
    def screening_history(self) -> np.ndarray:
        """All screening steps, as in `screening_history_`."""
        return steps_table(
            (found.C, event)
            for solution in self.solutions
            for found in solution.problems
            for event in found.history
        )

    def __getitem__(self, index: int) -> BaseSVM:
        """Return the fitted estimator of the value of C at a place in `Cs`."""
        return fitted(self.model, self.data, self.solutions[place_of(index, len(self))].problems)


class SVCPath(PathOverC):
    """Solutions along a path, in ascending order of C.

    Screening rates are 0 where one-vs-one problems share kernel values: these are not screened.

    Iterate over it or index it to get the fitted estimators; `solutions` are what the solvers
    found. The arrays below have one entry for each C. For more than two classes each solution has a
    list `problems` with the solution and certificate of every two-class problem; `objectives`,
    `n_iters` and `seconds` are then sums over the problems, and `dual_gaps` is the largest gap.

    Attributes
    ----------
    model : ScreenedSVC
        The parameters of the path. It is not fitted.
    solutions : tuple of Solution or JointSolution
    X : ndarray or CSR of shape (n_samples, n_features)
        Training samples.
    labels : Labels
        Classes and weights of the samples of positive weight.
    kernel : Kernel
    C_min : float
        Up to this C all dual variables are C s_i. 0 with a free intercept or the squared hinge, or
        where it is not known (one-vs-one with kernels). With an L1 penalty all weights are 0.
    """

    @property
    def labels(self) -> Labels:
        """Classes and weights of the samples of positive weight."""
        return self.data.labels

    def screened(self, C: float) -> SampleScreening:
        """Return what the solution for one of the `Cs` proves, see `screen_samples`."""
        model = self.at(self.Cs, C, "C")
        check_decides(model)
        return screened_at(model, self.data, Fitted(model, self.X.shape[0]), "gap")[0]


class SVRPath(PathOverC):
    """Solutions along a path of regressions, C ascending.

    Iterate over it or index it to get the fitted estimators; `solutions` are what the solvers
    found. The arrays below have one entry for each C. The solutions have two dual variables for
    each sample of positive weight, see the notes of `ScreenedSVR`.

    Attributes
    ----------
    model : ScreenedSVR
        The parameters of the path. It is not fitted.
    solutions : tuple of Solution
    X : ndarray or CSR of shape (n_samples, n_features)
        Training samples.
    targets : Targets
        Targets and weights of the samples of positive weight.
    kernel : Kernel
    C_min : float
        Up to this C the solution is proportional to C; 0 with a free intercept.
    """

    @property
    def targets(self) -> Targets:
        """Targets and weights of the samples of positive weight."""
        return self.data.labels


@validate_params(
    {**_RULES, "penalty": [StrOptions({"l1", "l2"})]}, prefer_skip_nested_validation=False
)
def svc_path(
    X: MatrixLike, y: ArrayLike, Cs: int | ArrayLike | None = None, *, penalty: str = "l2",
    eps: float | None = None, C_max: float = 1e4, sample_weight: ArrayLike | None = None,
    callbacks: Sequence[object] = (), loss: str = "hinge", kernel: str | Callable = "rbf",
    gamma: str | float = "scale", degree: int = 3, coef0: float = 0.0, fit_intercept: bool = True,
    intercept: str = "free", intercept_scaling: float = 1.0, screening: bool | str = True,
    solver: str = "auto", tol: float = 1e-6, max_iter: int | None = None, multi_class: str = "ovo",
    decision_function_shape: str = "ovr", break_ties: bool = False,
    class_weight: dict | str | None = None, indefinite: str = "warn", cache_size: float = 1000,
    n_jobs: int | None = None, verbose: int = 0,
    random_state: int | np.random.RandomState | None = None,
) -> SVCPath:  # fmt: skip
    """Fit support vector machines for a path of values of C, each with a certificate.

    Each fit starts from the previous solution. The values of C are `Cs`, or they are chosen such
    that for every C between two of them the scaled solution at the smaller one is within a relative
    error `eps` of the optimal objective (for more than two classes, of each problem). These values
    start where the solution is still known in closed form. (With a free intercept it is
    proportional to C there; with the squared hinge each sample has a loss.) They end at `C_max`, or
    at a solution without losses, which stays optimal for every larger C.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels. More than two classes are handled as in `ScreenedSVC`: one-vs-one, or with
        ``multi_class="ovr"`` one-vs-rest.
    Cs : array-like of shape (n_Cs,), optional
        Values of C, in any order. Not together with `eps`.
    penalty : {"l2", "l1"}, default="l2"
        "l1" for the path of ``ScreenedLinearSVC(penalty="l1")``, only for given `Cs`: with the
        linear kernel, the squared hinge, a penalised intercept and one-vs-rest, whatever `loss`,
        `intercept` and `multi_class` say. What a solution proves about features at the next C is
        its screening, and rates are shares of all features.
    eps : float, optional
        Relative error, in (0, 1). By default 1e-3 if `Cs` is not given.
    C_max : float, default=1e4
        Largest C of a path with `eps`; ignored if `Cs` is given.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, which multiply C; samples of weights <= 0 are left out, as by `SVC`.
    callbacks : sequence of callbacks, optional
        Callbacks of scikit-learn >= 1.9. Each value of C is a task; a callback that asks to stop
        ends the path.
    loss, kernel, gamma, degree, coef0, fit_intercept, intercept, intercept_scaling, screening
        As in `ScreenedSVC`.
    solver, tol, max_iter, multi_class, decision_function_shape, break_ties, class_weight
        As in `ScreenedSVC`.
    indefinite, cache_size, n_jobs, verbose, random_state
        As in `ScreenedSVC`.

    Returns
    -------
    SVCPath
        After Ctrl-C it holds the solutions found so far.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments or data; the message names the argument.
    MemoryError
        As in `ScreenedSVC`, or if the dual variables for all `Cs` would not fit into memory.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach the tolerance at some C (see `SVCPath.converged`). A path
        with `eps` ends there if that precision can no longer be guaranteed.
    UserWarning
        If the path was interrupted.

    References
    ----------
    K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
    machines. arXiv:1401.6740. Appendix D, Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import svc_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = svc_path(scale(X), y, Cs=[0.01, 0.1, 1.0])
    >>> bool(path.dual_gaps.max() <= 1e-6)
    True
    """
    model = ScreenedSVC(
        loss=loss, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0,
        fit_intercept=fit_intercept, intercept=intercept, intercept_scaling=intercept_scaling,
        screening=screening, solver=solver, tol=tol, max_iter=max_iter, multi_class=multi_class,
        decision_function_shape=decision_function_shape, break_ties=break_ties,
        class_weight=class_weight, indefinite=indefinite, cache_size=cache_size, n_jobs=n_jobs,
        verbose=verbose, random_state=random_state,
    )  # fmt: skip
    kind = model if penalty == "l2" else l1_model(model)
    return _path(SVCPath, kind, (X, y, sample_weight), Cs, eps, C_max, callbacks)


@validate_params(_RULES, prefer_skip_nested_validation=False)
def svr_path(
    X: MatrixLike, y: ArrayLike, Cs: int | ArrayLike | None = None, *, eps: float | None = None,
    C_max: float = 1e4, sample_weight: ArrayLike | None = None, callbacks: Sequence[object] = (),
    epsilon: float = 0.1, loss: str = "epsilon_insensitive", kernel: str | Callable = "rbf",
    gamma: str | float = "scale", degree: int = 3, coef0: float = 0.0, fit_intercept: bool = True,
    intercept: str = "free", intercept_scaling: float = 1.0, screening: bool | str = True,
    solver: str = "auto", tol: float = 1e-6, max_iter: int | None = None, indefinite: str = "warn",
    cache_size: float = 1000, verbose: int = 0,
    random_state: int | np.random.RandomState | None = None,
) -> SVRPath:  # fmt: skip
    """Fit support vector regressions for a path of values of C, each with a certificate.

    Each fit starts from the previous solution. The values of C are `Cs`, or they are chosen such
    that for every C between two of them the scaled solution at the smaller one is within a relative
    error `eps` of the optimal objective. These values start where the solution is still
    proportional to C. They end at `C_max`, or at a solution without losses, which stays optimal for
    every larger C.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Targets.
    Cs, eps, C_max, sample_weight, callbacks
        As in `svc_path`. (The width of the tube is `epsilon`.)
    epsilon, loss, kernel, gamma, degree, coef0, fit_intercept, intercept, intercept_scaling
        As in `ScreenedSVR`.
    screening, solver, tol, max_iter, indefinite, cache_size, verbose, random_state
        As in `ScreenedSVR`.

    Returns
    -------
    SVRPath
        After Ctrl-C it holds the solutions found so far.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As in `svc_path`.

    Warns
    -----
    ConvergenceWarning, UserWarning
        As in `svc_path`.

    References
    ----------
    K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
    machines. arXiv:1401.6740. Appendix D, Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import svr_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = svr_path(scale(X), scale(y), Cs=[0.1, 1.0, 10.0])
    >>> bool(path.dual_gaps.max() <= 1e-6)
    True
    """
    model = ScreenedSVR(
        epsilon=epsilon, loss=loss, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0,
        fit_intercept=fit_intercept, intercept=intercept, intercept_scaling=intercept_scaling,
        screening=screening, solver=solver, tol=tol, max_iter=max_iter, indefinite=indefinite,
        cache_size=cache_size, verbose=verbose, random_state=random_state,
    )  # fmt: skip
    return _path(SVRPath, model, (X, y, sample_weight), Cs, eps, C_max, callbacks)


def _path(
    kind: type, model: BaseSVM, given: tuple, Cs: int | ArrayLike | None, eps, C_max: float,
    callbacks: Sequence[object],
) -> Any:  # fmt: skip
    """Return the path of an estimator over C, of samples, labels and weights."""
    if Cs is not None and eps is not None:
        raise ValueError("Cs and eps were both given; pass a grid, or the precision of one.")
    grid = None if Cs is None else positive_values("Cs", Cs)
    model._validate_params()
    X, y, sample_weight = given
    problem = build(model, X, y, sample_weight, plan="eps" if grid is None else "grid")
    say(model.verbose, problem.road)
    if isinstance(model, ScreenedLinearSVC):
        if grid is None:
            raise ValueError(
                "penalty='l1' has no path with eps; give values of C: Cs=[0.1, 1.0, 10.0]."
            )
        features = L1Paths(model, problem)
        solutions, C_min = solved_grid(model, features, grid, callbacks), features.C_min
    else:
        paths = Paths(problem, model.n_jobs)
        if grid is None:
            solutions = solved_within(model, paths, eps or 1e-3, float(C_max), callbacks)
        else:
            solutions = solved_grid(model, paths, grid, callbacks)
        C_min = paths.C_min
    # Estimators are made of it later.
    data = replace(problem.data, X=own_unless_made(problem.data.X, X))
    return kind(model, solutions, data, C_min)
