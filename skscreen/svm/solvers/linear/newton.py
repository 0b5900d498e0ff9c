"""Newton's method on the primal of losses that are once differentiable, for narrow linear models.

Where all losses have a shift and no cap, as the squared hinge, the primal

    P(w) = 1/2 |w|^2 + sum_A (t_i - m_i)^2 / (2 s_i),    A = {i: m_i < t_i},

is convex, piecewise quadratic and once differentiable: Newton's method with an exact line search
finds its minimum in about ten steps (Mangasarian 2002; Keerthi and DeCoste 2005) for any C. Its
matrix is I + sum_A z_i z_i' / s_i, as wide as the number of features; in each step only the rows of
samples that have entered or left A are added or subtracted. The dual variables of w are alpha_i =
(t_i - m_i)_+ / s_i, whose slackness at w is 0, so the gap of (w, alpha) is
|grad P(w)|^2 / 2. It returns sum_i alpha_i z_i, which is w at the minimum, with its own gap, or w
where that is better.

References
----------
O. L. Mangasarian (2002), A finite Newton method for classification, Optim. Methods Softw. 17.
S. S. Keerthi, D. DeCoste (2005), A modified finite Newton method for fast solution of large scale
linear SVMs, JMLR 6.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, get_blas_funcs

from skscreen._compiled import svm as loops
from skscreen.core.decisions import UNDECIDED
from skscreen.core.floats import EPS
from skscreen.core.memory import check_memory
from skscreen.samples.row_loops import add_products
from skscreen.samples.rows import LinearSamples
from skscreen.svm.solvers.linear.coordinate_descent import coordinate_descent
from skscreen.svm.solvers.linear.second_order import LENGTH
from skscreen.svm.solvers.linear.state import SampleState

# Rows of undecided samples are copied if they are less than this share of all rows.
_WORTH_RESTRICTING = 0.7

# A start from nothing is found on this share of the samples, if that is so many for each weight.
_PART, _ROWS_A_WEIGHT = 0.1, 3
# Relative gap of that start, and most steps for it.
_ROUGH, _MOST_ROUGH = 1e-3, 20

# Else by so many epochs of coordinate descent: fewer samples say little about the others.
_EPOCHS = 5

# Number of rows that are copied and multiplied together.
_TOGETHER = 4096

# Largest rounding errors of a sum in single precision, next to the identity, and the share of the
# gradient that a step to the minimum may leave before sums are in double precision.
_HARMLESS, _INEXACT = 10.0, 0.1

# Sparse rows filled below this share have their outer products summed up entry by entry.
_NARROW = 0.15

# Estimates for `newton_work`: steps from nothing, and from another start.
_STEPS, _FEWER_STEPS = 8.0, 6.0
# Passes over the data in a step, and how often all outer products are summed up in a solve.
_PASSES, _PRODUCTS = 3.0, 1.0
# Nanoseconds per product of two entries of a row, entry read, entry copied, sample in a pass, and
# multiplication in matrix products; and for each step.
_NS_PER_PAIR, _NS_PER_READ, _NS_PER_COPY, _NS_PER_SAMPLE = 1.5, 0.7, 1.0, 5.0
_NS_PER_MULTIPLY, _OVERHEAD = 0.03, 1e5

# Share of the tolerance to reach before the certificate is computed.
_SHARE = 0.5

# After this many evaluations or steps without gain only rounding errors are left. Where these make
# directions bad each step gains next to nothing: so many in a row that leave this share of the
# objective, or evaluations that leave this share of the gap, are no way to the optimum.
_MOST_FAILURES, _MOST_SLOW, _SLOW, _LITTLE = 3, 50, 1.0 - 1e-4, 0.9


def newton_work(state: SampleState) -> float:
    """Return the estimated time of a solve from a state, in nanoseconds."""
    samples = state.samples
    side, width = samples.n_features, float(samples.row_lengths.mean())
    if by_entries(samples):
        products = _NS_PER_PAIR * 0.5 * width**2
    else:
        products = _NS_PER_MULTIPLY * 0.5 * side**2 + _NS_PER_COPY * side
    passes = _PASSES * (_NS_PER_READ * width + _NS_PER_SAMPLE)
    step = passes * samples.n + _NS_PER_MULTIPLY * side**3 / 3.0 + _OVERHEAD
    if not state.alpha.any():
        return _STEPS * step + _PRODUCTS * products * samples.n
    return _FEWER_STEPS * step + products * np.count_nonzero(state.alpha)


def by_entries(samples: LinearSamples) -> bool:
    """Whether rows are sparse enough for outer products to be summed up entry by entry."""
    return samples.row_lengths.sum() < _NARROW * samples.n_features * samples.n


def newton(state: SampleState, tol: float, max_iter: int, *, screening: bool = True) -> bool:
    """Move a state of losses with shifts and no caps to a relative gap; returns whether."""
    few = _ROWS_A_WEIGHT * state.samples.n_features > _PART * state.samples.n
    if few and not state.alpha.any():
        coordinate_descent(state, tol, min(_EPOCHS, max_iter), screening=False)
    state.begin(LENGTH)
    part, failures = _Undecided(state, max_iter), 0
    while state.relative_gap > tol and state.n_iter < max_iter and failures < _MOST_FAILURES:
        gap = state.gap
        part.follow(state)
        state.n_iter += part.problem.minimise(tol, max_iter - state.n_iter)
        state.alpha[part.index] = part.problem.alpha
        state.evaluate()
        if state.relative_gap > tol:
            state.evaluate(part.problem.w)
        failures += not state.gap < _LITTLE * gap
    return state.relative_gap <= tol


class _Undecided:
    """The problem of the undecided samples, solved for some of them first if there is no start."""

    def __init__(self, state: SampleState, max_iter: int):
        samples, losses, thresholds = state.samples, state.losses, state.thresholds
        self.centre = state.centre
        self.index = np.flatnonzero(state.codes == UNDECIDED)
        if self.index.size >= _WORTH_RESTRICTING * samples.n:
            self.index = np.arange(samples.n)
        else:
            samples, losses = samples.restrict(self.index), losses.take(self.index)
            thresholds = thresholds[self.index]
        # A cap of 0 means no loss.
        inverses = np.divide(1.0, losses.shifts, out=np.zeros(samples.n), where=losses.caps > 0.0)
        w = state.u.copy()
        count = int(_PART * samples.n)
        if not state.alpha.any() and count >= _ROWS_A_WEIGHT * samples.n_features:
            some = np.sort(np.random.default_rng(0).choice(samples.n, count, replace=False))
            factor = samples.n / count
            part = _Problem(samples.restrict(some), thresholds[some], factor * inverses[some], w)
            # A half of few steps is left for all samples.
            most = min(_MOST_ROUGH, (max_iter - state.n_iter) // 2)
            state.n_iter += part.minimise(_ROUGH, most)
            w = part.w
        self.problem = _Problem(samples, thresholds, inverses, w)

    def follow(self, state: SampleState) -> None:
        """Measure a free intercept from the centre of its present proximal step."""
        if state.centre != self.centre:
            self.problem.w[-1] += (self.centre - state.centre) / state.samples.bias
            self.problem.thresholds, self.centre = state.thresholds[self.index], state.centre


class _Problem:
    """Some samples, and the current vector of weights."""

    def __init__(self, samples: LinearSamples, thresholds, inverses, w):
        self.samples, self.thresholds, self.inverses = samples, thresholds, inverses
        self.w, self.hessian = w, _Hessian(samples, inverses)
        self.slopes = np.zeros(samples.n), inverses, np.full(samples.n, np.inf)

    def minimise(self, tol: float, most: int) -> int:
        """Take steps until the gap is likely to be small enough; return their number."""
        short, before = self.thresholds - self.samples.margins(self.w), np.inf
        least, failures, known, slow = np.inf, 0, np.inf, 0
        for n_steps in range(most + 1):
            positive = np.maximum(short, 0.0)
            self.alpha = positive * self.inverses
            gradient = self.w - self.samples.combine(self.alpha)
            primal = 0.5 * float(self.w @ self.w + self.alpha @ positive)
            failures = 0 if primal < least else failures + 1
            least = min(least, primal)
            known, slow = (primal, 0) if primal < _SLOW * known else (known, slow + 1)
            changed = self.hessian.update(self.alpha > 0.0)
            before, slope = float(np.linalg.norm(gradient)), before
            if not changed and before > _INEXACT * slope:
                self.hessian.to_double()
            # That of (w, alpha), and of (sum_i alpha_i z_i, alpha) if the same samples have a loss
            # there. There may be none at the start.
            gap = 0.5 * float(gradient @ self.hessian.times(gradient))
            gap = max(gap, 0.5 * before**2)
            stuck = failures == _MOST_FAILURES or slow > _MOST_SLOW
            if n_steps == most or gap <= _SHARE * tol * primal or stuck:
                return n_steps
            step = -self.hessian.solve(gradient)
            change = self.samples.margins(step)
            along = float(self.w @ step), float(step @ step)
            length = loops.line_length(*self.slopes, short, change, *along)
            if length == 0.0:
                return n_steps + 1
            self.w += length * step
            short -= length * change
        return most


class _Hessian:
    """The sum of z_i z_i' / s_i over a changing set, in single precision where it can be."""

    def __init__(self, samples: LinearSamples, inverses: np.ndarray):
        side = samples.n_features
        what = f"A Newton system of {side:,} equations"
        check_memory(16.0 * side**2, what, "Use solver='coordinate-descent'.")
        self._samples, self._inverses = samples, inverses
        self._inside = np.zeros(samples.n, np.bool_)
        self._by_entries = by_entries(samples)
        rounding = float(np.finfo(np.float32).eps) * (inverses @ samples.norms**2)
        single = rounding <= _HARMLESS and not self._by_entries
        # The lower triangle, in C order: for Fortran the upper one.
        self._sum = np.zeros((side, side), np.float32 if single else np.float64)

    def update(self, inside: np.ndarray) -> bool:
        """Update the sum for another set; returns whether it is another."""
        added, removed = inside & ~self._inside, self._inside & ~inside
        n_changes = np.count_nonzero(added) + np.count_nonzero(removed)
        if n_changes >= np.count_nonzero(inside):
            self._sum[:] = 0.0
            added, removed = inside, np.zeros_like(inside)
        self._add(np.flatnonzero(added), 1.0)
        self._add(np.flatnonzero(removed), -1.0)
        self._inside = inside
        return n_changes > 0

    def _add(self, index: np.ndarray, sign: float) -> None:
        samples, total = self._samples, self._sum
        if self._by_entries:
            scales = sign * self._inverses[index]
            add_products(*samples.short_rows, samples.bias, index, scales, total)
            return
        (multiply,) = get_blas_funcs(("syrk",), (total,))
        for first in range(0, index.size, _TOGETHER):
            part = index[first : first + _TOGETHER]
            rows = samples.scaled_rows(part, np.sqrt(self._inverses[part]), total.dtype)
            rows = rows.toarray() if samples.is_sparse else rows
            multiply(sign, rows.T, beta=1.0, c=total.T, overwrite_c=1)

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return the sum times a vector."""
        (multiply,) = get_blas_funcs(("symv",), (self._sum,))
        return multiply(1.0, self._sum.T, x)

    def solve(self, x: np.ndarray) -> np.ndarray:
        """Solve with the sum and the identity, the matrix of Newton's method."""
        try:
            return self._solve(x, 1.0)
        except np.linalg.LinAlgError:
            # Large terms leave rounding errors behind when they are subtracted.
            self._sum_again()
        # With a ridge above the rounding errors of the sum the step still leads downhill.
        terms = np.count_nonzero(self._inside) + len(self._sum)
        return self._solve(x, 1.0 + 2.0 * terms * EPS * float(np.trace(self._sum)))

    def to_double(self) -> None:
        """Go over to double precision."""
        if self._sum.dtype == np.float32:
            self._sum_again()

    def _sum_again(self) -> None:
        self._sum = np.zeros(self._sum.shape)
        self._add(np.flatnonzero(self._inside), 1.0)

    def _solve(self, x: np.ndarray, ridge: float) -> np.ndarray:
        matrix = self._sum.T.copy(order="F")
        matrix[np.diag_indices_from(matrix)] += ridge
        factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
        return cho_solve(factor, x.astype(matrix.dtype), check_finite=False).astype(np.float64)
