"""Base of the support vector regressions: fits, predictions and fitted attributes."""

from typing import Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from skscreen.core.threads import blas_threads_for
from skscreen.fitting.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from skscreen.fitting.path import clone_for, forget
from skscreen.fitting.store import check_store
from skscreen.samples.kernel import Kernel
from skscreen.samples.targets import Targets
from skscreen.svm.estimator import support_vectors, warn_of_flaws
from skscreen.svm.problem import asked
from skscreen.svm.regression_problem import RegressionProblem, build_regression, signed
from skscreen.svm.solvers.solution import SampleSolution, steps_of


class BaseSVR(CallbackSupportMixin, RegressorMixin, BaseEstimator):
    """Base of the support vector regressions.

    The parameters are those of `ScreenedSVR`; subclasses may fix some of them as class attributes.
    """

    # The least value of `n_iter_`; whether coefficients are sparse if samples are, as in `SVR`, and
    # weights of features are one vector, as in `LinearSVR`.
    fewest, sparse_coefs, flat_coef = 0, True, False

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y, sample_weight=None) -> Self:
        """Learn the regression function.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Best standardised. The square kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0, which multiply C.

        Returns
        -------
        self
        """
        forget(self)
        problem = build_regression(self, X, y, sample_weight, check_store(self.store), once=True)
        return learn(self, float(self.C), problem)

    def predict(self, X) -> np.ndarray:
        """Return f(x).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Kernel values with all training samples for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = asked(self, self._kernel, X)
        if self._kernel.name == "linear":
            coef = self.coef_.toarray() if sparse.issparse(self.coef_) else self.coef_
            return safe_sparse_dot(X, coef.ravel(), dense_output=True) + self.intercept_[0]
        X = X[:, self.support_] if self._kernel.name == "precomputed" else X
        coefs = self.dual_coef_.toarray() if sparse.issparse(self.dual_coef_) else self.dual_coef_
        scores = self._kernel.scores(X, self.support_vectors_, coefs.T)
        return scores[:, 0] + self.intercept_[0]

    def __sklearn_tags__(self):
        """Sparse data are accepted; a precomputed kernel is cut along both axes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_")


def learn(
    model: BaseSVR, C: float, problem: RegressionProblem, start: np.ndarray | None = None
) -> BaseSVR:
    """Solve the problem for one C and set the attributes of the estimator.

    Parameters
    ----------
    model : BaseSVR
    C : float
    problem : RegressionProblem
        Built for `model`.
    start : ndarray, optional
        Dual variables to start from.
    """
    with Tasks(model, 1, "fit") as tasks, blas_threads_for(problem.kernel.width):
        solution = problem.solve(C, model.tol, start)
        tasks.end_task(1.0, solution.line)
    warn_of_flaws(model, [solution])
    return _set(model, problem.X, problem.targets, problem.kernel, solution)


def fitted(
    model: BaseSVR, X, targets: Targets, kernel: Kernel, solution: SampleSolution
) -> BaseSVR:
    """Return the fitted estimator of one value of C.

    Parameters
    ----------
    model : BaseSVR
        For which the problem was built.
    X : array or CSR of shape (n_samples, n_features)
    targets : Targets
    kernel : Kernel
    solution : SampleSolution
        Finished, see `RegressionProblem.finish`.
    """
    out = clone_for(model, C=solution.C)
    return _set(out, X, targets, kernel, solution)


def _set(model: BaseSVR, X, targets: Targets, kernel: Kernel, solution: SampleSolution) -> BaseSVR:
    """Set all fitted attributes in one step, so that an interrupt leaves all or none."""
    coefs = signed(solution)
    found = np.flatnonzero(coefs)
    rows = targets.rows[found]
    model._kernel = kernel
    shown = type(X) if sparse.issparse(X) and model.sparse_coefs else np.asarray
    learned = {
        "support_": rows,
        "n_support_": np.array([found.size]),
        "intercept_": np.array([solution.b]),
        "support_vectors_": support_vectors(kernel, X, rows),
        "objective_": float(solution.certificate.primal),
        "dual_gap_": solution.certificate.relative_gap,
        "kernel_shift_": solution.shift,
        "n_iter_": max(int(solution.n_iter), model.fewest),
        "screening_history_": steps_of([solution]),
        "screening_parameter_": "C",
        "dual_coef_": shown(coefs[found][None]),
    }
    if kernel.has_gamma:
        learned["gamma_"] = kernel.gamma
    if kernel.name == "linear":
        learned["coef_"] = solution.w if model.flat_coef else shown(solution.w[None])
    vars(model).update(learned)
    return model
