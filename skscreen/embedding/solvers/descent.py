"""Plain baselines of ordinal embedding: stochastic gradients on single answers, and all at once."""

from collections.abc import Callable, Generator, Iterator
from math import ceil, nan
from typing import Any

import numpy as np

from skscreen._compiled import embedding
from skscreen.embedding.problem.objective import EmbeddingProblem, evaluate
from skscreen.embedding.solvers.state import Progress, Settings, shuffled

# SGD steps per object.
_STEPS_PER_OBJECT = 6000
# Parts of a descent after each of which its loss is reported.
_PARTS = 20
# Most steps on the mean gradient, each a pass over all answers.
_EPOCHS = 1000
# First step on the mean gradient, over the number of objects.
_BATCH_STEP = 0.3
# Factors of the step after a decrease of the loss, and after an increase.
_GROW, _SHRINK = 1.01, 0.5
# Step, over the number of objects, at which a descent ends.
_SHORTEST = 1e-12
# Size of the points, relative to the start, at which SGD counts as diverged and starts again.
_FAR = 1e6
# Number of starts of SGD, each with a quarter of the previous step.
_ATTEMPTS = 5


def steps_for(problem: EmbeddingProblem, per_object: float) -> int:
    """Return the number of answers in which each object is so often."""
    return max(1, ceil(per_object * problem.n_objects / problem.width))


def diverged(X: np.ndarray, far: float = _FAR) -> bool:
    """Whether steps were too long."""
    # Written such that NaN counts as too far.
    return not np.abs(X).max() < far


def descend(
    problem: EmbeddingProblem, X: np.ndarray, rows: Any, n_steps: int, first: float, parts: int
) -> Generator[Progress, None, tuple[float, bool]]:
    """Step along single answers, ever shorter; return passes, and whether the steps settled."""
    terms, start = problem.terms, X.copy()
    far = _FAR * max(1.0, float(np.abs(X).max()))
    if problem.reg > 0.0:
        # A longer step along the ridge alone goes past the origin.
        first = min(first, 0.5 * problem.width / problem.reg)
    # Where steps diverge it begins again with shorter ones; when it gives up, X is as it was.
    for _ in range(_ATTEMPTS):
        row = done = 0
        for part in range(parts):
            end = n_steps * (part + 1) // parts
            steps = [first * (1.0 - at / n_steps) for at in (done, end)]
            # Rows are taken in order, round the end; lengths go linearly from first to last.
            row = embedding.sgd_pass(
                X, rows, row, end - done, *steps, terms.loss, terms.shape, terms.reg
            )
            done = end
            yield Progress(done / len(problem.answers), nan, steps[0], X, False)
        if not diverged(X, far):
            return done / len(problem.answers), True
        X[:], first = start, 0.25 * first
    return done / len(problem.answers), False


def sgd(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings, rng: np.random.Generator
) -> Iterator[Progress]:
    """Minimise F from X by a fixed number of steps on single answers, of lengths that fall to 0."""
    n_steps = steps_for(problem, _STEPS_PER_OBJECT)
    if settings.max_iter is not None:
        n_steps = settings.max_iter * len(problem.answers)
    first = settings.step or problem.loss.traits.first_step
    rows = shuffled(problem, rng)
    passes, settled = yield from descend(problem, X, rows, n_steps, first, _PARTS)
    value = evaluate(X, problem.terms, problem.workspace(), np.empty_like(X))
    yield Progress(passes + 1.0, value, 0.0, X, settled)


def batch(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings, rng: np.random.Generator
) -> Iterator[Progress]:
    """Minimise F from X by gradient descent; a step that raises F is undone and halved."""
    step = settings.step or _BATCH_STEP * problem.n_objects
    shortest, move = _SHORTEST * problem.n_objects, np.subtract
    for progress in falling(problem.evaluate, move, X.copy(), step, _GROW, shortest, settings):
        X[:] = progress.embedding
        yield progress


def falling(
    evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]],
    move: Callable[[np.ndarray, np.ndarray], np.ndarray], at: np.ndarray, step: float,
    grow: float, shortest: float, settings: Settings,
) -> Iterator[Progress]:  # fmt: skip
    """Move along the gradient: further after a step that lowers the value; others are undone."""
    value, gradient = evaluate(at)
    for epoch in range(settings.max_iter or _EPOCHS):
        trial, used = move(at, step * gradient), step
        new, new_gradient = evaluate(trial)
        if new <= value:
            done = value - new <= settings.tol * abs(value)
            at, value, gradient = trial, new, new_gradient
            step *= grow
        else:
            step *= _SHRINK
            done = step < shortest
        yield Progress(epoch + 2.0, value, used, at, done)
        if done:
            return
