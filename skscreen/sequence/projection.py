"""Projection onto the marginals of a chain, by a semismooth Newton method.

A chain of T cliques over pairs of neighbouring labels has marginals a_t(i, j) >= 0, i the label on
the left and j that on the right, with sum_ij a_t(i, j) = 1 and, between neighbours,
sum_i a_t(i, j) = sum_k a_{t+1}(j, k). With multipliers lambda_t and nu_t(j) the nearest point to m
is

    a_t = (m_t + s_t)_+,   s_t(i, j) = lambda_t + nu_t(j) - nu_{t-1}(i),   nu_{-1} = nu_{T-1} = 0,

where they minimise the once differentiable, piecewise quadratic, convex

    phi = 1/2 sum_t |(m_t + s_t)_+|^2 - sum_t lambda_t.

Its generalised Hessian is block tridiagonal. It is singular (nu_t can be shifted against the
lambdas), hence a small Levenberg term.

References
----------
A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). Lower bounds for BMRM and faster rates for training
SVMs. arXiv:0909.1334. Appendix E, whose algorithm 3 alternates between (lambda, nu) and the
multipliers of a >= 0; eliminating the latter gives phi.
"""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.floats import EPS

_MAX_STEPS, _MAX_HALVINGS = 200, 60
# Growth factor of multiples of the point.
_FACTOR = 4.0
# Tolerance of the residuals; feasibility is repaired afterwards, so only rounding errors matter.
_TOLERANCE, _ROUNDING = 1e-13, 64.0 * EPS
# Levenberg term: a share of the residual over the possible distance, at least a small number.
_SHARE, _LEAST = 1.0, 1e-14


@njit(cache=True, nogil=True)
def project_chains(points, first_cliques, nu, out):
    """Project each chain; `points`, `out` of shape (n_cliques, m, m), chain c at first_cliques[c].

    `nu`, of shape (n_cliques, m), holds a guess of the multipliers and then the multipliers.
    """
    for c in range(first_cliques.size - 1):
        part = slice(first_cliques[c], first_cliques[c + 1])
        project_chain(points[part], nu[part], out[part])


@njit(cache=True, nogil=True)
def project_chain(point, nu, out):
    """Fill `out` with the feasible marginals nearest to `point`; the arrays may be the same."""
    T, m = point.shape[0], point.shape[1]
    target, a = np.empty((T, m, m)), np.empty((T, m, m))
    multipliers, largest = np.zeros((T, m + 1)), 0.0
    for t in range(T):
        # A constant for each clique has no effect, and large numbers would cost digits.
        top = -np.inf
        for i in range(m):
            for j in range(m):
                top = max(top, point[t, i, j])
        for i in range(m):
            for j in range(m):
                target[t, i, j] = point[t, i, j] - top
                largest = max(largest, -target[t, i, j])
            if t < T - 1:
                multipliers[t, 1 + i] = nu[t, i]
    if not _newton(target, 1.0, multipliers, a):
        # Far away nearly all pieces of phi are flat, so approach the point by its multiples.
        share = 1.0 / (1.0 + largest)
        multipliers[:] = 0.0
        while share < 1.0:
            _newton(target, share, multipliers, a)
            factor = min(_FACTOR, 1.0 / share)
            share *= factor
            for t in range(T):
                for k in range(m + 1):
                    multipliers[t, k] *= factor
        _newton(target, 1.0, multipliers, a)
    for t in range(T):
        for i in range(m):
            nu[t, i] = multipliers[t, 1 + i]
    make_consistent(a, out)


