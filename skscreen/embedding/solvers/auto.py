"""The default solver of ordinal embedding: a short stochastic start, then L-BFGS.

In few dimensions the start is made in two more, where fewer points are on the wrong side of others,
and projected. Where the ridge is free, a tenth of the answers, kept out of the start, chooses it.
"""

from collections.abc import Callable
from dataclasses import replace
from math import nan

import numpy as np

from skscreen.embedding.problem.objective import EmbeddingProblem, are_wrong, wrong_share
from skscreen.embedding.solvers.descent import descend, steps_for
from skscreen.embedding.solvers.lbfgs import lbfgs
from skscreen.embedding.solvers.state import Progress, Settings, shuffled

# Of few objects, or on a line, so many starts are made, or until two are as low up to this share.
STARTS, AGREE = 3, 0.05


def clean_ridge(problem: EmbeddingProblem, n_components: int) -> float:
    """Return the strength of the ridge for answers without noise, as measured on made ones."""
    scale, power, of_shape, most = problem.loss.traits.clean_ridge
    r = len(problem.answers) / (problem.n_objects * n_components)
    return min(scale / r**power / problem.loss.shape**of_shape, most)


def auto(
    problem: EmbeddingProblem, n_components: int, settings: Settings, rng: np.random.Generator,
    report: Callable[[Progress], None],
) -> tuple[Progress, float]:  # fmt: skip
    """Minimise F; return the end, and the ridge, which is chosen anew if `settings.adapt`."""
    # On a line a ridge does hardly more than to shrink it.
    adapt = settings.adapt and n_components > 1
    n_held_out = int(0.1 * len(problem.answers)) if adapt else 0
    reg, part, held_out = problem.reg, problem, None
    # Fewer than 20 answers would say little.
    if n_held_out >= 20 and problem.loss.traits.ridges:
        rows, weights, part = problem.split(n_held_out)
        held_out = rows, weights
    points, passes = _best_start(part, n_components, settings.starts, rng, report)
    if held_out is not None and _are_noisy(problem, points, *held_out):
        points, reg, passes = _choose_ridge(part, points, held_out, settings, passes, report)
    for progress in lbfgs(problem.with_reg(reg), points, settings, passes=passes):
        report(progress)
    return progress, reg


def _best_start(
    problem: EmbeddingProblem, n_components: int, most: int, rng: np.random.Generator,
    report: Callable[[Progress], None],
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Return the points with the lowest F, of some starts or until two agree, and passes."""
    points, passes = _start(problem, n_components, rng, report)
    if most == 1:
        return points, passes
    lowest = problem.evaluate(points)[0]
    for _ in range(most - 1):
        others, more = _start(problem, n_components, rng, report, passes)
        value, passes = problem.evaluate(others)[0], passes + more
        agree = abs(value - lowest) <= AGREE * lowest
        if value < lowest:
            points, lowest = others, value
        if agree:
            break
    return points, passes


def _start(
    problem: EmbeddingProblem, n_components: int, rng: np.random.Generator,
    report: Callable[[Progress], None], before: float = 0.0,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Return points after a descent along single answers, and passes; in few dimensions lifted."""
    p = n_components
    lift = 2 if p <= problem.loss.traits.lift_up_to else 0
    # An end that is far from the best of many coordinates would look like noise in the answers.
    n_steps = steps_for(problem, per_object=max(750, 250 * p))
    # Reports of less than a millisecond would take a part of it.
    parts = min(max(n_steps // 20_000, 1), 5)
    rows = shuffled(problem, rng)
    first, passes = problem.loss.traits.first_step, 0.0
    points = random_start(problem.n_objects, p + lift, rng)
    for progress in descend(problem, points, rows, n_steps, first, parts):
        report(progress._replace(passes=before + progress.passes))
    passes = progress.passes
    if lift:
        points -= points.mean(axis=0)
        axes = np.linalg.eigh(points.T @ points)[1][:, : -p - 1 : -1]
        points = np.ascontiguousarray(points @ axes)
        for progress in descend(problem, points, rows, n_steps // 2, 0.5 * first, parts):
            report(progress._replace(passes=before + passes + progress.passes))
        passes += progress.passes
    report(Progress(before + passes, nan, 0.0, points, False))
    return points, passes


def _choose_ridge(
    problem: EmbeddingProblem, points: np.ndarray,
    held_out: tuple[np.ndarray, np.ndarray | None], settings: Settings, passes: float,
    report: Callable[[Progress], None],
) -> tuple[np.ndarray, float, float]:  # fmt: skip
    """Return points, the ridge that makes the fewest mistakes on answers held out, and passes.

    Of 8 answers a coordinate or more a strong ridge is seldom right: it has to make fewer mistakes
    by two standard errors of the difference, as in McNemar's test.
    """
    # Embeddings that are compared may be rough.
    rough = replace(settings, tol=max(settings.tol, 1e-3))
    ridges, low = problem.loss.traits.ridges, problem.reg
    rows, weights, _ = problem.split(len(held_out[0]))
    if _are_noisy(problem, points, rows, weights):
        # Not even the answers of the start agree. Without this much of a ridge, objects with few
        # answers are then flung far out, which the answers held out are too few to tell.
        low = max(low, ridges[0])
    n_errors = 2.0 if len(problem.answers) >= 8 * points.size else 0.0
    X, fewest = points.copy(), np.inf
    best: tuple[np.ndarray, np.ndarray, float] | None = None
    for reg in (low, *(reg for reg in ridges if reg > 2.0 * low)):
        for progress in lbfgs(problem.with_reg(reg), X, rough, passes=passes):
            report(progress)
        passes = progress.passes
        mistakes = are_wrong(X, *held_out, problem.loss)
        if mistakes.sum() > fewest:
            break
        fewest = mistakes.sum()
        if best is not None:
            fewer = best[0] - mistakes
            # Of few answers several ridges make as many mistakes: the weakest of these bends least.
            if fewer.sum() <= n_errors * np.linalg.norm(fewer):
                continue
        best = mistakes, X.copy(), reg
    assert best is not None
    return best[1], best[2], passes


def _are_noisy(
    problem: EmbeddingProblem, X: np.ndarray, rows: np.ndarray, weights: np.ndarray | None
) -> bool:
    """Whether more of some answers are wrong than without noise."""
    return wrong_share(X, rows, weights, problem.loss) > 0.04


def random_start(n_objects: int, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """Draw points with a mean squared distance of 1."""
    return rng.normal(scale=(2.0 * n_components) ** -0.5, size=(n_objects, n_components))
