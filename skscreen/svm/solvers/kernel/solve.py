"""Hinge-loss problems with a kernel: one entrance to the solvers."""

from time import perf_counter

import numpy as np

from skscreen.core.certificate import Certificate, after_steps, screening_event
from skscreen.samples.gram import KernelSamples
from skscreen.svm.solvers.hinge import HingeTerms
from skscreen.svm.solvers.kernel.active_set import ActiveSetRun, TooLarge
from skscreen.svm.solvers.kernel.smo import SmoRun
from skscreen.svm.solvers.kernel.state import KernelRun, State, feasible
from skscreen.svm.solvers.solution import SampleSolution

SOLVERS = ("auto", "active-set", "smo")
INTERCEPTS = ("none", "free")

# Newton steps, and steps of SMO for each sample, where no limit is given.
_STEPS, _STEPS_A_SAMPLE = 2000, 1000

# Runs, the first and those of repair; and what part of a gap a repair has to leave, at most, for
# another one.
_RUNS, _WORTH_REPEATING = 4, 0.5

# Nanoseconds of a multiplication in a Cholesky factor, of an entry of its matrix, of a Newton step
# besides, and of a step of SMO for each undecided sample.
_MULTIPLY, _ENTRY, _NEWTON, _STEP = 0.07, 1.0, 2e5, 2.0

# The relative gap to which SMO brings a start: the active set finds the rest faster. Paths take
# the same time, within a tenth, for 1e-2 to 1e-1. From a start that is known, where C is large, it
# may be a long way: no further than the cost of so many Newton steps, or so many steps a sample.
# From nothing no further than so many steps a sample either: few suffice as a rule, but where the
# kernel matrix has a low rank and C is large it takes hundreds.
_CRUDE, _MOST_NEWTON, _FEW, _COLD = 3e-2, 5, 0.125, 10

# With many free samples SMO goes on, as each of the (five or more) factors of the active set costs
# as much as many of its steps: the share of the estimate for the active set that may be lost on
# this trial; least steps worth trying, a sample.
_FACTORS, _TRIAL, _LEAST = 5, 0.3, 0.5


