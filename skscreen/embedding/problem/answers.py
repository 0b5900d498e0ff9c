"""Answers about distances: any table and its responses, read in one pass to rows of positions."""

from collections.abc import Callable
from math import isqrt
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skscreen.core.inputs import same_pairs
from skscreen.embedding.problem.columns import check_columns
from skscreen.embedding.problem.objects import are_positions, find_known, refuse_codes
from skscreen.embedding.problem.responses import read_choices
from skscreen.embedding.problem.table import Table, column_place, read_numbers, read_table
from skscreen.fitting.warning import warn_user

# Fewer rows than this may look like features by chance.
_LEAST_FEATURES = 20


class Answers(NamedTuple):
    """Answers in one form.

    Parameters
    ----------
    rows : ndarray of shape (m, 3) or (m, 4), int32
        (i, j, k): i is nearer to j than to k; (i, j, l, k): i is nearer to j than l to k.
    weights : ndarray of shape (m,), or None
        Positive numbers; None where all are one.
    trials : ndarray of shape (m,), int
        The row of X that each answer is from.
    """

    rows: np.ndarray
    weights: np.ndarray | None
    trials: np.ndarray

    def take(self, index: np.ndarray) -> "Answers":
        """Return some of the answers, by an index or a mask."""
        weights = None if self.weights is None else self.weights[index]
        return Answers(self.rows[index], weights, self.trials[index])

    def compact(self, n_objects: int) -> tuple["Answers", np.ndarray]:
        """Return the answers by places among the compared objects, and these objects."""
        compared = np.flatnonzero(np.bincount(self.rows.ravel(), minlength=n_objects))
        if len(compared) == n_objects:
            return self, compared
        places = np.empty(n_objects, dtype=np.int32)
        places[compared] = np.arange(len(compared))
        return self._replace(rows=places[self.rows]), compared


class Layout(NamedTuple):
    """How answers are written in a table, as users say it.

    `columns` list or None: columns of the objects, by label or number; `lead` label, int or None:
    column of the object that is compared with two others, or, of choices without y, of the chosen
    one; None is the first; `response`: what y holds; see `MEANINGS`; `choice`: whether one of all
    objects of a row is chosen, as the odd one out is; else one of two is nearer to a third, or one
    of two pairs nearer to each other.
    """

    columns: list | None = None
    lead: object = None
    response: str = "auto"
    choice: bool = False

    @classmethod
    def of(cls, model, response: str | None = None) -> "Layout":
        """Return what an estimator was told."""
        choice = getattr(model, "loss", None) == "oddoneout"
        lead = model.odd if choice else model.pivot
        return cls(model.columns, lead, response or model.response, choice)


AS_IT_IS = Layout()


class Trials(NamedTuple):
    """A table with its responses.

    `table`: columns in one order: (i, j, k) or (i, j, l, k) as in `Answers`; of choices the chosen
    one first, and the others in their order; `rows` (m,), int: the row of X that each row of the
    table is from; `weights` (m,), or None; `n_rows`: of X; `response`: the reading of y, "auto"
    where it is not known.
    """

    table: Table
    rows: np.ndarray
    weights: np.ndarray | None
    n_rows: int
    response: str
    layout: Layout

    def named(self) -> np.ndarray:
        """Return the table with names."""
        return self.table.names[self.table.codes]


def read_trials(X, y=None, layout: Layout = AS_IT_IS, *, declared: bool | None = None) -> Trials:
    """Read trials, without saying which objects there are; see `read_columns`."""
    table, y, layout = read_columns(X, y, layout, declared=declared)
    refuse_codes(table)
    return _arranged(table, y, layout)


def read_columns(X, y, layout: Layout, *, declared: bool | None) -> tuple[Table, object, Layout]:
    """Read the columns of objects, and y and the layout where X is a tensor.

    `X` (n_rows, n_columns), or a sparse tensor of shape (n, n, n): A tensor holds numbers of
    answers: entry (i, j, k) > 0 says how often i was nearer to j than to k, < 0 how often it was
    not. Also as a SciPy matrix of shape (n, n^2) or (n^2, n); `y` array-like or None: responses;
    `declared` bool or None: whether objects are declared, for the check of columns; None leaves the
    check out.
    """
    if is_tensor(X):
        if layout.choice:
            raise ValueError("X must be a table of trials, not a tensor.")
        table, counts = _read_tensor(X)
        if y is not None:
            raise ValueError("y must be None with a tensor of answers, which holds the responses.")
        return table, counts, Layout(response="count")
    table = read_table(X, layout.columns)
    if declared is not None and layout.columns is None:
        leads = y is None if layout.choice else table.codes.shape[1] == 3
        lead = 0 if leads else None
        check_columns(table, declared=declared, lead=lead)
    return table, y, layout


