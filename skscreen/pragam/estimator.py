"""Linear support vector machines by Pragam and its rivals: the estimator."""

from __future__ import annotations

import os
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skscreen.core.certificate import HISTORY
from skscreen.core.checks import Matrix, MatrixLike, check_labels, check_samples, require_y
from skscreen.core.sklearn_private import Interval, StrOptions, fit_context
from skscreen.core.threads import N_JOBS, blas_threads_for
from skscreen.fitting.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from skscreen.fitting.path import forget
from skscreen.fitting.store import Store, check_store, content_key
from skscreen.fitting.warning import warn_user
from skscreen.pragam.iterates import Certified, Watch
from skscreen.pragam.solvers import LIMITS, Solver, Start, solve_hinge
from skscreen.samples.labels import check_bounds, of_rows, read_labels
from skscreen.samples.multiclass import OneVsRest
from skscreen.samples.rows import LinearSamples, shifted
from skscreen.samples.score_classifier import ScoreClassifierMixin, with_absent

# How samples are validated.
_ACCEPTED: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class PragamSVC(CallbackSupportMixin, ScoreClassifierMixin, BaseEstimator):
    r"""Linear support vector classifier with an unpenalised intercept and a certified optimum.

    For two classes, y_i = -1 or +1, the fit minimises

    .. math::

        J(w, b) = \frac{\lambda}{2} \lVert w \rVert^2
        + \frac{1}{S} \sum_i s_i \max(0, 1 - y_i (\langle w, x_i \rangle + b)),
        \qquad \lambda = \frac{1}{C S}, \quad S = \sum_i s_i,

    with sample weights s_i, 1 by default. This is lam times the objective of the linear `SVC`, with
    the same solution. The fit stops when J exceeds a lower bound D on the optimum by at most `tol`
    times J. More than two classes are handled one-vs-rest.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0; lam = 1 / (C S).
    fit_intercept : bool, default=True
        Whether to fit an intercept b, which is not penalised; otherwise b = 0.
    solver : {"auto", "pragam", "bmrm", "ls-bmrm", "pegasos"}, default="auto"
        "auto" is "pragam", Nesterov's excessive gap technique; J - D <= eps after
        O(1 / sqrt(lam eps)) iterations. For comparison, "bmrm" is a cutting-plane method with a
        quadratic programme, which stores n_features numbers in each iteration, "ls-bmrm" the same
        with a line search, and "pegasos" takes subgradient steps.
    lipschitz : "auto" or float, default="auto"
        For "pragam", the Lipschitz constant L of the gradient of D, which determines the step
        length. "auto" adapts it in every step, to values far below the global bound |X|_2^2 / lam.
        The gap is correct for any number > 0, the rate above guaranteed from that bound on.
    restart : bool, default=True
        For "pragam", whether to restart from the current dual point each time the gap has shrunk to
        10 %. False is a single run, as published.
    batch_size : int or None, default=None
        For "pegasos", the number of samples in a step, drawn by their weights; needs
        ``fit_intercept=False``. None takes all samples, which also allows an intercept. Ignored by
        other solvers, as are the parameters above that are for one solver.
    projection : bool, default=True
        For "pegasos", whether to project onto the ball of radius 1 / sqrt(lam) after each step.
    tol : float, default=1e-4
        Relative duality gap (J - D) / J at which the fit stops, > 0.
    max_iter : int or None, default=None
        Largest number of iterations (steps) for each problem. None is 2000 for "bmrm", 1000 passes
        over the data for small batches, else 100000.
    class_weight : dict, "balanced" or None, default=None
        Factors >= 0 that multiply the weights of the samples of each class, 1 for classes not in
        the dict. "balanced" gives all classes the same total weight. With more than two classes a
        class weight counts in the problem of its class; the samples of the rest have their sample
        weights there, as in `LinearSVC`.
    warm_start : bool, default=False
        Whether to start from the previous fit, which must have had the same samples, for instance
        after changing C or `tol`. No effect on "pegasos", whose first step forgets the start.
    store : str, path, Store or None, default=None
        A folder for solutions. Fits of the same data with other values of C start from the nearest
        stored one. No effect on "pegasos", nor with `warm_start`. See `Store`.
    n_jobs : int or None, default=None
        Threads for the two-class problems of a multiclass fit.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState or None, default=None
        Seed for drawing the samples of small batches.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes whose samples all have weight zero are among them and never predicted: coefficients
        are those of the fit without them, and `decision_function` has smaller values for them.
    coef_ : ndarray of shape (n_problems, n_features_in_)
        There is one problem for two classes, otherwise one for each class.
    intercept_ : ndarray of shape (n_problems,)
        Intercepts; each is the middle of the interval of optimal intercepts.
    dual_coef_ : ndarray of shape (n_problems, n_samples)
        y_i alpha_i with 0 <= alpha_i <= C s_i, the dual variables of the best D. Only for "pragam".
    objective_ : float, or ndarray of shape (n_problems,) for several problems
        J.
    dual_gap_ : float
        Relative duality gap (J - D) / J; the largest of all problems.
    n_iter_ : int
        Iterations; the largest number of all problems.
    history_ : structured ndarray
        Fields "iteration", 0 at the start, "seconds", "primal", "dual", "gap": the smallest J and
        the largest D so far; of several problems also "problem", in the order of `coef_`. Pegasos
        with small batches has an entry for each pass over the data.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Raises
    ------
    ValueError
        For invalid parameters, data, labels or weights; the message names the argument.
    MemoryError
        If the solutions of many classes, or the planes of "bmrm", would not fit into the free
        memory; names the numbers and bytes.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` iterations did not reach `tol`; names the gap that was reached.

    Notes
    -----
    An iteration of "pragam" costs three products of X or its transpose with a vector, and two more
    whenever a trial L fails. The number of iterations grows with |x_i|^2 and C, so standardise X.

    Samples of weight zero are ignored. A sample has the weight of its true class in every problem,
    also where it is one of the rest.

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
        "solver": [StrOptions({"auto", *LIMITS})],
        "lipschitz": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "restart": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "projection": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "warm_start": ["boolean"],
        "store": [str, os.PathLike, Store, None],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self, C=1.0, *, fit_intercept=True, solver="auto", lipschitz="auto", restart=True,
        batch_size=None, projection=True, tol=1e-4, max_iter=None, class_weight=None,
        warm_start=False, store=None, n_jobs=None, verbose=0, random_state=None,
    ):  # fmt: skip
        self.C = C
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.lipschitz = lipschitz
        self.restart = restart
        self.batch_size = batch_size
        self.projection = projection
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.store = store
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Best standardised.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights that multiply the losses; samples of weights <= 0 are left out.

        Returns
        -------
        PragamSVC
        """
        require_y(self, y)
        old, C = forget(self), float(self.C)
        X = check_samples(X, model=self, order="C", **_ACCEPTED)
        y = check_labels(y)
        check_consistent_length(X, y)
        problems = OneVsRest(read_labels(y, sample_weight, self.class_weight))
        rows = of_rows(X, problems.labels.rows, False)
        # The first step of Pegasos forgets the start.
        forgets = self.solver == "pegasos"
        store = None if self.warm_start or forgets else check_store(self.store)
        if store is None:
            known = old if self.warm_start and not forgets else {}
            starts = _starts_at(known, problems, X.shape)
        else:
            keys = _keys(self, rows, problems)
            starts = [_nearest(store, key, C, rows.shape[0]) for key in keys]
        fits = _solve(self, C, problems, rows, starts)
        if store is not None:
            _keep(store, keys, C, fits)
        _warn_unless_converged(self, fits)
        _set(self, C, problems, X.shape[0], fits)
        return self

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return <w, x> + b: positive for the second of two classes, or a column for each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = check_samples(X, model=self, reset=False, **_ACCEPTED)
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
        return with_absent(scores, self._present, self.classes_.size)

    def __sklearn_tags__(self):
        """Sparse data are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")


def _solve(
    model: PragamSVC, C: float, problems: OneVsRest, rows: Matrix, starts: list[Start | None]
) -> list[Certified]:
    """Solve the problem of each class, of the rows of positive weight."""
    n_problems, fits, solver = problems.n_problems, [], _solver(model)
    width = rows.shape[1]
    problems.check(width)
    for k in range(n_problems):
        check_bounds(C, problems.weights(k))
    n_threads = min(effective_n_jobs(model.n_jobs), n_problems)
    near = shifted if model.fit_intercept else partial(LinearSamples, y=np.ones(rows.shape[0]))
    samples = near(rows)
    with Tasks(model, n_problems, "class") as tasks, blas_threads_for(width, n_threads):
        watch = Watch(tasks.bar, model.tol, n_problems)
        for found in Parallel(model.n_jobs, require="sharedmem", return_as="generator")(
            delayed(solve_hinge)(
                samples.signed(problems.signs(k)), problems.weights(k), C, solver,
                fit_intercept=model.fit_intercept, tol=float(model.tol), max_iter=model.max_iter,
                start=starts[k], watch=watch.problem(k) if model.verbose > 0 else None,
            )
            for k in range(n_problems)
        ):  # fmt: skip
            fits.append(found)
            tasks.end_task(len(fits) / n_problems, f"gap={found.gap:.1e}")
    return fits


def _starts_at(old: dict, problems: OneVsRest, shape: tuple[int, int]) -> list[Start | None]:
    """Return where each problem starts: at the solution of the fit before, if it is known."""
    if "coef_" not in old:
        return [None] * problems.n_problems
    w, duals = old["coef_"], old.get("dual_coef_")
    n_before = shape[0] if duals is None else duals.shape[1]
    labels, n_problems = problems.labels, problems.n_problems
    same = np.array_equal(old["classes_"], labels.all_classes) and len(w) == n_problems
    if (n_before, w.shape[1]) != shape or not same:
        raise ValueError(
            "warm_start=True needs the samples of the previous fit, got other numbers of "
            "samples or features, or other classes. Set warm_start=False."
        )
    return [
        Start(w[k], None if duals is None else problems.signs(k) * duals[k, labels.rows])
        for k in range(n_problems)
    ]


def _warn_unless_converged(model: PragamSVC, fits: list[Certified]) -> None:
    """Warn if a solution missed its tolerance."""
    failed = [found for found in fits if not found.converged]
    if failed:
        worst = max(failed, key=lambda found: found.gap)
        warn_user(
            f"{worst.n_iter} iterations of {_name(model)!r} reached a relative duality gap of "
            f"{worst.gap:.2e} > tol={model.tol:g}. Standardise X, use a smaller C, or raise "
            "max_iter or tol.",
            ConvergenceWarning,
        )


def _set(
    model: PragamSVC, C: float, problems: OneVsRest, n_samples: int, fits: list[Certified]
) -> None:
    """Set the fitted attributes."""
    labels = problems.labels
    model.classes_, model._present = labels.all_classes, labels.present
    model.intercept_ = np.array([found.b for found in fits])
    objectives = np.array([found.primal for found in fits])
    model.objective_ = objectives if len(fits) > 1 else float(objectives[0])
    model.dual_gap_ = float(max(found.gap for found in fits))
    model.n_iter_ = max(found.n_iter for found in fits)
    model.history_ = _history(fits)
    if fits[0].a is not None:
        model.dual_coef_ = np.zeros((len(fits), n_samples))
        for k, found in enumerate(fits):
            scale = C * problems.weights(k).sum()
            model.dual_coef_[k, labels.rows] = scale * problems.signs(k) * found.a
    model.coef_ = np.stack([found.w for found in fits])


def _history(fits: list[Certified]) -> np.ndarray:
    """Return the history of one problem, or those of several one after the other, numbered."""
    if len(fits) == 1:
        return fits[0].history
    sizes = [found.history.size for found in fits]
    out = np.empty(sum(sizes), np.dtype([("problem", np.int64), *HISTORY.descr]))
    out["problem"] = np.repeat(np.arange(len(fits)), sizes)
    for name in HISTORY.fields or ():
        out[name] = np.concatenate([found.history[name] for found in fits])
    return out


def _name(model: PragamSVC) -> str:
    return "pragam" if model.solver == "auto" else model.solver


def _solver(model: PragamSVC) -> Solver:
    small_batches = model.solver == "pegasos" and model.batch_size is not None
    if small_batches and model.fit_intercept:
        raise ValueError(
            f"batch_size={model.batch_size} needs fit_intercept=False, because the best intercept "
            "of a batch is not that of all samples. Use batch_size=None with an intercept."
        )
    seed = int(check_random_state(model.random_state).randint(2**31 - 1)) if small_batches else 0
    lipschitz = None if model.lipschitz == "auto" else float(model.lipschitz)
    batch_size = model.batch_size if small_batches else None
    return Solver(_name(model), lipschitz, model.restart, batch_size, model.projection, seed)


def _keys(model: PragamSVC, X: Matrix, problems: OneVsRest) -> list[str]:
    """Return the names of the problems in a store."""
    samples, last = content_key(X), (model.fit_intercept, "PragamSVC")
    return [
        content_key(samples, problems.weights(k), *last, problems.signs(k))
        for k in range(problems.n_problems)
    ]


def _keep(store: Store, keys: list[str], C: float, fits: list[Certified]) -> None:
    for key, found in zip(keys, fits, strict=True):
        if not found.converged:
            continue
        if found.a is not None:
            store.put(key, C, {"w": found.w, "a": found.a})
        elif all(other != C for other, _ in store.neighbours(key, C)):
            # Do not overwrite a stored solution, which may have dual variables.
            store.put(key, C, {"w": found.w})


def _nearest(store: Store, key: str, C: float, n: int) -> Start | None:
    """Return the solution at the nearest C that the store has."""
    known = store.neighbours(key, C)
    if not known:
        return None
    arrays = min(known, key=lambda other: abs(np.log(other[0] / C)))[1]
    a = arrays.get("a")
    return Start(arrays["w"], a if a is not None and a.shape == (n,) else None)
