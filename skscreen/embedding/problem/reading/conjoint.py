"""Conjoint trials: which of two stimuli, with levels of several attributes, is the greater."""

import re
from math import prod
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skscreen.embedding.problem.reading.objects import find_known, hint_of_numbers, learn_objects
from skscreen.embedding.problem.reading.responses import read_choices
from skscreen.embedding.problem.reading.table import Table, are_numbers, read_table
from skscreen.embedding.problem.scale import differences

MODELS = ("independent", "additive", "full")
# Words in labels of columns for the first and the second stimulus.
_SIDES = {
    "0", "1", "2", "a", "b", "bottom", "comparison", "derecha", "destra", "direita", "droite",
    "esquerda", "first", "gauche", "izquierda", "l", "left", "links", "lower", "one", "probe", "r",
    "rechts", "ref", "reference", "right", "s", "second", "sinistra", "standard", "stim",
    "stimulus", "target", "test", "top", "two", "upper", "x", "y",
}  # fmt: skip


class Conjoint(NamedTuple):
    """Trials of two stimuli."""

    first: np.ndarray  # (m, n_attributes): levels of the stimulus that was judged the greater
    second: np.ndarray  # (m, n_attributes): of the other
    weights: np.ndarray | None  # (m,): numbers of answers
    rows: np.ndarray  # (m,): of X


def learn_levels(table: Table, objects: Any) -> list[np.ndarray]:
    """Return the levels of each attribute: those given, else the numbers that occur."""
    n_attributes = _n_attributes(table)
    given = [None] * n_attributes if objects is None else objects
    if not isinstance(given, list | tuple) or len(given) != n_attributes:
        raise ValueError(
            f"objects must be a list of the levels of each of {n_attributes} attributes, or None, "
            f"with a conjoint model; got {objects!r}."
        )
    parts = [_part(table, a) for a in range(n_attributes)]
    for a, (part, levels) in enumerate(zip(parts, given, strict=True)):
        if levels is None and not are_numbers(part.names):
            raise ValueError(
                f"objects must be given if X holds names, as it does for attribute {a}: a list of "
                "all names in their order for each attribute, for example "
                "objects=[['matt', 'glossy'], ['flat', 'rough', 'bumpy']]."
                f"{hint_of_numbers(part.names)}"
            )
    return [learn_objects(*both, ordered=True) for both in zip(parts, given, strict=True)]


def read_conjoint(table: Table, y: Any, levels: list[np.ndarray], response: str) -> Conjoint:
    """Read trials; without y the first stimulus of each row is the greater one."""
    if _n_attributes(table) != len(levels):
        raise ValueError(
            f"X must have {2 * len(levels)} columns, as in the fit, got {table.codes.shape[1]}."
        )
    parts = [_part(table, a) for a in range(len(levels))]
    places = np.stack([find_known(part, known)[part.codes]
                       for part, known in zip(parts, levels, strict=True)], axis=1)  # fmt: skip
    rows, weights, chosen = np.arange(len(places)), None, np.zeros(len(places), dtype=np.int64)
    if y is not None:
        choices, _ = read_choices(y, table, [0, 1], response, ("sign", "count"))
        weights, chosen = choices.weights, choices.options
        rows = rows if choices.rows is None else choices.rows
    one, two = np.moveaxis(places[rows], 2, 0)
    first = chosen[:, None] == 0
    return Conjoint(np.where(first, one, two), np.where(first, two, one), weights, rows)


def conjoint_design(
    trials: Conjoint, shape: tuple[int, ...], model: str, attribute: int
) -> sparse.csr_array:
    """Differences of the stimuli in the parameters of a model, (m, n_parameters)."""
    if model == "full":
        pair = (np.ravel_multi_index(tuple(one.T), shape) for one in (trials.first, trials.second))
        return differences(prod(shape), *pair)
    attributes = [attribute] if model == "independent" else range(len(shape))
    first, second = trials.first.T, trials.second.T
    blocks = [differences(shape[a], first[a], second[a]) for a in attributes]
    return sparse.hstack(blocks, format="csr")


def stimulus_values(
    values: np.ndarray, shape: tuple[int, ...], model: str, attribute: int
) -> tuple:
    """Return the values of the levels of each attribute (None for "full"), and of all stimuli."""
    if model == "full":
        return None, np.append(0.0, values).reshape(shape)
    attributes = [attribute] if model == "independent" else range(len(shape))
    scales, start = [np.zeros(size) for size in shape], 0
    for a in attributes:
        scales[a][1:] = values[start : start + shape[a] - 1]
        start += shape[a] - 1
    return scales, sum(np.meshgrid(*scales, indexing="ij"))


def _n_attributes(table: Table) -> int:
    """Return the number of attributes; raise where the columns are not in their order."""
    width = table.codes.shape[1]
    if width < 4 or width % 2:
        raise ValueError(
            "X must have two columns for each of two or more attributes with a conjoint model: its "
            f"level in the first and in the second stimulus; got {width} feature(s). Pass columns, "
            "those of levels, in this order."
        )
    labels, half = table.labels, width // 2
    stems = [_stem(label) for label in labels]
    # The order of stimuli, as G1, B1, G2, B2.
    if None not in stems and len(set(stems)) == half and stems[:half] == stems[half:]:
        order = [labels[place] for one in range(half) for place in (one, one + half)]
        raise ValueError(
            f"X must have the columns of each attribute side by side, got {labels}, which seem to "
            f"be those of the first stimulus and then of the second. Pass columns={order}; or "
            "rename them."
        )
    return half


def _stem(label: Any) -> str | None:
    """Return a label without the words that say which of the two stimuli it is of."""
    if isinstance(label, tuple):
        # Of columns with several levels.
        label = " ".join(map(str, label))
    if not isinstance(label, str):
        return None
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", label)
    words = [word for word in words if word.lower() not in _SIDES]
    # A letter may be in front of a word: "Lgloss" beside "Rgloss".
    words = [word[1:] if re.fullmatch("[ABLR][a-z]{3,}", word) else word for word in words]
    return " ".join(words).lower() or label[0]


def _part(table: Table, attribute: int) -> Table:
    """Columns of one attribute."""
    columns = slice(2 * attribute, 2 * attribute + 2)
    return read_table(table.names[table.codes[:, columns]])._replace(labels=table.labels[columns])
