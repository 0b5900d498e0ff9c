"""What a user is told after a fit: that it did not converge, or that its answers are misread."""

import math
from typing import Any

import numpy as np
from scipy.special import bdtrc
from sklearn.exceptions import ConvergenceWarning

from skscreen.embedding.problem.answers import Answers, quadruplets
from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem, answer_margins, wrong_share
from skscreen.embedding.problem.reading.columns import TELLING
from skscreen.embedding.solvers.solve import EmbeddingSolution, solve
from skscreen.embedding.solvers.state import Settings
from skscreen.fitting.warning import warn_user


def warn_at_chance(
    agree: np.ndarray, weights: Any, n_parameters: int, chance: float, hint: str
) -> bool:
    """Warn where a binomial test does not tell `agree`, (m,), from that of random answers."""
    if not len(agree):
        return False
    share = float(np.average(agree, weights=weights))
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
            f"{chance + gain / m:.0%} (binomial test, p = {p_value:.2g}). Check {hint}."
        )
    return at_chance


def warn_misread(model: Any) -> None:
    """Warn where random answers, or the reverse ones, would agree with an embedding as well."""
    trials, answers = model.loss == "oddoneout", model.answers_
    n = int(np.count_nonzero(model.compared_))
    # So many objects span no more dimensions.
    p = min(model.n_components, n - 1)
    agree = answer_margins(model.embedding_, answers.rows, EmbeddingLoss(model.loss)) > 0.0
    chance = 1.0 / 3.0 if trials else 0.5
    at_chance = warn_at_chance(
        agree,
        answers.weights,
        # Shifts, turns and the scale change no answer.
        n * p - p * (p + 1) // 2 - 1,
        chance,
        f"which column of X holds the {'odd one (odd)' if trials else 'pivot (pivot)'}, what y "
        "holds (response), and that all columns hold objects (columns)",
    )
    # Where most of what is not chance agrees, answers are not misread.
    unclear = np.average(agree, weights=answers.weights) < chance + 0.6 * (1.0 - chance)
    if unclear and not at_chance:
        _warn_reversed(answers, p, trials)


def _warn_reversed(answers: Answers, n_components: int, trials: bool) -> None:
    """Warn where a map agrees with the reverse of the answers much better."""
    # Nearness is a distance, which its reverse is not: in few dimensions points that are all far
    # from one point cannot be near to all others.
    n_objects = int(answers.rows.max()) + 1
    # Sixty for each object are enough; they are in random order.
    some = slice(60 * n_objects)
    weights = None if answers.weights is None else answers.weights[some]
    answers = Answers(answers.rows[some], weights, answers.trials[some])
    answers, compared = answers.compact(n_objects)
    rows, weights = answers.rows, answers.weights
    m = _equal_answers(len(rows), weights)
    if trials:
        rows = np.concatenate([rows, rows[:, [1, 0, 2]]])
        weights = None if weights is None else np.tile(weights, 2)
    # In C order, as loops take it.
    reverse = rows.take([0, 2, 1] if rows.shape[1] == 3 else [2, 3, 0, 1], axis=1)
    loss, shares = EmbeddingLoss("soe", 0.1), []
    for given in (rows, reverse):
        problem = EmbeddingProblem(given, weights, len(compared), loss, 0.01)
        found = solve(problem, n_components, "lbfgs", Settings(max_iter=20), 0)
        shares.append(1.0 - wrong_share(found.embedding, given, weights, loss))
    as_read, reverse_share = shares
    variance = sum(share * (1.0 - share) for share in shares) / m
    # Four standard deviations do not come about by chance.
    if reverse_share - as_read <= 4.0 * math.sqrt(variance):
        return
    hint = "X and y say which object is the nearer one, not the farther one"
    if trials:
        hint = (
            "y, or the first column of X, holds the odd one. The most central one is read by "
            "skscreen.preprocessing.triplets_from_mostcentral"
        )
    warn_user(
        f"The reverse of the answers fits a map much better: {reverse_share:.0%} of the reverse "
        f"ones agree with a map of their own, and {as_read:.0%} of those as read. Check that "
        f"{hint}."
    )


def warn_of_pivot(rows: np.ndarray) -> None:
    """Warn where the pivot of triplets is at an end in all, as in triads sorted by level."""
    if rows.shape[1] == 4 or len(rows) < TELLING:
        return
    pivot, others = rows[:, 0], np.sort(rows[:, 1:], axis=1)
    if not np.any((others[:, 0] < pivot) & (pivot < others[:, 1])):
        warn_user(
            "The first object of a triplet is never between the two others, which its answers then "
            "say little about. Pass pivot=1 (or its label) if the second column is compared with "
            "both others, as in triads of MLDS, or pivot=0 if the first is."
        )


def warn_one_sided(rows: np.ndarray, response: str) -> None:
    """Warn where all answers to sorted rows say the same: that the higher pair differs more."""
    if len(rows) < TELLING:
        return
    rises = np.diff(quadruplets(rows).reshape(-1, 2, 2).sum(axis=2), axis=1)
    if (rises > 0).all() or (rises < 0).all():
        read = " as numbers of answers, response='count'" if response == "count" else ""
        which = "higher" if rises[0] > 0 else "lower"
        warn_user(
            f"All {len(rows)} answers say that the pair of the {which} objects differs more. Check "
            f"that y, read{read}, holds the answers."
        )


def _equal_answers(count: int, weights: Any) -> float:
    """Return the number of answers of equal weight whose mean has the same variance."""
    if weights is None:
        return count
    # Squares of tiny weights would be zero.
    shares = weights / weights.max()
    return float(shares.sum() ** 2 / (shares @ shares))


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
