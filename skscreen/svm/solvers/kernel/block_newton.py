"""Newton's method on the free samples of a working set whose kernel matrix is known.

For large C, SMO takes many steps along directions of little curvature. If no sample leaves its
bound, the free beta solve one linear system, by a Cholesky factor in single precision. Along
directions of hardly any curvature its solution lies far outside the box, and the part of the step
inside may not increase the dual. So the system is damped, by the curvature at which the present
slopes would lead across the box. All samples that would leave the box stop at its bounds, and the
system of the others is solved again. An exact line search keeps the dual from falling, whatever the
rounding errors.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

# Largest number of systems in one step; each fixes samples at bounds.
_MOST_SYSTEMS = 6

# Largest system: its factor takes 400 MB.
LARGEST_SYSTEM = 10_000

# Ridge, relative to the mean diagonal, against rounding errors of single precision.
_RIDGE = 2e-6

# Steps of iterative refinement: they remove the errors of the ridge and of single precision.
_REFINEMENTS = 3


def newton_step(K, low, high, beta, g, with_offset: bool) -> bool:
    """Move the free samples towards the solution of their system, as long as the dual rises.

    Parameters
    ----------
    K : float32 ndarray of shape (m, n)
        With s_i on the diagonal; columns from m on are padding, as are the entries of `g`.
    low, high, beta : ndarray of shape (m,)
        `beta` is changed.
    g : ndarray of shape (n,)
        The gradient, changed.
    with_offset : bool
        Whether the sum of beta has to stay.

    Returns
    -------
    bool
        Whether anything moved.
    """
    m = len(K)
    free = np.flatnonzero((beta > low) & (beta < high))
    if not 1 < free.size <= LARGEST_SYSTEM:
        return False
    try:
        change = _projected(K, low, high, beta, g[:m], free, with_offset)
    except LinAlgError:
        return False
    moved = np.flatnonzero(change)
    effect = change[moved].astype(np.float32) @ K[moved]
    slope, curvature = float(change @ g[:m]), float(change @ effect[:m])
    if not slope > 0.0:
        return False
    step = min(1.0, slope / curvature) if curvature > 0.0 else 1.0
    beta += step * change
    np.clip(beta, low, high, out=beta)
    g -= step * effect.astype(np.float64)
    return True


def _projected(K, low, high, beta, g, free, with_offset: bool) -> np.ndarray:
    """Return a change of the free samples that stays in the box."""
    # See above; falls with the slopes.
    change, slopes = np.zeros(beta.size), g[free]
    spread = slopes.max() - slopes.min() if with_offset else np.abs(slopes).max()
    damping = spread / np.median(high[free] - low[free])
    for _ in range(_MOST_SYSTEMS):
        stopped = np.flatnonzero(change)
        rest = g[free] - K[np.ix_(free, stopped)] @ change[stopped]
        x = _solve(K[np.ix_(free, free)], rest, change.sum() if with_offset else None, damping)
        target = beta[free] + x
        inside = np.clip(target, low[free], high[free])
        out = inside != target
        if not out.any():
            change[free] = x
            return change
        change[free[out]] = (inside - beta[free])[out]
        free = free[~out]
        if free.size < 2:
            break
    if with_offset:
        # Share the rest of the sum among the variables that can still move.
        room = np.where(change.sum() > 0.0, beta + change - low, high - beta - change)
        room[np.setdiff1d(np.arange(beta.size), free, assume_unique=True)] = 0.0
        total = room.sum()
        if abs(change.sum()) > total:
            return np.zeros(beta.size)
        if total > 0.0:
            change -= change.sum() * room / total
    return change


def _solve(matrix, rest, total: float | None, damping: float) -> np.ndarray:
    """Solve (matrix + damping) x + b = rest with sum x = -total; without a total b = 0."""
    own = np.ascontiguousarray(matrix)
    own[np.diag_indices_from(own)] += np.float32(damping)
    ridged = own.copy()
    ridged[np.diag_indices_from(ridged)] += np.float32(_RIDGE * np.trace(ridged) / len(ridged))
    factor = cho_factor(ridged, lower=True, overwrite_a=True, check_finite=False)

    def back(values):
        return cho_solve(factor, values.astype(np.float32), check_finite=False).astype(np.float64)

    along = None if total is None else back(np.ones(rest.size))
    x, b = np.zeros(rest.size), 0.0
    for _ in range(_REFINEMENTS):
        step = back(rest - own @ x - b)
        if along is not None:
            move = (x.sum() + step.sum() + total) / along.sum()
            step, b = step - move * along, b + move
        x = x + step
    return x
