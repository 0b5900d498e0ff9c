"""Chosen questions, for `run.py`."""

import numpy as np

from benchmarks.support.tables import table
from skscreen import OrdinalEmbedding, next_queries, read_answers
from skscreen.datasets import make_triplets
from skscreen.embedding.tools.queries import STRATEGIES
from skscreen.metrics import triplet_error

N, P, NOISE, TARGET = 100, 3, 0.1, 0.15
FIRST, BATCH, MOST = 500, 100, 4000
SETS, REPLAY = ("food100", "material100"), (500, 1000, 2000, 4000)


def active(bench) -> dict:
    """How many answers chosen questions save: error over answers for each strategy.

    Made answers about 100 points in 3 dimensions, a tenth of them reversed: the number of answers
    that first brings the error on noiseless unseen answers to 0.15. Human answers: a replay in
    which only questions that were asked can be chosen; the error is that on a fifth of them, held
    out.
    """
    rows, runs, most = [], bench.some(20, 5, 1), bench.some(MOST, MOST, FIRST)
    for strategy in STRATEGIES:
        needed = [made(strategy, seed, most) for seed in range(runs)]
        low, middle, high = np.quantile(needed, [0.25, 0.5, 0.75])
        rows.append([strategy, f"{middle:.0f}", f"{low:.0f} to {high:.0f}"])
        print(*rows[-1], flush=True)
    table(f"strategy,answers to error {TARGET},middle half", rows)
    sizes = REPLAY[: bench.some(4, 4, 1)]
    for name in SETS:
        # One answer to a question: contradictions would be answered as the last one.
        answers = np.array(list({question(row): row for row in bench.load(name)}.values()))
        rows = []
        for strategy in STRATEGIES:
            errors = [replay(answers, strategy, seed, sizes) for seed in range(min(runs, 5))]
            rows.append([strategy, *(f"{error:.3f}" for error in np.mean(errors, axis=0))])
            print(name, *rows[-1], flush=True)
        table(f"{name},{','.join(map(str, sizes))}", rows)
    return {}


def made(strategy: str, seed: int, most: int) -> int:
    """Answers until the target."""
    points = np.random.default_rng(seed).normal(size=(N, P))
    unseen = make_triplets(points, 5000, random_state=seed + 1000)
    answers = make_triplets(points, FIRST, noise=NOISE, random_state=seed)
    while True:
        model = OrdinalEmbedding(P, random_state=0).fit(read_answers(answers, objects=range(N)))
        if triplet_error(model.embedding_, unseen) <= TARGET or len(answers) >= most:
            return len(answers)
        asked = next_queries(model, BATCH, strategy, random_state=len(answers))
        drawn = seed * MOST + len(answers)
        new = make_triplets(points, queries=asked, noise=NOISE, random_state=drawn)
        answers = np.concatenate([answers, new])


def replay(answers: np.ndarray, strategy: str, seed: int, sizes) -> list[float]:
    """Errors at some numbers of answers."""
    answers = np.random.default_rng(seed).permutation(answers)
    cut = len(answers) // 5
    unseen, pool = answers[:cut], answers[cut:]
    n = int(answers.max()) + 1
    used = np.arange(len(pool)) < sizes[0]
    errors, step = [], sizes[0] // 2
    # Of a question, in the form in which it is chosen: the row of its answer.
    known = {question(row): place for place, row in enumerate(pool)}
    while True:
        model = OrdinalEmbedding(P, random_state=0).fit(read_answers(pool[used], objects=range(n)))
        if used.sum() >= sizes[len(errors)]:
            errors.append(triplet_error(model.embedding_, unseen))
            if len(errors) == len(sizes):
                return errors
        free = pool[~used]
        free = free[np.random.default_rng(int(used.sum())).permutation(len(free))[:10_000]]
        chosen = next_queries(
            model, min(step, sizes[len(errors)] - int(used.sum())), strategy, candidates=free,
            random_state=seed,
        )  # fmt: skip
        used[[known[question(row)] for row in chosen]] = True


def question(row) -> tuple:
    i, j, k = (int(v) for v in row)
    return i, min(j, k), max(j, k)
