"""Memory: what is free, and a pool of reusable work arrays."""

import sys
from dataclasses import fields, is_dataclass, replace
from math import ceil, log2, prod
from pathlib import Path
from threading import Lock

import numpy as np

# Numbers in an array below which the system's allocator is as fast as a pool.
_SMALL = 4096
# Sizes of the buffers of a pool for each doubling.
_PER_OCTAVE = 4

# Bytes that are allocated without asking how many are free.
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
    """Refuse what would not fit, before it is allocated: Linux promises more than there is.

    Parameters
    ----------
    needed : float
        Bytes, all arrays that live at the same time together.
    what : str
        Names and counts what needs them: the beginning of the message.
    advice : str
        What needs less: its last sentence.

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
    """Refuse kernel matrices, so many at the same time; see `check_memory`."""
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
        # "max" is no number.
        return None


class Pool:
    """Hands out arrays from buffers that it keeps and uses again.

    Fresh large arrays come from the system page by page, which on the problems here costs as much
    as the arithmetic. Buffers are kept in classes of size (pages never touched cost nothing). One
    is free again when no array refers to it, so an array taken from the pool behaves like any
    other. It lies in the smallest free buffer of up to twice the size it needs: more would keep
    large ones busy with small arrays. Threads may share a pool; a copy or pickle of it is a new
    one.
    """

    def __init__(self):
        self._buffers: dict[int, list[np.ndarray]] = {0: [np.empty(0)]}
        self._idle = sys.getrefcount(self._buffers[0][0])
        self._lock = Lock()

    def __reduce__(self):
        return Pool, ()

    def empty(self, shape: int | tuple[int, ...], dtype=np.float64) -> np.ndarray:
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
