"""Primal-dual interior point for problems that screening has made small.

First-order steps get slow at small lambda, where the curvature of the loss is 1 / (width lambda)
times that of the regulariser; but there few items are left. With the items listed, the optimality
conditions

    lambda theta = S(alpha) + Gamma,    <theta, Gamma> = 0,    theta, Gamma in K,
    tau_t - <A_t, theta> - width alpha_t = r_t - s_t,    s_t alpha_t = 0,    r_t (1 - alpha_t) = 0,

(without r_t where alpha_t has no largest value, as for the squared hinge) are followed with all
products set to mu -> 0 (for the PSD cone in the direction of Helmberg,
Rendl, Vanderbei and Wolkowicz 1996). It takes 20 to 30 steps whatever the conditioning, each one
Cholesky factor of the size of theta. The hinge is the case width = 0. An item of weight w is one
with w A_t, w tau_t and w width. The loss of an objective counts, not its proximal smoothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from skscreen.metric_learning.problem.domains import Metric, PSDCone
from skscreen.metric_learning.problem.objective import Objective

# Largest share of the distance to the boundary for a step.
_TO_BOUNDARY = 0.98


def interior_point_work(objective: Objective) -> float:
    """Work of a solve in simple operations; infinite where items do not fit or list."""
    # Measured from 300 to 30,000 items in the units of `Comparisons.evaluation_work`: time over
    # estimate is 0.9 to 1.2 with a full metric, 0.45 to 1.3 with a diagonal one.
    m, d = objective.geometry.n_items, objective.geometry.n_features
    p = d * (d + 1) // 2 if isinstance(objective.domain, PSDCone) else d
    # The list of items may have 80 MB, and Newton systems 800 equations.
    if not objective.geometry.lists_items or m * p > 10_000_000 or p > 800:
        return np.inf
    return 25.0 * (4e6 + 80.0 * p * (m + p) + 0.5 * p * p * (m + p / 3.0))


def interior_point(
    objective: Objective, scale: float, target: float, max_iter: int
) -> Iterator[tuple[Metric, np.ndarray, int]]:
    """Solve a reduced objective; yield point, dual variables of items and steps so far."""
    # The start is `scale`, the rough size of an eigenvalue (entry) of theta, times the identity.
    # The gap, of theta and alpha together, is `target` at the first and a tenth at each one that
    # follows. Dual variables made from theta may have a larger one: where width lambda is small,
    # they change a lot with theta. So the caller takes more until they satisfy it.
    state = _State(objective, scale)
    for n_iter in range(1, min(max_iter, 60) + 1):
        try:
            gap, residual = state.advance()
        except (np.linalg.LinAlgError, FloatingPointError):
            # Rounding errors have made a matrix indefinite, or put a variable on its bound.
            break
        if gap <= target and residual <= 1e-9:
            yield _point(objective, state), state.alpha, n_iter
            target *= 0.1
    yield _point(objective, state), state.alpha, n_iter


def _point(objective: Objective, state: _State) -> Metric:
    theta = state.cone.to_features(state.theta)
    return objective.domain.project(_without_idle(objective, theta))


def _without_idle(objective: Objective, theta: np.ndarray) -> np.ndarray:
    """Return theta without the features that neither an item nor the linear term has."""
    # Their weights are 0 at the optimum, but at an iterate only nearly.
    X, B = objective.geometry.X[:, : len(theta)], np.abs(objective.linear_term)
    largest = B if B.ndim == 1 else B.max(axis=0)
    used = (X != X[:1]).any(axis=0) | (largest > objective.linear_error)
    return theta * used if theta.ndim == 1 else theta * np.outer(used, used)


class _State:
    """Iterate: theta and Gamma in vector form, alpha and the multipliers of its bounds."""

    def __init__(self, objective: Objective, scale: float):
        geometry, self.loss, self.lam = objective.geometry, objective.loss, objective.lam
        near_pairs, places = geometry.items.listed()
        near, far = geometry.differences(near_pairs, places)
        weights = geometry.scales()[near_pairs]
        self.cone = (_Matrices if isinstance(objective.domain, PSDCone) else _Vectors)(near, far)
        self.G = weights[:, None] * self.cone.items
        self.tau = weights * geometry.thresholds(self.loss)[near_pairs]
        self.width = weights * self.loss.width
        self.units = np.maximum(weights * self.loss.threshold, np.abs(self.tau))
        self.B = self.cone.from_features(objective.linear_term)
        m = len(self.G)
        # 1 where dual variables have a largest value: then 1 - alpha and its multiplier count.
        self.bounded = float(self.loss.most == 1.0)
        self.degree = geometry.n_features + (1.0 + self.bounded) * m
        self.alpha = np.full(m, 0.5)
        self.lower, self.upper = self.units, self.bounded * self.units
        self.theta = scale * self.cone.identity
        self.size = max(float(np.linalg.norm(self.B + self.alpha @ self.G)), self.lam * scale)
        self.gamma = self.size / np.sqrt(geometry.n_features) * self.cone.identity

    @np.errstate(divide="raise", over="raise", invalid="raise")
    def advance(self) -> tuple[float, float]:
        """Make a centred step; return the complementarity and the residual after it."""
        factor = self.factorise()
        affine = self.direction(factor, 0.0)
        left = self.complementarity(affine, self.longest(affine)) / self.complementarity()
        step = self.direction(factor, left**3 * self.complementarity() / self.degree)
        self.move(step, min(_TO_BOUNDARY * self.longest(step), 1.0))
        return self.complementarity(), self.residual()

    def residuals(self) -> tuple[np.ndarray, np.ndarray]:
        """How far the two linear equations are from holding."""
        first = self.lam * self.theta - self.B - self.alpha @ self.G - self.gamma
        slack = self.tau - self.G @ self.theta - self.width * self.alpha
        return first, slack + self.lower - self.upper

    def residual(self) -> float:
        """Return the larger of the two residuals, relative to their scales."""
        first, second = self.residuals()
        return max(
            float(np.linalg.norm(first)) / self.size,
            float((np.abs(second) / self.units).max(initial=0.0)),
        )

    def complementarity(
        self, step: tuple[np.ndarray, ...] | None = None, length: float = 0.0
    ) -> float:
        """Sum of all complementarity products, here or after a step."""
        values = (self.theta, self.gamma, self.alpha, self.lower, self.upper)
        if step is not None:
            values = tuple(v + length * d for v, d in zip(values, step, strict=True))
        theta, gamma, alpha, lower, upper = values
        return float(theta @ gamma + lower @ alpha + upper @ self.room(alpha))

    def room(self, alpha: np.ndarray) -> np.ndarray:
        """Return 1 - alpha, or 1 where alpha has no largest value."""
        return 1.0 - self.bounded * alpha

    def factorise(self):
        """Return the Cholesky factor of the Newton system on theta."""
        self.weights = 1.0 / (
            self.width + self.lower / self.alpha + self.upper / self.room(self.alpha)
        )
        A = self.cone.scaling(self.theta, self.gamma)
        A += (self.G.T * self.weights) @ self.G
        A[np.diag_indices_from(A)] += self.lam
        return cho_factor(A, overwrite_a=True)

    def direction(self, factor: tuple, mu: float):
        """Newton step to the point of the central path with products mu."""
        first, second = self.residuals()
        inverse = mu * self.cone.inverse(self.theta) - self.gamma
        to_lower = mu / self.alpha - self.lower
        to_upper = self.bounded * mu / self.room(self.alpha) - self.upper
        q = second + to_lower - to_upper
        theta = cho_solve(factor, inverse - first + (self.weights * q) @ self.G)
        alpha = self.weights * (q - self.G @ theta)
        lower = to_lower - self.lower / self.alpha * alpha
        upper = to_upper + self.upper / self.room(self.alpha) * alpha
        gamma = self.lam * theta - alpha @ self.G + first
        return theta, gamma, alpha, lower, upper

    def longest(self, step: tuple[np.ndarray, ...]) -> float:
        """Return the step length to the boundary, at most 1 / 0.98."""
        theta, gamma, alpha, lower, upper = step
        ratios = [
            self.cone.ratio(self.theta, theta),
            self.cone.ratio(self.gamma, gamma),
            *(
                float((-change / value).max(initial=0.0))
                for value, change in (
                    (self.alpha, alpha),
                    (self.lower, lower),
                    (self.room(self.alpha), -self.bounded * alpha),
                    (self.upper + (1.0 - self.bounded), upper),
                )
            ),
        ]
        return 1.0 / max(*ratios, _TO_BOUNDARY)

    def move(self, step: tuple[np.ndarray, ...], length: float) -> None:
        """Go along a step."""
        theta, gamma, alpha, lower, upper = step
        self.theta = self.theta + length * theta
        self.gamma = self.gamma + length * gamma
        self.alpha = self.alpha + length * alpha
        self.lower = self.lower + length * lower
        self.upper = self.upper + length * upper


class _Vectors:
    """The nonnegative orthant."""

    def __init__(self, near: np.ndarray, far: np.ndarray):
        self.identity = np.ones(near.shape[1])
        self.items = far**2 - near**2

    def from_features(self, value: np.ndarray) -> np.ndarray:
        return value

    to_features = from_features

    def inverse(self, theta: np.ndarray) -> np.ndarray:
        return 1.0 / theta

    def scaling(self, theta: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        return np.diag(gamma / theta)

    def ratio(self, value: np.ndarray, change: np.ndarray) -> float:
        return float((-change / value).max())


class _Matrices:
    """The PSD cone; symmetric matrices as vectors with the same inner product."""

    # Coordinates are the principal axes of the differences, largest first, and not the features:
    # where these nearly depend on each other, entries of very different sizes would mix and
    # Cholesky factors lose their digits, which those of matrices graded from large to small keep.

    def __init__(self, near: np.ndarray, far: np.ndarray):
        self.d = near.shape[1]
        self.i, self.j = i, j = np.triu_indices(self.d)
        self.root = np.where(i == j, 1.0, np.sqrt(2.0))
        self.identity = self.vector(np.eye(self.d))
        self.axes = np.linalg.svd(np.linalg.qr(np.vstack([near, far]), mode="r"))[2].T
        near, far = near @ self.axes, far @ self.axes
        self.items = self.root * (far[:, i] * far[:, j] - near[:, i] * near[:, j])

    def from_features(self, value: np.ndarray) -> np.ndarray:
        return self.vector(self.axes.T @ value @ self.axes)

    def to_features(self, vector: np.ndarray) -> np.ndarray:
        value = self.axes @ self.matrix(vector) @ self.axes.T
        return 0.5 * (value + value.T)

    def vector(self, value: np.ndarray) -> np.ndarray:
        return self.root * value[self.i, self.j]

    def matrix(self, vector: np.ndarray) -> np.ndarray:
        out = np.empty((self.d, self.d))
        out[self.i, self.j] = out[self.j, self.i] = vector / self.root
        return out

    def inverse(self, theta: np.ndarray) -> np.ndarray:
        return self.vector(self._inverse(theta))

    def scaling(self, theta: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        """X -> (theta^-1 X Gamma + Gamma X theta^-1) / 2 as a matrix on vectors."""
        P, Q = self._inverse(theta), self.matrix(gamma)
        i, j = self.i, self.j
        Pi, Pj, Qi, Qj = P[i], P[j], Q[i], Q[j]
        total = Pi[:, i] * Qj[:, j] + Pi[:, j] * Qj[:, i] + Qi[:, i] * Pj[:, j]
        total += Qi[:, j] * Pj[:, i]
        return 0.25 * self.root[:, None] * self.root * total

    def ratio(self, value: np.ndarray, change: np.ndarray) -> float:
        L = np.linalg.cholesky(self.matrix(value))
        half = solve_triangular(L, self.matrix(change), lower=True)
        return -float(np.linalg.eigvalsh(solve_triangular(L, half.T, lower=True))[0])

    def _inverse(self, theta: np.ndarray) -> np.ndarray:
        return cho_solve(cho_factor(self.matrix(theta)), np.eye(self.d))
