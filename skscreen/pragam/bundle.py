"""Cutting planes for lam/2 |w|^2 + R(w): BMRM with its quadratic programme or a line search.

R is known by affine functions below it, one for each w that was asked for; their maximum R_t gives
the next w = argmin lam/2 |w|^2 + R_t(w) and a lower bound of the optimum.

References
----------
C.H. Teo, S.V.N. Vishwanathan, A. Smola, Q.V. Le (2010). Bundle methods for regularized risk
minimization. Journal of Machine Learning Research 11.
A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). Lower bounds for BMRM and faster rates for training
SVMs. arXiv:0909.1334. Section 2, equation (4).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from skscreen.core.memory import check_memory
from skscreen.pragam.iterates import Iterate
from skscreen.pragam.simplex_qp import maximise_on_simplex


class Cuts(Protocol):
    """R(w), known by affine functions below it."""

    @property
    def lam(self) -> float: ...  # noqa: D102
    @property
    def n_weights(self) -> int: ...  # noqa: D102
    @property
    def floor(self) -> float:
        """A bound below lam/2 |w|^2 + R(w); -inf where nothing is known."""

    def cut(self, w: np.ndarray) -> tuple[float, float, np.ndarray, float]:
        """Return R(w), the best b, and slope and offset of a function below R, equal at w."""


def bmrm(risk: Cuts, start: np.ndarray | None = None) -> Iterator[Iterate]:
    """Yield the iterates of BMRM with the quadratic programme in all planes so far, from w_0."""
    iterate, slope, offset = _first(risk, start)
    yield iterate
    planes, gram, offsets = np.empty((8, slope.size)), np.empty((8, 8)), np.empty(8)
    shares = np.empty(0)
    lowest, t = iterate.primal, 0
    while True:
        if t == len(planes):
            check_memory(
                24.0 * t * slope.size,
                f"{2 * t:,} planes of {slope.size:,} weights",
                "Use a smaller max_iter, or solver='ls-bmrm'.",
            )
            planes, offsets = (
                np.concatenate([old, np.empty_like(old)]) for old in (planes, offsets)
            )
            gram = np.pad(gram, (0, t))
        planes[t], offsets[t] = slope, offset
        gram[t, : t + 1] = gram[: t + 1, t] = planes[: t + 1] @ slope / risk.lam
        t += 1
        # A new plane has no share yet, except for the first.
        shares = np.append(shares, 0.0 if t > 1 else 1.0)
        # The bound is valid for any tolerance.
        tol = 1e-3 * max(lowest - iterate.dual, 0.0) if np.isfinite(iterate.dual) else 0.0
        maximise_on_simplex(gram[:t, :t], offsets[:t], shares, tol)
        whole = shares @ planes[:t]
        # Not x'Gx, whose rounding errors are large if the planes are far longer than their mean.
        bound = float(shares @ offsets[:t]) - 0.5 * float(whole @ whole) / risk.lam
        if t > 1 and shares[-1] == 0.0 and bound <= iterate.dual:
            # A plane without effect would be found again and again.
            return
        iterate, slope, offset = _evaluate(risk, t, -whole / risk.lam, bound)
        lowest = min(lowest, iterate.primal)
        yield iterate


def ls_bmrm(risk: Cuts, start: np.ndarray | None = None) -> Iterator[Iterate]:
    """Yield the iterates of BMRM with one plane, their mean, and an exact line search, from w_0."""
    iterate, slope, offset = _first(risk, start)
    yield iterate
    whole, height, t, lam = slope, offset, 0, risk.lam
    while True:
        t += 1
        bound = height - 0.5 * float(whole @ whole) / lam
        iterate, slope, offset = _evaluate(risk, t, -whole / lam, bound)
        yield iterate
        change = slope - whole
        square = float(change @ change)
        if square == 0.0:
            return
        share = (lam * (offset - height) - float(whole @ change)) / square
        share = min(max(share, 0.0), 1.0)
        whole, height = whole + share * change, height + share * (offset - height)


def _first(risk: Cuts, start: np.ndarray | None):
    w = np.zeros(risk.n_weights) if start is None else start
    return _evaluate(risk, 0, w, risk.floor)


def _evaluate(risk: Cuts, t: int, w: np.ndarray, bound: float):
    """Return the iterate at w, and the plane there."""
    value, b, slope, offset = risk.cut(w)
    primal = 0.5 * risk.lam * float(w @ w) + value
    return Iterate(t, w, b, primal, bound), slope, offset
