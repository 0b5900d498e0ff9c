"""Answers about distances: reading of all formats, and checks."""

from math import isqrt
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, column_or_1d

from skscreen.core.inputs import as_floats, same_pairs
from skscreen.core.memory import check_memory
from skscreen.embedding.problem.names import is_tensor, learn_objects, positions
from skscreen.fitting.warning import warn_user

# With more objects per entry than this, integers are taken for identifiers, not for indices.
_OBJECTS_PER_ENTRY = 100
_MOST_OBJECTS = 2**31 - 1
# Fewer rows than this may look like features by chance.
_LEAST_FEATURES = 20
_COMPARE_FIRST = "To embed samples compare them first, OrdinalEmbedding().fit(make_triplets(X))"


class Answers(NamedTuple):
    """Answers in one form.

    Parameters
    ----------
    rows : ndarray of shape (m, 3) or (m, 4), int32
        (i, j, k): i is nearer to j than to k; (i, j, l, k): i is nearer to j than l to k.
    weights : ndarray of shape (m,), or None
        Positive numbers; None where all are one.
    """

    rows: np.ndarray
    weights: np.ndarray | None

    def take(self, index: np.ndarray) -> "Answers":
        """Return some of the answers, by an index or a mask."""
        return Answers(self.rows[index], None if self.weights is None else self.weights[index])


def read_answers(X, y=None, sample_weight=None) -> Answers:
    """Read answers as `OrdinalEmbedding.fit` takes them; objects may be any integers >= 0.

    Parameters
    ----------
    X : array-like of shape (m, 3) or (m, 4), or a sparse tensor of shape (n, n, n)
        A tensor holds numbers of answers: entry (i, j, k) > 0 says how often i was nearer to j
        than to k, < 0 how often it was not. Also as a SciPy matrix of shape (n, n^2) or (n^2, n).
    y : array-like of shape (m,), optional
        Responses: booleans, {-1, 1} or {0, 1}; or counts, whose sign is the response.
    sample_weight : array-like of shape (m,), optional
        Numbers >= 0.

    Returns
    -------
    Answers
        Of all rows, with weights of zero too.
    """
    if is_tensor(X):
        rows, counts = _read_tensor(X)
        if y is not None:
            raise ValueError("y must be None with a tensor of answers, which holds the responses.")
        right, weights = counts > 0, np.abs(counts).astype(np.float64)
    else:
        rows = _read_rows(X)
        right, weights = _read_responses(y, len(rows))
    if not right.all():
        # Reversed answers: the pair said to be nearer is the far pair.
        flipped = [0, 2, 1] if rows.shape[1] == 3 else [2, 3, 0, 1]
        rows = np.where(right[:, None], rows, rows[:, flipped])
    if sample_weight is not None:
        factors = _read_weights(sample_weight, len(rows))
        with np.errstate(over="ignore"):
            weights = factors if weights is None else weights * factors
        check_total(weights)
    if weights is not None and np.all(weights == 1.0):
        weights = None
    return Answers(np.ascontiguousarray(rows), weights)


def read_named_answers(
    X, y, sample_weight, objects, n_objects: int | None
) -> tuple[Answers, np.ndarray]:
    """Read answers that may name objects; return them by positions, and the objects.

    Parameters
    ----------
    X, y, sample_weight
        See `read_answers`.
    objects : array-like of shape (n_objects,), or None
    n_objects : int or None
    """
    objects = learn_objects(X, objects, n_objects)
    rows = X if objects is None else positions(X, objects, known=True)
    answers = read_answers(rows, y, sample_weight)
    if objects is None:
        n = count_objects(answers.rows, n_objects)
        check_memory(8.0 * n, f"{n:,} objects", "Use a smaller n_objects.")
        objects = np.arange(n)
    else:
        check_listed(answers.rows, objects)
    return answers, objects


def check_listed(rows: np.ndarray, objects: np.ndarray) -> None:
    """Refuse positions beyond the objects, which names 0, 1, 2, ... make possible."""
    if rows.max() >= len(objects):
        raise ValueError(
            f"X names an object {rows.max()} that is not in objects, which has {len(objects)}."
        )


