"""Values of objects that are given by their names."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np


def index_of(values: object) -> np.ndarray | None:
    """Return the index of a frame of pandas, None for anything else."""
    return values.index.to_numpy() if hasattr(values, "loc") and hasattr(values, "index") else None


def in_order(values: Any, objects: list, name: str) -> Any:
    """Return what a dict, or a series or frame with the objects as its index, says of each."""
    # An index of other things says nothing: then entries are in the order of the objects.
    if not isinstance(values, Mapping) and not hasattr(values, "loc"):
        return values
    given = Counter(list(values if isinstance(values, Mapping) else values.index))
    if hasattr(values, "loc") and set(objects).isdisjoint(given):
        return values
    wrong = next((one for one in objects if given[one] != 1), None)
    if wrong is not None:
        raise ValueError(
            f"{name} must have one entry for each of {len(objects)} objects, by their names, but "
            f"has {given[wrong]} for {wrong!r}."
        )
    return [values[one] for one in objects] if isinstance(values, Mapping) else values.loc[objects]
