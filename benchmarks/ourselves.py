"""Two versions of skscreen on the same work, in turn: is the newer one as fast?

    python -m benchmarks.ourselves OLDER NEWER [--only NAME ...] [--repeats 5]

OLDER and NEWER are folders from which `import skscreen` gets that version: checkouts with
compiled loops, or the site-packages of an environment. Each version has a process with one thread,
and both run a job in turn: the older one, the newer one, the older one again, and so on. A job runs
once before it is timed, and then for a third of a second; the fastest run counts. The ratio is the
median of the ratios of neighbouring runs, in CPU seconds; the exit code is 1 if one is above 1.05,
or if both reach different values. Data are made, or come with scikit-learn. The row "import" is a
new process until skscreen is imported.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.support.peer_process import ONE_THREAD
from benchmarks.support.tables import table

# What a process of either version runs before a job: only what both have in common.
BEGIN = """
import json, sys, time, warnings
started = time.process_time()
import skscreen
imported = time.process_time() - started
import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits
from skscreen import *
from skscreen.datasets import load_eurodist, make_triplets
warnings.simplefilter("ignore")
digits, ten = load_digits(return_X_y=True)
digits, even = scale(digits), ten % 2
X, y = make_classification(20_000, 50, n_informative=20, flip_y=0.05, random_state=0)
wine, three = load_wine(return_X_y=True)
wine = scale(wine)
points = np.random.default_rng(0).normal(size=(200, 3))
answers = make_triplets(points, 30_000, noise=0.1, random_state=0)
cuts = np.arange(9, len(digits), 9)
sequences, labels = np.split(digits, cuts), np.split(ten, cuts)
iris, kinds = load_iris(return_X_y=True)
cities = make_triplets(load_eurodist().distances, 2000, metric="precomputed", random_state=0)
rng = np.random.default_rng(0)
rows = np.array([rng.permutation(len(wine))[:3] for _ in range(2000)])
# Of three wines the nearer one second.
near = ((wine[rows[:, 1:]] - wine[rows[:, :1]]) ** 2).sum(axis=2)
rows[:, 1:] = np.take_along_axis(rows[:, 1:], near.argsort(axis=1), axis=1)
like = np.where(three[rows[:, 0]] == three[rows[:, 1]], 1, -1)
"""
# Runs jobs, a line each, in turn with the other version.
END = """
print(json.dumps([imported, 0.0, skscreen.__file__]), flush=True)
with threadpool_limits(1):
    for line in sys.stdin:
        exec(f"def job():\\n    return {json.loads(line)}")
        job()
        seconds = []
        while sum(seconds) < 0.3:
            started = time.process_time()
            value = job()
            seconds.append(time.process_time() - started)
        print(json.dumps([min(seconds), float(np.max(value))]), flush=True)
"""
JOBS = {
    "import": None,
    "linear, squared hinge": "ScreenedLinearSVC().fit(X, y).objective_",
    "linear, hinge": "ScreenedLinearSVC(C=10.0, loss='hinge').fit(X, y).objective_",
    "linear, ten classes": "ScreenedLinearSVC().fit(digits, ten).dual_gap_ * 0.0",
    "linear path": "svc_path(X[:4000], y[:4000], Cs=np.geomspace(0.01, 10, 20), kernel='linear', "
                   "intercept='penalised').objectives[-1]",
    "RBF, fit": "ScreenedSVC(10.0).fit(X[:6000], y[:6000]).objective_",
    "RBF, ten classes": "ScreenedSVC(10.0).fit(digits, ten).dual_gap_ * 0.0",
    "RBF, path": "svc_path(digits, even, Cs=np.geomspace(0.01, 1000, 31)).objectives[-1]",
    "search": "ScreenedSVCCV(5, gammas=[1e-3, 1e-2], cv=3).fit(digits, ten).best_score_",
    "regression": "ScreenedSVR().fit(X[:4000, 1:], X[:4000, 0]).objective_",
    "iris, RBF": "ScreenedSVC().fit(iris, kinds).dual_gap_ * 0.0",
    "iris, linear": "ScreenedLinearSVC().fit(iris, kinds).dual_gap_ * 0.0",
    "wine, RBF": "ScreenedSVC().fit(wine, three).dual_gap_ * 0.0",
    "Pragam": "PragamSVC(1e-3).fit(X, y).objective_",
    "metric": "ScreenedRTLM(0.01).fit(digits, ten).objective_",
    "metric, path": "rtlm_path(wine, three, n_lams=40).objectives[-1]",
    "metric, wine": "ScreenedRTLM().fit(wine, three).objective_",
    "metric, triplets": "RTLMTripletsClassifier().fit(wine[rows]).objective_",
    "metric, pairs": "RTLMPairsClassifier().fit(wine[rows[:, :2]], like).objective_",
    "embedding, cities": "OrdinalEmbedding(random_state=0).fit(cities).objective_ * 0.0",
    "embedding": "OrdinalEmbedding(3, random_state=0).fit(answers).objective_",
    "max-margin chain": "MaxMarginChain(0.1).fit(sequences, labels).objective_",
    "chain CRF": "ChainCRF(0.1).fit(sequences, labels).objective_",
}  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Run all jobs; return 1 if one got slower, or other values."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("older", type=Path)
    parser.add_argument("newer", type=Path)
    parser.add_argument("--only", nargs="*", default=list(JOBS), choices=list(JOBS))
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args(argv)
    versions = [Version(path) for path in (args.older, args.newer)]
    rows, ratios, other = [], [], []
    for name in args.only:
        found = np.array(
            [[version.run(JOBS[name]) for version in versions] for _ in range(args.repeats)]
        )
        seconds, values = np.moveaxis(found, 2, 0)
        each = seconds[:, 1] / seconds[:, 0]
        ratios.append(np.median(each))
        older, newer = np.median(seconds, axis=0)
        other += [] if np.allclose(*values[0], rtol=1e-3) else [name]
        single = f"{each.min():.2f} to {each.max():.2f}"
        shown = (f"{value:.6g}" for value in values[0])
        rows.append((name, f"{older:.4f}", f"{newer:.4f}", f"{ratios[-1]:.3f}", single, *shown))
        print(*rows[-1], flush=True)
    print()
    table("work,older s,newer s,ratio,of single pairs,value older,value newer", rows)
    print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.3f}; other values: {other or 'none'}")
    return int(max(ratios) > 1.05 or bool(other))


class Version:
    """A process that runs jobs with the skscreen of a folder."""

    def __init__(self, folder: Path):
        self._folder = folder.resolve()
        self._process, _ = self._start()

    def _start(self) -> tuple[subprocess.Popen, float]:
        """Return a new process, and the CPU seconds of the import."""
        environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(self._folder)}
        # In no folder that has a skscreen of its own.
        process = subprocess.Popen(
            [sys.executable, "-c", BEGIN + END], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=environment, cwd=Path(sys.executable).parent,
        )  # fmt: skip
        seconds, _, package = json.loads(process.stdout.readline())
        if not Path(package).is_relative_to(self._folder):
            raise RuntimeError(f"{self._folder} was not imported, but {package}.")
        return process, seconds

    def run(self, job: str | None) -> tuple[float, float]:
        """Return CPU seconds and value of a job; without a job, of an import."""
        if job is None:
            process, seconds = self._start()
            process.communicate()
            return seconds, 0.0
        print(json.dumps(job), file=self._process.stdin, flush=True)
        return tuple(json.loads(self._process.stdout.readline()))


if __name__ == "__main__":
    sys.exit(main())
