"""Objects: which names are compared, in the order of the rows of an embedding."""

import re
import unicodedata
from collections.abc import Mapping, Set
from numbers import Integral, Real
from typing import Any

import numpy as np

from skscreen.core.inputs import bare_file
from skscreen.core.memory import check_memory
from skscreen.embedding.problem.reading.table import (
    Table,
    are_numbers,
    array_of,
    as_written,
    read_table,
    rounding,
)
from skscreen.fitting.warning import warn_user

# Words for a missing answer, as tables of other programs have them.
_MISSING = {
    "nan", "NaN", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaT", "None", "NULL", "null", "undefined",
}  # fmt: skip
# What cells below the header of a file of Qualtrics begin with.
_QUALTRICS = '{"ImportId"'


def are_positions(objects: np.ndarray) -> bool:
    """Whether names are just 0, 1, 2, ..."""
    return objects.dtype.kind in "iu" and np.array_equal(objects, np.arange(len(objects)))


def learn_objects(table: Table, objects: Any = None, *, ordered: bool = False) -> np.ndarray:
    """Return the objects: those given, by number or names, or of a table; `ordered` are levels."""
    names = table.names
    if objects is not None and not isinstance(objects, Integral):
        return given_objects(objects)
    if isinstance(objects, Integral):
        return _numbered(table, int(objects))
    refuse_codes(table)
    refuse_first_row(table)
    if not are_numbers(names):
        if ordered:
            raise ValueError(
                "objects must be given if X holds names: all names in their order, for example "
                f"DifferenceScaling(objects=['none', 'weak', 'strong']).{hint_of_numbers(names)}"
            )
        warn_alike(names)
        return names
    if ordered:
        return names
    if names.dtype.kind == "f":
        raise ValueError(
            f"X must hold objects, as whole numbers or names, got {_some(names.tolist())}: these "
            "look like features of samples. To embed samples compare them first, "
            "OrdinalEmbedding().fit(make_triplets(X)); if the numbers are names, pass "
            "objects=numpy.unique(X)."
        )
    if names[0] < 0:
        _refuse_negative(table)
    if names[0] > len(names):
        warn_user(
            f"The smallest object in X is {names[0]}, and there are {len(names)}: the numbers are "
            "taken as names, in the order of objects_. Pass objects=numpy.unique(X) if they are, "
            "or the number of objects if they are positions counted from 0."
        )
        return names
    n = int(names[-1]) + 1
    # With so many more objects than cells, whole numbers are identifiers rather than positions.
    if n > 1000 + 100 * table.codes.size:
        raise ValueError(
            f"X names an object {n - 1}, but has only {len(table.codes)} answers: number the "
            "objects 0, 1, 2, ..., or pass objects, their number or numpy.unique(X)."
        )
    return _numbered(table, n)


def hint_of_numbers(names: np.ndarray) -> str:
    """Say what to pass where names are numbers that are written in another way."""
    written = as_written(names)
    real = [isinstance(name, Real) or hasattr(name, "as_tuple") for name in names.tolist()]
    if np.all(real | ~np.isnan(written)):
        return " These are numbers: pass X.astype(float)."
    texts = [name.replace(",", ".") for name in names.tolist() if isinstance(name, str)]
    if len(texts) == len(names) and not np.isnan(as_written(np.array(texts))).any():
        return " These are numbers with decimal commas: read the file with decimal=','."
    return ""


def _numbered(table: Table, n_objects: int) -> np.ndarray:
    """Objects 0, 1, 2, ..."""
    names = table.names
    if not are_numbers(names):
        raise ValueError(
            "objects must be all names in their order where X names objects, not their number; "
            f"X has {_some(names.tolist())}."
        )
    if names[0] < 0:
        _refuse_negative(table)
    if names.dtype.kind == "f" or names[-1] >= n_objects:
        raise ValueError(
            "objects, or n_objects, must be greater than every object in X, got "
            f"{n_objects} and an object {names[-1]} in X."
        )
    check_memory(8.0 * n_objects, f"{n_objects:,} objects", "Use fewer objects.")
    return np.arange(n_objects)


