"""Standard errors of the entries of dimensions, and objects that significantly have a dimension."""

import numpy as np
from scipy.special import ndtr

from skscreen._compiled import concepts as _loops
from skscreen.concepts.problem.trials import Trials

# Share of false discoveries among the objects of a dimension.
FALSE_DISCOVERIES = 0.05


def standard_errors(X: np.ndarray, trials: Trials, l2: float) -> np.ndarray:
    """Return standard errors (n, d) of the positive entries, each row with the others held fixed.

    From the Hessian of the row's penalised likelihood; NaN where an entry is 0.
    """
    errors = np.empty_like(X)
    weights = np.empty(0) if trials.weights is None else trials.weights
    ridge = 2.0 * l2 * trials.total / trials.n_objects
    _loops.row_errors(X, trials.rows, weights, trials.is_odd, ridge, errors)
    return errors


def count_significant(X: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return for each dimension how many objects have it, by Benjamini and Hochberg's rule."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = np.sort(np.nan_to_num(ndtr(-X / errors), nan=1.0), axis=0)
    n = len(X)
    steps = FALSE_DISCOVERIES * np.arange(1, n + 1)[:, None] / n
    below = p_values <= steps
    return np.where(below.any(axis=0), n - np.argmax(below[::-1], axis=0), 0)
