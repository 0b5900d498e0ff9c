"""Kernel matrices of low rank: rows of a factor, on which the problem is a linear one.

SMO takes small steps where few directions carry all of a kernel matrix, and there are hardly any
free samples for Newton's method. Pivoted Cholesky finds these directions.
"""

import numpy as np

from skscreen.core.floats import EPS
from skscreen.samples.kernels.gram import Gram, KernelSamples, Places
from skscreen.samples.rows import LinearSamples
from skscreen.svm.dual import Dual
from skscreen.svm.solvers.linear.solve import solve_linear
from skscreen.svm.solvers.solution import SampleSolution


def factor(gram: Gram | Places) -> np.ndarray | None:
    """Return L of shape (n, rank) with K = L L' up to rounding errors, None if the rank is high.

    That is above 300 or an eighth of the samples.
    """
    n, most = gram.n, min(300, gram.n // 8 + 1)
    everyone, row = np.arange(n), np.empty((1, n))
    left, L = gram.diagonal.copy(), np.empty((most, n))
    # Values that are given may have the rounding errors of single precision.
    enough = max(EPS * n * float(left.max()), gram.error * float(left.sum()))
    for rank in range(most):
        p = int(np.argmax(left))
        if left.sum() <= enough:
            return np.ascontiguousarray(L[:rank].T)
        gram.block(np.array([p]), everyone, row)
        L[rank] = (row[0] - L[:rank, p] @ L[:rank]) / np.sqrt(left[p])
        left = np.maximum(left - L[rank] ** 2, 0.0)
    return None


def solve_factored(
    samples: KernelSamples, dual: Dual, start: np.ndarray, tol: float, max_iter: int
) -> SampleSolution | None:
    """Solve on the rows of a factor; None if the rank is high. See `solve_kernel`."""
    L = factor(samples.gram)
    if L is None or L.shape[1] == 0:
        return None
    rows = LinearSamples(L, np.ones(samples.n), samples.bias)
    return solve_linear(rows, dual, start=start, tol=tol, max_iter=max_iter)
