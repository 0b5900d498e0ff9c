"""Optima of hinge-loss problems that skscreen has no part in proving.

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
    """min 1/2 |w|^2 + sum_i C_i (1 - m_i)_+ for bounds C_i given later.

    Parameters
    ----------
    Q : ndarray of shape (n, n), or None
    Z : ndarray of shape (n, d), or None
        Rows y_i x_i, where Q is not at hand.
    y : ndarray of shape (n,), or None
        Labels, where the intercept is free.
    error : float
        By how much entries of Q may differ from those that a solver has.
    """

    Q: np.ndarray | None
    Z: np.ndarray | None
    y: np.ndarray | None
    error: float = 0.0

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
        alpha = balanced(np.clip(alpha, 0.0, C).astype(LONG), self.y)
        margins = self.products(alpha)
        gap = self._gap(C, alpha, margins)
        size = self.norms @ alpha
        reach = (np.sqrt(gap) + 8.0 * EPS * size) * self.norms + self.error * alpha.sum()
        value = alpha.sum() - alpha @ margins / 2
        relative = float(gap / max(value + gap, np.finfo(float).tiny))
        if self.y is None:
            return *rounded(margins - reach, margins + reach), relative
        kinks = self.y * (1.0 - margins)
        low, high = intercepts(kinks - reach, C, self.y)[0], intercepts(kinks + reach, C, self.y)[1]
        moves = self.y * low, self.y * high
        low, high = margins - reach + np.minimum(*moves), margins + reach + np.maximum(*moves)
        return *rounded(low, high), relative

    def _gap(self, C, alpha, margins):
        b = 0.0 if self.y is None else intercepts(self.y * (1.0 - margins), C, self.y)[0]
        rest = 1.0 - margins - (0.0 if self.y is None else self.y * b)
        return np.where(rest > 0.0, (C - alpha) * rest, -alpha * rest).sum()


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


def balanced(alpha, y):
    """Make the dual variables of the heavier class smaller, so that y'alpha = 0."""
    if y is None:
        return alpha
    positive, negative = alpha[y > 0.0].sum(), alpha[y < 0.0].sum()
    least = min(positive, negative)
    return alpha * (least / np.where(y > 0.0, max(positive, 1e-300), max(negative, 1e-300)))


def dual_variables(Q, Cs, weights, y):
    """Dual variables near the optimum for each C: where they come from is no part of the proof."""
    if len(Q) <= SMALL:
        return [optimum(Q, C * weights, y) for C in Cs]
    signs = np.where(np.arange(len(Q)) % 2, 1.0, -1.0) if y is None else y
    path = svc_path(
        signs[:, None] * Q * signs, signs, Cs=Cs, sample_weight=weights, kernel="precomputed",
        fit_intercept=y is not None, intercept="free", screening=None, tol=TIGHT,
        max_iter=MOST_STEPS,
    )  # fmt: skip
    return list(signs * path.dual_coefs)


def shown(Q, C, alpha, y):
    """Margins, with a best intercept where there are labels."""
    margins = Q @ alpha
    return margins if y is None else margins + y * intercepts(y * (1.0 - margins), C, y)[0]


def duality_gap(Q, C, alpha, y=None) -> float:
    """Duality gap as a sum of terms that are not negative, in double precision."""
    rest = 1.0 - shown(Q, C, alpha, y)
    return float(np.where(rest > 0.0, (C - alpha) * rest, -alpha * rest).sum())


def optimum(Q, C, y):
    """Dual variables by Clarabel, with the last digits from linear systems."""
    n, top = len(C), max(float(np.diag(Q).max()), 1e-300)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    rows = np.empty((0, n)) if y is None else y[None]
    A = sparse.vstack([sparse.csc_matrix(rows), sparse.eye(n), -sparse.eye(n)]).tocsc()
    # Scaled to entries of size one.
    P, bounds = sparse.csc_matrix(np.triu(Q / top)), np.concatenate([C * top, np.zeros(n)])
    bounds = np.append(np.zeros(len(rows)), bounds)
    cones = [clarabel.ZeroConeT(len(rows)), clarabel.NonnegativeConeT(2 * n)]
    found = clarabel.DefaultSolver(P, -np.ones(n), A, bounds, cones, settings).solve()
    # Where Clarabel fails nothing is proved: a gap so large judges no decision.
    best = balanced(np.clip(np.nan_to_num(found.x) / top, 0.0, C), y)
    for width in (1e-3, 1e-5, 1e-7):
        margins = shown(Q, C, best, y)
        kink = (np.abs(margins - 1.0) < width) | ((best > 1e-6 * C) & (best < (1.0 - 1e-6) * C))
        polished = np.where(margins < 1.0, C, 0.0)
        polished[kink] = 0.0
        system = np.block(
            [[Q[np.ix_(kink, kink)], rows[:, kink].T], [rows[:, kink], 0 * rows[:, : len(rows)]]]
        )
        rest = np.append(1.0 - (Q @ polished)[kink], -(rows @ polished))
        polished[kink] = np.linalg.lstsq(system, rest, rcond=1e-14)[0][: kink.sum()]
        polished = balanced(np.clip(polished, 0.0, C), y)
        if duality_gap(Q, C, polished, y) < duality_gap(Q, C, best, y):
            best = polished
    return best
