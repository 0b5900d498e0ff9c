"""Metric learners whose samples are comparisons: pairs, triplets, quadruplets."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from skscreen.core.sklearn_private import fit_context
from skscreen.fitting.callbacks import with_callbacks
from skscreen.metric_learning.distance import MahalanobisMixin
from skscreen.metric_learning.parameters import Supervision
from skscreen.metric_learning.supervision import check_weights_in_range
from skscreen.metric_learning.threshold import best_threshold, check_calibration
from skscreen.metric_learning.tuple_base import (
    ComparisonsClassifier,
    TuplesClassifier,
    check_answers,
    fit_comparisons,
    learn_metric,
    read_tuples,
)


class RTLMPairsClassifier(TuplesClassifier):
    r"""Metric from similar and dissimilar pairs, and a classifier of new pairs.

    Every similar pair should be nearer than every dissimilar pair. Minimised over positive
    semidefinite M is

    .. math::

        P(M) = \sum_{(i,j) \in S} \sum_{(k,l) \in D} \ell(d_M^2(x_k, x_l) - d_M^2(x_i, x_j))
               + \tfrac\lambda2 \lVert M \rVert_F^2

    All |S| |D| comparisons count, although they are never listed. This is a ranking of pairs, and
    `score` is its area under the ROC curve. With `bounds` = (U, L) each pair is compared with a
    bound instead: d_M^2 <= U if similar, d_M^2 >= L if not.

    The samples are pairs, so cross-validation splits pairs. A threshold on the distance turns the
    ranking into decisions. `fit` calibrates the threshold on the training pairs; better calibrate
    it on other pairs with `calibrate_threshold`.

    Parameters
    ----------
    lam : float, default=0.01
        Strength of the regularisation, > 0.
    relative_lam : bool, default=True
        Whether `lam` is a fraction of the data's lambda_max; see `ScreenedRTLM`.
    bounds : tuple (U, L) or None, default=None
        Positive bounds on squared distances, or none.
    loss, width, linear_term, diagonal, screening, tol, max_iter, store, n_components, verbose
        See `ScreenedRTLM`.
    preprocessor : array-like of shape (n_samples, n_features), callable or None, default=None
        Samples, so that pairs can be given as indices of its rows. A callable takes the distinct
        names in the pairs, of shape (n_names,), and returns their samples, of shape (n_names,
        n_features).

    Attributes
    ----------
    components_ : ndarray of shape (r, n_features_in_)
        Linear map with M = components_.T @ components_, sorted by decreasing eigenvalue; r is the
        rank of M.
    threshold_ : float
        Pairs at this distance or less are predicted to be similar.
    classes_ : ndarray of shape (2,)
        -1, dissimilar, and 1, similar.
    lam_, lam_max_, objective_, dual_objective_, dual_gap_, n_iter_
        See `ScreenedRTLM`.
    truncated_objective_, history_, screening_history_ : float, structured ndarrays
        The same.
    n_triplets_ : int
        Number of comparisons.
    n_features_in_ : int
        Of a sample.
    feature_names_in_ : ndarray of str
        If the preprocessor is a frame.
    preprocessor_ : ndarray, callable or None

    Raises
    ------
    ValueError, TypeError
        For invalid parameters, pairs or labels; the message names the argument.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`.

    References
    ----------
    E. P. Xing, A. Y. Ng, M. I. Jordan, S. Russell (2002). Distance metric learning with application
    to clustering with side-information. NIPS 15: learning from such pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import RTLMPairsClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> pairs = np.random.default_rng(0).permutation(len(X)).reshape(-1, 2)
    >>> alike = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    >>> model = RTLMPairsClassifier(preprocessor=scale(X)).fit(pairs[:60], alike[:60])
    >>> model.score(pairs[60:], alike[60:]) > 0.9
    True
    """

    threshold_: float
    _name, _size = "pairs", 2
    _parameter_constraints: ClassVar[dict] = {
        **TuplesClassifier._parameter_constraints,
        "bounds": ["array-like", None],
    }

    def __init__(
        self, lam=0.01, *, bounds=None, preprocessor=None, relative_lam=True, loss="smoothed_hinge",
        width=0.05, linear_term=None, diagonal=False, screening=True, tol=1e-6, max_iter=None,
        store=None, n_components=None, verbose=0,
    ):  # fmt: skip
        self.lam = lam
        self.bounds = bounds
        self.preprocessor = preprocessor
        self.relative_lam = relative_lam
        self.loss = loss
        self.width = width
        self.linear_term = linear_term
        self.diagonal = diagonal
        self.screening = screening
        self.tol = tol
        self.max_iter = max_iter
        self.store = store
        self.n_components = n_components
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self, pairs: ArrayLike, y: ArrayLike, calibration_params: Mapping | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Learn the metric, then a threshold on the same pairs.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Vectors, or indices or names of samples if there is a `preprocessor`.
        y : array-like of shape (n_pairs,)
            1 for similar pairs, -1 for dissimilar pairs; both must occur.
        calibration_params : dict, optional
            Arguments of `calibrate_threshold`, which counts all pairs alike.
        sample_weight : array-like of shape (n_pairs,), optional
            Weights >= 0 of the pairs. Without `bounds` the comparison of two pairs counts times the
            product of their weights, and all comparisons are listed, 150 bytes each.

        Returns
        -------
        RTLMPairsClassifier
        """
        if not isinstance(calibration_params, Mapping | None):
            raise TypeError(
                "calibration_params must be a dict of arguments of calibrate_threshold, as "
                f"{{'strategy': 'accuracy'}}, got {calibration_params!r}."
            )
        calibration = dict(calibration_params or {})
        check_calibration(**calibration)
        bounds = () if self.bounds is None else tuple(self.bounds)
        if len(bounds) not in (0, 2):
            raise ValueError(f"bounds must be a tuple (U, L) or None, got {self.bounds!r}.")
        X, rows = read_tuples(self, pairs)
        y = check_answers(y, len(rows), "pairs")
        if np.all(y == y[0]):
            raise ValueError(
                f"y must name similar (1) and dissimilar (-1) pairs, got 1 class: all are {y[0]}."
            )
        weights = sample_weight
        if weights is not None:
            weights = check_weights_in_range(weights, len(rows))
        learn_metric(self, X, _comparisons(rows, y == 1, bounds, weights))
        distances = MahalanobisMixin.pair_distance(self, X[rows])
        self.threshold_ = best_threshold(distances, y == 1, **calibration)
        return self

    def decision_function(self, pairs: ArrayLike) -> np.ndarray:
        """Return minus the learned distances: the greater, the more similar.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        return self.pair_score(pairs)

    def predict(self, pairs: ArrayLike) -> np.ndarray:
        """Return 1 for pairs that are at most `threshold_` apart, -1 for the others.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        return np.where(-self.decision_function(pairs) <= self.threshold_, 1, -1)

    def score(self, pairs: ArrayLike, y: ArrayLike) -> float:
        """Return the area under the ROC curve of the distances, which needs no threshold.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
        y : array-like of shape (n_pairs,)
            1 and -1.

        Returns
        -------
        float
        """
        scores = self.decision_function(pairs)
        return float(roc_auc_score(check_answers(y, len(scores), "pairs"), scores))

    def set_threshold(self, threshold: float) -> Self:
        """Set the distance up to which pairs count as similar.

        Parameters
        ----------
        threshold : float

        Returns
        -------
        RTLMPairsClassifier
        """
        check_is_fitted(self)
        if not isinstance(threshold, Real | np.number) or np.isnan(threshold):
            raise ValueError(f"threshold must be a real number, got {threshold!r}.")
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(
        self, pairs_valid: ArrayLike, y_valid: ArrayLike, strategy: str = "accuracy",
        min_rate: float | None = None, beta: float = 1.0,
    ) -> Self:  # fmt: skip
        """Choose the threshold on labelled pairs, preferably other pairs than those of `fit`.

        Parameters
        ----------
        pairs_valid : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
        y_valid : array-like of shape (n_pairs,)
            1 and -1.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
            What to maximise: the share of correct predictions; the F-score of the similar pairs;
            the share of similar pairs that are accepted ("max_tpr"), or of dissimilar pairs that
            are rejected ("max_tnr"), while that of the other kind is at least `min_rate`.
        min_rate : float, optional
            In [0, 1]; required by "max_tpr" and "max_tnr".
        beta : float, default=1.0
            Weight of recall relative to precision, for "f_beta".

        Returns
        -------
        RTLMPairsClassifier
        """
        check_is_fitted(self)
        check_calibration(strategy, min_rate, beta)
        distances = -self.decision_function(pairs_valid)
        y_valid = check_answers(y_valid, len(distances), "pairs_valid", "y_valid")
        self.threshold_ = best_threshold(distances, y_valid == 1, strategy, min_rate, beta)
        return self


def _comparisons(
    rows: np.ndarray, similar: np.ndarray, bounds: tuple, weights: np.ndarray | None
) -> Supervision:
    """Return weighted comparisons of pairs (m, 2) with each other, or with bounds."""
    if weights is None or bounds:
        order = np.argsort(~similar, kind="stable")
        weights = None if weights is None else weights[order]
        pairs = rows[similar], rows[~similar], *bounds
        return Supervision(pairs=pairs, comparison_weight=weights, checked=True)
    used = weights > 0.0
    S, D = (np.flatnonzero(used & kind) for kind in (similar, ~similar))
    if not (S.size and D.size):
        raise ValueError("sample_weight must not be 0 for all similar, or all dissimilar pairs.")
    quadruplets = np.hstack((rows[np.repeat(S, D.size)], rows[np.tile(D, S.size)]))
    weights = np.outer(weights[S], weights[D]).ravel()
    return Supervision(quadruplets=quadruplets, comparison_weight=weights, checked=True)


class RTLMTripletsClassifier(ComparisonsClassifier):
    """Metric from triplets (i, j, k): sample i should be nearer to j than to k.

    The problem and its certificate are those of `ScreenedRTLM.fit(X, triplets=...)`. The samples
    are triplets, so cross-validation splits triplets.

    Parameters
    ----------
    lam : float, default=0.01
        Strength of the regularisation, > 0.
    relative_lam : bool, default=True
        Whether `lam` is a fraction of the data's lambda_max; see `ScreenedRTLM`.
    loss, width, linear_term, diagonal, screening, tol, max_iter, store, n_components, verbose
        See `ScreenedRTLM`.
    preprocessor : array-like of shape (n_samples, n_features), callable or None, default=None
        See `RTLMPairsClassifier`.

    Attributes
    ----------
    components_, lam_, lam_max_, objective_, dual_objective_, dual_gap_, n_iter_, n_triplets_
        See `ScreenedRTLM`.
    truncated_objective_, history_, screening_history_ : float, structured ndarrays
        The same.
    classes_ : ndarray of shape (2,)
        -1 and 1: a comparison is wrong, or right.
    n_features_in_, feature_names_in_, preprocessor_ : see `RTLMPairsClassifier`

    Raises
    ------
    ValueError, TypeError
        For invalid parameters or triplets; the message names the argument.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import RTLMTripletsClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> triplets = np.random.default_rng(0).integers(len(X), size=(2000, 3))
    >>> i, j, k = triplets.T
    >>> triplets = triplets[(y[i] == y[j]) & (y[i] != y[k]) & (i != j)]
    >>> model = RTLMTripletsClassifier(preprocessor=scale(X))
    >>> bool(cross_val_score(model, triplets).mean() > 0.9)
    True
    """

    _name, _size = "triplets", 3
    _near: ClassVar = [0, 1]
    _far: ClassVar = [0, 2]

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self, triplets: ArrayLike, y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Learn the metric.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3, n_features) or (n_triplets, 3)
            Vectors, or indices or names of samples if there is a `preprocessor`.
        y : array-like of shape (n_triplets,), optional
            1, or -1 if the first is nearer to the last. All 1 by default.
        sample_weight : array-like of shape (n_triplets,), optional
            Weights >= 0 of the triplets.

        Returns
        -------
        RTLMTripletsClassifier
        """
        return fit_comparisons(self, triplets, y, sample_weight)


class RTLMQuadrupletsClassifier(ComparisonsClassifier):
    """Metric from quadruplets (i, j, k, l): i and j should be nearer to each other than k and l.

    The problem and its certificate are those of `ScreenedRTLM.fit(X, quadruplets=...)`. The samples
    are quadruplets, so cross-validation splits quadruplets.

    Parameters
    ----------
    lam, relative_lam, loss, width, linear_term, diagonal, screening, tol, max_iter, store
        See `RTLMTripletsClassifier`.
    n_components, preprocessor, verbose
        See `RTLMTripletsClassifier`.

    Attributes
    ----------
    components_, lam_, lam_max_, objective_, dual_objective_, dual_gap_, n_iter_, n_triplets_
        See `ScreenedRTLM`.
    truncated_objective_, history_, screening_history_ : float, structured ndarrays
        The same.
    classes_, n_features_in_, feature_names_in_, preprocessor_ : see `RTLMTripletsClassifier`

    Raises
    ------
    ValueError, TypeError
        For invalid parameters or quadruplets; the message names the argument.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`.

    Examples
    --------
    >>> import numpy as np
    >>> from skscreen import RTLMQuadrupletsClassifier
    >>> rng = np.random.default_rng(0)
    >>> quadruplets = rng.normal(size=(300, 4, 3))
    >>> differences = np.abs(quadruplets[:, [0, 2], 0] - quadruplets[:, [1, 3], 0])
    >>> y = np.where(differences[:, 0] < differences[:, 1], 1, -1)  # The first feature matters.
    >>> model = RTLMQuadrupletsClassifier().fit(quadruplets[:200], y[:200])
    >>> model.score(quadruplets[200:], y[200:]) > 0.9
    True
    """

    _name, _size = "quadruplets", 4
    _near: ClassVar = [0, 1]
    _far: ClassVar = [2, 3]

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self, quadruplets: ArrayLike, y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Learn the metric.

        Parameters
        ----------
        quadruplets : array-like of shape (n_quadruplets, 4, n_features) or (n_quadruplets, 4)
            Vectors, or indices or names of samples if there is a `preprocessor`.
        y : array-like of shape (n_quadruplets,), optional
            1, or -1 if the last two are nearer to each other. All 1 by default.
        sample_weight : array-like of shape (n_quadruplets,), optional
            Weights >= 0 of the quadruplets.

        Returns
        -------
        RTLMQuadrupletsClassifier
        """
        return fit_comparisons(self, quadruplets, y, sample_weight)