def usable_answers(answers: Answers, *, equal: bool = False, are_objects: bool = False) -> Answers:
    """Leave out answers of weight zero and, with a warning, those that nothing could satisfy.

    Weights that are all equal become None, which means the same in a mean, unless `equal` keeps
    them. `are_objects` says that columns without common values are objects for sure.
    """
    check_total(answers.weights)
    if answers.weights is not None:
        answers = answers.take(answers.weights > 0.0)
    rows = answers.rows
    impossible = same_pairs(rows)
    _refuse_choices(rows)
    _refuse_features(rows, impossible)
    if not are_objects:
        _warn_apart(rows)
    if impossible.any():
        count, total = int(np.count_nonzero(impossible)), len(rows)
        if count == total:
            raise ValueError(
                "X must compare the distances of two different pairs of different objects; none "
                f"of its {total} rows does, the first is {rows[0].tolist()}."
            )
        warn_user(
            f"{count} of {total} answers in X compare a pair of objects with itself, or an object "
            f"with itself, as {rows[np.argmax(impossible)].tolist()} does: they are left out.",
        )
        answers = answers.take(~impossible)
    if not equal and answers.weights is not None and np.ptp(answers.weights) == 0.0:
        return Answers(answers.rows, None)
    return answers


def _refuse_choices(rows: np.ndarray) -> None:
    """Raise where rows are three objects and which of them was chosen, not two pairs."""
    if rows.shape[1] < 4 or len(rows) < _LEAST_FEATURES:
        return
    chosen = rows[:, :3] == rows[:, 3:]
    # In quadruplets the third and the fourth object differ.
    if (chosen.sum(axis=1) == 1).all() and chosen.any(axis=0).all():
        raise ValueError(
            "X must hold comparisons of two pairs in 4 columns; here the fourth object is one of "
            "the three before in every row, as the odd one out of them is. Pass it as y: "
            "OrdinalEmbedding(loss='oddoneout').fit(X[:, :3], X[:, 3])."
        )


def _refuse_features(rows: np.ndarray, impossible: np.ndarray) -> None:
    """Raise where most rows name an object twice, as features that are whole numbers do."""
    if len(rows) >= _LEAST_FEATURES and 2 * np.count_nonzero(impossible) > len(rows):
        raise ValueError(
            f"X must hold comparisons, got what seems to be {len(rows)} samples with "
            f"{rows.shape[1]} features: most rows name an object twice. {_COMPARE_FIRST}; to learn "
            "a metric from labels use ScreenedRTLM().fit(X, y)."
        )


def _warn_apart(rows: np.ndarray) -> None:
    """Warn where values come again and again, but never in another column, as features do.

    So do comparisons of the objects of a group with those of two others.
    """
    if len(rows) < _LEAST_FEATURES:
        return
    # The first rows tell most answers from features.
    if not (_are_apart(rows[:_LEAST_FEATURES]) and _are_apart(rows)):
        return
    # The same question asked again and again tells nothing.
    distinct = np.unique(rows, axis=0)
    n_values = sum(len(np.unique(column)) for column in distinct.T)
    if len(distinct) >= _LEAST_FEATURES and n_values < len(distinct):
        warn_user(
            f"No two columns of X have values in common, as is usual for {rows.shape[1]} features "
            "of samples: they are taken as comparisons of objects. If they are, pass n_objects or "
            f"objects. {_COMPARE_FIRST}."
        )


