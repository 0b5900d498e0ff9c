"""Screening decisions against independent optima: not one may be wrong.

    python -m tests.proofs.safety.comparisons [--decisions 10_000_000] [--seed 0]
                                            [--kinds iris,outliers,...]

needs the `test` extra. Problems from real and from adversarial data are solved without any code of
skscreen (Clarabel, then Newton's method in plain numpy), for a full and for a diagonal metric, with
the smoothed hinge and with the hinge. Every bound and every rule then screens from references of
any accuracy that were solved at other values of lambda, and each item that is decided is compared
with the optimum. An optimum comes with a proven distance from the true one; an item whose margin
is nearer to the end of its part than that distance allows is counted as *not judged*, never as
right. The exit code is 1 if a decision is wrong. That the check can fail is seen with
`--shrink 0.9`, which makes every ball too small. Unions of bounds come on top of the decisions
that are asked for. Everything follows from the seed, a problem from its round, kind and metric.
"""

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.support.environment import environment
from skscreen.core.decisions import UNDECIDED
from skscreen.metric_learning.problem.objective import extend
from skscreen.metric_learning.screening.active import active_part, decide, leave_out
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import RULES, PaperScreening
from tests.proofs.judging import judge, shrunken
from tests.proofs.safety.comparison_problems import KINDS, Independent, Items, draw

# Each lambda is a reference for those within a factor of 0.5 to 1.5.
LAMS = (1.5, 1.0, 0.95, 0.75, 0.5)
NOISES = (0.0, 1e-8, 1e-5, 1e-3, 1e-2, 0.1)
GAMMAS = (0.05, 0.0, None, 0.5, 1e-3)

# What decides: each bound alone, unions, and a second pass over what the first has left.
CHOICES = {name: (name,) for name in BOUNDS}
CHOICES |= {"rrpb+pgb": ("rrpb", "pgb"), "all": tuple(BOUNDS)}
TWICE = "all, twice"


# -- judging -------------------------------------------------------------------------------------


def judged(explicit, optimum, codes, among=True) -> dict[str, int]:
    """Count decisions about some of the items, right, wrong and neither."""
    codes = np.where(among, codes, -1)
    low, high = optimum.margins - optimum.uncertainty, optimum.margins + optimum.uncertainty
    return judge(codes, low, high, explicit.threshold, explicit.threshold - explicit.depth)


@dataclass
class Tally:
    """Counts by kind of problem, bound and rule."""

    counts: dict = field(default_factory=dict)
    n_problems: int = 0
    n_unsolved: int = 0
    distances: list = field(default_factory=list)
    failures: list = field(default_factory=list)
    now: str = ""

    def add(self, kind, bound, rule, counts, where) -> None:
        """Add counts; what is wrong is kept with what it takes to see it again."""
        self.counts.setdefault((kind, bound, rule), Counter()).update(counts)
        if counts["wrong"]:
            self.failures.append((kind, self.now, bound, rule, where, counts["wrong"]))

    def of_single_bounds(self) -> int:
        """Number of checked decisions without those of unions."""
        return sum(self.total("checked", bound=bound) for bound in BOUNDS)

    def total(self, column, kind=None, bound=None, rule=None) -> int:
        """Sum of a column over what is not given."""
        wanted = (kind, bound, rule)
        return sum(
            counts[column]
            for key, counts in self.counts.items()
            if all(w in (None, k) for w, k in zip(wanted, key, strict=True))
        )


# -- the check -----------------------------------------------------------------------------------


def check(items: Items, kind: str, tally: Tally, rng, shrink: float = 1.0) -> None:
    """Screen one problem from references at several lambdas, and judge every decision."""
    explicit = items.explicit
    base = explicit.lam_max() * 10.0 ** rng.uniform(-5.0, 0.2)
    optima = solve(explicit, [base * factor for factor in LAMS], tally)
    tally.n_problems += 1
    for reference_lam, optimum in optima.items():
        noise = NOISES[rng.integers(len(NOISES))]
        problem, evaluation = reference(items, reference_lam, optimum, noise, rng)
        for lam, target in optima.items():
            if not 0.5 <= lam / reference_lam <= 1.5:
                continue
            balls = {
                name: shrunken(bound(evaluation, lam, reference_lam), shrink)
                for name, bound in BOUNDS.items()
            }
            for choice, names in CHOICES.items():
                for rule in RULES:
                    codes = np.zeros(len(items.near), dtype=np.int8)
                    decide(
                        problem.at(lam),
                        [balls[name] for name in names],
                        codes,
                        PaperScreening(rule=rule),
                    )
                    counts = judged(explicit, target, codes)
                    tally.add(kind, choice, rule, counts, (float(reference_lam), float(lam), noise))
        twice(items, kind, tally, reference_lam, optimum, rng, shrink)


def solve(explicit: Independent, lams, tally: Tally) -> dict:
    """Optima that an independent solver finds, each with its proven distance."""
    optima, last = {}, None
    for lam in lams:
        try:
            last = explicit.optimum(lam, last)
        except BaseException as error:
            # Clarabel may panic, with an exception that is no `Exception`.
            if type(error).__name__ not in ("PanicException", "SolverError"):
                raise
            tally.n_unsolved += 1
            continue
        size = np.linalg.norm(last.theta)
        tally.distances.append(last.radius / size if size else 0.0)
        optima[lam] = last
    return optima


def noisy(items: Items, theta, noise: float, rng):
    """A point of the cone at about a relative distance from another."""
    E = rng.normal(size=theta.shape)
    E = E if items.diagonal else E + E.T
    scale = noise * np.linalg.norm(theta) / np.linalg.norm(E)
    return items.problem.domain.project(theta + scale * E)


