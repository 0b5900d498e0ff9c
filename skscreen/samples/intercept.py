"""The unpenalised intercept b of a hinge-loss problem, whose scores are <x_i, w> + b.

For a known w the losses are smallest where b is a weighted quantile of the kinks target_i - <x_i,
w>: at level sum of C_i over y_i = +1. A quantile increases in each kink, so bounds on all <x_i, w>
bound b, and with it the scores.

References
----------
K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
machines. arXiv:1401.6740. (Without such an intercept.)
"""

import numpy as np

from skscreen._compiled import samples

best_intercepts = samples.best_intercepts
"""(kinks (m,), caps (m,), level) -> the ends of the interval of best intercepts.

Kinks are target_i - <x_i, w>, the level is the sum of C_i where y_i = +1: see
`_compiled/samples/intercept.hpp`.
"""


def balanced_target(slopes: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return dual variables (n,) at the bounds that slopes ask for, whose sum is zero."""
    slopes = slopes - best_intercepts(slopes, high - low, high.sum())[0]
    beta = np.where(slopes > 0.0, high, np.where(slopes < 0.0, low, 0.0))
    balance(slopes, low, high, beta)
    return beta


def balance(slopes: np.ndarray, low: np.ndarray, high: np.ndarray, beta: np.ndarray) -> None:
    """Make the sum of beta vanish by the samples nearest to the kink, where `slopes` are 0."""
    # With the best intercept these are on the kink, so that <beta, slopes> stays the same.
    missing = samples.balance_at_kink(slopes, low, high, beta)
    if missing != 0.0:
        samples.balance_in(np.argsort(np.abs(slopes), kind="stable"), missing, low, high, beta)


weighted_quantile = samples.weighted_quantile
"""(values, weights, level) -> smallest value at which the cumulative weight reaches a level."""
