"""Arrays that users hand over, brought to one form."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, time, timedelta
from enum import Enum
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
from scipy import sparse

from skscreen.core.sklearn_private import check_sample_weight_of

FORMATS = ("list-order", "list-boolean", "list-count", "tensor-count")


def is_sparse(X: Any) -> bool:
    """Whether X is sparse; after SciPy's function, type checkers know no methods of X."""
    return sparse.issparse(X)


def refuse_masked(values: Any, name: str) -> None:
    """Refuse masked entries, which would count as what is under the mask."""
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        place, short = np.argwhere(np.ma.getmaskarray(values))[0].tolist(), name.partition(",")[0]
        raise ValueError(
            f"{name} has masked entries, the first at {place}, which would be read as what is "
            f"under the mask: fill them, {short}.filled(0) for instance, or leave their rows out."
        )


def refuse_times(values: Any, name: str) -> None:
    """Refuse dates and durations in the place of numbers: NumPy counts them, in any unit."""
    # Those of the columns of a frame, or of a table of Arrow; those of a series are its own.
    schema = getattr(values, "schema", None)
    kinds: Any = getattr(values, "dtypes", getattr(schema, "types", None))
    kinds = list(kinds) if hasattr(kinds, "__iter__") else [getattr(values, "dtype", None)]
    if any(map(_is_time, kinds)) or (_may_hold_objects(values, kinds) and _has_times(values)):
        raise ValueError(
            f"{name} must hold numbers, but has dates or durations: pass what matters of them, as "
            "hours or days since the first."
        )


def _is_time(kind: Any) -> bool:
    """Whether a type of NumPy, pandas, polars or Arrow is that of dates or durations."""
    if hasattr(kind, "kind"):
        return kind.kind in ("m", "M")
    if temporal := getattr(kind, "is_temporal", None):
        return bool(temporal())
    return str(kind).startswith(("timestamp", "date32", "date64", "time32", "time64", "duration"))


def _may_hold_objects(values: Any, kinds: list) -> bool:
    """Whether what cells are is not told by the types of columns."""
    return isinstance(values, list | tuple) or any(
        getattr(kind, "kind", "") == "O" for kind in kinds
    )


def _has_times(values: Any) -> bool:
    """Whether cells are dates or durations: NumPy's become numbers without a word."""
    try:
        cells = np.asarray(values)
    except ValueError:
        return False  # Of unequal lengths: what checks the shape says so.
    if cells.dtype != object:
        return cells.dtype.kind in "mM"
    times = np.datetime64, np.timedelta64, date, time, timedelta
    return any(issubclass(kind, times) for kind in set(map(type, cells.ravel().tolist())))


def sound(X: Any, name: str = "X", *, numbers: bool = True) -> Any:
    """Return samples, sparse ones without spare entries; refuse what is masked, or no number."""
    refuse_masked(X, name)
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        raise TypeError(
            f"{name} must be an array or a frame, got a lazy one: pass {name}.collect()."
        )
    if is_sparse(X) and X.format in ("csr", "csc"):
        X = _in_place(X, name)
    if numbers:
        refuse_times(X, name)
        refuse_not_finite(X, name)
    return X


def _in_place(X: Any, name: str) -> Any:
    """Return CSR or CSC without spare entries; refuse misplaced ones."""
    # Compiled code would read and write outside of arrays.
    lines, across = X.shape if X.format == "csr" else X.shape[::-1]
    wrong = (X.indices < 0) | (X.indices >= across)
    if wrong.any():
        k = int(wrong.argmax())
        place = int(np.searchsorted(X.indptr, k, side="right")) - 1, int(X.indices[k])
        row, column = place if X.format == "csr" else place[::-1]
        raise ValueError(
            f"{name} has an entry in row {row}, column {column}, but shape {X.shape}, which is "
            "counted from 0: subtract 1 from indices that are counted from 1, or give the shape "
            "that holds all entries."
        )
    if np.any(np.diff(X.indptr) < 0):
        raise ValueError(f"{name} must have indptr, its {lines} starts of lines, in order.")
    if X.indices.dtype == X.indptr.dtype and X.indptr[-1] == X.indices.size == X.data.size:
        return X
    n, places = int(X.indptr[-1]), np.promote_types(X.indices.dtype, X.indptr.dtype)
    columns, starts = (part.astype(places) for part in (X.indices[:n], X.indptr))
    return type(X)((X.data[:n], columns, starts), shape=X.shape)


