"""Sequential minimal optimisation on working sets of the undecided samples, one after the other.

Kernel values inside a working set are in single precision. Each set starts from margins in double
precision, so that what rounding has cost one the next makes good.
"""

from dataclasses import replace

import numpy as np

from skscreen.samples.gram import Gram
from skscreen.svm.solvers.kernel.box import Box
from skscreen.svm.solvers.kernel.state import KernelRun
from skscreen.svm.solvers.kernel.working_set import LARGEST, WorkingSets, choose, row_length

# Least samples of a working set.
LEAST = 300


class SmoRun(KernelRun):
    """One solve by SMO, on the undecided samples of a state; feasible from the start."""

    def run(self, max_steps: int) -> None:
        """Solve until the gap of the undecided samples meets its share."""
        state = self.state
        sets = self._sets(max_steps)
        while True:
            gap, state.b = self.gap()
            if self.is_solved(gap) or self.n_steps >= max_steps:
                return
            self.screen(gap)
            if self.S.size == 0:
                return
            moved = self._improve(sets, self.tol * (state.dual + gap))
            self.n_steps = sets.n_steps
            if not moved:
                return

    def _sets(self, max_steps: int) -> WorkingSets:
        """Return what solves on working sets, in units of the largest K_ii, shifts included."""
        samples, own = self.samples, np.zeros(self.samples.n)
        diagonal = samples.diagonal + self.losses.shifts
        # A power of two: nothing is rounded. Numbers in single precision end at 1e38.
        largest = float(np.max(diagonal, where=np.isfinite(diagonal), initial=0.0))
        # The reciprocal of the smallest numbers is infinite.
        self._unit = 2.0 ** max(np.round(np.log2(largest)), -1000.0) if largest > 0.0 else 1.0
        blocks, square_bias = _Scaled(samples.gram, own, self._unit), samples.bias**2 / self._unit
        # For the largest set, as only what is written to takes memory.
        m = min(samples.n, LARGEST)
        memory = samples.gram.pool.empty(m * row_length(m), np.float32)
        return WorkingSets(
            blocks, square_bias, diagonal / self._unit, max_steps, by_newton=False, memory=memory
        )

    def _improve(self, sets: WorkingSets, allowed: float) -> bool:
        """Solve on one working set, as far as a gap needs it; return whether anything moved."""
        state, S, losses = self.state, self.S, self.terms.losses
        alpha, y, free = state.alpha[S], self.samples.y[S], self.y is not None
        short = losses.short(state.margins[S], state.b, None if self.y is None else y)
        slopes, ends = losses.slopes(short, alpha), y * losses.caps
        box = Box(y * losses.thresholds, np.minimum(ends, 0.0), np.maximum(ends, 0.0), free)
        beta, slopes = y * alpha, y * slopes
        W, eps = choose(box, beta, slopes, allowed, LEAST)
        part = box.take(W, 0.0)
        part = replace(part, low=self._unit * part.low, high=self._unit * part.high)
        moved = sets.solve(S[W], part, self._unit * beta[W], slopes[W], eps) / self._unit
        target = np.clip(y[W] * moved, 0.0, losses.caps[W])
        change = target - alpha[W]
        if not change.any():
            return False
        before, margins = losses.slopes(losses.short(state.margins[S]), alpha), state.margins[S]
        used = np.flatnonzero(change)
        self.samples.add_columns(S[W[used]], change[used], margins, S)
        state.alpha[S[W]] = target
        after = losses.slopes(losses.short(margins), state.alpha[S])
        state.dual += 0.5 * float(change @ (before[W] + after[W]))
        state.margins[S] = margins
        return True


class _Scaled:
    """Kernel values K_ij - own_i - own_j over a unit, in single precision."""

    def __init__(self, gram: Gram, own: np.ndarray, unit: float):
        self._gram, self._own, self._factor = gram, own, 1.0 / unit

    def block(self, I: np.ndarray, J: np.ndarray, out: np.ndarray) -> None:
        """Write them for two sets of samples to the first columns of `out`."""
        self._gram.block(I, J, self._own, self._factor, out)
