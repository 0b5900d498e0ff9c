"""Optima of problems with hinges, or their squares, that skscreen has no part in proving.

A problem is known by Q = y K y, or by rows Z with Q = Z Z'. Any feasible alpha proves an interval
for the margin of each sample at every optimum: its duality gap, a sum of terms that are not
negative, is the squared radius of a ball that holds the optimal w.
"""

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse

from skscreen import svc_path

# Of the type in which certificates are computed, where the machine has a longer one.
LONG = np.longdouble
EPS = float(np.finfo(LONG).eps)


# Samples up to which Clarabel solves; gap and steps of the solves that stand for it beyond.
SMALL, TIGHT, MOST_STEPS = 150, 1e-13, 20_000


@dataclass
class Hinge:
    """min 1/2 |w|^2 + sum_i C_i (t_i - m_i)_+, or with squares of these, for C_i given later.

    Parameters
    ----------
    Q : ndarray of shape (n, n), or None
    Z : ndarray of shape (n, d), or None
        Rows y_i x_i, where Q is not at hand.
    y : ndarray of shape (n,), or None
        Labels, where the intercept is free.
    error : float
        By how much entries of Q may differ from those that a solver has.
    t : ndarray of shape (n,) or float, default=1.0
    squared : bool, default=False
    """

    Q: np.ndarray | None
    Z: np.ndarray | None
    y: np.ndarray | None
    error: float = 0.0
    t: np.ndarray | float = 1.0
    squared: bool = False

    def __post_init__(self):
        self._long = (self.Z if self.Q is None else self.Q).astype(LONG)
        squares = (self.Z**2).sum(axis=1) if self.Q is None else np.diag(self.Q)
        self.norms = np.sqrt(squares)

    def products(self, alpha: np.ndarray) -> np.ndarray:
        """Return Q alpha in extended precision."""
        alpha = alpha.astype(LONG)
        return self._long @ (self._long.T @ alpha) if self.Q is None else self._long @ alpha

    def interval(self, C, alpha):
        """Return bounds on the margins at every optimum, and the relative gap of alpha."""
        top = np.inf if self.squared else C
        alpha = balanced(np.clip(alpha, 0.0, top).astype(LONG), self.y)
        margins = self.products(alpha)
        gap = self._gap(C, alpha, margins)
        size = self.norms @ alpha
        reach = (np.sqrt(gap) + 8.0 * EPS * size) * self.norms + self.error * alpha.sum()
        value = (self.t * alpha).sum() - alpha @ margins / 2
        if self.squared:
            value -= (alpha**2 / C).sum() / 4
        relative = float(gap / max(value + gap, np.finfo(float).tiny))
        if self.y is None:
            return *rounded(margins - reach, margins + reach), relative
        kinks = self.y * (self.t - margins)
        low, high = self._best(kinks - reach, C)[0], self._best(kinks + reach, C)[1]
        moves = self.y * low, self.y * high
        low, high = margins - reach + np.minimum(*moves), margins + reach + np.maximum(*moves)
        return *rounded(low, high), relative

    def _gap(self, C, alpha, margins):
        b = 0.0 if self.y is None else self._best(self.y * (self.t - margins), C)[0]
        rest = self.t - margins - (0.0 if self.y is None else self.y * b)
        if self.squared:
            below = (alpha - 2 * C * rest) ** 2 / (4 * C)
            return np.where(rest > 0.0, below, alpha**2 / (4 * C) - alpha * rest).sum()
        return np.where(rest > 0.0, (C - alpha) * rest, -alpha * rest).sum()

    def _best(self, kinks, C):
        return (roots if self.squared else intercepts)(kinks, C, self.y)


def rounded(low, high):
    """Intervals in double precision that hold those in extended precision."""
    return np.nextafter(low.astype(float), -np.inf), np.nextafter(high.astype(float), np.inf)


def intercepts(kinks, C, y):
    """Smallest and largest intercept of least loss for kinks y_i - f_i.

    The slope of the loss begins at minus the sum of C_i over the positive class and rises by C_i
    at each kink; it is zero at a best intercept, or changes its sign there.
    """
    order = np.argsort(kinks)
    slopes = np.cumsum(C[order]) - C[y > 0.0].sum()
    unsure = 1e-12 * C.sum()
    ends = np.searchsorted(slopes, -unsure), np.searchsorted(slopes, unsure, side="right")
    return tuple(kinks[order[min(end, kinks.size - 1)]] for end in ends)


def roots(kinks, C, y):
    """Smallest and largest intercept of least squared loss, for kinks y_i t_i - f_i.

    Half the slope is sum C_i (b - k_i)_+ of the negative class less sum C_i (k_i - b)_+ of the
    positive one: it does not fall, and is linear between kinks.
    """
    order = np.argsort(kinks)
    k, C, positive = kinks[order], C[order].astype(kinks.dtype), y[order] > 0.0
    above, below = np.where(positive, C, 0), np.where(positive, 0, C)
    # Of each kink and the stretch up to the next one.
    rises = np.cumsum(below) + above.sum() - np.cumsum(above)
    moments = np.cumsum(below * k) + (above * k).sum() - np.cumsum(above * k)
    slopes = rises * k - moments
    unsure = 1e-15 * float((C * np.abs(k)).sum())

    def crossing(value):
        place = int(np.searchsorted(slopes, value)) - 1
        rise, moment = (above.sum(), (above * k).sum()) if place < 0 else (
            rises[place], moments[place])  # fmt: skip
        return (value + moment) / rise if rise > 0.0 else k[max(place, 0)]

    return crossing(-unsure), crossing(unsure)


