"""Rules beyond the sphere rule, for the items that it leaves at the ends of the rows.

The optimum lies in the ball *and* in the cone, so the smallest margin over both decides more than
that over the ball. An item is looked at here: O(d), where the sphere pass takes a bisection a row.
So only the ends of what that pass has left are tested, inwards, for as long as they are decided,
and intervals stay intervals.

Every decision rests on a lower bound, valid for any C in the cone K (self-dual, so <C, X> >= 0),

    min {<A, X> : |X - Q| <= r, X in K} >= <A - C, Q> - r |A - C|,

evaluated with its rounding errors: how C was found has no part in whether the decision is right.
The linear rule takes the best multiple of one given P for all items, the semidefinite rule
searches the best C for each item. For the linear part of the loss A changes its sign.
"""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.decisions import LINEAR, ZERO, sphere_lower
from skscreen.core.floats import EPS
from skscreen.metric_learning.problem.objective import SLACK, Objective, inner, norm
from skscreen.metric_learning.screening.bounds import Ball
from skscreen.metric_learning.screening.rules import half_space_lower

# Smallest eigenvalue, over the largest, at which a centre still counts as semidefinite.
_INDEFINITE = -1e-10

# Options of compiled rules: division by zero follows IEEE 754, and inf or NaN decides nothing.
_COMPILED = {"cache": True, "nogil": True, "error_model": "numpy"}

# Steps of a search for a multiplier; ending early is safe.
_SEARCH_STEPS = 12
# Steps of a search for an eigenvalue; ending early is safe.
_EIGENVALUE_STEPS = 30


def refine(
    objective: Objective, ball: Ball, rule: str, start, stop, decisions, weights
) -> tuple[int, int]:
    """Shrink the rows further by the linear or the semidefinite rule.

    Parameters
    ----------
    objective : Objective
    ball : Ball
        Without a centre it decides nothing here.
    rule : {"linear", "semidefinite"}
        "semidefinite" is the projection on the cone by its dual (SDLS, section 4.2 of Yoshida et
        al. 2019), for diagonal metrics the analytic solution of the same problem (Theorems J11
        and J12). It tries the linear rule first. For the full metric and a centre outside the
        cone ("gb") it *is* the linear rule: the search would need a full eigendecomposition for
        each step and item.
    start, stop : ndarray of shape (R,), int64
        Ranges of the rows, updated in place.
    decisions : ndarray of shape (T,), int8, or None
    weights : tuple of ndarray
        Row weights and slot steps, as in the sphere pass.

    Returns
    -------
    n_zero, n_linear : int
        Number of items that were decided.
    """
    if ball.centre is None or not np.isfinite(ball.radius + norm(ball.centre)):
        return 0, 0
    geometry, items = objective.geometry, objective.geometry.items
    normal = ball.normal
    if normal is None:
        normal = objective.domain.split(ball.centre)[1]
    # Rounding errors of the centre, which the radius bounds where the centre cancels.
    slack = SLACK * EPS * (norm(ball.centre) + ball.radius)
    size, half_space = norm(normal.value), (np.empty(0),) * 4
    scale = depth = 0.0
    if size > 0.0:
        half_space = geometry.intervals(((1.0, geometry.margins(normal)),))
        scale, depth = 1.0 / size, inner(normal.value, ball.centre) / size + slack
    cone = _search_space(objective, ball) if rule == "semidefinite" else None
    values, points, noise = (np.empty(0), geometry.X, 0.0) if cone is None else cone
    thresholds, gamma = geometry.thresholds(objective.loss), objective.loss.gamma
    far = items.far if items.slots is None else items.far[items.slots]
    return _refine_pass(
        start, stop, items.base, items.rank, items.near, far, geometry.X, geometry.diagonal,
        geometry.near_sizes, geometry.far_sizes, *geometry.intervals(ball.terms), *half_space,
        scale, depth, values, points, noise, slack, ball.radius, thresholds,
        gamma, np.empty(0, np.int8) if decisions is None else decisions, *weights,
    )  # fmt: skip


def _search_space(objective: Objective, ball: Ball):
    """Eigenvalues of the centre, the data in its eigenbasis, and their noise as in the margins.

    None where the semidefinite rule has nothing to add.
    """
    geometry, centre = objective.geometry, ball.centre
    if geometry.diagonal:
        outside = norm(np.minimum(centre, 0.0))
        # With an empty intersection the search could prove anything.
        return (centre, geometry.X, 0.0) if outside < ball.radius else None
    values, vectors = np.linalg.eigh(centre)
    if values[0] < _INDEFINITE * values[-1]:
        return None
    X = geometry.X[:, : geometry.n_features]
    largest = np.sqrt(np.einsum("ij,ij->i", X, X).max(initial=0.0))
    return np.maximum(values, 0.0), X @ vectors, 8.0 * EPS * geometry.n_features * largest


