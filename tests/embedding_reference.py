"""Ordinal embedding by short code that shares with the package the losses alone, for the tests."""

import numpy as np

from skscreen._compiled import embedding


def columns(rows):
    """i, j, l, k of triplets or quadruplets."""
    return rows.T if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]].T


def share_right(X, rows):
    i, j, l, k = columns(np.asarray(rows))
    return np.mean(((X[i] - X[j]) ** 2).sum(axis=1) < ((X[l] - X[k]) ** 2).sum(axis=1))


def triplets_of(points, size, seed, noise=0.0):
    """Random true answers about points; a share `noise` of them turned round."""
    rng, n = np.random.default_rng(seed), len(points)
    rows = np.array([rng.choice(n, 3, replace=False) for _ in range(size)])
    far = ((points[rows[:, 0]] - points[rows[:, 1]]) ** 2).sum(axis=1)
    near = ((points[rows[:, 0]] - points[rows[:, 2]]) ** 2).sum(axis=1)
    turn = (far > near) != (rng.uniform(size=size) < noise)
    rows[turn] = rows[turn][:, [0, 2, 1]]
    return rows


def trials_of(points, size, seed, noise=0.0):
    """Three objects each, and the column of the one that is not in the nearest pair."""
    rng = np.random.default_rng(seed)
    trials = np.array([rng.choice(len(points), 3, replace=False) for _ in range(size)])
    opposite = np.stack(
        [((points[trials[:, u]] - points[trials[:, v]]) ** 2).sum(axis=1)
         for u, v in ((1, 2), (0, 2), (0, 1))], axis=1,
    )  # fmt: skip
    odd = opposite.argmin(axis=1)
    return trials, np.where(rng.uniform(size=size) < noise, rng.integers(3, size=size), odd)


def loss_values(loss, a, c):
    """f, df/da and df/dc for arrays of squared distances."""
    return np.vectorize(lambda *d: of_answer(loss, *d)[:3], otypes="ddd")(a, c)


def of_answer(loss, *distances):
    """f and its slopes for the two or three squared distances of an answer."""
    slopes = np.empty(len(distances))
    return embedding.answer_loss(
        loss.code, loss.shape, np.array(distances, dtype=float), slopes
    ), *slopes


def gradient(loss, rows, X, reg=0.0):
    """Gradient of the mean loss and the ridge, answer by answer."""
    result = 2.0 * reg / len(X) * X
    for i, j, l, k in columns(rows).T:
        a, c, e = (np.sum((X[u] - X[v]) ** 2) for u, v in ((i, j), (l, k), (j, k)))
        if loss.of_trials:
            _, near, far, third = of_answer(loss, a, c, e)
        else:
            (_, near, far), third = of_answer(loss, a, c), 0.0
        for u, v, slope in ((i, j, near), (l, k, far), (j, k, third)):
            push = 2.0 * slope * (X[u] - X[v]) / len(rows)
            result[u] += push
            result[v] -= push
    return result
