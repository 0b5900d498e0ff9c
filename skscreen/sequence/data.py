"""Sequences of unequal lengths, checked and stacked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from skscreen.core.inputs import (
    is_sparse,
    refuse_masked,
    refuse_not_finite,
    refuse_times,
    refuse_wrong_weights,
)
from skscreen.fitting.warning import warn_user
from skscreen.samples.rows import LARGEST


class ByPosition(list):
    """A list of arrays, of which NumPy makes an array of objects: `cross_val_predict` joins it."""

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Return the arrays as objects."""
        out = np.empty(len(self), dtype=object)
        for c, part in enumerate(self):
            out[c] = part
        return out


@dataclass(frozen=True)
class Sequences:
    """Sequences in one X, dense or CSR; c has the rows first[c] to first[c + 1] - 1, if any."""

    X: Any
    first: np.ndarray

    @property
    def filled(self) -> np.ndarray:
        """First positions as above, of the sequences that have any."""
        return np.unique(self.first)

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Return the part of each sequence."""
        return ByPosition(np.split(values, self.first[1:-1]) if self.first.size > 1 else [])

    def take(self, index: np.ndarray) -> "Sequences":
        """Return some of the sequences."""
        lengths = np.diff(self.first)[index]
        return Sequences(self.X[self.positions(index)], starts_of(lengths))

    def without_empty_columns(self) -> tuple["Sequences", np.ndarray | None]:
        """Return them with the columns that have entries, if few, and these columns, (n_kept,)."""
        # Of a million hashed features a text has some thousands: vectors of all take most time.
        if not is_sparse(self.X):
            return self, None
        columns, places = np.unique(self.X.indices, return_inverse=True)
        if not 0 < 2 * columns.size <= self.X.shape[1]:
            return self, None
        shape = self.X.shape[0], columns.size
        rows = sparse.csr_array((self.X.data, places, self.X.indptr), shape=shape)
        return Sequences(rows, self.first), columns

    def positions(self, index: np.ndarray) -> np.ndarray:
        """Return the positions of some of the sequences."""
        return np.concatenate([np.arange(self.first[c], self.first[c + 1]) for c in index])

    def with_constants(self, intercept: bool, ends: bool) -> "Sequences":
        """Return them with features that are one everywhere, and one at either end."""
        columns = [np.ones(self.X.shape[0])] if intercept else []
        if ends:
            columns += [np.zeros(self.X.shape[0]), np.zeros(self.X.shape[0])]
            columns[-2][self.first[:-1]] = 1.0
            columns[-1][self.first[1:] - 1] = 1.0
        if not columns:
            return self
        added = np.column_stack(columns)
        if is_sparse(self.X):
            return Sequences(sparse.hstack([self.X, sparse.csr_array(added)], "csr"), self.first)
        return Sequences(np.hstack([self.X, added]), self.first)

    @property
    def rows(self) -> tuple:
        """Data, columns and starts of rows for compiled code; see `frank_wolfe`."""
        if is_sparse(self.X):
            X = self.X
            return X.data, X.indices.astype(np.uint32), X.indptr.astype(np.int64)
        return self.X.reshape(-1), np.empty(0, np.uint32), np.empty(0, np.int64)


def starts_of(lengths: Any) -> np.ndarray:
    """Return where parts of these lengths begin, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def list_of_sequences(X: Any) -> list:
    """Return the sequences as a list; those that are iterators become lists."""
    if is_sparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype != object):
        raise ValueError(
            "X must be a list of arrays of shape (length, n_features), one for each sequence, got "
            f"one array of shape {X.shape}. Put a single sequence into a list: [X]. Where the rows "
            "of all follow each other pass numpy.split(X, numpy.cumsum(lengths)[:-1])."
        )
    if isinstance(X, (str, bytes, Mapping)) or hasattr(X, "columns"):
        more = ""
        if hasattr(X, "columns"):
            more = (
                " Where a column says to which sequence each row belongs, pass [group for _, group "
                "in X.groupby(column)] without that column."
            )
        if isinstance(X, Mapping):
            more = " Of sequences by name pass list(X.values())."
        raise ValueError(
            "X must be a list of sequences, each a matrix or a list of what belongs to its "
            f"positions, got {type(X).__name__}. Put a single sequence into a list: [X].{more}"
        )
    return [list(part) if hasattr(part, "__next__") else part for part in as_list(X, "X")]


