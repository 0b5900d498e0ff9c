"""Euclidean projection onto a box cut by one equality, in linear time."""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.floats import EPS, REORDER
from skscreen.core.selection import select

# Newton steps on the multiplier before a search over the kinks, which always ends.
_NEWTON_STEPS = 12
# Residual of the equality, relative to the sum of its terms, that counts as rounding error.
_SLACK = 4.0 * EPS
# Number of corrections of the multiplier for the residual that its rounding leaves.
_CORRECTIONS = 3
# Range of numbers whose products and quotients stay finite.
_SMALLEST, _LARGEST = 1e-50, 1e50


def project_box_equality(
    point,
    total: float,
    *,
    coefficients=1.0,
    lower=0.0,
    upper=1.0,
    weights=1.0,
) -> np.ndarray:
    """Project a point onto a box cut by one linear equality.

    Solves, in time proportional to n and exactly up to rounding errors,

        min_a  1/2 sum_i d_i^2 (a_i - m_i)^2
        such that  l_i <= a_i <= u_i  and  sum_i sigma_i a_i = z.

    The solution is a_i = clip(m_i + t sigma_i / d_i^2, l_i, u_i) for a multiplier t, which a
    few Newton steps or else a median search over the kinks find. With the default values it is
    the projection onto the simplex for `total` = 1.

    Parameters
    ----------
    point : array-like of shape (n,)
        The point m, with entries of at most 1e50 in absolute value.
    total : float
        The sum z, at most 1e50 in absolute value.
    coefficients : array-like of shape (n,) or float, default=1.0
        The coefficients sigma: signs, or any other numbers from 1e-50 to 1e50 in absolute value, or
        0.
    lower, upper : array-like of shape (n,) or float, default=0.0 and 1.0
        The bounds l <= u, up to 1e50 in absolute value; -inf for l and inf for u mean no bound.
    weights : array-like of shape (n,) or float, default=1.0
        The weights d, from 1e-50 to 1e50.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    ValueError
        If an argument has the wrong shape or range, or if no point of the box satisfies the
        equality; the message then gives the possible range of `total`.

    References
    ----------
    A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). Lower bounds for BMRM and faster rates for
    training SVMs. arXiv:0909.1334. Appendix B; its algorithm 2, which can run for ever where
    kinks coincide, is replaced here.

    Examples
    --------
    >>> from skscreen import project_box_equality
    >>> project_box_equality([0.9, 0.5, -0.2], 1.0)
    array([0.7, 0.3, 0. ])
    >>> project_box_equality([0.75, 1.0, -0.25], 0.0, coefficients=[1, -1, 1])
    array([0.875, 0.875, 0.   ])
    """
    m = np.array(_numbers("point", point))
    if m.ndim != 1 or not (np.abs(m) <= _LARGEST).all():
        raise ValueError(
            f"point must be a one-dimensional array of numbers of at most {_LARGEST:g} in size."
        )
    sigma = _spread("coefficients", coefficients, m.shape)
    l, u = _spread("lower", lower, m.shape), _spread("upper", upper, m.shape)
    d = _spread("weights", weights, m.shape)
    z = _spread("total", total, ()).item()
    if not abs(z) <= _LARGEST:
        raise ValueError(f"total must be finite, at most {_LARGEST:g} in size, got {total!r}.")
    if not ((sigma == 0.0) | _in_range(np.abs(sigma))).all():
        raise ValueError(
            f"coefficients must be finite: 0, or from {_SMALLEST:g} to {_LARGEST:g} in size."
        )
    if not _in_range(d).all():
        raise ValueError(
            f"weights must be finite and positive, from {_SMALLEST:g} to {_LARGEST:g}."
        )
    if not ((l <= u).all() and (l < np.inf).all() and (u > -np.inf).all()):
        raise ValueError("lower must not exceed upper, and each must be a number on its side.")
    for name, bound in (("lower", l), ("upper", u)):
        if not (np.isinf(bound) | (np.abs(bound) <= _LARGEST)).all():
            raise ValueError(f"{name} must be at most {_LARGEST:g} in size, or infinite.")
    smallest, largest, size = total_range(sigma, l, u)
    slack = _SLACK * np.sqrt(m.size + 1.0) * (size + abs(z))
    if not smallest - slack <= z <= largest + slack:
        raise ValueError(
            f"total={z:g} cannot be reached: within the bounds, the sum of coefficients times "
            f"values lies between {smallest:g} and {largest:g}."
        )
    d *= d
    np.divide(sigma, d, out=d)
    project(m, d, sigma, l, u, z, 0.0, m)
    return m


def _in_range(values: np.ndarray) -> np.ndarray:
    return (values >= _SMALLEST) & (values <= _LARGEST)


def _numbers(name: str, value) -> np.ndarray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold real numbers: {error}.") from error


def _spread(name: str, value, shape: tuple) -> np.ndarray:
    value = _numbers(name, value)
    if value.shape not in ((), shape):
        raise ValueError(f"{name} must be a number or have shape {shape}, got {value.shape}.")
    return np.array(np.broadcast_to(value, shape))


