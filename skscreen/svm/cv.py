"""Support vector machines that choose C, gamma and epsilon by cross-validation."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skscreen.core.checks import MatrixLike
from skscreen.core.sklearn_private import Interval
from skscreen.core.threads import N_JOBS
from skscreen.fitting.folds import search_constraints
from skscreen.svm.screened.result import SampleScreening
from skscreen.svm.search import SearchOverC
from skscreen.svm.svc import ScreenedSVC
from skscreen.svm.svr import ScreenedSVR


class ScreenedSVCCV(SearchOverC, ScreenedSVC):
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
        intercept, for more than two classes ``multi_class="ovr"``, at least two `Cs`, no `gammas`
        of a kernel that has one, for kernels that may be indefinite `indefinite` other than
        "shift", and samples that are rows of numbers.
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
        1 says how the problems are solved, and shows a progress bar.

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
        As in `GridSearchCV` over `Cs_` and `gammas_`, C outermost; the second and third not with
        `certify`. A fold that cannot be learned from, as with a single class, has scores NaN and
        does not count.
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

    probability, _kind = "deprecated", ScreenedSVC

    _parameter_constraints: ClassVar[dict] = {
        **search_constraints(ScreenedSVC, "Cs", "C", "shrinking", "probability"),
        "gammas": ["array-like", None],
        "certify": [Interval(Real, 0, 1, closed="neither"), None],
    }

    def __init__(
        self, Cs=20, *, gammas=None, cv=None, scoring=None, refit=True, certify=None, loss="hinge",
        kernel="rbf", gamma="scale", degree=3, coef0=0.0, fit_intercept=True, intercept="free",
        intercept_scaling=1.0, screening=True, solver="auto", tol=1e-6, max_iter=None,
        multi_class="ovo", decision_function_shape="ovr", break_ties=False, class_weight=None,
        indefinite="warn", cache_size=1000, store=None, n_jobs=None, verbose=0, random_state=None,
    ):  # fmt: skip
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

    def screened(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SampleScreening:
        """Return what the final fit proves, see `ScreenedSVC.screened`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        SampleScreening
        """
        check_is_fitted(self)
        return self.best_estimator_.screened(X, y, sample_weight)


class ScreenedSVRCV(SearchOverC, ScreenedSVR):
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
        1 says how the problems are solved, and shows a progress bar.

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
        As in `GridSearchCV` over `Cs_`, `epsilons_` and `gammas_`, C outermost.
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

    _kind = ScreenedSVR

    _parameter_constraints: ClassVar[dict] = {
        **search_constraints(ScreenedSVR, "Cs", "C"),
        "epsilons": ["array-like", None],
        "gammas": ["array-like", None],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self, Cs=20, *, epsilons=None, gammas=None, cv=None, scoring=None, refit=True, n_jobs=None,
        epsilon=0.1, loss="epsilon_insensitive", kernel="rbf", gamma="scale", degree=3, coef0=0.0,
        fit_intercept=True, intercept="free", intercept_scaling=1.0, screening=True, solver="auto",
        tol=1e-6, max_iter=None, shrinking=True, indefinite="warn", cache_size=1000, store=None,
        verbose=0, random_state=None,
    ):  # fmt: skip
        self.Cs = Cs
        self.epsilons = epsilons
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.n_jobs = n_jobs
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
        self.verbose = verbose
        self.random_state = random_state
