"""Support vector regressions that choose C, epsilon and gamma by cross-validation."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar, Self

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.metrics import check_scoring
from sklearn.utils.validation import _check_sample_weight

from skscreen.core.memory import check_memory
from skscreen.core.threads import N_JOBS
from skscreen.fitting.callbacks import Tasks, with_callbacks
from skscreen.fitting.folds import (
    C_grid,
    FoldResult,
    as_best,
    model_of_folds,
    score_folds,
    search_constraints,
    split,
)
from skscreen.fitting.grid import values_from_zero
from skscreen.fitting.kept_matrices import KernelMatrices
from skscreen.fitting.path import forget
from skscreen.fitting.store import check_store
from skscreen.samples.targets import check_targets
from skscreen.svm.cv import gammas_of
from skscreen.svm.estimator import warn_of_flaws
from skscreen.svm.problem import validated
from skscreen.svm.regression_problem import RegressionProblem, build_regression
from skscreen.svm.regressor import fitted, learn
from skscreen.svm.svr import ScreenedSVR

# The samples of a fold that take part, and the dual variables of both sides.
Start = tuple[np.ndarray, np.ndarray]


class ScreenedSVRCV(ScreenedSVR):
    """`ScreenedSVR` with C, epsilon and gamma chosen by cross-validation.

    In each fold there is a path over C for each gamma and each epsilon: each fit starts from the
    previous solution and uses it for screening, and all problems of a gamma share kernel values.
    The scores are those of `GridSearchCV(ScreenedSVR(), ...)` on the same grid, up to the tolerance
    of the fits.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,), default=20
        Values of C, positive; an int is the number of values from 0.01 to 100 in geometric
        progression.
    epsilons : array-like of shape (n_epsilons,), default=None
        Values of epsilon, >= 0. None uses the single value `epsilon`, which is ignored otherwise.
    gammas : array-like of shape (n_gammas,), default=None
        Values of gamma for "rbf", "poly" and "sigmoid": positive numbers, "scale" or "auto". None
        uses the single value `gamma`, which is ignored otherwise.
    cv : int, cross-validation generator or iterable, default=None
        Cross-validation splitting as in scikit-learn; None is 5 folds.
    scoring : str or callable, default=None
        Score on the validation samples of a fold, greater is better; None is R^2.
    refit : bool, default=True
        Whether to fit all samples with the chosen values, which `predict` needs.
    epsilon, loss, kernel, gamma, degree, coef0, fit_intercept, intercept, intercept_scaling
        See `ScreenedSVR`.
    screening, solver, tol, max_iter, shrinking, indefinite, cache_size, random_state
        See `ScreenedSVR`.
    store : str, path, Store or None, default=None
        See `ScreenedSVR`; used for the final fit only, as the folds need no store.
    n_jobs : int or None, default=None
        Number of folds to process in parallel.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    C_ : float
        The chosen C; the smallest of those with equal scores.
    epsilon_, gamma_ : float
        The chosen values; the smallest of those with equal scores and the same C. Only with
        `epsilons` and with `gammas`.
    Cs_, epsilons_, gammas_ : ndarray
        The grid, ascending; the last two only with `epsilons` and with `gammas`.
    scores_ : ndarray of shape (n_folds, [n_gammas,] [n_epsilons,] n_Cs)
        Axes in brackets exist only if these values were given.
    best_score_ : float
        Mean score over the folds for the chosen values.
    best_params_, best_index_, cv_results_, n_splits_
        As in `GridSearchCV`.
    best_estimator_ : ScreenedSVR
        Fitted to all samples with the chosen values. Only with `refit`.
    support_, support_vectors_, dual_coef_, coef_, intercept_, n_support_
        As for `ScreenedSVR`.
    objective_, dual_gap_, n_iter_, kernel_shift_, screening_history_
        The same.
    n_features_in_, feature_names_in_
        The same.

    Raises
    ------
    ValueError
        For invalid parameters, data, targets or weights; the message names the argument. Also if
        all scores are NaN.
    MemoryError
        As in `ScreenedSVR`, or if the stored starts of the refit, one for each value, would not fit
        into memory.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol` in some fold.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import ScreenedSVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ScreenedSVRCV([0.1, 1.0, 10.0], epsilons=[0.1, 0.5]).fit(scale(X), scale(y))
    >>> model.scores_.shape
    (5, 2, 3)
    """

    # The refit may need no step at all, as it starts from a fold, but scikit-learn expects at least
    # 1.
    fewest = 1

    _parameter_constraints: ClassVar[dict] = {
        **search_constraints(ScreenedSVR, "Cs", "C"),
        "epsilons": ["array-like", None],
        "gammas": ["array-like", None],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        Cs=20,
        *,
        epsilons=None,
        gammas=None,
        cv=None,
        scoring=None,
        refit=True,
        epsilon=0.1,
        loss="epsilon_insensitive",
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
        shrinking=True,
        indefinite="warn",
        cache_size=1000,
        store=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.Cs = Cs
        self.epsilons = epsilons
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.epsilon = epsilon
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
        self.shrinking = shrinking
        self.indefinite = indefinite
        self.cache_size = cache_size
        self.store = store
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y, sample_weight=None, *, groups=None) -> Self:
        """Choose C, epsilon and gamma, and learn the regression function.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Best standardised. The square kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Factors >= 0 of C, and in the scores of scorers that take weights.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.

        Returns
        -------
        ScreenedSVRCV
        """
        forget(self)
        self.Cs_ = C_grid(self.Cs)
        checked, y_checked = validated(self, X, y, y_numeric=True)
        targets = check_targets(checked, y_checked, sample_weight)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, checked, dtype=np.float64)
        # Data frames cannot be indexed along both axes.
        X = checked if self.kernel == "precomputed" or callable(self.kernel) else X
        X, y, splits = split(self.cv, X, y, y_checked, groups, classifier=False)
        if self.epsilons is not None:
            self.epsilons_ = values_from_zero("epsilons", self.epsilons)
        gammas = gammas_of(self, checked, targets)
        sizes = [part.size for part in self._grid(gammas) if part is not None]
        what = f"Starts for the refit from {np.prod(sizes):,} values"
        check_memory(16.0 * np.prod(sizes) * targets.rows.size, what, "Use fewer values.")
        with Tasks(self, len(splits), "fold") as tasks:
            start = self._search(gammas, X, y, splits, sample_weight, tasks)
            if self.refit:
                self._refit(X, y, sample_weight, start, splits[0][0])
        return self

    def _grid(self, gammas: list | None) -> tuple[np.ndarray | None, ...]:
        """Return the values of gamma and epsilon, if given, and those of C."""
        given = None if gammas is None else self.gammas_
        return given, getattr(self, "epsilons_", None), self.Cs_

    def _search(self, gammas, X, y, splits, sample_weight, tasks: Tasks) -> Start:
        """Score the grid; return the start of the first fold for the chosen parameters."""
        model, names = model_of_folds(self, ScreenedSVR), ("gamma", "epsilon", "C")
        values = dict(zip(names, self._grid(gammas), strict=True))
        values = {name: known for name, known in values.items() if known is not None}
        epsilons = values.get("epsilon", [self.epsilon])
        scorer = check_scoring(model, self.scoring)
        path = partial(_follow_fold, model, self.Cs_, epsilons, gammas)
        grid = {name: known.tolist() for name, known in values.items()}
        grid |= {} if gammas is None else {"gamma": gammas}
        best, failed, start = score_folds(
            self, model, path, scorer, X, y, splits, sample_weight, tasks, grid
        )
        chosen = np.unravel_index(best, tuple(known.size for known in values.values()))
        for (name, known), place in zip(values.items(), chosen, strict=True):
            setattr(self, f"{name}_", float(known[place]))
        warn_of_flaws(self, failed)
        return start

    def _refit(self, X, y, sample_weight, start: Start, train: np.ndarray) -> None:
        """Learn from all samples."""
        chosen = {name: getattr(self, f"{name}_", None) for name in ("gamma", "epsilon")}
        store = check_store(self.store)
        problem = build_regression(self, X, y, sample_weight, store, once=True, **chosen)
        known = None
        if start is not None:
            rows, alpha = start
            known = np.zeros((2, len(y)))
            known[:, train[rows]] = alpha.reshape(2, -1)
            known = known[:, problem.targets.rows].ravel()
        learn(self, self.C_, problem, known)
        chosen = {name: value for name, value in chosen.items() if value is not None}
        self.best_estimator_ = as_best(self, ScreenedSVR, C=self.C_, **chosen)


def _follow_fold(
    model: ScreenedSVR, Cs, epsilons, gammas: list | None, training, weights, X_val
) -> Iterator[tuple]:
    """Solve one fold along paths over C, one for each gamma and epsilon; see `FoldPath`."""
    # Folds may be threads.
    model, last = clone(model), None
    shared = KernelMatrices(several=gammas is not None and len(gammas) > 1)
    for gamma in gammas or [model.gamma]:
        for epsilon in epsilons:
            model.set_params(gamma=gamma, epsilon=float(epsilon))
            problem = build_regression(model, *training, weights, shared=shared)
            last = yield from _follow_path(model, problem, Cs, X_val, last)
            # The next kernel matrix reuses the memory of this one.
            del problem


def _follow_path(
    model: ScreenedSVR, problem: RegressionProblem, Cs, X_val, before: np.ndarray | None
):
    """Solve for one C after the other, each from the previous solution; return the first solution.

    `before` is that for another gamma or epsilon.
    """
    solver, first = problem.path_solver(), None
    if before is not None:
        solver.recall(float(Cs[0]), before, None, solver.C_min)
    for C in map(float, Cs):
        found = problem.finish(solver.solve(C, model.tol))
        first = found.alpha if first is None else first
        predictor = fitted(model, problem.X, problem.targets, problem.kernel, found)
        start = problem.targets.rows, found.alpha
        yield FoldResult(predictor, X_val, [] if found.flawless else [found], start)
    return first
