"""Pegasos: subgradient steps of length 1 / (lam t) for a linear classifier with hinge loss.

The iterates are w_t = Z'a_t / lam for dual variables a_t that are sums of the shares of the samples
in the steps. Over all samples a_t is feasible by itself, else once clipped to its box; so there is
a lower bound of the optimum here too.

References
----------
S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter (2011). Pegasos: primal estimated sub-gradient
solver for SVM. Mathematical Programming 127. Figure 1, and its optional projection.
"""

from collections.abc import Iterator

import numpy as np

from skscreen._compiled import pragam as compiled
from skscreen.core.memory import check_memory
from skscreen.pragam.hinge_risk import HingeRisk
from skscreen.pragam.iterates import Iterate
from skscreen.samples.rows import LinearSamples


def pegasos(risk: HingeRisk, projection: bool = True) -> Iterator[Iterate]:
    """Yield the iterates of Pegasos in steps of all samples."""
    # A `projection` brings w back to the ball of radius lam^(-1/2), which holds the optimum.
    lam, t = risk.lam, 0
    w, height = np.zeros(risk.n_weights), 0.0
    value, b, slope, offset = risk.cut(w)
    yield Iterate(0, w, b, value, risk.floor)
    while True:
        t += 1
        # The plane a'(1 - Z w) of the mean a of all steps so far; w = Z'a / lam.
        w = (1.0 - 1.0 / t) * w - slope / (lam * t)
        height = (1.0 - 1.0 / t) * height + offset / t
        size = np.sqrt(lam) * float(np.linalg.norm(w))
        scale = 1.0 / size if projection and size > 1.0 else 1.0
        w, height = scale * w, scale * height
        value, b, slope, offset = risk.cut(w)
        penalty = 0.5 * lam * float(w @ w)
        yield Iterate(t, w, b, penalty + value + risk.rounding(w, b), height - penalty)


def stochastic_pegasos(
    risk: HingeRisk, samples: LinearSamples, batch_size: int, seed: int, projection: bool = True,
    most: float = np.inf,
) -> Iterator[Iterate]:  # fmt: skip
    """Yield an iterate after each pass over the data, in steps of a few random samples."""
    # A step draws samples of the risk, which has no intercept, by weight with replacement. It ends
    # after `most` steps, in the middle of a pass if need be.
    lam, t = risk.lam, 0
    rng = np.random.default_rng(seed)
    w, a = np.zeros(risk.n_weights), np.zeros(risk.size)
    yield Iterate(0, w, 0.0, risk.value(risk.gradient(w))[0], risk.floor)
    n_steps = -(-risk.size // batch_size)
    what = f"{n_steps:,} steps of {batch_size:,} samples"
    check_memory(16.0 * n_steps * batch_size, what, "Use a smaller batch_size.")
    cumulative = np.cumsum(risk.caps)
    cumulative /= cumulative[-1]
    while t < most:
        n_steps = min(n_steps, most - t)
        drawn = np.searchsorted(cumulative, rng.random((n_steps, batch_size)), side="right")
        w = w.copy()
        # w is held there as a multiple of a vector: a step costs no more than its rows.
        compiled.pegasos_steps(samples.rows, samples.y, drawn, lam, t, projection, w, a)
        t += n_steps
        primal = 0.5 * lam * float(w @ w) + risk.value(risk.gradient(w))[0]
        primal += risk.rounding(w, 0.0)
        feasible = np.minimum(a, risk.caps)
        p = samples.combine(feasible)
        dual = float(feasible.sum()) - 0.5 * float(p @ p) / lam
        yield Iterate(t, w, 0.0, primal, dual)
