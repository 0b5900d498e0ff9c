"""Names of objects: tables of names become tables of positions, and back.

Answers say which objects they compare by positions 0, 1, 2, ..., or by names: strings, or anything
that can be hashed. Names are the objects in an order, that of the rows of an embedding.
"""

from numbers import Number

import numpy as np
from scipy import sparse

from skscreen.fitting.warning import warn_user

# Largest number of names in a message.
_SHOWN = 3
# Larger integers have no exact float.
_LARGEST_ID = 2**53


def read_table(X, input_name: str = "X") -> np.ndarray:
    """Return rows of objects as an array, of Python objects where they are no numbers or strings.

    Parameters
    ----------
    X : array-like, data frame or list of rows
        Lists may hold tuples as names.
    input_name : str
        For messages.
    """
    table = np.asarray(_cells(X, input_name) if isinstance(X, list | tuple) else X)
    if table.dtype.kind != "O" or table.ndim != 2:
        return table
    missing = _is_missing(table)
    if missing.any():
        raise ValueError(
            f"{input_name} has missing names: leave out those rows, the first of which is row "
            f"{int(np.argmax(missing.any(axis=1)))}."
        )
    if are_names(table):
        return table
    # Numbers of pandas' nullable columns.
    return np.array(table.tolist())


def read_column(values, input_name: str) -> np.ndarray:
    """Return objects as an array, without turning numbers beside strings into strings."""
    listed = isinstance(values, list | tuple) and len(values) > 0
    if not listed or any(isinstance(value, list | np.ndarray) for value in values):
        return np.asarray(values)
    return read_table([[value] for value in values], input_name)[:, 0]


def _cells(X, input_name: str):
    """Rows as they are, without turning numbers beside strings into strings."""
    rows = [list(row) if isinstance(row, list | tuple | np.ndarray) else [row] for row in X]
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows):
        raise ValueError(f"{input_name} must have rows of one length.")
    cells = [cell for row in rows for cell in row]
    if all(isinstance(cell, Number) for cell in cells):
        return np.asarray(X)
    table = np.empty(len(cells), dtype=object)
    # One by one: NumPy would unpack tuples.
    for place, cell in enumerate(cells):
        table[place] = cell
    return table.reshape(len(rows), width)


def _is_missing(values: np.ndarray) -> np.ndarray:
    # pandas and polars have nulls of their own, which are equal to nothing or to no truth value.
    def missing(value):
        nan = isinstance(value, float) and value != value
        return value is None or nan or type(value).__name__ in ("NAType", "NaTType")

    return np.vectorize(missing, otypes=[bool])(values)


def are_names(table: np.ndarray) -> bool:
    """Whether a table holds something else than numbers."""
    if table.dtype.kind == "O":
        return any(not isinstance(value, Number) for value in table.ravel().tolist())
    return table.dtype.kind in "UST"


def are_positions(objects: np.ndarray) -> bool:
    """Whether names are just 0, 1, 2, ..."""
    return objects.dtype.kind == "i" and np.array_equal(objects, np.arange(len(objects)))


