"""Peers in processes of their own: another environment, and an end to fits that take too long.

Jobs and answers go through a pipe, a JSON object a line, their arrays through a file. `PeerProcess`
is our side; what the peer's side imports needs numpy only.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


class PeerProcess:
    """A module that serves jobs, run by some interpreter; started again if a job ends it."""

    def __init__(self, python: str, module: str):
        self.command = [python, "-m", module]
        self.process = None
        self._folder = tempfile.TemporaryDirectory()
        self._file = Path(self._folder.name) / "arrays.npz"

    def ask(self, job: dict, **arrays: np.ndarray) -> dict:
        """Run a job; return what it answers, with its arrays. "failed" says why there is none."""
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, env=os.environ | ONE_THREAD,
            )  # fmt: skip
        np.savez(self._file, **arrays)
        self.process.stdin.write(json.dumps({**job, "file": str(self._file)}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            code, self.process = self.process.wait(), None
            late = code == -signal.SIGPROF
            return {"failed": f"> {job['limit']:g} s" if late else f"ended with code {code}"}
        answer = json.loads(line)
        with np.load(self._file) as stored:
            return answer | dict(stored)


def serve(run: Callable[[dict, dict], dict]) -> None:
    """Answer the jobs on standard input by `run(job, arrays)`, until there are no more.

    Arrays among what it returns come back as such. Exceptions are answers, too.
    """
    # What a peer prints must not get among the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        job = json.loads(line)
        with np.load(job["file"]) as stored:
            arrays = dict(stored)
        try:
            answer = run(job, arrays)
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"}
        found = {key: value for key, value in answer.items() if isinstance(value, np.ndarray)}
        np.savez(job["file"], **found)
        rest = {key: value for key, value in answer.items() if key not in found}
        print(json.dumps(rest), file=answers, flush=True)


def timed(limit: float, function: Callable, *arguments):
    """Return CPU seconds and value of a call; the process ends if they get beyond the limit.

    By the system's timer, because compiled code does not look at Python's signal handlers.
    """
    signal.setitimer(signal.ITIMER_PROF, limit)
    started = time.process_time()
    value = function(*arguments)
    seconds = time.process_time() - started
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    return seconds, value


def best_of(repeats: int, function: Callable):
    """Return CPU seconds and value of the fastest call: of two above a second, of one above ten.

    The first to use much memory pays for the pages, as much as the machine's state makes it.
    """
    best = None
    for repeat in range(repeats):
        started = time.process_time()
        value = function()
        seconds = time.process_time() - started
        if best is None or seconds < best[0]:
            best = seconds, value
        if seconds > 10.0 or (seconds > 1.0 and repeat > 0):
            break
    return best
