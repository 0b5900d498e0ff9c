"""Tables as people have them, read once: each cell becomes the code of a distinct name."""

from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from numbers import Integral, Number
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from skscreen.core.inputs import listed_rows

# Numbers that differ by less than this share of them are one name: 0.3 and 3 * 0.1.
_SAME = 1e-9
# Sizes of numbers that, as -1, stand for missing answers.
CODES = (9, 99, 999, 9999)


class Table(NamedTuple):
    """Cells as codes."""

    codes: np.ndarray  # (n_rows, n_columns), int64: places in `names`
    names: np.ndarray  # (n_names,): distinct names that occur, sorted where they can be
    labels: list  # of the columns


def read_table(
    X: Any, columns: Any = None, input_name: str = "X", learned: list | None = None
) -> Table:
    """Read an array, a frame or rows of anything hashable; of the columns those given, or all.

    After a fit, `learned` are the labels of its columns, if they had any: of arrays, too.
    """
    X = _rows_of(X, input_name)
    # Rows may be lists.
    values = _from_rows(X, input_name) if isinstance(X, list | tuple) else as_cells(X)
    if values.ndim != 2 or not values.size or values.dtype.kind == "c":
        # For its messages; where nothing is wrong its checks take as long as a short fit.
        check_array(values, dtype=None, ensure_all_finite=False, input_name=input_name)
    labels = list(X.columns) if hasattr(X, "columns") else list(range(values.shape[1]))
    _refuse_repeated(labels, input_name)
    if columns is not None:
        if learned and not hasattr(X, "columns"):
            labels = _labels_of_array(columns, labels, learned, input_name)
        places = column_places(columns, labels)
        values, labels = values[:, places], [labels[place] for place in places]
    codes, names, missing = _factorised(values, input_name)
    table = Table(codes.reshape(values.shape), names, labels)
    if missing.any():
        refuse_missing(table, missing, input_name)
    return table


def _rows_of(X: Any, input_name: str) -> Any:
    """Return rows in a list where X holds them in another way; refuse what has no rows in order."""
    if isinstance(X, str | bytes | PathLike):
        raise ValueError(
            f"{input_name} must be a table, got {X!r}: read the file first, for instance with "
            f"pandas.read_csv({X!r})."
        )
    # Tables of Arrow have the cells in `columns`, not the labels.
    if hasattr(X, "column_names") and hasattr(X, "to_pandas"):
        raise ValueError(
            f"{input_name} must be an array or a frame of pandas or polars, got "
            f"{type(X).__name__}: pass {input_name}.to_pandas()."
        )
    if hasattr(X, "shape") and hasattr(X, "columns"):
        return X
    records = getattr(getattr(X, "dtype", None), "names", None)
    mappings = isinstance(X, list | tuple) and len(X) and isinstance(X[0], Mapping)
    if records or mappings or isinstance(X, Mapping):
        raise ValueError(
            f"{input_name} must be a table, got records or columns by name: pass "
            f"pandas.DataFrame({input_name}) with columns, those of objects."
        )
    if isinstance(X, Set | Iterator) or hasattr(X, "collect"):
        call = f"{input_name}.collect()" if hasattr(X, "collect") else f"list({input_name})"
        raise ValueError(
            f"{input_name} must be a table with rows in order, got {type(X).__name__}: pass {call}."
        )
    # Series and indices, too, may hold rows, and arrays of Arrow.
    rows = listed_rows(X)
    if rows is X and hasattr(X, "to_list"):
        cells = X.to_list()
        if cells and all(isinstance(cell, str) for cell in cells):
            # One column, of which it is said what its cells hold.
            return [[cell] for cell in cells]
    return rows


def _refuse_repeated(labels: list, input_name: str) -> None:
    """Raise where a label is that of several columns, which it could not tell apart."""
    if len(set(labels)) < len(labels):
        label = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(
            f"{input_name} must have a label of its own for each column, got {label!r} "
            f"{labels.count(label)} times: rename them, or pass {input_name}.to_numpy() with "
            "columns by number."
        )