def refuse_codes(table: Table) -> None:
    """Raise where a name is rather a code of a missing answer: -1, or a word such as "NA"."""
    if are_numbers(table.names):
        codes = (table.names == -1) & (table.names[0] == -1) & (table.names.dtype.kind in "iu")
    else:
        written = as_written(table.names)
        # Levels, as "-30" and "30", are all numbers.
        names = np.isnan(written).any()
        codes = (written == -1) | (names & (written < 0))
        codes |= [_is_code(name) for name in table.names.tolist()]
    if codes.any():
        row, column = np.argwhere(codes[table.codes])[0]
        code = table.names.tolist()[table.codes[row, column]]
        if str(code).startswith(_QUALTRICS):
            raise ValueError(
                f"X must hold objects, got {code!r} in row {row}, column {table.labels[column]!r}: "
                "files of Qualtrics have two lines more below their header. Leave them out, by "
                "pandas.read_csv(file, skiprows=[1, 2])."
            )
        raise ValueError(
            f"X must hold indices of objects, 0, 1, 2, ..., or names; got {code!r} in row {row}, "
            f"column {table.labels[column]!r}. If it stands for a missing answer, leave such rows "
            "out; if it is an object, name it otherwise, or pass all objects."
        )


def refuse_header(table: Table) -> None:
    """Raise where a row of a table holds the labels of its columns, as joined files do."""
    places = {name: place for place, name in enumerate(table.names.tolist())}
    codes = [places.get(label, -1) for label in table.labels if isinstance(label, str)]
    if len(codes) < len(table.labels) or min(codes) < 0:
        return
    same = (table.codes == codes).all(axis=1)
    if same.any():
        row, label = int(np.argmax(same)), table.labels[0]
        raise ValueError(
            f"X must hold objects, got the labels of its columns, {table.labels}, in row {row}: "
            f"leave such rows out of X and y, those where X[{label!r}] is {label!r}."
        )


def refuse_first_row(table: Table) -> None:
    """Raise where the first row seems to be a header, as of a file that was read without one."""
    first, names = table.codes[0], table.names.tolist()
    # Fewer rows tell nothing.
    if len(table.codes) < 20 or not all(isinstance(names[code], str) for code in first):
        return
    counts = np.bincount(table.codes.ravel(), minlength=len(names))
    others = np.delete(counts, first)
    # Its names are in no other row, and all others are in several.
    if np.all(counts[first] == 1) and len(others) and others.min() > 1:
        header = [names[code] for code in first]
        raise ValueError(
            f"X must hold objects, got what seems to be a header in row 0, {header}: leave it out "
            "of X and y, as X[1:] does. If these are objects, pass objects=numpy.unique(X)."
        )


def _is_code(name) -> bool:
    """Whether a name among others that are no numbers says that there is none."""
    if isinstance(name, str):
        return name.strip() in _MISSING or name.startswith(_QUALTRICS)
    return isinstance(name, Real) and not isinstance(name, bool) and not 0 <= float(name) < np.inf


def _refuse_negative(table: Table) -> None:
    refuse_codes(table)
    row, column = np.argwhere(table.codes == 0)[0]
    raise ValueError(
        f"X must hold indices of objects, 0, 1, 2, ...; got {table.names[0]} in row {row}, column "
        f"{table.labels[column]!r}. Negative values in data passed to OrdinalEmbedding are not "
        "counted from the end; pass objects=numpy.unique(X) if they are names."
    )


def given_objects(objects: Any) -> np.ndarray:
    """Return the names of objects that are given, in their order."""
    scalar = isinstance(objects, np.ndarray) and not objects.ndim
    unordered = isinstance(objects, Set | Mapping) or hasattr(objects, "columns")
    if isinstance(objects, str) or not hasattr(objects, "__len__") or scalar or unordered:
        keys = " Pass list(objects) if X holds its keys, or list(objects.values())."
        raise ValueError(
            f"objects must be their number or a list of their names, got {objects!r}."
            f"{keys * isinstance(objects, Mapping)}"
        )
    if hasattr(objects, "to_pylist"):
        objects = objects.to_pylist()
    if len(objects) < 2:
        raise ValueError(f"objects must have at least 2 names, got {len(objects)}.")
    codes, names, _ = read_table([[name] for name in objects], input_name="objects")
    if len(names) < len(codes):
        twice = names.tolist()[int(np.argmax(np.bincount(codes[:, 0])))]
        raise ValueError(f"objects must name each object once, got {twice!r} several times.")
    return names[codes[:, 0]]


# Characters that none can see: a byte order mark, and spaces and joiners without width.
_UNSEEN = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060\u00ad"))


def plain(name: Any) -> Any:
    """Return a name without what spaces, capitals and ways to write the same add."""
    if not isinstance(name, str):
        return name
    text = " ".join(name.translate(_UNSEEN).split()).casefold().replace("\\", "/")
    # As "1" and "1.0", where one of two files misses a value.
    return unicodedata.normalize("NFKC", re.sub(r"^(\d+)\.0*$", r"\1", text))


