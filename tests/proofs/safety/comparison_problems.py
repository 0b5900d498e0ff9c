"""Problems for `comparisons.py`: real and adversarial data, and optima without skscreen."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from skscreen.metric_learning.problem.comparisons import Comparisons, DiagonalComparisons
from skscreen.metric_learning.problem.domains import NonnegativeOrthant, PSDCone
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Problem, Proximal
from skscreen.metric_learning.problem.triplets import comparisons_from_arrays, triplets_from_labels
from tests.awkward_data import HARD

# The explicit problem and its certificate are those of the tests.
from tests.rtlm_reference import LOADERS, Explicit

EPS = np.finfo(float).eps


# -- independent optima --------------------------------------------------------------------------


class Independent(Explicit):
    """The explicit problem with sharper optima, proven by arithmetic in plain numpy only.

    Parameters
    ----------
    A, gamma, threshold, linear_term, weights
        As for `Explicit`.
    sizes : ndarray of shape (T,)
        |a|^2 + |b|^2 of the differences that made the items: their rounding errors are relative
        to these, which may be much larger than the norms.
    """

    # Relative distance from the optimum with which Newton's method may end.
    _NEAR = 1e-6

    def __init__(self, A, gamma, threshold, linear_term, weights, sizes, most):
        super().__init__(A, gamma, threshold, linear_term, weights, most)
        self.sizes = sizes

    def certified(self, theta, alpha, lam):
        """Add the rounding errors of the items themselves to the allowance of the gap."""
        found = super().certified(theta, alpha, lam)
        error, size = self._adjoint_error(alpha), np.linalg.norm(theta)
        gap = found.gap + size * error + error**2 / (2 * lam)
        return self._with_radius(replace(found, gap=gap), np.sqrt(2 * gap / lam))

    def certified_by_residual(self, Z, alpha, lam):
        """Certify [Z]_K by the distance of Z from S(alpha) / lambda.

        [Z]_K minimises P with -lam <Z - S / lam, M> added, if alpha is minus a subgradient there,
        so by strong convexity it is |Z - S / lam| from the optimum at most. Otherwise
        lam r^2 <= lam |Z - S / lam| r + sum w FY. No root of a gap, so this is the sharper proof.
        """
        found = self.certified(self.project(Z), alpha, lam)
        # Margins carry rounding errors. They matter to items near the ends of their part only,
        # where they add to the root of FY (smoothed) or to FY (hinge, dual variables off 0 and 1).
        shift = 16 * EPS * np.linalg.norm(found.theta) * self.sizes
        z = self.threshold - found.margins
        near = (z > -shift) & (z < self.depth + shift)
        slack = np.maximum(self.fenchel_young(found.margins, alpha), 0.0)
        if self.gamma > 0.0:
            slack = (np.sqrt(slack) + near * shift / np.sqrt(2 * self.gamma)) ** 2
        else:
            slack += (near | ((alpha > 0.0) & (alpha < 1.0))) * shift
        moved = np.linalg.norm(Z - self.adjoint(alpha) / lam)
        moved += self._adjoint_error(alpha) / lam + 100 * EPS * np.linalg.norm(Z)
        radius = 0.5 * (moved + np.sqrt(moved**2 + 4 * (self.weights @ slack) / lam))
        return self._with_radius(found, min(radius, found.radius))

    def optimum(self, lam, start=None):
        """Certified optimum, from that of a lambda nearby if Newton's method gets there."""
        if start is not None and self.gamma > 0.0:
            found = self._polish(start, lam)
            if self._is_near(found):
                return found
        return self._polish(super().optimum(lam), lam)

    def is_zero(self):
        """Whether zero is the optimum for every lambda, but for rounding errors."""
        alpha = self.dual_variables(0.0 * self.sizes)
        upper = np.linalg.norm(self.project(self.adjoint(alpha)))
        return upper <= 1e6 * self._adjoint_error(alpha)

    def _adjoint_error(self, alpha):
        used = (self.weights * alpha) @ self.sizes + np.linalg.norm(self.linear_term)
        return 16 * EPS * used

    def _with_radius(self, found, radius):
        size = np.linalg.norm(found.theta)
        uncertainty = radius * self.norms + 100 * EPS * size * self.sizes
        return replace(found, radius=radius, uncertainty=uncertainty)

    def _polish(self, start, lam):
        """Newton's method on lam Z = S(alpha) with theta = [Z]_K, from all guesses of the kinks."""
        best = self.certified(start.theta, start.alpha, lam)
        for margin in [None] if self.gamma > 0.0 else [1e-3, 1e-5, 1e-7]:
            alpha, kinks = start.alpha, None
            if margin is not None:
                kinks = (alpha > margin) & (alpha < 1.0 - margin)
                alpha = np.where(kinks, alpha, np.round(alpha))
            found = self._descend(alpha, lam, kinks)
            best = found if found is not None and found.radius < best.radius else best
        return best

    def _descend(self, alpha, lam, kinks):
        """The best point that Newton's method meets, until it is near and comes no nearer."""
        best, Z = None, self.adjoint(alpha) / lam
        for _ in range(25 if kinks is None else 6):
            try:
                Z, alpha = self._newton(Z, alpha, lam, kinks)
            except np.linalg.LinAlgError:
                break
            if not (np.all(np.isfinite(Z)) and np.all(np.isfinite(alpha))):
                break
            found = self.certified_by_residual(Z, np.clip(alpha, 0.0, self.most), lam)
            last = np.inf if best is None else best.radius
            best = found if found.radius < last else best
            if found.radius > 0.5 * last and self._is_near(best):
                break
        return best

    def _is_near(self, found):
        return found.radius <= self._NEAR * np.linalg.norm(found.theta)

    def _newton(self, Z, alpha, lam, kinks):
        """One step; the hinge keeps its kinks and moves their dual variables."""
        if kinks is None:
            z = self.threshold - self.margins(self.project(Z))
            inside = (z > 0.0) & (z < self.depth)
            rows, slopes = self.flat[inside], self.weights[inside] / self.gamma
            J = lam * np.eye(Z.size) + (rows * slopes[:, None]).T @ self._derivative(Z, inside)
            residual = self._residual(Z, lam)[0]
            step = np.linalg.solve(J, residual.ravel()).reshape(Z.shape)
            for fraction in (1.0, 0.5, 0.25, 0.1, 0.01):
                after, alpha = self._residual(Z - fraction * step, lam)
                if np.linalg.norm(after) < np.linalg.norm(residual):
                    break
            return Z - fraction * step, alpha
        if kinks.any():
            slopes = self.weights[kinks] / lam
            J = (self._derivative(Z, kinks) @ self.flat[kinks].T) * slopes
            missing = (self.threshold - self.margins(self.project(Z)))[kinks]
            alpha = alpha.copy()
            alpha[kinks] += np.linalg.lstsq(J, missing, rcond=1e-13)[0]
        return self.adjoint(alpha) / lam, alpha

    def _residual(self, Z, lam):
        """lam Z - S(alpha) and alpha, minus the derivative of the loss at [Z]_K."""
        alpha = self.dual_variables(self.margins(self.project(Z)))
        return lam * Z - self.adjoint(alpha), alpha

    def _derivative(self, Z, items):
        """Rows of chosen items times the derivative of the projection at Z."""
        if self.diagonal:
            return self.flat[items] * (Z > 0.0)
        values, V = np.linalg.eigh(0.5 * (Z + Z.T))
        positive, absolute = np.maximum(values, 0.0), np.abs(values)
        total = np.maximum(absolute[:, None] + absolute, np.finfo(float).tiny)
        share = (positive[:, None] + positive) / total
        rows = V @ (share * (V.T @ self.A[items] @ V)) @ V.T
        return rows.reshape(len(rows), Z.size)