def _are_apart(rows: np.ndarray) -> bool:
    """Whether the ranges of the columns have nothing in common."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    order = np.argsort(low)
    return bool(np.all(high[order][:-1] < low[order][1:]))


def warn_uncompared(rows: np.ndarray, objects: np.ndarray) -> None:
    """Warn about objects that are in no answer."""
    compared = np.zeros(len(objects), dtype=bool)
    compared[rows] = True
    count = int(np.count_nonzero(~compared))
    if count:
        warn_user(
            f"{count} of {len(objects)} objects are in no answer of X that counts, the first is "
            f"{objects[np.argmin(compared)]!s}: they are placed at the origin. Pass n_objects or "
            "objects if this is intended; objects=numpy.unique(X) if the numbers in X are names."
        )


def check_total(weights: np.ndarray | None) -> None:
    """Refuse weights that make no mean."""
    if weights is not None and not weights.any():
        raise ValueError("sample_weight must not be zero for all answers.")
    if weights is not None and not weights.sum() < np.inf:
        raise ValueError("sample_weight, or counts in y, must have a finite sum.")


def count_objects(rows: np.ndarray, n_objects: int | None) -> int:
    """Return the number of objects, given or from the rows, or raise where these do not fit."""
    needed = int(rows.max()) + 1
    if n_objects is None:
        if needed > 1000 + _OBJECTS_PER_ENTRY * rows.size:
            raise ValueError(
                f"X names an object {needed - 1}, but has only {len(rows)} answers: number the "
                "objects 0, 1, 2, ..., or pass n_objects, or objects=numpy.unique(X)."
            )
        return needed
    if not isinstance(n_objects, Integral):
        raise ValueError(f"n_objects must be an integer or None, got {n_objects!r}.")
    if needed > n_objects:
        raise ValueError(
            f"n_objects must be greater than every object in X, got {n_objects} and an object "
            f"{needed - 1} in X."
        )
    return int(n_objects)


def _read_rows(X) -> np.ndarray:
    """Rows of object indices as int32."""
    rows = check_array(X, dtype="numeric", input_name="X")
    if rows.shape[1] not in (3, 4):
        raise ValueError(
            "X must have 3 columns (triplets i, j, k) or 4 (quadruplets i, j, l, k), got "
            f"{rows.shape[1]} feature(s), shape {rows.shape}."
        )
    if rows.dtype.kind not in "iu":
        whole = rows.dtype.kind == "f" and np.all(rows == np.floor(rows))
        if not whole:
            raise ValueError(
                f"X must hold objects, as integers or names, got dtype {rows.dtype} with other "
                f"values: these look like features of samples. {_COMPARE_FIRST}; if the numbers "
                "are names, pass objects=numpy.unique(X)."
            )
    # Checked before the cast, which would wrap around.
    if rows.min() < 0:
        raise ValueError(
            f"X must hold indices of objects, 0, 1, 2, ...; got {rows.min()}. Negative values in "
            "data passed to OrdinalEmbedding are not counted from the end."
        )
    # The limit itself is no number of single precision, its successor is one.
    if rows.max() >= _MOST_OBJECTS + 1:
        raise ValueError(f"X must hold indices up to {_MOST_OBJECTS}, got {rows.max()}.")
    return rows.astype(np.int32)


def _read_responses(y, n_rows: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Whether each answer is as its row says, and weights from counts."""
    if y is None:
        return np.ones(n_rows, dtype=bool), None
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(f"y must have one response for each of the {n_rows} rows, got {len(y)}.")
    if y.dtype == bool:
        return y, None
    # A list, as NumPy leaves the booleans of pandas' nullable columns as they are.
    values = as_floats(y.tolist() if y.dtype.kind == "O" else y)
    if values is None or values.shape != y.shape or not np.isfinite(values).all():
        raise ValueError(
            "Unknown label type: y must be booleans or numbers, -1 and 1 or counts with a sign. "
            "Choices of the odd one out take OrdinalEmbedding(loss='oddoneout')."
        )
    known = set(np.unique(values).tolist())
    if known <= {0.0, 1.0}:
        return values == 1.0, None
    if known == {1.0, 2.0}:
        raise ValueError(
            "y must be booleans, -1 and 1, or counts with a sign; got 1 and 2, which may be two "
            "classes or counts. Pass y == 1, or counts as sample_weight."
        )
    if 0.0 in known:
        raise ValueError(
            "y must not hold 0 together with numbers other than 1: undecided answers have no "
            "order. Leave those rows out."
        )
    counts = np.abs(values)
    return values > 0.0, None if np.all(counts == 1.0) else counts


def _read_weights(sample_weight, n_rows: int) -> np.ndarray:
    weights = as_floats(sample_weight)
    if weights is None or weights.shape != (n_rows,):
        got = "something else" if weights is None else f"shape {weights.shape}"
        raise ValueError(f"sample_weight must be one number for each of {n_rows} rows, got {got}.")
    # Written such that NaN is out of range.
    if not np.all((weights >= 0.0) & (weights < np.inf)):
        raise ValueError("sample_weight must be finite numbers >= 0.")
    return weights


def _read_tensor(X) -> tuple[np.ndarray, np.ndarray]:
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
    return rows.astype(np.int32), counts
