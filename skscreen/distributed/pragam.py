"""Linear support vector machines on rows that are spread over Dask workers."""

from typing import ClassVar, Self

import dask
import dask.array as da
import numpy as np
from sklearn.base import _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skscreen.distributed.parts import QUIET, connected
from skscreen.distributed.samples import PartitionedSamples
from skscreen.fitting.callbacks import with_callbacks
from skscreen.fitting.path import forget
from skscreen.pragam.estimator import (
    PragamSVC,
    check_options,
    set_fit,
    solve_problems,
    starts_at,
    warn_unless_converged,
)
from skscreen.samples.labels import check_labels


class DistributedPragamSVC(PragamSVC):
    r"""Linear support vector classifier with a certified optimum, for rows on Dask workers.

    The problem, the algorithms and the certificate are those of `PragamSVC`:

    .. math::

        J(w, b) = \tfrac\lambda2 \lVert w \rVert^2
                  + \tfrac1S \sum_i s_i \max(0, 1 - y_i (\langle w, x_i \rangle + b)),
        \quad \lambda = \frac1{C S}, \quad S = \sum_i s_i.

    The rows stay where Dask puts them. The driver sends w and dual variables, and receives margins
    and sums of rows, which are vectors of n and of d numbers. If a worker is lost, Dask loads its
    rows again.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0; lam = 1 / (C S).
    fit_intercept : bool, default=True
        Whether to fit an intercept b, which is not penalised; otherwise b = 0.
    algorithm : {"pragam", "bmrm", "ls-bmrm", "pegasos"}, default="pragam"
        See `PragamSVC`. "pegasos" takes all samples in every step.
    lipschitz : "auto" or float, default="auto"
        For "pragam", the Lipschitz constant L of the gradient of D.
    restart : bool, default=True
        For "pragam", whether to restart each time the gap has shrunk to a tenth.
    projection : bool, default=True
        For "pegasos", whether to project onto the ball of radius 1 / sqrt(lam) after each step.
    tol : float, default=1e-4
        Absolute duality gap J - D at which the fit stops, > 0. J is at most 1.
    max_iter : int or None, default=None
        Largest number of iterations (steps) for each problem. None is 2000 for "bmrm", else 100000.
    class_weight : dict, "balanced" or None, default=None
        Factors >= 0 that multiply the weights of the samples of each class, 1 for classes not in
        the dict.
    warm_start : bool, default=False
        Whether to start from the previous fit, which must have had the same samples. Not for
        "pegasos".
    n_jobs : int or None, default=None
        Threads of the driver for the two-class problems of a multiclass fit, whose products then
        run on the cluster in parallel.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_, coef_, intercept_, dual_coef_, objective_, dual_gap_, n_iter_, history_
        As in `PragamSVC`: NumPy arrays and numbers. A fitted model needs no cluster.
    n_features_in_ : int

    Raises
    ------
    TypeError
        If X in `fit` is not a dask array.
    ValueError
        For invalid parameters, data, labels or weights, and for parameters without effect; the
        message names the argument.
    MemoryError
        If the solutions of many classes, or the planes of "bmrm", would not fit into the free
        memory of the driver.
    RuntimeError
        If there is no Dask client, or `fit` is called inside a task of the cluster.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` iterations did not reach `tol`; names the gap that was reached.

    Notes
    -----
    Each product with X is one task for each chunk of rows, with a round trip of a few milliseconds,
    so it is best to have about as many chunks as the cluster has threads. Chunks of C-ordered
    floats are not copied, except if they contain samples of weight zero, which are dropped.

    Sums over blocks are taken in a fixed order, so the solution is that of `PragamSVC` up to
    rounding errors, whichever worker holds which block.

    References
    ----------
    A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). Lower bounds for BMRM and faster rates for
    training SVMs. arXiv:0909.1334. Algorithm 1, equations (4) and (23) to (26).

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from skscreen.distributed import DistributedPragamSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> with Client(processes=False, n_workers=1, dashboard_address=None):
    ...     model = DistributedPragamSVC().fit(da.from_array(X, chunks=(50, 4)), y > 1)
    >>> model.dual_gap_ <= 1e-4
    True
    """

    # Small batches read single rows, which are on the workers.
    batch_size = random_state = None

    _parameter_constraints: ClassVar[dict] = {
        name: kinds
        for name, kinds in PragamSVC._parameter_constraints.items()
        if name not in ("batch_size", "random_state", "store")
    }

    def __init__(
        self,
        C=1.0,
        *,
        fit_intercept=True,
        algorithm="pragam",
        lipschitz="auto",
        restart=True,
        projection=True,
        tol=1e-4,
        max_iter=None,
        class_weight=None,
        warm_start=False,
        n_jobs=None,
        verbose=0,
    ):
        self.C = C
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.lipschitz = lipschitz
        self.restart = restart
        self.projection = projection
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y, sample_weight=None) -> Self:
        """Learn the classifier.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features)
            Dense chunks, or chunks of CSR, best standardised. Several chunks of columns are merged
            into one.
        y : array-like or dask array of shape (n_samples,)
            Class labels, which are sent to the driver.
        sample_weight : array-like or dask array of shape (n_samples,), optional
            Weights >= 0 that multiply the losses.

        Returns
        -------
        DistributedPragamSVC
        """
        client = connected()
        check_options(self, self.warm_start)
        old = forget(self)
        X, y, sample_weight = _check_rows(X), _in_memory(y), _in_memory(sample_weight)
        check_consistent_length(X, y, sample_weight)
        labels = check_labels(y, y, sample_weight, self.class_weight)
        self.n_features_in_ = X.shape[1]
        samples = PartitionedSamples.of(client, X, labels.rows)
        starts = starts_at(old if self.warm_start else {}, labels, X.shape)
        # Threads that set and restore this on their own would restore what others have set.
        with dask.config.set(QUIET):
            fits = solve_problems(self, float(self.C), labels, X.shape, samples.signed, starts)
        warn_unless_converged(self, fits)
        return set_fit(self, float(self.C), labels, X.shape[0], fits)

    def decision_function(self, X):
        """Return <w, x> + b: positive for the second of two classes, or a column for each class.

        Parameters
        ----------
        X : array-like, sparse matrix or dask array of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask array of shape (n_samples,) or (n_samples, n_classes)
            For a dask array, a dask array that is not computed yet.
        """
        if not isinstance(X, da.Array):
            return super().decision_function(X)
        n_columns = len(self._in_memory().coef_)
        if n_columns == 1:
            return self._by_blocks("decision_function", X, np.empty(0), drop_axis=1)
        return self._by_blocks(
            "decision_function", X, np.empty((0, 0)), chunks=(X.chunks[0], (n_columns,))
        )

    def predict(self, X):
        """Return the class of each sample.

        Parameters
        ----------
        X : array-like, sparse matrix or dask array of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask array of shape (n_samples,)
            For a dask array, a dask array that is not computed yet.
        """
        if not isinstance(X, da.Array):
            return super().predict(X)
        return self._by_blocks("predict", X, self._in_memory().classes_[:0], drop_axis=1)

    def score(self, X, y, sample_weight=None) -> float:
        """Return the accuracy, also for dask arrays as a number.

        Parameters
        ----------
        X : array-like, sparse matrix or dask array of shape (n_samples, n_features)
        y : array-like or dask array of shape (n_samples,)
        sample_weight : array-like or dask array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        y, weights = _in_memory(y), _in_memory(sample_weight)
        return accuracy_score(y, _in_memory(self.predict(X)), sample_weight=weights)

    def _in_memory(self) -> PragamSVC:
        """Return a model with what predictions need, and no more, to be sent to workers."""
        check_is_fitted(self)
        model = PragamSVC()
        for name in ("classes_", "coef_", "intercept_", "n_features_in_"):
            setattr(model, name, getattr(self, name))
        return model

    def _by_blocks(self, method: str, X: da.Array, meta: np.ndarray, **shape) -> da.Array:
        _check_columns(X, self.n_features_in_)
        function = getattr(self._in_memory(), method)
        return _one_column_chunk(X).map_blocks(function, meta=meta, dtype=meta.dtype, **shape)


def _check_rows(X) -> da.Array:
    """Return a dask array of numbers with known, non-empty chunks of whole rows."""
    if not isinstance(X, da.Array):
        raise TypeError(
            f"X must be a dask array, got {type(X).__name__}. Make one by dask.array.from_array, "
            "or use PragamSVC for data in memory."
        )
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold real numbers, got dtype {X.dtype}.")
    X = _one_column_chunk(X)
    if np.isnan(X.shape[0]):
        X = X.persist().compute_chunk_sizes()
    if 0 in X.shape:
        raise ValueError(f"X must have at least one row and one column, got shape {X.shape}.")
    return X


def _check_columns(X: da.Array, n_features: int) -> None:
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(f"X must have shape (n, {n_features}), as in fit, got {X.shape}.")


def _one_column_chunk(X: da.Array) -> da.Array:
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _in_memory(values):
    return values.compute() if isinstance(values, da.Array) else values
