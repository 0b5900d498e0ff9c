"""How many answers chosen questions save: error over answers for each strategy.

Made answers: n = 100 points in 3 dimensions, 10 % turned round; the error is that on noiseless
unseen answers, and the number of answers that first brings it to 0.15 is printed. Human answers: a
replay in which only questions that were asked can be chosen; the error is that on a fifth of them,
held out.

    python -m benchmarks.embedding.active [--data FOLDER] [--runs 20]
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

from benchmarks.support.data import Data
from benchmarks.support.tables import table
from skscreen import OrdinalEmbedding, next_queries
from skscreen.datasets import make_triplets
from skscreen.embedding.tools.queries import STRATEGIES
from skscreen.metrics import triplet_error

N, P, NOISE, TARGET = 100, 3, 0.1, 0.15
FIRST, BATCH, MOST = 500, 100, 4000
SETS, REPLAY = ("food100", "material100"), (500, 1000, 2000, 4000)


def made(strategy: str, seed: int) -> int:
    """Answers until the target."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(N, P))
    unseen = make_triplets(points, 5000, random_state=seed + 1000)
    answers = make_triplets(points, FIRST, noise=NOISE, random_state=seed)
    while True:
        model = OrdinalEmbedding(P, objects=N, random_state=0).fit(answers)
        if triplet_error(model.embedding_, unseen) <= TARGET or len(answers) >= MOST:
            return len(answers)
        i, j, k = next_queries(model, BATCH, strategy, random_state=len(answers)).T
        near, far = (((points[i] - points[v]) ** 2).sum(axis=1) for v in (j, k))
        turned = (near > far) != (rng.random(BATCH) < NOISE)
        new = np.stack([i, np.where(turned, k, j), np.where(turned, j, k)], axis=1)
        answers = np.concatenate([answers, new])


def replay(answers: np.ndarray, strategy: str, seed: int) -> list[float]:
    """Errors at the numbers of answers in REPLAY."""
    answers = np.random.default_rng(seed).permutation(answers)
    cut = len(answers) // 5
    unseen, pool = answers[:cut], answers[cut:]
    n = int(answers.max()) + 1
    used = np.arange(len(pool)) < REPLAY[0]
    errors, step = [], REPLAY[0] // 2
    # Of a question, in the form in which it is chosen: the row of its answer.
    known = {question(row): place for place, row in enumerate(pool)}
    while True:
        model = OrdinalEmbedding(P, objects=n, random_state=0).fit(pool[used])
        if used.sum() >= REPLAY[len(errors)]:
            errors.append(triplet_error(model.embedding_, unseen))
            if len(errors) == len(REPLAY):
                return errors
        free = pool[~used]
        free = free[np.random.default_rng(int(used.sum())).permutation(len(free))[:10_000]]
        chosen = next_queries(
            model, min(step, REPLAY[len(errors)] - int(used.sum())), strategy, candidates=free,
            random_state=seed,
        )  # fmt: skip
        used[[known[question(row)] for row in chosen]] = True


def question(row) -> tuple:
    i, j, k = (int(v) for v in row)
    return i, min(j, k), max(j, k)


def load(folder: Path, name: str) -> np.ndarray:
    rows = Data(folder)(name)
    # One answer to a question: contradictions would be answered as the last one.
    return np.array(list({question(row): row for row in rows}.values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with load.py; without it no replay")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for strategy in STRATEGIES:
        needed = [made(strategy, seed) for seed in range(options.runs)]
        low, middle, high = np.quantile(needed, [0.25, 0.5, 0.75])
        rows.append([strategy, f"{middle:.0f}", f"{low:.0f} to {high:.0f}"])
        print(*rows[-1], flush=True)
    table(f"strategy,answers to error {TARGET},middle half", rows)
    for name in SETS if options.data else ():
        answers, rows = load(options.data, name), []
        for strategy in STRATEGIES:
            errors = [replay(answers, strategy, seed) for seed in range(min(options.runs, 5))]
            rows.append([strategy, *(f"{error:.3f}" for error in np.mean(errors, axis=0))])
            print(name, *rows[-1], flush=True)
        table(f"{name},{','.join(map(str, REPLAY))}", rows)
