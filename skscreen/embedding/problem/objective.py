"""The objective of ordinal embedding: a weighted mean of losses of answers and a small ridge.

    F(X) = (1 / sum_q w_q) sum_q w_q f(a_q, c_q) + reg / n sum_i |x_i|^2

Where the answers are many for the number of objects, each distinct pair of objects is listed once:
its distance, and what the loss needs of it (a root, an exponential), are then computed once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skscreen._compiled import embedding
from skscreen.embedding.problem.losses import EmbeddingLoss


class Terms(NamedTuple):
    """Arrays of a problem for the compiled evaluations."""

    answers: np.ndarray  # (m, 3) or (m, 4), int32: (i, j, k) or (i, j, k, l) as in `Answers`
    weights: np.ndarray  # (m,), or (0,) where all are one
    pairs: np.ndarray  # (P, 2), int32: the distinct pairs; empty where they are not listed
    places: np.ndarray  # (m, sides), int32: the near, far (, third) pair's row of `pairs`
    total: float  # sum of the weights
    loss: int  # its code
    shape: float  # and parameter
    reg: float


class EmbeddingProblem:
    """Value and gradient of the objective of usable answers, (m, 3) or (m, 4), int32."""

    def __init__(self, answers, weights, n_objects, loss: EmbeddingLoss, reg, compress=None):
        self.n_objects, self.loss = n_objects, loss
        # Whether to list pairs: by default where that pays.
        if compress is None:
            compress = n_objects**2 < 4 * len(answers)
        m, sides = len(answers) if compress else 0, loss.sides
        pairs = np.empty((min(sides * m, n_objects * (n_objects + 1) // 2), 2), np.int32)
        places = np.empty((m, sides), np.int32)
        if compress:
            pairs = pairs[: embedding.list_pairs(answers, n_objects, pairs, places)].copy()
        weights = np.empty(0) if weights is None else weights
        self.terms = _terms(answers, weights, pairs, places, loss, float(reg))

    @property
    def answers(self) -> np.ndarray:
        """Rows of objects."""
        return self.terms.answers

    @property
    def weights(self) -> np.ndarray | None:
        """Weights of the answers, or None."""
        return self.terms.weights if self.terms.weights.size else None

    def split(self, size: int) -> tuple[np.ndarray, np.ndarray | None, EmbeddingProblem]:
        """Return the first `size` answers, their weights, and the problem of all the others."""
        terms = self.terms
        answers, weights, places = terms.answers, terms.weights, terms.places
        rest = self._with_terms(
            _terms(answers[size:], weights[size:], terms.pairs, places[size:], self.loss, terms.reg)
        )
        return answers[:size], weights[:size] if weights.size else None, rest

    @property
    def reg(self) -> float:
        """Strength of the ridge."""
        return self.terms.reg

    def with_reg(self, reg: float) -> EmbeddingProblem:
        """Return the problem with another ridge."""
        return self._with_terms(Terms(*self.terms[:-1], float(reg)))

    def _with_terms(self, terms: Terms) -> EmbeddingProblem:
        """Return the problem of other arrays about the same objects."""
        # `copy` takes a twentieth of the fit of a small map.
        other = object.__new__(EmbeddingProblem)
        other.n_objects, other.loss, other.terms = self.n_objects, self.loss, terms
        return other

    @property
    def width(self) -> int:
        """Objects in an answer."""
        return self.terms.answers.shape[1]

    def workspace(self) -> np.ndarray:
        """Memory of an evaluation; threads need one each."""
        return np.empty((3, len(self.terms.pairs)))

    def evaluate(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F and its gradient at X, of shape (n_objects, n_components)."""
        gradient = np.empty_like(X)
        return evaluate(X, self.terms, self.workspace(), gradient), gradient


def _terms(
    answers: np.ndarray, weights: np.ndarray, pairs: np.ndarray, places: np.ndarray,
    loss: EmbeddingLoss, reg: float,
) -> Terms:  # fmt: skip
    total = float(weights.sum() if weights.size else len(answers))
    return Terms(answers, weights, pairs, places, total, loss.code, float(loss.shape), reg)


evaluate = embedding.evaluate
"""(X, terms, workspace, gradient) -> F at X, infinity where it overflows; fills `gradient`."""


def margins(X: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Return c - a of each answer: positive where it is right."""
    result = np.empty(len(answers))
    points = np.ascontiguousarray(X, dtype=np.float64)
    embedding.margins(points, np.ascontiguousarray(answers, dtype=np.int32), result)
    return result


def answer_margins(X: np.ndarray, answers: np.ndarray, loss: EmbeddingLoss) -> np.ndarray:
    """Return by how much each answer is right: for choices of the odd one out the lesser of two."""
    result = margins(X, answers)
    if loss.of_trials:
        result = np.minimum(result, margins(X, answers[:, [1, 0, 2]]))
    return result


def wrong_share(
    X: np.ndarray, answers: np.ndarray, weights: np.ndarray | None, loss: EmbeddingLoss
) -> float:
    """Weighted share of answers that are not right."""
    wrong = are_wrong(X, answers, weights, loss)
    return float(wrong.sum()) / (len(wrong) if weights is None else float(weights.sum()))


def are_wrong(
    X: np.ndarray, answers: np.ndarray, weights: np.ndarray | None, loss: EmbeddingLoss
) -> np.ndarray:
    """Return weights of answers that are not right, 0 of others; equal distances, NaN are wrong."""
    wrong = ~(answer_margins(X, answers, loss) > 0.0)
    return wrong.astype(float) if weights is None else np.where(wrong, weights, 0.0)
