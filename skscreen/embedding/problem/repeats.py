"""Questions that were answered several times: how far the answers agree."""

from typing import NamedTuple

import numpy as np

from skscreen.embedding.problem.answers import Answers, Layout, read_trials, usable_answers


class NoiseCeiling(NamedTuple):
    """How well answers can be predicted, as far as repetitions tell.

    Parameters
    ----------
    agreement : float
        Probability that two answers to the same question agree.
    lower, upper : float
        Accuracies between which that of the best predictor is expected.
    n_questions, n_answers : int
        Questions with at least two answers, and all answers to them.
    """

    agreement: float
    lower: float
    upper: float
    n_questions: int
    n_answers: int


def ceiling_of(votes: np.ndarray) -> NoiseCeiling:
    """Return the ceiling of votes, of shape (n_questions, n_options), whole numbers."""
    totals = votes.sum(axis=1)
    votes, totals = votes[totals >= 2], totals[totals >= 2]
    if not len(votes):
        raise ValueError("X must have questions that were answered at least twice, got none.")
    n_answers = totals.sum()
    # Sum over answers of the share of the other answers that agree.
    agreement = (votes * (votes - 1)).sum(axis=1) / (totals - 1)
    right = 0.0
    for option in range(votes.shape[1]):
        others = votes.copy()
        others[:, option] -= 1
        most = others == others.max(axis=1, keepdims=True)
        # One of the tied answers is guessed.
        right += (votes[:, option] * most[:, option] / most.sum(axis=1)).sum()
    return NoiseCeiling(
        agreement=float(agreement.sum() / n_answers),
        lower=float(right / n_answers),
        upper=float(votes.max(axis=1).sum() / n_answers),
        n_questions=len(votes),
        n_answers=int(n_answers),
    )


def count_votes(X, y, layout: Layout) -> np.ndarray:
    """Return how often each question got each answer, of shape (n_questions, n_options)."""
    trials = read_trials(X, y, layout, declared=True)
    answers = Answers(trials.table.codes, trials.weights, trials.rows)
    if not layout.choice:
        answers = usable_answers(answers, equal=True)
    questions, options = (_choices if layout.choice else _comparisons)(answers.rows)
    counts = np.ones(len(options)) if answers.weights is None else answers.weights
    if np.any(counts != np.floor(counts)):
        raise ValueError("y must hold whole numbers if it holds counts of answers.")
    which = np.unique(questions, axis=0, return_inverse=True)[1].ravel()
    votes = np.zeros((which.max() + 1, questions.shape[1] if layout.choice else 2), dtype=np.int64)
    np.add.at(votes, (which, options), counts.astype(np.int64))
    return votes


def _comparisons(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Questions about two distances: the option is which of them is the nearer one."""
    near = np.sort(rows[:, :2], axis=1)
    far = np.sort(rows[:, -2:] if rows.shape[1] == 4 else rows[:, [0, 2]], axis=1)
    # Pairs in lexicographic order.
    first = (near[:, 0] < far[:, 0]) | ((near[:, 0] == far[:, 0]) & (near[:, 1] < far[:, 1]))
    pairs = np.where(first[:, None], np.hstack([near, far]), np.hstack([far, near]))
    return pairs, first.astype(np.int64)


def _choices(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Questions which object is the odd one: the option is its place among all, in order."""
    return np.sort(codes, axis=1), (codes < codes[:, :1]).sum(axis=1)
