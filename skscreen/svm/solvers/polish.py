"""Polishing of solutions, by linear systems on the samples of margin 1.

Once it is known which samples have beta_i at a bound (R) and a score at the target (E), the dual
variables of E solve K_EE beta_E = target_E - K_ER beta_R, with the shifts of losses on the diagonal
of K_EE. The sets of a solver's last point are nearly right. If the solution of the
system leaves the box, or a score is on the wrong side, the sets are corrected and the next system
is solved (a primal-dual active set method).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS
from skscreen.svm.dual import Dual
from skscreen.svm.solvers.solution import SampleSolution


# A move that overflows is not taken.
@np.errstate(over="ignore", invalid="ignore")
def polish(samples: Any, dual: Dual, solution: SampleSolution) -> SampleSolution:
    """Return a solution with a smaller duality gap, or the same one."""
    # Passes over sparse rows cost as much as a solve.
    if solution.w is not None and samples.is_sparse and samples.n_entries > 100_000:
        return solution
    best, beta, f, b = solution, solution.beta, solution.scores, solution.b
    if solution.apart > 0.0 or solution.rounding > 0.0:
        f = samples.q_dot(beta)
    low, high, shifts, before = dual.low, dual.high, dual.all_shifts, None
    groups = _groups(dual)
    curvature = np.maximum(samples.norms**2 + shifts, 1e-300)
    for _ in range(6):
        if best.certificate.gap <= 1e-12 * best.certificate.primal:
            break
        # If a step along one coordinate stays inside the box, the sample belongs to E.
        slopes = dual.gradient(beta, dual.target - f - groups @ np.atleast_1d(b))
        step = np.clip(beta + slopes / curvature, low, high)
        inside = (step > low) & (step < high)
        E = np.flatnonzero(inside)
        if not 0 < E.size <= 500 or (before is not None and np.array_equal(inside, before)):
            break
        before = inside
        # Points of the box itself: a sum of steps ends beside its bounds.
        target = np.where(inside, beta, step)
        if (target != beta).any():
            beta, f = target, f + samples.q_dot(target - beta)
        try:
            slopes = dual.gradient(beta, dual.target - f - groups @ np.atleast_1d(b))
            noise = EPS * float(np.abs([dual.target[E], f[E]]).max())
            missing = dual.sums - groups.T @ beta if dual.free else np.zeros(0)
            change, shift = _change(samples, E, slopes, shifts, groups[E], missing, noise)
        except np.linalg.LinAlgError:
            break
        target = beta.copy()
        target[E] = np.clip(beta[E] + change, low[E], high[E])
        beta, f = target, f + samples.q_dot(target - beta)
        b = np.atleast_1d(b) + shift if dual.free else b
        best = _better(best, dual, beta, f)
    if best is solution:
        return best
    # Scores have been updated step by step; those of the result are without the errors of steps.
    if solution.w is None:
        best = _better(solution, dual, best.beta, samples.q_dot(best.beta))
        return best if best is solution else replace(best, rounding=0.0)
    w = samples.combine(best.beta)
    best = _better(solution, dual, best.beta, samples.margins(w))
    return best if best is solution else replace(best, w=w, apart=0.0)


def _groups(dual: Dual) -> np.ndarray:
    """Return in which group samples are, a column for each with a free intercept: (n, n_groups)."""
    if not dual.free:
        return np.zeros((dual.target.size, 1))
    if not dual.group.size:
        return np.ones((dual.target.size, 1))
    return (dual.group[:, None] == np.arange(dual.sums.size)).astype(np.float64)


def _change(samples, E, slopes, shifts, A, missing, noise) -> tuple[np.ndarray, np.ndarray]:
    """Solve (K_EE + shifts) x + A b = slopes_E, A'x = missing (n_groups,); b = 0 without groups.

    `noise` is the size of rounding errors of slopes.
    """
    Q, rest = samples.block(E, E), slopes[E]
    Q[np.diag_indices_from(Q)] += shifts[E]
    matrix = Q.copy()
    # Repeated samples make it singular.
    matrix[np.diag_indices_from(matrix)] += 1e-11 * max(np.trace(Q) / len(Q), 1e-300)
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    # Groups without a sample here keep their intercepts.
    shift = np.zeros(missing.size)
    here = np.flatnonzero(A[:, : missing.size].any(axis=0))
    A, missing, b, x = A[:, here], missing[here], np.zeros(here.size), np.zeros(E.size)
    if here.size:
        along = cho_solve(factor, A, check_finite=False)
        inverse = np.linalg.inv(A.T @ along)
    # Iterative refinement removes the effect of the ridge. If nothing but rounding errors of slopes
    # is left, their part of x, which is large for repeated samples, is taken off.
    for k in range(3):
        residual = rest - Q @ x - A @ b
        ends = k > 0 and np.abs(residual).max() <= noise
        step = (-1.0 if ends else 1.0) * cho_solve(factor, residual, check_finite=False)
        if here.size:
            move = inverse @ (A.T @ (x + step) - missing)
            step, b = step - along @ move, b + move
        x = x + step
        if ends:
            break
    shift[here] = b
    return x, shift


def _better(best: SampleSolution, dual: Dual, beta: np.ndarray, f: np.ndarray) -> SampleSolution:
    """Return the point as a solution if it is feasible and its gap is smaller."""
    missing = dual.sums_of(beta) - dual.sums
    if dual.free and np.abs(missing).max() > 1e-14 * float(np.abs(beta).sum()):
        return best
    view = dual.view(beta, f)
    if not view.gap < best.certificate.gap:
        return best
    certificate = Certificate(view.primal, view.primal - view.gap, view.gap)
    return replace(best, beta=beta, scores=f, b=view.b, certificate=certificate, errors=None)
