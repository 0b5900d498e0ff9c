"""Problems with a kernel: one entrance to the engine."""

from time import perf_counter
from typing import NamedTuple

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.certificate import Certificate
from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.core.floats import EPS
from skscreen.samples.kernels.gram import KernelSamples
from skscreen.svm.certificate import Point
from skscreen.svm.dual import Dual, View
from skscreen.svm.roads import Exact
from skscreen.svm.screening.bounds import SLACK
from skscreen.svm.solvers.kernel.engine import DIGITS, LARGEST, STEPS_A_SAMPLE, Engine
from skscreen.svm.solvers.kernel.interior import interior_point
from skscreen.svm.solvers.kernel.levels import from_nothing
from skscreen.svm.solvers.kernel.low_rank import solve_factored
from skscreen.svm.solvers.solution import SampleSolution, since


class Start(NamedTuple):
    """Dual variables to start from; if known, the scores of others near them.

    Without bounds on their errors scores count as those of double precision.
    """

    beta: np.ndarray
    known: np.ndarray | None = None
    scores: np.ndarray | None = None
    errors: np.ndarray | None = None


def solve_kernel(
    samples: KernelSamples,
    dual: Dual,
    *,
    start: np.ndarray | Start | None = None,
    fixed: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    double: bool = False,
    exact: Exact = "all",
    interior: bool = False,
    levels: bool = True,
) -> SampleSolution:
    """Solve a problem to a certified relative duality gap.

    `start` are dual variables (n,) of any problem. `fixed` (n,) are codes of decisions from safe
    screening: they are trusted, but the full certificate is what decides. `max_iter` limits steps
    of SMO and Newton's method together. `double` asks for scores in double precision from the
    beginning, `exact` for scores in it at the end, see `Road`.
    `interior` tells a regression without a tube whose matrix is in memory. Without a start, and in
    tiles, `levels` find one on growing parts of the samples.
    """
    began = perf_counter()
    limit = STEPS_A_SAMPLE * samples.n if max_iter is None else max_iter
    codes = np.zeros(samples.n, np.int8) if fixed is None else fixed.astype(np.int8)
    codes[dual.low == dual.high] = ZERO
    in_tiles = samples.gram.whole is None and not double
    problem = _Problem(samples, dual, codes, tol, limit, in_tiles)
    if start is None and problem.engine.whole:
        problem.engine.least = 500
    inside = interior and _is_far_inside(samples, dual)
    if inside:
        start, problem.engine.n_steps = _from_inside(samples, dual, 0.1 * tol)
        # Where that is not enough steps of other methods are of no use either.
        problem.engine.max_steps = min(problem.engine.max_steps, 4 * samples.n)
    if not isinstance(start, Start):
        start = None if start is None else Start(start)
    grows = levels and start is None and not (problem.engine.whole or problem.has_held)
    point = from_nothing(problem.engine, problem.dual) if grows else problem.start(start)
    view = problem.solve(point)
    attempts = [problem.on_all]
    # Where rounding errors have led to a wrong decision whoever has decided takes it back. With
    # prescribed sums there is neither a system of the features alone, nor a point of zeros.
    if not (codes[dual.low < dual.high].any() or inside or dual.sums.any()):
        attempts += [problem.by_factor, problem.from_zero]
    for attempt in attempts:
        if view.gap <= tol * view.primal:
            break
        point, view = attempt(point, view)
    return problem.solution(point, view, exact, perf_counter() - began)


def _is_far_inside(samples: KernelSamples, dual: Dual) -> bool:
    """Whether bounds are so wide that hardly any dual variable of a regression reaches them."""
    least = float(dual.width.min())
    reach = least * float(samples.diagonal.mean())
    return bool(0.0 < least and reach > 100.0 * np.abs(dual.target).max())


def _from_inside(samples: KernelSamples, dual: Dual, tol: float) -> tuple[np.ndarray, int]:
    """Return dual variables of both sides of a regression without a tube, and the steps taken."""
    n = samples.n // 2
    K = np.asarray(samples.gram.whole)
    K = K + samples.bias**2 if samples.bias else K
    beta, steps = interior_point(K, dual.target[:n], dual.high[:n], dual.free, tol)
    return np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)]), steps


