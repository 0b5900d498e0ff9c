"""What a new process pays before the first result: import, compilation, loading of compiled code.

    python -m benchmarks.whole.latency

"First" is a process with an empty cache of compiled code, as after install; "second" one that
finds it (median of five). "Warm" is the same fit again in the latter: the fit itself. The first
row is what numba takes to start, which is in every row. These are seconds of the clock on the wall:
other programs on the machine make them longer in proportion.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

from benchmarks.support.environment import environment

DATA = """
import time
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale
import skscreen
from skscreen import *
from skscreen.datasets import make_triplets
from skscreen.core.compiling import start_numba
X, y = load_wine(return_X_y=True)
X, b = scale(X), y == 1
T = make_triplets(X[::4, :2], 500, random_state=0)
pairs = np.random.default_rng(0).permutation(len(X)).reshape(-1, 2)
alike = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
seqs, labels = np.split(X, [30, 70, 100]), np.split(y, [30, 70, 100])
def fit():
    {fit}
times = []
for _ in range(3):
    started = time.perf_counter()
    fit()
    times.append(time.perf_counter() - started)
print(times[0], min(times[1:]))
"""
FITS = {
    "start of numba": "start_numba()",
    "ScreenedRTLM": "ScreenedRTLM(0.01).fit(X, y)",
    "ScreenedRTLMCV": "ScreenedRTLMCV(n_neighbors=3).fit(X, y)",
    "RTLMPairsClassifier": "RTLMPairsClassifier(preprocessor=X).fit(pairs, alike)",
    "RTLMTripletsClassifier": "RTLMTripletsClassifier(preprocessor=X).fit(T)",
    "ScreenedLinearSVC": "ScreenedLinearSVC().fit(X, b)",
    "ScreenedSVCCV, rbf": "ScreenedSVCCV(kernel='rbf').fit(X, b)",
    "ScreenedSVC, rbf": "ScreenedSVC(kernel='rbf').fit(X, b)",
    "ScreenedSVC, 3 classes": "ScreenedSVC().fit(X, y)",
    "ScreenedSVR, rbf": "ScreenedSVR().fit(X[:, 1:], X[:, 0])",
    "PragamSVC": "PragamSVC().fit(X, b)",
    "MaxMarginChain": "MaxMarginChain().fit(seqs, labels)",
    "ChainCRF": "ChainCRF().fit(seqs, labels)",
    "KernelChainClassifier": "KernelChainClassifier().fit(seqs, labels)",
    "OrdinalEmbedding": "OrdinalEmbedding(random_state=0).fit(T)",
}

_REPEATS = 5


def run(code: str, **environment: str) -> list[float]:
    """Run code in a process; return the numbers it prints."""
    shown = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True,
        env=os.environ | environment,
    )  # fmt: skip
    return [float(word) for word in shown.stdout.split()]


def import_seconds(*names: str) -> np.ndarray:
    """Median times of imports in new processes, which take turns."""
    clock = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    seconds = [[run(clock.format(name))[0] for name in names] for _ in range(_REPEATS)]
    return np.median(seconds, axis=0)


def main() -> None:
    """Print the table."""
    print(environment())
    peer, ours = import_seconds("sklearn.svm, sklearn.neighbors", "skscreen")
    print(f"import: scikit-learn {peer:.2f} s, skscreen {ours:.2f} s, beyond {ours - peer:.2f} s")
    print("                        first, s  second, s   warm, s  second - warm")
    for name, fit in FITS.items():
        code = DATA.replace("{fit}", fit)
        with tempfile.TemporaryDirectory() as cache:
            first, _ = run(code, NUMBA_CACHE_DIR=cache)
            found = [run(code, NUMBA_CACHE_DIR=cache) for _ in range(_REPEATS)]
        second, warm = np.median(found, axis=0)
        print(
            f"{name:22s} {first:9.2f} {second:10.2f} {warm:9.3f} {second - warm:14.2f}", flush=True
        )


if __name__ == "__main__":
    main()
