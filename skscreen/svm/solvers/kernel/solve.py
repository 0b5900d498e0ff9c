"""Hinge-loss problems with a kernel: one entrance to the solvers."""

from dataclasses import replace
from time import perf_counter

import numpy as np

from skscreen.core.certificate import Certificate, after_steps, screening_event
from skscreen.core.decisions import LINEAR, ZERO
from skscreen.samples.kernel_samples import KernelSamples
from skscreen.samples.losses import SampleLosses, as_losses
from skscreen.samples.rows import LARGEST_SINGLE
from skscreen.svm.solvers.hinge import HingeTerms
from skscreen.svm.solvers.kernel.active_set import ActiveSetRun, TooLarge
from skscreen.svm.solvers.kernel.by_levels import certified_by_levels, solve_by_levels
from skscreen.svm.solvers.kernel.smo import LEAST, SmoRun
from skscreen.svm.solvers.kernel.state import KernelRun, State, feasible
from skscreen.svm.solvers.kernel.working_set import working_set_size
from skscreen.svm.solvers.solution import SampleSolution

SOLVERS = ("auto", "active-set", "smo")
INTERCEPTS = ("none", "free")

# Limits unless `max_iter` is given: Newton steps, and steps of SMO for each sample.
_STEPS, _STEPS_A_SAMPLE = 2000, 1000

# Largest number of runs: the first one and repairs.
_RUNS = 4
# A repair is repeated if it leaves at most this share of the gap.
_WORTH_REPEATING = 0.5

# Estimated nanoseconds per multiplication in a matrix product or Cholesky factor.
NS_PER_MULTIPLY = 0.06
# Nanoseconds per entry of a matrix to be factored, and fixed ones per Newton step.
_NS_PER_ENTRY, _NS_PER_NEWTON = 1.0, 2e5
# Nanoseconds per step of SMO and sample of a working set.
_NS_PER_SMO = 2.5

# Most steps of SMO from a given start: the cost of this many Newton steps.
_MOST_NEWTON = 4
# Most steps of SMO per sample without a start.
_COLD = 10


def solve_kernel(
    samples: KernelSamples,
    losses: SampleLosses | np.ndarray,
    *,
    start: np.ndarray | None = None,
    margins: np.ndarray | None = None,
    fixed: np.ndarray | None = None,
    intercept: str = "none",
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    screening: bool = True,
) -> SampleSolution:
    """Minimise 1/2 |w|^2 + sum_i l_i(m_i) to a certified relative duality gap.

    Parameters
    ----------
    samples : KernelSamples
        With a penalised intercept if their `bias` is not 0.
    losses : SampleLosses, or ndarray of shape (n,)
        Hinges; C_i >= 0, weights included, are those with a threshold of 1. 0 leaves a sample out.
    start : ndarray of shape (n,), optional
        Dual variables to start from, clipped to the box (and moved onto y'alpha = 0 where the
        intercept is free). On a path: C / C0 times the solution at C0.
    margins : ndarray of shape (n,), optional
        Q start, if known: else it costs one product with Q.
    fixed : int8 ndarray of shape (n,), optional
        Codes that hold at the optimum for this C, from safe screening: 0 undecided, 1 alpha_i = 0,
        2 alpha_i = C_i. They are trusted, but the full certificate is what decides.
    intercept : {"none", "free"}, default="none"
        "free": an unpenalised b, m_i = <z_i, w> + y_i b, and y'alpha = 0.
    solver : {"auto", "active-set", "smo"}, default="auto"
        The active set factors a matrix of the size of its free set, some five times; SMO moves
        pairs inside working sets (see `smo`). "auto" starts by SMO, for as long as a few of these
        factors would take, and goes on by active set, unless that meets a working set of more
        than 8192 samples (512 MB). Large sets, whose Gram matrix has `blocks`, it solves by levels
        (see `levels`), and by active set from where these come to a halt.
    tol : float, default=1e-6
        Relative duality gap of the full problem to stop at.
    max_iter : int, optional
        Most Newton steps and steps of SMO together; by default 2000 of the former and 1000 n of the
        latter, each time that one of them runs.
    screening : bool, default=True
        Screen by the gap ball (Ogawa et al. 2014 with the gap as radius) while solving.

    Returns
    -------
    SampleSolution
        `converged` is False where the steps were used up or
        rounding errors are in the way; `gap` tells how far it came. `n_iter` counts the Newton
        steps and the steps of SMO.

    Raises
    ------
    ValueError
        Arguments of a wrong shape or value; a kernel found not to be positive semi-definite.

    References
    ----------
    K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi. Safe sample screening for support vector
    machines. arXiv:1401.6740, 2014.
    """
    started = perf_counter()
    losses = as_losses(losses)
    _check(samples, losses.caps, start, margins, fixed, intercept, solver)
    y = samples.y if intercept == "free" else None
    codes = np.zeros(samples.n, np.int8) if fixed is None else fixed.astype(np.int8)
    codes[losses.caps == 0.0] = ZERO
    known, by_levels = None, samples.gram.blocks is not None and not losses.shifts.any()
    by_levels &= bool(samples.diagonal.max() <= LARGEST_SINGLE)
    if solver == "auto" and by_levels and losses.caps.any():
        known, done = solve_by_levels(samples, losses, y, start, margins, codes, tol, max_iter)
        if known.converged or done or known.n_iter == max_iter:
            return known
        # Its steps are in single precision, which may not suffice for a large C and a kernel matrix
        # of low rank.
        start, margins, solver = known.alpha, None, "active-set"
        max_iter = None if max_iter is None else max_iter - known.n_iter
    solve = _Solve(samples, losses, y, start, margins, codes, max_iter)
    if losses.caps.any():
        try:
            solve.run(solver, tol, screening)
        except SetTooLarge:
            if known is None:
                raise
    found = solve.solution(tol, perf_counter() - started)
    if known is None:
        return found
    found = certified_by_levels(samples, losses, found, y is not None, tol)
    return _better(known, found)


