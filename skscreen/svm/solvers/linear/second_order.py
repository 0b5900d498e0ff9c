"""Newton's method on smoothed hinges for samples of a narrow linear model.

The proximal point method on the dual replaces alpha_k, step by step, by the solution of

    max_alpha  D(alpha) - sum_i (width / (2 C_i)) (alpha_i - alpha_ki)^2

over the box. Its primal has hinges that are smoothed over a zone of margins of this width,

    min_w  1/2 |w|^2 + sum_i phi_i(m_i),
    -phi_i'(m) = C_i clip(alpha_ki / C_i + (t_i - m) / width, 0, 1),

which is convex, piecewise quadratic and once differentiable: Newton's method with a line search
finds its minimum in finitely many steps (Mangasarian 2002; Li, Sun, Toh 2018 for the combination).
Its matrix is I + sum_E (C_i / width) z_i z_i' over the samples E in their zones, or by Woodbury's
identity one of the size of E; the smaller one is factorised. The width shrinks from step to step,
and E tends to the samples of margin 1. Large C, which slows coordinate descent down, has no effect
here. After every step the gap of the full problem is computed and decides samples, which are then
left out.

References
----------
O. L. Mangasarian (2002), A finite Newton method for classification, Optim. Methods Softw. 17.
X. Li, D. Sun, K.-C. Toh (2018), A highly efficient semismooth Newton augmented Lagrangian method
for solving Lasso problems, SIAM J. Optim. 28.
K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014), Safe sample screening for support vector
machines, arXiv:1401.6740.
"""

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from skscreen._compiled import svm as loops
from skscreen.core.decisions import LINEAR
from skscreen.core.memory import check_memory
from skscreen.samples.row_loops import sparse_products
from skscreen.samples.rows import flat_rows
from skscreen.svm.solvers.linear.state import SampleState

# See `SampleState.begin`.
LENGTH = 1000.0
# Width of the first zones over the relative gap, and the largest width, in units of the margin.
_FIRST_WIDTH, _LARGEST_WIDTH = 50.0, 10.0
# Largest width of the last steps: in units of the margin, and over the mean of C |z|^2.
_POLISHING_WIDTHS = (0.1, 1e-3)
# Factor of the width after at most `_FEW` Newton steps, after at most `_MANY`, and after more.
_NARROWER = (0.1, 0.4, 0.6)
_FEW, _MANY = 4, 15
# Largest number of Newton steps for one proximal step.
_TOO_MANY = 60
# Systems of so few weights are solved for the weights, whatever the number of samples.
_NARROW = 64
# Ratio of the sizes of two columns, squared, from which on the largest is eliminated first.
_UNEQUAL = 1e8
# Rows of undecided samples are copied if they are less than this share of all rows.
_WORTH_RESTRICTING = 0.7
# Squared gradient at which an inner problem is solved, over the gap that the step leaves anyway.
_INEXACT = 0.1


def second_order(state: SampleState, tol: float, max_iter: int, *, screening: bool = True) -> bool:
    """Move an evaluated state to a relative gap, in `max_iter` steps; returns whether."""
    state.begin(LENGTH)
    w, centre = state.best_multiple(), state.centre
    state.evaluate(w)
    if state.centre != centre:
        w[-1] += (centre - state.centre) / state.samples.bias
    width = min(max(_FIRST_WIDTH * state.relative_gap, 1e-3), _LARGEST_WIDTH)
    widest = max(
        _POLISHING_WIDTHS[0],
        _POLISHING_WIDTHS[1] * float(np.mean(state.caps * state.samples.norms**2)),
    )
    part, failures, polishing = None, 0, False
    while state.relative_gap > tol and state.n_iter < max_iter and failures < 8:
        if screening:
            state.screen()
        undecided = state.undecided()
        if undecided.size == 0:
            state.evaluate()
            break
        if part is None or undecided.size < _WORTH_RESTRICTING * part.index.size:
            part = _Undecided(state, undecided, w if part is None else part.w)
        gap = state.gap
        steps, solved = part.minimise(state, width, tol, min(_TOO_MANY, max_iter - state.n_iter))
        state.n_iter += max(steps, 1)
        if solved:
            state.alpha[part.index] = part.alpha
            state.apply_codes()
            state.evaluate()
            if state.gap >= gap:
                state.evaluate(part.w)
            if part.kappa <= 0.1 * tol * state.primal:
                # What is left are rounding errors of the margins times C / width. Wide zones
                # suffice this close to the optimum.
                polishing = True
                width *= min(max(state.relative_gap / tol, 10.0), 1e4)
                width = min(width, widest)
            elif not polishing:
                width *= _NARROWER[(steps > _FEW) + (steps > _MANY)]
        else:
            width = min(4.0 * width, _LARGEST_WIDTH)
        failures += not solved or state.gap >= gap
    return state.relative_gap <= tol


