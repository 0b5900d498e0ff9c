"""An object with few answers among others with many."""

import numpy as np
import pytest

from skscreen import OrdinalEmbedding

N, NOISE = 30, 0.1


def answers_about(points, rows, rng):
    """Put the nearer object second, but for a tenth of the answers."""
    i, j, k = rows.T
    near, far = (((points[i] - points[v]) ** 2).sum(axis=1) for v in (j, k))
    right = (near < far) ^ (rng.random(len(rows)) < NOISE)
    return np.where(right[:, None], rows, rows[:, [0, 2, 1]])


def rare_object(seed, n_answers, n_components=2, n_rows=1500):
    """True points, answers about all but the last object, and answers about the last."""
    rng = np.random.default_rng([seed, n_answers])
    points = rng.normal(size=(N + 1, n_components))
    known = [rng.choice(N, 3, replace=False) for _ in range(n_rows)]
    about = [np.r_[N, rng.choice(N, 2, replace=False)] for _ in range(n_answers)]
    return points, *(answers_about(points, np.array(rows), rng) for rows in (known, about))


@pytest.mark.parametrize("n_components", [2, 3])
@pytest.mark.parametrize("n_answers", [10, 40, 100])
def test_it_is_not_flung_out_of_the_map(n_answers, n_components):
    flung = 0
    for seed in range(40):
        _, known, about = rare_object(seed, n_answers, n_components)
        model = OrdinalEmbedding(n_components, random_state=0).fit(np.r_[known, about])
        radii = np.linalg.norm(model.embedding_ - model.embedding_[:N].mean(axis=0), axis=1)
        flung += radii[N] > 1.5 * radii[:N].max()
    assert flung <= 1
