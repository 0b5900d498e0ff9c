"""Decisions about samples with other losses than the hinge: not one may be wrong.

    python -m tests.proofs.safety.losses [--decisions 10_000_000] [--minutes 5] [--seed 0]

needs the `test` extra. As `samples.py` and `fits.py`, half of the time each: decisions by hand,
from references of any accuracy at other values of C, and those that fits, paths and stores take,
for squared hinges and for regression with both losses. Optima and their proofs are those of
`sample_optima.py`. The exit code is 1 if a decision is wrong; `--shrink 0.3` makes balls too small.
Everything follows from the seed.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.support.environment import environment
from benchmarks.support.tables import table
from skscreen import ScreenedSVR, svr_path
from skscreen.samples.losses import squared_hinge
from skscreen.samples.targets import LOSSES, BothSides, Targets
from tests.proofs.judging import COLUMNS
from tests.proofs.safety import fits, samples
from tests.proofs.safety.sample_optima import (
    MOST_STEPS,
    SMALL,
    TIGHT,
    dual_variables,
    optimum,
    squared_optimum,
)
from tests.proofs.safety.sample_problems import KINDS, data

EPSILONS = (0.0, 0.1, 0.5)
# Tests of losses without a linear piece: all others are one of these.
SMOOTH = ("ball1", "dynamic", "between")
FAMILIES = ("squared_hinge", *LOSSES)


def targets(kind: str, rng, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples and targets: two levels, one linear effect and noise of heavy tails."""
    X, positive = data(kind, rng, max(n // 2, 10))
    spread = np.abs(X).max(axis=0)
    effect = X @ (rng.normal(size=X.shape[1]) / np.where(spread > 0.0, spread, 1.0))
    return X, np.where(positive, 1.0, -1.0) + effect + 0.3 * rng.standard_t(3, size=len(X))


# -- by hand -------------------------------------------------------------------------------------


def problem_with(family: str, kind: str, rng, n: int) -> samples.Problem:
    """Return a problem with these losses."""
    if family == "squared_hinge":
        found = samples.problem(kind, rng, n)
        weights = found.losses.caps
        solve = partial(dual_variables, found.Q, weights=weights, y=found.y, loss=family)
        return replace(
            found,
            losses=squared_hinge(weights),
            solve=solve,
            tests=_smooth(found.y),
            name=_in(family),
        )
    X, y = targets(kind, rng, n)
    K, weights, free = samples.kernel_matrix(X, rng)
    epsilon, signs = float(rng.choice(EPSILONS)), np.repeat([1.0, -1.0], y.size)
    Q = np.block([[K, -K], [-K, K]])
    regression = BothSides(Targets(np.arange(y.size), y, weights), epsilon, free=False)
    labels, losses = signs if free else None, regression.losses(0, family)

    def solve(Cs):
        if y.size <= SMALL // 2:
            best = squared_optimum if losses.smooth else optimum
            factors = np.tile(weights, 2)
            return [best(Q, C * factors, labels, losses.thresholds) for C in Cs]
        path = svr_path(
            K, y, Cs=Cs, sample_weight=weights, kernel="precomputed", fit_intercept=free,
            epsilon=epsilon, loss=family, screening=False, tol=TIGHT, max_iter=MOST_STEPS,
        )  # fmt: skip
        return [solution.alpha for solution in path.solutions]

    tests = samples.FREE_TESTS if free else samples.TESTS
    tests = _smooth(labels) if losses.smooth else tests
    return samples.Problem(Q, losses, labels, solve, tests, _in(family))


def _smooth(labels) -> tuple[str, ...]:
    if labels is None:
        return SMOOTH
    return tuple(f"{test}, free" for test in (*SMOOTH, "inside"))


def _in(family: str) -> str:
    return f", {family}"


# -- in fits -------------------------------------------------------------------------------------


class SquaredHinge(fits.Problem):
    """Classification with squared hinges."""

    loss = "squared_hinge"


class Regression(fits.Problem):
    """Regression: each row is two samples."""

    path, estimator, loss = staticmethod(svr_path), ScreenedSVR, "epsilon_insensitive"

    def _data(self, kind, rng, n):
        self._epsilon = float(rng.choice(EPSILONS))
        return targets(kind, rng, n)

    def _samples(self):
        self.options["epsilon"], n = self._epsilon, self.y.size
        t = np.concatenate([self.y - self._epsilon, -self.y - self._epsilon])
        return np.repeat([1.0, -1.0], n), np.tile(np.arange(n), 2), t


class SquaredRegression(Regression):
    """Regression with squares."""

    loss = "squared_epsilon_insensitive"


def round_of_fits(done: int, seed=0, n=600, grid=12, shrink=1.0, kinds=KINDS):
    """Check a problem of every kind, the losses in turn."""
    counts, unknown, size = {}, 0, n if done % 4 else min(SMALL, n)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for number, kind in enumerate(kinds):
            rng = np.random.default_rng([seed, done, KINDS.index(kind), 2])
            family = fits.KERNELS[(4 * done + number) % 7], fits.INTERCEPTS[(done + number) % 3]
            make = (SquaredHinge, Regression, SquaredRegression)[(done + number // 3) % 3]
            problem = make(kind, family, rng, size // 4 if kind == "wide" else size)
            problem.name = f"{make.loss}, {problem.name}"
            unknown += fits.check_samples(problem, problem.grid(rng, grid), rng, counts, shrink)
    return counts, len(kinds), unknown


# -- the run -------------------------------------------------------------------------------------


def by_hand(n_decisions=0, minutes=np.inf, **settings) -> dict[str, Counter]:
    """Check decisions by hand; return the counts of each test and loss."""
    counts: dict[str, Counter] = {}
    for family in FAMILIES:
        totals = samples.run(
            n_decisions / len(FAMILIES), minutes=minutes / len(FAMILIES),
            make=partial(problem_with, family), **settings,
        )  # fmt: skip
        for found in totals.values():
            for (name, column), count in found.items():
                counts.setdefault(name, Counter())[column] += count
    return counts


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--decisions", type=int, default=10_000_000)
    parser.add_argument("--minutes", type=float, default=np.inf, help="at most, but for a round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--samples", type=int, default=600, help="of a problem, at most")
    parser.add_argument("--kinds", default=",".join(KINDS), help="separated by commas")
    parser.add_argument("--shrink", type=float, default=1.0, help="factor of every radius")
    args = parser.parse_args(arguments)
    print(f"{environment()}; seed {args.seed}\n")
    started, half = time.perf_counter(), args.decisions // 2
    settings = {"seed": args.seed, "n": args.samples, "shrink": args.shrink,
                "minutes": args.minutes / 2.0, "kinds": args.kinds.split(",")}  # fmt: skip
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        counts = by_hand(half, **settings)
    in_fits, n_problems, unknown = fits.run(half, one_round=round_of_fits, **settings)
    counts |= {f"in fits: {name}": count for name, count in in_fits.items()}
    rows = [
        (name, *(f"{counts[name][column]:,}" for column in COLUMNS if column != "undecided"))
        for name in sorted(counts)
    ]
    table("decisions,checked,not judged,wrong", rows)
    sums = {column: fits.total(counts, column) for column in COLUMNS}
    print(
        f"{sums['checked']:,} decisions checked, {sums['not judged']:,} not judged, "
        f"{sums['wrong']:,} wrong; {n_problems} problems of fits, {unknown} optima not known to "
        f"1e-9; {time.perf_counter() - started:.0f} s"
    )
    return int(sums["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
