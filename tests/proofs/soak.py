"""An hour of random work in one process: no leak, and the same results again.

    python -m tests.proofs.soak [--minutes 60] [--seed 0] [--limit 5]

Fits of every estimator with random data and options, paths, searches with and without `store=`,
pickles, predictions, and displays drawn and closed, in random order. Every task is done twice, at
different times: the second result must be the first, bit for bit where one thread on one
machine computes it, within the tolerance where the start depends on what a store has seen since.
The resident memory is noted along the way, without what is free for reuse. After a warm-up of a
tenth of the time (modules are loaded, allocators grow to their size) it may not grow by more than
`--limit` per cent: the medians of the first and the last quarter of what follows are compared. The
exit code is 1 if it does, or if a result deviates. The store, and with it what stays in memory for
it, may have 4 MB, which it has at the end of the warm-up. Needs the `bench` extra.
"""

import argparse
import ctypes
import gc
import os
import pickle
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from skscreen import (
    ChainCRF,
    KernelChainClassifier,
    MaxMarginChain,
    OrdinalEmbedding,
    PragamSVC,
    RTLMPairsClassifier,
    ScreenedLinearSVC,
    ScreenedRTLM,
    ScreenedRTLMCV,
    ScreenedSVC,
    ScreenedSVCCV,
    ScreenedSVR,
    Store,
    project_box_equality,
    rtlm_path,
    svc_certified_C,
    svc_path,
)
from skscreen.datasets import make_triplets
from skscreen.inspection import (
    CertifiedPathDisplay,
    EmbeddingDisplay,
    PathDisplay,
    ScreeningDisplay,
)
from skscreen.metrics import procrustes_distance, triplet_error

matplotlib.use("Agg")
# Tasks that wait for their second time, and the share of the time that is warm-up.
WAITING, WARM_UP = 40, 0.1
STORED = 4_000_000
# Relative, where a store may have led to another path to the optimum.
TOLERANCE = 1e-4


# -- tasks ---------------------------------------------------------------------------------------


def labelled(rng, most=400, n_classes=None):
    """Return standardised samples of classes that overlap."""
    n, d = int(rng.integers(40, most)), int(rng.integers(2, 30))
    y = np.arange(n) % (n_classes or int(rng.integers(2, 5)))
    X = rng.normal(size=(n, d)) + rng.uniform(0.2, 2.0) * (y[:, None] == np.arange(d) % 4)
    return X / X.std(axis=0), y


def learned(model, *data, **fit) -> dict:
    """Fit with a seed, make a round trip through a pickle, and return what was learned."""
    model = clone(model)
    if model.get_params().get("random_state", 0) is None:
        model.set_params(random_state=0)
    model = pickle.loads(pickle.dumps(model.fit(*data, **fit)))
    names = ("coef_", "dual_coef_", "intercept_", "components_", "embedding_", "transition_",
             "objective_", "scores_")  # fmt: skip
    found = {name: getattr(model, name) for name in names if hasattr(model, name)}
    return {
        name: value.toarray() if sparse.issparse(value) else np.array(value)
        for name, value in found.items()
    }


def svc(rng, folder):
    X, y = labelled(rng)
    model = ScreenedSVC(
        10.0 ** rng.uniform(-3, 3), kernel=str(rng.choice(["linear", "rbf", "poly"])), coef0=1.0,
        intercept=str(rng.choice(["penalised", "free"])), n_jobs=int(rng.integers(1, 3)),
        screening=[False, "gap", "ball1", "intersection"][rng.integers(4)],
        class_weight=[None, "balanced"][rng.integers(2)],
    )  # fmt: skip
    X = sparse.csr_array(np.where(X > 0.5, X, 0.0)) if rng.random() < 0.3 else X
    return learned(model, X, y, sample_weight=rng.integers(0, 3, y.size) + 1.0 * (y == 0))


def linear_svc(rng, folder):
    X, y = labelled(rng)
    loss = str(rng.choice(["hinge", "squared_hinge"]))
    model = ScreenedLinearSVC(C=10.0 ** rng.uniform(-3, 3), loss=loss)
    return learned(model, sparse.csr_array(np.where(X > 0.5, X, 0.0)), y)


def regression(rng, folder):
    X, _ = labelled(rng)
    model = ScreenedSVR(
        C=10.0 ** rng.uniform(-2, 2), epsilon=float(rng.choice([0.0, 0.1])),
        kernel=str(rng.choice(["linear", "rbf"])),
        loss=str(rng.choice(["epsilon_insensitive", "squared_epsilon_insensitive"])),
    )  # fmt: skip
    return learned(model, X, X[:, 0] + rng.normal(size=len(X)))


