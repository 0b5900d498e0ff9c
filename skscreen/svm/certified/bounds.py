"""Bounds on validation scores for every C between two solved points, without solving.

The problem is a `Dual` at C times its losses. Take dual variables beta1, beta2 that are feasible at
two values of C. The box is linear in C, so

    beta(t) = (1 - t) beta1 + t beta2   is feasible at   C(t) = (1 - t) C1 + t C2,

and the scores of u(t) = sum beta_i(t) x_i are interpolated as well. The gap ball of
(w, beta) = (u(t), beta(t)) then holds the optimum of C(t), with slopes g_i = target_i - f_i:

    |w* - u(t)|^2 <= G(t) = sum_i kappa_i(t),
    kappa_i = max((high_i - beta_i) g_i, (low_i - beta_i) g_i),

where each branch is a product of two linear functions of t, whose maximum over a part [ta, tb] is
known in closed form. Optimal dual variables are piecewise linear in C, so G vanishes where no
sample changes sides in between.

Squared hinges, with shifts sigma_i = shift_i / C of the diagonal, have, of positive sign,

    kappa_i = sigma_i/2 (beta_i - g_i/sigma_i)^2   where g_i >= 0, and no more elsewhere,
    kappa_i = sigma_i/2 beta_i^2 - beta_i g_i      where g_i <= 0:

where the squared terms are quadratic in t. Where no sample changes sides, the dual variables are
smooth in C, so G is of fourth order in the distance of the two values of C.

This ball alone is loose, because the losses curve the objective far more than 1/2 |w|^2 does. A
better bound keeps w = u(t) and takes another feasible point for each validation vector z. The ball
of w and beta(t) - c / B gives, for any c and any B > 0 that keep this point in the box,

    <z, w*> <= <z, u> + sum_i c_i g_i + B G + |z - sum_i c_i x_i|^2 / (4 B),
    B >= c_i / (beta_i - low_i) and B >= -c_i / (high_i - beta_i) for all i.

(Add <z, w* - u> = sum_i c_i (f*_i - f_i) + <rest, w* - u> to the identity
|w* - u|^2 + sum_i kappa_i(w*, beta) + sum_i kappa_i(u, beta*) = G.) With c = 0 and the best B
it is |z| sqrt(G). A ridge regression of z on the samples inside their box makes the last term
small; in few dimensions the bound then shrinks like G, not like its root.

References
----------
A. Shibagaki, Y. Suzuki, M. Karasuyama, I. Takeuchi (2015). Regularization path of cross-validation
error lower bounds. Advances in Neural Information Processing Systems 28. (The idea.)

K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
machines. arXiv:1401.6740. Equations 9 and 16. (Balls.)
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skscreen._compiled import svm as loops
from skscreen.core.ball import gap_radius
from skscreen.core.floats import EPS, WIDER
from skscreen.svm.dual import Dual
from skscreen.svm.screening.bounds import SLACK

# Largest number of samples in the regressions: those furthest inside their box.
_MOST_FREE = 256

# Least distance from the ends of its box, relative to C_i, of a sample inside the box.
_INSIDE = 1e-6


@dataclass(frozen=True)
class ScoredPoint:
    """Dual variables (n,) of any accuracy, their scores f (n,), and those (n_val,) times labels."""

    C: float
    beta: np.ndarray
    f: np.ndarray
    scores: np.ndarray

    def take(self, index: np.ndarray) -> "ScoredPoint":
        """Return the point on some training samples."""
        return replace(self, beta=self.beta[index], f=self.f[index])


@dataclass(frozen=True)
class Geometry:
    """Training samples, their problem at C = 1, and validation samples, as the bounds see them."""

    dual: Dual
    norms: np.ndarray
    validation_norms: np.ndarray
    # Between some training samples, <x_i, x_j>; of validation and of training samples, <z, x_i>.
    block: Callable[[np.ndarray, np.ndarray], np.ndarray]
    cross: Callable[[np.ndarray, np.ndarray], np.ndarray]


class Between:
    """Bounds on scores between two points, of ascending C, or at one point if both are the same."""

    def __init__(self, geometry: Geometry, first: ScoredPoint, last: ScoredPoint):
        self._geometry, self._first, self._last = geometry, first, last
        # Distance of vectors with the stored scores from those of the dual variables, due to
        # rounding.
        largest = max(float(geometry.norms @ np.abs(point.beta)) for point in (first, last))
        self._shift = SLACK * EPS * largest

    def gap(self, start: float, stop: float) -> float:
        """Return an upper bound on G(t) for t in [start, stop]."""
        first, last, dual = self._first, self._last, self._geometry.dual
        largest = loops.largest_slackness_between
        if dual.smooth:
            largest = loops.largest_squared_slackness_between
        points = (
            self._geometry.norms, dual.target, dual.low, dual.high, dual.sizes, first.beta,
            last.beta, first.f, last.f, first.C, last.C, self._shift, start, stop,
        )  # fmt: skip
        return largest(points) * WIDER

    def sure(self, start: float, stop: float, side: int) -> np.ndarray:
        """Return which samples are surely wrong (side -1), or right (1), for t in [start, stop]."""
        # For -side z; linear in t, so largest at an end.
        ends = -side * self.scores(start, stop)
        sure = np.all(ends + self.reach(start, stop) < 0.0, axis=0)
        rows = np.flatnonzero(~sure & np.all(ends < 0.0, axis=0))
        if rows.size:
            sure[rows] = np.all(self.regressed(rows, -side, start, stop) < 0.0, axis=0)
        return sure

    def scores(self, start: float, stop: float) -> np.ndarray:
        """Return the scores <z, u(t)> at both ends of a part, (2, n_val)."""
        first, last = self._first.scores, self._last.scores
        return np.stack([first + t * (last - first) for t in (start, stop)])

    def reach(self, start: float, stop: float) -> np.ndarray:
        """Return bounds by the ball on |<z, w*> - <z, u(t)>|, (n_val,)."""
        radius = gap_radius(self.gap(start, stop), 0.0, 1.0, self._shift)
        sizes = np.abs(self.scores(start, stop)).max(axis=0)
        return radius * self._geometry.validation_norms + SLACK * EPS * sizes

    @cached_property
    def _inside(self) -> tuple[np.ndarray, np.ndarray]:
        """Samples inside their box somewhere in between, and their matrix."""
        dual, C = self._geometry.dual, 0.5 * (self._first.C + self._last.C)
        weights, beta = dual.width, 0.5 * (self._first.beta + self._last.beta)
        room = np.minimum(beta - C * dual.low, C * dual.high - beta)
        index = np.flatnonzero(room > _INSIDE * C * weights)
        if index.size > _MOST_FREE:
            chosen = np.argpartition(-(room / weights)[index], _MOST_FREE)[:_MOST_FREE]
            index = np.sort(index[chosen])
        # Not all kernels accept an empty set of samples.
        return index, self._geometry.block(index, index) if index.size else np.empty((0, 0))

    def regressed(self, rows: np.ndarray, sign: int, start: float, stop: float) -> np.ndarray:
        """Return bounds (2, n_rows), linear in t, on <sign z, w*> by the regression; or inf."""
        first, last, geometry = self._first, self._last, self._geometry
        gap, ends = self.gap(start, stop), sign * self.scores(start, stop)[:, rows]
        index, matrix = self._inside
        dual, first, last = geometry.dual.take(index), first.take(index), last.take(index)
        rooms, lacks = [], []
        for t in (start, stop):
            beta, C = first.beta + t * (last.beta - first.beta), first.C + t * (last.C - first.C)
            rooms.append([beta - C * dual.low, C * dual.high - beta])
            lacks.append(dual.target - (first.f + t * (last.f - first.f)))
        # Linear in t, so smallest at an end.
        below, above = np.minimum(*np.array(rooms)) / WIDER
        room = np.minimum(below, above)
        keep = room > _INSIDE * dual.width * last.C
        if not keep.any() or gap <= 0.0:
            return np.full(ends.shape, np.inf)
        index, matrix = index[keep], matrix[np.ix_(keep, keep)]
        below, above, room = below[keep], above[keep], room[keep]
        rests = np.stack(lacks)[:, keep]
        norms, own = geometry.norms[index], geometry.validation_norms[rows]
        products = sign * geometry.cross(rows, index)
        c, square = _ridge(matrix, room, np.sqrt(gap) * norms.max(), products, own)
        multiplier = np.maximum(c / below, -c / above).max(axis=1)
        sizes = own + np.abs(c) @ norms
        loss = _best_multiplier(multiplier, square, gap)
        size = np.abs(dual.target[keep]) + np.abs(rests).sum(axis=0)
        terms = np.abs(c) @ size + np.abs(ends).max(axis=0)
        constant = loss * WIDER + 2.0 * self._shift * sizes + SLACK * EPS * terms
        return ends + rests @ c.T + constant


def _ridge(matrix, room, reach, products, own) -> tuple[np.ndarray, np.ndarray]:
    """Regress validation vectors on samples in proportion to room: c and squared residuals."""
    # With c = room x_F' y and y = (mu I + sum_i room_i x_i x_i')^-1 z the residual of z is mu y,
    # and B is at most |y| times the largest norm. Both terms of the bound are equally large at
    # mu = 2 sqrt(G) times this norm; as most samples are shorter along y, a smaller mu is better.
    ridge = max(0.05 * reach, 1e-12 * float(np.trace(matrix))) / room
    system = matrix.copy()
    system[np.diag_indices_from(system)] += ridge
    try:
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return np.zeros_like(products), own**2
    c = cho_solve(factor, products.T, check_finite=False).T
    # (K + ridge) c = products up to a backward error of a Cholesky factorisation.
    square = own**2 - np.einsum("ij,ij->i", c, products) - c**2 @ ridge
    lengths = own + np.abs(c) @ np.sqrt(np.diagonal(matrix) + ridge)
    return c, np.maximum(square, 0.0) + SLACK * (len(ridge) + 1) * EPS * lengths**2


def _best_multiplier(smallest, square, gap) -> np.ndarray:
    """Minimum of B G + square / (4 B) over B >= smallest."""
    free = np.sqrt(square * gap)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bound = smallest * gap + square / (4.0 * smallest)
    return np.where(2.0 * smallest * np.sqrt(gap) <= np.sqrt(square), free, bound)