@njit(**_COMPILED)
def _refine_pass(
    start, stop, base, rank, near, far, X, diagonal, near_sizes, far_sizes,
    near_low, near_high, far_low, far_high, near_least, near_most, far_least, far_most,
    scale, depth, values, points, noise, slack, radius, thresholds, gamma, decisions,
    row_linear, slot_steps,
):  # fmt: skip
    """Test the ends of each row; returns how many items leave for the zero and linear part.

    The normal's intervals are called least and most. For the linear part the pairs change roles.
    """
    n_zero, n_linear, along, cut = 0, 0, 0.0, scale > 0.0
    scratch = np.empty((3, values.size))
    for p in range(start.size):
        first, last = start[p], stop[p]
        rounding = 4.0 * EPS * abs(thresholds[p])
        zero_level, linear_level = thresholds[p] + rounding, gamma - thresholds[p] + rounding
        end = last
        while end > first:
            s = end - 1
            if cut:
                along = _rounded_down(scale * (far_least[s] - near_most[p]))
            margin = far_low[s] - near_high[p]
            if not _may_decide(margin, along, depth, zero_level):
                break
            if not _decides(
                margin, along, near_sizes[p] + far_sizes[s], far[s, 0], far[s, 1], near[p, 0],
                near[p, 1], X, diagonal, cut, depth, values, points, noise, slack, radius,
                zero_level, scratch,
            ):  # fmt: skip
                break
            end = s
        begin = first
        while begin < end:
            s = begin
            if cut:
                along = _rounded_down(scale * (near_least[p] - far_most[s]))
            margin = near_low[p] - far_high[s]
            if not _may_decide(margin, along, depth, linear_level):
                break
            if not _decides(
                margin, along, near_sizes[p] + far_sizes[s], near[p, 0], near[p, 1], far[s, 0],
                far[s, 1], X, diagonal, cut, depth, values, points, noise, slack, radius,
                linear_level, scratch,
            ):  # fmt: skip
                break
            begin = s + 1
        if begin > first:
            slot_steps[first] += 1.0
            if begin < slot_steps.size:
                slot_steps[begin] -= 1.0
            row_linear[p] += begin - first
        if decisions.size > 0:
            for s in range(first, begin):
                decisions[base[p] + rank[s]] = LINEAR
            for s in range(end, last):
                decisions[base[p] + rank[s]] = ZERO
        n_linear += begin - first
        n_zero += last - end
        start[p], stop[p] = begin, end
    return n_zero, n_linear


@njit(inline="always")
def _rounded_down(value):
    return value - 4.0 * EPS * abs(value)


@njit(inline="always")
def _may_decide(margin, along, depth, level):
    """Whether a point of what is left of the ball, Q or the nearest in the half-space, decides."""
    return margin - min(depth, 0.0) * along > level


@njit(**_COMPILED)
def _decides(
    margin, along, sizes, a_0, a_1, b_0, b_1, X, diagonal, cut, depth,
    values, points, noise, slack, radius, level, scratch,
):  # fmt: skip
    """Whether <aa' - bb', X> > level for the differences a and b of two pairs of points."""
    size = _item_norm(X, a_0, a_1, b_0, b_1, diagonal) + 8.0 * EPS * sizes
    lowest = sphere_lower(margin, size, radius)
    if cut:
        lowest = half_space_lower(margin, size, radius, along, depth)
    if lowest > level:
        return True
    # Without a size or a radius there is nothing to search.
    if values.size == 0 or not (size > 0.0 and radius > 0.0):
        return False
    for k in range(values.size):
        scratch[0, k] = points[a_0, k] - points[a_1, k]
        scratch[1, k] = points[b_0, k] - points[b_1, k]
    if diagonal:
        return orthant_decides(values, radius, level, scratch[0], scratch[1])
    return cone_decides(
        values, radius, level, margin, size, scratch[0], scratch[1], noise, slack, scratch[2]
    )