def read_answers(
    X, y=None, sample_weight=None, layout: Layout = AS_IT_IS, *, objects: np.ndarray,
    strangers: bool = False,
) -> Answers:  # fmt: skip
    """Read answers about the objects of a fit; `strangers` may be others, at n_objects."""
    table, y, layout = read_columns(X, y, layout, declared=None)
    # Few objects, or new ones, may be compared with the others in triplets.
    if table.codes.shape[1] > 3 and layout.columns is None and not is_tensor(X):
        check_columns(table, declared=True, lead=None)
    places = find_known(table, objects, strangers=strangers)
    return _answers(_arranged(table, y, layout), places, sample_weight)


def learn_answers(
    X,
    y,
    sample_weight,
    layout: Layout,
    learn: Callable[[Table], np.ndarray],
    *,
    declared: bool | None = None,
) -> tuple[Answers, np.ndarray, str]:
    """Read answers that tell the objects; return them, the objects, and the reading of y.

    `X, y, sample_weight, layout, declared`: see `read_columns`; weights are numbers >= 0, of the
    rows of X; `learn`: returns the objects of a table.
    """
    table, y, layout = read_columns(X, y, layout, declared=declared)
    objects = learn(table)
    trials = _arranged(table, y, layout)
    return _answers(trials, find_known(table, objects), sample_weight), objects, trials.response


def _answers(trials: Trials, places: np.ndarray, sample_weight) -> Answers:
    codes = trials.table.codes
    if trials.layout.choice:
        if codes.shape[1] != 3:
            raise ValueError(
                f"X must have 3 columns with loss='oddoneout', got {codes.shape[1]}: pass columns, "
                "those of objects. Make triplets of larger trials with "
                "skscreen.preprocessing.triplets_from_oddoneout."
            )
        codes = codes[:, [1, 2, 0]]
    weights = weights_of(sample_weight, trials, trials.n_rows)
    if np.array_equal(places, np.arange(len(places))):
        return Answers(codes.astype(np.int32), weights, trials.rows)
    return Answers(places.astype(np.int32)[codes], weights, trials.rows)


def weights_of(sample_weight, trials, n_rows: int) -> np.ndarray | None:
    """Return the weights of trials, which have `rows` of X and perhaps `weights` of their own."""
    weights = trials.weights
    if sample_weight is not None:
        factors = read_weights(sample_weight, n_rows)[trials.rows]
        with np.errstate(over="ignore"):
            weights = factors if weights is None else weights * factors
        check_total(weights)
    return None if weights is not None and np.all(weights == 1.0) else weights


def _arranged(table: Table, y, layout: Layout) -> Trials:
    """Bring the columns of a table into one order, by its responses."""
    lead, options = _roles(table, layout, said=y is not None)
    n_rows, weights, response = len(table.codes), None, layout.response
    rows = np.arange(n_rows)
    chosen = lead if layout.choice else options[0]
    if y is not None:
        choices, response = read_choices(y, table, options, response)
        weights, chosen = choices.weights, choices.options[:, None]
        if choices.rows is not None:
            rows = choices.rows
            table = table._replace(codes=table.codes.take(rows, axis=0))
    codes = table.codes
    if layout.choice:
        codes = _chosen_first(codes, chosen)
    else:
        right = [0, 1, 2, 3] if codes.shape[1] == 4 else [lead, *options]
        wrong = [2, 3, 0, 1] if codes.shape[1] == 4 else [lead, *options[::-1]]
        turned = None if y is None else chosen != options[0]
        codes = codes if right == sorted(right) else codes[:, right]
        codes = codes if turned is None else np.where(turned, table.codes[:, wrong], codes)
    return Trials(table._replace(codes=codes), rows, weights, n_rows, response, layout)


def _roles(table: Table, layout: Layout, *, said: bool) -> tuple[int, list[int]]:
    """Return the leading column, and the columns between which was chosen.

    Of quadruplets these are the first columns of both pairs. `said` says if y tells the choice.
    """
    width = table.codes.shape[1]
    if layout.choice and width < 3:
        raise ValueError(
            "X must have a row for each trial, of at least 3 objects, got shape "
            f"{table.codes.shape}."
        )
    if not layout.choice and width not in (3, 4):
        ratings = " Ratings of pairs go to skscreen.preprocessing.triplets_from_ratings."
        raise ValueError(
            "X must have 3 columns (triplets i, j, k) or 4 (quadruplets i, j, l, k), got "
            f"{width} feature(s), shape {table.codes.shape}; pass columns, those of objects."
            f"{ratings if width == 2 else ''}"
        )
    if layout.lead is None or (width == 4 and not layout.choice):
        lead = 0
    else:
        if layout.choice and said:
            raise ValueError("odd must be None where y says which object is the odd one.")
        lead = column_place(layout.lead, table.labels, "odd" if layout.choice else "pivot")
    if layout.choice:
        return lead, list(range(width))
    return lead, [0, 2] if width == 4 else [place for place in range(3) if place != lead]


