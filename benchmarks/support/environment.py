"""What a benchmark ran with."""

import platform

import skscreen
from benchmarks.support.peer_process import versions


def environment(*more: str) -> str:
    """Name this package, those that matter for times and more, with versions, and the machine."""
    packages = versions(("numpy", "scipy", "scikit-learn", *more))
    return (
        f"skscreen {skscreen.__version__}, {packages}, Python {platform.python_version()}, "
        f"{platform.machine()}"
    )
