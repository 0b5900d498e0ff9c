"""Mahalanobis metric learning from comparisons of distances: the estimator."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skscreen.core.checks import TableLike, check_samples
from skscreen.core.sklearn_private import HasMethods, Interval, RealNotInt, StrOptions, fit_context
from skscreen.core.threads import N_JOBS
from skscreen.fitting.callbacks import CallbackSupportMixin, with_callbacks
from skscreen.fitting.path import forget
from skscreen.fitting.store import Store
from skscreen.metric_learning.distance import FLOATS, MahalanobisMixin, mapped
from skscreen.metric_learning.learning import checked_samples, fit_metric
from skscreen.metric_learning.parameters import Parameters, Supervision
from skscreen.metric_learning.problem.build import build
from skscreen.metric_learning.screened.decisions import metric_of, point_of, screened_at
from skscreen.metric_learning.screened.result import TripletScreening
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import RULES


class ScreenedRTLM(
    CallbackSupportMixin, MahalanobisMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin,
    BaseEstimator,
):  # fmt: skip
    r"""Mahalanobis metric from triplets, with safe screening and a certificate of optimality.

    Regularised triplet loss minimisation: over positive semidefinite :math:`M`

    .. math::

        P(M) = \sum_{(i,j,k)} \ell\bigl(d_M^2(x_i, x_k) - d_M^2(x_i, x_j)\bigr)
        + \frac{\lambda}{2} \lVert M \rVert_F^2

    where x_j is of the class of x_i and x_k is not. All triplets of nearest neighbours are used,
    not a sample of them: screening proves which triplets cannot change the optimum, and drops
    these. The fit stops on the relative duality gap of the full problem.

    Instead of labels, `fit` also takes comparisons: triplets, quadruplets, bounds on the distances
    of pairs, or all of them together, with weights.

    Parameters
    ----------
    lam : float, default=0.01
        Strength of the regularisation, > 0.
    relative_lam : bool, default=True
        Whether `lam` is a fraction of lambda_max, above which the solution is known in closed form.
        The same fractions suit data of any scale and any number of triplets. With `pairs`, a small
        U makes lambda_max large: then try a much smaller `lam`.
    n_neighbors : int or None, default=5
        Number of nearest neighbours (Euclidean) of each sample in its own class, and as many in the
        other classes; fewer if a class is smaller, but less than the number of samples. None takes
        all; see the notes for the cost.
    loss : {"smoothed_hinge", "hinge", "squared_hinge"}, default="smoothed_hinge"
        Loss of the margin x of a triplet, with threshold 1; "squared_hinge" is max(0, 1 - x)^2.
    width : float, default=0.05
        Width of the quadratic piece of the smoothed hinge, in (0, 1). Ignored by other losses.
    pull : float, default=0.0
        Weight >= 0 of an additional term in the objective, the sum of d_M^2(x_i, x_j) over the
        target neighbours, which are the pairs (i, j) of the same class in the triplets from labels
        (Weinberger and Saul 2009). Ignored with comparisons, which have no target neighbours.
    linear_term : array-like of shape (n_features, n_features), "trace" or None, default=None
        A symmetric matrix C, of any signs: <C, M> is added to the objective (section 6.3 of the
        paper). "trace" is the trace of M, its nuclear norm, which makes the rank small; a
        multiple of it is ``t * np.eye(n_features)``. For a diagonal metric the diagonal of C
        counts, and may be given alone.
    diagonal : bool, default=False
        Whether to learn feature weights (a diagonal M >= 0) instead of a full matrix.
    bound : str or sequence of str, default=("gap",)
        Bounds for screening, any of "gap", "gb", "pgb", "dgb", "cdgb", "rrpb". With several of
        them, a triplet is dropped as soon as one bound allows it. "gap" is the tightest for its
        cost; the others are those of the paper: gradient, projected gradient, duality gap,
        constrained duality gap, and the regularisation path bound (Yoshida et al. 2019).
    rule : {"sphere", "linear", "semidefinite"} or None, default=None
        A bound is a ball that contains the optimum. A triplet is decided if its loss is zero, or
        linear, for all matrices of the ball ("sphere", 4.1 of the paper), for those on one side of
        a plane ("linear"), or for those that are positive semidefinite ("semidefinite", for "gb"
        and a full matrix the same as "linear"); each decides all that the ones before it do, at a
        higher cost. None is "sphere" for the bounds of the paper; for "gap" alone, it decides all
        triplets of a near pair at once, with a bound of the norm: nearly as many, in less time.
    screening : bool, default=True
        If False, no triplet is dropped, and `bound`, `rule` and `screen_every` are ignored. The
        solution does not change.
    screen_every : int, default=10
        Number of iterations between two dynamic screening steps.
    active_set : bool, default=True
        Whether to ignore triplets without loss between two screening steps. This is a heuristic;
        optimality is confirmed on all triplets.
    tol : float, default=1e-6
        Relative duality gap of the full problem at which the fit stops.
    max_iter : int or None, default=None
        Largest number of steps of the solvers for one value of lambda; None is 10,000.
    store : str, path, Store or None, default=None
        A folder for solutions. Fits of the same data with other values of `lam` start from the
        nearest stored solutions and use them for screening; the solution is the same, within `tol`.
        The gain is smaller for "hinge", whose dual variables are not stored. See `Store`.
    n_components : int, float or None, default=None
        Number of eigenvalues to keep, the largest ones, at most n_features. A float in (0, 1) keeps
        as many as make up this share of the trace, None all. `truncated_objective_` is the
        objective of what is kept; the certificate is that of the whole metric.
    neighbors : sparse matrix of shape (n_samples, n_samples), transformer or None, default=None
        Precomputed neighbours: a sparse graph of distances to the neighbours of each sample, or a
        transformer that makes one, such as `KNeighborsTransformer`. For each sample the nearest
        `n_neighbors` of its own class and of other classes are then taken from its row; a sample
        without one of the two has no triplets. Ignored with comparisons.
    unlabelled : label or None, default=None
        Label that marks samples whose class is not known, for example -1; they are in no triplet.
        None: all labels are classes.
    n_jobs : int or None, default=None
        Number of parallel jobs of the neighbour search.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (r, n_features_in_)
        Linear map with M = components_.T @ components_, sorted by decreasing eigenvalue; r is the
        rank of M. In single precision if X is.
    lam_, lam_max_ : float
        Absolute strength of the regularisation, and lambda_max of the data: the smallest known
        lambda from which on every triplet is on the linear piece of its loss; for the squared
        hinge, that at which the metric S / lambda, S of the zero metric, first has a margin of 1.
    objective_, dual_objective_ : float
        P(M), and the lower bound on the optimum given by the dual variables.
    dual_gap_ : float
        Relative duality gap (P - D) / P of the full problem, including an allowance for rounding
        errors.
    truncated_objective_ : float
        P of components_.T @ components_; the same as `objective_` unless `n_components` truncates.
    n_iter_ : int
        Total number of solver steps, including those of the coarse path that leads to `lam`.
    n_triplets_ : int
        Number of triplets of the problem; with explicit comparisons, the number of comparisons of
        positive weight, including quadruplets and pairs.
    history_ : structured ndarray
        Fields "iteration", "seconds", "primal", "dual" and "gap", the relative duality gap: an
        entry for the start and for each round of steps of the last solve, that for `lam`.
    screening_history_ : structured ndarray of shape (n_steps,)
        The screening steps: "where", the value of lambda ("parameter", named in
        `screening_parameter_`), the "iteration", how many triplets are proven to be in the "zero"
        part of the loss or in the linear part ("at_bound"), how many are "undecided", the "rate" of
        the former among all triplets, and "seconds".
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Raises
    ------
    ValueError, TypeError
        For invalid parameters, data, labels or comparisons; the message names the argument.
    MemoryError
        If the pairs, or matrices of the size of the metric, would not fit into the free memory;
        names the number of triplets or features, and bytes.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`; names the gap that was reached.
    UserWarning
        If one feature dominates the distances, classes have a single member, or the zero metric is
        optimal.

    Notes
    -----
    An evaluation costs O(n d r + (pairs) d) and a fraction of a nanosecond per triplet. Memory
    grows with the number of pairs: about 280 bytes each. The hinge, and a lambda so small that more
    than 200 steps are needed for at most ten million triplets, need 16 bytes more per triplet.

    With at least 96 far and about 32 near neighbours, m near and k far neighbours of a sample cost
    O(k + m log k) instead of O(m k) with the smoothed hinge, plus the triplets on the quadratic
    piece: when the far neighbours are sorted by distance, most losses are seen at once to be zero
    or linear. With ``n_neighbors=None`` and n samples there are about n^2 pairs, and memory is the
    limit: 1.1 GB for 2,000 samples, and four times as much for twice as many.

    Screening pays if a solve takes many iterations on many triplets; if it takes only a few,
    screening costs as much as it saves or more. The linear and the semidefinite rule decide about
    one per cent more triplets (with "gb" many more), and cost more than they save.

    References
    ----------
    T. Yoshida, I. Takeuchi, M. Karasuyama (2019). Safe triplet screening for distance metric
    learning. Neural Computation 31, 2432-2491. Equations 2.1 to 2.6, Algorithm 1, section 6.3.

    K. Q. Weinberger, L. K. Saul (2009). Distance metric learning for large margin nearest neighbor
    classification. Journal of Machine Learning Research 10, 207-244. Equations 11 to 13.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skscreen import ScreenedRTLM
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), ScreenedRTLM(), KNeighborsClassifier())
    >>> model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "lam": [Interval(Real, 0, None, closed="neither")],
        "relative_lam": ["boolean"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "loss": [StrOptions({"smoothed_hinge", "hinge", "squared_hinge"})],
        "width": [Interval(Real, 0, 1, closed="neither")],
        "pull": [Interval(Real, 0, 1e40, closed="both")],
        "linear_term": ["array-like", StrOptions({"trace"}), None],
        "diagonal": ["boolean"],
        "bound": [StrOptions(set(BOUNDS)), list, tuple],
        "rule": [StrOptions(set(RULES)), None],
        "screening": ["boolean"],
        "screen_every": [Interval(Integral, 1, None, closed="left")],
        "active_set": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "store": [str, os.PathLike, Store, None],
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "neighbors": ["sparse matrix", HasMethods(["fit_transform"]), None],
        "unlabelled": [Real, str, None],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
    }

    def __init__(
        self, lam=0.01, *, relative_lam=True, n_neighbors=5, loss="smoothed_hinge", width=0.05,
        pull=0.0, linear_term=None, diagonal=False, bound=("gap",), rule=None, screening=True,
        screen_every=10, active_set=True, tol=1e-6, max_iter=None, store=None, n_components=None,
        neighbors=None, unlabelled=None, n_jobs=None, verbose=0,
    ):  # fmt: skip
        self.lam = lam
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

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self, X: TableLike, y: ArrayLike | None = None, *, triplets: ArrayLike | None = None,
        quadruplets: ArrayLike | None = None, pairs: tuple[ArrayLike, ...] | None = None,
        sample_weight: ArrayLike | None = None, comparison_weight: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Learn the metric from labels, or from any lists of comparisons together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Best standardised, because the triplets are those of Euclidean neighbours.
        y : array-like of shape (n_samples,), optional
            Class labels. The member of a class of one has no triplets of its own. Ignored with
            comparisons, so that in a pipeline y can be for the classifier that follows.
        triplets : array-like of shape (n_triplets, 3), integer, optional
            Rows (i, j, k): sample i should be nearer to j than to k, by 1 in squared distance.
        quadruplets : array-like of shape (n_quadruplets, 4), integer, optional
            Rows (i, j, k, l): samples i and j should be nearer to each other than k and l.
        pairs : tuple (S, D, U, L) or (S, D), optional
            Similar pairs S and dissimilar pairs D, integer arrays of shape (n, 2); with bounds one
            of them may be empty. Squared distances of S should be at most U and those of D at least
            L, positive numbers, or one for each pair: thresholds in the place of 1. Without bounds,
            every pair of S should be nearer than every pair of D, by 1. These |S| |D| comparisons
            are never listed, and cannot be combined with others.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0 of the samples, with labels: the losses of the triplets (i, j, k) count
            times the weight of i. A sample of weight 0 is left out.
        comparison_weight : array-like of shape (n_comparisons,), optional
            Weights >= 0 of the comparisons, in the order triplets, quadruplets, similar pairs,
            dissimilar pairs; a weight of 0 drops a comparison. Not with labels, nor (S, D).

        Returns
        -------
        ScreenedRTLM
        """
        forget(self)
        supervision = Supervision(y, sample_weight, triplets, quadruplets, pairs, comparison_weight)
        fit_metric(self, Parameters.of(self), checked_samples(self, X), supervision)
        return self

    def screened(
        self, X: TableLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, *,
        triplets: ArrayLike | None = None, comparison_weight: ArrayLike | None = None,
    ) -> TripletScreening:  # fmt: skip
        """Return the decisions that the metric proves at its own lambda, see `screen_triplets`.

        Parameters
        ----------
        X, y, sample_weight, triplets, comparison_weight
            As in `fit`. What is decided is proved for these samples, whichever the metric was
            fitted on; of those of the fit it decides most.

        Returns
        -------
        TripletScreening
        """
        check_is_fitted(self)
        samples = checked_samples(self, X, reset=False)
        supervision = Supervision(
            y, sample_weight, triplets=triplets, comparison_weight=comparison_weight
        )
        problem = build(samples, Parameters.of(self), supervision)
        lam = problem.in_coordinates(self.lam_)
        point = point_of(problem, metric_of(self.components_, self.diagonal))
        return screened_at(problem, lam, point, lam)

    def transform(self, X: TableLike) -> np.ndarray:
        """Map samples such that Euclidean distances are the learned distances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, r)
            In the precision of X.
        """
        check_is_fitted(self)
        X = check_samples(X, model=self, reset=False, dtype=FLOATS)
        return mapped(X, self.components_)

    def __sklearn_tags__(self):
        """Labels are needed (unless comparisons are given); single precision is kept."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]
