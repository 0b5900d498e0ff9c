"""Measures of labelled sequences."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_scalar

from skscreen.sequence.labels import label_pairs
from skscreen.sequence.spans import count_spans


def sequence_accuracy(y_true: Iterable[ArrayLike], y_pred: Iterable[ArrayLike]) -> float:
    """Return the share of sequences with all labels right.

    Parameters
    ----------
    y_true, y_pred : list of array-likes of shape (length,)

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If they are not two lists of sequences of the same lengths, or if strings and numbers are
        mixed.
    """
    pairs = label_pairs(y_true, y_pred)
    return float(np.mean([np.array_equal(truth, found) for truth, found in pairs]))


def span_f1(
    y_true: Iterable[ArrayLike], y_pred: Iterable[ArrayLike], *, scheme: str | None = None,
    average: str | None = "micro",
) -> Any:  # fmt: skip
    """Return the F1 score of labelled spans, as of named entities or chunks.

    A span counts as found if its type and its first and last positions are right. F1 is 2 right /
    (true + found), in numbers of spans. The results are those of seqeval. As the `scoring` of
    scikit-learn's searches pass ``make_scorer(span_f1)``, or ``make_scorer(span_f1,
    average="macro")``.

    Parameters
    ----------
    y_true, y_pred : list of array-likes of str, shape (length,)
        Tags: "O" outside of all spans, else a prefix and a type, as in "B-PER". A tag without a
        type, "B" or "B-", has the type "_".
    scheme : {"IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU"} or None, default=None
        What the prefixes mean. Only spans that are written as the scheme demands count then. None
        reads the prefixes B, I, E and S as conlleval does, which finds a span in any order of tags:
        "I-PER" begins a span where it follows another type, for instance.
    average : {"micro", "macro", "weighted"} or None, default="micro"
        "micro" counts all spans alike, "macro" is the mean over types, "weighted" the mean weighted
        by true spans. None returns an array of scores, a type each, in alphabetical order.

    Returns
    -------
    float or ndarray of shape (n_types,)
        0, with an UndefinedMetricWarning, where there are no spans at all.

    Raises
    ------
    ValueError
        If they are not two lists of sequences of the same lengths, or for tags that the scheme does
        not have; names the sequence and the position.

    References
    ----------
    E.F. Tjong Kim Sang, S. Buchholz (2000). Introduction to the CoNLL-2000 shared task: chunking.

    Examples
    --------
    >>> from skscreen.metrics import span_f1
    >>> span_f1([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "B-PER"]])
    0.5
    """
    if average not in (None, "micro", "macro", "weighted"):
        raise ValueError(f"average must be 'micro', 'macro', 'weighted' or None, got {average!r}.")
    return count_spans(y_true, y_pred, scheme).scores(average)[2]


def span_report(
    y_true: Iterable[ArrayLike], y_pred: Iterable[ArrayLike], *, scheme: str | None = None,
    digits: int = 2, output_dict: bool = False,
) -> str | dict[str, dict[str, float]]:  # fmt: skip
    """Return a table of precision, recall and F1 of labelled spans by type, and their averages.

    Parameters
    ----------
    y_true, y_pred, scheme
        As in `span_f1`.
    digits : int, default=2
        After the decimal point.
    output_dict : bool, default=False
        Whether to return a dict in place of text.

    Returns
    -------
    str or dict
        As of `sklearn.metrics.classification_report`: for each type, and "micro avg", "macro avg"
        and "weighted avg", its "precision", "recall", "f1-score" and "support", the number of true
        spans.

    Raises
    ------
    ValueError
        As in `span_f1`.

    Examples
    --------
    >>> from skscreen.metrics import span_report
    >>> print(span_report([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "B-PER"]]))
                  precision    recall  f1-score   support
    <BLANKLINE>
             LOC       0.00      0.00      0.00         1
             PER       0.50      1.00      0.67         1
    <BLANKLINE>
       micro avg       0.50      0.50      0.50         2
       macro avg       0.25      0.50      0.33         2
    weighted avg       0.25      0.50      0.33         2
    <BLANKLINE>
    """
    check_scalar(digits, "digits", Integral, min_val=0)
    counts = count_spans(y_true, y_pred, scheme)
    columns = "precision", "recall", "f1-score", "support"
    rows = dict(zip(counts.types, zip(*counts.scores(None), strict=True), strict=True))
    averages = {}
    for name in ("micro", "macro", "weighted"):
        averages[f"{name} avg"] = [np.ravel(part)[0] for part in counts.scores(name)]
    if output_dict:
        return {
            name: dict(zip(columns, (*map(float, row[:3]), int(row[3])), strict=True))
            for name, row in {**rows, **averages}.items()
        }
    width = max(map(len, [*rows, "weighted avg"]))
    lines = [" " * (width + 1) + "".join(f" {column:>9}" for column in columns), ""]
    for block in (rows, averages):
        for name, (*shares, total) in block.items():
            cells = "".join(f" {share:>9.{digits}f}" for share in shares)
            lines.append(f"{name:>{width}s} {cells} {total:>9}")
        lines.append("")
    return "\n".join(lines)
