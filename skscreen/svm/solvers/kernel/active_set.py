"""Proximal point + primal-dual active set for the dual of a kernel SVM.

Outer steps move the centre of a proximal point step (`proximal_newton`) to its solution and reduce
its delta: they converge faster and faster, in 4 to 8 steps. Three sets of samples keep them cheap:

    all samples      see the certificate, once at the end of the solve;
    undecided ones   (not fixed by safe screening) have their margins kept up to date, once an
                     outer step and from the columns of Q that changed;
    a working set    of those that may leave their bounds in this step: only they take part in
                     Newton's method, and Q is gathered for them alone.

Samples that turn out to belong to the working set join it in the next outer step. Only matrices of
a working set are factored, so most of the time goes into Cholesky factors of the free samples,
which screening cannot leave out.
"""

import numpy as np

from skscreen.core.memory import Pool
from skscreen.samples.gram import INDEFINITE
from skscreen.samples.gram_loops import add_rows
from skscreen.svm.solvers.hinge import HingeTerms, best_multiple
from skscreen.svm.solvers.kernel.bordered_factor import BrokenDown
from skscreen.svm.solvers.kernel.newton_loops import square_block
from skscreen.svm.solvers.kernel.proximal_newton import Point, ProximalNewton, WorkingSet
from skscreen.svm.solvers.kernel.state import KernelRun, feasible

# First delta times the largest C.
FIRST_DELTA = 0.3

# With shifts, which improve the conditioning and set no caps, this factor times the largest dual
# variable takes the place of the largest C.
_WELL_CONDITIONED = 30.0

# (Newton steps, factor of delta): the factor after an outer step of at most so many Newton steps.
SCHEDULE = ((5, 0.1), (10, 0.5), (INNER := 20, 0.7))

# Factor of delta after an outer step that was given up because it took more Newton steps.
GROW = 4.0

# Factor of the smallest delta after a Cholesky factor broke down (kernel values may be float32).
_MORE = 10.0

# Size of a working set: a multiple of the samples in the interior, plus a constant.
_ROOM = (1.5, 100)

# Largest working set: 512 MB for its block of Q.
LARGEST_SET = 8192

# A working set is copied without its fixed samples if the copy is at most this share of it.
_WORTH_COPYING = 0.7

# Largest number of outer steps of a run.
_LIMIT_OUTER = 100


class TooLarge(Exception):
    """A working set has too many samples."""