def refuse_not_finite(X: Any, name: str) -> None:
    """Raise where cells, of an array of any shape or a frame, are no finite numbers; names one."""
    try:
        # In the order of `tocoo`, which takes memory for the rows.
        ordered = is_sparse(X) and X.format in ("csr", "csc", "coo")
        values = X.data if ordered else X.tocoo().data if is_sparse(X) else np.asarray(X)
    except ValueError:
        return  # Of unequal lengths: what checks the shape says so.
    if values.ndim == 0 or values.dtype.kind not in "fOU":
        return
    try:
        # Cells of frames are objects where they have strings, or miss a value in pandas' own way.
        numbers = values if values.dtype.kind == "f" else values.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(numbers.sum(dtype=np.float64)):
                return
    except (TypeError, ValueError, OverflowError):
        pass
    if values.dtype.kind == "f":
        wrong = np.argwhere(~np.isfinite(values))
    else:
        cells = [_is_not_finite(cell) for cell in values.ravel().tolist()]
        wrong = np.argwhere(np.reshape(cells, values.shape))
    if wrong.size == 0:
        return
    place = wrong[0].tolist()
    value = values[tuple(place)]
    if is_sparse(X):
        place = [int(across[place[0]]) for across in X.tocoo().coords]
    where = f"row {place[0]}"
    if len(place) == 2:
        names = getattr(X, "column_names", getattr(X, "columns", None))  # of Arrow, of others
        column = place[1] if names is None else names[place[1]]
        where += f", column {column!r}" if isinstance(column, str) else f", column {column}"
    elif len(place) > 2:
        where += f", at {place[1:]}"
    if isinstance(value, str) and not _is_float(value):
        advice = "or columns out, or encode them, as sklearn.preprocessing.OneHotEncoder does"
        raise ValueError(
            f"could not convert string to float: {str(value)!r} in {where} of {name}: "
            f"leave such rows {advice if len(place) == 2 else 'out'}."
        )
    number = float(value) if isinstance(value, str) else value
    what = "NaN" if is_missing(number) else "infinity"
    fill = ", or fill them in, as sklearn.impute does for features" if len(place) == 2 else ""
    raise ValueError(f"Input {name} contains {what} in {where}: leave such rows out{fill}.")


