"""What an estimator is given: answers, or an array in one strict form."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from skscreen.answers.answers import OPPOSITE, Answers, AnswersLike
from skscreen.answers.cells import numbered
from skscreen.answers.read import read_answers
from skscreen.answers.table import frame_of
from skscreen.core.checks import check_samples, check_weights, refuse_masked

# The odd one to the end, by its place.
_ODD_LAST = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])


class Given(NamedTuple):
    """Answers, and the number of trials that the user counts."""

    # Their `trials` are rows of an array, if one was given.
    answers: Answers
    n_trials: int

    def weights(self, sample_weight: ArrayLike | None) -> np.ndarray | None:
        """Return the weights of rows times those of trials; None where all are one."""
        weights = self.answers.weights
        if sample_weight is not None:
            given = check_weights(sample_weight, self.n_trials)[self.answers.trials]
            with np.errstate(over="ignore"):
                weights = given if weights is None else weights * given
        if weights is not None and not weights.any():
            raise ValueError("sample_weight must not be zero for all answers.")
        if weights is not None and not weights.sum() < np.inf:
            raise ValueError("sample_weight, and weights of answers, must have a finite sum.")
        return weights

    def least(self, values: np.ndarray) -> np.ndarray:
        """Return the least of some whole numbers of the rows for each trial, 0 without a row."""
        trials = self.answers.trials
        first = np.flatnonzero(np.diff(trials, prepend=-1))
        found = np.zeros(self.n_trials, dtype=np.int64)
        found[trials[first]] = np.minimum.reduceat(values, first)
        return found


def given_answers(
    X: AnswersLike, y: ArrayLike | None = None, *, kinds: tuple[str, ...],
    arrays: tuple[str, ...] | None = None, name: str = "X", instead: str = "",
) -> Given:  # fmt: skip
    """Return answers of one of `kinds`; arrays may be of one of `arrays`, by default of `kinds`."""
    # `instead` says what takes odd ones out where only triplets are taken, followed by ", or ".
    if isinstance(X, Answers):
        if y is not None:
            raise ValueError("y must be None with Answers, which say what was answered.")
        if X.kind not in kinds:
            more = ""
            if X.kind == "oddoneout" and "triplets" in kinds:
                more = f": {instead}preprocessing.triplets_from_oddoneout makes triplets of them"
            raise ValueError(
                f"{name} must be answers of kind {' or '.join(kinds)}, got {X.kind}{more}."
            )
        if not len(X.rows):
            raise ValueError(f"{name} must have at least one answer.")
        return Given(X, len(X))
    rows = _rows(X, name)
    widths = {4 if kind == "quadruplets" else 3: kind for kind in arrays or kinds}
    if rows.shape[1] not in widths:
        raise ValueError(
            f"{name} must have {' or '.join(map(str, widths))} columns of objects, "
            f"{' or '.join(widths.values())}, got {rows.shape[1]} feature(s), shape {rows.shape}."
        )
    kind = widths[rows.shape[1]]
    if kind == "oddoneout":
        rows = np.take_along_axis(rows, _ODD_LAST[_places(y, len(rows))], axis=1)
    elif y is not None:
        rows = np.where(_signs(y, len(rows))[:, None], rows, rows[:, OPPOSITE[kind]])
    answers = read_answers(rows, kind=kind, chosen=2 if kind == "oddoneout" else None)
    if len(answers.left_out):
        kept = np.setdiff1d(np.arange(len(rows)), answers.left_out)
        answers = replace(answers, trials=kept[answers.trials])
    return Given(answers, len(rows))


def places_of(
    answers: Answers, objects: np.ndarray, name: str = "X", *, strangers: bool = False
) -> np.ndarray:
    """Return the rows of answers by places in other objects, which are matched by name."""
    # With `strangers` unknown objects, but not all, are at -1.
    if answers.objects is objects or (
        answers.objects.dtype == objects.dtype and np.array_equal(answers.objects, objects)
    ):
        return answers.rows
    place = {known: k for k, known in enumerate(objects.tolist())}
    table = np.array([place.get(known, -1) for known in answers.objects.tolist()], dtype=np.int32)
    rows = table[answers.rows]
    unknown = rows < 0
    if unknown.any() and not (strangers and not unknown.all()):
        row, k = np.argwhere(unknown)[0]
        raise ValueError(
            f"{name} has the object {answers.objects.tolist()[answers.rows[row, k]]!r} in trial "
            f"{answers.trials[row]}, which is none of the {len(objects)} that are known."
        )
    return rows


def group_codes(groups: ArrayLike, n_trials: int, trials: np.ndarray) -> np.ndarray:
    """Return the number of the group of each row, from 0 on; `trials` are those of the rows."""
    values = np.asarray(groups)
    if values.shape != (n_trials,):
        raise ValueError(
            f"groups must have an entry for each of {n_trials} trials, got shape {values.shape}."
        )
    codes = numbered(values[trials])[1]
    if codes.max() == 0:
        raise ValueError("groups must name at least two participants, got one.")
    return codes


def _rows(X: AnswersLike, name: str) -> np.ndarray:
    """Return the rows of an array of names."""
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "iu" and X.size:
        return X
    if frame_of(X) is not None:
        raise TypeError(
            f"{name} must be Answers or an array, got a frame: read_answers reads the columns that "
            "it is told."
        )
    return check_samples(X, name, dtype=None)


def _signs(y: ArrayLike | None, n_rows: int) -> np.ndarray:
    """Return whether each answer is as its row says."""
    values = _one_each(y, n_rows)
    if values.dtype.kind == "b":
        return values
    wrong = ~np.isin(values, (1, -1)) if values.dtype.kind in "iuf" else np.ones(n_rows, dtype=bool)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"y must be booleans, or 1 and -1, got {values[row]!r} in row {row}. Unknown label "
            "type: read_answers reads other codes."
        )
    return values > 0


def _places(y: ArrayLike | None, n_rows: int) -> np.ndarray:
    """Return the place of the odd one in each row."""
    if y is None:
        raise ValueError("y must say which column of X holds the odd one, 0, 1 or 2, got None.")
    values = _one_each(y, n_rows)
    whole = values.dtype.kind in "iuf"
    wrong = ~np.isin(values, (0, 1, 2)) if whole else np.ones(n_rows, dtype=bool)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"y must be the place of the odd one, got {values[row]!r} in row {row}.")
    return values.astype(np.int64)


def _one_each(y: ArrayLike | None, n_rows: int) -> np.ndarray:
    refuse_masked(y, "y")
    values = column_or_1d(y, warn=True)
    if len(values) != n_rows:
        raise ValueError(
            f"y must have a value for each of the {n_rows} rows of X, got {len(values)}."
        )
    return values
