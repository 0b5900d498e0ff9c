"""Moves of all dual variables inside the box at once, by conjugate gradients.

Once shrinking has found the samples that rest at their bounds, coordinate descent spends its time
on the linear system of the samples E inside the box, Q_EE x = t_E - m_E, the shifts of losses on
the diagonal of Q_EE. Conjugate gradients need about the square root of its number of sweeps. As in
the gradient projection method of Moré and Toraldo (1991), other steps, here sweeps, identify the
face. While it is still wrong, the result of conjugate gradients lies outside the box, and the next
ones are stopped earlier.

References
----------
J. J. Moré, G. Toraldo (1991), On the solution of large quadratic programming problems with bound
constraints, SIAM J. Optim. 1.
"""

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.decisions import UNDECIDED
from skscreen.svm.solvers.linear.state import SampleState

# Conjugate gradients end if a step gains less than a share of the total gain: first value, and
# smallest and largest.
_FIRST, _LEAST, _MOST = 1e-2, 1e-5, 0.1

# The share falls by this factor after a move of at least `_GOOD` of the full length, else it rises.
_FACTOR, _GOOD = 10.0, 0.5

# Largest number of faces in a move: variables that reach a bound stay, and the others move again.
_FACES = 6


class FaceSteps:
    """Moves on the faces of the box, for one solve; `costs` (n,) are the work of a visit."""

    def __init__(self, state: SampleState, costs: np.ndarray):
        self._state, self._costs, self._least = state, costs, _FIRST
        self._diagonal = np.maximum(state.samples.norms**2 + state.losses.shifts, 1e-300)

    def move(self, most: int) -> float:
        """Move alpha, in at most `most` steps; returns the work. The certificate stays."""
        state, samples = self._state, self._state.samples
        slopes = state.losses.slopes(state.short, state.alpha)
        nearest = np.clip(state.alpha + slopes / self._diagonal, 0.0, state.caps)
        inside = (nearest > 0.0) & (nearest < state.caps) & (state.codes == UNDECIDED)
        E = np.flatnonzero(inside)
        if E.size == 0:
            return 0.0
        face = (*samples.short_rows, samples.y, samples.bias, state.losses.shifts, E)
        start, caps, slope = state.alpha[E], state.caps[E], slopes[E]
        new, count = self._solve(face, start, caps, slope, most)
        change = new - start
        gain, curvature = float(change @ slope), float(change @ _multiply(*face, change))
        # Go no further than to the maximum on the way to `new`.
        step = min(max(gain, 0.0) / curvature, 1.0) if curvature > 0.0 else float(gain > 0.0)
        state.alpha[E] = np.clip(start + step * change, 0.0, caps)
        factor = 1.0 / _FACTOR if step >= _GOOD else _FACTOR
        self._least = min(max(factor * self._least, _LEAST), _MOST)
        state.n_iter += min(count, most)
        return 2.0 * count * float(self._costs[E].sum())

    def _solve(self, face: tuple, start, caps, slope, most: int) -> tuple[np.ndarray, int]:
        """Return dual variables near the solution on a face, and the number of products."""
        rows, y, E = face[:-1], face[-4], face[-1]
        diagonal, left, rest, new, count = self._diagonal[E], np.arange(E.size), slope, start, 1
        for _ in range(_FACES):
            x, part = np.empty(left.size), (*rows, E[left], diagonal[left], rest[left])
            n_steps = loops.conjugate_gradients(*part, self._least, max(most - count, 1), x)
            wished = new.copy()
            wished[left] += x
            new, count = np.clip(wished, 0.0, caps), count + n_steps + 1
            rest = slope - _multiply(*face, new - start)
            nearest = np.clip(new + rest / diagonal, 0.0, caps)
            kept = np.flatnonzero((nearest > 0.0) & (nearest < caps))
            if kept.size == 0 or np.array_equal(kept, left) or count >= most:
                break
            left = kept
        loops.spread(new, caps, y[E], np.arange(E.size), float(y[E] @ (wished - new)))
        return new, count


def _multiply(*face_and_x) -> np.ndarray:
    """Return (Q_EE + S) x, for a face E and x of its size."""
    out = np.empty(face_and_x[-1].size)
    loops.multiply_face(*face_and_x, out)
    return out
