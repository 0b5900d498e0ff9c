"""SVRG-SBB: variance-reduced stochastic gradients with stabilised Barzilai-Borwein steps.

Each epoch evaluates the gradient g at a snapshot and makes m steps of length b eta on b answers
each, with m = |Q| / b by default, and eta = |dx|^2 / (|<dx, dg>| + epsilon |dx|^2) / (m b), where
dx and dg are the changes of the snapshot and of g. An epoch that raises F is undone and repeated
with a quarter of the step. Algorithm 1 returns the points of a random epoch; here these are those
of the snapshot with the lowest F. The paper is Ma et al. (2019), see `OrdinalEmbedding`.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from skscreen._compiled import embedding
from skscreen.embedding.problem.objective import EmbeddingProblem, evaluate
from skscreen.embedding.solvers.state import Progress, Settings, shuffled


def svrg_sbb(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings, rng: np.random.Generator,
    barzilai_borwein: bool = True,
) -> Iterator[Progress]:  # fmt: skip
    """Minimise F from X by SVRG-SBB (Algorithms 1 and 2 of the paper, misprints corrected)."""
    terms, work = problem.terms, problem.workspace()
    n = len(X)
    m, batch = len(problem.answers), min(settings.batch_size, len(problem.answers))
    rows = shuffled(problem, rng)
    n_steps = settings.update_frequency or m // batch
    # Answers of an epoch; the remainder of a division counts as if it were used.
    used_answers = m if settings.update_frequency is None else n_steps * batch
    # In units of 1 / n and n / |Q|, as an answer moves 3 of n points.
    epsilon = 0.1 / n if settings.sbb_epsilon is None else settings.sbb_epsilon
    first_step = settings.step or (0.3 if barzilai_borwein else 1.0) * n / m
    step, age, passes = first_step, 0, 1.0
    gradient, trial_gradient = np.empty_like(X), np.empty_like(X)
    value = evaluate(X, terms, work, gradient)
    best, best_value = X.copy(), value
    for epoch in range(settings.max_iter or 50):
        if age > 0 and age == settings.module_epochs:
            # Algorithm 2: the next module begins at the best point of this one.
            X[:], step, age = best, first_step, 0
            value = evaluate(X, terms, work, gradient)
        trial, used = X.copy(), step
        embedding.svrg_epoch(
            trial, X, gradient, rows, rng.integers(len(rows)), n_steps, batch, step,
            terms.loss, terms.shape, terms.reg,
        )  # fmt: skip
        new = evaluate(trial, terms, work, trial_gradient)
        passes += 1.0 + 2.0 * used_answers / m
        # An epoch may raise F a little. Written such that NaN counts as a rise.
        if not new <= 1.05 * value:
            step *= 0.25
            if barzilai_borwein:
                epsilon = max(epsilon, 0.25 / (step * used_answers))
            yield Progress(passes, best_value, used, best, False)
            continue
        moved, turned = (trial - X).ravel(), (trial_gradient - gradient).ravel()
        squares = moved @ moved
        # An epoch counts as ten iterations of other solvers; there are at least three.
        small = abs(value - new) <= 10.0 * settings.tol * abs(value)
        done = squares == 0.0 or (small and epoch >= 2)
        X[:], value, age = trial, new, age + 1
        gradient, trial_gradient = trial_gradient, gradient
        if barzilai_borwein and squares > 0.0:
            curvature = abs(moved @ turned) / squares + epsilon
            # Zero only without epsilon, where the gradient does not change: keep the step.
            step = 1.0 / curvature / used_answers if curvature > 0.0 else step
        if value < best_value:
            best[:], best_value = X, value
        yield Progress(passes, best_value, used, best, done)
        if done:
            return


# With a constant step (Johnson and Zhang 2013).
svrg = partial(svrg_sbb, barzilai_borwein=False)
