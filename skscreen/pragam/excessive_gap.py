"""Nesterov's excessive gap technique for lam/2 |w|^2 + max over a in Q of <a, c - Z w> (Pragam).

The set Q, the vector c and the products with Z and Z' are behind `Risk`; a solver of another kind
of data (chains, rows spread over machines) only needs another one. With mu > 0,

    a_mu(w) = argmax over Q of <a, c - Z w> - mu/2 |a - a_0|^2                               (23)
    w(a)    = Z'a / lam                                                                      (24)
    v(a)    = projection onto Q of a + (c - Z w(a)) / L                                      (25)

the iterates keep J_mu(w) <= D(a), the excessive gap condition, while mu shrinks like 1/k^2; hence

    J(w_k) - D(a_k) <= mu_k max over Q of 1/2 |a - a_0|^2.                                   (26)

The step needs of L only that L tau^2 <= (1 - tau) mu and that the quadratic model of D at beta
holds at v(beta): |Z'(v - beta)|^2 / lam <= L |v - beta|^2. So L may be found step by step, and is
then far smaller than the global |Z|^2 / lam.

References
----------
A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). Lower bounds for BMRM and faster rates for training
SVMs. arXiv:0909.1334. Algorithm 1, equations (23) to (26).
Y. Nesterov (2005). Excessive gap technique in nonsmooth convex minimization. SIAM Journal on
Optimization 16.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from skscreen._compiled import pragam
from skscreen.core.floats import EPS
from skscreen.pragam.iterates import Iterate


class Risk(Protocol):
    """R(w) = max over a in Q of <a, c - Z w>."""

    lam: float

    @property
    def centre(self) -> np.ndarray:
        """A point of Q for a cold start."""

    @property
    def curvatures(self) -> tuple[float, float]:
        """A lower and an upper bound of |Z|^2 / lam."""

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """Return c - Z w."""

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Return Z'a."""

    def gain(self, a: np.ndarray) -> float:
        """Return <a, c>."""

    def value(self, g: np.ndarray) -> tuple[float, float]:
        """Return max <a, g> over Q, and the best intercept if there is one."""

    def project(self, base: np.ndarray, g: np.ndarray, scale: float) -> np.ndarray:
        """Return the point of Q nearest to base + scale g."""

    def reach(self, centre: np.ndarray) -> float:
        """Return max 1/2 |a - centre|^2 over Q, or more."""


def excessive_gap(
    risk: Risk, start: np.ndarray | None = None, lipschitz: float | None = None,
    restart: bool = True, w: np.ndarray | None = None,
) -> Iterator[Iterate]:  # fmt: skip
    """Yield the iterates of Pragam, from the prox centre `start` in Q; iteration 0 shows `w`."""
    # With a fixed L = `lipschitz` below |Z|^2 / lam, (26) is not promised; J and D always hold.
    # An iteration takes three products with Z or Z', and two for each L that is tried in vain. With
    # `restart` (26) holds from each beginning. As these come at a geometric sequence of gaps, the
    # rate stays, with a constant 1 / (1 - 0.1^(1/2)) = 1.5 times as large at worst; as a rule
    # convergence becomes linear.
    step_size = _StepSize(risk, lipschitz)
    best = _Dual.at(risk, risk.centre if start is None else start)
    w = best.p / risk.lam if w is None else w
    iterate = _iterate(risk, 0, w, risk.gradient(w), best, np.inf)
    yield iterate
    gap = iterate.primal - best.value
    while True:
        target = 0.1 * gap if restart else -np.inf
        primal = np.inf
        leg = _leg(risk, best, step_size, iterate.iteration)
        for iterate, dual in leg:
            yield iterate
            primal = min(primal, iterate.primal)
            if dual.value > best.value:
                best = dual
            gap = primal - best.value
            if gap <= target:
                break
        else:
            return


@dataclass(frozen=True, slots=True)
class _Dual:
    """Dual variables a in Q, with p = Z'a and D(a)."""

    a: np.ndarray
    p: np.ndarray
    value: float

    @classmethod
    def at(cls, risk: Risk, a: np.ndarray, p: np.ndarray | None = None) -> Self:
        p = risk.combine(a) if p is None else p
        return cls(a, p, risk.gain(a) - 0.5 * float(p @ p) / risk.lam)


class _StepSize:
    """The constant L: given, or the smallest of late for which the model of D has held."""

    def __init__(self, risk: Risk, given: float | None):
        self._lam, self._fixed = risk.lam, given is not None
        smallest, self._largest = risk.curvatures
        self._least = 1e-3 * smallest
        self.L: float = smallest if given is None else given

    def shrink(self) -> None:
        if not self._fixed:
            self.L = max(0.9 * self.L, self._least)

    def holds(self, old: np.ndarray, p_old: np.ndarray, new: _Dual) -> bool:
        """Whether D(new) is at least its model at `old`; if not, L grows."""
        if self._fixed or self.L >= self._largest:
            return True
        change = pragam.squared_distance(new.p, p_old)
        if change <= self.L * self._lam * pragam.squared_distance(new.a, old):
            return True
        self.L *= 2.0
        return False


def _leg(risk: Risk, start: _Dual, step_size: _StepSize, k: int) -> Iterator[tuple[Iterate, _Dual]]:
    """Yield the iterates from one centre, numbered from k + 1."""
    reach, lam = risk.reach(start.a), risk.lam
    w = start.p / lam
    g = risk.gradient(w)
    while True:
        dual = _Dual.at(risk, risk.project(start.a, g, 1.0 / step_size.L))
        if step_size.holds(start.a, start.p, dual):
            break
    mu = step_size.L
    while True:
        k += 1
        iterate = _iterate(risk, k, w, g, dual, mu * reach)
        yield iterate, dual
        if mu * reach < EPS * abs(iterate.primal):
            return
        a_mu = risk.project(start.a, g, 1.0 / mu)
        p_mu = risk.combine(a_mu)
        step_size.shrink()
        while True:
            # The root of L tau^2 = (1 - tau) mu, written without cancellation.
            tau = 2.0 * mu / (mu + np.sqrt(mu * (mu + 4.0 * step_size.L)))
            beta, p_beta = mix(dual.a, a_mu, tau), mix(dual.p, p_mu, tau)
            w_beta = p_beta / lam
            g_beta = risk.gradient(w_beta)
            if not np.isfinite(g_beta).all():
                # If the given L is far below |Z|^2 / lam, steps grow until numbers overflow.
                return
            new = _Dual.at(risk, risk.project(beta, g_beta, 1.0 / step_size.L))
            if step_size.holds(beta, p_beta, new):
                break
        w = mix(w, w_beta, tau)
        # Now and then anew, because updates add up rounding errors.
        g = risk.gradient(w) if k % 100 == 0 else mix(g, g_beta, tau)
        dual = new
        mu *= 1.0 - tau


def _iterate(
    risk: Risk, iteration: int, w: np.ndarray, g: np.ndarray, dual: _Dual, promise: float
) -> Iterate:
    value, b = risk.value(g)
    primal = 0.5 * risk.lam * float(w @ w) + value
    return Iterate(iteration, w, b, primal, dual.value, dual.a, promise)


def mix(x: np.ndarray, y: np.ndarray, share: float) -> np.ndarray:
    """Return (1 - share) x + share y."""
    out = np.empty_like(x)
    pragam.mix(x, y, share, out)
    return out
