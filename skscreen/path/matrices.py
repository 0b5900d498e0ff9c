"""Kernel matrices and neighbours that stay in memory from one fit to the next.

They are not written to a folder: for a kernel matrix that takes several times as long as computing
it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable

import numpy as np

# By what they follow from; the ones used last are at the end.
_KEPT: OrderedDict[str, np.ndarray] = OrderedDict()
_LOCK = threading.Lock()


def kept_matrix(
    key: str, compute: Callable[[], np.ndarray], max_bytes: float = 2.0**30
) -> np.ndarray:
    """Return a matrix of this process: the one kept, or computed and kept.

    Parameters
    ----------
    key : str
        Of what the matrix follows from; see `skscreen.path.store.content_key`.
    compute : callable
        Returns the matrix.
    max_bytes : float, default=2**30
        Matrices used least recently are dropped where all kept ones are larger together.

    Returns
    -------
    ndarray
        Shared by all who ask: not to be changed.
    """
    with _LOCK:
        matrix = _KEPT.get(key)
    if matrix is None:
        matrix = compute()
    with _LOCK:
        _KEPT[key] = matrix
        _KEPT.move_to_end(key)
        while sum(kept.nbytes for kept in _KEPT.values()) > max_bytes:
            _KEPT.popitem(last=False)
    return matrix
