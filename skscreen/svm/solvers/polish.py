"""Polishing of solutions, by linear systems on the samples of margin 1.

Once it is known which samples have alpha_i = 0 (R), alpha_i = C_i (L) and a margin of 1 (E), the
dual variables of E solve Q_EE alpha_E = t_E - Q_EL C_L, t the thresholds, with the shifts of losses
on the diagonal of Q_EE. The sets of a solver's last point are nearly right. If the solution of the
system leaves the box, or a margin is on the wrong side, the sets are corrected and the next system
is solved (a primal-dual active set method).
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS
from skscreen.samples.losses import SampleLosses
from skscreen.svm.certificate import Box, Sums
from skscreen.svm.solvers.solution import SampleSolution


# A move that overflows is not taken.
@np.errstate(over="ignore", invalid="ignore")
def polish(
    samples: Any,
    losses: SampleLosses,
    solution: SampleSolution,
    signs: np.ndarray | None = None,
    sums: Sums | None = None,
) -> SampleSolution:
    """Return a solution with a smaller duality gap, or the same one.

    With signs (n,) b is free, and the sums of y_i alpha_i are zero or those given.
    """
    # Passes over sparse rows cost as much as a solve.
    if solution.w is not None and samples.is_sparse and samples.n_entries > 100_000:
        return solution
    best, alpha, margins, b = solution, solution.alpha, solution.margins, solution.b
    if solution.apart > 0.0 or solution.rounding > 0.0:
        margins = samples.q_dot(alpha)
    caps, before, box = losses.caps, None, Box.of(losses, samples.y, signs is not None, sums)
    ends = None if signs is None else _ends(signs, box)
    curvature = np.maximum(samples.norms**2 + losses.shifts, 1e-300)
    for _ in range(6):
        if best.certificate.gap <= 1e-12 * best.certificate.primal:
            break
        # If a step along one coordinate stays inside the box, the sample belongs to E.
        slopes = losses.slopes(_short(losses, margins, b, ends), alpha)
        step = np.clip(alpha + slopes / curvature, 0.0, caps)
        inside = (step > 0.0) & (step < caps)
        E = np.flatnonzero(inside)
        if not 0 < E.size <= 500 or (before is not None and np.array_equal(inside, before)):
            break
        before = inside
        # Points of the box itself: a sum of steps ends beside its bounds.
        target = np.where(inside, alpha, step)
        if (target != alpha).any():
            alpha, margins = target, margins + samples.q_dot(target - alpha)
        try:
            slopes = losses.slopes(_short(losses, margins, b, ends), alpha)
            noise = EPS * float(np.abs([losses.thresholds[E], margins[E]]).max())
            known = None if ends is None else (ends[E], box.sums - ends.T @ alpha)
            change, shift = _change(samples, E, slopes, losses.shifts, known, noise)
        except np.linalg.LinAlgError:
            break
        target = alpha.copy()
        target[E] = np.clip(alpha[E] + change, 0.0, caps[E])
        alpha, margins, b = target, margins + samples.q_dot(target - alpha), b + shift
        best = _better(best, box, samples.y, alpha, margins)
    if best is solution:
        return best
    # Margins have been updated step by step; those of the result are without the errors of steps.
    if solution.w is None:
        best = _better(solution, box, samples.y, best.alpha, samples.q_dot(best.alpha))
        return best if best is solution else replace(best, rounding=0.0)
    w = samples.combine(best.alpha)
    best = _better(solution, box, samples.y, best.alpha, samples.margins(w))
    return best if best is solution else replace(best, w=w, apart=0.0)


def _ends(signs: np.ndarray, box: Box) -> np.ndarray:
    """Return the signs of samples in a column for each group, (n, n_groups)."""
    if not box.group.size:
        return signs[:, None]
    return np.where(box.group[:, None] == np.arange(box.sums.size), signs[:, None], 0.0)


def _short(losses: SampleLosses, margins, b: Any, ends: np.ndarray | None) -> np.ndarray:
    """Return what margins lack, with the intercepts of groups."""
    lacks = losses.short(margins)
    return lacks if ends is None else lacks - ends @ np.atleast_1d(b)


def _change(samples, E, slopes, shifts, known: tuple | None, noise) -> tuple[np.ndarray, Any]:
    """Solve (Q_EE + shifts) x + A b = slopes_E, A'x = missing, of known (A, missing); or b = 0.

    `noise` is the size of rounding errors of slopes.
    """
    Q, rest = samples.block(E, E), slopes[E]
    Q[np.diag_indices_from(Q)] += shifts[E]
    matrix = Q.copy()
    # Repeated samples make it singular.
    matrix[np.diag_indices_from(matrix)] += 1e-11 * max(np.trace(Q) / len(Q), 1e-300)
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    x, b = np.zeros(E.size), np.zeros(0)
    if known is not None:
        A, missing = known
        here = np.flatnonzero(A.any(axis=0))
        A, missing, b = A[:, here], missing[here], np.zeros(here.size)
        along = cho_solve(factor, A, check_finite=False)
        inverse = np.linalg.inv(A.T @ along)
    # Iterative refinement removes the effect of the ridge. If nothing but rounding errors of slopes
    # is left, their part of x, which is large for repeated samples, is taken off.
    for k in range(3):
        residual = rest - Q @ x if known is None else rest - Q @ x - A @ b
        ends = k > 0 and np.abs(residual).max() <= noise
        step = (-1.0 if ends else 1.0) * cho_solve(factor, residual, check_finite=False)
        if known is not None:
            move = inverse @ (A.T @ (x + step) - missing)
            step, b = step - along @ move, b + move
        x = x + step
        if ends:
            break
    if known is None:
        return x, 0.0
    # Groups without a sample here keep their intercepts.
    shift = np.zeros(known[0].shape[1])
    shift[here] = b
    return x, shift if shift.size > 1 else float(shift[0])


def _better(best, box: Box, y, alpha, margins) -> SampleSolution:
    """Return the point as a solution if it is feasible and its gap is smaller."""
    missing = box.sums_of(y * alpha) - box.sums
    if box.free and np.abs(missing).max() > 1e-14 * float(alpha.sum()):
        return best
    view = box.view(y * alpha, y * margins)
    if not view.gap < best.certificate.gap:
        return best
    certificate = Certificate(view.primal, view.primal - view.gap, view.gap)
    return replace(best, alpha=alpha, margins=margins, b=view.b, certificate=certificate)