def balanced(alpha, y):
    """Make the dual variables of the heavier class smaller, so that y'alpha = 0."""
    if y is None:
        return alpha
    positive, negative = alpha[y > 0.0].sum(), alpha[y < 0.0].sum()
    least = min(positive, negative)
    return alpha * (least / np.where(y > 0.0, max(positive, 1e-300), max(negative, 1e-300)))


def dual_variables(Q, Cs, weights, y, loss="hinge"):
    """Dual variables near the optimum for each C: where they come from is no part of the proof."""
    if len(Q) <= SMALL:
        solve = optimum if loss == "hinge" else squared_optimum
        return [solve(Q, C * weights, y) for C in Cs]
    signs = np.where(np.arange(len(Q)) % 2, 1.0, -1.0) if y is None else y
    path = svc_path(
        signs[:, None] * Q * signs, signs, Cs=Cs, sample_weight=weights, kernel="precomputed",
        fit_intercept=y is not None, intercept="free", screening=False, tol=TIGHT,
        max_iter=MOST_STEPS, loss=loss,
    )  # fmt: skip
    return list(signs * path.dual_coefs)


def shown(Q, C, alpha, y, t=1.0):
    """Margins, with a best intercept where there are labels."""
    margins = Q @ alpha
    return margins if y is None else margins + y * intercepts(y * (t - margins), C, y)[0]


def duality_gap(Q, C, alpha, y=None, t=1.0) -> float:
    """Duality gap as a sum of terms that are not negative, in double precision."""
    rest = t - shown(Q, C, alpha, y, t)
    return float(np.where(rest > 0.0, (C - alpha) * rest, -alpha * rest).sum())


def by_clarabel(Q, C, y, t):
    """Dual variables by Clarabel; `C` may be infinite."""
    n, top = len(C), max(float(np.diag(Q).max()), 1e-300)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    rows, capped = np.empty((0, n)) if y is None else y[None], np.isfinite(C)
    A = sparse.vstack([sparse.csc_matrix(rows), -sparse.eye(n), sparse.eye(n).tocsr()[capped]])
    # Scaled to entries of size one.
    P = sparse.csc_matrix(np.triu(Q / top))
    bounds = np.concatenate([np.zeros(len(rows) + n), C[capped] * top])
    cones = [clarabel.ZeroConeT(len(rows)), clarabel.NonnegativeConeT(n + int(capped.sum()))]
    target = -np.broadcast_to(np.asarray(t, float), n).copy()
    found = clarabel.DefaultSolver(P, target, A.tocsc(), bounds, cones, settings).solve()
    # Where Clarabel fails nothing is proved: a gap so large judges no decision.
    return balanced(np.clip(np.nan_to_num(found.x) / top, 0.0, C), y)


def squared_optimum(Q, C, y, t=1.0):
    """Dual variables of squared hinges by Clarabel, with the last digits from linear systems."""
    H = Q + np.diag(0.5 / C)
    best = by_clarabel(H, np.full(len(C), np.inf), y, t)
    problem = Hinge(Q, None, y, t=t, squared=True)
    positive = best > 1e-6 * best.max(initial=0.0)
    signs, t = np.zeros(len(C)) if y is None else y, np.broadcast_to(t, len(C))
    for _ in range(20):
        system = np.block([[H[np.ix_(positive, positive)], signs[positive, None]],
                           [signs[positive], np.zeros(1)]])  # fmt: skip
        system[-1, -1] = y is None
        *inside, b = np.linalg.lstsq(system, np.append(t[positive], 0.0), rcond=1e-14)[0]
        polished = np.zeros(len(C))
        polished[positive] = inside
        now = np.where(positive, polished > 0.0, t - H @ polished > b * signs)
        if np.array_equal(now, positive):
            break
        positive = now
    polished = balanced(np.maximum(polished, 0.0), y)
    return min(best, polished, key=lambda alpha: problem.interval(C, alpha)[2])


def optimum(Q, C, y, t=1.0):
    """Dual variables by Clarabel, with the last digits from linear systems."""
    rows = np.empty((0, len(C))) if y is None else y[None]
    best = by_clarabel(Q, C, y, t)
    size = np.maximum(np.abs(t), 1e-3)
    for width in (1e-3, 1e-5, 1e-7):
        margins = shown(Q, C, best, y, t)
        kink = np.abs(margins - t) < width * size
        kink |= (best > 1e-6 * C) & (best < (1.0 - 1e-6) * C)
        polished = np.where(margins < t, C, 0.0)
        polished[kink] = 0.0
        system = np.block(
            [[Q[np.ix_(kink, kink)], rows[:, kink].T], [rows[:, kink], 0 * rows[:, : len(rows)]]]
        )
        rest = np.append((t - Q @ polished)[kink], -(rows @ polished))
        polished[kink] = np.linalg.lstsq(system, rest, rcond=1e-14)[0][: kink.sum()]
        polished = balanced(np.clip(polished, 0.0, C), y)
        if duality_gap(Q, C, polished, y, t) < duality_gap(Q, C, best, y, t):
            best = polished
    return best
