"""Second step to a problem: items, from class labels or from lists of comparisons."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skscreen.fitting.store import check_store, content_key
from skscreen.metric_learning.parameters import Parameters, Supervision
from skscreen.metric_learning.problem.graph import read_graph, triplets_from_graph
from skscreen.metric_learning.problem.items import SORT_FROM, Items
from skscreen.metric_learning.problem.losses import SmoothedHinge, is_narrow
from skscreen.metric_learning.problem.samples import Samples
from skscreen.metric_learning.problem.triplets import (
    comparisons_from_arrays,
    differences,
    locality_order,
    triplets_from_labels,
)
from skscreen.metric_learning.supervision import check_lists, check_weights_in_range, class_codes


@dataclass(frozen=True)
class Compared:
    """Points, and which pairs of them are compared."""

    points: np.ndarray  # (m, r), in the coordinates of the samples
    items: Items
    rows: np.ndarray | None = None  # (m,) sample of each point; None for comparisons from lists
    triplets: np.ndarray | None = None  # (T, 3) of samples by item number, from such a list


@dataclass(frozen=True)
class Labels:
    """Class labels as the problem has them."""

    codes: np.ndarray  # (n,) classes 0, 1, ...; -1 for samples that are left out
    weights: np.ndarray | None  # (n,) of samples; None where those in use are all 1


def compared_samples(
    samples: Samples, parameters: Parameters, supervision: Supervision
) -> Compared:
    """Return the items that labels or lists make of samples."""
    if supervision.lists:
        return _from_lists(samples, parameters.loss_function, supervision)
    return _from_labels(samples, parameters, read_labels(samples, parameters, supervision))


def read_labels(samples: Samples, parameters: Parameters, supervision: Supervision) -> Labels:
    """Return class labels and weights of samples."""
    if supervision.comparison_weight is not None:
        raise ValueError(
            "comparison_weight belongs to comparisons, not to labels: pass triplets, quadruplets "
            "or pairs, or the weights of the samples as sample_weight."
        )
    weights, used, X = None, None, samples.given
    if supervision.sample_weight is not None:
        weights = check_weights_in_range(supervision.sample_weight, len(X))
        used = weights > 0.0
        weights = None if np.all(weights[used] == 1.0) else weights
    codes = class_codes(X, supervision.y, parameters.unlabelled, used)
    n_neighbors, n_labelled = parameters.n_neighbors, np.count_nonzero(codes >= 0)
    if n_neighbors is not None and n_neighbors >= n_labelled:
        raise ValueError(
            f"n_neighbors must be below the number of samples, got {n_neighbors} for "
            f"{n_labelled} samples; n_neighbors=None takes all."
        )
    return Labels(codes, weights)


def _from_lists(samples: Samples, loss: SmoothedHinge, supervision: Supervision) -> Compared:
    """Return the items of explicit comparisons, of samples or of their differences."""
    Z, found = samples.Z, check_lists(len(samples.Z), loss.threshold, supervision)
    extra = _bytes_of_duals(loss, has_long_ranges=False)
    items = comparisons_from_arrays(
        found.near, found.far, found.thresholds, found.weights, found.all_pairs, extra
    )
    Z, items = differences(Z, items) if len(items.near) + len(items.far) < len(Z) else (Z, items)
    return Compared(Z, items, triplets=found.triplets)


def _from_labels(samples: Samples, parameters: Parameters, labels: Labels) -> Compared:
    """Return labelled samples, those near each other together, and their triplets."""
    Z, loss = samples.Z, parameters.loss_function
    k, codes, known = parameters.n_neighbors, labels.codes, np.flatnonzero(labels.codes >= 0)
    order = locality_order(Z if known.size == len(Z) else Z[known], codes[known])
    order = order if known.size == len(Z) else known[order]
    Z, extra = Z[order], _bytes_of_duals(loss, k is None or k >= SORT_FROM[0])
    if parameters.neighbors is not None:
        graph = read_graph(parameters.neighbors, samples.given)
        items = triplets_from_graph(graph, codes, order, k, extra)
    else:
        keep, store = None, check_store(parameters.store)
        if store is not None:
            keep = partial(store.kept.matrix, content_key(Z, codes[order], k))
        items = triplets_from_labels(Z, codes[order], k, parameters.n_jobs, extra, keep)
    if labels.weights is not None:
        # The losses of a triplet count times the weight of its anchor.
        items = replace(items, weights=labels.weights[order][items.near[:, 0]])
    return Compared(Z, items, rows=order)


def _bytes_of_duals(loss: SmoothedHinge, has_long_ranges: bool) -> int:
    """Bytes for the two dual variables that each triplet of a narrow loss keeps."""
    return 16 * is_narrow(loss, loss.threshold, has_long_ranges)
