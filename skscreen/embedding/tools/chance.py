"""Whether the answers of a fit agree with it better than random answers would."""

import math

import numpy as np
from scipy.special import bdtrc

from skscreen.fitting.warning import warn_user

_ALPHA = 0.05
# Random answers agree with the parameters fitted to them, d in number, in about sqrt(d) standard
# deviations of a binomial distribution more than by chance; up to this factor in simulations.
_GAIN = 1.25


def warn_at_chance(agree: np.ndarray, weights, n_parameters: int, chance: float, hint: str) -> None:
    """Warn where a binomial test does not tell the agreement from that of random answers.

    Parameters
    ----------
    agree : ndarray of shape (m,), bool
        Which answers of the fit agree with it.
    weights : ndarray of shape (m,), or None
    n_parameters : int
        Numbers that were fitted, without those that change no answer.
    chance : float
        Probability that a random answer agrees with fixed parameters.
    hint : str
        What to check.
    """
    if not len(agree):
        return
    share = float(np.average(agree, weights=weights))
    # Of weighted answers, as many as of equal weight have the same variance.
    m = len(agree) if weights is None else float(weights.sum() ** 2 / (weights @ weights))
    deviation = math.sqrt(m * chance * (1.0 - chance))
    gain = _GAIN * math.sqrt(max(n_parameters, 0)) * deviation
    # Few answers would agree as well by chance if all of them did: that says nothing.
    if (1.0 - chance) * m < 2.0 * gain or m < 1.0:
        return
    # As scipy.stats.binom.sf, without the time that its checks take.
    p_value = float(bdtrc(math.ceil(share * m - gain) - 1, round(m), chance))
    if p_value > _ALPHA:
        warn_user(
            f"The answers agree with their own fit in {share:.0%} only, no better than chance: "
            f"with {n_parameters} fitted numbers, random answers would do so in "
            f"{chance + gain / m:.0%} (binomial test, p = {p_value:.2g}). Check {hint}."
        )
