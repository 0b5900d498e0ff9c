"""Cases of tests of which `make test` runs some and `make proofs` the others."""

import math
from collections.abc import Callable, Iterable
from itertools import combinations, product
from typing import Any

import pytest


def every_pair(
    valid: Callable[..., bool] = lambda **_: True, **parameters: Iterable[Any]
) -> pytest.MarkDecorator:
    """Parametrise by all cases; in the few that are not left to proofs any two values meet.

    What goes wrong where two values meet shows in these; what takes three is as rare as the finds
    of other searches. `valid` tells from the values of a case whether there is such a case.
    """
    cases, pairs = [], []
    for case in product(*(list(enumerate(values)) for values in parameters.values())):
        places, values = zip(*case, strict=True)
        if valid(**dict(zip(parameters, values, strict=True))):
            cases.append(values)
            pairs.append(set(combinations(enumerate(places), 2)))
    left, chosen = set().union(*pairs), []
    while left:
        chosen.append(max(range(len(cases)), key=lambda at: len(left & pairs[at])))
        left -= pairs[chosen[-1]]
    return pytest.mark.parametrize(tuple(parameters), some(cases, *chosen))


def some(values: Iterable[Any], *places: int) -> list[Any]:
    """Return values for a parameter, those not in these places left to proofs."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)),
                     marks=() if place in places else pytest.mark.proof)
        for place, value in enumerate(values)
    ]  # fmt: skip


def keep_few(items: Iterable[Any], most: int | None = None) -> None:
    """Leave cases to proofs, but those n of a function with `few(n)`, or `most`, that meet most."""
    cases: dict[tuple[Any, ...], list[Any]] = {}
    for item in items:
        few = item.get_closest_marker("few")
        if hasattr(item, "callspec") and (few or most) and not item.get_closest_marker("proof"):
            n = min(few.args[0] if few else math.inf, most or math.inf)
            cases.setdefault((item.parent.nodeid, item.originalname, n), []).append(item)
    for (*_, n), of_one in cases.items():
        left, met = list(of_one), set()
        for _ in range(min(n, len(of_one))):
            values = [
                {(name, id(value)) for name, value in item.callspec.params.items()} for item in left
            ]
            best = max(range(len(left)), key=lambda at: len(values[at] - met))
            met |= values[best]
            del left[best]
        for item in left:
            item.add_marker("proof")
