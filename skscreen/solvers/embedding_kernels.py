"""Compiled stochastic passes of ordinal embedding: SGD on single answers, and an epoch of SVRG."""

import numpy as np
from numba import njit

from skscreen.problems.embedding_losses import answer


@njit(cache=True, nogil=True)
def sgd_pass(X, answers, start, n_steps, first_step, last_step, loss, shape, reg):
    """`n_steps` steps on single answers, with lengths that go linearly from first to last.

    Rows are taken in order, from `start` on and round the end: they are shuffled beforehand. Each
    object shrinks by its share of the ridge when it is touched.
    """
    m, width = answers.shape
    p = X.shape[1]
    l_column = 0 if width == 3 else 2
    decay = (last_step - first_step) / max(n_steps, 1)
    q = start
    for t in range(n_steps):
        i, j = answers[q, 0], answers[q, 1]
        l, k = answers[q, l_column], answers[q, width - 1]
        q += 1
        if q == m:
            q = 0
        a = c = 0.0
        for d in range(p):
            near = X[i, d] - X[j, d]
            far = X[l, d] - X[k, d]
            a += near * near
            c += far * far
        _, _, slope_a, slope_c = answer(loss, shape, a, c)
        if slope_a == 0.0 and slope_c == 0.0:
            continue
        step = 2.0 * (first_step + decay * t)
        slope_a *= step
        slope_c *= step
        shrink = 1.0 - step * reg / width
        for d in range(p):
            near = slope_a * (X[i, d] - X[j, d])
            far = slope_c * (X[l, d] - X[k, d])
            if width == 3:
                X[i, d] = shrink * X[i, d] - near - far
            else:
                X[i, d] = shrink * X[i, d] - near
                X[l, d] = shrink * X[l, d] - far
            X[j, d] = shrink * X[j, d] + near
            X[k, d] = shrink * X[k, d] + far
    return q