def reference(items: Items, lam: float, optimum, noise: float, rng):
    """The problem and its evaluation at a point near an optimum, as solvers leave them.

    Half of them with places in the order of the margins, half with dual variables that an active
    set has left behind.
    """
    problem, point = items.problem, noisy(items, optimum.theta, noise, rng)
    if rng.random() < 0.5:
        margins = problem.geometry.margins(point)
        problem = replace(problem, geometry=problem.geometry.sort_places(margins)[0])
    objective = problem.at(lam, items.proximal(optimum.alpha, rng))
    if items.gamma > 0.0 and rng.random() < 0.5:
        before = objective.evaluate(noisy(items, optimum.theta, 0.1, rng))
        return problem, extend(active_part(objective, before).evaluate(point), objective)
    return problem, objective.evaluate(point)


def twice(items: Items, kind, tally: Tally, lam, optimum, rng, shrink) -> None:
    """Screen what a first ball has left, from an evaluation of the reduced problem."""
    noise = NOISES[rng.integers(2, len(NOISES))]
    objective = items.problem.at(lam, items.proximal(optimum.alpha, rng))
    evaluation = objective.evaluate(noisy(items, optimum.theta, noise, rng))
    ball = BOUNDS["gap"](evaluation, lam, lam)
    first = np.zeros(len(items.near), dtype=np.int8)
    objective = leave_out(objective, decide(objective, [shrunken(ball, shrink)], first))
    evaluation = objective.evaluate(noisy(items, optimum.theta, 0.1 * noise, rng))
    balls = [shrunken(f(evaluation, lam, lam), shrink) for f in BOUNDS.values()]
    for rule in RULES:
        codes = first.copy()
        decide(objective, balls, codes, PaperScreening(rule=rule))
        counts = judged(items.explicit, optimum, codes, first == UNDECIDED)
        tally.add(kind, TWICE, rule, counts, (float(lam), float(lam), noise))


def run(n_decisions=0, seed=0, kinds=KINDS, n_items=300, shrink=1.0, n_rounds=1) -> Tally:
    """Check rounds of all kinds of problems, until enough decisions of single bounds are."""
    tally, done = Tally(), 0
    while done < n_rounds or tally.of_single_bounds() < n_decisions:
        for kind in kinds:
            for diagonal in (False, True):
                rng = np.random.default_rng([seed, done, KINDS.index(kind), diagonal])
                # The first rounds have one loss each, so that every kind meets the hinge early.
                gamma = GAMMAS[done if done < 3 else rng.integers(len(GAMMAS))]
                # From the second round on, so that the first ones are of one thing each.
                term = done > 0 and bool(rng.random() < 0.5)
                tally.now = f"round {done}, diagonal {diagonal}, gamma {gamma}, term {term}"
                check(draw(kind, diagonal, gamma, rng, n_items, term), kind, tally, rng, shrink)
        done += 1
    return tally


# -- the report ----------------------------------------------------------------------------------


def line(name: str, bound: str, counts) -> str:
    """One row: checked decisions and share of undecided items for each rule, then the failures."""
    cells = []
    for rule in RULES:
        checked, undecided = counts("checked", rule), counts("undecided", rule)
        share = undecided / max(checked + undecided + counts("not judged", rule), 1)
        cells.append(f"{checked:>12,} {100 * share:5.1f}")
    ends = " ".join(
        f"{sum(counts(c, rule) for rule in RULES):>10,}" for c in ("not judged", "wrong")
    )
    return f"{name:20s} {bound:11s} {'  '.join(cells)} {ends}"


def report(tally: Tally) -> None:
    head = "  ".join(f"{rule:>12s} und.%" for rule in RULES)
    title = f"{'problem':20s} {'bound':11s} {head} not judged      wrong"
    print(title)
    bounds = (*CHOICES, TWICE)
    for kind in (k for k in KINDS if tally.total("checked", k)):
        for bound in bounds:
            print(line(kind, bound, lambda c, r, k=kind, b=bound: tally.total(c, k, b, r)))
    print("\n" + title)
    for bound in bounds:
        print(line("all problems", bound, lambda c, r, b=bound: tally.total(c, None, b, r)))
    print(line("all problems", "all bounds", lambda c, r: tally.total(c, None, None, r)))


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--decisions", type=int, default=10_000_000, help="of single bounds, at least"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS), help="separated by commas")
    parser.add_argument("--items", type=int, default=300, help="largest number of a problem")
    parser.add_argument("--shrink", type=float, default=1.0, help="factor of every radius")
    args = parser.parse_args(arguments)
    kinds = args.kinds.split(",")
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"unknown kinds {sorted(unknown)}; there are {', '.join(KINDS)}")
    print(f"{environment('cvxpy')}; seed {args.seed}\n")
    started = time.perf_counter()
    with threadpool_limits(1):
        tally = run(args.decisions, args.seed, kinds, args.items, args.shrink)
    report(tally)
    distances = np.array(tally.distances)
    print(
        f"\n{tally.n_problems} problems, {distances.size} optima ({tally.n_unsolved} not found); "
        f"proven relative distance from the true optimum: median {np.median(distances):.0e}, "
        f"90 % {np.quantile(distances, 0.9):.0e}, largest {distances.max():.0e}\n"
        f"{tally.total('checked'):,} decisions checked ({tally.of_single_bounds():,} of single "
        f"bounds, the others of unions), {tally.total('not judged'):,} not judged, "
        f"{tally.total('wrong'):,} wrong; {time.perf_counter() - started:.0f} s"
    )
    for failure in tally.failures[:20]:
        print("wrong:", failure)
    return int(tally.total("wrong") > 0)


if __name__ == "__main__":
    sys.exit(main())
