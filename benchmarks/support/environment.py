"""What a benchmark runs with."""

import os
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import skscreen


def environment(*more: str) -> str:
    """Name this package, those that matter for times and more, with versions, and the machine."""
    named = ("numpy", "scipy", "scikit-learn", *more)
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in named)
    return (
        f"skscreen {skscreen.__version__}, {packages}, Python {platform.python_version()}, "
        f"{platform.machine()}, {processor()} of {os.cpu_count()} cores"
    )


def processor() -> str:
    """Return the name of the processor, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration, IndexError):
        return platform.processor() or "a processor"


@contextmanager
def one_thread() -> Iterator[None]:
    """Measure with one thread; tables say which tolerances were missed, warnings do not."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
