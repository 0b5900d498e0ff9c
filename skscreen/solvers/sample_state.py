"""A dual point of a hinge problem over samples, its certificate, and what that decides."""

import numpy as np
from numba import njit

from skscreen.problems.samples import LinearSamples
from skscreen.solvers.sample_solution import SampleSolution

EPS = float(np.finfo(np.float64).eps)
UNDECIDED, ZERO, FULL = 0, 1, 2
# How clearly a margin must be on one side of 1 (`safe`: on top of its rounding error).
_MARGIN_TOL = 1e-9


class SampleState:
    """Dual variables in the box, with the duality gap of the full problem.

    Parameters
    ----------
    samples : LinearSamples
    caps : ndarray of shape (n,)
        C_i >= 0; where it is 0 the sample does not exist.
    start : ndarray of shape (n,), or None
        Dual variables, clipped to the box; None for 0.
    fixed : ndarray of shape (n,), int8, or None
        0 undecided, 1: alpha_i = 0, 2: alpha_i = C_i.

    Attributes
    ----------
    alpha : ndarray of shape (n,)
    codes : ndarray of shape (n,), int8
        Those given and those decided here.
    u, margins, primal, dual, gap
        Of `alpha` when `evaluate` was last called.
    best : tuple
        The evaluated point of the smallest gap.
    """

    def __init__(self, samples: LinearSamples, caps: np.ndarray, start=None, fixed=None):
        self.samples, self.caps = samples, caps
        self.alpha = np.zeros(samples.n) if start is None else np.clip(start, 0.0, caps)
        self.codes = np.zeros(samples.n, np.int8) if fixed is None else fixed.astype(np.int8)
        # A sample of norm 0 has margin 0 < 1 whatever the weights.
        self.codes[(samples.norms == 0.0) & (self.codes == UNDECIDED)] = FULL
        self.codes[caps == 0.0] = ZERO
        self.apply_codes()
        self.gap, self.best = np.inf, None
        self.n_iter = 0

    def apply_codes(self) -> None:
        """Put decided samples to their end of the box."""
        self.alpha[self.codes == ZERO] = 0.0
        full = self.codes == FULL
        self.alpha[full] = self.caps[full]

    def undecided(self) -> np.ndarray:
        """Return the indices of samples that no code decides."""
        return np.flatnonzero(self.codes == UNDECIDED)

    def evaluate(self) -> float:
        """Compute weights, margins and certificate of `alpha`; returns the relative gap.

        The gap is the sum of kappa_i = C_i (1 - m_i)_+ - alpha_i (1 - m_i) >= 0: nothing cancels.
        """
        self.u = self.samples.combine(self.alpha)
        self.margins = self.samples.margins(self.u)
        self.gap, hinge = certify(self.margins, self.caps, self.alpha)
        size = float(self.u @ self.u)
        self.primal = 0.5 * size + hinge
        self.dual = float(self.alpha.sum()) - 0.5 * size
        if self.best is None or self.gap <= self.best[-1]:
            self.best = (
                self.alpha.copy(), self.margins, self.u, self.primal, self.dual, self.gap,
            )  # fmt: skip
        return self.relative_gap

    @property
    def relative_gap(self) -> float:
        """Gap of the last evaluation as a fraction of its primal objective."""
        return self.gap / self.primal if self.primal > 0.0 else self.gap

    def restore(self) -> None:
        """Go back to the best point evaluated; codes stay."""
        self.alpha = self.best[0].copy()
        self.margins, self.u, self.primal, self.dual, self.gap = self.best[1:]

    def screen(self) -> int:
        """Decide samples by the gap ball round `u`; returns how many it decides for the first time.

        Ball: |w* - u|^2 <= gap (P is 1-strongly convex and D is quadratic in u). The dual
        variables of decided samples move to their end of the box.
        """
        # Relative rounding error of an inner product; what it does to the gap through C_i.
        error = EPS * (4.0 + np.sqrt(self.samples.n_features)) * float(np.linalg.norm(self.u))
        slack = error * float(self.caps @ self.samples.norms)
        return decide(
            self.margins, self.samples.norms, np.sqrt(self.gap + slack), error, _MARGIN_TOL,
            self.caps, self.codes, self.alpha,
        )  # fmt: skip

    def solution(self, tol: float, seconds: float) -> SampleSolution:
        """Return the best point evaluated."""
        alpha, margins, u, primal, dual, gap = self.best
        relative = gap / primal if primal > 0.0 else gap
        return SampleSolution(
            alpha, margins, u, primal, dual, gap, self.n_iter, relative <= tol, seconds
        )


@njit(cache=True, nogil=True)
def certify(margins, caps, alpha):
    """Return the sum of kappa_i and that of C_i (1 - m_i)_+."""
    gap, hinge = 0.0, 0.0
    for i in range(margins.size):
        slack = 1.0 - margins[i]
        if slack > 0.0:
            hinge += caps[i] * slack
            gap += (caps[i] - alpha[i]) * slack
        else:
            gap -= alpha[i] * slack
    return gap, hinge


@njit(cache=True, nogil=True)
def decide(margins, norms, radius, error, tol, caps, codes, alpha):
    """Apply a ball, known by the margins of its centre, to undecided samples.

    Ogawa et al. (2014), Lemma 1 and rule (9).
    """
    count = 0
    for i in range(margins.size):
        if codes[i] != 0:
            continue
        reach = (radius + error) * norms[i] + tol
        if margins[i] - reach > 1.0:
            codes[i], alpha[i] = 1, 0.0
            count += 1
        elif margins[i] + reach < 1.0:
            codes[i], alpha[i] = 2, caps[i]
            count += 1
    return count
