"""Dual coordinate descent for hinge losses over samples of a linear model.

One dual variable at a time is moved to its best value in its box,

    beta_i <- clip(beta_i + (target_i - f_i - s_i beta_i) / (|x_i|^2 + s_i), low_i, high_i),
    f_i = <x_i, u>,

with u = sum_i beta_i x_i kept up to date: the work is that of reading row i twice. Samples at an
end of the box whose gradient points outwards further than any other did in the epoch before are
left out for a while (Hsieh et al. 2008, section 3.2: shrinking). Every few epochs, or when the
scores of an epoch suggest that it is small enough, the duality gap of the full problem is
computed: it ends the solve, decides samples for good (Ogawa et al. 2014) and brings others back.
Two refinements reduce the epochs to a quarter for text:

- The intercept, which all samples share, converges slowly if samples are visited one at a time.
  So during an epoch its penalty b^2 / (2 B^2) gets a second one, for the distance from its last
  value (a proximal point step for b alone): scores then depend on b as weakly as on other
  features.
- When hardly any samples but those inside the box are active, conjugate gradients move all of
  these at once (see `face_steps`).

References
----------
C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan (2008), A dual coordinate
descent method for large-scale linear SVM, ICML.
K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014), Safe sample screening for support vector
machines, arXiv:1401.6740.
"""

from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.decisions import UNDECIDED
from skscreen.core.floats import EPS
from skscreen.svm.roads import ENTRIES_PER_VISIT
from skscreen.svm.solvers.linear.face_steps import FaceSteps
from skscreen.svm.solvers.linear.state import SampleState
from skscreen.svm.solvers.stalls import Stalls


def coordinate_descent(
    state: SampleState,
    tol: float,
    max_iter: int,
    *,
    screening: bool = True,
    shrinking: bool = True,
    seed: int = 0,
    give_up: Callable[[float, float], bool] | None = None,
) -> bool:
    """Move an evaluated state to a relative gap, in at most `max_iter` epochs; returns whether.

    After an evaluation `give_up` may end it: it gets the work left at this rate, and the work done,
    in units of `roads.epoch_work`.
    """
    if state.problem.free or state.n_iter > 0:
        # A short step of b, next to which the sweeps converge.
        state.begin(3.0)
    epochs = _Epochs(state, seed, shrinking)
    whole = 2.0 * float(epochs.costs.sum())
    faces = FaceSteps(state, epochs.costs)
    history, pause, left = [(0.0, state.gap)], 4.0 * whole, np.inf
    stalls = Stalls(0.9, gap=state.gap)
    while state.relative_gap > tol and state.n_iter < max_iter:
        if screening:
            _screen(state)
        active, done = epochs.active(), history[-1][0]
        on_faces = _move_on_face(
            faces, state, active.size, max_iter - state.n_iter, left / whole, done
        )
        if on_faces:
            pause = max(2.0 * whole, 0.25 * on_faces)
        work = epochs.go_on(active, on_faces > 0.0, pause, max_iter - state.n_iter, tol)
        state.evaluate()
        history.append((done + on_faces + work, min(state.gap, history[-1][1])))
        left = _work_left(history, tol * state.primal)
        unsolved = state.relative_gap > tol
        if unsolved and give_up is not None and give_up(left, history[-1][0]):
            break
        # Epochs gain next to nothing, above all those that end early, if only rounding errors are
        # left or if the problem is too badly conditioned for this method: 3,000 evaluations, or 30
        # where both are so.
        hopeless = tol * state.primal < _rounding(state)
        weight = (10 if epochs.exhausted else 1) * (10 if hopeless else 1)
        if stalls.see(history[-1][1], weight=weight) > 3000:
            break
        pause = min(max(0.5 * left, whole), 0.5 * history[-1][0] + whole)
    return state.relative_gap <= tol


def _screen(state: SampleState) -> None:
    """Decide samples, and evaluate a state that this has changed."""
    # At w = 0 the ball is so large that it decides next to nothing.
    if state.step.u.any():
        before = state.beta.copy()
        if state.screen() and not np.array_equal(before, state.beta):
            state.evaluate()


