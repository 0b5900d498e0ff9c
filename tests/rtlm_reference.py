"""The triplet problem with explicit item matrices, solved without any code of skscreen's solver.

Everything here is naive on purpose: one d x d matrix (or d-vector) an item, formulas straight from
Yoshida et al. (2019). Only `Case.problem` builds the skscreen objects that the tests compare.
"""

import signal
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property

import cvxpy as cp
import numpy as np
from cvxpy.error import SolverError
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from skscreen.metric_learning.problem.comparisons import Comparisons, DiagonalComparisons
from skscreen.metric_learning.problem.domains import NonnegativeOrthant, PSDCone
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Problem, Proximal
from skscreen.metric_learning.problem.triplets import comparisons_from_arrays
from skscreen.metric_learning.screening.active import decide, leave_out
from skscreen.metric_learning.screening.ball import gap_ball
from skscreen.metric_learning.screening.paper.rules import PaperScreening
from tests import optima

EPS = np.finfo(float).eps


@contextmanager
def time_limit(seconds):
    """Fail instead of hanging, where the system has alarms."""

    def stop(*_):
        raise TimeoutError(f"not done after {seconds} s")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def screen(objective, balls, codes=None, rule=None):
    """The reduced problem; fills in the codes of the decided items. No rule: rows at once."""
    hook = None if rule is None else PaperScreening(rule=rule)
    return leave_out(objective, decide(objective, balls, codes, hook))


# -- items ---------------------------------------------------------------------------------------


def item_matrices(X, triplets, diagonal):
    i, j, l = np.asarray(triplets).T
    far, near = X[i] - X[l], X[i] - X[j]
    if diagonal:
        return far**2 - near**2
    return far[:, :, None] * far[:, None, :] - near[:, :, None] * near[:, None, :]


def brute_force_triplets(X, y, k):
    """All (i, j, l) by full sorts; the order of anchors is by class, then by index."""
    triplets = []
    for code in np.unique(y):
        for i in np.flatnonzero(y == code):
            distance = np.linalg.norm(X - X[i], axis=1)
            own = np.flatnonzero((y == code) & (np.arange(len(X)) != i))
            other = np.flatnonzero(y != code)
            near = own[np.argsort(distance[own], kind="stable")][:k]
            far = other[np.argsort(distance[other], kind="stable")][:k]
            triplets += [(i, j, l) for j in near for l in far]
    return np.array(triplets)


# -- the explicit problem ------------------------------------------------------------------------


@dataclass
class Optimum:
    """An accurate solution with a proven distance to the true one."""

    theta: np.ndarray
    alpha: np.ndarray
    primal: float
    gap: float
    radius: float
    margins: np.ndarray
    uncertainty: np.ndarray