class _Undecided:
    """The problem of the undecided samples, given the sum of alpha_i z_i over the others."""

    def __init__(self, state: SampleState, index: np.ndarray, w: np.ndarray):
        self.index, self.w = index, w.copy()
        whole = index.size == state.samples.n
        self.samples = state.samples if whole else state.samples.restrict(index)
        self.losses = state.losses.take(index)
        full = np.where(state.codes == LINEAR, state.caps, 0.0)
        self.given = state.samples.combine(full)
        self.centre = state.centre
        self.alpha = state.alpha[index]

    def minimise(self, state, width: float, tol: float, most: int) -> tuple[int, bool]:
        """Take a proximal step; returns its Newton steps, and whether alpha has moved."""
        target, before = tol * state.primal, np.inf
        # Both are updated in every step; this removes rounding errors.
        self._follow(state)
        short = state.thresholds[self.index] - self.samples.margins(self.w)
        caps = self.losses.caps
        slopes = self.alpha, caps / width, caps
        last, total = self.alpha, self.given + self.samples.combine(self.alpha)
        for steps in range(most + 1):
            loops.smooth_duals(*slopes, short, alpha := np.empty(short.size))
            kappa, _ = self.losses.certify(short, alpha)
            total += self.samples.combine(alpha - last)
            last, gradient = alpha, self.w - total
            error = 0.5 * float(gradient @ gradient)
            zone = np.flatnonzero((alpha > 0.0) & (alpha < caps))
            # The certificate is that of u = w - gradient; kappa is what the zones add to its gap.
            reach = float(caps[zone] @ self.samples.norms[zone])
            wanted = _INEXACT * max(kappa, target)
            if error <= wanted and (
                np.sqrt(2.0 * error) * reach <= wanted or error >= 0.25 * before
            ):
                self.alpha, self.kappa = alpha, kappa
                return steps, True
            before = error
            if steps == most:
                break
            try:
                step = self._newton(gradient, zone, width)
            except np.linalg.LinAlgError:
                break
            change = self.samples.margins(step)
            along = float((self.w - self.given) @ step), float(step @ step)
            length = loops.line_length(*slopes, short, change, *along) or 1.0
            self.w += length * step
            short -= length * change
        return steps, False

    def _follow(self, state) -> None:
        """Measure a free intercept from the centre of its present proximal step."""
        if state.centre != self.centre:
            self.w[-1] += (self.centre - state.centre) / self.samples.bias
            self.centre = state.centre

    def _newton(self, gradient: np.ndarray, zone: np.ndarray, width: float) -> np.ndarray:
        """Return -(I + A'A)^-1 gradient, A the samples in their zones scaled by (C/width)^1/2."""
        side = min(max(zone.size, _NARROW), gradient.size)
        what = f"A Newton system of {side:,} equations"
        check_memory(16.0 * side**2, what, "Use solver='coordinate-descent'.")
        A = self.samples.scaled_rows(zone, np.sqrt(self.losses.caps[zone] / width))
        if zone.size > gradient.size or gradient.size <= _NARROW:
            return -_solve_shifted(_products(A, transposed=False), gradient)
        if zone.size == 0:
            return -gradient
        return A.T @ _solve_shifted(_products(A, transposed=True), A @ gradient) - gradient


def _products(A, transposed: bool) -> np.ndarray:
    """Return A'A, or AA', of a dense or CSR matrix; only the lower triangle is filled."""
    if not sparse.issparse(A):
        return dsyrk(1.0, A.T, trans=int(transposed), lower=1)
    if transposed:
        return np.asfortranarray((A @ A.T).toarray())
    out = np.zeros((A.shape[1], A.shape[1]))
    sparse_products(*flat_rows(A), out)
    # Symmetric: the lower triangle in C order is the upper one in Fortran order.
    return np.asfortranarray(out)


def _solve_shifted(M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve (I + M) x = b, M positive semidefinite and known by its lower triangle."""
    # Where columns are of very different size the identity is lost next to the largest. It still
    # counts in the others, whose pivots are the last then.
    M[np.diag_indices_from(M)] += 1.0
    sizes = M.diagonal()
    if sizes.max() > _UNEQUAL * sizes.min():
        order = np.argsort(-sizes)
        M = np.asfortranarray(np.where(np.tri(len(M)), M, M.T)[np.ix_(order, order)])
        x = np.empty(b.size)
        factor = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        x[order] = cho_solve(factor, b[order], check_finite=False)
        return x
    factor = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
    return cho_solve(factor, b, check_finite=False)
