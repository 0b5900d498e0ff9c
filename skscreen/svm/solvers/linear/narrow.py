"""Linear models of few narrow rows: the problems of all classes in one compiled call.

What other solvers prepare and decide would take more time than such problems do: squared hinges
and tubes by Newton's method, others by an interior point.

References
----------
S. S. Keerthi, D. DeCoste (2005). A modified finite Newton method for fast solution of large scale
linear SVMs. JMLR 6.
T. J. Dekker (1971). A floating-point technique for extending the available precision. Numer.
Math. 18.
S. Mehrotra (1992). On the implementation of a primal-dual interior point method. SIAM J. Optim. 2.
"""

from itertools import chain
from math import fsum
from time import perf_counter

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS, LARGEST
from skscreen.samples.kernels.distances import square_norms
from skscreen.samples.losses import SampleLosses
from skscreen.svm.dual import Dual
from skscreen.svm.solvers.solution import Solution

# Times this a number rounds to the upper half of its digits, and a rest.
_HALF = 2.0**27 + 1.0


def solve_narrow(
    X: np.ndarray, bias: float, losses: SampleLosses, signs: np.ndarray, C: float, tol: float
) -> list[Solution]:
    """Return the solutions for C times losses (m,) and rows of signs (k, m), as users see them.

    m is n, or 2 n of samples that stand twice. Some may not have reached the tolerance.
    """
    began, (n, n_features) = perf_counter(), X.shape
    d = n_features + (bias > 0.0)
    # Few columns are read as a whole, rows of changing sets of samples one by one.
    columns = np.empty((d, n), order="F" if losses.smooth else "C")
    columns[:n_features], columns[n_features:] = X.T, bias
    problem = losses, signs, C, tol
    w, betas, found = _solved(columns, *problem)
    if not all(gap <= tol * primal for primal, gap, _ in found.tolist()):
        w, betas, found = _solved_about_mean(columns, bias, *problem)
    seconds = (perf_counter() - began) / len(signs)
    return [
        Solution(
            beta=own, w=each[:n_features],
            certificate=Certificate(primal, primal - gap, gap), n_iter=int(steps),
            converged=gap <= tol * primal, seconds=seconds,
            b=float(bias * each[-1]) if bias else 0.0, C=C,
        )
        for own, each, (primal, gap, steps) in zip(betas, w, found.tolist(), strict=True)
    ]  # fmt: skip


def _solved(
    columns: np.ndarray, losses: SampleLosses, signs: np.ndarray, C: float, tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights (k, d), dual variables (k, m), and primal values, gaps and steps (k, 3)."""
    (d, n), (k, m) = columns.shape, signs.shape
    out = w, betas, found = np.empty((k, d)), np.empty((k, m)), np.empty((k, 3))
    if losses.smooth:
        rows, caps = columns.T, 0.5 * C / losses.shifts
        norms = np.sqrt(square_norms(rows))
        loops.solve_squared_hinges(rows, norms, losses.thresholds, caps, signs, tol, *out)
    else:
        one, caps = (w[0], betas[0], found[0]), C * losses.caps[:n]
        loops.solve_tube(columns, losses.thresholds, caps, tol, *one)
    return out


def _solved_about_mean(
    columns: np.ndarray, bias: float, losses: SampleLosses, signs: np.ndarray, C: float, tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the same where columns vary by little next to their means.

    Sums of products lose what varies. A reflection that takes the mean row to the first axis
    changes no length and no inner product: rows differ by what they differ from the mean, and the
    mean itself is in one column.
    """
    mean = columns.mean(axis=1)
    length = float(np.linalg.norm(mean))
    apart = columns - mean[:, None]
    height = -np.copysign(length, mean[0])
    mirror = mean.copy()
    mirror[0] -= height
    mirror *= np.sqrt(2.0) / (float(np.linalg.norm(mirror)) or 1.0)
    turned = apart.copy("K")
    turned -= mirror[:, None] * (mirror @ apart)
    turned[0] += height
    w, betas, found = _solved(turned, losses, signs, C, tol)
    if not all(np.abs(part).max() < LARGEST for part in (w, betas)):
        # Products with weights so huge, or of no number, overflow.
        found[:, 1] = np.inf
        return w, betas, found
    lifts = height * w[:, 0]
    w -= (w @ mirror)[:, None] * mirror
    for each, beta, lift, value, own in zip(w, betas, lifts, found, signs, strict=True):
        if bias:
            # What rounded weights miss of the score of the mean, the intercept makes up for.
            each[-1] += (lift - _inner(mean, each)) / bias
        value[:2] = _certificate(apart, mean, each, beta, Dual.of(losses, own, False).at(C))
    return w, betas, found


def _certificate(
    apart: np.ndarray, mean: np.ndarray, w: np.ndarray, beta: np.ndarray, dual: Dual
) -> tuple[float, float]:
    """Return primal value and gap of rows, a mean and columns (d, n) apart from it."""
    (d, n), lift = apart.shape, _inner(mean, w)
    size, norms = float(np.linalg.norm(w)), np.sqrt(square_norms(apart.T))
    errors = EPS * ((0.5 * d + 6.0) * size * norms + 4.0 * abs(lift))
    times = beta.size // n
    slopes = dual.target - np.tile(w @ apart + lift, times)
    slack, loss = dual.gap_of_slopes(beta, slopes, np.tile(errors, times))
    total = fsum(beta)
    off = w - apart @ beta.reshape(times, n).sum(axis=0) - total * mean
    lost = (0.5 * n + 6.0) * float(np.abs(beta) @ np.tile(norms, times))
    lost += 4.0 * (abs(total) * float(np.linalg.norm(mean)) + size)
    away, primal = float(np.linalg.norm(off)) + EPS * lost, 0.5 * size * size + loss
    return primal, slack + 0.5 * away * away + 4.0 * EPS * primal


def _inner(a: np.ndarray, b: np.ndarray) -> float:
    """Return an inner product without rounding errors but the last."""
    halves = []
    for x in (a, b):
        # Halves of their digits, whose products are exact (Dekker 1971).
        high = _HALF * x
        high -= high - x
        halves.append((high, x - high))
    first, second = halves
    return fsum(chain.from_iterable((p * q).tolist() for p in first for q in second))
