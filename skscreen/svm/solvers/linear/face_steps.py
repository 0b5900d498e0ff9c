"""Moves of all dual variables inside the box at once, by conjugate gradients.

Once shrinking has found the samples that rest at their bounds, coordinate descent spends its time
on the linear system of the samples E inside the box, K_EE x = target_E - f_E, the shifts of losses
on the diagonal of K_EE. Conjugate gradients need about the square root of its number of sweeps. As
in the gradient projection method of Moré and Toraldo (1991), other steps, here sweeps, identify the
face. While it is still wrong, the result of conjugate gradients lies outside the box, and the next
ones are stopped earlier.

With more samples inside the box than features the scores determine no single point of the face,
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
        self._diagonal = np.maximum(state.step.samples.norms**2 + state.shifts, 1e-300)

    def move(self, most: int) -> float:
        """Move beta, in at most `most` steps; returns the work. The certificate stays."""
        state, samples = self._state, self._state.step.samples
        slopes = state.problem.gradient(state.beta, state.step.slopes)
        nearest = np.clip(state.beta + slopes / self._diagonal, state.low, state.high)
        inside = (nearest > state.low) & (nearest < state.high) & (state.codes == UNDECIDED)
        E = np.flatnonzero(inside)
        if E.size == 0:
            return 0.0
        face = (samples.short_rows, samples.bias, state.shifts, E)
        start, low, high, slope = state.beta[E], state.low[E], state.high[E], slopes[E]
        new, count = self._solve(face, start, (low, high), slope, most)
        change = new - start
        gain, curvature = float(change @ slope), float(change @ _multiply(face, change))
        # Go no further than to the maximum on the way to `new`.
        step = min(max(gain, 0.0) / curvature, 1.0) if curvature > 0.0 else float(gain > 0.0)
        state.beta[E] = np.clip(start + step * change, low, high)
        # The face is right if most of the step leads uphill: the next ones are solved better.
        self._least = min(max((0.1 if step >= 0.5 else 10.0) * self._least, 1e-5), 0.1)
        state.n_iter += min(count, most)
        return 2.0 * count * float(self._costs[E].sum())

    def slide(self, most: float) -> float:
        """Move along directions that leave all scores as they are, to bounds; returns the work."""
        state, samples, work = self._state, self._state.step.samples, 0.0
        E, d = np.flatnonzero(state.inside()), samples.n_features
        if _work(E.size, d) > most:
            return 0.0
        Z = samples.scaled_rows(E, np.ones(E.size))
        Z = Z.toarray() if samples.is_sparse else Z
        while E.size > d and work < most:
            beta, low, high, slope = (
                state.beta[E],
                state.low[E],
                state.high[E],
                state.step.slopes[E],
            )
            step = slope - Z @ np.linalg.lstsq(Z, slope, rcond=None)[0]
            gain, curvature = float(step @ slope), float(np.sum((step @ Z) ** 2))
            work += _work(E.size, d)
            # Else rounding errors are all there is of a direction, or bend it.
            if not gain > 1e-12 * float(slope @ slope):
                break
            room = np.where(step > 0.0, high - beta, beta - low)
            lengths = np.divide(room, np.abs(step), out=np.full(E.size, np.inf), where=step != 0.0)
            first = int(np.argmin(lengths))
            if lengths[first] * curvature > gain:
                break
            beta = np.clip(beta + lengths[first] * step, low, high)
            beta[first] = high[first] if step[first] > 0.0 else low[first]
            state.beta[E] = beta
            left = (beta > low) & (beta < high)
            E, Z = E[left], Z[left]
        state.n_iter += 1
        return work

    def _solve(self, face: tuple, start, bounds, slope, most: int) -> tuple[np.ndarray, int]:
        """Return dual variables near the solution on a face, and the number of products."""
        known, E, (low, high) = face[:-1], face[-1], bounds
        diagonal, left, rest, new, count = self._diagonal[E], np.arange(E.size), slope, start, 1
        # Variables that reach a bound stay there, and the others move again.
        for _ in range(6):
            x, part = np.empty(left.size), ((*known, E[left]), diagonal[left], rest[left])
            n_steps = loops.conjugate_gradients(*part, self._least, max(most - count, 1), x)
            wished = new.copy()
            wished[left] += x
            new, count = np.clip(wished, low, high), count + n_steps + 1
            rest = slope - _multiply(face, new - start)
            nearest = np.clip(new + rest / diagonal, low, high)
            kept = np.flatnonzero((nearest > low) & (nearest < high))
            if kept.size == 0 or np.array_equal(kept, left) or count >= most:
                break
            left = kept
        loops.spread(new, low, high, np.arange(E.size), float((wished - new).sum()))
        return new, count


def _work(n_samples: int, n_features: int) -> float:
    """Return the work of a projection, in units of reading an entry."""
    return 4.0 * n_samples * n_features**2 + 1e5


def _multiply(face: tuple, x: np.ndarray) -> np.ndarray:
    """Return (K_EE + S) x, for a face E and x of its size."""
    out = np.empty(x.size)
    loops.multiply_face(face, x, out)
    return out
