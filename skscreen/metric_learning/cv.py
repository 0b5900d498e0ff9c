"""Metric learning that chooses the strength of its regularisation by cross-validation."""

from collections.abc import Iterator
from functools import partial
from numbers import Integral
from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.metrics import check_scoring
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import validate_data

from skscreen.core.memory import check_memory
from skscreen.fitting.callbacks import Tasks, with_callbacks
from skscreen.fitting.folds import model_of_folds, score_folds, search_constraints, split
from skscreen.fitting.grid import absolute_lam, positive_values
from skscreen.fitting.path import forget, warn_unless_converged
from skscreen.metric_learning.estimator import ADVICE, ScreenedRTLM, fitted, learn, start_at
from skscreen.metric_learning.path_solver import PathSolver, solver_options
from skscreen.metric_learning.problem.build import build
from skscreen.metric_learning.supervision import class_codes

# Fractions of lambda_max where the grid begins and ends if only the number of values is given.
_LARGEST_LAM, _SMALLEST_LAM = 0.3, 1e-3


class ScreenedRTLMCV(ScreenedRTLM):
    """`ScreenedRTLM` with the regularisation strength chosen by cross-validation.

    In each fold the values of lambda are solved as one path: each fit starts from the previous
    solution and uses it for screening. A metric is scored by a classifier on the mapped samples,
    nearest neighbours by default.

    Parameters
    ----------
    lams : int or array-like of shape (n_lams,), default=12
        Values of `lam`, positive, as fractions of lambda_max of the training samples. An int is the
        number of values from 0.3 down to 0.001 in geometric progression.
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
    loss, gamma, pull, diagonal, bound, rule, screening, screen_every, active_set, tol, max_iter
        See `ScreenedRTLM`.
    n_components
        See `ScreenedRTLM`; the metrics of the folds are truncated, too.
    n_jobs : int or None, default=None
        Folds at a time; in the refit, jobs of the neighbour search.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    best_lam_ : float
        The chosen value of `lams_`, also a fraction of lambda_max; the largest of those with equal
        scores and the same `n_neighbors`.
    lams_ : ndarray of shape (n_lams,)
        The grid in descending order, as fractions of lambda_max.
    best_n_neighbors_ : int or None
        The chosen value of `n_neighbors`; the first of those with equal scores.
    scores_ : ndarray of shape (n_folds, n_lams)
        If `n_neighbors` is a list, the shape is (n_folds, len(n_neighbors), n_lams).
    best_score_ : float
        Mean score over the folds for `best_lam_` and `best_n_neighbors_`.
    lam_, lam_max_, components_, objective_, dual_objective_, dual_gap_, n_iter_, n_triplets_
        Of the refit, see `ScreenedRTLM`. `lam_` is absolute, while `best_lam_` and `lams_`, like
        the parameter `lams`, are fractions of lambda_max.
    truncated_objective_, screening_history_, n_features_in_, feature_names_in_
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

    store = neighbors = unlabelled = None
    _parameter_constraints: ClassVar[dict] = {
        **search_constraints(
            ScreenedRTLM, "lams", "lam", "relative_lam", "store", "neighbors", "unlabelled"
        ),
        "classifier": [HasMethods(["fit", "predict"]), None],
        "n_neighbors": [*ScreenedRTLM._parameter_constraints["n_neighbors"], list, tuple],
    }

    def __init__(
        self,
        lams=12,
        *,
        cv=None,
        scoring=None,
        classifier=None,
        refit=True,
        n_neighbors=5,
        loss="smoothed_hinge",
        gamma=0.05,
        pull=0.0,
        diagonal=False,
        bound=("gap",),
        rule="sphere",
        screening=True,
        screen_every=10,
        active_set=True,
        tol=1e-6,
        max_iter=10_000,
        n_components=None,
        n_jobs=None,
        verbose=0,
    ):
        self.lams = lams
        self.cv = cv
        self.scoring = scoring
        self.classifier = classifier
        self.refit = refit
        self.n_neighbors = n_neighbors
        self.loss = loss
        self.gamma = gamma
        self.pull = pull
        self.diagonal = diagonal
        self.bound = bound
        self.rule = rule
        self.screening = screening
        self.screen_every = screen_every
        self.active_set = active_set
        self.tol = tol
        self.max_iter = max_iter
        self.n_components = n_components
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    @with_callbacks
    def fit(self, X, y, *, groups=None) -> Self:
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
        self.lams_ = _grid(self.lams)
        solver_options(self)
        checked = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        codes = class_codes(checked, y)
        if self.diagonal or len(checked) > checked.shape[1]:
            size = checked.shape[1] ** (1 if self.diagonal else 2)
            what = f"Starts for the refit from {self.lams_.size:,} values of lambda"
            check_memory(8.0 * size * self.lams_.size, what, "Use fewer values.")
        X, y, splits = split(self.cv, X, y, codes, groups)
        classifier = KNeighborsClassifier() if self.classifier is None else self.classifier
        scorer = check_scoring(classifier, self.scoring)
        counts = self._counts()
        model = model_of_folds(self, ScreenedRTLM, n_neighbors=counts[0])
        path = partial(_follow_fold, model, classifier, counts, self.lams_)
        several = isinstance(self.n_neighbors, list | tuple)
        grid = {"n_neighbors": counts, "lam": self.lams_} if several else {"lam": self.lams_}
        with Tasks(self, len(splits), "fold") as tasks:
            best, failed, start = score_folds(
                self, model, path, scorer, X, y, splits, None, tasks, grid
            )
            warn_unless_converged(failed, self.tol, self.max_iter, ADVICE)
            k, best = divmod(best, self.lams_.size)
            self.best_n_neighbors_, self.best_lam_ = counts[k], float(self.lams_[best])
            if self.refit:
                model = clone(model).set_params(n_neighbors=counts[k], n_jobs=self.n_jobs)
                built = build(model, X, y)
                lam = absolute_lam(self.best_lam_, built[1])
                learn(self, *built, lam, [] if start is None else [(lam, start)])
        return self

    def _counts(self) -> list[int | None]:
        """Return the numbers of neighbours to choose from."""
        if not isinstance(self.n_neighbors, list | tuple):
            return [self.n_neighbors]
        for value in self.n_neighbors:
            if not (value is None or (isinstance(value, Integral) and value >= 1)):
                raise ValueError(
                    f"n_neighbors must hold integers >= 1 or None, got {self.n_neighbors!r}."
                )
        if not self.n_neighbors:
            raise ValueError("n_neighbors must not be empty.")
        return list(self.n_neighbors)


def _grid(lams) -> np.ndarray:
    if isinstance(lams, Integral):
        return np.geomspace(_LARGEST_LAM, _SMALLEST_LAM, int(lams))
    return positive_values("lams", lams, "a number of values, or a list")[::-1]


def _follow_fold(
    model: ScreenedRTLM,
    classifier: BaseEstimator,
    counts: list[int | None],
    lams: np.ndarray,
    training,
    weights,
    X_val,
) -> Iterator[tuple]:
    """Learn the metrics of one fold, and a classifier on each; see `FoldPath`."""
    X, y = training
    for count in counts:
        # Folds may be threads.
        fold, classifier = clone(model).set_params(n_neighbors=count), clone(classifier)
        problem, lam_max, first = build(fold, X, y)
        solver, options = PathSolver(problem, first), solver_options(fold)
        for index, fraction in enumerate(lams):
            lam = absolute_lam(fraction, lam_max)
            if index == 0:
                *_, (_, solution) = solver.approach(lam, lam_max, options)
            else:
                solution = solver.solve(lam, options)
            solution = solution.without_evaluation()
            metric = fitted(fold, solution, lam_max, problem)
            classifier.fit(metric.transform(X), y)
            failed = [] if solution.converged else [solution]
            # With few samples coordinates depend on the samples.
            start = start_at(solution) if problem.basis is None else None
            yield classifier, metric.transform(X_val), failed, start
