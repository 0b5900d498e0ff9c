"""Sequences of unequal lengths, checked and stacked."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from skscreen.samples.rows import LARGEST


@dataclass(frozen=True)
class Sequences:
    """Sequences one after the other.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_positions, n_features)
    first : ndarray of shape (n_sequences + 1,)
        Sequence c has the positions first[c] to first[c + 1] - 1.
    """

    X: np.ndarray | sparse.csr_array
    first: np.ndarray

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Return the part of each sequence."""
        return np.split(values, self.first[1:-1])

    def take(self, index: np.ndarray) -> "Sequences":
        """Return some of the sequences."""
        lengths = np.diff(self.first)[index]
        return Sequences(self.X[self.positions(index)], starts_of(lengths))

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
        if sparse.issparse(self.X):
            return Sequences(sparse.hstack([self.X, sparse.csr_array(added)], "csr"), self.first)
        return Sequences(np.hstack([self.X, added]), self.first)

    @property
    def rows(self) -> tuple:
        """Data, columns and starts for compiled code: CSR, or all entries with two empty arrays."""
        if sparse.issparse(self.X):
            X = self.X
            return X.data, X.indices.astype(np.uint32), X.indptr.astype(np.int64)
        return self.X.reshape(-1), np.empty(0, np.uint32), np.empty(0, np.int64)


def starts_of(lengths: np.ndarray) -> np.ndarray:
    """Return where parts of these lengths begin, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def check_sequences(X, n_features: int | None = None) -> Sequences:
    """Bring a list of matrices of shape (length, n_features), dense or CSR, to one form."""
    if sparse.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype != object):
        raise ValueError(
            "X must be a list of arrays of shape (length, n_features), one for each sequence, got "
            f"one array of shape {X.shape}. Put a single sequence into a list: [X]."
        )
    try:
        parts = list(X)
    except TypeError as error:
        raise ValueError(f"X must be a list of arrays, got {type(X).__name__}.") from error
    parts = [_as_matrix(part, f"X[{c}]") for c, part in enumerate(parts)]
    if not parts:
        raise ValueError("X must hold at least one sequence, got none.")
    widths = sorted({part.shape[1] for part in parts})
    if len(widths) > 1:
        raise ValueError(f"X must have the same features in all sequences, got {widths} of them.")
    if n_features is not None and widths[0] != n_features:
        raise ValueError(f"X has {widths[0]} features, but was fitted with {n_features}.")
    stacked = _stack(parts)
    values = stacked.data if sparse.issparse(stacked) else stacked
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if not largest < np.inf:
        for c, part in enumerate(parts):
            check_array(part, accept_sparse="csr", input_name=f"X[{c}]")
    if largest > LARGEST:
        raise ValueError(f"X holds numbers up to {largest:g}, whose products overflow: rescale it.")
    return Sequences(stacked, starts_of([part.shape[0] for part in parts]))


def _as_matrix(part, name: str):
    if not sparse.issparse(part):
        if isinstance(part, (list, tuple)) and part and isinstance(part[0], dict):
            raise ValueError(
                f"{name} holds dicts of features: turn them into numbers first, by "
                "make_pipeline(SequenceTransformer(DictVectorizer()), ...)."
            )
        if np.ndim(part) != 2:
            raise ValueError(f"{name} must have shape (length, n_features), got {np.shape(part)}.")
    if isinstance(part, np.ndarray) and part.dtype == np.float64 and part.size:
        return part
    return check_array(part, accept_sparse="csr", dtype=np.float64, input_name=name)


def _stack(parts: list):
    """Return the matrices one below the other."""
    if not any(sparse.issparse(part) for part in parts):
        return np.ascontiguousarray(np.concatenate(parts))
    out = sparse.csr_array(sparse.vstack(parts, format="csr"))
    out.sum_duplicates()
    return out


def check_labels(sequences: Sequences, y) -> np.ndarray:
    """Return the labels of all positions."""
    lengths = np.diff(sequences.first)
    try:
        parts = [column_or_1d(part) for part in y]
    except TypeError as error:
        raise ValueError(f"y must be a list of arrays, as X is, got {type(y).__name__}.") from error
    if len(parts) != len(lengths):
        raise ValueError(f"y must hold {len(lengths)} sequences, as X does, got {len(parts)}.")
    for c, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        if len(part) != length:
            raise ValueError(f"y[{c}] must have {length} labels, one for each row of X[{c}], got "
                             f"{len(part)}.")  # fmt: skip
    labels = np.concatenate(parts)
    check_classification_targets(labels)
    return labels


def check_weights(sample_weight, n_sequences: int) -> np.ndarray:
    """Return a weight >= 0 for each sequence."""
    if sample_weight is None:
        return np.ones(n_sequences)
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (n_sequences,):
        raise ValueError(
            f"sample_weight must have shape ({n_sequences},), one weight for each sequence, got "
            f"{weights.shape}."
        )
    if weights.min() < 0.0:
        raise ValueError(f"sample_weight must hold numbers >= 0, got {weights.min():g}.")
    if weights.max() == 0.0:
        raise ValueError("sample_weight must have a positive entry, got only zeros.")
    return weights
