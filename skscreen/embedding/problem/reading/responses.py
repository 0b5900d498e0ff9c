"""What y says: which of the options of each trial was chosen."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d

from skscreen.core.inputs import bare_file
from skscreen.embedding.problem.reading.objects import find, plain, what_differs
from skscreen.embedding.problem.reading.table import (
    CODES,
    Table,
    are_numbers,
    as_cells,
    as_written,
    read_numbers,
    read_table,
)
from skscreen.fitting.warning import warn_user


class Choices(NamedTuple):
    """Which option was chosen."""

    rows: np.ndarray | None  # (m,), int: of the table; None where these are all in their order
    options: np.ndarray  # (m,), int: columns that were chosen
    weights: np.ndarray | None = None  # (m,): numbers of answers


class Unreadable(ValueError):
    """y cannot be read in one way."""


def read_choices(
    y: Any, table: Table, options: list[int], response: str,
    readings: tuple[str, ...] | None = None, *, zero_is_no: bool = True,
) -> tuple[Choices, str]:  # fmt: skip
    """Return the choices between columns (first ones of pairs) that y holds, and its reading."""
    # "auto" tries `readings`, and takes what one of them can read, or all in the same way. It warns
    # of 0 and 1 unless it is known that 0 is "no", not the first of two options.
    values = _one_column(y)
    if values is None:
        if response not in ("auto", "count"):
            raise ValueError(f"y must be one column for response={response!r}.")
        return _votes(y, table, options), "count"
    if len(values) != len(table.codes):
        raise ValueError(
            f"y must have one response or choice for each of the {len(table.codes)} rows of X, got "
            f"{len(values)}."
        )
    said = read_table(values, input_name="y")
    if not are_numbers(said.names) and not set(said.names.tolist()) & {*table.labels, *table.names}:
        written = as_written(said.names)
        if not np.isnan(written).any():
            said = read_table(written[said.codes], input_name="y")
    if response != "auto":
        return _as_told(said, table, options, response), response
    if said.names.dtype.kind == "b" and len(options) == 2:
        return _sign(said, table, options), "sign"
    # Of more than two options only these say which one was chosen.
    readings = readings or (tuple(READINGS) if len(options) == 2 else ("position", "chosen"))
    found, reasons = _tried(readings, said, table, options)
    if not found:
        # With scikit-learn's words for a y that is of no use.
        raise ValueError(
            f"Unknown label type: y cannot be read. {' '.join(reasons)}"
            f"{_hint_of_codes(said, table, options)}"
        )
    if list(found) == ["count"]:
        _refuse_counts(said, table, options, " ".join(reasons))
    if "chosen" in found and _surely_chosen(said, table, options):
        return found["chosen"], "chosen"
    if list(found) == ["sign"] and 0 in said.names and not zero_is_no:
        # No error: the checks that scikit-learn has for all estimators pass labels of 0 and 1.
        warn_user(
            "y holds 0 and 1, and 1 is taken to say that an answer is as its row of X says "
            "(response='sign'). Pass y == 0 if 0 says so, as where it is the first of two options, "
            "of which 1 is the second."
        )
    first, *others = found.values()
    if not all(_same(first, other) for other in others):
        calls = ", or ".join(f"response={name!r} if it holds {MEANINGS[name]}" for name in found)
        raise ValueError(f"y can be read in {len(found)} ways: pass {calls}.")
    return first, "auto" if others else next(iter(found))


def _tried(
    readings: Iterable[str], y: Table, table: Table, options: list[int]
) -> tuple[dict[str, Choices], list[str]]:
    """Return what y says in each of the readings that are possible, and why others are not."""
    found, reasons = {}, []
    for name in readings:
        try:
            found[name] = READINGS[name](y, table, options)
        except Unreadable as error:
            reasons.append(f"With response={name!r}: {error}")
    return found, reasons


def _as_told(y: Table, table: Table, options: list[int], response: str) -> Choices:
    """Read y as the user says, or as the fit did."""
    try:
        return READINGS[response](y, table, options)
    except Unreadable as error:
        found, _ = _tried(sorted(READINGS.keys() - {response}), y, table, options)
        others = [f"response={name!r}, {MEANINGS[name]}" for name in found]
        known = f" It can be with {', or with '.join(others)}."
        hint = known if others else _hint_of_codes(y, table, options)
        raise ValueError(
            f"y cannot be read with response={response!r}, given or found by fit: {error}{hint}"
        ) from None


def _refuse_counts(y: Table, table: Table, options: list[int], reasons: str) -> None:
    """Raise where what can be read as counts only is rather a choice."""
    what, values = "", y.names[y.codes[:, 0]]
    coded = np.isin(np.abs(values), CODES)
    # A code in fewer rows than these may stand for a missing answer.
    few = 0.2
    said = set(values[~coded].tolist())
    if np.mean(coded | (values == -1)) < few and said - {-1} != {1}:
        said -= {-1}
    pairs = _are_pairs(table, options)
    if not pairs and _matches(y, table, options).any(axis=1).mean() > 0.9:
        # A few choices that were not shown do not make counts of objects.
        what = "objects"
    elif len(said) > 1 and min(said) > 0.0:
        # None is for the reverse. Of more values those that may be codes may be some of a scale.
        said = said if len(said) == 2 else {*said, *values[values > 0.0].tolist()}
        codes = [f"{value:g}" for value in sorted(said)]
        middle = f"{0.5 * (min(said) + max(said)):g}"
        what = (
            f"codes, or ratings between two options, from {codes[0]} to {codes[-1]}: none is below "
            f"0. Of ratings pass y - {middle} if high ones say that an answer is as its row of X "
            f"says, {middle} - y if low ones do, without rows where it is 0"
        )
        if len(codes) == 2:
            what = (
                f"codes of two options, {codes[0]} and {codes[1]} (pass y == {codes[0]} if "
                f"{codes[0]} says that an answer is as its row of X says, y == {codes[1]} if "
                f"{codes[1]} does)"
            )
    elif said <= {1, -1} and 0.0 < coded.mean() < few:
        what = "1 and -1"
    if what:
        if others := [str(name) for name in y.names.tolist() if name not in said]:
            what += f", and {', '.join(others)} where the answer is missing"
        raise ValueError(
            f"y can be read as counts, but seems to hold {what}. {reasons} If y holds counts, pass "
            "response='count'."
        )


def _hint_of_codes(y: Table, table: Table, options: list[int]) -> str:
    """Say what to pass if y holds codes of the options, or here and there of no answer."""
    labels = [table.labels[option] for option in options]
    said = y.codes[:, 0]
    kinds: list = [labels, options]
    if len(options) == 2:
        kinds += [[1, -1], [0, 1], [True, False]]
    read = [np.array([name in kind for name in y.names.tolist()])[said] for kind in kinds]
    read.append(_matches(y, table, options).sum(axis=1) == 1)
    best = max(read, key=np.mean)
    if 0.8 < np.mean(best) < 1.0:
        other = y.names.tolist()[said[np.argmin(best)]]
        return (
            f" y is {other!r} in row {int(np.argmin(best))}, and {np.count_nonzero(~best)} of "
            f"{len(said)} rows in all are unlike the others: if there is no answer in these, leave "
            "them out of X and y."
        )
    codes = y.names.tolist()
    if len(codes) != len(options) or best.any():
        return ""
    if len(codes) == 2:
        return (
            f" If it holds codes of two options, pass y == {codes[0]!r} if {codes[0]!r} says that "
            f"an answer is as its row of X says, y == {codes[1]!r} if {codes[1]!r} does."
        )
    # Which code is which column nobody can tell: an order of ours, if copied, gives a wrong map.
    places = ", ".join(f"{code!r}: ?" for code in codes)
    shown = ", ".join(map(str, options))
    return (
        f" If it holds codes of columns, pass their numbers, pandas.Series(y).map({{{places}}}) "
        f"with {shown} in the places of the question marks."
    )


def _surely_chosen(y: Table, table: Table, options: list[int]) -> bool:
    """Whether by chance, once in a million, all rows would name an object that they show."""
    shares = np.zeros(len(table.names) + 1)
    np.add.at(shares, find(y.names, table.names)[y.codes[:, 0]], 1.0 / len(y.codes))
    by_chance = shares[table.codes[:, options]].sum(axis=1)
    return bool(np.log(np.minimum(by_chance, 1.0)).sum() < np.log(1e-6))


def _one_column(y):
    """Return rows of one response each, or None where there are several columns."""
    if not isinstance(y, list | tuple) and np.asarray(y).ndim == 0:
        raise ValueError(
            f"y should be a 1d array with a response for each row of X, got {_what(y)}. Where the "
            "same column holds the odd one, or the object compared with, in all rows, pass it as "
            "odd or pivot."
        )
    if isinstance(y, list | tuple) and not any(isinstance(one, list | np.ndarray) for one in y):
        return [[value] for value in y]
    try:
        y = as_cells(y)
    except ValueError:
        raise ValueError("y must have one response for each row, or votes in columns.") from None
    return None if y.ndim == 2 and y.shape[1] > 1 else column_or_1d(y, warn=True)[:, None]


def _what(y) -> str:
    """Say what stands in the place of responses, and what to pass if it holds them."""
    if isinstance(y, str):
        return f"{y!r}: pass X[{y!r}] if this is the column of responses"
    if isinstance(y, Mapping):
        return f"{type(y).__name__}: pass list(y.values())"
    if hasattr(y, "toarray"):
        return f"{type(y).__name__}: pass y.toarray()"
    if isinstance(y, Iterator):
        return f"{type(y).__name__}: pass list(y)"
    return repr(y)


def _position(y: Table, table: Table, options: list[int]) -> Choices:
    names, labels = y.names.tolist(), table.labels
    numbers = names if y.names.dtype.kind in "iu" else []
    ways = [numbers] if numbers and set(numbers) <= set(options) else []
    # True and False equal 1 and 0.
    if y.names.dtype.kind != "b" and set(names) <= {labels[option] for option in options}:
        ways.append([labels.index(name) for name in names])
    shown = ", ".join(map(str, options))
    if labels != list(range(len(labels))):
        shown += f", or their labels {', '.join(repr(labels[option]) for option in options)}"
    if not ways:
        hint = ""
        if set(numbers) == {0, 1} and len(options) == 2:
            hint = ": pass y + 1 if 0 is the first of them"
        elif numbers and numbers[0] == 1 and set(numbers) <= {option + 1 for option in options}:
            hint = f"; got 1 to {numbers[-1]}: pass y - 1 if columns are counted from 1"
        raise Unreadable(f"y must hold columns of X that can be chosen, {shown}{hint}.")
    if ways[-1] != ways[0]:
        raise Unreadable(
            f"y must say which columns of X were chosen, {shown}, but its numbers may be either: "
            "pass the chosen objects, or give the columns of X names."
        )
    return Choices(None, np.array(ways[0])[y.codes[:, 0]])


def _chosen(y: Table, table: Table, options: list[int]) -> Choices:
    if _are_pairs(table, options):
        raise Unreadable("rows are two pairs, of which y says the one.")
    matches = _matches(y, table, options)
    wrong = matches.sum(axis=1) != 1
    if wrong.any():
        row, more = int(np.argmax(wrong)), int(np.count_nonzero(wrong)) - 1
        shown = table.names[table.codes[row, options]].tolist()
        said = y.names.tolist()[y.codes[row, 0]]
        hint, bare = _other_loss(y, table, options), [*map(bare_file, shown)]
        if said not in shown and plain(said) in (plains := [*map(plain, shown)]):
            like = shown[plains.index(plain(said))]
            hint = f" They differ in {what_differs(like, said)}." + hint
        elif isinstance(said, str) and said not in shown and bare_file(said) in bare:
            hint = (
                " They differ in the folder or the ending of a file only: write both alike, "
                "pathlib.PurePath(name).stem for each name in X and y." + hint
            )
        raise Unreadable(
            "y must name one of the objects that can be chosen in its row of X, which names each "
            f"once; row {row} has {shown} and y {said!r}{f', as {more} rows more' * (more > 0)}."
            f"{hint}"
        )
    return Choices(None, np.array(options)[matches.argmax(axis=1)])


def _matches(y: Table, table: Table, options: list[int]) -> np.ndarray:
    """Which options of each row are the object that y names."""
    return table.codes[:, options] == find(y.names, table.names)[y.codes]


def _other_loss(y: Table, table: Table, options: list[int]) -> str:
    """Say what reads y if it names any of three objects, not only of those nearer or further."""
    every = [0, 1, 2]
    if table.codes.shape[1] != 3 or options == every:
        return ""
    named = np.all(_matches(y, table, every).sum(axis=1) == 1)
    hint = " Where y is the odd one of three, OrdinalEmbedding(loss='oddoneout') reads it."
    return hint * bool(named)


def _sign(y: Table, table: Table, options: list[int]) -> Choices:
    _check_two(options)
    said = set(y.names.tolist()) if y.names.dtype.kind in "biu" else {None}
    if not (said <= {-1, 1} or said <= {0, 1}):
        raise Unreadable("y must be booleans, 1 and -1, or 1 and 0.")
    return Choices(None, np.where((y.names > 0)[y.codes[:, 0]], *options))


def _count(y: Table, table: Table, options: list[int]) -> Choices:
    _check_two(options)
    if not are_numbers(y.names):
        raise Unreadable("y must hold numbers.")
    counts = y.names.astype(np.float64)[y.codes[:, 0]]
    if not counts.all():
        raise Unreadable(
            f"y must not hold 0, as in row {int(np.argmin(counts != 0.0))}: undecided answers have "
            "no order. Leave those rows out."
        )
    weights = None if np.all(np.abs(counts) == 1.0) else np.abs(counts)
    return Choices(None, np.where(counts > 0.0, *options), weights)


def _votes(y, table: Table, options: list[int]) -> Choices:
    """Votes for each option."""
    labels = [table.labels[option] for option in options]
    refuse_other_order(y, labels, "y")
    votes = read_numbers(y, labels)
    shape = len(table.codes), len(options)
    expected = (
        f"y must be one column of responses, or votes, finite numbers >= 0 in {shape[0]} rows and "
        f"a column for each of the {shape[1]} objects that could be chosen"
    )
    if votes is None or votes.shape != shape:
        raise ValueError(f"{expected}.")
    # Written such that NaN is out of range.
    wrong = np.argwhere(~((votes >= 0.0) & (votes < np.inf)))
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"{expected}, got {votes[row, column]:g} in row {row}, column {labels[column]!r}."
        )
    rows, columns = np.nonzero(votes)
    if not len(rows):
        raise ValueError("y must have at least one of the votes, got zeros only.")
    return Choices(rows, np.array(options)[columns], votes[rows, columns])


def refuse_other_order(values: Any, labels: list, input_name: str) -> None:
    """Raise where columns of votes or ranks are called as those of objects in another order are."""
    given = list(getattr(values, "columns", []))
    known = set(given) == set(labels) or len(given) != len(labels)
    if known or not all(isinstance(one, str) for one in (*given, *labels)):
        return
    own, others = _distinctive(labels), _distinctive(given)
    if sorted(own) == sorted(others) and len(set(own)) == len(own) and own != others:
        order = [given[others.index(word)] for word in own]
        _refuse_order(input_name, labels, given, order)
    for alike in (_is_a_word, _shares_word, _shares_numbers):
        places = []
        for label in labels:
            like = [k for k, word in enumerate(given) if alike(label, word)]
            places += like if len(like) == 1 else []
        if sorted(places) == list(range(len(given))) and places != sorted(places):
            _refuse_order(input_name, labels, given, [given[place] for place in places])


def _refuse_order(input_name: str, labels: list, given: list, order: list) -> None:
    raise ValueError(
        f"{input_name} must have its columns in the order of the objects, {labels}; got {given}. "
        f"Pass {input_name}[{order}]."
    )


def _distinctive(labels: list[str]) -> list[str]:
    """Return labels without what all begin or end with, as "a" and "b" of "rank_a" and "rank_b"."""
    words = [label.casefold() for label in labels]
    start = _shared(words)
    end = min(_shared([word[::-1] for word in words]), min(map(len, words)) - start)
    return [word[start : len(word) - end] for word in words]


def _shared(words: list[str]) -> int:
    """Return how many letters all words begin with."""
    places = zip(*words, strict=False)
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, places))


def _is_a_word(label: str, word: str) -> bool:
    """Whether a label is one of the words of another, "a" of "rank_a" or "votes A"."""
    return label.casefold() in re.split(r"[\W_]+", word.casefold())


def _shares_word(label: str, word: str) -> bool:
    """Whether a label is part of a word, "first" of "votes_first", or begins with it."""
    label, word = label.casefold(), word.casefold()
    return label in word or label.startswith(word)


def _shares_numbers(label: str, word: str) -> bool:
    """Whether the numbers in a label are those in a word, as in "c2" and "rank2"."""
    numbers = re.findall(r"\d+", label)
    return bool(numbers) and numbers == re.findall(r"\d+", word)


# The readings of y that can be asked for, and what each takes.
READINGS = {"position": _position, "chosen": _chosen, "sign": _sign, "count": _count}
MEANINGS = {
    "position": "columns of X that were chosen, counted from 0 or by label",
    "chosen": "the objects that were chosen",
    "sign": "True or 1 where an answer is as its row says, False, -1 or 0 where it is the reverse",
    "count": "numbers of answers, negative for the reverse",
}
# Values of the parameter `response`.
RESPONSES = {"auto", *READINGS}


def check_response(response: Any) -> str:
    """Return a value of the parameter `response`, or raise for another one."""
    if not isinstance(response, str) or response not in RESPONSES:
        raise ValueError(f"response must be one of {sorted(RESPONSES)}, got {response!r}.")
    return response


def _are_pairs(table: Table, options: list[int]) -> bool:
    return table.codes.shape[1] == 4 and options == [0, 2]


def _check_two(options: list[int]) -> None:
    if len(options) != 2:
        raise Unreadable(f"a row has {len(options)} options, not two: y may hold votes for each.")


def _same(one, other) -> bool:
    """Whether two readings give the same answers."""
    return all(map(np.array_equal, one, other))
