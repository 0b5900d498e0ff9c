"""A dual point of a problem over samples, its certificate, and the samples decided by it.

With an unpenalised intercept b the dual variables also have the sum 0, which solvers that move them
one by one, or by weights of features, do not keep. These see a proximal point step for b instead
(Rockafellar 1976), the problem with the penalty (b - b_k)^2 / (2 B^2): b is b_k plus the weight
times the value B of a feature that all samples share, and targets are target_i - b_k. At its
optimum b = b_k + B^2 sum beta_i is the next b_k. As B is three times the length of a
sample, one to five steps suffice. The next one begins whenever the last has been solved better than
the problem itself. Certificates are always those of the problem itself.

A prescribed sum T, sum beta_i = T, adds b T to the primal, which is linear in b: next to the
penalty it shifts the centre of the step to b_k - B^2 T, and that is all.

References
----------
R. T. Rockafellar (1976), Augmented Lagrangians and applications of the proximal point algorithm in
convex programming, Math. Oper. Res. 1.
"""

from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np

from skscreen.core.ball import gap_radius
from skscreen.core.certificate import Certificate, ScreeningEvent, screening_event
from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.core.floats import EPS
from skscreen.samples.rows import LinearSamples
from skscreen.svm.dual import Dual, View
from skscreen.svm.screening.bounds import SampleBall, reference
from skscreen.svm.screening.rules import ball_test
from skscreen.svm.solvers.solution import SampleSolution, since
from skscreen.svm.solvers.weights import best_multiple

# Rounding error of a sum, in EPS of the sum of the sizes of its terms.
_ROUNDED = 4.0


class WeightedPoint(NamedTuple):
    """Weights, feasible beta, scores of w without b, certificate, and |w - sum_i beta_i x_i|."""

    beta: np.ndarray
    f: np.ndarray
    w: np.ndarray
    b: float
    certificate: Certificate
    apart: float


