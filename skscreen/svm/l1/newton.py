"""Newton's method for the squared hinge with an L1 penalty: steps of some of the weights.

A step goes to the least of the quadratic model with the penalty, by coordinate descent that finds
which features are in use, and a linear system for their weights.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from skscreen._compiled import samples as row_loops
from skscreen._compiled import svm as compiled
from skscreen.core.checks import Matrix
from skscreen.samples.rows import flat_rows

quadratic_descent = compiled.quadratic_descent
"""(H (k, k), gradient (k,), x (k,), tol, most) -> sweeps; moves x to the least of the model."""

# Features up to which solving a model costs little.
FEW = 150
# Damping of the model at first, relative to its diagonal.
DAMPING = 1e-3
# Rounds of sweeps over a model, one after the other, without a tenth of the gain of all.
_MOST_LOST = 10
# Halvings of a step.
_MOST_HALVINGS = 30


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


def newton_step(
    Z: Matrix,
    c: np.ndarray,
    gradient: np.ndarray,
    x: np.ndarray,
    margins: np.ndarray,
    primal: float,
    damping: float,
    unequal: bool = False,
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


def step_of_used(
    Z: Matrix,
    c: np.ndarray,
    gradient: np.ndarray,
    x: np.ndarray,
    margins: np.ndarray,
    primal: float,
    damping: float,
) -> float:
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
    target, slopes, most_sweeps, lost = x.copy(), gradient.copy(), 10, 0
    value, first = np.inf, float(np.abs(x).sum())
    for _ in range(50 if x.size > FEW else 1000):
        if quadratic_descent(H, slopes, target, tol, most_sweeps) < most_sweeps:
            break
        step, before = target - x, value
        value = float((gradient + 0.5 * (H @ step)) @ step + np.abs(target).sum())
        lost = lost + 1 if before - value <= 0.1 * (first - value) else 0
        if not value < before or lost == _MOST_LOST:
            # Only rounding errors are left, or systems have so many that sweeps have to crawl.
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
