"""The squared hinge with an L1 penalty: working sets of features, and features proved to be zero.

With rows z_i = y_i (x_i, B) and weights c_i of the losses, the problem is

    min_w  P(w) = |w|_1 + sum_i c_i max(0, 1 - <z_i, w>)^2,

and its dual

    max_alpha  D(alpha) = sum_i alpha_i - alpha_i^2 / (4 c_i)
    such that  alpha >= 0,  |<Z_j, alpha>| <= 1 for all columns Z_j.

From any w, alpha_i = 2 c_i max(0, 1 - <z_i, w>) times the best s that keeps it feasible gives the
gap. D is strongly concave: 1/2 sum_i (alpha_i - alpha*_i)^2 / (2 c_i) <= gap, so

    |<Z_j, alpha>| + sqrt(2 gap) (sum_i 2 c_i z_ij^2)^(1/2) < 1   proves   w*_j = 0

(the sphere of Ndiaye et al. 2017, in the norm of this dual). Between two certificates the problem
of a dense Z is solved on a working set: the features in use, and those nearest to being used by the
same test (Massias et al. 2018). There Newton's method alternates between a quadratic model, solved
by coordinate descent, and a line search. Columns of a sparse Z are so cheap that coordinate descent
visits all of them, and Newton's method moves the weights in use, without a change of sign.

References
----------
E. Ndiaye, O. Fercoq, A. Gramfort, J. Salmon (2017). Gap safe screening rules for sparsity enforcing
penalties. JMLR 18(128).
M. Massias, A. Gramfort, J. Salmon (2018). Celer: a fast solver for the lasso with dual
extrapolation. ICML. Section 3.
G.-X. Yuan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin (2010). A comparison of optimization methods and
software for large-scale L1-regularized linear classification. JMLR 11. Section 4.1 (columns).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from skscreen._compiled import samples as row_loops
from skscreen._compiled import svm as compiled
from skscreen.core.floats import EPS
from skscreen.samples.rows import flat_rows

quadratic_descent = compiled.quadratic_descent
"""(H (k, k), gradient (k,), x (k,), tol, most) -> sweeps; moves x to the least of the model."""

column_sweeps = compiled.column_sweeps
"""(data, rows, starts, c (n,), steepest (d,), index (k,), margins (n,), x (d,), sweeps) -> sum.

