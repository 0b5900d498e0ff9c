"""Newton's method on the free samples of a working set whose kernel matrix is known.

For large C, SMO takes many steps along directions of little curvature. If no sample leaves its
bound, the free beta solve one linear system. Along directions of hardly any curvature its solution
lies far outside the box, and the part of the step inside may not increase the dual. So the system
is damped, by the curvature at which the present slopes would lead across the box. All samples that
would leave the box stop at its bounds, and the system of the others is solved again. If the step
that is left is no ascent, it is found anew with more damping. An exact line search keeps the dual
from falling, whatever the rounding errors.

Each system is solved by a Cholesky factor in single precision. Conjugate gradients, with products
added up in double precision, remove the rounding errors in a few steps.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, get_blas_funcs

from skscreen._compiled import svm

# Ridges that are tried one after the other, relative to the mean diagonal: in units of rounding
# errors of the matrix, then of single precision, as its values may have been rounded before.
_RIDGES = (16.0, 256.0, 4096.0)


# A step that overflows is not taken.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def newton_step(
    K: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    beta: np.ndarray,
    g: np.ndarray,
    group: np.ndarray,
) -> bool:
    """Move free samples of beta (m,) towards the solution of their system; return whether it moved.

    K (m, n) has s_i on its diagonal; columns from m on are padding, as in the gradient g (n,). The
    sum of beta in each `group` (m,) is kept; it is empty where there is no intercept.
    """
    m = len(K)
    free = _movable(low, high, beta, g[:m], group)
    if free.size < 2:
        return False
    slopes, width = g[free], high[free] - low[free]
    spread = np.abs(slopes).max()
    if group.size:
        spread = max(np.ptp(slopes[own]) for own in _members(group[free]))
    across, beside = np.median(width), np.minimum(width, np.abs(beta[free])).mean()
    # Shares of the curvature that would lead as far as from zero to beta.
    for share in (0.0, 1e-4, 1e-2, 1.0):
        damping = spread / across + (spread * share / beside if share else 0.0)
        try:
            change = _projected(K, low, high, beta, g[:m], free, damping, group)
        except LinAlgError:
            continue
        slope = float(change @ g[:m])
        if slope > 0.0:
            break
    else:
        return False
    effect = _products(K, np.arange(m), change)
    curvature = float(change @ effect)
    step = min(1.0, slope / curvature) if curvature > 0.0 else 1.0
    beta += step * change
    np.clip(beta, low, high, out=beta)
    g[:m] -= step * effect
    return True


def _products(K, index: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return K[index, : m] x, added up in double precision; x (m,)."""
    out = np.empty(index.size)
    svm.products_of_rows(K, index, x, out)
    return out


def _members(group: np.ndarray) -> list[np.ndarray]:
    """Return the places of each group that has any."""
    if not group.any():
        return [np.arange(group.size)] if group.size else []
    found = [np.flatnonzero(group == k) for k in range(int(group.max()) + 1)]
    return [own for own in found if own.size]


def _movable(low, high, beta, g, group: np.ndarray) -> np.ndarray:
    """Return the free samples, and as many of those at bounds with the largest slopes inwards."""
    free = (beta > low) & (beta < high)
    n_free = int(np.count_nonzero(free))
    if n_free == 0:
        return np.flatnonzero(free)
    slopes = g.copy() if group.size else g
    for own in _members(group):
        if free[own].any():
            slopes[own] -= np.median(g[own][free[own]])
    inwards = np.where(beta >= high, -slopes, slopes)
    inwards[free | (low == high)] = 0.0
    if np.count_nonzero(inwards > 0.0) > n_free:
        inwards[inwards < np.partition(inwards, -n_free)[-n_free]] = 0.0
    return np.flatnonzero(free | (inwards > 0.0))


