"""Builds the problem of metric learning from samples with labels or comparisons."""

from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from skscreen.core.memory import check_memory
from skscreen.fitting.kept_matrices import kept_matrix
from skscreen.fitting.store import check_store, content_key
from skscreen.fitting.warning import warn_user
from skscreen.metric_learning.problem.comparisons import Comparisons, DiagonalComparisons
from skscreen.metric_learning.problem.domains import NonnegativeOrthant, Point, PSDCone, row_space
from skscreen.metric_learning.problem.graph import read_graph, triplets_from_graph
from skscreen.metric_learning.problem.losses import SmoothedHinge, is_narrow
from skscreen.metric_learning.problem.objective import Problem
from skscreen.metric_learning.problem.pair_loops import SORT_FROM
from skscreen.metric_learning.problem.triplets import (
    comparisons_from_arrays,
    differences,
    locality_order,
    triplets_from_labels,
)
from skscreen.metric_learning.supervision import check_comparisons, check_samples, class_codes

# Largest deviation of a feature from its mean, and the inverse of the smallest, whose fourth powers
# are finite.
_LARGEST = 1e40

# Number of copies of the samples in memory at the same time: centred, in order, padded, and mapped
# in an evaluation.
_COPIES = 4

# Ratio of the largest scale of a feature to the median scale that leads to a warning.
_UNEVEN = 100.0
# Largest scales, as a share of the largest one, of features that decide nothing beside others, and
# of those that are rounding errors.
_SMALL, _CONSTANT = 1e-6, 1e-12

# Bytes for the two dual variables that each triplet of a narrow loss keeps.
_BYTES_OF_DUALS = 16


