"""Linear support vector machines on rows that are spread over Dask workers."""

from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from numbers import Integral, Real
from time import perf_counter
from typing import ClassVar, Self

import dask
import dask.array as da
import numpy as np
from distributed import KilledWorker
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skscreen.core.certificate import HISTORY
from skscreen.distributed.linear_newton import ClusterRows, Iterate, LocalRows, Newton, Problems
from skscreen.distributed.parts import QUIET, connected
from skscreen.distributed.rows import (
    LabelledRows,
    as_array,
    column_names,
    is_collection,
    is_frame,
    joined,
    read_rows,
    thinned,
)
from skscreen.fitting.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from skscreen.fitting.path import forget
from skscreen.fitting.warning import warn_user

# Passes that ordinary data do not reach.
_MOST_PASSES = 200
# The start is the solution for a part of the rows: so many for each weight, at least and at most so
# many numbers, if that is a small share of all; to this gap, in at most so many passes.
_ROWS_A_WEIGHT, _LEAST_ROWS, _MOST_NUMBERS, _SMALL_SHARE = 100, 5_000, 2e7, 0.25
_ROUGH, _MOST_ROUGH = 1e-5, 60

# What a lost cluster raises.
LOST = (CommClosedError, KilledWorker, CancelledError, FutureCancelledError, TimeoutError)