class Explicit:
    """min sum_t w_t l_t(<A_t, theta>) - <B, theta> + lam/2 |theta|^2 over a cone, explicit A_t.

    The thresholds of the losses l_t and the weights w_t are numbers or arrays. A largest dual
    variable of infinity makes losses z^2 / (2 gamma).
    """

    def __init__(self, A, gamma, threshold=1.0, linear_term=0.0, weights=1.0, most=1.0):
        self.A, self.gamma, self.most = A, gamma, most
        self.depth = gamma if most == 1.0 else np.inf
        self.threshold, self.weights = (np.zeros(len(A)) + v for v in (threshold, weights))
        self.flat = A.reshape(len(A), int(np.prod(A.shape[1:])))
        self.norms = np.linalg.norm(self.flat, axis=1)
        self.linear_term = np.zeros(A.shape[1:]) + linear_term
        self.diagonal = A.ndim == 2

    def margins(self, theta):
        return self.flat @ theta.ravel()

    def adjoint(self, alpha):
        return ((self.weights * alpha) @ self.flat).reshape(self.A.shape[1:]) + self.linear_term

    def split(self, S):
        """S = upper - lower with both in the cone."""
        if self.diagonal:
            return np.maximum(S, 0.0), np.maximum(-S, 0.0)
        values, vectors = np.linalg.eigh(0.5 * (S + S.T))
        parts = ((vectors * np.maximum(sign * values, 0.0)) @ vectors.T for sign in (1.0, -1.0))
        return tuple(parts)

    def project(self, S):
        return self.split(S)[0]

    def losses(self, x):
        z = self.threshold - x
        if self.gamma == 0.0:
            return np.maximum(z, 0.0)
        inside = np.clip(z, 0.0, self.depth)
        return inside**2 / (2 * self.gamma) + np.maximum(z - self.depth, 0.0)

    def dual_variables(self, x):
        """Minus the derivative of the loss (1/2 at the hinge's kink)."""
        z = self.threshold - x
        if self.gamma == 0.0:
            return 0.5 + 0.5 * np.sign(z)
        return np.clip(z / self.gamma, 0.0, self.most)

    def primal(self, theta, lam):
        linear = np.vdot(self.linear_term, theta)
        loss = self.weights @ self.losses(self.margins(theta))
        return loss - linear + 0.5 * lam * np.vdot(theta, theta)

    def dual(self, alpha, lam):
        upper = self.project(self.adjoint(alpha))
        conjugate = self.weights @ (0.5 * self.gamma * alpha**2 - self.threshold * alpha)
        return -conjugate - np.vdot(upper, upper) / (2 * lam)

    def fenchel_young(self, x, alpha):
        conjugate = 0.5 * self.gamma * alpha**2 - self.threshold * alpha
        return self.losses(x) + conjugate + alpha * x

    def lam_max(self):
        """From here on every item is in the piece of the loss that it is in at zero."""
        upper = self.project(self.adjoint(self.dual_variables(0.0)))
        end = self.gamma if self.most == 1.0 else 0.0
        ends = np.where(self.threshold > 0.0, self.threshold - end, self.threshold)
        return (self.margins(upper) / ends).max()

    def optimum(self, lam):
        """Solve with Clarabel and certify: of the points and duals it suggests, the best pair."""
        try:
            theta, alpha = self._clarabel(lam)
        except BaseException as error:
            # Clarabel may panic in its last digits, with an exception that is no `Exception`.
            if type(error).__name__ not in ("PanicException", "SolverError"):
                raise
            theta, alpha = self._clarabel(lam, 1e-9)
        points = theta, self.project(self.adjoint(alpha)) / lam
        pairs = [(M, a) for M in points for a in (alpha, self.dual_variables(self.margins(M)))]
        return min((self.certified(M, a, lam) for M, a in pairs), key=lambda found: found.gap)

    def certified(self, theta, alpha, lam):
        """Gap as a sum of non-negative terms, with an allowance for rounding errors."""
        x, size = self.margins(theta), np.linalg.norm(theta)
        upper, lower = self.split(self.adjoint(alpha))
        distance = np.linalg.norm(lam * theta - upper)
        slack = self.weights @ np.maximum(self.fenchel_young(x, alpha), 0.0)
        gap = slack + distance**2 / (2 * lam) + max(np.vdot(theta, lower), 0.0)
        used = (self.weights * alpha) @ self.norms + np.linalg.norm(self.linear_term)
        gap += 16 * EPS * size * (used + lam * size)
        radius = np.sqrt(2 * gap / lam)
        uncertainty = (radius + 100 * EPS * size) * self.norms
        return Optimum(theta, alpha, self.primal(theta, lam), gap, radius, x, uncertainty)

    def _clarabel(self, lam, tol=1e-12):
        """Parameter in the cone and feasible dual variables, from a conic solver."""
        unit = self.norms.max()
        lam = lam / unit**2
        theta = cp.Variable(
            self.A.shape[1:], **({"nonneg": True} if self.diagonal else {"PSD": True})
        )
        linear = cp.Variable(len(self.A), nonneg=True)
        slack = linear
        objective = self.weights @ linear - cp.sum(cp.multiply(self.linear_term / unit, theta))
        objective += 0.5 * lam * cp.sum_squares(theta)
        if self.gamma > 0.0:
            quadratic = cp.Variable(len(self.A), nonneg=True)
            root = np.sqrt(self.weights / (2 * self.gamma))
            objective += cp.sum_squares(cp.multiply(root, quadratic))
            slack = linear + quadratic if self.most == 1.0 else quadratic
        margin = (self.flat / unit) @ cp.vec(theta, order="C") + slack >= self.threshold
        problem = optima.Problem(cp.Minimize(objective), [margin])
        tight = {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol, "max_threads": 1}
        with warnings.catch_warnings():
            # Our certificate says how accurate the solution is.
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            problem.solve(solver=cp.CLARABEL, **tight)
        if theta.value is None:
            raise SolverError(f"Clarabel ended with the status {problem.status!r}.")
        return self.project(theta.value / unit), np.clip(
            margin.dual_value / self.weights, 0.0, self.most
        )


