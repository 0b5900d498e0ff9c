"""Metric learning that chooses the strength of its regularisation by cross-validation."""

from collections.abc import Iterable
from numbers import Integral
from typing import ClassVar, Self

import numpy as np
from joblib import delayed
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import column_or_1d, indexable
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import validate_data

from skscreen.core.memory import check_memory
from skscreen.fitting.callbacks import Tasks, with_callbacks
from skscreen.fitting.folds import score_folds
from skscreen.fitting.grid import MOST_VALUES, absolute_lam, positive_values
from skscreen.metric_learning.estimator import LEARNED, ScreenedRTLM
from skscreen.metric_learning.path import RTLMPath
from skscreen.metric_learning.path_solver import PathSolver
from skscreen.metric_learning.solvers.solution import Solution
from skscreen.metric_learning.supervision import class_codes

# Fractions of lambda_max where the grid begins and ends if only the number of values is given.
_LARGEST_LAM, _SMALLEST_LAM = 0.3, 1e-3

# Attributes of a fit: those of the refit, and what was chosen.
_LEARNED = (*LEARNED, "scores_", "best_lam_", "best_score_")


class ScreenedRTLMCV(ScreenedRTLM):
    """`ScreenedRTLM` with the strength of the regularisation chosen by cross-validation.

    Each fold is one path over lambda: every solution is the start of the next and screens for it.
    What is scored is a classifier that sees samples as the metric of each lambda maps them: nearest
    neighbours, if not told otherwise.

    Parameters
    ----------
    lams : int or array-like of shape (n_lams,), default=12
        Values of `lam`, as fractions of the lambda_max of the samples learned from; positive. An
        int is the number of values from 0.3 down to 0.001 in geometric progression.
    cv : int, cross-validation generator or iterable, default=None
        How to split, as in scikit-learn; None is 5 stratified folds.
    scoring : str or callable, default=None
        Score of the fitted classifier on the mapped validation samples of a fold, greater is
        better; None is its own, the accuracy.
    classifier : estimator, default=None
        What is learned from the mapped samples of each fold; None is `KNeighborsClassifier()`.
    refit : bool, default=True
        Whether to learn the metric from all samples with the value chosen; without that there is
        nothing to transform with.
    n_neighbors, loss, gamma, pull, diagonal, bound, rule, screening, screen_every, active_set
        See `ScreenedRTLM`.
    tol, max_iter
        See `ScreenedRTLM`.
    n_jobs : int or None, default=None
        Folds at a time; then parallel jobs of the neighbour search.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    best_lam_ : float
        The value of `lams_` chosen: of equal ones the largest.
    lams_ : ndarray of shape (n_lams,)
        The grid, descending, as fractions of lambda_max.
    scores_ : ndarray of shape (n_folds, n_lams)
    best_score_ : float
        Mean over the folds of the score for `best_lam_`.
    lam_, lam_max_, components_, objective_, dual_objective_, dual_gap_, n_iter_, n_triplets_
        Of the metric learned from all samples, as for `ScreenedRTLM`; `lam_` is absolute.
    screening_history_, n_features_in_, feature_names_in_
        The same.

    Raises
    ------
    ValueError
        For invalid parameters, data or labels; the message names the argument. If no value has a
        score that is a number.
    MemoryError
        If the pairs, or the starts of the refit for all values, would not fit into the free
        memory.

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
        **{
            key: value
            for key, value in ScreenedRTLM._parameter_constraints.items()
            if key not in ("lam", "relative_lam")
        },
        "lams": [Interval(Integral, 1, MOST_VALUES, closed="both"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "classifier": [HasMethods(["fit", "predict"]), None],
        "refit": ["boolean"],
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
            Class labels, in the training part of each fold at least two members a class.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.

        Returns
        -------
        ScreenedRTLMCV
        """
        # A fit that fails, or has no refit, leaves nothing of an old metric.
        for name in _LEARNED:
            vars(self).pop(name, None)
        self.lams_ = self._grid()
        self._options()
        checked = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        codes = class_codes(checked, y)
        X, y, groups = indexable(X, column_or_1d(y), groups)
        if self.diagonal or len(checked) > checked.shape[1]:
            size = checked.shape[1] ** (1 if self.diagonal else 2)
            what = f"Starts for the refit from {self.lams_.size:,} values of lambda"
            check_memory(8.0 * size * self.lams_.size, what, "Use fewer values.")
        splits = list(check_cv(self.cv, codes, classifier=True).split(X, y, groups))
        classifier = KNeighborsClassifier() if self.classifier is None else self.classifier
        scorer = check_scoring(classifier, self.scoring)
        folds = (
            delayed(_fold_scores)(
                self._model(), clone(classifier), X, y, *split, self.lams_, scorer, keep=k == 0
            )
            for k, split in enumerate(splits)
        )
        with Tasks(self, len(splits), "fold") as tasks:
            self.scores_, best, failed, starts = score_folds(folds, len(splits), self.n_jobs, tasks)
            tasks.bar.end()
            self._warn_unless_converged(failed)
            self.best_lam_ = float(self.lams_[best])
            self.best_score_ = float(self.scores_[:, best].mean())
            if self.refit:
                self._learn(X, y, starts[best])
        return self

    def _learn(self, X, y, start: tuple[np.ndarray, float, int] | None) -> None:
        """Learn the metric from all samples, from that of a fold where it is known."""
        model = self._model(_FromFold).set_params(
            lam=self.best_lam_, n_jobs=self.n_jobs, verbose=self.verbose
        )
        model.start = start
        learned = vars(model.fit(X, y)).items()
        vars(self).update({name: value for name, value in learned if name.endswith("_")})

    def _grid(self) -> np.ndarray:
        if isinstance(self.lams, Integral):
            return np.geomspace(_LARGEST_LAM, _SMALLEST_LAM, int(self.lams))
        return positive_values("lams", self.lams, "a number of values, or a list")[::-1]

    def _model(self, kind: type[ScreenedRTLM] = ScreenedRTLM) -> ScreenedRTLM:
        """Return the estimator of a fold."""
        names = set(ScreenedRTLM().get_params()) & set(self.get_params(deep=False))
        names -= {"n_jobs", "verbose"}
        return kind(**{name: getattr(self, name) for name in names})


