"""Support vector machines beside LinearSVC, SVC, skglm and scikit-learn-intelex, at equal gaps.

    python -m benchmarks.svm.peers_elsewhere --data FOLDER [--peer-python PYTHON]
                                             [--parts linear,rbf]

FOLDER is that of `fits.py`; PYTHON has skglm and scikit-learn-intelex (`peers.txt`), without it
they are left out. Each peer gets tolerances of 1e-1, 1e-2, ... until what it returns has a relative
gap of 1e-6: its objective, computed here, minus a dual value within 1e-9 of the optimum. If none
has, its best is shown; if a fit takes longer than the limit, the gap of the tolerance before. CPU
seconds of that one fit with one thread, the fastest of three, of two above a second, of one above
ten; compilation is shown apart. One fit, not a path. The problems are the same: for the linear
kernel the intercept is penalised (skglm's LinearSVC accepts `fit_intercept` but fits none, so it
gets a column of ones), for RBF it is free. scikit-learn-intelex has no LinearSVC of its own. LIBSVM
keeps kernel values in single precision, and so SVC's gap does not get as small as one likes.
"""

import argparse
import sys
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
from benchmarks.support.peer_process import PeerProcess, fastest
from benchmarks.support.tables import table
from benchmarks.svm.fits import GAP, certified_dual, compile_all
from benchmarks.svm.peers_here import LADDER, Run, linear_primal, linear_svc
from skscreen import ScreenedLinearSVC, ScreenedSVC, svc_path

PEER = "benchmarks.svm.peer_side"
LINEAR = {
    "spambase": None,
    "mnist": None,
    "w8a": None,
    "reuters_money": None,
    "news20_binary": None,
}
RBF = {"satimage": None, "spambase": None, "letter": 6000, "magic": 6000}
LINEAR_CS, RBF_CS = (0.1, 10.0), (1.0, 100.0)
REPEATS = 3


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--peer-python", help="interpreter of an environment with the peers")
    parser.add_argument("--parts", default="linear,rbf")
    parser.add_argument("--limit", type=float, default=20.0, help="CPU seconds of a peer's fit")
    args = parser.parse_args()
    here = PeerProcess(sys.executable, PEER)
    there = PeerProcess(args.peer_python, PEER) if args.peer_python else None
    print(environment())
    if there:
        packages = ("skglm", "scikit-learn-intelex", "scikit-learn", "numba", "numpy")
        print(f"peers: {there.versions(*packages)}")
    print(f"limit for a fit: {args.limit:g} s")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        print(f"compilation or loading of compiled code: {compile_all() + compile_free():.1f} s\n")
        for part in args.parts.split(","):
            PARTS[part](Sets(args.data), here, there, args.limit)


def compile_free() -> float:
    """Run what a free intercept needs, with a kernel, once; return the seconds."""
    X, y = make_classification(300, 20, random_state=0)
    started = time.process_time()
    for C in (0.1, 1.0, 100.0):
        svc_path(X, y, Cs=[C], kernel="rbf", intercept="free")
        ScreenedSVC(C, kernel="rbf", intercept="free").fit(X, y)
    return time.process_time() - started


def linear(data: Sets, here: PeerProcess, there: PeerProcess | None, limit: float) -> None:
    """Linear kernel, penalised intercept."""
    first = {}
    for name, n in LINEAR.items():
        X, y = data(name, n)
        rows = []
        for C in LINEAR_CS:
            model = ScreenedLinearSVC(C=C, loss="hinge")
            seconds = fastest(REPEATS, lambda model=model, X=X, y=y: model.fit(X, y))
            dual = certified_dual(X, y, C)
            runs = {"LinearSVC": linear_svc(X, y, C, dual, GAP, limit, REPEATS)}
            if there:
                job = {"method": "skglm", "C": C, "limit": limit}

                def gap(answer, X=X, y=y, C=C, dual=dual):
                    *coef, intercept = answer["coef"]
                    primal = linear_primal(X, y, C, np.array(coef), intercept)
                    return (primal - dual) / primal

                arrays = with_ones(X, job) | {"y": y.astype(float)}
                kind = "sparse" if sparse.issparse(X) else "dense"
                runs["skglm"] = descend(there, job, arrays, gap, first, kind)
            rows += lines(C, seconds, model, runs)
        show(f"{name} {X.shape}, linear", rows)
    compilation(first)


