"""Sequence labellers beside python-crfsuite: seconds, certified gap and accuracy.

    python -m benchmarks.sequence.peers --data FOLDER [--peer-python PYTHON]

FOLDER holds the benchmark data; PYTHON has python-crfsuite (`peers.txt`), without it the peer is
left out. OCR letters: words of handwritten letters, 128 pixels and a constant, 26 labels; one fold
of ten to learn from and nine to test on, and the other way round. Chunking: 600 sentences to learn
from and 300 to test on, 18,405 binary features, 17 tags. crfsuite learns by L-BFGS to its own
tolerance, with all transitions and states; its c2 is 1 / (2 C). CPU seconds with one thread,
compilation and imports excluded.

The last column of crfsuite is how far its objective is from the one of `ChainCRF`'s problem,
computed by us at its own weights.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.sequence.tasks import Task, chunks, letters
from benchmarks.support.environment import environment
from benchmarks.support.peer_process import PeerProcess
from benchmarks.support.tables import table
from skscreen import ChainCRF, KernelChainClassifier, MaxMarginChain
from skscreen.metrics import sequence_accuracy, span_f1
from skscreen.sequence.chains import Chains
from skscreen.sequence.data import check_sequences
from skscreen.sequence.likelihood import LogLoss

PEER = "benchmarks.sequence.peer_side"
LETTERS = [
    *(MaxMarginChain(0.1, tol=tol) for tol in (1e-2, 1e-3, 1e-4)),
    MaxMarginChain(1.0),
    MaxMarginChain(0.1, solver="pragam", tol=1e-2),
    MaxMarginChain(0.1, solver="bmrm", tol=1e-2),
    ChainCRF(0.5), ChainCRF(0.05), KernelChainClassifier(10.0),
]  # fmt: skip
MANY = [MaxMarginChain(0.1, tol=1e-2), MaxMarginChain(0.1), ChainCRF(0.5)]
CHUNKS = [
    MaxMarginChain(0.1, tol=1e-2), MaxMarginChain(0.1), MaxMarginChain(1.0), ChainCRF(5.0),
    ChainCRF(0.5),
]  # fmt: skip
PENALTIES = {"letters": (1.0, 10.0), "many": (1.0,), "chunks": (0.1, 1.0)}


def main() -> None:
    """Print a table for each task."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--peer-python", help="interpreter of an environment with python-crfsuite")
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds of a peer's fit")
    args = parser.parse_args()
    peer = PeerProcess(args.peer_python, PEER) if args.peer_python else None
    print(environment())  # fmt: skip
    print(peer.versions("python-crfsuite") if peer else "no peers", "\n")
    with threadpool_limits(1):
        small = letters(args.data, [0])
        print(f"compilation or loading: {first_fits(small):.1f} s\n")
        print("OCR letters, one fold of ten to learn from (626 words)\n")
        compare(small, LETTERS, PENALTIES["letters"], peer, args.limit)
        each_fold(args.data)
        print("OCR letters, nine folds to learn from (6,251 words)\n")
        compare(letters(args.data, range(1, 10)), MANY, PENALTIES["many"], peer, args.limit)
        print("Chunking\n")
        compare(chunks(args.data), CHUNKS, PENALTIES["chunks"], peer, args.limit)


def first_fits(task: Task) -> float:
    """Fit a few words with every model, dense and sparse; return the seconds."""
    started = time.process_time()
    X, y = task.X[:20], task.y[:20]
    for rows in (X, [sparse.csr_array(part) for part in X]):
        for model in LETTERS:
            clone(model).fit(rows, y).predict(rows)
    return time.process_time() - started


def compare(task: Task, models: list, penalties: tuple, peer, limit: float) -> None:
    """Print what each model and the peer reach on a task."""
    rows = []
    for model in models:
        model = clone(model)
        if not isinstance(model, KernelChainClassifier):
            # The constant is a feature already.
            model.set_params(fit_intercept=False)
        started = time.process_time()
        model.fit(task.X, task.y)
        seconds, found = time.process_time() - started, model.predict(task.X_test)
        gap = f"{model.dual_gap_:.1e}"
        rows.append(
            (name_of(model), f"{seconds:.2f}", model.n_iter_, gap, *scores(task, found), "")
        )
    for c2 in penalties if peer else ():
        answer = peer.ask({"c2": c2, "limit": limit}, **task.stacked())
        if "failed" in answer:
            rows.append((f"crfsuite, c2={c2:g}", answer["failed"], *[""] * 6))
            continue
        found = np.split(answer["found"], np.cumsum([len(part) for part in task.y_test])[:-1])
        rows.append((f"crfsuite, c2={c2:g}", f"{answer['seconds']:.2f}", answer["iterations"], "-",
                     *scores(task, found), f"{difference(task, answer, c2):.0e}"))  # fmt: skip
    table("method,seconds,iterations,relative gap,labels,sequences,spans F1,P differs by", rows)


def name_of(model) -> str:
    """Return an estimator as it is called."""
    return str(model).replace("fit_intercept=False", "").replace(", )", ")").replace(", ,", ",")


def scores(task: Task, found: list) -> tuple[str, ...]:
    """Return shares of right labels and sequences, and of tags the F1 of spans."""
    truth = [part.astype(str) for part in task.y_test]
    found = [np.asarray(part).astype(str) for part in found]
    labels = np.mean(np.concatenate(found) == np.concatenate(truth))
    spans = f"{span_f1(truth, found):.4f}" if "O" in truth[0] or "-" in truth[0][0] else "-"
    return f"{labels:.4f}", f"{sequence_accuracy(truth, found):.4f}", spans


def difference(task: Task, answer: dict, c2: float) -> float:
    """Return how far the peer's objective is from ours at its weights, relative."""
    sequences = check_sequences(task.X)
    classes, codes = np.unique(np.concatenate(task.y).astype(str), return_inverse=True)
    n, m = len(task.X), classes.size
    chains = Chains(sequences, codes, m, np.full(n, 1.0 / n), np.ones(codes.size), 2.0 * c2 / n)
    place = {name: k for k, name in enumerate(classes)}
    w = np.zeros(chains.n_weights)
    W, E = chains.tables(w)
    for feature, label, weight in answer["states"]:
        W[int(feature), place[label]] = float(weight)
    for left, right, weight in answer["steps"]:
        E[place[left], place[right]] = float(weight)
    ours = n * LogLoss(chains).value_and_gradient(w)[0]
    return abs(answer["loss"] / ours - 1.0)


def each_fold(folder: Path) -> None:
    """Learn from each fold in turn; print the range of seconds, gaps and accuracies."""
    rows = []
    for tol in (1e-2, 1e-3):
        found = []
        for fold in range(10):
            task, model = letters(folder, [fold]), MaxMarginChain(0.1, fit_intercept=False, tol=tol)
            started = time.process_time()
            model.fit(task.X, task.y)
            seconds = time.process_time() - started
            found.append((seconds, model.dual_gap_, model.score(task.X_test, task.y_test)))
        low, high = np.min(found, axis=0), np.max(found, axis=0)
        rows.append((f"{tol:g}", *(f"{a:.3g} to {b:.3g}" for a, b in zip(low, high, strict=True))))
    print("Each fold in turn to learn from, MaxMarginChain(C=0.1): least and most of ten\n")
    table("tol,seconds,relative gap,labels", rows)


if __name__ == "__main__":
    main()
