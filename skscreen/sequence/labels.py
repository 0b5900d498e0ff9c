"""Labels of sequences, checked to be of one kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets

from skscreen.core.checks import check_labels
from skscreen.sequence.data import as_sequences, length_of, starts_of


def labels_of_positions(y: Iterable[ArrayLike], lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the labels of all positions of sequences of these lengths."""
    parts = as_sequences(y, "y")
    check_lengths(parts, lengths, "y")
    labels = _stacked(parts, "y")
    if labels.size:
        check_classification_targets(labels)
    return labels


def label_pairs(
    y_true: Iterable[ArrayLike], y_pred: Iterable[ArrayLike]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return true and predicted labels of each sequence, which are of one kind."""
    parts = as_sequences(y_true, "y_true")
    if not parts:
        raise ValueError("y_true must hold at least one sequence, got none.")
    lengths = [length_of(part) for part in parts]
    found = as_sequences(y_pred, "y_pred")
    check_lengths(found, lengths, "y_pred")
    labels = _stacked(parts, "y_true"), _stacked(found, "y_pred")
    check_kinds(*labels, "y_true", "y_pred")
    inner = starts_of(lengths)[1:-1]
    return [*zip(*(np.split(part, inner) for part in labels), strict=True)]


def check_lengths(parts: list, lengths: Sequence[int] | np.ndarray, name: str) -> None:
    """Refuse labels that are not as many in each sequence as there are positions."""
    if len(parts) != len(lengths):
        raise ValueError(f"{name} must hold {len(lengths)} sequences, got {len(parts)}.")
    for c, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        if length_of(part) != length:
            raise ValueError(f"{name}[{c}] must have {length} labels, got {length_of(part)}.")


def check_kinds(one: np.ndarray, other: np.ndarray, name: str, other_name: str) -> None:
    """Refuse strings on one side, and numbers on the other."""
    strings = [labels.dtype.kind in "UOT" for labels in (one, other)]
    if one.size and other.size and strings[0] != strings[1]:
        raise ValueError(
            f"Mix of label input types (string and number): those of {name} and {other_name}."
        )


def _stacked(parts: list, name: str) -> np.ndarray:
    """Return the labels of all sequences one after the other."""
    # As Python's objects: NumPy would make strings of numbers beside strings.
    return check_labels(list(chain.from_iterable(map(_listed, parts))), name)


def _listed(part: Sequence) -> Sequence:
    """Return labels of one sequence; Arrow's arrays hold scalars of their own."""
    if hasattr(part, "to_pylist"):
        return part.to_pylist()
    return part.tolist() if isinstance(part, np.ndarray) else part
