"""Builds the problem of metric learning from samples with labels or comparisons."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from skscreen.core.floats import EPS, LARGEST
from skscreen.core.inputs import as_floats, in_order, refuse_masked, sound
from skscreen.core.memory import check_memory
from skscreen.fitting.store import check_store, content_key
from skscreen.fitting.warning import warn_user
from skscreen.metric_learning.distance import FLOATS
from skscreen.metric_learning.problem.comparisons import Comparisons, DiagonalComparisons
from skscreen.metric_learning.problem.domains import NonnegativeOrthant, PSDCone, row_space
from skscreen.metric_learning.problem.graph import read_graph, triplets_from_graph
from skscreen.metric_learning.problem.items import SORT_FROM, Items
from skscreen.metric_learning.problem.losses import SmoothedHinge, is_narrow
from skscreen.metric_learning.problem.objective import Problem
from skscreen.metric_learning.problem.triplets import (
    comparisons_from_arrays,
    differences,
    locality_order,
    triplets_from_labels,
)
from skscreen.metric_learning.supervision import (
    check_comparisons,
    check_sample_weight,
    check_samples,
    class_codes,
    refuse_labels,
)


def build(
    model: Any, X: Any, y: Any = None, *, sample_weight: Any = None, comparison_weight: Any = None,
    from_labels: Callable | None = None, **lists,
) -> Problem:  # fmt: skip
    """Return the problem of a `ScreenedRTLM`, whose number and names of features are set."""
    # `lists` are explicit comparisons. `from_labels` makes the geometry of the model, centred
    # samples, class codes and the loss; by default nearest neighbours in one process.
    samples, C = _read(model, X, y)
    Z, unit = _scaled(_centred(samples))
    _warn_of_scales(Z)
    loss, given = _loss(model), [name for name, values in lists.items() if values is not None]
    # Coordinates: features that vary, and with few samples those of their span.
    reduces = from_labels is None and _is_separable(C)
    varying = _varying(Z) if reduces else None
    Z, items, rows = Z if varying is None else Z @ varying, None, None
    if given:
        _check_lists(X, y, sample_weight)
        Z, items = _from_lists(X, Z, loss, lists, comparison_weight)
    basis = row_space(Z) if reduces and not model.diagonal else None
    domain = NonnegativeOrthant() if model.diagonal else PSDCone()
    domain.check_memory(Z.shape[1] if basis is None else basis.shape[1])
    if not given:
        codes, weights = _codes(X, y, sample_weight, comparison_weight, model)
        if from_labels is None:
            Z, items, rows = _from_labels(model, samples, Z, codes, weights, loss)
        else:
            geometry = from_labels(model, Z[codes >= 0], codes[codes >= 0], loss)
    if items is not None:
        kind = DiagonalComparisons if model.diagonal else Comparisons
        geometry = kind(Z, items) if basis is None else kind(Z @ basis, items, Z.shape[1])
    if varying is not None:
        basis = varying if basis is None else varying @ basis
    pulls = model.pull > 0.0 and not given
    B, error = geometry.near_term(float(model.pull)) if pulls else (None, 0.0)
    if C is not None:
        B, error = _with_term(B, error, C, basis, unit)
    problem = Problem(geometry, loss, domain, B, error, basis, unit, samples.dtype.type, rows)
    if not problem.first.value.any():
        beside = "" if C is None else " by more than linear_term takes"
        warn_user(
            f"No metric brings the near samples of the {given[0] if given else 'triplets'} nearer "
            f"than the far ones on average{beside}, so the zero metric is optimal for every lam."
        )
    return problem


def _read(model, X, y) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the samples, float64 or float32, and the linear term; check that they fit."""
    check_samples(X, y)
    # Single precision stays as it is: its only copy in double precision is the centred one.
    # In C order, as the last digits of distances, by which equal ones are ordered, depend on it.
    samples = validate_data(model, sound(X), dtype=FLOATS, order="C", ensure_min_samples=2)
    k, d = model.n_components, samples.shape[1]
    if isinstance(k, Integral) and int(k) > d:
        raise ValueError(f"n_components must be at most {d}, the number of features, got {k}.")
    term = _of_features(model.linear_term, getattr(model, "feature_names_in_", None))
    C = _check_linear_term(term, d, model.diagonal)
    # Four copies: centred, in order, padded, and mapped in an evaluation.
    check_memory(32.0 * samples.size, f"{len(samples):,} samples", "Use fewer of them.")
    return samples, C