def refuse_other_rows(X: Any, values: Any, input_name: str) -> None:
    """Refuse values whose index has the rows of a frame in another order."""
    if not (hasattr(X, "loc") and hasattr(values, "loc")) or X.index.equals(values.index):
        return
    unique = X.index.is_unique and values.index.is_unique
    if unique and len(X) == len(values) and X.index.isin(values.index).all():
        raise ValueError(
            f"{input_name} has the index of X in another order: pass {input_name}.loc[X.index] if "
            f"rows of one label belong together, {input_name}.to_numpy() if rows of one place do."
        )


def refuse_missing(table: Table, missing: np.ndarray, input_name: str) -> None:
    """Raise for cells whose names are missing ones, a mask of shape (n_names,)."""
    cells = missing[table.codes]
    row, column = np.argwhere(cells)[0]
    name, count = table.names.tolist()[table.codes[row, column]], int(cells.any(axis=1).sum())
    where = f" in column {table.labels[column]!r}" if input_name == "X" else ""
    what = "NaN" if isinstance(name, float) else repr(name)
    raise ValueError(
        f"{input_name} has a missing answer, {what}, in row {row}{where}, and in {count} of "
        f"{len(cells)} rows in all: leave these rows out of X, and of y and weights."
    )


def _labels_of_array(columns: Any, labels: list, learned: list, input_name: str) -> list:
    """Return labels for an array after a fit: it has all columns of the fit, or the objects."""
    asked = list(columns)
    # Numbers that are no labels, or those of a frame without any, are places.
    if learned == list(range(len(learned))) or not all(column in learned for column in asked):
        return labels
    ways = [way for way in (learned, asked) if len(way) == len(labels)]
    if ways and ways[0] == ways[-1]:
        return ways[0]
    got = f"got an array of {len(labels)} columns"
    if ways:
        got += f", which may be in the order of the fit's frame, {learned}, or of columns, {asked}"
    every = f" or of all {len(learned)} of the fit" * (len(learned) != len(asked))
    raise ValueError(
        f"{input_name} must be a frame with the columns {asked}, as that of the fit, or an array "
        f"of these {len(asked)} columns{every}; {got}: pass "
        f"pandas.DataFrame({input_name}, columns=labels) with the labels of its columns."
    )


def column_places(columns: Any, labels: list) -> list[int]:
    """Return the places of columns that are given by label or by number."""
    if (not isinstance(columns, list | tuple) and np.ndim(columns) != 1) or len(columns) == 0:
        raise ValueError(f"columns must be a list of columns of X, got {columns!r}.")
    places = [column_place(column, labels, "columns") for column in columns]
    if len(set(places)) < len(places):
        raise ValueError(f"columns must name each column once, got {list(columns)!r}.")
    return places


def column_place(column: Any, labels: list, parameter: str) -> int:
    """Return the place of a column that is given by label or by number."""
    # pandas.NA equals nothing, itself included.
    if type(column).__name__ != "NAType" and column in labels:
        return labels.index(column)
    whole = isinstance(column, Integral) and not isinstance(column, bool)
    if whole and -len(labels) <= column < len(labels):
        return int(column) % len(labels)
    hint = " If it holds the chosen objects, pass it as y." if parameter == "odd" else ""
    if isinstance(column, str) and labels == list(range(len(labels))):
        hint = " The columns of arrays have numbers only: pass these, or a frame." + hint
    elif (alike := [label for label in labels if _bare(label) == _bare(column)]) and not whole:
        hint = f" {alike[0]!r} differs in spaces, capitals or a byte order mark only."
    raise ValueError(
        f"{parameter} must name columns of X, which are {labels}; got {column!r}.{hint}"
    )


def _bare(label: Any) -> Any:
    """Return a label without what editors and spreadsheets add unseen."""
    return label.strip("\ufeff \t").casefold() if isinstance(label, str) else type(label)


