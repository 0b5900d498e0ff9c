"""What a user is told after a fit: that it did not converge, or that its answers are misread."""

import math

import numpy as np
from scipy.special import bdtrc
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from skscreen._compiled import embedding
from skscreen.answers.answers import Answers
from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import answer_margins
from skscreen.embedding.solvers.solve import EmbeddingSolution
from skscreen.fitting.warning import warn_user

# Of the test of the reverse: how many answers it reads, and how often their sums are multiplied.
ANSWERS_PER_OBJECT, POWERS = 15, 6


def warn_at_chance(
    agree: np.ndarray, weights: np.ndarray | None, n_parameters: int, chance: float
) -> bool:
    """Warn where a binomial test does not tell `agree`, (m,), from that of random answers."""
    if not len(agree):
        return False
    share = _share(agree, weights)
    m = _equal_answers(len(agree), weights)
    deviation = math.sqrt(m * chance * (1.0 - chance))
    # Random answers agree with the d parameters fitted to them in about sqrt(d) standard deviations
    # more than by chance; in up to 1.25 times as many in simulations.
    gain = 1.25 * math.sqrt(max(n_parameters, 0)) * deviation
    # Few answers would agree as well by chance if all of them did: that says nothing.
    if (1.0 - chance) * m < 2.0 * gain or m < 1.0:
        return False
    # As scipy.stats.binom.sf, without the time that its checks take.
    p_value = float(bdtrc(math.ceil(share * m - gain) - 1, round(m), chance))
    at_chance = p_value > 0.05
    if at_chance:
        warn_user(
            f"The answers agree with their own fit in {share:.0%} only, no better than chance: "
            f"with {n_parameters} fitted numbers, random answers would do so in "
            f"{chance + gain / m:.0%} (binomial test, p = {p_value:.2g})."
        )
    return at_chance


def warn_pieces(n_pieces: int) -> None:
    """Warn where a map is several, that hang together by nothing."""
    if n_pieces > 1:
        warn_user(
            f"The objects are in {n_pieces:,} pieces that no answer connects: the places of these "
            "beside each other mean nothing."
        )


def warn_misread(model: BaseEstimator) -> None:
    """Warn where random answers, or the reverse ones, would agree with an embedding as well."""
    trials, answers = model.loss == "oddoneout", model.answers_
    n = int(np.count_nonzero(model.compared_))
    # So many objects span no more dimensions.
    p = min(model.n_components, n - 1)
    agree = answer_margins(model.embedding_, answers.rows, EmbeddingLoss(model.loss)) > 0.0
    chance = 1.0 / 3.0 if trials else 0.5
    # Shifts, turns and the scale change no answer.
    n_parameters = n * p - p * (p + 1) // 2 - 1
    # Where most of what is not chance agrees, answers are not misread.
    unclear = _share(agree, answers.weights) < chance + 0.6 * (1.0 - chance)
    if unclear and _warn_reversed(answers, n, p, trials):
        return
    warn_at_chance(agree, answers.weights, n_parameters, chance)


def _warn_reversed(answers: Answers, n_objects: int, n_components: int, trials: bool) -> bool:
    """Warn where a map agrees with the reverse of the answers much better; whether it does."""
    # Nearness is a distance, which its reverse is not: in few dimensions points that are all far
    # from one point cannot be near to all others.
    # So many for an object are enough for a rough map, and all take longer.
    every = max(len(answers.rows) // (ANSWERS_PER_OBJECT * n_objects), 1)
    rows = np.ascontiguousarray(answers.rows[::every])
    weights = answers.weights
    if weights is not None:
        weights = weights[::every] / weights.max()
    # Eigenvectors of how often a pair was said to be the nearer one, less how often the farther
    # one, which is like a Gram matrix of the points: that of the reverse answers is its negative.
    as_read, reverse_share = embedding.rough_agreement(
        rows, np.empty(0) if weights is None else weights, trials, len(answers.objects),
        n_components, POWERS,
    )  # fmt: skip
    n_answers = _equal_answers(len(rows), weights)
    variance = sum(share * (1.0 - share) for share in (as_read, reverse_share)) / n_answers
    # Four standard deviations do not come about by chance.
    is_reversed = reverse_share - as_read > 4.0 * math.sqrt(variance)
    if is_reversed:
        warn_user(
            "The reverse of the answers fits a map much better: "
            f"{reverse_share:.0%} of the reverse ones agree with a rough map of their own, and "
            f"{as_read:.0%} of those as read with theirs."
        )
    return is_reversed


def _share(agree: np.ndarray, weights: np.ndarray | None) -> float:
    """Return the weighted share of answers that agree."""
    if weights is None:
        return np.count_nonzero(agree) / len(agree)
    return float(np.average(agree, weights=weights))


def _equal_answers(count: int, weights: np.ndarray | None) -> float:
    """Return the number of answers of equal weight whose mean has the same variance."""
    if weights is None:
        return count
    # Squares of tiny weights would be zero.
    shares = weights / weights.max()
    return float(shares.sum() ** 2 / (shares @ shares))


def warn_unconverged(model: BaseEstimator, solution: EmbeddingSolution) -> None:
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
