"""Grid searches that reuse their own fits, beside the same without a store and beside SVC.

    python -m benchmarks.svm.store --data FOLDER

FOLDER holds the benchmark data and a `load.py` with `load(name) -> (X, y)`. Everything in one line
is measured in one run, one BLAS thread, in CPU seconds; each search with a store begins with an
empty folder and no matrix kept. The faster of two searches counts: memory that a process has not
used before can cost more than a search.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Sets
from benchmarks.support.environment import environment
from skscreen import ScreenedRTLM, ScreenedSVC
from skscreen.fitting import kept_matrices


def main() -> None:
    """Run the searches."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--parts", default="svc,rtlm,kills")
    args = parser.parse_args()
    print(environment())
    with threadpool_limits(1):
        warm_up()
        if "svc" in args.parts:
            svc_searches(Sets(args.data))
        if "rtlm" in args.parts:
            rtlm_search(Sets(args.data))
        if "kills" in args.parts:
            kills(200)


def warm_up() -> None:
    """Load or compile everything."""
    X, y = np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) % 2
    with tempfile.TemporaryDirectory() as folder:
        for C in (0.1, 10.0, 1.0):
            ScreenedSVC(C=C, kernel="rbf", store=folder, intercept="penalised").fit(X, y)
        for lam in (0.1, 0.01, 0.05):
            ScreenedRTLM(lam, store=folder).fit(X, y)


def search(estimator, grid, X, y) -> tuple[GridSearchCV, float]:
    """Run a grid search over five folds; return it and the seconds."""
    started = time.process_time()
    found = GridSearchCV(estimator, grid, cv=5, refit=False).fit(X, y)
    return found, time.process_time() - started


def stored_search(build, grid, X, y) -> tuple[GridSearchCV, float]:
    """Run a grid search with a store, from nothing, over what `build` makes of its folder."""
    kept_matrices._KEPT.clear()
    with tempfile.TemporaryDirectory() as folder:
        return search(build(folder), grid, X, y)


def faster(run, *arguments) -> tuple[GridSearchCV, float]:
    """Return the faster of two searches."""
    return min((run(*arguments) for _ in range(2)), key=lambda found: found[1])


def svc(options: dict, store) -> ScreenedSVC:
    """Build the estimator of a search with a store."""
    return ScreenedSVC(store=store, **options)


def rtlm(store=None):
    """Build metric and nearest neighbours."""
    return make_pipeline(StandardScaler(), ScreenedRTLM(store=store), KNeighborsClassifier())


def svc_searches(data: Sets) -> None:
    """20 values of C, RBF."""
    grid, against_none, against_svc = {"C": np.geomspace(1e-2, 1e2, 20)}, [], []
    for name in ("spambase", "satimage"):
        X, y = data(name)
        common = {"kernel": "rbf", "gamma": 1.0 / X.shape[1], "cache_size": 1000}
        # The problem of SVC.
        options = {"intercept": "free", **common}
        kept, with_store = faster(stored_search, partial(svc, options), grid, X, y)
        bare, without = faster(search, ScreenedSVC(**options), grid, X, y)
        peer, theirs = faster(search, SVC(**common), grid, X, y)
        scores = [found.cv_results_["mean_test_score"] for found in (kept, bare, peer)]
        against_none.append(without / with_store)
        against_svc.append(theirs / with_store)
        print(
            f"{name} {X.shape}, RBF, 20 C, 5 folds: with store {with_store:.2f} s, without "
            f"{without:.2f} s ({against_none[-1]:.1f}x), SVC {theirs:.2f} s "
            f"({against_svc[-1]:.1f}x)\n    best C {kept.best_params_['C']:.3g}, "
            f"{bare.best_params_['C']:.3g}, SVC {peer.best_params_['C']:.3g}; largest difference "
            f"of mean scores: without {np.abs(scores[0] - scores[1]).max():.1e}, SVC "
            f"{np.abs(scores[0] - scores[2]).max():.1e}",
            flush=True,
        )
    print(
        f"geometric means: {np.exp(np.mean(np.log(against_none))):.1f}x without store, "
        f"{np.exp(np.mean(np.log(against_svc))):.1f}x SVC"
    )


FITTER = """
import sys
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from skscreen import ScreenedSVC
X, y = load_breast_cancer(return_X_y=True)
random = np.random.default_rng(int(sys.argv[2]))
print("ready", flush=True)
while True:
    C = 10.0 ** random.integers(-8, 9) / 2.0 ** random.integers(3)
    ScreenedSVC(C=C, kernel="rbf", intercept="penalised", store=sys.argv[1]).fit(scale(X), y)
"""


def kills(n_kills: int) -> None:
    """Kill processes that fit with a store, and fit with what they left."""
    X, y = load_breast_cancer(return_X_y=True)
    X, random, worst, warned = scale(X), np.random.default_rng(0), 0.0, 0
    exact = {
        C: ScreenedSVC(C=C, kernel="rbf", intercept="penalised").fit(X, y).objective_
        for C in (0.3, 7.0, 300.0)
    }
    with tempfile.TemporaryDirectory() as folder:
        for k in range(n_kills):
            fitter = subprocess.Popen(
                [sys.executable, "-c", FITTER, folder, str(k)], stdout=subprocess.PIPE
            )
            fitter.stdout.readline()
            time.sleep(random.uniform(0.0, 0.3))
            fitter.send_signal(signal.SIGKILL)
            fitter.wait()
            C = list(exact)[k % 3]
            with warnings.catch_warnings(record=True) as caught:
                found = (
                    ScreenedSVC(C=C, kernel="rbf", store=folder, intercept="penalised")
                    .fit(X, y)
                    .objective_
                )
            warned += len(caught)
            worst = max(worst, abs(found - exact[C]) / exact[C])
    print(f"{n_kills} kills: largest relative difference {worst:.1e}, warnings {warned}")


def rtlm_search(data: Sets) -> None:
    """12 values of lambda, metric and nearest neighbours, on segment."""
    X, y = data.multiclass("segment")
    grid = {"screenedrtlm__lam": np.geomspace(1e-1, 1e-4, 12)}

    kept, with_store = faster(stored_search, rtlm, grid, X, y)
    bare, without = faster(search, rtlm(), grid, X, y)
    scores = [found.cv_results_["mean_test_score"] for found in (kept, bare)]
    print(
        f"segment {X.shape}, RTLM + KNN, 12 lambda, 5 folds: with store {with_store:.2f} s, "
        f"without {without:.2f} s ({without / with_store:.1f}x), best lambda "
        f"{kept.best_params_['screenedrtlm__lam']:.3g} and "
        f"{bare.best_params_['screenedrtlm__lam']:.3g}, largest difference of mean scores "
        f"{np.abs(scores[0] - scores[1]).max():.1e}"
    )


if __name__ == "__main__":
    main()
