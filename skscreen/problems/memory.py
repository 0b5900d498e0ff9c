"""A pool of reusable work arrays."""

import sys
from dataclasses import fields, is_dataclass, replace
from math import prod
from threading import Lock

import numpy as np

# Elements below which the allocator of the system is as good.
_SMALL = 4096


class Pool:
    """Hands out arrays from buffers that it keeps and uses again.

    Fresh large arrays come from the system page by page, which on the problems here costs as much
    as the arithmetic. Buffers are kept by powers of two (pages never touched cost nothing); one is
    free again when no array refers to it, so an array taken from the pool behaves like any other.
    Threads may share a pool; a copy of it, or a pickle, is a new one.
    """

    def __init__(self):
        self._buffers: dict[int, list[np.ndarray]] = {0: [np.empty(0)]}
        self._idle = sys.getrefcount(self._buffers[0][0])
        self._lock = Lock()

    def __reduce__(self):
        return Pool, ()

    def empty(self, shape: int | tuple[int, ...], dtype=np.float64) -> np.ndarray:
        """Return an uninitialised array; the element size must be 8 bytes or less."""
        size = shape if isinstance(shape, int) else prod(shape)
        if size < _SMALL:
            return np.empty(shape, dtype)
        power = size.bit_length()
        with self._lock:
            for near in (power, power + 1, power + 2):
                buffers = self._buffers.get(near, [])
                for i in range(len(buffers)):
                    if sys.getrefcount(buffers[i]) == self._idle:
                        return buffers[i].view(dtype)[:size].reshape(shape)
            buffers = self._buffers.setdefault(power, [])
            buffers.append(np.empty(1 << power))
            return buffers[-1].view(dtype)[:size].reshape(shape)

    def zeros(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Return a float64 array of zeros."""
        out = self.empty(shape)
        out.fill(0.0)
        return out

    def take(self, values: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Return values[index] along the first axis."""
        out = self.empty((index.size, *values.shape[1:]), values.dtype)
        return np.take(values, index, axis=0, out=out, mode="clip")


def aligned(values):
    """Return an array, or a dataclass or CSR of arrays, of numbers at multiples of their size.

    What another process has sent may lie anywhere. BLAS would copy it at every product.
    """
    if isinstance(values, np.ndarray):
        return np.require(values, requirements="A")
    if is_dataclass(values):
        return replace(values, **{f.name: aligned(getattr(values, f.name)) for f in fields(values)})
    if hasattr(values, "indptr"):
        for name in ("data", "indices", "indptr"):
            setattr(values, name, aligned(getattr(values, name)))
    return values
