"""Problems at a nu: their solution, by rows or by kernel values, one nu after the other.

In signed variables (`svm.dual`) all have the dual

    max t'beta - 1/2 beta'K beta,   low <= beta <= high,   sum_{i in g} beta_i = nu T_g

of one or two groups of samples. What the kinds differ in is in the file of each estimator.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import NuSVC, NuSVR, OneClassSVM

from skscreen._compiled import svm as loops
from skscreen.core.certificate import HISTORY, Certificate
from skscreen.core.floats import EPS
from skscreen.core.threads import blas_threads_for
from skscreen.samples.kernels.gram import KernelSamples
from skscreen.samples.multiclass import OneVsOne
from skscreen.samples.rows import LinearSamples
from skscreen.svm.certificate import certified
from skscreen.svm.dual import Dual
from skscreen.svm.nu.decided import Region, radius_at, region_of
from skscreen.svm.nu.samples import NuSamples
from skscreen.svm.roads import STEPS_TRIED
from skscreen.svm.screening.bounds import SLACK
from skscreen.svm.solvers.kernel.engine import STEPS_A_SAMPLE
from skscreen.svm.solvers.kernel.few import FewValues, first_part, solve_few
from skscreen.svm.solvers.kernel.solve import Start, solve_kernel
from skscreen.svm.solvers.linear.solve import solve_linear
from skscreen.svm.solvers.polish import polish
from skscreen.svm.solvers.solution import PairSolutions, SampleSolution, Solution
from skscreen.svm.uncertified import libsvm_steps

# Rows of the `history_` of several problems.
OF_PROBLEMS = np.dtype([("problem", np.int64), *HISTORY.descr])

# Least margin whose inverse has a square.
LEAST_RHO = 1e-150

# Rounding errors of scores, over those of fresh ones, from which on they are computed anew.
_WORN = 100.0

# Largest number of steps times samples, some tens of seconds: a nu below the share of samples that
# are on the wrong side of any solution may need any number.
_MOST_WORK = 3.8e10

# Least and largest sum of dual variables, as squares of such sums are divided by.
_LEAST_TOTAL, _LARGEST_TOTAL = 1e-80, 1e80


@dataclass(frozen=True)
class ShownAtNu(Solution):
    """A solution at a nu as users see it."""

    nu: float = np.nan

    @property
    def place(self) -> str:
        """Position on a path, in words."""
        return f"nu={self.nu:.3g}"


@dataclass(frozen=True)
class NuSolution(SampleSolution):
    """A solution at a nu, with the intercept of each group in `b`.

    `lifted` is what sums add to the primal value of the certificate; `progress` are rows of a
    `history_`.
    """

    nu: float = np.nan
    lifted: float = 0.0

    @property
    def place(self) -> str:
        """Position on a path, in words."""
        return f"nu={self.nu:.3g}"

    def shown(self, **changes: Any) -> ShownAtNu:
        """Return it as users see it, with what is other than in the solver's scale."""
        names = "beta", "w", "b", "certificate", "n_iter", "converged", "seconds", "history", "C"
        known = {name: getattr(self, name) for name in (*names, "nu")}
        return ShownAtNu(**{**known, **changes})

    @property
    def history_rows(self) -> list[tuple]:
        """What was known on the way, as rows of a `history_`; the gap is relative."""
        rows = [
            (n_iter, seconds, primal, primal - gap, gap / primal if primal > 0.0 else np.inf)
            for n_iter, seconds, primal, gap in self.progress
        ]
        found = self.certificate
        rows.append((self.n_iter, self.seconds, found.primal, found.dual, found.relative_gap))
        return rows


