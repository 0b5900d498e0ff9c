"""Checks of class labels and of lists of comparisons."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets

from skscreen.core.checks import (
    as_labels,
    check_labels,
    check_weights,
    is_missing,
    refuse_masked,
)
from skscreen.core.floats import LARGEST
from skscreen.core.sklearn_private import num_samples
from skscreen.fitting.warning import warn_user
from skscreen.metric_learning.parameters import Supervision

# For each number of columns: the number in words, and what a row must contain.
_ROWS = {
    2: ("two", "two different samples"),
    3: ("three", "three different samples"),
    4: ("four", "two different pairs of different samples"),
}


def class_codes(
    X: np.ndarray, y: ArrayLike | None, unlabelled: Hashable = None, used: np.ndarray | None = None
) -> np.ndarray:  # fmt: skip
    """Classes as integers 0, 1, ..., and -1 for unlabelled samples and those not used (n,)."""
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. Without labels "
            "ScreenedRTLM learns from comparisons of the samples X: ScreenedRTLM().fit(X, "
            "triplets=T), T rows of indices; also quadruplets= and pairs=."
        )
    y = as_labels(y)
    check_consistent_length(X, y)
    if unlabelled is not None and y.dtype.kind != "O":
        if isinstance(unlabelled, str) != (y.dtype.kind in "UT"):
            raise TypeError(
                f"unlabelled must be of the kind of the labels in y, as {y.tolist()[0]!r}, got "
                f"{unlabelled!r}."
            )
    known = np.ones(len(y), dtype=bool) if used is None else used.copy()
    if unlabelled is not None:
        known &= ~_equal(y, unlabelled)
    # Without those that are not used, objects may be labels of one kind.
    labels = check_labels(y[known])
    if labels.size:
        check_classification_targets(labels)
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    _check_counts(classes, counts)
    found = np.full(len(y), -1)
    found[known] = codes
    return found


def _check_counts(classes: np.ndarray, counts: np.ndarray) -> None:
    """Refuse classes that make no triplet, and warn of those with a single member."""
    if classes.size < 2:
        raise ValueError(
            "The number of classes in y has to be greater than one; got "
            f"{classes.size} class{'' if classes.size else 'es'}"
        )
    if counts.max() < 2:
        raise ValueError("y must have a class with at least two members; each class has one.")
    n_alone = int(np.sum(counts == 1))
    if n_alone:
        warn_user(
            f"{n_alone} of {classes.size} classes in y have a single member, for example "
            f"{classes.tolist()[counts.argmin()]!r}; it is only used as a sample of another class."
        )


def _equal(y: np.ndarray, label: Hashable) -> np.ndarray:
    """Where labels are a given one; NaN and the like, which equal nothing, are all one."""
    if is_missing(label):
        return np.array([is_missing(one) for one in y.tolist()], dtype=bool)
    if y.dtype.kind == "O":
        return np.array([not is_missing(one) and one == label for one in y.tolist()], dtype=bool)
    return y == label


def check_weights_in_range(
    weights: ArrayLike | None, n: int, name: str = "sample_weight"
) -> np.ndarray:
    """Return weights (n,), 0 or in the range of what can be computed with, and not all 0."""
    weights = check_weights(weights, n, name)
    _check_range(name, weights, "0 or ")
    return weights


@dataclass(frozen=True)
class Lists:
    """Comparisons of near with far pairs of samples."""

    near: np.ndarray  # (m, 2)
    far: np.ndarray  # (m, 2)
    thresholds: np.ndarray | None = None  # (m,); None where all are that of the loss
    weights: np.ndarray | None = None  # (m,) > 0; None where all are 1
    all_pairs: bool = False  # whether each near pair is compared with each far one
    triplets: np.ndarray | None = None  # (m, 3) where there are no others


def check_lists(n_samples: int, threshold: float, supervision: Supervision) -> Lists:
    """Return the comparisons that are given, of samples 0 to n_samples - 1."""
    _check_beside_lists(n_samples, supervision)
    pairs = supervision.pairs
    if isinstance(pairs, tuple | list) and len(pairs) == 2:
        return Lists(*_check_two_kinds(n_samples, *pairs, supervision), all_pairs=True)
    # Name, near pairs, far pairs and thresholds of each kind.
    parts: list[tuple[str, np.ndarray, np.ndarray, np.ndarray | float]] = []
    rows = None
    if supervision.triplets is not None:
        rows = _rows("triplets", supervision.triplets, 3, n_samples, supervision)
        parts.append(("triplets", rows[:, :2], rows[:, ::2], threshold))
    if supervision.quadruplets is not None:
        fours = _rows("quadruplets", supervision.quadruplets, 4, n_samples, supervision)
        parts.append(("quadruplets", fours[:, :2], fours[:, 2:], threshold))
    if pairs is not None:
        # The distance that a bound on one distance lacks is that of a sample to itself, and its
        # threshold is the bound (Yoshida et al. 2019, section 6.3).
        S, D, upper, lower = _check_pairs(supervision, n_samples)
        parts.append(("similar pairs", S, S[:, [0, 0]], -upper))
        parts.append(("dissimilar pairs", D[:, [0, 0]], D, lower))
    near, far = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    thresholds = np.concatenate([np.broadcast_to(part[3], len(part[1])) for part in parts])
    weights = _weights(supervision, len(near))
    if weights is not None:
        # Comparisons of weight 0 are left out.
        used = weights > 0.0
        near, far, thresholds, weights = near[used], far[used], thresholds[used], weights[used]
        rows = None if rows is None else rows[used[: len(rows)]]
        weights = None if np.all(weights == 1.0) else weights
    return Lists(
        near, far, None if pairs is None else thresholds, weights,
        triplets=rows if len(parts) == 1 else None,
    )  # fmt: skip


def _check_beside_lists(n_samples: int, supervision: Supervision) -> None:
    """Refuse labels of something else than samples, and their weights."""
    if supervision.y is not None and num_samples(supervision.y) != n_samples:
        raise ValueError(
            f"y must hold a label for each of {n_samples} samples, or be None, as it is not used "
            f"with {supervision.lists[0]}; got {num_samples(supervision.y)}."
        )
    if supervision.sample_weight is not None:
        raise ValueError(
            "sample_weight belongs to labels: call fit(X, y, sample_weight=...), or pass the "
            "weights of comparisons as comparison_weight."
        )


def _check_two_kinds(
    n_samples: int, S: ArrayLike, D: ArrayLike, supervision: Supervision
) -> tuple[np.ndarray, np.ndarray]:
    """Return similar and dissimilar pairs that are compared with each other, not with bounds."""
    others = [name for name in supervision.lists if name != "pairs"]
    others += ["comparison_weight"] * (supervision.comparison_weight is not None)
    if others:
        raise ValueError(
            f"{others[0]} can only be combined with pairs=(S, D, U, L), with bounds; pairs=(S, D) "
            "compares each similar pair with each dissimilar one and nothing else."
        )
    return (
        _rows("S of pairs", S, 2, n_samples, supervision),
        _rows("D of pairs", D, 2, n_samples, supervision),
    )


def _check_pairs(
    supervision: Supervision, n_samples: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    pairs = supervision.pairs
    if not isinstance(pairs, tuple | list) or len(pairs) != 4:
        raise ValueError(
            "pairs must be a tuple (S, D, U, L): similar pairs, dissimilar pairs, upper and lower "
            "bounds of their squared distances; or (S, D)."
        )
    similar, dissimilar = (
        _rows(f"{name} of pairs", values, 2, n_samples, supervision)
        if np.size(values)
        else np.empty((0, 2), dtype=np.int64)
        for name, values in zip("SD", pairs[:2], strict=True)
    )
    if len(similar) + len(dissimilar) == 0:
        raise ValueError("S and D of pairs must not both be empty.")
    upper = _check_bounds("U of pairs", pairs[2], len(similar))
    return similar, dissimilar, upper, _check_bounds("L of pairs", pairs[3], len(dissimilar))


def _rows(name: str, rows: ArrayLike, size: int, n: int, supervision: Supervision) -> np.ndarray:
    """Return the rows of a list, which a tuple learner has checked already."""
    return np.asarray(rows) if supervision.checked else _check_rows(name, rows, size, n)


def _weights(supervision: Supervision, n: int) -> np.ndarray | None:
    """Return the weights of n comparisons, which a tuple learner has checked already."""
    weights = supervision.comparison_weight
    if weights is None or supervision.checked:
        return None if weights is None else np.asarray(weights)
    return check_weights_in_range(weights, n, "comparison_weight")


def _check_rows(name: str, values: ArrayLike, n_columns: int, n_samples: int) -> np.ndarray:
    """Rows of indices of samples that compare something, as int64."""
    width, what = _ROWS[n_columns]
    values = as_indices(values, name, n_columns)
    if values.ndim != 2 or values.shape[1] != n_columns or len(values) == 0:
        shape = f"(n_{name.split()[-1]} >= 1, {n_columns})"
        raise ValueError(
            f"{name} must have shape {shape}, rows of {width} integers, got {values.shape}."
        )
    if values.min() < 0 or values.max() >= n_samples:
        raise ValueError(
            f"{name} must be indices from 0 to {n_samples - 1}, places of rows of X, got "
            f"{values.min()} to {values.max()}."
        )
    same = same_pairs(values)
    if np.any(same):
        row = int(np.argmax(same))
        raise ValueError(f"{name} must name {what}; row {row} is {values[row].tolist()}.")
    return values


def as_indices(values: ArrayLike, name: str, n_columns: int) -> np.ndarray:
    """Return integers as int64, in any shape."""
    refuse_masked(values, name)
    try:
        values = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must have rows of {n_columns} integers each.") from error
    # Integers of pandas are objects.
    values = np.asarray(values.tolist()) if values.dtype == object else values
    if values.dtype.kind not in "iu" and values.size:
        raise TypeError(f"{name} must be integers, got dtype {values.dtype}.")
    return values.astype(np.int64)


def as_numbers(values: ArrayLike | None, name: str) -> np.ndarray:
    """Return finite numbers in double precision, in any shape, also none."""
    refuse_masked(values, name)
    return check_array(
        values, ensure_2d=False, allow_nd=True, dtype=np.float64, input_name=name,
        ensure_min_samples=0,
    )  # fmt: skip


def same_pairs(rows: np.ndarray) -> np.ndarray:
    """Where a row compares a pair with itself or names a pair of one object."""
    if rows.shape[1] == 2:
        return rows[:, 0] == rows[:, 1]
    if rows.shape[1] == 3:
        i, j, k = rows.T
        return (i == j) | (i == k) | (j == k)
    i, j, k, l = rows.T
    return (i == j) | (k == l) | ((i == k) & (j == l)) | ((i == l) & (j == k))


def _check_bounds(name: str, values: ArrayLike | None, n_pairs: int) -> np.ndarray:
    """Bounds of squared distances, one for each pair."""
    if values is None and n_pairs == 0:
        return np.empty(0)
    numbers = as_numbers(values, name)
    if numbers.shape not in ((), (n_pairs,)):
        raise ValueError(f"{name} must be a number or one number for each of its {n_pairs} pairs.")
    _check_range(name, numbers, "")
    return np.broadcast_to(numbers, n_pairs)


def _check_range(name: str, numbers: np.ndarray, others: str) -> None:
    # Smaller ones would vanish if squared and multiplied by distances.
    smallest = 1.0 / LARGEST
    # Written such that NaN is out of range.
    outside = ~((numbers >= smallest) & (numbers <= LARGEST)) & ~((numbers == 0.0) & (others != ""))
    if np.any(outside):
        row = int(np.argmax(outside))
        raise ValueError(
            f"{name} must be {others}positive numbers from {smallest:g} to {LARGEST:g}, got "
            f"{np.ravel(numbers)[row]:g}" + (f" in row {row}." if np.size(numbers) > 1 else ".")
        )