# -- problems ------------------------------------------------------------------------------------


@dataclass
class Items:
    """Data, comparisons as skscreen and as explicit formulas know them, loss and metric."""

    X: np.ndarray
    comparisons: object
    gamma: float
    diagonal: bool
    thresholds: np.ndarray | None = None
    weights: np.ndarray | None = None
    linear_term: np.ndarray | float = 0.0
    most: float = 1.0
    near: np.ndarray = field(init=False)
    far: np.ndarray = field(init=False)

    def __post_init__(self):
        geometry = (DiagonalComparisons if self.diagonal else Comparisons)(self.X, self.comparisons)
        rows, places = geometry.items.listed()
        order = np.argsort(geometry.items.numbers(rows, places))
        items = self.comparisons
        far = items.far if items.places is None else items.far[items.places]
        self.near, self.far = items.near[rows[order]], far[places[order]]
        linear_term = self.linear_term if np.ndim(self.linear_term) else None
        domain = NonnegativeOrthant() if self.diagonal else PSDCone()
        self.problem = Problem(
            geometry, SmoothedHinge(1.0, self.gamma, self.most), domain, linear_term
        )

    @cached_property
    def explicit(self) -> Independent:
        """The same without skscreen."""
        a, b = (self.X[pairs[:, 0]] - self.X[pairs[:, 1]] for pairs in (self.far, self.near))
        squares = [u**2 if self.diagonal else u[:, :, None] * u[:, None, :] for u in (a, b)]
        sizes = (a**2).sum(axis=1) + (b**2).sum(axis=1)
        thresholds = 1.0 if self.thresholds is None else self.thresholds
        weights = 1.0 if self.weights is None else self.weights
        return Independent(
            squares[0] - squares[1], self.gamma, thresholds, self.linear_term, weights, sizes,
            self.most,
        )  # fmt: skip

    def proximal(self, alpha, rng) -> Proximal | None:
        """For the hinge: dual variables of any origin, which are no subgradients."""
        if self.gamma > 0.0:
            return None
        centre = (alpha.copy(), np.ones_like(alpha), rng.random(alpha.size))[rng.integers(3)]
        width = 0.05 * np.abs(self.explicit.threshold).max()
        return Proximal(width, centre)


