"""Linear support vector machines with a free intercept that choose C by cross-validation."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar, Self

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.metrics import check_scoring
from sklearn.utils.validation import _check_sample_weight, validate_data

from skscreen.core.memory import check_memory
from skscreen.fitting.callbacks import Tasks, with_callbacks
from skscreen.fitting.folds import C_grid, model_of_folds, score_folds, search_constraints, split
from skscreen.fitting.path import forget
from skscreen.pragam.estimator import (
    ACCEPTED,
    PragamSVC,
    check_options,
    set_fit,
    solve,
    warn_unless_converged,
)
from skscreen.samples.labels import Labels, check_labels

# Attributes of a fit that the next one starts from.
_START = ("coef_", "dual_coef_", "classes_")


class PragamSVCCV(PragamSVC):
    """`PragamSVC` with C chosen by cross-validation.

    In each fold the values of C are solved in ascending order, each starting from the previous
    solution; the refit on all samples starts from the solution of the first fold. The scores are
    those of `GridSearchCV(PragamSVC(), {"C": Cs})`, up to the tolerance of the fits.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,), default=20
        Values of C, positive; an int is the number of values from 0.01 to 100 in geometric
        progression.
    cv : int, cross-validation generator or iterable, default=None
        Cross-validation splitting as in scikit-learn; None is 5 stratified folds.
    scoring : str or callable, default=None
        Score on the validation samples of a fold, greater is better; None is the accuracy.
    refit : bool, default=True
        Whether to fit all samples with the chosen C, which `predict` needs.
    fit_intercept, algorithm, lipschitz, restart, batch_size, projection, tol, max_iter
        See `PragamSVC`.
    class_weight, verbose, random_state
        See `PragamSVC`.
    n_jobs : int or None, default=None
        Number of folds to process in parallel, and of threads of the refit.

    Attributes
    ----------
    C_ : float
        The chosen C; the smallest of those with equal scores.
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
        For invalid parameters, data, labels or weights; the message names the argument. Also if all
        scores are NaN.
    MemoryError
        As in `PragamSVC`, or if the stored starts of the refit, one for each C, would not fit into
        memory.

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

    _parameter_constraints: ClassVar[dict] = search_constraints(
        PragamSVC, "Cs", "C", "warm_start", "store"
    )

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
            Weights >= 0 of the losses, also passed to scorers that accept weights.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.

        Returns
        -------
        PragamSVCCV
        """
        forget(self)
        check_options(self)
        self.Cs_ = C_grid(self.Cs)
        checked, y_checked = validate_data(self, X, y, **ACCEPTED)
        labels = check_labels(checked, y_checked, sample_weight, self.class_weight)
        size = self.Cs_.size * labels.n_problems * sum(checked.shape)
        what = f"Starts for the refit from {self.Cs_.size:,} values of C"
        check_memory(8.0 * size, what, "Use fewer values.")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, checked, dtype=np.float64)
        X, y, splits = split(self.cv, X, y, y_checked, groups)
        model = model_of_folds(self, PragamSVC)
        scorer, path = check_scoring(model, self.scoring), partial(_follow_fold, model, self.Cs_)
        with Tasks(self, len(splits), "fold") as tasks:
            best, failed, start = score_folds(
                self, model, path, scorer, X, y, splits, sample_weight, tasks, {"C": self.Cs_}
            )
            warn_unless_converged(self, failed)
            self.C_ = float(self.Cs_[best])
            if self.refit:
                start = _of_all(start, splits[0][0], labels, len(y))
                labels, n, fits = solve(self, self.C_, X, y, sample_weight, old=start)
                warn_unless_converged(self, fits)
                set_fit(self, self.C_, labels, n, fits)
        return self


def _of_all(start: dict, train: np.ndarray, labels: Labels, n_samples: int) -> dict:
    """Return what a fold knows as a start for all samples."""
    # A class that is missing in the fold has no solution there.
    if start is None or not np.array_equal(start.get("classes_"), labels.all_classes):
        return {}
    if len(start["coef_"]) != labels.n_problems:
        return {}
    duals = start.get("dual_coef_")
    if duals is None:
        return start
    placed = np.zeros((len(duals), n_samples))
    placed[:, train] = duals
    return start | {"dual_coef_": placed}


def _follow_fold(model: PragamSVC, Cs: np.ndarray, training, weights, X_val) -> Iterator[tuple]:
    """Solve one fold for one C after the other, each from the one before; see `FoldPath`."""
    # Folds may be threads.
    model, start = clone(model), {}
    for C in map(float, Cs):
        model.set_params(C=C)
        labels, n, fits = solve(model, C, *training, weights, old=start)
        set_fit(model, C, labels, n, fits)
        if model.algorithm != "pegasos":
            start = {name: getattr(model, name, None) for name in _START}
        yield model, X_val, [found for found in fits if not found.converged], start
