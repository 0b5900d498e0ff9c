"""Tagged sentences in CoNLL's formats."""

import os
import re
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import IO

import numpy as np

# Names of the columns of files with two, three or four of them: tagging, CoNLL-2000, CoNLL-2003.
_COLUMNS = {2: ("word", "label"), 3: ("word", "pos", "label"), 4: ("word", "pos", "chunk", "label")}


def load_conll(
    source: str | os.PathLike | IO, *,
    columns: Sequence[str | None] | Mapping[str, int] | None = None, comment: str | None = None,
    encoding: str = "utf-8",
) -> tuple[list[list[dict[str, str]]], list[np.ndarray] | None]:  # fmt: skip
    r"""Read tagged sentences: a line for each word, an empty line after each sentence.

    Fields are divided by tabs if the file has any outside of lines that begin with `comment`, or
    "#" where that is None, otherwise by blanks. Lines that begin with -DOCSTART- end a sentence,
    and are no words. Where a column is named "id", ranges ("1-2") and empty nodes ("1.1") of
    CoNLL-U are no words, either; it is left out.

    Parameters
    ----------
    source : str, path or file
        A path, an open file, or the text itself, which has a line break.
    columns : sequence of str or None, or dict of str to int, optional
        Names of the columns, None for one that is left out, or the number of each by its name,
        counted from 0, or from -1 at the end. "label" is what is to be learned. Fields beyond those
        that are named are left out. By default ("word", "label"), ("word", "pos", "label") or
        ("word", "pos", "chunk", "label"), by the number of fields in the first line, which all
        lines must have.
    comment : str, optional
        Lines that begin with it are left out. By default those that begin with "#" and have too few
        fields for `columns`: "#Paris B-LOC" is a word of two columns, and so is a comment with as
        many fields, such as those of GermEval, for which `comment` is "#".
    encoding : str, default="utf-8"
        Of a path, or of a file that is open in binary mode.

    Returns
    -------
    X : list of lists of dicts
        For each word of each sentence its fields by name, as ``SequenceTransformer(
        DictVectorizer())`` takes them.
    y : list of ndarrays of str, or None
        Labels; None if no column is named "label".

    Raises
    ------
    ValueError
        If a line, which is named by its number, has too few fields or no label, or, without
        `columns`, another number of fields than the first; if there is no sentence; if the text is
        not in `encoding`.
    TypeError
        If `source`, `columns` or `comment` are of other types.
    OSError
        If a file cannot be read.
    LookupError
        If Python does not know `encoding`.

    Examples
    --------
    >>> from skscreen.datasets import load_conll
    >>> X, y = load_conll("Acórdão O\ndo O\nSupremo B-ORG\n\nBrasil B-LOC\n")
    >>> X[1], y[0].tolist()
    ([{'word': 'Brasil'}], ['O', 'O', 'B-ORG'])

    Two columns of a file of CoNLL-2012, which has as many as a sentence has verbs:

    >>> line = "bc/cctv 0 0 Haifa NNP (TOP* - - - Speaker#1 (GPE) (29)\n"
    >>> load_conll("#begin document\n" + line, columns={"word": 3, "label": 4}, comment="#")
    ([[{'word': 'Haifa'}]], [array(['NNP'], dtype='<U3')])
    """
    # Only these end lines: words may hold other breaks of Unicode. "\r\r\n" is one break.
    lines = re.split(r"\r*\n|\r", _text(source, encoding).removeprefix("\ufeff"))
    if comment is not None and not isinstance(comment, str):
        raise TypeError(f"comment must be a string, got {comment!r}.")
    mark = "#" if comment is None else comment
    tabs = any("\t" in line for line in lines if not (mark and line.startswith(mark)))
    places = None if columns is None else _places(columns)
    sentences: list[list[dict[str, str]]] = [[]]
    for number, line in enumerate(lines, start=1):
        if comment and line.startswith(comment):
            continue
        if not line.strip() or line.startswith("-DOCSTART-"):
            sentences.append([])
            continue
        fields = [field.strip(" ") for field in line.split("\t" if tabs else " ")]
        fields = fields if tabs else [field for field in fields if field]
        if places is None:
            places = {name: k for k, name in enumerate(_COLUMNS.get(len(fields), ()))}
        few = not _has_all(places, len(fields))
        full = 0 if isinstance(columns, Mapping) or columns is None else len(columns)
        if comment is None and line.startswith("#") and (few or len(fields) < full):
            continue
        if few or (columns is None and len(fields) != len(places)):
            raise ValueError(
                f"line {number} of source has {len(fields)} fields, but columns are "
                f"{columns or tuple(places) or 'not given'}: {line!r}."
            )
        row = {name: fields[place] for name, place in places.items()}
        if row.get("label") == "":
            raise ValueError(f"line {number} of source has no label: {line!r}.")
        if not re.fullmatch(r"\d+[-.]\d+", row.pop("id", "")):
            sentences[-1].append(row)
    sentences = [rows for rows in sentences if rows]
    if not sentences:
        raise ValueError("source must hold at least one sentence, got none.")
    if "label" not in sentences[0][0]:
        return sentences, None
    return sentences, [np.array([row.pop("label") for row in rows]) for rows in sentences]


def _places(columns: Sequence[str | None] | Mapping[str, int]) -> dict[str, int]:
    """Return the place of each column that has a name."""
    pairs: list = []
    if isinstance(columns, Mapping):
        pairs = list(columns.items())
    elif isinstance(columns, list | tuple) or getattr(columns, "ndim", 0) == 1:
        pairs = [(name, k) for k, name in enumerate(columns) if name is not None]
    whole = [isinstance(k, Integral) and not isinstance(k, bool) for _, k in pairs]
    if not pairs or not all(whole) or not all(isinstance(name, str) for name, _ in pairs):
        raise TypeError(f"columns must be names, or a dict of names and numbers, got {columns!r}.")
    places = dict(pairs)
    if len(places) < len(pairs):
        raise ValueError(f"columns must have a name once, got {columns!r}.")
    return places


def _has_all(places: dict[str, int], n_fields: int) -> bool:
    """Whether a line of so many fields has a field for each column."""
    given = set(places.values())
    # One field for columns counted from both ends is too few.
    within = all(-n_fields <= place < n_fields for place in given)
    return n_fields > 0 and within and len({place % n_fields for place in given}) == len(given)


def _text(source: str | os.PathLike | IO, encoding: str) -> str:
    """Return the text of a path, a file or the text itself."""
    if isinstance(source, str) and ("\n" in source or "\r" in source):
        return source
    if hasattr(source, "read"):
        given = source.read()
    elif isinstance(source, str | os.PathLike):
        # As bytes, for breaks of lines as they are.
        given = Path(source).read_bytes()
    else:
        raise TypeError(f"source must be a path, a file or text, got {type(source).__name__}.")
    text = given.decode(encoding) if isinstance(given, bytes) else given
    if not isinstance(text, str):
        raise TypeError(f"source must hold text, got {type(text).__name__}.")
    return text
