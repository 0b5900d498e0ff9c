"""The solvers for the mean hinge loss over samples of a linear classifier, by name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from skscreen.pragam.bundle import bmrm, ls_bmrm
from skscreen.pragam.excessive_gap import excessive_gap
from skscreen.pragam.hinge_risk import HingeRisk
from skscreen.pragam.iterates import Certified, Iterate, follow
from skscreen.pragam.pegasos import pegasos, stochastic_pegasos
from skscreen.samples.intercept import best_intercepts
from skscreen.samples.rows import LinearSamples

# Most iterations by default; BMRM keeps a plane for each.
LIMITS = {"pragam": 100_000, "bmrm": 2_000, "ls-bmrm": 100_000, "pegasos": 100_000}


@dataclass(frozen=True)
class Solver:
    """A solver with its options; see `PragamSVC` for their meaning."""

    name: str = "pragam"
    lipschitz: float | None = None  # None finds one
    restart: bool = True
    batch_size: int | None = None
    projection: bool = True
    seed: int = 0

    def limit(self, n_samples: int) -> int:
        """Return the most iterations for a problem of that size."""
        if self.batch_size is None:
            return LIMITS[self.name]
        # Of small batches a thousand passes over the data.
        return 1_000 * -(-n_samples // self.batch_size)

    def iterates(
        self, risk: HingeRisk, samples: LinearSamples, start: "Start | None" = None,
        most: float = np.inf,
    ) -> Iterator[Iterate]:  # fmt: skip
        """Return the solver at work on a problem, which will take at most so many iterations."""
        start = start or Start()
        if self.name == "pragam":
            a = None if start.a is None else risk.start(start.a)
            return excessive_gap(risk, a, self.lipschitz, self.restart, start.w)
        if self.name == "bmrm":
            return bmrm(risk, start.w)
        if self.name == "ls-bmrm":
            return ls_bmrm(risk, start.w)
        if self.batch_size is None:
            return pegasos(risk, self.projection)
        return stochastic_pegasos(risk, samples, self.batch_size, self.seed, self.projection, most)


@dataclass(frozen=True)
class Start:
    """A solution of another problem on the same samples: weights and dual variables."""

    w: np.ndarray | None = None
    a: np.ndarray | None = None


def solve_hinge(
    samples: LinearSamples, weights: np.ndarray, C: float, solver: Solver, *,
    fit_intercept: bool, tol: float, max_iter: int | None = None, start: Start | None = None,
    watch: Callable[[int, float], None] | None = None,
) -> Certified:  # fmt: skip
    """Minimise lam/2 |w|^2 + 1/S sum_i s_i (1 - <z_i, w> - y_i b)_+, S = sum s, lam = 1 / (C S)."""
    # The `weights` s (n,) are positive; b = 0 without `fit_intercept`, else the middle one of the
    # best; `tol` is a relative gap.
    risk = HingeRisk(samples, weights, 1.0 / (C * float(weights.sum())), fit_intercept)
    max_iter = solver.limit(samples.n) if max_iter is None else max_iter
    found = follow(solver.iterates(risk, samples, start, max_iter), tol, max_iter, watch)
    b = 0.0
    if fit_intercept:
        kinks = samples.y * (1.0 - samples.margins(found.w))
        level = risk.caps[samples.y > 0.0].sum()
        b = 0.5 * sum(best_intercepts(kinks, risk.caps, level))
    found = replace(found, a=None if found.a is None else risk.variables(found.a))
    if risk.rounding(found.w, b) > 1e-9 * found.primal:
        found = _measured(samples, risk, found, b)
    return replace(found, b=samples.intercept(found.w, b))


def _measured(samples: LinearSamples, risk: HingeRisk, found: Certified, b: float) -> Certified:
    """Return a solution with its bounds in extended precision, of what users have."""
    short = 1.0 - samples.exact_margins(found.w, b)
    losses, square = risk.caps * np.maximum(short, 0.0), 0.5 * risk.lam * float(found.w @ found.w)
    primal, dual = square + float(losses.sum()), found.dual
    if found.a is not None:
        a = found.a.copy()
        if risk.free_intercept:
            # Projections keep sum_i y_i a_i = 0 up to errors of the largest caps only.
            risk.balance(short.astype(np.float64), a)
        # By a sum of terms that are not negative; next to long rows D itself has no digits.
        apart = found.w - samples.exact_combine(a) / risk.lam
        gap = (losses - a * short).sum() + 0.5 * risk.lam * (apart @ apart)
        found, dual = replace(found, a=a), primal - float(gap)
    return replace(found, primal=primal, dual=dual)
