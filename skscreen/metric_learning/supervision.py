"""Checks of class labels and of lists of comparisons."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from skscreen.core.floats import LARGEST
from skscreen.core.inputs import (
    as_floats,
    as_indices,
    check_label_objects,
    is_missing,
    label_array,
    refuse_masked,
    same_pairs,
    sample_weights,
)
from skscreen.core.sklearn_private import num_samples
from skscreen.fitting.warning import warn_user
from skscreen.metric_learning.parameters import Supervision

# For each number of columns: the number in words, and what a row must contain.
_ROWS = {
    2: ("two", "two different samples"),
    3: ("three", "three different samples"),
    4: ("four", "two different pairs of different samples"),
}


# Advice for indices that are floats.
AS_INTEGERS = (
    "Indices are read as floats where cells are missing: leave such rows out, then a.astype(int)."
)


def class_codes(
    X: Any, y: Any, unlabelled: Any = None, used: np.ndarray | None = None
) -> np.ndarray:
    """Classes as integers 0, 1, ..., and -1 for unlabelled samples and those not used (n,)."""
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. Without labels "
            "ScreenedRTLM learns from comparisons of the samples X: ScreenedRTLM().fit(X, "
            "triplets=T), T rows of indices; also quadruplets= and pairs=."
        )
    refuse_masked(y, "y")
    given, y = y, column_or_1d(label_array(y), warn=True)
    check_consistent_length(X, y)
    strings = y.dtype.kind in "UT"
    if unlabelled is not None and y.dtype.kind != "O" and isinstance(unlabelled, str) != strings:
        raise TypeError(
            f"unlabelled must be of the kind of the labels in y, as {y.tolist()[0]!r}, got "
            f"{unlabelled!r}. Lists of "
            "strings and numbers become strings: pass an array of Python objects, or a name."
        )
    known = np.ones(len(y), dtype=bool) if used is None else used.copy()
    if unlabelled is not None:
        known &= ~_equal(y, unlabelled)
    check_label_objects(given, known)
    try:
        if known.any():
            # Before kinds of labels are told apart, which casts them.
            assert_all_finite(y[known], input_name="y")
            check_classification_targets(y[known])
        classes, codes, counts = np.unique(y[known], return_inverse=True, return_counts=True)
    except TypeError as error:
        raise TypeError(
            "y must be uniformly strings or numbers, without missing values."
        ) from error
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
    found = np.full(len(y), -1)
    found[known] = codes
    return found


def _equal(y: np.ndarray, label: Any) -> np.ndarray:
    """Where labels are a given one; NaN and the like, which equal nothing, are all one."""
    if is_missing(label):
        return np.array([is_missing(one) for one in y.tolist()], dtype=bool)
    if y.dtype.kind == "O":
        return np.array([not is_missing(one) and one == label for one in y.tolist()], dtype=bool)
    return y == label


def check_sample_weight(sample_weight: Any, X: Any) -> np.ndarray:
    """Return weights >= 0 of samples, (n,), not all 0."""
    return _in_range("sample_weight", sample_weights(sample_weight, X))


def check_weights(name: str, weights: Any, n: int, what: str) -> np.ndarray:
    """Return weights >= 0 of n tuples or comparisons, (n,), not all 0."""
    refuse_masked(weights, name)
    numbers = as_floats(weights, "iuf")
    if numbers is None or numbers.shape != (n,):
        got = f"shape {np.shape(weights)}"
        if numbers is None:
            got = "other values: convert them, np.asarray(weights, dtype=float)"
        raise ValueError(f"{name} must be one number for each of the {n} {what}, got {got}.")
    return _in_range(name, numbers)


def _in_range(name: str, weights: np.ndarray) -> np.ndarray:
    """Return weights that are 0 or in the range of what can be computed with, and not all 0."""
    _check_range(name, weights, "0 or ")
    if not weights.any():
        raise ValueError(f"{name} must not be 0 everywhere.")
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
    pairs, weights = supervision.pairs, supervision.comparison_weight
    if isinstance(pairs, tuple | list) and len(pairs) == 2:
        return Lists(*_check_two_kinds(n_samples, supervision), all_pairs=True)
    # Name, near pairs, far pairs and thresholds of each kind.
    parts: list[tuple[str, np.ndarray, np.ndarray, np.ndarray | float]] = []
    rows = None
    if supervision.triplets is not None:
        rows = _check_rows("triplets", supervision.triplets, 3, n_samples)
        parts.append(("triplets", rows[:, :2], rows[:, ::2], threshold))
    if supervision.quadruplets is not None:
        fours = _check_rows("quadruplets", supervision.quadruplets, 4, n_samples)
        parts.append(("quadruplets", fours[:, :2], fours[:, 2:], threshold))
    if pairs is not None:
        # The distance that a bound on one distance lacks is that of a sample to itself, and its
        # threshold is the bound (Yoshida et al. 2019, section 6.3).
        S, D, upper, lower = _check_pairs(pairs, n_samples)
        parts.append(("similar pairs", S, S[:, [0, 0]], -upper))
        parts.append(("dissimilar pairs", D[:, [0, 0]], D, lower))
    near, far = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    thresholds = np.concatenate([np.broadcast_to(part[3], len(part[1])) for part in parts])
    if weights is not None:
        kinds = ", ".join(f"{len(part[1])} {part[0]}" for part in parts)
        what = f"comparisons ({kinds})"
        weights = check_weights("comparison_weight", weights, len(near), what)
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


def _check_two_kinds(n_samples: int, supervision: Supervision) -> tuple[np.ndarray, np.ndarray]:
    """Return similar and dissimilar pairs that are compared with each other, not with bounds."""
    others = [name for name in supervision.lists if name != "pairs"]
    others += ["comparison_weight"] * (supervision.comparison_weight is not None)
    if others:
        raise ValueError(
            f"{others[0]} can only be combined with pairs=(S, D, U, L), with bounds; pairs=(S, D) "
            "compares each similar pair with each dissimilar one and nothing else."
        )
    S, D = supervision.pairs
    return _check_rows("S of pairs", S, 2, n_samples), _check_rows("D of pairs", D, 2, n_samples)


def _check_pairs(pairs, n_samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    if not isinstance(pairs, tuple | list) or len(pairs) != 4:
        raise ValueError(
            "pairs must be a tuple (S, D, U, L): similar pairs, dissimilar pairs, upper and lower "
            "bounds of their squared distances; or (S, D)."
        )
    similar, dissimilar = (
        _check_rows(f"{name} of pairs", values, 2, n_samples)
        if np.size(values)
        else np.empty((0, 2), dtype=np.int64)
        for name, values in zip("SD", pairs[:2], strict=True)
    )
    if len(similar) + len(dissimilar) == 0:
        raise ValueError("S and D of pairs must not both be empty.")
    upper = _check_bounds("U of pairs", pairs[2], len(similar))
    return similar, dissimilar, upper, _check_bounds("L of pairs", pairs[3], len(dissimilar))


def _check_rows(name: str, values, n_columns: int, n_samples: int) -> np.ndarray:
    """Rows of indices of samples that compare something, as int64."""
    width, what = _ROWS[n_columns]
    refuse_masked(values, name)
    try:
        values = as_indices(values)
    except ValueError as error:
        raise ValueError(f"{name} must have rows of {width} integers each.") from error
    if values.ndim != 2 or values.shape[1] != n_columns or len(values) == 0:
        shape = f"(n_{name.split()[-1]} >= 1, {n_columns})"
        raise ValueError(f"{name} must have shape {shape}, got {values.shape}.")
    if not np.issubdtype(values.dtype, np.integer):
        advice = ""
        if values.dtype.kind in "OUST":
            advice = (
                " Names become rows of X with pandas.Index(names).get_indexer(a.ravel())"
                f".reshape(-1, {n_columns})."
            )
        elif values.dtype.kind == "f":
            advice = " " + AS_INTEGERS
        raise TypeError(f"{name} must be integers, got dtype {values.dtype}.{advice}")
    if values.min() < 0 or values.max() >= n_samples:
        raise ValueError(
            f"{name} must be indices from 0 to {n_samples - 1}, got {values.min()} to "
            f"{values.max()}. Rows of X are counted from 0; labels of its index become rows with "
            f"X.index.get_indexer(a.ravel()).reshape(-1, {n_columns})."
        )
    rows = values.astype(np.int64)
    same = same_pairs(rows)
    if np.any(same):
        row = int(np.argmax(same))
        raise ValueError(f"{name} must name {what}; row {row} is {rows[row].tolist()}.")
    return rows


def _check_bounds(name: str, values, n_pairs: int) -> np.ndarray:
    """Bounds of squared distances, one for each pair."""
    if values is None and n_pairs == 0:
        return np.empty(0)
    numbers = as_floats(values, "iuf")
    if numbers is None or numbers.shape not in ((), (n_pairs,)):
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
