"""The reader of answers: what is declared is checked, nothing is inferred from the values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from skscreen.answers.answers import OPPOSITE, Answers, array_of
from skscreen.answers.cells import (
    check_shown,
    declared_columns,
    given_names,
    left_out_rows,
    missing_values,
    placed,
    row_groups,
    row_weights,
    rows_without,
    sorted_names,
)
from skscreen.answers.compare import compare, compare_several, options_of, says_nothing
from skscreen.answers.table import Column, Table
from skscreen.core.checks import ColumnLike, TableLike

# Columns of objects by kind; of choices three or more.
WIDTHS = {
    "triplets": 3, "quadruplets": 4, "oddoneout": 3, "mostcentral": 3, "choices": None, "paired": 2,
}  # fmt: skip
RESPONSES = ("object", "position", "sign", "count")
# Without what was chosen, rows of these kinds say nothing.
_NEED_CHOSEN = ("oddoneout", "mostcentral", "choices")


def read_answers(
    table: TableLike, columns: Sequence | None = None, *, kind: str = "triplets",
    chosen: ColumnLike = None, response: str | Mapping = "object", asked: str = "similar",
    ranked: bool = False, objects: ArrayLike | None = None, groups: ColumnLike = None,
    weights: ColumnLike = None, missing: Iterable = (),
) -> Answers:  # fmt: skip
    """Read the answers in a table, as it is said what its columns hold.

    Nothing is guessed from the values: what is declared is checked, and an error names the row.
    Read the second line of ``print(answers)`` beside the first row of the table: it should say what
    the person answered.

    Parameters
    ----------
    table : array-like of shape (n_rows, n_columns), or frame
        A row for each trial. Columns of frames (pandas, polars, Arrow and others) are given by
        label, those of arrays and lists of rows by place, counted from 0.
    columns : list, optional
        Columns that show objects, in the order of `kind`; a tuple of columns is one object that
        several describe. None takes all columns of an array; of a frame they must be given.
        Integers are names as strings are.
    kind : {"triplets", "quadruplets", "oddoneout", "mostcentral", "choices", "paired"}
        What the columns show and an answer says. "triplets" (default): head and two options, the
        chosen option is closer to the head. "quadruplets": a, b, c, d; the chosen pair, (a, b) or
        (c, d), is closer, and is called by its first column. "oddoneout": three objects, the chosen
        one differs from the other two. "mostcentral": three objects, the chosen one is closest to
        both others. "choices": a query and two or more options, empty where not shown; each chosen
        option is closer to the query than those not chosen. "paired": two objects, the chosen one
        has more of it (brighter, louder).
    chosen : label, array-like of shape (n_rows,) or list of these, optional
        The column that says what was chosen, or an array; it may be one of `columns`. A list of
        several for "choices" and for ``response="count"``. None, not for "oddoneout",
        "mostcentral" and "choices": the first option in each row.
    response : {"object", "position", "sign", "count"} or dict, default="object"
        What `chosen` holds. "object": the name of what was chosen. A dict: your own codes, each
        with its column, ``{"f": "left", "j": "right"}``, or with True for "as the row says" and
        False for the reverse. "position": the place in `columns`, counted from 0. "sign": True or
        +1, as the row says; False or -1, the reverse. "count": a column of votes for each option.
    asked : {"similar", "different"}, default="similar"
        "different": what was chosen is less alike. For triplets, quadruplets and choices.
    ranked : bool, default=False
        Whether several chosen options are in order, the first one closest to the query.
    objects : array-like of shape (n_objects,), optional
        Names of all objects, in the order of the rows of a map; other names in the table are an
        error. None takes those that occur, sorted.
    groups : label or array-like of shape (n_rows,), optional
        Column of participants, or of other groups.
    weights : label or array-like of shape (n_rows,), optional
        Column of weights >= 0.
    missing : list, default=()
        Values of `chosen`, or of `columns` where `chosen` is None, that stand for no answer, None
        for every empty cell. Such rows are left out, and counted in `left_out`, as are rows that
        show an object twice.

    Returns
    -------
    Answers

    Raises
    ------
    ValueError, TypeError
        For a declaration that does not fit the table; names the argument, the row and the value.

    Examples
    --------
    >>> from skscreen import read_answers
    >>> table = [["tea", "coffee", "soap", "f"], ["soap", "tea", "foam", "j"]]
    >>> read_answers(table, [0, 1, 2], chosen=3, response={"f": 1, "j": 2})
    2 trials of 4 objects, triplets
    first: 'coffee' is closer to 'tea' than 'soap' is
    objects occur 1 ('coffee') to 2 ('soap') times
    """
    source = Table(table)
    if not isinstance(kind, str) or kind not in WIDTHS:
        raise ValueError(f"kind must be one of {list(WIDTHS)}, got {kind!r}.")
    labels = declared_columns(source, columns, WIDTHS[kind], f"kind={kind!r}")
    options = options_of(kind, len(labels))
    _check_declaration(kind, chosen, response, asked, ranked)
    skip = missing_values(missing)
    shown, names = source.objects(labels)
    out = says_nothing(kind, shown)
    if chosen is None:
        if None not in skip:
            check_shown(shown, labels, out)
        out |= rows_without(shown, names, skip, out)
        votes, picks = None, [np.full(source.n_rows, options[0])]
    elif isinstance(response, str) and response == "count":
        votes = _counts(_several(chosen, source, len(options)), skip, out)
    else:
        said, votes = _said(kind, chosen, source), None
        for column in said:
            out |= left_out_rows(column, skip, out, "chosen")
        codes = None if isinstance(response, str) else _codes(response, labels, options)
        picks = [_picks(one, response, codes, shown, names, options, labels, out) for one in said]
    if out.all():
        raise ValueError(
            f"table has no answer: in all of its {source.n_rows} rows chosen is among missing, or "
            "an object is shown twice."
        )
    if chosen is not None:
        check_shown(shown[:, : 1 if kind == "choices" else len(labels)], labels, out)
    if objects is not None:
        known = given_names(objects)
        shown, names = placed(shown, names, known, out), known
    kept = np.flatnonzero(~out)
    if votes is None:
        if len(kept) < source.n_rows:
            shown, picks = shown[kept], [pick[kept] for pick in picks]
        rows, of = _compared(kind, shown, picks, ranked, kept)
        of, weight = kept[of], None
    else:
        rows, of, weight = _voted(kind, shown[kept], votes[kept], options)
        of = kept[of]
    if asked == "different":
        rows = rows[:, OPPOSITE["triplets" if rows.shape[1] == 3 else "quadruplets"]]
    if weights is not None:
        given = row_weights(source.given(weights, "weights"), out)[of]
        weight = given if weight is None else weight * given
    if weight is not None and not weight.all():
        rows, of, weight = (part[weight > 0.0] for part in (rows, of, weight))
    if not len(rows):
        raise ValueError("table has no answer: no row compares anything with a weight above 0.")
    if objects is None:
        rows, names = sorted_names(rows, names)
    of_trials = None if groups is None else source.given(groups, "groups")
    return _answers(kind, rows, of, weight, names, of_trials, source.n_rows)


def _answers(
    kind: str, rows: np.ndarray, of: np.ndarray, weight: np.ndarray | None, names: list,
    groups: Column | None, n_rows: int,
) -> Answers:  # fmt: skip
    """Return answers of rows of objects; `of` (m,), ascending, are their rows in the table."""
    first = np.append(True, of[1:] != of[:-1])
    counted = of[first]
    left_out = np.ones(n_rows, dtype=bool)
    left_out[counted] = False
    return Answers(
        kind="triplets" if kind in ("mostcentral", "choices") else kind,
        rows=np.ascontiguousarray(rows, dtype=np.int32),
        weights=weight,
        trials=np.cumsum(first) - 1,
        objects=array_of(names),
        groups=None if groups is None else row_groups(groups, counted),
        left_out=np.flatnonzero(left_out),
    )


def _check_declaration(
    kind: str, chosen: ColumnLike, response: str | Mapping, asked: str, ranked: bool
) -> None:
    """Check the arguments that the table has no part in."""
    if not isinstance(response, dict) and not (isinstance(response, str) and response in RESPONSES):
        raise ValueError(f"response must be one of {RESPONSES} or a dict, got {response!r}.")
    if response == "object" and kind == "quadruplets" and chosen is not None:
        raise ValueError("response must not be 'object' of quadruplets, where a pair is chosen.")
    if not isinstance(asked, str) or asked not in ("similar", "different"):
        raise ValueError(f"asked must be 'similar' or 'different', got {asked!r}.")
    if asked == "different" and kind not in ("triplets", "quadruplets", "choices"):
        raise ValueError(f"asked must be 'similar' for kind={kind!r}.")
    if not isinstance(ranked, bool | np.bool_):
        raise ValueError(f"ranked must be True or False, got {ranked!r}.")
    if ranked and kind != "choices":
        raise ValueError(f"ranked must be False for kind={kind!r}: one option is chosen.")
    if chosen is None and kind in _NEED_CHOSEN:
        raise TypeError(f"chosen must say which object was chosen for kind={kind!r}.")


def _said(kind: str, chosen: ColumnLike, source: Table) -> list[Column]:
    """Return the column that says what was chosen, of "choices" one or more."""
    several = _several(chosen, source) if kind == "choices" else [chosen]
    return [source.given(one, "chosen") for one in several]


def _several(chosen: ColumnLike, source: Table, count: int | None = None) -> list:
    """Return the columns of `chosen`, `count` of them, if several are given."""
    if isinstance(chosen, np.ndarray) and chosen.ndim == 2:
        chosen = list(chosen.T)
    several = chosen if isinstance(chosen, list) else [chosen]
    if count is not None and len(several) != count:
        raise ValueError(
            f"chosen must be a list of {count} columns, the votes for each option, with "
            f"response='count', got {chosen!r}."
        )
    return [source.given(one, "chosen") for one in several] if count else several


def _counts(columns: list[Column], skip: set, out: np.ndarray) -> np.ndarray:
    """Return the votes, (n_rows, n_options); changes `out` where there are none."""
    for column in columns:
        out |= left_out_rows(column, skip, out, "chosen")
    votes = np.stack([column.numbers("chosen") for column in columns], axis=1)
    wrong = ~((votes >= 0.0) & (votes < np.inf)) & ~out[:, None]
    if wrong.any():
        row, k = np.argwhere(wrong)[0]
        raise ValueError(
            f"chosen must hold counts >= 0 with response='count', got {votes[row, k]:g} in row "
            f"{row}."
        )
    return votes


def _codes(response: Mapping, labels: list, options: list[int]) -> dict:
    """Return the option of each code."""
    codes = {}
    for code, label in response.items():
        if isinstance(label, bool | np.bool_) and len(options) == 2:
            codes[code] = options[0 if label else 1]
            continue
        at = [k for k in options if labels[k] == label]
        if isinstance(label, bool | np.bool_) or not at:
            raise ValueError(
                f"response must lead from codes to the options {[labels[k] for k in options]}, got "
                f"{code!r}: {label!r}."
            )
        codes[code] = at[0]
    if len(set(codes.values())) < 2:
        raise ValueError(f"response must lead to two or more of the options, got {response!r}.")
    return codes


def _picks(
    column: Column, response: str | Mapping, codes: dict | None, shown: np.ndarray, names: list,
    options: list[int], labels: list, out: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return the column of `shown` that was chosen in each row; any one where it is left out."""
    if codes is None and response == "object":
        place = {name: k for k, name in enumerate(names)}
        wanted = column.mapped([place.get(name, -1) for name in column.names])
        hits = (shown[:, options] == wanted[:, None]) & (wanted >= 0)[:, None]
        picks = np.where(hits.any(axis=1), np.array(options)[hits.argmax(axis=1)], -1)
    else:
        if codes is None and response == "sign" and len(options) != 2:
            raise ValueError(f"response must not be 'sign' with {len(options)} options.")
        picks = column.mapped([_option(name, response, codes, options) for name in column.names])
    wrong = (picks < 0) & ~out
    # An option of a choice that was not shown.
    wrong |= (shown[np.arange(len(shown)), picks] < 0) & ~out
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"chosen is {column.value(row)!r} in row {row}, where response={response!r} accepts "
            f"{_accepted(response, codes, shown[row], names, options)} (columns "
            f"{[labels[k] for k in options]})."
        )
    return np.where(out, options[0], picks)