def _is_float(cell: str) -> bool:
    """Whether a string names a number, NaN or infinity."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_not_finite(cell: Any) -> bool:
    """Whether a cell of objects is missing, infinite, or a string that names no finite number."""
    if isinstance(cell, str):
        return not (_is_float(cell) and np.isfinite(float(cell)))
    return is_missing(cell) or (isinstance(cell, float) and np.isinf(cell))


def sample_weights(
    given: Any, X: Any, name: str = "sample_weight", copy: bool = False
) -> np.ndarray:
    """Return weights >= 0 of samples, (n,)."""
    refuse_masked(given, name)
    refuse_times(given, name)
    if isinstance(given, Mapping | str):
        raise TypeError(
            f"{name} must hold a number for each sample, got {given!r}. From weights of classes "
            f"sklearn.utils.class_weight.compute_sample_weight({given!r}, y) makes them."
        )
    known = as_floats(given)
    if known is not None and known.ndim == 1:
        refuse_wrong_weights(known, name)
    refuse_not_finite(given, name)
    try:
        return check_sample_weight_of(
            given, X, dtype=np.float64, copy=copy, ensure_non_negative=True
        )
    except ValueError as error:
        # Its first line: others print the array.
        text = str(error).splitlines()[0]
        raise ValueError(f"{name} must be one number for each sample: {text}") from error


def refuse_wrong_weights(weights: np.ndarray, name: str, unit: str = "row", hint: str = "") -> None:
    """Raise where a weight (n,) is not finite or below 0; names the first."""
    # Written such that NaN is out of range.
    wrong = ~((weights >= 0.0) & (weights < np.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must be finite numbers >= 0, got {weights[row]:g} in {unit} {row}{hint}."
        )


def are_distances(X: np.ndarray) -> bool:
    """Whether X looks like distances of samples: symmetric, and 0 on the diagonal."""
    if len(X) < 3 or X.shape != (len(X), len(X)):
        return False
    return bool(X.any() and not X.diagonal().any() and np.all(X >= 0.0) and np.all(X == X.T))


def same_pairs(rows: np.ndarray) -> np.ndarray:
    """Where a row compares a pair with itself or names a pair of one object."""
    if rows.shape[1] == 2:
        return rows[:, 0] == rows[:, 1]
    if rows.shape[1] == 3:
        i, j, k = rows.T
        return (i == j) | (i == k) | (j == k)
    i, j, l, k = rows.T
    return (i == j) | (l == k) | ((i == l) & (j == k)) | ((i == k) & (j == l))


def as_floats(values: Any, kinds: str = "biuf") -> np.ndarray | None:
    """Return a float64 array, or None for what is no array of numbers of these kinds."""
    try:
        values = np.asarray(values)
    except ValueError:
        return None
    if values.dtype == object and all(
        isinstance(cell, Real) and not isinstance(cell, bool) for cell in values.ravel().tolist()
    ):
        # As rows of frames of several kinds are.
        values = values.astype(np.float64)
    return values.astype(np.float64) if values.dtype.kind in kinds else None


def label_array(y: Any) -> Any:
    """Return labels as they are, or an array where scikit-learn would read others."""
    if not isinstance(y, list | tuple):
        return _exact(y)
    # NumPy makes strings of a mixture: "nan" of NaN, "True" of True, and of a member of an Enum
    # the first letters of its name.
    if all(kind in (str, np.str_) for kind in set(map(type, y))):
        return y
    try:
        labels = np.asarray(y)
    except ValueError:
        return y  # Of unequal lengths: what checks the shape says so.
    return np.array(y, dtype=object) if labels.dtype.kind == "U" and labels.ndim == 1 else y


def _exact(y: Any) -> Any:
    """Return whole numbers of pandas' own kinds as NumPy's where floats would make some equal."""
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, np.dtype) or getattr(dtype, "kind", "") not in ("i", "u"):
        return y
    values = np.asarray(y)
    many = values.dtype.kind in "iu" and values.size and np.abs(values).max() > 2**53
    return values if many else y


def check_label_objects(y: Any, known: np.ndarray | None = None, name: str = "y") -> Any:
    """Return labels as `label_array`; refuse objects and bytes that are no strings, if `known`."""
    given = label_array(y)
    try:
        labels = np.asarray(given)
    except ValueError:
        return given  # Lists of unequal lengths: what checks the shape says so.
    if labels.dtype.kind == "T":
        raise TypeError(
            f"Unknown label type: {name} must be an array of str or of numbers, got one of "
            f"{labels.dtype}: pass {name}.astype(str)."
        )
    if labels.dtype.kind == "f" and known is None:
        refuse_not_finite(labels, name)
    if labels.ndim == 0 or labels.dtype.kind not in "OS":
        return given
    cells = labels.ravel().tolist()
    asked = range(len(cells)) if known is None else np.flatnonzero(known)
    wrong = [k for k in asked if not isinstance(cells[k], str) or _is_written(cells[k], y)]
    if not wrong:
        return given
    # What else is there can be turned into labels only without missing ones.
    k = next((k for k in wrong if is_missing(cells[k])), wrong[0])
    strings = f"{name}.astype(str)"
    if isinstance(y, list | tuple):
        strings = f"[str(label) for label in {name}]"
    label, advice = cells[k], f"name kinds by strings, {strings}"
    if is_missing(label):
        advice = "leave samples without a label out"
    elif isinstance(label, Enum):
        advice = f"pass the values of members of an Enum, [member.value for member in {name}]"
    elif isinstance(label, bytes):
        advice = "decode bytes, np.char.decode(np.asarray(y, dtype=bytes))"
    elif isinstance(label, Number):
        advice = f"pass numbers as such, y.astype(int), a mixture as {strings}"
    raise TypeError(
        f"Unknown label type: {name} must be uniformly strings or numbers, without missing values, "
        f"got {type(label).__name__} in an array of {labels.dtype}, {label!r} at position {k}: "
        f"{advice}."
    )


def _is_written(label: str, y: Any) -> bool:
    """Whether NumPy writes a string of a list otherwise than it is, as members of an Enum."""
    return isinstance(y, list | tuple) and str(label) != str.__str__(label)


def is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN, pandas.NA or NaT, which differ from themselves."""
    return cell is None or type(cell).__name__ == "NAType" or (np.ndim(cell) == 0 and cell != cell)


