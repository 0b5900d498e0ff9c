"""RBF fits of 5,000 to 58,000 samples beside SVC and the floor.

    python -m benchmarks.svm.large --data FOLDER [--sets NAME,...] [--Cs 1,10,100]
                                   [--tols 1e-3,1e-6] [--samples N] [--intercept free|none]

FOLDER holds the benchmark data and a `load.py` with `load(name) -> (X, y)`. The most frequent
class against the rest (letter: odd against even), standardised, gamma = 1/d. One thread on both
sides, CPU seconds of one run. SVC stops at tol=1e-3, which is no duality gap; it has an intercept
whatever ours has. The floor is the kernel values between the support vectors and all samples,
computed once in single precision.
"""

import argparse
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
from skscreen import ScreenedSVC

SETS = "magic,covtype,letter,ijcnn1,shuttle,a9a,w8a"

# Samples of a set at most: covtype has more than half a million.
_MOST = {"covtype": 20_000}

# Rows of a block of the floor.
_BLOCK = 256


def main() -> None:
    """Print a line for each set, C and tolerance, and the geometric means of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--Cs", default="1,10,100")
    parser.add_argument("--tols", default="1e-3,1e-6")
    parser.add_argument("--samples", type=int, default=None, help="a random part of each set")
    parser.add_argument("--intercept", choices=("free", "none"), default="free")
    args = parser.parse_args()
    data, tols = Data(args.data), [float(tol) for tol in args.tols.split(",")]
    ratios: dict[float, list[float]] = {tol: [] for tol in tols}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _fit(*_task(*data("magic"), "magic", 3000), 1.0, 1e-6, args.intercept)  # compiles
        print("set, samples, C, SVC s | tol, ours s, gap, SVC / ours, ours / floor | ...")
        for name in args.sets.split(","):
            X, y = _task(*data(name), name, args.samples or _MOST.get(name))
            for C in map(float, args.Cs.split(",")):
                began = time.process_time()
                SVC(C=C, gamma=1.0 / X.shape[1], tol=1e-3, cache_size=1000).fit(X, y)
                peer, cells = time.process_time() - began, []
                for tol in tols:
                    seconds, model = _fit(X, y, C, tol, args.intercept)
                    floor = _floor(X, model.support_)
                    ratios[tol].append(peer / seconds)
                    cells.append(
                        f"{tol:g} {seconds:6.2f} {model.dual_gap_:.0e} {peer / seconds:5.1f} "
                        f"{seconds / floor:5.1f}"
                    )
                print(f"{name:8} {len(y):6} {C:5g} {peer:7.2f} | {' | '.join(cells)}", flush=True)
    for tol, values in ratios.items():
        mean = np.exp(np.mean(np.log(values)))
        print(f"tol {tol:g}: {mean:.1f} times SVC in the geometric mean, least {min(values):.1f}")


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
