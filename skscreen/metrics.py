"""Measures of embeddings: of answers, of shape, and of retrieval."""

from numbers import Integral

import numpy as np
from scipy.spatial import procrustes
from sklearn.utils import check_array, check_consistent_length, check_scalar

from skscreen.embedding.answers import check_total, read_answers
from skscreen.embedding.objective import margins


def triplet_error(embedding, X, y=None, sample_weight=None) -> float:
    """Return the share of answers that are wrong in an embedding.

    Parameters
    ----------
    embedding : array-like of shape (n_objects, n_components)
        NaN is allowed, and wrong.
    X, y, sample_weight
        Answers as `skscreen.OrdinalEmbedding.fit` takes them: triplets, quadruplets or a tensor.

    Returns
    -------
    float
        Equal distances are wrong too.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    embedding = check_array(
        embedding, dtype=np.float64, order="C", ensure_all_finite=False, input_name="embedding"
    )
    rows, weights = read_answers(X, y, sample_weight)
    if rows.max() >= len(embedding):
        raise ValueError(
            f"X must name objects of the embedding, 0 to {len(embedding) - 1}, got {rows.max()}."
        )
    check_total(weights)
    return float(np.average(~(margins(embedding, rows) > 0.0), weights=weights))


def procrustes_distance(X, Y) -> float:
    """Return how far two embeddings are apart, best shifted, scaled, rotated and reflected.

    Parameters
    ----------
    X, Y : array-like of shape (n_objects, n_components)

    Returns
    -------
    float
        Sum of squared differences, both scaled to a sum of squares of 1: 0 for the same shape, at
        most 1.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments, or if all points of one are the same; the message names the argument.
    """
    X = check_array(X, dtype=np.float64, input_name="X")
    Y = check_array(Y, dtype=np.float64, input_name="Y")
    if X.shape != Y.shape:
        raise ValueError(f"X and Y must have the same shape, got {X.shape} and {Y.shape}.")
    for name, points in (("X", X), ("Y", Y)):
        if not 0.0 < np.ptp(points, axis=0).max() < np.inf:
            raise ValueError(f"{name} must have two different points, at a finite distance.")
    # Any size and place is as good, and these do not overflow.
    X, Y = (points / np.abs(points).max() for points in (X, Y))
    return float(procrustes(X - X.mean(axis=0), Y - Y.mean(axis=0))[2])


def precision_at_k(relevant, distances, k: int) -> float:
    """Return the share of relevant items among the k nearest, averaged over queries.

    Parameters
    ----------
    relevant : array-like of shape (n_queries, n_items), bool
    distances : array-like of shape (n_queries, n_items)
        From each query to each item; equal ones are in the order of items.
    k : int
        From 1 to n_items.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    return float(np.mean(_ranked(relevant, distances, k)[:, :k]))


def recall_at_k(relevant, distances, k: int) -> float:
    """Return the share of the relevant items that is among the k nearest, averaged over queries.

    Parameters
    ----------
    relevant, distances, k
        As in `precision_at_k`; each query needs a relevant item.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    ranked = _ranked(relevant, distances, k)
    return float(np.mean(ranked[:, :k].sum(axis=1) / _totals(ranked)))


def mean_average_precision(relevant, distances) -> float:
    """Return the mean over queries of the average precision of the whole ranking.

    The average precision of a query is the mean, over its relevant items, of the share of relevant
    items up to that rank.

    Parameters
    ----------
    relevant, distances
        As in `precision_at_k`; each query needs a relevant item.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    ranked = _ranked(relevant, distances)
    precisions = np.cumsum(ranked, axis=1) / np.arange(1, ranked.shape[1] + 1)
    return float(np.mean((precisions * ranked).sum(axis=1) / _totals(ranked)))


def _ranked(relevant, distances, k: int = 1) -> np.ndarray:
    """Relevance of the items of each query, nearest first."""
    relevant = check_array(relevant, dtype=None, input_name="relevant")
    if relevant.dtype.kind not in "biuf":
        raise ValueError(f"relevant must hold booleans or numbers, got dtype {relevant.dtype}.")
    relevant = relevant.astype(bool)
    distances = check_array(distances, dtype=np.float64, input_name="distances")
    check_consistent_length(relevant, distances)
    if relevant.shape != distances.shape:
        raise ValueError(
            f"relevant and distances must have the same shape, got {relevant.shape} and "
            f"{distances.shape}."
        )
    check_scalar(k, "k", Integral)
    if not 1 <= k <= relevant.shape[1]:
        raise ValueError(f"k must be from 1 to {relevant.shape[1]}, the number of items, got {k}.")
    return np.take_along_axis(relevant, np.argsort(distances, axis=1, kind="stable"), axis=1)


def _totals(ranked: np.ndarray) -> np.ndarray:
    totals = ranked.sum(axis=1)
    if not totals.all():
        raise ValueError(
            f"relevant must name an item for each query, got none in row {int(totals.argmin())}."
        )
    return totals
