"""Tagged sentences in CoNLL's formats."""

import os
import re
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

# Names of the columns of files with two, three or four of them: tagging, CoNLL-2000, CoNLL-2003.
_COLUMNS = {2: ("word", "label"), 3: ("word", "pos", "label"), 4: ("word", "pos", "chunk", "label")}
# Words for columns in the first line of files that have a header.
_HEADERS = {
    "bio", "chunk", "entity", "form", "id", "iob", "label", "labels", "lemma", "ner", "ner_tag",
    "ner_tags", "pos", "pos_tag", "sentence", "tag", "tags", "text", "token", "tokens", "upos",
    "word", "words", "xpos",
}  # fmt: skip


def load_conll(
    source: Any, *, columns: Sequence[str | None] | None = None, encoding: str = "utf-8"
) -> tuple[list[list[dict[str, str]]], list[np.ndarray] | None]:
    r"""Read tagged sentences: a line for each word, an empty line after each sentence.

    Fields are divided by tabs where a line has any, otherwise by blanks. Lines that begin with "#"
    are comments, unless they have as many fields as there are columns, and tabs if others have;
    lines that begin with -DOCSTART- are skipped. Where a column is named "id", ranges ("1-2") and
    empty nodes ("1.1") of CoNLL-U are skipped, too.

    Parameters
    ----------
    source : str, path or file
        A path, an open file, or the text itself, which has a line break.
    columns : sequence of str or None, optional
        A name for each column; "label" is what is to be learned, None leaves a column out. By
        default ("word", "label"), ("word", "pos", "label") or ("word", "pos", "chunk", "label"), by
        the number of fields in the first line that does not begin with "#".
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
        If a line has another number of fields than there are columns, or no label, names the line;
        if the columns seem to be others, the first line names them, there are no sentences, more
        columns than have names by default, or the source is not in `encoding`.
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
    # Only these end lines and divide fields: words may hold other breaks and blanks of Unicode.
    # What Windows writes twice is one break, not the end of a sentence after each word. Files that
    # were joined have the mark of their beginning in front of later lines, too.
    text = _text(source, encoding).removeprefix("\ufeff")
    _refuse_other_files(text)
    lines = re.split(r"(?:\r*\n|\r)\ufeff?", text)
    names = _checked(columns)
    if names is None:
        names = _names_by_default(lines)
    _refuse_first_column(lines, names)
    found = _sentences(lines, names)
    if not found:
        raise ValueError("source must hold at least one sentence, got none.")
    # The "id" of several words in CoNLL-U, "1-2", or of an empty node, "1.1".
    is_range = re.compile(r"\d+[-.]\d+").fullmatch
    words = ([row for row in rows if not is_range(row.get("id", ""))] for rows in found)
    sentences = [rows for rows in words if rows]
    if not sentences:
        raise ValueError(
            "source must hold words, but each 'id' is a range, as '1-2' is. If they number words, "
            "name their column None."
        )
    if "id" in names:
        _refuse_joined_sentences(sentences)
    if columns is None:
        _refuse_other_columns(sentences, tabs="\t" in text)
    _refuse_header([row for rows in sentences for row in rows], names)
    for rows in sentences:
        for row in rows:
            row.pop("id", None)
    if "label" not in names:
        return sentences, None
    y = [np.array([row.pop("label") for row in rows]) for rows in sentences]
    return sentences, y


def _sentences(lines: list[str], names: tuple) -> list[list[dict]]:
    """Return for each sentence its words with their fields by name, comments left out."""
    sentences: list[list[dict]] = []
    rows: list[dict] = []
    # Labels of lines that may be comments, as "# 12" is where there are two columns, and of others.
    doubtful: dict[int, str | None] = {}
    certain: set[str | None] = {"#"}
    tabs = any("\t" in line for line in lines if not line.startswith("#"))
    for number, line in enumerate([*lines, ""], start=1):
        fields = _fields(line)
        if _is_break(fields):
            sentences += [rows] if rows else []
            rows = []
            continue
        # As many fields as there are columns make a token of what begins so.
        other_form = len(fields) != len(names) or (tabs and "\t" not in line)
        if line.startswith("#") and other_form:
            _refuse_lost_word(lines, number, bool(rows))
            continue
        if len(fields) != len(names):
            raise ValueError(
                f"line {number} of source has {len(fields)} fields, but there are {len(names)} "
                f"columns, {names}: {line!r}. Say what they are by columns=."
            )
        row = {name: field for name, field in zip(names, fields, strict=True) if name}
        if row.get("label") == "":
            raise ValueError(
                f"line {number} of source has no label, for the columns {names}: {line!r}. Say "
                "what the columns are by columns=; None leaves one out."
            )
        label = row.get("label")
        # As "#end document" is, a sentence of its own.
        alone = number >= len(lines) or _is_break(_fields(lines[number]))
        other_kind = label is not None and not _is_span(label)
        # As "#doc 1" and "% 1" are.
        counted = other_kind and fields[0].startswith(("#", "%", "//")) and _has_digit(label)
        comment = line.startswith("# ") or (line.startswith("#") and alone and other_kind)
        if not rows and (comment or counted):
            doubtful[number] = label
        else:
            certain.add(label)
        rows.append(row)
    for number, label in doubtful.items():
        if label not in certain:
            raise ValueError(
                f"line {number} of source may be a comment, or the word "
                f"{_fields(lines[number - 1])[0]!r} with the label {label!r}, which "
                "no other line has: leave such comments out."
            )
    return sentences


def _refuse_lost_word(lines: list[str], number: int, begun: bool) -> None:
    """Raise where a line within a sentence may be a comment, or a word that begins with "#"."""
    line = lines[number - 1]
    inside = begun and number < len(lines) and not _is_break(_fields(lines[number]))
    if inside and re.match(r"#\w", line):
        raise ValueError(
            f"line {number} of source may be a comment within a sentence, or a word with too few "
            f"or too many fields: {line!r}. Leave such comments out, or complete the line."
        )


def _has_digit(label: str | None) -> bool:
    return label is not None and any(map(str.isdigit, label))


def _refuse_first_column(lines: list[str], names: tuple) -> None:
    """Raise where the first column marks sentences, or has ranges of CoNLL-U without its name."""
    is_number, is_range = (re.compile(form).fullmatch for form in (r"\d+", r"\d+[-.]\d+"))
    found = [fields for fields in map(_fields, lines) if len(fields) == len(names) > 1]
    starts = [fields[0] for fields in found if any(fields) and not fields[0].startswith("#")]
    marked = next((start for start in starts if start), "")
    if marked and 2 * starts.count("") > len(starts):
        raise ValueError(
            f"source must have an empty line after each sentence, but its first column, as "
            f"{marked!r}, seems to be filled where sentences begin, and empty elsewhere: write "
            "empty lines instead, and leave this column out."
        )
    if starts and not marked:
        raise ValueError(
            "source must have words, but its first column is empty, as where lines begin with a "
            "tab: leave it out by columns=, for instance columns=(None, 'word', 'label')."
        )
    numbers = [start for start in starts if is_number(start)]
    ranges = [start for start in starts if is_range(start)]
    counted = len(numbers) > len(ranges) > 0 and all(
        re.fullmatch(r"\d+([-.]\d+)?", start) for start in starts
    )
    if counted and names[0] != "id":
        raise ValueError(
            f"source seems to number its words in the first column, with ranges as {ranges[0]!r}, "
            f"which stand for words that follow singly, but columns call it {names[0]!r}: name it "
            "'id', so that such lines are skipped."
        )


def _refuse_header(rows: list[dict], names: tuple) -> None:
    """Raise where the first line names the columns, or the first column holds labels of spans."""
    first = [value.casefold() for value in rows[0].values()]
    tags = [row["label"] for row in rows] if "label" in rows[0] else []
    # No label of a span, above labels that are.
    named = _are_spans(tags[1:]) and tags[0] not in tags[1:] and not _is_span(tags[0])
    if tags and (set(first) <= _HEADERS or named):
        raise ValueError(
            f"source must have no header, but its first line seems to be one, {first}: pass its "
            "text without that line, text.split('\\n', 1)[1], and name the columns by columns=."
        )
    word, label = (
        [row[name] for row in rows if name in row]
        for name in (next((name for name in names if name), ""), "label")
    )
    if _are_spans(word) and label and not _are_spans(label):
        raise ValueError(
            f"source seems to have the labels, as {word[0]!r}, in the first column, not in the "
            "last one: name the columns by columns=, for instance columns=('label', 'word')."
        )


def _refuse_joined_sentences(sentences: list[list[dict]]) -> None:
    """Raise where words are numbered from the beginning again within a sentence."""
    for rows in sentences:
        for one, row in pairwise(rows):
            ids = one["id"], row["id"]
            if ids[1] in ("0", "1") and ids[0].isdecimal() and int(ids[0]) > int(ids[1]):
                raise ValueError(
                    f"source must have an empty line after each sentence, but the 'id' {ids[1]} "
                    f"follows {ids[0]} without one."
                )


def _refuse_other_columns(sentences: list[list[dict]], *, tabs: bool) -> None:
    """Raise where columns by default are not as they are called: numbers of words, or labels."""
    name, *others, _ = sentences[0][0]
    numbers = [[row[name] for row in rows] for rows in sentences]
    if others and _number_sentences(list(chain.from_iterable(numbers))):
        hint = ""
        if len(sentences) == 1:
            hint = " Write an empty line after each, too: there is a single sentence."
        raise ValueError(
            f"source seems to number its sentences in the first column, {numbers[0][0]!r} to "
            f"{numbers[-1][-1]!r}: name the columns by columns=, for instance columns=(None, "
            f"'word', 'label').{hint}"
        )
    if max(map(len, numbers)) > 1 and all(_count_on(ids) for ids in numbers):
        raise ValueError(
            f"source seems to number its words in the first column, {numbers[0][:2]}: name the "
            "columns by columns=, for instance columns=('id', 'word', 'label'), None for one that "
            "is left out."
        )
    rows = [row for rows in sentences for row in rows]
    labels = [row["label"] for row in rows]
    for mark, what in ((",", "fields"), ("/", "words and labels")):
        cells = labels if mark == "," else [cell for row in rows for cell in row.values()]
        # After a tab a label may have parts, as those of MeCab.
        if not tabs and all(re.fullmatch(f".+{mark}.+", cell) for cell in cells):
            raise ValueError(
                f"source must have its fields divided by tabs or blanks, but {mark!r} seems to "
                f"divide {what}, as in {cells[0]!r}: write a line for each word, with a tab in the "
                f"place of {mark!r}; or name the columns by columns=."
            )
    for place, other in enumerate(others, start=2):
        spans = [row[other] for row in rows]
        if _are_spans(spans) and set(labels) != {"O"} and not _are_spans(labels):
            raise ValueError(
                f"source seems to have the labels, as {spans[0]!r}, in column {place} of "
                f"{len(others) + 2}, not in the last one, {labels[0]!r}: name the columns by "
                "columns=, for instance columns=('word', 'label', None)."
            )


def _number_sentences(ids: list[str]) -> bool:
    """Whether all are whole numbers, or end in one, that stay or rise by one, and most stay."""
    # Or with a word in front, as "Sentence: 1".
    found = [re.fullmatch(r"(\D*)(\d+)", name) for name in ids]
    if not all(found) or len({one[1] for one in found if one}) > 1:
        return False
    steps = [int(b[2]) - int(a[2]) for a, b in pairwise(found) if a and b]
    return set(steps) == {0, 1} and 2 * sum(steps) <= len(steps)


def _count_on(ids: list[str]) -> bool:
    """Whether each is a whole number, one more than the last, or the first one again."""
    if not all(number.isdecimal() for number in ids):
        return False
    numbers = list(map(int, ids))
    return all(b == a + 1 or (b == numbers[0] and a > b) for a, b in pairwise(numbers))


def _are_spans(labels: list[str]) -> bool:
    """Whether all labels are those of spans, and not all of them "O"."""
    return any(label != "O" for label in labels) and all(map(_is_span, labels))


def _is_span(label: str) -> bool:
    """Whether a label is that of a span, or of what is outside of spans."""
    return label == "O" or (label[:2] in {"B-", "I-", "E-", "S-", "L-", "U-"} and label[2:] != "")


def _text(source, encoding: str) -> str:
    """Return the text of a source."""
    given = _read(source, encoding)
    if isinstance(given, str):
        return given
    # How files that are compressed begin, and what opens them.
    packed = {
        b"\x1f\x8b": "gzip.open(source, 'rt', encoding='utf-8')",
        b"BZh": "bz2.open(source, 'rt', encoding='utf-8')",
        b"\xfd7zXZ": "lzma.open(source, 'rt', encoding='utf-8')",
        b"PK\x03\x04": "zipfile.ZipFile(source).read(name).decode('utf-8')",
    }
    for mark, call in packed.items():
        if given.startswith(mark):
            raise ValueError(
                f"source must be text in encoding={encoding!r}, but it is compressed: pass {call}."
            )
    try:
        text = given.decode(encoding)
    except LookupError as error:
        raise ValueError(f"encoding must be one that Python knows, got {encoding!r}.") from error
    except UnicodeError as error:
        raise ValueError(
            f"source must be in encoding={encoding!r}, but it is not: {error}. {_hint(given)}"
        ) from error
    if given.startswith(b"\xef\xbb\xbf") and text.startswith("\u00ef"):
        raise ValueError(
            f"source must be in encoding={encoding!r}, but it has the mark of encoding='utf-8'."
        )
    return text


def _hint(given: bytes) -> str:
    """Return in what encoding bytes may be."""
    for mark, name in (
        (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):  # fmt: skip
        if given.startswith(mark):
            return f"It has the mark of encoding={name!r}."
    try:
        given.decode("utf-8")
    except UnicodeDecodeError:
        # In Latin-1 the bytes from 128 to 159 are no letters.
        windows = any(0x80 <= byte < 0xA0 for byte in given)
        other = "cp1252" if windows else "latin-1"
    else:
        other = "utf-8"
    return f"Name another, for instance encoding={other!r}."


def _refuse_other_files(text: str) -> None:
    """Raise where a text is of another kind, which may be read as words and labels all the same."""
    first = text.lstrip().split("\n", 1)[0].strip()
    what = ""
    if "\0" in text:
        what = "characters NUL, as text of 16 bits has: name its encoding, as encoding='utf-16-le'"
    elif re.match(r"<(!doctype|\?xml|html)\b", first, re.IGNORECASE):
        what = "a page of HTML or XML: save the file itself, not the page that shows it"
    elif first.startswith("version https://git-lfs"):
        what = "a pointer of Git LFS in place of the file: fetch it, git lfs pull"
    elif re.match(r"""[\[{]+ *["']\w+["'] *:|\[ *".*" *\],?$""", first):
        what = (
            "JSON: read it with the json module, and make a list of words and one of labels for "
            "each sentence, for instance [[{'word': word} for word in row['tokens']] for row in "
            "rows]"
        )
    if what:
        raise ValueError(f"source must hold tagged words in columns, got {what}.")


def _read(source, encoding: str) -> str | bytes:
    """Return the text of a source, or the bytes of a file."""
    if hasattr(source, "read"):
        return _of_file(source)
    if isinstance(source, str) and ("\n" in source or "\r" in source):
        return source
    if isinstance(source, str) and not source.strip():
        raise ValueError("source must be a path or text with line breaks, got no text.")
    if isinstance(source, (str, os.PathLike)):
        if Path(source).is_dir():
            raise ValueError(f"source must be a file, got the folder {os.fspath(source)!r}.")
        try:
            # As bytes, for breaks of lines as they are.
            return Path(source).read_bytes()
        except FileNotFoundError as error:
            raise FileNotFoundError(
                error.errno, "source must be a file or text with a line break, got no such file",
                os.fspath(source),
            ) from error  # fmt: skip
    hint = ""
    if isinstance(source, bytes):
        hint = f": pass source.decode({encoding!r})"
    elif isinstance(source, list | tuple):
        hint = ": pass '\\n'.join(source)"
    raise ValueError(
        "source must be a path, an open file or text with line breaks, got "
        f"{type(source).__name__}{hint}."
    )


def _of_file(file) -> str | bytes:
    """Return what an open file holds."""
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"source must be in encoding={error.encoding!r}, but it is not: {error}. "
            f"{_hint(error.object)}"
        ) from error


def _checked(columns) -> tuple | None:
    """Return the names of the columns, if they are given."""
    if columns is None:
        return None
    unordered = isinstance(columns, set | frozenset | Mapping)
    try:
        names = () if isinstance(columns, (str, bytes)) else tuple(columns)
    except TypeError:
        names = (columns,)
    if (
        isinstance(columns, (str, bytes))
        or unordered
        or not all(name is None or isinstance(name, str) for name in names)
    ):
        raise TypeError(
            "columns must be a sequence of names, None for a column that is left out, got "
            f"{columns!r}."
        )
    if "label" not in names:
        alike = [name for name in names if name and name.strip().casefold() in ("label", "labels")]
        if alike:
            raise ValueError(
                f"columns must call what is to be learned 'label', got {alike[0]!r}, which would "
                "be a feature of the words."
            )
    twice = {name for name in names if name and names.count(name) > 1}
    if twice:
        raise ValueError(f"columns must have a name for each column, got {twice} more than once.")
    return names


def _fields(line: str) -> list[str]:
    if "\t" in line:
        return [field.strip(" ") for field in line.split("\t")]
    return [field for field in line.split(" ") if field]


def _is_break(fields: list[str]) -> bool:
    """Whether a line with these fields stands between sentences."""
    return not any(field.strip() for field in fields) or fields[0].startswith("-DOCSTART-")


def _names_by_default(lines: list[str]) -> tuple[str, ...]:
    """Return names of the columns, by the first line that is a token for certain."""
    for number, line in enumerate(lines, start=1):
        fields = _fields(line)
        if _is_break(fields) or line.startswith("#"):
            continue
        if len(fields) not in _COLUMNS:
            marks = [mark for mark in ",;|" if mark in line]
            if marks and len(fields) == 1:
                raise ValueError(
                    f"line {number} of source has one field, as fields are divided by tabs or "
                    f"blanks, not by {marks[0]!r}: read the file with pandas.read_csv(file, "
                    f"sep={marks[0]!r})."
                )
            if len(fields) == 1:
                raise ValueError(
                    f"line {number} of source has one field, {line!r}, but a line must hold a word "
                    "and its label, divided by a tab or blanks: leave other lines out, or pass "
                    "columns=('word',) if there are no labels."
                )
            raise ValueError(
                f"line {number} of source has {len(fields)} fields: name them by columns=, for "
                "instance columns=('id', 'word', None, 'label')."
            )
        return _COLUMNS[len(fields)]
    raise ValueError("source must hold at least one sentence, got none.")
