"""How often the 95 % regions of a bootstrap hold the true point of an object with few answers.

30 points in the plane, with 1,500 answers about them, and one more with few answers; a tenth of all
answers is turned round. The true points are brought as near to the embedding as a similarity of the
30 can; a region is the ellipse of the mean and the covariance of the bootstrap. "Others" are the
30, each in some 150 answers.

    python -m benchmarks.embedding.coverage [--runs 200]
"""

import argparse

import numpy as np

from benchmarks.support.tables import table
from skscreen import OrdinalEmbedding
from skscreen.embedding.tools.bootstrap import nearest_similar

N, P, ROWS, NOISE, SAMPLES = 30, 2, 1500, 0.1, 100
ANSWERS = (1, 10, 40, 100)
LOSSES = ("soe", "ste")
# A normal variable of two dimensions is in the ellipse with |z|^2 up to this.
LEVEL = -2.0 * np.log(0.05)


def answered(points: np.ndarray, rows: np.ndarray, rng) -> np.ndarray:
    """Put the nearer object second, but for a tenth of the rows."""
    i, j, k = rows.T
    near, far = (((points[i] - points[v]) ** 2).sum(axis=1) for v in (j, k))
    right = (near < far) ^ (rng.random(len(rows)) < NOISE)
    return np.where(right[:, None], rows, rows[:, [0, 2, 1]])


def covered(loss: str, n_answers: int, seed: int) -> list[float]:
    """Whether the region holds the point, for how many others it does, and its relative size."""
    rng = np.random.default_rng([seed, n_answers])
    points = rng.normal(size=(N + 1, P))
    rows = [rng.choice(N, 3, replace=False) for _ in range(ROWS)]
    rows += [np.r_[N, rng.choice(N, 2, replace=False)] for _ in range(n_answers)]
    rows = answered(points, np.array(rows), rng)
    model = OrdinalEmbedding(P, loss=loss, random_state=seed).fit(rows)
    places = model.bootstrap(SAMPLES, random_state=seed).points
    weights = np.append(np.ones(N), 0.0)
    away = nearest_similar(points, model.embedding_, weights) - places.mean(axis=0)
    inside = [
        off @ np.linalg.solve(np.cov(own.T), off) <= LEVEL
        for off, own in zip(away, places.transpose(1, 0, 2), strict=True)
    ]
    size = places[:, N].std(axis=0).mean() / model.embedding_[:N].std(axis=0).mean()
    return [float(inside[N]), float(np.mean(inside[:N])), float(size)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args()
    rows = []
    for loss in LOSSES:
        for n_answers in ANSWERS:
            found = [covered(loss, n_answers, seed) for seed in range(options.runs)]
            rows.append([loss, n_answers, *(f"{value:.2f}" for value in np.mean(found, axis=0))])
    table("loss,answers,region holds it,those of others,size of region in the map", rows)
