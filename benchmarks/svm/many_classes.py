"""One against one beside SVC: RBF fits and predictions of six to 26 classes.

    python -m benchmarks.svm.many_classes --data FOLDER [--sets NAME,...] [--Cs 1,10]
                                          [--tols 1e-3,1e-6]

FOLDER holds the benchmark data and a `load.py` with `load(name) -> (X, y)`. Standardised, gamma =
1/d, at most 15,000 samples (mnist 7,500), 5,000 others to predict. One thread on both sides, CPU
seconds of one run. SVC stops at tol=1e-3, which is no duality gap. "same" is the share of held-out
samples that both give the same class.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Data
from skscreen import ScreenedSVC

SETS = "letter,mnist,usps,satimage,shuttle,digits"

# Samples to learn from, where there are more; samples to predict.
_SAMPLES = {"letter": 15_000, "mnist": 7500, "usps": 7291, "satimage": 4435, "shuttle": 43_500}
_SAMPLES["digits"], _HELD_OUT = 1200, 5000


def main() -> None:
    """Print a line for each set, C and tolerance, and the geometric means of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--Cs", default="1,10")
    parser.add_argument("--tols", default="1e-3,1e-6")
    args = parser.parse_args()
    load, tols = Data(args.data), [float(tol) for tol in args.tols.split(",")]
    ratios: dict[float, list[tuple[float, float]]] = {tol: [] for tol in tols}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for C, tol in product((1.0, 10.0), tols):
            for parts in (_split(load, "digits"), *_made_sets()):
                _run(_model(C, parts[0].shape[1], tol), *parts)  # compiles
        print("set, samples, classes, C, SVC fit s, predict s, accuracy | tol, ours, SVC / ours")
        for name in args.sets.split(","):
            parts = _split(load, name)
            for C in map(float, args.Cs.split(",")):
                peer = SVC(C=C, gamma=1.0 / parts[0].shape[1], tol=1e-3, cache_size=1000)
                times, expected = _run(peer, *parts)
                right, cells = np.mean(expected == parts[3]), []
                for tol in tols:
                    model = _model(C, parts[0].shape[1], tol)
                    ours, found = _run(model, *parts)
                    ratio = times / ours
                    ratios[tol].append(ratio)
                    cells.append(
                        f"{tol:g} fit {ours[0]:5.2f} {ratio[0]:4.1f} predict {ours[1]:5.2f} "
                        f"{ratio[1]:4.1f} gap {model.dual_gap_:.0e} "
                        f"same {np.mean(found == expected):.4f}"
                    )
                size = f"{len(parts[1]):6} {len(peer.classes_):3} {C:4g}"
                print(
                    f"{name:8} {size} {times[0]:5.2f} {times[1]:5.2f} {right:.4f} | "
                    f"{' | '.join(cells)}",
                    flush=True,
                )
    for tol, values in ratios.items():
        means, least = np.exp(np.mean(np.log(values), axis=0)), np.min(values, axis=0)
        print(
            f"tol {tol:g}: times SVC in the geometric mean, fit {means[0]:.1f}, predict "
            f"{means[1]:.1f}; least {least[0]:.1f} and {least[1]:.1f}"
        )


def _split(load: Data, name: str) -> tuple:
    """Return samples and classes to learn from, and samples and classes to predict."""
    X, y = load_digits(return_X_y=True) if name == "digits" else load(name)
    order, n = np.random.default_rng(0).permutation(len(y)), _SAMPLES[name]
    train, test = order[:n], order[n : n + _HELD_OUT]
    if test.size == 0:
        train, test = np.array_split(order, [len(y) * 2 // 3])
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def _made_sets() -> Iterator[tuple]:
    """Yield made samples of large classes, and of smaller ones with few features and many."""
    rng = np.random.default_rng(0)
    for sizes, n_features in (((3500, 3500, 100), 4), ((900, 900, 900), 4), ((900, 900, 900), 40)):
        y = np.repeat([0, 1, 2], sizes)
        X = rng.normal(size=(y.size, n_features)) + 2.0 * y[:, None]
        yield X, y, X[::10], y[::10]


def _model(C: float, n_features: int, tol: float) -> ScreenedSVC:
    return ScreenedSVC(C, gamma=1.0 / n_features, tol=tol)


def _run(model, X, y, X_test, y_test) -> tuple[np.ndarray, np.ndarray]:
    """Fit and predict; return the seconds of both, and the predictions."""
    began = time.process_time()
    model.fit(X, y)
    middle = time.process_time()
    found = model.predict(X_test)
    return np.array([middle - began, time.process_time() - middle]), found


if __name__ == "__main__":
    main()
