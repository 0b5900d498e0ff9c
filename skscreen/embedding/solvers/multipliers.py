"""Convex GNMDS with a hinge, or one with a narrow quadratic piece: by the method of multipliers.

With the conjugate of the loss, F(G) = max over t in [0, 1] of a mean of t (1 + z) - width / 2 t^2,
and the ridge. A hinge has any slope at its kink, and descent stops there. So each round minimises

    mean_q w_q max over t of [t (1 + z_q) - width / 2 t^2 - penalty / 2 (t - t_q)^2] + reg / n tr(G)

over points of G = X X^T, which is smooth, and takes the maximising t for the next t_q (for the
hinge this is the augmented Lagrangian of z = a - c). The rounds end at the optimum of the hinge
itself, whatever the penalty is, and the t_q prove it: see `convex.py`.
"""

from collections.abc import Iterator

import numpy as np
from scipy.optimize import minimize

from skscreen.embedding.problem.objective import EmbeddingProblem, margins
from skscreen.embedding.solvers.convex import (
    feasible,
    mean_slopes,
    principal_axes,
    proved,
    widened,
)
from skscreen.embedding.solvers.state import Progress, Settings

_ROUNDS = 300
# First and smallest penalty, and its decrease where a solved round did not halve the gap.
_PENALTY, _LEAST_PENALTY, _WEAKER = 1.0, 1e-4, 0.3
# First size of the gradient, over the ridge, at which a descent stops, and its decrease; its steps.
_ROUGH, _STRICTER, _STEPS = 1e-3, 0.3, 300
# A round is solved if its gap is below this share of that of the hinge; its t are taken, too, while
# the gap is large, where they are nearly feasible.
_SOLVED, _FEASIBLE = 0.3, 0.99
# Axes that are shorter than this share of the points are left out.
_SHORT = 1e-7


class _Smooth:
    """The problem of a round; see above.

    Parameters
    ----------
    problem : EmbeddingProblem
    """

    def __init__(self, problem: EmbeddingProblem):
        self.problem, self.penalty = problem, _PENALTY
        self.ridge = problem.reg / problem.n_objects
        self.t, self.passes = np.zeros((len(problem.answers), 1)), 0

    def _mean(self, values: np.ndarray) -> float:
        return float(np.average(values[:, 0], weights=self.problem.weights))

    def dual(self, t: np.ndarray, *, penalised: bool) -> float:
        """Mean of -f*(t), with the penalty or without."""
        penalty = 0.5 * self.penalty * (t - self.t) ** 2 if penalised else 0.0
        return self._mean(t - 0.5 * self.problem.terms.shape * t**2 - penalty)

    def at(self, X: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the value, the maximising t, and S of `mean_slopes` at points X."""
        terms = self.problem.terms
        z = -margins(X, terms.answers)[:, None]
        # The loss with a piece of this width has the slopes t at these numbers.
        terms = terms._replace(shape=terms.shape + self.penalty)
        t, S = mean_slopes(z + self.penalty * self.t, terms, len(X))
        self.passes += 1
        value = self.dual(t, penalised=True) + self._mean(t * z)
        return value + self.ridge * float(np.vdot(X, X)), t, S

    def descend(self, X: np.ndarray, rough: float) -> np.ndarray:
        """Return points along their principal axes, with a gradient of about rough * ridge."""

        def objective(flat):
            points = flat.reshape(X.shape)
            value, _, S = self.at(points)
            return value, 2.0 * (S @ points + self.ridge * points).ravel()

        found = minimize(
            objective, X.ravel(), jac=True, method="L-BFGS-B",
            options={"maxiter": _STEPS, "maxcor": 20, "ftol": 1e-15, "gtol": rough * self.ridge},
        )  # fmt: skip
        points = principal_axes(found.x.reshape(X.shape), min(X.shape))
        lengths = np.linalg.norm(points, axis=0)
        return np.ascontiguousarray(points[:, lengths >= _SHORT * lengths.max(initial=0.0)])


def multipliers(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings, rng=None
) -> Iterator[Progress]:
    """Minimise F of a hinge over points in as many dimensions as it takes; see `convex`.

    References
    ----------
    R. T. Rockafellar (1976). Augmented Lagrangians and applications of the proximal point algorithm
    in convex programming. Mathematics of Operations Research 1, 97-116.
    """
    smooth, points, rough = _Smooth(problem), X - X.mean(axis=0), _ROUGH
    before = np.inf
    for _ in range(settings.max_iter or _ROUNDS):
        points = smooth.descend(points, rough)
        smooth_value, t, S = smooth.at(points)
        scale, directions = feasible(S, smooth.ridge)
        t *= scale
        value = problem.evaluate(points)[0]
        away = value - proved(smooth.dual(t, penalised=False))
        gap = max(away, 0.0) / value if value > 0.0 else 0.0
        X[:] = 0.0
        width = min(X.shape[1], points.shape[1])
        X[:, :width] = points[:, :width]
        yield Progress(float(smooth.passes), value, 0.0, X, gap <= settings.tol, gap)
        # Without a ridge nothing but 0 can be proved.
        if gap <= settings.tol or smooth.ridge == 0.0:
            return
        wider = widened(lambda wider: smooth.at(wider)[0], points, directions, smooth_value)
        points = points if wider is None else wider
        solved = smooth_value - smooth.dual(t, penalised=True) < _SOLVED * away
        if solved and gap > 0.5 * before:
            smooth.penalty = max(_WEAKER * smooth.penalty, _LEAST_PENALTY)
        if solved:
            before = gap
        if solved or (scale > _FEASIBLE and gap > 1.0 - _FEASIBLE):
            smooth.t = t
        else:
            rough *= _STRICTER
