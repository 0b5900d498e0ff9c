"""Optima of hinge-loss problems by Clarabel, and the paper's formulas; shares nothing with us."""

import clarabel
import numpy as np
from scipy import sparse


def solve(Q, q, rows, b, *cones):
    """Minimise x'Q x / 2 + q'x such that b - A x is in a product of cones; A is in blocks."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    P, A = sparse.csc_matrix(np.triu(Q)), sparse.vstack(rows).tocsc()
    return clarabel.DefaultSolver(P, q, A, np.concatenate(b), list(cones), settings).solve()


def box_qp(Q, C, t=1.0):
    """Maximise t'alpha - alpha'Q alpha / 2 over 0 <= alpha <= C."""
    n = len(C)
    box = clarabel.NonnegativeConeT(2 * n)
    found = solve(Q, -t * np.ones(n), [sparse.eye(n), -sparse.eye(n)], [C, np.zeros(n)], box)
    return np.clip(np.array(found.x), 0.0, C)


def squared_hinge_qp(Q, C, y=None, t=1.0):
    """Maximise t'alpha - alpha'(Q + diag(1 / 2C)) alpha / 2 over 0 <= alpha [, y'alpha = 0].

    Returns the dual variables, Clarabel's and then of linear systems on those above 0 until these
    stay the same, and the value.
    """
    n, top = len(C), C.max()
    t = np.broadcast_to(t, n)
    rows, limits, cones = [-sparse.eye(n)], [np.zeros(n)], [clarabel.NonnegativeConeT(n)]
    if y is not None:
        rows, limits = [sparse.csc_matrix(y), *rows], [[0.0], *limits]
        cones = [clarabel.ZeroConeT(1), *cones]
    found = solve(top * Q + np.diag(0.5 * top / C), -t, rows, limits, *cones)
    alpha = top * np.maximum(np.array(found.x), 0.0)
    H, A = Q + np.diag(0.5 / C), alpha > 1e-5 * alpha.max()
    signs = np.zeros(n) if y is None else y
    for _ in range(20):
        system = np.block([[H[np.ix_(A, A)], signs[A, None]], [signs[A], np.zeros(1)]])
        system[-1, -1] = y is None
        solved = np.linalg.solve(system, np.append(t[A], 0.0))
        polished = np.zeros(n)
        polished[A] = solved[:-1]
        slopes = t - H @ polished - solved[-1] * signs
        found = np.where(A, polished > 0.0, slopes > 0.0)
        if (found == A).all():
            alpha = polished
            break
        A = found
    return alpha, float(t @ alpha - 0.5 * alpha @ H @ alpha)


def optimum(Q, C):
    """Dual variables, exact up to rounding: Clarabel's, then a linear system on the kink."""
    alpha = box_qp(Q, C)
    margins = Q @ alpha
    kink = np.abs(margins - 1.0) < 1e-5 * max(1.0, np.sqrt(np.diag(Q)).max())
    polished = np.where(margins < 1.0, C, 0.0)
    polished[kink] = 0.0
    rest = 1.0 - (Q @ polished)[kink]
    polished[kink] = np.linalg.lstsq(Q[np.ix_(kink, kink)], rest, rcond=None)[0]
    polished = np.clip(polished, 0.0, C)
    return polished if gap(Q, C, polished) <= gap(Q, C, alpha) else alpha


def free_optimum(Q, C, y, total=0.0):
    """The same with sum y_i alpha_i = total; also the ends of the best intercepts."""
    n, top = len(C), C.max()
    # In units of C, so that the tolerances mean the same for every C.
    rows = [sparse.csc_matrix(y), sparse.eye(n), -sparse.eye(n)]
    limits = [[total / top], C / top, np.zeros(n)]
    cones = clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)
    found = solve(top * Q, -np.ones(n), rows, limits, *cones)
    alpha = top * np.clip(np.array(found.x), 0.0, C / top)
    low, high = best_intercepts(Q @ alpha, C, y)
    margins = Q @ alpha + 0.5 * (low + high) * y
    for width in (1e-4, 1e-6):
        kink = np.abs(margins - 1.0) < width
        polished = np.where(margins < 1.0, C, 0.0)
        polished[kink] = 0.0
        system = np.block([[Q[np.ix_(kink, kink)], y[kink, None]], [y[kink], np.zeros(1)]])
        rest = np.append(1.0 - (Q @ polished)[kink], total - y @ polished)
        polished[kink] = np.linalg.lstsq(system, rest, rcond=None)[0][:-1]
        polished = np.clip(polished, 0.0, C)
        balanced = abs(y @ polished - total) <= 1e-13 * polished.sum()
        if balanced and free_gap(Q, C, y, polished) <= free_gap(Q, C, y, alpha):
            alpha = polished
    return alpha, *best_intercepts(Q @ alpha, C, y)