def chosen_first(X, y=None) -> np.ndarray:
    """Return the table of a choice among objects with the chosen one in the first column.

    Parameters
    ----------
    X : array-like of shape (n_trials, n_choices)
    y : array-like of shape (n_trials,), optional
        Columns, or chosen objects if these are no numbers; None where it is the first already.
    """
    table = read_table(X)
    if table.ndim != 2 or table.shape[1] < 3 or not len(table):
        raise ValueError(
            f"X must have a row for each trial, of at least 3 objects, got shape {table.shape}."
        )
    if y is None:
        return table
    chosen = read_column(y, "y")
    if chosen.dtype.kind == "O" and not are_names(chosen):
        chosen = np.array(chosen.tolist())
    if chosen.shape != table.shape[:1]:
        raise ValueError(
            f"y must have one choice for each of {len(table)} trials, got shape {chosen.shape}."
        )
    if are_names(chosen):
        matches = np.array([[cell == one for cell in row] for row, one in
                            zip(table.tolist(), chosen.tolist(), strict=True)])  # fmt: skip
        if not (matches.sum(axis=1) == 1).all():
            row = int(np.argmax(matches.sum(axis=1) != 1))
            raise ValueError(
                f"y must name one of the objects in its row of X, which names each once; row {row} "
                f"has {table[row].tolist()} and y {chosen.tolist()[row]!r}. X has the columns of "
                "the objects shown, no others."
            )
        column = matches.argmax(axis=1)
    else:
        if chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= table.shape[1]:
            raise ValueError(
                f"y must hold columns of X, 0 to {table.shape[1] - 1}, or the chosen objects"
                f"{_counted_from_one(chosen, table.shape[1])}."
            )
        column = chosen.astype(np.int64)
    # A stable sort moves the chosen column to the front and leaves the others in order.
    others = np.arange(table.shape[1]) != column[:, None]
    return np.take_along_axis(table, np.argsort(others, axis=1, kind="stable"), axis=1)


def _counted_from_one(columns: np.ndarray, n_columns: int) -> str:
    """Return what a message adds where columns seem to be 1, 2, 3, ..."""
    if columns.dtype.kind not in "iu" or columns.min() < 1 or columns.max() != n_columns:
        return ""
    return f"; got {columns.min()} to {columns.max()}: pass y - 1 if columns are counted from 1"


def odd_last(X, y=None) -> np.ndarray:
    """Return choices of the odd one out of three as rows (i, j, k) with k the odd one.

    Parameters
    ----------
    X, y
        As in `chosen_first`.
    """
    if is_tensor(X):
        raise ValueError("X must be a table of trials with loss='oddoneout', not a tensor.")
    table = chosen_first(X, y)
    if table.shape[1] != 3:
        raise ValueError(
            f"X must have 3 columns with loss='oddoneout', got {table.shape[1]}. Make triplets of "
            "larger trials with skscreen.preprocessing.triplets_from_oddoneout."
        )
    return table[:, [1, 2, 0]]


def is_tensor(X) -> bool:
    """Whether answers are a sparse tensor of counts."""
    return sparse.issparse(X) or (hasattr(X, "coords") and getattr(X, "ndim", 0) == 3)


def learn_objects(X, objects=None, n_objects: int | None = None) -> np.ndarray | None:
    """Return the names of the objects, or None where the answers hold positions.

    Parameters
    ----------
    X
        Answers as `OrdinalEmbedding.fit` takes them.
    objects : array-like of shape (n_objects,), optional
        The names, if they are known.
    n_objects : int, optional
        Says that integers are positions, wherever they begin.

    Returns
    -------
    ndarray of shape (n_objects,), or None
        Sorted where they can be, else as they occur.
    """
    if objects is not None:
        return _given_objects(X, objects, n_objects)
    if is_tensor(X):
        return None
    table = read_table(X)
    if are_names(table):
        if n_objects is not None:
            raise ValueError(
                "n_objects must be None where X names objects; to add objects that are in no "
                "answer pass objects, all names in their order."
            )
        return _array_of(distinct_names(table)[0])
    if n_objects is not None or not _are_ids(table):
        return None
    warn_user(
        f"The smallest object in X is {table.min():.0f}: integers in X are taken as names of "
        "objects, in the order of objects_. Pass objects=numpy.unique(X) if they are, n_objects if "
        "they are positions counted from 0."
    )
    return np.unique(table).astype(np.int64)


def _are_ids(table: np.ndarray) -> bool:
    """Whether a table holds whole numbers that begin above 0."""
    if table.dtype.kind not in "iuf" or table.ndim != 2 or not table.size:
        return False
    # Written such that NaN does not count.
    return bool(0 < table.min() and table.max() < _LARGEST_ID and np.all(table == np.floor(table)))


