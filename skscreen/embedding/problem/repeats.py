"""Questions that were answered several times: how far the answers agree."""

from typing import Any, NamedTuple

import numpy as np

from skscreen.embedding.problem.answers import (
    Answers,
    Layout,
    check_total,
    quadruplets,
    read_groups,
    read_trials,
    read_weights,
    usable_answers,
)
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
        who = "by at least two groups" if votes.groups is not None else "at least twice"
        raise ValueError(f"X must have questions that were answered {who}, got none.")
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
    X: Any, y: Any, layout: Layout, sample_weight: Any = None, groups: Any = None
) -> Votes:
    """Read who answered which question how."""
    trials = read_trials(X, y, layout, declared=True)
    codes = None if groups is None else read_groups(groups, trials.n_rows)
    answers = Answers(trials.table.codes, trials.weights, trials.rows)
    if not layout.choice:
        answers = usable_answers(answers, equal=True)
    weights = np.ones(len(answers.rows))
    if sample_weight is not None:
        weights = read_weights(sample_weight, trials.n_rows)[answers.trials]
        check_total(weights)
    kept = weights > 0.0
    answers, weights = answers.take(kept), weights[kept]
    questions, options = (_choices if layout.choice else _comparisons)(answers.rows)
    counts = np.ones(len(options)) if answers.weights is None else answers.weights
    if np.any(counts != np.floor(counts)):
        raise ValueError("y must hold whole numbers if it holds counts of answers.")
    return Votes(
        questions=np.unique(questions, axis=0, return_inverse=True)[1].ravel(),
        options=options,
        n_options=questions.shape[1] if layout.choice else 2,
        counts=counts,
        weights=weights,
        groups=None if codes is None else codes[answers.trials],
    )


def _comparisons(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Questions about two distances: the option is which of them is the nearer one."""
    rows = quadruplets(rows)
    near, far = np.sort(rows[:, :2], axis=1), np.sort(rows[:, 2:], axis=1)
    first = sides_of(far, near) > 0.0
    pairs = np.where(first[:, None], np.hstack([near, far]), np.hstack([far, near]))
    return pairs, first.astype(np.int64)


def _choices(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Questions which object is the odd one: the option is its place among all, in order."""
    return np.sort(codes, axis=1), (codes < codes[:, :1]).sum(axis=1)
