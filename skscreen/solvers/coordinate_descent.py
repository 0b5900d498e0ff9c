"""Dual coordinate descent for hinge losses over samples of a linear model.

One dual variable at a time is moved to its best value in [0, C_i],

    alpha_i <- clip(alpha_i - (m_i - 1) / |z_i|^2, 0, C_i),    m_i = <z_i, u>,

with u = sum_i alpha_i z_i kept up to date: the work is that of reading row i twice. Samples are
visited in random order, and those at an end of the box whose gradient points outwards further
than any other did in the epoch before are left out for a while (Hsieh et al. 2008, section 3.2:
shrinking). Every few epochs the duality gap of the full problem is computed, which ends the solve,
decides samples for good (Ogawa et al. 2014) and tells which of the others come back.

References
----------
C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan (2008), A dual coordinate
descent method for large-scale linear SVM, ICML.
K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014), Safe sample screening for support vector
machines, arXiv:1401.6740.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

from skscreen.problems.sample_kernels import add_row, row_dot
from skscreen.problems.samples import LinearSamples
from skscreen.solvers.sample_state import SampleState

# What a visit costs besides its entries, in entries: random access, mostly.
_VISIT = 30
# Least work between two evaluations of the gap, in epochs of all samples, and that before the
# first; an evaluation is half an epoch or less.
_FEWEST, _FIRST = 1.0, 4.0


def epoch_work(samples: LinearSamples) -> float:
    """Return the entries that an epoch of all samples reads, each twice, and what goes with it."""
    return 2.0 * (samples.n_entries + _VISIT * samples.n)


def coordinate_descent(
    state: SampleState,
    tol: float,
    max_iter: int,
    *,
    screening: bool = True,
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
    samples, rows = state.samples, state.samples.rows
    random = np.array([(2 * seed + 1) * 0x9E3779B97F4A7C15 % 2**64], dtype=np.uint64)
    whole = epoch_work(samples)
    costs, inverse = _row_lengths(samples) + _VISIT, np.zeros(samples.n)
    np.divide(1.0, samples.norms**2, out=inverse, where=samples.norms > 0.0)
    bounds = np.array([np.inf, -np.inf])
    history, pause = [(0.0, state.gap)], _FIRST * whole
    while state.relative_gap > tol and state.n_iter < max_iter:
        decided = state.screen() if screening else 0
        u = samples.combine(state.alpha) if decided else state.u.copy()
        active = _active(state.margins, state.caps, state.alpha, state.codes, bounds)
        epochs, work = _epochs(
            *rows, samples.y, samples.bias, inverse, costs, state.caps, state.alpha, u,
            active, bounds, random, pause, max_iter - state.n_iter,
        )  # fmt: skip
        state.n_iter += epochs
        state.evaluate()
        history.append((history[-1][0] + work, min(state.gap, history[-1][1])))
        left = _work_left(history, tol * state.primal)
        if state.relative_gap > tol and give_up is not None and give_up(left):
            break
        exhausted = work < pause
        pause = min(max(0.5 * left, _FEWEST * whole), 0.5 * history[-1][0] + _FEWEST * whole)
        if exhausted:
            # Ended early, nothing is left to gain among the active samples: have all back.
            bounds[:] = np.inf, -np.inf
    return state.relative_gap <= tol


def _row_lengths(samples) -> np.ndarray:
    """Return the number of entries of each row."""
    if samples.is_sparse:
        return np.diff(samples.X.indptr).astype(np.int64)
    return np.full(samples.n, samples.n_columns, np.int64)


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


@njit(cache=True, nogil=True)
def _active(margins, caps, alpha, codes, bounds):
    """Return the undecided samples that shrinking would keep."""
    out, count = np.empty(margins.size, np.int64), 0
    for i in range(margins.size):
        slope = margins[i] - 1.0
        resting = (alpha[i] <= 0.0 and slope > bounds[0]) or (
            alpha[i] >= caps[i] and slope < bounds[1]
        )
        if codes[i] == 0 and not resting:
            out[count] = i
            count += 1
    return out[:count].copy()


@njit(cache=True, nogil=True)
def _draw(random, below):
    """Return a number in [0, below) from a 64-bit xorshift generator (Marsaglia 2003)."""
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return np.int64(((x >> np.uint64(32)) * np.uint64(below)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def _epochs(
    data, columns, starts, d, y, bias, inverse, costs, caps, alpha, u, active, bounds, random,
    budget, most,
):  # fmt: skip
    """Visit active samples until the budget is spent or nothing moves.

    Updates `alpha`, `u`, `bounds` and the order of `active`; returns epochs and entries read.
    """
    size, epochs, work = active.size, 0, 0.0
    while work < budget and epochs < most:
        highest, lowest, moved, place = -np.inf, np.inf, False, 0
        while place < size:
            other = place + _draw(random, size - place)
            i = active[other]
            active[other] = active[place]
            active[place] = i
            margin = row_dot(data, columns, starts, d, i, u)
            if bias != 0.0:
                margin += bias * u[d]
            slope, old = y[i] * margin - 1.0, alpha[i]
            work += costs[i]
            if (old <= 0.0 and slope > bounds[0]) or (old >= caps[i] and slope < bounds[1]):
                size -= 1
                active[place] = active[size]
                active[size] = i
                continue
            place += 1
            # Gradient of what is minimised, less what points out of the box.
            if old <= 0.0:
                slope = min(slope, 0.0)
            elif old >= caps[i]:
                slope = max(slope, 0.0)
            highest, lowest = max(highest, slope), min(lowest, slope)
            new = min(max(old - slope * inverse[i], 0.0), caps[i])
            if new != old:
                alpha[i], moved = new, True
                step = (new - old) * y[i]
                add_row(data, columns, starts, d, i, step, u)
                if bias != 0.0:
                    u[d] += step * bias
                work += costs[i]
        epochs += 1
        bounds[0] = highest if highest > 0.0 else np.inf
        bounds[1] = lowest if lowest < 0.0 else -np.inf
        if not moved:
            break
    return epochs, work
