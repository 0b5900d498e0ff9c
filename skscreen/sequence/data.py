"""Sequences of unequal lengths, checked and stacked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite

from skscreen.core.checks import (
    Matrix,
    MatrixLike,
    check_samples,
    in_shape,
    is_sparse,
    refuse_masked,
)
from skscreen.samples.rows import LARGEST

# For each sequence samples (length, n_features), or items: dicts or lists of features.
SequencesLike: TypeAlias = Iterable[MatrixLike | Iterable]


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
    """Sequences in one X, dense or CSR; c has the rows starts[c] to starts[c + 1] - 1, if any."""

    X: Matrix
    starts: np.ndarray

    @property
    def filled(self) -> np.ndarray:
        """Starts as above, of the sequences that have positions."""
        return np.unique(self.starts)

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Return the part of each sequence."""
        return ByPosition(np.split(values, self.starts[1:-1]) if self.starts.size > 1 else [])

    def take(self, index: np.ndarray) -> Sequences:
        """Return some of the sequences."""
        lengths = np.diff(self.starts)[index]
        return Sequences(self.X[self.positions(index)], starts_of(lengths))

    def without_empty_columns(self) -> tuple[Sequences, np.ndarray | None]:
        """Return them with the columns that have entries, if few, and these columns, (n_kept,)."""
        # Of a million hashed features a text has some thousands: vectors of all take most time.
        if not is_sparse(self.X):
            return self, None
        columns, places = np.unique(self.X.indices, return_inverse=True)
        if not 0 < 2 * columns.size <= self.X.shape[1]:
            return self, None
        shape = self.X.shape[0], columns.size
        rows = sparse.csr_array((self.X.data, places, self.X.indptr), shape=shape)
        return Sequences(rows, self.starts), columns

    def positions(self, index: np.ndarray) -> np.ndarray:
        """Return the positions of some of the sequences."""
        return np.concatenate([np.arange(self.starts[c], self.starts[c + 1]) for c in index])

    def with_constants(self, intercept: bool, ends: bool) -> Sequences:
        """Return them with features that are one everywhere, and one at either end."""
        columns = [np.ones(self.X.shape[0])] if intercept else []
        if ends:
            columns += [np.zeros(self.X.shape[0]), np.zeros(self.X.shape[0])]
            columns[-2][self.starts[:-1]] = 1.0
            columns[-1][self.starts[1:] - 1] = 1.0
        if not columns:
            return self
        added = np.column_stack(columns)
        if is_sparse(self.X):
            return Sequences(sparse.hstack([self.X, sparse.csr_array(added)], "csr"), self.starts)
        return Sequences(np.hstack([self.X, added]), self.starts)

    @property
    def rows(self) -> tuple:
        """Data, columns and starts of rows for compiled code; see `frank_wolfe`."""
        if is_sparse(self.X):
            X = self.X
            return X.data, X.indices.astype(np.uint32), X.indptr.astype(np.int64)
        return self.X.reshape(-1), np.empty(0, np.uint32), np.empty(0, np.int64)


def as_sequences(values: Iterable, name: str) -> list:
    """Return a list of sequences, each of which has a length; iterators are read."""
    try:
        parts = list(values)
    except TypeError as error:
        raise ValueError(f"{name} must be a list of sequences, got {values!r:.80}.") from error
    for c, part in enumerate(parts):
        if type(part) is list or (type(part) is np.ndarray and part.ndim):
            continue
        if isinstance(part, Iterator):
            parts[c] = list(part)
        elif isinstance(part, str | bytes | Mapping) or not _has_length(part):
            raise ValueError(
                f"{name} must be a list of sequences, got {type(part).__name__} as {name}[{c}]."
            )
        refuse_masked(part, f"{name}[{c}]")
    return parts


def _has_length(part: object) -> bool:
    return part.shape != () if hasattr(part, "shape") else hasattr(part, "__len__")


def length_of(part: Sequence | Matrix) -> int:
    """Return the number of positions of a sequence."""
    return part.shape[0] if hasattr(part, "shape") else len(part)


