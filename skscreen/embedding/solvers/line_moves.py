"""Points that stand on the wrong side of others: moved there one at a time.

On a line a gradient cannot take a point past another one without making answers worse on the way.
So each point in turn tries the gaps between the others, and goes where the objective is lowest. In
more dimensions a point with few answers may be in a valley of its own, far out: it tries the places
of others.
"""

from collections.abc import Iterator

import numpy as np

from skscreen._compiled import embedding
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers.lbfgs import lbfgs
from skscreen.embedding.solvers.state import Progress, Settings

# Largest number of gaps that are tried for a point; among more points, gaps at equal steps of rank.
_GAPS = 32


def improve(problem: EmbeddingProblem, X: np.ndarray, settings: Settings) -> Iterator[Progress]:
    """Offer points of X, (n, p), other places, and descend, in turn; F never rises."""
    offer, passes = _offer_gaps if X.shape[1] == 1 else _offer_places, 0.0
    for _ in range(3):
        moved, evaluated = offer(problem, X)
        if not moved:
            return
        passes += evaluated
        for progress in lbfgs(problem, X, settings, passes=passes):
            yield progress
        passes = progress.passes


def _offer_gaps(problem: EmbeddingProblem, X: np.ndarray) -> tuple[int, float]:
    """Move points on a line, a sweep at a time; how many moved at first, and passes."""
    moved = [embedding.line_sweep(X[:, 0], problem.terms, _GAPS)]
    while moved[-1] and len(moved) < 6:
        moved.append(embedding.line_sweep(X[:, 0], problem.terms, _GAPS))
    return moved[0], float(len(moved) * problem.width * min(_GAPS, problem.n_objects))


def _offer_places(problem: EmbeddingProblem, X: np.ndarray) -> tuple[int, float]:
    """Move points by at least a hundredth of what depends on them; how many moved, and passes."""
    # Each object is tried beside 16 others, at first by 32 of its answers.
    moved, evaluated = embedding.place_sweep(X, problem.terms)
    return moved, evaluated / len(problem.answers)