def are_numbers(names: np.ndarray) -> bool:
    """Whether names are all numbers."""
    return names.dtype.kind in "iuf"


def array_of(names: list) -> np.ndarray:
    """One name an entry: of strings or numbers where all are, else of Python objects."""
    for kind in (str, int, float):
        if all(type(name) is kind for name in names):
            return np.array(names)
    return _as_objects(names)


def _as_objects(cells: list) -> np.ndarray:
    """Return an array of Python objects."""
    array = np.empty(len(cells), dtype=object)
    # One by one: NumPy would unpack tuples.
    for place, cell in enumerate(cells):
        array[place] = cell
    return array


def read_column(values: Any, n_rows: int, input_name: str, what: str) -> Table:
    """Read one value for each row of X, from anything with one column."""
    cells = values if isinstance(values, list | tuple) else as_cells(values)
    if isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells[:, 0]
    if (isinstance(cells, np.ndarray) and cells.ndim != 1) or len(cells) != n_rows:
        raise ValueError(f"{input_name} must have one {what} for each of the {n_rows} rows of X.")
    return read_table([[cell] for cell in cells], input_name=input_name)


def as_written(names: np.ndarray) -> np.ndarray:
    """Return the numbers that strings are, NaN for other names."""
    numbers = np.full(len(names), np.nan)
    for place, name in enumerate(names.tolist()):
        try:
            numbers[place] = float(name) if isinstance(name, str) else np.nan
        except ValueError:
            continue
    return numbers


def read_numbers(values: Any, labels: list) -> np.ndarray | None:
    """Read floats, NaN where missing, columns by the labels of X; None if there are others."""
    if hasattr(values, "columns") and set(labels) == set(values.columns):
        values = values[labels]
    try:
        cells = as_cells(values)
        if cells.dtype.kind == "O":
            known = [np.nan if _is_missing(cell) else cell for cell in cells.ravel()]
            cells = np.array(known).reshape(cells.shape)
    except ValueError:
        # Rows of different lengths.
        return None
    return cells.astype(np.float64) if cells.dtype.kind in "biuf" else None


def refuse_coded(values: np.ndarray, input_name: str) -> None:
    """Raise where a number is rather a code of a missing answer, as -1 beside 1 to 7, or 99."""
    known = np.unique(values[~np.isnan(values)])
    if len(known) < 3:
        return
    low, high = known[0], known[-1]
    below = low == -1 or -low in CODES
    code = low if below and known[1] > 0.0 and high > 1.0 else np.nan
    if high in CODES[1:] and high - known[-2] > known[-2] - low:
        code = high
    if not np.isnan(code):
        raise ValueError(
            f"{input_name} has {code:g} in row {int(np.argwhere(values == code)[0, 0])}, which "
            "seems to stand for a missing answer: leave it out. If it is an answer, pass "
            f"{input_name} + 1, as only the order counts."
        )


def as_cells(values: Any) -> np.ndarray:
    """Return an array, in which masked cells are None."""
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        cells = values.data.astype(object)
        cells[np.ma.getmaskarray(values)] = None
        return cells
    return np.asarray(values)


def _from_rows(X, input_name: str) -> np.ndarray:
    """Rows as they are, without turning numbers beside strings into strings."""
    if not all(isinstance(row, list | tuple) or np.ndim(row) == 1 for row in X):
        return np.asarray(X)
    rows = [list(row) for row in X]
    for place, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"{input_name} must have rows of one length: row {place} has {len(row)} cells, row "
                f"0 has {len(rows[0])}. Convert trials of different sizes one size at a time."
            )
    cells = [cell for row in rows for cell in row]
    if all(isinstance(cell, Number) for cell in cells):
        return np.asarray(rows)
    return _as_objects(cells).reshape(len(rows), len(rows[0]))


