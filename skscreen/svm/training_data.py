"""Training data that results keep: copies of what the user may change, and marks of changes."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from scipy import sparse

from skscreen.core.checks import Matrix


def own(data: Any) -> Any:
    """Return a copy of arrays, sparse matrices, frames and lists, which the user may change."""
    return data.copy() if hasattr(data, "copy") else data


def own_unless_made(X: Matrix, given: Any) -> Any:
    """Return an array or sparse matrix, or a copy of it if it may be part of what was given."""
    if isinstance(given, list | tuple):
        return X
    known = isinstance(given, np.ndarray) or sparse.issparse(given)
    is_made = known and not any(
        np.may_share_memory(mine, theirs) for mine in _arrays(X) for theirs in _arrays(given)
    )
    return X if is_made else X.copy()


def _arrays(X: Matrix) -> list[np.ndarray]:
    """Return the arrays that an array or a sparse matrix consists of."""
    parts = vars(X).values() if sparse.issparse(X) else [X]
    return [part for part in parts if isinstance(part, np.ndarray)]


def mark(X: Matrix) -> list[int]:
    """Return what tells whether an array or a sparse matrix was changed, or sorted, in place."""
    marks = []
    for array in _arrays(X):
        bits = array.view(f"u{array.itemsize}")
        if bits.ndim == 2:
            # A sum of each row takes less time than a checksum of all entries. Odd factors tell
            # columns apart, and lose no bit.
            odd = np.arange(1, 2 * bits.shape[1], 2, dtype=bits.dtype)
            bits = np.einsum("ij,j->i", bits, odd)
        marks.append(zlib.crc32(np.ascontiguousarray(bits).data))
    return marks
