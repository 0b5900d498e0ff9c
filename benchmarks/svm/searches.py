"""Choices of C and gamma: ScreenedSVCCV, a store and a certified choice, beside GridSearchCV.

All have a free intercept and are one-vs-one, as SVC is, except the certified choice. `tol` is a
relative duality gap here; for SVC, with 1e-3, it is a violation of optimality conditions. A search
with a store begins with an empty folder and nothing kept in memory. A certified choice proves for
every C between 0.01 and 100 that its validation error is not below a bound. It is compared with the
fits of a grid of 20 values, which prove nothing about other values.
"""

import tempfile
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC

from benchmarks.support.comparison import Bench, Row, Side, size
from benchmarks.support.peer_process import best_of
from skscreen import ScreenedRTLM, ScreenedSVC, ScreenedSVCCV, svc_certified_C


def grid(bench: Bench) -> Iterator[Row]:
    """A search over C, gamma and folds, beside GridSearchCV(SVC())."""
    X, y = load_iris(return_X_y=True)
    for tol in (1e-6, 1e-3):
        list(searches(X, y, [0.1, 1.0], [0.1, 1.0], 2, tol))
    for name, X, y, Cs, gammas, cv in problems(bench):
        work = f"{len(Cs)} C × {len(gammas)} gamma × 5 folds"
        peer = searched("GridSearchCV(SVC)", SVC(), {"C": Cs, "gamma": gammas}, cv, X, y)
        for tol in (1e-6, 1e-3):
            for ours in searches(X, y, Cs, gammas, cv, tol):
                yield Row(f"{work} tol={tol:g}", size(name, X), ours, peer)


def problems(bench: Bench) -> Iterator[tuple]:
    """Yield names, samples, labels, grids and folds; iris is scikit-learn's plot_rbf_parameters."""
    X, y = load_iris(return_X_y=True)
    cv = StratifiedShuffleSplit(n_splits=5, test_size=0.2, random_state=42)
    yield "iris", scale(X), y, np.logspace(-2, 10, 13), np.logspace(-9, 3, 13), cv
    X, y = load_digits(return_X_y=True)
    yield "digits", X / 16.0, y, np.geomspace(0.1, 1000.0, 5), np.geomspace(5e-4, 0.5, 5), 5
    for name, load in (("spambase", bench.sets), ("satimage", bench.data)):
        X, y = load(name)
        yield name, scale(X), y, np.geomspace(1e-2, 1e2, 10), np.geomspace(1e-3, 1.0, 8), 5


def searches(X, y, Cs, gammas, cv, tol: float) -> Iterator[Side]:
    """Yield a search by the estimator of one, with a store, and by fits alone."""
    own = ScreenedSVCCV(Cs, gammas=gammas, cv=cv, refit=False, tol=tol)
    seconds, _ = best_of(1, lambda: own.fit(X, y))
    best = f"{own.best_score_:.4f} at C = {own.C_:.3g} gamma = {own.gamma_:.3g}"
    yield Side("ScreenedSVCCV", seconds, best)
    model, grid = ScreenedSVC(tol=tol), {"C": Cs, "gamma": gammas}
    yield stored("GridSearchCV(ScreenedSVC) with store=", model, "store", grid, cv, X, y)
    yield searched("GridSearchCV(ScreenedSVC)", model, grid, cv, X, y)


def stored(name: str, model, parameter: str, grid: dict, cv, X, y) -> Side:
    """Search with an empty store, for which nothing is kept in memory."""
    with tempfile.TemporaryDirectory() as folder:
        side = searched(name, model.set_params(**{parameter: folder}), grid, cv, X, y)
    model.set_params(**{parameter: None})
    return side


def searched(name: str, model, grid: dict, cv, X, y) -> Side:
    """Search by scikit-learn; return what it took and where the best score is."""
    search = GridSearchCV(model, grid, cv=cv, refit=False)
    seconds, _ = best_of(1, lambda: search.fit(X, y))
    said = " ".join(f"{key.split('__')[-1]} = {v:.3g}" for key, v in search.best_params_.items())
    return Side(name, seconds, f"{search.best_score_:.4f} at {said}")


def store(bench: Bench) -> Iterator[Row]:
    """A search with store= beside the same without."""
    Cs = {"C": np.geomspace(1e-2, 1e2, 20)}
    for name in ("spambase", "satimage"):
        X, y = bench.sets(name)
        model = ScreenedSVC(gamma=1.0 / X.shape[1], cache_size=1000)
        ours = stored("GridSearchCV(ScreenedSVC) with store=", model, "store", Cs, 5, X, y)
        yield Row("20 C × 5 folds", size(name, X), ours, searched("without", model, Cs, 5, X, y))
    X, y = bench.data("segment")
    model = make_pipeline(StandardScaler(), ScreenedRTLM(), KNeighborsClassifier())
    lams = {"screenedrtlm__lam": np.geomspace(1e-1, 1e-4, 12)}
    ours = stored("metric and neighbours with store=", model, "screenedrtlm__store", lams, 5, X, y)
    yield Row("12 lambda × 5 folds", size("segment", X), ours,
              searched("without", model, lams, 5, X, y))  # fmt: skip


def certified(bench: Bench) -> Iterator[Row]:
    """A certified choice of C to 0.01 of the validation error, beside 20 fits of ours."""
    Cs = np.geomspace(1e-2, 1e2, 20)
    for name, kernel, n in (("breast_cancer", "linear", None), ("breast_cancer", "rbf", None),
                            ("spambase", "rbf", None), ("magic", "rbf", 8000)):  # fmt: skip
        X, y = bench.sets(name, n)
        order = np.random.default_rng(0).permutation(len(y))
        train, test = np.split(order, [2 * len(y) // 3])
        options = {"kernel": kernel, "gamma": "auto", "intercept": "penalised"}
        parts = X[train], y[train], X[test], y[test]
        seconds, best = best_of(
            2, lambda parts=parts, options=options: svc_certified_C(
                *parts, (1e-2, 1e2), 0.01, **options
            ),
        )  # fmt: skip
        said = f"error {best.validation_error:.4f}; none below {best.lower_bound:.4f} for any C"
        ours = Side("svc_certified_C", seconds, said)
        seconds, models = best_of(1, lambda parts=parts, options=options: [
            ScreenedSVC(C, **options).fit(*parts[:2]) for C in Cs
        ])  # fmt: skip
        least = min(1.0 - model.score(*parts[2:]) for model in models)
        peer = Side("20 ScreenedSVC", seconds, f"error {least:.4f}")
        yield Row(f"certified C {kernel}", size(name, X), ours, peer)


JOBS = {"grid": grid, "store": store, "certified": certified}
