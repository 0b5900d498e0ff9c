"""Arrays that users hand over, brought to one form."""

from typing import Any

import numpy as np
from scipy import sparse

FORMATS = ("list-order", "list-boolean", "list-count", "tensor-count")


def is_sparse(X: Any) -> bool:
    """Whether X is sparse; after SciPy's function, type checkers know no methods of X."""
    return sparse.issparse(X)


def same_pairs(rows: np.ndarray) -> np.ndarray:
    """Where a row compares a pair with itself or names a pair of one object."""
    if rows.shape[1] == 3:
        i, j, k = rows.T
        return (i == j) | (i == k) | (j == k)
    i, j, l, k = rows.T
    return (i == j) | (l == k) | ((i == l) & (j == k)) | ((i == k) & (j == l))


def as_floats(values: Any, kinds: str = "biuf") -> np.ndarray | None:
    """Return a float64 array, or None for what is no array of numbers of these kinds."""
    try:
        values = np.asarray(values)
    except ValueError:
        return None
    return values.astype(np.float64) if values.dtype.kind in kinds else None


def check_format(result_format: Any) -> None:
    """Refuse an unknown format of answers."""
    if not isinstance(result_format, str) or result_format not in FORMATS:
        raise ValueError(f"result_format must be one of {FORMATS}, got {result_format!r}.")


def in_format(rows: np.ndarray, right: np.ndarray, result_format: str, n_objects: int) -> tuple:
    """Return questions and their answers in one of `FORMATS`.

    Parameters
    ----------
    rows : ndarray of shape (m, 3) or (m, 4)
    right : ndarray of shape (m,), bool
        Whether the first pair of a row is the nearer one.
    result_format : str
        "list-order": rows turned round where they are not right; "list-boolean" and "list-count":
        rows as they are, and True and False, or 1 and -1; "tensor-count", for triplets: the sums of
        1 and -1 at (i, j * n_objects + k) of a SciPy array (n_objects, n_objects^2).
    n_objects : int

    Returns
    -------
    rows, responses
        Responses are None where the rows or the tensor tell all.
    """
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
