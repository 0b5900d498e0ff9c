"""What solvers of ordinal embedding tell while they run."""

from typing import NamedTuple

import numpy as np


class Progress(NamedTuple):
    """Where a solver stands.

    Parameters
    ----------
    passes : float
        Gradients of answers so far, divided by the number of answers.
    value : float
        Objective at `embedding`; NaN where it is not known.
    step : float
        Length of the step: of the iteration for L-BFGS, else the factor of a mean gradient.
    embedding : ndarray of shape (n_objects, n_components)
        Overwritten by the next step.
    converged : bool
        Whether the solver has met its tolerance.
    """

    passes: float
    value: float
    step: float
    embedding: np.ndarray
    converged: bool
