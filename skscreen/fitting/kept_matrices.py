"""Kernel matrices and neighbours that stay in memory from one fit or score to the next.

They are not written to a folder: for a kernel matrix that takes several times as long as computing
it.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable

import numpy as np

from skscreen.core.memory import free_memory

# By what they follow from; the ones used last are at the end.
_KEPT: OrderedDict[str, "np.ndarray | KnownRows"] = OrderedDict()
_LOCK = threading.Lock()

# Rows of a matrix that are computed at a time.
_BLOCK = 256

# What `kept_rows` was asked for once, the last of them.
_ASKED: deque[str] = deque(maxlen=1000)


class KnownRows:
    """Rows of a matrix, each computed when it is asked for the first time.

    Parameters
    ----------
    n_rows, n_columns : int
    """

    def __init__(self, n_rows: int, n_columns: int):
        # Rows that nobody asks for take no memory.
        self._values = np.empty((n_rows, n_columns))
        self._known = np.zeros(n_rows, np.bool_)
        self.nbytes = self._values.nbytes

    def with_rows(
        self, index: np.ndarray, compute: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Return the matrix with the rows `index`; the others mean nothing.

        Parameters
        ----------
        index : ndarray of int
        compute : callable
            Takes places in `index` and returns the rows for them.

        Returns
        -------
        ndarray
            Shared by all who ask: not to be changed.
        """
        missing = np.flatnonzero(~self._known[index])
        if missing.size:
            for first in range(0, missing.size, _BLOCK):
                part = missing[first : first + _BLOCK]
                self._values[index[part]] = compute(part)
            # Only now: another thread may ask.
            self._known[index[missing]] = True
        return self._values


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


def kept_rows(key: str, max_bytes: float, n_rows: int, n_columns: int) -> KnownRows | None:
    """Return the rows of a matrix that this process keeps.

    Only of a matrix that is asked for again: most are needed once.

    Parameters
    ----------
    key : str
    max_bytes : float
        As of `kept_matrix`.
    n_rows, n_columns : int

    Returns
    -------
    KnownRows, or None
        None the first time, and where the matrix is larger than what may be kept.
    """
    with _LOCK:
        if key not in _KEPT and key not in _ASKED:
            _ASKED.append(key)
            return None
        if key not in _KEPT and 8 * n_rows * n_columns > _limit(max_bytes):
            return None
    return kept_matrix(key, max_bytes, lambda: KnownRows(n_rows, n_columns))


def _limit(max_bytes: float) -> float:
    free = free_memory()
    return max_bytes if free is None else min(max_bytes, free)