def what_differs(one: str, other: str) -> str:
    """Return in what names differ that are alike; those of files of a Mac in what none can see."""
    if unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other):
        return "the Unicode form of accents only (unicodedata.normalize('NFC', name) unites them)"
    if one.translate(_UNSEEN) == other.translate(_UNSEEN):
        return "characters that cannot be seen only (name.strip('\\ufeff\\u200b') takes them away)"
    if "\\" in one + other:
        return "the kind of slashes only"
    if "." in one + other and not {*one, *other} - set("0123456789."):
        return "the way a number is written only"
    return "spaces or capitals only"


def warn_alike(names: np.ndarray, what: str = "objects") -> None:
    """Warn about names that differ in nothing but spaces, capitals and ways to write the same."""
    seen: dict[Any, Any] = {}
    for name in names.tolist():
        if (other := seen.setdefault(plain(name), name)) is not name:
            warn_user(
                f"The {what} {other!r} and {name!r} differ in {what_differs(other, name)}, and are "
                f"taken as two {what}."
            )
            return
    for text, name in seen.items():
        # Pictures of two folders may have one name; with and without a folder they are rather one.
        file = text.rpartition("/")[2] if isinstance(text, str) and "/" in text else ""
        if file in seen and bare_file(file) != file:
            warn_user(
                f"The {what} {seen[file]!r} and {name!r} differ in the folder only, and are taken "
                f"as two {what}."
            )
            return


def warn_misspelt(names: np.ndarray, objects: np.ndarray) -> None:
    """Warn about names that are no objects, but differ from one only as `warn_alike` says."""
    known = {plain(name): name for name in objects.tolist()} if len(names) else {}
    for name in names.tolist():
        if plain(name) in known:
            other = known[plain(name)]
            warn_user(
                f"X names {name!r}, which is no object of the fit: from {other!r} it differs in "
                f"{what_differs(other, name)}. Its answers are taken as about an unknown object."
            )
            return


def find(names: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """Return the places of names among objects, and the number of objects for others."""
    n = len(objects)
    if names.dtype.kind in "iu" and are_positions(objects):
        return np.where((names >= 0) & (names < n), names, n).astype(np.int64)
    if are_numbers(names) and objects.dtype.kind == "U":
        objects = as_written(objects)
        _, place, counts = np.unique(objects, return_inverse=True, return_counts=True)
        # "1" and "01" are two objects of one number.
        objects[counts[place] > 1] = np.nan
    # Identifiers of many digits differ by less than the rounding errors of levels.
    whole = names.dtype.kind in "iu" and objects.dtype.kind in "iu"
    if not are_numbers(objects) or whole:
        places = {name: place for place, name in enumerate(objects.tolist())}
        return np.array([places.get(name, n) for name in names.tolist()], dtype=np.int64)
    if not are_numbers(names):
        names = as_written(names)
    if are_positions(objects):
        return np.where((names >= 0) & (names < n) & (names == np.floor(names)), names, n).astype(
            np.int64
        )
    order = np.argsort(objects, kind="stable")
    ascending = objects[order].astype(np.float64)
    after = np.clip(np.searchsorted(ascending, names), 1, n - 1)
    nearest = after - (names - ascending[after - 1] < ascending[after] - names)
    error = 0.0 if objects.dtype.kind in "iu" else rounding(ascending)[nearest]
    same = np.abs(ascending[nearest] - names) <= error
    return np.where(same, order[nearest], n)


def find_known(
    table: Table, objects: np.ndarray, *, strangers: bool = False, input_name: str = "X"
) -> np.ndarray:
    """Return places of a table's names among objects; `strangers` may be others, at n_objects."""
    places = find(table.names, objects)
    unknown = places == len(objects)
    mixed = are_numbers(table.names) != are_numbers(objects) and objects.dtype.kind != "O"
    if mixed and unknown.any():
        raise ValueError(
            f"{input_name} must name objects as the fit did, such as {_some(objects.tolist())}; "
            f"got {_some(table.names.tolist())}."
        )
    if unknown.any() and not strangers:
        raise ValueError(
            f"{input_name} names {np.count_nonzero(unknown)} objects that are not known, "
            f"{_some(table.names[unknown].tolist())}; those known are {_some(objects.tolist())}."
        )
    return places


def add_objects(table: Table, objects: np.ndarray) -> np.ndarray:
    """Return the objects of a fit and, after them, the further ones of a table."""
    refuse_codes(table)
    new = table.names[find_known(table, objects, strangers=True) == len(objects)]
    whole = new.dtype.kind in "iu" and np.all(new >= 0)
    if len(new) and are_positions(objects) and not whole:
        raise ValueError("X must hold whole numbers >= 0, as those of the fit.")
    every = array_of([*objects.tolist(), *new.tolist()])
    warn_alike(every)
    return every


def _some(names: list) -> str:
    shown = ", ".join(repr(name) for name in names[:3])
    return shown + (", ..." if len(names) > 3 else "")
