"""Problems with a kernel, for labelled samples: one entrance to the engine."""

from time import perf_counter
from typing import NamedTuple

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.certificate import Certificate
from skscreen.core.decisions import LINEAR, ZERO
from skscreen.core.floats import EPS
from skscreen.samples.kernels.gram import KernelSamples
from skscreen.samples.losses import SampleLosses
from skscreen.svm.certificate import Box, Sums, View
from skscreen.svm.screening.bounds import SLACK
from skscreen.svm.solvers.kernel.engine import DIGITS, LARGEST, STEPS_A_SAMPLE, Engine, Point
from skscreen.svm.solvers.kernel.interior import interior_point
from skscreen.svm.solvers.kernel.levels import from_nothing
from skscreen.svm.solvers.kernel.low_rank import solve_factored
from skscreen.svm.solvers.solution import SampleSolution, since


class Start(NamedTuple):
    """Dual variables to start from; if known, the margins of others near them, and their errors."""

    alpha: np.ndarray
    known: np.ndarray | None = None
    margins: np.ndarray | None = None
    errors: np.ndarray | float = 0.0  # beyond those of double precision


def solve_kernel(
    samples: KernelSamples,
    losses: SampleLosses,
    *,
    free: bool = False,
    sums: Sums | None = None,
    start: np.ndarray | Start | None = None,
    margins: np.ndarray | None = None,
    fixed: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    double: bool = False,
    exact: bool = True,
    interior: bool = False,
) -> SampleSolution:
    """Minimise 1/2 |w|^2 + sum_i l_i(m_i) to a certified relative duality gap.

    A `free` intercept is unpenalised; with it dual variables y_i alpha_i may have other `sums` than
    zero, of all samples or of groups, whose intercepts `b` then has. `start` (n,) are dual
    variables of any problem, `margins` are Q start, if known. `fixed` (n,) are codes of decisions
    from safe screening: they are trusted, but the full certificate is what decides. `max_iter`
    limits steps of SMO and Newton's method together. `double` asks for scores in double precision
    from the beginning, `exact` for margins in it at the end, as starts and references for other C
    have them. `interior` tells a regression without a tube whose matrix is in memory.
    """
    began = perf_counter()
    limit = STEPS_A_SAMPLE * samples.n if max_iter is None else max_iter
    codes = np.zeros(samples.n, np.int8) if fixed is None else fixed.astype(np.int8)
    codes[losses.caps == 0.0] = ZERO
    in_tiles = samples.gram.whole is None and not double
    problem = _Problem(samples, losses, free, sums, codes, tol, limit, in_tiles)
    if start is None and problem.engine.whole:
        problem.engine.least = 500
    inside = interior and _is_far_inside(samples, losses)
    if inside:
        start, problem.engine.n_steps = _from_inside(samples, losses, free, 0.1 * tol)
        margins = None  # those given are of another start
        # Where that is not enough steps of other methods are of no use either.
        problem.engine.max_steps = min(problem.engine.max_steps, 4 * samples.n)
    if not isinstance(start, Start):
        start = None if start is None else Start(start, start, margins)
    point = problem.start(start)
    view = problem.solve(point)
    if view.gap > tol * view.primal and problem.engine.n_steps < limit and not problem.engine.whole:
        point = problem.on_all(point)
        view = problem.solve(point)
    undecided = not codes[losses.caps > 0.0].any() and not inside
    # Where rounding errors have led to a wrong decision whoever has decided takes it back.
    if view.gap > tol * view.primal and problem.engine.whole and undecided and sums is None:
        point, view = problem.by_factor(point, view)
    if not view.gap <= view.primal and undecided:
        # Steps along what rounding errors leave of a flat kernel: nothing at all is better.
        point = problem.start(None)
        view = problem.engine.certify(problem.whole, point)[0]
    return problem.solution(point, view, exact, perf_counter() - began)


def _is_far_inside(samples: KernelSamples, losses: SampleLosses) -> bool:
    """Whether bounds are so wide that hardly any dual variable of a regression reaches them."""
    reach = losses.caps.min() * float(samples.diagonal.mean())
    return bool(0.0 < losses.caps.min() and reach > 100.0 * np.abs(losses.thresholds).max())


def _from_inside(
    samples: KernelSamples, losses: SampleLosses, free: bool, tol: float
) -> tuple[np.ndarray, int]:
    """Return dual variables of both sides of a regression without a tube, and the steps taken."""
    n = samples.n // 2
    K = np.asarray(samples.gram.whole)
    K = K + samples.bias**2 if samples.bias else K
    beta, steps = interior_point(K, losses.thresholds[:n], losses.caps[:n], free, tol)
    return np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)]), steps


