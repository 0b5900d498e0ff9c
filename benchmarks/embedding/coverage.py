"""Regions of a bootstrap around objects with few answers, for `run.py`."""

import numpy as np

from benchmarks.support.tables import table
from skscreen import OrdinalEmbedding
from skscreen.datasets import make_triplets
from skscreen.embedding.tools.bootstrap import nearest_similar

N, P, ROWS, NOISE = 30, 2, 1500, 0.1
# A normal variable of two dimensions is in the ellipse with |z|^2 up to this.
LEVEL = -2.0 * np.log(0.05)


def coverage(bench) -> dict:
    """How often the 95 % regions of a bootstrap hold the true point of an object with few answers.

    30 points in the plane, with 1,500 answers about them, and one more with few answers; a tenth of
    all answers is reversed. The true points are brought as near to the embedding as a similarity of
    the 30 can; a region is the ellipse of the mean and the covariance of the bootstrap. "Others"
    are the 30, each in some 150 answers.
    """
    rows, runs = [], bench.some(200, 20, 1)
    for loss in ("soe", "ste"):
        for n_answers in bench.some((1, 10, 40, 100), (1, 10, 40, 100), (10,)):
            samples = bench.some(100, 100, 10)
            found = [covered(loss, n_answers, seed, samples) for seed in range(runs)]
            rows.append([loss, n_answers, *(f"{value:.2f}" for value in np.mean(found, axis=0))])
    table("loss,answers,region holds it,those of others,size of region in the map", rows)
    return {}


def covered(loss: str, n_answers: int, seed: int, samples: int) -> list[float]:
    """Whether the region holds the point, for how many others it does, and its relative size."""
    rng = np.random.default_rng([seed, n_answers])
    points = rng.normal(size=(N + 1, P))
    rows = [rng.choice(N, 3, replace=False) for _ in range(ROWS)]
    rows += [np.r_[N, rng.choice(N, 2, replace=False)] for _ in range(n_answers)]
    rows = make_triplets(points, queries=rows, noise=NOISE, random_state=seed)
    model = OrdinalEmbedding(P, loss=loss, random_state=seed).fit(rows)
    places = model.bootstrap(samples, random_state=seed).points
    weights = np.append(np.ones(N), 0.0)
    away = nearest_similar(points, model.embedding_, weights) - places.mean(axis=0)
    inside = [
        off @ np.linalg.solve(np.cov(own.T), off) <= LEVEL
        for off, own in zip(away, places.transpose(1, 0, 2), strict=True)
    ]
    size = places[:, N].std(axis=0).mean() / model.embedding_[:N].std(axis=0).mean()
    return [float(inside[N]), float(np.mean(inside[:N])), float(size)]
