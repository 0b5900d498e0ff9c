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

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skscreen.svm.l1.certificate import L1Point
from skscreen.svm.l1.pace import Pace
from skscreen.svm.l1.rounds import rounds_of, with_entries


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
        # In the form that solves have found to be the better one.
        self._X, self.signs, self.weights, self._fills = X, y, weights, fills
        is_sparse = sparse.issparse(X)
        squares = with_entries(X, X.data**2) if is_sparse else X * X
        # Of all columns, in the norm of the dual for C = 1. Where they overflow, so do weights.
        with np.errstate(over="ignore"):
            self._norms = np.sqrt(2.0 * np.asarray(squares.T @ weights).ravel())

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, d)."""
        return self._X.shape

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
        d, n_iter, pace = self.shape[1], 0, Pace()
        w = np.zeros(d) if start is None else start.w.copy()
        point = L1Point(C * self.weights, np.sqrt(C) * self._norms, w, np.zeros(d, bool))
        self._certify(point, start)
        rounds, at_first = rounds_of(self._X, self.signs, self._fills), point.zero.copy()
        while True:
            best = pace.see(point.found, rounds.least_gain(pace))
            is_solved = best.gap <= tol * best.primal
            if is_solved or n_iter >= max_iter or rounds.leads_nowhere(pace):
                return L1Solution(
                    best.w, best.alpha, best.primal, best.dual, point.zero, at_first, n_iter
                )
            other = rounds.other(point, pace)
            if other is not None:
                # Solves for other C begin with it.
                self._X = other
                rounds = rounds_of(other, self.signs, self._fills)
                pace.begin_again()
            n_iter += rounds.go_on(point, pace, tol, max_iter - n_iter)
            self._certify(point)

    def _certify(self, point: L1Point, start: L1Solution | None = None) -> None:
        """Certify weights, by the better one of two dual points, and screen."""
        margins = self.margins(point.w)
        alpha = 2.0 * point.c * np.maximum(1.0 - margins, 0.0)
        point.see(margins, alpha, self.correlations(alpha))
        if start is not None:
            point.see_dual(start.alpha, self.correlations(start.alpha))
        if point.screen():
            point.margins = self.margins(point.w)