class _Problem:
    """The problem of labelled samples, what is decided of them, and the engine that solves it."""

    def __init__(
        self, samples, losses, free: bool, sums, codes, tol: float, limit: int, in_tiles: bool
    ):
        self.samples, self.losses, self.tol = samples, losses, tol
        self.y = samples.y if free else None
        self.whole, self._limit = Box.of(losses, samples.y, free, sums), limit
        # The box with decided samples held at their bounds.
        self.at_cap = codes == LINEAR
        self.box = self.whole.held(codes == ZERO, self.at_cap)
        if in_tiles:
            # More of them in single precision lead nowhere.
            limit = min(limit, 40 * samples.n)
            self.engine = Engine(samples.gram, samples.bias**2, samples.diagonal, limit, tol)
        else:
            self.engine = self._on_all()

    def _on_all(self, spent: int = 0) -> Engine:
        """Return the engine for all samples at once, in memory or of values of whatever size."""
        # Half of the steps that are left: the others are for a factor, if the rank is low.
        samples, limit = self.samples, (spent + self._limit + 1) // 2
        gram, diagonal = samples.gram, samples.diagonal
        # For the largest set, as only what is written to takes memory.
        m = min(gram.n, LARGEST)
        memory = np.empty(m * (m + loops.SMO_LANES), np.float32)
        own, shifts = np.zeros(gram.n), self.whole.shifts
        if self.y is not None:
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

    def on_all(self, point: Point) -> Point:
        """Go on with all samples at once, in double precision, from a point of tiles."""
        # Single precision is not enough for flat kernels with a huge C, or for very few steps.
        self.engine = self._on_all(self.engine.n_steps)
        return self.engine.point(np.arange(self.samples.n), point.beta)

    def start(self, start: Start | None) -> Point:
        """Return a point to start from, in the box of what is undecided."""
        engine, box, n = self.engine, self.box, self.samples.n
        if start is None and not (engine.whole or self.at_cap.any()):
            return from_nothing(engine, box)
        signs, everyone = self.samples.y, np.arange(n)
        begin = np.zeros(n) if start is None else signs * start.alpha
        beta = box.balanced(np.clip(begin, box.low, box.high))
        if start is None or start.known is None or start.margins is None:
            return engine.point(everyone, beta)
        known = signs * start.known
        change, errors = engine.scores(everyone, beta, everyone, before=known)
        norms = self.samples.norms
        # Margins that count as those of double precision have such errors.
        errors += start.errors + 64.0 * EPS * float(np.abs(known) @ norms) * norms
        return Point(beta, signs * start.margins + change, errors, np.zeros(n, np.bool_))

    def solve(self, point: Point) -> View:
        """Solve the problem of what is undecided; return the certificate of the whole problem."""
        engine, everyone = self.engine, np.arange(self.samples.n)
        # Passes before the last ones may leave half of the tolerance.
        enough = max(0.5 * self.tol, 0.0 if engine.whole else DIGITS)
        engine.improve(everyone, self.box, point, enough)
        engine.improve(everyone, self.box, point, self.tol, certified=True)
        view = engine.certify(self.whole, point)[0]
        # Some of the tolerance is for errors of values in memory, which no step makes smaller.
        left = self.tol - self._unsure(point, view) if engine.whole else self.tol
        if left * view.primal < view.gap <= self.tol * view.primal and left > 0.0:
            engine.improve(everyone, self.box, point, 0.5 * left)
            view = engine.certify(self.whole, point)[0]
        return view

    def _unsure(self, point: Point, view: View) -> float:
        """Return what errors of kernel values add to the relative gap of a point at most."""
        errors = point.errors + self.samples.value_errors(np.abs(point.beta))
        most = self.whole.certify(point.beta, point.f, errors)[0]
        return (most.gap - view.gap) / view.primal if view.primal > 0.0 else 0.0

    def by_factor(self, point: Point, view: View) -> tuple[Point, View]:
        """Return a better point where the kernel matrix has a low rank, else the same one."""
        engine, samples = self.engine, self.samples
        left, alpha = self._limit - engine.n_steps, samples.y * point.beta
        engine.max_steps = self._limit
        free = self.y is not None
        if left <= 0:
            return point, view
        # More precisely, as K differs a little from that of the factor.
        found = solve_factored(samples, self.losses, alpha, free, 0.01 * self.tol, left)
        if found is None:
            return point, self.solve(point)
        engine.n_steps += found.n_iter
        other = self.start(Start(found.alpha))
        # Where values have rounding errors of single precision passes gain little, but gain.
        for _ in range(5):
            better = self.solve(other)
            solved = better.gap <= self.tol * better.primal
            if solved or engine.n_steps >= engine.max_steps:
                break
        return (other, better) if better.gap < view.gap else (point, view)

    def solution(self, point: Point, view: View, exact: bool, seconds: float) -> SampleSolution:
        """Return the point with its certificate."""
        samples, engine = self.samples, self.engine
        alpha = np.clip(samples.y * point.beta, 0.0, self.losses.caps)
        usual = 0.5 * SLACK * EPS * float(alpha @ samples.norms)
        rounding = relative(point.errors, samples.norms)
        if exact and rounding > usual:
            everyone = np.arange(samples.n)
            point.f, point.errors = engine.scores(everyone, point.beta, everyone, double=True)
            view = self.whole.certify(point.beta, point.f, point.errors)[0]
            rounding = relative(point.errors, samples.norms)
        return SampleSolution(
            alpha=alpha,
            margins=samples.y * point.f,
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
