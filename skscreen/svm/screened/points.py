"""Points that bounds start from: dual variables, and weights where they are not those of these.

A reference knows a part: dual variables with or without their C, or weights with or without theirs.
Any point is a sound reference. What is completed here decides how near it is.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np

from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.core.floats import WIDER
from skscreen.samples.rows import LinearSamples
from skscreen.svm.certificate import Samples
from skscreen.svm.dual import Dual
from skscreen.svm.solvers.linear.solve import solve_linear


class Duals(NamedTuple):
    """Dual variables (n,) that a reference knows, and their C if that is known."""

    C: float | None
    beta: np.ndarray


class Weights(NamedTuple):
    """Weights (n_features,) that a reference knows, that of a penalised intercept last."""

    C: float | None
    w: np.ndarray


@dataclass(frozen=True)
class ReferencePoint:
    """Dual variables (n,) in the box of a C, of any accuracy, which bounds start from.

    `w` (n_features,) are weights that are not theirs, that of a penalised intercept last, if such
    are known: bounds for smooth losses start from both. `f` (n,) are the scores of the dual
    variables, where they were computed. `lack` is the relative duality gap at the reference's own
    C, 0 if it is not known for which C weights are.
    """

    C: float
    beta: np.ndarray
    lack: float
    w: np.ndarray | None = None
    f: np.ndarray | None = None


@np.errstate(over="ignore", invalid="ignore")
def completed(known: Duals | Weights, samples: Samples, dual: Dual, C: float) -> ReferencePoint:
    """Return the point from which the solution for C is bounded; `dual` is the problem at C = 1."""
    lack = w = None
    if isinstance(known, Weights):
        rows, own, w = cast(LinearSamples, samples), known.C or C, known.w
        beta = duals_for(rows, dual.at(own), w)
        lack = _lack(rows, dual.at(own), w, beta) if known.C else 0.0
        if dual.smooth:
            return ReferencePoint(own, beta, lack, w)
        known = Duals(own, beta)
    own, beta = known.C or 0.0, known.beta
    if own == 0.0 or np.any(np.abs(beta) > own * dual.width * WIDER):
        # Of a fit with other weights, dual variables are outside of the box of these at its C.
        own = likely_C(beta, samples.q_dot(beta), dual)
    there = dual.at(own)
    beta = np.clip(beta, there.low, there.high)
    f = samples.q_dot(beta)
    square = float(beta @ f)
    slack, loss = _at(there, f, beta)
    lack = slack / (0.5 * square + loss) if lack is None else lack
    point = ReferencePoint(own, beta, lack, w, f)
    # Dual variables off their bounds change little with C: at times the point is nearer as it is.
    if np.any(np.abs(beta) > C * dual.width):
        return point
    rho, (slack_there, _) = C / own, _at(dual.at(C), f, beta)
    nearer = slack_there < rho * slack + (0.5 * (rho - 1.0)) ** 2 * square
    return replace(point, C=C) if nearer else point


def _at(dual: Dual, f: np.ndarray, beta: np.ndarray) -> tuple[float, float]:
    """Return the sums of slacknesses and of losses, with the best intercept."""
    return dual.gap_of_slopes(beta, dual.target - f - dual.best_intercept(f))


def _lack(samples: LinearSamples, dual: Dual, w: np.ndarray, beta: np.ndarray) -> float:
    """Return the relative duality gap of weights with dual variables."""
    slack, loss = _at(dual, samples.margins(w), beta)
    off = w - samples.combine(beta)
    return (slack + 0.5 * float(off @ off)) / (0.5 * float(w @ w) + loss)


def likely_C(beta: np.ndarray, f: np.ndarray, dual: Dual) -> float:
    """Return the C that dual variables are best for.

    Of hinges the smallest whose box they are in, which is that of a solution with a sample at its
    bound. Of squared hinges, for which beta_i = 2 C_i (target_i - f_i), the least squares fit;
    bounds are sound for any.
    """
    if not beta.any():
        return 1.0
    if not dual.smooth:
        return float((np.abs(beta) / dual.width).max())
    used = np.flatnonzero(beta)
    # shift_i beta_i / C + b = target_i - f_i for the unknown 1 / C and b.
    lacks = (dual.target - f)[used]
    system = np.stack([dual.shifts[used] * beta[used], np.ones(used.size)], axis=1)
    inverse = float(np.linalg.lstsq(system, lacks, rcond=None)[0][0])
    return 1.0 / inverse if inverse > 0.0 else 1.0


def duals_for(samples: LinearSamples, dual: Dual, w: np.ndarray) -> np.ndarray:
    """Return dual variables for weights: those of squared hinges, or with a small duality gap.

    Of hinges those away from the kink are known, and those of 1,000 samples nearest to it are
    solved for, to a gap next to which that of the weights counts. With a free intercept they are
    balanced.
    """
    f = samples.margins(w)
    slopes = dual.target - f - dual.best_intercept(f)
    beta = dual.best(slopes)
    if dual.smooth:
        return beta
    nearest = np.argsort(np.abs(slopes), kind="stable")[:1000]
    codes = np.where(beta != 0.0, LINEAR, ZERO).astype(np.int8)
    codes[nearest] = UNDECIDED
    return solve_linear(samples, dual, start=beta, fixed=codes, tol=1e-11).beta
