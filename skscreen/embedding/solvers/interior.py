"""Convex GNMDS with a hinge, or one with a narrow quadratic piece: by an interior point.

A hinge has any slope at its kink, where descent stops. With slacks p, n >= 0 the primal problem is

    min over G >= 0 of  sum_q w_q p_q + ridge tr(G),   p - n = 1 + <H_q, G> - width t

and its dual has slopes 0 <= t <= 1 (e = 1 - t) with Z = ridge I + sum_q w_q t_q H_q >= 0; see
`convex.py`. Newton steps lead to G Z = mu I, w p e = mu, w n t = mu with ever smaller mu. The
matrices G and Z are scaled by W, for which W Z W = G (Nesterov and Todd), so that a step takes one
symmetric system, of the size of the answers or of the pairs of objects, whichever are fewer.

S. Mehrotra (1992). On the implementation of a primal-dual interior point method. SIAM Journal on
Optimization 2, 575-601. Y. E. Nesterov, M. J. Todd (1998). Primal-dual interior-point methods for
self-scaled cones. SIAM Journal on Optimization 8, 324-364.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh, eigvalsh, solve_triangular
from scipy.sparse.linalg import LinearOperator, cg

from skscreen.core.floats import EPS
from skscreen.embedding.problem.answers import quadruplets
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers.convex import convex, feasible, principal_axes, proved
from skscreen.embedding.solvers.state import Progress, Settings

# Share of the way to the boundary that is gone.
_NEAR = 0.97
# Largest system; larger problems are left to descent.
LARGEST_SYSTEM = 8000


class Hinges:
    """Distinct answers as numbers <H_q, G>, with their shares of the weight."""

    def __init__(self, problem: EmbeddingProblem):
        n, ends = problem.n_objects, quadruplets(problem.answers)
        weights = problem.weights
        self.first, self.second = np.triu_indices(n, 1)
        place = np.zeros((n, n), dtype=np.int64)
        place[self.first, self.second] = np.arange(len(self.first))
        place += place.T
        pairs = np.stack([place[ends[:, 0], ends[:, 1]], place[ends[:, 2], ends[:, 3]]], axis=1)
        pairs, same = np.unique(pairs, axis=0, return_inverse=True)
        self.n, self.m = n, len(pairs)
        self.pairs = pairs
        totals = np.bincount(same.ravel(), weights, self.m)
        self.w = totals / totals.sum()
        # e_i - e_j of each pair.
        self.ends = np.eye(n)[self.first] - np.eye(n)[self.second]
        entries = np.repeat(np.arange(self.m), 2), pairs.ravel()
        signs = np.tile([1.0, -1.0], self.m)
        self.A = sparse.csr_array((signs, entries), shape=(self.m, len(self.first)))

    def of(self, G: np.ndarray) -> np.ndarray:
        """<H_q, G> of each answer."""
        squares = np.diag(G)
        i, j = self.first, self.second
        return self.A @ (squares[i] + squares[j] - 2.0 * G[i, j])

    def sum(self, t: np.ndarray) -> np.ndarray:
        """sum_q w_q t_q H_q."""
        L = np.zeros((self.n, self.n))
        L[self.first, self.second] = -(self.A.T @ (self.w * t))
        L += L.T
        L[np.diag_indices(self.n)] = -L.sum(axis=1)
        return L

    def factor(
        self, W: np.ndarray, inverse: np.ndarray, diagonal: np.ndarray, by_pairs: bool
    ) -> Callable[..., np.ndarray]:
        """Return a solver of sum_r w_q w_r <H_q, W H_r W> x_r + w_q diagonal_q x_q = b_q."""
        w, D = self.w, self.w * diagonal
        if not by_pairs:
            gram = np.zeros((self.m, self.m))
            sides = [self.ends[ends] for ends in self.pairs.T]
            for a, side in enumerate(sides):
                for b, other in enumerate(sides):
                    product = side @ W @ other.T
                    gram += product**2 if a == b else -(product**2)
            gram *= w[:, None] * w
            gram[np.diag_indices(self.m)] += D
            whole = cho_factor(gram, overwrite_a=True, check_finite=False)
            return lambda b: cho_solve(whole, b, check_finite=False)
        # (D + A C A')^-1 by that of the pairs, where C has an inverse of the same kind.
        V = inverse - inverse.mean(axis=0)
        V -= V.mean(axis=1)[:, None]
        i, j = self.first, self.second
        # Rows, then columns: several times as fast as both at once.
        system, crossed = np.take(V[i], i, axis=1), np.take(V[i], j, axis=1)
        system *= np.take(V[j], j, axis=1)
        system += crossed * crossed.T
        system *= 0.5
        weighted = self.A.multiply(w[:, None]).tocsr()
        squares = (weighted.T @ weighted.multiply(1.0 / D[:, None])).tocoo()
        system[squares.row, squares.col] += squares.data
        pairs = cho_factor(system.T, overwrite_a=True, check_finite=False)

        def solve(b):
            return (b - weighted @ cho_solve(pairs, weighted.T @ (b / D), check_finite=False)) / D

        return solve


class Point(NamedTuple):
    """A primal and a dual point, or a step between two: `G, Z` (n, n); `p, n, t` (m,)."""

    G: np.ndarray
    Z: np.ndarray
    p: np.ndarray
    n: np.ndarray
    t: np.ndarray

    def moved(self, step: "Point", primal: float, dual: float) -> "Point":
        """Return the point some way along a step."""
        lengths = (primal, dual, primal, primal, dual)
        return Point(*(x + a * dx for x, dx, a in zip(self, step, lengths, strict=True)))

    def lengths(self, step: "Point") -> tuple[float, float]:
        """Shares of a step after which the primal and the dual point are still inside."""
        primal = min(_to_zero(self.p, step.p), _to_zero(self.n, step.n), _to_edge(self.G, step.G))
        dual = min(
            _to_zero(self.t, step.t), _to_zero(1.0 - self.t, -step.t), _to_edge(self.Z, step.Z)
        )
        return primal, dual

    def complementarity(self, w: np.ndarray) -> float:
        """<G, Z> + sum_q w_q (p e + n t)."""
        return float(np.vdot(self.G, self.Z) + w @ (self.p * (1.0 - self.t) + self.n * self.t))


def _to_zero(x: np.ndarray, step: np.ndarray) -> float:
    fastest = float(np.max(-step / x))
    return min(1.0, _NEAR / fastest) if fastest > 0.0 else 1.0


def _to_edge(M: np.ndarray, step: np.ndarray) -> float:
    """As `_to_zero` for the eigenvalues of a matrix."""
    L = cholesky(M, lower=True, check_finite=False)
    half = solve_triangular(L, step, lower=True, check_finite=False)
    relative = solve_triangular(L, half.T, lower=True, check_finite=False)
    lowest = float(eigvalsh(0.5 * (relative + relative.T), subset_by_index=[0, 0])[0])
    return min(1.0, -_NEAR / lowest) if lowest < 0.0 else 1.0


def interior(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings, rng: Any = None
) -> Iterator[Progress]:
    """Minimise F of a hinge over points in as many dimensions as it takes; see `convex`."""
    hinges, width = Hinges(problem), problem.terms.shape
    # Without a ridge nothing but 0 can be proved.
    ridge = max(problem.reg / problem.n_objects, 1e-9)
    # Fewer pairs than answers take less time, but have larger rounding errors.
    sizes = {True: len(hinges.first), False: hinges.m}
    ways = [way for way in (True, False) if sizes[way] <= min(LARGEST_SYSTEM, hinges.m)]
    if not ways:
        yield from convex(problem, X, settings)
        return
    point = _start(hinges, ridge, width)
    for passes in range(settings.max_iter or 100):
        value, gap, points = _certified(problem, hinges, point)
        X[:] = 0.0
        used = min(X.shape[1], points.shape[1])
        X[:, :used] = points[:, :used]
        done = gap <= settings.tol
        yield Progress(passes + 1.0, value, 0.0, X, done, gap)
        if done:
            return
        for by_pairs in ways:
            try:
                after = _moved(hinges, point, ridge, width, by_pairs)
            except np.linalg.LinAlgError:
                continue
            # A step that raises it much is wrong.
            if after.complementarity(hinges.w) < 2.0 * point.complementarity(hinges.w):
                break
        else:
            # Rounding errors prevent further progress.
            return
        point = after


def _start(hinges: Hinges, ridge: float, width: float) -> Point:
    """Return objects at equal distances, and small equal slopes."""
    S = hinges.sum(np.full(hinges.m, 1.0))
    lowest = float(eigvalsh(S, subset_by_index=[0, 0])[0])
    share = min(0.5, -0.5 * ridge / lowest) if lowest < 0.0 else 0.5
    # Objects at equal distances have <H, G> = 0.
    p = np.full(hinges.m, 2.0 - width * share)
    Z = share * S + ridge * np.eye(hinges.n)
    return Point(np.eye(hinges.n), Z, p, np.ones(hinges.m), np.full(hinges.m, share))


def _moved(hinges: Hinges, at: Point, ridge: float, width: float, by_pairs: bool) -> Point:
    """Return the point after a step: predicted without mu, then corrected with it."""
    w, e, identity = hinges.w, 1.0 - at.t, np.eye(hinges.n)
    L = cholesky(at.Z, lower=True, check_finite=False)
    K = cho_solve((L, True), identity, check_finite=False)
    values, U = eigh(L.T @ at.G @ L, check_finite=False)
    # R' Z R and R^-1 G R^-T are the same diagonal matrix.
    roots = np.sqrt(np.maximum(values, EPS * values[-1]))
    R = solve_triangular(L, U, lower=True, trans="T", check_finite=False) * np.sqrt(roots)
    back = L @ U / np.sqrt(roots)
    W, inverse = R @ R.T, back @ back.T
    diagonal = at.p / e + at.n / at.t + width
    factor = hinges.factor(W, inverse, diagonal, by_pairs)

    def system(x):
        return w * (hinges.of(W @ hinges.sum(x) @ W) + diagonal * x)

    def solve(b):
        whole, roughly = (LinearOperator((hinges.m,) * 2, by) for by in (system, factor))
        return cg(whole, b, factor(b), rtol=1e-9, maxiter=10, M=roughly)[0]

    def step(mu, G_too=0.0, p_too=0.0, n_too=0.0):
        fixed = mu * K - G_too - at.G
        p_end, n_end = (mu / w - p_too) / e, (mu / w - n_too) / at.t
        dt = solve(w * (1.0 - width * at.t + hinges.of(at.G + fixed) - p_end + n_end))
        dS = hinges.sum(dt)
        return Point(
            fixed - W @ dS @ W,
            dS,
            p_end - at.p + at.p / e * dt,
            n_end - at.n - at.n / at.t * dt,
            dt,
        )

    def inside(step):
        primal, dual = at.lengths(step)
        # With a quadratic piece t is in the primal constraint.
        return (primal, dual) if width == 0.0 else (min(primal, dual),) * 2

    before, size = at.complementarity(w), hinges.n + 2 * hinges.m
    guess = step(0.0)
    left = at.moved(guess, *inside(guess)).complementarity(w) / before
    product = (back.T @ guess.G @ back) @ (R.T @ guess.Z @ R)
    product = (product + product.T) / (roots[:, None] + roots)
    mu = min(max(left, 0.0), 1.0) ** 3 * before / size
    full = step(mu, R @ product @ R.T, -guess.p * guess.t, guess.n * guess.t)
    after = at.moved(full, *inside(full))
    off = 1.0 + hinges.of(after.G) - width * after.t - after.p + after.n
    return after._replace(p=after.p + np.maximum(off, 0.0), n=after.n + np.maximum(-off, 0.0))


def _certified(problem, hinges: Hinges, at: Point) -> tuple[float, float, np.ndarray]:
    """F at points of G, the relative gap, and the points along their principal axes."""
    values, vectors = eigh(at.G, check_finite=False)
    # Axes shorter than 1e-9 of the longest are rounding errors.
    kept = values > 1e-18 * values[-1]
    points = principal_axes(vectors[:, kept] * np.sqrt(values[kept]), hinges.n)
    value = problem.evaluate(points)[0]
    scale, _ = feasible(hinges.sum(at.t), problem.reg / hinges.n)
    t = scale * at.t
    bound = proved(float(hinges.w @ (t - 0.5 * problem.terms.shape * t**2)))
    return value, max(value - bound, 0.0) / value if value > 0.0 else 0.0, points
