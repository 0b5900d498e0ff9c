"""Gaps of kernel machines of many samples, computed again in extended precision.

    python -m tests.proofs.safety.gaps [--problems 200] [--seconds 20] [--jobs 1]

Samples are standard, repeated, shifted, of very different scales, in far clusters, with heavy tails
or with outliers of 1e6; C is from 1e-3 to 1e6, the intercept free, penalised or none, samples have
weights. From the dual variables and the intercept that a fit returns the relative duality gap of
the full problem is computed from the samples, in extended precision, by code that shares nothing
with the package. None may be larger than `dual_gap_`; the exit code is 1 if one is. Fits that miss
their tolerance count too, for the gap that they say. Everything follows from the seed.
"""

import argparse
import sys
import time
import warnings
from collections import Counter

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.support.tables import table
from skscreen import ScreenedSVC

KINDS = ("standard", "repeated", "shifted", "scales", "clusters", "heavy tails", "outliers")
INTERCEPTS = ("free", "penalised", "none")
KERNELS = ("rbf", "rbf", "rbf", "poly")
TOLS = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8)

# Rows of a kernel matrix at a time.
_ROWS = 200


def samples(kind: str, rng, n: int) -> np.ndarray:
    """Return samples of a kind."""
    d = int(rng.integers(1, 30))
    X = rng.normal(size=(n, d))
    if kind == "repeated":
        X = X[rng.integers(0, n // 8, n)]
    elif kind == "shifted":
        X += 1e4
    elif kind == "scales":
        X *= 10.0 ** rng.uniform(-3.0, 1.0, d)
    elif kind == "clusters":
        X += 1e3 * rng.integers(0, 3, n)[:, None]
    elif kind == "heavy tails":
        X = rng.standard_cauchy(size=(n, d))
    elif kind == "outliers":
        X[rng.random(X.shape) < 3e-3] *= 1e6
    return X


def kernel_rows(X, rows: slice, options: dict) -> np.ndarray:
    """Return rows of the kernel matrix in extended precision."""
    gamma = np.longdouble(options["gamma"])
    if options["kernel"] == "poly":
        return (gamma * (X[rows] @ X.T) + options["coef0"]) ** options["degree"]
    squares = np.zeros((rows.stop - rows.start, len(X)), np.longdouble)
    for k in range(X.shape[1]):
        squares += (X[rows, k, None] - X[:, k]) ** 2
    return np.exp(-gamma * squares)


def true_gap(X, y, caps, model, bias: float, options: dict) -> float:
    """Return the relative gap of the problem whose kernel values have no rounding errors."""
    beta = np.zeros(y.size, np.longdouble)
    beta[model.support_] = model.dual_coef_[0]
    X, n = X.astype(np.longdouble), y.size
    parts = (slice(first, min(first + _ROWS, n)) for first in range(0, n, _ROWS))
    f = np.concatenate([kernel_rows(X, rows, options) @ beta for rows in parts])
    f += np.longdouble(bias) ** 2 * beta.sum()
    b = 0.0 if bias else np.longdouble(model.intercept_[0])
    short, alpha = 1.0 - y * (f + b), y * beta
    assert np.all((alpha >= 0.0) & (alpha <= caps))
    slackness = caps * np.maximum(short, 0.0) - alpha * short
    return float(slackness.sum() / (0.5 * beta @ f + caps @ np.maximum(short, 0.0)))


def one(seed: int, seconds: float):
    """Draw, fit and judge a problem."""
    rng = np.random.default_rng(seed)
    kind, intercept = KINDS[seed % len(KINDS)], str(rng.choice(INTERCEPTS))
    n = int(rng.integers(2001, 2600))
    X = samples(kind, rng, n)
    spread = np.median(np.abs(X - np.median(X, axis=0)), axis=0) + 1e-300
    score = ((X - np.median(X, axis=0)) / spread)[:, 0] + rng.uniform(0.1, 2.0) * rng.normal(size=n)
    y = np.where(score > 0.0, 1.0, -1.0)
    size = float(np.median(((X - np.median(X, axis=0)) ** 2).sum(axis=1)))
    options = {"kernel": str(rng.choice(KERNELS)), "gamma": rng.choice([0.3, 1.0, 10.0]) / size}
    if options["kernel"] == "poly":
        options |= {"gamma": 1.0 / float((X**2).sum(axis=1).max()), "coef0": 1.0, "degree": 3}
    C, tol = float(10.0 ** rng.uniform(-3.0, 6.0)), float(rng.choice(TOLS))
    weights = rng.choice([0.3, 1.0, 2.5] if rng.random() < 0.5 else [1.0], n)
    how = {"fit_intercept": intercept != "none",
           "intercept": "free" if intercept == "free" else "penalised"}  # fmt: skip
    model = ScreenedSVC(C, tol=tol, **how, **options)
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, y, weights)
    took = time.process_time() - began
    true = true_gap(X, y, C * weights, model, float(intercept == "penalised"), options)
    what = f"{kind}, {options['kernel']}, {intercept}, C={C:.2g}, tol={tol:g}, d={X.shape[1]}"
    if took > seconds:
        print(f"seed {seed}: {took:.0f} s: {what}, gap {model.dual_gap_:.1e}", flush=True)
    wrong = not true <= model.dual_gap_
    if wrong:
        print(f"seed {seed}: {true:.3g} is above {model.dual_gap_:.3g}: {what}", flush=True)
    return kind, wrong, bool(caught), model.dual_gap_ / max(true, 1e-300), took


def main(argv: list[str] | None = None) -> int:
    """Judge all problems and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20.0, help="slower fits are named")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args(argv)
    tasks = (delayed(one)(seed, args.seconds) for seed in range(args.problems))
    found = Parallel(args.jobs)(tasks)
    count = Counter(kind for kind, *_ in found)
    rows = [
        [kind, count[kind], sum(row[1] for row in found if row[0] == kind),
         sum(row[2] for row in found if row[0] == kind),
         f"{np.median([row[3] for row in found if row[0] == kind]):.3g}",
         f"{max(row[4] for row in found if row[0] == kind):.1f}"]
        for kind in KINDS if count[kind]
    ]  # fmt: skip
    table("samples,problems,gap larger than said,warned,said / true (median),longest s", rows)
    wrong = sum(row[1] for row in found)
    print(f"{len(found)} fits, {wrong} with a gap larger than they say")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
