"""Checks of values of C or lambda."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

# Largest number of values of a grid; more would fill the memory.
MOST_VALUES = 1_000_000

# What a parameter accepts for which a grid can be made.
NUMBER_OR_LIST = "an int, how many values to try, or a list"


def positive_values(name: str, values: ArrayLike, kind: str = "a non-empty list") -> np.ndarray:
    """Return values in ascending order, each once; `kind` of positive numbers is asked for."""
    found = _ascending(values)
    if found.size == 0 or found[0] <= 0.0:
        raise ValueError(f"{name} must be {kind} of positive finite numbers, got {values!r:.80}.")
    return found


def values_from_zero(name: str, values: ArrayLike) -> np.ndarray:
    """Return values >= 0 in ascending order, each once; see `positive_values`."""
    found = _ascending(values)
    if found.size == 0 or found[0] < 0.0:
        raise ValueError(
            f"{name} must be a non-empty list of finite numbers >= 0, got {values!r:.80}."
        )
    return found


def _ascending(values: ArrayLike) -> np.ndarray:
    """Return a list of finite numbers in ascending order; an empty array for anything else."""
    try:
        found = np.asarray(values)
        # Strings and complex numbers would be read as numbers, which single values are not.
        found = np.empty(0) if found.dtype.kind in "USc" else found.astype(np.float64)
    except (TypeError, ValueError):
        return np.empty(0)
    return np.unique(found) if found.ndim == 1 and np.isfinite(found).all() else np.empty(0)