@dataclass
class NuSolver:
    """Solves for one nu after the other; starts are on the line of the last two solutions.

    The problem is that of nu = 1, with its sums; few samples, with values, are solved in one
    compiled call, which needs no more. With `lengths` (n,), squared
    ones, targets are lengths / 2 times the sum: the smallest sphere around samples, whose gap is
    relative to P itself, which is positive and the same wherever the origin.
    """

    given: NuSamples
    dual: Dual
    lengths: np.ndarray | None = None
    max_iter: int | None = None
    _known: tuple[NuSolution, ...] = ()
    # The least errors that scores of solutions had, a mean.
    _fresh: float = np.inf

    @property
    def samples(self) -> LinearSamples | KernelSamples:
        """Rows, or kernel values."""
        return self.given.samples

    @property
    def few(self) -> FewValues | None:
        """Values of few samples, and of others that are not of this problem."""
        return self.given.few

    @property
    def norms(self) -> np.ndarray:
        """Lengths of the samples, (n,)."""
        if self.few is None:
            return self.samples.norms
        sizes = self.few.sizes[self.given.places]
        return sizes if sizes.size == self.dual.target.size else np.tile(sizes, 2)

    @cached_property
    def capacities(self) -> np.ndarray:
        """The sum of the bounds in each group, positive."""
        return self.dual.sums_of(self.dual.width)

    def at(self, nu: float) -> Dual:
        """Return the problem at a nu."""
        # No more than there is room for: rounding errors of the largest nu.
        most = self.capacities
        sums = np.minimum(np.maximum(nu * self.dual.sums, -most), most)
        target = self.dual.target if self.lengths is None else 0.5 * sums[0] * self.lengths
        return self.dual._replace(target=target, sums=sums)

    def solve(self, nu: float, tol: float) -> NuSolution:
        """Solve for one nu; the solution is what the next one starts from."""
        began, dual = time.perf_counter(), self.at(nu)
        start, wanted, spent, progress = self._start(dual), float(tol), 0, []
        for _ in range(4):
            left = None if self.max_iter is None else max(self.max_iter - spent, 0)
            before = time.perf_counter() - began
            found = self._solved(dual, start, wanted, left)
            progress += [
                (spent + n_iter, before + seconds, *values)
                for n_iter, seconds, *values in found.progress
            ]
            spent += found.n_iter
            lifted = float(np.sum(found.b * dual.sums))
            primal, gap = found.certificate.primal, found.certificate.gap
            allowed = tol * (primal if self.lengths is None else primal + lifted)
            if gap <= allowed or not found.converged or not primal > 0.0:
                break
            # The value that the gap of a sphere is relative to is known now.
            wanted = 0.5 * allowed / primal
            if wanted < EPS:
                # No gap of sums of this size is so small: of a sphere next to a point.
                break
            start = Start(found.beta, found.beta, found.scores, found.errors)
        own = {
            "n_iter": spent, "converged": gap <= allowed, "progress": tuple(progress),
            "seconds": time.perf_counter() - began, "nu": float(nu), "lifted": lifted,
        }  # fmt: skip
        solution = NuSolution(**{**vars(found), **own})
        self._known = (*self._known[-1:], solution)
        return solution

    def without_weights(self, nu: float) -> NuSolution:
        """Return w = 0 for samples that stand twice, both with the same dual variables.

        Intercepts are the largest and the smallest target.
        """
        dual = self.at(nu)
        ends = np.array([dual.target.max(), dual.target.min()])
        beta = dual.ends * float(dual.sums[0]) / self.capacities[0]
        return NuSolution(
            beta, np.zeros(beta.size), None, Certificate(0.0, 0.0, 0.0), 0, True, 0.0,
            b=ends, nu=nu,
        )  # fmt: skip

    def _of_few(self, dual: Dual, start: Start | None, tol: float, limit: int) -> SampleSolution:
        """Return what one compiled call finds."""
        few: Any = self.few
        n, places = dual.target.size, self.given.places
        beta = np.zeros(n) if start is None else np.array(start.beta)
        part = first_part(n, n > places.size)
        found = solve_few(few, places, dual, beta, (tol, part, limit))
        dual.check_length(float(beta @ found.f), beta, self.norms)
        certificate = Certificate(found.primal, found.primal - found.gap, found.gap)
        return SampleSolution(
            beta=beta, scores=found.f, w=None, certificate=certificate, n_iter=found.n_iter,
            converged=found.gap <= tol * found.primal, seconds=0.0,
            b=np.array(found.b) if dual.group.size else found.b[0], errors=found.errors,
        )  # fmt: skip

    def _solved(self, dual: Dual, start: Start | None, tol, limit) -> SampleSolution:
        if self.few is None:
            with blas_threads_for(self.samples.width):
                return self._of_more(dual, start, tol, limit)
        most = int(min(STEPS_A_SAMPLE * dual.target.size, self.given.road.most_steps))
        found = self._of_few(dual, start, tol, most if limit is None else limit)
        if found.converged or limit is not None:
            return found
        with blas_threads_for(0.0):
            more = self._of_more(dual, Start(found.beta), tol, limit)
        return replace(more, n_iter=found.n_iter + more.n_iter)

    def _of_more(self, dual: Dual, start: Start | None, tol, limit) -> SampleSolution:
        """Return what rows, or working sets, find."""
        limits, n = {} if limit is None else {"max_iter": limit}, dual.target.size
        if isinstance(self.samples, LinearSamples):
            begin = None if start is None else start.beta
            found = solve_linear(
                self.samples, dual, start=begin, tol=tol, screening=False, **limits
            )
            return certified(self.samples, dual, found, tol)
        if limit is None:
            limits = {"max_iter": int(min(STEPS_A_SAMPLE * n, _MOST_WORK / n))}
        road = self.given.unsolved.road
        found = solve_kernel(
            self.samples, dual, start=start, tol=tol, exact=road.exact, double=road.double, **limits
        )
        if not found.converged or tol <= road.polished:
            found = polish(self.samples, dual, found)
        return certified(self.samples, dual, found, tol)

    def _start(self, dual: Dual) -> Start | None:
        """Return a start near the last solution: on the line through the last two.

        Samples at a bound stay there, and those with the largest slopes fill the sums.
        """
        if not self._known:
            return None
        last = self._known[-1]
        beta, f = last.beta, last.scores
        if len(self._known) > 1:
            first = self._known[0]
            sums = [np.abs(dual.sums_of(known.beta))[0] for known in self._known]
            if sums[0] != sums[1]:
                share = float((abs(dual.sums[0]) - sums[1]) / (sums[1] - sums[0]))
                beta = beta + share * (beta - first.beta)
                f = f + share * (f - first.scores)
        wanted = np.clip(beta, dual.low, dual.high)
        held = (last.beta == dual.low) | (last.beta == dual.high)
        wanted[held] = last.beta[held]
        if self.few is None and isinstance(self.samples, LinearSamples):
            return Start(wanted)
        wanted = dual.filled(wanted, dual.target - f)
        errors = _errors(last)
        self._fresh = min(self._fresh, float(np.mean(errors)))
        if float(np.mean(errors)) > _WORN * self._fresh:
            return Start(wanted)
        return Start(wanted, last.beta, last.scores, last.errors)

    def region(self, beta: np.ndarray, nu: float) -> tuple[Dual, Region]:
        """Return the problem at a nu, and where its exact solutions are, from any beta (n,)."""
        samples, norms, dual = self.samples, self.samples.norms, self.at(nu)
        beta = np.clip(beta, dual.low, dual.high)
        f = samples.q_dot(beta)
        # Samples nearest to the margin fill the sums of another nu.
        moved = dual.filled(beta, dual.target - f)
        change = moved - beta
        effect = samples.q_dot(change) if change.any() else np.zeros(f.size)
        apart = float(np.sqrt(max(float(change @ effect), 0.0)))
        rounding = SLACK * EPS * float((np.abs(beta) + np.abs(change)) @ norms)
        errors, apart = rounding * norms, apart + rounding
        radius = radius_at(dual, moved, f, errors, apart, rounding)
        return dual, region_of(dual, f + 0.5 * effect, radius * norms)


