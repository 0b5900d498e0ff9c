"""Sequence labellers beside python-crfsuite: seconds, certified gap and accuracy.

OCR letters: words of handwritten letters, 128 pixels and a constant, 26 labels; one of ten folds
for training and nine for testing, and the other way round. Chunking: 600 sentences for training
and 300 for testing, 18,405 binary features, 17 tags. crfsuite learns by L-BFGS to its own
tolerance, with all transitions and states; its c2 is 1 / (2 C), and "P within" says how far its
objective is from that of the same problem of `ChainCRF`, computed by us at its own weights.
"""

import time
from collections.abc import Iterator

import numpy as np
from sklearn.base import clone

from benchmarks.sequence.tasks import Task, chunks, letters
from benchmarks.support.comparison import Bench, Row, Side
from skscreen import ChainCRF, KernelChainClassifier, MaxMarginChain
from skscreen.metrics import sequence_accuracy, span_f1
from skscreen.sequence.chains import Chains
from skscreen.sequence.data import read_samples
from skscreen.sequence.likelihood import LogLoss

PEER = "benchmarks.sequence.peer_side"
LETTERS = [
    *(MaxMarginChain(0.1, tol=tol) for tol in (1e-2, 1e-3, 1e-4)),
    MaxMarginChain(1.0),
    MaxMarginChain(0.1, solver="pragam", tol=1e-2),
    MaxMarginChain(0.1, solver="bmrm", tol=1e-2),
    ChainCRF(0.5), KernelChainClassifier(10.0),
]  # fmt: skip
MANY = [MaxMarginChain(0.1, tol=1e-2), MaxMarginChain(0.1), ChainCRF(0.5)]
CHUNKS = [MaxMarginChain(0.1, tol=1e-2), MaxMarginChain(0.1), MaxMarginChain(1.0), ChainCRF(0.5)]


def few_letters(bench: Bench) -> Iterator[Row]:
    """OCR letters, one fold of ten to learn from."""
    yield from beside(bench, "OCR letters 626 words", letters(bench.folder, [0]), LETTERS)


def many_letters(bench: Bench) -> Iterator[Row]:
    """OCR letters, nine folds to learn from."""
    task = letters(bench.folder, range(1, 10))
    yield from beside(bench, "OCR letters 6,251 words", task, MANY)


def sentences(bench: Bench) -> Iterator[Row]:
    """Chunks of sentences."""
    yield from beside(bench, "chunking 600 sentences", chunks(bench.folder), CHUNKS)


def beside(bench: Bench, data: str, task: Task, models: list) -> Iterator[Row]:
    """Yield each model beside crfsuite with c2 = 1, which is C = 0.5 of `ChainCRF`."""
    there, peer = bench.there(PEER), None
    if there:
        answer = there.ask({"c2": 1.0, "limit": bench.limit}, **task.stacked())
        peer = Side("crfsuite c2=1", bench.limit, failed=answer.get("failed", ""))
        if "found" in answer:
            ends = np.cumsum([len(part) for part in task.y_test])[:-1]
            said = f"{scores(task, np.split(answer['found'], ends))}; "
            said += f"P within {difference(task, answer, 1.0):.0e}"
            peer = Side("crfsuite c2=1", answer["seconds"], said)
    for model in models:
        model = clone(model)
        if not isinstance(model, KernelChainClassifier):
            # The constant is a feature already.
            model.set_params(fit_intercept=False)
        clone(model).fit(task.X[:20], task.y[:20]).predict(task.X[:20])
        started = time.process_time()
        model.fit(task.X, task.y)
        seconds, found = time.process_time() - started, model.predict(task.X_test)
        ours = Side(name_of(model), seconds, f"gap {model.dual_gap_:.0e}; {scores(task, found)}")
        yield Row("labelling", data, ours, peer or Side("no peer", 0.0))


def name_of(model) -> str:
    """Return an estimator as it is called."""
    return str(model).replace("fit_intercept=False", "").replace(", )", ")").replace(", ,", ",")


def scores(task: Task, found: list) -> str:
    """Return shares of right labels and sequences, and of tags the F1 of spans."""
    truth = [part.astype(str) for part in task.y_test]
    found = [np.asarray(part).astype(str) for part in found]
    labels = np.mean(np.concatenate(found) == np.concatenate(truth))
    said = f"labels {labels:.4f}; sequences {sequence_accuracy(truth, found):.4f}"
    chunked = "O" in truth[0] or "-" in truth[0][0]
    return f"{said}; spans F1 {span_f1(truth, found):.4f}" if chunked else said


def difference(task: Task, answer: dict, c2: float) -> float:
    """Return how far the peer's objective is from ours at its weights, relative."""
    sequences = read_samples(ChainCRF(), task.X, reset=True)
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


JOBS = {"few_letters": few_letters, "many_letters": many_letters, "sentences": sentences}
