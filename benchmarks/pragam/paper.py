"""The experiments of the paper on Pragam, repeated with skscreen.

    python -m benchmarks.pragam.paper --data FOLDER [--parts choice,cost,...] [--out DIR] [--quick]

Saha, Zhang and Vishwanathan (2010), arXiv:0909.1334, section 5: error and test accuracy over
iterations and CPU time of Pragam, Pragam with a free intercept, BMRM, BMRM with a line search,
Pegasos with all samples and with one sample a step, and LIBLINEAR; then what the rate, the step
sizes and an iteration cost here. FOLDER holds the benchmark data and its `load.py`. Seconds are CPU
seconds with one BLAS thread. Prints a page in Markdown; writes figures and
`pragam.json` to DIR. --quick is a rehearsal on a tenth of the samples, with a thirtieth of
the iterations.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from benchmarks.pragam import figures
from benchmarks.pragam.runs import Split, exact_lipschitz, liblinear_trace, matvec_share, trace
from benchmarks.support.data import Data
from benchmarks.support.parts import headed, options_of
from benchmarks.support.tables import table
from skscreen.pragam.excessive_gap import excessive_gap
from skscreen.pragam.hinge_risk import HingeRisk
from skscreen.pragam.iterates import follow
from skscreen.pragam.solvers import Solver
from skscreen.samples.rows import LinearSamples

SETS = ("a9a", "w8a", "news20_binary", "reuters_money", "covtype")
# The paper's range of lambda, every second power of two.
LAMBDAS = 2.0 ** np.arange(-20, 1, 2)
ARMS = {
    "Pragam": (Solver(), False),
    "Pragam-b": (Solver(), True),
    "Pragam as published": (Solver(restart=False), False),
    "BMRM": (Solver("bmrm"), False),
    "ls-BMRM": (Solver("ls-bmrm"), False),
    "Pegasos-n": (Solver("pegasos"), False),
    "Pegasos-1": (Solver("pegasos", batch_size=1), False),
}


@dataclass
class Bench:
    """Data sets with their splits, where results go, and how much is run."""

    data: Data
    out: Path
    sets: tuple[str, ...]
    seconds: float
    quick: bool
    results: dict = field(default_factory=dict)
    splits: dict[str, Split] = field(default_factory=dict)

    def split(self, name: str) -> Split:
        """Return a data set with its lambda, chosen on a fifth of the training samples."""
        if name not in self.splits:
            X, y, test = self._load(name)
            rng = np.random.default_rng(0)
            train, test = np.flatnonzero(~test), np.flatnonzero(test)
            if self.quick:
                train, test = train[::10], test[::10]
            held = rng.random(train.size) < 0.2
            scores = []
            for lam in LAMBDAS:
                fit, hold = train[~held], train[held]
                model = liblinear(lam, fit.size).fit(X[fit], y[fit])
                scores.append(model.score(X[hold], y[hold]))
            lam = float(LAMBDAS[int(np.argmax(scores))])
            self.splits[name] = Split(X[train], y[train], X[test], y[test], lam, max(scores))
        return self.splits[name]

    def most(self, iterations: int) -> int:
        """Return a limit of iterations, a thirtieth of it in a rehearsal."""
        return iterations // 30 if self.quick else iterations

    def _load(self, name: str):
        X, y = self.data(name)
        if name == "covtype":
            X, y = MaxAbsScaler().fit_transform(X), y == 1
        test = self.data.test_mask(name)
        if test is None:
            test = np.random.default_rng(1).random(len(y)) < 0.3
        X = sparse.csr_array(X)
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X, np.where(y == 1, 1.0, -1.0), test


def liblinear(lam: float, n: int, **options) -> LinearSVC:
    """Return LIBLINEAR's dual coordinate descent for lambda."""
    options = {"max_iter": 300, "tol": 1e-4, **options}
    return LinearSVC(
        C=1.0 / (lam * n), loss="hinge", fit_intercept=False, random_state=0, **options
    )


def choice(bench: Bench) -> None:
    """The data sets, and lambda by validation with LIBLINEAR, without intercept."""
    rows = []
    for name in bench.sets:
        split = bench.split(name)
        n, d = split.X.shape
        density = split.X.nnz / (n * d)
        power = f"2^{round(np.log2(split.lam))}"
        rows.append(
            (name, n, split.X_test.shape[0], d, f"{density:.2%}", f"{np.mean(split.y > 0):.1%}",
             power, f"{split.validation:.2%}")
        )  # fmt: skip
        bench.results[name] = {"lam": split.lam, "n": n, "d": d}
    table("set,training samples,test samples,features,non-zero,positive,λ,validation", rows)