class DistributedLinearSVC(LinearClassifierMixin, CallbackSupportMixin, BaseEstimator):
    r"""Linear support vector classifier with a certified optimum, for rows on Dask workers.

    The problem is that of `ScreenedLinearSVC` and of scikit-learn's `LinearSVC`: for two classes,
    y_i = +-1 and f(x) = <w, x> + b,

    .. math::

        P(w, b) = \tfrac12 (\lVert w \rVert^2 + b^2 / B^2) + C \sum_i s_i \max(0, 1 - y_i f(x_i))^2

    with B = `intercept_scaling`, or the hinge without the square. The rows stay where Dask puts
    them. In a pass over them, each worker sends back sums: the objective, the gradient and the
    Hessian. The driver takes a Newton step.
    More classes are handled one-vs-rest, in the same passes.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The hinge is solved by proximal steps, for which every worker keeps one number for each row
        and problem.
    fit_intercept : bool, default=True
        Whether to fit an intercept b; otherwise b = 0.
    intercept_scaling : float, default=1.0
        B > 0; the larger, the weaker the penalty on b.
    tol : float, default=1e-4
        Relative duality gap of the full problem at which the fit stops, > 0.
    max_iter : int or None, default=None
        Largest number of Newton passes. None means a limit that ordinary data do not reach.
    class_weight : dict, "balanced" or None, default=None
        Factors >= 0 that multiply the weights of the samples of each class, 1 for classes not in
        the dict. "balanced" gives all classes the same total weight.
    warm_start : bool, default=False
        Whether to start from the weights of the previous fit, which had the same classes and
        columns.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_problems, n_features)
        There is one problem for two classes, otherwise one for each class.
    intercept_ : ndarray of shape (n_problems,)
    objective_ : float, or ndarray of shape (n_problems,)
        P(w, b).
    dual_gap_ : float
        Relative duality gap (P - D) / P of the full problem; the largest of all problems.
    n_iter_ : int
        Passes over the rows, those for products of the Hessian with a vector included.
    history_ : structured ndarray of shape (n_newton_passes,)
        Fields iteration, seconds, primal, dual and gap, of the problem with the largest gap.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If X was a frame whose columns have names.

    Raises
    ------
    TypeError
        If X in `fit` is neither a dask array nor a dask frame.
    ValueError
        For invalid parameters, rows, labels or weights; names the argument and the block.
    MemoryError
        If the Newton systems of all problems would not fit into the driver's memory.
    RuntimeError
        If there is no Dask client, `fit` is called inside a task of the cluster, or the cluster is
        lost during the fit. Then `coef_`, `intercept_` and `dual_gap_` hold the last iterate, from
        which a fit with `warm_start=True` goes on.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` passes did not reach `tol`; names the gap that was reached.

    See Also
    --------
    skscreen.ScreenedLinearSVC : The same problem for rows in memory.

    Notes
    -----
    A pass sends D (n_problems) numbers to each block and D (D + 1) (n_problems) numbers back, for
    D = n_features + 1. Above 3,000 features the Hessian is not formed: Newton systems are solved by
    conjugate gradients, whose steps are passes with D (n_problems) numbers each way.

    Chunks of float32 are not copied to float64; margins, gradients and certificates are computed
    in double precision all the same. Features should be standardised. Sums are taken in the order
    of the blocks, so that the result does not depend on which worker did what. If a worker is lost,
    Dask loads its rows and repeats what it held. The start is the solution for a few thousand rows,
    found by the driver.

    References
    ----------
    O. L. Mangasarian (2002). A finite Newton method for classification. Optimization Methods and
    Software 17. S. S. Keerthi, D. DeCoste (2005). A modified finite Newton method for fast solution
    of large scale linear SVMs. JMLR 6. X. Li, D. Sun, K.-C. Toh (2018). A highly efficient
    semismooth Newton augmented Lagrangian method for solving Lasso problems. SIAM J. Optim. 28.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from skscreen.distributed import DistributedLinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> with Client(processes=False, n_workers=1, dashboard_address=None):
    ...     model = DistributedLinearSVC().fit(da.from_array(X, chunks=(50, 4)), y > 1)
    >>> model.dual_gap_ <= 1e-4
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"squared_hinge", "hinge"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        C=1.0,
        *,
        loss="squared_hinge",
        fit_intercept=True,
        intercept_scaling=1.0,
        tol=1e-4,
        max_iter=None,
        class_weight=None,
        warm_start=False,
        verbose=0,
    ):
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y, sample_weight=None) -> Self:
        """Learn the classifier.

        Parameters
        ----------
        X : dask array or dask frame of shape (n_samples, n_features)
            Dense chunks, or chunks of CSR, float32 or float64. Several chunks of columns are merged
            into one.
        y : dask array, dask series or array-like of shape (n_samples,)
            Class labels.
        sample_weight : dask array, dask series or array-like of shape (n_samples,), optional
            Weights >= 0 that multiply the losses.

        Returns
        -------
        DistributedLinearSVC
        """
        client, old = connected(), forget(self)
        with dask.config.set(QUIET):
            data = read_rows(client, X, y, sample_weight, self.class_weight)
            problems = _problems(self, data, [float(self.C)])
            start = _start_of(self, old, data, problems)
            self.classes_, self.n_features_in_ = data.classes, data.n_features
            if data.names is not None:
                self.feature_names_in_ = data.names
            _solve(self, data, problems, start)
        return self

    def decision_function(self, X):
        """Return <w, x> + b: positive for the second of two classes, or a column for each class.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask array of shape (n_samples,) or (n_samples, n_classes)
            For a dask collection, a dask array that is not computed yet.
        """
        if not is_collection(X):
            return super().decision_function(X)
        n = len(self._in_memory().coef_)
        if n == 1:
            return self._by_blocks("decision_function", X, np.empty(0), drop_axis=1)
        return self._by_blocks("decision_function", X, np.empty((0, 0)), chunks=(n,))

    def predict(self, X):
        """Return the class of each sample.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask array of shape (n_samples,)
            For a dask collection, a dask array that is not computed yet.
        """
        if not is_collection(X):
            return super().predict(X)
        return self._by_blocks("predict", X, self._in_memory().classes_[:0], drop_axis=1)

    def score(self, X, y, sample_weight=None) -> float:
        """Return the accuracy, found block by block for dask collections.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or frame of shape (n_samples, n_features)
        y : array-like, dask array or dask series of shape (n_samples,)
        sample_weight : array-like, dask array or dask series of shape (n_samples,), optional

        Returns
        -------
        float
        """
        if not is_collection(X):
            return super().score(X, _here(y), sample_weight=_here(sample_weight))
        predicted = self.predict(X)
        if np.isnan(predicted.shape[0]):
            predicted = predicted.persist().compute_chunk_sizes()
        chunks = predicted.chunks
        right = predicted == _in_chunks(y, chunks)
        weights = None if sample_weight is None else _in_chunks(sample_weight, chunks)
        return float(da.average(right, weights=weights).compute())

    def _in_memory(self) -> Self:
        """Return a model with what predictions need, and no more, to be sent to workers."""
        check_is_fitted(self)
        model = DistributedLinearSVC()
        for name in ("classes_", "coef_", "intercept_", "n_features_in_"):
            setattr(model, name, getattr(self, name))
        return model

    def _by_blocks(self, method: str, X, meta: np.ndarray, *, chunks=None, **shape) -> da.Array:
        names = column_names(X)
        if names is not None and hasattr(self, "feature_names_in_"):
            if list(names) != list(self.feature_names_in_):
                raise ValueError(
                    f"X must have the columns of fit, in this order: {list(self.feature_names_in_)}"
                    f"; got {list(names)}."
                )
        X = as_array(X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must have shape (n, {self.n_features_in_}), as in fit, got {X.shape}."
            )
        if chunks is not None:
            shape["chunks"] = (X.chunks[0], chunks)
        function = getattr(self._in_memory(), method)
        return X.map_blocks(function, meta=meta, dtype=meta.dtype, **shape)


@dataclass(frozen=True)
class DistributedSVCPath:
    """Linear support vector classifiers for several C, returned by `distributed_svc_path`.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        Ascending: the strongest regularisation first.
    classes : ndarray of shape (n_classes,)
    coefs : ndarray of shape (n_Cs, n_problems, n_features)
    intercepts : ndarray of shape (n_Cs, n_problems)
    objectives : ndarray of shape (n_Cs, n_problems)
    dual_gaps : ndarray of shape (n_Cs,)
        Relative; the largest of all problems.
    n_iter : int
        Passes over the rows for all C together.
    """

    Cs: np.ndarray
    classes: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    objectives: np.ndarray
    dual_gaps: np.ndarray
    n_iter: int
    options: dict

    def __len__(self) -> int:
        return len(self.Cs)

    def __getitem__(self, i: int) -> DistributedLinearSVC:
        """Return the fitted estimator of a C."""
        model = DistributedLinearSVC(float(self.Cs[i]), **self.options)
        model.classes_, model.n_features_in_ = self.classes, self.coefs.shape[2]
        model.coef_, model.intercept_ = self.coefs[i], self.intercepts[i]
        model.objective_ = _one_or_all(self.objectives[i])
        model.dual_gap_, model.n_iter_ = float(self.dual_gaps[i]), self.n_iter
        return model


def distributed_svc_path(
    X,
    y,
    Cs: Sequence[float],
    *,
    sample_weight=None,
    loss: str = "squared_hinge",
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    tol: float = 1e-4,
    max_iter: int | None = None,
    class_weight=None,
    verbose: int = 0,
) -> DistributedSVCPath:
    """Fit `DistributedLinearSVC` for several C in the same passes over the rows.

    Parameters
    ----------
    X, y, sample_weight
        As in `DistributedLinearSVC.fit`.
    Cs : sequence of float
        Values > 0; sorted in ascending order in the result.
    loss, fit_intercept, intercept_scaling, tol, max_iter, class_weight, verbose
        As in `DistributedLinearSVC`.

    Returns
    -------
    DistributedSVCPath
        ``path[i]`` is the fitted estimator of ``path.Cs[i]``.

    Notes
    -----
    A pass costs as much as one for each C, but the rows are read once, and there are as many passes
    as the hardest C needs.
    """
    Cs = np.unique(np.asarray(Cs, dtype=np.float64))
    if Cs.size == 0 or not (np.isfinite(Cs) & (Cs > 0.0)).all():
        raise ValueError(f"Cs must hold at least one value, all finite and > 0, got {Cs.tolist()}.")
    options = {
        "loss": loss, "fit_intercept": fit_intercept, "intercept_scaling": intercept_scaling,
        "tol": tol, "max_iter": max_iter, "class_weight": class_weight, "verbose": verbose,
    }  # fmt: skip
    model = DistributedLinearSVC(**options)
    model._validate_params()
    with dask.config.set(QUIET):
        data = read_rows(connected(), X, y, sample_weight, class_weight)
        problems = _problems(model, data, Cs)
        found = _solve(model, data, problems, _from_part(data, problems, model.tol))
    shape = (Cs.size, -1)
    coefs, intercepts = _attributes(found.W, problems)
    return DistributedSVCPath(
        Cs, data.classes, coefs.reshape(Cs.size, -1, data.n_features), intercepts.reshape(shape),
        found.primal.reshape(shape), found.gap.reshape(shape).max(axis=1), model.n_iter_, options,
    )  # fmt: skip


def _problems(model: DistributedLinearSVC, data: LabelledRows, Cs: Sequence[float]) -> Problems:
    """Return the problems of each C: one for two classes, else one for each class."""
    positive = np.arange(data.classes.size) if data.classes.size > 2 else np.array([1])
    scale = float(model.intercept_scaling) if model.fit_intercept else 0.0
    problems = Problems(
        np.tile(positive, len(Cs)), np.repeat(np.asarray(Cs, dtype=np.float64), positive.size),
        scale, model.loss == "hinge", data.n_features + (scale > 0.0),
    )  # fmt: skip
    problems.check_memory()
    return problems


def _start_of(model, old: dict, data: LabelledRows, problems: Problems) -> np.ndarray:
    """Return the weights of the previous fit, or those for a part of the rows."""
    if not (model.warm_start and "coef_" in old):
        return _from_part(data, problems, model.tol)
    coef, intercept = old["coef_"], old["intercept_"]
    if not np.array_equal(old["classes_"], data.classes) or coef.shape[1] != data.n_features:
        raise ValueError("warm_start needs the classes and the columns of the previous fit.")
    if not problems.scale:
        return coef.T.copy()
    return np.vstack([coef.T, intercept / problems.scale])


def _from_part(data: LabelledRows, problems: Problems, tol: float) -> np.ndarray:
    """Return the weights for every so-manieth row, found here."""
    W = np.zeros((problems.width, problems.Cs.size))
    wanted = min(max(_LEAST_ROWS, _ROWS_A_WEIGHT * problems.width), _MOST_NUMBERS / problems.width)
    if not problems.with_matrix:
        return W
    step = int(max(data.n // wanted, 1))
    part = joined(data.blocks.map(thinned, step))
    local = replace(problems, Cs=problems.Cs * (data.n / part.codes.size))
    rough = tol if step == 1 else _ROUGH
    for found in Newton(LocalRows(part), local, W, rough).passes(_MOST_PASSES):  # noqa: B007
        pass
    return found.W.copy()


def _solve(model, data: LabelledRows, problems: Problems, start: np.ndarray) -> Iterate:
    """Pass over the rows until all gaps are small; set what the estimator has of its fit."""
    rows = ClusterRows(data.blocks)
    most = _MOST_PASSES if model.max_iter is None else model.max_iter
    history, began, found = [], perf_counter(), None
    with Tasks(model, None, "pass") as tasks:
        try:
            for found in Newton(rows, problems, start, model.tol).passes(most):
                worst = int(np.argmax(found.gap))
                gap, primal, dual = found.gap[worst], found.primal[worst], found.dual[worst]
                seconds = perf_counter() - began
                history.append((len(history) + 1, seconds, primal, dual, gap))
                _set(model, found, problems, rows.n_passes, history)
                if tasks.end_task(_progress(gap, model.tol), f"gap {gap:.1e}"):
                    break
        except LOST as error:
            if found is None:
                raise RuntimeError(
                    f"The Dask cluster was lost in the first pass: {error}"
                ) from error
            raise RuntimeError(
                f"The Dask cluster was lost in pass {rows.n_passes} ({error}). coef_, intercept_ "
                f"and dual_gap_ hold the last iterate, of relative gap {model.dual_gap_:.1e}; set "
                "warm_start=True and fit again to go on from it."
            ) from error
    if not model.dual_gap_ <= model.tol:
        warn_user(
            f"{type(model).__name__} stopped after {rows.n_passes} passes at a relative duality "
            f"gap of {model.dual_gap_:.1e} (tol={model.tol:g}). Standardise the features, or raise "
            "max_iter.",
            ConvergenceWarning,
        )
    return found


def _progress(gap: float, tol: float) -> float:
    """Return how far a gap has come from 1 to tol, on the scale of logarithms."""
    return float(np.clip(np.log(max(gap, tol)) / np.log(min(tol, 0.5)), 0.0, 1.0))


def _attributes(W: np.ndarray, problems: Problems) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients (n, d) and intercepts (n,) of weights (D, n)."""
    if not problems.scale:
        return W.T.copy(), np.zeros(W.shape[1])
    return W[:-1].T.copy(), problems.scale * W[-1]


def _set(model, found: Iterate, problems: Problems, n_passes: int, history: list) -> None:
    model.coef_, model.intercept_ = _attributes(found.W, problems)
    model.objective_ = _one_or_all(found.primal.copy())
    model.dual_gap_, model.n_iter_ = float(found.gap.max()), n_passes
    model.history_ = np.array(history, dtype=HISTORY)


def _one_or_all(values: np.ndarray):
    return float(values[0]) if values.size == 1 else values


def _here(values):
    return values.compute() if is_collection(values) else values


def _in_chunks(values, chunks) -> da.Array:
    """Return labels or weights as a dask array of these chunks."""
    if is_frame(values):
        values = values.to_dask_array(lengths=True)
    if not isinstance(values, da.Array):
        return da.from_array(np.asarray(values), chunks=chunks)
    if np.isnan(values.shape[0]):
        values = values.persist().compute_chunk_sizes()
    return values.rechunk(chunks)
