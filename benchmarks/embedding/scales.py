"""Fits in one dimension beside the best of many starts, for `run.py`."""

import time

import numpy as np

from benchmarks.embedding.runs import LOSSES
from benchmarks.support.tables import table
from skscreen import OrdinalEmbedding
from skscreen.datasets import make_triplets

N, NOISE, ENOUGH = 20, 0.1, 1.02


def scales(bench) -> dict:
    """How near fits in one dimension come to the best of many starts, and how long they take.

    20 points on a line, a tenth of the answers reversed. The best is the lowest objective of 100
    starts, each moved as the default solver moves its own.
    """
    rows, runs, starts = [], bench.some(50, 5, 1), bench.some(100, 100, 2)
    for loss in LOSSES:
        # Answers for each object.
        for per_object in (20, 50):
            ratios, milliseconds = [], []
            for seed in range(runs):
                points = np.random.default_rng(seed).uniform(size=(N, 1))
                answers = make_triplets(points, per_object * N, noise=NOISE, random_state=seed)
                # Without a change of the ridge, which would make objectives of another function.
                found, spent = fitted(answers, loss, seed, reg=1e-3)
                best, _ = fitted(answers, loss, seed + 1, reg=1e-3, n_init=starts)
                ratios.append(found / min(best, found))
                milliseconds.append(spent)
            near = np.mean(np.array(ratios) <= ENOUGH)
            spent = np.median(milliseconds)
            rows.append(
                (loss, per_object * N, f"{near:.2f}", f"{np.max(ratios):.3f}", f"{spent:.1f}")
            )
            print(*rows[-1], flush=True)
    table("loss,answers,within 2 %,worst,CPU ms (median)", rows)
    return {}


def fitted(answers, loss: str, seed: int, **options) -> tuple[float, float]:
    """Objective and CPU milliseconds."""
    model = OrdinalEmbedding(1, loss=loss, objects=N, random_state=seed, **options)
    start = time.process_time()
    model.fit(answers)
    return model.objective_, 1e3 * (time.process_time() - start)