class _FromFold(ScreenedRTLM):
    """The refit: it starts from the metric of a fold."""

    start: tuple[np.ndarray, float, int] | None

    def _recall(self, solver: PathSolver, lam: float, *data) -> None:
        if self.start is not None:
            solver.recall(lam, *self.start)


def _fold_scores(
    model: ScreenedRTLM,
    classifier: BaseEstimator,
    X,
    y,
    train,
    test,
    lams: Iterable[float],
    scorer,
    keep: bool,
) -> tuple[list[float], list[Solution], list[tuple[np.ndarray, float, int]]]:
    """Follow the path of one fold.

    Returns the scores, the solutions that missed `tol`, and if they are to be kept, for each
    lambda, the metric, the last step length and the number of steps.
    """  # fmt: skip
    X_train, y_train = _safe_split(model, X, y, train)
    X_test, y_test = _safe_split(model, X, y, test, train)
    empty = dict.fromkeys(("triplets", "quadruplets", "pairs"))
    problem, lam_max, first = model._build(X_train, y_train, None, **empty)
    solver, options = PathSolver(problem, first), model._options()
    scores, failed, kept = [], [], []
    for index, lam in enumerate(lams):
        absolute = absolute_lam(lam, lam_max)
        if index == 0:
            *_, (_, solution) = solver.approach(absolute, lam_max, options)
        else:
            solution = solver.solve(absolute, options)
        solution = solution.without_evaluation()
        path = RTLMPath(model, (solution,), lam_max, problem)
        metric = path.estimator(0)
        classifier.fit(metric.transform(X_train), y_train)
        scores.append(float(scorer(classifier, metric.transform(X_test), y_test)))
        if not solution.converged:
            failed.append(solution)
        if keep:
            # The coordinates of few samples are not those of all.
            start = solution.point.value, solution.step, solution.n_iter
            kept.append(start if problem.basis is None else None)
    return scores, failed, kept