def _given_objects(X, objects, n_objects) -> np.ndarray:
    if n_objects is not None:
        raise ValueError("objects and n_objects must not both be given: objects says how many.")
    if is_tensor(X):
        raise ValueError("objects must be None with a tensor of answers, which holds positions.")
    if isinstance(objects, str) or not hasattr(objects, "__len__"):
        raise ValueError(f"objects must be a list of the names of objects, got {objects!r}.")
    names = read_column(list(objects), "objects")
    if len(names) < 2:
        raise ValueError(f"objects must have at least 2 names, got {len(names)}.")
    distinct, codes = distinct_names(np.asarray(names), "objects")
    if len(distinct) < len(names):
        twice = distinct[int(np.argmax(np.bincount(codes)))]
        raise ValueError(f"objects must name each object once, got {twice!r} several times.")
    return _array_of([distinct[code] for code in codes])


def positions(X, objects: np.ndarray, *, known: bool):
    """Return answers with the positions of objects in place of their names.

    Parameters
    ----------
    X
        Answers as `OrdinalEmbedding.fit` takes them; returned as they are where `objects` are
        positions.
    objects : ndarray of shape (n_objects,)
    known : bool
        Whether every name must be one of `objects`; else others are at n_objects.
    """
    at_place = are_positions(objects)
    if is_tensor(X):
        if not at_place:
            raise ValueError("X must not be a tensor where objects have names: it has positions.")
        return X
    table = read_table(X)
    if at_place and not are_names(table):
        return X
    if are_names(table) != are_names(objects):
        raise ValueError(
            f"X must name objects as the fit did, such as {_some(objects.tolist())}; got "
            f"{_some(table.ravel()[:_SHOWN].tolist())}."
        )
    names, codes = distinct_names(table)
    place = {name: row for row, name in enumerate(objects.tolist())}
    rows = np.array([place.get(name, len(objects)) for name in names], dtype=np.int64)
    strangers = [name for name, row in zip(names, rows, strict=True) if row == len(objects)]
    if known and strangers:
        raise ValueError(
            f"X names {len(strangers)} objects that are not known, {_some(strangers)}; those known "
            f"are {_some(objects.tolist())}."
        )
    return rows[codes].reshape(table.shape)


def all_objects(X, objects: np.ndarray) -> np.ndarray:
    """Return the objects of a fit and, after them, the further ones that answers name, sorted."""
    if is_tensor(X):
        raise ValueError("X must be a table of answers: a tensor names no new objects.")
    table = read_table(X)
    if are_names(table) != are_names(objects):
        raise ValueError(f"X must name objects as the fit did, such as {_some(objects.tolist())}.")
    known = set(objects.tolist())
    new = [name for name in distinct_names(table)[0] if name not in known]
    if are_positions(objects) and any(name < 0 or name != int(name) for name in new):
        raise ValueError("X must hold whole numbers >= 0, as those of the fit.")
    return _array_of([*objects.tolist(), *new])


def _some(names: list) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown + (", ..." if len(names) > _SHOWN else "")


def distinct_names(table: np.ndarray, input_name: str = "X") -> tuple[list, np.ndarray]:
    """Distinct names, sorted if they can be, and the code of each entry."""
    if table.dtype.kind != "O":
        names, codes = np.unique(table, return_inverse=True)
        return names.tolist(), codes.ravel()
    flat = table.ravel().tolist()
    try:
        names = list(dict.fromkeys(flat))
    except TypeError as error:
        # With the words of Python's `float` error, which scikit-learn's estimator checks look for.
        raise TypeError(
            f"{input_name} must hold names of objects, and such an argument must be a string, a "
            f"number or something else that can be hashed: {error}."
        ) from None
    try:
        names = sorted(names)
    except TypeError:
        pass
    codes = {name: code for code, name in enumerate(names)}
    return names, np.fromiter((codes[name] for name in flat), dtype=np.int64, count=len(flat))


def _array_of(names: list) -> np.ndarray:
    """One name an entry: of strings or integers where all are, else of Python objects."""
    for kind in (str, int, float):
        if all(type(name) is kind for name in names):
            return np.array(names)
    array = np.empty(len(names), dtype=object)
    for place, name in enumerate(names):
        array[place] = name
    return array
