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
_ROUNDS, _SWEEPS = 3, 6


def improve_line(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings
) -> Iterator[Progress]:
    """Move points of X, (n_objects, 1), and descend, in turn; yields nothing if none moves."""
    rows = problem.answers
    # The answers of each object, twice where they name it twice.
    order = np.argsort(rows, axis=None, kind="stable")
    first = np.searchsorted(rows.ravel()[order], np.arange(problem.n_objects + 1))
    which, passes = order // problem.width, 0.0
    for _ in range(_ROUNDS):
        moved = [sweep(X[:, 0], problem.terms, which, first, _GAPS)]
        while moved[-1] and len(moved) < _SWEEPS:
            moved.append(sweep(X[:, 0], problem.terms, which, first, _GAPS))
        if moved[0] == 0:
            return
        passes += len(moved) * problem.width * min(_GAPS, problem.n_objects)
        for progress in lbfgs(problem, X, settings, passes=passes):
            yield progress
        passes = progress.passes


def improve_places(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings
) -> Iterator[Progress]:
    """Offer points of X the places of others, and descend, in turn; yields nothing if none move."""
    passes = 0.0
    for _ in range(_ROUNDS):
        moved, evaluated = place_sweep(X, problem.terms)
        if not moved:
            return
        passes += evaluated / len(problem.answers)
        for progress in lbfgs(problem, X, settings, passes=passes):
            yield progress
        passes = progress.passes


place_sweep = embedding.place_sweep
"""(X (n, p), terms) -> how many objects took another place, and of how many answers the loss was
computed; X is changed."""

sweep = embedding.line_sweep
"""(x (n,), terms, which, first, n_gaps) -> how many objects took another place; x is changed. The
answers of object v are `which[first[v]:first[v + 1]]`."""
