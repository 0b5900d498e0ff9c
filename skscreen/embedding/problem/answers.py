"""Answers about distances: any table and its responses, read in one pass to rows of positions."""

from collections.abc import Callable
from math import isqrt
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skscreen.core.inputs import refuse_wrong_weights, same_pairs
from skscreen.embedding.problem.reading.columns import TELLING, check_columns
from skscreen.embedding.problem.reading.objects import (
    add_objects,
    are_positions,
    find_known,
    learn_objects,
    refuse_codes,
    refuse_header,
    warn_alike,
    warn_misspelt,
)
from skscreen.embedding.problem.reading.responses import read_choices
from skscreen.embedding.problem.reading.table import (
    Table,
    column_place,
    read_column,
    read_numbers,
    read_table,
    refuse_other_rows,
)
from skscreen.fitting.warning import warn_user


class Answers(NamedTuple):
    """Answers in one form."""

    # (m, 3): i is nearer to j than to k; or (m, 4): i is nearer to j than l to k; int32.
    rows: np.ndarray
    weights: np.ndarray | None  # (m,), positive numbers; None where all are one
    trials: np.ndarray  # (m,), int: the row of X that each answer is from

    def take(self, index: np.ndarray) -> "Answers":
        """Return some of the answers, by an index or a mask."""
        weights = None if self.weights is None else self.weights[index]
        # Several times as fast as rows[index], which shows in short fits.
        rows = self.rows.compress if index.dtype == bool else self.rows.take
        return Answers(rows(index, axis=0), weights, self.trials[index])

    def compact(self, n_objects: int) -> tuple["Answers", np.ndarray]:
        """Return the answers by places among the compared objects, and these objects."""
        compared = np.flatnonzero(np.bincount(self.rows.ravel(), minlength=n_objects))
        if len(compared) == n_objects:
            return self, compared
        places = np.empty(n_objects, dtype=np.int32)
        places[compared] = np.arange(len(compared))
        return self._replace(rows=places[self.rows]), compared


class Layout(NamedTuple):
    """How answers are written in a table, as users say it."""

    columns: list | None = None  # of the objects, by label or number
    # Column of the object that is compared with two others, or, of choices without y, of the chosen
    # one; None is the first.
    lead: Any = None
    response: str = "auto"  # what y holds; see `MEANINGS`
    # Whether one of all objects of a row is chosen, as the odd one out is; else one of two objects
    # is nearer to a third, or one of two pairs nearer to each other.
    choice: bool = False
    # Whether 0 in y is known to be the reverse of 1, as in files of MLDS, where 0 and 1 are also
    # the first and the second pair.
    zero_is_no: bool = False
    # Labels of the columns of the fit, if any, once there is one; an array has none of its own.
    learned: list | None = None

    @classmethod
    def of(cls, model: Any, response: str | None = None) -> "Layout":
        """Return what an estimator was told."""
        loss = getattr(model, "loss", None)
        choice = loss == "oddoneout"
        lead = model.odd if choice else model.pivot
        return cls(model.columns, lead, response or model.response, choice, loss is None)


class Trials(NamedTuple):
    """A table with its responses."""

    # In one order: (i, j, k) or (i, j, l, k) as in `Answers`; of choices the chosen one first.
    table: Table
    rows: np.ndarray  # (m,), int: the row of X that each row of the table is from
    weights: np.ndarray | None  # (m,)
    n_rows: int  # of X
    response: str  # the reading of y, "auto" where it is not known
    layout: Layout

    def named(self) -> np.ndarray:
        """Return the table with names."""
        return self.table.names[self.table.codes]


def read_trials(X: Any, y: Any, layout: Layout, *, declared: bool | None = None) -> Trials:
    """Read trials, without saying which objects there are; see `read_columns`."""
    table, y, layout = read_columns(X, y, layout, declared=declared)
    refuse_codes(table)
    return _arranged(table, y, layout)


