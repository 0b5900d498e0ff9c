"""Memory: what is free, and a pool of reusable work arrays."""

import sys
from dataclasses import fields, is_dataclass, replace
from math import ceil, log2, prod
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

# Length of an array below which the system's allocator is as fast as a pool.
_SMALL = 4096
# Sizes of the buffers of a pool for each doubling.
_PER_OCTAVE = 4

# Smaller allocations are made without a look at the free memory.
_NEGLIGIBLE = 2**24

# Files with limit, use and cached pages of a container, in both versions of control groups.
_CONTAINERS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    (
        "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)  # fmt: skip


def check_memory(needed: float, what: str, advice: str) -> None:
    """Raise an error before memory is allocated that is not free, because Linux overcommits.

    Parameters
    ----------
    needed : float
        Bytes of all arrays that exist at the same time.
    what : str
        Beginning of the message, which says what needs the memory.
    advice : str
        Last sentence of the message, which says how to need less.

    Raises
    ------
    MemoryError
        If that many bytes are not free.
    """
    if needed <= _NEGLIGIBLE:
        return
    free = free_memory()
    if free is not None and needed > free:
        raise MemoryError(
            f"{what} would need about {int(needed):,} bytes, but only {free:,} are free. {advice}"
        )


def check_kernel_memory(n_rows: int, n_columns: int, n_matrices: float, advice: str) -> None:
    """Raise an error if kernel matrices would not fit; see `check_memory`."""
    what = f"Kernel matrices of {n_rows:,} with {n_columns:,} samples"
    check_memory(8.0 * n_matrices * n_rows * n_columns, what, advice)


def free_memory() -> int | None:
    """Bytes that can be allocated without swapping, or None where the system does not tell."""
    found = [_free_in_container(*names) for names in _CONTAINERS]
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    found.append(int(line.split()[1]) * 1024)
    except OSError:
        pass
    return min((free for free in found if free is not None), default=None)


def _free_in_container(folder: str, limit: str, used: str, cached: str) -> int | None:
    """Bytes left to this container, None where there is no limit."""
    group = Path(folder)
    try:
        left = int((group / limit).read_text()) - int((group / used).read_text())
        lines = (group / "memory.stat").read_text().splitlines()
        pages = dict(line.split() for line in lines)
        return max(left + int(pages.get(cached, 0)), 0)
    except (OSError, ValueError):
        # The file may contain "max".
        return None


class Pool:
    """Arrays from buffers that are kept and reused.

    Allocating large arrays means page faults, which can cost as much as the arithmetic. Buffers are
    kept in size classes. A buffer is free when no array refers to it, so arrays from the pool
    behave like any other. An array gets the smallest free buffer of at most twice its size, so that
    small arrays do not block large buffers. Threads may share a pool; copying or pickling it makes
    a new one.
    """

    def __init__(self) -> None:
        self._buffers: dict[int, list[np.ndarray]] = {0: [np.empty(0)]}
        self._idle = sys.getrefcount(self._buffers[0][0])
        self._lock = Lock()

    def __reduce__(self) -> Any:
        return Pool, ()

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers."""
        with self._lock:
            return sum(part.nbytes for buffers in self._buffers.values() for part in buffers)

    def empty(self, shape: int | tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
        """Return an uninitialised array."""
        size = shape if isinstance(shape, int) else prod(shape)
        n_numbers = -(-size * np.dtype(dtype).itemsize // 8)
        if n_numbers < _SMALL:
            return np.empty(shape, dtype)
        level = ceil(_PER_OCTAVE * log2(n_numbers))
        with self._lock:
            for near in range(level, level + _PER_OCTAVE + 1):
                buffers = self._buffers.get(near, [])
                for i in range(len(buffers)):
                    if sys.getrefcount(buffers[i]) == self._idle:
                        return buffers[i].view(dtype)[:size].reshape(shape)
            buffers = self._buffers.setdefault(level, [])
            buffers.append(np.empty(ceil(2.0 ** (level / _PER_OCTAVE))))
            return buffers[-1].view(dtype)[:size].reshape(shape)

    def zeros(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Return a float64 array of zeros."""
        out = self.empty(shape)
        out.fill(0.0)
        return out

    def copy(self, values: np.ndarray) -> np.ndarray:
        """Return a copy."""
        out = self.empty(values.shape, values.dtype)
        out[...] = values
        return out

    def take(self, values: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Return values[index] along the first axis."""
        out = self.empty((index.size, *values.shape[1:]), values.dtype)
        return np.take(values, index, axis=0, out=out, mode="clip")


def aligned(values: Any) -> Any:
    """Return an array, or a dataclass or CSR matrix of arrays, with aligned memory.

    Arrays sent by another process may be unaligned, and BLAS would copy them in every product.
    """
    if isinstance(values, np.ndarray):
        return np.require(values, requirements="A")
    if is_dataclass(values) and not isinstance(values, type):
        return replace(values, **{f.name: aligned(getattr(values, f.name)) for f in fields(values)})
    if hasattr(values, "indptr"):
        for name in ("data", "indices", "indptr"):
            setattr(values, name, aligned(getattr(values, name)))
    return values
