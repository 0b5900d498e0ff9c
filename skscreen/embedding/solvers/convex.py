"""The convex formulation of ordinal embedding, over Gram matrices, with a certificate.

Squared distances g_ii - 2 g_ij + g_jj are linear in the Gram matrix G = X X^T of points. GNMDS and
STE are convex functions f of z = a - c = <H, G>, and the odd one out, log(1 + exp(a - c) +
exp(a - e)), is one of two such numbers, so all three are convex in G (t-STE, CKL and SOE are not):

    min over G >= 0 of  F(G) = sum_q w_q f(<H_q1, G>, ...) / sum_q w_q + reg / n tr(G)

G is the Gram matrix of points in n dimensions, so the optimum is that of points in any number of
dimensions. With the conjugate f* the dual problem is

    max over t of  -sum_q w_q f*(t_q) / sum_q w_q
    subject to     reg / n I + sum_q w_q sum_r t_qr H_qr / sum_q w_q >= 0

Slopes t_q = f'(z_q) at any points, scaled down until that matrix is positive semidefinite, give a
lower bound. It meets F where the points are optimal. Where they are not, eigenvectors of the
gradient in G with negative eigenvalues are dimensions along which F falls.

S. Burer, R. D. C. Monteiro (2003). A nonlinear programming algorithm for solving semidefinite
programs via low-rank factorization. Mathematical Programming 95, 329-357.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.linalg import eigh

from skscreen._compiled import embedding
from skscreen.core.floats import EPS
from skscreen.embedding.problem.objective import EmbeddingProblem, margins
from skscreen.embedding.solvers.lbfgs import lbfgs
from skscreen.embedding.solvers.state import Progress, Settings


def convex(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings,
    rng: np.random.Generator | None = None,
) -> Iterator[Progress]:  # fmt: skip
    """Minimise over points in as many dimensions as it takes; X gets the longest principal axes."""
    # A descent stops at a tenth of the tolerance; if more dimensions do not help, at a tenth of
    # that, and so on down to rounding errors.
    points, passes, tol = X - X.mean(axis=0), 0.0, 0.1 * settings.tol
    gap = np.inf
    for _ in range(settings.max_iter or 100):
        *_, progress = lbfgs(problem, points, replace(settings, tol=tol, max_iter=None))
        passes += progress.passes
        points, before = principal_axes(points, min(points.shape)), gap
        value, bound, directions = value_and_bound(problem, points)
        X[:] = 0.0
        X[:, : points.shape[1]] = points[:, : X.shape[1]]
        gap = max(value - bound, 0.0) / value if value > 0.0 else 0.0
        yield Progress(passes, value, 0.0, X, gap <= settings.tol, gap)
        wider = _widened(problem, points, directions, value)
        if gap <= settings.tol or (wider is None and tol < 1e-15):
            return
        if gap > 0.5 * before:
            tol *= 0.1
        points = points if wider is None else wider


def value_and_bound(problem: EmbeddingProblem, X: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return F at X, a proved lower bound of all F, and directions in which F falls."""
    terms, n = problem.terms, problem.n_objects
    value = problem.evaluate(X)[0]
    z = [-margins(X, terms.answers)]
    if problem.loss.of_trials:
        z.append(-margins(X, terms.answers[:, [1, 0, 2]]))
    # f'(z_q), and the weighted mean of their sums with H_q.
    t, S = np.empty((len(z[0]), len(z))), np.zeros((n, n))
    embedding.convex_slopes(np.stack(z, axis=1), terms, t, S)
    scale, directions = feasible(S, terms.reg / n)
    # -f*(t_q) of each answer.
    duals = np.empty(len(t))
    embedding.conjugates(terms.loss, terms.shape, scale * t, duals)
    return value, proved(float(np.average(duals, weights=problem.weights))), directions


def feasible(S: np.ndarray, ridge: float) -> tuple[float, np.ndarray]:
    """Return a factor that makes slopes feasible, and up to 4 directions in which F falls."""
    n = len(S)
    eigenvalues, vectors = eigh(S, subset_by_index=[0, min(4, n) - 1])
    # Rounding errors of the eigenvalues, and of the entries of S, which are sums over the answers.
    rounding = 8.0 * EPS * n * float(np.linalg.norm(S)) + 8.0 * EPS * float(np.abs(S).max())
    lowest = float(eigenvalues[0]) - rounding
    scale = 1.0 if lowest >= -ridge else min(1.0, ridge / -lowest)
    return scale, vectors[:, eigenvalues < -ridge]


def proved(dual: float) -> float:
    """Return a lower bound in spite of rounding; losses are not negative, so t = 0 proves 0."""
    return max(dual * (1.0 - 64.0 * EPS), 0.0)


def _widened(
    problem: EmbeddingProblem, points: np.ndarray, directions: np.ndarray, value: float
) -> np.ndarray | None:
    """Return points with more dimensions and a lower F, or None."""
    if directions.shape[1] == 0:
        return None
    size = max(float(np.sqrt(np.mean(points**2)) * np.sqrt(len(points))), 1e-3)
    for _ in range(40):
        wider = np.hstack([points, size * directions])
        if problem.evaluate(wider)[0] < value:
            return np.ascontiguousarray(wider)
        size *= 0.5
    return None


def principal_axes(points: np.ndarray, n_components: int) -> np.ndarray:
    """Return centred coordinates along the longest axes."""
    centred = points - points.mean(axis=0)
    axes = eigh(centred.T @ centred)[1][:, : -n_components - 1 : -1]
    return np.ascontiguousarray(centred @ axes)
