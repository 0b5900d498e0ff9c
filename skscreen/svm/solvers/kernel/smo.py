"""Sequential minimal optimisation with rows of the Gram matrix fetched as they are needed.

References
----------
I. Steinwart, D. Hush, C. Scovel. Training SVMs without offset. JMLR 12, 2011.
R.-E. Fan, P.-H. Chen, C.-J. Lin. Working set selection using second order information for
training support vector machines. JMLR 6, 2005.
"""

import numpy as np

from skscreen.svm.solvers.kernel.smo_loops import smo_with_offset, smo_without_offset
from skscreen.svm.solvers.kernel.state import KernelRun

# Rows computed together where one is missing: GEMM costs little more than one row.
_FETCH = 32

# Steps from one gap to the next: the samples over 16, or 30, as a gap costs a few steps.
_STEPS_A_GAP, _LEAST_STEPS = 16, 30


class SmoRun(KernelRun):
    """One solve by SMO, on the undecided samples of a state; its point is always feasible."""

    def run(self, max_steps: int) -> None:
        """Solve until the gap of the undecided samples meets its share."""
        state, samples = self.state, self.samples
        loop = smo_without_offset if self.y is None else smo_with_offset
        while True:
            gap, state.b = self.gap()
            if self.is_solved(gap) or self.n_steps >= max_steps:
                return
            self.screen(gap)
            if self.S.size == 0:
                return
            S, y = self.S, samples.y[self.S]
            losses, alpha = self.terms.losses, state.alpha[S]
            diagonal = samples.diagonal[S] + losses.shifts
            short = losses.slopes(losses.short(state.margins[S]), alpha)
            known = alpha.copy(), short.copy()
            # A gap costs as much as a few steps.
            left = min(max(S.size // _STEPS_A_GAP, _LEAST_STEPS), max_steps - self.n_steps)
            status, places = 2, samples.gram.places(S)
            while left > 0:
                K, slot_of = samples.gram.rows_at_hand()
                status, i, j, steps = loop(
                    K,
                    slot_of,
                    y,
                    samples.bias**2,
                    diagonal,
                    places,
                    losses.caps,
                    alpha,
                    short,
                    left,
                )
                self.n_steps += steps
                left -= steps
                if status != 1:
                    break
                promising = self._promising(alpha, short)
                samples.gram.fetch(np.unique(np.concatenate([[i, j], promising])))
            state.dual += 0.5 * (alpha - known[0]) @ (known[1] + short)
            state.alpha[S] = alpha
            state.margins[S] = losses.thresholds - short - losses.shifts * alpha
            if status == 0:
                return

    def _promising(self, alpha: np.ndarray, short: np.ndarray) -> np.ndarray:
        """Return samples that violate their optimality conditions most."""
        S, caps = self.S, self.terms.losses.caps
        if self.y is not None:
            # In the middle of those at which single samples would be at rest; the best intercept
            # would sort all of them each time.
            y = self.y[S]
            kinks, rises = y * short, np.where(y > 0.0, alpha < caps, alpha > 0.0)
            falls = np.where(y > 0.0, alpha > 0.0, alpha < caps)
            if not (rises.any() and falls.any()):
                return S[:0]
            b = 0.5 * (kinks[rises].max() + kinks[falls].min())
            short = short - y * b
        violation = np.where(short > 0.0, (alpha < caps) * short, (alpha > 0.0) * -short)
        count = min(_FETCH, S.size)
        return S[np.argpartition(violation, S.size - count)[S.size - count :]]
