"""Metric learning beside its peers: what a fit costs, and the 5-NN error on held-out samples.

    python -m benchmarks.metric_learning.peers --data FOLDER [--peer-python PYTHON]
                                               [--sets wine,...]

FOLDER is that of `path.py`; PYTHON has metric-learn and mlpack (`peers.txt`), without it they
are left out. A quarter of the samples is held out, features are standardised by the rest. The
metrics learn from that rest, nearest neighbours are looked up in it. ScreenedRTLM at its defaults,
and with lambda chosen on a quarter of the rest, along a path of 30 values: path, choice and last
fit are all in its seconds. Peers at their defaults, and with five target neighbours where theirs
are fewer. CPU seconds with one thread, compilation and imports excluded, means over splits; a fit
that takes longer than the limit is ended, and the set's other splits are not tried.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Data
from benchmarks.support.environment import environment
from benchmarks.support.peer_process import PeerProcess
from benchmarks.support.tables import table
from skscreen import ScreenedRTLM, rtlm_path

PEER = "benchmarks.metric_learning.peer_side"
# Samples at most, the first of a shuffled order; splits, more where few samples are held out.
SETS = {
    "wine": (None, 10), "breast_cancer": (None, 10), "segment": (None, 2), "satimage": (2000, 2),
    "dna": (None, 2), "letter": (3000, 2),
}  # fmt: skip
# Method, options; those of scikit-learn run in our environment.
PEERS = {
    "NeighborhoodComponentsAnalysis": ("nca", {}),
    "metric-learn LMNN (k=3)": ("metric-learn", {}),
    "metric-learn LMNN, k=5": ("metric-learn", {"n_neighbors": 5}),
    "mlpack LMNN (k=1)": ("mlpack", {}),
    "mlpack LMNN, k=5": ("mlpack", {"k": 5}),
    "mlpack LMNN, k=5, L-BFGS": ("mlpack", {"k": 5, "optimizer": "lbfgs"}),
}


def main() -> None:
    """Measure the sets asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--peer-python", help="interpreter of an environment with the peers")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds of a peer's fit")
    args = parser.parse_args()
    here = PeerProcess(sys.executable, PEER)
    there = PeerProcess(args.peer_python, PEER) if args.peer_python else None
    print(environment())
    if there:
        print(f"peers: {there.versions('metric-learn', 'mlpack', 'scikit-learn', 'numpy')}")
    print(f"limit for a fit: {args.limit:g} s")
    data = Data(args.data)
    with threadpool_limits(1):
        print(f"compilation or loading of compiled code: {compile_all():.1f} s\n")
        for name in args.sets.split(","):
            compare(name, data, here, there, args)


def compile_all() -> float:
    """Run every compiled function once; return the seconds."""
    X, y = load_wine(return_X_y=True)
    X, started = StandardScaler().fit_transform(X), time.process_time()
    for seed in (None, 0):
        for n_features in (2, 13):
            ours(X[:, :n_features], y, seed)
    return time.process_time() - started


def compare(name: str, data: Data, here: PeerProcess, there: PeerProcess | None, args) -> None:
    """Print the table of a data set."""
    X, y = load_breast_cancer(return_X_y=True) if name == "breast_cancer" else data(name)
    most, splits = SETS[name]
    keep = np.random.default_rng(0).permutation(len(y))[:most]
    X, y = X[keep], y[keep]
    arms = {"Euclidean": [], "ScreenedRTLM": [], "ScreenedRTLM, λ chosen": []} | {
        label: [] for label, (method, _) in PEERS.items() if there or method == "nca"
    }
    for seed in range(splits):
        train, test, labels, truth = train_test_split(
            X, y, test_size=0.25, stratify=y, random_state=seed
        )
        scaler = StandardScaler().fit(train)
        train, test = scaler.transform(train), scaler.transform(test)
        for label, found in arms.items():
            if label == "Euclidean":
                answer = {"seconds": 0.0, "components": np.eye(X.shape[1])}
            elif label.startswith("ScreenedRTLM"):
                answer = ours(train, labels, seed if "chosen" in label else None)
            elif found and "failed" in found[-1]:
                continue
            else:
                method, options = PEERS[label]
                job = {"method": method, "options": options, "limit": args.limit}
                answer = (here if method == "nca" else there).ask(job, X=train, y=labels)
            if "components" in answer:
                L = answer["components"]
                knn = KNeighborsClassifier().fit(train @ L.T, labels)
                answer["error"] = 1.0 - knn.score(test @ L.T, truth)
            found.append(answer)
    print(f"{name} {X.shape}, {len(np.unique(y))} classes, {splits} splits")
    show(arms)


def ours(X, y, seed: int | None = None) -> dict:
    """Fit ScreenedRTLM, with lambda chosen on a part of the samples if there is a seed for it."""
    lam, started = 0.01, time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if seed is not None:
            fit_X, valid_X, fit_y, valid_y = train_test_split(
                X, y, test_size=0.25, stratify=y, random_state=seed
            )
            path = rtlm_path(fit_X, fit_y, n_neighbors=5, ratio=0.7, n_lams=30, tol=1e-4)
            scores = []
            for i in range(len(path)):
                model = path.estimator(i)
                knn = KNeighborsClassifier().fit(model.transform(fit_X), fit_y)
                scores.append(knn.score(model.transform(valid_X), valid_y))
            lam = float(path.lams[int(np.argmax(scores))] / path.lam_max)
        model = ScreenedRTLM(lam).fit(X, y)
    return {"seconds": time.process_time() - started, "components": model.components_}


def show(arms: dict) -> None:
    """Print a line a method; a failure in place of its seconds."""
    chosen = np.mean([run["seconds"] for run in arms["ScreenedRTLM, λ chosen"]])
    rows = []
    for label, runs in arms.items():
        if failed := [run["failed"] for run in runs if "failed" in run]:
            rows.append((label, failed[0].replace("|", "/")[:60], "-", "-"))
            continue
        seconds = np.mean([run["seconds"] for run in runs])
        error = np.mean([run["error"] for run in runs])
        shown = ("-", "-")
        if label != "Euclidean":
            shown = (f"{seconds:.3g}", f"{seconds / chosen:.2g}")
        rows.append((label, shown[0], f"{error:.4f}", shown[1]))
    table("model,fit s,5-NN error,/ s of λ chosen", rows)


if __name__ == "__main__":
    main()