def read_columns(
    X: Any, y: Any, layout: Layout, *, declared: bool | None
) -> tuple[Table, Any, Layout]:
    """Read columns of objects, checked if `declared` by the user or not; of a tensor all three."""
    if is_tensor(X):
        if layout.choice:
            raise ValueError("X must be a table of trials, not a tensor.")
        table, counts = _read_tensor(X)
        if y is not None:
            raise ValueError("y must be None with a tensor of answers, which holds the responses.")
        return table, counts, Layout(response="count")
    refuse_other_rows(X, y, "y")
    table = read_table(X, layout.columns, learned=layout.learned)
    refuse_header(table)
    if declared is not None and layout.columns is None:
        leads = y is None if layout.choice else table.codes.shape[1] == 3
        check_columns(table, declared=declared, lead=0 if leads else None)
    return table, y, layout


def read_answers(
    X: Any, y: Any, sample_weight: Any, layout: Layout, *, objects: np.ndarray,
    strangers: bool = False,
) -> Answers:  # fmt: skip
    """Read answers about the objects of a fit; `strangers` may be others, at n_objects."""
    table, y, layout = read_columns(X, y, layout, declared=None)
    # Few objects, or new ones, may be compared with the others in triplets.
    if table.codes.shape[1] > 3 and layout.columns is None and not is_tensor(X):
        check_columns(table, declared=True, lead=None)
    places = find_known(table, objects, strangers=strangers)
    warn_misspelt(table.names[places == len(objects)], objects)
    return _answers(_arranged(table, y, layout), places, sample_weight)


def learn_answers(
    X: Any, y: Any, sample_weight: Any, layout: Layout, objects: Any = None,
    learn: Callable[[Table, Any], np.ndarray] = learn_objects,
) -> tuple[Answers, np.ndarray, str]:  # fmt: skip
    """Read answers about objects to learn; return them, the objects, and the reading of y."""
    declared = None if learn is add_objects else objects is not None
    table, y, layout = read_columns(X, y, layout, declared=declared)
    objects = learn(table, objects)
    trials = _arranged(table, y, layout)
    return _answers(trials, find_known(table, objects), sample_weight), objects, trials.response


def _answers(trials: Trials, places: np.ndarray, sample_weight: Any) -> Answers:
    """Answers of trials by the places of their names."""
    codes = trials.table.codes
    if trials.layout.choice:
        if codes.shape[1] != 3:
            raise ValueError(
                f"X must have 3 columns with loss='oddoneout', got {codes.shape[1]}: pass columns, "
                "those of objects. Make triplets of larger trials with "
                "skscreen.preprocessing.triplets_from_oddoneout."
            )
        codes = codes[:, [1, 2, 0]]
    if not np.array_equal(places, np.arange(len(places))):
        codes = places[codes]
    weights = weights_of(sample_weight, trials, trials.n_rows)
    return Answers(codes.astype(np.int32), weights, trials.rows)


def weights_of(sample_weight: Any, trials: Any, n_rows: int) -> np.ndarray | None:
    """Return the weights of trials, which have `rows` of X and perhaps `weights` of their own."""
    weights = trials.weights
    if sample_weight is not None:
        factors = read_weights(sample_weight, n_rows)[trials.rows]
        with np.errstate(over="ignore"):
            weights = factors if weights is None else weights * factors
        check_total(weights)
    return None if weights is not None and np.all(weights == 1.0) else weights


def _arranged(table: Table, y: Any, layout: Layout) -> Trials:
    """Bring the columns of a table into one order, by its responses."""
    lead, options = _roles(table, layout, said=y is not None)
    codes, weights, response = table.codes, None, layout.response
    n_rows, width = codes.shape
    rows, chosen = np.arange(n_rows), np.array([[lead if layout.choice else options[0]]])
    if y is not None:
        choices, response = read_choices(y, table, options, response, zero_is_no=layout.zero_is_no)
        weights, chosen = choices.weights, choices.options[:, None]
        if choices.rows is not None:
            rows, codes = choices.rows, codes.take(choices.rows, axis=0)
    if layout.choice:
        # The chosen one to the front; the others stay in order.
        order = np.argsort(np.arange(width) != chosen, axis=1, kind="stable")
        codes = codes[:, order[0]] if len(order) == 1 else np.take_along_axis(codes, order, axis=1)
    else:
        right = [0, 1, 2, 3] if width == 4 else [lead, *options]
        wrong = [2, 3, 0, 1] if width == 4 else [lead, *options[::-1]]
        as_said = codes if right == sorted(right) else codes[:, right]
        codes = as_said if y is None else np.where(chosen == options[0], as_said, codes[:, wrong])
    return Trials(table._replace(codes=codes), rows, weights, n_rows, response, layout)