def _of_features(term: Any, names: np.ndarray | None) -> Any:
    """Return a term whose rows, and columns, are called as the features, in their order."""
    refuse_masked(term, "linear_term")
    if names is None or not hasattr(term, "loc"):
        return term
    labels = names.tolist()
    term = in_order(term, labels, "linear_term")
    return term[labels] if set(getattr(term, "columns", ())) == set(labels) else term


def _check_linear_term(term: Any, n_features: int, diagonal: bool) -> np.ndarray | None:
    """Return C of shape (d, d), or (d,) for a diagonal metric; None for none."""
    if term is None:
        return None
    d, shapes = n_features, "(n_features,) or " if diagonal else ""
    expected = (
        f"linear_term must be 'trace', None, or a symmetric matrix of shape "
        f"{shapes}(n_features, n_features) = ({d}, {d})"
    )
    if isinstance(term, str):
        if term != "trace":
            raise ValueError(f"{expected}, got {term!r}.")
        return np.ones(d) if diagonal else np.eye(d)
    C = as_floats(term, "iuf")
    if C is None or not (C.shape == (d, d) or (diagonal and C.shape == (d,))):
        got = "no numbers" if C is None else f"shape {C.shape}"
        raise ValueError(f"{expected}, got {got}.")
    outside = ~(np.abs(C) <= LARGEST)
    if outside.any():
        place = np.argwhere(outside)[0].tolist()
        raise ValueError(
            f"linear_term must hold numbers from {-LARGEST:g} to {LARGEST:g}, got "
            f"{C[tuple(place)]:g} at {place}."
        )
    if C.ndim == 2:
        differs = np.abs(C - C.T) > 1e-10 * np.abs(C).max(initial=0.0)
        if differs.any():
            i, j = np.argwhere(differs)[0].tolist()
            raise ValueError(
                f"{expected}, got {C[i, j]:g} at [{i}, {j}] and {C[j, i]:g} at [{j}, {i}]; "
                "(C + C.T) / 2 has the same products with metrics."
            )
        C = C.diagonal() if diagonal else 0.5 * (C + C.T)
    return np.array(C, dtype=np.float64)


def _is_separable(C: np.ndarray | None) -> bool:
    """Whether what no sample differs in has no part in the optimum, as without the term."""
    # So it is for multiples >= 0 of the identity, and for weights >= 0 of single features.
    if C is None or C.ndim == 1:
        return C is None or bool(np.all(C >= 0.0))
    return bool(C[0, 0] >= 0.0 and np.array_equal(C, C[0, 0] * np.eye(len(C))))


def _loss(model) -> SmoothedHinge:
    if model.loss == "squared_hinge":
        return SmoothedHinge(1.0, 0.5, math.inf)
    return SmoothedHinge(1.0, float(model.width) if model.loss == "smoothed_hinge" else 0.0)


def _with_term(B, error: float, C: np.ndarray, basis, unit: float) -> tuple[np.ndarray, float]:
    """Return a linear term B of an objective and its error, with -C in coordinates added."""
    largest = float(np.abs(C).max(initial=0.0)) / unit / unit
    # Squares, in units of scaled samples, must be finite.
    if largest > 1e140:
        raise ValueError(
            f"linear_term, with numbers up to {np.abs(C).max():g}, is too large beside X, whose "
            f"values are about {unit:.0e}: losses would not count in floating point. Rescale X."
        )
    term = C / unit**2
    if basis is not None:
        term = basis.T @ term if C.ndim == 1 else basis.T @ (basis.T @ term).T
        term = term if term.ndim == 1 else 0.5 * (term + term.T)
        error += 16.0 * EPS * float(np.linalg.norm(C)) / unit**2
    return (-term if B is None else B - term), error


