"""The path driver: solves for one C after the other, with warm starts and screening."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skscreen.core.certificate import Certificate, ScreeningEvent, after_steps, screening_event
from skscreen.core.decisions import UNDECIDED
from skscreen.core.threads import blas_threads_for
from skscreen.samples.kernels.definite import INDEFINITE, IndefiniteError, indefinite_message
from skscreen.samples.labels import check_bounds
from skscreen.samples.rows import LinearSamples
from skscreen.svm.certificate import GivenTargets, Samples, as_given, certified
from skscreen.svm.dual import Dual, Extremes
from skscreen.svm.first_piece import FirstPiece
from skscreen.svm.roads import LAST_DIGITS
from skscreen.svm.screening.bounds import Reference, gap_ball, reference
from skscreen.svm.screening.inside_box import compare_at
from skscreen.svm.screening.rules import BOUNDS, Bound, ball_test, one_ball
from skscreen.svm.solvers.kernel.solve import Start
from skscreen.svm.solvers.polish import polish
from skscreen.svm.solvers.solution import SampleSolution

# Mean error of the scores of a solution, over the least of a path, from which on they are computed
# anew.
_WORN = 100.0

# `solve_linear` or `solve_kernel`.
Solve = Callable[..., SampleSolution]


@dataclass
class _Known:
    """A point known for one C: beta and scores (n,), see `SampleSolution`, and decisions (n,)."""

    C: float
    beta: np.ndarray
    f: np.ndarray
    b: float | None = None  # the best one, if not known
    rounding: float = 0.0
    apart: float = 0.0
    codes: np.ndarray | None = None
    errors: np.ndarray | None = None  # bounds on errors of f, if known
    dual: Dual | None = None  # the problem of this C; both are made when first asked for
    reference: Reference | None = None


class SamplePathSolver:
    """Solves for one C after the other, each from the solution before, which is screened with.

    The problem is that of C = 1. `screening` is a name of `rules.BOUNDS` or empty; `given` are the
    targets of a regression as users have them; linear systems give solutions their last digits at
    tolerances of up to `polished`.
    """

    def __init__(
        self,
        samples: Samples,
        dual: Dual,
        solve: Solve,
        screening: str,
        *,
        max_iter: int | None = None,
        given: GivenTargets | None = None,
        polished: float = LAST_DIGITS,
    ):
        self.samples, self.dual, self._given = samples, dual, given
        self._weights, self._polished = dual.width, polished
        self._solve, self._max_iter = solve, math.inf if max_iter is None else max_iter
        # The gap balls of points at the new C screen in any case but this.
        self._screens, self._bound = screening != "", BOUNDS.get(screening or "gap")
        self._on_path = False
        self._known: list[_Known] = []
        # The least errors of scores so far, a mean, over what they are sums of.
        self._fresh = math.inf

    @cached_property
    def _begins(self) -> FirstPiece:
        return FirstPiece(self.samples, self.dual)

    @property
    def C_min(self) -> float:
        """Up to this C the solution is proportional to C; 0 if not known. See `FirstPiece`."""
        return self._begins.C_min

    @property
    def C_start(self) -> float:
        """A C up to which, at least, the solution is proportional to C; see `FirstPiece`."""
        return self._begins.C_start

    def recall(self, C: float, beta: np.ndarray, f: np.ndarray | None, C_min: float) -> None:
        """Use beta (n,) of some C, and scores if known; one on either side of C helps a solve."""
        self._begins.C_min = C_min
        dual = self.dual.at(C)
        inside = np.clip(beta, dual.low, dual.high)
        if f is None or not np.array_equal(inside, beta):
            f = self.samples.q_dot(inside)
        self._known.append(_Known(C, inside, f))

    def _problem(self, known: _Known) -> Dual:
        if known.dual is None:
            known.dual = self.dual.at(known.C)
        return known.dual

    def _reference(self, known: _Known) -> Reference:
        if known.reference is None:
            dual = self._problem(known)
            b = dual.best_intercept(known.f) if known.b is None else known.b
            known.reference = reference(
                self.samples.norms, known.f, known.beta, dual, b, known.rounding, known.apart
            )
        return known.reference

    def solve(self, C: float, tol: float, start: np.ndarray | None = None) -> SampleSolution:
        """Solve for one C, from dual variables `start` or from the solution for another C."""
        began, C = time.perf_counter(), float(C)
        check_bounds(C, self.dual.sizes)
        dual = self.dual.at(C)
        # With a free intercept there is no piece in closed form.
        if not (dual.free or self._begins.ends_before(C)):
            first = as_given(self.samples, dual, self._first(C, dual), tol, self._given)
            # The gap is only larger if rounding errors of the scores are too large.
            if first.certificate.relative_gap <= tol:
                return self._keep(C, dual, first, [], None, began)
        begin, codes = None if start is None else Start(start), None
        history: list[ScreeningEvent] = []
        if begin is None and self._known:
            begin, codes = self._carry_over(C, dual, history)
        with blas_threads_for(self.samples.width):
            solution = self._solved(dual, begin, codes, tol)
            history += after_steps(solution.history, 0, lam=1.0 / C)
            decided = codes is not None and codes.any()
            if not solution.converged and decided and solution.n_iter < self._max_iter:
                # Decisions are proven; if rounding errors have led to a wrong one all the same,
                # only a solve without them can confirm the full problem.
                before, codes = solution.n_iter, None
                # A point far off is a worse start than none.
                far = solution.certificate.gap > solution.certificate.primal
                begin = None if far else Start(solution.beta)
                event = ScreeningEvent("repair", 1.0 / C, before, 0, 0, self.samples.n, 0)
                solution = self._solved(dual, begin, None, tol, before)
                history += [event, *after_steps(solution.history, before, lam=1.0 / C)]
                solution = replace(solution, n_iter=solution.n_iter + before)
        return self._keep(C, dual, solution, history, codes, began)

    def _keep(
        self, C: float, dual: Dual, found: SampleSolution, history, codes, began
    ) -> SampleSolution:
        """Make a solution what the next one starts from; return it with its C, steps and time."""
        square, size = found.beta @ found.scores, found.alpha @ self.samples.norms
        if found.w is None and square < -INDEFINITE * size**2:
            raise IndefiniteError(indefinite_message("the square of a norm is negative"))
        self._on_path = True
        self._known = [
            _Known(
                C, found.beta, found.scores, found.b, found.rounding, found.apart, codes,
                found.errors, dual,
            )
        ]  # fmt: skip
        return replace(found, C=C, history=tuple(history), seconds=time.perf_counter() - began)

    def with_proof(self, solution: SampleSolution) -> SampleSolution:
        """Return the last solution, with what its own gap ball decides as its last step."""
        (known,) = self._known
        if not self._screens:
            return solution
        began, dual = time.perf_counter(), self._problem(known)
        b = dual.best_intercept(known.f) if known.b is None else known.b
        # Others are within the rounding errors of their sums.
        errors = known.errors if known.rounding > 0.0 else None
        codes = dual.decided_by_gap(
            self.samples.norms, known.beta, known.f, b, known.apart, errors, known.codes
        )
        seconds = time.perf_counter() - began
        event = screening_event("dynamic", solution.n_iter, codes, seconds, 1.0 / known.C)
        history, seconds = (*solution.history, event), solution.seconds + seconds
        return replace(solution, history=history, seconds=seconds)

    def _solved(
        self, dual: Dual, start: Start | None, codes, tol: float, spent: int = 0
    ) -> SampleSolution:
        """Solve, polish where many digits are asked for or rows are few, and certify."""
        # Products with this tolerance stay finite.
        how = {"start": start, "fixed": codes, "tol": min(float(tol), 1e100)}
        if start is not None and isinstance(self.samples, LinearSamples):
            how["start"] = start.beta
        if self._max_iter < math.inf:
            how["max_iter"] = max(self._max_iter - spent, 0)
        solution = self._solve(self.samples, dual, **how)
        if tol <= self._polished:
            solution = polish(self.samples, dual, solution)
        return certified(self.samples, dual, solution, tol, self._given)

    def _first(self, C: float, dual: Dual) -> SampleSolution:
        """Return the solution up to C_min, where no score has reached its target (Lemma 9)."""
        f, beta = C * self._begins.f, C * self._begins.beta
        exact = self._reference(_Known(C, beta, f, 0.0))
        primal = 0.5 * exact.square + dual.gap_of_slopes(beta, dual.target - f)[1]
        w = self.samples.combine(beta) if isinstance(self.samples, LinearSamples) else None
        return SampleSolution(
            beta=beta, scores=f, w=w,
            certificate=Certificate(primal, primal - exact.gap, exact.gap), n_iter=0,
            converged=True, seconds=0.0,
        )  # fmt: skip

    def _carry_over(self, C: float, dual: Dual, history: list[ScreeningEvent]):
        """Return a start for C, and decisions, from solutions for other C."""
        began = time.perf_counter()
        nearest = min(self._known, key=lambda known: abs(math.log(C / known.C)))
        start, f, errors = self._scaled(nearest, C, dual)
        ends = sorted(self._known, key=lambda known: known.C)
        between = len(ends) == 2 and ends[0].C < C < ends[1].C
        if between:
            (start, f), errors = self._interpolated(ends[0], ends[1], C, dual), None
        codes = None
        if self._bound is not None:
            if between:
                codes = self._decided(_Known(C, start, f), C, self._bound)
            else:
                codes = self._decided(nearest, C, self._bound)
            moved = dual.moved(start, codes)
            f, errors = f + self.samples.q_dot(moved - start), None
            start = moved
            seconds = time.perf_counter() - began
            history.append(screening_event("path", 0, codes, seconds, 1.0 / C))
        return Start(start, start, None if self._is_worn(nearest) else f, errors), codes

    def _is_worn(self, known: _Known) -> bool:
        """Whether scores have gathered errors from one C to the next."""
        size = float(np.abs(known.beta) @ self.samples.norms)
        if known.errors is None or not size > 0.0:
            return False
        error = float(np.mean(known.errors)) / size
        self._fresh = min(self._fresh, error)
        return error > _WORN * self._fresh

    def _decided(self, known: _Known, C: float, bound: Bound) -> np.ndarray:
        """Return what a point of some C decides for another C, or for its own."""
        reference, rho, dual = self._reference(known), C / known.C, self.dual.at(C)
        if rho == 1.0:
            extremes = ball_test(gap_ball(reference), reference.norms)
        else:
            extremes = self._test(bound, reference, rho)
        codes = dual.decided(extremes)
        if not dual.free:
            return codes
        return dual.codes(*compare_at(reference, rho, self.samples), codes)

    def decided_ahead(self, C: float, beta: np.ndarray, b: float, ahead: float) -> int:
        """Return how many samples the solution for C, with intercept b, decides for another C."""
        if self._bound is None or ahead <= self.C_min:
            return 0
        self._on_path = True
        known = _Known(C, beta, self.samples.q_dot(beta), b if self.dual.free else 0.0)
        return int(np.count_nonzero(self._decided(known, ahead, self._bound) != UNDECIDED))

    def _scaled(self, known: _Known, C: float, dual: Dual):
        """Return C / C0 times a point, its scores and bounds on their errors, if known.

        Variables at their bound are kept exactly there.

        With few at their bound times what raises the dual value most: for a hard margin that is 1.
        """
        ratio, beta = C / known.C, known.beta
        at_bound, rho = self._at_bound(known), ratio
        n_bound, n_used = np.count_nonzero(at_bound), np.count_nonzero(beta)
        if ratio > 1.0 and 2 * n_bound < n_used and not dual.smooth:
            square = max(float(beta @ known.f), 1e-300)
            rho = min(max(float(dual.target @ beta) / square, 1.0), ratio)
        start = np.clip(rho * beta, dual.low, dual.high)
        if rho == ratio:
            start[at_bound] = dual.ends[at_bound]
        return start, rho * known.f, None if known.errors is None else rho * known.errors

    def _at_bound(self, known: _Known) -> np.ndarray:
        """Return which dual variables are at their bound, and not at 0."""
        return np.abs(known.beta) >= known.C * self._weights

    def _interpolated(self, below: _Known, above: _Known, C: float, dual: Dual):
        """Return the point between two, linear in C: the solution if no sample changes sides."""
        share = (C - below.C) / (above.C - below.C)
        at_bound = self._at_bound(below) & self._at_bound(above)
        beta = below.beta + share * (above.beta - below.beta)
        start = np.where(at_bound, dual.ends, np.clip(beta, dual.low, dual.high))
        return start, below.f + share * (above.f - below.f)

    def _test(self, bound: Bound, known: Reference, rho: float) -> Extremes:
        # "ball1" first, as the others cost a product with the whole kernel matrix. For losses with
        # shifts the dual variables that belong to w are those of "ball1".
        if not self._on_path or self.dual.smooth:
            bound = one_ball

        def products(step: np.ndarray) -> tuple[np.ndarray, float]:
            return self.samples.q_dot(step), float(np.abs(step) @ self.samples.norms)

        return bound(known, rho, products)


def eps_limit(solution: SampleSolution, eps: float) -> float:
    """Return up to which multiple of its C a solution is within `eps` of the optimum; at least 1.

    For all rho up to it dual variables prove (P(w0) - P*) / P(w0) <= eps at rho C. With W = |w0|^2,
    A = target'beta0 and B the sum of losses, rho beta0 (Appendix D of Ogawa et al. 2014) do where
    rho A - rho^2 W / 2 >= (1 - eps) (W / 2 + rho B), and beta0, of a hard margin for ever, where
    gap0 + (rho - 1) B <= eps (W / 2 + rho B).
    """
    W, found = max(float(solution.beta @ solution.scores), 0.0), solution.certificate
    A = found.dual + 0.5 * W
    B = max(found.primal - 0.5 * W, 0.0)
    # Scores are those of w0, which may be apart from that of beta0.
    spare = eps * found.primal - found.gap - 2.0 * math.sqrt(W) * solution.apart
    if spare <= 0.0:
        return 1.0
    if B == 0.0 or W == 0.0:
        return math.inf
    constant = 1.0 + spare / ((1.0 - eps) * B)
    b = A - (1.0 - eps) * B
    discriminant = b * b - W * W * (1.0 - eps)
    return max(constant, (b + math.sqrt(discriminant)) / W if discriminant > 0.0 else 1.0)
