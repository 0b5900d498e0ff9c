"""A quadratic programme over the simplex that grows by one variable at a time."""

import numpy as np
from numba import njit

from skscreen.problems.pair_kernels import EPS

# Largest number of changes of the support, as a multiple of the number of variables; and a ridge,
# relative to the largest diagonal entry, for parallel columns. Steps are Newton steps on the rest
# of the gradient, so that the ridge does not move the solution.
_CHANGES, _RIDGE = 20, 1e-13
# Newton steps spent on rounding errors.
_REFINEMENTS = 3


@njit(cache=True, nogil=True)
def maximise_on_simplex(G, b, x, tol):
    """Maximise b'x - x'G x / 2 over x >= 0, sum x = 1, from a feasible x, in place.

    An active-set method: Newton steps on the support until it stays positive, then the variable
    of largest gradient joins. With the gradient r = b - G x at most max_j r_j - r'x is missing; the
    solve ends when that is at most `tol` or rounding. Returns the value.
    """
    n = x.size
    ridge = 0.0
    for j in range(n):
        ridge = max(ridge, _RIDGE * G[j, j])
    support = x > 0.0
    settled, refinements = True, 0
    for _ in range(_CHANGES * n):
        r = b - G @ x
        top = np.argmax(r)
        if r[top] - r @ x <= max(tol, 8.0 * EPS * np.abs(b).max()):
            break
        if settled:
            # Nothing but rounding errors is left on the support.
            refinements += support[top]
            if refinements > _REFINEMENTS:
                break
            support[top] = True
        inside = np.flatnonzero(support)
        direction = _newton(G, r, inside, ridge)
        length, blocking = 1.0, -1
        for k in range(inside.size):
            if direction[k] < 0.0 and -x[inside[k]] / direction[k] < length:
                length, blocking = -x[inside[k]] / direction[k], inside[k]
        for k in range(inside.size):
            x[inside[k]] = max(x[inside[k]] + length * direction[k], 0.0)
        if blocking >= 0:
            x[blocking] = 0.0
            support[blocking] = False
        settled = blocking < 0
        x /= x.sum()
    return b @ x - 0.5 * (x @ (G @ x))


@njit(cache=True, nogil=True)
def _newton(G, r, inside, ridge):
    """Return the step on the support that maximises the quadratic model and keeps the sum."""
    m = inside.size
    A = np.empty((m, m))
    right = np.ones((m, 2))
    for k in range(m):
        for l in range(m):
            A[k, l] = G[inside[k], inside[l]]
        A[k, k] += ridge
        right[k, 0] = r[inside[k]]
    if ridge == 0.0:
        # All columns are zero: the gradient decides.
        for k in range(m):
            A[k, k] = 1.0
    solved = np.linalg.solve(A, right)
    return solved[:, 0] - solved[:, 0].sum() / solved[:, 1].sum() * solved[:, 1]
