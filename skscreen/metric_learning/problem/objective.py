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
from scipy import sparse

from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS
from skscreen.metric_learning.problem.comparisons import Comparisons, PairDistances
from skscreen.metric_learning.problem.domains import Domain, Metric, components
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
    """Proximal smoothing of a dual that is not strongly concave (the hinge)."""

    # The smooth objective replaces l(x) by max_a a (tau - x) - w/2 a^2 - width/2 (a - c)^2 over
    # 0 <= a <= 1, with w the width of the loss. Moving the centre c to the last maximiser a is the
    # proximal-point method on the dual: it closes the gap for any fixed width (Rockafellar 1976).
    width: float
    centre: np.ndarray  # (T,) for all items of the full problem
    narrowest: float = 1e-7
    last_gap: float = np.inf  # at the last recentring

    def fixed(self, zero: np.ndarray, linear: np.ndarray) -> "Proximal":
        """Return it with the centres of decided items (boolean masks) at their optimal values."""
        centre = np.where(linear, 1.0, np.where(zero, 0.0, self.centre))
        return replace(self, centre=centre)

    def duals(self, evaluation: "Evaluation") -> np.ndarray:
        """Return dual variables (T,) at an evaluation; those of the centre for items left out."""
        objective, margins = evaluation.objective, evaluation.margins
        return objective.geometry.proximal_duals(margins, objective.loss, self.width, self.centre)

    def recentred(self, evaluation: "Evaluation", n_steps: int) -> "Proximal":
        """Return it with its centre at an evaluation, and a width that fits the steps to it."""
        gap, width = evaluation.fenchel_young, self.width
        # With a smaller width recentring matters more, and the steps in between are harder.
        if n_steps > 50:
            width *= 2.0
        elif gap > 0.5 * self.last_gap:
            width = max(0.5 * width, self.narrowest)
        return replace(self, width=width, centre=self.duals(evaluation), last_gap=gap)


@dataclass(frozen=True)
class Evaluation:
    """All that one pass over the items tells about an objective at a point."""

    point: Metric
    margins: PairDistances  # in the order of the items of `objective`
    loss: float  # everything in P but the regulariser
    smoothed_loss: float  # of the smooth objective that is descended; the same without `Proximal`
    adjoint: np.ndarray  # S = sum_t w_t alpha_t A_t + B at the dual variables of the point
    adjoint_error: float  # bound on its rounding error
    # sum_t w_t (l(x_t) + l*(-alpha_t) + alpha_t x_t), rounding allowance included; 0 where alpha is
    # exactly minus the derivative.
    fenchel_young: float
    objective: "Objective"

    @cached_property
    def adjoint_split(self) -> tuple[Metric, Metric]:
        """Projections of S and -S on the domain."""
        return self.objective.domain.split(self.adjoint)

    def margins_at(self, point: Metric) -> PairDistances:
        """Return the margins at another point, in the same order."""
        return self.objective.geometry.margins(point)

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
        """Return a bound on |S_K|; 0 where S is proved to be negative, so that 0 is optimal."""
        values, error = self.adjoint, self.adjoint_error
        # Eigenvalues (entries) of S are off by no more than its error (Weyl's inequality).
        if values.ndim == 2:
            # Those found are of a matrix that differs by some eps of its norm.
            error += SLACK * EPS * norm(values)
            values = np.linalg.eigvalsh(values)
        return min(norm(np.maximum(values + error, 0.0)), norm(self.adjoint_split[0].value) + error)

    def complementarity(self) -> float:
        """<theta, Gamma> >= 0 with Gamma = [-S]_K, the best dual variable of theta in K."""
        return max(inner(self.point.value, self.adjoint_split[1].value), 0.0)

    def gap(self, lam: float) -> float:
        """Duality gap sum FY + |lambda theta - S_K|^2 / (2 lambda) + <theta, [-S]_K>."""
        # Powers of Python floats do not overflow to infinity.
        if not self.point.value.any():
            positive = float(self.positive_part())
            return self.fenchel_young + positive * positive / (2.0 * lam)
        distance = norm(lam * self.point.value - self.adjoint_split[0].value)
        distance += float(self.adjoint_error)
        stable = self.fenchel_young + distance * distance / (2.0 * lam) + self.complementarity()
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
    """A problem at one lambda, full or reduced by screening."""

    geometry: Comparisons  # of the undecided items
    loss: SmoothedHinge
    domain: Domain
    lam: float
    # B: the sum of w_t A_t over items fixed in their linear part, and any given linear term. Every
    # evaluation inherits its rounding error.
    linear_term: np.ndarray
    linear_error: float = 0.0
    linear_constant: float = 0.0  # losses of the fixed items beside their part in -<B, theta>
    n_zero: int = 0  # left out as lying in either part
    n_linear: int = 0
    proximal: Proximal | None = None

    def evaluate(self, point: Metric) -> Evaluation:
        """Value, gradient and dual variables at a point: one pass over the undecided items."""
        margins, fixed = self.geometry.margins(point), self.fixed(point)
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

    def loss_value(self, point: Metric, margins: PairDistances) -> tuple[float, float]:
        """Everything in P but the regulariser, at known (or shifted) margins, and its error."""
        value, error = self.geometry.loss_value(margins, self.loss)
        return value + self.fixed(point), error

    def loss_bound(self, point: Metric, margins: PairDistances, upper: bool) -> float:
        """Return what everything in P but the regulariser is at most or at least."""
        return self.geometry.loss_bound(margins, self.loss, upper) + self.fixed(point)

    def fixed(self, point: Metric) -> float:
        """Return the linear part of the objective."""
        return self.linear_constant - inner(self.linear_term, point.value)


