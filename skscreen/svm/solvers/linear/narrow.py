"""Linear models of few narrow rows: the problems of all classes in one compiled call.

What other solvers prepare and decide would take more time than such problems do: squared hinges
and tubes by Newton's method, others by an interior point.

References
----------
S. S. Keerthi, D. DeCoste (2005). A modified finite Newton method for fast solution of large scale
linear SVMs. JMLR 6.
S. Mehrotra (1992). On the implementation of a primal-dual interior point method. SIAM J. Optim. 2.
"""

from time import perf_counter

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.certificate import Certificate
from skscreen.samples.kernels.distances import square_norms
from skscreen.samples.losses import SampleLosses
from skscreen.svm.solvers.solution import Solution


def with_feature(X: np.ndarray, bias: float) -> np.ndarray:
    """Return rows (n, d) in double precision, with the feature of a penalised intercept."""
    if not bias:
        return np.ascontiguousarray(X, np.float64)
    out = np.empty((X.shape[0], X.shape[1] + 1))
    out[:, :-1], out[:, -1] = X, bias
    return out


def solve_narrow(
    X: np.ndarray, bias: float, losses: SampleLosses, signs: np.ndarray, C: float, tol: float
) -> list[Solution]:
    """Return the solutions for C times losses (m,) and rows of signs (k, m), as users see them.

    m is n, or 2 n of samples that stand twice. Some may not have reached the tolerance.
    """
    began, rows = perf_counter(), with_feature(X, bias)
    (k, m), d, norms = signs.shape, rows.shape[1], np.sqrt(square_norms(rows))
    out = w, duals, found = np.empty((k, d)), np.empty((k, m)), np.empty((k, 3))
    if losses.smooth:
        caps = 0.5 * C / losses.shifts
        loops.solve_squared_hinges(rows, norms, losses.thresholds, caps, signs, tol, *out)
        betas = duals
    else:
        loops.solve_hinges(rows, norms, losses.thresholds, C * losses.caps, signs, tol, *out)
        betas = signs * duals
    seconds = (perf_counter() - began) / k
    return [
        Solution(
            beta=own, w=each[: X.shape[1]],
            certificate=Certificate(primal, primal - gap, gap), n_iter=int(steps),
            converged=gap <= tol * primal, seconds=seconds,
            b=float(bias * each[-1]) if bias else 0.0, C=C,
        )
        for own, each, (primal, gap, steps) in zip(betas, w, found.tolist(), strict=True)
    ]  # fmt: skip
