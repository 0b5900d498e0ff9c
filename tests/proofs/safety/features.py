"""Features that an L1 penalty leaves out, against independent proofs: none may be wrong.

    python -m tests.proofs.safety.features [--decisions 1_000_000] [--minutes 10] [--seed 0]

Problems are dense and sparse, with correlated, repeated, empty and very unequal columns. Solutions
to gaps of 1e-1 to 1e-8, from nothing or from the solution for another C, say which weights are zero
at the optimum. Of dual variables near it the duality gap, computed here in extended precision,
bounds the correlation of each column: a weight is zero if that is below 1. A feature with a weight
in the precise solution that was left out is wrong; one that has none, but of which nothing is
proved, is *not judged*. Everything follows from the seed.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.support.environment import environment
from benchmarks.support.tables import table
from skscreen.svm.l1.solve import L1Problem
from tests.proofs.judging import COLUMNS

LONG = np.longdouble
KINDS = ("dense", "unequal", "correlated", "sparse")
TOLS, FACTORS = (1e-1, 1e-2, 1e-4, 1e-8), (0.5, 0.9, 1.0, 1.1, 2.0)
PRECISE, MOST_STEPS = 1e-13, 20_000


def drawn(kind: str, rng) -> np.ndarray:
    """Return samples, some of whose columns are empty or stand twice."""
    n, d = rng.integers(40, 200), rng.integers(200, 1500)
    X = rng.normal(size=(n, d))
    if kind == "unequal":
        X *= 10.0 ** rng.uniform(-3.0, 3.0, d)
    elif kind == "correlated":
        X = 0.2 * X + rng.normal(size=(n, 5)) @ rng.normal(size=(5, d))
    elif kind == "sparse":
        X *= rng.random((n, d)) < 0.05
    X[:, -2], X[:, -1] = 0.0, X[:, 0]
    return X


def is_zero(Z: np.ndarray, c: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return which weights are proved to be zero at every optimum, by w near one, (d,)."""
    losses = np.maximum(1 - Z @ w, 0)
    alpha = 2 * c * losses
    correlations = np.abs(Z.T @ alpha)
    # The largest value of the dual on the feasible part of the ray through alpha.
    s = alpha.sum() / (alpha**2 / (2 * c)).sum() if alpha.any() else LONG(1)
    s = min(s, 1 / correlations.max())
    dual = (s * alpha).sum() - ((s * alpha) ** 2 / (4 * c)).sum()
    gap = max(np.abs(w).sum() + c @ losses**2 - dual, 0) + 1e-17 * np.abs(dual)
    reach = np.sqrt(2 * gap * (2 * (c[:, None] * Z**2)).sum(axis=0))
    return s * correlations + reach < 1


def decisions(kind: str, rng) -> Iterator[dict[str, int]]:
    """Yield the counts of the decisions of each solution of one problem."""
    X = drawn(kind, rng)
    signs = np.where(X[:, :3].sum(axis=1) + rng.normal(size=len(X)) > 0.0, 1.0, -1.0)
    weights = rng.choice([0.5, 1.0, 3.0], len(X))
    given = sparse.csc_array(X) if kind == "sparse" else np.asfortranarray(X)
    problem = L1Problem(given, signs, weights)
    C0, Z = problem.C_min * 10.0 ** rng.uniform(0.1, 3.0), (signs[:, None] * X).astype(LONG)
    for factor in FACTORS:
        C = C0 * factor
        precise = problem.solve(C, PRECISE, MOST_STEPS).w
        proved = is_zero(Z, C * weights.astype(LONG), precise.astype(LONG))
        for tol in TOLS:
            start = problem.solve(C0, tol, MOST_STEPS)
            for found in (
                problem.solve(C, tol, MOST_STEPS),
                problem.solve(C, tol, MOST_STEPS, start),
            ):
                for zero in (found.zero, found.zero_at_first):
                    wrong, right = np.sum(zero & (precise != 0.0)), np.sum(zero & proved)
                    counts = right + wrong, np.sum(~zero), np.sum(zero) - right - wrong, wrong
                    yield dict(zip(COLUMNS, map(int, counts), strict=True))


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=np.inf)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    print(f"{environment()}; seed {args.seed}\n")
    totals, done, started = {kind: Counter() for kind in KINDS}, 0, time.monotonic()
    with threadpool_limits(1):
        while sum(counts["checked"] for counts in totals.values()) < args.decisions:
            if done and time.monotonic() - started > 60.0 * args.minutes:
                break
            for k, (kind, counts) in enumerate(totals.items()):
                for found in decisions(kind, np.random.default_rng([args.seed, done, k])):
                    counts.update(found)
            done += 1
    rows = [
        (kind, *(f"{counts[column]:,}" for column in COLUMNS)) for kind, counts in totals.items()
    ]
    table("columns," + ",".join(COLUMNS), rows)
    checked, unsure, wrong = (
        sum(counts[column] for counts in totals.values())
        for column in ("checked", "not judged", "wrong")
    )
    print(f"{checked:,} decisions checked, {unsure:,} not judged, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
