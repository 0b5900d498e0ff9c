"""Ordinal embedding beside cblearn: test error and milliseconds, each at default arguments.

80 % of the answers are for training, 20 % for testing; means over two splits, over five for few
objects. cblearn 0.4 pins numpy < 2 and runs in an environment of its own. The same loss is compared
with the same loss. Simulated answers are about points N(0, I / (2 p)); the row says which share of
them is wrong. The test of the dimension tries 1 to 7 dimensions in ten folds, with 10 % of the
answers wrong.
"""

import time
from collections.abc import Iterator
from itertools import product

import numpy as np

from benchmarks.embedding.runs import LOSSES, split, synthetic
from benchmarks.support.comparison import Bench, Row, Side
from benchmarks.support.peer_process import best_of
from skscreen import OrdinalEmbedding, embedding_dimension_test
from skscreen.datasets import make_triplets

PEER = "benchmarks.embedding.peer_side"
SETS = (
    "eurodist", "faces36", "cars60", "texture62", "material100", "music_artists", "eggs300",
    "food100", "zappos85", "things1854",
)  # fmt: skip
CELLS = ((100, 10, 10_000, 0.0), (500, 5, 50_000, 0.1), (2000, 10, 200_000, 0.1))
SMALL = ((20, 800), (60, 3000), (200, 12_000))
DIMENSIONS, FOLDS = list(range(1, 8)), 10


def human(bench: Bench) -> Iterator[Row]:
    """Answers of people, in two dimensions."""
    for name in SETS:
        answers = bench.data(name)
        parts = [split(answers, seed) for seed in range(2)]
        n = int(answers.max()) + 1
        data = f"{name} {n:,} objects {len(answers):,} answers"
        yield from beside(bench, data, parts, n, 2, ("soe", "ste"))


def made(bench: Bench) -> Iterator[Row]:
    """Answers about points in space."""
    for n, p, m, noise in CELLS:
        parts = [synthetic(n, p, m, noise, seed) for seed in range(2)]
        data = f"made {n:,} objects {p} dimensions {m:,} answers {noise:.0%} wrong"
        yield from beside(bench, data, parts, n, p, LOSSES)


def small(bench: Bench) -> Iterator[Row]:
    """Answers about points in space, of few objects in one to four dimensions."""
    for (n, m), p, noise in product(SMALL, (1, 2, 4), (0.0, 0.1)):
        parts = [synthetic(n, p, m, noise, seed) for seed in range(5)]
        data = f"made {n} objects {p} dimensions {m:,} answers {noise:.0%} wrong"
        yield from beside(bench, data, parts, n, p, ("soe", "ste"))


def beside(bench: Bench, data: str, parts: list, n: int, p: int, losses) -> Iterator[Row]:
    """Yield each loss beside the same of the peer, at the means over the parts."""
    there = bench.there(PEER)
    OrdinalEmbedding(p, random_state=0).fit(parts[0][0][:500])
    for loss in losses:
        found, theirs = [], []
        for seed, (train, test) in enumerate(parts):
            model = OrdinalEmbedding(p, loss=loss, random_state=seed)
            seconds, _ = best_of(bench.repeats, lambda model=model, train=train: model.fit(train))
            found.append((seconds, 1.0 - model.score(test)))
            if there:
                job = {"loss": loss, "n_components": p, "n_objects": n, "seed": seed}
                answer = there.ask(job, train=train, test=test)
                theirs.append((answer["seconds"], answer["error"]))
        seconds, error = np.mean(found, axis=0)
        ours = Side("OrdinalEmbedding", seconds, f"test error {error:.4f}")
        if there:
            seconds, error = np.mean(theirs, axis=0)
            yield Row(loss, data, ours, Side("cblearn", seconds, f"test error {error:.4f}"))


def dimension(bench: Bench) -> Iterator[Row]:
    """The test of the number of dimensions, beside cblearn's with one start and with ten."""
    there = bench.there(PEER)
    embedding_dimension_test(about_points(2, 10, 0), [1, 2], 2)
    for true in (2, 3, 5):
        answers = about_points(true, 20, 0)
        started = time.process_time()
        ours = embedding_dimension_test(answers, DIMENSIONS, FOLDS, random_state=0).dimension_
        side = Side("embedding_dimension_test", time.process_time() - started, f"found {ours}")
        for n_init in (1, 10) if there else ():
            job = {"dimensions": DIMENSIONS, "cv": FOLDS, "seed": 0, "n_init": n_init}
            theirs = there.ask(job, answers=answers)
            peer = Side(
                f"cblearn n_init={n_init}", theirs["seconds"], f"found {theirs['dimension']}"
            )
            yield Row("dimension", f"60 objects {true} dimensions", side, peer)


def about_points(dimension: int, per_coordinate: int, seed: int) -> np.ndarray:
    """Return answers about 60 points, so many a coordinate of each, a tenth of them wrong."""
    points = np.random.default_rng(seed).normal(size=(60, dimension))
    size = per_coordinate * 60 * dimension
    return make_triplets(points, size, noise=0.1, random_state=seed)


JOBS = {"human": human, "made": made, "small": small, "dimension": dimension}
