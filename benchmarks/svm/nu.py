"""Machines at a nu: one-class SVMs, classification and regression, beside scikit-learn's.

RBF kernels, features standardised, gamma="scale". Ours stop at a relative duality gap of the full
problem of 1e-6, the peers at `tol` 1e-3, their default, which is no gap. Linear one-class SVMs are
beside SGD, whose line says by how much its objective is above the optimum, at the best length of
its weights.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import SGDOneClassSVM
from sklearn.preprocessing import StandardScaler

from benchmarks.support.comparison import Bench, Row, Side, answered, fitted, size
from benchmarks.support.peer_process import best_of
from skscreen import ScreenedNuSVC, ScreenedNuSVR, ScreenedOneClassSVM, one_class_path

PEER = "benchmarks.svm.nu_peer_side"


def table_of(bench: Bench, name: str, n: int | None):
    """Return a part of a set, standardised, and its labels."""
    X, y = bench.data(name)
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    chosen = np.random.default_rng(0).permutation(len(X))[:n]
    X, y = X[chosen], y[chosen]
    return StandardScaler().fit_transform(X[:, X.std(axis=0) > 0.0]), y


def beside(bench: Bench, work: str, name: str, X, y, model, kinds: list[str]) -> Iterator[Row]:
    """Yield a fit beside those of scikit-learn, and of scikit-learn-intelex where it has one."""
    job = {"nu": model.nu, "gamma": 1.0 / (X.shape[1] * X.var()), "tol": 1e-3}
    job |= {"C": getattr(model, "C", 1.0), "repeats": bench.repeats, "limit": bench.limit}
    side = fitted(type(model).__name__, model, X, y, bench.repeats)
    for kind in kinds:
        peer = bench.there(PEER) if kind.startswith("intelex") else bench.here(PEER)
        if peer:
            answer = peer.ask({"method": kind, **job}, X=X, y=y)
            yield Row(work, size(name, X), side, answered(kind, answer, bench.limit, "tol=1e-3"))


def one_class(bench: Bench) -> Iterator[Row]:
    """Fits for three values of nu."""
    for name, n in (("ijcnn1", 2000), ("ijcnn1", 20_000), ("ijcnn1", None), ("magic", None)):
        X, y = table_of(bench, name, n)
        for nu in (0.01, 0.1, 0.5):
            model = ScreenedOneClassSVM(nu)
            yield from beside(bench, f"one class, nu = {nu:g}", name, X, y, model, ["OneClassSVM"])


def classes(bench: Bench) -> Iterator[Row]:
    """Fits of two classes."""
    for n, nu in ((2000, 0.3), (10_000, 0.3), (None, 0.3), (None, 0.5)):
        X, y = table_of(bench, "magic", n)
        kinds = ["NuSVC", "intelex NuSVC"]
        yield from beside(bench, f"NuSVC, nu = {nu:g}", "magic", X, y, ScreenedNuSVC(nu), kinds)


def regression(bench: Bench) -> Iterator[Row]:
    """Fits of the elevation in covtype."""
    for n, nu in ((2000, 0.3), (10_000, 0.1), (10_000, 0.5), (20_000, 0.3)):
        X, _ = table_of(bench, "covtype", n)
        kinds = ["NuSVR", "intelex NuSVR"]
        yield from beside(
            bench, f"NuSVR, nu = {nu:g}", "covtype", X[:, 1:], X[:, 0].copy(), ScreenedNuSVR(nu),
            kinds,
        )  # fmt: skip


def path(bench: Bench) -> Iterator[Row]:
    """A path of 20 values of nu, beside a single fit of the largest."""
    X, _ = table_of(bench, "ijcnn1", 20_000)
    seconds, found = best_of(1, lambda: one_class_path(X))
    ours = Side("one_class_path", seconds, f"gaps up to {found.dual_gaps.max():.0e}")
    alone = fitted("ScreenedOneClassSVM(nu=0.5)", ScreenedOneClassSVM(), X, None)
    yield Row("20 values of nu", size("ijcnn1", X), ours, alone)


def linear(bench: Bench) -> Iterator[Row]:
    """Linear one-class SVMs, beside SGD at its excess."""
    for name, n in (("ijcnn1", None), ("magic", None)):
        X, _ = table_of(bench, name, n)
        # Away from the origin, which the half-space is to leave out.
        X += 2.0
        for nu in (0.1, 0.5):
            model = ScreenedOneClassSVM(nu, kernel="linear")
            side = fitted("ScreenedOneClassSVM", model, X, None)
            sgd = SGDOneClassSVM(nu=nu, random_state=0)
            seconds, sgd = best_of(1, lambda model=sgd, X=X: model.fit(X))
            w = sgd.coef_.ravel()
            rho = np.quantile(X @ w, nu)
            gain = nu * len(X) * rho - np.maximum(rho - X @ w, 0.0).sum()
            value = -0.5 * max(gain, 0.0) ** 2 / (w @ w)
            excess = value / model.objective_
            said = f"{1.0 - excess:.1%} above the optimum"
            peer = Side("SGDOneClassSVM", seconds, said)
            yield Row(f"linear, nu = {nu:g}", size(name, X), side, peer)


JOBS = {
    "one_class": one_class, "nu_classes": classes, "nu_regression": regression, "nu_path": path,
    "linear_one_class": linear,
}  # fmt: skip
