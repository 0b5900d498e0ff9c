"""Memory of paths of metric learning, and a path over all triplets of two thousand samples.

    python -m benchmarks.metric_learning.memory --data FOLDER

FOLDER holds the benchmark data and a `load.py`. Each path has a process and a thread of its own.
"""

import argparse
import multiprocessing
import os
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path

from sklearn.preprocessing import MinMaxScaler, StandardScaler

from benchmarks.metric_learning.paper_numbers import SETS
from benchmarks.support.data import Data
from benchmarks.support.environment import environment
from benchmarks.support.peer_process import ONE_THREAD
from skscreen import rtlm_path

SCALERS = {"[-1, 1]": MinMaxScaler((-1, 1)), "standardised": StandardScaler()}


def main() -> None:
    """Print a line for each path."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    args = parser.parse_args()
    print(environment())
    for name in ("segment", "satimage", "phishing"):
        alone(beyond_the_data, args.data, name)
    for scaler in SCALERS:
        alone(all_triplets, args.data, "segment", scaler)


def alone(function: Callable, *arguments) -> None:
    """Call a function in a new process with one thread."""
    os.environ |= ONE_THREAD
    process = multiprocessing.get_context("spawn").Process(target=function, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"{function.__name__}{arguments} ended with {process.exitcode}.")


def beyond_the_data(folder: Path, name: str) -> None:
    """Print the peak memory of a path beyond what was there before it.

    A path over a tenth of the samples goes before, so that modules are not counted.
    """
    X, y = Data(folder)(name)
    X = StandardScaler().fit_transform(X)
    rtlm_path(X[::10], y[::10], n_neighbors=SETS[name])
    before, peak, done = resident(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            peak[0] = max(peak[0], resident())

    thread = threading.Thread(target=watch)
    thread.start()
    path = rtlm_path(X, y, n_neighbors=SETS[name])
    done.set()
    thread.join()
    extra = peak[0] - before
    print(
        f"memory, {name}: {path.n_triplets:,} triplets, {extra / 1e6:.1f} MB beyond X at the peak, "
        f"{extra / path.n_triplets:.1f} bytes a triplet",
        flush=True,
    )


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def all_triplets(folder: Path, name: str, scaler: str) -> None:
    """Print time and peak memory of a path over all triplets."""
    X, y = Data(folder)(name)
    X = SCALERS[scaler].fit_transform(X)
    options = {"n_neighbors": None, "ratio": 0.6, "stop": 0.0}
    rtlm_path(X[::9], y[::9], n_lams=5, **options)
    started, cpu = time.perf_counter(), time.process_time()
    path = rtlm_path(X, y, n_lams=22, **options)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"all triplets, {name}, {scaler}: {path.n_triplets:,} triplets, {len(path)} values of "
        f"lambda, {seconds:.1f} s ({cpu:.1f} s of CPU), {path.n_iters.sum()} iterations, "
        f"{peak:.0f} MiB at the peak, libraries and all, worst gap {path.dual_gaps.max():.1e}",
        flush=True,
    )


if __name__ == "__main__":
    main()
