"""After the fit, and small fits: predictions of one row and of 20,000, files, many classes.

Beside SVC and SVR, with an RBF and a linear kernel, LinearSVC and LinearSVR; SVC and SVR of
scikit-learn-intelex too. All have their defaults: ours stop at a relative duality gap of 1e-6, the
peers at tol=1e-3 and 1e-4, which are no gaps. Lines say how large the pickle of the model is;
seconds of a file are those of a pickle that is made and loaded, those of "one row" a mean over 50
predictions of one row each, those of "rows" a prediction of 20,000. Many classes are made:
directions of length 1 in 128 columns around a centre for each class, like embeddings of faces.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.support.comparison import Bench, Row, Side, answered, size
from benchmarks.svm.after_peer_side import measured
from skscreen import ScreenedLinearSVC, ScreenedLinearSVR, ScreenedSVC, ScreenedSVR

PEER = "benchmarks.svm.after_peer_side"
# Names of machines, ours, and peers.
MACHINES = {
    "RBF kernel": (partial(ScreenedSVC, cache_size=1000), "rbf", ["SVC", "intelex SVC"]),
    "linear kernel": (
        partial(ScreenedSVC, kernel="linear", cache_size=1000), "linear", ["SVC", "intelex SVC"],
    ),
    "LinearSVC": (ScreenedLinearSVC, "", ["LinearSVC"]),
}  # fmt: skip
REGRESSIONS = {
    "RBF regression": (partial(ScreenedSVR, cache_size=1000), "rbf", ["SVR", "intelex SVR"]),
    "linear regression": (
        partial(ScreenedSVR, kernel="linear", cache_size=1000), "linear", ["SVR", "intelex SVR"],
    ),
    "LinearSVR": (ScreenedLinearSVR, "", ["LinearSVR"]),
}  # fmt: skip


def standardised(bench: Bench, name: str, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return n samples of a set to learn from, standardised, their labels, and 20,000 rows."""
    X, y = bench.data(name)
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    random = np.random.default_rng(0)
    chosen = random.permutation(len(X))
    X = StandardScaler().fit_transform(X[chosen])
    rows = X[random.integers(len(X), size=20_000)]
    return X[:n], y[chosen[:n]], rows


def faces(n_classes: int, n_each: int) -> tuple[np.ndarray, np.ndarray]:
    """Return directions around a centre for each class."""
    random = np.random.default_rng(0)
    centres = np.repeat(random.normal(size=(n_classes, 128)), n_each, axis=0)
    X = normalize(centres + random.normal(size=centres.shape))
    return X, np.repeat(np.arange(n_classes), n_each)


def beside(bench: Bench, works: list[str], data: str, X, y, rows, machines=None) -> Iterator[Row]:
    """Yield pieces of work of our machines beside those of their peers; a model is fitted once."""
    for name, (ours, kernel, peers) in (machines or MACHINES).items():
        found = measured(ours(), works, X, y, rows, bench.repeats)
        for kind in peers:
            peer = bench.there(PEER) if kind.startswith("intelex") else bench.here(PEER)
            if not peer:
                continue
            job = {"method": kind, "kernel": kernel, "works": works}
            job |= {"limit": bench.limit, "repeats": bench.repeats}
            answer = peer.ask(job, X=X, y=y, rows=rows)
            for work in works:
                side = Side(type(ours()).__name__, found["seconds"][work], weighed(found))
                known = answer if "failed" in answer else {"seconds": answer["seconds"][work]}
                there = answered(kind, known, bench.limit, weighed(answer))
                yield Row(f"{name}: {work}", data, side, there)


def weighed(found: dict) -> str:
    """Say how large a pickle is."""
    return f"{found['bytes'] / 1e3:,.0f} kB" if "bytes" in found else ""


def predictions(bench: Bench) -> Iterator[Row]:
    """One row, 20,000 rows and a file, of two classes and of several."""
    for name, n in (("magic", 4000), ("letter", 4000)):
        X, y, rows = standardised(bench, name, n)
        yield from beside(bench, ["one row", "rows", "file"], size(name, X), X, y, rows)


def many_classes(bench: Bench) -> Iterator[Row]:
    """Fits, one row and files of 60, 200 and 340 classes."""
    # Pickles of hundreds of classes take gigabytes with scikit-learn-intelex.
    here = {
        name: (ours, kernel, [peer for peer in peers if not peer.startswith("intelex")])
        for name, (ours, kernel, peers) in MACHINES.items()
    }
    for n_classes, n_each in ((60, 40), (200, 12), (340, 6)):
        X, y = faces(n_classes, n_each)
        machines = MACHINES if n_classes == 60 else here
        data, works = size(f"{n_classes} classes", X), ["fit", "one row", "file"]
        yield from beside(bench, works, data, X, y, X[:20], machines)


def small_fits(bench: Bench) -> Iterator[Row]:
    """Fits of the sets that come with scikit-learn, and of the first rows of spambase."""
    for load in (load_iris, load_wine, load_breast_cancer, load_digits, load_diabetes):
        X, y = load(return_X_y=True)
        X = StandardScaler().fit_transform(X)
        name = load.__name__.removeprefix("load_")
        machines = REGRESSIONS if load is load_diabetes else MACHINES
        yield from beside(bench, ["fit"], size(name, X), X, y, X, machines)
    for n in (100, 300, 1000):
        X, y, _ = standardised(bench, "spambase", n)
        yield from beside(bench, ["fit"], size("spambase", X), X, y, X)


JOBS = {"predictions": predictions, "many_classes": many_classes, "small_fits": small_fits}
