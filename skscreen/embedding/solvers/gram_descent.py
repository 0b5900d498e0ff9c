"""The Gram formulation of ordinal embedding, for comparison and teaching.

Over positive semidefinite G, squared distances g_ii - 2 g_ij + g_jj are linear in G. Losses that
are convex in these (GNMDS, STE, odd one out) have a better solver, with a certificate; this one is
for the others. Every step takes a full eigenvalue decomposition: O(n^3), for a few hundred objects.
A centred start stays centred: rows of the gradient of the losses sum to zero.

S. Agarwal et al. (2007). Generalized non-metric multidimensional scaling. AISTATS. Section 4.
"""

from collections.abc import Iterator

import numpy as np

from skscreen._compiled import embedding
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers.descent import falling
from skscreen.embedding.solvers.state import Progress, Settings


def gram_descent(
    problem: EmbeddingProblem,
    X: np.ndarray,
    settings: Settings,
    rng: np.random.Generator | None = None,
) -> Iterator[Progress]:
    """Minimise F by projected gradients from G = X X^T; X gets the longest axes of G."""
    (n, p), terms, ridge = X.shape, problem.terms, problem.reg / problem.n_objects

    def evaluate(factor: np.ndarray) -> tuple[float, np.ndarray]:
        G, gradient = factor @ factor.T, np.zeros((n, n))
        value = embedding.by_gram(G, terms, gradient) / terms.total
        gradient /= terms.total
        # The projection leaves it in the space of centred matrices, where I and centring agree.
        gradient[np.diag_indices(n)] += ridge
        return value + ridge * np.trace(G), gradient

    def move(factor: np.ndarray, step: np.ndarray) -> np.ndarray:
        return _factor(factor @ factor.T - step)

    start, step = X - X.mean(axis=0), settings.step or float(n)
    for progress in falling(evaluate, move, start, step, 1.2, settings):
        factor = progress.embedding[:, :p]
        X[:] = 0.0
        X[:, : factor.shape[1]] = factor
        yield progress._replace(embedding=X)


def _factor(G: np.ndarray) -> np.ndarray:
    """Factor of the nearest positive semidefinite matrix, largest eigenvalue first."""
    eigenvalues, vectors = np.linalg.eigh(G)
    positive = np.flatnonzero(eigenvalues > 0.0)[::-1]
    return vectors[:, positive] * np.sqrt(eigenvalues[positive])
