"""How often the regions of a bootstrap hold the true points.

n = 30 points in the plane. A tenth of the answers is turned round, or they are as likely as the
loss "ste" takes them to be, so that it is the likelihood. The true points are brought as near to
the embedding as a similarity can; a region is the ellipse that `EmbeddingDisplay` draws.

    python -m benchmarks.embedding.coverage [--runs 40]
"""

import argparse

import numpy as np

from benchmarks.support.tables import table
from skscreen import OrdinalEmbedding
from skscreen.datasets import make_triplets
from skscreen.embedding.tools.bootstrap import nearest_similar

N, P, NOISE, SAMPLES = 30, 2, 0.1, 100
LEVELS = (0.5, 0.8, 0.95)
# Answers for each coordinate of each object.
ANSWERS = (10, 20, 50, 100)
# Losses, and how answers go wrong.
CASES = (("soe", "turned"), ("ste", "turned"), ("ste", "as the loss says"))


def covered(loss: str, noise: str, per_coordinate: int, seed: int) -> list[float]:
    """Shares of the objects whose true point is in its region, one for each level."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(N, P))
    share = NOISE if noise == "turned" else 0.0
    answers = make_triplets(points, per_coordinate * N * P, noise=share, random_state=seed)
    if noise != "turned":
        i, j, k = answers.T
        near, far = (((points[i] - points[v]) ** 2).sum(axis=1) for v in (j, k))
        wrong = rng.random(len(answers)) > 1.0 / (1.0 + np.exp(near - far))
        answers[wrong] = answers[wrong][:, [0, 2, 1]]
    model = OrdinalEmbedding(P, loss=loss, objects=N, random_state=seed).fit(answers)
    places = model.bootstrap(SAMPLES, random_state=seed).points
    off = places - places.mean(axis=0)
    covariances = np.einsum("sni,snj->nij", off, off) / (SAMPLES - 1)
    away = (nearest_similar(points, model.embedding_) - model.embedding_)[:, :, None]
    squares = (away * np.linalg.solve(covariances, away)).sum(axis=(1, 2))
    return [float(np.mean(squares <= -2.0 * np.log1p(-level))) for level in LEVELS]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40)
    options = parser.parse_args()
    rows = []
    for loss, noise in CASES:
        for per_coordinate in ANSWERS:
            shares = [covered(loss, noise, per_coordinate, seed) for seed in range(options.runs)]
            shown = (f"{share:.2f}" for share in np.mean(shares, axis=0))
            rows.append([loss, noise, per_coordinate * N * P, *shown])
    table("loss,wrong answers,answers,level 50 %,level 80 %,level 95 %", rows)
