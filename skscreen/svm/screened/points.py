"""Points that bounds start from: dual variables, and weights where they are not those of these.

A reference knows a part: dual variables with or without their C, or weights with or without theirs.
Any point is a sound reference. What is completed here decides how near it is.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np

from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.core.floats import WIDER
from skscreen.samples.losses import SampleLosses
from skscreen.samples.rows import LinearSamples
from skscreen.svm.path_solver import Samples
from skscreen.svm.solvers.hinge import HingeTerms
from skscreen.svm.solvers.linear.solve import solve_linear


class Duals(NamedTuple):
    """Dual variables (n,) that a reference knows, and their C if that is known."""

    C: float | None
    alpha: np.ndarray


class Weights(NamedTuple):
    """Weights (n_features,) that a reference knows, that of a penalised intercept last."""

    C: float | None
    w: np.ndarray


@dataclass(frozen=True)
class Point:
    """Dual variables (n,) in the box of a C, of any accuracy.

    With smooth losses `w` (n_features,) are weights that are not theirs, that of a penalised
    intercept last, if such are known. `margins` (n,) are those of the dual variables, where they
    were computed. `lack` is the relative duality gap at the reference's own C, 0 if it is not known
    for which C weights are.
    """

    C: float
    alpha: np.ndarray
    lack: float
    w: np.ndarray | None = None
    margins: np.ndarray | None = None


@np.errstate(over="ignore", invalid="ignore")
def completed(
    known: Duals | Weights, samples: Samples, losses: SampleLosses, free: bool, C: float
) -> Point:
    """Return the point from which the solution for C is bounded; `losses` are those at C = 1."""
    signs, lack = samples.y if free else None, None
    if isinstance(known, Weights):
        rows, own = cast(LinearSamples, samples), known.C or C
        alpha = duals_for(rows, losses.at(own), known.w, signs)
        lack = _lack(rows, losses.at(own), known.w, alpha, signs) if known.C else 0.0
        if losses.smooth:
            return Point(own, alpha, lack, known.w)
        known = Duals(own, alpha)
    own, alpha = known.C or 0.0, known.alpha
    if own == 0.0 or np.any(alpha > own * losses.caps * WIDER):
        # Of a fit with other weights, dual variables are outside of the box of these at its C.
        own = likely_C(alpha, samples.q_dot(alpha), samples.y, losses)
    alpha = np.minimum(alpha, own * losses.caps)
    margins = samples.q_dot(alpha)
    square = float(alpha @ margins)
    slack, loss = _at(losses.at(own), margins, alpha, signs)
    lack = slack / (0.5 * square + loss) if lack is None else lack
    point = Point(own, alpha, lack, margins=margins)
    # Dual variables off their bounds change little with C: at times the point is nearer as it is.
    if np.any(alpha > C * losses.caps):
        return point
    rho, (slack_there, _) = C / own, _at(losses.at(C), margins, alpha, signs)
    nearer = slack_there < rho * slack + (0.5 * (rho - 1.0)) ** 2 * square
    return replace(point, C=C) if nearer else point


def _at(
    losses: SampleLosses, margins: np.ndarray, alpha: np.ndarray, signs: np.ndarray | None
) -> tuple[float, float]:
    """Return the sums of slacknesses and of losses, with the best intercept if there are signs."""
    b = HingeTerms(losses, signs).best_intercept(margins)
    return losses.certify(losses.short(margins, b, signs), alpha)


def _lack(
    samples: LinearSamples, losses: SampleLosses, w: np.ndarray, alpha: np.ndarray,
    signs: np.ndarray | None,
) -> float:  # fmt: skip
    """Return the relative duality gap of weights with dual variables."""
    slack, loss = _at(losses, samples.margins(w), alpha, signs)
    off = w - samples.combine(alpha)
    return (slack + 0.5 * float(off @ off)) / (0.5 * float(w @ w) + loss)


def likely_C(alpha: np.ndarray, margins: np.ndarray, y: np.ndarray, losses: SampleLosses) -> float:
    """Return the C that dual variables are best for.

    Of hinges the smallest whose box they are in, which is that of a solution with a sample at its
    bound. Of squared hinges, for which alpha_i = 2 C_i (1 - m_i), the least squares fit; bounds
    are sound for any.
    """
    if not alpha.any():
        return 1.0
    if not losses.smooth:
        return float((alpha / losses.caps).max())
    used = np.flatnonzero(alpha)
    # shift_i alpha_i / C + y_i b = 1 - m_i for the unknown 1 / C and b.
    lacks = losses.short(margins)[used]
    system = np.stack([losses.shifts[used] * alpha[used], y[used]], axis=1)
    inverse = float(np.linalg.lstsq(system, lacks, rcond=None)[0][0])
    return 1.0 / inverse if inverse > 0.0 else 1.0


def duals_for(
    samples: LinearSamples, losses: SampleLosses, w: np.ndarray, signs: np.ndarray | None
) -> np.ndarray:
    """Return dual variables for weights: those of squared hinges, or with a small duality gap.

    Of hinges those away from the kink are known, and those of 1,000 samples nearest to it are
    solved for. With `signs` (n,) the intercept is free, and the dual variables are balanced.
    """
    margins = samples.margins(w)
    short = losses.short(margins, HingeTerms(losses, signs).best_intercept(margins), signs)
    alpha = losses.best(short)
    if losses.smooth:
        return alpha
    nearest = np.argsort(np.abs(short), kind="stable")[:1000]
    codes = np.where(alpha > 0.0, LINEAR, ZERO).astype(np.int8)
    codes[nearest] = UNDECIDED
    free = signs is not None
    return solve_linear(samples, losses, free=free, start=alpha, fixed=codes, tol=1e-9).alpha
