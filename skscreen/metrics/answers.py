"""Measures of embeddings: against answers, and against another embedding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import procrustes
from sklearn.base import BaseEstimator

from skscreen.answers.answers import Answers, AnswersLike
from skscreen.answers.given import given_answers, group_codes, places_of
from skscreen.core.checks import check_samples
from skscreen.core.named import in_order, index_of
from skscreen.embedding.problem.answers import counted, quadruplets
from skscreen.embedding.problem.objective import margins
from skscreen.embedding.problem.scale import sides_of


class NoiseCeiling(NamedTuple):
    """How well answers can be predicted, as far as repetitions tell.

    Parameters
    ----------
    agreement : float
        Probability that two answers to the same question agree.
    lower, upper : float
        Accuracies between which that of the best predictor is expected.
    n_questions, n_answers : int
        Questions with at least two answers, or two groups, and all answers to them.
    """

    agreement: float
    lower: float
    upper: float
    n_questions: int
    n_answers: int


def triplet_error(
    embedding: BaseEstimator | ArrayLike, X: AnswersLike, y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:  # fmt: skip
    """Return the share of answers that are wrong in an embedding.

    Parameters
    ----------
    embedding : array-like of shape (n_objects, n_components)
        NaN is allowed, and counts as wrong. A frame has the objects as its index, as that of
        ``set_output(transform="pandas")``, and these are matched by name. An array has a row for
        each of ``X.objects``, or, where X is an array, for each whole number from 0.
    X, y, sample_weight
        Answers as `skscreen.OrdinalEmbedding.fit` takes them: triplets or quadruplets.

    Returns
    -------
    float
        Share of wrong answers; equal distances are wrong, too.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    names = index_of(embedding)
    # NaN is a point that no answer is right for.
    embedding = check_samples(
        embedding, "embedding", dtype=np.float64, order="C", ensure_all_finite=False
    )
    given = given_answers(X, y, kinds=("triplets", "quadruplets"), arrays=("triplets",))
    answers = counted(given, sample_weight)
    if names is None and isinstance(X, Answers):
        names = answers.objects
        if len(names) != len(embedding):
            raise ValueError(
                f"embedding must have a row for each of the {len(names)} objects of X, got "
                f"{len(embedding)}."
            )
    rows = places_of(answers, np.arange(len(embedding)) if names is None else names)
    difference = margins(embedding, rows)
    # Squares that overflow, or are so small that they lose digits, are computed again, scaled.
    again = ~((np.abs(difference) > 1e-280) & (np.abs(difference) < np.inf))
    difference[again] = _scaled_margins(embedding, rows[again])
    return float(np.average(~(difference > 0.0), weights=answers.weights))