def with_ones(X, job: dict) -> dict:
    """Return the arrays of the samples with a column of ones; the shape goes into the job."""
    ones = np.ones((X.shape[0], 1))
    if not sparse.issparse(X):
        return {"X": np.hstack((X, ones))}
    wider = sparse.csr_array(sparse.hstack((X, ones)))
    job["shape"] = wider.shape
    return {name: getattr(wider, name) for name in ("data", "indices", "indptr")}


def rbf(data: Sets, here: PeerProcess, there: PeerProcess | None, limit: float) -> None:
    """RBF kernel, free intercept, gamma = 1 / d; every fit computes its kernel values."""
    first = {}
    for name, n in RBF.items():
        X, y = data(name, n)
        rows = []
        gamma = 1.0 / X.shape[1]
        K = rbf_kernel(X, gamma=gamma)
        options = {"kernel": "rbf", "gamma": gamma, "intercept": "free", "cache_size": 2000}
        for C in RBF_CS:
            model = ScreenedSVC(C=C, **options)
            seconds = fastest(REPEATS, lambda model=model, X=X, y=y: model.fit(X, y))
            dual = svc_path(X, y, Cs=[C], tol=1e-9, **options)[0].certificate.dual

            def gap(answer, K=K, y=y, C=C, dual=dual):
                support, coef = answer["support"], answer["dual_coef"]
                scores = K[:, support] @ coef
                losses = np.maximum(1.0 - y * (scores + answer["intercept"]), 0.0)
                primal = 0.5 * coef @ scores[support] + C * losses.sum()
                return (primal - dual) / primal

            runs = {}
            for method, peer in (("SVC", here), ("scikit-learn-intelex", there)):
                if peer:
                    job = {"method": method, "C": C, "gamma": gamma, "limit": limit}
                    runs[method] = descend(peer, job, {"X": X, "y": y}, gap, first, "dense")
            rows += lines(C, seconds, model, runs)
        show(f"{name} {X.shape}, RBF, gamma = 1 / d", rows)
    compilation(first)


def descend(peer: PeerProcess, job: dict, arrays: dict, gap, first: dict, kind: str) -> Run | str:
    """Return the run at the loosest tolerance that reaches the gap, or the best, or why none."""
    best = None
    for tol in LADDER:
        answer = peer.ask(job | {"tol": tol, "repeats": REPEATS}, **arrays)
        if "failed" in answer:
            return answer["failed"] if best is None else Run(job["limit"], best.gap, None)
        first[job["method"], kind] = answer["first"]
        run = Run(answer["seconds"], gap(answer), tol)
        if best is None or run.gap < best.gap:
            best = run
        if run.gap <= GAP:
            return run
    return best


def lines(C: float, seconds: float, model, runs: dict) -> list[tuple]:
    """Return a line of the table for us and one for each peer."""
    rows = [("ScreenedSVC", f"{C:g}", f"{seconds:.3f}", f"{model.dual_gap_:.0e}", "1e-06", "")]
    for label, run in runs.items():
        if isinstance(run, str):
            rows.append((label, f"{C:g}", run, "-", "-", "-"))
            continue
        late = "> " if run.tol is None else ""
        gap = f"{run.gap:.0e}{'' if run.gap <= GAP else ' missed'}"
        rows.append(
            (label, f"{C:g}", f"{late}{run.seconds:.3f}", gap, "-" if late else f"{run.tol:.0e}",
             f"{late}{run.seconds / seconds:.2f}")
        )  # fmt: skip
    return rows


def show(title: str, rows: list[tuple]) -> None:
    """Print the table of a data set."""
    print(f"{title}, one fit to a relative gap of {GAP:g}")
    table("solver,C,CPU s,gap,tol,/ s of ScreenedSVC", rows)


def compilation(first: dict) -> None:
    """Print what the first fit in a process costs the peers."""
    for (method, kind), seconds in first.items():
        print(f"first fit of a process, {method}, {kind} (imports, compilation): {seconds:.1f} s")
    print(flush=True)


PARTS = {"linear": linear, "rbf": rbf}


if __name__ == "__main__":
    main()
