"""What was chosen in each row of a table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple, Self

import numpy as np

from skscreen.answers.cells import check_shown, left_out_rows, placed, rows_without
from skscreen.answers.table import Column, Table
from skscreen.core.checks import ColumnLike


class Shown(NamedTuple):
    """Which objects each row of a table shows."""

    kind: str
    labels: list  # of the columns of objects
    options: list[int]  # which of these columns can be chosen
    places: np.ndarray  # (n_rows, n_columns), places in `names`, -1 where a cell is empty
    names: list
    out: np.ndarray  # (n_rows,): which rows hold no answer; filled while they are read

    def by_names(self, known: list) -> Self:
        """Return the same with places among other names, which must have all that are shown."""
        places = placed(self.places, self.names, known, self.out)
        return self._replace(places=places, names=known)


class Chosen(NamedTuple):
    """What was chosen: one option in each row or several, or votes for all of them."""

    picks: list[np.ndarray]  # of shape (n_rows,), columns of `places`
    votes: np.ndarray | None = None  # (n_rows, n_options)


def what_was_chosen(
    source: Table, shown: Shown, chosen: ColumnLike, response: str | Mapping, skip: set
) -> Chosen:
    """Read what was chosen; rows without an answer, for which values of `skip` stand, are noted."""
    if chosen is None:
        if None not in skip:
            check_shown(shown.places, shown.labels, shown.out)
        if skip:
            shown.out[:] |= rows_without(shown.places, shown.names, skip, shown.out)
        return Chosen([np.full(source.n_rows, shown.options[0])])
    if isinstance(response, str) and response == "count":
        return Chosen([], _counts(_votes(chosen, source, shown), skip, shown))
    several = _several(chosen) if shown.kind == "choices" else [chosen]
    if not several:
        raise ValueError(f"chosen must name at least one column, got {chosen!r}.")
    said = [source.given(one, "chosen") for one in several]
    for column in said:
        shown.out[:] |= left_out_rows(column, skip, shown.out, "chosen")
    codes = None if isinstance(response, str) else _codes(response, shown.labels, shown.options)
    return Chosen([_picks(column, response, codes, shown) for column in said])


def _several(chosen: ColumnLike) -> list:
    """Return the columns of `chosen`."""
    if isinstance(chosen, np.ndarray) and chosen.ndim == 2:
        return list(chosen.T)
    return chosen if isinstance(chosen, list) else [chosen]


def _votes(chosen: ColumnLike, source: Table, shown: Shown) -> list[Column]:
    """Return the columns of votes, one for each option."""
    several, count = _several(chosen), len(shown.options)
    if len(several) != count:
        raise ValueError(
            f"chosen must be a list of {count} columns, the votes for each option, with "
            f"response='count', got {chosen!r}."
        )
    return [source.given(one, "chosen") for one in several]


def _counts(columns: list[Column], skip: set, shown: Shown) -> np.ndarray:
    """Return the votes, (n_rows, n_options); notes the rows without them as left out."""
    # Options that are not shown need none.
    hidden = shown.places[:, shown.options] < 0
    none = np.zeros_like(hidden)
    for k, column in enumerate(columns):
        none[:, k] = left_out_rows(column, skip, shown.out | hidden[:, k], "chosen")
        shown.out[:] |= none[:, k] & ~hidden[:, k]
    votes = np.stack(
        [c.numbers("chosen", shown.out | no) for c, no in zip(columns, none.T, strict=True)], axis=1
    )
    votes[none] = 0.0
    wrong = ((votes < 0.0) | ((votes > 0.0) & hidden)) & ~shown.out[:, None]
    if wrong.any():
        row, k = np.argwhere(wrong)[0]
        label = shown.labels[shown.options[k]]
        raise ValueError(
            "chosen must hold counts >= 0 with response='count', and none for options that are not "
            f"shown, got {votes[row, k]:g} for {label!r} in row {row}."
        )
    return votes


def _codes(response: Mapping, labels: list, options: list[int]) -> dict:
    """Return the option of each code."""
    codes = {}
    for code, label in response.items():
        if isinstance(label, bool | np.bool_) and len(options) == 2:
            codes[code] = options[0 if label else 1]
            continue
        at = [k for k in options if isinstance(label, Hashable) and labels[k] == label]
        if isinstance(label, bool | np.bool_) or not at:
            raise ValueError(
                f"response must lead from codes to the options {[labels[k] for k in options]}, got "
                f"{code!r}: {label!r}."
            )
        codes[code] = at[0]
    if len(set(codes.values())) < 2:
        raise ValueError(f"response must lead to two or more of the options, got {response!r}.")
    return codes


def _picks(column: Column, response: str | Mapping, codes: dict | None, shown: Shown) -> np.ndarray:
    """Return the column that was chosen in each row; any one where it is left out."""
    names, options, places = shown.names, shown.options, shown.places
    if codes is None and response == "object":
        place = {name: k for k, name in enumerate(names)}
        wanted = column.mapped([place.get(name, -1) for name in column.names])
        hits = (places[:, options] == wanted[:, None]) & (wanted >= 0)[:, None]
        picks = np.where(hits.any(axis=1), np.array(options)[hits.argmax(axis=1)], -1)
    else:
        if codes is None and response == "sign" and len(options) != 2:
            raise ValueError(f"response must not be 'sign' with {len(options)} options.")
        picks = column.mapped([_option(name, response, codes, options) for name in column.names])
    wrong = (picks < 0) & ~shown.out
    # An option of a choice that was not shown.
    wrong |= (places[np.arange(len(places)), picks] < 0) & ~shown.out
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"chosen is {column.value(row)!r} in row {row}, where response={response!r} accepts "
            f"{_accepted(response, codes, places[row], names, options)} (columns "
            f"{[shown.labels[k] for k in options]}){_of_the_head(column.value(row), shown, row)}."
        )
    return np.where(shown.out, options[0], picks)


def _of_the_head(value: Hashable, shown: Shown, row: int) -> str:
    """Return which kinds accept the head of a triplet, if it was chosen."""
    head = shown.places[row, 0]
    if shown.kind != "triplets" or head < 0 or shown.names[head] != value:
        return ""
    return (
        f"; it is in the first column, {shown.labels[0]!r}, which kind='oddoneout' and "
        "kind='mostcentral' accept, too"
    )


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