@njit(**_COMPILED)
def _item_norm(X, a_0, a_1, b_0, b_1, diagonal):
    """|aa' - bb'| or |a*a - b*b|.

    With p = a - b and q = a + b the square is (|p|^2 |q|^2 + (p.q)^2) / 2, without the
    cancellation of |a|^4 + |b|^4 - 2 (a.b)^2.
    """
    pp, qq, pq, square = 0.0, 0.0, 0.0, 0.0
    for k in range(X.shape[1]):
        a, b = X[a_0, k] - X[a_1, k], X[b_0, k] - X[b_1, k]
        p, q = a - b, a + b
        pp += p * p
        qq += q * q
        pq += p * q
        square += (p * q) ** 2
    return np.sqrt(square if diagonal else 0.5 * (pp * qq + pq * pq)) * (1.0 + 1e-12)


@njit(**_COMPILED)
def cone_decides(values, radius, level, margin, size, a, b, noise, slack, x):
    """Whether <aa' - bb', X> > level on all of a ball cut with the PSD cone (SDLS).

    In the eigenbasis of a centre Q in the cone. The minimiser is the projection of Q - t A on the
    cone, for the t at which it is r away from Q. As aa' - bb' has one positive eigenvalue, Q - t A
    has at most one negative, mu, and the C of the module's docstring is a multiple of w w' for
    its eigenvector w: the linear rule with the half-space of w.

    Parameters
    ----------
    values : ndarray of shape (d,)
        Eigenvalues of Q, >= 0.
    radius, level : float
    margin, size : float
        <A, Q> or less, |A| or more; > 0.
    a, b : ndarray of shape (d,)
        The two differences in the eigenbasis.
    noise, slack : float
        Rounding error of a and b, and of w'Qw.
    x : ndarray of shape (d,)
        Scratch.
    """
    # The limit of w for large t, which is attained for parallel a and b, is the cheapest to try.
    a_x, b_x, depth = _positive_eigenpair(values, a, b)
    along = _along_low(a_x, b_x, noise)
    if half_space_lower(margin, size, radius, along, depth + slack) > level:
        return True
    # Projections are nearer to Q than Q - t A, so this t is not above the required one.
    t, low, high = radius / size, 0.0, np.inf
    t_before, f_before = 0.0, 0.0
    for _ in range(_SEARCH_STEPS):
        mu, a_x, b_x, depth = _negative_eigenpair(values, a, b, t, x)
        if not mu < 0.0:
            # The point of the ball that is least for the sphere rule is in the cone.
            return False
        along = _along_low(a_x, b_x, noise)
        if half_space_lower(margin, size, radius, along, depth + slack) > level:
            return True
        reach = np.sqrt(max(t * size * (t * size) + mu * (2.0 * t * along + mu), 0.0))
        if reach <= radius:
            # The projection is in both, and shows how small the margin may be.
            if not margin - t * size * size - mu * along > level:
                return False
            low = t
        else:
            high = t
        if abs(reach - radius) <= 1e-9 * radius:
            return False
        # The ball cut by the half-space of w alone has its minimiser at this t. We look for the
        # fixed point, by a secant step in logarithms.
        across = np.sqrt(max((size - along) * (size + along), 0.0))
        inside = max(radius - depth, 0.0) * max(radius + depth, 0.0)
        f = np.log(np.sqrt(inside) / across / t)
        step = -f * np.log(t / t_before) / (f - f_before) if t_before > 0.0 else f
        t_before, f_before = t, f
        t *= np.exp(min(step, 5.0))
        if not low < t < high:
            t = np.sqrt(low * high) if high < np.inf else 16.0 * low
    return False


@njit(inline="always")
def _along_low(a_x, b_x, noise):
    """Lower end of <aa' - bb', xx'> for a unit vector x, from <a, x> and <b, x>."""
    error = 2.0 * noise * (abs(a_x) + abs(b_x) + noise) + 32.0 * EPS * (a_x * a_x + b_x * b_x)
    return a_x * a_x - b_x * b_x - error


@njit(**_COMPILED)
def _positive_eigenpair(values, a, b):
    """Return <a, x>, <b, x>, x'Qx for the unit eigenvector x of aa' - bb' with positive value."""
    aa, bb, ab = 0.0, 0.0, 0.0
    for k in range(values.size):
        aa += a[k] * a[k]
        bb += b[k] * b[k]
        ab += a[k] * b[k]
    root = np.sqrt(max((aa + bb) ** 2 - 4.0 * ab * ab, 0.0))
    ratio = 2.0 * ab / (aa + bb + root)
    square, a_x, b_x, depth = 0.0, 0.0, 0.0, 0.0
    for k in range(values.size):
        x = a[k] - ratio * b[k]
        square += x * x
        a_x += a[k] * x
        b_x += b[k] * x
        depth += values[k] * x * x
    length = np.sqrt(square)
    return a_x / length, b_x / length, depth / square


