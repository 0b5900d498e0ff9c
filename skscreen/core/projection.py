"""Euclidean projection onto a box cut by one equality, in linear time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skscreen._compiled import core
from skscreen.core.floats import EPS

# Range of numbers whose products and quotients stay finite.
_SMALLEST, _LARGEST = 1e-50, 1e50


def project_box_equality(
    point: ArrayLike, total: float, *, coefficients: ArrayLike = 1.0, lower: ArrayLike = 0.0,
    upper: ArrayLike = 1.0, weights: ArrayLike = 1.0,
) -> np.ndarray:  # fmt: skip
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
    # Rounding errors of a sum.
    slack = 4.0 * EPS * np.sqrt(m.size + 1.0) * (size + abs(z))
    if not smallest - slack <= z <= largest + slack:
        raise ValueError(
            f"total={z:g} cannot be reached: within the bounds, the sum of coefficients times "
            f"values lies between {smallest:g} and {largest:g}."
        )
    # Numbers below normal ones have lost digits, as would products with them.
    unit = 2.0**500 if max(np.abs(m).max(initial=0.0), abs(z)) < 2.0**-500 else 1.0
    d *= d
    np.divide(sigma, d, out=d)
    with np.errstate(over="ignore"):
        project(unit * m, d, sigma, unit * l, unit * u, unit * z, 0.0, m)
    return np.clip(m / unit, l, u, out=m)


def _in_range(values: np.ndarray) -> np.ndarray:
    return (values >= _SMALLEST) & (values <= _LARGEST)


def _numbers(name: str, value: ArrayLike) -> np.ndarray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold real numbers: {error}.") from error


def _spread(name: str, value: ArrayLike, shape: tuple) -> np.ndarray:
    value = _numbers(name, value)
    if value.shape not in ((), shape):
        raise ValueError(f"{name} must be a number or have shape {shape}, got {value.shape}.")
    return np.array(np.broadcast_to(value, shape))


total_range = core.total_range
"""(sigma, l, u), each (n,) -> smallest and largest sum of sigma_i a_i, and its finite size."""

project = core.project
"""(m, ratio, sigma, l, u, z, start, out) -> multiplier t; fills `out` (n,), which may be `m`.

`ratio` is sigma / d^2, z the total, `start` a guess of t. A total out of range ends at the bounds.
"""
