"""What choices in trials say: rows of places of objects."""

import numpy as np

# Columns of the comparisons that follow where an option was chosen, by the place of this option.
_ROWS = {
    "triplets": {1: [[0, 1, 2]], 2: [[0, 2, 1]]},
    "quadruplets": {0: [[0, 1, 2, 3]], 2: [[2, 3, 0, 1]]},
    "paired": {0: [[0, 1]], 1: [[1, 0]]},
    "oddoneout": {0: [[1, 2, 0]], 1: [[0, 2, 1]], 2: [[0, 1, 2]]},
    "mostcentral": {
        0: [[1, 0, 2], [2, 0, 1]],
        1: [[0, 1, 2], [2, 1, 0]],
        2: [[0, 2, 1], [1, 2, 0]],
    },
}


def compare(kind: str, shown: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and the trial of each, for one choice of a trial."""
    # `shown` (n, k) are objects, `chosen` (n,) columns of `shown`.
    if kind == "choices":
        return compare_several(shown, chosen[:, None], ranked=False)
    orders = _ROWS[kind]
    if len(chosen) and (chosen == chosen[0]).all():
        order = orders[int(chosen[0])]
        if order == [list(range(shown.shape[1]))]:
            return shown, np.arange(len(shown))
    each = len(next(iter(orders.values())))
    table = np.zeros((shown.shape[1], each, len(next(iter(orders.values()))[0])), dtype=np.int64)
    for option, order in orders.items():
        table[option] = order
    order = table[chosen]
    places = np.arange(len(shown))
    return shown[places[:, None, None], order].reshape(-1, order.shape[2]), np.repeat(places, each)


def compare_several(
    shown: np.ndarray, chosen: np.ndarray, ranked: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return triplets, and the trial of each: a query in column 0, any number of options."""
    # `shown` (n, k) are objects, -1 where there is none; `chosen` (n, c) columns of `shown`.
    n, width = shown.shape
    every = np.arange(n)
    left = shown >= 0
    left[:, 0] = False
    left[every[:, None], chosen] = False
    rows, trials = [], []

    def add(here: np.ndarray, near: np.ndarray, far: np.ndarray) -> None:
        rows.append(np.stack([shown[here, 0], shown[here, near], shown[here, far]], axis=1))
        trials.append(here)

    for c in range(chosen.shape[1]):
        near = chosen[:, c]
        for later in range(c + 1, chosen.shape[1] if ranked else 0):
            add(every, near, chosen[:, later])
        for k in range(1, width):
            here = np.flatnonzero(left[:, k])
            add(here, near[here], np.full(len(here), k))
    of = np.concatenate(trials)
    order = np.argsort(of, kind="stable")
    return np.concatenate(rows)[order], of[order]


def options_of(kind: str, width: int) -> list[int]:
    """Columns of the options; a pair of quadruplets is called by its first column."""
    return list(range(1, width)) if kind == "choices" else list(_ROWS[kind])


def says_nothing(kind: str, shown: np.ndarray) -> np.ndarray:
    """Whether each trial shows an object, or a pair, twice, which no answer can tell apart."""
    if kind == "quadruplets":
        a, b, c, d = shown.T
        return (a == b) | (c == d) | ((a == c) & (b == d)) | ((a == d) & (b == c))
    if shown.shape[1] > 4:
        return _twice(shown)
    twice = np.zeros(len(shown), dtype=bool)
    columns = np.ascontiguousarray(shown.T)
    for k, one in enumerate(columns):
        for other in columns[:k]:
            twice |= one == other
    if twice.any():
        # Empty cells are equal, but no objects.
        twice[twice] = _twice(shown[twice])
    return twice


def _twice(shown: np.ndarray) -> np.ndarray:
    """Whether each row has an object twice."""
    ordered = np.sort(shown, axis=1)
    return ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
