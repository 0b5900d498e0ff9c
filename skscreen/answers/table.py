"""Columns of an array or of a frame, as places among their different values."""

from __future__ import annotations

from collections.abc import Hashable
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from skscreen.core.checks import ColumnLike, TableLike


class Column(NamedTuple):
    """Cells of a column."""

    codes: np.ndarray  # (n_rows,), int: places in `names`, -1 where a cell is empty
    names: list  # the different values, as Python has them

    def value(self, row: int) -> Any:
        """Return the cell of a row, None where it is empty."""
        return None if self.codes[row] < 0 else self.names[self.codes[row]]

    def cells(self) -> list:
        """Return all cells, None where they are empty."""
        return list(map([*self.names, None].__getitem__, self.codes.tolist()))

    def mapped(self, table: list) -> np.ndarray:
        """Return a number for each cell, from one for each of `names`; -1 for empty cells."""
        return np.array([*table, -1], dtype=np.int64)[self.codes]

    def numbers(self, argument: str, out: np.ndarray) -> np.ndarray:
        """Return the cells as finite numbers, NaN or infinite only in rows that are left out."""
        values = np.array([*map(_number, self.names), np.nan])[self.codes]
        wrong = ~np.isfinite(values) & ~out
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"{argument} must hold finite numbers, got {self.value(row)!r} in row {row}."
            )
        return values


class Table:
    """A frame, with columns by label, or an array or rows in a list, with columns by place."""

    def __init__(self, table: TableLike) -> None:
        try:
            frame = frame_of(table)
        except DuplicateError as error:
            raise ValueError(f"table must have different labels of columns: {error}") from None
        self.frame = frame
        if frame is not None:
            self.labels: list = list(frame.columns)
            self.n_rows = len(frame)
        else:
            self.cells = table if isinstance(table, np.ndarray) else np.asarray(table, dtype=object)
            if self.cells.ndim != 2:
                raise ValueError(
                    "table must be an array or a frame with rows and columns, got "
                    f"{type(table).__name__} of shape {self.cells.shape}."
                )
            self.labels = list(range(self.cells.shape[1]))
            self.n_rows = len(self.cells)
        if not self.n_rows:
            raise ValueError("table must have at least one row.")

    def column(self, label: Any, argument: str) -> Column:
        """Read a column, or several in a tuple, whose cells are one."""
        # Labels of several levels are tuples, too.
        if isinstance(label, tuple) and label and label not in self.labels:
            parts = [self.column(one, argument) for one in label]
            rows = zip(*(part.cells() for part in parts), strict=True)
            return factorised([None if None in row else row for row in rows], argument)
        place = self.place(label, argument)
        if self.frame is None:
            return factorised(self.cells[:, place], argument)
        return factorised(_series(self.frame.get_column(label)), argument)

    def objects(self, labels: list) -> tuple[np.ndarray, list]:
        """Return the objects that columns show, by places in a list of their names."""
        # (n_rows, n_columns), int32, -1 where a cell is empty.
        plain = self.frame is None and not any(isinstance(label, tuple) for label in labels)
        if plain and self.cells.dtype.kind in "iu" and type(self.cells) is np.ndarray:
            places = [self.place(label, "columns") for label in labels]
            whole = places == list(range(self.cells.shape[1]))
            cells = self.cells if whole else self.cells[:, places]
            codes, names = _whole(cells.ravel())
            return codes.reshape(cells.shape).astype(np.int32), names.tolist()
        place: dict = {}
        shown = np.empty((self.n_rows, len(labels)), dtype=np.int32)
        for k, label in enumerate(labels):
            column = self.column(label, "columns")
            shown[:, k] = column.mapped([place.setdefault(one, len(place)) for one in column.names])
        return shown, list(place)

    def place(self, label: Hashable, argument: str) -> int:
        """Return the place of a column."""
        if isinstance(label, bool | np.bool_) or label not in self.labels:
            raise ValueError(
                f"{argument} must name columns of table, {self.labels}, got {label!r}."
            )
        return self.labels.index(label)

    def given(self, values: ColumnLike, argument: str) -> Column:
        """Read a column of the table by its label, or values, one a row."""
        if isinstance(values, str | tuple) or not hasattr(values, "__len__"):
            return self.column(values, argument)
        column = factorised(_values(values), argument)
        if len(column.codes) != self.n_rows:
            raise ValueError(
                f"{argument} must name a column of table or have a value for each of its "
                f"{self.n_rows} rows, got {len(column.codes)}."
            )
        return column


def frame_of(table: TableLike) -> nw.DataFrame | None:
    """Return a frame of any library for narwhals, None for anything else."""
    if isinstance(table, np.ndarray | list | tuple):
        return None
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def is_empty(value: object) -> bool:
    """Whether a value stands for an empty cell: None, NaN, and the nulls of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating | np.datetime64 | np.timedelta64) and bool(
        value != value
    )


def factorised(values: np.ndarray | list, argument: str) -> Column:
    """Return the different values of a column, in any order, and which each cell is."""
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError(f"{argument} must be columns, got an array of shape {values.shape}.")
    if isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray):
        if values.dtype.kind in "iu" and len(values):
            codes, names = _whole(values)
            return Column(codes, names.tolist())
        if values.dtype.kind in "bf":
            names, codes = np.unique(values, return_inverse=True)
            if len(names) and names[-1] != names[-1]:
                # NaN comes last.
                return Column(np.where(codes == len(names) - 1, -1, codes), names[:-1].tolist())
            return Column(codes, names.tolist())
    cells = values.tolist() if isinstance(values, np.ndarray) else values
    try:
        place: dict = dict.fromkeys(cells)
    except TypeError as error:
        raise TypeError(
            f"{argument} must hold names, and such an argument must be a string, a number or a "
            f"tuple: {error}."
        ) from None
    found: list = []
    for cell in place:
        place[cell] = -1 if is_empty(cell) else len(found)
        if place[cell] >= 0:
            found.append(cell.item() if isinstance(cell, np.generic) else cell)
    codes = np.fromiter(map(place.__getitem__, cells), dtype=np.int64, count=len(cells))
    return Column(codes, found)


def _number(value: object) -> float:
    """Return a number in double precision, NaN for anything else."""
    try:
        return float(value) if isinstance(value, Real | Decimal) else np.nan
    except OverflowError:
        return np.inf


def _whole(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes of whole numbers, and the different ones, sorted."""
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) + 1000 or high > np.iinfo(np.int64).max:
        names, codes = np.unique(values, return_inverse=True)
        return codes, names
    codes = np.subtract(values, low, dtype=np.int64, casting="unsafe")
    seen = np.zeros(high - low + 1, dtype=bool)
    seen[codes] = True
    return codes if seen.all() else (np.cumsum(seen) - 1)[codes], np.flatnonzero(seen) + low


def _series(series: nw.Series) -> np.ndarray | list:
    """Return whole numbers as an array, other cells as Python has them."""
    whole = series.dtype.is_integer() and not series.null_count()
    return series.to_numpy() if whole else series.to_list()


def _values(values: Any) -> np.ndarray | list:
    """Return values that a user hands over beside a table."""
    if isinstance(values, np.ndarray | list):
        return values
    series = nw.from_native(values, series_only=True, pass_through=True)
    return _series(series) if isinstance(series, nw.Series) else np.asarray(values)
