"""Two versions of skscreen on the same work, in turn: is the newer one as fast?

    python -m benchmarks.whole.versions OLDER NEWER --data FOLDER [--only NAME,...] [--repeats 5]

OLDER and NEWER are checkouts, FOLDER holds the benchmark data and its `load.py`. Every run has a
process and one thread of its own: the older version, the newer one, the older one again, and so on.
Before it is timed a job runs on a few samples, so that compiled code is loaded. Seconds are the
medians of the repeats, in CPU time; the ratio is the median of the ratios of neighbouring runs.
"""

import argparse
import json
import os
import pickle
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from benchmarks.support.data import Data, Sets
from benchmarks.support.peer_process import ONE_THREAD
from benchmarks.support.tables import table

SIDE = Path(__file__).with_name("version_side.py")


def metric_path(name: str, few: int, **options) -> Callable:
    """Whole paths over lambda; features in [-1, 1]."""

    def job(folder):
        X, y = Data(folder)(name)
        return "metric_path", MinMaxScaler((-1, 1)).fit_transform(X), y, options, few

    return job


def kernel_path(name: str, n: int | None = None) -> Callable:
    """RBF paths of 31 values of C up to 1000."""

    def job(folder):
        X, y = Sets(folder)(name, n)
        options = {"Cs": np.geomspace(1e-3, 1e3, 31), "gamma": 1.0 / X.shape[1]}
        return "kernel_path", X, y, options, 200

    return job


def linear(name: str, Cs: tuple[float, ...], n: int | None = None) -> Callable:
    """Single fits with the linear kernel, one for each C."""

    def job(folder):
        return "linear_fits", *Sets(folder)(name, n), {"Cs": Cs}, 500

    return job


def search(folder):
    """A grid search over 20 values of C and 5 folds, with a store."""
    X, y = Sets(folder)("satimage")
    options = {"Cs": np.geomspace(1e-2, 1e2, 20), "gamma": 1.0 / X.shape[1]}
    return "stored_search", X, y, options, 200


def embedding(folder):
    """Ten fits of 500 objects to 50,000 answers, a tenth of them wrong."""
    rng = np.random.default_rng(0)
    points = rng.normal(scale=10**-0.5, size=(500, 5))
    rows = np.array([rng.choice(500, 3, replace=False) for _ in range(50_000)])
    near, far = (((points[rows[:, 0]] - points[rows[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
    swap = (near > far) ^ (rng.random(len(rows)) < 0.1)
    rows[swap] = rows[swap][:, [0, 2, 1]]
    return "embedding", rows, None, {"n_components": 5, "n_objects": 500}, 5000


def pragam(folder):
    """a9a at lambda = 2^-16, 200 iterations."""
    X, y = Sets(folder)("a9a")
    return "pragam", X, y, {"C": 2.0**16 / X.shape[0], "tol": 1e-3, "max_iter": 200}, 500


JOBS = {
    "segment-path": metric_path("segment", 300, n_neighbors=20),
    "dna-path": metric_path("dna", 300, n_neighbors=5, n_lams=40),
    "rbf-path-satimage": kernel_path("satimage"),
    "rbf-path-spambase": kernel_path("spambase"),
    "rbf-path-letter": kernel_path("letter", 6000),
    "rbf-path-magic": kernel_path("magic", 6000),
    "mnist-linear": linear("mnist", (10.0,), 10_000),
    "news20_binary-linear": linear("news20_binary", (0.1, 1.0, 10.0)),
    "grid-search-with-store": search,
    "embedding-n=500": embedding,
    "pragam-a9a": pragam,
}


def main() -> int:
    """Run all jobs; return 1 if one is more than 1.05 times as slow."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("older", type=Path)
    parser.add_argument("newer", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--only", default=",".join(JOBS))
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    names = args.only.split(",")
    if unknown := set(names) - set(JOBS):
        parser.error(f"unknown {sorted(unknown)}; there are {', '.join(JOBS)}")
    print(f"numpy {np.__version__}, Python {platform.python_version()}, {platform.machine()}\n")
    rows, ratios = [], []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "job"
            file.write_bytes(pickle.dumps(JOBS[name](args.data)))
            runs = [[run(path, file) for path in (args.older, args.newer)]
                    for _ in range(args.repeats)]  # fmt: skip
        seconds = np.array([[run["seconds"] for run in pair] for pair in runs])
        each = seconds[:, 1] / seconds[:, 0]
        ratios.append(np.median(each))
        values = [f"{run['value']:.6g}" for run in runs[-1]]
        older, newer = np.median(seconds, axis=0)
        rows.append((name, f"{older:.2f}", f"{newer:.2f}", f"{ratios[-1]:.3f}",
                     f"{each.min():.2f} to {each.max():.2f}", *values))  # fmt: skip
        print(f"{name}: {ratios[-1]:.3f}", flush=True)
    print()
    table("work,older s,newer s,ratio,of single pairs,value older,value newer", rows)
    return int(max(ratios) > 1.05)


def run(checkout: Path, file: Path) -> dict:
    """Run a job with the skscreen of a checkout, which must be what is imported."""
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(checkout.resolve())}
    shown = subprocess.run(
        [sys.executable, str(SIDE), str(file)], capture_output=True, text=True, env=environment
    )
    if shown.returncode:
        raise RuntimeError(shown.stderr)
    answer = json.loads(shown.stdout.splitlines()[-1])
    if not Path(answer["package"]).is_relative_to(checkout.resolve()):
        raise RuntimeError(f"{checkout} was not imported, but {answer['package']}.")
    return answer


if __name__ == "__main__":
    sys.exit(main())
