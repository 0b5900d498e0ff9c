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


def solve_narrow(
    X: np.ndarray, bias: float, losses: SampleLosses, signs: np.ndarray, C: float, tol: float
) -> list[Solution]:
    """Return the solutions for C times losses (m,) and rows of signs (k, m), as users see them.

    m is n, or 2 n of samples that stand twice. Some may not have reached the tolerance.
    """
    began, (n, n_features) = perf_counter(), X.shape
    d = n_features + (bias > 0.0)
    (k, m), tubes = signs.shape, not losses.smooth
    # Few columns are read as a whole, rows of changing sets of samples one by one.
    columns = np.empty((d, n), order="C" if tubes else "F")
    columns[:n_features], columns[n_features:] = X.T, bias
    out = w, betas, found = np.empty((k, d)), np.empty((k, m)), np.empty((k, 3))
    if tubes:
        one, caps = (w[0], betas[0], found[0]), C * losses.caps[:n]
        loops.solve_tube(columns, losses.thresholds, caps, tol, *one)
    else:
        rows, caps = columns.T, 0.5 * C / losses.shifts
        norms = np.sqrt(square_norms(rows))
        loops.solve_squared_hinges(rows, norms, losses.thresholds, caps, signs, tol, *out)
    seconds = (perf_counter() - began) / k
    return [
        Solution(
            beta=own, w=each[:n_features],
            certificate=Certificate(primal, primal - gap, gap), n_iter=int(steps),
            converged=gap <= tol * primal, seconds=seconds,
            b=float(bias * each[-1]) if bias else 0.0, C=C,
        )
        for own, each, (primal, gap, steps) in zip(betas, w, found.tolist(), strict=True)
    ]  # fmt: skip
