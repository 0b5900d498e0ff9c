"""Plain baselines of ordinal embedding: stochastic gradients on single answers, and all at once.

Over positive semidefinite G = X X^T, squared distances g_ii - 2 g_ij + g_jj are linear. Losses that
are convex in these (GNMDS, STE, odd one out) have a better solver, with a certificate;
`gram_descent` is for the others. Every step takes a full eigenvalue decomposition: O(n^3), for a
few hundred objects. A centred start stays centred: rows of the gradient of the losses sum to zero.

S. Agarwal et al. (2007). Generalized non-metric multidimensional scaling. AISTATS. Section 4.
"""

from collections.abc import Callable, Iterator
from math import ceil, nan

import numpy as np

from skscreen._compiled import embedding
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers.state import Progress, Settings, shuffled

# Farther than any solution is from a start, and near enough for squares to be finite.
_FARTHEST = 1e150


def steps_for(problem: EmbeddingProblem, per_object: float) -> int:
    """Return the number of answers in which each object is so often."""
    return max(1, ceil(per_object * problem.n_objects / problem.width))


def descend(
    problem: EmbeddingProblem, X: np.ndarray, rows: np.ndarray, n_steps: int, first: float,
    parts: int = 5,
) -> Iterator[Progress]:  # fmt: skip
    """Step along single answers, ever shorter; the end is converged where the steps settled."""
    # The loss is reported after each of the parts.
    terms, start = problem.terms, X.copy()
    far = 1e6 * max(1.0, float(np.abs(X).max()))
    if problem.reg > 0.0:
        # A longer step along the ridge alone goes past the origin.
        first = min(first, 0.5 * problem.width / problem.reg)
    # Where steps diverge it begins again with shorter ones; when it gives up, X is as it was.
    for _ in range(5):
        row = done = 0
        for part in range(parts):
            end = n_steps * (part + 1) // parts
            steps = [first * (1.0 - at / n_steps) for at in (done, end)]
            # Rows are taken in order, round the end; lengths go linearly from first to last.
            row = embedding.sgd_pass(
                X, rows, row, end - done, *steps, terms.loss, terms.shape, terms.reg
            )
            done = end
            # NaN is not below.
            settled = part == parts - 1 and bool(np.abs(X).max() < far)
            yield Progress(done / len(problem.answers), nan, steps[0], X, settled)
        if settled:
            return
        X[:], first = start, 0.25 * first


def sgd(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings, rng: np.random.Generator
) -> Iterator[Progress]:
    """Minimise F from X by a fixed number of steps on single answers, of lengths that fall to 0."""
    n_steps = steps_for(problem, per_object=6000)
    if settings.max_iter is not None:
        n_steps = settings.max_iter * len(problem.answers)
    first = settings.step or problem.loss.traits.first_step
    rows = shuffled(problem, rng)
    for progress in descend(problem, X, rows, n_steps, first, parts=20):
        yield progress._replace(converged=False)
    yield Progress(progress.passes + 1.0, problem.evaluate(X)[0], 0.0, X, progress.converged)


def batch(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings, rng: np.random.Generator
) -> Iterator[Progress]:
    """Minimise F from X by gradient descent; a step that raises F is undone and halved."""
    step = settings.step or 0.3 * problem.n_objects
    for progress in _falling(problem.evaluate, np.subtract, X.copy(), step, 1.01, settings):
        X[:] = progress.embedding
        yield progress


def gram_descent(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings,
    rng: np.random.Generator | None = None,
) -> Iterator[Progress]:  # fmt: skip
    """Minimise F by projected gradients from G = X X^T; X gets the longest axes of G."""
    (n, p), terms, ridge = X.shape, problem.terms, problem.reg / problem.n_objects

    def evaluate(factor: np.ndarray) -> tuple[float, np.ndarray]:
        G, gradient = factor @ factor.T, np.zeros((n, n))
        value = embedding.by_gram(G, terms, gradient) / terms.total
        gradient /= terms.total
        # The projection leaves it in the space of centred matrices, where I and centring agree.
        gradient[np.diag_indices(n)] += ridge
        return value + ridge * float(np.trace(G)), gradient

    def move(factor: np.ndarray, step: np.ndarray) -> np.ndarray:
        # Factor of the nearest positive semidefinite matrix, largest eigenvalue first.
        eigenvalues, vectors = np.linalg.eigh(factor @ factor.T - step)
        positive = np.flatnonzero(eigenvalues > 0.0)[::-1]
        return vectors[:, positive] * np.sqrt(eigenvalues[positive])

    start, step = X - X.mean(axis=0), settings.step or float(n)
    for progress in _falling(evaluate, move, start, step, 1.2, settings):
        factor = progress.embedding[:, :p]
        X[:] = 0.0
        X[:, : factor.shape[1]] = factor
        yield progress._replace(embedding=X)


def _falling(
    evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]],
    move: Callable[[np.ndarray, np.ndarray], np.ndarray], at: np.ndarray, step: float,
    grow: float, settings: Settings,
) -> Iterator[Progress]:  # fmt: skip
    """Move along the gradient: further after a step that lowers the value; others are undone."""
    # It ends with a step that is next to nothing, for any number of objects.
    shortest = 1e-12 * len(at)
    value, gradient = evaluate(at)
    if not np.all(np.isfinite(gradient)):
        raise ValueError(
            "The gradient at the start is not finite: objects of init that coincide need a larger "
            "mu or smaller sample_weight."
        )
    for epoch in range(settings.max_iter or 1000):
        longest = float(np.abs(gradient).max())
        if step * longest > _FARTHEST:
            step = _FARTHEST / longest
        trial, used = move(at, step * gradient), step
        new, new_gradient = evaluate(trial)
        # The slope of CKL has no bound but 1 / mu where objects meet.
        if new <= value and np.all(np.isfinite(new_gradient)):
            done = value - new <= settings.tol * abs(value)
            at, value, gradient = trial, new, new_gradient
            step *= grow
        else:
            step *= 0.5
            done = step < shortest
        yield Progress(epoch + 2.0, value, used, at, done)
        if done:
            return
