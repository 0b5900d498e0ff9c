"""Formats of answers that cblearn has."""

import numpy as np
from scipy import sparse

FORMATS = ("list-order", "list-boolean", "list-count", "tensor-count")


def check_format(result_format: str) -> None:
    """Refuse an unknown format of answers."""
    if not isinstance(result_format, str) or result_format not in FORMATS:
        raise ValueError(f"result_format must be one of {FORMATS}, got {result_format!r}.")


def in_format(rows: np.ndarray, right: np.ndarray, result_format: str, n_objects: int) -> tuple:
    """Return questions, (m, 3) or (m, 4), and their answers in one of `FORMATS`."""
    # `right` (m,) says whether the first pair is the nearer one. Answers are None where the rows,
    # turned round if need be, tell all, or a tensor: sums of 1 and -1 at (i, j * n_objects + k).
    triplets = rows.shape[1] == 3
    if result_format == "list-order":
        turned = rows[:, [0, 2, 1] if triplets else [2, 3, 0, 1]]
        return np.where(right[:, None], rows, turned), None
    if result_format == "list-boolean":
        return rows, right
    counts = np.where(right, 1, -1)
    if result_format == "list-count":
        return rows, counts
    if not triplets:
        raise ValueError("result_format must not be 'tensor-count' for quadruplets.")
    i, j, k = rows.astype(np.int64).T
    tensor = sparse.coo_array((counts, (i, j * n_objects + k)), (n_objects, n_objects**2))
    return tensor.tocsr(), None
