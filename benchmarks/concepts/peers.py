"""ConceptEmbedding beside SPoSE: seconds, new trials, dimensions of the truth, agreement of seeds.

THINGS-like: 1,854 things answer by the 42 published dimensions of VICE, scaled so that the best
accuracy is that of the real trials; 1.46 million trials, as in 2020, and 4.7 million, as in 2023.
Small: 100 objects, five dimensions, 10,000 trials. -log p and accuracy are measured on test trials;
the first row has those of the true dimensions. A true dimension is found if its partner, matched
one to one, has r > .8. SPoSE's loop was rewritten in PyTorch with its published settings and
look-ups instead of products with one-hot rows. It runs as many of its 500 epochs as the limit
allows.
"""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.concepts.trials import Task, said, small, things
from benchmarks.support.comparison import Bench, Row, Side
from skscreen import ConceptEmbedding, read_answers
from skscreen.concepts.problem.law import law
from skscreen.metrics import match_dimensions

PEER = "benchmarks.concepts.peer_side"
NOTHING = Side("no peer", 0.0)


def few_objects(bench: Bench) -> Iterator[Row]:
    """100 objects, 10,000 trials."""
    yield from beside(bench, "100 objects 10,000 trials", small(), 10)


def like_things(bench: Bench) -> Iterator[Row]:
    """1,854 things, 1.46 million trials."""
    yield from beside(bench, "THINGS-like 1.46 M trials", things(bench.folder, 1_460_000), 2)


def like_things_later(bench: Bench) -> Iterator[Row]:
    """1,854 things, 4.7 million trials."""
    yield from beside(bench, "THINGS-like 4.7 M trials", things(bench.folder, 4_700_000), 2)


def beside(bench: Bench, data: str, task: Task, n_seeds: int) -> Iterator[Row]:
    """Yield the truth, our defaults with several seeds, and SPoSE within the limit."""
    there, peer = bench.there(PEER), NOTHING
    if there:
        n = len(task.truth)
        # .008 for 1.46 million trials, as published; the same penalty as ours for other numbers.
        job = {"limit": bench.limit, "n_objects": n, "lambda": law(n, len(task.train))}
        answer = there.ask(job, train=task.train)
        peer = Side("SPoSE", bench.limit, failed=answer.get("failed", ""))
        if "found" in answer:
            epochs = f"{answer['epochs']} of 500 epochs; "
            late = answer["epochs"] < 500
            reached = epochs + said(task, answer["found"])
            peer = Side("SPoSE", answer["seconds"], reached, late=late)
    yield Row("dimensions", data, Side("the truth", 0.0, said(task, task.truth)), NOTHING)
    answers = read_answers(
        task.train, kind="oddoneout", chosen=2, objects=np.arange(len(task.truth))
    )
    fits = []
    for seed in range(n_seeds):
        started = time.process_time()
        model = ConceptEmbedding(random_state=seed).fit(answers)
        seconds = time.process_time() - started
        fits.append(model.embedding_)
        if seed < 2:
            ours = Side(f"ConceptEmbedding(random_state={seed})", seconds, said(task, fits[-1]))
            yield Row("dimensions", data, ours, peer)
    r = np.concatenate([
        np.nan_to_num(match_dimensions(fits[0], other).correlations) for other in fits[1:]
    ])  # fmt: skip
    reached = f"median r {np.median(r):.4f}; {np.mean(r > 0.95):.0%} above .95"
    yield Row("agreement of seeds", data, Side(f"{n_seeds} seeds", 0.0, reached), NOTHING)


JOBS = {
    "few_objects": few_objects, "like_things": like_things, "like_things_later": like_things_later,
}  # fmt: skip
