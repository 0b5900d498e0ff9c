"""Classes and weights of samples, checked and brought to one form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets

from skscreen.core.checks import Matrix, check_weights

# Largest caps of dual variables, so that their squares times inner products do not overflow.
_SMALLEST_CAP, _LARGEST_CAP = 1e-80, 1e80


@dataclass(frozen=True)
class Labels:
    """Classes and weights of the samples that take part."""

    all_classes: np.ndarray  # also those whose samples all have weight zero
    present: np.ndarray  # (n_classes,), places of the others among them
    rows: np.ndarray  # (n,), samples of positive weight
    codes: np.ndarray  # (n,), their classes, as places in `classes`
    weights: np.ndarray  # (n,), products of sample and class weights, > 0
    repetitions: np.ndarray  # (n,), sample weights
    factors: np.ndarray  # (n_classes,), class weights, > 0

    @property
    def classes(self) -> np.ndarray:
        """Classes that take part, (n_classes,)."""
        return self.all_classes[self.present]


def read_labels(
    y: np.ndarray, sample_weight: ArrayLike | None, class_weight: Mapping | str | None
) -> Labels:
    """Bring checked labels and weights to one form; samples of weight zero are left out."""
    classes = np.unique(y)
    if y.dtype.kind not in "biuU" or 2 * classes.size > y.size:
        # Floats may be those of a regression, and so many classes are worth a warning.
        check_classification_targets(y)
    rows, weights = taking_part(y.size, sample_weight)
    # The few classes are sorted; the inverse of `unique` would sort all labels.
    codes, repetitions = np.searchsorted(classes, y[rows]), weights
    factors = np.ones(classes.size)
    if class_weight is not None:
        factors = _class_factors(class_weight, classes, codes, weights)
        weights = weights * factors[codes]
        positive = np.flatnonzero(weights)
        rows, weights, repetitions = rows[positive], weights[positive], repetitions[positive]
        codes = codes[positive]
    present = np.flatnonzero(np.bincount(codes, minlength=classes.size))
    if present.size < 2 and rows.size < y.size:
        raise ValueError(
            "Invalid input - all samples with positive weights belong to the same class of y."
        )
    if present.size < 2:
        raise ValueError(
            "The number of classes has to be greater than one; got "
            f"{present.size} class{'' if present.size == 1 else 'es'} in y."
        )
    if present.size < classes.size:
        codes = np.searchsorted(present, codes)
    return Labels(classes, present, rows, codes, weights, repetitions, factors[present])


def of_rows(X: Matrix, rows: np.ndarray, pairwise: bool) -> Any:
    """Return some rows of X, in their order, of a kernel matrix the columns too."""
    if rows.size == X.shape[0]:
        return X
    return X[np.ix_(rows, rows)] if pairwise else X[rows]


def taking_part(n: int, sample_weight: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the samples of positive weight, and their weights."""
    weights = check_weights(sample_weight, n, negative=True)
    rows = np.flatnonzero(weights)
    return rows, weights[rows]


def _class_factors(class_weight: Mapping | str | None, classes, codes, weights) -> np.ndarray:
    if isinstance(class_weight, str):
        # Sums of weights, so that weights still mean repetitions.
        totals = np.bincount(codes, weights, minlength=classes.size)
        return np.divide(
            weights.sum(), np.count_nonzero(totals) * totals, np.ones(classes.size),
            where=totals > 0.0,
        )  # fmt: skip
    return given_factors(class_weight, classes)


def given_factors(class_weight: Any, classes: np.ndarray) -> np.ndarray:
    """Return the factors (n_classes,) that a dict has for classes; 1 for those not in it."""
    try:
        factors = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    except (TypeError, ValueError):
        factors = np.array([np.nan])
    if not np.all(np.isfinite(factors)) or factors.min() < 0.0:
        raise ValueError(f"class_weight must hold finite numbers >= 0, got {class_weight!r}.")
    # As in scikit-learn, a class that a fold lacks may have a weight, but a misspelt class may not.
    unknown = set(class_weight) - set(classes.tolist())
    if unknown and not set(classes.tolist()) <= set(class_weight):
        raise ValueError(
            f"class_weight has entries for {sorted(unknown, key=repr)}, which are not in y; the "
            f"classes are {classes.tolist()}."
        )
    return factors


def check_bounds(C: float, weights: np.ndarray) -> None:
    """Refuse upper bounds of dual variables with which products under- or overflow."""
    smallest, largest = C * float(weights.min()), C * float(weights.max())
    if not (_SMALLEST_CAP <= smallest and largest <= _LARGEST_CAP):
        raise ValueError(
            f"C times the weights of samples (sample_weight, class_weight) must be from "
            f"{_SMALLEST_CAP:g} to {_LARGEST_CAP:g}, got {smallest:g} to {largest:g} at "
            f"C={C:g}."
        )
