"""How often the test of the dimension is right, how often too high, and how long it takes.

n = 60 points in 2, 3 and 5 dimensions, 10 % of the answers turned round; dimensions 1 to 7 are
tried. `peers.py` has the time beside cblearn's test.

    python -m benchmarks.embedding.dimension [--runs 50]
"""

import argparse
import time

import numpy as np

from benchmarks.embedding.peers import DIMENSIONS, FOLDS, about_points
from benchmarks.support.tables import table
from skscreen import embedding_dimension_test

TRUE = (2, 3, 5)
# Answers for each coordinate of each object.
ANSWERS = (10, 20, 40)


def rates(runs: int) -> None:
    """Print how often the dimension is right, and how often above the true one."""
    rows = []
    for per_coordinate in ANSWERS:
        for dimension in TRUE:
            found, start = [], time.process_time()
            for seed in range(runs):
                answers = about_points(dimension, per_coordinate, seed)
                result = embedding_dimension_test(answers, DIMENSIONS, FOLDS, random_state=seed)
                found.append(result.dimension_)
            seconds = (time.process_time() - start) / runs
            found = np.array(found)
            rows.append([
                dimension, len(answers), f"{np.mean(found == dimension):.2f}",
                f"{np.mean(found > dimension):.2f}", f"{seconds:.2f}",
            ])  # fmt: skip
            print(*rows[-1], flush=True)
    table("dimension,answers,found,too high,CPU seconds", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    options = parser.parse_args()
    rates(options.runs)
