"""Tagged sentences in CoNLL's formats."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

# Names of the columns of files with two, three or four of them: tagging, CoNLL-2000, CoNLL-2003.
_COLUMNS = {
    2: ("word", "label"),
    3: ("word", "pos", "label"),
    4: ("word", "pos", "chunk", "label"),
}


def load_conll(
    source: Any, *, columns: Sequence[str | None] | None = None, encoding: str = "utf-8"
) -> tuple[list[list[dict[str, str]]], list[np.ndarray] | None]:
    r"""Read tagged sentences: a line for each word, an empty line after each sentence.

    Fields are divided by tabs where a line has any, otherwise by blanks. Lines that begin with "#"
    are comments, unless they have as many fields as there are columns, and tabs if others have;
    lines that begin with
    -DOCSTART- are skipped. Where a column is named "id", ranges ("1-2") and empty nodes ("1.1") of
    CoNLL-U are skipped, too.

    Parameters
    ----------
    source : str, path or file
        A path, an open file, or the text itself, which has a line break.
    columns : sequence of str or None, optional
        A name for each column; "label" is what is to be learned, None leaves a column out. By
        default ("word", "label"), ("word", "pos", "label") or ("word", "pos", "chunk", "label"), by
        the number of fields in the first line.
    encoding : str, default="utf-8"
        Of the file.

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
        If a line has another number of fields than there are columns, names the line; if there are
        no sentences, or more columns than have names by default.
    FileNotFoundError
        If there is no such file.
    TypeError
        If `columns` are no names.

    Examples
    --------
    >>> from skscreen.datasets import load_conll
    >>> X, y = load_conll("Acórdão O\ndo O\nSupremo B-ORG\n\nBrasil B-LOC\n")
    >>> X[1], y[0].tolist()
    ([{'word': 'Brasil'}], ['O', 'O', 'B-ORG'])
    """
    lines = _text(source, encoding).removeprefix("\ufeff").splitlines()
    names = _checked(columns)
    sentences: list[list[dict]] = []
    rows: list[dict] = []
    tabs = any("\t" in line for line in lines)
    for number, line in enumerate([*lines, ""], start=1):
        fields = line.strip("\r\n").split("\t") if "\t" in line else line.split()
        if not any(field.strip() for field in fields) or fields[0].startswith("-DOCSTART-"):
            sentences += [rows] if rows else []
            rows = []
            continue
        # As many fields as there are columns make a token of what begins so.
        other_form = names is None or len(fields) != len(names) or (tabs and "\t" not in line)
        if line.startswith("#") and other_form:
            continue
        names = _names(len(fields), number) if names is None else names
        if len(fields) != len(names):
            raise ValueError(
                f"line {number} of source has {len(fields)} fields, but there are {len(names)} "
                f"columns, {names}: {line!r}. Say what they are by columns=."
            )
        row = {name: field.strip() for name, field in zip(names, fields, strict=True) if name}
        if set(row.get("id", "")).isdisjoint("-."):
            rows.append(row)
    if not sentences:
        raise ValueError("source must hold at least one sentence, got none.")
    for rows in sentences:
        for row in rows:
            row.pop("id", None)
    if names is None or "label" not in names:
        return sentences, None
    y = [np.array([row.pop("label") for row in rows]) for rows in sentences]
    return sentences, y


def _text(source, encoding: str) -> str:
    if hasattr(source, "read"):
        text = source.read()
        return text.decode(encoding) if isinstance(text, bytes) else text
    if isinstance(source, str) and "\n" in source:
        return source
    if isinstance(source, (str, os.PathLike)):
        if Path(source).is_dir():
            raise ValueError(f"source must be a file, got the folder {os.fspath(source)!r}.")
        try:
            return Path(source).read_text(encoding)
        except FileNotFoundError as error:
            raise FileNotFoundError(
                error.errno, "source must be a file or text with a line break, got no such file",
                os.fspath(source),
            ) from error  # fmt: skip
    raise ValueError(
        "source must be a path, an open file or text with line breaks, got "
        f"{type(source).__name__}."
    )


def _checked(columns) -> tuple | None:
    """Return the names of the columns, if they are given."""
    if columns is None:
        return None
    try:
        names = () if isinstance(columns, (str, bytes)) else tuple(columns)
    except TypeError:
        names = (columns,)
    if isinstance(columns, (str, bytes)) or not all(
        name is None or isinstance(name, str) for name in names
    ):
        raise TypeError(
            "columns must be a sequence of names, None for a column that is left out, got "
            f"{columns!r}."
        )
    return names


def _names(n_fields: int, number: int) -> tuple[str, ...]:
    if n_fields not in _COLUMNS:
        raise ValueError(
            f"line {number} of source has {n_fields} fields: name them by columns=, for instance "
            "columns=('id', 'word', None, 'label')."
        )
    return _COLUMNS[n_fields]