class _Problem:
    """The problem of some samples, what is decided of them, and the engine that solves it."""

    def __init__(
        self, samples, dual: Dual, codes: np.ndarray, tol: float, limit: int, in_tiles: bool
    ):
        self.samples, self.whole, self.tol, self._limit = samples, dual, tol, limit
        # The problem with decided samples held at their bounds.
        self.dual, self.has_held = dual.held(codes), bool((codes == LINEAR).any())
        if in_tiles:
            # More of them in single precision lead nowhere.
            limit = min(limit, 40 * samples.n)
            self.engine = Engine(samples.gram, samples.bias**2, samples.diagonal, limit, tol)
        else:
            self.engine = self._on_all()

    def _on_all(self, spent: int = 0) -> Engine:
        """Return the engine for all samples at once, in memory or of values of whatever size."""
        samples, limit = self.samples, self._limit
        if not self.whole.sums.any():
            # Half of the steps that are left: the others are for a factor, if the rank is low.
            limit = (spent + limit + 1) // 2
        gram, diagonal = samples.gram, samples.diagonal
        # For the largest set, as only what is written to takes memory.
        m = min(gram.n, LARGEST)
        memory = np.empty(m * (m + loops.SMO_LANES), np.float32)
        own, shifts = np.zeros(gram.n), self.whole.shifts
        if self.whole.free:
            # A free intercept takes up what is next to the first sample. Single precision would
            # leave nothing of what differs between values next to each other.
            first = np.empty((1, gram.n))
            gram.block(np.zeros(1, np.int64), np.arange(gram.n), first)
            own = first[0] - 0.5 * first[0, 0]
        sizes = diagonal - 2.0 * own + (shifts if shifts.size else 0.0)
        largest = float(np.max(sizes, where=np.isfinite(sizes), initial=0.0))
        # A power of two rounds nothing, with a finite reciprocal; single precision ends at 1e38.
        unit = 2.0 ** max(round(np.log2(largest)), -1000) if largest > 0.0 else 1.0
        return Engine(
            gram, samples.bias**2, diagonal, limit, self.tol, 300, whole=True, own=own, unit=unit,
            memory=memory, n_steps=spent,
        )  # fmt: skip

    def is_solved(self, view: View) -> bool:
        """Whether a point meets the tolerance; NaN, where a primal value overflows, is no gap."""
        return not view.gap > self.tol * view.primal

    def on_all(self, point: Point, view: View) -> tuple[Point, View]:
        """Go on from an unsolved point of tiles with all samples at once, in double precision."""
        # Single precision is not enough for flat kernels with a huge C, or for very few steps.
        if self.is_solved(view) or self.engine.whole or self.engine.n_steps >= self._limit:
            return point, view
        self.engine = self._on_all(self.engine.n_steps)
        point = self.engine.point(np.arange(self.samples.n), point.beta)
        return point, self.solve(point)

    def from_zero(self, point: Point, view: View) -> tuple[Point, View]:
        """Return nothing at all where steps went along what rounding errors leave of a kernel."""
        if view.gap <= view.primal:
            return point, view
        point = self.start(None)
        return point, self.engine.certificate_of(self.whole, point)[0]

    def start(self, start: Start | None) -> Point:
        """Return a point to start from, in the box of what is undecided."""
        engine, dual, n = self.engine, self.dual, self.samples.n
        everyone, begin = np.arange(n), np.zeros(n) if start is None else start.beta
        beta = dual.balanced(np.clip(begin, dual.low, dual.high))
        if start is None or start.known is None or start.scores is None:
            return engine.point(everyone, beta)
        change, errors = engine.scores(everyone, beta, everyone, before=start.known)
        norms = self.samples.norms
        if start.errors is not None:
            errors += start.errors
        # Sums of many terms of one sign have larger errors than estimated.
        digits = 64.0 if start.errors is None else 1.0
        errors += digits * EPS * float(np.abs(start.known) @ norms) * norms
        return Point(beta, start.scores + change, errors, np.zeros(n, np.bool_))

    def solve(self, point: Point) -> View:
        """Solve the problem of what is undecided; return the certificate of the whole problem."""
        engine, everyone = self.engine, np.arange(self.samples.n)
        # Passes before the last ones may leave half of the tolerance.
        enough = max(0.5 * self.tol, 0.0 if engine.whole else DIGITS)
        engine.improve(everyone, self.dual, point, enough)
        engine.improve(everyone, self.dual, point, self.tol, certified=True)
        view = engine.certificate_of(self.whole, point)[0]
        # Some of the tolerance is for errors of values in memory, which no step makes smaller.
        left = self.tol - self._unsure(point, view) if engine.whole else self.tol
        if left * view.primal < view.gap <= self.tol * view.primal and left > 0.0:
            engine.improve(everyone, self.dual, point, 0.5 * left)
            view = engine.certificate_of(self.whole, point)[0]
        return view

    def _unsure(self, point: Point, view: View) -> float:
        """Return what errors of kernel values add to the relative gap of a point at most."""
        errors = point.errors + self.samples.value_errors(np.abs(point.beta))
        most = self.whole.largest_gap(point.beta, point.f, errors)[0]
        return (most.gap - view.gap) / view.primal if view.primal > 0.0 else 0.0

    def by_factor(self, point: Point, view: View) -> tuple[Point, View]:
        """Return a better one than an unsolved point where the kernel matrix has a low rank."""
        if self.is_solved(view) or not self.engine.whole:
            return point, view
        engine, left = self.engine, self._limit - self.engine.n_steps
        engine.max_steps = self._limit
        if left <= 0:
            return point, view
        # More precisely, as K differs a little from that of the factor.
        found = solve_factored(self.samples, self.whole, point.beta, 0.01 * self.tol, left)
        if found is None:
            return point, self.solve(point)
        engine.n_steps += found.n_iter
        other = self.start(Start(found.beta))
        # Where values have rounding errors of single precision passes gain little, but gain.
        for _ in range(5):
            better = self.solve(other)
            solved = better.gap <= self.tol * better.primal
            if solved or engine.n_steps >= engine.max_steps:
                break
        return (other, better) if better.gap < view.gap else (point, view)

    def _measure_some(self, point: Point, view: View) -> View:
        """Have scores in double precision that decide samples, or make losses uncertain."""
        dual, n = self.whole, self.samples.n
        norms, beta = self.samples.norms, point.beta
        codes = dual.decided_by_gap(norms, beta, point.f, view.b, 0.0, point.errors)
        losses = dual.largest_gap(beta, point.f, point.errors)[2]
        matters = codes == UNDECIDED
        if losses.sum() > 0.1 * self.tol * view.primal:
            matters |= losses > 0.0
        J = np.flatnonzero(matters & ~point.exact)
        if J.size == 0:
            return view
        point.f[J], point.errors[J] = self.engine.scores(np.arange(n), beta, J, double=True)
        point.exact[J] = True
        return dual.largest_gap(beta, point.f, point.errors)[0]

    def solution(self, point: Point, view: View, exact: Exact, seconds: float) -> SampleSolution:
        """Return the point with its certificate."""
        samples, engine = self.samples, self.engine
        beta = np.clip(point.beta, self.whole.low, self.whole.high)
        usual = 0.5 * SLACK * EPS * float(np.abs(beta) @ samples.norms)
        rounding = relative(point.errors, samples.norms)
        if exact == "some":
            view = self._measure_some(point, view)
            rounding = relative(point.errors, samples.norms)
        elif exact and rounding > usual:
            everyone = np.arange(samples.n)
            point.f, point.errors = engine.scores(everyone, point.beta, everyone, double=True)
            view = self.whole.largest_gap(point.beta, point.f, point.errors)[0]
            rounding = relative(point.errors, samples.norms)
        return SampleSolution(
            beta=beta,
            scores=point.f,
            w=None,
            certificate=Certificate(view.primal, view.primal - view.gap, view.gap),
            n_iter=engine.n_steps,
            converged=bool(view.gap <= self.tol * view.primal),
            seconds=seconds,
            b=view.b,
            rounding=0.0 if rounding <= usual else rounding,
            progress=since(self.engine.progress, seconds),
            errors=point.errors,
        )


def relative(errors: np.ndarray, norms: np.ndarray) -> float:
    """Return the largest error of a score over the length of its sample."""
    return float(np.max(errors / np.maximum(norms, 1e-150), initial=0.0, where=errors > 0.0))
