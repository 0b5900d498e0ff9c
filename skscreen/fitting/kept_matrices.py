"""Kernel matrices and neighbours that stay in memory, as files take longer than computing them."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from skscreen.core.memory import free_memory

# What `KernelBlocksKept` holds.
Blocks = TypeVar("Blocks")

# Share of the limit that one matrix of distances, or the blocks of one fit, may have.
_MOST = 0.25


class KernelMatrices:
    """Shared by problems, and threads, on the same samples: distances, the last kernel matrix."""

    def __init__(
        self, several: bool = True, max_bytes: float = np.inf,
        grown: Callable[[], None] = lambda: None,
    ):  # fmt: skip
        # `several` kernel matrices make distances worth their memory; else they are kept once a
        # second one was asked for. `grown` is called after each change.
        self._lock = threading.Lock()
        self._several, self._max_bytes, self._grown = several, max_bytes, grown
        self._key: Hashable = None
        self._kernel: np.ndarray | None = None
        self._of: tuple | None = None
        self._distances: np.ndarray | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the matrices."""
        return sum(part.nbytes for part in (self._kernel, self._distances) if part is not None)

    def kernel(self, key: Hashable, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the kernel matrix (n, n) of a key, not to be changed; the last one goes first."""
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
        """Return squared distances (n, n), by the key of how; None if not worth their memory."""
        with self._lock:
            if key == self._of:
                return self._distances
        if not self._several or 8.0 * n * n > _MOST * _limit(self._max_bytes):
            return None
        matrix = compute()
        with self._lock:
            self._of, self._distances = key, matrix
        self._grown()
        return matrix


class KernelBlocksKept:
    """Blocks, of `nbytes` together, of a kernel matrix; threads may share them."""

    def __init__(self, nbytes: float):
        self.nbytes = nbytes
        self._blocks: dict[Hashable, Any] = {}

    def get(self, key: Hashable, compute: Callable[[], Blocks]) -> Blocks:
        """Return what belongs to a key, computed when it is asked for first: not to be changed."""
        found = self._blocks.get(key)
        return self._blocks.setdefault(key, compute()) if found is None else found


class KeptMatrices:
    """What a process keeps for a store by `content_key`, at most `max_bytes`; threads share it."""

    def __init__(self, max_bytes: float):
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        # The least recently used first.
        self._kept: OrderedDict[str, Any] = OrderedDict()

    def values(self) -> list:
        """Return all that is kept, the least recently used first."""
        return list(self._kept.values())

    def matrix(self, key: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the matrix of a key, computed if it is not kept: not to be changed."""
        found = self._find(key)
        return self._keep(key, compute()) if found is None else found

    def kernels(self, key: str) -> KernelMatrices:
        """Return the matrices that belong to a set of samples."""
        found = self._find(key)
        if found is None:
            found = self._keep(key, KernelMatrices(False, self.max_bytes, self._make_room))
        return found

    def blocks(self, key: str, nbytes: float) -> KernelBlocksKept | None:
        """Return the blocks of a kernel matrix; None where these, of `nbytes`, are too large."""
        found = self._find(key)
        if found is None and nbytes <= _MOST * _limit(self.max_bytes):
            found = self._keep(key, KernelBlocksKept(nbytes))
        return found

    def _find(self, key: str) -> Any:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: str, made: Any) -> Any:
        with self._lock:
            made = self._kept.setdefault(key, made)
        self._make_room()
        return made

    def _make_room(self) -> None:
        limit = _limit(self.max_bytes)
        with self._lock:
            total = sum(kept.nbytes for kept in self._kept.values())
            while total > limit and self._kept:
                total -= self._kept.popitem(last=False)[1].nbytes


def _limit(max_bytes: float) -> float:
    free = free_memory()
    return max_bytes if free is None else min(max_bytes, free)