def starts_of(lengths: ArrayLike) -> np.ndarray:
    """Return where parts of these lengths begin, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def stack(parts: list, name: str = "X") -> Any:
    """Return the positions of all sequences below each other: a matrix, a frame or a list."""
    filled = [part for part in parts if length_of(part)]
    if len(filled) == 1:
        return filled[0]
    kinds = set(map(type, filled))
    if kinds == {list}:
        return list(chain.from_iterable(filled))
    if kinds == {np.ndarray}:
        return _concatenated(filled, name)
    if any(map(is_sparse, filled)):
        return _vstack(filled, name)
    frames = [nw.from_native(part, eager_only=True, pass_through=True) for part in filled]
    if any(isinstance(frame, nw.DataFrame) for frame in frames):
        return _frame(frames, name)
    return list(chain.from_iterable(filled))


def _concatenated(parts: list[np.ndarray], name: str) -> np.ndarray:
    try:
        return np.concatenate(parts)
    except ValueError as error:
        raise ValueError(f"{name} must have the same features in all sequences: {error}") from error


def _vstack(parts: list, name: str) -> Any:
    """Return CSR of sparse and dense sequences; entries of sparse ones are not looked at yet."""
    rows = [part if is_csr(part) else sparse.csr_array(part) for part in parts]
    widths = {part.shape[1:] for part in rows}
    if len(widths) > 1 or () in widths:
        raise ValueError(
            f"{name} must have the same features in all sequences, got shapes (length, *rest) with "
            f"rest in {sorted(widths)}."
        )
    # Starts are those of entries in use: there may be room for more behind them.
    counts = [part.indptr[-1] for part in rows]
    data = np.concatenate([part.data[:n] for part, n in zip(rows, counts, strict=True)])
    columns = np.concatenate([part.indices[:n] for part, n in zip(rows, counts, strict=True)])
    starts = starts_of(np.concatenate([np.diff(part.indptr) for part in rows]))
    shape = starts.size - 1, *widths.pop()
    return sparse.csr_array((data, columns, starts), shape=shape)


def _frame(frames: list, name: str) -> Any:
    """Return frames of the same columns as one."""
    known = frames[0].columns if isinstance(frames[0], nw.DataFrame) else None
    for c, frame in enumerate(frames):
        if known is None or not isinstance(frame, nw.DataFrame) or frame.columns != known:
            raise ValueError(
                f"{name} must be frames of the same columns in the same order, or none: that is "
                f"not so for sequences 0 and {c} of those that are not empty."
            )
    return nw.concat(frames).to_native()


def is_csr(X: object) -> bool:
    """Whether X is sparse, and by rows."""
    return is_sparse(X) and X.format == "csr"


def read_samples(model: BaseEstimator, X: SequencesLike, reset: bool) -> Sequences:
    """Return sequences of matrices (length, n_features) as one, dense or CSR, of an estimator."""
    parts = as_sequences(X, "X")
    starts = starts_of([length_of(part) for part in parts])
    if not starts[-1]:
        return Sequences(np.empty((0, getattr(model, "n_features_in_", 0))), starts)
    rows = stack(parts)
    if not reset and _is_as_fitted(model, rows):
        # Faster than all that is checked by scikit-learn, which matters for single sentences.
        rows = in_shape(rows, "X") if is_sparse(rows) else rows
    else:
        rows = check_samples(rows, model=model, reset=reset, accept_sparse="csr", dtype=np.float64)
    if reset and is_sparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    values = rows.data if is_sparse(rows) else rows
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if not largest <= LARGEST:
        assert_all_finite(values, input_name="X")
        raise ValueError(f"X holds numbers up to {largest:g}, whose products overflow: rescale it.")
    rows = sparse.csr_array(rows) if is_sparse(rows) else np.ascontiguousarray(rows)
    return Sequences(rows, starts)


def _is_as_fitted(model: BaseEstimator, rows: Matrix) -> bool:
    """Whether rows are a matrix of double precision of the width of the fit, without names."""
    plain = isinstance(rows, np.ndarray) or is_csr(rows)
    return (
        plain and rows.dtype == np.float64 and rows.shape[1:] == (model.n_features_in_,)
        and not hasattr(model, "feature_names_in_")
    )  # fmt: skip