def curves(bench: Bench) -> None:
    """Error and test accuracy over iterations and CPU seconds."""
    for name in bench.sets:
        split = bench.split(name)
        traces = {
            label: trace(split, solver, free, bench.seconds)
            for label, (solver, free) in ARMS.items()
        }
        traces["LIBLINEAR"] = liblinear_trace(split, liblinear, bench.seconds)
        best = {False: np.inf, True: np.inf}
        lowest = {False: 0.0, True: 0.0}
        for run in traces.values():
            best[run.free] = min(best[run.free], run.primal[-1])
            lowest[run.free] = max(lowest[run.free], run.dual[-1])
        rows = []
        for label, run in traces.items():
            errors = run.primal / best[run.free] - 1.0
            row = [label]
            for values in (run.iteration, run.seconds):
                for accuracy in (1e-2, 1e-3, 1e-4):
                    reached = np.flatnonzero(errors <= accuracy)
                    row.append(f"{values[reached[0]]:.3g}" if reached.size else "-")
            rows.append((*row, f"{run.accuracy[-1]:.2%}"))
        print(
            f"\n{name}, λ = 2^{round(np.log2(split.lam))}: J* is known to "
            f"{best[False] / lowest[False] - 1.0:.0e} without and "
            f"{best[True] / lowest[True] - 1.0:.0e} with intercept (relative).\n"
        )
        table(
            "arm,iterations to 1e-2,to 1e-3,to 1e-4,seconds to 1e-2,to 1e-3,to 1e-4,test accuracy",
            rows,
        )
        figures.four_panels(bench.out, name, traces, best)


def rate(bench: Bench) -> None:
    """Slope of log gap over log k in the last decade of iterations, on a9a."""
    split = bench.split("a9a")
    rows, lines = [], {}
    for lam in (1e-2, 1e-3, 1e-4, split.lam):
        risk = split.risk(lam, True)
        for label, L in (("automatic", None), ("exact", exact_lipschitz(split.X) / lam)):
            iterates = excessive_gap(risk, lipschitz=L, restart=False)
            found = follow(iterates, 1e-9, bench.most(10_000))
            k = found.history["iteration"].astype(float)
            gap = found.history["primal"] - found.history["dual"]
            last = k >= k[-1] / 10.0
            slope = np.polyfit(np.log(k[last]), np.log(gap[last]), 1)[0]
            rows.append((f"{lam:.3g}", label, found.n_iter, f"{gap[-1]:.1e}", f"{slope:.2f}"))
            lines[f"λ = {lam:.3g}, {label} L"] = k, gap
        found = follow(excessive_gap(risk), 1e-9, bench.most(10_000))
        history = found.history
        lines[f"λ = {lam:.3g}, restarts"] = (
            history["iteration"],
            history["primal"] - history["dual"],
        )
        rows.append((f"{lam:.3g}", "automatic; restarts", found.n_iter, f"{found.gap:.1e}", ""))
    table("λ,L,iterations,gap,slope", rows)
    bench.results["slopes"] = [row[-1] for row in rows]
    figures.gaps(bench.out, "rate", lines)


def steps(bench: Bench) -> None:
    """Iterations to relative primal error 1e-3: automatic L against the exact global one."""
    rows, ratios = [], []
    for name in bench.sets:
        split = bench.split(name)
        for free in (False, True):
            risk, lam = split.risk(split.lam, free), split.lam
            best = follow(excessive_gap(risk), 1e-7, bench.most(20_000))
            counts = []
            for L, restart in (
                (None, False),
                (exact_lipschitz(split.X) / lam, False),
                (None, True),
            ):
                stop = best.primal * (1.0 + 1e-3)
                iterates = excessive_gap(risk, None, L, restart)
                counts.append(first_below(iterates, stop, bench.most(60_000)))
            ratios.append(counts[1] / counts[0])
            rows.append(
                (name, "free" if free else "none", *counts, f"{ratios[-1]:.1f}",
                 f"{best.gap / best.primal:.0e}")
            )  # fmt: skip
    mean = float(np.exp(np.mean(np.log(ratios))))
    table("set,intercept,automatic L,exact L,automatic with restarts,exact / automatic,J* known to",
          rows)  # fmt: skip
    print(f"Geometric mean of exact / automatic: {mean:.2f}.")
    bench.results["exact_over_automatic"] = mean


def first_below(iterates, stop: float, most: int) -> int:
    """Return the first iteration with J below a value."""
    for iterate in iterates:
        if iterate.primal <= stop or iterate.iteration == most:
            break
    return iterate.iteration


def cost(bench: Bench) -> None:
    """Time of an iteration on a9a over that of its own products, the smallest of five runs."""
    split, rows = bench.split("a9a"), []
    n = split.X.shape[0]
    for container in (sparse.csr_array, lambda X: np.ascontiguousarray(X.toarray())):
        samples = LinearSamples(container(split.X), split.y)
        for free in (False, True):
            risk = HingeRisk(samples, np.ones(n), 1e-4, free)
            ratio, products, ms, pair = min(matvec_share(risk, samples) for _ in range(5))
            rows.append(
                ("CSR" if samples.is_sparse else "dense", "free" if free else "none",
                 f"{ms:.2f}", f"{products:.2f}", f"{ratio:.2f}", f"{ms / pair:.2f}")
            )  # fmt: skip
    table("data,intercept,ms an iteration,products an iteration,time / its products,"
          "time / (X w and X' a by SciPy)", rows)  # fmt: skip
    bench.results["time_over_products"] = [float(row[4]) for row in rows]


PARTS = {"choice": choice, "cost": cost, "rate": rate, "steps": steps, "curves": curves}


def main(arguments=None) -> None:
    """Run the parts asked for."""
    more = {"sets": (",".join(SETS), "of data"), "seconds": (10.0, "a curve, CPU")}
    args = options_of(__doc__, PARTS, "pragam", arguments, **more)
    bench = Bench(Data(args.data), args.out, tuple(args.sets.split(",")), args.seconds, args.quick)
    for _, part in headed(args.parts, PARTS):
        part(bench)
        (args.out / "pragam.json").write_text(json.dumps(bench.results, indent=1) + "\n")


if __name__ == "__main__":
    main()