def _scaled_margins(embedding: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return margins of answers, each in a unit in which no square leaves the range of floats."""
    with np.errstate(invalid="ignore", over="ignore"):
        ends = 0.5 * embedding[rows]
        near, far = ends[:, 0] - ends[:, 1], ends[:, -2 if rows.shape[1] == 4 else 0] - ends[:, -1]
        unit = np.maximum(np.abs(near).max(axis=1), np.abs(far).max(axis=1))[:, None]
        unit[(unit == 0.0) | (unit == np.inf)] = 1.0
        return ((far / unit) ** 2).sum(axis=1) - ((near / unit) ** 2).sum(axis=1)


def noise_ceiling(
    X: AnswersLike, y: ArrayLike | None = None, *, oddoneout: bool = False,
    sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None,
) -> NoiseCeiling:  # fmt: skip
    """Return how well answers can be predicted at best, from questions answered several times.

    Answers to the same question are repetitions, whoever gave them. For a question with c_k votes
    for option k and n votes in all, `agreement` is the mean over answers of sum_k c_k (c_k - 1) /
    (n (n - 1)); `upper` is the share of the most frequent answer, which no prediction can exceed on
    these answers; and `lower` is how often an answer equals the most frequent one of the *other*
    answers, with ties broken at random. On average, the accuracy of a predictor that knows all
    probabilities is between `lower` and `upper`. With groups, the other answers are those of other
    groups: somebody who agrees with himself says nothing about others.

    Parameters
    ----------
    X : Answers, or array-like of shape (n_answers, 3)
        Answers of any kind; their weights are numbers of answers, such as votes.
    y : array-like of shape (n_answers,), optional
        Only with an array, as in `skscreen.OrdinalEmbedding.fit`.
    oddoneout : bool, default=False
        Whether an array holds choices of the odd one out, whose column is y.
    sample_weight : array-like of shape (n_trials,), default=None
        Weights >= 0 of the trials: of the answers in all sums, also where they are the other ones.
    groups : array-like of shape (n_trials,), default=None
        Participant of each trial, such as ``answers.groups``. Only questions that at least two have
        answered count.

    Returns
    -------
    NoiseCeiling
        `agreement`, `lower`, `upper`, `n_questions`, `n_answers`; single answers do not count.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.

    References
    ----------
    J. L. Fleiss (1971). Measuring nominal scale agreement among many raters. Psychological
    Bulletin 76, 378-382. Equation 2.

    H. Nili et al. (2014). A toolbox for representational similarity analysis. PLoS Computational
    Biology 10, e1003553: the two bounds of a noise ceiling.
    """
    if not isinstance(oddoneout, bool | np.bool_):
        raise TypeError(f"oddoneout must be True or False, got {oddoneout!r}.")
    return ceiling_of(read_votes(X, y, oddoneout, sample_weight, groups))


def procrustes_distance(X: ArrayLike, Y: ArrayLike) -> float:
    """Return the distance of two embeddings after shifting, scaling, rotating and reflecting.

    Parameters
    ----------
    X, Y : array-like of shape (n_objects, n_components)
        Frames may have the same objects as index in different orders.

    Returns
    -------
    float
        Sum of squared differences, where both are scaled to a sum of squares of 1. It is 0 for the
        same shape, and at most 1.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments, or if all points of one are the same; the message names the argument.
    """
    names = None if index_of(Y) is None else index_of(X)
    Y = Y if names is None else in_order(Y, names.tolist(), "Y")
    one, other = check_samples(X, dtype=np.float64), check_samples(Y, "Y", dtype=np.float64)
    if one.shape != other.shape:
        raise ValueError(f"X and Y must have the same shape, got {one.shape} and {other.shape}.")
    for name, points in (("X", one), ("Y", other)):
        if not 0.0 < np.ptp(points, axis=0).max() < np.inf:
            raise ValueError(f"{name} must have two different points, at a finite distance.")
    # Shifting and scaling do not change the result, and avoid overflow.
    one, other = (points - points[0] for points in (one, other))
    one, other = (points / np.abs(points).max() for points in (one, other))
    return float(procrustes(one - one.mean(axis=0), other - other.mean(axis=0))[2])


class Votes(NamedTuple):
    """Answers to questions."""

    questions: np.ndarray  # (m,), int: which question each row answers
    options: np.ndarray  # (m,), int: and what the answer is
    n_options: int
    counts: np.ndarray  # (m,), whole numbers: how many answers a row stands for
    weights: np.ndarray  # (m,): of each of these answers
    groups: np.ndarray | None = None  # (m,), int: who answered


def ceiling_of(votes: Votes) -> NoiseCeiling:
    """Return the ceiling of questions that at least two answers, or two groups, are about."""
    totals = votes.counts * votes.weights
    table = np.zeros((votes.questions.max() + 1, votes.n_options))
    np.add.at(table, (votes.questions, votes.options), totals)
    if votes.groups is None:
        # An answer is compared with all others, those of its own row too.
        own = np.zeros((len(totals), votes.n_options))
        own[np.arange(len(totals)), votes.options] = votes.weights
        sources = np.bincount(votes.questions, votes.counts)
    else:
        pairs = np.stack([votes.questions, votes.groups], axis=1)
        pairs, places = np.unique(pairs, axis=0, return_inverse=True)
        places = places.ravel()
        by_group = np.zeros((len(pairs), votes.n_options))
        np.add.at(by_group, (places, votes.options), totals)
        own = by_group[places]
        sources = np.bincount(pairs[:, 0])
    repeated = sources >= 2
    if not repeated.any():
        who = (
            "by two participants in groups or more" if votes.groups is not None else "twice or more"
        )
        raise ValueError(
            f"X must have questions that were answered {who}, got none: without repeated questions "
            "there is no ceiling."
        )
    used = repeated[votes.questions]
    totals, options = totals[used], votes.options[used]
    others = table[votes.questions[used]] - own[used]
    same = others[np.arange(len(options)), options]
    # One of the answers that are tied, up to rounding errors of the sums, is guessed.
    most = others >= others.max(axis=1, keepdims=True) * (1.0 - 1e-12)
    right = most[np.arange(len(options)), options] / most.sum(axis=1)
    total = totals.sum()
    return NoiseCeiling(
        agreement=float(totals @ (same / others.sum(axis=1)) / total),
        lower=float(totals @ right / total),
        upper=float(table[repeated].max(axis=1).sum() / total),
        n_questions=int(np.count_nonzero(repeated)),
        n_answers=int(votes.counts[used].sum()),
    )


def read_votes(
    X: AnswersLike, y: ArrayLike | None, oddoneout: bool, sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
) -> Votes:  # fmt: skip
    """Return who answered which question how."""
    kinds = ("triplets", "quadruplets", "oddoneout", "paired")
    given = given_answers(X, y, kinds=kinds, arrays=("oddoneout",) if oddoneout else ("triplets",))
    answers, counts = given.answers, given.answers.weights
    counts = np.ones(len(answers.rows)) if counts is None else counts
    if np.any(counts != np.floor(counts)):
        raise ValueError("X must have weights that are whole numbers, of answers.")
    weights = given.weights(sample_weight)
    weights = np.ones(len(counts)) if weights is None else weights / counts
    kept = weights > 0.0
    rows, trials = answers.rows[kept], answers.trials[kept]
    compare = {"oddoneout": _choices, "paired": _pairs}.get(answers.kind, _comparisons)
    questions, options = compare(rows)
    return Votes(
        questions=np.unique(questions, axis=0, return_inverse=True)[1].ravel(),
        options=options,
        n_options=3 if answers.kind == "oddoneout" else 2,
        counts=counts[kept],
        weights=weights[kept],
        groups=None if groups is None else group_codes(groups, given.n_trials, trials),
    )


def _comparisons(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Questions about two distances: the option is which of them is the nearer one."""
    rows = quadruplets(rows)
    near, far = np.sort(rows[:, :2], axis=1), np.sort(rows[:, 2:], axis=1)
    first = sides_of(far, near) > 0.0
    pairs = np.where(first[:, None], np.hstack([near, far]), np.hstack([far, near]))
    return pairs, first.astype(np.int64)


def _choices(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Questions which object is the odd one: the option is its place among all, in order."""
    return np.sort(rows, axis=1), (rows < rows[:, -1:]).sum(axis=1)


def _pairs(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Questions which of two objects has more of something."""
    return np.sort(rows, axis=1), (rows[:, 0] > rows[:, 1]).astype(np.int64)
