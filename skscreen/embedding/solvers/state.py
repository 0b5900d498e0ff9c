"""Input of the solvers of ordinal embedding, and their progress."""

from dataclasses import dataclass
from math import nan
from typing import NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from skscreen.core.floats import LARGEST
from skscreen.embedding.problem.objective import EmbeddingProblem


@dataclass(frozen=True)
class Settings:
    """Parameters of a solver that users can choose; None takes the solver's own."""

    tol: float = 1e-4  # relative decrease of the objective in an iteration, or duality gap
    max_iter: int | None = None  # iterations or epochs
    sbb_epsilon: float | None = None
    batch_size: int = 1
    update_frequency: int | None = None  # steps of an epoch of SVRG
    module_epochs: int | None = None  # after which SVRG-SBB begins anew; None never does
    step: float | None = None  # length of the first one
    adapt: bool = False  # whether the ridge may be set by the noise that is found
    starts: int = 1  # stochastic ones of "auto", which follows the best

    @classmethod
    def of(cls, model: BaseEstimator, adapt: bool, starts: int) -> Self:
        """Return what the parameters of an estimator say."""
        return cls(
            # A larger tolerance has no effect, and products with this one stay finite.
            tol=min(float(model.tol), LARGEST),
            max_iter=model.max_iter,
            sbb_epsilon=None if model.sbb_epsilon == "auto" else model.sbb_epsilon,
            batch_size=model.batch_size,
            update_frequency=model.update_frequency,
            module_epochs=model.module_epochs,
            step=model.eta0,
            adapt=adapt,
            starts=starts,
        )


class Progress(NamedTuple):
    """How far a solver is; `embedding` is overwritten by the next step."""

    passes: float  # gradients of answers so far, divided by the number of answers
    value: float  # objective at `embedding`, NaN where it is not known
    step: float  # length: that of the iteration for L-BFGS, else the factor of a gradient
    embedding: np.ndarray  # (n_objects, n_components): the best so far
    converged: bool
    dual_gap: float = nan  # over the objective; NaN where there is no certificate


def shuffled(problem: EmbeddingProblem, rng: np.random.Generator) -> np.ndarray:
    """Return the answers for stochastic passes, which take them as they come, in random order."""
    answers, weights = problem.answers, problem.weights
    if weights is None:
        return answers
    # Rows are repeated or left out in proportion to their weights (systematic sampling): a step on
    # a row then counts as any other.
    m = len(answers)
    # A list for twenty passes, in at most four million rows.
    drawn = m * min(max(4_000_000 // m, 1), 20)
    positions = (np.arange(drawn) + rng.random()) / drawn * weights.sum()
    order = np.searchsorted(np.cumsum(weights), positions, side="right")
    return answers[rng.permutation(np.minimum(order, m - 1))]