def _errors(found: SampleSolution) -> np.ndarray:
    """Return bounds on the errors of scores; zeros where they are those of double precision."""
    return np.zeros(found.beta.size) if found.errors is None else found.errors


def solve_pairs(
    values: FewValues, division: OneVsOne, nu: float, tol: float
) -> tuple[PairSolutions, np.ndarray, np.ndarray]:
    """Return solutions, as those of C-SVCs, rows of their history, and which are not solved."""
    began = time.perf_counter()
    sizes, order = [rows.size for rows in division.members], np.concatenate(division.members)
    caps, ends = division.labels.weights[order], np.cumsum(sizes)
    dual, found = np.empty((len(sizes) - 1, order.size)), np.empty((division.n_problems, 5))
    limits = tol, first_part(sum(sorted(sizes)[-2:]), False), STEPS_TRIED
    loops.solve_pairs_of_few(values.taken(order), ends, caps, True, nu, limits, dual, found)
    above, gaps, primals, steps, below = found.T
    rho = 0.5 * (below - above)
    solved = (gaps <= min(tol, 1e100) * primals) & (rho >= LEAST_RHO)
    C = np.divide(1.0, rho, out=np.ones(rho.size), where=solved)
    signed, n_iters = np.empty(dual.shape), steps.astype(np.int64)
    signed[:, order] = dual
    signed *= _of_samples(C, division)
    history = np.zeros(rho.size, OF_PROBLEMS)
    history["problem"], history["iteration"] = np.arange(rho.size), n_iters
    history["primal"], history["dual"] = primals, primals - gaps
    history["gap"] = np.divide(gaps, primals, out=np.full(rho.size, np.inf), where=primals > 0.0)
    # A mean: all are known at the end of the call.
    history["seconds"] = (time.perf_counter() - began) / rho.size
    b, square = C * 0.5 * (above + below), C * C
    out = PairSolutions(C, signed, b, square * gaps, square * primals, n_iters)
    return out, history, ~solved


