"""Plain baselines of ordinal embedding: stochastic gradients on single answers, and all at once."""

from collections.abc import Iterator
from math import ceil, nan

import numpy as np

from skscreen.problems.embedding_terms import EmbeddingProblem, evaluate
from skscreen.solvers.embedding_kernels import sgd_pass
from skscreen.solvers.embedding_state import Progress, Settings, shuffled

# First step of SGD, in distances squared per unit of slope; longer ones break under noise.
FIRST_STEP = {"gnmds": 0.1, "ste": 0.1, "tste": 0.2, "soe": 0.2, "ckl": 0.2}
# How often SGD touches each object: more for few objects than for many answers.
_TOUCHES = 6000
_PARTS = 20
_BATCH_EPOCHS = 1000
# Of the step on the mean gradient, in units of n; it grows after a decrease and halves else.
_BATCH_STEP, _GROW, _SHRINK = 0.3, 1.01, 0.5
_SHORTEST = 1e-12
# A start with coordinates beyond this has diverged; it is repeated with a quarter of the step.
_FAR = 1e6


def steps_for(problem: EmbeddingProblem, touches: float) -> int:
    """Return how many answers touch each object that often."""
    return max(1, ceil(touches * problem.n_objects / problem.width))


def diverged(X: np.ndarray) -> bool:
    """Whether steps were too long."""
    # Written so that NaN is too far.
    return not np.abs(X).max() < _FAR


def sgd(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings, rng: np.random.Generator
) -> Iterator[Progress]:
    """Minimise F from X by steps on single answers, of lengths that fall linearly to zero.

    The number of steps is fixed beforehand: about 6,000 for each object, or `max_epochs` passes.
    """
    terms, m = problem.terms, len(problem.answers)
    n_steps = steps_for(problem, _TOUCHES)
    if settings.max_epochs is not None:
        n_steps = settings.max_epochs * m
    rows = shuffled(problem, rng)
    first = settings.step or FIRST_STEP[problem.loss.name]
    start, row = X.copy(), int(rng.integers(m))
    while True:
        done = 0
        for part in range(_PARTS):
            end = n_steps * (part + 1) // _PARTS
            steps = [first * (1.0 - at / n_steps) for at in (done, end)]
            row = sgd_pass(
                X, rows, row, end - done, *steps, terms.loss, terms.shape, terms.reg
            )  # fmt: skip
            done = end
            if part + 1 < _PARTS:
                yield Progress(done / m, nan, steps[0], X, False)
        if settings.step is not None or not diverged(X):
            break
        X[:], first = start, 0.25 * first
    value = evaluate(X, terms, problem.workspace(), np.empty_like(X))
    yield Progress(n_steps / m + 1.0, value, 0.0, X, True)


def batch(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings, rng: np.random.Generator
) -> Iterator[Progress]:
    """Minimise F from X by gradient descent; a step that raises F is undone and halved."""
    terms, work = problem.terms, problem.workspace()
    gradient, trial_gradient = np.empty_like(X), np.empty_like(X)
    value = evaluate(X, terms, work, gradient)
    step = settings.step or _BATCH_STEP * problem.n_objects
    for epoch in range(settings.max_epochs or _BATCH_EPOCHS):
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
