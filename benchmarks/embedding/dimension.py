"""How often the test of the dimension is right, how often too high, and how long it takes.

n = 60 points in 2, 3 and 5 dimensions, 10 % of the answers turned round; dimensions 1 to 7 are
tried. Beside it cblearn's test, with its estimator of the same loss, on the same answers.

    python -m benchmarks.embedding.dimension [--peer-python PYTHON] [--runs 50]
"""

import argparse
import time

import numpy as np

from benchmarks.support.peer_process import PeerProcess
from benchmarks.support.tables import table
from skscreen import embedding_dimension_test
from skscreen.datasets import make_triplets

N, NOISE, DIMENSIONS, CV = 60, 0.1, list(range(1, 8)), 10
TRUE = (2, 3, 5)
# Answers for each coordinate of each object.
ANSWERS = (10, 20, 40)


def made(dimension: int, per_coordinate: int, seed: int) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(N, dimension))
    return make_triplets(points, per_coordinate * N * dimension, noise=NOISE, random_state=seed)


def rates(runs: int) -> None:
    """Print how often the dimension is right, and how often above the true one."""
    rows = []
    for per_coordinate in ANSWERS:
        for dimension in TRUE:
            found, start = [], time.process_time()
            for seed in range(runs):
                answers = made(dimension, per_coordinate, seed)
                result = embedding_dimension_test(answers, DIMENSIONS, CV, random_state=seed)
                found.append(result.dimension_)
            seconds = (time.process_time() - start) / runs
            found = np.array(found)
            rows.append([
                dimension, len(answers), f"{np.mean(found == dimension):.2f}",
                f"{np.mean(found > dimension):.2f}", f"{seconds:.2f}",
            ])  # fmt: skip
            print(*rows[-1], flush=True)
    table("dimension,answers,found,too high,CPU seconds", rows)


def beside_cblearn(python: str) -> None:
    """Print CPU seconds of both on the same answers."""
    peer, rows = PeerProcess(python, "benchmarks.embedding.peer_dimension"), []
    print(peer.versions("cblearn", "numpy", "scipy"))
    embedding_dimension_test(made(2, 10, 0), [1, 2], 2)
    for dimension in TRUE:
        answers = made(dimension, 20, 0)
        start = time.process_time()
        ours = embedding_dimension_test(answers, DIMENSIONS, CV, random_state=0).dimension_
        seconds = time.process_time() - start
        for n_init in (1, 10):
            job = {"dimensions": DIMENSIONS, "cv": CV, "seed": 0, "n_init": n_init}
            theirs = peer.ask(job, answers=answers)
            rows.append([
                dimension, len(answers), n_init, f"{ours} in {seconds:.2f} s",
                f"{theirs['dimension']} in {theirs['seconds']:.1f} s",
                f"{theirs['seconds'] / seconds:.0f}",
            ])  # fmt: skip
            print(*rows[-1], flush=True)
    table("dimension,answers,n_init of SOE,skscreen,cblearn,ratio", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer-python", help="Python that has cblearn")
    parser.add_argument("--runs", type=int, default=50)
    options = parser.parse_args()
    if options.peer_python:
        beside_cblearn(options.peer_python)
    rates(options.runs)
