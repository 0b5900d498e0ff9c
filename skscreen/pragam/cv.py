"""Linear support vector machines with a free intercept that choose C by cross-validation."""

from collections.abc import Iterable
from numbers import Integral
from typing import ClassVar, Self

import numpy as np
from joblib import delayed
from sklearn.base import _fit_context
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import column_or_1d, indexable
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, validate_data

from skscreen.core.memory import check_memory
from skscreen.fitting.callbacks import Tasks, with_callbacks
from skscreen.fitting.folds import C_grid, cut, score_folds, takes_weights
from skscreen.fitting.grid import MOST_VALUES
from skscreen.pragam.estimator import PragamSVC
from skscreen.pragam.follow import Certified
from skscreen.samples.labels import check_labels


class PragamSVCCV(PragamSVC):
    """`PragamSVC` with C chosen by cross-validation.

    In each fold the values of C are solved in ascending order, each from the one before; the refit
    on all samples starts from the solution of the first fold. The scores are those of
    `GridSearchCV(PragamSVC(), {"C": Cs})`, up to the tolerance of the fits.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,), default=20
        Values of C, positive; an int is the number of values from 0.01 to 100 in geometric
        progression.
    cv : int, cross-validation generator or iterable, default=None
        How to split, as in scikit-learn; None is 5 stratified folds.
    scoring : str or callable, default=None
        Score of a fitted estimator on the validation samples of a fold, greater is better; None
        is the accuracy.
    refit : bool, default=True
        Whether to learn the classifier from all samples with the C chosen; without that there is
        nothing to predict with.
    fit_intercept, algorithm, lipschitz, restart, batch_size, projection, tol, max_iter
        See `PragamSVC`.
    class_weight, verbose, random_state
        See `PragamSVC`.
    n_jobs : int or None, default=None
        Folds that are solved at the same time, and threads of the refit.

    Attributes
    ----------
    C_ : float
        The C chosen: of equal ones the smallest.
    Cs_ : ndarray of shape (n_Cs,)
        Values of C, ascending.
    scores_ : ndarray of shape (n_folds, n_Cs)
    best_score_ : float
        Mean score of `C_`.
    coef_, intercept_, dual_coef_, classes_, objective_, dual_gap_, n_iter_, history_
        Of the refit; see `PragamSVC`.

    Raises
    ------
    ValueError
        For invalid parameters, data, labels or weights; the message names the argument. If no
        value has a score that is a number.
    MemoryError
        As for `PragamSVC`, or if the starts of the refit, for all values of C, would not fit.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` iterations did not reach `tol` at some C.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import PragamSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PragamSVCCV(Cs=[0.01, 0.1, 1.0]).fit(scale(X), y)
    >>> model.best_score_ > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **{
            key: value
            for key, value in PragamSVC._parameter_constraints.items()
            if key not in ("C", "warm_start", "memory")
        },
        "Cs": [Interval(Integral, 1, MOST_VALUES, closed="both"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "refit": ["boolean"],
    }

    # Folds have each other.
    memory = None

    def __init__(
        self,
        Cs=20,
        *,
        cv=None,
        scoring=None,
        refit=True,
        fit_intercept=True,
        algorithm="pragam",
        lipschitz="auto",
        restart=True,
        batch_size=None,
        projection=True,
        tol=1e-4,
        max_iter=None,
        class_weight=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.lipschitz = lipschitz
        self.restart = restart
        self.batch_size = batch_size
        self.projection = projection
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @property
    def C(self) -> float:
        """The value chosen."""
        return self.C_

    @property
    def warm_start(self) -> bool:
        """Whether there is a solution of a fold to start from."""
        return "_start" in vars(self)

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y, sample_weight=None, *, groups=None) -> Self:
        """Choose C and learn the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Best standardised.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Factors >= 0 of the losses, and in the scores of scorers that take weights.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.

        Returns
        -------
        PragamSVCCV
        """
        self._forget()
        self._check_options()
        self.Cs_ = C_grid(self.Cs)
        accepted = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
        checked, y_checked = validate_data(self, X, y, **accepted)
        labels = check_labels(checked, y_checked, sample_weight, self.class_weight)
        size = self.Cs_.size * labels.n_problems * sum(checked.shape)
        what = f"Starts for the refit from {self.Cs_.size:,} values of C"
        check_memory(8.0 * size, what, "Use fewer values.")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, checked, dtype=np.float64)
        X, y, groups = indexable(X, column_or_1d(y), groups)
        splits = list(check_cv(self.cv, y_checked, classifier=True).split(X, y, groups))
        scorer = check_scoring(self._model(), self.scoring)
        folds = (
            delayed(_fold_scores)(
                self._model(), X, y, *split, self.Cs_, scorer, sample_weight, keep=k == 0
            )
            for k, split in enumerate(splits)
        )
        with Tasks(self, len(splits), "fold") as tasks:
            self.scores_, best, failed, starts = score_folds(folds, len(splits), self.n_jobs, tasks)
            tasks.bar.end()
            self._warn_unless_converged(failed)
            self.C_, self.best_score_ = float(self.Cs_[best]), float(self.scores_[:, best].mean())
            if self.refit:
                # A class that the fold has not seen has no solution there.
                known = np.array_equal(starts[best]["classes_"], labels.classes)
                self._refit(X, y, sample_weight, starts[best] if known else None)
        return self

    def _refit(self, X, y, sample_weight, start: dict | None) -> None:
        try:
            if self.algorithm != "pegasos" and start is not None:
                self._start = start
            super().fit(X, y, sample_weight)
        finally:
            vars(self).pop("_start", None)

    def _forget(self) -> dict:
        return super()._forget() | vars(self).get("_start", {})

    def _model(self) -> "_OfFold":
        """Return the estimator of a fold."""
        names = set(PragamSVC().get_params()) & set(self.get_params(deep=False))
        options = {name: getattr(self, name) for name in names - {"n_jobs", "verbose"}}
        return _OfFold(warm_start=self.algorithm != "pegasos", **options)


class _OfFold(PragamSVC):
    """Keeps what missed its tolerance: a warning in another process would not be seen."""

    failed: list[Certified]

    def _warn_unless_converged(self, fits: list[Certified]) -> None:
        self.failed = [found for found in fits if not found.converged]


def _fold_scores(
    model: _OfFold, X, y, train, test, Cs: Iterable[float], scorer, sample_weight, keep: bool
) -> tuple[list[float], list, list[dict]]:
    """Solve one fold for one C after the other.

    Returns the scores, the solutions that missed `tol`, and if they are to be kept all solutions,
    with dual variables 0 for the samples that are not in the fold.
    """
    training, validation, weights = cut(model, X, y, train, test, sample_weight)
    weighted = {}
    if sample_weight is not None and takes_weights(scorer):
        weighted["sample_weight"] = weights[1]
    scores, failed, kept = [], [], []
    for C in map(float, Cs):
        model.set_params(C=C).fit(*training, sample_weight=weights[0])
        scores.append(float(scorer(model, *validation, **weighted)))
        failed += model.failed
        if keep:
            dual_coef = None
            if hasattr(model, "dual_coef_"):
                dual_coef = np.zeros((len(model.coef_), len(y)))
                dual_coef[:, train] = model.dual_coef_
            kept.append({"coef_": model.coef_, "dual_coef_": dual_coef, "classes_": model.classes_})
    return scores, failed, kept
