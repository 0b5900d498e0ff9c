"""Support vector machines that choose C and gamma by cross-validation, with paths in each fold."""

from collections.abc import Iterator
from functools import partial
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.metrics import check_scoring
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight

from skscreen.core.memory import check_memory
from skscreen.core.threads import at_most
from skscreen.fitting.callbacks import Tasks, with_callbacks
from skscreen.fitting.folds import (
    C_grid,
    FoldResult,
    as_best,
    check_weights_of_folds,
    cut,
    model_of_folds,
    score_folds,
    search_constraints,
    split,
)
from skscreen.fitting.kept_matrices import KernelMatrices
from skscreen.fitting.path import forget
from skscreen.fitting.store import check_store
from skscreen.samples.kernel import KERNELS_WITH_GAMMA, gamma_grid, gamma_value
from skscreen.samples.labels import Labels, check_labels
from skscreen.samples.multiclass import Division, divided
from skscreen.samples.targets import Targets
from skscreen.svm.certified.api import Training, warn_if_less
from skscreen.svm.certified.search import CertifiedSearch, ErrorBounds
from skscreen.svm.estimator import fitted, learn, scores_on_path, warn_of_flaws
from skscreen.svm.problem import (
    SVMProblem,
    build,
    validated,
)
from skscreen.svm.svc import ScreenedSVC

# The samples of each problem of a fold, as indices into the fold, and their dual variables.
Start = list[tuple[np.ndarray, np.ndarray]]

# Largest number of values of C that a certified choice solves.
_MAX_SOLVES = 1000


