"""Moves of all dual variables inside the box at once, by conjugate gradients.

Once shrinking has found the samples that rest at their bounds, coordinate descent spends its time
on the linear system of the samples E inside the box, Q_EE x = t_E - m_E, the shifts of losses on
the diagonal of Q_EE. Conjugate gradients need about the square root of its number of sweeps. As in
the gradient projection method of Moré and Toraldo (1991), other steps, here sweeps, identify the
face. While it is still wrong, the result of conjugate gradients lies outside the box, and the next
ones are stopped earlier.

With more samples inside the box than features the margins determine no single point of the face,
and the dual is linear along some directions. Sweeps follow these by steps of equal size, to bounds
that may be thousands of sweeps away (large C, few features); here one step goes to the first bound.

References
----------
J. J. Moré, G. Toraldo (1991), On the solution of large quadratic programming problems with bound
constraints, SIAM J. Optim. 1.
"""

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.decisions import UNDECIDED
from skscreen.svm.solvers.linear.state import SampleState


class FaceSteps:
    """Moves on the faces of the box, for one solve; `costs` (n,) are the work of a visit."""

    def __init__(self, state: SampleState, costs: np.ndarray):
        self._state, self._costs = state, costs
        # Conjugate gradients end if a step gains less than this share of the total gain.
        self._least = 1e-2
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
        face = (samples.short_rows, samples.y, samples.bias, state.losses.shifts, E)
        start, caps, slope = state.alpha[E], state.caps[E], slopes[E]
        new, count = self._solve(face, start, caps, slope, most)
        change = new - start
        gain, curvature = float(change @ slope), float(change @ _multiply(face, change))
        # Go no further than to the maximum on the way to `new`.
        step = min(max(gain, 0.0) / curvature, 1.0) if curvature > 0.0 else float(gain > 0.0)
        state.alpha[E] = np.clip(start + step * change, 0.0, caps)
        # The face is right if most of the step leads uphill: the next ones are solved better.
        self._least = min(max((0.1 if step >= 0.5 else 10.0) * self._least, 1e-5), 0.1)
        state.n_iter += min(count, most)
        return 2.0 * count * float(self._costs[E].sum())

    def slide(self, most: float) -> float:
        """Move along directions that leave all margins as they are, to bounds; returns the work."""
        state, samples, work = self._state, self._state.samples, 0.0
        E, d = np.flatnonzero(state.inside()), samples.n_features
        if _work(E.size, d) > most:
            return 0.0
        Z = samples.scaled_rows(E, np.ones(E.size))
        Z = Z.toarray() if samples.is_sparse else Z
        while E.size > d and work < most:
            alpha, caps, slope = state.alpha[E], state.caps[E], state.short[E]
            step = slope - Z @ np.linalg.lstsq(Z, slope, rcond=None)[0]
            gain, curvature = float(step @ slope), float(np.sum((step @ Z) ** 2))
            work += _work(E.size, d)
            # Else rounding errors are all there is of a direction, or bend it.
            if not gain > 1e-12 * float(slope @ slope):
                break
            room = np.where(step > 0.0, caps - alpha, alpha)
            lengths = np.divide(room, np.abs(step), out=np.full(E.size, np.inf), where=step != 0.0)
            first = int(np.argmin(lengths))
            if lengths[first] * curvature > gain:
                break
            alpha = np.clip(alpha + lengths[first] * step, 0.0, caps)
            alpha[first] = caps[first] if step[first] > 0.0 else 0.0
            state.alpha[E] = alpha
            left = (alpha > 0.0) & (alpha < caps)
            E, Z = E[left], Z[left]
        state.n_iter += 1
        return work

    def _solve(self, face: tuple, start, caps, slope, most: int) -> tuple[np.ndarray, int]:
        """Return dual variables near the solution on a face, and the number of products."""
        (rows, y, *others), E = face[:-1], face[-1]
        diagonal, left, rest, new, count = self._diagonal[E], np.arange(E.size), slope, start, 1
        # Variables that reach a bound stay there, and the others move again.
        for _ in range(6):
            x, part = np.empty(left.size), ((rows, y, *others, E[left]), diagonal[left], rest[left])
            n_steps = loops.conjugate_gradients(*part, self._least, max(most - count, 1), x)
            wished = new.copy()
            wished[left] += x
            new, count = np.clip(wished, 0.0, caps), count + n_steps + 1
            rest = slope - _multiply(face, new - start)
            nearest = np.clip(new + rest / diagonal, 0.0, caps)
            kept = np.flatnonzero((nearest > 0.0) & (nearest < caps))
            if kept.size == 0 or np.array_equal(kept, left) or count >= most:
                break
            left = kept
        loops.spread(new, caps, y[E], np.arange(E.size), float(y[E] @ (wished - new)))
        return new, count


def _work(n_samples: int, n_features: int) -> float:
    """Return the work of a projection, in units of reading an entry."""
    return 4.0 * n_samples * n_features**2 + 1e5


def _multiply(face: tuple, x: np.ndarray) -> np.ndarray:
    """Return (Q_EE + S) x, for a face E and x of its size."""
    out = np.empty(x.size)
    loops.multiply_face(face, x, out)
    return out
