"""L-BFGS for ordinal embedding, and moves of single points that no descent makes.

On a line a gradient cannot take a point past another one without making answers worse on the way:
each point in turn tries the gaps between the others. In more dimensions a point with few answers
may be in a valley of its own, far out: it tries the places of others.
"""

from collections.abc import Iterator
from math import isfinite

import numpy as np

from skscreen._compiled import embedding
from skscreen.embedding.problem.objective import EmbeddingProblem, evaluate
from skscreen.embedding.solvers.state import Progress, Settings


def lbfgs(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings,
    rng: np.random.Generator | None = None, passes: float = 0.0,
) -> Iterator[Progress]:  # fmt: skip
    """Minimise F from X, after so many passes; nothing in it is random."""
    # Compiled: at 100 objects an evaluation takes a tenth of a millisecond.
    work, terms = problem.workspace(), problem.terms
    gradient = np.empty_like(X)
    value = evaluate(X, terms, work, gradient)
    # Ten pairs of steps and changes of the gradient are remembered.
    steps, changes = np.empty((2, 10, X.size))
    curvatures = np.zeros(10)
    # Trial point and gradient, direction.
    spare = np.empty((3, *X.shape))
    n_pairs, stopped = 0, False
    passes += 1
    for iteration in range(settings.max_iter or 200):
        old = value
        # It moves X and the gradient there.
        value, n_pairs, evaluations, length = embedding.lbfgs_iterate(
            X, value, gradient, steps, changes, curvatures, n_pairs, terms, work, spare
        )
        passes += evaluations
        # The first step, along the gradient, is no measure of what is left. A length of 0 is no
        # decrease even along the gradient, because of rounding errors.
        is_small = iteration > 0 and old - value <= settings.tol * abs(old)
        stopped = length == 0.0 or is_small
        yield Progress(passes, value, length, X, stopped and isfinite(value))
        if stopped:
            return


def improve(problem: EmbeddingProblem, X: np.ndarray, settings: Settings) -> Iterator[Progress]:
    """Offer points of X, (n, p), other places, and descend, in turn; F never rises."""
    passes, before = 0.0, np.inf
    for _ in range(3):
        if X.shape[1] == 1:
            moved, evaluated = _offer_gaps(problem, X[:, 0])
        else:
            # Each is tried beside 16 others, at first by 32 of its answers; a move saves at least a
            # hundredth of what depends on the point.
            moved, evaluated = embedding.place_sweep(X, problem.terms)
        if not moved:
            return
        passes += evaluated / len(problem.answers)
        for progress in lbfgs(problem, X, settings, passes=passes):
            yield progress
        if before - progress.value <= settings.tol * abs(progress.value):
            return
        passes, before = progress.passes, progress.value


def _offer_gaps(problem: EmbeddingProblem, x: np.ndarray) -> tuple[int, int]:
    """Move points on a line in up to six sweeps; how many moved at first, and answers evaluated."""
    # Of many gaps these, at equal steps of rank, are tried for a point.
    n_gaps, moved = 32, list[int]()
    while len(moved) < 6 and 0 not in moved:
        moved.append(embedding.line_sweep(x, problem.terms, n_gaps))
    tried = len(moved) * min(n_gaps, problem.n_objects)
    return moved[0], tried * problem.width * len(problem.answers)
