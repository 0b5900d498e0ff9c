"""The reader of answers: what is declared is checked, nothing is inferred from the values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from skscreen.answers.answers import OPPOSITE, Answers, array_of
from skscreen.answers.cells import (
    check_shown,
    declared_columns,
    given_names,
    missing_values,
    row_groups,
    row_weights,
    sorted_names,
)
from skscreen.answers.chosen import Chosen, Shown, what_was_chosen
from skscreen.answers.compare import compare, compare_several, options_of, says_nothing
from skscreen.answers.table import Table
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
    """Read the answers in a table, whose columns you declare.

    Nothing is guessed from the values: the declaration is checked, and an error names the row.
    Compare the second line of ``print(answers)`` with the first row of the table: the line should
    say what the person answered.

    Parameters
    ----------
    table : array-like of shape (n_rows, n_columns), or frame
        A row for each trial. Columns of frames (pandas, polars, Arrow and others) are given by
        label, those of arrays and lists of rows by place, counted from 0.
    columns : list, optional
        Columns that show objects, in the order of `kind`; a tuple of columns is one object that
        several describe, unless a frame has it as a label. None takes all columns of an array; of
        a frame they must be given.
        Integers are names as strings are.
    kind : {"triplets", "quadruplets", "oddoneout", "mostcentral", "choices", "paired"}
        What the columns show and an answer says. "triplets" (default): head and two options, the
        chosen option is closer to the head. "quadruplets": i, j, k, l; the chosen pair, (i, j) or
        (k, l), is closer, and is called by its first column. "oddoneout": three objects, the chosen
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
        +1, as the row says; False or -1, the reverse. "count": a column of votes for each option,
        0 or empty for options that are not shown. Must be "object" where `chosen` is None.
    asked : {"similar", "different"}, default="similar"
        "different": what was chosen is less alike. For triplets, quadruplets and choices.
    ranked : bool, default=False
        Whether several chosen options are in order, the first one closest to the query.
    objects : array-like of shape (n_objects,), optional
        Names of all objects, in the order of the rows of a map; other names in the table are an
        error. None takes those that occur, sorted.
    groups : label or array-like of shape (n_rows,), optional
        Column of participants, or of other groups; those of several columns are given by a tuple.
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
    _check_declaration(kind, chosen, response, asked, ranked)
    source = Table(table)
    shown = _shown(source, kind, columns)
    said = what_was_chosen(source, shown, chosen, response, missing_values(missing))
    _check_answered(shown, chosen)
    if objects is not None:
        shown = shown.by_names(given_names(objects))
    rows = _comparisons(shown, said, ranked)
    if asked == "different":
        rows = rows.reversed()
    if weights is not None:
        rows = rows.times(row_weights(source.given(weights, "weights"), shown.out))
    rows = rows.weighty()
    names = shown.names
    if objects is None:
        places, names = sorted_names(rows.places, names)
        rows = rows._replace(places=places)
    return _answers(rows, kind, names, source, groups)


class _Rows(NamedTuple):
    """Comparisons of objects."""

    places: np.ndarray  # (m, 2, 3 or 4), places among the names of the objects
    of: np.ndarray  # (m,): which row of the table each is from, ascending
    weight: np.ndarray | None  # (m,)

    def reversed(self) -> Self:
        """Return the comparisons that say the opposite."""
        order = OPPOSITE["triplets" if self.places.shape[1] == 3 else "quadruplets"]
        return self._replace(places=self.places[:, order])

    def times(self, given: np.ndarray) -> Self:
        """Return the comparisons with the weights of their rows, times those that they have."""
        weight = given[self.of]
        return self._replace(weight=weight if self.weight is None else self.weight * weight)

    def weighty(self) -> Self:
        """Return the comparisons of positive weight, of which there must be one."""
        rows = self
        if self.weight is not None and not self.weight.all():
            kept = self.weight > 0.0
            rows = self._replace(
                places=self.places[kept], of=self.of[kept], weight=self.weight[kept]
            )
        if not len(rows.places):
            raise ValueError("table has no answer: no row compares anything with a weight above 0.")
        return rows