def solve_kernel(
    samples: KernelSamples,
    C: np.ndarray,
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
    """Minimise 1/2 |w|^2 + sum_i C_i (1 - m_i)_+ to a certified relative duality gap.

    Parameters
    ----------
    samples : KernelSamples
        With a penalised intercept if their `bias` is not 0.
    C : ndarray of shape (n,)
        Upper bounds C_i >= 0 of the dual variables, weights included; 0 leaves a sample out.
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
        The active set factors a matrix of the size of its free set, some five times; SMO reads two
        rows of Q a step. "auto" starts by SMO, to a gap of 3 % or nearer to it, goes on for a
        while where a factor of the free samples would cost as much as many of its steps, and then
        by active set, unless that meets a working set of more than 8192 samples (512 MB).
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
    C = _check(samples, C, start, margins, fixed, intercept, solver)
    y = samples.y if intercept == "free" else None
    codes = np.zeros(samples.n, np.int8) if fixed is None else fixed.astype(np.int8)
    codes[C == 0.0] = 1
    solve = _Solve(samples, C, y, start, margins, codes, max_iter)
    if C.any():
        solve.run(solver, tol, screening)
    return solve.solution(tol, perf_counter() - started)


class _Solve:
    """A dual point with margins on all samples, and the runs that improve it."""

    def __init__(self, samples, C, y, start, margins, codes, max_iter):
        self.samples, self.C, self.y, self.codes, self.max_iter = samples, C, y, codes, max_iter
        self.whole = HingeTerms(C, samples.norms, y)
        self.n_iter, self.history = 0, []
        begin = np.zeros(samples.n) if start is None else np.asarray(start, np.float64)
        low, high = np.where(codes == 2, C, 0.0), np.where(codes == 1, 0.0, C)
        self.alpha = low + feasible(begin - low, high - low, y, 0.0 if y is None else -(y @ low))
        known = np.zeros(samples.n) if start is None else margins
        if known is None:
            self.margins = samples.q_dot(self.alpha)
        else:
            self.margins = np.array(known, np.float64)
            self._add(self.alpha - begin, np.arange(samples.n))

    def run(self, solver: str, tol: float, screening: bool) -> None:
        """Improve the point by the solvers asked for; repair where the full gap disagrees."""
        most = _STEPS_A_SAMPLE * self.samples.n
        settings = {"free": self.y is not None, "tol": tol, "screening": screening}
        crude = solver == "auto" and tol < _CRUDE
        # If the certificate of all samples does not hold, what was fixed is taken back. A run that
        # rounding errors brought to a halt also goes on from a fresh start, with a large delta.
        before = np.inf
        for _ in range(_RUNS):
            spent = False
            if crude:
                self._improve(SmoRun, self._crude_steps(most), settings | {"tol": _CRUDE})
            elif solver == "smo":
                spent = self._improve(SmoRun, most, settings)
            crude = False
            if solver == "auto" and (trial := self._trial_steps()):
                self._improve(SmoRun, trial, settings)
            if solver != "smo":
                try:
                    spent = self._improve(ActiveSetRun, _STEPS, settings)
                except TooLarge:
                    if solver == "active-set":
                        raise ValueError(
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
        """Take decisions back, and leave the rounding errors of margins behind."""
        started, absent = perf_counter(), self.C == 0.0
        if self.codes[~absent].any():
            self.codes = np.where(absent, 1, 0).astype(np.int8)
            seconds = perf_counter() - started
            self.history.append(screening_event("repair", self.n_iter, self.codes, seconds))
        self.margins = self.samples.q_dot(self.alpha)

    def _crude_steps(self, most: int) -> int:
        """Return how many steps SMO may take to a crude gap."""
        free, undecided = self._sizes()
        if not self.alpha.any():
            return min(_COLD * undecided, most)
        newton = _MULTIPLY * free**3 / 3.0 + _ENTRY * free**2 + _NEWTON
        steps = max(_MOST_NEWTON * newton / (_STEP * undecided), _FEW * undecided)
        return min(int(steps) + 1, most)

    def _trial_steps(self) -> int:
        """Return how many steps of SMO are worth trying before the active set."""
        free, undecided = self._sizes()
        steps = _TRIAL * _FACTORS * _MULTIPLY * free**3 / 3.0 / (_STEP * undecided)
        return int(steps) if steps >= _LEAST * undecided else 0

    def _sizes(self) -> tuple[int, int]:
        """Return the number of free samples, and that of undecided ones or 1."""
        free = np.count_nonzero((self.alpha > 0.0) & (self.alpha < self.C))
        return free, max(np.count_nonzero(self.codes == 0), 1)

    def _improve(self, method: type[KernelRun], limit: int, settings) -> bool:
        """Run a solver; return whether its steps are used up."""
        if self.max_iter is not None:
            limit = min(limit, self.max_iter - self.n_iter)
            if limit <= 0:
                return True
        dual = self.alpha.sum() - 0.5 * self.alpha @ self.margins
        state = State(self.alpha.copy(), self.margins.copy(), self.codes.copy(), dual)
        run = method(self.samples, self.C, state, **settings)
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
                # So many changes of margins that their rounding errors count.
                self.margins = self.samples.q_dot(self.alpha)

    def _add(self, change: np.ndarray, columns: np.ndarray) -> None:
        """Bring margins of some samples up to date with a change of alpha."""
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
        return gap, self.alpha.sum() - 0.5 * self.alpha @ self.margins, b

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


def _check(samples, C, start, margins, fixed, intercept, solver) -> np.ndarray:
    """Refuse arguments that make no problem; return C in float64."""
    C = np.asarray(C, np.float64)
    for name, value in (("C", C), ("start", start), ("margins", margins), ("fixed", fixed)):
        if value is not None and np.shape(value) != (samples.n,):
            raise ValueError(f"{name} must have shape ({samples.n},), got {np.shape(value)}")
    if not np.all(np.isfinite(C) & (C >= 0.0)):
        raise ValueError("C must be finite and not negative")
    if margins is not None and start is None:
        raise ValueError("margins are those of a start: give both or none")
    for name, value, known in (("intercept", intercept, INTERCEPTS), ("solver", solver, SOLVERS)):
        if value not in known:
            raise ValueError(f"{name} must be one of {known}, got {value!r}")
    return C
