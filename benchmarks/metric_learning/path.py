"""Regularisation paths of metric learning: with every bound, without screening, and what they cost.

    python -m benchmarks.metric_learning.path --data FOLDER [--parts paths,dna,...]
                                              [--sets segment,...]

FOLDER holds the benchmark data and a `load.py` with `load(name) -> (X, y)`; iris and wine come
with scikit-learn. Everything in one table is measured in one run, one BLAS thread, compilation
excluded (it is printed apart), in seconds of the clock on the wall. Features are scaled to [-1, 1]
as in the paper unless a table says otherwise.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Data
from benchmarks.support.environment import environment
from skscreen import ScreenedRTLM, rtlm_path
from skscreen.metric_learning.problem.comparisons import Comparisons
from skscreen.metric_learning.problem.domains import PSDCone
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Problem, inner
from skscreen.metric_learning.problem.triplets import triplets_from_labels

SETS = {"segment": 20, "satimage": 15, "phishing": 7, "iris": None, "wine": None}
RUNS = {
    "none": {"screening": False},
    "GB": {"bound": "gb"},
    "PGB": {"bound": "pgb"},
    "DGB": {"bound": "dgb"},
    "RRPB": {"bound": "rrpb"},
    "RRPB+PGB": {"bound": ("rrpb", "pgb")},
    "gap (default)": {},
    "gap, ranges": {"ranges": True},
    "RRPB+PGB, linear": {"bound": ("rrpb", "pgb"), "rule": "linear"},
}
# CPU seconds of Yoshida et al. (2019), figure 9, in the order of RUNS without the last three.
PAPER = {
    "segment": (1327.8, 1220.0, 235.6, 300.9, 206.3, 188.1),
    "satimage": (1970.9, 1727.2, 653.5, 799.7, 651.2, 569.6),
    "phishing": (5584.7, 3139.1, 1300.3, 1748.3, 1397.6, 1247.4),
    "iris": (110.9, 71.5, 31.6, 23.7, 20.0, 20.8),
    "wine": (564.1, 545.3, 129.3, 153.3, 104.7, 105.1),
}


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--parts", default="paths,dna,knn,memory,all")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--repeats", type=int, default=2, help="the fastest counts")
    args = parser.parse_args()
    data = Data(args.data)
    print(environment())
    started = time.perf_counter()
    X, y = load_iris(return_X_y=True)
    for options in RUNS.values():
        rtlm_path(X, y, n_lams=3, ratio=0.5, **options)
    print(f"compilation or loading of compiled code: {time.perf_counter() - started:.1f} s\n")
    with threadpool_limits(1):
        for part in args.parts.split(","):
            if part == "paths":
                for name in args.sets.split(","):
                    path_table(name, *data(name), args.repeats)
            elif part == "dna":
                two_eigendecompositions(*data("dna"))
            elif part == "knn":
                knn_table(data)
            elif part == "memory":
                for name in ("segment", "satimage", "phishing"):
                    memory(args.data, name)
            elif part == "all":
                for scaler in ("MinMaxScaler((-1, 1))", "StandardScaler()"):
                    all_triplets(args.data, "segment", scaler)
            else:
                parser.error(f"unknown part {part!r}")


def path_table(name: str, X, y, repeats: int) -> None:
    """Print one line a bound: seconds, ratios to no screening, rates, iterations."""
    X, k = MinMaxScaler((-1, 1)).fit_transform(X), SETS[name]
    runs = {}
    for _ in range(repeats):
        for label, options in RUNS.items():
            path = rtlm_path(X, y, n_neighbors=k, **options)
            if label not in runs or path.seconds.sum() < runs[label].seconds.sum():
                runs[label] = path
    none = runs["none"].seconds.sum()
    evaluation = evaluation_seconds(X, y, k)
    print(
        f"{name} {X.shape}, k={'all' if k is None else k}: {runs['none'].n_triplets:,} triplets, "
        f"{len(runs['none'])} values of lambda, one evaluation {1e3 * evaluation:.2f} ms"
    )
    print(
        "bound             seconds  none/it  paper  evals' worth  iterations  "
        "path rate  least    end  gap"
    )
    paper = dict(zip(RUNS, PAPER[name], strict=False))
    for label, path in runs.items():
        seconds = path.seconds.sum()
        theirs = f"{paper['none'] / paper[label]:6.2f}" if label in paper else "     -"
        print(
            f"{label:17s} {seconds:7.2f} {none / seconds:8.2f} {theirs} "
            f"{seconds / evaluation:13.0f} {path.n_iters.sum():11d} "
            f"{path.path_screening_rates.mean():10.3f} {path.path_screening_rates[1:].min():6.3f} "
            f"{path.screening_rates.mean():6.3f} "
            f"{path.dual_gaps.max():.0e}"
        )
    print(flush=True)


def evaluation_seconds(X, y, k) -> float:
    """Seconds of one evaluation of the full problem in the middle of its path."""
    problem, lam, _point = full_problem(X, y, k)
    objective = problem.at(1e-3 * lam)
    middle = rtlm_path(X, y, n_neighbors=k, lams=[1e-2 * lam, 1e-3 * lam], tol=1e-2)[-1].point
    times = []
    for _ in range(20):
        started = time.perf_counter()
        objective.evaluate(middle)
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def full_problem(X, y, k):
    """Set up the problem that rtlm_path solves."""
    X = X - X.mean(axis=0)
    items = triplets_from_labels(X, np.unique(y, return_inverse=True)[1], k)
    problem = Problem(Comparisons(X, items), SmoothedHinge(), PSDCone())
    return problem, *problem.lam_max()


def two_eigendecompositions(X, y, k: int = 5, ratio: float = 0.9, end: float = 1e-3) -> None:
    """Compare with projected gradient that splits both M and S in every iteration.

    The plain method: no screening, no active set, each start the solution before, one
    eigendecomposition for the step and one for the dual value. Same kernels, same step lengths.
    """
    problem, lam_max, first = full_problem(X, y, k)
    n_lams = int(np.floor(np.log(end) / np.log(ratio))) + 1
    path = rtlm_path(X, y, n_neighbors=k, ratio=ratio, n_lams=n_lams, stop=0.0)
    started, iterations, point, step = time.perf_counter(), 0, first.scaled(1 / lam_max), None
    for lam in path.lams:
        point, step, n_iter = plain_solve(problem.at(lam), point, step or 1 / lam)
        iterations += n_iter
    seconds = time.perf_counter() - started
    print(
        f"dna {X.shape}, k={k}, {path.n_triplets:,} triplets, {n_lams} values of lambda down to "
        f"{path.lams[-1] / lam_max:.1e} lambda_max\n"
        f"two eigendecompositions an iteration: {seconds:.1f} s, {iterations} iterations\n"
        f"skscreen: {path.seconds.sum():.1f} s, {path.n_iters.sum()} iterations, ratio "
        f"{seconds / path.seconds.sum():.1f}\n",
        flush=True,
    )


def plain_solve(objective, point, step, tol=1e-6):
    """Projected gradient with mean Barzilai-Borwein steps; a dual value every iteration."""
    lam, n_iter = objective.lam, 0
    evaluation = objective.evaluate(point)
    while evaluation.gap(lam) > tol * evaluation.primal(lam):
        gradient = evaluation.gradient(lam)
        point = objective.domain.project(evaluation.point.value - step * gradient)
        trial = objective.evaluate(point)
        n_iter += 1
        if trial.primal(lam) > evaluation.primal(lam) * (1 + 1e-14):
            step *= 0.1
            continue
        move = point.value - evaluation.point.value
        change = trial.gradient(lam) - gradient
        curvature = inner(move, change)
        step = 0.5 * (curvature / inner(change, change) + inner(move, move) / curvature)
        evaluation = trial
    return evaluation.point, step, n_iter


def knn_table(data: Data, n_splits: int = 4) -> None:
    """5-NN accuracy on held-out quarters, lambda chosen on a validation part of the rest."""
    print("5-NN accuracy on held-out quarters (mean of splits), standardised features")
    for name, k, n_lams in (("segment", 20, 45), ("dna", 5, 10), ("letter", 3, 30)):
        X, y = data(name)
        if name == "letter":
            X, y = X[:5000], y[:5000]
        scores = [knn_split(X, y, k, n_lams, seed) for seed in range(n_splits)]
        euclidean, learned = np.mean(scores, axis=0)
        print(f"{name:8s} {X.shape}  Euclidean {euclidean:.3f}  learned {learned:.3f}", flush=True)
    print()


def knn_split(X, y, k, n_lams, seed) -> tuple[float, float]:
    """Accuracy with the Euclidean and with the learned metric on one split."""
    rest_X, test_X, rest_y, test_y = train_test_split(
        X, y, test_size=0.25, stratify=y, random_state=seed
    )
    scaler = StandardScaler().fit(rest_X)
    rest_X, test_X = scaler.transform(rest_X), scaler.transform(test_X)
    train_X, valid_X, train_y, valid_y = train_test_split(
        rest_X, rest_y, test_size=0.25, stratify=rest_y, random_state=seed
    )
    options = {"n_neighbors": k, "tol": 1e-4}
    path = rtlm_path(train_X, train_y, ratio=0.7, n_lams=n_lams, **options)
    scores = [
        knn_score(path.estimator(i), train_X, train_y, valid_X, valid_y) for i in range(len(path))
    ]
    best = path.lams[int(np.argmax(scores))] / path.lam_max
    model = ScreenedRTLM(best, **options).fit(rest_X, rest_y)
    plain = KNeighborsClassifier().fit(rest_X, rest_y).score(test_X, test_y)
    return plain, knn_score(model, rest_X, rest_y, test_X, test_y)


def knn_score(model, X, y, test_X, test_y) -> float:
    """5-NN accuracy after a metric's transformation."""
    knn = KNeighborsClassifier().fit(model.transform(X), y)
    return knn.score(model.transform(test_X), test_y)


def memory(folder: Path, name: str) -> None:
    """Peak memory of a path beyond what was there before it, in a process of its own.

    A path over a tenth of the samples goes before, so that compiled code is not counted.
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