# -- decisions -----------------------------------------------------------------------------------


def wrong_decisions(explicit, optimum, decisions):
    """Number of items that the optimum proves to be decided wrongly (1 zero part, 2 linear)."""
    highest = optimum.margins + optimum.uncertainty
    lowest = optimum.margins - optimum.uncertainty
    zero = (decisions == 1) & (highest < explicit.threshold)
    linear = (decisions == 2) & (lowest > explicit.threshold - explicit.depth)
    return int(zero.sum() + linear.sum())


# -- small problems from real data ---------------------------------------------------------------

LOADERS = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}
GAMMAS = {"smoothed": 0.05, "hinge": 0.0}


@dataclass(frozen=True)
class Case:
    """One data set with a loss and a kind of metric; some hundred explicit triplets."""

    name: str
    loss: str = "smoothed"
    diagonal: bool = False

    def __str__(self):
        return f"{self.name}-{self.loss}-{'diagonal' if self.diagonal else 'full'}"

    @property
    def gamma(self):
        return GAMMAS[self.loss]

    @property
    def data(self):
        return small_data(self.name)

    @cached_property
    def explicit(self):
        X, _, triplets = self.data
        return Explicit(item_matrices(X, triplets, self.diagonal), self.gamma)

    @cached_property
    def lam(self):
        return 0.05 * self.explicit.lam_max()

    def optimum(self, lam):
        return _optimum(self, lam)

    @property
    def domain(self):
        return NonnegativeOrthant() if self.diagonal else PSDCone()

    def problem(self):
        X, _, triplets = self.data
        geometry = DiagonalComparisons if self.diagonal else Comparisons
        loss = SmoothedHinge(1.0, self.gamma)
        return Problem(geometry(X, triplets_from_array(triplets)), loss, self.domain)

    def all_linear(self):
        """Problem, objective, evaluation and ball where every item is in its linear part."""
        problem = self.problem()
        lam_max, S = problem.lam_max, problem.ray
        lam = 1.5 * lam_max
        objective = problem.at(lam, self.proximal())
        evaluation = objective.evaluate(S.scaled(1.0 / lam))
        return (
            problem,
            objective,
            evaluation,
            gap_ball(evaluation, lam, lam),
        )

    def proximal(self, alpha=None):
        """State that the hinge needs, centred at given dual variables."""
        if self.gamma > 0.0:
            return None
        centre = np.ones(len(self.data[2])) if alpha is None else np.array(alpha, dtype=float)
        return Proximal(0.05, centre)


CASES = [
    Case(name, loss, diagonal) for name in LOADERS for loss in GAMMAS for diagonal in (False, True)
]


@cache
def small_data(name):
    """Standardised data of at most 13 features with a random part of its triplets."""
    rng = np.random.default_rng(0)
    X, y = LOADERS[name](return_X_y=True)
    rows = np.sort(rng.choice(len(X), 90, replace=False))
    X, y = X[rows, :13], y[rows]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    triplets = brute_force_triplets(X, y, 4)
    return X, y, triplets[rng.permutation(len(triplets))[:300]]


@cache
def _optimum(case, lam):
    return case.explicit.optimum(lam)


def item_margins(geometry, margins):
    """Margin of every item of a geometry in the order of item numbers."""
    rows, places = geometry.items.listed()
    order = np.argsort(geometry.items.numbers(rows, places))
    return (margins.far[places] - margins.near[rows])[order]


def triplets_from_array(triplets):
    """The items of explicit triplets (i, j, l), one a row; item numbers follow the rows."""
    return comparisons_from_arrays(triplets[:, :2], triplets[:, ::2])
