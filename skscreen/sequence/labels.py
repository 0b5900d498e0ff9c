"""Labels of sequences, checked to be of one kind."""

from collections.abc import Mapping, Sequence, Sized
from typing import Any

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from skscreen.core.inputs import is_sparse
from skscreen.fitting.warning import warn_user
from skscreen.sequence.data import Sequences, as_list


def check_lists(y: Any, name: str) -> tuple[list[np.ndarray], str]:
    """Return labels of each sequence, and their kind: "string", "number", "bytes"; "" for none."""
    if isinstance(y, Mapping):
        raise ValueError(
            f"{name} must be a list of arrays, got {type(y).__name__}: pass list({name}.values())."
        )
    parts, kind, first = [], "", 0
    for c, part in enumerate(as_list(y, name)):
        labels, own = _check_labels(part, f"{name}[{c}]")
        if own and kind and own != kind:
            raise ValueError(
                f"Mix of label input types ({kind} and {own}): {name}[{c}] holds {_plural(own)}, "
                f"{name}[{first}] {_plural(kind)}. Convert all labels to one type."
            )
        if own and not kind:
            kind, first = own, c
        parts.append(labels)
    return parts, kind


def check_lengths(parts: Sequence[Sized], lengths: Sequence[int] | np.ndarray) -> None:
    """Refuse labels that are not as many in each sequence as X has rows."""
    if len(parts) != len(lengths):
        raise ValueError(f"y must hold {len(lengths)} sequences, as X does, got {len(parts)}.")
    for c, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        if not isinstance(part, Sized) or isinstance(part, Mapping):
            raise ValueError(f"y[{c}] must be an array of labels, got {type(part).__name__}.")
        if len(part) != length:
            raise ValueError(
                f"y[{c}] must have {length} labels, one for each row of X[{c}], got {len(part)}."
            )


