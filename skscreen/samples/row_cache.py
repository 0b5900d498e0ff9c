"""Rows of a matrix that is too large for memory: those used last are kept."""

import threading
import weakref
from collections.abc import Callable

import numpy as np

# All caches. Memory that is reserved but not yet written to still counts as free.
_ALL: weakref.WeakSet = weakref.WeakSet()

# Held while memory is checked and reserved, so that two caches do not reserve the same memory.
RESERVING = threading.Lock()


def reserved_bytes() -> int:
    """Bytes that caches have reserved and may still write to."""
    return sum(cache.unused_bytes for cache in _ALL)


class RowCache:
    """The rows used last, in a fixed number of slots.

    Parameters
    ----------
    n : int
        Of rows, and of numbers in each.
    n_slots : int
    dtype : dtype
    """

    def __init__(self, n: int, n_slots: int, dtype):
        self.values = np.empty((min(n_slots, n), n), dtype)
        self.slot_of = np.full(n, -1)
        self._row_in = np.full(len(self.values), -1)
        self._used = np.zeros(len(self.values), np.int64)
        self._clock = self._n_filled = 0
        _ALL.add(self)

    @property
    def unused_bytes(self) -> int:
        """Bytes of the slots that have never held a row."""
        return self.values[self._n_filled :].nbytes

    def slots(self, index: np.ndarray, compute: Callable) -> np.ndarray:
        """Return where the rows `index` are, after computing those that are not there."""
        self._clock += 1
        self._used[self.slot_of[index[self.slot_of[index] >= 0]]] = self._clock
        missing = np.unique(index[self.slot_of[index] < 0])
        if missing.size:
            slots = self._least_used(missing.size)
            evicted = self._row_in[slots]
            self.slot_of[evicted[evicted >= 0]] = -1
            self.values[slots] = compute(missing)
            self._row_in[slots], self.slot_of[missing] = missing, slots
            self._used[slots] = self._clock
        return self.slot_of[index]

    def _least_used(self, count: int) -> np.ndarray:
        """Return slots that are free, or those used longest ago."""
        if self._n_filled + count <= len(self.values):
            self._n_filled += count
            return np.arange(self._n_filled - count, self._n_filled)
        # The other free rows have not been used either.
        self._n_filled = len(self._used)
        return np.argpartition(self._used, count - 1)[:count]
