"""Points on a line that stand on the wrong side of others: moved there one at a time.

On a line a gradient cannot take a point past another one without making answers worse on the way.
So each point in turn tries the gaps between the others, and goes where the objective is lowest.
"""

from collections.abc import Iterator
from math import log

import numpy as np

from skscreen.core.compiling import njit
from skscreen.embedding.problem.losses import CKL, ODD, answer, choice
from skscreen.embedding.problem.objective import LARGE, EmbeddingProblem
from skscreen.embedding.solvers.lbfgs import lbfgs
from skscreen.embedding.solvers.state import Progress, Settings

# Largest number of gaps that are tried for a point; among more points, gaps at equal steps of rank.
_GAPS = 32
_ROUNDS, _SWEEPS = 3, 6
# A move has to reduce an object's part of the objective by this share.
_LEAST = 1e-6


def improve_line(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings
) -> Iterator[Progress]:
    """Move points of X, of shape (n_objects, 1), and descend, in turn; F never rises.

    Yields nothing where no point has a better place. A sweep costs at most 33 x 3 evaluations.
    """
    rows = problem.answers
    # The answers of object v are `which[first[v]:first[v + 1]]`, twice where they name it twice.
    order = np.argsort(rows, axis=None, kind="stable")
    first = np.searchsorted(rows.ravel()[order], np.arange(problem.n_objects + 1))
    which, passes = order // problem.width, 0
    for _ in range(_ROUNDS):
        moved = [_sweep(X[:, 0], problem.terms, which, first, _GAPS)]
        while moved[-1] and len(moved) < _SWEEPS:
            moved.append(_sweep(X[:, 0], problem.terms, which, first, _GAPS))
        if moved[0] == 0:
            return
        passes += len(moved) * problem.width * min(_GAPS, problem.n_objects)
        for progress in lbfgs(problem, X, settings, passes=passes):
            yield progress
        passes = progress.passes


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep(x, terms, which, first, n_gaps):
    """Offer every object the gaps once; how many took one."""
    n = x.size
    taken = 0
    places, costs, products = np.empty(n_gaps + 1), np.empty(n_gaps + 1), np.empty(n_gaps + 1)
    for v in range(n):
        if first[v] == first[v + 1]:
            continue
        others = np.sort(np.concatenate((x[:v], x[v + 1 :])))
        # Candidates are the present place and the gaps between others; gaps at the ends have
        # average width.
        margin = (others[-1] - others[0]) / n
        count = min(n, n_gaps)
        places[0] = x[v]
        for g in range(count):
            r = g * others.size // (count - 1)
            if r == 0:
                places[1 + g] = others[0] - margin
            elif r == others.size:
                places[1 + g] = others[-1] + margin
            else:
                places[1 + g] = 0.5 * (others[r - 1] + others[r])
        _add_costs(
            x, v, places[: count + 1], costs, products, terms, which[first[v] : first[v + 1]]
        )
        best = np.argmin(costs[: count + 1])
        if costs[best] < costs[0] * (1.0 - _LEAST):
            x[v] = places[best]
            taken += 1
    return taken


@njit(cache=True, nogil=True, error_model="numpy")
def _add_costs(x, v, places, costs, products, terms, which):
    """Write the part of the objective that depends on object v, times the total weight.

    One logarithm of a product of factors, each at least 1, takes the place of many.
    """
    rows, width = terms.answers, terms.answers.shape[1]
    l_column, weighted = 0 if width == 3 else 2, terms.weights.size > 0
    ridge = terms.total * terms.reg / x.size
    for g in range(places.size):
        costs[g] = ridge * places[g] * places[g]
        products[g] = 1.0
    before = -1
    for q in which:
        if q == before:
            continue
        before = q
        i, j, l, k = rows[q, 0], rows[q, 1], rows[q, l_column], rows[q, width - 1]
        weight = terms.weights[q] if weighted else 1.0
        # Differences are linear in the place of v, so that the loop only reads its own arrays.
        near_at, near_by = _difference(x, i, j, v)
        far_at, far_by = _difference(x, l, k, v)
        if terms.loss == ODD:
            third_at, third_by = _difference(x, j, k, v)
        large = False
        if terms.loss == CKL and not weighted:
            # A separate loop, so that it is vectorised.
            for g in range(places.size):
                near, far = near_at + near_by * places[g], far_at + far_by * places[g]
                c = far * far + terms.shape
                products[g] *= (near * near + terms.shape + c) / c
                large |= products[g] > LARGE
        else:
            for g in range(places.size):
                near, far = near_at + near_by * places[g], far_at + far_by * places[g]
                if terms.loss == ODD:
                    third = third_at + third_by * places[g]
                    linear, factor, _, _, _ = choice(near * near, far * far, third * third)
                else:
                    linear, factor, _, _ = answer(terms.loss, terms.shape, near * near, far * far)
                costs[g] += weight * linear
                if weighted:
                    costs[g] += weight * log(factor)
                else:
                    products[g] *= factor
                    large |= products[g] > LARGE
        if large:
            for g in range(places.size):
                costs[g] += log(products[g])
                products[g] = 1.0
    for g in range(places.size):
        costs[g] += log(products[g])


@njit(cache=True, nogil=True, error_model="numpy")
def _difference(x, i, j, v):
    """Numbers with x[i] - x[j] = first + second x[v]."""
    if i == v and j != v:
        return -x[j], 1.0
    if j == v and i != v:
        return x[i], -1.0
    return x[i] - x[j], 0.0