def best_intercepts(margins, C, y):
    """Ends of the interval of b that minimise sum C_i (1 - m_i - y_i b)_+, by trying all kinks."""
    kinks = np.sort(y * (1.0 - margins))
    values = np.maximum(1.0 - margins - y * kinks[:, None], 0.0) @ C
    best = kinks[values <= values.min() * (1.0 + 1e-13)]
    return best[0], best[-1]


def free_gap(Q, C, y, alpha):
    """Duality gap at the best intercept, for sum y_i alpha_i = 0."""
    margins = Q @ alpha
    rest = 1.0 - margins - y * best_intercepts(margins, C, y)[0]
    return float(np.where(rest > 0.0, (C - alpha) * rest, -alpha * rest).sum())


def gap(Q, C, alpha):
    """Duality gap of (u(alpha), alpha), as a sum of terms that are not negative."""
    rest = 1.0 - Q @ alpha
    return float(np.where(rest > 0.0, (C - alpha) * rest, -alpha * rest).sum())


def primal(Q, C, alpha):
    margins = Q @ alpha
    return float(0.5 * alpha @ margins + C @ np.maximum(1.0 - margins, 0.0))


def dual(Q, alpha):
    return float(alpha.sum() - 0.5 * alpha @ Q @ alpha)


def sloppy(Q, C, alpha, relative_gap, rng):
    """A feasible point near an optimum with about that relative duality gap."""
    noise = rng.normal(size=len(C)) * C * (rng.random(len(C)) < 0.3)
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        point = np.clip(alpha + middle * noise, 0.0, C)
        if gap(Q, C, point) > relative_gap * primal(Q, C, point):
            high = middle
        else:
            low = middle
    return np.clip(alpha + low * noise, 0.0, C)


def three_cases(k, m1, r1, m2, r2, phi, d):
    """Smallest margin over two balls as Theorem 8 prints it; m1, m2, phi are margins."""
    zeta = (d * d + r2 * r2 - r1 * r1) / (2.0 * d)
    cap = np.sqrt(max(r2 * r2 - zeta * zeta, 0.0))
    out = np.empty(len(k))
    for i in range(len(k)):
        c = -phi[i] / (k[i] * d)
        if c < (zeta - d) / r1:
            out[i] = m1[i] - r1 * k[i]
        elif c > zeta / r2:
            out[i] = m2[i] - r2 * k[i]
        else:
            t = np.sqrt(max(k[i] ** 2 - (phi[i] / d) ** 2, 0.0))
            out[i] = m2[i] + zeta / d * phi[i] - cap * t
    return out


def smallest_in_dome(z, w_a, smallest, largest):
    """min <z, w> over |w|^2 <= largest, <w_a, w> >= smallest, as a cone programme."""
    d = len(z)
    rows = [sparse.csc_matrix(np.vstack([-w_a, np.zeros(d), -np.eye(d)]))]
    b = [[-smallest, np.sqrt(largest)], np.zeros(d)]
    cones = clarabel.NonnegativeConeT(1), clarabel.SecondOrderConeT(d + 1)
    return solve(np.zeros((d, d)), z, rows, b, *cones).obj_val


