"""Linear support vector machines on rows that are spread over Dask workers."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import dask
import dask.array as da
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skscreen.core.checks import Matrix, MatrixLike, refuse_masked
from skscreen.core.sklearn_private import Interval, LinearClassifierMixin, StrOptions, fit_context
from skscreen.distributed.linear_fit import problems_of, solve_rows, start_of
from skscreen.distributed.parts import QUIET, connected
from skscreen.distributed.rows import (
    as_array,
    as_vector,
    check_block_weights,
    classes_of,
    column_names,
    holds_strings,
    is_collection,
    read_rows,
)
from skscreen.fitting.callbacks import CallbackSupportMixin, with_callbacks
from skscreen.fitting.path import forget


class DistributedLinearSVC(LinearClassifierMixin, CallbackSupportMixin, BaseEstimator):
    r"""Linear support vector classifier with a certified optimum, for rows on Dask workers.

    The problem is that of `ScreenedLinearSVC` and of scikit-learn's `LinearSVC`: for two classes,
    y_i = +-1 and f(x) = <w, x> + b,

    .. math::

        P(w, b) = \tfrac12 (\lVert w \rVert^2 + b^2 / B^2) + C \sum_i s_i \max(0, 1 - y_i f(x_i))^2

    with B = `intercept_scaling`, or the hinge without the square. In a pass over the rows, each
    worker sends back sums: the objective, the gradient and the Hessian. The driver takes a Newton
    step. More classes are handled one-vs-rest, in the same passes.

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
        the dict. "balanced" gives all classes the same total weight. With more than two classes a
        class weight counts in the problem of its class; the samples of the rest have their sample
        weights there, as in `LinearSVC`.
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

    Chunks of float32 are not copied to float64, but margins, gradients and certificates are in
    double precision. Features should be standardised. Sums are taken in the order of the blocks,
    whichever worker did what. If a worker is lost, Dask loads its rows and repeats what it held.
    The start is the solution for a few thousand rows, found by the driver.

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
        self, C=1.0, *, loss="squared_hinge", fit_intercept=True, intercept_scaling=1.0, tol=1e-4,
        max_iter=None, class_weight=None, warm_start=False, verbose=0,
    ):  # fmt: skip
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self, X: da.Array | MatrixLike, y: da.Array | ArrayLike,
        sample_weight: da.Array | ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Learn the classifier.

        Parameters
        ----------
        X : dask array or dask frame of shape (n_samples, n_features)
            Dense chunks, or chunks of CSR; several chunks of columns are merged into one. All that
            is not float32 is worked on as float64. Columns of a frame are numbers or booleans.
            Chunks may be empty, and Dask need not know how long they are.
        y : dask array, dask series or array-like of shape (n_samples,)
            Class labels, none missing. Rows, labels and weights belong together by position,
            whatever index they have.
        sample_weight : dask array, dask series or array-like of shape (n_samples,), optional
            Weights >= 0 that multiply the losses.

        Returns
        -------
        DistributedLinearSVC
        """
        client, old = connected(), forget(self)
        with dask.config.set(QUIET):
            data = read_rows(client, X, y, sample_weight, self.class_weight)
            problems = problems_of(self, data, [float(self.C)])
            start = start_of(self, old, data, problems)
            self.classes_, self.n_features_in_ = data.classes, data.n_features
            if data.names is not None:
                self.feature_names_in_ = data.names
            solve_rows(self, data, problems, start)
        return self

    def decision_function(self, X: da.Array | MatrixLike) -> Any:
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

    def predict(self, X: da.Array | MatrixLike) -> Any:
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

    def score(
        self, X: da.Array | MatrixLike, y: da.Array | ArrayLike,
        sample_weight: da.Array | ArrayLike | None = None,
    ) -> float:  # fmt: skip
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
        truth = _in_chunks("y", y, chunks)
        right = da.map_blocks(_are_right, predicted, truth, meta=np.empty(0, bool), dtype=bool)
        if sample_weight is None:
            return float(right.mean().compute())
        weights = _in_chunks("sample_weight", sample_weight, chunks)
        weights = da.map_blocks(_weights_of, weights, meta=np.empty(0), dtype=np.float64)
        hits, total = dask.compute((right * weights).sum(), weights.sum())
        if total == 0.0:
            raise ValueError("sample_weight must not be zero for all samples.")
        return float(hits / total)

    def _in_memory(self) -> Self:
        """Return a model with what predictions need, and no more, to be sent to workers."""
        check_is_fitted(self)
        model = DistributedLinearSVC()
        for name in ("classes_", "coef_", "intercept_", "n_features_in_"):
            setattr(model, name, getattr(self, name))
        return model

    def _by_blocks(
        self, method: str, X: da.Array | MatrixLike, meta: np.ndarray, *,
        chunks: tuple | None = None, **shape,
    ) -> da.Array:  # fmt: skip
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
        return da.map_blocks(
            _of_block, X, self._in_memory(), method, meta=meta, dtype=meta.dtype, **shape
        )


def _of_block(rows: Matrix, model: DistributedLinearSVC, method: str) -> np.ndarray:
    """Return the predictions for a block, which may have no rows."""
    if rows.shape[0]:
        return getattr(model, method)(rows)
    return getattr(model, method)(np.zeros((1, rows.shape[1])))[:0]


def _here(values: Any):
    return values.compute() if is_collection(values) else values


def _in_chunks(name: str, values: da.Array | ArrayLike, chunks: tuple) -> da.Array:
    """Return labels or weights as a dask array of these chunks."""
    found = as_vector(name, values)
    if isinstance(found, da.Array) and np.isnan(found.shape[0]):
        found = found.persist().compute_chunk_sizes()
    if found.shape != (sum(chunks[0]),):
        raise ValueError(f"{name} must have shape ({sum(chunks[0])},), got {found.shape}.")
    if not isinstance(found, da.Array):
        return da.from_array(found, chunks=chunks)
    return found.rechunk(chunks)


def _weights_of(values: ArrayLike, block_info: Any = None) -> np.ndarray:
    return check_block_weights(values, block_info[0]["chunk-location"][0])


def _are_right(predicted: np.ndarray, truth: ArrayLike, block_info: Any = None) -> np.ndarray:
    """Return which predictions of a block are right; refuse labels of another kind, or missing."""
    number = block_info[0]["chunk-location"][0]
    refuse_masked(truth, f"block {number} of y")
    classes = classes_of(truth, number)
    if classes.size and holds_strings(classes) != holds_strings(predicted):
        raise ValueError("y must hold labels as those of fit: either strings or numbers.")
    return predicted == np.asarray(truth)