@dataclass
class ProximalStep:
    """What solvers see: rows with a feature that carries a free intercept, and its centre.

    Without one it is the problem itself. `u` (d,) are the weights of the dual variables, and
    `slopes` (n,) those at the weights of the last evaluation.
    """

    samples: LinearSamples
    problem: Dual
    centre: float = 0.0
    u: np.ndarray = field(default_factory=lambda: np.empty(0))
    slopes: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def target(self) -> np.ndarray:
        """Targets of the step."""
        return self.problem.target - self.centre

    def see(self, beta: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        """Take up dual variables, and weights (d,) or those of them; return scores without b."""
        # Where columns are of very different size sum_i beta_i x_i has lost all of its digits.
        self.u = self.samples.combine(beta)
        w = self.u if w is None else w
        if not self.problem.free:
            f = self.samples.margins(w)
            self.slopes = self.problem.target - f
        else:
            f = self.samples.margins(np.append(w[:-1], 0.0))
            self.slopes = self.target - f - w[-1] * self.samples.bias
        return f

    def gap_at(self, beta: np.ndarray, w: np.ndarray) -> float:
        """Return the gap of the step at the last evaluation."""
        gap, _ = self.problem.gap_of_slopes(beta, self.slopes)
        return gap + 0.5 * float(np.sum((w - self.u) ** 2))

    def go_on(self, w: np.ndarray) -> None:
        """Make the intercept of weights (d,) the centre of the next step."""
        move = w[-1] * self.samples.bias
        move -= float(self.problem.sums[0]) * self.samples.bias**2
        self.centre += move
        self.slopes -= move


class SampleState:
    """Dual variables in the box, from `start` (n,) or 0, with the full problem's certificate.

    `codes` (n,) are those of `fixed` and those decided here. Primal, dual and gap are those of the
    problem itself at the last `evaluate`, `best` has the least gap; what solvers see is `step`.
    """

    def __init__(self, samples: LinearSamples, problem: Dual, start=None, fixed=None):
        self._own, self._norms = samples, samples.norms
        self.problem, self.step = problem, ProximalStep(samples, problem)
        self.low, self.high, self.shifts = problem.low, problem.high, problem.all_shifts
        self.total = float(problem.sums[0])
        self.beta = np.zeros(samples.n) if start is None else np.clip(start, self.low, self.high)
        self.codes = np.zeros(samples.n, np.int8) if fixed is None else fixed.astype(np.int8)
        if not (problem.free or problem.smooth):
            # A sample of norm 0 has score 0 for all weights.
            nowhere = (samples.norms == 0.0) & (self.codes == UNDECIDED)
            self.codes[nowhere & (problem.signs * problem.target > 0.0)] = LINEAR
        self.codes[self.low == self.high] = ZERO
        self.apply_codes()
        self.n_iter, self.stretched = 0, False
        self.history: list[ScreeningEvent] = []
        self.progress: list[tuple] = []
        nothing = Certificate(np.inf, -np.inf, np.inf)
        self.best = WeightedPoint(self.beta, np.empty(0), np.empty(0), 0.0, nothing, 0.0)
        self.begin(1.0)

    def apply_codes(self) -> None:
        """Move decided samples to their end of the box."""
        self.beta = self.problem.moved(self.beta, self.codes)

    def undecided(self) -> np.ndarray:
        """Return the indices of samples that no code decides."""
        return np.flatnonzero(self.codes == UNDECIDED)

    def inside(self) -> np.ndarray:
        """Return which samples are undecided and strictly inside their box."""
        return (self.codes == UNDECIDED) & (self.beta > self.low) & (self.beta < self.high)

    def evaluate(self, w: np.ndarray | None = None) -> float:
        """Compute scores and certificate of `beta`, at weights w (d,); returns the gap.

        The next proximal step begins where this one has been solved well enough.
        """
        step, beta = self.step, self.beta.copy()
        f = step.see(beta, w)
        w = step.u if w is None else w
        if not self.problem.free:
            self._see(self._point(beta, f, w, step.u))
            return self.relative_gap
        self._see(self._balanced(beta, f, w))
        if step.gap_at(self.beta, w) <= 0.3 * self.gap:
            step.go_on(w)
        return self.relative_gap

    def _balanced(self, beta: np.ndarray, f: np.ndarray, weights: np.ndarray) -> WeightedPoint:
        """Return the point of the problem itself, with the prescribed sum and the best b."""
        u, w = self.step.u, weights[:-1]
        own = w if weights is u else u[:-1]
        if abs(float(beta.sum()) - self.total) > _ROUNDED * EPS * float(np.abs(beta).sum()):
            beta = self.problem.balanced(beta)
            own = u[:-1] + self.step.samples.combine(beta - self.beta)[:-1]
        self.problem.check_length(float(own @ own), beta, self._norms)
        return self._point(beta, f, w, own)

    def _point(self, beta, f, w, own: np.ndarray, view: View | None = None) -> WeightedPoint:
        """Return a point with its certificate; `own` (d,) are the weights of beta."""
        view = self.problem.view(beta, f) if view is None else view
        gap, apart = view.gap, 0.0
        primal = 0.5 * float(w @ w) + view.losses
        if own is not w:
            apart = float(np.linalg.norm(w - own))
            gap += 0.5 * apart**2 + _ROUNDED * EPS * primal
        dual = self.problem.gain(beta) - 0.5 * float(own @ own) - view.lifted
        return WeightedPoint(beta, f, w, view.b, Certificate(primal, dual, gap), apart)

    def stretch(self, tol: float) -> None:
        """Scale weights up until no margin is short by a rounding error, if it pays."""
        # With a huge C it costs more than the tolerance, slightly longer weights nothing.
        best = self.best
        # NaN is the gap where a primal value overflows.
        if not self.relative_gap > tol:
            return
        errors = 2.0 * self._own.rounding(best.w, best.b)
        longer = self.problem.stretched(best.beta, best.f, errors)
        # A larger factor makes up for more than rounding errors.
        if longer is None or not 1.0 < (factor := longer[0]) <= 1.0 + 1e-6:
            return
        beta, f, w = factor * best.beta, factor * best.f, factor * best.w
        point = self._point(beta, f, w, self._own.combine(beta), longer[1])
        if point.certificate.gap < best.certificate.gap:
            self.stretched = True
            self._see(point)

    def _see(self, point: WeightedPoint) -> None:
        """Make a point the last one, and the best one if it is."""
        self._last, found = point, point.certificate
        self.primal, self.dual, self.gap = found.primal, found.dual, found.gap
        self.progress.append((self.n_iter, perf_counter(), found.primal, found.gap))
        if self.gap <= self.best.certificate.gap:
            self.best = point

    def return_to_best(self) -> None:
        """Make the best point the last one."""
        self.beta = self.best.beta.copy()
        self._see(self.best)

    @property
    def apart(self) -> float:
        """How far the weights of the last evaluation are from those of its dual variables."""
        return self._last.apart

    @property
    def relative_gap(self) -> float:
        """Gap of the last evaluation as a fraction of its primal objective."""
        return Certificate(self.primal, self.dual, self.gap).relative_gap

    def begin(self, length: float) -> None:
        """Evaluate the best point in a new proximal step; B is `length` times a sample."""
        if self.problem.free:
            size = float(np.sqrt(np.mean(self._norms**2)))
            self.step.samples = self._own.with_bias(length * size if size > 0.0 else 1.0)
        self.beta, step = self.best.beta.copy(), self.step
        step.centre = self.best.b - self.total * step.samples.bias**2
        self.evaluate()

    def best_multiple(self) -> np.ndarray:
        """Return the multiple of the last weights (d,) with the least objective."""
        # Dual variables for another C are scaled with the box, but weights change far less.
        last, step, w = self._last, self.step, self.step.u.copy()
        factor, b = best_multiple(self.problem, float(last.w @ last.w), last.f)
        w *= factor
        if self.problem.free:
            w[-1] = (b - step.centre) / step.samples.bias
        return w

    def screen(self) -> int:
        """Decide samples by the gap ball of the last point; return how many."""
        # Ball: |w* - (w + u)/2|^2 <= sum_i kappa_i + |w - u|^2 / 4, u that of the dual variables.
        began, norms, last = perf_counter(), self._norms, self._last
        known = reference(norms, last.f, last.beta, self.problem, last.b)
        radius = gap_radius(known.gap, last.apart, 1.0, known.shift + 0.5 * last.apart)
        extremes = ball_test(SampleBall(last.f, float(radius)), norms)
        codes = self.problem.decided(extremes, self.codes)
        count = int(np.count_nonzero(codes != self.codes))
        self.codes = codes
        self.apply_codes()
        self.history.append(screening_event("dynamic", self.n_iter, codes, perf_counter() - began))
        return count

    def solution(self, tol: float, seconds: float) -> SampleSolution:
        """Return the last point, if it meets the tolerance, or else the best one."""
        # NaN is the gap where a primal value overflows.
        best = self._last if self.relative_gap <= tol else self.best
        return SampleSolution(
            best.beta, best.f, best.w, best.certificate, self.n_iter,
            best.certificate.relative_gap <= tol, seconds, tuple(self.history), b=best.b,
            apart=best.apart, progress=since(self.progress, seconds),
        )  # fmt: skip
