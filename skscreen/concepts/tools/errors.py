"""Standard errors of the entries of dimensions, and objects that significantly have a dimension."""

import numpy as np
from scipy.special import ndtr

from skscreen._compiled import concepts as _loops
from skscreen.concepts.problem.trials import Trials
from skscreen.core.memory import check_memory

# Trials that are looked at between two moments at which a fit can be interrupted.
TOGETHER = 100_000
# Share of false discoveries among the objects of a dimension.
FALSE_DISCOVERIES = 0.05


def standard_errors(X: np.ndarray, trials: Trials, l2: float) -> np.ndarray:
    """Return standard errors (n, d) of the positive entries, each row with the others held fixed.

    From the Hessian of the row's penalised likelihood; NaN where an entry is 0.
    """
    on = X > 0.0
    counts = on.sum(axis=1)
    first, at = (np.append(0, np.cumsum(sizes)) for sizes in (counts, counts**2))
    check_memory(8.0 * at[-1], "Hessians of the rows", "Use a larger l1.")
    parts = first, np.nonzero(on)[1].astype(np.int32), at, np.zeros(at[-1])
    weights = np.empty(0) if trials.weights is None else trials.weights
    for start in range(0, len(trials.rows), TOGETHER):
        part = slice(start, start + TOGETHER)
        rows = np.ascontiguousarray(trials.rows[part])
        _loops.add_row_information(X, parts, rows, weights[part], trials.is_odd)
    errors = np.full_like(X, np.nan)
    _loops.row_errors(X, parts, 2.0 * l2 * trials.total / trials.n_objects, errors)
    return errors


def count_significant(X: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return for each dimension how many objects have it, by Benjamini and Hochberg's rule."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = np.sort(np.nan_to_num(ndtr(-X / errors), nan=1.0), axis=0)
    n = len(X)
    steps = FALSE_DISCOVERIES * np.arange(1, n + 1)[:, None] / n
    below = p_values <= steps
    return np.where(below.any(axis=0), n - np.argmax(below[::-1], axis=0), 0)
