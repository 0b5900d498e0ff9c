"""Linear kernels with a free intercept: ScreenedSVC on rows beside SVC, and beside release 0.2.0.

    python -m benchmarks.svm.free_intercept --data FOLDER [--only NAME,...] [--before FOLDER]

FOLDER holds the benchmark data and its `load.py`; with `--before` there is a checkout of release
0.2.0, whose fits are timed in a process of their own, alternating with those of this version.
Dense sets are standardised, as most have them; texts are rows of length 1. CPU seconds, one
thread, median of `--repeats`; SVC is fitted once, with its defaults and `--limit` seconds of
patience for a set. Gaps are those of the attributes, (P - D) / P of the problem itself.
"""

import argparse
import pickle
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Sets
from benchmarks.support.environment import environment
from benchmarks.support.tables import table
from skscreen import ScreenedSVC

SETS = {
    "magic": 6000, "spambase": 4601, "a9a": 8000, "covtype": 6000, "phishing": 11055,
    "dna": 3186, "reuters_money": 11069, "imdb5k": 5000, "leukemia": 72, "colon_cancer": 62,
}  # fmt: skip
GRID = (0.01, 1.0, 100.0)

# What the other process runs: it reads X, y and values of C, and answers with seconds.
_OTHER = """
import pickle, sys, time, warnings
warnings.simplefilter("ignore")
from threadpoolctl import threadpool_limits
from skscreen import ScreenedSVC
with threadpool_limits(1):
    X, y = pickle.load(sys.stdin.buffer)
    ScreenedSVC(kernel="linear").fit(X[:200], y[:200])
    while (C := pickle.load(sys.stdin.buffer)) is not None:
        began = time.process_time()
        ScreenedSVC(C, kernel="linear").fit(X, y)
        pickle.dump(time.process_time() - began, sys.stdout.buffer)
        sys.stdout.buffer.flush()
"""


def main() -> None:
    """Measure all sets."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--only", default=",".join(SETS))
    parser.add_argument("--before", type=Path, help="checkout of release 0.2.0")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of SVC for a set")
    args = parser.parse_args()
    print(f"{environment()}\n")
    warnings.simplefilter("ignore", ConvergenceWarning)
    sets, rows, ratios = Sets(args.data), [], {"SVC": [], "0.2.0": []}
    with threadpool_limits(1):
        for name in args.only.split(","):
            X, y = samples(sets, name)
            ScreenedSVC(kernel="linear").fit(X[:200], y[:200])
            other, left = Other(args.before, X, y) if args.before else None, args.limit
            for C in GRID:
                before = [other.seconds(C) for _ in range(args.repeats)] if other else [np.nan]
                mine, model = zip(*(ours(X, y, C) for _ in range(args.repeats)), strict=True)
                seconds, peer = float(np.median(mine)), peer_seconds(X, y, C, left)
                left -= peer
                compared = float(np.median(before)) / seconds, peer / seconds
                for key, ratio in zip(("0.2.0", "SVC"), compared, strict=True):
                    ratios[key] += [ratio] if np.isfinite(ratio) else []
                gap = f"{model[-1].dual_gap_:.0e}"
                rows.append(
                    (name, f"{C:g}", f"{seconds:.3f}", gap, *(f"{r:.1f}" for r in compared))
                )
                print(*rows[-1], flush=True)
            if other:
                other.end()
    print()
    table("set,C,seconds,gap,0.2.0 / ours,SVC / ours", rows)
    for key, found in ratios.items():
        if found:
            mean = float(np.exp(np.mean(np.log(found))))
            print(f"\n{key} over ours: geometric mean {mean:.1f}, least {min(found):.2f}")


def samples(sets: Sets, name: str):
    """Return samples of two classes: the largest class and the others."""
    X, y = sets(name)
    rows = np.random.default_rng(0).permutation(X.shape[0])[: SETS[name]]
    codes = np.unique(y, return_inverse=True)[1][rows]
    X, y = X[rows], (codes == np.bincount(codes).argmax()).astype(int)
    if not sparse.issparse(X):
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return X, y


def ours(X, y, C: float):
    """Return seconds and the model."""
    began = time.process_time()
    model = ScreenedSVC(C, kernel="linear").fit(X, y)
    return time.process_time() - began, model


def peer_seconds(X, y, C: float, limit: float) -> float:
    """Return the seconds of SVC, NaN without patience."""
    if limit <= 0.0:
        return np.nan
    began = time.process_time()
    SVC(C=C, kernel="linear", cache_size=1000).fit(X, y)
    return time.process_time() - began


class Other:
    """A process that fits with another checkout of the package."""

    def __init__(self, folder: Path, X, y):
        self._process = subprocess.Popen(
            [sys.executable, "-c", _OTHER], cwd=folder, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env={"PYTHONPATH": str(folder)},
        )  # fmt: skip
        self._send((X, y))

    def _send(self, value) -> None:
        pickle.dump(value, self._process.stdin)
        self._process.stdin.flush()

    def seconds(self, C: float) -> float:
        """Return the seconds of a fit."""
        self._send(C)
        return pickle.load(self._process.stdout)

    def end(self) -> None:
        """End the process."""
        self._send(None)
        self._process.wait()


if __name__ == "__main__":
    main()
