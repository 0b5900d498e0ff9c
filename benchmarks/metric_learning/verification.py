"""Verification of identities that were not learned from, beside metric-learn's learners from pairs.

    python -m benchmarks.metric_learning.verification --data FOLDER [--peer-python PYTHON]
                                                      [--sets letter,...]

PYTHON has metric-learn (`peers.txt`), without it its learners are left out. Six tenths of the
classes are learned from, as pairs of samples of which half are of one class; on 10,000 such pairs
of the other classes the area under the ROC curve of the distances is measured. All learn from the
same pairs, features are standardised by the classes learned from. `RTLMPairsClassifier` at its
defaults, and with lambda chosen by `GridSearchCV` from five values on the training pairs, all of it
in its seconds; the others at their defaults, and SDML also with a `balance_param` at which its
problem has a solution on letter. SDML fails with scikit-learn 1.5 or newer, and so with that of
`peers.txt`; give a PYTHON with scikit-learn 1.4 to measure it. CPU seconds with one thread, imports
and compilation excluded; means over splits. A fit that takes longer than the limit is ended, and
not tried on other splits.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Data
from benchmarks.support.environment import environment
from benchmarks.support.peer_process import PeerProcess
from benchmarks.support.tables import table
from skscreen import RTLMPairsClassifier

PEER = "benchmarks.metric_learning.peer_side"
# Pairs learned from.
SETS = {"letter": 2000, "usps": 1000, "ocr_letters": 2000}
PEERS = {
    "metric-learn ITML": ("ITML", {}),
    "metric-learn MMC": ("MMC", {}),
    "metric-learn SDML": ("SDML", {}),
    "metric-learn SDML, balance 1e-4": ("SDML", {"balance_param": 1e-4}),
}
LAMS = [0.3, 0.1, 0.03, 0.01, 0.003]
DEFAULT, CHOSEN = "RTLMPairsClassifier", "RTLMPairsClassifier, λ chosen"


def main() -> None:
    """Measure the sets asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--peer-python", help="interpreter of an environment with metric-learn")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds of a peer's fit")
    args = parser.parse_args()
    peers = PeerProcess(args.peer_python, PEER) if args.peer_python else None
    print(environment())
    if peers:
        print(f"peers: {peers.versions('metric-learn', 'scikit-learn', 'numpy')}")
    print(f"limit for a fit: {args.limit:g} s\n")
    data = Data(args.data)
    with threadpool_limits(1):
        for name in args.sets.split(","):
            compare(name, data(name), peers, args)


def compare(name: str, samples: tuple, peers: PeerProcess | None, args) -> None:
    """Print the table of a data set."""
    arms = {label: [] for label in ("Euclidean", DEFAULT, CHOSEN, *(PEERS if peers else ()))}
    for seed in range(args.splits):
        X, pairs, y, unseen, questions, truth = split(*samples, SETS[name], seed)
        if seed == 0:
            # Compiled code is loaded.
            ours(X, pairs, y, None)
        for label, found in arms.items():
            if label == "Euclidean":
                answer = {"seconds": 0.0, "components": np.eye(X.shape[1])}
            elif label in (DEFAULT, CHOSEN):
                answer = ours(X, pairs, y, LAMS if label == CHOSEN else None)
            elif found and "failed" in found[-1]:
                continue
            else:
                learner, options = PEERS[label]
                job = {"method": learner, "options": options, "limit": args.limit}
                answer = peers.ask(job, X=X, y=y, pairs=pairs)
            if "components" in answer:
                Z = unseen @ answer["components"].T
                distances = np.linalg.norm(Z[questions[:, 0]] - Z[questions[:, 1]], axis=1)
                answer["area"] = roc_auc_score(truth, -distances)
            found.append(answer)
    classes = len(np.unique(samples[1]))
    print(f"{name} {samples[0].shape}, {classes} classes, {SETS[name]} pairs, {args.splits} splits")
    show(arms)


def split(X, y, n_pairs: int, seed: int) -> tuple:
    """Return samples, pairs and answers of some classes, and the same of the others."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(y))
    known = np.isin(y, classes[: len(classes) * 6 // 10])
    mean, spread = X[known].mean(axis=0), X[known].std(axis=0)
    X = (X - mean) / np.where(spread > 1e-9, spread, 1.0)
    parts = []
    for part, n in ((known, n_pairs), (~known, 10_000)):
        parts += [X[part], *draw(y[part], n, rng)]
    return tuple(parts)


def draw(y, n: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Return n pairs, half of them alike; classes are as frequent as each other."""
    classes, members = np.unique(y), {c: np.flatnonzero(y == c) for c in np.unique(y)}
    alike = [rng.choice(members[c], 2, replace=False) for c in rng.choice(classes, n // 2)]
    others = [[rng.choice(members[c]) for c in rng.choice(classes, 2, replace=False)]
              for _ in range(n // 2)]  # fmt: skip
    return np.array([*alike, *others]), np.repeat([1, -1], n // 2)


def ours(X, pairs, y, lams: list[float] | None) -> dict:
    """Fit, with lambda chosen if there are values."""
    model, started = RTLMPairsClassifier(preprocessor=X), time.process_time()
    if lams is None:
        model.fit(pairs, y)
    else:
        # In any order, or a fold may hold pairs of one kind.
        order = np.random.default_rng(0).permutation(len(y))
        model = GridSearchCV(model, {"lam": lams}).fit(pairs[order], y[order]).best_estimator_
    seconds = time.process_time() - started
    return {"seconds": seconds, "components": model.components_, "gap": model.dual_gap_}


def show(arms: dict) -> None:
    """Print a line a method; a failure in place of its seconds."""
    ours = np.mean([run["seconds"] for run in arms[DEFAULT]])
    rows = []
    for label, runs in arms.items():
        if failed := [run["failed"] for run in runs if "failed" in run]:
            rows.append((label, failed[0].replace("|", "/").split("\n")[0][:60], "-", "-", "-"))
            continue
        seconds = np.mean([run["seconds"] for run in runs])
        areas = [run["area"] for run in runs]
        shown = ("-", "-")
        if label != "Euclidean":
            shown = (f"{seconds:.3g}", f"{seconds / ours:.2g}")
        rows.append((label, shown[0], f"{np.mean(areas):.4f}", f"{min(areas):.4f}", shown[1]))
    table("model,fit s,area under ROC,smallest,/ s of ours", rows)


if __name__ == "__main__":
    main()
