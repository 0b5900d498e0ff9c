"""Linear problems of the squared hinge: ScreenedLinearSVC beside LinearSVC at the same gap.

    python -m benchmarks.svm.squared_hinge --data FOLDER [--only NAME,...]

FOLDER holds the benchmark data and its `load.py`. A quarter of the samples is held out. LinearSVC,
with its defaults but for the tolerance, is given the loosest of six tolerances with which the
objective of each of its problems is within 1e-6 of the optimum, relatively, and 20,000 iterations;
what took more than a limit of seconds is not tried with a tighter one. CPU seconds, one thread.

Pixels are brought to [0, 1], which is how most have them: `mnist` (even digits or odd ones) and
`mnist-10` (all ten). `mnist-10-standardised` has them standardised one by one instead, as all other
dense sets are: LinearSVC, whose defaults then are its primal method, takes minutes. Texts are
tf-idf rows of length 1. "Same gap" is kind to LinearSVC: it has to be as near to the optimum as
ours has to prove that it is, and need not prove it.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Sets
from benchmarks.support.environment import environment
from benchmarks.support.tables import table
from skscreen import ScreenedLinearSVC

BINARY = ("mnist", "shuttle", "w8a", "reuters_money", "news20_binary", "a9a")
MULTICLASS = ("news20", "sector", "mnist-10", "mnist-10-standardised", "letter")
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
GAP = 1e-6


def main() -> None:
    """Measure all sets."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--only", default=",".join(BINARY + MULTICLASS))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of LinearSVC")
    args = parser.parse_args()
    print(f"{environment()}\n")
    warnings.simplefilter("ignore", ConvergenceWarning)
    sets, rows, ratios = Sets(args.data), [], []
    with threadpool_limits(1):
        for name in args.only.split(","):
            X, y = samples(sets, name)
            parts = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
            warm_up(parts[0], parts[2])
            for C in (0.1, 1.0, 10.0):
                row, ratio = compare(C, *parts, args.limit)
                rows.append((name, f"{C:g}", *row))
                ratios.append(ratio)
                print(*rows[-1], flush=True)
    print()
    table("set,C,ours s,gap,accuracy,LinearSVC s,tol,above optimum,accuracy,ratio", rows)
    mean = float(np.exp(np.mean(np.log(ratios))))
    print(f"\nratio: geometric mean {mean:.2f}, least {min(ratios):.2f}, largest {max(ratios):.1f}")


def samples(sets: Sets, name: str):
    """Return samples and labels: two classes, or all of those that a set has."""
    if name in BINARY:
        return sets(name)
    X, y = sets.multiclass(name.split("-")[0])
    if name == "mnist-10":
        return X / 255.0, y
    return (X if sparse.issparse(X) else StandardScaler().fit_transform(X)), y


def warm_up(X, y) -> None:
    """Load compiled code."""
    some = np.random.default_rng(0).permutation(X.shape[0])[:1000]
    for C in (0.1, 10.0):
        ScreenedLinearSVC(C, loss="squared_hinge").fit(X[some], y[some])


def compare(C: float, X, X_test, y, y_test, limit: float) -> tuple[tuple, float]:
    """Return a row of the table, and how many times as long LinearSVC takes."""
    began = time.process_time()
    ours = ScreenedLinearSVC(C, loss="squared_hinge", tol=GAP).fit(X, y)
    seconds = time.process_time() - began
    dual = ours.objective_ * (1.0 - ours.dual_gap_)
    for tol in TOLERANCES:
        began = time.process_time()
        peer = LinearSVC(C=C, tol=tol, max_iter=20_000, random_state=0).fit(X, y)
        taken = time.process_time() - began
        excess = float(np.max(1.0 - dual / objectives(peer, C, X, y)))
        if excess <= GAP or taken > limit:
            break
    scores = [f"{model.score(X_test, y_test):.4f}" for model in (ours, peer)]
    more = "" if excess <= GAP else "> "
    row = (
        f"{seconds:.3f}", f"{ours.dual_gap_:.0e}", scores[0], f"{taken:.3f}", f"{tol:g}",
        f"{excess:.0e}", scores[1], f"{more}{taken / seconds:.2f}",
    )  # fmt: skip
    return row, taken / seconds


def objectives(peer: LinearSVC, C: float, X, y) -> np.ndarray:
    """Return the objectives of its problems."""
    classes = peer.classes_[1:] if peer.classes_.size == 2 else peer.classes_
    margins = peer.decision_function(X).reshape(X.shape[0], -1)
    margins *= np.where(y[:, None] == classes, 1.0, -1.0)
    squares = (peer.coef_**2).sum(axis=1) + peer.intercept_**2
    return 0.5 * squares + C * (np.maximum(1.0 - margins, 0.0) ** 2).sum(axis=0)


if __name__ == "__main__":
    main()