@njit(cache=True, nogil=True)
def total_range(sigma, l, u):
    """Return the smallest and the largest sum of sigma_i a_i in the box, and its finite size."""
    smallest, largest, size = 0.0, 0.0, 0.0
    for i in range(sigma.size):
        if sigma[i] == 0.0:
            continue
        first, second = sigma[i] * l[i], sigma[i] * u[i]
        smallest += min(first, second)
        largest += max(first, second)
        for value in (first, second):
            if np.isfinite(value):
                size += abs(value)
    return smallest, largest, size


@njit(cache=True, nogil=True)
def project(m, ratio, sigma, l, u, z, start, out):
    """Fill `out` (which may be `m`) with the projection and return the multiplier t.

    `ratio` is sigma / d^2 and `start` a guess of t. A total out of range ends at the bounds.
    """
    t, done = _multiplier(m, ratio, sigma, l, u, z, start)
    for i in range(m.size):
        # An infinite t times 0 would be NaN.
        out[i] = m[i] + t * ratio[i] if ratio[i] != 0.0 else m[i]
    for _ in range(_CORRECTIONS):
        if done or not np.isfinite(t):
            break
        # If m and t are much larger than the box, t alone does not have enough digits.
        change, done = _multiplier(out, ratio, sigma, l, u, z, 0.0)
        if not np.isfinite(change):
            break
        t += change
        for i in range(m.size):
            out[i] += change * ratio[i]
    for i in range(m.size):
        out[i] = min(max(out[i], l[i]), u[i])
    return t


@njit(cache=True, nogil=True)
def _multiplier(m, ratio, sigma, l, u, z, start):
    """Return a root of f(t) = sum_i sigma_i clip(m_i + t ratio_i, l_i, u_i) - z.

    And whether f is 0 there but for rounding errors of the sum.
    """
    lo, hi, t = -np.inf, np.inf, start
    for _ in range(_NEWTON_STEPS):
        residual, slope, size = _residual(m, ratio, sigma, l, u, z, t)
        if abs(residual) <= _SLACK * size:
            return t, True
        if residual > 0.0:
            hi = t
        else:
            lo = t
        t = t - residual / slope if slope > 0.0 else np.nan
        if not lo < t < hi:
            break
    t = _search(m, ratio, sigma, l, u, z, lo, hi)
    if np.isfinite(t):
        # The sums of the search have been updated many times: correct their rounding errors.
        residual, slope, size = _residual(m, ratio, sigma, l, u, z, t)
        if abs(residual) > _SLACK * size and slope > 0.0:
            t -= residual / slope
    return t, False


@njit(cache=True, nogil=True, fastmath=REORDER)
def _residual(m, ratio, sigma, l, u, z, t):
    """Return f(t), its slope and the sum of the absolute terms."""
    total, slope, size = 0.0, 0.0, abs(z)
    for i in range(m.size):
        free = m[i] + t * ratio[i]
        value = min(max(free, l[i]), u[i])
        term = sigma[i] * value if sigma[i] != 0.0 else 0.0
        total += term
        size += abs(term)
        slope += sigma[i] * ratio[i] if value == free else 0.0
    return total - z, slope, size


@njit(cache=True, nogil=True)
def _search(m, ratio, sigma, l, u, z, lo, hi):
    """Return the root between lo and hi by bisection at medians of the kinks.

    Each round halves the kinks in the open interval, equal ones together, so that it always ends.
    On (lo, hi) the settled items add offset + slope t to the sum.
    """
    first, second = np.empty(m.size), np.empty(m.size)
    items = np.empty(m.size, np.int64)
    n, offset, slope = 0, -z, 0.0
    for i in range(m.size):
        if sigma[i] == 0.0:
            continue
        at_l, at_u = (l[i] - m[i]) / ratio[i], (u[i] - m[i]) / ratio[i]
        first[n], second[n], items[n] = min(at_l, at_u), max(at_l, at_u), i
        n += 1
    kinks = np.empty(2 * n)
    while True:
        kept, n_kinks = 0, 0
        for k in range(n):
            i, low, high = items[k], first[k], second[k]
            if low >= hi or high <= lo:
                # Before its first kink an item is at the bound on the side of -sigma.
                at_upper = (low >= hi) == (sigma[i] < 0.0)
                offset += sigma[i] * (u[i] if at_upper else l[i])
            elif low <= lo and high >= hi:
                offset += sigma[i] * m[i]
                slope += sigma[i] * ratio[i]
            else:
                first[kept], second[kept], items[kept] = low, high, i
                kept += 1
                for kink in (low, high):
                    if lo < kink < hi:
                        kinks[n_kinks] = kink
                        n_kinks += 1
        n = kept
        if n_kinks == 0:
            break
        middle = (n_kinks - 1) // 2
        t = select(kinks[:n_kinks], middle)
        total = offset + slope * t
        for k in range(n):
            i = items[k]
            total += sigma[i] * min(max(m[i] + t * ratio[i], l[i]), u[i])
        if total >= 0.0:
            hi = t
        else:
            lo = t
    if slope > 0.0:
        return min(max(-offset / slope, lo), hi)
    # A flat piece: f vanishes on all of it (or the total is out of range, at an infinite end).
    if offset <= 0.0:
        return hi
    return lo
