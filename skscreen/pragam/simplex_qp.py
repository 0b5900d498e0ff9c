"""A quadratic programme over the simplex that grows by one variable at a time."""

import numpy as np

from skscreen.core.floats import EPS


def maximise_on_simplex(G: np.ndarray, b: np.ndarray, x: np.ndarray, tol: float) -> None:
    """Maximise b'x - x'G x / 2 over x >= 0, sum x = 1, from a feasible x, in place."""
    # An active-set method: Newton steps on the support until it stays positive, then the variable
    # of largest gradient joins. With the gradient r = b - G x at most max_j r_j - r'x is missing.
    support, settled, refinements = x > 0.0, True, 0
    for _ in range(20 * x.size):
        # G x by the few rows of the support: x is zero elsewhere, and G is symmetric.
        r = b - x[support] @ G[support]
        top = int(np.argmax(r))
        rounding = 8.0 * EPS * float(abs(b[top]) + np.abs(b) @ x)
        if r[top] - r @ x <= max(tol, rounding):
            break
        if settled:
            # Only rounding errors are left on the support.
            refinements += bool(support[top])
            if refinements > 3:
                break
            support[top] = True
        inside = np.flatnonzero(support)
        direction = _newton(G[np.ix_(inside, inside)], r[inside])
        ratios = np.full(inside.size, np.inf)
        np.divide(-x[inside], direction, out=ratios, where=direction < 0.0)
        blocking = int(np.argmin(ratios))
        settled, before = bool(ratios[blocking] >= 1.0), x.copy()
        x[inside] = np.maximum(x[inside] + min(ratios[blocking], 1.0) * direction, 0.0)
        if not settled:
            x[inside[blocking]] = 0.0
            support[inside[blocking]] = False
        total = x.sum()
        if not total > 0.0:
            # Rounding errors of a direction that should not change the sum.
            x[:] = before
            break
        x /= total


def _newton(G: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return the step that maximises the quadratic model and keeps the sum."""
    # Columns may differ by many orders, so the matrix is scaled to a diagonal of ones; it has a
    # ridge for parallel columns, which does not move the solution. Next to a column of zeros only
    # the gradient matters.
    n, diagonal = r.size, G.diagonal()
    scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-30 * float(diagonal.max()) or 1.0))
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = scale[:, None] * G * scale
    system[np.arange(n), np.arange(n)] += 1e-13
    # The system is bordered; with the multiplier eliminated and G nearly singular, the step would
    # be the difference of two nearly equal long vectors.
    system[n, :n] = system[:n, n] = scale / scale.max()
    return scale * np.linalg.solve(system, np.append(scale * r, 0.0))[:n]