Of the violations before the last of the sweeps over some columns of CSC; `steepest` are sums of
c_i z_ij^2.
"""

# Largest set whose matrix is formed: 72 MB. Up to so many features solving its model costs little.
_LARGEST_MATRIX, _FEW = 3000, 150
# Halvings of a step.
_MOST_HALVINGS = 30
# Damping of Newton's model at first, relative to its diagonal.
_DAMPING = 1e-3


@dataclass(frozen=True)
class L1Solution:
    """Weights (d,), feasible alpha (n,), features (d,) proved to be zero, also by the start."""

    w: np.ndarray
    alpha: np.ndarray
    primal: float
    dual: float
    zero: np.ndarray
    zero_at_first: np.ndarray
    n_iter: int

    @property
    def relative_gap(self) -> float:
        """Return (P - D) / P."""
        return max(self.primal - self.dual, 0.0) / max(self.primal, np.finfo(np.float64).tiny)


class L1Problem:
    """X (n, d) in Fortran order or CSC, y (n,) = +-1, `weights` (n,) > 0 of losses for C = 1.

    With `fills` sparse columns are filled where sweeps over them make slow progress.
    """

    def __init__(self, X, y: np.ndarray, weights: np.ndarray, fills: bool = False):
        self._X, self.signs, self.weights, self._fills = X, y, weights, fills
        is_sparse = sparse.issparse(X)
        squares = _with_entries(X, X.data**2) if is_sparse else X * X
        # Of all columns, in the norm of the dual for C = 1.
        self._norms = np.sqrt(2.0 * np.asarray(squares.T @ weights).ravel())

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, d)."""
        return self._X.shape

    def columns(self, index: np.ndarray) -> np.ndarray:
        """Return some columns of a dense Z."""
        return self.signs[:, None] * self._X[:, index]

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Return <z_i, w>, (n,), from the columns in use."""
        used = np.flatnonzero(w)
        return self.signs * (self._X[:, used] @ w[used])

    def correlations(self, alpha: np.ndarray) -> np.ndarray:
        """Return <Z_j, alpha>, (d,)."""
        return self._X.T @ (self.signs * alpha)

    @property
    def C_min(self) -> float:
        """Largest C up to which all weights are 0; infinite where no column has an effect."""
        largest = 2.0 * float(np.abs(self.correlations(self.weights)).max(initial=0.0))
        return 1.0 / largest if largest > 0.0 else np.inf

    def solve(
        self, C: float, tol: float, max_iter: int, start: L1Solution | None = None
    ) -> L1Solution:
        """Solve for one C, from zero or the solution for another, to a relative gap of `tol`."""
        c, norms, d = C * self.weights, np.sqrt(C) * self._norms, self.shape[1]
        w = np.zeros(d) if start is None else start.w.copy()
        zero, n_iter, growth, pace = np.zeros(d, bool), 0, 1, _Pace()
        at_first: np.ndarray | None = None
        sweeps: _Sweeps | None = None
        while True:
            margins = self.margins(w)
            alpha = 2.0 * c * np.maximum(1.0 - margins, 0.0)
            correlations = self.correlations(alpha)
            found = _certificate(w, margins, alpha, c, correlations, zero)
            scaled = np.abs(correlations) * found.scale
            # The constraints of the dual are the same for all C.
            if at_first is None and start is not None:
                own = np.abs(self.correlations(start.alpha))
                dual, scale = _dual(start.alpha, c, float(own.max(initial=0.0)))
                if dual > found.dual:
                    found = replace(found, alpha=scale * start.alpha, dual=dual, scale=scale)
                    scaled = own * scale
            zero |= _proved_zero(scaled, norms, found)
            at_first = zero.copy() if at_first is None else at_first
            if w[zero].any():
                w[zero] = 0.0
                margins = self.margins(w)
            is_sparse = sparse.issparse(self._X)
            # A round on dense columns has up to fifty Newton steps: if these move less than a
            # thousandth of the gap, they lead nowhere in time.
            best = pace.see(found, 1e-3 if pace.slow >= 5 and not is_sparse else 1e-6)
            # Nor do sixty such rounds without half of the gap.
            crawls = pace.failures > 5 or (pace.slow > 60 and not is_sparse)
            if best.gap <= tol * best.primal or n_iter >= max_iter or crawls:
                return L1Solution(
                    best.w, best.alpha, best.primal, best.dual, zero, at_first, n_iter
                )
            if pace.slow == 100 and is_sparse and self._fills:
                # Sweeps and single steps only crawl on features of very unequal size.
                self._X, pace.slow = self._X.toarray(order="F"), 0
            if sparse.issparse(self._X):
                sweeps = sweeps or _Sweeps(self._X, self.signs, c, 0.5 * norms**2)
                if pace.failures == 3:
                    # Where sweeps and steps of the weights in use stand still, the whole model is
                    # worth its price.
                    sweeps.few = 4 * _FEW
                # Features that may come into use before the next certificate, and those in use.
                # Sweeps go on alone as long as they lower the gap fast.
                index = np.flatnonzero(~zero & ((np.abs(correlations) > 0.8) | (w != 0.0)))
                n_iter += sweeps.go_on(w, margins, index, pace.left > 0.3)
                continue
            # Twice as many features as are in use; more where that has brought little.
            growth = 2 * growth if pace.left > 0.5 else 1
            size = min(growth * max(100, 2 * int(np.count_nonzero(w))), d)
            if size > _LARGEST_MATRIX:
                self._X = sparse.csc_array(self._X)
                continue
            index = _working_set(w, scaled, norms, zero, size)
            inner = max(0.05 * found.gap, 0.3 * tol * found.primal)
            unequal = pace.failures > 0 or pace.slow >= 5
            n_iter += self._on_set(index, w, c, inner, max_iter - n_iter, unequal)

    def _on_set(self, index, w, c, gap: float, most: int, unequal: bool) -> int:
        """Solve on some features to an absolute gap; changes w; returns the steps; see `_model`."""
        Z, x = self.columns(index), w[index]
        margins, damping, steps = Z @ x, _DAMPING, 0
        least, lost = np.inf, 0
        while steps < min(most, 50):
            short = np.maximum(1.0 - margins, 0.0)
            alpha = 2.0 * c * short
            gradient = -(Z.T @ alpha)
            primal = np.abs(x).sum() + c @ (short * short)
            # Steps that lower the primal value by rounding errors alone are lost.
            lost = 0 if primal < (1.0 - 4.0 * EPS) * least else lost + 1
            least = min(least, primal)
            missing = primal - _dual(alpha, c, np.abs(gradient).max(initial=0.0))[0]
            if missing <= gap or lost == 3:
                break
            damping *= _newton_step(Z, c, gradient, x, margins, primal, damping, unequal)
            steps += 1
            if damping > 1e3:
                # No step of the model leads downhill.
                break
        w[index] = x
        return max(steps, 1)


class _Sweeps:
    """Coordinate descent over all columns of a sparse Z, and Newton's method on those in use."""

    def __init__(self, X: sparse.csc_array, y: np.ndarray, c: np.ndarray, steepest: np.ndarray):
        self._c, self._steepest, self._damping = c, steepest, _DAMPING
        self._Z, self.few = _with_entries(X, X.data * y[X.indices]), _FEW

    def go_on(self, w, margins, index, newton: bool) -> int:
        """Sweep over the features `index`, and if asked take a Newton step; returns the steps."""
        Z, c, n_sweeps = self._Z, self._c, 5
        column_sweeps(Z.data, Z.indices, Z.indptr, c, self._steepest, index, margins, w, n_sweeps)
        few = index.size <= self.few
        some = index if few else np.flatnonzero(w)
        if not newton or not 0 < some.size <= _LARGEST_MATRIX:
            return n_sweeps
        part, x, short = Z[:, some], w[some], np.maximum(1.0 - margins, 0.0)
        gradient = -(part.T @ (2.0 * c * short))
        primal = np.abs(x).sum() + c @ (short * short)
        step = _newton_step if few else _step_of_used
        factor = step(part, c, gradient, x, margins, primal, self._damping)
        # Beyond this the step is one along the gradient, of no length.
        self._damping = min(factor * self._damping, 1e9)
        w[some] = x
        return n_sweeps + 1


