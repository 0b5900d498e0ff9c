"""A progress bar on stderr for paths whose length may be only an estimate."""

import math
import shutil
import sys
from typing import Self


def share_of_decades(gap: float, tol: float) -> float:
    """Return how far a relative gap has come from 1 to a tolerance, on the scale of logarithms."""
    tol = min(max(tol, 1e-300), 0.5)
    return max(math.log(max(gap, tol)) / math.log(tol), 0.0)


def say(verbose: float, message: object) -> None:
    """Write a line where the bar is drawn, if a user has asked for one."""
    if verbose > 0:
        print(message, file=sys.stderr, flush=True)


class ProgressBar:
    """Show how far a path has come: in one line of a terminal, else a line every 10 %."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __enter__(self) -> Self:
        # stderr is looked up here, not at import, so that redirections are respected.
        self._stream = sys.stderr if self.enabled else None
        self._in_place = self._stream is not None and self._stream.isatty()
        self._fraction = 0.0
        self._tenths = -1
        return self

    def update(self, fraction: float, message: object) -> None:
        """Draw the bar at `fraction` (clipped to 0..1) with `message` behind it."""
        if self._stream is None:
            return
        # If the end is an estimate it may move away; the bar then waits and does not go back.
        self._fraction = max(self._fraction, min(fraction, 1.0))
        tenths = int(10 * self._fraction + 1e-9)
        if not self._in_place and tenths == self._tenths:
            return
        self._tenths = tenths
        width = 24
        bar = ("#" * round(width * self._fraction)).ljust(width, ".")
        line = f"[{bar}] {self._fraction:4.0%} {message}"
        if self._in_place:
            # Cut and padded to the terminal: a wrapped line could not be overdrawn.
            width = shutil.get_terminal_size().columns - 1
            line = "\r" + line[:width].ljust(width)
        print(line, end="" if self._in_place else "\n", file=self._stream, flush=True)

    def end(self) -> None:
        """Leave the line, so that others can be written."""
        if self._in_place and self._tenths >= 0:
            print(file=self._stream, flush=True)
            self._tenths = -1

    def __exit__(self, *exc_info: object) -> None:
        self.end()