def _option(
    value: Hashable, response: str | Mapping, codes: dict | None, options: list[int]
) -> int:
    """Return the option that a value stands for, -1 if there is none."""
    if codes is not None:
        return codes.get(value, -1)
    is_bool = isinstance(value, bool)
    if response == "sign":
        if is_bool:
            return options[0 if value else 1]
        signs: dict[Hashable, int] = {1: options[0], -1: options[1]}
        return signs.get(value, -1)
    return int(value) if not is_bool and value in options else -1


def _accepted(
    response: str | Mapping, codes: dict | None, shown: np.ndarray, names: list, options: list[int]
) -> list:
    """Return the values of `chosen` that a row accepts."""
    if codes is not None:
        return list(codes)
    if response == "object":
        return [names[shown[k]] for k in options if shown[k] >= 0]
    return [True, False, 1, -1] if response == "sign" else options


def _compared(
    kind: str, shown: np.ndarray, picks: list[np.ndarray], ranked: bool, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of objects and the trials that they are from; `kept` are rows of the table."""
    if kind != "choices":
        return compare(kind, shown, picks[0])
    chosen = np.stack(picks, axis=1)
    ordered = np.sort(chosen, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if twice.any():
        row = kept[twice.argmax()]
        raise ValueError(f"chosen must name different options, but names one twice in row {row}.")
    return compare_several(shown, chosen, bool(ranked))


def _voted(
    kind: str, shown: np.ndarray, votes: np.ndarray, options: list[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows for all options with votes, their trials and numbers of votes."""
    parts = []
    for k, option in enumerate(options):
        voted = np.flatnonzero(votes[:, k] > 0.0)
        rows, of = compare(kind, shown[voted], np.full(len(voted), option))
        parts.append((rows, voted[of], votes[voted[of], k]))
    rows, of, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(of, kind="stable")
    return rows[order], of[order], weight[order]