def build(
    model, X, y=None, weights=None, *, from_labels: Callable | None = None, **lists
) -> tuple[Problem, float, Point]:
    """Validate the data and set the problem of an estimator up.

    Parameters
    ----------
    model : ScreenedRTLM
        Its parameters but `lam` count; its number and names of features are set.
    X, y, weights
        As for `ScreenedRTLM.fit`.
    from_labels : callable, optional
        Takes the estimator, centred samples, class codes and the loss; returns the comparisons,
        of all features. By default nearest neighbours in one process, of few samples in
        coordinates of their span.
    **lists
        Explicit comparisons by their names in `ScreenedRTLM.fit`, or None.

    Returns
    -------
    problem : Problem
    lam_max : float
    first : Point
        lam_max times the solution there.
    """
    check_samples(X, y)
    # Single precision stays as it is: its only copy in double precision is the centred one.
    samples = validate_data(model, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
    check_memory(8.0 * _COPIES * samples.size, f"{len(samples):,} samples", "Use fewer of them.")
    X = _centred(samples)
    _warn_of_scales(X)
    domain = NonnegativeOrthant() if model.diagonal else PSDCone()
    loss = SmoothedHinge(1.0, float(model.gamma) if model.loss == "smoothed_hinge" else 0.0)
    kind = DiagonalComparisons if model.diagonal else Comparisons
    given = [name for name, values in lists.items() if values is not None]
    if given:
        _check_lists(X, y, model.pull)
        found = check_comparisons(len(X), loss.threshold, lists, weights)
        narrow = is_narrow(loss.gamma, loss.threshold, has_long_rows=False)
        items = comparisons_from_arrays(*found, _BYTES_OF_DUALS * narrow)
        if len(items.near) + len(items.far) < len(X):
            X, items = differences(X, items)
    basis = None if model.diagonal or from_labels else row_space(X)
    domain.check_memory(X.shape[1] if basis is None else basis.shape[1])
    if given:
        geometry = kind(X, items)
    else:
        codes = _codes(X, y, weights, model)
        if model.neighbors is not None:
            graph = read_graph(model.neighbors, samples)
            geometry = _from_graph(kind, model, X, codes, loss, graph)
        else:
            known = codes >= 0
            if not known.all():
                X, codes = X[known], codes[known]
            geometry = (from_labels or partial(_from_labels, kind))(model, X, codes, loss)
    if basis is not None:
        n_features = X.shape[1]
        geometry = kind(geometry.X[:, :n_features] @ basis, geometry.items, n_features)
    linear_term = geometry.near_term(float(model.pull)) if model.pull > 0.0 else (None, 0.0)
    problem = Problem(geometry, loss, domain, *linear_term, basis)
    lam_max, first = problem.lam_max()
    if lam_max == 0.0:
        warn_user(
            f"No metric brings the near samples of the {given[0] if given else 'triplets'} "
            "nearer than the far ones on average, so the zero metric is optimal for every lam."
        )
    return problem, lam_max, first


def _centred(X: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        # Subtract a sample first: the rounding error of a large mean would remain in all samples.
        X = np.subtract(X, X[0], dtype=np.float64)
        X -= X.mean(axis=0)
    largest = np.abs(X).max()
    if not (largest == 0.0 or 1.0 / _LARGEST < largest < _LARGEST):
        raise ValueError(f"X deviates by up to {largest:g} from its mean; rescale it.")
    return X


def _warn_of_scales(X: np.ndarray) -> None:
    """Warn of a feature that alone decides who is near."""
    spreads = np.sort(X.std(axis=0))
    known, large = (spreads[spreads > share * spreads[-1]] for share in (_CONSTANT, _SMALL))
    spreads = large if large.size > 1 else known
    if spreads.size > 1 and spreads[-1] > _UNEVEN * spreads[(spreads.size - 1) // 2]:
        ratio = spreads[-1] / spreads[(spreads.size - 1) // 2]
        warn_user(
            f"One feature has {ratio:.0f} times the median scale of the features, so it dominates "
            "the distances. Put a StandardScaler() before this estimator, in a pipeline."
        )


def _check_lists(X, y, pull: float) -> None:
    if y is not None:
        # In a pipeline y is for the classifier that follows.
        _check_one_label_each(X, y)
    if pull > 0.0:
        raise ValueError(
            f"pull must be 0 with explicit comparisons, got {pull}: only labels have "
            "target neighbours. Similar pairs (pairs) with a small U have the same effect."
        )


def _check_one_label_each(X, y) -> None:
    try:
        check_consistent_length(X, y)
    except ValueError as error:
        raise ValueError(
            f"{error}. With comparisons y may only hold the classes of the samples in X. For "
            "labels 1 and -1 of pairs call fit(X, pairs=(pairs[y == 1], pairs[y == -1])), or "
            "RTLMPairsClassifier(preprocessor=X).fit(pairs, y)."
        ) from error


def _codes(X, y, weights, model) -> np.ndarray:
    codes = class_codes(X, y, model.unlabelled)
    if weights is not None:
        raise ValueError("weights belong to explicit comparisons; do not pass them with labels.")
    n_neighbors, n_labelled = model.n_neighbors, np.count_nonzero(codes >= 0)
    if n_neighbors is not None and n_neighbors >= n_labelled:
        raise ValueError(
            f"n_neighbors must be below the number of samples, got {n_neighbors} for "
            f"{n_labelled} samples."
        )
    return codes


def _bytes_of_duals(model, loss: SmoothedHinge) -> int:
    """Bytes that the solver will need for each triplet."""
    has_long_rows = model.n_neighbors is None or model.n_neighbors >= SORT_FROM[0]
    return _BYTES_OF_DUALS if is_narrow(loss.gamma, loss.threshold, has_long_rows) else 0


def _from_graph(kind: type[Comparisons], model, X, codes, loss, graph) -> Comparisons:
    known = np.flatnonzero(codes >= 0)
    order = known[locality_order(X[known], codes[known])]
    extra = _bytes_of_duals(model, loss)
    return kind(X[order], triplets_from_graph(graph, codes, order, model.n_neighbors, extra))


def _from_labels(kind: type[Comparisons], model, X, codes, loss: SmoothedHinge) -> Comparisons:
    extra = _bytes_of_duals(model, loss)
    order = locality_order(X, codes)
    X, codes = X[order], codes[order]
    keep, store = None, check_store(model.store)
    if store is not None:
        key = content_key(X, codes, model.n_neighbors)
        keep = partial(kept_matrix, key, store.max_bytes)
    return kind(X, triplets_from_labels(X, codes, model.n_neighbors, model.n_jobs, extra, keep))
