"""Mahalanobis metric learning with the triplets spread over Dask workers."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar, Self, cast

import dask
import dask.array as da
import numpy as np
from numpy.typing import ArrayLike

from skscreen.core.checks import MatrixLike
from skscreen.core.sklearn_private import Interval, fit_context
from skscreen.distributed.comparisons import PartitionedComparisons
from skscreen.distributed.parts import connected
from skscreen.fitting.callbacks import with_callbacks
from skscreen.fitting.path import forget
from skscreen.metric_learning.estimator import ScreenedRTLM
from skscreen.metric_learning.learning import checked_samples, learn
from skscreen.metric_learning.parameters import Parameters, Supervision
from skscreen.metric_learning.problem.build import domain_of, linear_part, warn_of_zero_metric
from skscreen.metric_learning.problem.compared import read_labels
from skscreen.metric_learning.problem.comparisons import Comparisons, DiagonalComparisons
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Problem
from skscreen.metric_learning.problem.samples import read_samples

# Parameters of `ScreenedRTLM` that need single items on the driver, or a single machine.
_NOT_HERE = (
    "active_set", "store", "n_jobs", "n_components", "neighbors", "unlabelled", "linear_term",
)  # fmt: skip


class DistributedRTLM(ScreenedRTLM):
    r"""Mahalanobis metric from class labels, with the triplets on Dask workers; certified.

    The problem, the solver and the certificate are those of `ScreenedRTLM`: over positive
    semidefinite M

    .. math::

        P(M) = \sum_{(i,j,l)} \ell(d_M^2(x_i, x_l) - d_M^2(x_i, x_j))
               + \tfrac\lambda2 \lVert M \rVert_F^2

    where x_j is of the class of x_i and x_l is not. The anchors i are divided among the workers,
    which find their neighbours, store the pairs, evaluate, screen, and drop decided triplets. The
    driver only receives sums: values, counts and matrices of shape (d, d). If a worker is lost,
    Dask builds its triplets again.

    Parameters
    ----------
    lam, relative_lam, n_neighbors
        See `ScreenedRTLM`.
    loss : {"smoothed_hinge", "squared_hinge"}, default="smoothed_hinge"
        The hinge of `ScreenedRTLM` is not available, because it needs a dual variable for each
        triplet.
    width, pull, diagonal
        See `ScreenedRTLM`.
    bound, rule, screening, screen_every, tol, max_iter
        See `ScreenedRTLM`.
    n_partitions : int or None, default=None
        Number of parts into which the anchors are divided; None is one for each thread of the
        workers.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (r, n_features_in_)
        Linear map with M = components_.T @ components_.
    lam_, lam_max_, objective_, dual_objective_, dual_gap_, n_iter_, n_triplets_
        As in `ScreenedRTLM`.
    history_, screening_history_ : structured ndarray
        As in `ScreenedRTLM`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Raises
    ------
    ValueError
        For invalid parameters, data or labels; the message names the argument.
    MemoryError
        If the pairs of a part would not fit into the free memory of its worker.
    RuntimeError
        If there is no Dask client, or `fit` is called inside a task of the cluster.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`; names the gap that was reached.

    Notes
    -----
    X and the labels are sent to all workers, and the scheduler keeps a copy. A worker needs memory
    for its share of the pairs, about 280 bytes each.

    Each evaluation is one round trip to the workers, which takes some milliseconds. This pays if an
    evaluation takes much longer on one machine, or if the pairs do not fit into its memory. The
    active set and the interior-point method of `ScreenedRTLM` are not used. Of samples at the same
    distance, a worker may choose other neighbours than `ScreenedRTLM` does.

    References
    ----------
    T. Yoshida, I. Takeuchi, M. Karasuyama (2019). Safe triplet screening for distance metric
    learning. Neural Computation 31, 2432-2491. Equations 2.1 to 2.6, Algorithm 1.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from skscreen.distributed import DistributedRTLM
    >>> X, y = load_iris(return_X_y=True)
    >>> with Client(processes=False, n_workers=1, dashboard_address=None):
    ...     model = DistributedRTLM().fit(X, y)
    >>> model.dual_gap_ <= 1e-6
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **{
            name: kinds
            for name, kinds in ScreenedRTLM._parameter_constraints.items()
            if name not in _NOT_HERE
        },
        "n_partitions": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self, lam=0.01, *, n_partitions=None, relative_lam=True, n_neighbors=5,
        loss="smoothed_hinge", width=0.05, pull=0.0, diagonal=False, bound=("gap",), rule=None,
        screening=True, screen_every=10, tol=1e-6, max_iter=None, verbose=0,
    ):  # fmt: skip
        self.lam = lam
        self.n_partitions = n_partitions
        self.relative_lam = relative_lam
        self.n_neighbors = n_neighbors
        self.loss = loss
        self.width = width
        self.pull = pull
        self.diagonal = diagonal
        self.bound = bound
        self.rule = rule
        self.screening = screening
        self.screen_every = screen_every
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: da.Array | MatrixLike, y: da.Array | ArrayLike) -> Self:  # type: ignore[override]
        """Learn the metric from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Best standardised. A dask array or frame is loaded into the memory of the driver.
        y : array-like of shape (n_samples,)
            Class labels, also a dask array or series. Classes of one member only have far samples;
            a warning says so.

        Returns
        -------
        DistributedRTLM
        """
        forget(self)
        X, y = dask.compute(X, y, traverse=False)
        parameters = Parameters.of(self, active_set=False)
        X, supervision = checked_samples(self, X), Supervision(y)
        samples = read_samples(X, None, self.diagonal)
        domain_of(parameters).check_memory(X.shape[1])
        codes = read_labels(samples, parameters, supervision).codes
        loss, known = parameters.loss_function, codes >= 0
        # It does what a problem asks of `Comparisons`.
        geometry = cast(Comparisons, _geometry(self, samples.Z[known], codes[known], loss))
        problem = Problem(
            geometry, loss, domain_of(parameters),
            *linear_part(geometry, samples, None, float(self.pull)), unit=samples.unit,
            dtype=X.dtype.type,
        )  # fmt: skip
        warn_of_zero_metric(problem, samples, "triplets")
        learn(self, problem, parameters, X, supervision)
        return self


def _geometry(
    model: DistributedRTLM, X: np.ndarray, codes: np.ndarray, loss: SmoothedHinge
) -> PartitionedComparisons:
    if loss.width == 0.0:
        raise ValueError(
            "loss must be 'smoothed_hinge' or 'squared_hinge', got 'hinge', which keeps a dual "
            "variable for each triplet. A small width is nearly the hinge, but takes many steps; "
            "ScreenedRTLM has it."
        )
    kind = DiagonalComparisons if model.diagonal else Comparisons
    return PartitionedComparisons.from_labels(
        connected(), X, codes, model.n_neighbors, kind, model.n_partitions
    )
