"""Compiled stochastic passes of ordinal embedding: SGD on single answers, and an epoch of SVRG."""

import numpy as np
from numba import njit

from skscreen.embedding.losses import EmbeddingLoss, answer, choice


def room_for_third(loss: EmbeddingLoss, n_components: int) -> np.ndarray | None:
    """Return memory for the third distance of the odd one out; None for other losses.

    The passes are compiled separately for None, without what it is for.
    """
    return np.empty(n_components) if loss.of_trials else None


@njit(cache=True, nogil=True, error_model="numpy")
def sgd_pass(X, answers, start, n_steps, first_step, last_step, loss, shape, reg, third):
    """`n_steps` steps on single answers, with lengths that go linearly from first to last.

    Rows are taken in order, from `start` on and round the end: they are shuffled beforehand. Each
    object shrinks by its share of the ridge when it is touched. `third` is what `room_for_third`
    returns.
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
        if third is None:
            _, _, slope_a, slope_c = answer(loss, shape, a, c)
        else:
            e = _third_distance(X, j, k)
            _, _, slope_a, slope_c, slope_e = choice(a, c, e)
        if slope_a == 0.0 and slope_c == 0.0 and reg == 0.0:
            continue
        step = 2.0 * (first_step + decay * t)
        slope_a *= step
        slope_c *= step
        if third is not None:
            # All moves are from the same points.
            for d in range(p):
                third[d] = step * slope_e * (X[j, d] - X[k, d])
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
        if third is not None:
            for d in range(p):
                X[j, d] -= third[d]
                X[k, d] += third[d]
    return q


@njit(cache=True, nogil=True, error_model="numpy")
def _third_distance(X, j, k):
    total = 0.0
    for d in range(X.shape[1]):
        difference = X[j, d] - X[k, d]
        total += difference * difference
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def svrg_epoch(
    X,
    snapshot,
    gradient,
    answers,
    start,
    n_steps,
    batch,
    step,
    loss,
    shape,
    reg,
    last,
    buffer,
    third,
):
    """Take `n_steps` steps of SVRG on `batch` answers each, from X = snapshot.

    A step moves X by -batch * step * u, where u is the mean over the batch of the differences of
    gradients at X and at the snapshot, plus the full `gradient`. That last part moves every
    object: it is added to an object when the object is next needed, `last` says up to which step
    it has been. `buffer`, of shape (batch, 3 p), holds the differences until all are computed.
    """
    m, width = answers.shape
    n, p = X.shape
    l_column = 0 if width == 3 else 2
    dense = batch * step
    last[:] = 0
    q = start
    for t in range(n_steps):
        first = q
        for b in range(batch):
            i, j = answers[q, 0], answers[q, 1]
            l, k = answers[q, l_column], answers[q, width - 1]
            q = q + 1 if q + 1 < m else 0
            for v in (i, j, l, k):
                if last[v] < t:
                    late = dense * (t - last[v])
                    for d in range(p):
                        X[v, d] -= late * gradient[v, d]
                    last[v] = t
            a = c = old_a = old_c = 0.0
            for d in range(p):
                near, far = X[i, d] - X[j, d], X[l, d] - X[k, d]
                a += near * near
                c += far * far
                near, far = snapshot[i, d] - snapshot[j, d], snapshot[l, d] - snapshot[k, d]
                old_a += near * near
                old_c += far * far
            if third is None:
                _, _, slope_a, slope_c = answer(loss, shape, a, c)
                _, _, old_slope_a, old_slope_c = answer(loss, shape, old_a, old_c)
            else:
                _, _, slope_a, slope_c, slope_e = choice(a, c, _third_distance(X, j, k))
                _, _, old_slope_a, old_slope_c, old_slope_e = choice(
                    old_a, old_c, _third_distance(snapshot, j, k)
                )
                for d in range(p):
                    buffer[b, 2 * p + d] = slope_e * (X[j, d] - X[k, d]) - old_slope_e * (
                        snapshot[j, d] - snapshot[k, d]
                    )
            for d in range(p):
                buffer[b, d] = slope_a * (X[i, d] - X[j, d]) - old_slope_a * (
                    snapshot[i, d] - snapshot[j, d]
                )
                buffer[b, p + d] = slope_c * (X[l, d] - X[k, d]) - old_slope_c * (
                    snapshot[l, d] - snapshot[k, d]
                )
        q = first
        shrink = 2.0 * step * reg / width
        for b in range(batch):
            i, j = answers[q, 0], answers[q, 1]
            l, k = answers[q, l_column], answers[q, width - 1]
            q = q + 1 if q + 1 < m else 0
            for column in range(width):
                v = answers[q - 1, column]
                for d in range(p):
                    X[v, d] -= shrink * (X[v, d] - snapshot[v, d])
            for d in range(p):
                near = 2.0 * step * buffer[b, d]
                far = 2.0 * step * buffer[b, p + d]
                X[i, d] -= near
                X[j, d] += near
                X[l, d] -= far
                X[k, d] += far
            if third is not None:
                for d in range(p):
                    move = 2.0 * step * buffer[b, 2 * p + d]
                    X[j, d] -= move
                    X[k, d] += move
    for v in range(n):
        late = dense * (n_steps - last[v])
        for d in range(p):
            X[v, d] -= late * gradient[v, d]
