"""Problems at a nu: their solution, by rows or by kernel values, one nu after the other.

In signed variables (`svm.certificate`) all have the dual

    max t'beta - 1/2 beta'K beta,   low <= beta <= high,   sum_{i in g} beta_i = nu T_g

of one or two groups of samples. What the kinds differ in is in the file of each estimator.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import NuSVC, NuSVR, OneClassSVM

from skscreen.core.certificate import HISTORY, Certificate
from skscreen.core.floats import EPS
from skscreen.core.threads import blas_threads_for
from skscreen.samples.kernels.gram import KernelSamples
from skscreen.samples.losses import SampleLosses
from skscreen.samples.rows import LARGEST_SINGLE, LinearSamples
from skscreen.svm.certificate import Box, Sums
from skscreen.svm.nu.decided import Region, radius_at, region_of
from skscreen.svm.screening.bounds import SLACK
from skscreen.svm.solvers.kernel.engine import STEPS_A_SAMPLE
from skscreen.svm.solvers.kernel.few import FewValues, solve_few
from skscreen.svm.solvers.kernel.solve import Start, solve_kernel
from skscreen.svm.solvers.linear.solve import solve_linear
from skscreen.svm.solvers.polish import polish
from skscreen.svm.solvers.solution import SampleSolution

# Rounding errors of scores, over those of fresh ones, from which on they are computed anew.
_WORN = 100.0

# Largest number of steps times samples, some tens of seconds: a nu below the share of samples that
# are on the wrong side of any solution may need any number.
_MOST_WORK = 5e10

# Samples up to which a solution costs little to polish.
_POLISHED = 1000


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

    @property
    def history_rows(self) -> np.ndarray:
        """What was known on the way, as a `history_`; the gap is relative."""
        rows = [
            (n_iter, seconds, primal, primal - gap, gap / primal if primal > 0.0 else np.inf)
            for n_iter, seconds, primal, gap in self.progress
        ]
        found = self.certificate
        rows.append((self.n_iter, self.seconds, found.primal, found.dual, found.relative_gap))
        return np.array(rows, HISTORY)


@dataclass
class NuSolver:
    """Solves for one nu after the other; starts are on the line of the last two solutions.

    Losses of the samples that `make` returns, with signs y (n,); few of them, with values, are
    solved in one compiled call, which needs no more. `totals` are the sums at nu = 1, `group` (n,)
    as of a `Box`. With `lengths` (n,), squared ones, thresholds are lengths / 2 times the sum: the
    smallest sphere around samples, whose gap is relative to P itself, which is positive and the
    same wherever the origin.
    """

    make: Callable[[], LinearSamples | KernelSamples]
    y: np.ndarray
    losses: SampleLosses
    totals: np.ndarray
    group: np.ndarray = field(default_factory=lambda: np.empty(0, np.int8))
    lengths: np.ndarray | None = None
    max_iter: int | None = None
    few: FewValues | None = None
    _known: tuple[NuSolution, ...] = ()
    # The least errors that scores of solutions had, a mean.
    _fresh: float = np.inf

    @cached_property
    def samples(self) -> LinearSamples | KernelSamples:
        """Rows, or kernel values."""
        return self.make()

    @property
    def norms(self) -> np.ndarray:
        """Lengths of the samples, (n,)."""
        if self.few is None:
            return self.samples.norms
        return np.tile(self.few.sizes, self.y.size // self.few.sizes.size)

    @cached_property
    def _is_large(self) -> bool:
        """Whether kernel values do not fit into single precision."""
        return float(self.samples.norms.max(initial=0.0)) ** 2 > LARGEST_SINGLE

    @cached_property
    def capacities(self) -> np.ndarray:
        """The sum of the bounds in each group, positive."""
        if not self.group.size:
            return np.array([self.losses.caps.sum()])
        return np.bincount(self.group, self.losses.caps, minlength=self.totals.size)

    def at(self, nu: float) -> tuple[SampleLosses, Sums]:
        """Return the losses and the sums of beta at a nu."""
        # No more than there is room for: rounding errors of the largest nu.
        totals = np.clip(nu * self.totals, -self.capacities, self.capacities)
        losses = self.losses
        if self.lengths is not None:
            losses = replace(losses, thresholds=0.5 * totals[0] * self.lengths)
        return losses, Sums(totals, self.group)

    def solve(self, nu: float, tol: float) -> NuSolution:
        """Solve for one nu; the solution is what the next one starts from."""
        began, (losses, sums) = time.perf_counter(), self.at(nu)
        box = Box.of(losses, self.y, True, sums)
        start, wanted, spent, progress = self._start(box), float(tol), 0, []
        with blas_threads_for(0.0 if self.few is not None else self.samples.width):
            for _ in range(4):
                left = None if self.max_iter is None else max(self.max_iter - spent, 0)
                before = time.perf_counter() - began
                found = self._solved(losses, sums, start, wanted, left)
                progress += [
                    (spent + n_iter, before + seconds, *values)
                    for n_iter, seconds, *values in found.progress
                ]
                spent += found.n_iter
                lifted = float(np.sum(found.b * sums.totals))
                primal, gap = found.certificate.primal, found.certificate.gap
                allowed = tol * (primal if self.lengths is None else primal + lifted)
                if gap <= allowed or not found.converged:
                    break
                # The value that the gap of a sphere is relative to is known now.
                wanted = 0.5 * allowed / primal
                start = Start(found.alpha, found.alpha, found.margins, _errors(found))
        solution = NuSolution(
            **{**vars(found), "n_iter": spent, "converged": gap <= allowed, "nu": float(nu)},
        )
        seconds = time.perf_counter() - began
        solution = replace(solution, lifted=lifted, seconds=seconds, progress=tuple(progress))
        self._known = (*self._known[-1:], solution)
        return solution

    def without_weights(self, nu: float) -> NuSolution:
        """Return w = 0 for samples that stand twice, both with the same dual variables."""
        n, caps = self.y.size, self.losses.caps
        alpha = caps * float(self.at(nu)[1].totals[0]) / self.capacities[0]
        return NuSolution(
            alpha, np.zeros(n), None, Certificate(0.0, 0.0, 0.0), 0, True, 0.0,
            b=np.zeros(self.totals.size), nu=nu,
        )  # fmt: skip

    def _of_few(self, box: Box, start: Start | None, tol: float, limit: int) -> SampleSolution:
        """Return what one compiled call finds."""
        few: Any = self.few
        y = self.y
        beta = np.zeros(y.size) if start is None else y * start.alpha
        found = solve_few(few, box, y.size > few.sizes.size, beta, tol, limit)
        box.check_length(float(beta @ found.f), beta, self.norms)
        certificate = Certificate(found.primal, found.primal - found.gap, found.gap)
        return SampleSolution(
            alpha=np.abs(beta), margins=y * found.f, w=None, certificate=certificate,
            n_iter=found.n_iter, converged=found.gap <= tol * found.primal, seconds=0.0,
            b=np.array(found.b) if self.group.size else found.b[0], errors=found.errors,
        )  # fmt: skip

    def _solved(self, losses, sums, start: Start | None, tol, limit) -> SampleSolution:
        limits, n = {} if limit is None else {"max_iter": limit}, self.y.size
        if self.few is not None:
            box = Box.of(losses, self.y, True, sums)
            found = self._of_few(box, start, tol, STEPS_A_SAMPLE * n if limit is None else limit)
            if found.converged or limit is not None:
                return found
            start = Start(found.alpha)
        if isinstance(self.samples, LinearSamples):
            begin = None if start is None else start.alpha
            return solve_linear(
                self.samples, losses, free=True, total=float(sums.totals[0]), start=begin,
                tol=tol, screening=False, **limits,
            )  # fmt: skip
        if limit is None:
            limits = {"max_iter": int(min(STEPS_A_SAMPLE * n, _MOST_WORK / n))}
        found = solve_kernel(
            self.samples,
            losses,
            free=True,
            sums=sums,
            start=start,
            tol=tol,
            exact=False,
            double=self.samples.gram.whole is not None or self._is_large,
            **limits,
        )
        if found.converged and (tol > 1e-4 or (self.samples.n > _POLISHED and tol > 1e-8)):
            return found
        return polish(self.samples, losses, found, self.samples.y, sums)

    def _start(self, box: Box) -> Start | None:
        """Return a start near the last solution: on the line through the last two.

        Samples at a bound stay there, and those with the largest slopes fill the sums.
        """
        if not self._known:
            return None
        last, y = self._known[-1], self.y
        alpha, margins = last.alpha, last.margins
        if len(self._known) > 1:
            first = self._known[0]
            sums = [np.abs(box.sums_of(y * known.alpha))[0] for known in self._known]
            if sums[0] != sums[1]:
                share = float((abs(box.sums[0]) - sums[1]) / (sums[1] - sums[0]))
                alpha = alpha + share * (alpha - first.alpha)
                margins = margins + share * (margins - first.margins)
        wanted = np.clip(alpha, 0.0, self.losses.caps)
        held = (last.alpha == 0.0) | (last.alpha == self.losses.caps)
        wanted[held] = last.alpha[held]
        if self.few is None and isinstance(self.samples, LinearSamples):
            return Start(wanted)
        wanted = y * box.filled(y * wanted, box.target - y * margins)
        errors = _errors(last)
        self._fresh = min(self._fresh, float(np.mean(errors)))
        if float(np.mean(errors)) > _WORN * self._fresh:
            return Start(wanted)
        return Start(wanted, last.alpha, last.margins, errors)

    def region(self, alpha: np.ndarray, nu: float) -> tuple[Box, Region]:
        """Return the problem at a nu, and where its exact solutions are, from any alpha (n,)."""
        samples, (losses, sums) = self.samples, self.at(nu)
        y, norms, box = samples.y, samples.norms, Box.of(losses, samples.y, True, sums)
        alpha = np.clip(alpha, 0.0, losses.caps)
        f = y * samples.q_dot(alpha)
        # Samples nearest to the margin fill the sums of another nu.
        moved = box.filled(y * alpha, box.target - f)
        change = moved - y * alpha
        effect = y * samples.q_dot(y * change) if change.any() else np.zeros(f.size)
        apart = float(np.sqrt(max(float(change @ effect), 0.0)))
        rounding = SLACK * EPS * float((alpha + np.abs(change)) @ norms)
        errors, apart = rounding * norms, apart + rounding
        radius = radius_at(box, moved, f, errors, apart, rounding)
        return box, region_of(box, f + 0.5 * effect, radius * norms)


def _errors(found: SampleSolution) -> np.ndarray:
    """Return bounds on the errors of margins; zeros where they are those of double precision."""
    return np.zeros(found.alpha.size) if found.errors is None else found.errors


def by_libsvm(
    kind: type[NuSVC | NuSVR | OneClassSVM],
    K: np.ndarray,
    y: np.ndarray | None,
    weights: np.ndarray,
    max_iter: int | None,
    **options: Any,
) -> NuSolution:
    """Return LIBSVM's point for an indefinite kernel, as users see it: signed `alpha`."""
    began, limit = time.perf_counter(), max_iter or -1
    model = kind(kernel="precomputed", max_iter=limit, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(K, y, sample_weight=weights)
    beta = np.zeros(len(K))
    beta[model.support_] = model.dual_coef_[0]
    n_iter = int(np.sum(model.n_iter_))
    return NuSolution(
        beta, K @ beta, None, Certificate(np.nan, np.nan, np.nan), n_iter,
        converged=limit < 0 or n_iter < limit, seconds=time.perf_counter() - began,
        b=float(model.intercept_[0]), nu=options["nu"],
    )  # fmt: skip


def vanished(reason: str, nu: float) -> ValueError:
    """Return the error of a problem whose solution is w = 0, in the words of its parameter."""
    return ValueError(f"nu={nu:g} is too small: {reason}. Raise nu, or choose another kernel.")