def pragam(rng, folder):
    X, y = labelled(rng)
    solver = str(rng.choice(["pragam", "bmrm", "ls-bmrm", "pegasos"]))
    model = PragamSVC(10.0 ** rng.uniform(-3, 0), solver=solver, tol=1e-2, max_iter=500)
    return learned(model, X, y)


def metric(rng, folder):
    X, y = labelled(rng, 200)
    model = ScreenedRTLM(
        10.0 ** rng.uniform(-2, 0), n_neighbors=[1, 3, 5, None][rng.integers(4)],
        loss=str(rng.choice(["hinge", "smoothed_hinge", "squared_hinge"])),
        diagonal=bool(rng.integers(2)),
        bound=str(rng.choice(["gap", "rrpb", "pgb"])), pull=float(rng.choice([0.0, 0.01])),
        rule=str(rng.choice(["sphere", "linear"])),
    )  # fmt: skip
    if model.n_neighbors is None:
        model.set_params(loss="smoothed_hinge")
    return learned(model, X, y)


def pairs(rng, folder):
    X, y = labelled(rng, 150)
    tuples = rng.integers(0, len(X), (200, 2))
    similar = np.where(y[tuples[:, 0]] == y[tuples[:, 1]], 1, -1)
    return learned(RTLMPairsClassifier(), X[tuples], similar)


def embedding(rng, folder):
    X = rng.normal(size=(int(rng.integers(10, 60)), 2))
    answers = make_triplets(X, 1500, noise=0.05, random_state=int(rng.integers(100)))
    model = OrdinalEmbedding(
        loss=str(rng.choice(["soe", "ste", "tste", "gnmds", "ckl"])), random_state=0,
        solver=str(rng.choice(["auto", "lbfgs", "svrg-sbb", "sgd"])), max_iter=30,
    )  # fmt: skip
    found = learned(model, answers)
    found["error"] = triplet_error(found["embedding_"], answers)
    found["distance"] = procrustes_distance(X[: len(found["embedding_"])], found["embedding_"])
    EmbeddingDisplay.from_estimator(clone(model).fit(answers), classes=np.arange(len(X)) % 3)
    return found


def scales(rng, folder):
    answers = make_triplets(np.arange(9.0)[:, None], 300, noise=0.3, random_state=0)
    return learned(OrdinalEmbedding(n_components=1, random_state=int(rng.integers(100))), answers)


def sequences(rng, folder):
    X, y = labelled(rng, 150, n_classes=3)
    cuts = np.arange(7, len(X), 7)
    kind = (MaxMarginChain, ChainCRF, KernelChainClassifier)[rng.integers(3)](0.1)
    return learned(kind, np.split(X, cuts), np.split(y, cuts))


def paths(rng, folder):
    X, y = labelled(rng, 150, n_classes=2)
    path = svc_path(
        X,
        y,
        Cs=np.geomspace(1e-2, 10.0, 8),
        kernel=["linear", "rbf"][rng.integers(2)],
        intercept="penalised",
        random_state=0,
    )
    metrics = rtlm_path(X, y, n_lams=12, ranges=bool(rng.integers(2)))
    for one in (path, metrics):
        PathDisplay.from_path(one, tol=1e-6)
        ScreeningDisplay.from_path(one)
    return {"C": path.dual_coefs, "lambda": metrics.matrices}


def certified(rng, folder):
    X, y = labelled(rng, 120, n_classes=2)
    half = len(X) // 2
    best = svc_certified_C(
        X[:half], y[:half], X[half:], y[half:], (0.01, 10.0), 0.05, kernel="linear", random_state=0
    )
    CertifiedPathDisplay.from_result(best)
    return {"C": best.C, "lower": best.bounds.lower}


def searches(rng, folder):
    X, y = labelled(rng, 150)
    kinds = (
        ScreenedSVCCV(4, cv=3, kernel="linear", intercept="penalised"),
        ScreenedRTLMCV(3, cv=3),
    )
    return learned(kinds[rng.integers(2)], X, y)


def grids(rng, folder):
    X, y = labelled(rng, 150, n_classes=2)
    grid = {"C": np.geomspace(0.01, 10.0, 4)}
    model = ScreenedSVC(kernel="rbf", n_jobs=1, intercept="penalised")
    search = GridSearchCV(model, grid, cv=3, n_jobs=int(rng.integers(1, 3))).fit(X, y)
    pipeline = make_pipeline(ScreenedRTLM(0.1), KNeighborsClassifier())
    scores = cross_val_score(pipeline, X, y, cv=3)
    return {"scores": search.cv_results_["mean_test_score"], "neighbours": scores}


