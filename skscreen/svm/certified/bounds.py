"""Bounds on validation scores for every C between two solved points, without solving.

The problem is that of `bounds`: min 1/2 |w|^2 + sum_i C_i (t_i - m_i)_+ with C_i = C s_i. Take
dual variables alpha1, alpha2 that are feasible at two values of C. The box is linear in C, so

    alpha(t) = (1 - t) alpha1 + t alpha2   is feasible at   C(t) = (1 - t) C1 + t C2,

and the margins of u(t) = sum alpha_i(t) z_i are interpolated as well. The gap ball of
(w, alpha) = (u(t), alpha(t)) then holds the optimum of C(t):

    |w* - u(t)|^2 <= G(t) = sum_i kappa_i(t),
    kappa_i = max((C_i - alpha_i)(t_i - m_i), alpha_i (m_i - t_i)),

where each branch is a product of two linear functions of t, whose maximum over a part [ta, tb] is
known in closed form. Optimal dual variables are piecewise linear in C, so G vanishes where no
sample changes sides in between.

Squared hinges, with shifts sigma_i = shift_i / C of the diagonal, have

    kappa_i = sigma_i/2 (alpha_i - (t_i - m_i)/sigma_i)^2   where m_i <= t_i, and no more elsewhere,
    kappa_i = sigma_i/2 alpha_i^2 + alpha_i (m_i - t_i)     where m_i >= t_i:

where the squared terms are quadratic in t. Where no sample changes sides, the dual variables are
smooth in C, so G is of fourth order in the distance of the two values of C.

This ball alone is loose, because the losses curve the objective far more than 1/2 |w|^2 does. A
better bound keeps w = u(t) and takes another feasible point for each validation vector z. The ball
of w and alpha(t) - beta / B gives, for any beta and any B > 0 that keep this point in the box,

    <z, w*> <= <z, u> + sum_i beta_i (t_i - m_i) + B G + |z - sum_i beta_i z_i|^2 / (4 B),
    B >= beta_i / alpha_i and B >= -beta_i / (C_i - alpha_i) for all i.

(Add <z, w* - u> = sum_i beta_i (m*_i - m_i) + <rest, w* - u> to the identity
|w* - u|^2 + sum_i kappa_i(w*, alpha) + sum_i kappa_i(u, alpha*) = G.) With beta = 0 and the best B
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
from skscreen.samples.losses import SampleLosses
from skscreen.svm.screening.bounds import SLACK

# Largest number of samples in the regressions: those furthest inside their box.
_MOST_FREE = 256

# Least distance from the ends of its box, relative to C_i, of a sample inside the box.
_INSIDE = 1e-6


@dataclass(frozen=True)
class ScoredPoint:
    """Dual variables (n,) of any accuracy, their margins (n,), and scores (n_val,) times labels."""

    C: float
    alpha: np.ndarray
    margins: np.ndarray
    scores: np.ndarray

    def take(self, index: np.ndarray) -> "ScoredPoint":
        """Return the point on some training samples."""
        return replace(self, alpha=self.alpha[index], margins=self.margins[index])


@dataclass(frozen=True)
class Geometry:
    """Training samples, with losses at C = 1, and validation samples, as the bounds see them."""

    losses: SampleLosses
    norms: np.ndarray
    validation_norms: np.ndarray
    # Between some training samples, <z_i, z_j>; of validation and of training samples, <z, z_i>.
    block: Callable[[np.ndarray, np.ndarray], np.ndarray]
    cross: Callable[[np.ndarray, np.ndarray], np.ndarray]


class Between:
    """Bounds on scores between two points, of ascending C, or at one point if both are the same."""

    def __init__(self, geometry: Geometry, first: ScoredPoint, last: ScoredPoint):
        self._geometry, self._first, self._last = geometry, first, last
        # Distance of vectors with the stored margins from those of the dual variables, due to
        # rounding.
        largest = max(float(geometry.norms @ point.alpha) for point in (first, last))
        self._shift = SLACK * EPS * largest

    def gap(self, start: float, stop: float) -> float:
        """Return an upper bound on G(t) for t in [start, stop]."""
        first, last, losses = self._first, self._last, self._geometry.losses
        largest = loops.largest_slackness_between
        if losses.smooth:
            largest = loops.largest_squared_slackness_between
        points = (
            self._geometry.norms, losses.sizes, losses.thresholds, first.alpha, last.alpha,
            first.margins, last.margins, first.C, last.C, self._shift, start, stop,
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
        weights = self._geometry.losses.caps
        alpha = 0.5 * (self._first.alpha + self._last.alpha)
        bounds = 0.5 * (self._first.C + self._last.C) * weights
        room = np.minimum(alpha, bounds - alpha)
        index = np.flatnonzero(room > _INSIDE * bounds)
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
        losses, first, last = geometry.losses.take(index), first.take(index), last.take(index)
        rooms, lacks = [], []
        for t in (start, stop):
            alpha = first.alpha + t * (last.alpha - first.alpha)
            rooms.append([alpha, (first.C + t * (last.C - first.C)) * losses.caps - alpha])
            lacks.append(losses.short(first.margins + t * (last.margins - first.margins)))
        # Linear in t, so smallest at an end.
        below, above = np.minimum(*np.array(rooms)) / WIDER
        room = np.minimum(below, above)
        keep = room > _INSIDE * losses.caps * last.C
        if not keep.any() or gap <= 0.0:
            return np.full(ends.shape, np.inf)
        index, matrix = index[keep], matrix[np.ix_(keep, keep)]
        below, above, room = below[keep], above[keep], room[keep]
        rests = np.stack(lacks)[:, keep]
        norms, own = geometry.norms[index], geometry.validation_norms[rows]
        products = sign * geometry.cross(rows, index)
        beta, square = _ridge(matrix, room, np.sqrt(gap) * norms.max(), products, own)
        multiplier = np.maximum(beta / below, -beta / above).max(axis=1)
        sizes = own + np.abs(beta) @ norms
        loss = _best_multiplier(multiplier, square, gap)
        size = np.abs(losses.thresholds[keep]) + np.abs(rests).sum(axis=0)
        terms = np.abs(beta) @ size + np.abs(ends).max(axis=0)
        constant = loss * WIDER + 2.0 * self._shift * sizes + SLACK * EPS * terms
        return ends + rests @ beta.T + constant


def _ridge(matrix, room, reach, products, own) -> tuple[np.ndarray, np.ndarray]:
    """Regress validation vectors on samples in proportion to room: beta and squared residuals."""
    # With beta = room z_F' y and y = (mu I + sum_i room_i z_i z_i')^-1 z the residual of z is mu y,
    # and B is at most |y| times the largest norm. Both terms of the bound are equally large at
    # mu = 2 sqrt(G) times this norm; as most samples are shorter along y, a smaller mu is better.
    ridge = max(0.05 * reach, 1e-12 * float(np.trace(matrix))) / room
    system = matrix.copy()
    system[np.diag_indices_from(system)] += ridge
    try:
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return np.zeros_like(products), own**2
    beta = cho_solve(factor, products.T, check_finite=False).T
    # (Q + ridge) beta = products up to a backward error of a Cholesky factorisation.
    square = own**2 - np.einsum("ij,ij->i", beta, products) - beta**2 @ ridge
    lengths = own + np.abs(beta) @ np.sqrt(np.diagonal(matrix) + ridge)
    return beta, np.maximum(square, 0.0) + SLACK * (len(ridge) + 1) * EPS * lengths**2


def _best_multiplier(smallest, square, gap) -> np.ndarray:
    """Minimum of B G + square / (4 B) over B >= smallest."""
    free = np.sqrt(square * gap)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bound = smallest * gap + square / (4.0 * smallest)
    return np.where(2.0 * smallest * np.sqrt(gap) <= np.sqrt(square), free, bound)