def _projected(K, low, high, beta, g, free, damping: float, group: np.ndarray) -> np.ndarray:
    """Return a change of the free samples that stays in the box."""
    change, groups = np.zeros(beta.size), _members(group)
    # Each system fixes samples at bounds.
    for _ in range(6):
        rest = g[free] - _products(K, free, change)
        # Groups without a free sample have kept their sums.
        inside = [(own, np.isin(free, own)) for own in groups] if len(groups) > 1 else []
        if groups and not inside:
            inside = [(groups[0], np.ones(free.size, np.bool_))]
        ends = [(change[own].sum(), mine.astype(np.float64)) for own, mine in inside if mine.any()]
        x = _System(K, free, damping).solve(rest, ends)
        target = beta[free] + x
        inner = np.clip(target, low[free], high[free])
        out = inner != target
        if not out.any():
            change[free] = x
            return change
        change[free[out]] = (inner - beta[free])[out]
        free = free[~out]
        if free.size < 2:
            break
    for own in groups:
        # Share the rest of the sum among the variables that can still move.
        excess = change[own].sum()
        room = np.where(excess > 0.0, beta + change - low, high - beta - change)
        # Without a bound there is room for twice the value.
        room = np.where(np.isfinite(room), room, np.abs(beta + change))
        room[np.setdiff1d(np.arange(beta.size), np.intersect1d(free, own))] = 0.0
        total = room.sum()
        if abs(excess) > total:
            return np.zeros(beta.size)
        if total > 0.0:
            change -= excess * room / total
    return change


class _System:
    """The damped kernel matrix of some samples, factored."""

    def __init__(self, K, samples: np.ndarray, damping: float):
        self._samples, self._K, self._damping = samples, K, damping
        size = float(K[samples, samples].mean()) + damping
        own, single = (float(np.finfo(dtype).eps) for dtype in (K.dtype, np.float32))
        for ridge in (_RIDGES[0] * own, *(ridge * single for ridge in _RIDGES)):
            try:
                self._factor = self._factored(ridge * size)
                return
            except LinAlgError:
                continue
        raise LinAlgError

    def _factored(self, ridge: float):
        K, lower = self._K, np.empty((self._samples.size, self._samples.size), self._K.dtype)
        diagonal = np.full(len(K), self._damping + ridge, K.dtype)
        svm.newton_system(K, self._samples, diagonal, lower)
        # Seen as Fortran's the triangle is the upper one, and the factor takes its place.
        return cho_factor(lower.T, overwrite_a=True, check_finite=False)[0]

    def solve(self, rest: np.ndarray, ends: list[tuple[float, np.ndarray]]) -> np.ndarray:
        """Solve (K + damping) x + sum_g b_g e_g = rest with <e_g, x> = -total_g for (total, e)."""
        x, residual = np.zeros(rest.size), rest
        along = np.empty((rest.size, len(ends)))
        ones = np.stack([e for _, e in ends], axis=1) if ends else along
        if ends:
            for k, (_, e) in enumerate(ends):
                along[:, k] = self._back(e)
            along = along @ np.linalg.inv(ones.T @ along)
            x -= along @ np.array([total for total, _ in ends])
            residual = rest - self._times(x)
        direction, before, first = np.zeros(rest.size), np.inf, None
        # Conjugate gradients, to a ten-thousandth of the first residual.
        for _ in range(6):
            z = self._back(residual)
            z -= along @ (ones.T @ z)
            now = float(residual @ z)
            first = now if first is None else first
            if not now > 1e-4**2 * first:
                break
            direction = z + now / before * direction
            effect = self._times(direction)
            curvature = float(direction @ effect)
            if not curvature > 0.0:
                break
            x += now / curvature * direction
            residual = residual - now / curvature * effect
            before = now
        return x

    def _back(self, values: np.ndarray) -> np.ndarray:
        """Return the product with the inverse, as precise as the factor is."""
        # Of one vector, which LAPACK's solution of many is five times as slow for.
        solve = get_blas_funcs("trsv", (self._factor,))
        half = solve(self._factor, values.astype(self._K.dtype), trans=1, overwrite_x=True)
        return solve(self._factor, half, overwrite_x=True).astype(np.float64)

    def _times(self, x: np.ndarray) -> np.ndarray:
        """Return (K + damping) x."""
        whole = np.zeros(len(self._K))
        whole[self._samples] = x
        return _products(self._K, self._samples, whole) + self._damping * x
