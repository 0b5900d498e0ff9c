"""Newton's method on the primal of losses that have a slope everywhere, for narrow linear models.

With -phi_i'(f) = clip(base_i + (target_i - f) / width_i, low_i, high_i) for each sample the primal

    min_w  1/2 |w|^2 + sum_i phi_i(f_i)

is convex, piecewise quadratic and once differentiable: Newton's method with a line search finds its
minimum in finitely many steps, whatever C is (Mangasarian 2002; Keerthi and DeCoste 2005). Its
matrix is I + sum_E x_i x_i' / width_i over the samples E in their zones, low_i < beta_i < high_i,
or by Woodbury's identity one of the size of E.

Losses with shifts and without bounds, as the squared hinge, are of this kind, with base_i = 0 and
width_i = s_i. Hinges are not, so the proximal point method on the dual replaces beta_k, step by
step, by the solution of

    max_beta  D(beta) - sum_i (width / (2 C_i)) (beta_i - beta_ki)^2

over the box, whose primal has hinges that are smoothed over a zone of scores: base_i is beta_ki and
width_i is width / C_i (Li, Sun, Toh 2018 for the combination). The width shrinks from step to
step, and E tends to the samples on the margin. After every step the gap of the full problem is
computed and decides samples, which are then left out.

References
----------
O. L. Mangasarian (2002), A finite Newton method for classification, Optim. Methods Softw. 17.
S. S. Keerthi, D. DeCoste (2005), A modified finite Newton method for fast solution of large scale
linear SVMs, JMLR 6.
X. Li, D. Sun, K.-C. Toh (2018), A highly efficient semismooth Newton augmented Lagrangian method
for solving Lasso problems, SIAM J. Optim. 28.
K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014), Safe sample screening for support vector
machines, arXiv:1401.6740.
"""

import numpy as np
from scipy.linalg.blas import dnrm2

from skscreen._compiled import svm as loops
from skscreen.core.decisions import LINEAR
from skscreen.samples.rows import LARGEST, LinearSamples
from skscreen.svm.dual import Dual
from skscreen.svm.solvers.linear.hessian import Hessian
from skscreen.svm.solvers.linear.state import SampleState
from skscreen.svm.solvers.stalls import Stalls


def newton(state: SampleState, tol: float, max_iter: int, *, screening: bool = True) -> bool:
    """Move an evaluated state to a relative gap, in at most `max_iter` steps; returns whether.

    It goes on, if it can, until also the weights of the dual variables meet it.
    """
    smooth, own = state.problem.smooth, False
    # A step of b so long that one is enough, as systems are solved exactly.
    state.begin(1000.0)
    w = _from_dual(state)
    if smooth and not state.beta.any():
        w = _from_part(state, w, max_iter)
    zones, part, failures = None if smooth else _Zones(state), None, 0
    # After eight problems without gain only rounding errors are left. They need not come one after
    # the other, as in `Stalls`: zones that widen again may help once.
    while not own and state.n_iter < max_iter and failures < 8:
        # How much better than the tolerance weights are to be for those of dual variables to be.
        aims = (share * tol for share in (1.0, 0.1, 1e-3))
        aim = next((aim for aim in aims if state.relative_gap > aim), None)
        if aim is None:
            break
        # One problem is all there is without zones.
        if screening and not smooth:
            state.screen()
        undecided = state.undecided()
        if undecided.size == 0:
            state.evaluate()
            break
        # Rows are copied, and their matrix summed up again, only if that leaves out many.
        if part is None or undecided.size < 0.7 * part.index.size:
            part = _Undecided(state, undecided, w if part is None else part.w)
        gap = state.gap
        part.recentre(state)
        most = min(60, max_iter - state.n_iter)
        steps, solved = part.minimise(1.0 if zones is None else zones.width, aim, most)
        state.n_iter += max(steps, 1)
        if solved or smooth:
            state.beta[part.index] = part.beta
            state.apply_codes()
            state.evaluate()
            own = state.relative_gap <= tol
            if state.gap >= gap and not own:
                state.evaluate(part.w)
        # Weights of dual variables come near those of the primal in wide zones first.
        if zones is not None and not (solved and state.relative_gap <= tol):
            zones.move(state, aim, solved, part.slackness)
        failures += not state.gap < 0.9 * gap
    if state.relative_gap > tol:
        state.return_to_best()
    return state.relative_gap <= tol


def _from_dual(state: SampleState) -> np.ndarray:
    """Evaluate the best multiple of the weights (d,) of the dual variables; return it."""
    w, centre = state.best_multiple(), state.step.centre
    if not w.any():
        # The point where a solve from nothing starts, as it stands.
        return w
    state.evaluate(w)
    if state.step.centre != centre:
        w[-1] += (centre - state.step.centre) / state.step.samples.bias
    return w


