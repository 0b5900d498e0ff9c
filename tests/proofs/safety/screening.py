"""`screen_samples` against independent optima: not one decision may be wrong.

    python -m tests.proofs.safety.screening [--decisions 10_000_000] [--seed 0] [--samples 500]

needs the `test` extra. Twenty problems: linear, RBF and polynomial kernels with a free, a
penalised and no intercept, for the hinge and its square, and two given kernel matrices. Dual
variables near the optimum, by Clarabel and linear systems, are the references, as they are or moved
by up to a hundredth, at other values of C; of linear problems also weights, of no C or in a
`LinearSVC` of that C; all tests decide. Each decision is compared with what the duality gap of the
target's dual variables, in extended precision, proves about the margin; a sample nearer to the kink
than that is counted as *not judged*. The exit code is 1 if a decision is wrong. Everything follows
from the seed.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.support.environment import environment
from benchmarks.support.tables import table
from skscreen import screen_samples
from tests.proofs.judging import COLUMNS, judge
from tests.proofs.safety.sample_optima import Hinge, balanced, optimum, squared_optimum
from tests.proofs.safety.sample_problems import KINDS, data

KERNELS = ("linear", "rbf", "poly")
INTERCEPTS = ("free", "penalised", "none")
LOSSES = ("hinge", "squared_hinge")
PROBLEMS = (*product(KERNELS, INTERCEPTS, LOSSES), ("precomputed", "free", "hinge"),
            ("precomputed", "none", "hinge"))  # fmt: skip
TESTS = ("ball1", "ball2", "intersection", "gap")
FACTORS = (1.0, 1.01, 1.03, 1.1, 1.3, 4.0)
NOISES = (0.0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2)

# Entries of kernel matrices may differ by this share of the largest.
_UNSURE = 1e-13


def decisions(kind: str, which: tuple, rng, n: int, share: float) -> Iterator[tuple[str, dict]]:
    """Yield tests and the counts of their decisions on one problem, for a share of references."""
    kernel, intercept, loss = which
    X, positive = data(kind, rng, n)
    y, weights = np.where(positive, 1.0, -1.0), rng.choice([0.3, 1.0, 2.5], len(X))
    size = max(float(np.median((X**2).sum(axis=1))), 1e-300)
    options = {"gamma": rng.choice([0.1, 1.0, 10.0]) / size, "degree": 2, "coef0": 1.0}
    name = "rbf" if kernel == "precomputed" else kernel
    used = {"linear": (), "rbf": ("gamma",), "poly": ("gamma", "degree", "coef0")}[name]
    K = pairwise_kernels(X, metric=name, **{key: options[key] for key in used})
    given = K if kernel == "precomputed" else X
    Q = y[:, None] * (K + (intercept == "penalised")) * y
    labels = y if intercept == "free" else None
    squared = loss == "squared_hinge"
    C0 = 10.0 ** rng.uniform(-0.5, 3.5) / max(float((Q @ weights).max()), 1e-300)
    Cs = [C0 * factor for factor in FACTORS]
    solve = squared_optimum if squared else optimum
    optima = [solve(Q, C * weights, labels) for C in Cs]
    error = 0.0 if kernel == "precomputed" else _UNSURE * float(np.diag(Q).max())
    judged = Hinge(Q, None, labels, error, squared=squared)
    proofs = [judged.interval(C * weights, alpha)[:2] for C, alpha in zip(Cs, optima, strict=True)]
    fixed = {"kernel": kernel, "intercept": intercept, "loss": loss, "sample_weight": weights}
    for alpha, C in zip(optima, Cs, strict=True):
        top = np.inf if squared else C * weights
        for noise in NOISES:
            if rng.random() >= share:
                continue
            moved = rng.normal(size=len(X)) * (rng.random(len(X)) < 0.3) * alpha.max(initial=0.0)
            point = balanced(np.clip(alpha + noise * moved, 0.0, top), labels)
            references = [point]
            if kernel == "linear":
                moved = rng.normal(size=X.shape[1])
                w = X.T @ (y * alpha)
                w = w + noise * moved * np.linalg.norm(w) / np.linalg.norm(moved)
                b = float(y @ alpha) if intercept == "penalised" else 0.0
                references += [(w, b), _as_fitted(w, b, C, y)]
            for (target, proof), test in product(zip(Cs, proofs, strict=True), TESTS):
                for reference in references:
                    found = screen_samples(
                        given, y, target, reference=reference, tests=test, **fixed, **options
                    )
                    yield test, judge(found.codes_, *proof)


def _as_fitted(w: np.ndarray, b: float, C: float, y: np.ndarray) -> LinearSVC:
    """Return an estimator that has learned these weights."""
    model = LinearSVC(C=C)
    model.coef_, model.intercept_, model.classes_ = w[None], np.array([b]), np.unique(y)
    return model


def run(
    n_decisions=0, seed=0, n=120, problems=PROBLEMS, share=1.0, minutes=np.inf
) -> dict[tuple, Counter]:
    """Check rounds of the problems until there are enough decisions, or time is over."""
    totals, done, started = {which: Counter() for which in problems}, 0, time.monotonic()
    while done == 0 or sum(counts["checked"] for counts in totals.values()) < n_decisions:
        if done and time.monotonic() - started > 60.0 * minutes:
            break
        for k, (which, counts) in enumerate(totals.items()):
            rng = np.random.default_rng([seed, done, k])
            kind = KINDS[(k + done) % len(KINDS)]
            for test, found in decisions(kind, which, rng, n, share):
                for column, count in found.items():
                    counts[column] += count
                    counts[test, column] += count
        done += 1
    return totals


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--decisions", type=int, default=10_000_000)
    parser.add_argument("--minutes", type=float, default=np.inf, help="at most, but for a round")
    parser.add_argument("--share", type=float, default=0.2, help="of references that are tried")
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    print(f"{environment('clarabel')}; seed {args.seed}\n")
    started = time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings():
        # Of references that are far from their optimum.
        warnings.simplefilter("ignore", UserWarning)
        totals = run(
            args.decisions, args.seed, args.samples, share=args.share, minutes=args.minutes
        )
    rows = [(" ".join(which), *(f"{counts[column]:,}" for column in COLUMNS))
            for which, counts in totals.items()]  # fmt: skip
    for test in (*TESTS, None):
        sums = (
            sum(counts[column if test is None else (test, column)] for counts in totals.values())
            for column in COLUMNS
        )
        rows.append((test or "all", *(f"{found:,}" for found in sums)))
    table("problem or test," + ",".join(COLUMNS), rows)
    print(f"{time.perf_counter() - started:.0f} s")
    return int(any(counts["wrong"] for counts in totals.values()))


if __name__ == "__main__":
    sys.exit(main())