class _Epochs:
    """Sweeps over active samples: which of them rest, and how small a gap they are to leave."""

    def __init__(self, state: SampleState, seed: int, shrinking: bool):
        self._state, samples = state, state.step.samples
        self._random = np.array([(2 * seed + 1) * 0x9E3779B97F4A7C15 % 2**64], dtype=np.uint64)
        self.costs = samples.row_lengths + ENTRIES_PER_VISIT
        known = state.low, state.step.target, state.high, state.shifts
        self._terms = np.column_stack([*known, np.empty(samples.n), self.costs])
        # Slopes beyond which samples at a bound rest; whether the last epochs ended early, and the
        # share of the tolerance that they were to leave.
        self._rest = np.array([np.inf, -np.inf])
        self.exhausted, self._trust = False, 0.5
        # Before the first evaluation samples rest from a quarter of the largest gradient on, until
        # hardly any others than those inside the box are active.
        self._factor, self._settled = (0.25, 1.2) if shrinking else (np.inf, 0.0)

    def active(self) -> np.ndarray:
        """Return the samples that do not rest."""
        state = self._state
        slopes = state.shifts * state.beta - state.step.slopes
        if self.exhausted:
            # The epochs ended early, as active samples gain little: of all the largest gradient
            # tells which ones rest.
            able, beta = state.codes == UNDECIDED, state.beta
            highest = slopes.max(where=able & (beta > state.low), initial=0.0)
            lowest = slopes.min(where=able & (beta < state.high), initial=0.0)
            self._rest[:] = highest or np.inf, lowest or -np.inf
            self._trust *= 0.1
        active, bounds = np.empty(state.beta.size, np.int64), (state.low, state.high)
        known = state.beta, state.codes, self._rest
        return active[: loops.active_samples(slopes, *bounds, *known, active)]

    def go_on(self, active: np.ndarray, moved: bool, pause: float, most: int, tol: float) -> float:
        """Sweep over active samples, in so much work and so many epochs at most; return the work.

        If dual variables have `moved` since the evaluation their weights are summed up again.
        """
        state, terms = self._state, self._terms
        samples = state.step.samples
        u = samples.combine(state.beta) if moved else state.step.u.copy()
        terms[:, 1], (value, terms[:, 4]) = state.step.target, _intercept_feature(state)
        n_epochs, work, self.exhausted = loops.epochs(
            samples.short_rows, samples.bias, value, terms, state.beta, u, active, self._rest,
            self._factor, self._random, pause, most, self._trust * tol, state.primal,
            self._settled,
        )  # fmt: skip
        self._factor, self._settled = max(self._factor, 1.0), 0.0
        state.n_iter += n_epochs
        return work


def _move_on_face(
    faces: FaceSteps, state: SampleState, n_active: int, most: int, left: float, done: float
) -> float:
    """Move the free samples together if hardly any others are active; return the work done."""
    n_free = np.count_nonzero(state.inside())
    # A move takes 20 products with the free, or many more: sweeps that are nearly there need less.
    # Without shifts their rate falls, so that they take longer than they seem to.
    products = 20.0 if state.problem.smooth else 10.0
    if left < products * n_free / state.step.samples.n:
        return 0.0
    # With more free samples than features, and without shifts, the optimum on a face is not unique.
    is_point = n_free <= state.step.samples.n_features or state.problem.smooth
    if not is_point and left > 300.0:
        return faces.slide(0.5 * done)
    if n_active > 1.5 * n_free or not is_point:
        return 0.0
    return faces.move(most)


def _rounding(state: SampleState) -> float:
    """Return what rounding errors of the scores may add to the gap."""
    lengths = 1.0 + state.step.samples.norms * np.linalg.norm(state.step.u)
    # Without a bound the slope of the loss is about beta_i.
    steepness = np.abs(state.beta) if state.problem.smooth else state.problem.width
    return float(EPS * (steepness @ lengths))


def _intercept_feature(state: SampleState) -> tuple[float, np.ndarray]:
    """Return the value of the feature that carries b in sweeps, both penalties, and 1 / |x_i|^2."""
    samples, square = state.step.samples, state.step.samples.bias**2
    own = np.maximum(samples.norms**2 - square, 0.0)
    free = own[state.inside()]
    # Smaller squares have no reciprocal.
    smallest = 1e-300
    # With shifts sweeps find b fast enough; a second penalty would slow it down. With it the
    # curvature along b is 20 times that along all free samples.
    if square > smallest and free.any() and not state.problem.smooth:
        loose = 1.0 / (1.0 / square + free.size / (20.0 * free.mean()))
        # A larger square would cancel the digits of the others.
        square = max(loose, 1e-8 * square)
    value = abs(samples.bias) if 0.0 < square == samples.bias**2 else np.sqrt(square)
    own += square + state.shifts
    return value, np.divide(1.0, own, out=np.zeros(samples.n), where=own > smallest)


def _work_left(history: list[tuple[float, float]], target: float) -> float:
    """Return the work left at the rate of the later half of `history` (work, least gap)."""
    done, gap = history[-1]
    work, before = history[bisect_right(history, 0.5 * done, key=itemgetter(0)) - 1]
    if gap <= target:
        return 0.0
    if target <= 0.0:
        return np.inf
    longest = 10.0 * done
    if gap >= before:
        return longest
    return min((done - work) * np.log(gap / target) / np.log(before / gap), longest)
