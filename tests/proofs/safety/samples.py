"""Screening decisions about samples against independent optima: not one may be wrong.

    python -m tests.proofs.safety.samples [--decisions 50_000_000] [--seed 0] [--kinds cancer,...]

needs the `test` extra. Hinge-loss problems with linear, RBF and polynomial kernels, a third of them
with an unpenalised intercept, from real and from adversarial data, are solved by Clarabel and
linear systems if they are small, larger ones without screening to a gap of 1e-13. All tests of
samples then decide from references of any accuracy at other values of C, and from the point between
two of them, and each decision is compared with the optimum. Its proof is apart from any solver: the
duality gap of the dual variables in extended precision, hence a distance; a sample nearer to the
kink than that is counted as *not judged*, never as right. The exit code is 1
if a decision is wrong. That the check can fail is seen with `--shrink 0.9`, which makes every ball
too small (0.5 for an unpenalised intercept, whose interval is wide). Everything follows from the
seed.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.support.environment import environment
from skscreen.samples.losses import SampleLosses, hinge
from skscreen.svm.dual import Dual
from skscreen.svm.screening.bounds import (
    gap_ball,
    intersection_target,
    path_gap,
    reference,
    scaled_gap_ball,
    segment,
)
from skscreen.svm.screening.inside_box import compare, compare_at, furthest_inside
from skscreen.svm.screening.rules import ball_test, intersection_test
from tests.proofs.judging import judge, shrunken
from tests.proofs.safety.sample_optima import SMALL, Hinge, balanced, dual_variables
from tests.proofs.safety.sample_problems import KINDS, data

FACTORS = (1.0, 1.02, 1.2, 2.0, 10.0, 100.0)
NOISES = (0.0, 1e-9, 1e-6, 1e-4, 1e-2, 0.3)
TESTS = ("ball1", "ball2", "intersection", "dynamic", "between")
FREE_TESTS = tuple(f"{test}, free" for test in (*TESTS, "inside"))
ALL_TESTS = TESTS + FREE_TESTS


# -- problems ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """Samples with losses at C = 1 and, if the intercept is unpenalised, labels.

    `solve` takes values of C and returns dual variables near the optima.
    """

    Q: np.ndarray
    losses: SampleLosses
    y: np.ndarray | None
    solve: Callable[[list[float]], list[np.ndarray]]
    tests: tuple[str, ...]
    name: str = ""


def problem(kind: str, rng, n: int) -> Problem:
    """Return a problem of hinges."""
    X, labels = data(kind, rng, n)
    y = np.where(labels, 1.0, -1.0)
    K, weights, free = kernel_matrix(X, rng)
    Q, labels = y[:, None] * K * y, y if free else None
    solve = partial(dual_variables, Q, weights=weights, y=labels)
    return Problem(Q, hinge(weights), labels, solve, FREE_TESTS if free else TESTS)


def kernel_matrix(X, rng) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return any kernel with its bias, weights, and whether the intercept is unpenalised."""
    kernel = rng.choice(["linear", "rbf", "poly"])
    size = max(float(np.median((X**2).sum(axis=1))), 1e-300)
    K = X @ X.T
    if kernel == "rbf":
        squares = np.diag(K)
        K = np.exp(-rng.choice([0.1, 1.0, 10.0]) / size * (squares[:, None] + squares - 2.0 * K))
    elif kernel == "poly":
        K = (K / size + 1.0) ** 2
    weights = rng.choice([0.3, 1.0, 2.5], len(X)) if rng.random() < 0.5 else np.ones(len(X))
    free = rng.random() < 1.0 / 3.0
    # Otherwise none, or a penalised one.
    return K + (0.0 if free else rng.choice([0.0, 1.0])), weights, free


# -- the check -----------------------------------------------------------------------------------


def decisions(test: str, ref, ends, rho: float, Q, shrink: float):
    """Codes of one test, from a reference (or between two), for bounds rho times its own."""
    dual = ref.dual.at(rho)
    K = np.outer(dual.signs, dual.signs) * Q
    if test == "inside":
        return dual.codes(*by_samples_inside(ref, rho, K, shrink))
    return dual.decided(extremes(test, ref, ends, rho, K, shrink))


class Known:
    """Samples known by the matrix of their products."""

    def __init__(self, Q, error=1e-14):
        self.Q, self.error = Q, error

    def products(self, index):
        return self.Q[index]


def by_samples_inside(ref, rho: float, K, shrink: float):
    """Bounds on the scores with an unpenalised intercept, by samples inside their box."""
    if shrink == 1.0:
        return compare_at(ref, rho, Known(K))
    gap, ball = shrink**2 * path_gap(ref, rho), shrunken(scaled_gap_ball(ref, rho), shrink)
    inside = furthest_inside(rho * ref.beta, ref.dual.at(rho), gap, ref.share)
    return compare(inside, K[inside.index], ball, rho * ref.shift, ref.norms)


def extremes(test: str, ref, ends, rho: float, K, shrink: float):
    """Bounds on the scores, but for an unpenalised intercept."""
    balls = {"dynamic": gap_ball(ref), "ball1": scaled_gap_ball(ref, rho)}
    if ends is not None:
        balls["between"] = gap_ball(ends)
    if test in balls:
        return ball_test(shrunken(balls[test], shrink), ref.norms)
    target = intersection_target(ref, rho)
    pencil = segment(ref, rho, target, K @ (target - rho * ref.beta))
    if test == "intersection" and shrink == 1.0:
        return intersection_test(pencil, ref.norms)
    return ball_test(shrunken(pencil.ball(1.0), shrink), ref.norms)


