"""The default solver of ordinal embedding: a short stochastic start, then L-BFGS.

In few dimensions the start is made in two more, where fewer points are on the wrong side of others,
and projected. Where the ridge is free, a tenth of the answers, kept out of the start, chooses it.
"""

from collections.abc import Generator, Iterator
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from skscreen.embedding.problem.objective import EmbeddingProblem, wrong_share
from skscreen.embedding.solvers.descent import descend, steps_for
from skscreen.embedding.solvers.lbfgs import lbfgs
from skscreen.embedding.solvers.state import Progress, Settings, shuffled


def clean_ridge(problem: EmbeddingProblem, n_components: int) -> float:
    """Return the strength of the ridge for answers without noise, as measured on made ones."""
    scale, power, of_shape, most = problem.loss.traits.clean_ridge
    r = len(problem.answers) / (problem.n_objects * n_components)
    return min(scale / r**power / problem.loss.shape**of_shape, most)


def auto(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings, rng: np.random.Generator
) -> Iterator[Progress]:
    """Minimise F; X is only written to. `settings.adapt` sets the ridge of `problem` anew."""
    n_held_out = int(0.1 * len(problem.answers)) if settings.adapt else 0
    # Fewer than 20 answers would say little.
    if n_held_out < 20 or not problem.loss.traits.ridges:
        passes = yield from _start(problem, X, rng)
    else:
        rows, weights, part = problem.split(n_held_out)
        held_out = rows, weights
        passes = yield from _start(part, X, rng)
        if _are_noisy(problem, X, *held_out):
            passes = yield from _choose_ridge(part, X, held_out, settings, passes)
            problem.reg = part.reg
    yield from lbfgs(problem, X, settings, passes=passes)


def _start(
    problem: EmbeddingProblem, X: np.ndarray, rng: np.random.Generator
) -> Generator[Progress, None, float]:
    """Descend along single answers, at first in more dimensions where X has few."""
    p = X.shape[1]
    lift = 2 if p <= problem.loss.traits.lift_up_to else 0
    n_steps = steps_for(problem, per_object=1500)
    rows = shuffled(problem, rng)
    first = problem.loss.traits.first_step
    points = random_start(problem.n_objects, p + lift, rng)
    passes, _ = yield from descend(problem, points, rows, n_steps, first)
    if lift:
        points -= points.mean(axis=0)
        axes = np.linalg.eigh(points.T @ points)[1][:, : -p - 1 : -1]
        points = np.ascontiguousarray(points @ axes)
        for progress in descend(problem, points, rows, n_steps // 2, 0.5 * first):
            yield progress._replace(passes=passes + progress.passes)
        passes += progress.passes
    X[:] = points
    yield Progress(passes, nan, 0.0, X, False)
    return passes


def _choose_ridge(
    problem: EmbeddingProblem, X: np.ndarray, held_out: tuple[np.ndarray, np.ndarray | None],
    settings: Settings, passes: float,
) -> Generator[Progress, None, float]:  # fmt: skip
    """Raise the ridge of the problem while that makes fewer mistakes on the answers held out."""
    # Embeddings that are compared may be rough.
    rough = replace(settings, tol=max(settings.tol, 1e-3))
    ridges, low = problem.loss.traits.ridges, problem.reg
    rows, weights, _ = problem.split(len(held_out[0]))
    if _are_noisy(problem, X, rows, weights):
        # Not even the answers of the start agree. Without this much of a ridge, objects with few
        # answers are then flung far out, which the answers held out are too few to tell.
        low = max(low, ridges[0])
    best = np.inf, low, X
    for reg in (low, *(reg for reg in ridges if reg > 2.0 * low)):
        problem.reg = reg
        for progress in lbfgs(problem, X, rough, passes=passes):
            yield progress
        passes = progress.passes
        error = wrong_share(X, *held_out, problem.loss)
        if error > best[0]:
            break
        best = error, reg, X.copy()
    _, problem.reg, X[:] = best
    return passes


def _are_noisy(problem: EmbeddingProblem, X: np.ndarray, rows: np.ndarray, weights: Any) -> bool:
    """Whether more of some answers are wrong than without noise."""
    return wrong_share(X, rows, weights, problem.loss) > 0.04


def random_start(n_objects: int, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """Draw points with a mean squared distance of 1."""
    return rng.normal(scale=(2.0 * n_components) ** -0.5, size=(n_objects, n_components))
