"""RBF fits of 5,000 to 200,000 samples beside SVC, other peers and the floor.

    python -m benchmarks.svm.large --data FOLDER [--peer-python PYTHON]
                                   [--parts free,none,small,made] [--sets NAME,...]
                                   [--Cs 1,10,100] [--tols 1e-3,1e-6] [--limit 150]

FOLDER holds the benchmark data and a `load.py` with `load(name) -> (X, y)`; PYTHON has
scikit-learn-intelex and thundersvm-cpu (`peers.txt`), without it they are left out. The most
frequent class against the rest (letter: odd against even), standardised, gamma = 1/d. One thread on
all sides, CPU seconds of one run; a peer that takes more than the limit is stopped, and counts as
if it had taken so long. Peers stop at tol=1e-3, which is no duality gap; they have an intercept
whatever ours has, and one fit of theirs is beside both of ours. The floor is the kernel values
between the support vectors and all samples, computed once in single precision from dense rows.
Parts: a free intercept, none, 5,000 samples of each set, and 200,000 made samples with 20 features,
without peers.
"""

import argparse
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Data
from benchmarks.support.peer_process import PeerProcess
from benchmarks.support.tables import table
from skscreen import ScreenedSVC

PEER = "benchmarks.svm.peer_side"
ELSEWHERE = ("scikit-learn-intelex", "thundersvm-cpu")
SETS = "magic,covtype,letter,ijcnn1,shuttle,a9a,w8a"

# Samples of a set at most: covtype has more than half a million.
_MOST = {"covtype": 20_000}

# Samples of each set in the small part.
_SMALL = 5000

# Rows of a block of the floor.
_BLOCK = 256


def main() -> None:
    """Print a table for each part, and the geometric means of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--peer-python", help="interpreter of an environment with the peers")
    parser.add_argument("--parts", default="free,none,small,made")
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--Cs", default="1,10,100")
    parser.add_argument("--tols", default="1e-3,1e-6")
    parser.add_argument("--limit", type=float, default=150.0, help="CPU seconds of a peer's fit")
    args = parser.parse_args()
    peers = {"SVC": PeerProcess(sys.executable, PEER)}
    if args.peer_python:
        elsewhere = PeerProcess(args.peer_python, PEER)
        print(f"peers: {elsewhere.versions(*ELSEWHERE)}\n")
        peers |= dict.fromkeys(ELSEWHERE, elsewhere)
    data, parts, found = Data(args.data), args.parts.split(","), {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _compile(data)
        for part in parts:
            if part == "made":
                _made()
            else:
                _beside_peers(part, data, peers, found, args)


def _compile(data: Data) -> None:
    """Fit samples near the centre, far from it, and mostly zero: loads or compiles all loops."""
    for name in ("magic", "shuttle", "a9a"):
        for intercept in ("free", "none"):
            _fit(*_task(*data(name), name, 3000), 1.0, 1e-6, intercept)


def _beside_peers(part: str, data: Data, peers: dict, found: dict, args) -> None:
    """Print the table of a part; `found` keeps what peers took, as one fit serves two parts."""
    tols = [float(tol) for tol in args.tols.split(",")]
    rows, ratios = [], {tol: [] for tol in tols}
    intercept = "none" if part == "none" else "free"
    for name in args.sets.split(","):
        X, y = _task(*data(name), name, _SMALL if part == "small" else _MOST.get(name))
        for C in [1.0] if part == "small" else map(float, args.Cs.split(",")):
            job = {"C": C, "gamma": 1.0 / X.shape[1], "tol": 1e-3, "limit": args.limit}
            if (name, C, len(y)) not in found:
                found[name, C, len(y)] = {
                    method: peers[method].ask({"method": method, "repeats": 1, **job}, X=X, y=y)
                    for method in peers
                }
            answers = found[name, C, len(y)]
            row = [_cell(answer) for answer in answers.values()]
            svc = answers["SVC"].get("seconds", args.limit)
            more = "" if "seconds" in answers["SVC"] else "> "
            for tol in tols:
                seconds, model = _fit(X, y, C, tol, intercept)
                ratios[tol].append(svc / seconds)
                floor = seconds / _floor(X, model.support_)
                row += [f"{seconds:.2f}", f"{model.dual_gap_:.0e}", f"{more}{svc / seconds:.1f}"]
                row += [f"{floor:.1f}"]
            rows.append([name, f"{len(y)} x {X.shape[1]}", f"{C:g}", *row])
    print(f"intercept: {intercept}\n")
    each = "".join(f",ours {tol:g},gap,SVC / ours,ours / floor" for tol in tols)
    table(f"set,size,C,{','.join(f'{method} s' for method in peers)}{each}", rows)
    for tol, values in ratios.items():
        mean = np.exp(np.mean(np.log(values)))
        print(f"gap {tol:g}: {mean:.1f} times SVC in the geometric mean, least {min(values):.1f}")
    print(flush=True)


def _cell(answer: dict) -> str:
    return f"{answer['seconds']:.2f}" if "seconds" in answer else answer["failed"]


def _made() -> None:
    """Print the table of 200,000 made samples: Gauss clouds of two classes."""
    rows, rng = [], np.random.default_rng(0)
    for n in (50_000, 100_000, 200_000):
        cloud, sides = rng.integers(0, 40, n), np.where(rng.random(40) < 0.5, 1.0, -1.0)
        X = rng.normal(scale=1.2, size=(40, 20))[cloud] + rng.normal(size=(n, 20))
        seconds, model = _fit(StandardScaler().fit_transform(X), sides[cloud], 1.0, 1e-3, "free")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        cells = f"{seconds:.1f}", model.support_.size, f"{model.dual_gap_:.0e}", f"{peak:.1f}"
        rows.append([f"{n:,}".replace(",", " "), *cells])
    table("samples,s,support vectors,gap,peak GB of the process", rows)


def _task(X, y, name: str, n: int | None):
    """Return a part of a set, standardised, with labels -1 and 1."""
    X = X.toarray() if sparse.issparse(X) else X
    if name == "letter":
        y = np.where(y % 2 == 0, 1.0, -1.0)
    else:
        values, counts = np.unique(y, return_counts=True)
        y = np.where(y == values[counts.argmax()], 1.0, -1.0)
    chosen = np.random.default_rng(0).permutation(len(y))[:n]
    return StandardScaler().fit_transform(X[chosen]), y[chosen]


def _fit(X, y, C: float, tol: float, intercept: str):
    how = {"intercept": "free"} if intercept == "free" else {"fit_intercept": False}
    model = ScreenedSVC(C, kernel="rbf", gamma=1.0 / X.shape[1], tol=tol, **how)
    began = time.process_time()
    model.fit(X, y)
    return time.process_time() - began, model


def _floor(X, support: np.ndarray) -> float:
    """Return the seconds that the kernel values of the support vectors take."""
    Z, out = X.astype(np.float32), np.empty((_BLOCK, len(X)), np.float32)
    gamma, squares = np.float32(1.0 / X.shape[1]), np.einsum("ij,ij->i", Z, Z)
    began = time.process_time()
    for first in range(0, support.size, _BLOCK):
        rows = support[first : first + _BLOCK]
        K = np.matmul(Z[rows], Z.T, out=out[: rows.size])
        K *= 2.0 * gamma
        K -= gamma * squares
        K -= gamma * squares[rows, None]
        np.exp(K, out=K)
    return time.process_time() - began


if __name__ == "__main__":
    main()