def _with_entries(X: sparse.csc_array, data: np.ndarray) -> sparse.csc_array:
    """Return a matrix with other entries in the same places."""
    return sparse.csc_array((data, X.indices, X.indptr), X.shape)


@dataclass(frozen=True)
class _Found:
    """A primal point with the dual point that certifies it."""

    w: np.ndarray
    alpha: np.ndarray
    primal: float
    dual: float
    scale: float

    @property
    def gap(self) -> float:
        """Return P - D."""
        return self.primal - self.dual


@dataclass
class _Pace:
    """How the gap of a solve falls from one certificate to the next."""

    best: _Found | None = None  # that of the smallest gap
    least: float = np.inf  # primal value so far
    last: float = np.inf  # gap
    left: float = np.inf  # share of the gap that the last round has left
    slow: int = 0  # certificates without half of the gap `halved`
    halved: float = np.inf
    failures: int = 0  # rounds one after the other without a gain

    def see(self, found: _Found, little: float) -> _Found:
        """Take up a certificate, a gain of a `little` of the gap being none; return the best."""
        best = self.best
        # The gap, but not the primal value, may stand still for a while at first. Only rounding
        # errors are left where both do several times in a row.
        moved = best is None or self.least - found.primal > little * best.gap
        gained = best is None or found.gap < 0.9 * best.gap
        self.failures = 0 if moved or gained else self.failures + 1
        self.least = min(self.least, found.primal)
        self.best = best = found if best is None or found.gap < best.gap else best
        self.left, self.last = found.gap / self.last if self.last else 0.0, found.gap
        self.slow = self.slow + 1 if best.gap > 0.5 * self.halved else 0
        self.halved = self.halved if self.slow else best.gap
        return best


