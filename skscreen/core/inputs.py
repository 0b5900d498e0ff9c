"""Arrays that users hand over, brought to one form."""

import numpy as np


def same_pairs(rows: np.ndarray) -> np.ndarray:
    """Where a row compares a pair with itself or names a pair of one object."""
    if rows.shape[1] == 3:
        i, j, k = rows.T
        return (i == j) | (i == k) | (j == k)
    i, j, l, k = rows.T
    return (i == j) | (l == k) | ((i == l) & (j == k)) | ((i == k) & (j == l))


def as_floats(values, kinds: str = "biuf") -> np.ndarray | None:
    """Return a float64 array, or None for what is no array of numbers of these kinds."""
    try:
        values = np.asarray(values)
    except ValueError:
        return None
    return values.astype(np.float64) if values.dtype.kind in kinds else None