def _of_samples(of_pairs: np.ndarray, division: OneVsOne) -> np.ndarray:
    """Return numbers of the pairs as `OneVsOne.dual_coefs` has those of their samples."""
    n = len(division.members)
    both = np.zeros((n, n))
    first, second = np.triu_indices(n, 1)
    both[first, second] = both[second, first] = of_pairs
    of_class: np.ndarray = both[~np.eye(n, dtype=np.bool_)].reshape(n, n - 1)
    return of_class[division.labels.codes].T


def by_libsvm(
    kind: type[NuSVC | NuSVR | OneClassSVM],
    K: np.ndarray,
    y: np.ndarray | None,
    weights: np.ndarray,
    max_iter: int | None,
    **options: Any,
) -> NuSolution:
    """Return LIBSVM's point for an indefinite kernel."""
    began, limit = time.perf_counter(), libsvm_steps(max_iter)
    model = kind(kernel="precomputed", max_iter=limit, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(K, y, sample_weight=weights)
    beta = np.zeros(len(K))
    beta[model.support_] = model.dual_coef_[0]
    n_iter = int(np.sum(model.n_iter_))
    return NuSolution(
        beta, K @ beta, None, Certificate(np.nan, np.nan, np.nan), n_iter,
        converged=n_iter < limit, seconds=time.perf_counter() - began,
        b=float(model.intercept_[0]), nu=options["nu"],
    )  # fmt: skip


def check_total(nu: float, weights: np.ndarray) -> None:
    """Refuse a nu whose dual variables have sums of which products under- or overflow."""
    with np.errstate(over="ignore"):
        total = nu * float(weights.sum())
    if not total <= _LARGEST_TOTAL:
        raise ValueError(
            f"sample_weight must have a sum that is, times nu={nu:g}, at most "
            f"{_LARGEST_TOTAL:g}, or products overflow; got {total:g}."
        )
    if total < _LEAST_TOTAL:
        raise vanished(
            f"times the weights it is below {_LEAST_TOTAL:g}, and products underflow", nu
        )


def vanished(reason: str, nu: float) -> ValueError:
    """Return the error of a problem whose solution is w = 0, in the words of its parameter."""
    return ValueError(f"nu={nu:g} is too small: {reason}. Raise nu, or choose another kernel.")
