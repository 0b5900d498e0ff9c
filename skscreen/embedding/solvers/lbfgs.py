"""L-BFGS for ordinal embedding, compiled: at 100 objects an evaluation takes a tenth of a ms."""

from collections.abc import Iterator
from math import isfinite

import numpy as np

from skscreen._compiled import embedding
from skscreen.embedding.problem.objective import EmbeddingProblem, evaluate
from skscreen.embedding.solvers.state import Progress, Settings


def lbfgs(
    problem: EmbeddingProblem,
    X: np.ndarray,
    settings: Settings,
    rng: np.random.Generator | None = None,
    passes: float = 0.0,
) -> Iterator[Progress]:
    """Minimise F from X, after so many passes; nothing in it is random."""
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
    for _ in range(settings.max_iter or 200):
        old = value
        # It moves X and the gradient there; a length of 0 is no decrease.
        value, n_pairs, evaluations, length = embedding.lbfgs_iterate(
            X, value, gradient, steps, changes, curvatures, n_pairs, terms, work, spare
        )
        passes += evaluations
        # No decrease even along the gradient, because of rounding errors.
        stopped = length == 0.0 or old - value <= settings.tol * abs(old)
        yield Progress(passes, value, length, X, stopped and isfinite(value))
        if stopped:
            return
