"""Memory: what is free, and arrays as BLAS wants them."""

from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

# Files with limit, use and cached pages of a container, in both versions of control groups.
Containers = tuple[tuple[str, str, str, str], ...]
CONTAINERS: Containers = (
    ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    (
        "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)  # fmt: skip


def check_memory(needed: float, what: str, advice: str) -> None:
    """Raise MemoryError before so many bytes are allocated that are not free: Linux overcommits."""
    # `what` needs the memory, it begins the message; `advice`, how to need less, ends it.
    if is_negligible(needed):
        return
    free = free_memory()
    if free is not None and needed > free:
        raise MemoryError(
            f"{what} would need about {int(needed):,} bytes, but only {free:,} are free. {advice}"
        )


def is_negligible(needed: float) -> bool:
    """Whether so many bytes are allocated without a look at the free memory."""
    return needed <= 2**24


def check_kernel_memory(n_rows: int, n_columns: int, n_matrices: float, advice: str) -> None:
    """Raise an error if kernel matrices would not fit; see `check_memory`."""
    what = f"Kernel matrices of {n_rows:,} with {n_columns:,} samples"
    check_memory(8.0 * n_matrices * n_rows * n_columns, what, advice)


def free_memory(containers: Containers = CONTAINERS) -> int | None:
    """Bytes that can be allocated without swapping, or None where the system does not tell."""
    found = [_free_in_container(*names) for names in containers]
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


def aligned(values: Any) -> Any:
    """Return an array, or a dataclass or CSR matrix of arrays, with aligned memory."""
    # Buffers from another process begin at any byte; NumPy and BLAS copy unaligned ones each time.
    if isinstance(values, np.ndarray):
        return np.require(values, requirements="A")
    if is_dataclass(values) and not isinstance(values, type):
        return replace(values, **{f.name: aligned(getattr(values, f.name)) for f in fields(values)})
    if hasattr(values, "indptr"):
        parts = values.data, values.indices, values.indptr
        return values if all(part.flags.aligned for part in parts) else values.copy()
    return values