def as_list(values: Any, name: str) -> list:
    """Return a list; refuse pairs of `groupby` and masked arrays, which would be read otherwise."""
    try:
        # Arrow's lists are scalars of its own.
        parts = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    except TypeError as error:
        raise ValueError(
            f"{name} must be a list of arrays, got {type(values).__name__}."
        ) from error
    for c, part in enumerate(parts):
        if isinstance(part, tuple) and len(part) == 2 and _is_frame(part[1]) and (
            not _is_frame(part[0])
        ):  # fmt: skip
            raise ValueError(
                f"{name}[{c}] is a pair of a name and a group, as groupby gives them: pass [group "
                f"for _, group in {name}]."
            )
        # Not by `is_masked`, which takes what has a `_mask` for masked, as pandas' integers have.
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            raise ValueError(
                f"{name}[{c}] has masked entries, which no sequence may have: pass the positions "
                f"that there are, {name}[{c}][:length].data."
            )
    return parts


def _is_frame(part) -> bool:
    return hasattr(part, "columns") or hasattr(part, "iloc")


def length_of(part: Any) -> int:
    """Return the number of positions of a sequence."""
    shape = getattr(part, "shape", None)
    return shape[0] if shape else len(part) if hasattr(part, "__len__") else 1


def check_names(estimator: Any, parts: list, reset: bool) -> None:
    """Remember the columns of the first frame, and refuse others in any, as scikit-learn does."""
    framed = [hasattr(part, "columns") for part in parts]
    if reset and any(framed):
        first = parts[framed.index(True)]
        validate_data(estimator, first, reset=True, skip_check_array=True)
    bare = framed.index(False) if not all(framed) else -1
    known = hasattr(estimator, "feature_names_in_")
    for c, part in enumerate(parts):
        # An array among frames is warned of once.
        if framed[c] or (known and c == bare and length_of(part)):
            try:
                validate_data(estimator, part, reset=False, skip_check_array=True)
            except ValueError as error:
                raise ValueError(f"{str(error).rstrip()}\nThese are the columns of X[{c}].") from (
                    error
                )


def check_sequences(X: list, n_features: int | None = None) -> Sequences:
    """Bring a list of matrices of shape (length, n_features), dense or CSR, to one form."""
    lengths = [length_of(part) for part in X]
    parts = {c: _as_matrix(X[c], f"X[{c}]") for c, length in enumerate(lengths) if length}
    if not parts:
        return Sequences(np.empty((0, n_features or 0)), starts_of(lengths))
    widths = {c: part.shape[1] for c, part in parts.items()}
    first = next(iter(widths))
    for c, width in widths.items():
        if width != widths[first]:
            raise ValueError(
                f"X must have the same features in all sequences, got {widths[first]} of them in "
                f"X[{first}] and {width} in X[{c}]."
            )
    if n_features is not None and widths[first] != n_features:
        raise ValueError(f"X has {widths[first]} features, but was fitted with {n_features}.")
    stacked = _stack(list(parts.values()))
    values = stacked.data if is_sparse(stacked) else stacked
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if not largest < np.inf:
        for c, part in parts.items():
            refuse_not_finite(part, f"X[{c}]")
    if largest > LARGEST:
        raise ValueError(f"X holds numbers up to {largest:g}, whose products overflow: rescale it.")
    return Sequences(stacked, starts_of(lengths))