def _factorised(values: np.ndarray, input_name: str):
    """Codes of all cells, distinct names, and which of these are missing."""
    kind = values.dtype.kind
    if kind in "iu":
        codes, names = _whole(values.ravel())
    elif kind == "f":
        # Numbers of half precision overflow beside the bounds.
        least = np.promote_types(values.dtype, np.float32)
        codes, names = _floats(values.ravel().astype(least, copy=False), input_name)
    elif kind in "bUST":
        names, codes = np.unique(values, return_inverse=True)
    else:
        return _hashed(values.ravel().tolist(), input_name)
    if kind in "UST":
        blank = [_is_missing(name) or name in ("nan", b"nan") for name in names.tolist()]
        return codes, names, np.array(blank)
    return codes, names, np.isnan(names) if kind == "f" else np.zeros(len(names), dtype=bool)


def _whole(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) + 1000 or high > np.iinfo(np.int64).max:
        names, codes = np.unique(values, return_inverse=True)
        return codes, names
    codes = values.astype(np.int64) - low
    seen = np.zeros(high - low + 1, dtype=bool)
    seen[codes] = True
    return codes if seen.all() else (np.cumsum(seen) - 1)[codes], np.flatnonzero(seen) + low


def _floats(values: np.ndarray, input_name: str) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, or numbers of which nearly equal ones are one; NaN is the last."""
    if np.isinf(values).any():
        raise ValueError(f"Input {input_name} contains infinity, which is no object.")
    # Larger whole numbers have no exact float.
    if np.all(np.abs(values) <= 2.0**53) and np.all(values == np.floor(values)):
        return _whole(values.astype(np.int64))
    names, codes = np.unique(values, return_inverse=True)
    apart = np.diff(names) > rounding(names)[1:]
    first = np.append(True, apart | np.isnan(names[1:]))
    return (np.cumsum(first) - 1)[codes], names[first]


def rounding(names: np.ndarray) -> np.ndarray:
    """Return by how much each of some numbers may differ from one that is the same name."""
    sizes = np.abs(names)
    # Sums of the largest leave rounding errors where they should be 0.
    return _SAME * (sizes + 1e-5 * np.nanmax(sizes, initial=0.0))


def _hashed(cells: list, input_name: str):
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    try:
        names = list(dict.fromkeys(cells))
    except TypeError as error:
        lists = any(isinstance(cell, list | np.ndarray) for cell in cells)
        hint = f" Where the cells of a column are rows, pass {input_name}[column].tolist()." * lists
        # With the words of Python's `float` error, which scikit-learn's estimator checks look for.
        raise TypeError(
            f"{input_name} must hold names of objects, and such an argument must be a string, a "
            f"number or something else that can be hashed: {error}.{hint}"
        ) from None
    missing = [_is_missing(name) for name in names]
    written = as_written(array_of(names))
    strings = [isinstance(name, str) for name in names]
    if any(strings) and not all(strings) and np.isfinite(written[strings]).all():
        # 3 and "3" are one name.
        numbers = dict(zip(names, written.tolist(), strict=True))
        cells = [numbers[cell] if isinstance(cell, str) else cell for cell in cells]
        return _hashed(cells, input_name)
    if all(isinstance(name, Number) for name in names) and not all(missing):
        values = np.array(cells)
        if values.dtype.kind in "biuf":
            return _factorised(values, input_name)
    if not any(missing):
        with suppress(TypeError):
            names = sorted(names)
    places = {name: code for code, name in enumerate(names)}
    codes = np.fromiter((places[cell] for cell in cells), dtype=np.int64, count=len(cells))
    return codes, array_of(names), np.array(missing)


def _is_missing(value) -> bool:
    # pandas and polars have nulls of their own, which are equal to nothing or to no truth value.
    nan = isinstance(value, float) and value != value
    nothing = value is None or (isinstance(value, str | bytes) and not value.strip())
    return nan or nothing or type(value).__name__ in ("NAType", "NaTType")
