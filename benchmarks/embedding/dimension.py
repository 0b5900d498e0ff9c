"""How often the test of the dimension is right, for `run.py`; `peers.py` has the time beside
cblearn's.
"""

import time

import numpy as np

from benchmarks.embedding.peers import DIMENSIONS, FOLDS, about_points
from benchmarks.support.tables import table
from skscreen import embedding_dimension_test


def dimension(bench) -> dict:
    """How often the test of the dimension is right, how often too high, and how long it takes.

    60 points in 2, 3 and 5 dimensions, a tenth of the answers reversed, 1 to 7 dimensions tried.
    """
    rows, runs = [], bench.some(50, 10, 1)
    # Answers for each coordinate of each object, and dimensions.
    for per_coordinate in bench.some((10, 20, 40), (10, 20, 40), (10,)):
        for true in bench.some((2, 3, 5), (2, 3, 5), (2,)):
            found, start = [], time.process_time()
            for seed in range(runs):
                answers = about_points(true, per_coordinate, seed)
                result = embedding_dimension_test(answers, DIMENSIONS, FOLDS, random_state=seed)
                found.append(result.dimension_)
            seconds = (time.process_time() - start) / runs
            right, above = np.mean(np.array(found) == true), np.mean(np.array(found) > true)
            rows.append((true, len(answers), f"{right:.2f}", f"{above:.2f}", f"{seconds:.2f}"))
            print(*rows[-1], flush=True)
    table("dimension,answers,found,too high,CPU seconds", rows)
    return {}
