"""A certified choice of C: its proof against brute force, its cost against a grid search.

    python -m benchmarks.svm.certified --data FOLDER [--sets NAME,...] [--eps 0.01]
                                       [--figures FOLDER]

FOLDER as for `fits.py`. Two thirds of the samples, in shuffled order, are for training, one third
for validation. A certificate says of every C between 0.01 and 100 that its validation error is no
smaller than a bound; brute force solves 2,000 values of C to a relative gap of 1e-10 and looks
whether any error is outside. The costs beside it are those of a grid of 20 values, with every error
computed: fitted one by one as `GridSearchCV` does, and along one path. Everything in a row is
measured in one run, one BLAS thread, compilation excluded; the fastest of `--repeats` counts.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Sets
from benchmarks.support.environment import environment
from skscreen import ScreenedSVC, svc_certified_C, svc_path

# Samples at most, for the linear kernel and for RBF: brute force has to end.
SETS = {
    "breast_cancer": (None, None),
    "spambase": (None, None),
    "magic": (None, 8000),
}
FIRST, LAST, N_GRID = 1e-2, 1e2, 20


def main() -> None:
    """Print a row for each set and kernel."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--sets", default=",".join(SETS), help="only these")
    parser.add_argument("--eps", type=float, default=0.01)
    parser.add_argument("--brute", type=int, default=2000, help="values of C; 0 for none")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--figures", type=Path, help="folder for figures of the bounds")
    args = parser.parse_args()
    print(environment())
    data = Sets(args.data)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name in args.sets.split(","):
            for kernel, n in zip(("linear", "rbf"), SETS[name], strict=True):
                X, y = split(*data(name, n))
                options = {"kernel": kernel, "gamma": "auto", "intercept": "penalised"}
                row(f"{name} {kernel}", X, y, options, args)


def split(X, y):
    """Return training and validation parts of samples and labels."""
    order = np.random.default_rng(0).permutation(len(y))
    cut = 2 * len(y) // 3
    return (X[order[:cut]], X[order[cut:]]), (y[order[:cut]], y[order[cut:]])


def row(name: str, X, y, options: dict, args) -> None:
    """Print costs and what brute force says."""
    Cs = np.geomspace(FIRST, LAST, N_GRID)

    def certify(n=None):
        parts = (X[0][:n], y[0][:n], X[1][:n], y[1][:n])
        return svc_certified_C(*parts, (FIRST, LAST), args.eps, **options)

    def fits(n=None):
        models = (ScreenedSVC(C, **options).fit(X[0][:n], y[0][:n]) for C in Cs)
        return min(1.0 - model.score(X[1], y[1]) for model in models)

    def path(n=None):
        return errors_along(svc_path(X[0][:n], y[0][:n], Cs=Cs, **options), X, y).min()

    runs = {"certified": certify, "fits": fits, "path": path}
    for run in runs.values():
        run(300)
    seconds, found = {}, {}
    for _ in range(args.repeats):
        for label, run in runs.items():
            started = time.perf_counter()
            found[label] = run()
            seconds[label] = min(time.perf_counter() - started, seconds.get(label, np.inf))
    best = found["certified"]
    print(
        f"{name}: {X[0].shape[0]} + {X[1].shape[0]} samples\n"
        f"    error {best.validation_error:.4f} at C={best.C:.4g}, none below "
        f"{best.lower_bound:.4f} (proved {best.eps:.4f}); {best.n_solved} solves, "
        f"{len(best.bounds.lower)} parts, {seconds['certified']:.2f} s\n"
        f"    20 fits {seconds['fits']:.2f} s, best {found['fits']:.4f}, cost ratio "
        f"{seconds['certified'] / seconds['fits']:.2f}; path of 20 {seconds['path']:.2f} s, "
        f"ratio {seconds['certified'] / seconds['path']:.2f}",
        flush=True,
    )
    if args.brute:
        against_brute_force(best.bounds, X, y, options, args.brute)
    if args.figures is not None:
        from skscreen.inspection import CertifiedPathDisplay

        display = CertifiedPathDisplay.from_result(best)
        display.ax_.set_title(name, loc="left", fontsize="medium")
        display.figure_.savefig(args.figures / f"certified-{name.replace(' ', '-')}.png", dpi=120)


def errors_along(path, X, y) -> np.ndarray:
    """Return the validation error for each C of a path."""
    return np.array([1.0 - path[k].score(X[1], y[1]) for k in range(len(path))])


def against_brute_force(bounds, X, y, options: dict, n: int) -> None:
    """Count the values of C whose error is outside the bounds."""
    started = time.perf_counter()
    # Not those of the search again.
    Cs = np.geomspace(FIRST * 1.0001, LAST / 1.0001, n)
    errors = errors_along(svc_path(X[0], y[0], Cs=Cs, tol=1e-10, **options), X, y)
    part = np.searchsorted(bounds.edges, Cs, side="right") - 1
    below = int((errors < bounds.lower[part] - 1e-12).sum())
    above = int((errors > bounds.upper[part] + 1e-12).sum())
    print(
        f"    brute force, {n} values of C: {below} below the bounds, {above} above; smallest "
        f"error {errors.min():.4f}, mean slack below {(errors - bounds.lower[part]).mean():.4f}, "
        f"above {(bounds.upper[part] - errors).mean():.4f}; "
        f"{time.perf_counter() - started:.0f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
