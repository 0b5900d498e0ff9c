"""Classification at a nu: `NuSVC` as users know it, exact and with a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from skscreen.core.certificate import HISTORY
from skscreen.core.checks import MatrixLike
from skscreen.core.sklearn_private import StrOptions, fit_context
from skscreen.core.threads import at_most
from skscreen.fitting.callbacks import Tasks, shows_tasks, with_callbacks
from skscreen.fitting.path import clone_for, forget
from skscreen.fitting.progress import say
from skscreen.svm.estimator import BaseSVC, set_learned
from skscreen.svm.nu.decided import NuScreening, screening
from skscreen.svm.nu.estimator import OF_NU, warn_of
from skscreen.svm.nu.labelled import NuFit, NuProblems
from skscreen.svm.nu.samples import beta_of, known_duals
from skscreen.svm.nu.solve import OF_PROBLEMS
from skscreen.svm.parameters import OF_CLASSES
from skscreen.svm.probabilities import sigmoids, warn_of_probability


class ScreenedNuSVC(BaseSVC):
    r"""Support vector classifier at a nu, solved exactly with a certificate.

    With :math:`f(x) = \langle w, \phi(x) \rangle + b` and labels :math:`y_i = \pm 1` it minimises

    .. math::

        \tfrac12 \lVert w \rVert^2 - \nu S \rho + \sum_i s_i \max(0, \rho - y_i f(x_i)), \quad
        S = \sum_i s_i,

    over w, b and rho, with sample and class weights s_i. `nu` is an upper bound on the share of
    training samples beyond the margin, and a lower bound on that of support vectors. Divided by
    rho, the solution is that of the C-SVC, `ScreenedSVC`, at ``C_`` = 1 / rho. The problem is that
    of scikit-learn's `NuSVC`, which ignores class weights.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1], and at most twice the share of the smaller class. A small nu is a large C: where
        classes overlap, a nu below the error rate is hard to solve, and w = 0 where nu is below a
        least one.
    kernel, gamma, degree, coef0
        See `ScreenedSVC`.
    tol : float, default=1e-6
        Relative duality gap, > 0: relative to the primal value of the C-SVC, which is the same for
        any scale of the samples.
    max_iter : int or None, default=None
        Limit of the steps of a solver; None and -1 are its own.
    shrinking : bool, default=True
        Ignored; there for programs written for `NuSVC`.
    probability : bool, default="deprecated"
        See `ScreenedSVC`.
    multi_class : {"ovo", "ovr"}, default="ovo"
        More than two classes as problems for each pair, as in `NuSVC`, or for each class against
        the rest. Every problem has this nu.
    decision_function_shape, break_ties
        See `ScreenedSVC`.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of samples. "balanced" makes any nu feasible.
    cache_size : float, default=1000
        Megabytes for a kernel matrix, > 0. Fits of more than 1,000 samples have none.
    n_jobs : int or None, default=None
        At most so many threads for kernel values.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState or None, default=None
        Seed of the folds of `probability`.

    Attributes
    ----------
    C_ : float or ndarray of shape (n_problems,)
        The C of the C-SVC with this solution; an array for more than two classes.
    objective_ : float or ndarray of shape (n_problems,)
        Primal value of that C-SVC.
    dual_gap_ : float
        Relative duality gap, of the problem at nu as of the C-SVC; the largest of all problems, nan
        where there is no certificate, as the kernel is not positive semi-definite.
    classes_, support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, gamma_
        See `ScreenedSVC`: those of the C-SVC.
    n_iter_ : int
        Steps of the solver; the largest number of all problems.
    history_ : structured ndarray
        What was known on the way: "iteration", "seconds", "primal", "dual", "gap"; the last is
        relative. For more than two classes those of all problems, with the number of each,
        "problem".
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Raises
    ------
    ValueError, TypeError
        For invalid parameters, data, labels or weights; the message names the argument. "specified
        nu is infeasible" where nu is larger than twice the share of a class, before any kernel
        value is computed; and a ValueError where w = 0 is the solution.
    MemoryError
        If kernel matrices or systems would not fit into the free memory.

    Warns
    -----
    ConvergenceWarning
        If `tol` was not reached; names the gap that was.
    UserWarning
        If the kernel is not positive semi-definite: then the solution is LIBSVM's.

    See Also
    --------
    nu_svc_path : The solutions for many values of nu.
    ScreenedSVC : Classification at a C.

    References
    ----------
    B. Schölkopf, A. J. Smola, R. C. Williamson, P. L. Bartlett (2000). New support vector
    algorithms. Neural Computation 12.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skscreen import ScreenedNuSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), ScreenedNuSVC(nu=0.1))
    >>> model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **OF_NU,
        **OF_CLASSES,
        "probability": ["boolean", StrOptions({"deprecated"})],
        "multi_class": [StrOptions({"ovr", "ovo"})],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
    }

    # What a `BaseSVM` asks for.
    fit_intercept, intercept = True, "free"

    def __init__(
        self, nu=0.5, *, kernel="rbf", gamma="scale", degree=3, coef0=0.0, tol=1e-6, max_iter=None,
        shrinking=True, probability="deprecated", multi_class="ovo",
        decision_function_shape="ovr", break_ties=False, class_weight=None, cache_size=1000,
        n_jobs=None, verbose=0, random_state=None,
    ):  # fmt: skip
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.probability = probability
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Best standardised. The square kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            How often a sample counts; samples of weights <= 0 are left out.

        Returns
        -------
        self
        """
        forget(self)
        problems = NuProblems(self, X, y, sample_weight)
        if self.verbose:
            # Of many pairs it takes a while.
            say(self.verbose, problems.road)
        together = None
        if not shows_tasks(self):
            # Nobody follows the problems one by one.
            with at_most(self.n_jobs):
                together = problems.solve_together(float(self.nu), float(self.tol))
        if together is None:
            self._solve_each(problems)
        else:
            found, history, alone = together
            warn_of(self, [each.shown for each in alone])
            set_learned(self, problems.data, found, C_=found.C, history_=history)
        if self.probability != "deprecated":
            warn_of_probability("ScreenedNuSVC")
        if self.probability is True:
            kernel = problems.kernel
            fold = _Fold(**self.get_params(deep=False)).set_params(
                probability="deprecated", kernel=kernel.name, gamma=kernel.gamma,
                class_weight=None, verbose=0, decision_function_shape="ovr",
            )  # fmt: skip
            self._sigmoids = sigmoids(fold, problems)
        return self

    def _solve_each(self, problems: NuProblems) -> None:
        """Solve one problem after the other."""
        total, found = problems.division.n_problems, list[NuFit]()
        with Tasks(self, total, "class") as tasks, at_most(self.n_jobs):
            for k in range(total):
                found.append(problems.solve(k, float(self.nu), float(self.tol)))
                tasks.end_task((k + 1) / total, found[-1].shown)
        warn_of(self, [each.shown for each in found])
        with_solutions(self, problems, found)

    def screened(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> NuScreening:
        """Return which samples are no support vectors, or beyond the margin, in any exact solution.

        Parameters
        ----------
        X, y, sample_weight
            As in the fit.

        Returns
        -------
        NuScreening

        Raises
        ------
        ValueError
            If X holds other samples than the fit did.
        """
        return screened_at(self, float(self.nu), X, y, sample_weight)


class _Fold(ScreenedNuSVC):
    """A fit of a part of the samples, at the largest nu that these have, if it is smaller."""

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from samples of two classes."""
        labels = np.asarray(y)
        weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight)
        shares = [weights[labels == sign].sum() / weights.sum() for sign in np.unique(labels)]
        self.set_params(nu=min(self.nu, 2.0 * min(shares)))
        return super().fit(X, y, sample_weight)


