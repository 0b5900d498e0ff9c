"""Metric learning that chooses the strength of its regularisation by cross-validation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import check_scoring
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted

from skscreen.core.checks import MatrixLike, TableLike
from skscreen.core.memory import check_memory
from skscreen.core.sklearn_private import HasMethods, fit_context, safe_indexing
from skscreen.fitting.callbacks import Tasks, with_callbacks
from skscreen.fitting.folds import (
    FoldResult,
    as_best,
    check_refit,
    model_of_folds,
    score_folds,
    search_constraints,
    split,
)
from skscreen.fitting.grid import NUMBER_OR_LIST, positive_values
from skscreen.fitting.path import forget, warn_unless_converged
from skscreen.metric_learning.estimator import ScreenedRTLM
from skscreen.metric_learning.learning import (
    ADVICE,
    checked_samples,
    chosen_lam,
    fitted,
    lam_of_fit,
    learn,
    start_at,
)
from skscreen.metric_learning.parameters import Parameters, Supervision
from skscreen.metric_learning.path_solver import PathSolver, solver_settings
from skscreen.metric_learning.problem.build import build
from skscreen.metric_learning.screened.result import TripletScreening
from skscreen.metric_learning.supervision import class_codes

# Relative gap at which a fold is solved at the latest: scores do not see a smaller one.
_FOLD_TOL = 1e-2


class ScreenedRTLMCV(ScreenedRTLM):
    """`ScreenedRTLM` with the regularisation strength chosen by cross-validation.

    In each fold the values of lambda are solved as one path, to a relative duality gap of 0.01 (or
    `tol`, if that is larger), and a metric is scored by a classifier on the mapped samples, nearest
    neighbours by default. The final fit is solved to `tol`.

    Parameters
    ----------
    lams : int or array-like of shape (n_lams,), default=12
        Values of `lam`, positive: fractions of lambda_max of the training samples, or with
        ``relative_lam=False`` absolute. An int is the number of fractions from 0.3 down to 0.001 in
        geometric progression.
    relative_lam : bool, default=True
        See `ScreenedRTLM`; ignored if `lams` is an int.
    cv : int, cross-validation generator or iterable, default=None
        Cross-validation splitting as in scikit-learn; None is 5 stratified folds.
    scoring : str or callable, default=None
        Score of the classifier on the mapped validation samples of a fold, greater is better; None
        is its own score, the accuracy.
    classifier : estimator, default=None
        Classifier that is fitted to the mapped samples; None is `KNeighborsClassifier()`.
    refit : bool, default=True
        Whether to learn the metric from all samples with the chosen value, which `transform` needs.
    n_neighbors : int, None or list of them, default=5
        See `ScreenedRTLM`. If it is a list, the best combination with `lams` is chosen.
    loss, width, pull, linear_term, diagonal, bound, rule, screening, screen_every, active_set, tol
        See `ScreenedRTLM`.
    max_iter, n_components
        See `ScreenedRTLM`; the metrics of the folds are truncated, too.
    neighbors
        See `ScreenedRTLM`. The folds use those rows and columns of a graph that belong to their
        training samples, so that it should have more neighbours than `n_neighbors`.
    unlabelled
        See `ScreenedRTLM`. Unlabelled samples are neither learned from nor scored.
    store
        See `ScreenedRTLM`; used for the final fit only.
    n_jobs : int or None, default=None
        Folds at a time; in the refit, jobs of the neighbour search.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    best_lam_ : float
        The chosen value of `lams`, in their unit; the largest of those with equal scores and the
        same `n_neighbors`.
    lams_ : ndarray of shape (n_lams,)
        The grid in descending order, absolute: fractions are those of `lam_max_`.
    best_n_neighbors_ : int or None
        The chosen value of `n_neighbors`; the first of those with equal scores.
    scores_ : ndarray of shape (n_folds, n_lams)
        If `n_neighbors` is a list, the shape is (n_folds, len(n_neighbors), n_lams).
    best_score_ : float
        Mean score over the folds for `best_lam_` and `best_n_neighbors_`.
    best_params_, best_index_, cv_results_, n_splits_
        As in `GridSearchCV`. A fold that cannot be learned from has scores NaN and does not count.
    best_estimator_ : ScreenedRTLM
        Fitted to all samples with the chosen values. Only with `refit`.
    lam_max_ : float
        Of all samples, with the chosen number of neighbours.
    lam_, components_, objective_, dual_objective_, dual_gap_, n_iter_, n_triplets_
        Of the refit, see `ScreenedRTLM`.
    truncated_objective_, history_, screening_history_, n_features_in_, feature_names_in_
        The same.

    Raises
    ------
    ValueError
        For invalid parameters, data or labels; the message names the argument. Also if all scores
        are NaN.
    MemoryError
        If the pairs, or the stored starts of the refit, one for each value, would not fit into the
        free memory.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol` in some fold.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import ScreenedRTLMCV
    >>> X, y = load_wine(return_X_y=True)
    >>> model = ScreenedRTLMCV(4).fit(scale(X), y)
    >>> model.best_score_ > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **search_constraints(ScreenedRTLM, "lams", "lam"),
        "classifier": [HasMethods(["fit", "predict"]), None],
        "n_neighbors": [*ScreenedRTLM._parameter_constraints["n_neighbors"], list, tuple],
    }

    def __init__(
        self, lams=12, *, cv=None, scoring=None, classifier=None, refit=True, relative_lam=True,
        n_neighbors=5, loss="smoothed_hinge", width=0.05, pull=0.0, linear_term=None,
        diagonal=False, bound=("gap",), rule=None, screening=True, screen_every=10, active_set=True,
        tol=1e-6, max_iter=None, store=None, n_components=None, neighbors=None, unlabelled=None,
        n_jobs=None, verbose=0,
    ):  # fmt: skip
        self.lams = lams
        self.cv = cv
        self.scoring = scoring
        self.classifier = classifier
        self.refit = refit
        self.relative_lam = relative_lam
        self.n_neighbors = n_neighbors
        self.loss = loss
        self.width = width
        self.pull = pull
        self.linear_term = linear_term
        self.diagonal = diagonal
        self.bound = bound
        self.rule = rule
        self.screening = screening
        self.screen_every = screen_every
        self.active_set = active_set
        self.tol = tol
        self.max_iter = max_iter
        self.store = store
        self.n_components = n_components
        self.neighbors = neighbors
        self.unlabelled = unlabelled
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    @with_callbacks
    def fit(  # type: ignore[override]
        self, X: TableLike, y: ArrayLike, *, groups: ArrayLike | None = None
    ) -> Self:
        """Choose the strength of the regularisation and learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Best standardised: the triplets are those of Euclidean neighbours.
        y : array-like of shape (n_samples,)
            Class labels. Each class needs at least two members in the training part of each fold.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.

        Returns
        -------
        ScreenedRTLMCV
        """
        forget(self)
        solver_settings(Parameters.of(self))
        grid, counts = _grid(self.lams), self._counts()
        checked = checked_samples(self, X)
        codes = class_codes(checked, y, self.unlabelled)
        if self.diagonal or len(checked) > checked.shape[1]:
            size = checked.shape[1] ** (1 if self.diagonal else 2)
            what = f"Starts for the refit from {grid.size:,} values of lambda"
            check_memory(8.0 * size * grid.size, what, "Use fewer values.")
        X, labels, splits = split(self.cv, X, y, codes, groups)
        # Unlabelled samples are neither learned from nor scored.
        splits = [tuple(part[codes[part] >= 0] for part in parts) for parts in splits]
        with Tasks(self, len(splits), "fold") as tasks:
            start = self._search(X, labels, splits, grid, counts, tasks)
            self._refit(checked, labels, grid, start)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        check_refit(self)
        return super().__sklearn_is_fitted__()

    def _search(
        self, X: MatrixLike, y: np.ndarray, splits: list, grid: np.ndarray, counts: list,
        tasks: Tasks,
    ) -> dict | None:  # fmt: skip
        """Choose lambda and the number of neighbours; return a start for the refit."""
        classifier = KNeighborsClassifier() if self.classifier is None else self.classifier
        scorer = check_scoring(classifier, self.scoring)
        fixed = {"n_neighbors": counts[0], "relative_lam": self._is_relative, "unlabelled": None}
        model = model_of_folds(self, ScreenedRTLM, **fixed)
        path = partial(_solve_fold, model, classifier, counts, grid, X)
        several = isinstance(self.n_neighbors, list | tuple)
        values: dict[str, Sequence] = {"n_neighbors": counts} if several else {}
        values["lam"] = grid.tolist()
        # What is cut are places, because a graph of neighbours has to be cut along both axes.
        places = np.arange(len(y))
        best, failed, start = score_folds(
            self, model, path, scorer, places, y, splits, None, tasks, values
        )
        warn_unless_converged(
            failed, max(self.tol, _FOLD_TOL), solver_settings(Parameters.of(self)).max_iter, ADVICE
        )
        k, best = divmod(best, grid.size)
        self.best_n_neighbors_, self.best_lam_ = counts[k], float(grid[best])
        return start

    def _refit(self, X: np.ndarray, y: np.ndarray, grid: np.ndarray, start: dict | None) -> None:
        """Set the absolute grid, and learn from all samples."""
        chosen = {"lam": self.best_lam_, "n_neighbors": self.best_n_neighbors_}
        chosen["relative_lam"] = self._is_relative
        parameters = Parameters.of(self, **chosen)
        problem = build(X, parameters, Supervision(y))
        self.lam_max_ = problem.in_data(problem.lam_max)
        lams = [chosen_lam(lam, self._is_relative, problem) for lam in grid]
        self.lams_ = np.array([problem.in_data(lam) for lam in lams])
        if self.refit:
            known = [] if start is None else [(lam_of_fit(parameters, problem), start)]
            learn(self, problem, parameters, X, Supervision(y), known)
            self.best_estimator_ = as_best(self, ScreenedRTLM, **chosen)

    def screened(
        self, X: TableLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, *,
        triplets: ArrayLike | None = None, comparison_weight: ArrayLike | None = None,
    ) -> TripletScreening:  # fmt: skip
        """Return what the metric of the final fit proves, see `ScreenedRTLM.screened`.

        Parameters
        ----------
        X, y, sample_weight, triplets, comparison_weight
            As in `ScreenedRTLM.fit`.

        Returns
        -------
        TripletScreening
        """
        check_is_fitted(self)
        return self.best_estimator_.screened(
            X, y, sample_weight, triplets=triplets, comparison_weight=comparison_weight
        )

    @property
    def _is_relative(self) -> bool:
        """Whether the grid has fractions of lambda_max."""
        return self.relative_lam or isinstance(self.lams, Integral)

    def _counts(self) -> list[int | None]:
        """Return the numbers of neighbours to choose from."""
        if not isinstance(self.n_neighbors, list | tuple):
            return [self.n_neighbors]
        for value in self.n_neighbors:
            if not (value is None or (isinstance(value, Integral) and int(value) >= 1)):
                raise ValueError(
                    f"n_neighbors must hold integers >= 1 or None, got {self.n_neighbors!r}."
                )
        if not self.n_neighbors:
            raise ValueError("n_neighbors must not be empty.")
        return list(self.n_neighbors)


def _grid(lams: int | ArrayLike) -> np.ndarray:
    """Return the values of lambda, descending; fractions of lambda_max for a number of values."""
    if isinstance(lams, Integral):
        return np.geomspace(0.3, 1e-3, int(lams))
    return positive_values("lams", lams, NUMBER_OR_LIST)[::-1]


def _solve_fold(
    model: ScreenedRTLM, classifier: BaseEstimator, counts: list[int | None], lams: np.ndarray,
    samples: MatrixLike, training: tuple, weights: None, validation: np.ndarray,
) -> Iterator[FoldResult]:  # fmt: skip
    """Learn the metrics of one fold, and a classifier on each; see `FoldPath`."""
    rows, y = training
    X, X_val = safe_indexing(samples, rows), safe_indexing(samples, validation)
    if sparse.issparse(model.neighbors):
        # Folds may be threads.
        graph = sparse.csr_array(model.neighbors)[rows][:, rows]
        model = clone(model).set_params(neighbors=graph)
    for count in counts:
        fold, classifier = clone(model).set_params(n_neighbors=count), clone(classifier)
        parameters, samples = Parameters.of(fold), checked_samples(fold, X)
        problem = build(samples, parameters, Supervision(y))
        solver, settings = PathSolver(problem), solver_settings(parameters)
        settings = replace(settings, tol=max(fold.tol, _FOLD_TOL))
        for index, fraction in enumerate(lams):
            lam = chosen_lam(fraction, fold.relative_lam, problem)
            if index == 0:
                *_, (_, solution) = solver.approach(lam, settings)
            else:
                solution = solver.solve(lam, settings)
            metric = fitted(fold, solution, problem)
            classifier.fit(metric.transform(X), y)
            failed = [] if solution.converged else [solution]
            # With few samples coordinates depend on the samples.
            start = start_at(solution) if problem.basis is None else None
            yield FoldResult(classifier, metric.transform(X_val), failed, start)
