"""Max-margin chains by L-BFGS on smoothed losses, for columns of very uneven scale.

With a temperature mu the maximum over labellings becomes

    P_mu(w) = lam/2 |w|^2 + sum_c s_c mu log sum_y exp(gain_c(y) / mu) >= P(w),

gain_c(y) the loss plus score of y minus the score of y_c. The distributions proportional to
exp(gain / mu) are a dual point, D = <a, loss> - |p(a)|^2 / (2 lam) with p(a) = lam w - grad P_mu,
so that P - D vanishes with mu and the gradient. Where a column is large, what is left of the
gradient there outweighs the rest of p(a), but with either sign: D is maximised over the mixtures of
the best points, a quadratic programme over a simplex. Other solvers take steps that only the
largest column bounds; L-BFGS in units of the columns does not see their scale.

References
----------
Y. Nesterov (2005). Smooth minimization of non-smooth functions. Mathematical Programming 103.
M. Collins, A. Globerson, T. Koo, X. Carreras, P.L. Bartlett (2008). Exponentiated gradient
algorithms for conditional random fields and max-margin Markov networks. JMLR 9. Section 2: both
duals over distributions of labellings.
"""

from collections.abc import Iterator

import numpy as np

from skscreen.core.floats import EPS
from skscreen.pragam.iterates import Iterate
from skscreen.pragam.simplex_qp import maximise_on_simplex
from skscreen.sequence.chains import Chains
from skscreen.sequence.likelihood import units_of
from skscreen.sequence.solvers.entropic_gap import Distributions, OutOfRange, Scores
from skscreen.sequence.solvers.lbfgs import minimise


class SmoothedLoss:
    """P_mu as a function of the flat vector w; keeps the best dual points and their mixture."""

    def __init__(self, chains: Chains):
        self._at, self.units = Distributions(chains), units_of(chains, 1.0)
        self.lam, self.size = chains.lam, chains.n_weights
        self.mu = np.inf
        # The points of largest D of a stage and its last are mixed: more than there are large
        # entries, as a rule, but of many weights a few, in 200 MB.
        self._most = min(100, max(8, 25_000_000 // self.size))
        # D, expected loss and p of each point; those of the true labels are zero.
        self._points = [(0.0, 0.0, np.zeros(self.size))]

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return P_mu and its gradient."""
        try:
            point, log_sum = self._at.point(Scores(*self._at.chains.scores(w), 1.0).over(self.mu))
        except OutOfRange:
            return np.inf, np.zeros(self.size)
        self._points.append((self._dual_value(point.gain, point.p), point.gain, point.p))
        if len(self._points) > self._most:
            del self._points[min(range(self._most), key=lambda k: self._points[k][0])]
        value = 0.5 * self.lam * float(w @ w) + self.mu * log_sum - float(w @ self._at.chains.truth)
        return value, self.lam * w - point.p

    def dual(self) -> float:
        """Return D of the best mixture of the points, which takes their place."""
        values, gains, points = (np.array(part) for part in zip(*self._points, strict=True))
        shares = np.zeros(gains.size)
        shares[np.argmax(values)] = 1.0
        maximise_on_simplex(points @ points.T / self.lam, gains, shares, 0.0)
        gain, p = float(shares @ gains), shares @ points
        value = self._dual_value(gain, p)
        self._points = [(value, gain, p)]
        return value

    def _dual_value(self, gain: float, p: np.ndarray) -> float:
        return gain - 0.5 * float(p @ p) / self.lam


def smoothing(chains: Chains, tol: float, max_iter: int) -> Iterator[Iterate]:
    """Yield an iterate after each stage, numbered by those of L-BFGS, to a relative gap `tol`."""
    loss, w, done = SmoothedLoss(chains), np.zeros(chains.n_weights), 0
    # Stages in many large columns take many iterations; without an end to rounding errors, too.
    primal, stage = chains.risk(w), min(max(200, 10 * chains.n_weights), 2000)
    loss.mu = 0.1 * primal
    yield Iterate(0, w, 0.0, primal, 0.0)
    while done < max_iter and loss.mu > EPS * primal:
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = loss.value_and_gradient(w)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            # Gains over so low a temperature are no numbers.
            return
        # As the temperature falls next, a stage need not take long.
        found = minimise(loss, max(0.05 * tol, EPS), min(stage, max_iter - done), start=w)
        w, done = found.w, done + max(found.n_iter, 1)
        primal = 0.5 * chains.lam * float(w @ w) + chains.risk(w)
        yield Iterate(done, w, 0.0, primal, loss.dual())
        loss.mu *= 0.25
