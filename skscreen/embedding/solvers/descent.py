"""Plain baselines of ordinal embedding: stochastic gradients on single answers, and all at once."""

from collections.abc import Generator, Iterator
from math import ceil, nan

import numpy as np

from skscreen._compiled import embedding
from skscreen.embedding.problem.objective import EmbeddingProblem, evaluate
from skscreen.embedding.solvers.state import Progress, Settings, shuffled

# SGD steps per object.
_TOUCHES = 6000
# Parts of a descent after each of which its loss is reported.
_PARTS = 20
# Most steps on the mean gradient, each a pass over all answers.
_BATCH_EPOCHS = 1000
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


def steps_for(problem: EmbeddingProblem, touches: float) -> int:
    """Return how many answers touch each object that often."""
    return max(1, ceil(touches * problem.n_objects / problem.width))


def diverged(X: np.ndarray, far: float = _FAR) -> bool:
    """Whether steps were too long."""
    # Written such that NaN counts as too far.
    return not np.abs(X).max() < far


def descend(
    problem: EmbeddingProblem, X: np.ndarray, rows, n_steps: int, first: float, parts: int
) -> Generator[Progress, None, tuple[float, bool]]:
    """Step along single answers with lengths that fall linearly from `first` to 0.

    Where those diverge it begins again with shorter ones; when it gives up, X is as it was.
    Returns how often it went through the answers, and whether the steps did not diverge.
    """
    terms, start = problem.terms, X.copy()
    far = _FAR * max(1.0, float(np.abs(X).max()))
    if problem.reg > 0.0:
        # A longer step along the ridge alone goes past the origin.
        first = min(first, 0.5 * problem.width / problem.reg)
    for _ in range(_ATTEMPTS):
        row = done = 0
        for part in range(parts):
            end = n_steps * (part + 1) // parts
            steps = [first * (1.0 - at / n_steps) for at in (done, end)]
            row = sgd_pass(X, rows, row, end - done, *steps, terms.loss, terms.shape, terms.reg)
            done = end
            yield Progress(done / len(problem.answers), nan, steps[0], X, False)
        if not diverged(X, far):
            return done / len(problem.answers), True
        X[:], first = start, 0.25 * first
    return done / len(problem.answers), False


def sgd(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings, rng: np.random.Generator
) -> Iterator[Progress]:
    """Minimise F from X by steps on single answers, of lengths that fall linearly to zero.

    The number of steps is fixed beforehand: about 6,000 for each object, or `max_iter` passes.
    """
    n_steps = steps_for(problem, _TOUCHES)
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
    terms, work = problem.terms, problem.workspace()
    gradient, trial_gradient = np.empty_like(X), np.empty_like(X)
    value = evaluate(X, terms, work, gradient)
    step = settings.step or _BATCH_STEP * problem.n_objects
    for epoch in range(settings.max_iter or _BATCH_EPOCHS):
        trial, used = X - step * gradient, step
        new = evaluate(trial, terms, work, trial_gradient)
        if new <= value:
            done = value - new <= settings.tol * abs(value)
            X[:], value = trial, new
            gradient, trial_gradient = trial_gradient, gradient
            step *= _GROW
        else:
            step *= _SHRINK
            done = step < _SHORTEST * problem.n_objects
        yield Progress(epoch + 2.0, value, used, X, done)
        if done:
            return


sgd_pass = embedding.sgd_pass
"""Steps on single answers, with lengths that go linearly from first to last -> the next row.

(X, rows, start, n_steps, first_step, last_step, code, shape, reg). Rows are taken in order, from
`start` on and round the end: they are shuffled beforehand.
"""