def stored(rng, folder):
    X, y = labelled(rng, 200, n_classes=2)
    C = 10.0 ** rng.uniform(-2, 1)
    kept = [ScreenedSVC(C, store=folder).fit(X, y).objective_,
            PragamSVC(C, store=folder, tol=1e-5).fit(X, y).objective_,
            ScreenedRTLM(0.1, store=folder).fit(X, y).objective_]  # fmt: skip
    search = GridSearchCV(ScreenedLinearSVC(store=folder), {"C": [0.1, C]}, cv=3).fit(X, y)
    return {"near": np.array(kept), "scores": search.cv_results_["mean_test_score"]}


def small(rng, folder):
    point = rng.normal(size=5000)
    return {"a": project_box_equality(point, 3.0, coefficients=rng.choice([-1.0, 1.0], 5000))}


TASKS: tuple[Callable, ...] = (
    svc, linear_svc, regression, pragam, metric, pairs, embedding, scales, sequences, paths,
    certified, searches, grids, stored, small,
)  # fmt: skip


# -- the hour ------------------------------------------------------------------------------------


def resident() -> float:
    """Return the resident memory of this process in MB, after what is free has gone back."""
    gc.collect()
    # Freed pieces between used ones grow for as long as sizes are random; the C library of Linux
    # can return them. What leaks is not free.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def differences(first: dict, second: dict) -> list[str]:
    """Return the names of what is not the same again."""
    found = [] if set(first) == set(second) else ["names"]
    for name in set(first) & set(second):
        a, b = np.asarray(first[name]), np.asarray(second[name])
        same = a.shape == b.shape and (
            np.allclose(a, b, rtol=TOLERANCE) if name == "near" else np.array_equal(a, b)
        )
        found += [] if same else [name]
    return found


def do(task: Callable, seed: int, folder: str) -> dict:
    """Do a task from its seed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return task(np.random.default_rng(seed), folder)
        finally:
            plt.close("all")


def soak(minutes: float, seed: int, folder: Store) -> tuple[list, list, Counter]:
    """Work for so many minutes; return memory along time, deviations and counts of tasks."""
    rng, began = np.random.default_rng(seed), time.monotonic()
    waiting, memory, deviations, counts = [], [], [], Counter()
    noted = 0.0
    while (passed := time.monotonic() - began) < 60.0 * minutes:
        # A first time, or the second of one of those that wait.
        if len(waiting) < WAITING and (not waiting or rng.random() < 0.5):
            task, own = TASKS[rng.integers(len(TASKS))], int(rng.integers(2**31))
            waiting.append((task, own, do(task, own, folder)))
        else:
            task, own, first = waiting.pop(rng.integers(len(waiting)))
            for name in differences(first, do(task, own, folder)):
                deviations.append(f"{task.__name__}, seed {own}: {name}")
                print("deviation:", deviations[-1], flush=True)
        counts[task.__name__] += 1
        if passed - noted >= min(10.0, 60.0 * minutes / 50.0):
            noted = passed
            memory.append((passed / 60.0, resident()))
    return memory, deviations, counts


def growth(memory: list[tuple[float, float]], minutes: float) -> tuple[float, float]:
    """Return the medians of memory in the first and the last quarter after the warm-up."""
    values = [size for when, size in memory if when >= WARM_UP * minutes]
    quarter = max(len(values) // 4, 1)
    return float(np.median(values[:quarter])), float(np.median(values[-quarter:]))


def main(argv: list[str] | None = None) -> int:
    """Soak; return 1 if memory grew too much or a result was not the same again."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=5.0, help="growth, per cent")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(limits=1):
        store = Store(folder, max_bytes=STORED)
        memory, deviations, counts = soak(args.minutes, args.seed, store)
    for when, size in memory[:: max(len(memory) // 20, 1)]:
        print(f"{when:6.1f} min  {size:7.1f} MB")
    first, last = growth(memory, args.minutes)
    percent = 100.0 * (last - first) / first
    print(f"tasks: {counts.total()} ({', '.join(f'{n} {c}' for n, c in sorted(counts.items()))})")
    print(
        f"{counts.total()} tasks, {len(deviations)} deviations; memory after the warm-up "
        f"{first:.1f} MB, at the end {last:.1f} MB: {percent:+.1f} %"
    )
    return int(percent >= args.limit or bool(deviations))


if __name__ == "__main__":
    sys.exit(main())
