"""Points of the squared hinge with an L1 penalty, and their certificates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from skscreen.core.floats import EPS


@dataclass(frozen=True)
class Found:
    """A primal point with the dual point that certifies it."""

    w: np.ndarray
    alpha: np.ndarray
    primal: float
    dual: float
    scale: float

    @property
    def gap(self) -> float:
        """Return P - D."""
        return self.primal - self.dual


@dataclass
class L1Point:
    """Weights (d,) for one C on their way, and what is known at the last certificate.

    `c` (n,) are weights of the losses, `norms` (d,) those of columns in the norm of the dual;
    `zero` (d,) are features proved to be zero, `scaled` their correlations with the dual point.
    """

    c: np.ndarray
    norms: np.ndarray
    w: np.ndarray
    zero: np.ndarray
    margins: np.ndarray = field(default_factory=lambda: np.empty(0))
    correlations: np.ndarray = field(default_factory=lambda: np.empty(0))
    scaled: np.ndarray = field(default_factory=lambda: np.empty(0))
    found: Found = field(default_factory=lambda: Found(np.empty(0), np.empty(0), np.inf, 0.0, 1.0))

    def see(self, margins: np.ndarray, alpha: np.ndarray, correlations: np.ndarray) -> None:
        """Certify the weights by alpha (n,), given their margins (n,) and correlations (d,)."""
        self.margins, self.correlations = margins, correlations
        self.found = _certificate(self.w, margins, alpha, self.c, correlations, self.zero)
        self.scaled = np.abs(correlations) * self.found.scale

    def see_dual(self, alpha: np.ndarray, correlations: np.ndarray) -> None:
        """Certify them by the solution for another C, whose constraints are the same, if better."""
        own = np.abs(correlations)
        dual, scale = scaled_dual(alpha, self.c, float(own.max(initial=0.0)))
        if dual > self.found.dual:
            self.found = replace(self.found, alpha=scale * alpha, dual=dual, scale=scale)
            self.scaled = own * scale

    def screen(self) -> bool:
        """Prove weights to be zero; return whether one was not."""
        self.zero |= _proved_zero(self.scaled, self.norms, self.found)
        changes = bool(self.w[self.zero].any())
        if changes:
            self.w[self.zero] = 0.0
        return changes


def _certificate(w, margins, alpha, c, correlations, zero) -> Found:
    """Return primal and dual values at w, and the scale that makes alpha feasible."""
    short = np.maximum(1.0 - margins, 0.0)
    primal = float(np.abs(w).sum() + c @ (short * short))
    # Features that are proved to be zero may be left out of the dual's constraints.
    largest = float(np.abs(correlations[~zero]).max(initial=0.0))
    dual, scale = scaled_dual(alpha, c, largest)
    return Found(w.copy(), scale * alpha, primal, dual, scale)


def scaled_dual(alpha: np.ndarray, c: np.ndarray, largest: float) -> tuple[float, float]:
    """Return the largest D(s alpha) with s |Z'alpha| <= 1, and s; `largest` is |Z'alpha|."""
    total, squares = float(alpha.sum()), float(alpha @ (alpha / c)) / 4.0
    if total == 0.0:
        return 0.0, 1.0
    scale = min(total / (2.0 * squares), (1.0 - 4.0 * EPS) / largest if largest > 0.0 else np.inf)
    return scale * total - scale * scale * squares, scale


def _proved_zero(scaled, norms, found: Found) -> np.ndarray:
    """Return which features have no weight at the optimum, by the ball around the dual point."""
    # Rounding errors of the gap are at most a few of its terms', those of a correlation below 1e-9.
    gap = max(found.gap, 0.0) + 1e-13 * found.primal
    return scaled + np.sqrt(2.0 * gap) * norms < 1.0 - 1e-9