class ScreenedSVCCV(ScreenedSVC):
    """`ScreenedSVC` with C and gamma chosen by cross-validation, or C with a proof.

    In each fold the values of C are solved as one path: each fit starts from the previous solution
    and uses it for screening. The scores are those of ``GridSearchCV(ScreenedSVC(), {"C": Cs})``,
    up to the tolerance of the fits.

    With `gammas` there is a path for each gamma, as in ``GridSearchCV(ScreenedSVC(), {"C": Cs,
    "gamma": gammas})``. Each path starts from the one for the previous gamma, and for RBF kernel
    matrices the distances between the samples of a fold are computed only once.

    With `certify` the choice is not limited to the grid and comes with a proof: no C between the
    smallest and the largest of `Cs` has a mean validation error over the folds that is more than
    `certify` below that of the chosen C. See `svc_certified_C`.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,), default=20
        Values of C, positive; an int is the number of values from 0.01 to 100 in geometric
        progression.
    gammas : array-like of shape (n_gammas,), default=None
        Values of gamma for "rbf", "poly" and "sigmoid": positive numbers, "scale" or "auto". None
        uses the single value `gamma`, which is ignored otherwise. Other kernels ignore both.
    cv : int, cross-validation generator or iterable, default=None
        Cross-validation splitting as in scikit-learn; None is 5 stratified folds.
    scoring : str or callable, default=None
        Score on the validation samples of a fold, greater is better; None is the accuracy. With
        `certify` it must be the accuracy.
    refit : bool, default=True
        Whether to fit all samples with the chosen C, which `predict` needs.
    certify : float or None, default=None
        Precision of a certified choice as a share of the validation samples, in (0, 1). It needs
        ``intercept="penalised"`` or ``fit_intercept=False``, as there is no proof for a free
        intercept, for more than two classes ``multi_class="ovr"``, at least two `Cs`, no `gammas`,
        `indefinite` other than "shift", and samples that are rows of numbers.
    loss, kernel, gamma, degree, coef0, fit_intercept, intercept, intercept_scaling, screening
        See `ScreenedSVC`.
    solver, tol, max_iter, multi_class, decision_function_shape, break_ties, class_weight
        See `ScreenedSVC`.
    indefinite, cache_size, random_state
        See `ScreenedSVC`.
    store : str, path, Store or None, default=None
        See `ScreenedSVC`; used for the final fit only, as the folds need no store.
    n_jobs : int or None, default=None
        Number of folds to process in parallel.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    C_ : float
        The chosen C; the smallest of those with equal scores.
    gamma_ : float
        The chosen gamma; the smallest of those with equal scores and the same C. Only with
        `gammas`. For "scale" it is the value on all samples.
    Cs_ : ndarray of shape (n_Cs,)
        The grid, ascending.
    gammas_ : ndarray of shape (n_gammas,)
        Values of gamma, ascending. Only with `gammas`. For "scale" it is the value on all samples,
        although each fold uses its own.
    scores_ : ndarray of shape (n_folds, n_Cs) or (n_folds, n_gammas, n_Cs)
        The second shape with `gammas`.
    best_score_ : float
        Mean score over the folds for `C_` and `gamma_`.
    best_params_, best_index_, cv_results_, n_splits_
        As in `GridSearchCV`; the second and third not with `certify`. A fold that cannot be learned
        from, as with a single class, has scores NaN and does not count.
    best_estimator_ : ScreenedSVC
        Fitted to all samples with the chosen values. Only with `refit`.
    bounds_ : ErrorBounds
        Lower and upper bounds on the mean validation error over the folds for every C in the range,
        and the solved values of C. Only with `certify`.
    classes_, coef_, intercept_, support_, support_vectors_, dual_coef_, n_support_
        Of the final fit, see `ScreenedSVC`.
    objective_, dual_gap_, n_iter_, kernel_shift_, screening_history_
        The same.
    n_features_in_, feature_names_in_
        The same.

    Raises
    ------
    ValueError
        For invalid parameters, data, labels or weights; the message names the argument. Also if all
        scores are NaN, or no fold can be learned from.
    MemoryError
        As in `ScreenedSVC`, or if the stored starts of the refit, one for each C, would not fit
        into memory.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol` in some fold, or the precision `certify` was not
        proven.
    FitFailedWarning
        If a fold cannot be learned from; names it.

    References
    ----------
    A. Shibagaki, Y. Suzuki, M. Karasuyama, I. Takeuchi (2015). Regularization path of
    cross-validation error lower bounds. Advances in Neural Information Processing Systems 28.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import ScreenedSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ScreenedSVCCV(certify=0.01, intercept="penalised").fit(scale(X), y)
    >>> bool(1.0 - model.best_score_ - model.bounds_.lower.min() <= 0.01)
    True
    """

    # The refit may need no step at all, as it starts from a fold, but scikit-learn expects at least
    # 1.
    fewest, probability = 1, "deprecated"

    _parameter_constraints: ClassVar[dict] = {
        **search_constraints(ScreenedSVC, "Cs", "C", "shrinking", "probability"),
        "gammas": ["array-like", None],
        "certify": [Interval(Real, 0, 1, closed="neither"), None],
    }

    def __init__(
        self,
        Cs=20,
        *,
        gammas=None,
        cv=None,
        scoring=None,
        refit=True,
        certify=None,
        loss="hinge",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        intercept="free",
        intercept_scaling=1.0,
        screening=True,
        solver="auto",
        tol=1e-6,
        max_iter=None,
        multi_class="ovo",
        decision_function_shape="ovr",
        break_ties=False,
        class_weight=None,
        indefinite="warn",
        cache_size=1000,
        store=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.certify = certify
        self.loss = loss
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
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.class_weight = class_weight
        self.indefinite = indefinite
        self.cache_size = cache_size
        self.store = store
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y, sample_weight=None, *, groups=None) -> Self:
        """Choose C, and gamma, and learn the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Best standardised. The square kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Factors >= 0 of C, and in the scores of scorers that take weights.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.

        Returns
        -------
        ScreenedSVCCV
        """
        forget(self)
        self.Cs_ = C_grid(self.Cs)
        checked, y_checked = validated(self, X, y)
        labels = check_labels(checked, y_checked, sample_weight, self.class_weight)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, checked, dtype=np.float64)
        # Data frames cannot be indexed along both axes.
        X = checked if self.kernel == "precomputed" or callable(self.kernel) else X
        X, y, splits = split(self.cv, X, y, y_checked, groups)
        if self.gammas is not None and self.certify is not None:
            raise ValueError(
                "gammas must be None with certify, which proves for one kernel: use gamma."
            )
        gammas = gammas_of(self, checked, labels)
        if self.certify is not None:
            search, tasks = self._search_with_proof, Tasks(self, 1, "search")
        else:
            n_values, problems = self.Cs_.size, divided(labels, self.multi_class)
            what = f"{n_values:,} values of C"
            if gammas is not None:
                n_values, what = n_values * len(gammas), f"{what} and {len(gammas):,} of gamma"
            what = f"Starts for the refit from {what} for {problems.n_problems} problems"
            check_memory(8.0 * n_values * problems.n_variables, what, "Use fewer values.")
            search = partial(self._search, gammas)
            tasks = Tasks(self, len(splits), "fold")
        with tasks:
            starts = search(X, y, splits, sample_weight, tasks)
            if self.refit:
                store, gamma = check_store(self.store), getattr(self, "gamma_", None)
                problem = build(self, X, y, sample_weight, store, once=True, gamma=gamma)
                starts = _of_all(starts, splits[0][0], problem.division, len(y))
                learn(self, self.C_, problem, starts)
                chosen = {"C": self.C_} if gamma is None else {"C": self.C_, "gamma": gamma}
                self.best_estimator_ = as_best(self, ScreenedSVC, **chosen)
        return self

    def _search(self, gammas, X, y, splits, sample_weight, tasks: Tasks) -> Start:
        """Score the grid; return the start of the first fold for the chosen C and gamma."""
        model = model_of_folds(self, ScreenedSVC)
        scorer, path = check_scoring(model, self.scoring), partial(_follow_fold, model, self.Cs_)
        grid = {} if gammas is None else {"gamma": gammas}
        best, failed, start = score_folds(
            self,
            model,
            partial(path, gammas),
            scorer,
            X,
            y,
            splits,
            sample_weight,
            tasks,
            {**grid, "C": self.Cs_.tolist()},
        )
        at_gamma, at_C = divmod(best, self.Cs_.size)
        self.C_ = float(self.Cs_[at_C])
        if gammas is not None:
            self.gamma_ = float(self.gammas_[at_gamma])
        warn_of_flaws(self, failed)
        return start

    def _search_with_proof(self, X, y, splits, sample_weight, progress: Tasks) -> None:
        """Choose C from the whole range of the grid, provably within `certify` of the best."""
        if self.scoring not in (None, "accuracy"):
            raise ValueError(
                f"scoring must be None or 'accuracy' with certify, got {self.scoring!r}: bounds "
                "are those of the validation error."
            )
        if self.Cs_.size < 2:
            raise ValueError("Cs must have at least two values with certify.")
        if sample_weight is not None:
            check_weights_of_folds(sample_weight, splits)
        folds = []
        for k, (train, test) in enumerate(splits):
            model = model_of_folds(self, ScreenedSVC)
            training, validation, weights = cut(model, X, y, train, test, sample_weight)
            diagonal = None
            if self.kernel == "precomputed":
                diagonal = np.asarray(X, dtype=np.float64)[test, test]
            if missing := _labels(validation[1], weights[1]) - _labels(training[1], weights[0]):
                raise ValueError(
                    "cv must leave samples of all classes in the training part of each fold with "
                    f"certify; fold {k} has none of the labels {sorted(missing)}."
                )
            bounded = Training(model, *training, weights[0])
            folds.append(bounded.fold(*validation, weights[1], diagonal))
        # A function may not allow calls at the same time.
        n_jobs = None if callable(self.kernel) else self.n_jobs
        search = CertifiedSearch(
            folds, float(self.certify), tol=self.tol, max_solves=_MAX_SOLVES, n_jobs=n_jobs,
            report=progress.bar.update,
        )  # fmt: skip
        with at_most(self.n_jobs):
            self.bounds_: ErrorBounds = search.run(self.Cs_)
        progress.end_task(1.0, f"{self.bounds_.Cs.size} values of C")
        progress.bar.end()
        self.C_ = float(self.bounds_.Cs[self.bounds_.best])
        self.best_score_ = 1.0 - float(self.bounds_.errors[self.bounds_.best])
        self.best_params_, self.n_splits_ = {"C": self.C_}, len(splits)
        self.scores_ = 1.0 - np.array([[fold.error(C) for C in self.Cs_] for fold in folds])
        stopped = self.bounds_.Cs.size >= _MAX_SOLVES
        warn_if_less(self.bounds_.eps, float(self.certify), stopped)


