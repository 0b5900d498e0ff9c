"""Items of text as crfsuite takes them, turned into dicts of features."""

from collections.abc import Iterable, Mapping
from numbers import Number
from typing import Any


def plain_items(items: Iterable, name: str, separator: str) -> list[Mapping]:
    """Return the items of a sequence as dicts of numbers, strings and lists of strings."""
    if hasattr(items, "columns"):
        raise ValueError(
            f"{name} must be a list of dicts of features, got a frame: pass its rows, by "
            "to_dict('records') in pandas or to_dicts() in polars."
        )
    items = list(items)
    widths = {len(item) if isinstance(item, tuple) else 0 for item in items}
    if len(widths) == 1 and not widths & {0, 1}:
        cells = [cell for item in items for cell in item]
        if all(isinstance(cell, str) and "=" not in cell and ":" not in cell for cell in cells):
            raise ValueError(
                f"{name} has tuples of {widths.pop()} strings, as {items[0]!r}, as tagged words "
                "are: pass dicts, {'word': word, 'pos': pos}, and tags as y; list(item) if these "
                "are names of features."
            )
    return [_plain_item(item, name, t, separator) for t, item in enumerate(items)]


def _plain_item(item: Any, name: str, t: int, separator: str) -> Mapping:
    if isinstance(item, Mapping):
        out: dict[str, Any] = {}
        for key, value in item.items():
            _add(out, _text(key), value, f"{name}[{t}]", separator)
        return out
    if isinstance(item, (str, bytes)) or not isinstance(item, Iterable):
        hint = f" Of a word pass {{'word': {item!r}}}." if isinstance(item, str) else ""
        raise ValueError(
            f"{name}[{t}] must be a dict of features or a list of strings, got {item!r}.{hint}"
        )
    counts: dict[str, float] = {}
    for value in item:
        if not isinstance(value, (str, bytes)):
            raise ValueError(
                f"{name}[{t}] must be a dict of features or a list of strings, got {value!r} in "
                "the list."
            )
        counts[_text(value)] = counts.get(_text(value), 0.0) + 1.0
    return counts


def _add(out: dict, key: str, value: Any, name: str, separator: str) -> None:
    """Add the features of a value to those of an item."""
    if getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, (str, bytes)):
        out[key] = _text(value)
    elif isinstance(value, Number) and not isinstance(value, complex):
        # No number is no feature, as in crfsuite.
        if value == value:
            out[key] = _number(value, f"{name}[{key!r}]")
    elif isinstance(value, Mapping):
        for inner, part in value.items():
            # The name of the string becomes part of that of the feature.
            if isinstance(part, (str, bytes)):
                out[f"{key}{separator}{_text(inner)}{separator}{_text(part)}"] = 1.0
            else:
                _add(out, f"{key}{separator}{_text(inner)}", part, name, separator)
    elif isinstance(value, Iterable):
        texts = list(value)
        for wrong in (text for text in texts if not isinstance(text, (str, bytes))):
            hint = "leave it out" if wrong is None else "give each number a name of its own"
            raise ValueError(
                f"{name}[{key!r}] must be a number, a string, or a list or dict of them, got "
                f"{wrong!r} in a list: {hint}."
            )
        for text in texts:
            out[f"{key}{separator}{_text(text)}"] = 1.0
    else:
        raise ValueError(
            f"{name}[{key!r}] must be a number, a string, or a list or dict of them, got {value!r}."
        )


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(f"{name} must be a number of double precision, got {value}.") from error


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"Bytes of features must be UTF-8, got {value!r}.") from error
    # The value of a member of an Enum of strings, which str() would give by its name.
    return str.__str__(value) if isinstance(value, str) else str(value)
