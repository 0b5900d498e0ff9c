"""What a fit, or a fitted model, is given: answers as trials."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skscreen.answers.answers import Answers, AnswersLike
from skscreen.answers.given import given_answers, places_of
from skscreen.concepts.problem.trials import Trials

# Kinds of answers that choose one of several pairs. Arrays are trials of the odd one out.
KINDS, ARRAYS = ("oddoneout", "triplets", "quadruplets"), ("oddoneout",)


class Reading(NamedTuple):
    """Answers of a fit."""

    answers: Answers  # with all weights
    trials: Trials  # by places among the compared objects
    compared: np.ndarray  # (n_compared,): places of these among all objects
    rows: np.ndarray  # (n_trials,): which rows of the answers the trials are
    n_given: int  # trials as the user counts them, to which the answers refer


def read(X: AnswersLike, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Reading:
    """Read answers to learn from; those of weight 0 and objects in no answer are left out."""
    given = given_answers(X, y, kinds=KINDS, arrays=ARRAYS, name="answers")
    answers, weights = given.answers, given.weights(sample_weight)
    kept = weights
    rows = np.arange(len(answers.rows)) if weights is None else np.flatnonzero(weights)
    if weights is not None:
        weights = weights[rows]
        weights = None if np.all(weights == 1.0) else weights
    shown = answers.rows[rows]
    is_shown = np.zeros(len(answers.objects), dtype=bool)
    is_shown[shown.ravel()] = True
    places = np.cumsum(is_shown, dtype=np.int32) - np.int32(1)
    compared = np.flatnonzero(is_shown)
    trials = Trials(places[shown], weights, answers.kind == "oddoneout", len(compared))
    return Reading(replace(answers, weights=kept), trials, compared, rows, given.n_trials)


class Asked(NamedTuple):
    """Trials that a fitted model is asked about."""

    rows: np.ndarray  # (n_rows, 3 or 4), by places among the objects of the fit
    kind: str
    weights: np.ndarray | None  # (n_rows,)


def asked(
    model: BaseEstimator, X: AnswersLike, y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Asked:  # fmt: skip
    """Return trials with the odd one last, as `y` or the answers say."""
    given = given_answers(X, y, kinds=KINDS, arrays=ARRAYS, name="answers")
    rows = places_of(given.answers, model.objects_, "answers")
    return Asked(rows, given.answers.kind, given.weights(sample_weight))


def asked_as_given(model: BaseEstimator, X: AnswersLike) -> Asked:
    """Return trials; those of an array in the order of its columns, none of which is said odd."""
    if isinstance(X, Answers):
        return asked(model, X)
    n_rows = len(X) if isinstance(X, Sized) else 0
    given = given_answers(X, np.full(n_rows, 2), kinds=KINDS, arrays=ARRAYS, name="answers")
    if len(given.answers.left_out):
        row = int(given.answers.left_out[0])
        raise ValueError(f"answers must show three different objects, but row {row} does not.")
    return Asked(places_of(given.answers, model.objects_, "answers"), "oddoneout", None)
