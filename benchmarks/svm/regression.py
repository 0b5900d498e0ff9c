"""Support vector regression: single fits and paths beside scikit-learn's `SVR`.

    python -m benchmarks.svm.regression --data FOLDER [--parts fits,paths] [--path-rows 5000]

FOLDER holds the benchmark data and a `load.py`. Targets and features are standardised, kernels are
RBF with gamma = 1 / n_features, the tube has epsilon = 0.1; one thread, CPU seconds, compilation
excluded. `made` is made data like that of house prices: 20,000 rows, 8 features, smooth effects of
which one is joint, heavy-tailed noise. Gaps are relative duality gaps. The largest difference is
that of predictions on the first 1,000 samples.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.preprocessing import scale
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Data
from skscreen import ScreenedSVR, svr_path

CS, PATH, EPSILON = (0.1, 1.0, 10.0), np.geomspace(0.01, 10.0, 20), 0.1


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--parts", default="fits,paths")
    parser.add_argument("--path-rows", type=int, default=5000, help="rows of the paths")
    args = parser.parse_args()
    wine, _ = Data(args.data)("wine_quality")
    quality = np.load(args.data / "wine_quality.npz")["quality"]
    sets = {"wine_quality": (scale(wine), scale(quality.astype(float))), "made": made()}
    with threadpool_limits(1):
        X, y = (part[:2500] for part in sets["made"])
        ScreenedSVR(gamma="auto").fit(X, y)
        svr_path(X, y, Cs=[0.1, 1.0], gamma="auto")
        if "fits" in args.parts.split(","):
            fits(sets)
        if "paths" in args.parts.split(","):
            paths(sets, args.path_rows)


def made(n: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Return samples and targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    y = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.3 * np.maximum(X[:, 3], 0.0)
    return X, scale(y + 0.3 * rng.standard_t(4, size=n))


def timed(kind, Cs, X, y, **options) -> tuple[list, float]:
    """Fit an estimator for some C; return the fitted ones and the CPU seconds."""
    started = time.process_time()
    found = [kind(C=C, epsilon=EPSILON, gamma="auto", **options).fit(X, y) for C in Cs]
    return found, time.process_time() - started


def fits(sets: dict) -> None:
    """Compare single fits at a gap of 1e-3."""
    print("\nSingle fits to a relative gap of 1e-3, CPU seconds; SVR with its tol=1e-3.\n")
    print("| set (rows) | C | ScreenedSVR | gap | SVR | SVR / ScreenedSVR | largest difference |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    ratios = []
    for name, (X, y) in sets.items():
        for C in CS:
            (ours,), seconds = timed(ScreenedSVR, [C], X, y, tol=1e-3)
            (other,), theirs = timed(SVR, [C], X, y, cache_size=1000)
            apart = np.abs(ours.predict(X[:1000]) - other.predict(X[:1000])).max()
            ratios.append(theirs / seconds)
            print(
                f"| {name} ({len(y):,}) | {C:g} | {seconds:.2f} | {ours.dual_gap_:.0e} | "
                f"{theirs:.2f} | {ratios[-1]:.1f} | {apart:.3f} |", flush=True,
            )  # fmt: skip
    print(f"\nGeometric mean of the ratios: {np.exp(np.mean(np.log(ratios))):.1f}")


def paths(sets: dict, n: int) -> None:
    """Compare paths over 20 values of C with as many fits."""
    print(f"\nPaths over {len(PATH)} values of C from 0.01 to 10, to gaps of 1e-3.\n")
    print("| set (rows) | svr_path | fits of ScreenedSVR | fits of SVR | SVR / svr_path |")
    print("|---|--:|--:|--:|--:|")
    for name, (X, y) in sets.items():
        X, y = X[:n], y[:n]
        started = time.process_time()
        path = svr_path(X, y, Cs=PATH, tol=1e-3, epsilon=EPSILON, gamma="auto")
        seconds = time.process_time() - started
        alone = timed(ScreenedSVR, PATH, X, y, tol=1e-3)[1]
        theirs = timed(SVR, PATH, X, y, cache_size=1000)[1]
        print(
            f"| {name} ({len(y):,}) | {seconds:.2f} (gaps <= {path.dual_gaps.max():.0e}) | "
            f"{alone:.2f} | {theirs:.2f} | {theirs / seconds:.1f} |", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
