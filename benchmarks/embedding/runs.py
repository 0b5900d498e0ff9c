"""Runs of `run.py`: solvers with their clock, and data."""

import time
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from skscreen._compiled import embedding
from skscreen.datasets import make_triplets
from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers.auto import clean_ridge, random_start
from skscreen.embedding.solvers.solve import run
from skscreen.embedding.solvers.state import Progress, Settings
from skscreen.metrics import triplet_error

LOSSES = ("gnmds", "ckl", "ste", "tste", "soe")


def loss_of(name: str, n_components: int) -> EmbeddingLoss:
    """The loss with the estimator's default parameter."""
    alpha = float(max(n_components - 1, 1))
    shapes = {"gnmds": 1.0, "ckl": 1e-3, "ste": 1.0, "tste": alpha, "soe": 0.1}
    return EmbeddingLoss(name, shapes[name])


def synthetic(n: int, p: int, size: int, noise: float, seed: int):
    """The paper's made answers: points N(0, I / (2 p)), training and test triplets."""
    # Not the seed of the fits: the peer would draw these very points as its start.
    rng = np.random.RandomState(10_000 + seed)
    points = rng.normal(scale=(2.0 * p) ** -0.5, size=(n, p))
    train = make_triplets(points, size, noise=noise, random_state=rng)
    return train, make_triplets(points, min(max(size, 10_000), 20_000), random_state=rng)


def split(rows, seed: int):
    """80 % to learn from, 20 % to test."""
    order = np.random.default_rng(seed).permutation(len(rows))
    cut = int(0.8 * len(rows))
    return rows[order[:cut]], rows[order[cut:]]


def constant_sgd(problem, X, settings, rng, decay=0.0) -> Iterator[Progress]:
    """SGD with a step that depends on the epoch only: step / (1 + decay epoch)."""
    terms, m, row = problem.terms, len(problem.answers), int(rng.integers(len(problem.answers)))
    for epoch in range(settings.max_iter):
        step = settings.step / (1.0 + decay * epoch)
        for part in range(5):
            size = m * (part + 1) // 5 - m * part // 5
            row = embedding.sgd_pass(
                X, problem.answers, row, size, step, step, terms.loss, terms.shape, terms.reg
            )
            yield Progress(epoch + (part + 1) / 5, np.nan, step, X, False)
        # Written such that NaN counts as too far.
        if not np.abs(X).max() < 1e6:
            return


def authors_sgd(problem, X, settings, rng):
    """The authors' schedule."""
    return constant_sgd(problem, X, settings, rng, decay=0.01)


OURS = {"constant sgd": constant_sgd, "authors' sgd": authors_sgd}


class Enough(Exception):
    """The error or the time asked for is reached."""


def curve(
    rows, test, n, p, loss_name, solver, settings=None, seed=0, X=None, reg=None, level=0.0,
    limit=np.inf,
):  # fmt: skip
    """Run a solver; list its CPU seconds, test errors and steps, the clock stopped for the latter.

    Ends at test error `level` or after `limit` seconds.
    """
    settings, rng = settings or Settings(), np.random.default_rng(seed)
    start = time.process_time()
    rows = np.ascontiguousarray(rows[rng.permutation(len(rows))], dtype=np.int32)
    problem = EmbeddingProblem(rows, None, n, loss_of(loss_name, p), 0.0)
    problem = problem.with_reg(clean_ridge(problem, p) if reg is None else reg)
    X = random_start(n, p, rng) if X is None else X.copy()
    found, seconds = [], 0.0

    def note(progress):
        nonlocal seconds, start
        seconds += time.process_time() - start
        points = progress.embedding
        # A lifted start has more columns: its error is not that of an embedding yet.
        error = triplet_error(points, test) if points.shape[1] == p else 1.0
        found.append((seconds, error, progress.step, progress.value))
        if error <= level or seconds > limit:
            raise Enough
        start = time.process_time()

    with suppress(Enough):
        if solver in OURS:
            for progress in OURS[solver](problem, X, settings, rng):
                note(progress)
        else:
            run(solver, problem, X, settings, rng, note)
    return np.array(found)


def seconds_to(found, level: float) -> float:
    """Seconds until the test error is at most `level`; NaN if never."""
    reached = found[:, 1] <= level
    return float(found[np.argmax(reached), 0]) if reached.any() else np.nan


def ms(seconds: float) -> str:
    """Milliseconds with two or three digits; a dash for never."""
    if not np.isfinite(seconds):
        return "-"
    value = 1e3 * seconds
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"
