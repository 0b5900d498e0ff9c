"""Compiled stochastic passes of ordinal embedding: SGD on single answers, and an epoch of SVRG."""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.embedding.problem.losses import EmbeddingLoss, answer, choice, squared_distance


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
            _, _, slope_a, slope_c, slope_e = choice(a, c, squared_distance(X, j, k))
        if slope_a == 0.0 and slope_c == 0.0 and reg == 0.0:
            continue
        step = 2.0 * (first_step + decay * t)
        slope_a *= step
        slope_c *= step
        if third is not None:
            # All moves start from the same points.
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
def svrg_epoch(
    X, snapshot, gradient, answers, start, n_steps, batch, step, loss, shape, reg, last, buffer,
    third,
):  # fmt: skip
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
                    _step_along(X, gradient, v, dense * (t - last[v]))
                    last[v] = t
            near, far = _square(X, i, j), _square(X, l, k)
            old_near, old_far = _square(snapshot, i, j), _square(snapshot, l, k)
            if third is None:
                _, _, slope_a, slope_c = answer(loss, shape, near, far)
                _, _, old_slope_a, old_slope_c = answer(loss, shape, old_near, old_far)
            else:
                _, _, slope_a, slope_c, slope_e = choice(near, far, squared_distance(X, j, k))
                _, _, old_slope_a, old_slope_c, old_slope_e = choice(
                    old_near, old_far, squared_distance(snapshot, j, k)
                )
                _difference(X, snapshot, j, k, slope_e, old_slope_e, buffer, b, 2 * p)
            _difference(X, snapshot, i, j, slope_a, old_slope_a, buffer, b, 0)
            _difference(X, snapshot, l, k, slope_c, old_slope_c, buffer, b, p)
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
            _move(X, i, j, 2.0 * step, buffer, b, 0)
            _move(X, l, k, 2.0 * step, buffer, b, p)
            if third is not None:
                _move(X, j, k, 2.0 * step, buffer, b, 2 * p)
    for v in range(n):
        _step_along(X, gradient, v, dense * (n_steps - last[v]))


@njit(inline="always")
def _square(X, i, j):
    """Squared distance of two objects, compiled into the caller."""
    total = 0.0
    for d in range(X.shape[1]):
        total += (X[i, d] - X[j, d]) ** 2
    return total


@njit(inline="always")
def _step_along(X, gradient, v, length):
    """Move one object against its part of the gradient."""
    for d in range(X.shape[1]):
        X[v, d] -= length * gradient[v, d]


@njit(inline="always")
def _difference(X, snapshot, i, j, slope, old_slope, buffer, b, first):
    """Write, from a column on, the change since the snapshot of half a distance's gradient."""
    for d in range(X.shape[1]):
        old = old_slope * (snapshot[i, d] - snapshot[j, d])
        buffer[b, first + d] = slope * (X[i, d] - X[j, d]) - old


@njit(inline="always")
def _move(X, i, j, length, buffer, b, first):
    """Move two objects against each other, by what a column of `buffer` on holds."""
    for d in range(X.shape[1]):
        step = length * buffer[b, first + d]
        X[i, d] -= step
        X[j, d] += step