def with_solutions(
    model: ScreenedNuSVC, problems: NuProblems, found: Sequence[NuFit]
) -> ScreenedNuSVC:
    """Set what an estimator learns from solutions; return it."""
    shown, one = [each.shown for each in found], len(found) == 1
    values = np.array([each.C for each in found])
    more = {
        "C_": float(values[0]) if one else values,
        "history_": _history(found),
    }
    return set_learned(model, problems.data, shown, **more)


def _history(found: Sequence[NuFit]) -> np.ndarray:
    """Return the history of one problem, or those of several one after the other, numbered."""
    parts = [each.found.history_rows for each in found]
    if len(parts) == 1:
        return np.array(parts[0], HISTORY)
    return np.array([(k, *row) for k, part in enumerate(parts) for row in part], OF_PROBLEMS)


def fitted_at(model: ScreenedNuSVC, problems: NuProblems, found: Sequence[NuFit]) -> ScreenedNuSVC:
    """Return a new estimator of one of several solutions."""
    return with_solutions(clone_for(model, nu=found[0].found.nu), problems, found)


def screened_at(
    model: ScreenedNuSVC, nu: float, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> NuScreening:
    """Return what a fitted estimator proves about the samples of its fit at a nu."""
    problems = NuProblems(model, X, y, sample_weight, getattr(model, "gamma_", None), nu)
    division, rows = problems.division, problems.division.labels.rows
    signed = known_duals(model, problems.data)[:, rows]
    Cs, out = np.atleast_1d(model.C_), []
    for k in range(division.n_problems):
        part, solver = division.rows(k), problems.solver(k)
        dual, region = solver.region(beta_of(signed, division, k) / Cs[k], nu)
        out.append((rows[part], dual, region, False))
    return screening(nu, problems.data.X.shape[0], out)
