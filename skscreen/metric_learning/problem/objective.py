"""The objective, its dual and the certificate, for any geometry, loss and domain.

    P(theta) = sum_t w_t l(<A_t, theta>) - <B, theta> + constant + lambda / 2 |theta|^2,  theta in K

B and the constant carry the items that screening has proved to lie in their linear part, beside
the linear term of the problem itself, so a reduced problem is an `Objective` like any other, with
the same optimum as the full one. The weights w_t and thresholds of the items are the geometry's.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS
from skscreen.metric_learning.problem.comparisons import Comparisons, PairDistances
from skscreen.metric_learning.problem.domains import Domain, Point, components
from skscreen.metric_learning.problem.losses import SmoothedHinge

# Rounding allowance in units of EPS; 4 sufficed in all tests, 64 is on the safe side.
SLACK = 64.0


def inner(left: np.ndarray, right: np.ndarray) -> float:
    """Inner product of two parameters of any shape."""
    return float(np.vdot(left, right))


def norm(value: np.ndarray) -> float:
    """Euclidean (Frobenius) norm of a parameter of any shape."""
    return math.sqrt(inner(value, value))


@dataclass(frozen=True)
class Proximal:
    """Proximal smoothing of a dual that is not strongly concave (the hinge).

    The smooth objective replaces l(x) by max_a a (tau - x) - w/2 a^2 - width/2 (a - c)^2 over 0 <=
    a <= 1, with w the width of the loss. Moving the centre c (T,) to the last maximiser a is the
    proximal-point method on the dual: it closes the gap for any fixed width (Rockafellar 1976).
    `last_gap` is that at the last recentring.
    """

    width: float
    centre: np.ndarray
    narrowest: float = 1e-7
    last_gap: float = np.inf

    def fixed(self, zero: np.ndarray, linear: np.ndarray) -> "Proximal":
        """Return it with the centres of decided items (boolean masks) at their optimal values."""
        centre = np.where(linear, 1.0, np.where(zero, 0.0, self.centre))
        return replace(self, centre=centre)


@dataclass(frozen=True)
class Evaluation:
    """All that one pass over the items tells about an objective at a point.

    `loss` is everything in P but the regulariser, `smoothed_loss` the same for the smooth objective
    that the solver descends (equal without `Proximal`). `adjoint` is S = sum_t w_t alpha_t A_t + B
    at the dual variables of the point, with a bound on its rounding error; `fenchel_young` is sum_t
    w_t (l(x_t) + l*(-alpha_t) + alpha_t x_t), rounding allowance included, 0 where alpha is exactly
    minus the derivative. The items of `objective` are in the order of `margins`.
    """

    point: Point
    margins: PairDistances
    loss: float
    smoothed_loss: float
    adjoint: np.ndarray
    adjoint_error: float
    fenchel_young: float
    objective: "Objective"

    def duals(self) -> np.ndarray:
        """Return the dual variables with proximal smoothing, for each item of the full problem.

        Items that the objective leaves out have those of the centre.
        """
        objective, proximal = self.objective, self.objective.proximal
        return objective.geometry.proximal_duals(
            self.margins, objective.loss, proximal.width, proximal.centre
        )

    def recentred(self, n_steps: int) -> "Objective":
        """Return the objective with the dual variables as proximal centre, and a width that fits.

        `n_steps` are the gradient steps since the last recentring.
        """
        proximal, gap = self.objective.proximal, self.fenchel_young
        width = proximal.width
        # With a smaller width recentring matters more, and the steps in between are harder.
        if n_steps > 50:
            width *= 2.0
        elif gap > 0.5 * proximal.last_gap:
            width = max(0.5 * width, proximal.narrowest)
        moved = replace(proximal, width=width, centre=self.duals(), last_gap=gap)
        return replace(self.objective, proximal=moved)

    @property
    def domain(self) -> Domain:
        """Domain of the parameter."""
        return self.objective.domain

    @cached_property
    def adjoint_split(self) -> tuple[Point, Point]:
        """Projections of S and -S on the domain."""
        return self.domain.split(self.adjoint)

    def gradient(self, lam: float) -> np.ndarray:
        """Gradient of the (smooth) objective."""
        return lam * self.point.value - self.adjoint

    def smoothed_primal(self, lam: float) -> float:
        """Value of the smooth objective."""
        return self.smoothed_loss + 0.5 * lam * inner(self.point.value, self.point.value)

    def primal(self, lam: float) -> float:
        """Value of the objective."""
        return self.loss + 0.5 * lam * inner(self.point.value, self.point.value)

    def rounding(self, lam: float) -> float:
        """Return the rounding allowance of a duality gap at this point."""
        size, adjoint = norm(self.point.value), norm(self.adjoint)
        return size * (SLACK * EPS * (adjoint + lam * size) + self.adjoint_error)

    def positive_part(self) -> float:
        """Return a bound on |S_K|: eigenvalues (entries) of S are off by no more than its error.

        It is 0 where S is proved to be negative, however large S and its error are; then theta = 0
        is optimal for every lambda (Weyl's inequality).
        """
        values = self.adjoint
        error = self.adjoint_error
        if values.ndim == 2:
            # The eigenvalues are those of a matrix that differs by some eps of its norm.
            error += SLACK * EPS * norm(values)
            values = np.linalg.eigvalsh(values)
        return min(norm(np.maximum(values + error, 0.0)), norm(self.adjoint_split[0].value) + error)

    def complementarity(self) -> float:
        """<theta, Gamma> >= 0 with Gamma = [-S]_K, the best dual variable of theta in K."""
        return max(inner(self.point.value, self.adjoint_split[1].value), 0.0)

    def gap(self, lam: float) -> float:
        """Duality gap P - D as a sum of non-negative terms; costs one split of S.

        gap = sum FY + |lambda theta - S_K|^2 / (2 lambda) + <theta, [-S]_K>, for any theta in K
        and any feasible dual variables.
        """
        if not self.point.value.any():
            return self.fenchel_young + self.positive_part() ** 2 / (2.0 * lam)
        distance = norm(lam * self.point.value - self.adjoint_split[0].value) + self.adjoint_error
        stable = self.fenchel_young + distance**2 / (2.0 * lam) + self.complementarity()
        return stable + self.rounding(lam)

    def in_order(self) -> "Evaluation":
        """Return the same with places in the order of their distances: passes look at less then."""
        geometry, margins = self.objective.geometry.sort_places(self.margins)
        objective = replace(self.objective, geometry=geometry)
        return replace(self, margins=margins, objective=objective)

    def certificate(self, lam: float) -> Certificate:
        """Primal, dual and gap at this point."""
        primal, gap = self.primal(lam), self.gap(lam)
        return Certificate(primal, primal - gap, gap)


@dataclass(frozen=True)
class Objective:
    """A problem at one lambda, full or reduced by screening.

    `geometry` has the undecided items. `linear_term` is B, the sum of w_t A_t over the items fixed
    in their linear part and any given linear term; every evaluation inherits its rounding error.
    `linear_constant` is what the losses of the fixed items are beside their part in -<B, theta>;
    `n_zero` and `n_linear` count what was left out as lying in either part.
    """

    geometry: Comparisons
    loss: SmoothedHinge
    domain: Domain
    lam: float
    linear_term: np.ndarray
    linear_error: float = 0.0
    linear_constant: float = 0.0
    n_zero: int = 0
    n_linear: int = 0
    proximal: Proximal | None = None

    def evaluate(self, point: Point) -> Evaluation:
        """Value, gradient and dual variables at a point: one pass over the undecided items."""
        margins = self.geometry.margins(point)
        fixed = self.linear_constant - inner(self.linear_term, point.value)
        if self.proximal is None:
            value, adjoint, error = self.geometry.loss(margins, self.loss)
            smoothed, fenchel_young = value, 0.0
        else:
            prox = self.proximal
            smoothed, value, gap, slack, adjoint, error = self.geometry.proximal_loss(
                margins, self.loss, prox.width, prox.centre
            )
            fenchel_young = gap + slack
        error += self.linear_error + EPS * norm(self.linear_term)
        return Evaluation(
            point, margins, value + fixed, smoothed + fixed, adjoint + self.linear_term, error,
            fenchel_young, self,
        )  # fmt: skip

    def loss_value(self, point: Point, margins: PairDistances) -> tuple[float, float]:
        """Everything in P but the regulariser, at known (or shifted) margins, and its error."""
        fixed = self.linear_constant - inner(self.linear_term, point.value)
        value, error = self.geometry.loss_value(margins, self.loss)
        return value + fixed, error

    def loss_bound(self, point: Point, margins: PairDistances, upper: bool) -> float:
        """Return what everything in P but the regulariser is at most or at least."""
        fixed = self.linear_constant - inner(self.linear_term, point.value)
        return self.geometry.loss_bound(margins, self.loss, upper) + fixed


def extend(evaluation: Evaluation, full: Objective) -> Evaluation:
    """Return an evaluation of a reduced objective as one of the full objective.

    The dual variables stay, those of the items left out at 0 or 1: the dual value and S are the
    same for both. All losses are computed, so that the gap is one of the full problem, whatever
    led to the reduced one: it grows by the Fenchel-Young terms of the items left out.
    """
    if full.proximal is not None:
        full = replace(full, proximal=evaluation.objective.proximal)
        return full.evaluate(evaluation.point)
    margins = full.geometry.margins(evaluation.point)
    loss, error = full.loss_value(evaluation.point, margins)
    # The difference of two sums of losses carries their rounding errors; that of the part is the
    # smaller one.
    missed = max(loss - evaluation.loss, 0.0) + 2.0 * error
    return Evaluation(
        evaluation.point, margins, loss, loss, evaluation.adjoint, evaluation.adjoint_error,
        evaluation.fenchel_young + missed, full,
    )  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """A geometry, a loss and a domain: everything but lambda.

    `linear_term` is B of the objective with nothing fixed, zero when not given. The data are X =
    unit Z V' with Z the coordinates that the geometry has, V = `basis` (n_features, r) orthonormal
    (the identity when not given, sparse where it leaves features out) and `unit` a power of two, 1
    unless fourth powers of the data would overflow; a parameter M stands for V M V' / unit^2.
    `dtype` is that of the data as given; computations are in double precision.
    """

    geometry: Comparisons
    loss: SmoothedHinge
    domain: Domain
    linear_term: np.ndarray | None = None
    linear_error: float = 0.0
    basis: np.ndarray | None = None
    unit: float = 1.0
    dtype: type = np.float64

    def components(self, point: Point) -> np.ndarray:
        """Return rows, in the features, whose outer products add up to the metric."""
        rows = components(point) / self.unit
        return rows if self.basis is None else rows @ self.basis.T

    def matrix(self, point: Point) -> np.ndarray:
        """Return the metric (or the weights of a diagonal one) in the features."""
        if self.basis is None:
            return point.value / self.unit**2
        if self.geometry.diagonal:
            return self.basis @ (point.value / self.unit**2)
        rows = self.components(point)
        return rows.T @ rows

    def in_data(self, lam: float) -> float:
        """Return lambda in the units of the data; infinite or 0 where it has no floating point."""
        # Python's products overflow to infinity without a warning, its powers do not.
        return float(lam) * self.unit * self.unit * self.unit * self.unit

    def in_coordinates(self, lam: float) -> float:
        """Return a lambda of the data in the units of the coordinates."""
        return float(lam) / self.unit / self.unit / self.unit / self.unit

    def at(self, lam: float, proximal: Proximal | None = None) -> Objective:
        """Return the full objective at one lambda."""
        linear_term = self.linear_term
        if linear_term is None:
            linear_term = np.zeros(self.geometry.shape)
        return Objective(
            self.geometry, self.loss, self.domain, lam, linear_term, self.linear_error,
            proximal=proximal,
        )  # fmt: skip

    def lam_max(self) -> tuple[float, Point]:
        """Smallest known lambda from which on every item is in its piece at 0, in closed form.

        With S = B + sum_t w_t alpha_t A_t at the dual variables alpha of theta = 0 the optimum is
        S_K / lambda, as long as no item leaves the piece of the loss on which it is at theta = 0.
        For the loss's own threshold that is the linear part, and all alpha are 1. So it is max_t
        <S_K, A_t> / (threshold - width), or over -U for items that are in their zero part at 0
        because of a threshold -U; 0 if S_K = 0 but for rounding errors, when theta = 0 is optimal
        for every lambda. See `SmoothedHinge.reach_from_zero` for thresholds near 0, which would
        make it infinite, and for the squared hinge, where it is a unit only. Also returns S_K.
        """
        adjoint, error = self.geometry.adjoint_at_zero(self.loss)
        if self.linear_term is not None:
            adjoint, error = adjoint + self.linear_term, error + self.linear_error
        point = self.domain.project(adjoint)
        if norm(point.value) <= error:
            return 0.0, self.domain.project(np.zeros_like(adjoint))
        ratio = self.geometry.largest_ratio(self.geometry.margins(point), self.loss)
        return max(ratio, 0.0), point
