"""Kernel matrices and neighbours that stay in memory from one fit to the next.

They are not written to a folder: for a kernel matrix that takes several times as long as computing
it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable

import numpy as np

from skscreen.core.memory import free_memory

# Matrices by the key of what they follow from, the least recently used first.
_KEPT: OrderedDict[str, np.ndarray] = OrderedDict()
_LOCK = threading.Lock()


def kept_matrix(key: str, max_bytes: float, compute: Callable[[], np.ndarray]) -> np.ndarray:
    """Return a matrix of this process: the one kept, or computed and kept.

    Parameters
    ----------
    key : str
        Of what the matrix follows from; see `skscreen.fitting.store.content_key`.
    max_bytes : float
        Matrices used least recently are dropped where all kept ones are larger together than that,
        or than what they leave free.
    compute : callable
        Returns the matrix.

    Returns
    -------
    ndarray
        Shared by all who ask: not to be changed.
    """
    with _LOCK:
        if key in _KEPT:
            _KEPT.move_to_end(key)
            return _KEPT[key]
    matrix, limit = compute(), _limit(max_bytes)
    with _LOCK:
        _KEPT[key] = matrix
        while sum(kept.nbytes for kept in _KEPT.values()) > limit:
            _KEPT.popitem(last=False)
    return matrix


def _limit(max_bytes: float) -> float:
    free = free_memory()
    return max_bytes if free is None else min(max_bytes, free)