def listed_rows(values: Any) -> Any:
    """Return rows in a list where a series, an array of lists or of Arrow, or an iterator has them.

    A list of what else these hold is not made.
    """
    if isinstance(values, Iterator):
        return list(values)
    listed = getattr(values, "to_pylist", None) or getattr(values, "to_list", None)
    if listed or (isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype == object):
        rows = listed() if listed else values.tolist()
        if rows and isinstance(rows[0], list | tuple | np.ndarray):
            return rows
    return values


def as_indices(values: Any) -> np.ndarray:
    """Return an array, of int64 where its cells are whole numbers of pandas' own integers."""
    values = np.asarray(listed_rows(values))
    whole = values.dtype == object and all(
        isinstance(cell, Integral) and not isinstance(cell, bool) for cell in values.ravel()
    )
    return values.astype(np.int64) if whole else values


def bare_file(name: Any) -> str:
    """Return the name of a file without its folder, its ending and capitals."""
    return re.sub(r"\.[a-z]\w{1,3}$", "", re.split(r"[/\\]", str(name).strip().casefold())[-1])


def in_order(values: Any, objects: list, name: str) -> Any:
    """Return what a dict, or a series or frame with the objects as its index, says of each."""
    # An index of other things says nothing; one of some of the objects is an error.
    if not isinstance(values, Mapping) and not hasattr(values, "loc"):
        return values
    given = Counter(list(values if isinstance(values, Mapping) else values.index))
    known = set(objects)
    counted = list(given) == [*range(len(values))]
    if hasattr(values, "loc") and (known.isdisjoint(given) or (counted and known != set(given))):
        alike = {bare_file(one) for one in objects} & {bare_file(one) for one in given}
        if alike and not counted:
            raise ValueError(
                f"{name} must have the objects by their names, as {objects[0]!r}, but is by names "
                f"as {next(iter(given))!r}, which differ in the folder or the ending of a file, in "
                "spaces, in capitals or in their kind only. Entries in the order of the objects "
                "are passed as an array."
            )
        return values
    wrong = next((one for one in objects if given[one] != 1), None)
    if wrong is not None:
        what = f"{given[wrong]} entries" if given[wrong] else "no entry"
        raise ValueError(
            f"{name} must have one entry for each of {len(objects)} objects, by their names, but "
            f"has {what} for {wrong!r}. Entries in the order of the objects are passed as an array."
        )
    return [values[one] for one in objects] if isinstance(values, Mapping) else values.loc[objects]


def check_format(result_format: Any) -> None:
    """Refuse an unknown format of answers."""
    if not isinstance(result_format, str) or result_format not in FORMATS:
        raise ValueError(f"result_format must be one of {FORMATS}, got {result_format!r}.")


def in_format(rows: np.ndarray, right: np.ndarray, result_format: str, n_objects: int) -> tuple:
    """Return questions, (m, 3) or (m, 4), and their answers in one of `FORMATS`."""
    # `right` (m,) says whether the first pair is the nearer one. Answers are None where the rows,
    # turned round if need be, tell all, or a tensor: sums of 1 and -1 at (i, j * n_objects + k).
    triplets = rows.shape[1] == 3
    if result_format == "list-order":
        turned = rows[:, [0, 2, 1] if triplets else [2, 3, 0, 1]]
        return np.where(right[:, None], rows, turned), None
    if result_format == "list-boolean":
        return rows, right
    counts = np.where(right, 1, -1)
    if result_format == "list-count":
        return rows, counts
    if not triplets:
        raise ValueError("result_format must not be 'tensor-count' for quadruplets.")
    i, j, k = rows.astype(np.int64).T
    tensor = sparse.coo_array((counts, (i, j * n_objects + k)), (n_objects, n_objects**2))
    return tensor.tocsr(), None
