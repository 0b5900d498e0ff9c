"""What sequence labellers are learned from: sequences of unequal lengths, checked and stacked."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from skscreen.samples.rows import LARGEST


@dataclass(frozen=True)
class Sequences:
    """Sequences one after the other.

    Parameters
    ----------
    X : ndarray of shape (n_positions, n_features)
    first : ndarray of shape (n_sequences + 1,)
        Sequence c has the positions first[c] to first[c + 1] - 1.
    """

    X: np.ndarray
    first: np.ndarray

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Return the part of each sequence."""
        return np.split(values, self.first[1:-1])


def check_sequences(X, n_features: int | None = None) -> Sequences:
    """Bring a list of arrays of shape (length, n_features) to one form."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype != object:
        raise ValueError(
            "X must be a list of arrays of shape (length, n_features), one for each sequence, got "
            f"one array of shape {X.shape}. Put a single sequence into a list: [X]."
        )
    try:
        parts = list(X)
    except TypeError as error:
        raise ValueError(f"X must be a list of arrays, got {type(X).__name__}.") from error
    parts = [_check_sequence(part, f"X[{c}]") for c, part in enumerate(parts)]
    if not parts:
        raise ValueError("X must hold at least one sequence, got none.")
    widths = sorted({part.shape[1] for part in parts})
    if len(widths) > 1:
        raise ValueError(f"X must have the same features in all sequences, got {widths} of them.")
    if n_features is not None and widths[0] != n_features:
        raise ValueError(f"X has {widths[0]} features, but was fitted with {n_features}.")
    largest = max(float(np.abs(part).max()) for part in parts)
    if largest > LARGEST:
        raise ValueError(f"X holds numbers up to {largest:g}, whose products overflow: rescale it.")
    first = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return Sequences(np.ascontiguousarray(np.concatenate(parts)), first)


def _check_sequence(part, name: str) -> np.ndarray:
    if np.ndim(part) != 2:
        raise ValueError(f"{name} must have shape (length, n_features), got {np.shape(part)}.")
    return check_array(part, dtype=np.float64, input_name=name)


def check_labels(sequences: Sequences, y) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, and the labels of all positions as indices of classes."""
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
    classes, codes = np.unique(labels, return_inverse=True)
    if classes.size < 2:
        raise ValueError("The number of classes in y has to be greater than one; got 1 class.")
    return classes, codes.astype(np.int64)