class ActiveSetRun(KernelRun):
    """One solve by proximal point and active sets, on the undecided samples of a state."""

    def __init__(self, samples, losses, state, **settings):
        super().__init__(samples, losses, state, **settings)
        self.pool = Pool()
        self.smallest_delta = 1e-12 * samples.diagonal.max()
        # Below it, rounding errors could make a large kernel matrix indefinite.
        largest = losses.caps.max()
        if losses.smooth:
            largest = _WELL_CONDITIONED * (state.alpha.max() or losses.sizes.max())
        self.delta = max(FIRST_DELTA / largest, self.smallest_delta)
        self.working, self.Q = np.empty(0, np.int64), np.empty((0, 0))

    def run(self, max_steps: int) -> None:
        """Solve until the gap of the undecided samples meets its share."""
        if self.is_solved(self.gap()[0]):
            return
        scale, self.state.b = self._best_multiple()
        for _ in range(_LIMIT_OUTER):
            gap, b = self.gap()
            if self.is_solved(gap) or self.n_steps >= max_steps:
                return
            if scale == 1.0:
                self.state.b = b
                self.screen(gap)
            if self.S.size == 0:
                return
            self._outer_step(scale, max_steps)
            scale = 1.0

    def _best_multiple(self) -> tuple[float, float]:
        """Return the multiple of the start that is best as a primal point; screen by its ball."""
        state = self.state
        square = max(2.0 * (self.losses.gain(state.alpha) - state.dual), 0.0)
        s, b = best_multiple(HingeTerms(self.losses, self.y), square, state.margins)
        if self.screening:
            self.screen_by_multiple(s, b)
        return s, b

    def left_out(self) -> None:
        """Drop fixed samples from the working set, if that makes it much smaller."""
        codes, W = self.state.codes, self.working
        keep = np.flatnonzero(codes[W] == 0)
        if keep.size > _WORTH_COPYING * W.size:
            codes[W] = 0
            self.take_part()
            return
        Q = self.pool.empty((keep.size, keep.size))
        square_block(self.Q, keep, Q)
        self.working, self.Q = W[keep], Q

    def _outer_step(self, scale: float, max_steps: int) -> None:
        """Move to the solution of the proximal point step on the working set."""
        state, delta = self.state, self.delta
        self._choose_working_set(scale)
        W = self.working
        alpha, margins, losses = state.alpha[W], state.margins[W], self.losses.take(W)
        own = self._q_dot(alpha)
        y = None if self.y is None else self.y[W]
        square = 2.0 * (self.losses.gain(state.alpha) - state.dual)
        working = WorkingSet(
            self.Q,
            losses,
            outer_margins=margins - own,
            outer_square=square - alpha @ (2.0 * margins - own),
            y=y,
            outer_sum=0.0 if y is None else -(y @ alpha),
        )
        start = Point(scale, scale * alpha, scale * margins, state.b)
        newton = ProximalNewton(working, self.pool)
        steps = min(INNER, max_steps - self.n_steps)
        try:
            point, n_steps, solved = newton.solve(start, alpha, delta, steps)
        except BrokenDown:
            # At most the accepted rounding errors.
            if delta > INDEFINITE * self.samples.diagonal[W].sum():
                raise
            self.delta = self.smallest_delta = _MORE * delta
            self.n_steps += 1
            return
        self.n_steps += max(n_steps, 1)
        if not solved:
            self.delta *= GROW
            return
        target = feasible(point.coef, losses.caps, y, -working.outer_sum)
        moved = point.margins + (1.0 - point.outer) * working.outer_margins
        moved += self._q_dot(target - point.coef)
        state.b = point.b
        if not self._move_towards(target - alpha, moved - margins):
            # Rounding errors are larger than what a step of so small a delta would gain.
            self.delta *= GROW
            return
        factor = next(factor for most, factor in SCHEDULE if n_steps <= most)
        self.delta = max(factor * delta, self.smallest_delta)

    def _q_dot(self, change: np.ndarray) -> np.ndarray:
        """Return Q_WW change."""
        out = np.zeros(change.size)
        index = np.flatnonzero(change)
        add_rows(self.Q, index, change[index], out)
        return out

    def _move_towards(self, change: np.ndarray, margins_change: np.ndarray) -> bool:
        """Move alpha on the working set, no further than the dual rises; whether it does."""
        state, W = self.state, self.working
        y = None if self.y is None else self.y[W]
        # y'change is 0 up to rounding errors, which a large t - m would amplify.
        losses = self.losses.take(W)
        short = losses.short(state.margins[W], state.b, y)
        slope = change @ losses.slopes(short, state.alpha[W])
        curvature = change @ (margins_change + losses.shifts * change)
        # By rounding errors the slope may be negative and the curvature zero.
        step = 1.0 if slope >= curvature else slope / curvature if slope > 0.0 else 0.0
        if step == 0.0:
            return False
        state.dual += step * slope - 0.5 * step**2 * curvature
        state.alpha[W] = np.clip(state.alpha[W] + step * change, 0.0, losses.caps)
        state.margins[W] += step * margins_change
        elsewhere = np.zeros(self.samples.n, np.bool_)
        elsewhere[self.S] = True
        elsewhere[W] = False
        columns = np.flatnonzero(elsewhere)
        changed = np.flatnonzero(change)
        margins = state.margins[columns]
        self.samples.add_columns(W[changed], step * change[changed], margins, columns)
        state.margins[columns] = margins
        return True

    def _choose_working_set(self, scale: float) -> None:
        """Add to the working set what may leave its bound at this centre and delta."""
        state, S, terms = self.state, self.S, self.terms
        alpha = state.alpha[S]
        caps = terms.losses.caps
        centre, delta = terms.losses.proximal(alpha, self.delta)
        t = centre + terms.short(scale * state.margins[S], state.b) / delta
        beyond = np.maximum(-t, t - caps)
        joins = (beyond < 0.0) | (np.clip(t, 0.0, caps) != alpha)
        if self.working.size == 0:
            count = int(_ROOM[0] * np.count_nonzero(joins)) + _ROOM[1]
            if count < S.size:
                beyond[joins] = -np.inf
                joins = beyond <= np.partition(beyond, count)[count]
            else:
                joins[:] = True
        already = np.zeros(self.samples.n, np.bool_)
        already[self.working] = True
        self._extend_working_set(S[joins & ~already[S]])

    def _extend_working_set(self, new: np.ndarray) -> None:
        """Gather the rows of Q of new samples; known rows are kept."""
        if new.size == 0:
            return
        if self.working.size + new.size > LARGEST_SET:
            raise TooLarge
        old, k = self.working, self.working.size
        self.working = np.concatenate([old, new])
        Q = self.pool.empty((self.working.size, self.working.size))
        Q[:k, :k] = self.Q
        self.samples.block(new, self.working, out=Q[k:])
        Q[:k, k:] = Q[k:, :k].T
        self.Q = Q