def _chosen_first(codes: np.ndarray, column) -> np.ndarray:
    """Move a column, one for all rows or one for each, to the front; the others stay in order."""
    others = np.arange(codes.shape[1]) != column
    order = np.argsort(others, axis=-1, kind="stable")
    return codes[:, order] if order.ndim == 1 else np.take_along_axis(codes, order, axis=1)


def usable_answers(answers: Answers, *, equal: bool = False) -> Answers:
    """Leave out answers of weight zero and, with a warning, those that nothing could satisfy.

    Weights that are all equal become None, which means the same in a mean, unless `equal` keeps
    them.
    """
    check_total(answers.weights)
    if answers.weights is not None:
        answers = answers.take(answers.weights > 0.0)
    rows = answers.rows
    impossible = same_pairs(rows)
    if impossible.any():
        count, total = int(np.count_nonzero(impossible)), len(rows)
        if total >= _LEAST_FEATURES and 2 * count > total:
            raise ValueError(
                f"X must hold comparisons, got what seems to be {total} samples with "
                f"{rows.shape[1]} features: most rows name an object twice. To embed samples "
                "compare them first, OrdinalEmbedding().fit(make_triplets(X)); to learn a metric "
                "from labels use ScreenedRTLM().fit(X, y)."
            )
        if count == total:
            raise ValueError(
                "X must compare the distances of two different pairs of different objects; none "
                f"of its {total} rows does, the first is {rows[0].tolist()}."
            )
        warn_user(
            f"{count} of {total} answers in X compare a pair of objects with itself, or an object "
            f"with itself, as row {answers.trials[np.argmax(impossible)]} does: they are left out.",
        )
        answers = answers.take(~impossible)
    if not equal and answers.weights is not None and np.ptp(answers.weights) == 0.0:
        return answers._replace(weights=None)
    return answers


def warn_uncompared(compared: np.ndarray, objects: np.ndarray) -> None:
    """Warn about objects that are not among the compared ones, but not where numbers begin at 1."""
    count = len(objects) - len(compared)
    # The point of a number is in the row of that number, wherever the numbers begin.
    if count == 0 or (count == 1 and compared[0] == 1 and are_positions(objects)):
        return
    first = np.setdiff1d(np.arange(len(objects)), compared)[0]
    warn_user(
        f"{count} of {len(objects)} objects are in no answer of X that counts, the first is "
        f"{objects[first]!s}: they are placed at the origin. Pass objects, their number or names, "
        "if this is intended; objects=numpy.unique(X) if the numbers in X are names."
    )


def check_total(weights: np.ndarray | None) -> None:
    """Refuse weights that make no mean."""
    if weights is not None and not weights.any():
        raise ValueError("sample_weight must not be zero for all answers.")
    if weights is not None and not weights.sum() < np.inf:
        raise ValueError("sample_weight, or counts in y, must have a finite sum.")


def read_weights(sample_weight, n_rows: int) -> np.ndarray:
    """Read a weight >= 0 for each row of X."""
    weights = read_numbers(sample_weight, [])
    if weights is None or weights.shape != (n_rows,):
        got = "something else" if weights is None else f"shape {weights.shape}"
        raise ValueError(f"sample_weight must be one number for each of {n_rows} rows, got {got}.")
    # Written such that NaN is out of range.
    if not np.all((weights >= 0.0) & (weights < np.inf)):
        raise ValueError("sample_weight must be finite numbers >= 0.")
    return weights


def is_tensor(X) -> bool:
    """Whether answers are a sparse tensor of counts."""
    return sparse.issparse(X) or (hasattr(X, "coords") and getattr(X, "ndim", 0) == 3)


def _read_tensor(X) -> tuple[Table, np.ndarray]:
    """Rows and counts of a sparse tensor."""
    shape = X.shape
    n = shape[0] if len(shape) == 3 else min(shape)
    if shape not in ((n, n, n), (n, n * n), (n * n, n)):
        side = isqrt(max(shape))
        raise ValueError(
            "X, if sparse, must be a tensor (n, n, n) or a matrix (n, n^2) or (n^2, n), got "
            f"shape {shape}. Its first axis are objects, not answers (there seem to be {side}): to "
            "split answers, as cross-validation does, make them a list of triplets first."
        )
    matrix = X if len(shape) == 3 else sparse.coo_array(X)
    axes = [np.asarray(axis, dtype=np.int64) for axis in matrix.coords]
    flat = np.ravel_multi_index(axes, shape)
    # Duplicate entries are summed, as everywhere in SciPy.
    flat, place = np.unique(flat, return_inverse=True)
    counts = np.bincount(place, np.asarray(matrix.data, dtype=np.float64), len(flat))
    rows = np.stack(np.unravel_index(flat, (n, n, n)), axis=1)
    rows, counts = rows[counts != 0], counts[counts != 0]
    if len(rows) == 0:
        raise ValueError("X must hold at least one answer, got an empty tensor.")
    return read_table(rows), counts
