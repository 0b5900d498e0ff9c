"""Linear models of few narrow rows: the problems of all classes in one compiled call.

What other solvers prepare and decide would take more time than Newton's method for such problems.
"""

from time import perf_counter

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.certificate import Certificate
from skscreen.samples.kernels.distances import square_norms
from skscreen.svm.solvers.solution import SampleSolution


def with_feature(X: np.ndarray, bias: float) -> np.ndarray:
    """Return rows (n, d) in double precision, with the feature of a penalised intercept."""
    if not bias:
        return np.ascontiguousarray(X, np.float64)
    out = np.empty((X.shape[0], X.shape[1] + 1))
    out[:, :-1], out[:, -1] = X, bias
    return out


def solve_narrow(
    X: np.ndarray, bias: float, weights: np.ndarray, signs: np.ndarray, C: float, tol: float
) -> list[SampleSolution]:
    """Return the solutions for squared hinges of rows of signs (k, n), as users see them.

    Some may not have reached the tolerance.
    """
    began, rows = perf_counter(), with_feature(X, bias)
    (k, n), d = signs.shape, rows.shape[1]
    w, beta, found = np.empty((k, d)), np.empty((k, n)), np.empty((k, 3))
    norms = np.sqrt(square_norms(rows))
    loops.solve_squared_hinges(rows, norms, C * weights, signs, tol, w, beta, found)
    seconds, nothing = (perf_counter() - began) / k, np.empty(0)
    return [
        SampleSolution(
            beta=own, scores=nothing, w=each[: X.shape[1]],
            certificate=Certificate(primal, primal - gap, gap), n_iter=int(steps),
            converged=gap <= tol * primal, seconds=seconds,
            b=float(bias * each[-1]) if bias else 0.0, C=C,
        )
        for own, each, (primal, gap, steps) in zip(beta, w, found.tolist(), strict=True)
    ]  # fmt: skip
