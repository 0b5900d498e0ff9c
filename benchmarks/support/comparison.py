"""Comparisons: rows of ours beside a peer on one piece of work, and what makes them."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.support.data import Data, Sets
from benchmarks.support.peer_process import PeerProcess, best_of

HEADER = "work,data,skscreen,CPU s,reached,beside,CPU s,reached,skscreen is"


@dataclass(frozen=True)
class Side:
    """What one method took and reached; `late` if the limit ended it, `failed` if something else.

    Nothing is compared with a side that takes no time, such as the Euclidean distance.
    """

    name: str
    seconds: float
    reached: str = ""
    late: bool = False
    failed: str = ""

    def cells(self) -> tuple[str, str, str]:
        """Return name, seconds and what was reached."""
        shown = self.failed.split("\n")[0].replace("|", "/")[:60] or short(self.seconds)
        return self.name, f"> {shown}" if self.late and not self.failed else shown, self.reached


def answered(name: str, answer: dict, limit: float, reached: str) -> Side:
    """Return the side of a peer's answer; "failed" in it says why there are no seconds."""
    failed = answer.get("failed", "")
    late = failed.startswith(">")
    seconds = limit if failed else answer["seconds"]
    return Side(name, seconds, reached, late=late, failed="" if late else failed)


def fitted(name: str, model, X, y, repeats: int = 1) -> Side:
    """Fit one of our models; return its side, with the gap that it proves."""
    seconds, _ = best_of(repeats, lambda: model.fit(X, y))
    return Side(name, seconds, f"gap {model.dual_gap_:.0e}")


@dataclass(frozen=True)
class Row:
    """Ours beside a peer."""

    work: str
    data: str
    ours: Side
    peer: Side

    @property
    def ratio(self) -> float:
        """How many times as long the peer took; NaN where there is nothing to compare."""
        known = self.peer.seconds > 0.0 and not self.peer.failed
        return self.peer.seconds / self.ours.seconds if known else np.nan

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the table."""
        return (self.work, self.data, *self.ours.cells(), *self.peer.cells(), self.verdict())

    def verdict(self) -> str:
        """Say how many times faster or slower we are; a limit bounds it from one side only."""
        if np.isnan(self.ratio) or (self.peer.late and self.ratio < 1.0):
            return "-"
        if self.ratio >= 1.0:
            return f"{'> ' if self.peer.late else ''}{short(self.ratio)} times faster"
        return f"{short(1.0 / self.ratio)} times slower"


@dataclass
class Bench:
    """Data, peers and limits of a run.

    Parameters
    ----------
    folder : Path
        With the data and `load.py`; see `data.py`.
    peer_python : str or None
        Interpreter of an environment with the peers of `peers.txt`.
    limit : float
        CPU seconds of a peer's fit.
    repeats : int
        The fastest of so many short fits counts.
    """

    folder: Path
    peer_python: str | None = None
    limit: float = 60.0
    repeats: int = 3
    _processes: dict = field(default_factory=dict)

    def __post_init__(self):
        self.data, self.sets = Data(self.folder), Sets(self.folder)

    def here(self, module: str) -> PeerProcess:
        """Return a process of our own environment that serves jobs."""
        return self._process(sys.executable, module)

    def there(self, module: str) -> PeerProcess | None:
        """Return a process of the peers' environment, if there is one."""
        return self._process(self.peer_python, module) if self.peer_python else None

    def _process(self, python: str, module: str) -> PeerProcess:
        return self._processes.setdefault((python, module), PeerProcess(python, module))


def short(value: float) -> str:
    """Write a number in two or three digits."""
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.2g}" if value < 1.0 else f"{value:.3g}"


def size(name: str, X) -> str:
    """Name data with their shape; no comma, which divides cells."""
    return f"{name} {X.shape[0]:,} × {X.shape[1]:,}"
