"""Dual coordinate descent for hinge losses over samples of a linear model.

One dual variable at a time is moved to its best value in [0, C_i],

    alpha_i <- clip(alpha_i - (m_i - 1) / |z_i|^2, 0, C_i),    m_i = <z_i, u>,

with u = sum_i alpha_i z_i kept up to date: the work is that of reading row i twice. Samples at an
end of the box whose gradient points outwards further than any other did in the epoch before are
left out for a while (Hsieh et al. 2008, section 3.2: shrinking). Five epochs go in one random
order, and then their dual variables are extrapolated (Bertrand and Massias 2021): on text that
took a third to two thirds of the work to a gap of 1e-6, and more epochs before an extrapolation or
symmetric orders took more. Every few epochs the duality gap of the full problem is computed, which
ends the solve, decides samples for good (Ogawa et al. 2014) and tells which of the others come
back.

References
----------
C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan (2008), A dual coordinate
descent method for large-scale linear SVM, ICML.
Q. Bertrand, M. Massias (2021), Anderson acceleration of coordinate descent, AISTATS.
K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014), Safe sample screening for support vector
machines, arXiv:1401.6740.
"""

from collections.abc import Callable

import numpy as np

from skscreen.problems.samples import LinearSamples
from skscreen.solvers.sample_state import SampleState
from skscreen.solvers.sweep_kernels import SWEEPS, active_samples, epochs

# What a visit costs besides its entries, in entries: random access, mostly.
_VISIT = 30
# Least work between two evaluations of the gap, in epochs of all samples, and that before the
# first; an evaluation is half an epoch or less.
_FEWEST, _FIRST = 1.0, 4.0
# Evaluations in a row after which it ends if the gap is still more than this share of what it was.
_STALLED, _GAIN = 300, 0.9


def epoch_work(samples: LinearSamples) -> float:
    """Return the entries that an epoch of all samples reads, each twice, and what goes with it."""
    return 2.0 * (float(samples.row_lengths.sum()) + _VISIT * samples.n)


def coordinate_descent(
    state: SampleState,
    tol: float,
    max_iter: int,
    *,
    screening: bool = True,
    shrinking: bool = True,
    seed: int = 0,
    give_up: Callable[[float], bool] | None = None,
) -> bool:
    """Move an evaluated state to a relative duality gap.

    Parameters
    ----------
    state : SampleState
        Evaluated; on return too.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Most epochs, counted in `state.n_iter`.
    screening : bool, default=True
        Decide samples by the gap ball after every evaluation.
    shrinking : bool, default=True
        Leave out for a while the samples that seem to rest at their bounds.
    seed : int, default=0
        Of the order of visits.
    give_up : callable, optional
        Called after an evaluation with the work (see `epoch_work`) that is left at the present
        rate; True ends the solve.

    Returns
    -------
    bool
        Whether the tolerance is reached.
    """
    samples, rows = state.samples, state.samples.short_rows
    random = np.array([(2 * seed + 1) * 0x9E3779B97F4A7C15 % 2**64], dtype=np.uint64)
    whole = epoch_work(samples)
    costs, inverse = samples.row_lengths + _VISIT, np.zeros(samples.n)
    np.divide(1.0, samples.norms**2, out=inverse, where=samples.norms > 0.0)
    bounds, memory = np.array([np.inf, -np.inf]), np.empty((SWEEPS + 1, samples.n))
    history, pause = [(0.0, state.gap)], _FIRST * whole
    stalled, held = 0, state.gap
    while state.relative_gap > tol and state.n_iter < max_iter:
        decided = state.screen() if screening else 0
        u = samples.combine(state.alpha) if decided else state.u.copy()
        active = active_samples(state.margins, state.caps, state.alpha, state.codes, bounds)
        n_epochs, work = epochs(
            *rows, samples.y, samples.bias, inverse, costs, state.caps, state.alpha, u,
            active, bounds, shrinking, random, memory, pause, max_iter - state.n_iter,
        )  # fmt: skip
        state.n_iter += n_epochs
        state.evaluate()
        history.append((history[-1][0] + work, min(state.gap, history[-1][1])))
        left = _work_left(history, tol * state.primal)
        if state.relative_gap > tol and give_up is not None and give_up(left):
            break
        exhausted = work < pause
        # Epochs that end early again and again, and gain next to nothing: what is left are rounding
        # errors, or a conditioning for which this is the wrong method.
        if exhausted and history[-1][1] > _GAIN * held:
            stalled += 1
            if stalled > _STALLED:
                break
        else:
            stalled, held = 0, history[-1][1]
        pause = min(max(0.5 * left, _FEWEST * whole), 0.5 * history[-1][0] + _FEWEST * whole)
        if exhausted:
            # Ended early, nothing is left to gain among the active samples: have all back.
            bounds[:] = np.inf, -np.inf
    return state.relative_gap <= tol


def _work_left(history: list[tuple[float, float]], target: float) -> float:
    """Return the work to the target if the gap falls as fast as in the later half of the work.

    `history` holds the work done and the smallest gap so far: single gaps are noisy.
    """
    done, gap = history[-1]
    work, before = max(point for point in history if point[0] <= 0.5 * done)
    if gap <= target:
        return 0.0
    if gap >= before or target <= 0.0:
        return np.inf
    return (done - work) * np.log(gap / target) / np.log(before / gap)
