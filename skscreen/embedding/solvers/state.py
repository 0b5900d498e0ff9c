"""Input of the solvers of ordinal embedding, and their progress."""

from dataclasses import dataclass
from math import nan
from typing import NamedTuple, Self

import numpy as np

from skscreen.embedding.problem.objective import EmbeddingProblem

# Largest coordinate, parameter and tolerance, so that sums and products of squares do not overflow.
LARGEST = 1e40
# Number of passes for which a drawn list of weighted answers is used, and its largest length.
_DRAWS, _MOST_DRAWN = 20, 4_000_000


@dataclass(frozen=True)
class Settings:
    """Parameters of a solver that users can choose.

    `tol`: relative decrease of the objective, in an iteration or epoch, at which to stop;
    `max_iter` int or None: iterations or epochs at most; None takes the solver's own number;
    `sbb_epsilon` float or None: of SVRG-SBB, >= 0; None takes 0.1 / n_objects; `batch_size`: of
    SVRG and SVRG-SBB; `update_frequency` int or None: steps of an epoch of SVRG and SVRG-SBB; None
    goes through the answers once; `module_epochs` int or None: epochs after which SVRG-SBB begins
    anew (its Algorithm 2); None never does; `step` float or None: length of the first step; None
    takes the solver's own; `adapt`: whether the solver may set the ridge by the noise that it
    finds.
    """

    tol: float = 1e-4
    max_iter: int | None = None
    sbb_epsilon: float | None = None
    batch_size: int = 1
    update_frequency: int | None = None
    module_epochs: int | None = None
    step: float | None = None
    adapt: bool = False

    @classmethod
    def of(cls, model, adapt: bool) -> Self:
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
        )


class Progress(NamedTuple):
    """Progress of a solver.

    `passes`: gradients of answers so far, divided by the number of answers; `value`: objective at
    `embedding`; NaN where it is not known; `step`: length of the step: that of the iteration for
    L-BFGS, else the factor of a gradient; `embedding` (n_objects, n_components): the best so far;
    overwritten by the next step; `converged`: whether the solver has met its tolerance; `dual_gap`:
    duality gap over the objective; NaN where there is no certificate.
    """

    passes: float
    value: float
    step: float
    embedding: np.ndarray
    converged: bool
    dual_gap: float = nan


def shuffled(problem: EmbeddingProblem, rng: np.random.Generator) -> np.ndarray:
    """Return the answers for stochastic passes, which take them as they come.

    They are in random order as it is. With weights it is a list some times as long, in which rows
    are repeated or left out in proportion to them (systematic sampling): a step on a row then
    counts as any other, whatever its weight.
    """
    answers, weights = problem.answers, problem.weights
    if weights is None:
        return answers
    m = len(answers)
    drawn = m * min(max(_MOST_DRAWN // m, 1), _DRAWS)
    positions = (np.arange(drawn) + rng.random()) / drawn * weights.sum()
    order = np.searchsorted(np.cumsum(weights), positions, side="right")
    return answers[rng.permutation(np.minimum(order, m - 1))]
