"""Memory of paths of metric learning, and a path over all triplets of two thousand samples.

    python -m benchmarks.metric_learning.memory --data FOLDER

FOLDER holds the benchmark data and a `load.py`. Each path has a process and a thread of its own.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.metric_learning.paper_numbers import SETS
from benchmarks.support.environment import environment


def main() -> None:
    """Print a line for each path."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    args = parser.parse_args()
    print(environment())
    for name in ("segment", "satimage", "phishing"):
        memory(args.data, name)
    for scaler in ("MinMaxScaler((-1, 1))", "StandardScaler()"):
        all_triplets(args.data, "segment", scaler)


def memory(folder: Path, name: str) -> None:
    """Peak memory of a path beyond what was there before it, in a process of its own.

    A path over a tenth of the samples goes before, so that modules are not counted.
    """
    program = (
        "import os, sys, threading, time\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from load import load\n"
        "from sklearn.preprocessing import StandardScaler\n"
        "from skscreen import rtlm_path\n"
        "def resident():\n"
        "    with open('/proc/self/statm') as f:\n"
        "        return int(f.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')\n"
        "X, y = load(sys.argv[2])\n"
        "X = StandardScaler().fit_transform(X)\n"
        "rtlm_path(X[::10], y[::10], n_neighbors=int(sys.argv[3]))\n"
        "before, peak, done = resident(), [0], []\n"
        "def watch():\n"
        "    while not done:\n"
        "        peak[0] = max(peak[0], resident())\n"
        "        time.sleep(0.002)\n"
        "thread = threading.Thread(target=watch)\n"
        "thread.start()\n"
        "path = rtlm_path(X, y, n_neighbors=int(sys.argv[3]))\n"
        "done.append(1)\n"
        "thread.join()\n"
        "extra = peak[0] - before\n"
        "print(f'{path.n_triplets:,} triplets, {extra / 1e6:.1f} MB beyond X at the peak, '\n"
        "      f'{extra / path.n_triplets:.1f} bytes a triplet')\n"
    )
    print(f"memory, {name}: {run_alone(program, folder, name, SETS[name])}", flush=True)


def all_triplets(folder: Path, name: str, scaler: str, ratio: float = 0.6, n_lams: int = 22):
    """Time and peak memory of a path over all triplets, in a process of its own."""
    program = (
        "import resource, sys, time\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from load import load\n"
        "from sklearn.preprocessing import MinMaxScaler, StandardScaler\n"
        "from skscreen import rtlm_path\n"
        "X, y = load(sys.argv[2])\n"
        "X = eval(sys.argv[3]).fit_transform(X)\n"
        "options = {'n_neighbors': None, 'ratio': float(sys.argv[4]), 'stop': 0.0}\n"
        "rtlm_path(X[::9], y[::9], n_lams=5, **options)\n"
        "started, cpu = time.perf_counter(), time.process_time()\n"
        "path = rtlm_path(X, y, n_lams=int(sys.argv[5]), **options)\n"
        "seconds, cpu = time.perf_counter() - started, time.process_time() - cpu\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "print(f'{path.n_triplets:,} triplets, {len(path)} values of lambda, {seconds:.1f} s '\n"
        "      f'({cpu:.1f} s of CPU), {path.n_iters.sum()} iterations, '\n"
        "      f'{peak:.0f} MiB at the peak, libraries and all, '\n"
        "      f'worst gap {path.dual_gaps.max():.1e}')\n"
    )
    out = run_alone(program, folder, name, scaler, ratio, n_lams)
    print(f"all triplets, {name}, {scaler}: {out}", flush=True)


def run_alone(program: str, *arguments) -> str:
    """Run a program in a process of its own with one thread; return what it prints."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return out.stdout.strip()


if __name__ == "__main__":
    main()