def extend(evaluation: Evaluation, full: Objective) -> Evaluation:
    """Return an evaluation of a reduced objective as one of the full, whose gap it has."""
    if full.proximal is not None:
        full = replace(full, proximal=evaluation.objective.proximal)
        return full.evaluate(evaluation.point)
    # The dual variables stay, 0 or 1 for the items left out: the dual value and S are the same. The
    # gap grows by the Fenchel-Young terms of these items, whatever led to their decisions.
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
    """Everything but lambda, of X = unit Z V' in coordinates Z; M stands for V M V' / unit^2."""

    geometry: Comparisons
    loss: SmoothedHinge
    domain: Domain
    linear_term: np.ndarray | None = None  # B with nothing fixed; None for 0
    linear_error: float = 0.0
    # V (n_features, r) orthonormal, sparse where it leaves features out; None for the identity.
    basis: np.ndarray | sparse.csr_array | None = None
    unit: float = 1.0  # a power of two; 1 unless fourth powers of the data would overflow
    dtype: type = np.float64  # of the data as given; computations are in double precision
    rows: np.ndarray | None = None  # of the data, of each point that triplets from labels name
    triplets: np.ndarray | None = None  # (T, 3) rows of the data by item number, if from a list

    def components(self, point: Metric) -> np.ndarray:
        """Return rows, in the features, whose outer products add up to the metric."""
        rows = components(point) / self.unit
        return rows if self.basis is None else rows @ self.basis.T

    def matrix(self, point: Metric) -> np.ndarray:
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

    # With S = B + sum_t w_t alpha_t A_t at the dual variables alpha of theta = 0, S_K / lambda is
    # optimal as long as no item leaves the piece of the loss on which it is at theta = 0.

    @cached_property
    def ray(self) -> Metric:
        """S_K: from `lam_max` on the optimum is S_K / lambda; 0 where all of it may be rounding."""
        adjoint, error = self.geometry.adjoint_at_zero(self.loss)
        if self.linear_term is not None:
            adjoint, error = adjoint + self.linear_term, error + self.linear_error
        point = self.domain.project(adjoint)
        return point if norm(point.value) > error else point.scaled(0.0)

    @cached_property
    def lam_max(self) -> float:
        """Largest <S_K, A_t> over the end of its piece; 0 if theta = 0 is always optimal."""
        if not self.ray.value.any():
            return 0.0
        margins = self.geometry.margins(self.ray)
        return max(self.geometry.largest_ratio(margins, self.loss), 0.0)
