"""Support vector machines, exact and with screening: the estimator."""

import os
from collections.abc import Sequence
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from skscreen.fitting.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from skscreen.fitting.store import Store, check_store
from skscreen.fitting.threads import N_JOBS, blas_threads_for
from skscreen.fitting.warning import warn_user
from skscreen.samples.gram import KERNELS
from skscreen.samples.kernel import Kernel, gamma_value
from skscreen.samples.labels import Labels, check_labels, check_problems
from skscreen.samples.score_classifier import ScoreClassifierMixin
from skscreen.svm.path_solver import TESTS, SamplePoint
from skscreen.svm.problem import SOLVERS, BinaryFit, Settings, SVMProblem, by_rows

# Attributes of a fit.
_LEARNED = (
    "dual_coef_", "coef_", "intercept_", "classes_", "support_", "support_vectors_", "n_support_",
    "objective_", "dual_gap_", "n_iter_", "screening_history_",
)  # fmt: skip


class ScreenedSVC(CallbackSupportMixin, ScoreClassifierMixin, BaseEstimator):
    """Support vector classifier, solved exactly with safe screening and a certificate.

    For two classes, y_i = -1 or +1, and f(x) = <w, phi(x)> + b the fit minimises

        P(w, b) = 1/2 (|w|^2 + b^2 / B^2) + C sum_i s_i max(0, 1 - y_i f(x_i))

    with sample weights s_i and B = `intercept_scaling`. It stops on the relative duality gap of
    the full problem, and leaves out on the way, provably, samples that cannot be support vectors
    or must be at the upper bound C s_i. More classes are told apart one against the rest; these
    problems share one copy of the data or one kernel matrix.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0; as in scikit-learn's `LinearSVC(loss="hinge")` and `SVC`.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="linear"
        With scikit-learn's formulas. "linear" works on the rows of `X` and never forms a kernel
        matrix. A callable takes two arrays of samples and returns the matrix between them. A
        kernel must be positive semi-definite, "sigmoid" seldom is: it is tried on a block of 256
        samples and on all pairs, and no solution is certified where it shows later.
    gamma : {"scale", "auto"} or float, default="scale"
        Of "rbf", "poly" and "sigmoid": 1 / (n_features * X.var()), 1 / n_features, or a number.
        The variance counts samples by their weights.
    degree : int, default=3
        Of "poly", >= 0.
    coef0 : float, default=0.0
        Of "poly" and "sigmoid".
    fit_intercept : bool, default=True
        Whether there is a b; without it b = 0.
    intercept : {"penalised", "free"}, default="penalised"
        Whether b is penalised as in P (a feature of constant value B, as in `LinearSVC`; for a
        kernel K + B^2), or not at all (as in `SVC`).
    intercept_scaling : float, default=1.0
        B > 0: the larger, the weaker the penalty of b. Not used by a free intercept.
    screening : {"intersection", "ball1", "ball2", "gap"} or None, default="intersection"
        How samples are decided. From a solution at another C by the tests IT, BT1 or BT2 of the
        paper, and in all these cases as well as for "gap" by the ball that the duality gap gives
        during the solve. The solution is the same. References at another C come from paths:
        see `svc_path`.
    solver : str, default="auto"
        Algorithm, see the notes: "coordinate-descent", "second-order" or "active-set" for the
        linear kernel with a penalised intercept, else "active-set" or "smo". "auto" chooses as it
        goes.
    tol : float, default=1e-6
        Relative duality gap of the full problem at which the fit stops, > 0.
    max_iter : int or None, default=None
        Most steps for one value of C, of all solvers together; None takes the limits of the
        solvers, which are far away.
    class_weight : dict, "balanced" or None, default=None
        Factors >= 0 of the weights of samples by class; one for those that a dict lacks.
        "balanced" makes the sum of weights of all classes equal.
    cache_size : float, default=1000
        Megabytes for kernel values, > 0. A larger kernel matrix is recomputed by rows, and each
        thread keeps that much of it.
    memory : str, path, Store or None, default=None
        A folder where solved problems are kept: fits of the same data with other values of C, in
        this process or another, start from the nearest ones and screen by them. So a grid search
        over C costs little more than a path for each fold. The solution is the same, within `tol`.
        Kernel matrices stay in the memory of the process, as do kernel values of samples that are
        scored again. See `Store`.
    n_jobs : int or None, default=None
        Threads for the problems of more than two classes.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState or None, default=None
        Order in which coordinate descent goes through the samples; None is the same as 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_problems, n_features_in_)
        Weights of the features, for the linear kernel. One problem for two classes, else one for
        each class.
    intercept_ : ndarray of shape (n_problems,)
    support_ : ndarray of shape (n_SV,)
        Indices of the samples with a dual variable > 0 in some problem, by class.
    support_vectors_ : ndarray or CSR of shape (n_SV, n_features_in_)
        Empty for a precomputed kernel.
    dual_coef_ : ndarray of shape (n_problems, n_SV)
        y_i alpha_i.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    objective_ : ndarray of shape (n_problems,)
        P(w, b).
    dual_gap_ : float
        (P - D) / P of the full problem, the largest of all problems.
    n_iter_ : ndarray of shape (n_problems,)
        Steps of the solver.
    screening_history_ : list of ScreeningEvent
        For each screening step how many samples are proved to have alpha_i = 0 ("zero") and
        alpha_i = C s_i ("linear"); lam = 1 / C.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Raises
    ------
    ValueError, TypeError
        For invalid parameters, data, labels or weights; the message names the argument.
    MemoryError
        If kernel matrices, systems of Newton's method or the solutions of many classes would not
        fit into the free memory; names the numbers and bytes.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`; names the gap that was reached.

    Notes
    -----
    "auto" begins a linear problem with coordinate descent and goes over to a second-order method
    (smoothed Newton) or, on wide data, to an active-set method where that is estimated to be
    cheaper: when C is large. With kernels, and for a free intercept, SMO begins and the active-set
    method ends; these need kernel values, of the linear kernel too: of at most `cache_size`, or
    again and again.

    Solutions have their last digits from linear systems where at most 500 samples have a margin
    of 1 and the gap is more than 1e-12: gaps are then mostly below that, far below `tol`. Linear
    problems of sparse data with more than 100,000 entries are left as they are.

    A sample of weight zero is left out. Class weights belong to the true class of a sample, also
    where it is one of the rest.

    References
    ----------
    K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
    machines. arXiv:1401.6740. Problem (1), Theorem 8, Lemma 9.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skscreen import ScreenedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), ScreenedSVC())
    >>> model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "intercept": [StrOptions({"penalised", "free"})],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "screening": [StrOptions(set(TESTS)), None],
        "solver": [StrOptions({*SOLVERS["linear"], *SOLVERS["kernel"]})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "memory": [str, os.PathLike, Store, None],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    _fewest_steps = 0

    def __init__(
        self,
        C=1.0,
        *,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        intercept="penalised",
        intercept_scaling=1.0,
        screening="intersection",
        solver="auto",
        tol=1e-6,
        max_iter=None,
        class_weight=None,
        cache_size=1000,
        memory=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.intercept = intercept
        self.intercept_scaling = intercept_scaling
        self.screening = screening
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.memory = memory
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y, sample_weight=None) -> Self:
        """Learn the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Best standardised. The square kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Factors >= 0 of C.

        Returns
        -------
        ScreenedSVC
        """
        # A fit that fails or is interrupted leaves the estimator unfitted, not with an old model.
        self._forget()
        X, problem = self._build(X, y, sample_weight)
        n_problems = problem.labels.n_problems
        check_problems(n_problems, *X.shape)
        solves = (delayed(self._solve)(problem, k) for k in range(n_problems))
        fits = []
        n_threads = min(effective_n_jobs(self.n_jobs), n_problems)
        with Tasks(self, n_problems, "class") as tasks, blas_threads_for(np.inf, n_threads):
            for fit in self._parallel(problem)(solves):
                fits.append(fit)
                tasks.end_task(len(fits) / n_problems, describe(fit.point))
        self._warn_unless_converged([fit.point for fit in fits])
        return self._store(X, problem.labels, fits)

    def decision_function(self, X) -> np.ndarray:
        """Return f(x): positive for the second of two classes, else one column a class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Kernel values with all training samples for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._accepted())
        if self._kernel.name == "linear":
            scores = safe_sparse_dot(X, self.coef_.T, dense_output=True)
        else:
            scores = self._kernel_scores(X)
        scores = scores + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _kernel_scores(self, X) -> np.ndarray:
        coef = self.dual_coef_.T
        if self._kernel.name == "precomputed":
            return self._kernel.scores(X[:, self.support_], self.support_vectors_, coef)
        known = self._training.known_rows(X) if self._training else None
        if known is None:
            return self._kernel.scores(X, self.support_vectors_, coef)
        return self._kernel.scores_again(X, self.support_vectors_, coef, self.support_, known)

    def __sklearn_tags__(self):
        """Sparse data are accepted; a precomputed kernel is cut along both axes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_")

    @property
    def _free(self) -> bool:
        """Whether the intercept is unpenalised."""
        return self.fit_intercept and self.intercept == "free"

    def _accepted(self) -> dict:
        # Kernel values are computed in double precision, whatever the samples are.
        rows = by_rows(self.kernel, self._free)
        dtype = [np.float64, np.float32] if rows else np.float64
        return {
            "dtype": dtype,
            "accept_sparse": False if self.kernel == "precomputed" else "csr",
            "order": "C",
        }

    def _build(self, X, y, sample_weight) -> tuple:
        """Validate the data and set the problems up."""
        X, y = validate_data(self, X, y, **self._accepted())
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be a square kernel matrix for kernel='precomputed', got shape {X.shape}."
            )
        labels = check_labels(X, y, sample_weight, self.class_weight)
        taken, gamma = labels.take(X, self.kernel == "precomputed"), 1.0
        if self.kernel in ("rbf", "poly", "sigmoid"):
            gamma = gamma_value(self.gamma, taken, labels.repetitions)
        self._kernel = Kernel(self.kernel, gamma, self.degree, float(self.coef0))
        seed = self.random_state or 0
        if not isinstance(seed, Integral):
            seed = int(seed.randint(2**31 - 1))
        free = self._free
        known = SOLVERS["linear" if by_rows(self.kernel, free) else "kernel"]
        if self.solver not in known:
            raise ValueError(
                f"solver must be one of {', '.join(map(repr, known))} for kernel={self.kernel!r} "
                f"with this intercept, got {self.solver!r}."
            )
        if self.memory is not None and callable(self.kernel):
            raise ValueError(
                "memory needs a kernel with a name: the content of a function is not known."
            )
        settings = Settings(
            bias=float(self.intercept_scaling) if self.fit_intercept and not free else 0.0,
            free=free,
            screening=self.screening,
            solver=self.solver,
            max_iter=self.max_iter,
            random_state=seed,
            cache_size=self.cache_size,
            store=check_store(self.memory),
        )
        problem = SVMProblem(taken, labels, self._kernel, settings)
        self._training = problem.training
        return X, problem

    def _parallel(self, problem: SVMProblem) -> Parallel:
        n_jobs = self.n_jobs if problem.thread_safe else 1
        return Parallel(n_jobs, require="sharedmem", return_as="generator")

    def _solve(self, problem: SVMProblem, index: int) -> BinaryFit:
        return problem.finish(index, problem.solve(index, float(self.C), self.tol))

    def _warn_unless_converged(self, points: Sequence[SamplePoint]) -> None:
        failed = [point for point in points if not point.solution.converged]
        if failed:
            worst = max(failed, key=lambda point: point.solution.relative_gap)
            if self.max_iter is not None and worst.solution.n_iter >= self.max_iter:
                advice = "Standardise X, use a smaller C, or raise max_iter or tol."
            else:
                advice = (
                    "Rounding errors may allow no less: standardise X, use a smaller C or "
                    "intercept_scaling, or raise tol."
                )
            warn_user(
                f"{worst.solution.n_iter} steps reached a relative duality gap of "
                f"{worst.solution.relative_gap:.2e} > tol={self.tol:g} at C={worst.C:g}. {advice}",
                ConvergenceWarning,
            )

    def _forget(self) -> None:
        for name in _LEARNED:
            vars(self).pop(name, None)

    def _store(self, X, labels: Labels, fits: Sequence[BinaryFit]) -> Self:
        """Set the fitted attributes from the fits of all problems."""
        signed = np.stack([fit.coefficients for fit in fits])
        found = np.flatnonzero(signed.any(axis=0))
        found = found[np.argsort(labels.codes[found], kind="stable")]
        self.classes_ = labels.classes
        self.support_ = labels.rows[found]
        self.n_support_ = np.bincount(labels.codes[found], minlength=labels.classes.size)
        if self.kernel == "linear":
            self.coef_ = np.stack([fit.coef for fit in fits])
        self.intercept_ = np.array([fit.intercept for fit in fits])
        precomputed = self.kernel == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if precomputed else X[self.support_]
        solutions = [fit.point.solution for fit in fits]
        self.objective_ = np.array([solution.primal for solution in solutions])
        self.dual_gap_ = max(solution.relative_gap for solution in solutions)
        steps = [max(solution.n_iter, self._fewest_steps) for solution in solutions]
        self.n_iter_ = np.array(steps)
        self.screening_history_ = [event for fit in fits for event in fit.point.history]
        self.dual_coef_ = signed[:, found]
        return self


def describe(point: SamplePoint) -> str:
    """Return the line that a progress bar shows for a solution."""
    return (
        f"C={point.C:.3g} gap={point.solution.relative_gap:.1e} "
        f"screened={point.screening_rate():.0%} iterations={point.solution.n_iter}"
    )