def _centred(X: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        # Subtract a sample first: the rounding error of a large mean would remain in all samples.
        X = np.subtract(X, X[0], dtype=np.float64)
        X -= X.mean(axis=0)
    return X


def _scaled(X: np.ndarray) -> tuple[np.ndarray, float]:
    """Return centred samples, divided in place by a power of two where they are huge or tiny."""
    largest = float(np.abs(X).max())
    # Fourth powers of these are finite; squares of those below.
    if largest == 0.0 or 1.0 / LARGEST < largest < LARGEST:
        return X, 1.0
    if not 1e-154 < largest < 1e154:
        raise ValueError(f"X deviates by up to {largest:g} from its mean; rescale it.")
    unit = 2.0 ** (math.frexp(largest)[1] - 1)
    X /= unit
    return X, unit


def _varying(X: np.ndarray) -> sparse.csr_array | None:
    """Return a matrix that selects the features that are not constant; None if all are, or none."""
    # A constant feature has no weight; its zeros would carry rounding errors of the others.
    varies = X.any(axis=0)
    if varies.all() or not varies.any():
        return None
    return sparse.eye_array(X.shape[1], format="csc")[:, np.flatnonzero(varies)].tocsr()


def _warn_of_scales(X: np.ndarray) -> None:
    """Warn of a feature that alone decides who is near."""
    spreads = np.sort(X.std(axis=0))
    # Features that are not rounding errors, and those that decide something beside others.
    known, large = (spreads[spreads > share * spreads[-1]] for share in (1e-12, 1e-6))
    spreads = large if large.size > 1 else known
    if spreads.size > 1 and spreads[-1] > 100.0 * spreads[(spreads.size - 1) // 2]:
        ratio = spreads[-1] / spreads[(spreads.size - 1) // 2]
        warn_user(
            f"One feature has {ratio:.0f} times the median scale of the features, so it dominates "
            "the distances. Put a StandardScaler() before this estimator, in a pipeline."
        )


def _check_lists(X, y, sample_weight) -> None:
    try:
        # In a pipeline y is for the classifier that follows.
        check_consistent_length(X, y)
    except ValueError as error:
        raise ValueError(
            f"{error}. With comparisons y may only hold the classes of the samples in X. For "
            "labels 1 and -1 of pairs call fit(X, pairs=(pairs[y == 1], pairs[y == -1])), or "
            "RTLMPairsClassifier(preprocessor=X).fit(pairs, y)."
        ) from error
    if sample_weight is not None:
        raise ValueError(
            "sample_weight belongs to labels: call fit(X, y, sample_weight=...), or pass the "
            "weights of comparisons as comparison_weight."
        )


def _codes(X, y, sample_weight, comparison_weight, model) -> tuple[np.ndarray, np.ndarray | None]:
    """Return class codes, -1 for what is left out, and weights where they are not all 1."""
    if comparison_weight is not None:
        raise ValueError(
            "comparison_weight belongs to comparisons, not to labels: pass triplets, quadruplets "
            "or pairs, or the weights of the samples as sample_weight."
        )
    weights, used = None, None
    if sample_weight is not None:
        weights = check_sample_weight(sample_weight, X)
        used = weights > 0.0
        weights = None if np.all(weights[used] == 1.0) else weights
    codes = class_codes(X, y, model.unlabelled, used)
    n_neighbors, n_labelled = model.n_neighbors, np.count_nonzero(codes >= 0)
    if n_neighbors is not None and n_neighbors >= n_labelled:
        raise ValueError(
            f"n_neighbors must be below the number of samples, got {n_neighbors} for "
            f"{n_labelled} samples; n_neighbors=None takes all."
        )
    return codes, weights


def _bytes_of_duals(loss: SmoothedHinge, has_long_ranges: bool) -> int:
    """Bytes for the two dual variables that each triplet of a narrow loss keeps."""
    return 16 * is_narrow(loss, loss.threshold, has_long_ranges)


def _from_lists(
    X, Z: np.ndarray, loss: SmoothedHinge, lists: dict, comparison_weight
) -> tuple[np.ndarray, Items]:
    """Return points and the items of explicit comparisons of samples, as pairs of these points."""
    near, far, thresholds, weights, against_all = check_comparisons(
        len(Z), loss.threshold, lists, comparison_weight
    )
    refuse_labels(X, np.concatenate([near, far], axis=None), "X")
    extra = _bytes_of_duals(loss, has_long_ranges=False)
    items = comparisons_from_arrays(near, far, thresholds, weights, against_all, extra)
    return differences(Z, items) if len(items.near) + len(items.far) < len(Z) else (Z, items)


def _from_labels(
    model, samples, Z: np.ndarray, codes: np.ndarray, weights, loss: SmoothedHinge
) -> tuple[np.ndarray, Items, np.ndarray]:
    """Return labelled samples, those near each other together, their triplets, and their rows."""
    k, known = model.n_neighbors, np.flatnonzero(codes >= 0)
    order = locality_order(Z if known.size == len(Z) else Z[known], codes[known])
    order = order if known.size == len(Z) else known[order]
    Z, extra = Z[order], _bytes_of_duals(loss, k is None or k >= SORT_FROM[0])
    if model.neighbors is not None:
        graph = read_graph(model.neighbors, samples)
        items = triplets_from_graph(graph, codes, order, k, extra)
    else:
        keep, store = None, check_store(model.store)
        if store is not None:
            keep = partial(store.kept.matrix, content_key(Z, codes[order], k))
        items = triplets_from_labels(Z, codes[order], k, model.n_jobs, extra, keep)
    if weights is not None:
        # The losses of a triplet count times the weight of its anchor.
        items = replace(items, weights=weights[order][items.near[:, 0]])
    return Z, items, order
