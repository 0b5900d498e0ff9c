"""Linear support vector machines by Pragam and its rivals: the estimator."""

import os
from collections.abc import Callable, Sequence
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
from skscreen.fitting.store import Store, check_store, content_key
from skscreen.fitting.threads import N_JOBS, blas_threads_for
from skscreen.fitting.warning import warn_user
from skscreen.pragam.algorithms import LIMITS, Algorithm, Start, solve_hinge
from skscreen.pragam.follow import Certified, Watch
from skscreen.samples.labels import Labels, check_labels, check_problems
from skscreen.samples.rows import LinearSamples, check_bounds
from skscreen.samples.score_classifier import ScoreClassifierMixin

# Options of one algorithm, with the value that says nothing.
_OPTIONS = {
    "lipschitz": ("pragam", "auto"),
    "restart": ("pragam", True),
    "batch_size": ("pegasos", None),
    "projection": ("pegasos", True),
}

# Attributes of a fit.
_LEARNED = (
    "coef_", "dual_coef_", "classes_", "intercept_", "objective_", "dual_gap_", "n_iter_",
    "history_",
)  # fmt: skip


class PragamSVC(CallbackSupportMixin, ScoreClassifierMixin, BaseEstimator):
    """Linear support vector classifier with an unpenalised intercept and a certified optimum.

    For two classes, y_i = -1 or +1, the fit minimises

        J(w, b) = lam/2 |w|^2 + 1/S sum_i s_i max(0, 1 - y_i (<w, x_i> + b)),
        lam = 1 / (C S),  S = sum_i s_i,

    with sample weights s_i (S is the number of samples n without): lam times the objective
    1/2 |w|^2 + C sum_i s_i max(0, ...) of `SVC`, with the same solution. It stops when a lower
    bound D of the optimum proves that J is within `tol` of it. More classes are told apart one
    against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0; lam = 1 / (n C).
    fit_intercept : bool, default=True
        Whether there is a b. It is not penalised. Without it b = 0.
    algorithm : {"pragam", "bmrm", "ls-bmrm", "pegasos"}, default="pragam"
        "pragam": Nesterov's excessive gap technique; J - D <= tol after O(1 / sqrt(lam tol))
        iterations. "bmrm": cutting planes with a quadratic programme. "ls-bmrm": cutting planes
        with a line search. "pegasos": subgradient steps. The last three are there to be compared
        with, and because BMRM is fast where a moderate accuracy will do; it keeps a vector of
        n_features numbers an iteration.
    lipschitz : "auto" or float, default="auto"
        Of "pragam": the constant L of the gradient of D. "auto" finds one step by step, much
        smaller than the one that holds everywhere, |X|_2^2 / lam. A number > 0 is kept; the
        certificate holds for any, the rate only for L >= |X|_2^2 / lam.
    restart : bool, default=True
        Of "pragam": whether to start again from the dual point reached each time the gap is a
        tenth of what it was. False is the scheme as published.
    batch_size : int or None, default=None
        Of "pegasos": samples a step, drawn by their weights; needs ``fit_intercept=False``. None
        takes all, and an intercept may be free.
    projection : bool, default=True
        Of "pegasos": whether steps end in the ball of radius 1 / sqrt(lam).
    tol : float, default=1e-4
        Absolute duality gap J - D at which the fit stops, > 0. J is at most 1.
    max_iter : int or None, default=None
        Most iterations (steps) for each problem. None: 2000 for "bmrm", 1000 passes over the data
        for small batches, else 100000.
    class_weight : dict, "balanced" or None, default=None
        Factors >= 0 of the weights of samples by class; one for those that a dict lacks.
        "balanced" makes the sum of weights of all classes equal.
    warm_start : bool, default=False
        Whether a fit starts from the solution of the one before, which must have had the same
        samples: for another C, say, or another `tol`. Not for "pegasos", whose first step forgets
        its start.
    memory : str, path, Store or None, default=None
        A folder where solved problems are kept: fits of the same data with other values of C start
        from the nearest one. Not for "pegasos", nor with `warm_start`. See `Store`.
    n_jobs : int or None, default=None
        Threads for the problems of more than two classes.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState or None, default=None
        Of the samples that small batches draw; None is the same as 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_problems, n_features_in_)
        One problem for two classes, else one for each class.
    intercept_ : ndarray of shape (n_problems,)
        The middle of the interval of best ones.
    dual_coef_ : ndarray of shape (n_problems, n_samples)
        y_i alpha_i with 0 <= alpha_i <= C s_i, the dual variables of the best D; only of
        "pragam".
    objective_ : ndarray of shape (n_problems,)
        J.
    dual_gap_ : float
        J - D, absolute; the largest of all problems.
    n_iter_ : ndarray of shape (n_problems,)
        Iterations.
    history_ : structured ndarray, or list of them for more than two classes
        Fields "iteration", "seconds", "primal", "dual": the smallest J and the largest D up to an
        iteration. Iteration 0 is the start. Pegasos with small batches has a line for each pass.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Raises
    ------
    ValueError
        For invalid parameters, data, labels or weights, and for parameters without effect; the
        message names the argument.
    MemoryError
        If the solutions of many classes, or the planes of "bmrm", would not fit into the free
        memory; names the numbers and bytes.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` iterations did not reach `tol`; names the gap that was reached.

    Notes
    -----
    An iteration of "pragam" costs three products of X or its transpose with a vector (two more
    when a new L fails), and little else. Iterations grow with |x_i|^2 and C: standardise X.

    A sample of weight zero is left out. Class weights belong to the true class of a sample, also
    where it is one of the rest.

    References
    ----------
    A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). Lower bounds for BMRM and faster rates for
    training SVMs. arXiv:0909.1334. Algorithm 1, equations (4) and (23) to (26).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skscreen import PragamSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), PragamSVC(C=0.1)).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.95
    True
    >>> model[-1].dual_gap_ <= 1e-4
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "algorithm": [StrOptions(set(LIMITS))],
        "lipschitz": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "restart": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "projection": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "warm_start": ["boolean"],
        "memory": [str, os.PathLike, Store, None],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        C=1.0,
        *,
        fit_intercept=True,
        algorithm="pragam",
        lipschitz="auto",
        restart=True,
        batch_size=None,
        projection=True,
        tol=1e-4,
        max_iter=None,
        class_weight=None,
        warm_start=False,
        memory=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.C = C
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.lipschitz = lipschitz
        self.restart = restart
        self.batch_size = batch_size
        self.projection = projection
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.warm_start = warm_start
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
            Best standardised.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Factors >= 0 of the losses.

        Returns
        -------
        PragamSVC
        """
        self._check_options()
        old = self._forget()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C"
        )
        labels = check_labels(X, y, sample_weight, self.class_weight)
        taken = labels.take(X, False)
        keys = self._keys(taken, labels)
        return self._fit_problems(
            labels, X.shape[0], old, lambda signs: LinearSamples(taken, signs), keys
        )

    def decision_function(self, X) -> np.ndarray:
        """Return <w, x> + b: positive for the second of two classes, else one column a class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def __sklearn_tags__(self):
        """Sparse data are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def _check_options(self) -> None:
        for name, (algorithm, silent) in _OPTIONS.items():
            value = getattr(self, name)
            if value != silent and algorithm != self.algorithm:
                raise ValueError(
                    f"{name}={value!r} has an effect for algorithm={algorithm!r} alone, got "
                    f"algorithm={self.algorithm!r}."
                )
        if self.batch_size is not None and self.fit_intercept:
            raise ValueError(
                f"batch_size={self.batch_size} needs fit_intercept=False: the best intercept of a "
                "few samples is not that of all. batch_size=None has one."
            )
        if self.warm_start and self.algorithm == "pegasos":
            raise ValueError(
                "warm_start=True has no effect for algorithm='pegasos', which forgets its start."
            )
        if self.memory is not None and (self.warm_start or self.algorithm == "pegasos"):
            raise ValueError(
                "memory has no effect for algorithm='pegasos', which forgets its start, nor with "
                "warm_start=True, which has another. Set memory=None."
            )

    def _forget(self) -> dict:
        """Forget the last fit and return it.

        A fit that fails or is interrupted leaves the estimator unfitted, not with an old model.
        """
        return {name: vars(self).pop(name, None) for name in _LEARNED}

    def _fit_problems(
        self, labels: Labels, n_samples: int, old: dict, samples: Callable, keys: Sequence[str] = ()
    ) -> Self:
        """Solve the problem of each class; `samples` makes those of positive weight, from signs."""
        starts, algorithm = self._starts(old, labels, n_samples, keys), self._algorithm()
        n_problems, fits = labels.n_problems, []
        check_problems(n_problems, n_samples, self.n_features_in_)
        check_bounds(float(self.C), labels.weights)
        n_threads = min(effective_n_jobs(self.n_jobs), n_problems)
        blas_threads = blas_threads_for(self.n_features_in_, n_threads)
        with Tasks(self, n_problems, "class") as tasks, blas_threads:
            watch = Watch(tasks.bar, self.tol, n_problems)
            for found in Parallel(self.n_jobs, require="sharedmem", return_as="generator")(
                delayed(solve_hinge)(
                    samples(labels.signs(k)), labels.weights, float(self.C), algorithm,
                    fit_intercept=self.fit_intercept, tol=self.tol, max_iter=self.max_iter,
                    start=starts[k], watch=watch.problem(k) if self.verbose > 0 else None,
                )
                for k in range(n_problems)
            ):  # fmt: skip
                fits.append(found)
                tasks.end_task(len(fits) / n_problems, f"gap={found.gap:.1e}")
        self._keep(keys, fits)
        self._warn_unless_converged(fits)
        return self._store(labels, n_samples, fits)

    def _algorithm(self) -> Algorithm:
        seed = self.random_state or 0
        if not isinstance(seed, Integral):
            seed = int(seed.randint(2**31 - 1))
        return Algorithm(
            self.algorithm,
            None if self.lipschitz == "auto" else float(self.lipschitz),
            self.restart,
            self.batch_size,
            self.projection,
            seed,
        )

    def _keys(self, X, labels: Labels) -> list[str]:
        """Return the names of the problems in the store, if there is one."""
        if self.memory is None:
            return []
        content = content_key(X), labels.weights, self.fit_intercept, type(self).__name__
        return [content_key(*content, labels.signs(k)) for k in range(labels.n_problems)]

    def _keep(self, keys: list[str], fits: list[Certified]) -> None:
        """Keep what was solved in the store."""
        for key, found in zip(keys, fits, strict=False):
            if not found.converged:
                continue
            store, C = check_store(self.memory), float(self.C)
            if found.a is not None:
                store.put(key, C, w=found.w, a=found.a)
            elif all(other != C for other, _ in store.neighbours(key, C)):
                # What is there may have dual variables.
                store.put(key, C, w=found.w)

    def _known(self, key: str, labels: Labels) -> Start | None:
        """Return the solution at the nearest C that the store has."""
        known = check_store(self.memory).neighbours(key, float(self.C))
        if not known:
            return None
        arrays = min(known, key=lambda other: abs(np.log(other[0] / self.C)))[1]
        a = arrays.get("a")
        return Start(arrays["w"], a if a is not None and a.shape == labels.rows.shape else None)

    def _starts(self, old: dict, labels: Labels, n_samples: int, keys) -> list[Start | None]:
        """Return where each problem starts: at the old solution, or at one of the store."""
        if keys:
            return [self._known(key, labels) for key in keys]
        if not self.warm_start or old["coef_"] is None:
            return [None] * labels.n_problems
        w, duals, classes = old["coef_"], old["dual_coef_"], old["classes_"]
        n_before = n_samples if duals is None else duals.shape[1]
        if (
            w.shape[1] != self.n_features_in_
            or n_before != n_samples
            or not np.array_equal(classes, labels.classes)
        ):
            raise ValueError(
                "warm_start=True needs the samples of the fit before, got other numbers of "
                "samples or features, or other classes. Set warm_start=False."
            )
        starts = []
        for k in range(labels.n_problems):
            a = None if duals is None else labels.signs(k) * duals[k, labels.rows]
            starts.append(Start(w[k], a))
        return starts

    def _warn_unless_converged(self, fits: list[Certified]) -> None:
        failed = [found for found in fits if not found.converged]
        if failed:
            worst = max(failed, key=lambda found: found.gap)
            warn_user(
                f"{worst.n_iter} iterations of {self.algorithm!r} reached a duality gap of "
                f"{worst.gap:.2e} > tol={self.tol:g}. Standardise X, use a smaller C, or raise "
                "max_iter or tol.",
                ConvergenceWarning,
            )

    def _store(self, labels: Labels, n_samples: int, fits: list[Certified]) -> Self:
        """Set the fitted attributes."""
        self.classes_ = labels.classes
        self.intercept_ = np.array([found.b for found in fits])
        self.objective_ = np.array([found.primal for found in fits])
        self.dual_gap_ = max(found.gap for found in fits)
        self.n_iter_ = np.array([found.n_iter for found in fits])
        self.history_ = fits[0].history if len(fits) == 1 else [found.history for found in fits]
        if fits[0].a is not None:
            self.dual_coef_ = np.zeros((len(fits), n_samples))
            scale = float(self.C) * labels.weights.sum()
            for k, found in enumerate(fits):
                self.dual_coef_[k, labels.rows] = scale * labels.signs(k) * found.a
        self.coef_ = np.stack([found.w for found in fits])
        return self
