"""A pool of reusable work arrays."""

import sys
from math import prod

import numpy as np


class Pool:
    """Hands out float64 or int64 arrays from buffers that it keeps and uses again.

    Fresh arrays of some 100 kB come from the system page by page, which on the problems here
    costs as much as the arithmetic. A buffer is free again when no array refers to it, so an
    array taken from the pool behaves like any other.
    """

    def __init__(self):
        self._buffers: list[np.ndarray] = [np.empty(0)]
        self._idle = sys.getrefcount(self._buffers[0])

    def empty(self, shape: int | tuple[int, ...], dtype=np.float64) -> np.ndarray:
        """Return an uninitialised array; the element size must be 8 bytes or less."""
        size = shape if isinstance(shape, int) else prod(shape)
        for i in range(len(self._buffers)):
            if self._buffers[i].size >= size and sys.getrefcount(self._buffers[i]) == self._idle:
                break
        else:
            i = len(self._buffers)
            self._buffers.append(np.empty(size + size // 8))
        return self._buffers[i].view(dtype)[:size].reshape(shape)

    def zeros(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Return a float64 array of zeros."""
        out = self.empty(shape)
        out.fill(0.0)
        return out

    def take(self, values: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Return values[index] along the first axis."""
        out = self.empty((index.size, *values.shape[1:]), values.dtype)
        return np.take(values, index, axis=0, out=out, mode="clip")