def _certificate(w, margins, alpha, c, correlations, zero) -> _Found:
    """Return primal and dual values at w, and the scale that makes alpha feasible."""
    short = np.maximum(1.0 - margins, 0.0)
    primal = float(np.abs(w).sum() + c @ (short * short))
    # Features that are proved to be zero may be left out of the dual's constraints.
    largest = float(np.abs(correlations[~zero]).max(initial=0.0))
    dual, scale = _dual(alpha, c, largest)
    return _Found(w.copy(), scale * alpha, primal, dual, scale)


def _dual(alpha: np.ndarray, c: np.ndarray, largest: float) -> tuple[float, float]:
    """Return the largest D(s alpha) with s |Z'alpha| <= 1, and s; `largest` is |Z'alpha|."""
    total, squares = float(alpha.sum()), float(alpha @ (alpha / c)) / 4.0
    if total == 0.0:
        return 0.0, 1.0
    scale = min(total / (2.0 * squares), (1.0 - 4.0 * EPS) / largest if largest > 0.0 else np.inf)
    return scale * total - scale * scale * squares, scale


def _proved_zero(scaled, norms, found: _Found) -> np.ndarray:
    """Return which features have no weight at the optimum, by the ball around the dual point."""
    # Rounding errors of the gap are at most a few of its terms', those of a correlation below 1e-9.
    gap = max(found.gap, 0.0) + 1e-13 * found.primal
    return scaled + np.sqrt(2.0 * gap) * norms < 1.0 - 1e-9


def _working_set(w, scaled, norms, zero, size: int) -> np.ndarray:
    """Return the features in use and those whose constraint is nearest, in ascending order."""
    distance = np.full(w.size, np.inf)
    open_ = ~zero & (norms > 0.0)
    distance[open_] = (1.0 - scaled[open_]) / norms[open_]
    distance[w != 0.0] = -np.inf
    size = min(size, int(np.count_nonzero(np.isfinite(distance) | (w != 0.0))))
    return np.sort(np.argpartition(distance, max(size - 1, 0))[:size])


def _model(Z, c, inside, damping: float, unequal: bool = False) -> np.ndarray:
    """Return the second derivatives of the losses `inside` (indices), made positive definite.

    Features of `unequal` size are damped each by its own, or small ones would not move at all.
    """
    if sparse.issparse(Z):
        H = np.zeros((Z.shape[1], Z.shape[1]))
        row_loops.add_products(flat_rows(sparse.csr_array(Z)), 0.0, inside, 2.0 * c[inside], H)
        H += np.tril(H, -1).T
    else:
        rows = Z[inside] * np.sqrt(2.0 * c[inside])[:, None]
        H = rows.T @ rows
    # More features than samples with a loss have no unique minimum.
    diagonal = H.diagonal().copy()
    some = diagonal == 0.0 if unequal else diagonal < diagonal.mean()
    H[np.diag_indices_from(H)] += damping * np.where(some, diagonal.mean(), diagonal)
    return H


@dataclass(frozen=True)
class _Move:
    """A step (k,) of the weights with that of the margins (n,), how much of it is taken, and P."""

    step: np.ndarray
    change: np.ndarray
    length: float
    primal: float


def _newton_step(
    Z, c, gradient, x, margins, primal: float, damping: float, unequal: bool = False
) -> float:
    """Take a Newton step; changes x and margins; returns a factor for the damping of the next."""
    # As exact as the violation is now, but for a factor.
    tol = 0.03 * _violation(x, gradient)
    inside, slopes = margins < 1.0, gradient
    best = _Move(x, margins, 0.0, primal)
    while True:
        H = _model(Z, c, np.flatnonzero(inside), damping, unequal)
        target = _least_of_model(H, slopes, x, tol)
        move = _shortened(target - x, Z @ (target - x), c, gradient, x, margins, primal)
        best = move if move.primal <= best.primal else best
        # A loss that is 0 at x and starts within the step cuts it short: the model has to know it.
        starting, enough = ~inside & (margins + move.change < 1.0), 1.0 if unequal else 1e-3
        if move.length >= enough or not starting.any():
            break
        inside |= starting
        slopes = -(Z.T @ np.where(inside, 2.0 * c * (1.0 - margins), 0.0))
    if best.length > 0.0:
        x += best.length * best.step
        margins += best.length * best.change
    return _factor(best.length)