def labels_of_positions(y: Any, lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the labels of all positions, one sequence after the other."""
    parts, _ = check_lists(y, "y")
    check_lengths(parts, lengths)
    return stack_labels(parts)


def expect_kind(kind: str, other: str, name: str, other_name: str) -> None:
    """Refuse labels of another kind."""
    if kind and other and kind != other:
        raise ValueError(
            f"Mix of label input types ({kind} and {other}): {name} holds {_plural(kind)}, "
            f"{other_name} {_plural(other)}. Convert all labels to one type."
        )


def kind_of(labels: np.ndarray) -> str:
    """Return the kind of an array of labels that are all of one, "" if there are none."""
    if not labels.size:
        return ""
    if labels.dtype == object:
        return _kind_of_type(type(labels[0]))
    return {"U": "string", "S": "bytes"}.get(labels.dtype.kind, "number")


def stack_labels(parts: list[np.ndarray]) -> np.ndarray:
    """Return the labels of all sequences one after the other."""
    filled = [part for part in parts if part.size]
    labels = np.concatenate(filled) if filled else np.empty(0)
    for part in filled:
        # Types of integers that have no other in common become floats.
        if labels.dtype.kind == "f" and part.dtype.kind in "iu" and _is_long(part):
            raise ValueError(
                "y has labels of different types of numbers in its sequences, which would become "
                f"floats, and {part.max()} is too long for them: pass all in one type of integers, "
                "or as strings."
            )
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise ValueError(f"y must hold labels, no other numbers. {error}") from error
    return labels


def _is_long(labels: np.ndarray) -> bool:
    """Whether some of these whole numbers have more digits than floats."""
    return bool(labels.max() > 2**53 or labels.min() < -(2**53))


def warn_padding(sequences: Sequences, labels: np.ndarray) -> None:
    """Warn where one row, with one label, fills sequences up to one length: padding is learned."""
    lengths = np.diff(sequences.first)
    if len(lengths) < 2 or np.ptp(lengths) or lengths[0] == 0:
        return
    labels = labels.reshape(len(lengths), -1)
    for from_end in (True, False):
        step = -1 if from_end else 1
        filled, zeros = _filled(sequences.X, len(lengths), step)
        runs = filled.sum(axis=1)
        # By chance such rows would be elsewhere, too; others than zeros may be a last word.
        if (
            np.count_nonzero(runs) < 2 or runs.sum() < 5
            or not np.array_equal(filled, np.minimum.accumulate(filled, axis=1))
            or not (zeros or (runs.max() > 2 and np.ptp(runs)))
        ):  # fmt: skip
            continue
        own = np.unique(labels[:, ::step][filled])
        if own.size > 1:
            continue
        c = int(np.argmax(runs > 0))
        rows = f"from row {lengths[c] - runs[c]} on" if from_end else f"before row {runs[c]}"
        where = "end in" if from_end else "begin with"
        keep = "x[:length]" if from_end else "x[-length:]"
        warn_user(
            f"{np.count_nonzero(runs)} of {len(lengths)} sequences {where} rows "
            f"{'of zeros' if zeros else 'that are the same'}, as X[{c}] {rows}, all with the label "
            f"{own.tolist()[0]!r}: this seems to be padding, which is learned as it is. Sequences "
            f"may have different lengths: pass [{keep} for x, length in zip(X, lengths)], and y "
            "likewise."
        )
        return


def _filled(X: Any, n: int, step: int) -> tuple[np.ndarray, bool]:
    """Where rows (n, length), from the end if step is -1, are as the most frequent first one."""
    # And whether this is zeros, of more features than one.
    if is_sparse(X):
        rows = np.diff(X.tocsr().indptr) == 0
        return rows.reshape(n, -1)[:, ::step], True
    cube = X.reshape(n, -1, X.shape[1])[:, ::step]
    rows, counts = np.unique(cube[:, 0], axis=0, return_counts=True)
    row = rows[np.argmax(counts)]
    # By blocks, as comparisons of all entries take memory.
    blocks = gen_batches(n, max(2**22 // cube[0].size, 1))
    filled = np.concatenate([(cube[part] == row).all(axis=2) for part in blocks])
    return filled, row.size > 1 and not row.any()


def refuse_ignored(classes: np.ndarray) -> None:
    """Refuse -100 among labels >= 0, as Hugging Face marks positions without a label."""
    if classes.dtype.kind in "if" and classes[0] == -100 and np.all(classes[1:] >= 0):
        raise ValueError(
            "y has the label -100, which seems to mark positions without a label: leave these out, "
            "[x[labels != -100] for x, labels in zip(X, y)] and [labels[labels != -100] for labels "
            "in y]. If it is a label, pass it as a string."
        )


def warn_spaces(classes: np.ndarray) -> None:
    """Warn about labels that differ in spaces only."""
    names = [name for name in classes.tolist() if isinstance(name, str)]
    for name in names:
        if name != name.strip() and name.strip() in names:
            warn_user(
                f"The labels {name.strip()!r} and {name!r} in y differ in spaces only, and are "
                "taken as two labels."
            )
            return


def _check_labels(part, name: str) -> tuple[np.ndarray, str]:
    """Return the labels of one sequence, and their kind."""
    if hasattr(part, "__next__"):
        part = list(part)
    if isinstance(part, (list, tuple)):
        # NumPy would make strings of a mixture.
        _expect_one_kind(part, name)
        part = _plain_strings(part)
    labels = np.asarray(part)
    if labels.dtype.kind == "T":
        labels = np.asarray(labels.tolist())
    try:
        labels = column_or_1d(labels) if labels.ndim else labels
    except ValueError as error:
        raise ValueError(f"{name} must have shape (length,): {str(error).rstrip()}") from error
    if labels.ndim != 1:
        hint = ""
        if isinstance(part, str) and len(part.split()) > 1:
            hint = f" Pass {name}.split() if it holds labels with blanks between them."
        raise ValueError(f"{name} must be an array of labels, got {part!r}.{hint}")
    if labels.dtype == object:
        _expect_one_kind(labels, name)
        labels = np.array(_plain_strings(labels.tolist())) if labels.size else labels
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        t = np.flatnonzero(~np.isfinite(labels))[0]
        raise ValueError(f"{name} must hold a label for each row, got {labels[t]} at position {t}.")
    return labels, kind_of(labels)


def _plain_strings(labels: Sequence) -> Sequence:
    """Return the values of members of an Enum of strings, which NumPy would take by their names."""
    if any(issubclass(kind, str) and kind is not str for kind in set(map(type, labels))):
        return [*map(str.__str__, labels)]
    return labels


def _expect_one_kind(labels, name: str) -> None:
    """Refuse labels that are not all strings, all numbers or all bytes."""
    kinds = [_kind_of_type(kind) for kind in map(type, labels)]
    if "" in kinds:
        t = kinds.index("")
        raise ValueError(f"{name} must hold strings or numbers, got {labels[t]!r} at position {t}.")
    if len(set(kinds)) > 1:
        t = next(t for t, kind in enumerate(kinds) if kind != kinds[0])
        raise ValueError(
            f"Mix of label input types ({kinds[0]} and {kinds[t]}): {name} holds {labels[0]!r} and "
            f"{labels[t]!r} (position {t}). Convert all labels to one type."
        )


def _kind_of_type(kind: type) -> str:
    if issubclass(kind, str):
        return "string"
    if issubclass(kind, bytes):
        return "bytes"
    # Lists of columns, as of shape (length, 1), are told apart by NumPy.
    if issubclass(kind, (list, np.ndarray)):
        return "column"
    return "number" if issubclass(kind, (bool, int, float, np.number, np.bool_)) else ""


def _plural(kind: str) -> str:
    return kind if kind == "bytes" else kind + "s"
