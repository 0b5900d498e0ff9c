"""Searches over C and gamma: ScreenedSVCCV and GridSearchCV, beside GridSearchCV of SVC.

    python -m benchmarks.svm.searches --data FOLDER

FOLDER holds the benchmark data and a `load.py` with `load(name) -> (X, y)`. CPU seconds, one
thread, one run; a search with a store begins with an empty folder and nothing kept in memory, which
one small search warms up. All have a free intercept and are one-vs-one, as SVC is, and
`tol` is what the line says: a relative duality gap here, a violation of optimality conditions for
SVC, which has 1e-3.
"""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Data, Sets
from benchmarks.support.environment import environment
from skscreen import ScreenedSVC, ScreenedSVCCV
from skscreen.fitting import kept_matrices


def main() -> None:
    """Run the searches."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--sets", default="iris,digits,fits,spambase,satimage")
    parser.add_argument("--tol", type=float, nargs="*", default=[1e-6, 1e-3])
    args = parser.parse_args()
    print(environment())
    with threadpool_limits(1):
        X, y = load_iris(return_X_y=True)
        for cv in (2, 3):
            list(searches(X, y, [0.1, 1.0], [0.1, 1.0], cv, 1e-6))  # compiles
        for name in args.sets.split(","):
            if name == "fits":
                small_fits()
                continue
            X, y, Cs, gammas, cv = problem(name, args.data)
            print(f"{name} {X.shape}, {len(set(y))} classes, {len(Cs)} C, {len(gammas)} gamma")
            grid = {"C": Cs, "gamma": gammas}
            theirs = timed(GridSearchCV(SVC(), grid, cv=cv, refit=False), X, y)
            show("SVC", theirs, theirs)
            for tol in args.tol:
                for label, found in searches(X, y, Cs, gammas, cv, tol):
                    show(f"{label}, tol={tol:g}", found, theirs)


def problem(name: str, data: Path) -> tuple:
    """Return samples, labels, the grid and the folds of a search."""
    if name == "iris":
        # scikit-learn's example plot_rbf_parameters.
        X, y = load_iris(return_X_y=True)
        cv = StratifiedShuffleSplit(n_splits=5, test_size=0.2, random_state=42)
        return scale(X), y, np.logspace(-2, 10, 13), np.logspace(-9, 3, 13), cv
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X / 16.0, y, np.geomspace(0.1, 1000.0, 5), np.geomspace(5e-4, 0.5, 5), 5
    X, y = Sets(data)(name) if name == "spambase" else Data(data)(name)
    return scale(X), y, np.geomspace(1e-2, 1e2, 10), np.geomspace(1e-3, 1.0, 8), 5


def searches(X, y, Cs, gammas, cv, tol: float):
    """Yield the searches by their names."""
    model, grid = ScreenedSVC(tol=tol), {"C": Cs, "gamma": gammas}
    own = ScreenedSVCCV(Cs, gammas=gammas, cv=cv, refit=False, tol=tol)
    yield "ScreenedSVCCV", timed(own, X, y)
    with tempfile.TemporaryDirectory() as folder:
        kept_matrices._KEPT.clear()
        model.set_params(store=folder)
        yield "store=", timed(GridSearchCV(model, grid, cv=cv, refit=False), X, y)
        kept_matrices._KEPT.clear()
    model.set_params(store=None)
    yield "alone", timed(GridSearchCV(model, grid, cv=cv, refit=False), X, y)


def timed(search, X, y) -> tuple[float, float, float, float, int]:
    """Return the seconds of a search, its best score, where that is, and the number of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started = time.process_time()
        search.fit(X, y)
        seconds = time.process_time() - started
    if isinstance(search, ScreenedSVCCV):
        return seconds, search.best_score_, search.C_, search.gamma_, len(caught)
    best = search.best_params_
    return seconds, search.best_score_, best["C"], best["gamma"], len(caught)


def show(label: str, found: tuple, theirs: tuple) -> None:
    """Print a line."""
    seconds, score, C, gamma, n_warnings = found
    print(
        f"    {label:28s} {seconds:8.2f} s {theirs[0] / seconds:6.1f}x SVC, best score {score:.4f} "
        f"at C = {C:.3g}, gamma = {gamma:.3g}; {n_warnings} warnings",
        flush=True,
    )


def small_fits() -> None:
    """Single fits of 150 samples."""
    X, y = load_iris(return_X_y=True)
    for name, target in (("3 classes", y), ("2 classes", (y > 1).astype(int))):
        for C in (1.0, 100.0):
            line = []
            for model in (SVC(C=C), ScreenedSVC(C=C)):
                model.fit(X, target)
                started = time.process_time()
                for _ in range(100):
                    model.fit(X, target)
                line.append(10.0 * (time.process_time() - started))
            print(f"iris, {name}, C = {C:g}: SVC {line[0]:.2f} ms, ScreenedSVC {line[1]:.2f} ms")


if __name__ == "__main__":
    main()
