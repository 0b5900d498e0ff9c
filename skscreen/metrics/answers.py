"""Measures of embeddings: against answers, and against another embedding."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import procrustes
from sklearn.utils import check_array

from skscreen.core.inputs import in_order, refuse_times, sound
from skscreen.embedding.problem.answers import (
    Answers,
    Layout,
    check_total,
    is_tensor,
    quadruplets,
    read_answers,
    read_groups,
    read_trials,
    read_weights,
    usable_answers,
)
from skscreen.embedding.problem.objective import margins
from skscreen.embedding.problem.reading.objects import given_objects
from skscreen.embedding.problem.reading.responses import check_response
from skscreen.embedding.problem.reading.table import read_table
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
    embedding: Any, X: Any, y: Any = None, sample_weight: Any = None, *, response: Any = "auto",
    pivot: Any = None, columns: Any = None,
) -> float:  # fmt: skip
    """Return the share of answers that are wrong in an embedding.

    Parameters
    ----------
    embedding : array-like of shape (n_objects, n_components)
        NaN is allowed, and counts as wrong. A frame has the objects as its index, as that of
        ``set_output(transform="pandas")``.
    X, y, sample_weight
        Answers as `skscreen.OrdinalEmbedding.fit` takes them: triplets, quadruplets or a tensor, of
        objects that are rows of `embedding`, by number, or by name in the index of a frame.
    response, pivot, columns
        What y and the columns of X hold, as for `skscreen.OrdinalEmbedding`.

    Returns
    -------
    float
        Share of wrong answers; equal distances are wrong, too.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.
    """
    _refuse_other_forms(embedding, "embedding")
    names = embedding.index.tolist() if hasattr(embedding, "loc") else None
    # NaN is a point that no answer is right for.
    refuse_times(embedding, "embedding")
    embedding = sound(embedding, "embedding", numbers=False)
    embedding = check_array(
        embedding, dtype=np.float64, order="C", ensure_all_finite=False, input_name="embedding"
    )
    layout = Layout(columns, pivot, check_response(response))
    if names is None and not is_tensor(X) and read_table(X, columns).names.dtype.kind in "UST":
        raise ValueError(
            "X names objects by strings, which do not say what their rows in an array are, as "
            "estimators sort them: pass pandas.DataFrame(embedding, index=names), names as "
            "model.objects_, or whole numbers as objects if these are rows."
        )
    objects = np.arange(len(embedding)) if names is None else given_objects(names)
    rows, weights, _ = read_answers(X, y, sample_weight, layout, objects=objects)
    check_total(weights)
    difference = margins(embedding, rows)
    # Squares that overflow, or are so small that they lose digits, are computed again, scaled.
    again = ~((np.abs(difference) > 1e-280) & (np.abs(difference) < np.inf))
    difference[again] = _scaled_margins(embedding, rows[again])
    return float(np.average(~(difference > 0.0), weights=weights))


def _refuse_other_forms(points: Any, name: str) -> None:
    """Refuse a model, points by name in a dict or a column, and say what to pass."""
    call = ""
    if hasattr(points, "embedding_"):
        call = f"pandas.DataFrame({name}.embedding_, index={name}.objects_)"
    elif isinstance(points, Mapping):
        call = f"pandas.DataFrame.from_dict({name}, orient='index')"
    if call:
        raise TypeError(f"{name} must be points, got {type(points).__name__}: pass {call}.")
    if hasattr(points, "select_dtypes"):
        for column in points.select_dtypes(exclude="number"):
            raise ValueError(
                f"{name} must hold numbers, but its column {column!r} does not. If it holds the "
                f"names of the objects, pass {name}.set_index({column!r})."
            )


def _scaled_margins(embedding: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return margins of answers, each in a unit in which no square leaves the range of floats."""
    with np.errstate(invalid="ignore", over="ignore"):
        ends = 0.5 * embedding[rows]
        near, far = ends[:, 0] - ends[:, 1], ends[:, -2 if rows.shape[1] == 4 else 0] - ends[:, -1]
        unit = np.maximum(np.abs(near).max(axis=1), np.abs(far).max(axis=1))[:, None]
        unit[(unit == 0.0) | (unit == np.inf)] = 1.0
        return ((far / unit) ** 2).sum(axis=1) - ((near / unit) ** 2).sum(axis=1)


def noise_ceiling(
    X: Any, y: Any = None, *, oddoneout: bool = False, response: Any = "auto",
    sample_weight: Any = None, groups: Any = None, odd: Any = None,
    pivot: Any = None, columns: Any = None,
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
    X, y
        Triplets or quadruplets as in `skscreen.OrdinalEmbedding.fit`, but not a tensor.
    oddoneout : bool, default=False
        Whether X and y are choices of the odd one out, as for ``loss="oddoneout"``, among any
        number of objects.
    response, odd, pivot, columns
        What y and the columns of X hold, as for `skscreen.OrdinalEmbedding`.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights >= 0 of the rows: of the answers in all sums, also where they are the other ones.
    groups : array-like of shape (n_rows,), default=None
        Participant of each row. Only questions that at least two have answered count.

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
    lead = odd if oddoneout else pivot
    # Answers that are all reversed agree as often.
    layout = Layout(columns, lead, check_response(response), bool(oddoneout), zero_is_no=True)
    return ceiling_of(read_votes(X, y, layout, sample_weight, groups))


def procrustes_distance(X: Any, Y: Any) -> float:
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
    for name, points in (("X", X), ("Y", Y)):
        _refuse_other_forms(points, name)
    Y = in_order(Y, X.index.tolist(), "Y") if hasattr(X, "loc") and hasattr(Y, "loc") else Y
    X = check_array(sound(X), dtype=np.float64, input_name="X")
    Y = check_array(sound(Y, "Y"), dtype=np.float64, input_name="Y")
    if X.shape != Y.shape:
        raise ValueError(f"X and Y must have the same shape, got {X.shape} and {Y.shape}.")
    for name, points in (("X", X), ("Y", Y)):
        if not 0.0 < np.ptp(points, axis=0).max() < np.inf:
            raise ValueError(f"{name} must have two different points, at a finite distance.")
    # Shifting and scaling do not change the result, and avoid overflow.
    X, Y = (points - points[0] for points in (X, Y))
    X, Y = (points / np.abs(points).max() for points in (X, Y))
    return float(procrustes(X - X.mean(axis=0), Y - Y.mean(axis=0))[2])


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
