"""Nesterov's excessive gap technique for max-margin chains with the entropy as prox function.

The dual variables a are distributions over the labellings of each chain, s_c their shares, and

    D(a) = <a, loss> - |p(a)|^2 / (2 lam),  p(a) = sum_c s_c (f(x_c, y_c) - E_a f),  w(a) = p / lam,
    d(a) = sum_c s_c KL(a_c | uniform) <= sum_c s_c length_c log m.

With the temperature mu, a_mu(w) is proportional to exp((loss + score of w) / mu): one forward and
backward pass in place of a projection. With gradients g of D and 0 < tau < 1 a step is

    beta = (1 - tau) a + tau a_mu(w),
    a' = argmax <g(beta), a'> - (1 - tau) mu / tau KL(a' | a_mu),
    w <- (1 - tau) w + tau w(beta),   a <- (1 - tau) a + tau a',   mu <- (1 - tau) mu;

a' is proportional to a_mu exp(tau / ((1 - tau) mu) g(beta)). The excessive gap condition
J_mu(w) <= D(a), hence J(w) - D(a) <= mu max d, is kept where

    tau^2 |p(a') - p(a_mu)|^2 / (2 lam) <= (1 - tau) mu KL(a' | a_mu),

so tau is found step by step. Only p and the expected loss of a are kept: a step needs memory for
weights, not for marginals. This is algorithm 1 of Zhang et al. (2011), see `MaxMarginChain`; the
search for tau is ours.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from skscreen.core.floats import EPS
from skscreen.pragam.iterates import Iterate
from skscreen.sequence.chains import Chains
from skscreen.sequence.loops import expectations


class Scores(NamedTuple):
    """Scores of labels at all positions and of steps, for some weights, and a factor of losses."""

    U: np.ndarray
    E: np.ndarray
    losses: float

    def over(self, mu: float) -> Scores:
        """Return the scores over a temperature."""
        return Scores(self.U / mu, self.E / mu, self.losses / mu)


class _Point(NamedTuple):
    """Dual variables, known by their expected loss, by p, and by the scores of w = p / lam."""

    gain: float
    p: np.ndarray
    scores: Scores


def _sum(one: Any, other: Any, share: float, others: float) -> Any:
    """Return a weighted sum of two numbers or arrays, or of two scores or points by their parts."""
    if isinstance(one, tuple):
        parts = zip(one, other, strict=True)
        return type(one)(*(_sum(*pair, share, others) for pair in parts))
    return share * one + others * other


class OutOfRange(ArithmeticError):
    """Scores over a temperature left the floating-point numbers."""


class Distributions:
    """The points of distributions proportional to exp of scores."""

    def __init__(self, chains: Chains):
        self.chains, self._weights = chains, chains.position_shares
        self._at = np.arange(chains.codes.size)

    def point(self, scores: Scores) -> tuple[_Point, float]:
        """Return the point, and the mean logarithm of the sum over labellings."""
        chains, m = self.chains, self.chains.n_labels
        U = scores.U + (scores.losses * chains.losses)[:, None]
        U[self._at, chains.codes] -= scores.losses * chains.losses
        nodes, edges = np.empty(U.shape), np.zeros((m, m))
        log_sums = np.empty(chains.shares.size)
        expectations(
            U, scores.E, chains.starts, nodes, edges, log_sums, chains.shares, chains.scales
        )
        wrong = 1.0 - nodes[self._at, chains.codes]
        nodes *= self._weights[:, None]
        p = self.chains.truth - chains.combine(nodes, edges)
        gain = float((self._weights * chains.losses) @ wrong)
        with np.errstate(over="ignore", invalid="ignore"):
            w_scores = Scores(*chains.scores(p / chains.lam), 1.0)
        if not (np.isfinite(w_scores.U).all() and np.isfinite(p).all()):
            raise OutOfRange
        return _Point(gain, p, w_scores), float(chains.shares @ log_sums)

    def expected_score(self, point: _Point, w: np.ndarray) -> float:
        """Return the mean of loss + score of w under the distributions of a point."""
        return point.gain + float(w @ (self.chains.truth - point.p))


def entropic_gap(chains: Chains) -> Iterator[Iterate]:
    """Yield iterates from w = 0 and uniform distributions until floating point allows no more."""
    with contextlib.suppress(OutOfRange):
        yield from _from_uniform(chains)


def _from_uniform(chains: Chains) -> Iterator[Iterate]:
    at, lam, m = Distributions(chains), chains.lam, chains.n_labels
    U, E = np.zeros((chains.codes.size, m)), np.zeros((m, m))
    uniform, log_uniform = at.point(Scores(U, E, 0.0))
    dual_value = _dual_value(uniform, lam)
    yield Iterate(0, np.zeros(chains.n_weights), 0.0, chains.risk(np.zeros(chains.n_weights)),
                  dual_value)  # fmt: skip
    p_w, scores, reach = uniform.p, uniform.scores, log_uniform
    mu = reach
    while True:
        dual, log_sum = at.point(scores.over(mu))
        moved = at.expected_score(dual, p_w / lam) / mu - (log_sum - log_uniform)
        if _holds(dual.p - uniform.p, lam, 1.0, mu * moved, mu * log_sum):
            break
        mu *= 2.0
    yield from _steps(at, dual, p_w, scores, mu, reach)


def _steps(
    at: Distributions, dual: _Point, p_w: np.ndarray, scores: Scores, mu: float, reach: float
):
    """Yield the iterates from the excessive gap condition at (w, a, mu) on; w = p_w / lam."""
    k, L, lam = 0, mu, at.chains.lam
    while True:
        k += 1
        w = p_w / lam
        if not (np.isfinite(w).all() and np.isfinite(scores.U).all()):
            raise OutOfRange
        primal = 0.5 * lam * float(w @ w) + at.chains.risk(w)
        yield Iterate(k, w, 0.0, primal, _dual_value(dual, lam), promise=mu * reach)
        if mu * reach < EPS * abs(primal):
            return
        near, log_near = at.point(scores.over(mu))
        # L, with L tau^2 = (1 - tau) mu, shrinks after a step that held, and grows until one does.
        L *= 0.8
        while True:
            # The root of L tau^2 = (1 - tau) mu, written without cancellation.
            tau = 2.0 * mu / (mu + np.sqrt(mu * (mu + 4.0 * L)))
            beta, factor = _sum(dual, near, 1.0 - tau, tau), tau / (1.0 - tau)
            new, log_new = at.point(_sum(scores, beta.scores, 1.0 / mu, factor / mu))
            moved = factor / mu * at.expected_score(new, beta.p / lam) - (log_new - log_near)
            if _holds(new.p - near.p, lam, tau**2, (1.0 - tau) * mu * moved, mu * log_new):
                break
            L *= 2.0
        p_w = (1.0 - tau) * p_w + tau * beta.p
        scores = _sum(scores, beta.scores, 1.0 - tau, tau)
        dual = _sum(dual, new, 1.0 - tau, tau)
        mu *= 1.0 - tau


def _holds(change: np.ndarray, lam: float, factor: float, allowed: float, size: float) -> bool:
    """Whether a quadratic term is allowed; `allowed` has rounding errors of numbers of a size."""
    quadratic = factor * float(change @ change) / (2.0 * lam)
    return quadratic <= allowed + 16.0 * EPS * abs(size)


def _dual_value(point: _Point, lam: float) -> float:
    return point.gain - 0.5 * float(point.p @ point.p) / lam