def _shown(source: Table, kind: str, columns: Sequence | None) -> Shown:
    """Read which objects each row shows."""
    labels = declared_columns(source, columns, WIDTHS[kind], f"kind={kind!r}")
    places, names = source.objects(labels)
    out = says_nothing(kind, places)
    return Shown(kind, labels, options_of(kind, len(labels)), places, names, out)


def _check_answered(shown: Shown, chosen: ColumnLike) -> None:
    """Raise where no row holds an answer, or one that does has an empty cell."""
    if shown.out.all():
        raise ValueError(
            f"table has no answer: in all of its {len(shown.out)} rows chosen is among missing, or "
            "an object is shown twice."
        )
    if chosen is not None:
        # Of choices the query alone: options may be few.
        width = 1 if shown.kind == "choices" else len(shown.labels)
        check_shown(shown.places[:, :width], shown.labels, shown.out)


def _comparisons(shown: Shown, said: Chosen, ranked: bool) -> _Rows:
    """Return what the rows say that are not left out."""
    kept = np.flatnonzero(~shown.out)
    places, picks = shown.places, said.picks
    if len(kept) < len(places):
        places, picks = places[kept], [pick[kept] for pick in picks]
    if said.votes is not None:
        rows, of, weight = _voted(shown.kind, places, said.votes[kept], shown.options)
        return _Rows(rows, kept[of], weight)
    rows, of = _compared(shown, places, picks, ranked, kept)
    return _Rows(rows, kept[of], None)


def _answers(
    rows: _Rows, kind: str, names: list, source: Table, groups: ColumnLike
) -> Answers:  # fmt: skip
    """Return comparisons with the trials and the groups that their rows of the table are."""
    first = np.append(True, rows.of[1:] != rows.of[:-1])
    counted = rows.of[first]
    left_out = np.ones(source.n_rows, dtype=bool)
    left_out[counted] = False
    return Answers(
        kind="triplets" if kind in ("mostcentral", "choices") else kind,
        rows=np.ascontiguousarray(rows.places, dtype=np.int32),
        weights=rows.weight,
        trials=np.cumsum(first) - 1,
        objects=array_of(names),
        groups=None if groups is None else row_groups(source.given(groups, "groups"), counted),
        left_out=np.flatnonzero(left_out),
    )


def _check_declaration(
    kind: str, chosen: ColumnLike, response: str | Mapping, asked: str, ranked: bool
) -> None:
    """Check the arguments that the table has no part in."""
    if not isinstance(kind, str) or kind not in WIDTHS:
        raise ValueError(f"kind must be one of {list(WIDTHS)}, got {kind!r}.")
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
    if ranked and response == "count":
        raise ValueError("ranked must be False with response='count': votes have no order.")
    if chosen is None and kind in _NEED_CHOSEN:
        raise TypeError(f"chosen must say which object was chosen for kind={kind!r}.")
    if chosen is None and response != "object":
        raise TypeError(f"chosen must say where the answers of response={response!r} are.")


def _compared(
    shown: Shown, places: np.ndarray, picks: list[np.ndarray], ranked: bool, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of objects and the trials that they are from; `kept` are rows of the table."""
    if shown.kind != "choices":
        return compare(shown.kind, places, picks[0])
    chosen = np.stack(picks, axis=1)
    ordered = np.sort(chosen, axis=1)
    twice = ordered[:, 1:] == ordered[:, :-1]
    if twice.any():
        row, k = np.argwhere(twice)[0]
        name = shown.names[places[row, ordered[row, k]]]
        raise ValueError(
            f"chosen must name different options, but names {name!r} twice in row {kept[row]}."
        )
    return compare_several(places, chosen, bool(ranked))


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