@njit(cache=True, nogil=True)
def _newton(target, share, multipliers, a):
    """Minimise phi for share * target from the given nu, fill `a`; return whether it converged."""
    T, m = target.shape[0], target.shape[1]
    size, width = T * (m + 1), 2 * (m + 1)
    _start_lambdas(target, share, multipliers)
    trial, gradient, step = np.empty((T, m + 1)), np.empty((T, m + 1)), np.empty(size)
    band = np.empty((size, width))
    value = _value(target, share, multipliers, a)
    far = 1.0 + _largest(multipliers)
    tolerance = _TOLERANCE + _ROUNDING * far
    for _ in range(_MAX_STEPS):
        _gradient(a, gradient)
        residual = _largest(gradient)
        if residual <= tolerance:
            return True
        _hessian(a, max(_SHARE * residual / far, _LEAST), band)
        for k in range(size):
            step[k] = gradient[k // (m + 1), k % (m + 1)]
        _solve_band(band, step)
        slope = 0.0
        for k in range(size):
            slope -= gradient[k // (m + 1), k % (m + 1)] * step[k]
        length, lower = 1.0, np.inf
        for _ in range(_MAX_HALVINGS):
            for k in range(size):
                t, l = k // (m + 1), k % (m + 1)
                trial[t, l] = multipliers[t, l] - length * step[k]
            lower = _value(target, share, trial, a)
            if lower <= value + 1e-4 * length * slope + _ROUNDING * abs(value):
                break
            length *= 0.5
            lower = np.inf
        if lower == np.inf:
            _value(target, share, multipliers, a)
            return False
        value = lower
        for t in range(T):
            for l in range(m + 1):
                multipliers[t, l] = trial[t, l]
    return False


@njit(cache=True, nogil=True)
def _largest(x):
    """Return the largest absolute entry."""
    out = 0.0
    for t in range(x.shape[0]):
        for k in range(x.shape[1]):
            out = max(out, abs(x[t, k]))
    return out


@njit(cache=True, nogil=True)
def make_consistent(a, out):
    """Fill `out` with exactly consistent marginals near those of `a`, from left to right."""
    m = a.shape[1]
    p = np.empty(m)
    for i in range(m):
        p[i] = a[0, i].sum()
    p /= p.sum()
    for t in range(a.shape[0]):
        following = np.zeros(m)
        for i in range(m):
            total = a[t, i].sum()
            for j in range(m):
                share = a[t, i, j] / total if total > 0.0 else 1.0 / m
                out[t, i, j] = p[i] * share
                following[j] += out[t, i, j]
        p = following


@njit(cache=True, nogil=True)
def _start_lambdas(target, share, multipliers):
    """Set each lambda so that m + s sums to one, as if no entry were cut off.

    Newton's method needs more steps from the best lambdas for the other multipliers, which cut off
    most entries.
    """
    T, m = target.shape[0], target.shape[1]
    for t in range(T):
        total = 0.0
        for i in range(m):
            left = multipliers[t - 1, 1 + i] if t > 0 else 0.0
            for j in range(m):
                total += share * target[t, i, j] + multipliers[t, 1 + j] - left
        multipliers[t, 0] = (1.0 - total) / (m * m)


@njit(cache=True, nogil=True)
def _value(target, share, multipliers, a):
    """Return phi and fill `a` with (m + s)_+."""
    T, m = target.shape[0], target.shape[1]
    total = 0.0
    for t in range(T):
        total -= multipliers[t, 0]
        for i in range(m):
            left = multipliers[t - 1, 1 + i] if t > 0 else 0.0
            for j in range(m):
                right = multipliers[t, 1 + j]
                value = share * target[t, i, j] + multipliers[t, 0] + right - left
                value = max(value, 0.0)
                a[t, i, j] = value
                total += 0.5 * value * value
    return total


@njit(cache=True, nogil=True)
def _gradient(a, out):
    """Fill `out` with the gradient of phi; the last nu is no variable."""
    T, m = a.shape[0], a.shape[1]
    out[:] = 0.0
    for t in range(T):
        out[t, 0] = -1.0
        for i in range(m):
            for j in range(m):
                out[t, 0] += a[t, i, j]
                if t < T - 1:
                    out[t, 1 + j] += a[t, i, j]
                if t > 0:
                    out[t - 1, 1 + i] -= a[t, i, j]


@njit(cache=True, nogil=True)
def _hessian(a, levenberg, band):
    """Fill `band` with the generalised Hessian: band[k, k - l] is entry (k, l) for l <= k."""
    T, m = a.shape[0], a.shape[1]
    band[:] = 0.0
    band[:, 0] = levenberg
    band[(T - 1) * (m + 1) + 1 :, 0] = 1.0
    for t in range(T):
        lam, nu, before = t * (m + 1), t * (m + 1) + 1, (t - 1) * (m + 1) + 1
        for i in range(m):
            for j in range(m):
                if a[t, i, j] <= 0.0:
                    continue
                band[lam, 0] += 1.0
                if t < T - 1:
                    band[nu + j, 0] += 1.0
                    band[nu + j, nu + j - lam] += 1.0
                if t > 0:
                    band[before + i, 0] += 1.0
                    band[lam, lam - before - i] -= 1.0
                if 0 < t < T - 1:
                    band[nu + j, nu + j - before - i] -= 1.0


@njit(cache=True, nogil=True)
def _solve_band(band, x):
    """Solve the banded positive definite system in place by Cholesky's method."""
    size, width = band.shape
    for k in range(size):
        start = max(0, k - width + 1)
        for l in range(start, k + 1):
            total = band[k, k - l]
            for q in range(max(start, l - width + 1), l):
                total -= band[k, k - q] * band[l, l - q]
            band[k, k - l] = np.sqrt(max(total, _LEAST)) if l == k else total / band[l, 0]
    for k in range(size):
        for l in range(max(0, k - width + 1), k):
            x[k] -= band[k, k - l] * x[l]
        x[k] /= band[k, 0]
    for k in range(size - 1, -1, -1):
        for l in range(k + 1, min(size, k + width)):
            x[k] -= band[l, l - k] * x[l]
        x[k] /= band[k, 0]
