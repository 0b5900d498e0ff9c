"""Compiled loops, one submodule for each room, built for two levels of processor.

The level is chosen once, at import: "x86-64-v3" (AVX2 and FMA) where the processor has it, else
"base". The variable SKSCREEN_PROCESSOR of the environment forces one of them.
"""

import os
from pathlib import Path

try:
    from skscreen._compiled import base  # type: ignore[attr-defined]
except ImportError as error:
    raise ImportError(
        "skscreen is imported from a folder without its compiled loops, probably the sources: run "
        "Python elsewhere or with -P, or install with `pip install -e .`."
    ) from error

try:
    from skscreen._compiled import v3  # type: ignore[attr-defined]
except ImportError:  # built for another processor than x86-64
    v3 = None


def is_older(built: float, folder: Path) -> bool:
    """Whether there are sources in a folder, and one of them changed after the time `built`."""
    if not (folder / "module.cpp").exists():
        return False
    sources = (path for path in folder.rglob("*") if path.suffix in (".hpp", ".cpp"))
    return max(path.stat().st_mtime for path in sources) > built


# In a checkout, after `git pull`: old loops would run on, or fail where they are called otherwise.
if is_older(os.stat(base.__file__).st_mtime, Path(__file__).parent):
    raise ImportError(
        "the C++ sources of skscreen have changed since they were compiled: run `make compiled`."
    )

LEVELS = {"base": base}
if v3 is not None and base.has_v3():
    LEVELS["x86-64-v3"] = v3

level = os.environ.get("SKSCREEN_PROCESSOR") or list(LEVELS)[-1]
if level not in LEVELS:
    raise ImportError(
        f"SKSCREEN_PROCESSOR={level!r} is not available here; "
        f"choose one of {list(LEVELS)}, or unset it."
    )
_loops = LEVELS[level]

concepts = _loops.concepts
core = _loops.core
distributed = _loops.distributed
embedding = _loops.embedding
metric_learning = _loops.metric_learning
pragam = _loops.pragam
samples = _loops.samples
sequence = _loops.sequence
svm = _loops.svm
