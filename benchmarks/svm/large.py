"""RBF fits of 5,000 to 200,000 samples beside SVC and the floor.

    python -m benchmarks.svm.large --data FOLDER [--parts free,none,small,made] [--sets NAME,...]
                                   [--Cs 1,10] [--tols 1e-3,1e-6]

FOLDER holds the benchmark data and a `load.py` with `load(name) -> (X, y)`. The most frequent
class against the rest (letter: odd against even), standardised, gamma = 1/d. One thread on both
sides, CPU seconds of one run. SVC stops at tol=1e-3, which is no duality gap; it has an intercept
whatever ours has. The floor is the kernel values between the support vectors and all samples,
computed once in single precision. Parts: a free intercept, none, 5,000 samples of each set, and
200,000 made samples with 20 features, without SVC.
"""

import argparse
import resource
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Data
from benchmarks.support.tables import table
from skscreen import ScreenedSVC

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
    parser.add_argument("--parts", default="free,none,small,made")
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--Cs", default="1,10")
    parser.add_argument("--tols", default="1e-3,1e-6")
    args = parser.parse_args()
    data, parts = Data(args.data), args.parts.split(",")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _fit(*_task(*data("magic"), "magic", 3000), 1.0, 1e-6, "free")  # compiles
        for part in parts:
            if part == "made":
                _made()
            else:
                _beside_svc(part, data, args)


def _beside_svc(part: str, data: Data, args) -> None:
    """Print the table of a part."""
    tols = [float(tol) for tol in args.tols.split(",")]
    rows, ratios = [], {tol: [] for tol in tols}
    intercept = "none" if part == "none" else "free"
    for name in args.sets.split(","):
        X, y = _task(*data(name), name, _SMALL if part == "small" else _MOST.get(name))
        for C in [1.0] if part == "small" else map(float, args.Cs.split(",")):
            began = time.process_time()
            SVC(C=C, gamma=1.0 / X.shape[1], tol=1e-3, cache_size=1000).fit(X, y)
            peer, row = time.process_time() - began, []
            for tol in tols:
                seconds, model = _fit(X, y, C, tol, intercept)
                ratios[tol].append(peer / seconds)
                floor = seconds / _floor(X, model.support_)
                row += [f"{seconds:.2f}", f"{model.dual_gap_:.0e}", f"{peer / seconds:.1f}"]
                row += [f"{floor:.1f}"]
            rows.append([name, f"{len(y)} x {X.shape[1]}", f"{C:g}", f"{peer:.2f}", *row])
    print(f"intercept: {intercept}\n")
    each = "".join(f",ours {tol:g},gap,SVC / ours,ours / floor" for tol in tols)
    table(f"set,size,C,SVC s{each}", rows)
    for tol, values in ratios.items():
        mean = np.exp(np.mean(np.log(values)))
        print(f"gap {tol:g}: {mean:.1f} times SVC in the geometric mean, least {min(values):.1f}")
    print(flush=True)


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