def _shortened(step, change, c, gradient, x, margins, primal: float) -> _Move:
    """Return the step halved until P falls by a share of what its slope promises; 0 if it rises."""
    decrease = min(float(gradient @ step + np.abs(x + step).sum() - np.abs(x).sum()), 0.0)
    length = 1.0
    for _ in range(_MOST_HALVINGS):
        after = np.maximum(1.0 - margins - length * change, 0.0)
        value = float(np.abs(x + length * step).sum() + c @ (after * after))
        if value <= primal + 1e-4 * length * decrease:
            return _Move(step, change, length, value)
        length *= 0.5
    return _Move(step, change, 0.0, primal)


def _step_of_used(Z, c, gradient, x, margins, primal: float, damping: float) -> float:
    """Take such a step of weights in use, of which those that would change their sign become 0."""
    H = _model(Z, c, np.flatnonzero(margins < 1.0), damping)
    factor = cho_factor(H, overwrite_a=True, check_finite=False)
    step = -cho_solve(factor, gradient + np.sign(x), check_finite=False)
    length = 1.0
    for _ in range(_MOST_HALVINGS):
        target = np.where(x * (x + length * step) > 0.0, x + length * step, 0.0)
        after = margins + Z @ (target - x)
        if np.abs(target).sum() + c @ np.maximum(1.0 - after, 0.0) ** 2 < primal:
            x[:], margins[:] = target, after
            return _factor(length)
        length *= 0.5
    return _factor(0.0)


def _factor(length: float) -> float:
    """Return the factor of the damping after a step of this length."""
    return 0.1 if length == 1.0 else 1.0 if length == 0.5 else 10.0


def _least_of_model(H: np.ndarray, gradient: np.ndarray, x: np.ndarray, tol: float) -> np.ndarray:
    """Return x + d at the least of g'd + d'Hd/2 + |x + d|_1, to a violation of `tol`."""
    # Coordinate descent finds which features are in use, and a linear system their weights.
    target, slopes, value, most_sweeps = x.copy(), gradient.copy(), np.inf, 10
    for _ in range(50 if x.size > _FEW else 1000):
        if quadratic_descent(H, slopes, target, tol, most_sweeps) < most_sweeps:
            break
        step, before = target - x, value
        value = float((gradient + 0.5 * (H @ step)) @ step + np.abs(target).sum())
        if not value < before:
            # Only rounding errors are left.
            break
        slopes = _between_kinks(H, gradient, slopes, x, target)
    return target


def _violation(x: np.ndarray, gradient: np.ndarray) -> float:
    """Return the largest distance of -gradient from the subdifferential of the penalty."""
    off = np.where(x == 0.0, np.maximum(np.abs(gradient) - 1.0, 0.0), np.abs(gradient + np.sign(x)))
    return float(off.max(initial=0.0))


def _between_kinks(H, gradient, slopes, x, target: np.ndarray) -> np.ndarray:
    """Move the weights in use to the least of such a model for their signs; returns its slopes."""
    used = np.flatnonzero(target)
    for _ in range(used.size):
        try:
            system = H[np.ix_(used, used)]
            factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            break
        step = -cho_solve(factor, slopes[used] + np.sign(target[used]), check_finite=False)
        # Up to where the first weight would change its sign: it is out of use then.
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(target[used] * step < 0.0, -target[used] / step, np.inf)
        length = min(1.0, float(ends.min()))
        target[used] += length * step
        stay = ends > length
        target[used[~stay]] = 0.0
        used, slopes = used[stay], gradient + H @ (target - x)
        if length == 1.0 or used.size == 0:
            break
    return slopes
