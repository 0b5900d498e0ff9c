"""Kernel matrices and neighbours that stay in memory from one fit to the next.

They are not written to a folder: for a kernel matrix that takes several times as long as computing
it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partial
from typing import TypeVar

import numpy as np

from skscreen.core.memory import Pool, free_memory

# What `KernelBlocksKept` holds.
Blocks = TypeVar("Blocks")

# Returns a matrix, in memory that it gets by its shape.
Compute = Callable[[Callable[[tuple[int, int]], np.ndarray]], np.ndarray]

# Shares of the limit for one matrix of distances, for the blocks of one fit, and for all together
# where more than one kernel matrix of the same samples is kept.
_MOST_DISTANCES, _MOST_BLOCKS, _MOST = 0.25, 0.25, 0.9


class KernelMatrices:
    """Shared by problems on the same samples: squared distances, and kernel matrices.

    The next kernel matrix takes the memory of the last one, unless somebody still has that: memory
    that a process has not used yet may cost more than what is computed there. A matrix that is
    asked for again, as in searches over several kernels and C, gets memory of its own if there is
    room; those that came first stay. Threads may share these matrices.

    Parameters
    ----------
    several : bool, default=True
        Whether there will be several kernel matrices, so that distances are worth their memory;
        else they are kept once a second one was asked for.
    max_bytes : float, optional
        Limit for all that is kept.
    room : callable, optional
        Returns the bytes left for more kernel matrices than one.
    grown : callable, optional
        Is called after each change.
    """

    def __init__(
        self,
        several: bool = True,
        max_bytes: float = np.inf,
        room: Callable[[], float] = lambda: 0.0,
        grown: Callable[[], None] = lambda: None,
    ):
        self.pool, self._lock = Pool(), threading.Lock()
        self._several, self._max_bytes, self._room, self._grown = several, max_bytes, room, grown
        self._kernels, self._asked = {}, set()
        self._of = self._distances = None

    @property
    def nbytes(self) -> int:
        """Bytes of the matrices, and of what solvers have used beside them."""
        return self.pool.nbytes

    def kernel(self, key: tuple, compute: Compute) -> np.ndarray:
        """Return the kernel matrix of a key, kept or computed: not to be changed.

        Parameters
        ----------
        key : tuple
            Of the kernel and its parameters.
        compute : callable
        """
        with self._lock:
            if key in self._kernels:
                return self._kernels[key]
            if self._kernels:
                self._several = True
                last, matrix = self._kernels.popitem()
                if key in self._asked and matrix.nbytes <= self._room():
                    self._kernels[last] = matrix
                del matrix
            self._asked.add(key)
        matrix = compute(self.pool.empty)
        with self._lock:
            self._kernels[key] = matrix
        self._grown()
        return matrix

    def distances(self, key: tuple, n: int, compute: Compute) -> np.ndarray | None:
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
        matrix = compute(self.pool.empty)
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
        self.nbytes, self._blocks = nbytes, {}

    def get(self, key: Hashable, compute: Callable[[], Blocks]) -> Blocks:
        """Return what belongs to a key: not to be changed."""
        found = self._blocks.get(key)
        return self._blocks.setdefault(key, compute()) if found is None else found


# By key, the least recently used first.
_KEPT: OrderedDict[str, np.ndarray | KernelMatrices | KernelBlocksKept] = OrderedDict()
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
    calls = partial(_room, max_bytes), partial(_make_room, max_bytes)
    with _LOCK:
        found = _KEPT.setdefault(key, KernelMatrices(False, max_bytes, *calls))
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


def _room(max_bytes: float) -> float:
    """Return the bytes left for matrices that are only worth it if nothing makes room for them."""
    with _LOCK:
        return _MOST * _limit(max_bytes) - _total()


def _total() -> int:
    return sum(kept.nbytes for kept in _KEPT.values())


def _make_room(max_bytes: float) -> None:
    limit = _limit(max_bytes)
    with _LOCK:
        total = _total()
        while total > limit:
            total -= _KEPT.popitem(last=False)[1].nbytes


def _limit(max_bytes: float) -> float:
    free = free_memory()
    return max_bytes if free is None else min(max_bytes, free)
