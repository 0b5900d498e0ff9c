"""Kernel machines with RBF kernels: fits, flat kernels, paths, many classes, regression.

Features are standardised, gamma = 1 / n_features. Each row says where both sides stop: ours at a
relative duality gap of the full problem, the peers at `tol`, which is no gap (1e-3, their default).
The intercept is free on both sides. scikit-learn-intelex and ThunderSVM run on one thread.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, SVR

from benchmarks.support.comparison import Bench, Row, Side, answered, fitted, size
from benchmarks.support.peer_process import best_of
from benchmarks.svm.peers_here import svc_gap
from skscreen import ScreenedSVC, ScreenedSVR, svc_path, svr_path

PEER, THERE = "benchmarks.svm.peer_side", ("scikit-learn-intelex", "thundersvm-cpu")
# Samples at most: covtype has more than half a million.
FITS = {"magic": None, "covtype": 20_000, "letter": None, "ijcnn1": None, "a9a": None}
PATHS = {"satimage": None, "spambase": None, "letter": 6000, "magic": 6000}
# Samples to learn from; 5,000 others are predicted.
CLASSES = {"letter": 15_000, "mnist": 7500, "usps": 7291, "satimage": 4435, "digits": 1200}


def fit(bench: Bench) -> Iterator[Row]:
    """One fit of the most frequent class against the rest, beside three implementations of SVC."""
    peers = {"SVC": bench.here(PEER)}
    if there := bench.there(PEER):
        peers |= dict.fromkeys(THERE, there)
    for name, n in FITS.items():
        X, y = against_the_rest(bench, name, n)
        for C in (1.0, 100.0):
            ours = "ScreenedSVC(tol=1e-3)", ScreenedSVC(C, gamma=1.0 / X.shape[1], tol=1e-3)
            yield from beside(bench, f"fit C = {C:g}", name, X, y, *ours, peers)


def flat(bench: Bench) -> Iterator[Row]:
    """Kernels a hundred times as flat, with a large C, where steps of SMO are small: beside SVC."""
    for name, C in product(("magic", "ijcnn1"), (100.0, 1e4)):
        X, y = against_the_rest(bench, name, 20_000)
        ours = "ScreenedSVC", ScreenedSVC(C, gamma=0.01 / X.shape[1])
        peers = {"SVC": bench.here(PEER)}
        yield from beside(bench, f"flat kernel, C = {C:g}", name, X, y, *ours, peers)


def beside(bench, work, name, X, y, ours: str, model, peers: dict) -> Iterator[Row]:
    """Yield a fit beside those of peers with tol=1e-3, each against the clock."""
    job = {"C": model.C, "gamma": model.gamma, "tol": 1e-3, "repeats": 1, "limit": bench.limit}
    answers = {key: peer.ask({"method": key, **job}, X=X, y=y) for key, peer in peers.items()}
    side = fitted(ours, model, X, y)
    for key, answer in answers.items():
        yield Row(work, size(name, X), side, answered(key, answer, bench.limit, "tol=1e-3"))


def against_the_rest(bench: Bench, name: str, n: int | None):
    """Return a part of a set, standardised, and signs (letter: odd against even)."""
    X, y = bench.data(name)
    X = X.toarray() if sparse.issparse(X) else X
    if name == "letter":
        y = np.where(y % 2 == 0, 1.0, -1.0)
    else:
        values, counts = np.unique(y, return_counts=True)
        y = np.where(y == values[counts.argmax()], 1.0, -1.0)
    chosen = np.random.default_rng(0).permutation(len(y))[:n]
    return StandardScaler().fit_transform(X[chosen]), y[chosen]


def path(bench: Bench) -> Iterator[Row]:
    """A path of 31 values of C to 1000, beside fits of SVC and beside itself without screening."""
    for name, n in PATHS.items():
        X, y = bench.sets(name, n)
        gamma = 1.0 / X.shape[1]
        K = rbf_kernel(X, gamma=gamma)
        Cs = np.geomspace(max(1.0 / (y * (K @ y) + 1.0).max(), 1e-3), 1e3, 31)
        options = {"Cs": Cs, "gamma": gamma, "intercept": "free", "cache_size": 2000, "tol": 1e-6}
        sides = {}
        for screening in (True, False):
            call = partial(svc_path, X, y, screening=screening, **options)
            seconds, found = best_of(2, call)
            said = f"gaps up to {found.dual_gaps.max():.0e}"
            sides[screening] = Side(f"svc_path(screening={screening})", seconds, said)
        gaps, seconds = [], 0.0
        for C in Cs:
            model = SVC(C=C, gamma=gamma, cache_size=2000)
            seconds += best_of(1, lambda model=model, X=X, y=y: model.fit(X, y))[0]
            gaps.append(svc_gap(model, K, y, C))
        peer = Side("31 SVC", seconds, f"gaps {min(gaps):.0e} to {max(gaps):.0e}")
        yield Row("path of 31 C", size(name, X), sides[True], peer)
        yield Row("path of 31 C", size(name, X), sides[True], sides[False])


def many_classes(bench: Bench) -> Iterator[Row]:
    """Fit and prediction of all classes one against one, beside SVC."""
    for name, n in CLASSES.items():
        X, y, X_test, y_test = held_out(bench, name, n)
        sides = []
        for model in (ScreenedSVC(10.0, tol=1e-3), SVC(C=10.0, tol=1e-3, cache_size=1000)):
            model.set_params(gamma=1.0 / X.shape[1])
            seconds, _ = best_of(1, lambda model=model, X=X, y=y: model.fit(X, y))
            later, found = best_of(1, lambda model=model, X=X_test: model.predict(X))
            said, kind = f"accuracy {np.mean(found == y_test):.4f}", type(model).__name__
            sides.append((Side(kind, seconds, said), Side(f"{kind}.predict", later, said)))
        data = f"{size(name, X)} in {len(np.unique(y))} classes"
        for work, ours, peer in zip(("fit", "predict"), *sides, strict=True):
            yield Row(f"{work} C = 10", data, ours, peer)


def held_out(bench: Bench, name: str, n: int):
    """Return samples and classes to learn from, and to predict."""
    X, y = load_digits(return_X_y=True) if name == "digits" else bench.data(name)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:n], order[n : n + 5000]
    if test.size == 0:
        train, test = np.array_split(order, [len(y) * 2 // 3])
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def regression(bench: Bench) -> Iterator[Row]:
    """Fits and paths of 20 values of C with a tube of 0.1, beside SVR."""
    wine, _ = bench.data("wine_quality")
    quality = np.load(bench.folder / "wine_quality.npz")["quality"].astype(float)
    for name, X, y in (("wine_quality", scale(wine), scale(quality)), ("made", *made(20_000))):
        for C in (1.0, 10.0):
            options = {"C": C, "epsilon": 0.1, "gamma": "auto"}
            model = ScreenedSVR(tol=1e-3, **options)
            ours = fitted("ScreenedSVR", model, X, y)
            other = SVR(cache_size=1000, **options)
            seconds, _ = best_of(1, lambda model=other, X=X, y=y: model.fit(X, y))
            apart = np.abs(model.predict(X[:1000]) - other.predict(X[:1000])).max()
            peer = Side("SVR", seconds, f"tol=1e-3; predictions within {apart:.2g}")
            yield Row(f"regression C = {C:g}", size(name, X), ours, peer)
        X, y, Cs = X[:5000], y[:5000], np.geomspace(0.01, 10.0, 20)
        seconds, found = best_of(
            2, lambda X=X, y=y, Cs=Cs: svr_path(X, y, Cs=Cs, tol=1e-3, epsilon=0.1, gamma="auto")
        )
        ours = Side("svr_path", seconds, f"gaps up to {found.dual_gaps.max():.0e}")
        seconds, _ = best_of(1, lambda X=X, y=y, Cs=Cs: [
            SVR(C=C, cache_size=1000, epsilon=0.1, gamma="auto").fit(X, y) for C in Cs
        ])  # fmt: skip
        yield Row("path of 20 C", size(name, X), ours, Side("20 SVR", seconds, "tol=1e-3"))


def made(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples and targets like prices: smooth effects, one of them joint, heavy tails."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    y = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.3 * np.maximum(X[:, 3], 0.0)
    return X, scale(y + 0.3 * rng.standard_t(4, size=n))


JOBS = {
    "fit": fit, "flat": flat, "path": path, "many_classes": many_classes, "regression": regression
}  # fmt: skip