def _labels(y, weights) -> set:
    """Return the labels of samples with a positive weight."""
    return set(np.unique(y if weights is None else y[weights > 0.0]).tolist())


def gammas_of(search, X, known: Labels | Targets) -> list[float | str] | None:
    """Return the distinct values of gamma of a search in ascending order, and set its `gammas_`."""
    if search.gammas is None or search.kernel not in KERNELS_WITH_GAMMA:
        return None
    used, values = known.take(X, False), {}
    for given in gamma_grid(search.gammas):
        value = gamma_value(given, used, known.repetitions)
        # On a fold "scale" gives another value.
        values[given if given == "scale" else value] = value
    order = sorted(values, key=values.__getitem__)
    search.gammas_ = np.array([values[gamma] for gamma in order])
    return order


def _of_all(
    start: Start | None, train: np.ndarray, division: Division, n: int
) -> list[np.ndarray] | None:
    """Return dual variables of a fold as starts for the problems of all samples."""
    # The first fold may lack a class.
    if start is None or len(start) != division.n_problems:
        return None
    out = []
    for k, (places, alpha) in enumerate(start):
        known = np.zeros(n)
        known[train[places]] = alpha
        out.append(known[division.labels.rows[division.rows(k)]])
    return out


def _follow_fold(
    model: ScreenedSVC, Cs: np.ndarray, gammas: list | None, training, weights, X_val
) -> Iterator[FoldResult]:
    """Solve one fold along paths over C, one for each gamma; see `FoldPath`."""
    # Folds may be threads.
    model, last = clone(model), None
    shared = KernelMatrices(several=gammas is not None and len(gammas) > 1)
    Cs = [float(C) for C in Cs]
    for gamma in gammas or [model.gamma]:
        problem = build(model.set_params(gamma=gamma), *training, weights, shared=shared)
        last = yield from _follow_path(model, problem, Cs, X_val, last)
        # The next kernel matrix reuses the memory of this one.
        del problem


def _follow_path(model, problem: SVMProblem, Cs: list, X_val, before: list | None):
    """Solve for one C after the other, each from the previous solution; return the first solution.

    `before` is that for another gamma.
    """
    division = problem.division
    places = [problem.labels.rows[division.rows(k)] for k in range(division.n_problems)]
    starts = before or [None] * division.n_problems
    # Kernel values between the classes of a problem are freed before the next one.
    paths = [list(problem.follow(k, Cs, model.tol, start)) for k, start in enumerate(starts)]
    path = list(zip(*paths, strict=True))
    known = [None] * len(Cs)
    if model.kernel not in ("linear", "precomputed"):
        scores = scores_on_path(model, problem.X, division, problem.kernel, path, X_val)
        known = [(X_val, found) for found in scores]
    for solutions, scored in zip(path, known, strict=True):
        failed = [solution for solution in solutions if not solution.flawless]
        start = [(rows, found.alpha) for rows, found in zip(places, solutions, strict=True)]
        found = fitted(model, problem.X, division, problem.kernel, solutions, scored)
        yield FoldResult(found, X_val, failed, start)
    return [solution.alpha for solution in path[0]]
