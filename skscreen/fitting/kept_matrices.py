"""Kernel matrices and neighbours that stay in memory from one fit to the next.

They are not written to a folder: for a kernel matrix that takes several times as long as computing
it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from skscreen.core.memory import free_memory

# What `KernelBlocksKept` holds.
Blocks = TypeVar("Blocks")

# Shares of the limit for one matrix of distances, and for the blocks of one fit.
_MOST_DISTANCES, _MOST_BLOCKS = 0.25, 0.25


class KernelMatrices:
    """Shared by problems on the same samples: squared distances, and the last kernel matrix.

    The last kernel matrix goes before the next one is computed. Threads may share these matrices.

    Parameters
    ----------
    several : bool, default=True
        Whether there will be several kernel matrices, so that distances are worth their memory;
        else they are kept once a second one was asked for.
    max_bytes : float, optional
        Limit for all that is kept.
    grown : callable, optional
        Is called after each change.
    """

    def __init__(
        self,
        several: bool = True,
        max_bytes: float = np.inf,
        grown: Callable[[], None] = lambda: None,
    ):
        self._lock = threading.Lock()
        self._several, self._max_bytes, self._grown = several, max_bytes, grown
        self._key: tuple | None = None
        self._kernel: np.ndarray | None = None
        self._of: tuple | None = None
        self._distances: np.ndarray | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the matrices."""
        return sum(part.nbytes for part in (self._kernel, self._distances) if part is not None)

    def kernel(self, key: tuple, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the kernel matrix of a key, computed if it is not the last one: not to be changed.

        Parameters
        ----------
        key : tuple
            Of the kernel and its parameters.
        compute : callable
        """
        with self._lock:
            if key == self._key and self._kernel is not None:
                return self._kernel
            self._several = self._several or self._key is not None
            self._key = self._kernel = None
        matrix = compute()
        with self._lock:
            self._key, self._kernel = key, matrix
        self._grown()
        return matrix

    def distances(self, key: tuple, n: int, compute: Callable[[], np.ndarray]) -> np.ndarray | None:
        """Return the squared distances between n samples; None if not worth their memory.

        Parameters
        ----------
        key : tuple
            Of the way they are computed.
        n : int
        compute : callable
        """
        with self._lock:
            if key == self._of:
                return self._distances
        if not self._several or 8.0 * n * n > _MOST_DISTANCES * _limit(self._max_bytes):
            return None
        matrix = compute()
        with self._lock:
            self._of, self._distances = key, matrix
        self._grown()
        return matrix


class KernelBlocksKept:
    """Blocks of a kernel matrix, or what holds them, computed when they are asked for first.

    Threads may share them.

    Parameters
    ----------
    nbytes : float
        Of all blocks together.
    """

    def __init__(self, nbytes: float):
        self.nbytes = nbytes
        self._blocks: dict[Hashable, Any] = {}

    def get(self, key: Hashable, compute: Callable[[], Blocks]) -> Blocks:
        """Return what belongs to a key: not to be changed."""
        found = self._blocks.get(key)
        return self._blocks.setdefault(key, compute()) if found is None else found


# By key, the least recently used first.
# A key stands for one kind.
_KEPT: OrderedDict[str, Any] = OrderedDict()
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
    matrix = compute()
    with _LOCK:
        _KEPT[key] = matrix
    _make_room(max_bytes)
    return matrix


def kept_kernel_matrices(key: str, max_bytes: float) -> KernelMatrices:
    """Return the matrices of this process that belong to a set of samples.

    Parameters
    ----------
    key, max_bytes
        See `kept_matrix`.
    """
    grown = partial(_make_room, max_bytes)
    with _LOCK:
        found = _KEPT.setdefault(key, KernelMatrices(False, max_bytes, grown))
        _KEPT.move_to_end(key)
    return found


def kept_kernel_blocks(key: str, nbytes: float, max_bytes: float) -> KernelBlocksKept | None:
    """Return the blocks of this process that belong to a kernel matrix; None if too large.

    Parameters
    ----------
    key, max_bytes
        See `kept_matrix`.
    nbytes : float
        Of all blocks together.
    """
    with _LOCK:
        if key in _KEPT:
            _KEPT.move_to_end(key)
            return _KEPT[key]
    if nbytes > _MOST_BLOCKS * _limit(max_bytes):
        return None
    with _LOCK:
        found = _KEPT.setdefault(key, KernelBlocksKept(nbytes))
    _make_room(max_bytes)
    return found


def _make_room(max_bytes: float) -> None:
    limit = _limit(max_bytes)
    with _LOCK:
        total = sum(kept.nbytes for kept in _KEPT.values())
        while total > limit and _KEPT:
            total -= _KEPT.popitem(last=False)[1].nbytes


def _limit(max_bytes: float) -> float:
    free = free_memory()
    return max_bytes if free is None else min(max_bytes, free)
