"""Regression at a nu: `NuSVR` as users know it, exact and with a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from skscreen.core.certificate import HISTORY
from skscreen.core.checks import MatrixLike
from skscreen.core.sklearn_private import fit_context
from skscreen.fitting.callbacks import Tasks, with_callbacks
from skscreen.fitting.path import clone_for, forget
from skscreen.fitting.progress import say
from skscreen.svm.estimator import BaseSVR, set_learned
from skscreen.svm.nu.decided import NuScreening, screening
from skscreen.svm.nu.estimator import OF_NU, warn_of
from skscreen.svm.nu.labelled import NuFit, NuProblems
from skscreen.svm.nu.samples import known_duals
from skscreen.svm.parameters import POSITIVE


class ScreenedNuSVR(BaseSVR):
    r"""Support vector regression at a nu, solved exactly with a certificate.

    With :math:`f(x) = \langle w, \phi(x) \rangle + b` it minimises

    .. math::

        \tfrac12 \lVert w \rVert^2 + C \Bigl(\nu S \epsilon
        + \sum_i s_i \max(0, |y_i - f(x_i)| - \epsilon)\Bigr), \quad S = \sum_i s_i,

    over w, b and epsilon, with sample weights s_i: the width of the tube is learned, such that at
    most a share `nu` of the samples is outside. The solution is that of `ScreenedSVR` at
    ``epsilon_``. The problem is that of scikit-learn's `NuSVR`.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: an upper bound on the share of the training samples outside of the tube, and a
        lower bound on that of support vectors.
    C : float, default=1.0
        Weight of the losses, > 0 and finite.
    kernel, gamma, degree, coef0
        See `ScreenedSVC`.
    tol : float, default=1e-6
        Relative duality gap, > 0: relative to the primal value of the SVR.
    max_iter : int or None, default=None
        Limit of the steps of the solver; None and -1 are its own.
    shrinking : bool, default=True
        Ignored; there for programs written for `NuSVR`.
    cache_size : float, default=1000
        Megabytes for a kernel matrix, > 0. Fits of more than 1,000 samples have none.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    epsilon_ : float
        Half width of the tube: of the SVR with this solution. In the units of the target.
    objective_ : float
        Primal value of that SVR.
    dual_gap_ : float
        Relative duality gap, of the problem at nu as of the SVR; nan where there is no certificate,
        as the kernel is not positive semi-definite.
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, gamma_
        See `ScreenedSVR`.
    n_iter_ : int
        Steps of the solver.
    history_ : structured ndarray
        What was known on the way: "iteration", "seconds", "primal", "dual", "gap"; the last is
        relative.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Raises
    ------
    ValueError, TypeError
        For invalid parameters, data, targets or weights; the message names the argument.
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
    nu_svr_path : The solutions for many values of nu.
    ScreenedSVR : Regression at an epsilon.

    References
    ----------
    B. Schölkopf, A. J. Smola, R. C. Williamson, P. L. Bartlett (2000). New support vector
    algorithms. Neural Computation 12.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import ScreenedNuSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, y = scale(X), scale(y)
    >>> ScreenedNuSVR().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.4
    True
    """

    _parameter_constraints: ClassVar[dict] = {**OF_NU, "C": [POSITIVE]}

    # What a `BaseSVM` asks for.
    fit_intercept, intercept = True, "free"

    def __init__(
        self, nu=0.5, C=1.0, *, kernel="rbf", gamma="scale", degree=3, coef0=0.0, tol=1e-6,
        max_iter=None, shrinking=True, cache_size=1000, verbose=0,
    ):  # fmt: skip
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Best standardised. The square kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, which multiply C; samples of weights <= 0 are left out.

        Returns
        -------
        self
        """
        forget(self)
        problems = NuProblems(self, X, y, sample_weight)
        say(self.verbose, problems.road)
        with Tasks(self, 1, "fit") as tasks:
            found = problems.solve(0, float(self.nu), float(self.tol))
            tasks.end_task(1.0, found.shown)
        warn_of(self, [found.shown])
        return with_solution(self, problems, found)

    def screened(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> NuScreening:
        """Return which samples are inside of the tube, or beyond it, in any exact solution.

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


def with_solution(model: ScreenedNuSVR, problems: NuProblems, found: NuFit) -> ScreenedNuSVR:
    """Set what an estimator learns from a solution; return it."""
    more = {"epsilon_": found.epsilon, "history_": np.array(found.found.history_rows, HISTORY)}
    return set_learned(model, problems.data, [found.shown], **more)


def fitted_at(model: ScreenedNuSVR, problems: NuProblems, found: Sequence[NuFit]) -> ScreenedNuSVR:
    """Return a new estimator of one of several solutions."""
    return with_solution(clone_for(model, nu=found[0].found.nu), problems, found[0])


def screened_at(
    model: ScreenedNuSVR, nu: float, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> NuScreening:
    """Return what a fitted estimator proves about the samples of its fit at a nu."""
    problems = NuProblems(model, X, y, sample_weight, getattr(model, "gamma_", None))
    rows = problems.labels.rows
    signed = known_duals(model, problems.data)[0, rows]
    both = np.concatenate([np.maximum(signed, 0.0), np.minimum(signed, 0.0)])
    dual, region = problems.solver(0).region(both, nu)
    return screening(nu, problems.data.X.shape[0], [(rows, dual, region, True)])
