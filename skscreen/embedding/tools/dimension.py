"""How many dimensions answers support: cross-validated accuracy, and tests of its rises."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GroupKFold, RepeatedKFold
from sklearn.utils import check_random_state, check_scalar

from skscreen.answers.answers import Answers, AnswersLike
from skscreen.answers.given import group_codes
from skscreen.core.sklearn_private import validate_params
from skscreen.core.threads import N_JOBS
from skscreen.embedding.estimator import OrdinalEmbedding, fit_unjudged
from skscreen.embedding.fitted import given_to
from skscreen.embedding.problem.answers import counted
from skscreen.embedding.verdict import warn_misread


@dataclass(frozen=True)
class DimensionTest:
    """Result of `embedding_dimension_test`.

    Attributes
    ----------
    dimension_ : int
        The estimate: the first dimension from which the accuracy does not rise significantly to the
        next; 0 if no dimension predicts unseen answers significantly better than chance.
    dimensions_ : ndarray of shape (n_dimensions,), int
        Tested dimensions.
    scores_, train_scores_ : ndarray of shape (n_dimensions, n_folds)
        Share of the answers that agree with the embedding, for held-out and for training answers.
    p_values_ : ndarray of shape (n_dimensions - 1,)
        p-value of the rise from each dimension to the next.
    corrected_p_values_ : ndarray of shape (n_dimensions - 1,)
        p-values after Holm's correction; rises with a value of at most `alpha` are significant.
    chance_p_value_ : float
        p-value of the test that some dimension predicts unseen answers better than chance.
    alpha : float
    cv : int
        Number of folds of each repetition.
    """

    dimension_: int
    dimensions_: np.ndarray
    scores_: np.ndarray
    train_scores_: np.ndarray
    p_values_: np.ndarray
    corrected_p_values_: np.ndarray
    chance_p_value_: float
    alpha: float
    cv: int


@validate_params({"n_jobs": N_JOBS}, prefer_skip_nested_validation=False)
def embedding_dimension_test(
    X: AnswersLike, dimensions: Sequence[int] = (1, 2, 3, 4, 5), cv: int = 10, alpha: float = 0.05,
    *, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None, estimator: OrdinalEmbedding | None = None, n_repeats: int = 1,
    n_jobs: int | None = None, random_state: int | np.random.RandomState | None = None,
) -> DimensionTest:  # fmt: skip
    """Test how many dimensions answers about distances support.

    The accuracy on unseen answers is estimated by cross-validation for each dimension. A one-sided
    t-test then tells whether the mean rise of the accuracy from each dimension to the next is
    significant; its variance is corrected for overlapping training sets, and its p-value for
    multiple tests by Holm's method. The estimate is the first dimension whose rise to the next is
    not significant. The estimate is 0 if the same test does not tell the accuracy of any dimension
    from chance, which is 1/2, or 1/3 for choices of the odd one out.

    Parameters
    ----------
    X, y, sample_weight
        Answers as `OrdinalEmbedding.fit` takes them.
    groups : array-like of shape (n_trials,), default=None
        Participant of each trial, such as ``answers.groups``. Folds then are of whole participants:
        how well answers of new people are predicted. None makes folds of single trials.
    dimensions : sequence of int, default=(1, 2, 3, 4, 5)
        Dimensions to test, at least two, ascending. They should go beyond the expected dimension:
        if every rise is significant, the last one is returned. Each additional dimension reduces
        the power of the tests.
    cv : int, default=10
        Number of folds, >= 2.
    alpha : float, default=0.05
        Significance level of all tests together, in (0, 1): about the probability of too large a
        dimension.
    estimator : OrdinalEmbedding, default=None
        Estimator with the loss, ridge and solver; None takes the defaults. Its `n_components`,
        `random_state` and `verbose` are not used.
    n_repeats : int, default=1
        Number of repetitions of the cross-validation. More repetitions take more time, and make the
        result depend less on `random_state`.
    n_jobs : int or None, default=None
        Number of threads for the folds.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the starts.

    Returns
    -------
    DimensionTest
        See `skscreen.inspection.DimensionTestDisplay` for a figure.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.

    Notes
    -----
    The test fits cv x n_repeats x len(dimensions) embeddings, each from a new random start, as the
    points of fewer dimensions lead to worse optima.

    Answers to the same question by the same person should not be in different folds: pass the
    person as `groups`, or each question once, with its number of answers as `sample_weight`.

    References
    ----------
    D.-E. Kuenstle, U. von Luxburg, F. A. Wichmann (2022). Estimating the perceived dimension of
    psychophysical stimuli using triplet accuracy and hypothesis testing. Journal of Vision 22, 5.

    C. Nadeau, Y. Bengio (2003). Inference for the generalization error. Machine Learning 52,
    239-281. Section 3, "corrected resampled t-test".

    Examples
    --------
    >>> import numpy as np
    >>> from skscreen import embedding_dimension_test
    >>> from skscreen.datasets import make_triplets
    >>> points = np.random.default_rng(0).normal(size=(30, 2))
    >>> answers = make_triplets(points, 2000, noise=0.1, random_state=0)
    >>> embedding_dimension_test(answers, [1, 2, 3], random_state=0).dimension_
    2
    """
    tested = _checked_dimensions(dimensions)
    model = OrdinalEmbedding() if estimator is None else estimator
    if not isinstance(model, OrdinalEmbedding):
        raise TypeError(f"estimator must be an OrdinalEmbedding, got {model!r}.")
    cv = check_scalar(cv, "cv", Integral, min_val=2)
    n_repeats = check_scalar(n_repeats, "n_repeats", Integral, min_val=1, max_val=10**6)
    alpha = check_scalar(
        alpha, "alpha", Real, min_val=0.0, max_val=1.0, include_boundaries="neither"
    )
    given = given_to(model, X, y)
    answers = counted(given, sample_weight)
    trials = np.unique(answers.trials)
    if len(trials) < cv:
        raise ValueError(f"cv must be at most the number of answers, {len(trials)}, got {cv}.")
    codes = None if groups is None else group_codes(groups, given.n_trials, trials)
    rng = check_random_state(random_state)
    folds = _folds(len(trials), codes, cv, n_repeats, rng)
    answers = answers[trials]
    model = clone(model).set_params(verbose=0)
    tasks = (
        delayed(_score_fold)(model, answers, tested, *fold, rng.randint(2**31 - 1))
        for fold in folds
    )
    # Axes: folds, dimensions, training and test.
    scores = np.array(Parallel(n_jobs, require="sharedmem")(tasks))
    _warn_misread(model, answers, int(tested[scores[:, :, 1].mean(axis=0).argmax()]))
    p_values = _rise_p_values(scores[:, :, 1], 1.0 / (cv - 1))
    corrected = _holm(p_values)
    flat = np.flatnonzero(corrected > alpha)
    chance = 1.0 / 3.0 if model.loss == "oddoneout" else 0.5
    by_chance = _chance_p_value(scores[:, :, 1], chance, 1.0 / (cv - 1))
    estimate = int(tested[flat[0] if flat.size else -1])
    return DimensionTest(
        dimension_=estimate if by_chance <= alpha else 0,
        dimensions_=tested,
        scores_=scores[:, :, 1].T.copy(),
        train_scores_=scores[:, :, 0].T.copy(),
        p_values_=p_values,
        corrected_p_values_=corrected,
        chance_p_value_=by_chance,
        alpha=float(alpha),
        cv=int(cv),
    )


def _checked_dimensions(dimensions: Iterable[int]) -> np.ndarray:
    try:
        values = [check_scalar(value, "dimensions", Integral, min_val=1) for value in dimensions]
    except (TypeError, ValueError):
        values = []
    if len(values) < 2 or np.any(np.diff(values) <= 0):
        raise ValueError(
            "dimensions must be at least two ascending whole numbers >= 1, as [1, 2, 3], got "
            f"{reprlib.repr(dimensions)}."
        )
    return np.array(values)


def _folds(
    n_trials: int, codes: np.ndarray | None, cv: int, n_repeats: int, rng: np.random.Generator
) -> list:
    """Trials to fit and to test, single ones or those of whole groups."""
    if codes is None:
        folds = RepeatedKFold(n_splits=cv, n_repeats=n_repeats, random_state=rng)
        return list(folds.split(np.arange(n_trials)))
    n_groups = len(np.unique(codes))
    if n_groups < cv:
        raise ValueError(
            f"cv must be at most the number of participants in groups, {n_groups}, got {cv}."
        )
    return [
        fold
        for _ in range(n_repeats)
        for fold in GroupKFold(cv, shuffle=True, random_state=rng).split(codes, groups=codes)
    ]


def _score_fold(
    model: BaseEstimator, answers: Answers, dimensions: np.ndarray, train: np.ndarray,
    test: np.ndarray, seed: int,
) -> list:  # fmt: skip
    """Score each dimension on the answers of the fit and on those of the fold."""
    parts, scores = [answers[train], answers[test]], []
    for n_components in dimensions:
        fold = clone(model).set_params(n_components=int(n_components), random_state=seed)
        fit_unjudged(fold, parts[0])
        scores.append([fold.score(part) for part in parts])
    return scores


def _warn_misread(model: BaseEstimator, answers: Answers, n_components: int) -> None:
    """Warn where a map of all answers says that they are misread."""
    whole = clone(model).set_params(n_components=n_components, random_state=0)
    warn_misread(fit_unjudged(whole, answers))


def _rise_p_values(scores: np.ndarray, test_share: float) -> np.ndarray:
    """One-sided tests that scores, (n_folds, n_dimensions), rise with the dimension."""
    rises = np.diff(scores, axis=1)
    n_folds = len(rises)
    mean = rises.mean(axis=0)
    # The variance of the mean by Nadeau and Bengio: test_share is n_test / n_train.
    error = rises.std(axis=0, ddof=1) * math.sqrt(1.0 / n_folds + test_share)
    # If all rises are equal the result is certain: t is infinite.
    t = np.where(mean > 0.0, np.inf, -np.inf)
    np.divide(mean, error, out=t, where=error > 0.0)
    return stats.t.sf(t, n_folds - 1)


def _chance_p_value(scores: np.ndarray, chance: float, test_share: float) -> float:
    """Test that any of the scores, of shape (n_folds, n_dimensions), is above chance."""
    p_values = [
        _rise_p_values(np.stack([np.full(len(scores), chance), one], axis=1), test_share)[0]
        for one in scores.T
    ]
    return float(_holm(np.array(p_values)).min())


def _holm(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values for their number by Holm's step-down method."""
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
