"""The Gram formulation of ordinal embedding, for comparison and teaching.

Over positive semidefinite G, squared distances g_ii - 2 g_ij + g_jj are linear in G. Losses that
are convex in these (GNMDS, STE, odd one out) have a better solver, with a certificate; this one is
for the others. Every step takes a full eigenvalue decomposition: O(n^3), for a few hundred objects.
"""

from collections.abc import Iterator

import numpy as np

from skscreen._compiled import embedding
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers.state import Progress, Settings

# Most steps, each a pass over all answers.
_EPOCHS = 1000
# First and shortest step on the mean gradient, over the number of objects.
_STEP, _SHORTEST = 1.0, 1e-12
# Factors of the step after a decrease of the loss, and after an increase.
_GROW, _SHRINK = 1.2, 0.5


def gram_descent(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings, rng=None
) -> Iterator[Progress]:
    """Minimise mean_q w_q f(a_q, c_q) + reg / n tr(G) by projected gradients from G = X X^T.

    The embedding that is yielded has the columns of the largest eigenvalues, the objective is that
    of G. A centred start stays centred: rows of the gradient of the losses sum to zero.

    References
    ----------
    S. Agarwal, J. Wills, L. Cayton, G. Lanckriet, D. Kriegman, S. Belongie (2007). Generalized
    non-metric multidimensional scaling. AISTATS, 11-18. Section 4.
    """
    n, p = X.shape
    centred = X - X.mean(axis=0)
    G = centred @ centred.T
    terms, ridge = problem.terms, problem.reg / n
    value, gradient = _evaluate(G, terms, ridge)
    step = settings.step or _STEP * n
    for epoch in range(settings.max_iter or _EPOCHS):
        factor = _project(G - step * gradient)
        trial = factor @ factor.T
        new, trial_gradient = _evaluate(trial, terms, ridge)
        used = step
        if new <= value:
            done = value - new <= settings.tol * abs(value)
            G, value, gradient = trial, new, trial_gradient
            X[:] = 0.0
            X[:, : factor.shape[1]] = factor[:, :p]
            step *= _GROW
        else:
            step *= _SHRINK
            done = step < _SHORTEST * n
        yield Progress(epoch + 2.0, value, used, X, done)
        if done:
            return


def _project(G: np.ndarray) -> np.ndarray:
    """Factor of the nearest positive semidefinite matrix, largest eigenvalue first."""
    eigenvalues, vectors = np.linalg.eigh(G)
    positive = np.flatnonzero(eigenvalues > 0.0)[::-1]
    return vectors[:, positive] * np.sqrt(eigenvalues[positive])


def _evaluate(G, terms, ridge):
    gradient = np.zeros_like(G)
    value = sum_losses(G, terms, gradient) / terms.total
    gradient /= terms.total
    # The projection leaves it in the space of centred matrices, where I and the centring agree.
    gradient[np.diag_indices_from(gradient)] += ridge
    return value + ridge * np.trace(G), gradient


sum_losses = embedding.by_gram
"""(G (n, n), terms, gradient) -> weighted sum of the losses; its gradient is added."""
