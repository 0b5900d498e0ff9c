"""Decisions that fits take while they solve, against independent optima: not one may be wrong.

    python -m tests.proofs.safety.fits [--decisions 50_000_000] [--minutes 15] [--jobs 1]

needs the `test` extra. Support vector machines are fitted alone, along paths over C and from a
store, with rows and with kernels, with a penalised, a free and no intercept, by every solver, to
tolerances of 1e-2 to 1e-9, on real and on adversarial data; metrics along paths over lambda, with
every bound and rule. What is judged are the decisions as solvers get them: from the solution at
another C, from comparisons with samples inside the box, while solving, and at the end. What a
solve is told again is not counted twice. Optima come from a solve without screening to a gap of
1e-13, or of small problems from Clarabel, and are proved apart: from the dual variables alone the
duality gap is computed in extended precision by code of its own, and every sample gets an interval
for its margin. One whose interval holds the kink is *not judged*. For metrics see `comparisons.py`.
The exit code is 1 if a decision is wrong. That the check can fail is seen with `--shrink 0.3`,
which makes balls too small. Everything follows from the seed.
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.support.environment import environment
from benchmarks.support.tables import table
from skscreen import ScreenedSVC, svc_path
from skscreen.metric_learning.path_solver import PathSolver
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import RULES, PaperScreening
from skscreen.metric_learning.solvers.progress import Settings
from skscreen.svm.dual import Dual
from skscreen.svm.screening.inside_box import Inside, compare
from skscreen.svm.screening.rules import ball_test
from tests.proofs.judging import COLUMNS, judge, shrunken
from tests.proofs.safety.comparison_problems import KINDS as METRICS
from tests.proofs.safety.comparison_problems import draw
from tests.proofs.safety.comparisons import GAMMAS, judged
from tests.proofs.safety.recorder import ComparisonRecorder, SampleRecorder, replaced
from tests.proofs.safety.sample_optima import (
    MOST_STEPS,
    SMALL,
    TIGHT,
    Hinge,
    optimum,
    squared_optimum,
)
from tests.proofs.safety.sample_problems import KINDS, data

KERNELS = ("linear", "rbf", "linear", "precomputed", "linear", "poly", "linear")
INTERCEPTS = ("free", "none", "penalised")
TESTS = ("intersection", "ball1", "ball2", "gap")
# For rows, with their shares.
SOLVERS = {"auto": 0.4, "coordinate-descent": 0.35, "second-order": 0.25}
TOLS = (1e-2, 1e-4, 1e-6, 1e-9)


def steps(shrink: float) -> int:
    """Steps of a fit: decisions have to be right whether it gets to its tolerance or not.

    Fits that wrong decisions keep from their tolerance end early.
    """
    return 2000 if shrink == 1.0 else 100


# -- support vector machines ---------------------------------------------------------------------


class Problem:
    """A problem as a user has it, and as its optimum is proved."""

    path, estimator, loss = staticmethod(svc_path), ScreenedSVC, "hinge"

    def __init__(self, kind: str, family: tuple[str, str], rng, n: int):
        X, y = self._data(kind, rng, n)
        kernel, intercept = family
        free, bias = intercept == "free", float(intercept == "penalised")
        self.options = {"kernel": kernel, "fit_intercept": intercept != "none",
                        "intercept": "free" if free else "penalised",
                        "loss": self.loss}  # fmt: skip
        self.name = ("linear" if kernel == "linear" else "kernel") + ", free" * free
        self.by_rows = kernel == "linear"
        self.X, self.y = X, y
        self.weights = rng.choice([0.3, 1.0, 2.5] if rng.random() < 0.5 else [1.0], y.size)
        signs, rows, t = self._samples()
        settings = {"t": t, "squared": self.loss.startswith("squared")}
        labels = signs if free else None
        if kernel == "linear":
            Z = signs[:, None] * np.column_stack([X, np.full(y.size, bias)])[rows]
            self.hinge = Hinge(None, Z, labels, **settings)
        else:
            K, error = self._kernel(X, kernel, rng)
            Q = signs[:, None] * (K + bias)[np.ix_(rows, rows)] * signs
            self.hinge = Hinge(Q, None, labels, error, **settings)
        self.factors = self.weights[rows]

    def _data(self, kind: str, rng, n: int):
        """Return samples, and their labels or targets."""
        X, positive = data(kind, rng, n)
        return X, np.where(positive, 1.0, -1.0)

    def _samples(self):
        """Return signs, rows and thresholds of the samples of the problem."""
        return self.y, np.arange(self.y.size), np.ones(self.y.size)

    def _kernel(self, X, kernel: str, rng):
        """Kernel matrix, and how much that of the package may differ from it."""
        size = max(float(np.median((X**2).sum(axis=1))), 1e-300)
        largest = float((X**2).sum(axis=1).max())
        eps, d = np.finfo(float).eps, X.shape[1]
        if kernel == "poly":
            self.options |= {"gamma": 1.0 / size, "coef0": 1.0, "degree": 2}
            K = (X @ X.T / size + 1.0) ** 2
            return K, 8.0 * (d + 4) * eps * (largest / size + 1.0) ** 2
        gamma = float(rng.choice([0.1, 1.0, 10.0])) / size
        squares = ((X[:, None, :] - X) ** 2).sum(axis=2) if len(X) * X.size < 2e7 else None
        if squares is None:
            lengths = (X**2).sum(axis=1)
            squares = np.maximum(lengths[:, None] + lengths - 2.0 * X @ X.T, 0.0)
            np.fill_diagonal(squares, 0.0)
        K = np.exp(-gamma * squares)
        if kernel == "precomputed":
            # Rounding errors of K times C^2 are a problem that is not convex, of which no
            # decision, and no optimum, could be proved.
            K += 2.0 * max(-float(np.linalg.eigvalsh(K)[0]), 0.0) * np.eye(len(K))
            self.X = K
            return K, 0.0
        self.options["gamma"] = gamma
        return K, 16.0 * (d + 4) * eps * (gamma * largest + 1.0)

    def grid(self, rng, size: int) -> np.ndarray:
        """Values of C, from where hardly a sample has a margin of 1 upwards."""
        margins = self.hinge.products(np.where(self.hinge.t > 0.0, self.factors, 0.0))
        first = 10.0 ** rng.uniform(-0.5, 0.5) / max(float(margins.max()), 1e-300)
        return np.geomspace(first, first * 10.0 ** rng.uniform(1.0, 4.0), size)

    def proofs(self, Cs):
        """Intervals of all margins for each C, and the relative gaps that prove them."""
        known = self.hinge
        if self.y.size <= SMALL:
            Q = known.Q if known.Q is not None else known.Z @ known.Z.T
            solve = squared_optimum if known.squared else optimum
            alphas = [solve(Q, C * self.factors, known.y, known.t) for C in Cs]
        else:
            path = self.path(self.X, self.y, Cs=Cs, sample_weight=self.weights, screening=False,
                             tol=TIGHT, max_iter=MOST_STEPS, **self.options)  # fmt: skip
            alphas = [solution.alpha for solution in path.solutions]
        return [known.interval(C * self.factors, a) for C, a in zip(Cs, alphas, strict=True)]

    def solver(self, rng) -> str:
        if not self.by_rows:
            return "auto"
        names, shares = zip(*SOLVERS.items(), strict=True)
        return str(rng.choice(names, p=shares))


def sample_fits(problem: Problem, Cs, rng, max_iter: int):
    """Yield fits of a problem as functions: paths, single fits, fits from a store."""
    fixed = {**problem.options, "max_iter": max_iter}
    known = {"sample_weight": problem.weights}
    for step in (1, 2, 3):
        for test in TESTS:
            options = {"screening": test, "solver": problem.solver(rng), "tol": rng.choice(TOLS)}
            some = Cs[rng.integers(step) :: step]
            yield lambda o=options, some=some: problem.path(
                problem.X, problem.y, Cs=some, **known, **fixed, **o
            )
    for C in rng.choice(Cs, 3, replace=False):
        options = {"solver": problem.solver(rng), "tol": rng.choice(TOLS)}
        yield lambda C=C, o=options: problem.estimator(C, **fixed, **o).fit(
            problem.X, problem.y, **known
        )

    def from_store():
        with tempfile.TemporaryDirectory() as folder:
            for C in rng.permutation(Cs)[:6]:
                model = problem.estimator(C, store=folder, tol=rng.choice(TOLS), **fixed)
                model.fit(problem.X, problem.y, **known)

    yield from_store


def check_samples(problem: Problem, Cs, rng, counts: dict, shrink: float) -> int:
    """Judge what all fits of a problem decide; return how many optima are not known well."""
    proofs, ends = problem.proofs(Cs), (problem.hinge.t, problem.hinge.t)
    for fit in sample_fits(problem, Cs, rng, steps(shrink)):
        recorder = SampleRecorder()
        with recorder.recording(), smaller_balls(shrink):
            fit()
        for taken in recorder.taken:
            nearest = int(np.argmin(np.abs(Cs / taken.C - 1.0)))
            assert abs(Cs[nearest] / taken.C - 1.0) < 1e-9
            low, high, _ = proofs[nearest]
            name = f"{problem.name}: {taken.kind}"
            counts.setdefault(name, Counter()).update(judge(taken.codes, low, high, *ends))
    return sum(gap > 1e-9 for *_, gap in proofs)


def smaller_balls(shrink: float):
    """Make the balls of samples too small for some time, unless the factor is 1."""

    def test(ball, norms):
        return ball_test(shrunken(ball, shrink), norms)

    def comparison(inside, products, ball, *known):
        least, most = (1.0 + shrink**2 * (end - 1.0) for end in (inside.least, inside.most))
        inside = Inside(inside.index, least, most)
        return compare(inside, products, shrunken(ball, shrink), *known)

    by_gap = Dual.decided_by_gap

    def decided_by_gap(dual, norms, *known):
        # Scores stay within norms times the radius.
        return by_gap(dual, shrink * norms, *known)

    stack = ExitStack()
    if shrink != 1.0:
        stack.enter_context(patch.object(Dual, "decided_by_gap", decided_by_gap))
        stack.enter_context(replaced(ball_test, test))
        stack.enter_context(replaced(compare, comparison))
    return stack


# -- metrics -------------------------------------------------------------------------------------


def check_comparisons(items, rng, counts: dict, shrink: float) -> int:
    """Judge what paths of metrics decide; return how many optima are not known well."""
    problem = items.problem
    lam_max = problem.lam_max
    lams = lam_max * 0.95 * np.geomspace(1.0, 10.0 ** -rng.uniform(1.0, 4.0), 8)
    optima, last = [], None
    for lam in lams:
        try:
            last = items.explicit.optimum(lam, last)
            optima.append(last)
        except BaseException as error:
            # Clarabel may panic, with an exception that is no `Exception`.
            if type(error).__name__ not in ("PanicException", "SolverError"):
                raise
            optima.append(None)
    choices = [*((name,) for name in BOUNDS), ("rrpb", "pgb")]
    for bounds in choices:
        for ranges in (False, True):
            rule = str(rng.choice(list(RULES)))
            hook = None if (bounds, rule) == (("gap",), "sphere") else PaperScreening(bounds, rule)
            options = Settings(
                hook, tol=rng.choice(TOLS[:3]), active_set=bool(rng.random() < 0.7),
                max_iter=steps(shrink),
            )  # fmt: skip
            recorder = ComparisonRecorder(len(items.near))
            with recorder.recording(shrink):
                solver = PathSolver(problem, ranges)
                for lam in lams:
                    solver.solve(lam, options)
            for lam, kind, codes in recorder.taken:
                optimum = optima[int(np.argmin(np.abs(lams / lam - 1.0)))]
                if optimum is not None:
                    found = judged(items.explicit, optimum, codes)
                    counts.setdefault(f"metrics: {kind}", Counter()).update(found)
    return sum(optimum is None for optimum in optima)


# -- the run -------------------------------------------------------------------------------------


def run(n_decisions=0, minutes=np.inf, jobs=1, n_rounds=1, one_round=None, **settings):
    """Check rounds of problems until there are enough decisions, or the time is over.

    Returns the counts, the number of problems, and how many optima are not known well.
    """
    counts, n_problems, unknown, done, started = {}, 0, 0, 0, time.monotonic()
    one_round = one_round or round_of_hinges
    with Parallel(n_jobs=jobs) as parallel:
        while done < n_rounds or total(counts, "checked") < n_decisions:
            if time.monotonic() - started > 60.0 * minutes:
                break
            rounds = range(done, done + jobs)
            for found, *numbers in parallel(delayed(one_round)(k, **settings) for k in rounds):
                for name, count in found.items():
                    counts.setdefault(name, Counter()).update(count)
                n_problems, unknown = n_problems + numbers[0], unknown + numbers[1]
            done += jobs
    return counts, n_problems, unknown


def round_of_hinges(
    done: int, seed=0, n=1000, grid=20, shrink=1.0, kinds=KINDS, of_metrics=METRICS
):
    """Check a problem of every kind; every second round has metrics too."""
    counts, unknown = {}, 0
    # One round in four is of small problems.
    size = n if done % 4 else min(SMALL, n)
    of_metrics = () if done % 2 else of_metrics
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for number, kind in enumerate(kinds):
            rng = np.random.default_rng([seed, done, KINDS.index(kind)])
            # In 21 rounds each kind of data meets each kernel with each intercept.
            family = KERNELS[(4 * done + number) % 7], INTERCEPTS[(4 * done + number) % 3]
            # Rows without a kernel matrix are cheap, wide ones are not.
            by_rows = family[0] == "linear"
            many = size // 4 if kind == "wide" else 3 * size if by_rows and size > SMALL else size
            if number == done % len(kinds) and size > SMALL:
                # Kernels have another solver for more than 2,000 samples.
                many = max(many, 2 * size + 100)
            problem = Problem(kind, family, rng, many)
            unknown += check_samples(problem, problem.grid(rng, grid), rng, counts, shrink)
        for kind in of_metrics:
            rng = np.random.default_rng([seed, done, METRICS.index(kind), 1])
            gamma, diagonal = GAMMAS[rng.integers(len(GAMMAS))], bool(rng.random() < 0.5)
            unknown += check_comparisons(draw(kind, diagonal, gamma, rng), rng, counts, shrink)
    return counts, len(kinds) + len(of_metrics), unknown


def total(counts, column: str, name: str = "") -> int:
    """Sum of a column over all names that hold a text."""
    return sum(count[column] for key, count in counts.items() if name in key)


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--decisions", type=int, default=50_000_000)
    parser.add_argument("--minutes", type=float, default=np.inf, help="at most, but for a round")
    parser.add_argument("--jobs", type=int, default=1, help="rounds in processes at the same time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--samples", type=int, default=1000, help="of a problem, at most")
    parser.add_argument("--shrink", type=float, default=1.0, help="factor of every radius")
    args = parser.parse_args(arguments)
    print(f"{environment()}; seed {args.seed}\n")
    started = time.perf_counter()
    counts, n_problems, unknown = run(
        args.decisions, args.minutes, args.jobs, seed=args.seed, n=args.samples, shrink=args.shrink
    )
    rows = [
        (name, *(f"{counts[name][column]:,}" for column in COLUMNS if column != "undecided"))
        for name in sorted(counts)
    ]
    sums = {column: total(counts, column) for column in COLUMNS}
    table("decisions taken in fits,checked,not judged,wrong", rows)
    print(
        f"{n_problems} problems, {unknown} optima not known to 1e-9; {sums['checked']:,} decisions "
        f"checked, {sums['not judged']:,} not judged, {sums['wrong']:,} wrong; "
        f"{time.perf_counter() - started:.0f} s"
    )
    return int(sums["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