def dome(margins, norms, smallest, largest):
    """Bounds on the margins over {|w|^2 <= largest, <w_a, w> >= smallest} (Theorem 11).

    For every C between those of two references, |w|^2 does not decrease in C. Needs an *exact*
    solution w_a at the smaller one, so it is kept for comparison only. (The theorem's first case
    as printed has factors sqrt(2) that make it unsafe.)

    `margins` are those of w_a, `smallest` is |w_a|^2 and `largest` a bound on |w|^2 at the larger
    C: (|w_b| + sqrt(2 gap_b))^2 for a solution with that duality gap.
    """
    size = np.sqrt(largest)
    across = np.sqrt(np.maximum(smallest * norms**2 - margins**2, 0.0))
    reach = np.sqrt(max(largest - smallest, 0.0) / smallest) * across
    corner = norms * (smallest / size)
    lower = np.where(-margins >= corner, -size * norms, margins - reach)
    upper = np.where(margins >= corner, size * norms, margins + reach)
    return lower, upper


def regression_optimum(K, targets, C, epsilon, free):
    """The best value of 1/2 |w|^2 + sum_i C_i max(0, |y_i - f_i - b| - epsilon), from the dual."""
    n, top = len(C), C.max()
    # In units of C. Without a tube one variable a row: only the difference of two would matter.
    signs = np.repeat([1.0, -1.0], n) if epsilon else np.ones(n)
    times = signs.size // n
    Q = top * np.outer(signs, signs) * np.tile(K, (times, times))
    q = epsilon - signs * np.tile(targets, times)
    low = np.zeros(2 * n) if epsilon else C / top
    A = [sparse.eye(signs.size), -sparse.eye(signs.size)]
    limits, cones = [np.tile(C / top, times), low], [clarabel.NonnegativeConeT(2 * signs.size)]
    if free:
        A, limits = [sparse.csc_matrix(signs), *A], [[0.0], *limits]
        cones = [clarabel.ZeroConeT(1), *cones]
    return -top * solve(Q, q, A, limits, *cones).obj_val


def squared_regression_optimum(K, targets, C, epsilon, free):
    """The same with squares of these losses."""
    signs = np.repeat([1.0, -1.0], len(C))
    Q, thresholds = np.outer(signs, signs) * np.tile(K, (2, 2)), signs * np.tile(targets, 2)
    y = signs if free else None
    return squared_hinge_qp(Q, np.tile(C, 2), y, thresholds - epsilon)[1]


def margins_at(Q, C, y, intercept, loss="hinge"):
    """Lowest and highest margin of each sample at the optima for C, by Clarabel."""
    if loss == "squared_hinge":
        alpha, _ = squared_hinge_qp(Q, C, y if intercept == "free" else None)
        if intercept != "free":
            return alpha, Q @ alpha, Q @ alpha
        used = alpha > 1e-6 * alpha.max()
        b = np.median((y * (1.0 - Q @ alpha - 0.5 * alpha / C))[used])
        return alpha, Q @ alpha + y * b, Q @ alpha + y * b
    if intercept == "free":
        alpha, *ends = free_optimum(Q, C, y)
        both = np.stack([Q @ alpha + y * b for b in ends])
        return alpha, both.min(axis=0), both.max(axis=0)
    alpha = optimum(Q, C)
    return alpha, Q @ alpha, Q @ alpha


def expect_right(found, low, high):
    slack = 1e-6 * (1.0 + np.abs(low))
    lower, upper = found.bounds_.T
    assert np.all(lower <= low + slack) and np.all(high <= upper + slack)
    assert np.all(low[found.codes_ == 1] > 1.0 - 1e-6)
    assert np.all(high[found.codes_ == 2] < 1.0 + 1e-6)