def check(problem: Problem, rng, counts: Counter, shrink: float) -> None:
    """Screen one problem from references at several values of C, and judge every decision."""
    Q, losses, y = problem.Q, problem.losses, problem.y
    largest = float((Q @ np.where(losses.thresholds > 0.0, losses.sizes, 0.0)).max())
    C0 = 10.0 ** rng.uniform(-0.5, 4.0) / max(largest, 1e-300)
    values = [C0 * factor for factor in FACTORS]
    optima = dict(zip(values, problem.solve(values), strict=True))
    ends_of_losses = losses.thresholds, losses.thresholds
    known = Hinge(Q, None, y, t=losses.thresholds, squared=losses.smooth)
    # 2 C_i are the sizes of squared hinges.
    weights = 0.5 * losses.sizes if losses.smooth else losses.sizes
    proofs = {
        C: (*known.interval(C * weights, alpha)[:2], *ends_of_losses) for C, alpha in optima.items()
    }
    for C, alpha in optima.items():
        for noise in NOISES:
            point = noisy(alpha, at(losses, C), noise, y, rng)
            ref = refer(Q, at(losses, C), point, y)
            for target, proof in proofs.items():
                ends = between(Q, losses, y, (C, point), optima, target, noise, rng)
                for name in problem.tests:
                    test = name.removesuffix(", free")
                    if (test == "dynamic" and target != C) or (test == "between" and ends is None):
                        continue
                    codes = decisions(test, ref, ends, target / C, Q, shrink)
                    for column, count in judge(codes, *proof).items():
                        counts[name + problem.name, column] += count


def refer(Q, losses, alpha, y):
    """Make a reference of dual variables."""
    signs = np.ones(alpha.size) if y is None else y
    dual, f = Dual.of(losses, signs, y is not None), signs * (Q @ alpha)
    return reference(np.sqrt(np.diag(Q)), f, signs * alpha, dual, dual.best_intercept(f))


def at(losses: SampleLosses, C: float) -> SampleLosses:
    """C times the losses."""
    return replace(losses, caps=C * losses.caps, shifts=losses.shifts / C)


def noisy(alpha, losses, noise: float, y, rng):
    moved, sizes = rng.random(alpha.size) < 0.3, losses.caps
    if losses.smooth:
        sizes = np.full(alpha.size, alpha.max(initial=0.0))
    moved = alpha + noise * moved * rng.normal(size=alpha.size) * sizes
    return balanced(np.clip(moved, 0.0, losses.caps), y)


def between(Q, losses, y, known, optima, target: float, noise: float, rng):
    """The point at the target between a known one and another beyond, or None."""
    C, point = known
    others = [other for other in optima if (other - target) * (C - target) < 0.0]
    if not others:
        return None
    other = others[rng.integers(len(others))]
    share = (target - C) / (other - C)
    beyond = noisy(optima[other], at(losses, other), noise, y, rng)
    middle = np.clip(point + share * (beyond - point), 0.0, at(losses, target).caps)
    return refer(Q, at(losses, target), middle, y)


def run(
    n_decisions=0, seed=0, kinds=KINDS, n=600, shrink=1.0, n_rounds=1, minutes=np.inf, make=problem
):  # fmt: skip
    """Check rounds of all kinds of problems until there are enough decisions, or time is over."""
    totals, done, started = {kind: Counter() for kind in kinds}, 0, time.monotonic()
    while done < n_rounds or total(totals, "checked") < n_decisions:
        if time.monotonic() - started > 60.0 * minutes:
            break
        for kind in kinds:
            rng = np.random.default_rng([seed, done, KINDS.index(kind)])
            # In one round of four Clarabel solves.
            size = n if done % 4 else min(n, SMALL)
            check(make(kind, rng, size), rng, totals[kind], shrink)
        done += 1
    return totals


def total(totals, column: str, kind: str | None = None, test: str | None = None) -> int:
    """Sum of a column over what is not given."""
    return sum(
        count
        for name, counts in totals.items()
        for (key, what), count in counts.items()
        if what == column and kind in (None, name) and test in (None, key)
    )


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--decisions", type=int, default=50_000_000)
    parser.add_argument("--minutes", type=float, default=np.inf, help="at most, but for a round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS), help="separated by commas")
    parser.add_argument("--shrink", type=float, default=1.0, help="factor of every radius")
    args = parser.parse_args(arguments)
    kinds = args.kinds.split(",")
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"unknown kinds {sorted(unknown)}; there are {', '.join(KINDS)}")
    print(f"{environment('clarabel')}; seed {args.seed}\n")
    started = time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings():
        # Of solves that stand for optima, to gaps that rounding errors may not allow.
        warnings.simplefilter("ignore", ConvergenceWarning)
        totals = run(args.decisions, args.seed, kinds, shrink=args.shrink, minutes=args.minutes)
    print(f"{'problem':18s} {'test':18s} {'checked':>13s} {'und.%':>6s} {'not judged':>11s} wrong")
    for kind in (*kinds, None):
        for test in (*ALL_TESTS, None) if kind is None else (None,):
            checked, undecided, unjudged, wrong = (
                total(totals, column, kind, test)
                for column in ("checked", "undecided", "not judged", "wrong")
            )
            share = 100.0 * undecided / max(checked + undecided + unjudged, 1)
            print(
                f"{kind or 'all problems':18s} {test or 'all tests':18s} {checked:>13,} "
                f"{share:6.1f} {unjudged:>11,} {wrong:>5,}"
            )
    checked, unjudged, wrong = (
        total(totals, column) for column in ("checked", "not judged", "wrong")
    )
    print(
        f"\n{checked:,} decisions checked, {unjudged:,} not judged, {wrong:,} wrong; "
        f"{time.perf_counter() - started:.0f} s"
    )
    return int(total(totals, "wrong") > 0)


if __name__ == "__main__":
    sys.exit(main())