def _roles(table: Table, layout: Layout, *, said: bool) -> tuple[int, list[int]]:
    """Return the leading column, and those (of pairs, the first ones) between which was chosen."""
    width = table.codes.shape[1]
    if width == 1:
        _refuse_joined(table)
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
    lead = 0
    if layout.lead is not None and (width == 3 or layout.choice):
        if layout.choice and said:
            raise ValueError("odd must be None where y says which object is the odd one.")
        lead = column_place(layout.lead, table.labels, "odd" if layout.choice else "pivot")
    if layout.choice:
        return lead, list(range(width))
    return lead, [0, 2] if width == 4 else [place for place in range(3) if place != lead]


def _refuse_joined(table: Table) -> None:
    """Raise where each cell of the only column holds a whole row."""
    names = [name for name in table.names.tolist() if isinstance(name, str)]
    if names and all(name.lstrip().startswith("[") for name in names):
        raise ValueError(
            f"X has one column, in which each cell is a list, {names[0]!r}: pass "
            "[json.loads(cell) for cell in X[column]]."
        )
    # The header may be of another file.
    marks = [mark for mark in ";\t,|" if names and all(mark in name for name in names)]
    if marks:
        raise ValueError(
            f"X has one column, in which {marks[0]!r} divides the cells: read the file with "
            f"pandas.read_csv(file, sep={marks[0]!r})."
        )


def quadruplets(rows: np.ndarray) -> np.ndarray:
    """Return answers as (i, j, l, k): i is nearer to j than l to k, which is i in triplets."""
    return rows if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]]


def usable_answers(answers: Answers, *, equal: bool = False) -> Answers:
    """Leave out answers of weight zero and, with a warning, those that nothing could satisfy."""
    check_total(answers.weights)
    if answers.weights is not None:
        answers = answers.take(answers.weights > 0.0)
    rows = answers.rows
    impossible = same_pairs(rows)
    if impossible.any():
        count, total = int(np.count_nonzero(impossible)), len(rows)
        if total >= TELLING and 2 * count > total:
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
            f"with itself, as row {answers.trials[np.argmax(impossible)]} does: they are left out."
        )
        answers = answers.take(~impossible)
    # In a mean equal weights mean the same as none.
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


def read_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Read a weight >= 0 for each row of X."""
    weights = read_numbers(sample_weight, [])
    if weights is None or weights.shape != (n_rows,):
        if weights is not None:
            got = f"shape {weights.shape}"
        else:
            cells = np.asarray(sample_weight, dtype=object).ravel().tolist()
            cell = next((cell for cell in cells if not isinstance(cell, Real)), None)
            got = f"{cell!r}: convert strings, as sample_weight.astype(float) does"
        raise ValueError(f"sample_weight must be one number for each of {n_rows} rows, got {got}.")
    hint = ": leave such rows out of X and y, too, or give them weight 0"
    refuse_wrong_weights(weights, "sample_weight", hint=hint)
    return weights


def read_groups(groups: Any, n_rows: int) -> np.ndarray:
    """Return a code from 0 on for the group of each row of X, of shape (n_rows,)."""
    table = read_column(groups, n_rows, "groups", "participant")
    warn_alike(table.names, "participants")
    codes = np.unique(table.codes[:, 0], return_inverse=True)[1]
    if codes.max() == 0:
        raise ValueError("groups must name at least two participants, got one.")
    return codes


def draw_counts(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw as many groups as there are, with replacement; how often each row is drawn."""
    n_groups = int(codes.max()) + 1
    drawn = rng.integers(n_groups, size=n_groups)
    return np.bincount(drawn, minlength=n_groups)[codes]


def is_tensor(X: Any) -> bool:
    """Whether answers are a sparse tensor of counts."""
    return sparse.issparse(X) or (hasattr(X, "coords") and getattr(X, "ndim", 0) == 3)


def _read_tensor(X: Any) -> tuple[Table, np.ndarray]:
    """Rows and counts: entry (i, j, k) says how often i was nearer to j than to k, or < 0 not."""
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
