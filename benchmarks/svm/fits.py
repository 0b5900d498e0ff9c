"""Support vector machines: single fits and paths, screened and not, beside their peers.

    python -m benchmarks.svm.fits --data FOLDER [--parts dense,sparse,paths,tables]
                                  [--sets NAME,...]

FOLDER holds the benchmark data and a `load.py` with `load(name) -> (X, y)`; breast cancer comes
with scikit-learn. Everything in one table is measured in one run, one thread, in CPU seconds,
compilation excluded (it is printed apart). Gaps are relative duality gaps of the full problem;
those of the peers are computed from what they return.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Sets
from benchmarks.support.environment import environment
from benchmarks.svm.paper_tables import tables
from benchmarks.svm.peers_here import linear_svc, svc
from skscreen import ScreenedLinearSVC, ScreenedSVC, svc_path

GAP = 1e-6
DENSE = {"mnist": (0.1, 10.0, 1000.0), "shuttle": (1.0, 1000.0)}
SPARSE = ("news20_binary", "reuters_money", "w8a")
PATHS = {"satimage": None, "spambase": None, "letter": 6000, "magic": 6000}


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--parts", default="dense,sparse,paths,tables")
    parser.add_argument("--sets", default="", help="only these")
    parser.add_argument("--repeats", type=int, default=1, help="the fastest counts, of peers too")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a peer's fit")
    args = parser.parse_args()
    print(environment())
    data, wanted = Sets(args.data), set(args.sets.split(",")) - {""}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        print(f"compilation or loading of compiled code: {compile_all():.1f} s\n")
        for part in args.parts.split(","):
            if part not in PARTS:
                parser.error(f"unknown part {part!r}; known are {', '.join(PARTS)}")
            PARTS[part](data, wanted, args)


def compile_all() -> float:
    """Run every compiled function once; return the seconds."""
    started = time.process_time()
    X, y = make_classification(300, 20, random_state=0)
    for kernel in ("linear", "rbf"):
        for screening in (False, "ball1", "intersection"):
            svc_path(X, y, Cs=[0.1, 1.0], kernel=kernel, screening=screening, intercept="penalised")
        solvers = ("coordinate-descent", "second-order") if kernel == "linear" else ("auto",)
        for solver in solvers:
            ScreenedSVC(kernel=kernel, solver=solver, intercept="penalised").fit(X, y)
    svc_path(sparse.csr_array(X), y, Cs=[0.1, 1.0], kernel="linear", intercept="penalised")
    return time.process_time() - started


def fastest(repeats: int, fit):
    """Return the fastest of several fits, and its seconds."""
    best = None
    for _ in range(repeats):
        started = time.process_time()
        result = fit()
        seconds = time.process_time() - started
        if best is None or seconds < best[1]:
            best = result, seconds
    return best


def dense(data: Sets, wanted: set, args) -> None:
    """Single linear fits of dense data, beside LinearSVC at the same gap."""
    sets = {name: Cs for name, Cs in DENSE.items() if not wanted or name in wanted}
    for name, Cs in sets.items():
        linear_table(name, *data(name), Cs, args)


def linear_table(name: str, X, y, Cs, args) -> None:
    """Print a line a value of C."""
    print(f"{name} {X.shape}, linear, one fit; LinearSVC at the tolerance that reaches the gap")
    print("       C  ScreenedSVC      gap   LinearSVC    gap (tol)       ratio")
    for C in Cs:
        model, seconds = fastest(
            args.repeats, lambda C=C: ScreenedLinearSVC(C=C, loss="hinge").fit(X, y)
        )
        dual = model.screening_history_.size and certified_dual(X, y, C)
        peer = linear_svc(X, y, C, dual, GAP, args.limit, args.repeats)
        reached = "not reached" if peer.tol is None else f"{peer.gap:.0e} ({peer.tol:g})"
        print(
            f"{C:8g} {seconds:10.3f} s {model.dual_gap_:8.0e} {peer.seconds:9.3f} s "
            f"{reached:>14s} {'>' if peer.tol is None else ' '}{peer.seconds / seconds:8.2f}",
            flush=True,
        )
    print()


def certified_dual(X, y, C: float) -> float:
    """Return a dual value within 1e-9 of the optimum."""
    solution = svc_path(X, y, Cs=[C], tol=1e-9, kernel="linear", intercept="penalised")[0]
    return solution.certificate.dual


def sparse_fits(data: Sets, wanted: set, args) -> None:
    """Single fits and paths of sparse data, beside LinearSVC at the same gap and refitted."""
    for name in SPARSE:
        if wanted and name not in wanted:
            continue
        X, y = data(name)
        linear_table(name, X, y, (0.1, 1.0, 10.0), args)
        Cs = np.geomspace(1e-2, 1e1, 20)
        path, seconds = fastest(
            args.repeats,
            lambda X=X, y=y, Cs=Cs: svc_path(X, y, Cs=Cs, kernel="linear", intercept="penalised"),
        )
        peers = []
        for point in path.solutions:
            dual = point.certificate.dual
            peer = linear_svc(X, y, point.C, dual, GAP, args.limit, args.repeats)
            peers.append(peer)
        total = sum(peer.seconds for peer in peers)
        missed = sum(peer.tol is None for peer in peers)
        print(
            f"{name} path of {len(Cs)} C from {Cs[0]:g} to {Cs[-1]:g}: {seconds:.2f} s, "
            f"gap {path.dual_gaps.max():.0e}; LinearSVC refits to gap {GAP:g} {total:.2f} s"
            f"{f' ({missed} not reached)' if missed else ''}, ratio {total / seconds:.2f}\n"
            f"    undecided after path screening: {shares(path)}\n",
            flush=True,
        )


def shares(path) -> str:
    """Return the share of samples that path screening left undecided, a value a C."""
    events = [event for event in path.screening_history if event["where"] == "path"]
    return " ".join(f"{1.0 - e['rate']:.2f}" for e in events)


def paths(data: Sets, wanted: set, args) -> None:
    """RBF paths of 31 values of C, beside refits of SVC and beside no screening."""
    ratios, gains = [], []
    for name, n in PATHS.items():
        if wanted and name not in wanted:
            continue
        X, y = data(name, n)
        gamma = 1.0 / X.shape[1]
        K = rbf_kernel(X, gamma=gamma)
        first = max(1.0 / (y * (K @ y) + 1.0).max(), 1e-3)
        Cs = np.geomspace(first, 1e3, 31)
        options = {
            "Cs": Cs, "kernel": "rbf", "gamma": gamma, "intercept": "penalised", "cache_size": 2000,
        }  # fmt: skip
        best = {}
        for _ in range(args.repeats):
            for label in ("intersection", "ball1", None):
                started = time.process_time()
                path = svc_path(X, y, screening=label, **options)
                seconds = time.process_time() - started
                if label not in best or seconds < best[label][1]:
                    best[label] = path, seconds
        refits = [svc(X, K, y, C, gamma, 1e-3, 2000) for C in Cs]
        total = sum(run.seconds for run in refits)
        path, seconds = best["intersection"]
        ratios.append(total / seconds)
        gains.append(best[None][1] / seconds)
        ball = best["ball1"][0]
        worse = int((path.path_rates < ball.path_rates - 0.01).sum())
        print(
            f"{name} {X.shape}, RBF gamma=1/d, 31 C from {Cs[0]:.1e} to 1e3\n"
            f"    screened {seconds:.2f} s, gap {path.dual_gaps.max():.0e}; unscreened "
            f"{best[None][1]:.2f} s ({gains[-1]:.2f}x); BT1 {best['ball1'][1]:.2f} s; "
            f"31 SVC(tol=1e-3) {total:.2f} s, gaps {min(r.gap for r in refits):.0e} to "
            f"{max(r.gap for r in refits):.0e} ({ratios[-1]:.2f}x)\n"
            f"    undecided after path screening: {shares(path)}; IT below BT1 at {worse} C",
            flush=True,
        )
    print(
        f"geometric means: against SVC {np.exp(np.mean(np.log(ratios))):.2f}, "
        f"against unscreened {np.exp(np.mean(np.log(gains))):.2f}\n"
    )


PARTS = {"dense": dense, "sparse": sparse_fits, "paths": paths, "tables": tables}


if __name__ == "__main__":
    main()
