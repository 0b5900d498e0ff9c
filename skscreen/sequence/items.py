"""Items of text as crfsuite takes them: dicts of features, or lists of strings."""

from collections.abc import Iterable, Iterator, Mapping
from numbers import Number
from typing import Any

import numpy as np
from scipy import sparse

_NUMBERS = {bool, int, float}


def plain_items(items: Iterable, separator: str) -> list[dict[str, Any]]:
    """Return items as dicts of numbers and strings."""
    return [dict(features_of(item, separator)) for item in items]


def rows_of(items: list, places: Mapping[str, int], separator: str) -> sparse.csr_array:
    """Return what a `DictVectorizer` that has features in these places makes of items."""
    # In half of its time, which is most of that of a prediction.
    columns: list[int] = []
    values: list[float] = []
    starts = [0]
    for item in items:
        if not (type(item) is dict and _add_plain(item, places, separator, columns, values)):
            del columns[starts[-1] :], values[starts[-1] :]
            _add_plain(dict(features_of(item, separator)), places, separator, columns, values)
        starts.append(len(columns))
    try:
        numbers = np.array(values, np.float64)
    except OverflowError as error:
        raise ValueError("X must hold numbers of double precision.") from error
    parts = numbers, np.array(columns, np.int32), np.array(starts, np.int32)
    return sparse.csr_array(parts, shape=(len(items), len(places)))


def _add_plain(
    item: dict, places: Mapping[str, int], separator: str, columns: list, values: list
) -> bool:
    """Add the features of a dict of numbers and strings; return False for one of other things."""
    get = places.get
    for name, value in item.items():
        kind = type(value)
        if type(name) is not str:
            return False
        if kind is str:
            place = get(f"{name}{separator}{value}")
            if place is not None:
                columns.append(place)
                values.append(1.0)
        elif kind in _NUMBERS:
            place = get(name)
            # No number is no feature, as in crfsuite.
            if place is not None and value == value:
                columns.append(place)
                values.append(value)
        else:
            return False
    return True


def features_of(item: object, separator: str) -> Iterator[tuple[str, Any]]:
    """Yield the names of the features of an item, and their values: numbers or strings."""
    if isinstance(item, Mapping):
        for name, value in item.items():
            yield from _features(_text(name), value, separator)
        return
    if isinstance(item, str | bytes) or not isinstance(item, Iterable):
        raise _wrong(item)
    counts: dict[str, float] = {}
    for name in map(_string, item):
        counts[name] = counts.get(name, 0.0) + 1.0
    yield from counts.items()


def _features(name: str, value: Any, separator: str) -> Iterator[tuple[str, Any]]:
    """Yield the features that the value of one makes."""
    if getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, str | bytes):
        yield name, _text(value)
    elif isinstance(value, Number) and not isinstance(value, complex):
        if value == value:
            yield name, _number(name, value)
    elif isinstance(value, Mapping):
        for inner, part in value.items():
            # The name of the string becomes part of that of the feature.
            if isinstance(part, str | bytes):
                yield f"{name}{separator}{_text(inner)}{separator}{_text(part)}", 1.0
            else:
                yield from _features(f"{name}{separator}{_text(inner)}", part, separator)
    elif isinstance(value, Iterable):
        for part in value:
            yield f"{name}{separator}{_string(part)}", 1.0
    else:
        raise _wrong({name: value})


def _wrong(item: object) -> ValueError:
    return ValueError(
        "X must hold dicts of features, whose values are numbers, strings, or lists or dicts of "
        f"them, or lists of strings, got {item!r:.80}."
    )


def _string(value: object) -> str:
    if not isinstance(value, str | bytes):
        raise _wrong([value])
    return _text(value)


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(f"X must hold numbers of double precision, got {name}={value}.") from error


def _text(value: object) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"X must hold bytes in UTF-8, got {value!r}.") from error
    # The value of a member of an Enum of strings, which str() would give by its name.
    return str.__str__(value) if isinstance(value, str) else str(value)