def _better(known: SampleSolution, found: SampleSolution) -> SampleSolution:
    """Return the one of two solutions, one after the other, with the smaller gap."""
    n_iter = known.n_iter + found.n_iter
    history = (*known.history, *after_steps(found.history, known.n_iter))
    best = found if found.certificate.gap < known.certificate.gap else known
    return replace(best, n_iter=n_iter, history=history, seconds=found.seconds)


class SetTooLarge(ValueError):
    """The active set was requested, but would be too large."""


class _Solve:
    """A dual point with margins on all samples, and the runs that improve it."""

    def __init__(self, samples, losses, y, start, margins, codes, max_iter):
        self.samples, self.losses, self.y, self.codes = samples, losses, y, codes
        self.caps, self.max_iter, self.whole = losses.caps, max_iter, HingeTerms(losses, y)
        self.n_iter, self.history = 0, []
        begin = np.zeros(samples.n) if start is None else np.asarray(start, np.float64)
        low = np.where(codes == LINEAR, losses.caps, 0.0)
        high = np.where(codes == ZERO, 0.0, losses.caps)
        self.alpha = low + feasible(begin - low, high - low, y, 0.0 if y is None else -(y @ low))
        known = np.zeros(samples.n) if start is None else margins
        if known is None:
            self.margins = samples.q_dot(self.alpha)
        else:
            self.margins = np.array(known, np.float64)
            self._add(self.alpha - begin, np.arange(samples.n))

    def run(self, solver: str, tol: float, screening: bool) -> None:
        """Improve the point by the solvers; repair it if the full gap is too large."""
        most = _STEPS_A_SAMPLE * self.samples.n
        settings = {"free": self.y is not None, "tol": tol, "screening": screening}
        # If the gap of all samples is too large, decisions are taken back. A run that was stopped
        # by rounding errors also starts again, with a large delta.
        before = np.inf
        for _ in range(_RUNS):
            spent = False
            if solver != "active-set":
                limit = self._cheap(most) if solver == "auto" else most
                spent = self._improve(SmoRun, limit, settings)
            if solver != "smo":
                try:
                    spent = self._improve(ActiveSetRun, _STEPS, settings)
                except TooLarge:
                    if solver == "active-set":
                        raise SetTooLarge(
                            'the working set has too many samples for solver="active-set"; '
                            'choose "auto" or "smo"'
                        ) from None
                    spent = self._improve(SmoRun, most, settings)
            gap, dual, _ = self._certificate()
            if gap <= tol * (dual + gap) or spent or gap > _WORTH_REPEATING * before:
                return
            before = gap
            self._repair()

    def _repair(self) -> None:
        """Take decisions back and recompute margins."""
        started, absent = perf_counter(), self.caps == 0.0
        if self.codes[~absent].any():
            self.codes = np.where(absent, 1, 0).astype(np.int8)
            seconds = perf_counter() - started
            self.history.append(screening_event("repair", self.n_iter, self.codes, seconds))
        self.margins = self.samples.q_dot(self.alpha)

    def _cheap(self, most: int) -> int:
        """Return how many steps SMO may take that cost no more than some Newton steps."""
        undecided = max(np.count_nonzero(self.codes == 0), 1)
        if not self.alpha.any():
            return min(_COLD * undecided, most)
        free = np.count_nonzero((self.alpha > 0.0) & (self.alpha < self.caps))
        newton = NS_PER_MULTIPLY * free**3 / 3.0 + _NS_PER_ENTRY * free**2 + _NS_PER_NEWTON
        size = min(working_set_size(free, LEAST), undecided)
        return min(int(_MOST_NEWTON * newton / (_NS_PER_SMO * size)) + 1, most)

    def _improve(self, method: type[KernelRun], limit: int, settings) -> bool:
        """Run a solver; return whether all its steps were used up."""
        if self.max_iter is not None:
            limit = min(limit, self.max_iter - self.n_iter)
            if limit <= 0:
                return True
        state = State(self.alpha.copy(), self.margins.copy(), self.codes.copy(), self._dual())
        run = method(self.samples, self.losses, state, **settings)
        try:
            run.run(limit)
            return run.n_steps >= limit
        finally:
            self.history += after_steps(run.history, self.n_iter)
            self.n_iter += run.n_steps
            change = state.alpha - self.alpha
            self.alpha = state.alpha
            left_out = np.flatnonzero(state.codes)
            known, self.margins = self.margins, state.margins
            self.margins[left_out] = known[left_out]
            self._add(change, left_out)
            self.codes = state.codes
            if run.n_steps > self.samples.n:
                # After so many updates the rounding errors of margins matter.
                self.margins = self.samples.q_dot(self.alpha)

    def _add(self, change: np.ndarray, columns: np.ndarray) -> None:
        """Update margins of some samples after a change of alpha."""
        index = np.flatnonzero(change)
        if index.size == 0 or columns.size == 0:
            return
        if columns.size == self.samples.n:
            self.samples.add_columns(index, change[index], self.margins)
            return
        margins = self.margins[columns]
        self.samples.add_columns(index, change[index], margins, columns)
        self.margins[columns] = margins

    def _certificate(self) -> tuple[float, float, float]:
        """Return the gap, the dual value and the intercept, of the full problem."""
        gap, b = self.whole.gap(self.alpha, self.margins)
        return gap, self._dual(), b

    def _dual(self) -> float:
        return self.losses.gain(self.alpha) - 0.5 * float(self.alpha @ self.margins)

    def solution(self, tol: float, seconds: float) -> SampleSolution:
        """Return the point with its certificate."""
        gap, dual, b = self._certificate()
        return SampleSolution(
            alpha=self.alpha,
            margins=self.margins,
            w=None,
            certificate=Certificate(float(dual + gap), float(dual), float(gap)),
            n_iter=self.n_iter,
            converged=bool(gap <= tol * (dual + gap)),
            seconds=seconds,
            history=tuple(self.history),
            b=b,
        )


def _check(samples, C, start, margins, fixed, intercept, solver) -> None:
    """Refuse invalid arguments."""
    for name, value in (("C", C), ("start", start), ("margins", margins), ("fixed", fixed)):
        if value is not None and np.shape(value) != (samples.n,):
            raise ValueError(f"{name} must have shape ({samples.n},), got {np.shape(value)}")
    if margins is not None and start is None:
        raise ValueError("margins are those of a start: give both or none")
    for name, value, known in (("intercept", intercept, INTERCEPTS), ("solver", solver, SOLVERS)):
        if value not in known:
            raise ValueError(f"{name} must be one of {known}, got {value!r}")