def _from_part(state: SampleState, w: np.ndarray, max_iter: int) -> np.ndarray:
    """Return weights (d,) to start from: those of a tenth of the samples, with larger losses."""
    n, d = state.step.samples.n, state.step.samples.n_features
    if n < 30 * d or state.undecided().size < n:
        return w
    some = np.sort(np.random.default_rng(0).choice(n, n // 10, replace=False))
    part = _Undecided(state, some, w, n / some.size)
    part.recentre(state)
    state.n_iter += part.minimise(1.0, 1e-3, min(20, max_iter // 2))[0]
    return part.w


class _Zones:
    """The width of the zones in which hinges are smoothed, from one proximal step to the next."""

    def __init__(self, state: SampleState):
        # In units of targets, 1 in classification: no wider than from them to 0, narrower from
        # a start that is near.
        # Next to a prescribed sum targets are 0, and the unit is that of scores.
        sizes = state.best.f if state.total else state.problem.target
        size = float(np.mean(np.abs(sizes))) or 1.0
        # The inverse of what is smaller overflows, times rows.
        self._unit = max(size, 1.0 / LARGEST)
        self.width = self._unit * min(max(50.0 * state.relative_gap, 1e-3), 1.0)
        curvature = float(np.mean(state.problem.width * state.step.samples.norms**2))
        self._widest = max(0.1 * self._unit, 1e-3 * curvature)
        self._polishing = False

    def move(self, state: SampleState, tol: float, solved: bool, slackness: float) -> None:
        """Change the width after a problem, and whether it was solved, that left a slackness."""
        if not solved:
            self.width = min(4.0 * self.width, self._unit)
        elif slackness <= 0.1 * tol * state.primal:
            # What is left are rounding errors of the scores times C / width. Wide zones suffice
            # this close to the optimum.
            self._polishing = True
            wider = float(np.clip(state.relative_gap / tol, 10.0, 1e4))
            self.width = min(wider * self.width, self._widest)
        elif not self._polishing:
            self.width *= 0.3


class _Undecided:
    """The problem of some samples, given those at their bounds; losses are `factor` as large."""

    def __init__(self, state: SampleState, index: np.ndarray, w: np.ndarray, factor: float = 1.0):
        samples: LinearSamples = state.step.samples
        self.index, self.w, self.centre = index, w.copy(), state.step.centre
        whole = index.size == samples.n
        self.samples = samples if whole else samples.restrict(index)
        self.problem: Dual = state.problem if whole else state.problem.take(index)
        if factor != 1.0:
            # Of squares, which have no bounds.
            self.problem = self.problem._replace(shifts=self.problem.shifts / factor)
        self._full = np.where(state.codes == LINEAR, state.problem.ends, 0.0)
        self._given = samples.combine(self._full)
        self._hessian = Hessian(self.samples, self.problem.sizes)
        self.beta, self.slackness = state.beta[index], np.inf

    def recentre(self, state: SampleState) -> None:
        """Measure a free intercept from the centre of its present proximal step."""
        if state.step.centre != self.centre:
            self.w[-1] += (self.centre - state.step.centre) / self.samples.bias
        self.centre, self._target = state.step.centre, state.step.target[self.index]
        self._gain = float(self._full @ state.step.target)

    def minimise(self, width: float, tol: float, most: int) -> tuple[int, bool]:
        """Solve the problem, for hinges with zones; returns steps and whether it is solved."""
        samples, problem, w = self.samples, self.problem, self.w
        base = np.zeros(samples.n) if problem.smooth else self.beta
        smooth = base, problem.sizes / width, problem.low, problem.high
        self._hessian.begin(width)
        # Both are updated in every step; this removes rounding errors.
        slopes, total = self._target - samples.margins(w), self._given.copy()
        last, stalls, before = np.zeros(samples.n), Stalls(1.0), np.inf
        lowest = w.copy(), last
        for steps in range(most + 1):
            smoothed = loops.smooth_duals(smooth, slopes, beta := np.empty(samples.n))
            total += samples.combine(beta - last)
            last, gradient = beta, w - total
            size = dnrm2(gradient)
            error = 0.5 * size * size
            # A step of rounding errors may lead out of the numbers there are.
            if not error < np.inf:
                w[:], beta = lowest
                break
            if problem.smooth:
                # Slopes of losses are the dual variables.
                self.slackness, loss = 0.0, smoothed
            else:
                self.slackness, loss = problem.gap_of_slopes(beta, slopes)
            own = 0.5 * float(w @ w) - float(self._given @ w)
            # What may be lost beside the slackness and the tolerance.
            wanted = max(0.1 * self.slackness, 0.5 * tol * (own + self._gain + loss))
            if error <= wanted:
                # The certificate of beta is that of w - gradient.
                beyond = problem.gap_of_slopes(beta, slopes + samples.margins(gradient))[0]
                if beyond <= self.slackness + wanted or error >= 0.25 * before:
                    self.beta = beta
                    return steps, True
            before, lost = error, stalls.see(own + smoothed)
            if lost == 0:
                lowest = w.copy(), beta
            # Only rounding errors keep steps from lowering the objective.
            if steps == most or lost == 3:
                break
            try:
                inside = (beta > problem.low) & (beta < problem.high)
                step = -self._hessian.solve(gradient, inside)
            except np.linalg.LinAlgError:
                break
            # A step uphill is made of rounding errors, which the next ones would multiply.
            if float(gradient @ step) >= 0.0:
                break
            change = samples.margins(step)
            along = float((w - self._given) @ step), float(step @ step)
            length = loops.line_length(smooth, slopes, change, *along) or 1.0
            w += length * step
            slopes -= length * change
        if problem.smooth:
            self.beta = beta
        return steps, False