@njit(**_COMPILED)
def _negative_eigenpair(values, a, b, t, x):
    """Negative eigenvalue of diag(q) + t (bb' - aa'), q >= 0: it has at most one.

    By Sherman and Morrison mu is the root of phi(mu) = t a'(diag(q) + t bb' - mu)^-1 a = 1, for
    which 1 / phi is concave and decreasing: Newton's method from the left makes one step across
    the root and then comes back monotonically. What is returned of the unit vector x, <a, x>,
    <b, x> and x'Qx, holds for it whether or not it is an eigenvector.
    """
    aa = 0.0
    for k in range(values.size):
        aa += a[k] * a[k]
    left, right = -t * aa * (1.0 + 1e-12), -1e-10 * t * aa
    phi, _, _ = _secular(values, a, b, t, right)
    if not phi > 1.0:
        return 0.0, 0.0, 0.0, 0.0
    mu, ratio = left, 0.0
    for _ in range(_EIGENVALUE_STEPS):
        phi, slope, ratio = _secular(values, a, b, t, mu)
        if phi > 1.0:
            right = mu
        else:
            left = mu
        before, mu = mu, mu + phi * (1.0 - phi) / slope
        if not left < mu < right:
            mu = 0.5 * (left + right)
        if abs(mu - before) <= 1e-7 * abs(mu):
            break
    square, a_x, b_x, depth = 0.0, 0.0, 0.0, 0.0
    for k in range(values.size):
        x[k] = (a[k] - ratio * b[k]) / (values[k] - mu)
        square += x[k] * x[k]
        a_x += a[k] * x[k]
        b_x += b[k] * x[k]
        depth += values[k] * x[k] * x[k]
    length = np.sqrt(square)
    a_x, b_x, depth = a_x / length, b_x / length, depth / square
    return min(depth + t * (b_x * b_x - a_x * a_x), 0.0), a_x, b_x, depth


@njit(inline="always")
def _secular(values, a, b, t, mu):
    """Return phi of the eigenvalue's equation, its slope, and the share of b in the vector."""
    p, s, w, dp, ds, dw = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(values.size):
        inverse = 1.0 / (values[k] - mu)
        u, v = a[k] * inverse, b[k] * inverse
        p += a[k] * u
        s += b[k] * v
        w += a[k] * v
        dp += u * u
        ds += v * v
        dw += u * v
    ratio = t * w / (1.0 + t * s)
    return t * (p - ratio * w), t * (dp - 2.0 * ratio * dw + ratio * ratio * ds), ratio


@njit(**_COMPILED)
def orthant_decides(centre, radius, level, a, b):
    """Whether <a*a - b*b, x> > level on all of a ball cut with the orthant.

    Theorems J11 and J12: x = max(q - h / beta, 0) for the beta with |x - q| = r, so that h - C is
    min(h, beta q). For a set K of entries with x > 0 the equation is linear in 1 / beta^2, and the
    iteration of K is Newton's method, monotone for q >= 0, where no sorting is needed.
    """
    square, error, descends = 0.0, 0.0, False
    for k in range(centre.size):
        h = (a[k] - b[k]) * (a[k] + b[k])
        square += h * h
        descends |= h < 0.0
        error += (abs(centre[k]) + radius) * (a[k] * a[k] + b[k] * b[k])
    error *= 32.0 * EPS
    # In terms of 1 / beta^2; at the start every entry is in K.
    inverse, low, high = radius * radius / square, 0.0, np.inf
    for _ in range(2 * centre.size + _SEARCH_STEPS):
        beta = 1.0 / np.sqrt(inverse)
        value, length, kept, rest, attained = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(centre.size):
            q, h = centre[k], (a[k] - b[k]) * (a[k] + b[k])
            least = min(h, beta * q)
            value += q * least
            length += least * least
            if h < beta * q:
                kept += h * h
                attained += h * (q - h / beta)
            else:
                rest += q * q
        if value - radius * np.sqrt(length) * (1.0 + 1e-12) - error > level:
            return True
        if length <= (beta * radius) ** 2:
            if not attained > level:
                return False
            low = inverse
        else:
            high = inverse
        before, inverse = inverse, np.inf
        if kept > 0.0:
            inverse = (radius * radius - rest) / kept
        elif rest <= radius * radius and not descends:
            # All relevant entries can be zero.
            return -error > level
        if not low < inverse < high:
            inverse = 0.5 * (low + high) if high < np.inf else 4.0 * low
        if abs(inverse - before) <= 1e-13 * inverse:
            return False
    return False
