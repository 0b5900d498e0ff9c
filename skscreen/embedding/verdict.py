"""What a user is told after a fit: that it did not converge, or explains its answers by chance."""

import math
from typing import Any

import numpy as np
from scipy.special import bdtrc
from sklearn.exceptions import ConvergenceWarning

from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import answer_margins
from skscreen.embedding.solvers.solve import EmbeddingSolution
from skscreen.fitting.warning import warn_user

_ALPHA = 0.05
# Random answers agree with the parameters fitted to them, d in number, in about sqrt(d) standard
# deviations of a binomial distribution more than by chance; up to this factor in simulations.
_GAIN = 1.25


def warn_at_chance(
    agree: np.ndarray, weights: Any, n_parameters: int, chance: float, hint: str
) -> None:
    """Warn where a binomial test does not tell `agree`, (m,), from that of random answers."""
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


def warn_map_at_chance(model: Any) -> None:
    """Warn where the answers of an embedding agree with it no better than random ones."""
    p, trials = model.n_components, model.loss == "oddoneout"
    warn_at_chance(
        answer_margins(model.embedding_, model.answers_.rows, EmbeddingLoss(model.loss)) > 0.0,
        model.answers_.weights,
        # Shifts, turns and the scale change no answer.
        int(np.count_nonzero(model.compared_)) * p - p * (p + 1) // 2 - 1,
        1.0 / 3.0 if trials else 0.5,
        f"which column of X holds the {'odd one (odd)' if trials else 'pivot (pivot)'}, what y "
        "holds (response), and that all columns hold objects (columns)",
    )


def warn_unconverged(model: Any, solution: EmbeddingSolution) -> None:
    """Warn where the solution of an embedding did not reach its tolerance."""
    if solution.converged:
        return
    if not math.isnan(solution.dual_gap):
        message = (
            f"The duality gap, {solution.dual_gap:.3g} of the objective, is above "
            f"tol={model.tol:g}. Raise max_iter, tol, or reg, which must not be 0."
        )
    elif model.solver == "sgd" and model.formulation == "nonconvex":
        message = (
            "The steps of solver='sgd' diverged, the shortest tried too: the points are those "
            f"of the start, with the objective {solution.objective:.6g}. Use solver='lbfgs', or a "
            "smaller eta0 or reg."
        )
    else:
        message = (
            f"{len(solution.history)} iterations of solver={model.solver!r} did not bring the "
            f"relative decrease of the objective, {solution.objective:.6g}, to tol={model.tol:g}. "
            "Raise max_iter or tol."
        )
    warn_user(message, ConvergenceWarning)