def _as_matrix(part, name: str):
    if isinstance(part, np.ndarray) and part.dtype == object and part.ndim == 1:
        part = part.tolist()
    elif getattr(part, "shape", ()) == (length_of(part),) and hasattr(part, "to_list"):
        # Series may hold rows.
        part = part.to_list()
    if not is_sparse(part):
        item = part[0] if isinstance(part, (list, tuple)) else None
        strings = isinstance(item, (list, tuple, set)) and any(isinstance(v, str) for v in item)
        if isinstance(item, dict) or strings:
            raise ValueError(
                f"{name} holds {'lists of strings' if strings else 'dicts of features'}: turn them "
                "into numbers first, by make_pipeline(SequenceTransformer(DictVectorizer()), ...)."
            )
        if isinstance(part, (list, tuple)) and is_sparse(part[0]):
            raise ValueError(f"{name} holds sparse rows: pass scipy.sparse.vstack({name}).")
        if isinstance(part, str):
            raise ValueError(
                f"{name} is a string, {part[:40]!r}: pass its words, each with a dict of features, "
                "to make_pipeline(SequenceTransformer(DictVectorizer()), ...)."
            )
        try:
            shape = np.shape(part)
        except ValueError as error:
            raise ValueError(f"{name} must have rows of equal length.") from error
        if len(shape) == 1 and all(isinstance(word, str) for word in part):
            raise ValueError(
                f"{name} holds words: make a dict of features of each, as {{'word': word}}, and "
                "numbers of these by make_pipeline(SequenceTransformer(DictVectorizer()), ...)."
            )
        if len(shape) != 2:
            single = " Put a single sequence into a list: [X]." if len(shape) < 2 else ""
            raise ValueError(f"{name} must have shape (length, n_features), got {shape}.{single}")
    if isinstance(part, np.ndarray) and part.dtype == np.float64 and part.size:
        return part
    refuse_times(part, name)
    try:
        return check_array(part, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be a matrix of numbers: {str(error).rstrip()}") from error


def _stack(parts: list):
    """Return the matrices one below the other."""
    if not any(is_sparse(part) for part in parts):
        return np.ascontiguousarray(np.concatenate(parts))
    out = sparse.csr_array(sparse.vstack(parts, format="csr"))
    out.sum_duplicates()
    return out


def warn_numbered(sequences: Sequences) -> None:
    """Warn about a column that counts the sequences, as one that a frame was grouped by does."""
    rows, first = sequences.X, sequences.first
    # Ten in a row are not so by chance.
    if is_sparse(rows) or len(first) <= 10 or not np.diff(first).all():
        return
    counting = np.all(np.diff(rows[first[:-1]], axis=0) == 1.0, axis=0)
    for column in np.flatnonzero(counting):
        if np.array_equal(rows[:, column], np.repeat(rows[first[:-1], column], np.diff(first))):
            warn_user(
                f"Column {column} of X is the number of the sequence in all of its rows, and is "
                "learned from as it is: leave it out, as X.drop(columns=...) does."
            )


def check_weights(sample_weight: Any, n_sequences: int) -> np.ndarray:
    """Return a weight >= 0 for each sequence."""
    if sample_weight is None:
        return np.ones(n_sequences)
    refuse_masked(sample_weight, "sample_weight")
    refuse_times(sample_weight, "sample_weight")
    try:
        weights = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, ensure_all_finite=False
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight must have shape ({n_sequences},), a number for each sequence: "
            f"{str(error).rstrip()}"
        ) from error
    if weights.shape != (n_sequences,):
        raise ValueError(
            f"sample_weight must have shape ({n_sequences},), one weight for each sequence, got "
            f"{weights.shape}."
        )
    refuse_wrong_weights(weights, "sample_weight", "sequence")
    if weights.max() == 0.0:
        raise ValueError("sample_weight must have a positive entry, got only zeros.")
    return weights
