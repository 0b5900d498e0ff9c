"""A dual point of a problem over samples, its certificate, and the samples decided by it."""

from time import perf_counter

import numpy as np

from skscreen.core.certificate import Certificate, screening_event
from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.samples.losses import SampleLosses
from skscreen.samples.rows import LinearSamples
from skscreen.svm.screening.bounds import gap_ball, reference
from skscreen.svm.screening.rules import ball_test, decide
from skscreen.svm.solvers.solution import SampleSolution


class SampleState:
    """Dual variables in the box, with the duality gap of the full problem.

    Parameters
    ----------
    samples : LinearSamples
    losses : SampleLosses
        A sample whose cap is 0 does not exist.
    start : ndarray of shape (n,), or None
        Dual variables, clipped to the box; None for 0.
    fixed : ndarray of shape (n,), int8, or None
        0 undecided, 1: alpha_i = 0, 2: alpha_i = C_i.

    Attributes
    ----------
    alpha : ndarray of shape (n,)
    codes : ndarray of shape (n,), int8
        Those given and those decided here.
    u, margins, short, primal, dual, gap
        Of `alpha` when `evaluate` was last called; `short` is threshold minus margin.
    best : tuple
        The evaluated point of the smallest gap.
    history : list of ScreeningEvent
    """

    def __init__(self, samples: LinearSamples, losses: SampleLosses, start=None, fixed=None):
        self.samples, self.losses, self.caps = samples, losses, (caps := losses.caps)
        self.alpha = np.zeros(samples.n) if start is None else np.clip(start, 0.0, caps)
        self.codes = np.zeros(samples.n, np.int8) if fixed is None else fixed.astype(np.int8)
        # A sample of norm 0 has margin 0 for all weights.
        nowhere = (samples.norms == 0.0) & (self.codes == UNDECIDED)
        self.codes[nowhere & (losses.linear_below > 0.0)] = LINEAR
        self.codes[caps == 0.0] = ZERO
        self.apply_codes()
        self.gap, self.best = np.inf, None
        self.n_iter, self.history = 0, []

    def apply_codes(self) -> None:
        """Move decided samples to their end of the box."""
        self.alpha[self.codes == ZERO] = 0.0
        full = self.codes == LINEAR
        self.alpha[full] = self.caps[full]

    def undecided(self) -> np.ndarray:
        """Return the indices of samples that no code decides."""
        return np.flatnonzero(self.codes == UNDECIDED)

    def evaluate(self) -> float:
        """Compute weights, margins and certificate of `alpha`; returns the relative gap.

        The gap is the sum of all slacknesses, which are not negative, so nothing cancels.
        """
        self.u = self.samples.combine(self.alpha)
        # Many solves start from 0.
        self.margins = self.samples.margins(self.u) if self.u.any() else np.zeros(self.samples.n)
        self.short = self.losses.short(self.margins)
        self.gap, loss = self.losses.certify(self.short, self.alpha)
        size = float(self.u @ self.u)
        self.primal = 0.5 * size + loss
        self.dual = self.losses.gain(self.alpha) - 0.5 * size
        if self.best is None or self.gap <= self.best[-1]:
            self.best = (
                self.alpha.copy(), self.margins, self.short, self.u, self.primal, self.dual,
                self.gap,
            )  # fmt: skip
        return self.relative_gap

    @property
    def relative_gap(self) -> float:
        """Gap of the last evaluation as a fraction of its primal objective."""
        return Certificate(self.primal, self.dual, self.gap).relative_gap

    def restore(self) -> None:
        """Go back to the best point evaluated; codes stay."""
        self.alpha = self.best[0].copy()
        self.margins, self.short, self.u, self.primal, self.dual, self.gap = self.best[1:]

    def screen(self) -> int:
        """Decide samples by the gap ball around `u`; return the number of new decisions.

        Ball: |w* - u|^2 <= gap (P is 1-strongly convex and D is quadratic in u). The dual
        variables of decided samples move to their end of the box.
        """
        began, norms = perf_counter(), self.samples.norms
        ball = gap_ball(reference(norms, self.margins, self.alpha, self.losses))
        codes = decide(*ball_test(ball, norms), self.codes, self.losses)
        count = int(np.count_nonzero(codes != self.codes))
        self.codes = codes
        self.apply_codes()
        self.history.append(screening_event("dynamic", self.n_iter, codes, perf_counter() - began))
        return count

    def solution(self, tol: float, seconds: float) -> SampleSolution:
        """Return the best point evaluated, and go back to it."""
        self.restore()
        certificate = Certificate(self.primal, self.dual, self.gap)
        return SampleSolution(
            self.alpha, self.margins, self.u, certificate, self.n_iter,
            certificate.relative_gap <= tol, seconds, tuple(self.history),
        )  # fmt: skip