def real(name, rng, diagonal):
    """Rows and features of a real data set, standardised, scaled to [-1, 1] or as they are."""
    X, y = LOADERS[name](return_X_y=True)
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:10] for c in np.unique(y)])
    columns = rng.permutation(X.shape[1])[: 13 if diagonal else 6]
    X, y = X[rows][:, columns], y[rows]
    scaling = rng.integers(3)
    if scaling == 0:
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-6)
    elif scaling == 1:
        X = 2.0 * (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-6) - 1.0
    return X, y


def clusters(rng, n=None, d=None):
    """Gaussian classes that overlap more or less."""
    n, d = n or int(rng.integers(14, 27)), d or int(rng.integers(2, 7))
    y = np.arange(n) % int(rng.integers(2, 4))
    return rng.normal(size=(n, d)) + rng.choice([0.0, 0.5, 2.0]) * y[:, None], y


def spoiled(change):
    """Clusters after a change."""
    return lambda rng, diagonal: change(*clusters(rng), rng)


def wide(rng, diagonal):
    return clusters(rng, 14, 25 if diagonal else 15)


DATA = {name: (lambda rng, diagonal, name=name: real(name, rng, diagonal)) for name in LOADERS}
DATA |= {name: spoiled(change) for name, change in HARD.items()} | {"n < d": wide}
MIXED = "mixed comparisons"
KINDS = (*DATA, MIXED)


def draw(
    kind: str, diagonal: bool, gamma: float | None, rng, n_items: int = 300, term: bool = False
) -> Items:
    """A problem of a kind, drawn again while zero is optimal for every lambda (or nearly so).

    Without gamma it has the squared hinge, with `term` a linear term of any signs.
    """
    gamma, most = (0.5, np.inf) if gamma is None else (gamma, 1.0)
    while True:
        if kind == MIXED:
            name = list(DATA)[rng.integers(len(DATA))]
            X, _ = DATA[name](rng, diagonal)
            items = mixed(X - X.mean(axis=0), gamma, diagonal, rng, n_items // 2)
        else:
            items = labelled(kind, gamma, diagonal, rng, n_items)
        if term:
            items = replace(items, linear_term=items.linear_term + symmetric(items, rng))
        items = replace(items, most=most)
        if not items.explicit.is_zero() and items.explicit.lam_max() > 0.0:
            return items


def symmetric(items: Items, rng) -> np.ndarray:
    """A multiple of the identity, or any symmetric matrix, beside which the items still count."""
    S = items.explicit.adjoint(np.ones(len(items.near)))
    C = rng.normal(size=S.shape) if rng.random() < 0.7 else -np.ones(S.shape)
    if S.ndim == 2:
        C = C + C.T if C[0, 0] != -1.0 else -np.eye(len(S))
    return C * np.linalg.norm(S) / np.linalg.norm(C) * rng.choice([0.01, 0.1, 0.5])


def labelled(kind: str, gamma: float, diagonal: bool, rng, n_items: int) -> Items:
    """Triplets of labels share the far pairs of an anchor; a list of some of them does not."""
    X, y = DATA[kind](rng, diagonal)
    if kind != "off centre":
        X = X - X.mean(axis=0)
    few = max(int(np.sqrt(n_items / len(X))), 1)
    items = Items(X, triplets_from_labels(X, y, None), gamma, diagonal)
    if len(items.near) > n_items and rng.random() < 0.5:
        return Items(X, triplets_from_labels(X, y, few), gamma, diagonal)
    if len(items.near) > n_items:
        some = np.sort(rng.permutation(len(items.near))[:n_items])
        items = comparisons_from_arrays(items.near[some], items.far[some])
        return Items(X, items, gamma, diagonal)
    return items


def mixed(X, gamma, diagonal, rng, m) -> Items:
    """Quadruplets, pairs that are to be near and far, weights, and a pull (or none of these)."""
    quadruplets = rng.integers(len(X), size=(m, 4))
    near, far = rng.integers(len(X), size=(2, m // 3, 2))
    quadruplets = quadruplets[quadruplets[:, 2] != quadruplets[:, 3]]
    quadruplets, near, far = (q[q[:, 0] != q[:, 1]] for q in (quadruplets, near, far))
    squares = ((X[far[:, 0]] - X[far[:, 1]]) ** 2).sum(axis=1)
    unit = float(np.median(squares[squares > 0.0])) * rng.choice([0.1, 1.0, 1e3])
    unit = max(unit, 10.0 * gamma)
    upper, lower = unit * rng.uniform(0.2, 1.0, len(near)), unit * rng.uniform(1.0, 3.0, len(far))
    thresholds = np.concatenate([np.ones(len(quadruplets)), -upper, lower])
    a = np.concatenate([quadruplets[:, :2], near, far[:, [0, 0]]])
    b = np.concatenate([quadruplets[:, 2:], near[:, [0, 0]], far])
    weights = rng.choice([0.1, 1.0, 7.0], len(a)) if rng.random() < 0.7 else None
    linear_term = 0.0
    if rng.random() < 0.5:
        u = X[near[:5, 0]] - X[near[:5, 1]]
        linear_term = -((u**2).sum(axis=0) if diagonal else u.T @ u)
    items = comparisons_from_arrays(a, b, thresholds, weights)
    return Items(X, items, gamma, diagonal, thresholds, weights, linear_term)
