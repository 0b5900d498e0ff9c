"""Scales: how near fits in one dimension come to the best of many starts, and how long they take.

n = 20 points on a line, 10 % of the answers turned round. The best is the lowest objective of 100
starts, each moved as the default solver moves its own.

    python -m benchmarks.embedding.scales [--runs 50]
"""

import argparse
import time
import warnings

import numpy as np

from benchmarks.support.tables import table
from skscreen import OrdinalEmbedding
from skscreen.datasets import make_triplets

N, NOISE, STARTS, ENOUGH = 20, 0.1, 100, 1.02
LOSSES = ("soe", "ste", "tste", "gnmds", "ckl")
# Answers for each object.
ANSWERS = (20, 50)


def fitted(answers, loss: str, seed: int, **options) -> tuple[float, float]:
    """Objective and CPU milliseconds."""
    model = OrdinalEmbedding(1, loss=loss, objects=N, random_state=seed, **options)
    start = time.process_time()
    model.fit(answers)
    return model.objective_, 1e3 * (time.process_time() - start)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for loss in LOSSES:
        for per_object in ANSWERS:
            ratios, milliseconds = [], []
            for seed in range(options.runs):
                points = np.random.default_rng(seed).uniform(size=(N, 1))
                answers = make_triplets(points, per_object * N, noise=NOISE, random_state=seed)
                # Without a change of the ridge, which would make objectives of another function.
                found, spent = fitted(answers, loss, seed, reg=1e-3)
                best, _ = fitted(answers, loss, seed + 1, reg=1e-3, n_init=STARTS)
                ratios.append(found / min(best, found))
                milliseconds.append(spent)
            rows.append([
                loss, per_object * N, f"{np.mean(np.array(ratios) <= ENOUGH):.2f}",
                f"{np.max(ratios):.3f}", f"{np.median(milliseconds):.1f}",
            ])  # fmt: skip
            print(*rows[-1], flush=True)
    table("loss,answers,within 2 %,worst,CPU ms (median)", rows)
